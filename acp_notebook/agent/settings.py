"""The settings of one session together: what depends on each of them, and what the client hears of it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from ..protocol.connection import AgentInfo
from ..protocol.messages import (
    AvailableCommand,
    AvailableCommandsUpdate,
    ConfigOption,
    ConfigOptionUpdate,
    Notice,
    SessionInfoUpdate,
    Setter,
    Update,
)
from .adapter import AdapterConfig
from .config import Config
from .hosting import Hosted
from .models import ModelSetting, is_scripted
from .modes import BUILT_IN, WITH_STEPS, ModeSetting, mode_bridge
from .slash import SlashCommands
from .step_tools import plans_by_steps
from .task_plan import PlanGenerationSetting
from .thinking import ThinkingSetting, thinking_bridge

log = logging.getLogger(__name__)


class SessionSettings:
    """Mode, model, thinking effort, plan generation, the host's own options, and the slash commands for them.

    `send` takes updates for the client; `in_run` says whether a run goes on, which keeps its model.
    """

    def __init__(
        self,
        hosted: Hosted,
        adapter: AdapterConfig,
        send: Callable[[Update], object],
        in_run: Callable[[], bool],
    ) -> None:
        self._send = send
        self._in_run = in_run
        self._model = hosted.model
        bridge = mode_bridge(adapter.capability_bridges)
        if bridge is BUILT_IN and plans_by_steps(hosted.agent):
            bridge = WITH_STEPS
        self.modes = ModeSetting(bridge)
        self.models = ModelSetting(hosted, adapter.available_models if adapter.allow_model_selection else ())
        self.thinking = ThinkingSetting(hosted.model, thinking_bridge(adapter.capability_bridges))
        self.generation = None
        if adapter.plan_provider is None:
            how = bridge.default_plan_generation_type
            self.generation = PlanGenerationSetting(self.modes, hosted.agent, how)
        settings = self.modes, self.models, self.thinking, self.generation
        self.config = Config(*(setting for setting in settings if setting is not None))
        self.slash = SlashCommands(self.config.options, self.set)
        self.info = AgentInfo(
            hosted.name, self._model.model_name, is_scripted(self._model), adapter.plan_provider is None
        )
        self._announced: tuple[ConfigOption, ...] = ()
        self._commands: tuple[AvailableCommand, ...] = ()

    def copy(self, other: SessionSettings) -> None:
        """Put into effect what was chosen in a session that is forked."""
        self.config.copy(other.config)
        self.read()

    def set(
        self, option_id: str, value: str | bool, author: Setter = "person"
    ) -> tuple[ConfigOption, ...] | Awaitable[tuple[ConfigOption, ...]]:
        """Set an option (protocol.connection.AgentSide.set_config)."""
        answer = self.config.set(option_id, value)
        if answer is not None:
            return self._when_answered(answer, author)
        if self.config.host is not None and option_id in self.config.settings:
            self.config.host.read()  # they may be others now
        if not self._in_run():
            self.use_model()
        elif option_id == self.models.id and self.models.model is not self._model:
            chosen, running = self.models.model.model_name, self._model.model_name
            self._send(Notice(f"The next turn runs on {chosen}; this one goes on with {running}."))
        return self.announce(author)

    async def _when_answered(self, answer: Awaitable[None], author: Setter) -> tuple[ConfigOption, ...]:
        await answer
        return self.announce(author)

    def announce(self, author: Setter = "person") -> tuple[ConfigOption, ...]:
        """Send the options and the commands where they have changed, and return the options."""
        options = self.config.options()
        if options != self._announced:
            self._announced = options
            self._send(ConfigOptionUpdate(options, author))
        if (commands := self.slash.available()) != self._commands:
            self._commands = commands
            self._send(AvailableCommandsUpdate(commands))
        return options

    def read(self) -> None:
        """Between turns: use the model that was chosen, and ask the host for what is its own."""
        self.use_model()
        if self.config.host is not None:
            self.config.host.read()
        if self.slash.host is not None:
            self.slash.host.read()
        self.announce()

    def use_model(self) -> None:
        """Put the model that was chosen into use, between turns: a run keeps the one it began with."""
        if self.models.model is self._model:
            return
        self._model = self.models.model
        self.info = replace(self.info, model=self._model.model_name, scripted=is_scripted(self._model))
        self._send(SessionInfoUpdate(self.info.model, self.info.scripted))
        self.thinking.use(self._model)
        if conflict := self.thinking.conflict:
            self._send(Notice(conflict))

    def requested(self, model: Model, settings: ModelSettings | None) -> None:
        """A request is on its way: show what it says of thinking, where that is not what was chosen."""
        if self.thinking.requested(model, settings):
            self.announce()
            if conflict := self.thinking.conflict:
                log.warning("%s: %s", self.info.name, conflict)
                self._send(Notice(conflict, "warning"))
