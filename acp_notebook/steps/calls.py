"""How a tool is called: by pydantic-ai's tool manager, or directly where nobody would see a difference."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pydantic import ValidationError
from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.tools import DeferredToolRequests, ToolApproved, ToolDenied
from pydantic_ai.toolsets import AbstractToolset, WrapperToolset
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import to_jsonable_python

from ..errors import StepProblem
from ..masking import marked, masked
from .attempts import Denied, Flight, attempt, called, guarded
from .events import Outcome
from .executors import Outside
from .isolate import isolated
from .plan import Step
from .references import references, resolve
from .secrets import RunSecrets
from .tools import StepTool, function_schema

_HOOKS = tuple(n for n in dir(AbstractCapability) if "tool_validate" in n or "tool_execute" in n)
#: What a tool raises to say something other than that it failed: not tried again.
_FINAL = (ApprovalRequired, CallDeferred, ModelRetry)
#: In the metadata of a request: the call may have been made before, so that no rule can allow it.
MAY_HAVE_RUN = "may_have_run"


@dataclass(repr=False)
class StepCall(ToolCallPart):
    """A call that a step makes, inside the model's own call of `execute_plan`.

    Its arguments may be any values. Who is to approve it, and rules, get them as JSON has them, with those
    texts marked that repeat one of the run's `secrets`.
    """

    secrets: RunSecrets | None = field(default=None, kw_only=True, compare=False)

    def args_as_dict(self, *, raise_if_invalid: bool = False) -> dict[str, Any]:
        given = to_jsonable_python(self.args, serialize_unknown=True)
        return given if self.secrets is None else self.secrets.marked(given)


class Calls:
    """Calls the tools of one run of a plan, as part of the agent's run that `ctx` belongs to."""

    def __init__(
        self,
        toolset: AbstractToolset[Any],
        tools: dict[str, ToolsetTool[Any]],
        ctx: RunContext[Any],
        executor: Executor | None = None,
    ) -> None:
        self.secrets = RunSecrets()  # those of the run, once it begins
        self._usage = ctx.usage
        self._flights: dict[str, _Under] = {}
        self._outside = Outside(executor) if executor is not None else None
        outer = ctx.tool_manager
        self._manager = ToolManager(
            toolset=_Attempts(toolset, self._flights, self._outside),
            root_capability=outer.root_capability if outer is not None else None,
            tools=tools,
        )
        # whoever sees a step's call, and asks for its tool, finds the plan's
        self._manager.ctx = replace(
            ctx, tool_call_approved=False, tool_call_metadata=None, tool_manager=self._manager
        )
        self._tools = tools

    async def problems(self, steps: Iterable[Step]) -> AsyncIterator[StepProblem]:
        """What tools' own validators say of arguments that are known beforehand."""
        if all(tool.args_validator_func is None for tool in self._tools.values()):
            return
        for step in steps:
            known = step.for_each is None and not any(
                next(references(node), None) is not None for node in step.args.values()
            )
            if known and self._tools[step.tool.name].args_validator_func is not None:
                args = {name: resolve(node, _never) for name, node in step.args.items()}
                call = StepCall(step.tool.name, args, tool_call_id=step.step_id)
                try:
                    await self._manager.validate_tool_call(call, wrap_validation_errors=False)
                except (ModelRetry, ToolFailed) as error:
                    yield StepProblem(f"step {step.step_id!r}", error.message)

    def count(self, outcomes: Iterable[tuple[Step, Outcome]]) -> None:
        """Add the direct calls that succeeded to the usage; the tool manager has counted its own."""
        for step, outcome in outcomes:
            if step.tool.function is not None and outcome.status == "ok":
                self._usage.tool_calls += 1 if step.for_each is None else len(outcome.result)

    async def __call__(self, step: Step, args: dict[str, Any], flight: Flight) -> Any:
        """Call a step's tool. Raises `Denied`, and whatever the tool raises."""
        if step.tool.function is not None and flight.question is None:
            return await self._direct(step.tool, args, flight)
        return await self._managed(step.tool, args, flight)

    async def _direct(self, tool: StepTool, args: dict[str, Any], flight: Flight) -> Any:
        assert tool.function is not None
        function = tool.function
        valid = tool.validator.validate_python(args)
        flight.begin()
        if _unruled(tool):
            return await guarded(tool, function(**valid), flight)

        async def call() -> Any:
            given = isolated(valid) if tool.options.retries else valid
            if tool.sent and self._outside is not None:
                return await self._outside.call(tool, given, flight)
            if tool.is_async:
                return await function(**given)
            value = await asyncio.to_thread(called, tool, given)
            return await value if inspect.isawaitable(value) else value

        return await _rules(tool, call, flight)

    async def _managed(self, tool: StepTool, args: dict[str, Any], flight: Flight) -> Any:
        self._flights[flight.call_id] = _Under(tool, flight, args, self.secrets)
        try:
            call = StepCall(tool.name, args, tool_call_id=flight.call_id, secrets=self.secrets)
            asked = flight.question is not None
            if asked:
                call = await self._allowed(call, flight.question)
            value = await self._manager.handle_call(call, approved=asked, wrap_validation_errors=False)
        except ApprovalRequired:
            raise Denied(f"{tool.name} asks for approval, and nobody is there to give it") from None
        except CallDeferred:
            raise Denied(f"{tool.name} is carried out elsewhere, which a plan cannot wait for") from None
        finally:
            del self._flights[flight.call_id]
        if isinstance(value, ToolDenied):
            raise Denied(value.message)
        return value

    async def _allowed(self, call: StepCall, question: str | None) -> StepCall:
        """The call, with the arguments that a person allows it with. Raises `ApprovalRequired`, `Denied`."""
        metadata = {call.tool_call_id: {"description": question, MAY_HAVE_RUN: True}}
        requests = DeferredToolRequests(approvals=[call], metadata=metadata)
        results = await self._manager.resolve_deferred_tool_calls(requests)
        match results and results.to_tool_call_results().get(call.tool_call_id):
            case ToolApproved(override_args=None):
                return call
            case ToolApproved(override_args=args):
                return replace(call, args=args)
            case ToolDenied(message=message):
                raise Denied(message)
            case _:
                raise ApprovalRequired


