"""A session's settings, mode and thinking effort, and how they are shown as ACP config options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import ConfigError
from ..protocol.messages import ConfigOption, ConfigValue
from .modes import DEFAULT_MODE, MODES, Mode

#: Efforts as a person names them, and what they are to pydantic-ai: nothing said, thinking off, or a level.
EFFORTS = {
    "default": None,
    "off": False,
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
}
_EFFORT_NAMES = {"xhigh": "Extra high"}


@dataclass(slots=True)
class Config:
    """What is in effect now. A running turn reads it at each of its steps."""

    thinks: bool
    modes: Sequence[Mode] = MODES
    mode_id: str = DEFAULT_MODE
    effort: str = "default"

    @property
    def mode(self) -> Mode:
        return next(mode for mode in self.modes if mode.id == self.mode_id)

    def options(self) -> tuple[ConfigOption, ...]:
        """Every option, with the values that can be chosen. A model without thinking offers no effort."""
        modes = tuple(ConfigValue(mode.id, mode.name, mode.description) for mode in self.modes)
        efforts = tuple(EFFORTS) if self.thinks else ("default",)
        return (
            ConfigOption("mode", "Mode", "mode", self.mode_id, modes),
            ConfigOption(
                "thinking",
                "Thinking",
                "thought_level",
                self.effort,
                tuple(ConfigValue(value, _EFFORT_NAMES.get(value, value.capitalize())) for value in efforts),
                description=None if self.thinks else "This model has no thinking to set.",
            ),
        )

    def set(self, option_id: str, value: str | bool) -> None:
        """Put `value` into effect. Raises `ConfigError` naming what is valid."""
        option = next((option for option in self.options() if option.id == option_id), None)
        if option is None:
            known = ", ".join(option.id for option in self.options())
            raise ConfigError(f"there is no option {option_id!r}: this session has {known}")
        valid = [choice.value for choice in option.values]
        if not isinstance(value, str) or value not in valid:
            why = f" ({option.description})" if option.description else ""
            what = "effort" if option.category == "thought_level" else option.name.lower()
            raise ConfigError(f"{what} {value!r} is not offered: use {', '.join(valid)}{why}")
        if option_id == "mode":
            self.mode_id = value
        else:
            self.effort = value
