"""How a host application takes part in a session: settings that are given with the agent.

The names, and what the providers are called with, are those of pydantic-acp.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..plan import Plan, PlanEntry
from ..protocol.messages import AvailableCommand

if TYPE_CHECKING:
    from pydantic_ai.agent import AbstractAgent

    from .approvals import NativeApprovalBridge
    from .models import AdapterModel
    from .modes import PrepareToolsBridge
    from .projection import ProjectionMap
    from .thinking import ThinkingBridge


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpSessionContext:
    """What a provider learns of the session that calls it.

    `cwd` is the session's working folder, `active_plan_id` the plan that the call is about, and
    `config_values` has the settings in effect by option id, such as `mode`. `metadata["thinking"]` has the
    thinking effort: its `config_id`, `current_value` and `supported_values`; `metadata["approval_policies"]`
    has the rules of the session. A provider may keep things of its own there, for the session.
    """

    session_id: str
    cwd: Path
    title: str
    session_model_id: str
    active_plan_id: str
    config_values: Mapping[str, str | bool]
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


class PlanProvider(Protocol):
    """The host's own plan, which the session shows and follows.

    The model can read this plan, and nobody can change it through the session. It is read when the session
    starts, before each request to the model and at the end of a turn. A provider that can say at once that
    its plan has changed has one more method, `subscribe(changed) -> unsubscribe`: it takes a function that is
    to be called then, from any thread, and returns the one that ends this. The plan is read again each time.

    Calls are made on the session's loop. When one raises, takes more than ten seconds or returns something
    that is no plan, the last plan stands and the person is told in a line. From then on a second is enough,
    until the provider answers in time.
    """

    def get_plan(
        self, session: AcpSessionContext, agent: AbstractAgent[Any, Any]
    ) -> Plan | Sequence[PlanEntry] | Awaitable[Plan | Sequence[PlanEntry] | None] | None:
        """The plan as it is now: its entries, or a `Plan` where it has more to it; None for no plan."""
        ...


class NativePlanPersistenceProvider(Protocol):
    """Where a plan is kept besides the session.

    Called after every change of a plan, whoever made it, also between turns; changes come one after another,
    in their order. Calls are made on the session's loop; an asynchronous one holds nothing up. When a call
    fails, or takes more than ten seconds, the plan stands, and the person is told in a line.
    """

    def persist_plan_state(
        self,
        session: AcpSessionContext,
        agent: AbstractAgent[Any, Any],
        entries: list[PlanEntry],
        plan_markdown: str | None,
    ) -> Awaitable[None] | None:
        """Keep the plan `session.active_plan_id` as it is now; a plan that was removed has no entries."""
        ...


class ConfigOptionsProvider(Protocol):
    """The host's own options among the settings of a session.

    Options are `ConfigOption`s, mappings with the names that ACP has (`id`, `name`, `type`, `currentValue`,
    `options`, …), or objects of ACP's Python SDK. One whose id is a setting of the session is left out.
    """

    def get_config_options(
        self, session: AcpSessionContext, agent: AbstractAgent[Any, Any]
    ) -> Sequence[Any] | Awaitable[Sequence[Any] | None] | None:
        """All options as they are now, in the order in which they are shown; None for none.

        Asked when the session starts, after another setting has changed, and at the end of each turn. When it
        fails, the last options stand, and the person is told in a line.
        """
        ...

    def set_config_option(
        self, session: AcpSessionContext, agent: AbstractAgent[Any, Any], config_id: str, value: str | bool
    ) -> Sequence[Any] | Awaitable[Sequence[Any] | None] | None:
        """Set an option that is offered. Return all of them as they are then, or None to be asked for them.

        What it returns is what is shown, also when the option has kept its value; the person is told of that.
        What it raises is the reason for a refusal.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommandRequest:
    """A prompt that is one of the host's commands: `argument` is the text behind its name, if any."""

    name: str
    argument: str | None
    raw_prompt: str
    session: AcpSessionContext
    agent: AbstractAgent[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommandResult:
    """What a command answers, in Markdown; when it is not `handled`, the prompt goes to the model."""

    text: str | None = None
    handled: bool = True


class SlashCommandProvider(Protocol):
    """The host's own slash commands.

    Only a prompt that is a command as a whole gets here. A command whose name is one of the session's own is
    never called.
    """

    def available_commands(
        self, session: AcpSessionContext, agent: AbstractAgent[Any, Any]
    ) -> Sequence[AvailableCommand] | Awaitable[Sequence[AvailableCommand]]:
        """All commands as they are now. Those with a `hint` take an argument, any text.

        Asked when the session starts and at the end of each turn.
        """
        ...

    def handle_command(
        self, request: SlashCommandRequest
    ) -> SlashCommandResult | Awaitable[SlashCommandResult | None] | None:
        """Do it. None: the prompt is for the model. What this raises ends the turn, in a line."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterConfig:
    """What a host application sets for a session.

    Args:
        capability_bridges: what the session adds to the agent, such as its modes.
        available_models: the models that a person may choose from, with `allow_model_selection`.
        allow_model_selection: whether there is a choice of models.
        config_options_provider: options of the host's own.
        approval_bridge: how approvals are asked for, and what is remembered; None for the plain way.
        projection_maps: what approvals show of calls: which tools write, delete or run what.
        slash_command_provider: slash commands of the host's own.
        plan_provider: the host's plan, in place of one that the model and people change.
        native_plan_persistence_provider: is told every change of the session's own plans, so never where
            there is a `plan_provider`.
        native_plan_additional_instructions: what `acp_get_plan` tells the model besides the plan.
    """

    capability_bridges: Sequence[PrepareToolsBridge[Any] | ThinkingBridge] = ()
    available_models: Sequence[AdapterModel] = ()
    allow_model_selection: bool = False
    config_options_provider: ConfigOptionsProvider | None = None
    approval_bridge: NativeApprovalBridge | None = None
    projection_maps: Sequence[ProjectionMap] = ()
    slash_command_provider: SlashCommandProvider | None = None
    plan_provider: PlanProvider | None = None
    native_plan_persistence_provider: NativePlanPersistenceProvider | None = None
    native_plan_additional_instructions: str | None = None
