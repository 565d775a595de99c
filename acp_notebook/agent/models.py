"""The models that a person may choose from, as a setting of a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai.models import Model

from ..errors import AgentError, ConfigError
from ..protocol.messages import ConfigOption, ConfigValue
from .config import choice
from .hosting import Hosted, model_of
from .scripted import ScriptedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterModel:
    """A model that a person may choose. The names are those of pydantic-acp.

    Args:
        model_id: what `%acp model` and hosts call it.
        name: what people read.
        override: the model, or its name such as `"openai:gpt-5"`, which is looked up when it is chosen.
        description: one sentence.
    """

    model_id: str
    name: str
    override: str | Model
    description: str | None = None


class ModelSetting:
    """The model of the next run; `override` is what the run has to be given, None for the agent's own.

    The agent's own model is among those offered: as the one in the list that it is, or before them.
    """

    id = "model"

    def __init__(self, hosted: Hosted, models: Sequence[AdapterModel] = ()) -> None:
        self._own = hosted
        self._models = {model.model_id: model for model in models}
        if len(self._models) < len(models):
            ids = [model.model_id for model in models]
            twice = next(id_ for n, id_ in enumerate(ids) if id_ in ids[:n])
            raise ConfigError(f"two models are called {twice!r}: give them names, as (name, model)")
        self._chosen: str = next((model.model_id for model in models if self._is_own(model)), "")
        if models and not self._chosen:
            name = hosted.model.model_name
            self._chosen = name if name not in self._models else hosted.model.model_id
            own = AdapterModel(model_id=self._chosen, name=name, override=hosted.model)
            self._models = {self._chosen: own, **self._models}
        self._values = tuple(ConfigValue(m.model_id, m.name, m.description) for m in self._models.values())
        self._made: dict[str, Model] = {}
        self.model = hosted.model

    def _is_own(self, model: AdapterModel) -> bool:
        own = self._own.model
        return model.override is own or model.override == own.model_id

    def option(self) -> ConfigOption | None:
        if not self._models:
            return None
        return ConfigOption(self.id, "Model", "model", self._chosen, self._values)

    def set(self, value: str | bool) -> None:
        option = self.option()
        assert option is not None  # else there is nothing to set
        model_id = choice(option, value)
        if model_id != self._chosen:
            self.model = self._made.get(model_id) or self._make(self._models[model_id])
            self._chosen = model_id

    def copy(self, other: ModelSetting) -> None:
        self._chosen, self.model, self._made = other._chosen, other.model, dict(other._made)

    def _make(self, model: AdapterModel) -> Model:
        try:
            made = self._own.model if self._is_own(model) else model_of(model.override)
        except AgentError as error:
            raise ConfigError(f"{error}; the model stays {self._chosen!r}") from error
        return self._made.setdefault(model.model_id, made)

    @property
    def override(self) -> Model | None:
        """What a run has to be given; None where the agent runs on its own model."""
        return None if self.model is self._own.model and not self._own.overrides else self.model


def adapter_models(models: Iterable[Any]) -> tuple[AdapterModel, ...]:
    """The models of a plain list: names such as `"openai:gpt-5"`, models, or pairs `(name, either of these)`.

    Raises `ConfigError` for anything else.
    """
    return tuple(map(_adapter_model, models))


def _adapter_model(given: Any) -> AdapterModel:
    if isinstance(given, AdapterModel):
        return given
    pair = cast("tuple[Any, ...]", given) if isinstance(given, tuple) else (None, given)
    name, model = pair if len(pair) == 2 else (None, None)
    if not isinstance(name, str | None) or not isinstance(model, str | Model):
        raise ConfigError(
            f"{given!r} is not a model to choose: use a name such as 'openai:gpt-5', a model, or a pair "
            "(name, model)"
        )
    override = cast("str | Model", model)
    name = name or (override if isinstance(override, str) else override.model_name)
    return AdapterModel(model_id=name, name=name, override=override)


def is_scripted(model: Model) -> bool:
    """Whether a model is a script and no language model."""
    return isinstance(model, ScriptedModel)
