"""The agent side of one session: its plan, its settings, its history, and the turn that runs."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from pydantic_ai import CancellationToken, capture_run_messages
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.usage import RunUsage, UsageLimits

from ..errors import PlanError, TurnRunning
from ..plan import Author, PlanEdit
from ..protocol.connection import NOT_OURS, AgentInfo, ClientSide, Readiness
from ..protocol.messages import (
    AgentMessageChunk,
    ConfigOption,
    Notice,
    Setter,
    StateUpdate,
    UserMessage,
)
from ..protocol.rules import Rule
from ..steps.events import watcher
from ..steps.outline import Outline
from ..steps.resume import Resume, Resumption, resuming
from .adapter import AcpSessionContext, AdapterConfig
from .approval_store import RuleFile, SessionMetadataApprovalPolicyStore
from .approvals import Approvals, NativeApprovalBridge
from .by_hand import ByHand, Look, Looked, sendable
from .capability import Capture, SessionCapability
from .hosting import Hosted
from .model_plan import ModelPlan
from .options import HostOptions
from .outcome import one_line, shown, stop_reason, usage_of
from .plan_tools import plan_toolset
from .plans import Plans
from .providers import Calls, HostPlan, KeptPlans
from .remembered import Remembered
from .scripted import ScriptedModel
from .settings import SessionSettings
from .slash import HostCommands
from .step_tools import foreseen
from .steps import RunPlans
from .stream import Outbox, forward
from .task_plan import TaskPlan, plain_output
from .toolset import Offer
from .values import explain

log = logging.getLogger(__name__)

Kind = TypeVar("Kind", bound=SessionCapability)

#: Model requests in one turn. pydantic-ai's own 50 are too few for a plan worked through entry by entry.
REQUEST_LIMIT = 200


class AgentSession:
    """Hosts a pydantic-ai agent for one client (protocol.connection.AgentSide).

    Lives on the loop it is made on. Each turn is a task of its own, since a task that swallowed a
    cancellation cannot run an agent again.
    """

    def __init__(
        self,
        hosted: Hosted,
        client: ClientSide,
        capture: Capture | None = None,
        adapter: AdapterConfig = AdapterConfig(),  # noqa: B008, frozen
    ) -> None:
        self._hosted = hosted
        self._client = client
        self._capture = capture
        self._adapter = adapter
        self._loop = asyncio.get_running_loop()
        self._outbox = Outbox(client.update, self._loop)
        self._settings = SessionSettings(hosted, adapter, self._outbox.send, self._in_run)
        self._plans = Plans(self._outbox.send)
        self._model_plan = ModelPlan(self._plans, self._notice)
        self._run_plans = RunPlans(self._outbox)
        self._history: list[ModelMessage] = []
        self._message_ids = count(1)
        self._task: asyncio.Task[None] | None = None
        self._token: CancellationToken | None = None
        self._obeying: asyncio.Future[str | None] | None = None
        self._id, self._folder = uuid4().hex, _working_folder()
        self._metadata: dict[str, Any] = {}
        self._host_plan = self._provide(adapter)
        self._remembered, self._approvals = self._approving(adapter)
        self._plan_tools = plan_toolset(
            self._model_plan,
            adapter.native_plan_additional_instructions,
            read_only=self._host_plan is not None,
        )
        self._settings.announce()

    @property
    def info(self) -> AgentInfo:
        """Who this is, and the model in use."""
        return self._settings.info

    # -- plan ----------------------------------------------------------------------------------------

    def edit_plan(
        self,
        plan_id: str,
        edits: Sequence[PlanEdit],
        author: Author = "person",
        undoes: int | None = None,
    ) -> None:
        self._must_own_plans()
        self._plans.edit(plan_id, self._run_plans.checked(plan_id, edits), author, undoes)

    def remove_plan(self, plan_id: str, author: Author = "person") -> None:
        self._must_own_plans()
        self._run_plans.checked(plan_id)
        self._plans.remove(plan_id, author)

    def _must_own_plans(self) -> None:
        if self._host_plan is not None:
            raise PlanError(NOT_OURS)

    def _provide(self, adapter: AdapterConfig) -> HostPlan | None:
        """Have the host application take part; returns its own plan where it has one."""
        host, keeper = adapter.plan_provider, adapter.native_plan_persistence_provider
        options, commands = adapter.config_options_provider, adapter.slash_command_provider
        settings = self._settings
        if host is None and keeper is None and options is None and commands is None:
            return None

        def calls() -> Calls:
            return Calls(self._hosted.agent, self._context, lambda text: self._notice(text, "warning"))

        if options is not None:
            own = settings.config.settings
            settings.config.host = HostOptions(options, calls(), own, self._outbox.send, settings.announce)
        if commands is not None:
            settings.slash.host = HostCommands(commands, calls(), settings.announce)
        if host is not None:
            return HostPlan(host, self._plans, calls())
        if keeper is not None:
            KeptPlans(keeper, self._plans, calls())
        return None

    def _context(self, plan_id: str | None = None) -> AcpSessionContext:
        """What a provider learns of the session, whose metadata is one object for all of its life."""
        self._metadata["thinking"] = self._settings.thinking.metadata()
        return AcpSessionContext(
            session_id=self._id,
            cwd=self._folder,
            title=self.info.name,
            session_model_id=self.info.model,
            active_plan_id=plan_id or self._plans.current,
            config_values={option.id: option.current for option in self._settings.config.options()},
            metadata=self._metadata,
        )

    def _notice(self, text: str, level: str = "info") -> None:
        self._outbox.send(Notice(text, level))

    def _approving(self, adapter: AdapterConfig) -> tuple[Remembered, Approvals]:
        """The rules of this session, which a fork does not get, and who is asked where none answers."""
        bridge, agent = adapter.approval_bridge or NativeApprovalBridge(), self._hosted.agent.name
        warn = partial(self._notice, level="warning")
        remembered = Remembered(
            bridge.policy_store or SessionMetadataApprovalPolicyStore(),
            RuleFile(agent, self._folder) if agent else None,
            self._context,
            self._outbox.send,
            warn,
        )
        ask = self._client, self._outbox, warn
        return remembered, Approvals(bridge, adapter.projection_maps, remembered, self._context, *ask)

    # -- rules ---------------------------------------------------------------------------------------

    def add_rule(self, rule: Rule, arguments: Mapping[str, Any] | None = None) -> Rule:
        return self._remembered.add(rule, arguments)

    def remove_rules(self, numbers: Sequence[int] | None = None) -> None:
        self._remembered.remove(numbers)

    # -- work ----------------------------------------------------------------------------------------

    def choose_plan(self, plan_id: str) -> None:
        self._plans.choose(plan_id)

    def readiness(self, plan_id: str) -> Readiness:
        return Readiness(self._settings.modes.working().id, self._model_plan.unseen(plan_id))

    # -- settings ------------------------------------------------------------------------------------

    def set_config(
        self, option_id: str, value: str | bool, author: Setter = "person"
    ) -> tuple[ConfigOption, ...] | Awaitable[tuple[ConfigOption, ...]]:
        return self._settings.set(option_id, value, author)

    def _in_run(self) -> bool:
        return self._token is not None and self._obeying is None

    # -- turns ---------------------------------------------------------------------------------------

    def prompt(self, text: str) -> None:
        self._begin(text)

    def _begin(self, text: str, by_hand: ByHand | None = None) -> None:
        if self._token is not None:
            raise TurnRunning("a turn is running: wait for it to end, or cancel it with %acp cancel")
        token = self._token = CancellationToken()  # first, for whoever hears of the turn may cancel it
        self._settings.use_model()
        self._model_plan.begin_turn()
        self._outbox.send(UserMessage(text, f"m{next(self._message_ids)}"))
        self._outbox.send(StateUpdate("running"))
        self._task = self._loop.create_task(
            self._turn(text, token, by_hand), name=f"acp turn of {self.info.name}"
        )

    # -- steps by hand -------------------------------------------------------------------------------

    async def outline_steps(self, steps: Any) -> Outline:
        agent, offer = self._hosted.agent, self._offer(task_plan=False)
        look = self._capability(offer, _nothing, Look, steps=sendable(steps), agent=self.info.name)
        with suppress(Looked):
            await agent.run(
                "Look at these steps.",
                message_history=list(self._history),
                model=ScriptedModel(),
                deps=self._hosted.deps,
                capabilities=[look],
                infer_name=False,
            )
        assert look.outline is not None  # else it has raised why
        return look.outline

    def run_steps(self, steps: Any) -> None:
        hand = ByHand(sendable(steps), self.info.name, self._run_plans.ended)
        self._begin(hand.prompt, hand)

    def resume_steps(self, run_id: str, steps: Any, done: Mapping[str, Any], again: Collection[str]) -> None:
        resume = Resume(run_id, dict(done), frozenset(again))
        Resumption(resume).close()  # what cannot go on is told before there is a turn
        sent: Any = None if steps is None else sendable(steps)
        hand = ByHand(sent, self.info.name, self._run_plans.ended, resume)
        self._begin(hand.prompt, hand)

    def cancel(self) -> None:
        if self._token is not None:
            self._token.cancel()
        if self._obeying is not None:
            self._obeying.cancel()

    def fork(self, client: ClientSide) -> AgentSession:
        if self._token is not None:
            raise TurnRunning("a turn is running: the session can be forked when it has ended")
        fork = AgentSession(self._hosted, client, self._capture, self._adapter)
        fork._history = list(self._history)
        if self._host_plan is None:
            fork._plans.copy(self._plans)
        fork._model_plan.copy(self._model_plan)
        fork._run_plans.copy(self._run_plans)
        fork._settings.copy(self._settings)
        return fork

    def close(self) -> None:
        self.cancel()
        if self._host_plan is not None:
            self._host_plan.close()

    async def _turn(self, text: str, token: CancellationToken, by_hand: ByHand | None) -> None:
        usage, before = RunUsage(), len(self._history)
        watcher.set(self._run_plans)  # in this task, and so for whatever the turn calls
        resuming.set(None if by_hand is None else by_hand.resume)
        end: StateUpdate | None = None
        try:
            end = None if by_hand is not None else await self._obey(text)
            end = end or await self._run(text, token, usage, by_hand)
            if by_hand is not None:
                self._history = by_hand.without_secrets(self._history, self._run_plans.secrets)
            if self._host_plan is not None:
                await self._host_plan.follow()
        finally:
            self._model_plan.end_turn()
            self._settings.read()
            self._task = self._token = None
            end = end or StateUpdate("idle", "error", error="the turn ended unexpectedly")
            spent = usage if by_hand is None else RunUsage(tool_calls=usage.tool_calls)  # no model was asked
            self._outbox.send(replace(end, usage=usage_of(spent, self._history[before:])))

    async def _obey(self, text: str) -> StateUpdate | None:
        """Do what a prompt says that is a slash command; None for one that goes to the model."""
        if (command := self._settings.slash.find(text)) is None:
            return None
        self._obeying = asyncio.ensure_future(command())
        try:
            said = await self._obeying
        except asyncio.CancelledError:
            return StateUpdate("idle", "cancelled")
        except Exception as error:
            log.error("%s: command %r failed", self.info.name, text, exc_info=error)
            return StateUpdate("idle", "error", error=explain(error), cause=error)
        finally:
            self._obeying = None
        if said is None:
            return None
        self._outbox.text(AgentMessageChunk, said)
        return StateUpdate("idle", "end_turn", output=said)

    async def _run(
        self, text: str, token: CancellationToken, usage: RunUsage, by_hand: ByHand | None
    ) -> StateUpdate:
        """One run of the agent. Whatever happens, what was completed is kept in the history."""
        settings, generation = self._settings, self._settings.generation
        model, output = settings.models.override, None
        if by_hand is not None:
            model, output = by_hand.model(), plain_output(self._hosted.agent)
        elif generation is not None:
            output = generation.output_types(self._model_plan)
        offer = self._offer(task_plan=by_hand is None and output is not None)
        requested = settings.requested if by_hand is None else _nothing
        capability = self._capability(offer, requested, SessionCapability)

        if by_hand is not None:
            by_hand.offer = offer

        async def handle(ctx: Any, events: Any) -> None:
            await forward(events, self._outbox, offer.tools, self._approvals.reasons)

        with capture_run_messages() as messages, closing(capability.threads):
            try:
                if token.cancelled:  # already: nothing of the run has to be begun
                    raise asyncio.CancelledError
                result = await self._hosted.agent.run(
                    text,
                    output_type=output,
                    message_history=self._history,
                    model=model,
                    deps=self._hosted.deps,
                    usage=usage,
                    usage_limits=UsageLimits(request_limit=REQUEST_LIMIT),
                    cancellation_token=token,
                    capabilities=[capability],
                    event_stream_handler=handle,
                    infer_name=False,  # naming the agent would change it
                )
            except (RunCancelled, asyncio.CancelledError) as error:
                cancelled = (
                    error if isinstance(error, RunCancelled) else RunCancelled.from_cancellation(error)
                )
                self._keep(cancelled.all_messages() if cancelled else messages)
                self._outbox.close_calls("cancelled")
                return StateUpdate("idle", "cancelled")
            except BaseException as error:  # whatever it is, it ends the turn and not the loop
                log.error("%s: the turn failed", self.info.name, exc_info=error)
                self._keep(messages)
                self._outbox.close_calls("the turn failed")
                return StateUpdate("idle", stop_reason(error), error=one_line(error), cause=error)
        self._history = result.all_messages()
        streamed = isinstance(result.output, str) and not result.response.tool_calls
        if not (streamed or isinstance(result.output, TaskPlan)):  # which is shown as the plan
            self._outbox.paragraph()
            self._outbox.text(AgentMessageChunk, shown(result.output))
        if by_hand is not None and by_hand.refused:
            return StateUpdate("idle", "error", error="the steps were refused, and nothing has run")
        return StateUpdate("idle", "end_turn", output=result.output)

    def _offer(self, *, task_plan: bool) -> Offer:
        modes, generation = self._settings.modes, self._settings.generation
        return Offer(modes, generation, task_plan, lambda line: self._notice(line, "warning"))

    def _capability(
        self, offer: Offer, requested: Callable[..., None], kind: type[Kind], **more: Any
    ) -> Kind:
        """What this session adds to one run."""
        return kind(
            self._settings.modes,
            self._settings.thinking,
            self._plan_tools,
            self._model_plan,
            self._host_plan,
            self._approvals,
            self._outbox,
            offer,
            requested,
            self._capture,
            foreseen=partial(foreseen, self._remembered),
            step=self._run_plans.step,
            **more,
        )

    def _keep(self, messages: Sequence[ModelMessage]) -> None:
        """Keep the history of a run that did not end by itself, so that the next prompt can follow it."""
        if not messages:  # it was over before it had begun
            return
        self._history = list(messages)
        last = self._history[-1]
        if isinstance(last, ModelResponse) and any(isinstance(part, ToolCallPart) for part in last.parts):
            # pydantic-ai closes the open calls of an interrupted response, and refuses a prompt after others
            self._history[-1] = replace(last, state="interrupted")


def _nothing(*about: object) -> None:
    """Takes note of the requests of a run whose model is not the session's."""


def _working_folder() -> Path:
    """Where the session lives. A folder that is gone holds nothing."""
    try:
        return Path.cwd()
    except OSError:
        return Path(os.sep, "gone")
