"""A session's settings, each an object of its own, as ACP config options."""

from __future__ import annotations

from typing import Protocol

from ..errors import ConfigError
from ..protocol.messages import ConfigOption


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


class Config:
    """The settings of a session, in the order in which they are shown."""

    def __init__(self, *settings: Setting) -> None:
        self._settings = {setting.id: setting for setting in settings}

    def options(self) -> tuple[ConfigOption, ...]:
        """The options of all settings that have something to choose."""
        return tuple(option for setting in self._settings.values() if (option := setting.option()))

    def set(self, option_id: str, value: str | bool) -> None:
        """Put `value` into effect. Raises `ConfigError` naming what is valid."""
        options = self.options()
        if not any(option.id == option_id for option in options):
            known = ", ".join(option.id for option in options)
            raise ConfigError(f"there is no option {option_id!r}: this session has {known or 'none'}")
        self._settings[option_id].set(value)


def choice(option: ConfigOption, value: str | bool, what: str | None = None) -> str:
    """`value`, when the select option offers it; `what` is what people call such a value.

    Raises `ConfigError` naming those that it offers.
    """
    valid = [choice.value for choice in option.values]
    if isinstance(value, str) and value in valid:
        return value
    why = f" ({option.description})" if option.description else ""
    raise ConfigError(f"{what or option.name.lower()} {value!r} is not offered: use {', '.join(valid)}{why}")
