"""A session's settings, each an object of its own, as ACP config options."""

from __future__ import annotations

from collections.abc import Awaitable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ConfigError
from ..protocol.messages import ConfigOption

if TYPE_CHECKING:
    from .options import HostOptions

#: A refusal names so many of the valid values, and says how many more there are.
NAMED = 20


class Setting(Protocol):
    """One setting of a session. Who acts on it holds the object, and reads it at each step of a turn."""

    @property
    def id(self) -> str:
        """The id of its option."""
        ...

    def option(self) -> ConfigOption | None:
        """What is in effect now and what can be chosen; None while there is nothing to choose."""
        ...

    def set(self, value: str | bool) -> None:
        """Put `value` into effect. Raises `ConfigError` naming what is valid."""
        ...

    def copy(self, other: Any) -> None:
        """Put into effect what was chosen in `other`, the same setting of a session that is forked."""
        ...


class Config:
    """The settings of a session in the order in which they are shown, then the options of the host's own."""

    def __init__(self, *settings: Setting) -> None:
        self.settings = {setting.id: setting for setting in settings}
        self.host: HostOptions | None = None

    def options(self) -> tuple[ConfigOption, ...]:
        """The options of all settings that have something to choose."""
        own = tuple(option for setting in self.settings.values() if (option := setting.option()))
        return own if self.host is None else (*own, *self.host.options)

    def copy(self, other: Config) -> None:
        """Put into effect what was chosen in `other`, the settings of a session that is forked."""
        for option_id, setting in self.settings.items():
            setting.copy(other.settings[option_id])

    def set(self, option_id: str, value: str | bool) -> Awaitable[None] | None:
        """Put `value` into effect, or ask the host to: then the awaitable ends with its answer.

        Raises `ConfigError` naming what is valid.
        """
        option = next((option for option in self.options() if option.id == option_id), None)
        if option is None:
            known = ", ".join(option.id for option in self.options())
            raise ConfigError(f"there is no option {option_id!r}: this session has {known or 'none'}")
        if setting := self.settings.get(option_id):
            return setting.set(value)
        assert self.host is not None  # whose option it is
        return self.host.set(option, value)


def choice(option: ConfigOption, value: str | bool, what: str | None = None) -> str:
    """`value`, when the select option offers it; `what` is what people call such a value.

    Raises `ConfigError` naming those that it offers.
    """
    valid = [choice.value for choice in option.values]
    if isinstance(value, str) and value in valid:
        return value
    named = valid
    if len(valid) > NAMED:
        close = get_close_matches(str(value), valid, NAMED)
        named = [*(close or valid[:NAMED]), "…"]
    more = f", of {len(valid)}" if len(valid) > NAMED else ""
    why = f" ({option.description})" if option.description else ""
    raise ConfigError(
        f"{what or option.name.lower()} {value!r} is not offered: use {', '.join(named)}{more}{why}"
    )
