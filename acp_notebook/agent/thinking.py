"""Thinking effort, as a setting of a session."""

from __future__ import annotations

from pydantic_ai.settings import ModelSettings, ThinkingLevel

from ..protocol.messages import ConfigOption, ConfigValue
from .config import choice

#: Efforts as a person names them, and what they are to pydantic-ai: nothing said, thinking off, or a level.
EFFORTS: dict[str, ThinkingLevel | None] = {
    "default": None,
    "off": False,
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
}
_NAMES = {"xhigh": "Extra high"}


class ThinkingSetting:
    """The thinking effort in effect. A model that does not think offers none but `default`."""

    id = "thinking"

    def __init__(self, thinks: bool) -> None:
        self._thinks = thinks
        self.effort = "default"

    def option(self) -> ConfigOption:
        efforts = tuple(EFFORTS) if self._thinks else ("default",)
        return ConfigOption(
            self.id,
            "Thinking",
            "thought_level",
            self.effort,
            tuple(ConfigValue(value, _NAMES.get(value, value.capitalize())) for value in efforts),
            description=None if self._thinks else "This model has no thinking to set.",
        )

    def set(self, value: str | bool) -> None:
        self.effort = choice(self.option(), value, "effort")

    def model_settings(self) -> ModelSettings:
        """What a model request carries."""
        effort = EFFORTS[self.effort]
        return ModelSettings() if effort is None else ModelSettings(thinking=effort)