@dataclass(frozen=True, slots=True)
class _Under:
    """A call that is under way, with the arguments that its step has for it."""

    tool: StepTool
    flight: Flight
    args: Mapping[str, Any]
    secrets: RunSecrets

    def edits(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        """How the arguments that the tool is called with differ from the step's, as JSON without secrets.

        `changed` are by name, `removed` are names; None when nothing does.
        """
        try:
            sent = self.tool.validator.validate_python(dict(self.args))
        except ValidationError:  # it is for its arguments that the person has edited them
            sent = self.args
        old, new = to_jsonable_python([sent, given], serialize_unknown=True)
        changed = {name: value for name, value in new.items() if name not in old or old[name] != value}
        removed = [name for name in old if name not in new]
        if not changed and not removed:
            return None
        self.secrets.add(changed, self.tool.parameters)
        shown = masked(marked(changed, self.tool.parameters))
        return {"changed": self.secrets.masked(shown), "removed": removed}


@dataclass
class _Attempts(WrapperToolset[Any]):
    """Below hooks and approvals, so that neither counts as time of the tool, nor is asked for again."""

    flights: Mapping[str, _Under] = field(default_factory=dict[str, _Under])
    outside: Outside | None = None

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        under = self.flights[ctx.tool_call_id or ""]
        step_tool, flight = under.tool, under.flight
        if ctx.tool_call_approved:
            flight.edited = under.edits(tool_args)
        if step_tool.sent and self.outside is not None:
            tool = _sent(tool, step_tool, flight, self.outside)
        flight.begin()

        async def call() -> Any:
            given = isolated(tool_args) if step_tool.options.retries else tool_args
            return await self.wrapped.call_tool(name, given, ctx, tool)

        return await _rules(step_tool, call, flight)


def _sent(tool: ToolsetTool[Any], step_tool: StepTool, flight: Flight, outside: Outside) -> ToolsetTool[Any]:
    """The same tool with its function on the executor: toolsets around it see its calls as before."""
    if (inner := getattr(tool, "source_tool", None)) is not None:
        return replace(cast(Any, tool), source_tool=_sent(inner, step_tool, flight, outside))
    away = replace(step_tool, function=function_schema(tool).function)

    async def call(args: dict[str, Any], ctx: RunContext[Any]) -> Any:
        return await outside.call(away, args, flight)

    return replace(cast(Any, tool), call_func=call)


async def _rules(tool: StepTool, call: Callable[[], Coroutine[Any, Any, Any]], flight: Flight) -> Any:
    if _unruled(tool):
        return await guarded(tool, call(), flight)  # it hears of a cancellation itself
    return await attempt(call, tool, flight, _FINAL)


def _unruled(tool: StepTool) -> bool:
    """Whether a call needs neither a clock, nor another try, nor to be left on a thread."""
    return tool.is_async and tool.options.timeout is None and not tool.options.retries


def _never(reference: object) -> Any:
    raise AssertionError(f"no step has run yet: {reference}")


def unwatched(ctx: RunContext[Any], toolset: AbstractToolset[Any]) -> bool:
    """Whether calls of this toolset pass through nothing but its functions: no capability's hook, no wrapper.

    Then a step costs a twentieth of what it costs through the tool manager.
    """
    if sys.platform == "emscripten":  # no threads there, which pydantic-ai sees to
        return False
    plain = type(toolset).call_tool is FunctionToolset.call_tool
    if not plain or cast("FunctionToolset[Any]", toolset).timeout is not None:
        return False
    manager = ctx.tool_manager
    if manager is None or ctx.validation_context is not None:
        return False
    return manager.root_capability is None or not _hooks(manager.root_capability)


def _hooks(capability: AbstractCapability[Any]) -> bool:
    """Whether a capability sees tool calls. A combined one does when one of its own does."""
    parts = getattr(capability, "capabilities", None)
    if parts is not None:
        return any(map(_hooks, parts))
    return any(getattr(type(capability), name) is not getattr(AbstractCapability, name) for name in _HOOKS)
