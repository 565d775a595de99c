"""Thinking effort, as a setting of a session: what the model offers, what was chosen, and what a run used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings, ThinkingLevel

from ..errors import ConfigError
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

#: Keys of model profiles that hold the levels which a model tells apart; `none` among them is thinking off.
_LEVELS = ("openai_reasoning_efforts", "grok_reasoning_efforts", "google_thinking_levels")
#: What profiles say besides: a key, its value, and the effort that such a model takes for another one.
_TAKEN_FOR_ANOTHER = (
    ("openai_supports_minimal_reasoning_effort", False, "minimal"),
    ("google_supports_minimal_thinking_level", False, "minimal"),
    ("google_supports_thinking_level", True, "xhigh"),
    ("anthropic_supports_adaptive_thinking", True, "minimal"),
)
#: Settings for one provider's models, which come before `thinking` (pydantic-ai, "Thinking").
_PROVIDERS_OWN = (
    "anthropic_thinking",
    "anthropic_effort",
    "google_thinking_config",
    "groq_reasoning_effort",
    "openai_reasoning_effort",
    "openrouter_reasoning",
    "snowflake_reasoning",
    "xai_reasoning_effort",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingBridge:
    """How a session offers the thinking effort; without a bridge it does so, too, under these names.

    The names are those of pydantic-acp. A host reads the value in effect and those that the model offers in
    `AcpSessionContext.metadata["thinking"]`.
    """

    config_id: str = "thinking"
    config_name: str = "Thinking"
    config_description: str | None = None


class ThinkingSetting:
    """The thinking effort: what a person chose, kept also while the model in use does not offer it.

    In effect is what was chosen until a request has been made, and from then on what that request said.
    """

    def __init__(self, model: Model, bridge: ThinkingBridge = ThinkingBridge()) -> None:
        self.id = bridge.config_id
        self._bridge = bridge
        self._chosen = self._sent = "default"
        self.use(model)

    def use(self, model: Model) -> None:
        """Another model is asked from now on."""
        self._model = model
        self._offered = offered(model)
        self._forget()

    def set(self, value: str | bool) -> None:
        self._chosen = choice(self.option(), value, "effort")
        self._forget()

    def copy(self, other: ThinkingSetting) -> None:
        self._chosen = other._chosen
        self._forget()

    def _forget(self) -> None:
        self._request: tuple[Model, ModelSettings | None] | None = None
        self._said: _Said | None = None

    # -- requests ------------------------------------------------------------------------------------

    @property
    def _asked(self) -> str:
        return self._chosen if self._chosen in self._offered else "default"

    def model_settings(self) -> ModelSettings:
        """What the next request is to carry."""
        self._sent = self._asked
        level = EFFORTS[self._sent]
        return ModelSettings() if level is None else ModelSettings(thinking=level)

    def requested(self, model: Model, settings: ModelSettings | None) -> bool:
        """Take note of a request as it is sent. Returns whether that changes the effort that is shown."""
        if self._sent != self._asked:  # something else was chosen while the request was made up
            return False
        if self._request is not None and self._request[0] is model and self._request[1] == settings:
            return False
        self._request = model, settings
        shown = self._said or _Said(EFFORTS[self._sent])
        self._said = _said(model, settings or {})
        return self._said != shown

    # -- what is shown -------------------------------------------------------------------------------

    def option(self) -> ConfigOption:
        default = "Default"
        if self._asked == "default" and self._said is not None and self._said.level is not None:
            default += f" ({self._said.word})"
        values = (ConfigValue(effort, _name(effort)) for effort in self._offered[1:])
        about = self._bridge.config_description, self._remark(), self.conflict
        return ConfigOption(
            self.id,
            self._bridge.config_name,
            "thought_level",
            self.effort,
            (ConfigValue("default", default), *values),
            description=" ".join(filter(None, about)) or None,
        )

    @property
    def effort(self) -> str:
        """The effort in effect; `default` for one that is not among those offered."""
        if self._asked == "default" or self._said is None:
            return self._asked
        return self._said.effort if self._said.effort in self._offered else "default"

    @property
    def conflict(self) -> str | None:
        """Why something else is in effect than was chosen, in a sentence."""
        if self._chosen != self._asked:
            return f"{_name(self._chosen)!r} was chosen, which {self._model.model_name} does not offer."
        if self._asked == "default" or self._said is None or self._said.effort == self._asked:
            return None
        why = self._said.reason or "something in the agent changes it"
        return f"{_name(self._asked)!r} was chosen, but {why}: in effect is {self._said.word!r}."

    def _remark(self) -> str | None:
        if not _thinks(self._model):
            return "This model has no thinking to set, as far as its profile in pydantic-ai says."
        return None if "off" in self._offered else "This model always thinks."

    def metadata(self) -> dict[str, Any]:
        """What a host reads of it."""
        return {
            "config_id": self.id,
            "current_value": self.effort,
            "supported_values": list(self._offered),
        }


def thinking_bridge(bridges: Sequence[object]) -> ThinkingBridge:
    """The bridge that names the option. Raises `ConfigError` for two."""
    found = [bridge for bridge in bridges if isinstance(bridge, ThinkingBridge)]
    if len(found) > 1:
        raise ConfigError("two ThinkingBridge: a session has one thinking effort")
    return found[0] if found else ThinkingBridge()


# -- models ----------------------------------------------------------------------------------------------


def offered(model: Model) -> tuple[str, ...]:
    """The efforts that a model tells apart, as far as its profile says; only `default` when it has none."""
    if not _thinks(model):
        return ("default",)
    profile = cast("Mapping[str, Any]", _one(model).profile)
    efforts = set(EFFORTS)
    if profile.get("thinking_always_enabled"):
        efforts.remove("off")
    for key in _LEVELS:
        if key in profile:
            levels = {str(level).lower() for level in profile[key]}
            may_be_off = "none" in levels or key.startswith("google")
            efforts &= {"default", *levels, "off" if may_be_off else "default"}
            break
    else:
        efforts -= {effort for key, value, effort in _TAKEN_FOR_ANOTHER if profile.get(key) is value}
    return tuple(effort for effort in EFFORTS if effort in efforts)


def _thinks(model: Model) -> bool:
    profile = _one(model).profile
    return bool(profile.get("supports_thinking") or profile.get("thinking_always_enabled"))


def _one(model: Model) -> Model:
    """The model that answers, as far as it is known before: of several the first."""
    while True:
        match model:
            case WrapperModel():
                model = model.wrapped
            case FallbackModel():
                model = model.models[0]
            case _:
                return model


# -- requests --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Said:
    """What a request said of thinking; `reason` says why, where that is known."""

    level: object
    reason: str | None = None

    @property
    def effort(self) -> str | None:
        """The level as a person names it, if it has a name."""
        return next((effort for effort, level in EFFORTS.items() if level == self.level), None)

    @property
    def word(self) -> str:
        return self.effort or ("on" if self.level is True else str(self.level))


def _said(model: Model, settings: Mapping[str, Any]) -> _Said:
    model = _one(model)
    for name in _PROVIDERS_OWN:
        if (value := settings.get(name)) is not None and _is_of(model, name.split("_")[0]):
            level = {"none": False}.get(value, value) if isinstance(value, str) else f"what {name} says"
            return _Said(level, f"the agent has the setting {name}")
    level = settings.get("thinking")
    if level is not None and not _thinks(model):
        return _Said(None, f"{model.model_name} has no thinking")
    if level is False and model.profile.get("thinking_always_enabled"):
        return _Said(None, f"{model.model_name} always thinks")
    return _Said(level)


def _is_of(model: Model, family: str) -> bool:
    return any(kind.__module__.startswith(f"pydantic_ai.models.{family}") for kind in type(model).__mro__)


def _name(effort: str) -> str:
    return _NAMES.get(effort, effort.capitalize())
