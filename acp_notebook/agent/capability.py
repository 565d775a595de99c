"""What a session adds to one run of the user's agent, as one pydantic-ai capability.

Everything is per run, so two sessions on one agent never see each other. Settings are read at each step, so
what a person changes during a turn holds from the next step on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability, CombinedCapability
from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import (
    DeferredToolRequests,
    DeferredToolResults,
    ToolDefinition,
    ToolDenied,
)
from pydantic_ai.toolsets import AbstractToolset

from ..errors import StepsRefused
from ..masking import marked
from ..protocol.messages import ToolCallContentChunk
from ..steps.calls import MAY_HAVE_RUN, StepCall
from ..steps.outline import Outline
from .approvals import Approvals
from .model_plan import ModelPlan
from .modes import ModeSetting, tool_kind
from .plan_tools import PlanToolset
from .providers import HostPlan
from .step_tools import Foreseen, outlined, under
from .stream import Outbox
from .task_plan import TASK_PLAN
from .thinking import ThinkingSetting
from .threads import Threads, leave
from .toolset import Offer, SessionToolset
from .values import explain, for_model

log = logging.getLogger(__name__)

#: While it is entered, what this context prints goes to the sink and not to a cell.
Capture = Callable[[Callable[[str], None]], contextlib.AbstractContextManager[None]]

#: What a capability may do about calls of tools, and output tools.
_CALL_HOOKS = tuple(
    name
    for name in dir(AbstractCapability)
    if name.startswith(("before_", "after_", "wrap_", "on_", "handle_"))
    and ("tool" in name or "output" in name)
)
#: How a tool's failure comes out of its handler: as it is for a step, else as the answer made of it.
_FAILURES = (ToolFailed, ModelRetry, ToolFailedError, ToolRetryError)
EXTERNAL = "This call would have to be carried out outside of the session, which nobody does here."


class _Prints:
    """What one tool call prints. Sync tools print on worker threads, and perhaps very often."""

    def __init__(self, call_id: str, outbox: Outbox) -> None:
        self._call_id = call_id
        self._outbox = outbox
        self._loop = asyncio.get_running_loop()
        self._pieces: deque[str] = deque()
        self._expected = False

    def write(self, text: str) -> None:
        self._pieces.append(text)
        if not self._expected:
            self._expected = True
            with contextlib.suppress(RuntimeError):  # the loop has ended before the tool
                self._loop.call_soon_threadsafe(self.drain)

    def drain(self) -> None:
        self._expected = False  # before it looks: what comes from now on has a drain of its own
        pieces: list[str] = []
        while self._pieces:
            pieces.append(self._pieces.popleft())
        if pieces:
            self._outbox.send(ToolCallContentChunk(self._call_id, "".join(pieces)))


@dataclass
class SessionCapability(AbstractCapability[Any]):
    """Plan tools, notes on the plan, mode filter, effort, prints, tool errors and approvals of one run."""

    modes: ModeSetting
    thinking: ThinkingSetting
    plan_tools: PlanToolset
    plan: ModelPlan
    host_plan: HostPlan | None
    approvals: Approvals
    outbox: Outbox
    offer: Offer
    requested: Callable[[Model, ModelSettings | None], None]
    capture: Capture | None = None
    foreseen: Foreseen = lambda step: None
    step: Callable[[str], str | None] = lambda call_id: None
    threads: Threads = field(default_factory=Threads)
    _allowed: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def get_model_settings(self) -> Callable[[RunContext[Any]], ModelSettings]:
        return lambda ctx: self.thinking.model_settings()

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return SessionToolset(under(toolset, self.offer), self.plan_tools, self.offer, self._allowed)

    async def prepare_output_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """The agent's own come first, as ever, and a `TaskPlan` where the mode of now wants one."""
        own = [tool_def for tool_def in tool_defs if tool_def.name != TASK_PLAN]
        task_plan = [tool_def for tool_def in tool_defs if tool_def.name == TASK_PLAN]
        return [*own, *task_plan] if self.offer.takes_task_plan else own

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put news of the mode and of the plan into the request, where the history keeps them.

        What a provider runs itself comes with the request alone, so the mode is seen to here.
        """
        if self.host_plan is not None:
            await self.host_plan.follow()
        plan = self.plan.note("acp_get_plan" in self.offer.tools)
        for note in (self.modes.news(), plan, *self.approvals.notes()):
            if note is not None:
                _add(note, ctx.messages, request_context.messages)
        parameters = request_context.model_request_parameters
        native = self.offer.native_tools(parameters.native_tools)
        if len(native) < len(parameters.native_tools):
            parameters = replace(parameters, native_tools=native)
            request_context = replace(request_context, model_request_parameters=parameters)
        self.requested(request_context.model, request_context.model_settings)
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Have calls of tools that the model was not given refused by `before_tool_validate`."""
        manager, calls = ctx.tool_manager, response.tool_calls
        if calls and manager is not None and (tools := manager.tools) is not None:
            for call in calls:
                if call.tool_name not in tools:
                    tools[call.tool_name] = self.offer.stand_in(call.tool_name, self.plan_tools)
            if self._is_alone(manager.root_capability):
                manager.root_capability = self
        return response

    def _is_alone(self, root: AbstractCapability[Any] | None) -> bool:
        """Whether no other capability of a run does anything about calls.

        A tool manager may then have this one for all of them, and spare each call what `CombinedCapability`
        does for every capability: some eight copies of the context, a tenth of what a call costs.
        """
        return isinstance(root, CombinedCapability) and not any(
            getattr(type(other), hook) is not getattr(AbstractCapability, hook)
            for other in root.capabilities
            if other is not self
            for hook in _CALL_HOOKS
        )

    async def before_tool_validate(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any
    ) -> Any:
        """Refuse what may not be used before anybody is asked to approve it."""
        await self._check(tool_def, call)
        if tool_def.kind == "unapproved":  # a plan that cannot run is nothing to approve
            try:
                await self._outline(ctx, call)
            except StepsRefused as refused:
                raise ToolFailed(f"{refused}") from None
        return args

    async def _outline(self, ctx: RunContext[Any], call: ToolCallPart) -> Outline | None:
        """What a call would do that sends a plan of steps; None for every other call."""
        tools = ctx.tool_manager.tools if ctx.tool_manager is not None else None
        tool = (tools or {}).get(call.tool_name)
        if tool is None or isinstance(call, StepCall):
            return None
        try:
            args = call.args_as_dict()
        except (ValueError, AssertionError):  # which is told when it is validated
            return None
        return await outlined(tool, args.get("steps"), ctx, self.foreseen)

    async def _about(
        self, ctx: RunContext[Any], call: ToolCallPart, requests: DeferredToolRequests
    ) -> Mapping[str, Any]:
        """What is known of a call that is to be approved; of a plan also what it would do."""
        metadata = requests.metadata.get(call.tool_call_id) or {}
        if (step := self.step(call.tool_call_id)) is not None:
            return {"description": f"Step {step}.", **metadata}
        outline = await self._outline(ctx, call)
        return metadata if outline is None else {"preview": f"{outline}", **metadata}

    async def _check(self, tool_def: ToolDefinition, call: ToolCallPart) -> None:
        of_step = isinstance(call, StepCall)
        if not of_step and self.offer.stands(tool_def.name):
            return
        if refusal := await self.offer.refusal(tool_def, of_step=of_step):
            raise ToolFailed(refusal)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Any],
    ) -> Any:
        await self._check(tool_def, call)  # again, for the mode may have changed while a person was asked
        if isinstance(call, StepCall):
            return await self._run_step(ctx, call, tool_def, args, handler)
        call_id = call.tool_call_id
        self.outbox.tool_call(call_id, kind=tool_kind(tool_def.metadata), status="in_progress")
        try:
            if self.capture is None:
                result = await self._followed(ctx, call, tool_def, args, handler)
            else:
                prints = _Prints(call_id, self.outbox)
                try:
                    with self.capture(prints.write):
                        result = await self._followed(ctx, call, tool_def, args, handler)
                finally:
                    prints.drain()
            return await self.approvals.review(call, tool_def, result)
        except BaseException as error:
            if (bearable := _bearable(tool_def, error)) is error:
                raise
            raise bearable from None

    async def _run_step(
        self,
        ctx: RunContext[Any],
        call: StepCall,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Any],
    ) -> Any:
        """Run a step's tool. It is part of a call that is shown, so it is itself only if a person is asked.

        Its result goes to later steps as it is, and to the model by way of that call.
        """
        if not ctx.tool_call_approved and not self.approvals.reviews(tool_def):
            return await self._run(ctx, call, tool_def, args, handler)
        call_id = call.tool_call_id
        given = marked(call.args_as_dict(), tool_def.parameters_json_schema)
        shown = {"name": call.tool_name, "raw_input": given}
        self.outbox.tool_call(call_id, kind=tool_kind(tool_def.metadata), status="in_progress", **shown)
        try:
            result = await self._followed(ctx, call, tool_def, args, handler)
            result = await self.approvals.review(call, tool_def, result)
        except Exception as error:
            self.outbox.tool_call(call_id, status="failed", reason=explain(error))
            raise
        self.outbox.tool_call(call_id, status="completed")
        return result

    async def on_tool_execute_error(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        error: BaseException,
    ) -> Any:
        """One short line for the model; the whole traceback, which may hold secrets, for the log only."""
        log.error("tool %s raised", tool_def.name, exc_info=error)
        raise ToolFailed(explain(error)) from None

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        about = [await self._about(ctx, call, requests) for call in requests.approvals]
        async with asyncio.TaskGroup() as group:  # all cards at once, answered in any order
            tasks = [
                group.create_task(
                    self.approvals.decide(
                        ctx, call, self._definition(ctx, call), metadata, again=MAY_HAVE_RUN in metadata
                    )
                )
                for call, metadata in zip(requests.approvals, about, strict=True)
            ]
        decisions = [task.result() for task in tasks]
        for call, decision in zip(requests.approvals, decisions, strict=True):
            if isinstance(call, StepCall) and isinstance(decision, ToolDenied):  # no event tells of it
                tool = self._definition(ctx, call)
                given = marked(call.args_as_dict(), tool.parameters_json_schema if tool else None)
                shown = {"name": call.tool_name, "raw_input": given}
                reason = self.approvals.reasons.get(call.tool_call_id, "denied")
                self.outbox.tool_call(call.tool_call_id, status="failed", reason=reason, **shown)
        return requests.build_results(
            approvals={call.tool_call_id: d for call, d in zip(requests.approvals, decisions, strict=True)},
            calls={call.tool_call_id: ToolFailed(EXTERNAL) for call in requests.calls},
        )

    def _definition(self, ctx: RunContext[Any], call: ToolCallPart) -> ToolDefinition | None:
        """What a call calls: one of the step's tools, or for a step of a plan one of the plan's."""
        if not isinstance(call, StepCall):
            return self.offer.tools.get(call.tool_name)
        tools = ctx.tool_manager.tools if ctx.tool_manager is not None else None
        tool = (tools or {}).get(call.tool_name)
        return tool.tool_def if tool is not None else None

    async def _followed(
        self,
        ctx: RunContext[Any],
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Any],
    ) -> Any:
        """Run a tool, and see to what it leaves running on threads."""
        followed = self.threads.follow()
        try:
            async with self.approvals.promised(ctx, call, tool_def, args) as args:
                with Agent.using_thread_executor(followed):
                    return await self._run(ctx, call, tool_def, args, handler)
        except asyncio.CancelledError:
            if followed.left():
                self.outbox.tool_call(call.tool_call_id, status="cancelled", reason="cancelled")
            raise
        finally:
            if running := followed.left():
                leave(call, running, self.outbox)

    async def _run(
        self,
        ctx: RunContext[Any],
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Any],
    ) -> Any:
        """Run a tool. One that asks after it was allowed is asked about again, once for each thing it asks.

        pydantic-ai would end the turn then.
        """
        asked: list[Mapping[str, Any]] = []
        self._allowed.pop(call.tool_call_id, None)  # of an earlier call with this id
        while True:
            try:
                result = await handler(args)
                return result if isinstance(call, StepCall) else for_model(result)
            except ApprovalRequired as question:
                if not ctx.tool_call_approved:
                    raise
                metadata = question.metadata or {}
            except CallDeferred:
                if not ctx.tool_call_approved:
                    raise
                raise ToolFailed(EXTERNAL) from None
            except BaseException as raised:
                error = _bearable(tool_def, raised)
                if not isinstance(error, _FAILURES) or not self.approvals.reviews(tool_def):
                    if error is raised:
                        raise
                    raise error from None
                said = await self.approvals.review_failure(call, tool_def, _words(error))
                again = isinstance(error, ModelRetry | ToolRetryError)
                raise (ModelRetry(said) if again else ToolFailed(said)) from None
            if not metadata or metadata in asked:
                raise ToolFailed(f"{tool_def.name} asks again for the approval that it has: it did not run.")
            asked.append(metadata)
            decision = await self.approvals.decide(ctx, call, tool_def, metadata, again=True)
            if isinstance(decision, ToolDenied):
                raise ToolFailed(decision.message)
            if decision.override_args is not None:
                raise ToolFailed(f"{tool_def.name} has begun: its arguments cannot be changed any more.")
            self._allowed[call.tool_call_id] = metadata
            self.outbox.tool_call(call.tool_call_id, status="in_progress")


