"""`execute_plan` and `read_step` as a pydantic-ai toolset around the tools that the steps call."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self, cast
from uuid import uuid4

from pydantic_ai import FunctionToolset, RunContext, Tool
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, WrapperToolset
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from ..errors import AcpError, DatabaseError, StepsRefused
from .answer import answer, read
from .calls import Calls, unwatched
from .check import Checked, check
from .events import Observer, Outcome, watcher
from .executors import leaves, usable
from .journal import SHORT, Journal, begin
from .paths import NoSuchPath, follow
from .plan import DEFAULT_LIMITS, Limits, Step
from .plan_text import without_secrets
from .record import RunRecord, Runs, record, runs
from .resume import Resume, Resumption, Taken, resuming
from .run import Run
from .run_file import Beginning
from .schema import description, steps_schema
from .secrets import RunSecrets
from .tool_source import tool_sources
from .tools import OF_STEPS, STEP_PARAMETERS, StepOptions, StepTool, step_tool

log = logging.getLogger(__name__)

EXECUTE_PLAN, READ_STEP = "execute_plan", "read_step"
_ANY = SchemaValidator(core_schema.any_schema())
#: What pydantic-ai may send back for arguments that are not even JSON.
_RETRIES = 5
#: So many runs can be read from afterwards.
_KEPT = 8
_NOT_JOURNALLED = "This run is not written down, and cannot be resumed"


@dataclass(kw_only=True)
class PlanTool(ToolsetTool[Any]):
    """`execute_plan` of `steps` at one step of an agent's run, with the tools that there are then."""

    steps: StepToolset
    inner: dict[str, ToolsetTool[Any]]


@dataclass(slots=True)
class _Plan:
    """A checked plan that is about to run; `taken`: it goes on from there. `text` is its JSON.

    `fault`: why it is not written down.
    """

    run_id: str
    steps: tuple[Step, ...]
    notes: list[str]
    text: str
    secrets: RunSecrets
    journal: Journal | None = None
    taken: Taken | None = None
    fault: str | None = None

    @property
    def counted(self) -> Iterable[Step]:
        """The steps whose calls this run counts itself, if they are direct."""
        if self.taken is None:
            return self.steps
        asked = {step_id for step_id, _ in self.taken.questions}
        return (s for s in self.steps if s.step_id not in self.taken.done and s.step_id not in asked)


