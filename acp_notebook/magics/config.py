"""Subcommands for a session's settings. Each prints the value in effect, read back from the session."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import AcpError, ConfigError
from ..notebook import Session
from ..protocol.messages import ConfigOption
from .command import Invocation
from .start import session_for


def mode(call: Invocation) -> None:
    """Show the modes, or switch to one; a running turn follows."""
    _show_or_set(call, "mode", "mode")


def effort(call: Invocation) -> None:
    """Show the thinking efforts, or set one; a running turn follows."""
    _show_or_set(call, "thought_level", "thinking effort")


def _show_or_set(call: Invocation, category: str, what: str) -> None:
    session = session_for(call)
    option = session.state.option(category)
    if option is None:
        raise ConfigError(f"this agent has no {what} to choose")
    if call.text:
        session.set_config(option.id, call.text)
        print(f"{option.name}: {_said(_option(session, option.id).current)}")
    else:
        print("\n".join(_choices(option)))


def config(call: Invocation) -> None:
    """Show all settings, one with its choices, or set one."""
    session = session_for(call)
    match call.words:
        case []:
            print(
                "\n".join(
                    f"{option.id} = {_said(option.current)}  ({', '.join(_values(option))})"
                    for option in session.config_options
                )
            )
        case [option_id]:
            print("\n".join(_choices(_option(session, option_id))))
        case [option_id, value]:
            session.set_config(
                option_id, _boolean(value) if _option(session, option_id).type == "boolean" else value
            )
            print(f"{option_id} = {_said(_option(session, option_id).current)}")
        case _:
            raise AcpError(f"this is used as {call.command.usage}")


def _option(session: Session, option_id: str) -> ConfigOption:
    for option in session.config_options:
        if option.id == option_id:
            return option
    known = ", ".join(option.id for option in session.config_options)
    raise ConfigError(f"there is no option {option_id!r}: this session has {known or 'none'}")


def _choices(option: ConfigOption) -> Iterator[str]:
    """The value in effect, then a line for each that can be chosen."""
    yield f"{option.name}: {_said(option.current)}"
    width = max((len(value.value) for value in option.values), default=0)
    for value in option.values:
        mark = "*" if value.value == option.current else " "
        yield f"{mark} {value.value:{width}}  {value.description or value.name}".rstrip()


def _values(option: ConfigOption) -> list[str]:
    return ["on", "off"] if option.type == "boolean" else [value.value for value in option.values]


def _said(value: str | bool) -> str:
    return value if isinstance(value, str) else "on" if value else "off"


def _boolean(word: str) -> bool:
    if word.lower() in ("on", "true", "yes", "1"):
        return True
    if word.lower() in ("off", "false", "no", "0"):
        return False
    raise ConfigError(f"{word!r} is neither on nor off")
