"""Subcommands for a session's settings. Each prints the value in effect, read back from the session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import AcpError, ConfigError
from ..notebook import Session
from ..protocol.messages import ConfigOption
from ..text import plain
from ..views.values import as_json
from .command import Invocation
from .start import session_for

#: Category → what to do where there is nothing to choose.
NOTHING = {
    "mode": "this agent has no mode to choose",
    "thought_level": "this agent has no thinking effort to choose",
    "model": "this session has no models to choose from: give them with Session(agent, models=[…])",
}
#: So many values of an option are listed in its line, or below it.
LISTED, LISTED_BELOW = 12, 60


def mode(call: Invocation) -> None:
    """Show the modes, or switch to one; a running turn follows."""
    _show_or_set(call, "mode")


def effort(call: Invocation) -> None:
    """Show the thinking efforts, or set one; a running turn follows."""
    _show_or_set(call, "thought_level")


def model(call: Invocation) -> None:
    """Show the models to choose from, or choose that of the next turn."""
    _show_or_set(call, "model")


def _show_or_set(call: Invocation, category: str) -> None:
    session = session_for(call)
    option = session.state.option(category)
    if option is None:
        raise ConfigError(NOTHING[category])
    if call.text:
        _set(session, option, call.text, f"{option.name}:")
    else:
        print("\n".join(_choices(option)))


def config(call: Invocation) -> None:
    """Show all settings, one with its choices, or set one."""
    session = session_for(call)
    match call.words:
        case []:
            options = session.config_options
            print("\n".join(f"{option.id} = {_said(option)}{_valid(option)}" for option in options))
        case [option_id]:
            print("\n".join(_choices(_option(session, option_id))))
        case [option_id, value]:
            _set(session, _option(session, option_id), value, f"{option_id} =")
        case _:
            raise AcpError(f"this is used as {call.command.usage}")


def _set(session: Session, option: ConfigOption, word: str, called: str) -> None:
    """Set an option, and print what is in effect then."""
    value = _boolean(word) if option.type == "boolean" else word
    in_effect = session.set_config(option.id, value)
    later = (
        " (from the next turn on)" if option.category == "model" and session.state.status != "idle" else ""
    )
    kept = "" if in_effect == value else f" ({word!r} was not taken)"
    print(f"{called} {_said(_option(session, option.id))}{later}{kept}")


def _option(session: Session, option_id: str) -> ConfigOption:
    for option in session.config_options:
        if option.id == option_id:
            return option
    known = ", ".join(option.id for option in session.config_options)
    raise ConfigError(f"there is no option {option_id!r}: this session has {known or 'none'}")


def _choices(option: ConfigOption) -> Iterator[str]:
    """The value in effect, then a line for each that can be chosen."""
    yield f"{option.name}: {_said(option)}"
    width = max((len(value.value) for value in option.values), default=0)
    for value in option.values[:LISTED_BELOW]:
        mark = "*" if value.value == option.current else " "
        about = ": ".join(filter(None, [value.group, value.description or value.name]))
        yield plain(f"{mark} {value.value:{width}}  {about}".rstrip())
    if len(option.values) > LISTED_BELOW:
        yield f"  … and {len(option.values) - LISTED_BELOW} more"
    if option.description:
        yield plain(option.description)


def _valid(option: ConfigOption) -> str:
    """What can be chosen, in brackets; nothing where that is not known."""
    if option.type == "boolean":
        return "  (on, off)"
    if option.type != "select":
        return "  (can only be shown)"
    values = [value.value for value in option.values]
    more = [f"… {len(values) - LISTED} more"] if len(values) > LISTED else []
    return plain(f"  ({', '.join(values[:LISTED] + more)})")


def _said(option: ConfigOption) -> str:
    current: Any = option.current
    if isinstance(current, bool):
        return "on" if current else "off"
    return plain(current if isinstance(current, str) else as_json(current))


def _boolean(word: str) -> bool:
    if word.lower() in ("on", "true", "yes", "1"):
        return True
    if word.lower() in ("off", "false", "no", "0"):
        return False
    raise ConfigError(f"{word!r} is neither on nor off")