def _bearable(tool: ToolDefinition, error: BaseException) -> BaseException:
    """What is raised in place of what a tool has raised, which must end neither the loop nor the kernel."""
    match error:
        case SystemExit(code=code):
            return ToolFailed(f"{tool.name} tried to end the process ({code!r}).")
        case KeyboardInterrupt():
            return asyncio.CancelledError()
        case Exception() | asyncio.CancelledError() | GeneratorExit():
            return error
        case _:  # a panic of an extension module, an outcome of a test framework
            log.error("tool %s raised", tool.name, exc_info=error)
            return ToolFailed(explain(error))


def _words(error: Exception) -> str:
    """What the model would read of a failure."""
    return error.message if isinstance(error, ToolFailed | ModelRetry) else str(error)


def _add(note: str, *histories: Sequence[ModelMessage]) -> None:
    """Put a note into the last request: before a prompt, which has the last word, and after tool results.

    It is one request in the run's history and among what is sent, unless another capability has copied it.
    """
    part = SystemPromptPart(note)
    for request in {id(history[-1]): history[-1] for history in histories}.values():
        if isinstance(request, ModelRequest):
            parts = list(request.parts)
            at = next((n for n, p in enumerate(parts) if not isinstance(p, SystemPromptPart)), len(parts))
            if at < len(parts) and not isinstance(parts[at], UserPromptPart):
                at = len(parts)
            request.parts = [*parts[:at], part, *parts[at:]]