class StepToolset(WrapperToolset[Any]):
    """Gives an agent `execute_plan(steps)`: tools are called by plan, checked beforehand and run as written.

    `tools` are functions, `Tool`s, or any toolset; the agent does not get them one by one.

    - `parallel`: steps run together where their references allow it, at most `width` at once
    - `keep_going`: after a failure, steps that do not need the failed one still run
    - `options`: `StepOptions` by tool name, before those in a tool's metadata (`{"steps": StepOptions(…)}`)
    - `max_steps`, `max_items`: how many steps a plan may have, and a `for_each` elements
    - `executor`: where plain sync tools run, any `concurrent.futures.Executor`: threads, processes,
      ipyparallel's `view.executor`, Dask's `client.get_executor(pure=False)`. It stays yours to shut down.
      Tools that take a `RunContext` or are async run here, as do methods and functions inside functions,
      except on threads. Elsewhere, arguments and results are copied, and the same packages are needed.
    - `journal`: runs are written down as they go, in the user's own file, so that they can be resumed
    - `requires_approval`: a person approves each plan as a whole before its first step, by what it would do;
      steps that need approval themselves are asked about all the same
    - `on_event`: is called with every `StepEvent`, on the loop's thread

    Calls go through pydantic-ai's own tool manager: context, deps, validators, hooks and approvals work.
    """

    def __init__(
        self,
        tools: AbstractToolset[Any] | Sequence[Tool[Any] | Callable[..., Any]],
        *,
        parallel: bool = False,
        keep_going: bool = False,
        width: int = 8,
        options: Mapping[str, StepOptions] | None = None,
        max_steps: int = DEFAULT_LIMITS.steps,
        max_items: int = DEFAULT_LIMITS.items,
        executor: Executor | None = None,
        journal: bool = True,
        requires_approval: bool = False,
        on_event: Observer | None = None,
    ) -> None:
        super().__init__(tools if isinstance(tools, AbstractToolset) else FunctionToolset(list(tools)))
        self._parallel = parallel
        self._keep_going = keep_going
        self._kind: Literal["function", "unapproved"] = "unapproved" if requires_approval else "function"
        self._width = width
        self._options = dict(options or {})
        self._limits = Limits(steps=max_steps, items=max_items)
        self._executor = usable(executor)
        self._journal = journal
        self._observer = on_event
        self._runs: deque[tuple[str | None, Run, str]] = deque(maxlen=_KEPT)
        self._reading = FunctionToolset[Any](max_retries=_RETRIES)
        self._reading.add_function(self._read, name=READ_STEP, metadata={"kind": "read", OF_STEPS: True})
        self._described: tuple[list[ToolDefinition], ToolDefinition] | None = None

    def around(self, wrapped: AbstractToolset[Any]) -> Self:
        """The same around another toolset; the runs to read from are shared."""
        if wrapped is self.wrapped:
            return self
        other = copy(self)
        other.wrapped = wrapped
        return other

    async def for_run(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        return self.around(await self.wrapped.for_run(ctx))

    async def for_run_step(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        return self.around(await self.wrapped.for_run_step(ctx))

    def visit_and_replace(
        self, visitor: Callable[[AbstractToolset[Any]], AbstractToolset[Any]]
    ) -> AbstractToolset[Any]:
        return self.around(self.wrapped.visit_and_replace(visitor))

    @property
    def parallel(self) -> bool:
        """Whether steps run together where their references allow it."""
        return self._parallel

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        inner = await self.wrapped.get_tools(ctx)
        execute = PlanTool(
            toolset=self,
            tool_def=self._definition(inner),
            max_retries=_RETRIES,
            args_validator=_ANY,
            steps=self,
            inner=inner,
        )
        return {EXECUTE_PLAN: execute, **await self._reading.get_tools(ctx)}

    def _definition(self, inner: Mapping[str, ToolsetTool[Any]]) -> ToolDefinition:
        definitions = [tool.tool_def for tool in inner.values()]
        if self._described is None or self._described[0] != definitions:
            tools = self._step_tools(inner)
            schema = steps_schema(list(tools), self._limits.steps)
            text = description(tools.values())
            self._described = (
                definitions,
                ToolDefinition(
                    name=EXECUTE_PLAN,
                    parameters_json_schema=schema,
                    description=text,
                    sequential=True,
                    kind=self._kind,
                    metadata={
                        OF_STEPS: True,
                        STEP_PARAMETERS: {name: tool.parameters for name, tool in tools.items()},
                    },
                ),
            )
        return self._described[1]

    def _step_tools(
        self, inner: Mapping[str, ToolsetTool[Any]], *, direct: bool = False
    ) -> dict[str, StepTool]:
        executor = self._executor
        out = partial(leaves, executor=executor) if executor is not None else None
        return {
            name: step_tool(tool, self._options.get(name), direct=direct, leaves=out)
            for name, tool in inner.items()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        if isinstance(tool, PlanTool):
            return await self._execute(tool_args, ctx, tool)
        return await self._reading.call_tool(name, tool_args, ctx, tool)

    async def check(self, steps: Any, ctx: RunContext[Any]) -> tuple[tuple[Step, ...], list[str]]:
        """The steps of a plan as they would run now, and notes on what was passed over; nothing runs.

        Raises:
            StepsRefused: with everything that is wrong with them.
        """
        inner = await self.wrapped.get_tools(ctx)
        found = await self._checked(steps, self._step_tools(inner), Calls(self.wrapped, inner, ctx))
        return found.steps, found.notes

    async def _checked(self, raw: Any, tools: Mapping[str, StepTool], calls: Calls) -> Checked:
        found = check(raw, tools, self._limits)
        if problems := [problem async for problem in calls.problems(found.steps)]:
            raise StepsRefused(problems)
        return found

    async def _execute(self, args: Any, ctx: RunContext[Any], tool: PlanTool) -> dict[str, Any]:
        raw = cast("dict[str, Any]", args).get("steps") if isinstance(args, dict) else args
        tools = self._step_tools(tool.inner, direct=unwatched(ctx, self.wrapped))
        calls = Calls(self.wrapped, tool.inner, ctx, self._executor)
        try:
            if (wish := resuming.get()) is not None:
                plan = await self._resumed(wish, raw, tools, calls)
            else:
                plan = self._journalled(await self._checked(raw, tools, calls), tool.inner, ctx)
        except AcpError as error:
            raise ToolFailed(f"{error}") from None
        calls.secrets = plan.secrets
        run = Run(
            plan.run_id,
            plan.steps,
            calls,
            call_id=ctx.tool_call_id or "",
            parallel=self._parallel,
            keep_going=self._keep_going,
            width=self._width,
            items=self._limits.items,
            name=self.id,
            observers=[observer for observer in (self._observer, watcher.get()) if observer is not None],
            journal=plan.journal,
            taken=plan.taken,
            secrets=plan.secrets,
            fault=plan.fault,
        )
        self._runs.append((ctx.conversation_id, run, plan.text))
        try:
            await run.run()
        finally:
            calls.count((step, run.outcomes[step.step_id]) for step in plan.counted)
        if run.fault is not None:
            plan.notes.append(f"{_NOT_JOURNALLED}: {run.fault}")
        return answer(run, plan.notes)

    def _journalled(
        self, found: Checked, inner: Mapping[str, ToolsetTool[Any]], ctx: RunContext[Any]
    ) -> _Plan:
        """A plan that begins, with its journal. Without one, a note says why."""
        masked, secrets = without_secrets(found.text, found.steps)
        plan = _Plan(uuid4().hex, found.steps, found.notes, found.text, secrets)
        if self._journal:
            beginning = Beginning(
                run_id=plan.run_id,
                plan=masked,
                is_whole=found.is_exact and masked == found.text,
                settings={
                    "parallel": self._parallel,
                    "keep_going": self._keep_going,
                    "width": self._width,
                },
                tools=tool_sources(found.steps, inner, secrets.texts),
                secrets=secrets.texts,
                name=self.id,
                agent=ctx.agent.name if ctx.agent is not None else None,
            )
            try:
                shares = not self._parallel and len(found.steps) > SHORT
                plan.journal = begin(beginning, shares=shares)
            except DatabaseError as error:
                log.warning("%s: %s", _NOT_JOURNALLED, error)
                plan.fault = str(error)
        return plan

    async def _resumed(self, wish: Resume, raw: Any, tools: Mapping[str, StepTool], calls: Calls) -> _Plan:
        """A plan that goes on, checked against the tools that there are now."""
        resumption = Resumption(wish)
        try:
            run_id = resumption.run.run_id
            here = next(((run, text) for _, run, text in reversed(self._runs) if run.run_id == run_id), None)
            found = await self._checked(resumption.plan(raw, here and here[1]), tools, calls)
            masked, secrets = without_secrets(found.text, found.steps)
            taken = resumption.take(found.steps, masked, here[0].outcomes if here is not None else {})
            journal = resumption.go_on(taken, found.steps, secrets.texts)
        except BaseException:
            resumption.close()
            raise
        return _Plan(run_id, found.steps, found.notes, found.text, secrets, journal, taken)

    @staticmethod
    def runs() -> Runs:
        """The runs of all toolsets that are written down, the newest first. Raises `DatabaseError`."""
        return runs()

    @staticmethod
    def record(run_id: str) -> RunRecord:
        """What happened in a run, by its id or the beginning of it. Raises `AcpError`."""
        return record(run_id)

    async def _read(
        self,
        ctx: RunContext[Any],
        id: str | int,
        path: list[str | int] | None = None,
        start: int = 0,
        count: int = 1000,
    ) -> dict[str, Any]:
        """Read more of what a step of your last plans returned.

        Args:
            id: The step's id.
            path: Keys and indexes that lead into the result, as in a reference.
            start: Where to begin in a text, a list or a mapping.
            count: How many of its characters, items or entries to read.
        """
        run, outcome = self._outcome(str(id), ctx)
        try:
            value = follow(outcome.result, tuple(path or ()))
        except NoSuchPath as error:
            raise ToolFailed(f"the result of {id!r} has no {path!r}: {error}") from None
        return read(str(id), outcome, path or [], value, max(0, start), max(1, count), run.secrets.texts)

    def _outcome(self, step_id: str, ctx: RunContext[Any]) -> tuple[Run, Outcome]:
        """How a step of this conversation ended: of its last run that had one of this id."""
        known: list[str] = []
        for conversation, run, _ in reversed(self._runs):
            if conversation == ctx.conversation_id:
                if step_id in run.outcomes:
                    return run, run.outcomes[step_id]
                known += run.outcomes
        there = f"the steps are {', '.join(map(repr, known[:30]))}" if known else "no plan has run yet"
        raise ToolFailed(f"there is no step {step_id!r} to read: {there}")
