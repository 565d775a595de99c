"""The tools of one run: the agent's own and the session's plan tools, as the mode offers them."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.native_tools import AbstractNativeTool
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import WrapperToolset
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from ..errors import ConfigError
from ..steps.tools import OF_STEPS, STEP_PARAMETERS
from .modes import READ_ONLY_KINDS, ModeSetting, PrepareToolsMode, tool_kind
from .plan_tools import PlanToolset
from .task_plan import TASK_PLAN, PlanGenerationSetting, plan_tools_of
from .values import explain

log = logging.getLogger(__name__)

_ANY = SchemaValidator(core_schema.any_schema())


class Offer:
    """What the model may use: at each step of a run, and again when it calls it.

    `tools` are the definitions that the present step was given, by name. `task_plan` says whether this run
    can end with a `TaskPlan`; a run that began in another mode cannot. `tell` has a line for the person.
    """

    def __init__(
        self,
        modes: ModeSetting,
        generation: PlanGenerationSetting | None,
        task_plan: bool,
        tell: Callable[[str], None],
    ) -> None:
        self.tools: dict[str, ToolDefinition] = {}
        self._modes = modes
        self._generation = generation
        self._task_plan = task_plan
        self._tell = tell
        self._ctx: RunContext[Any] | None = None
        self._own: Mapping[str, ToolDefinition] = {}
        self._plan: Mapping[str, ToolDefinition] = {}
        self._prepared: dict[str, Mapping[str, ToolDefinition]] = {}
        self._steps: Mapping[str, ToolDefinition] = {}
        self._step_mode: PrepareToolsMode[Any] | None = None
        self._called: set[str] = set()
        self._failed: set[str] = set()

    async def begin_step(
        self,
        ctx: RunContext[Any],
        own: Mapping[str, ToolDefinition],
        plan: Mapping[str, ToolDefinition],
    ) -> Mapping[str, ToolDefinition]:
        """What a step is given, of the agent's own tools and of the plan tools."""
        self._ctx, self._own, self._plan = ctx, own, plan
        self._prepared.clear()
        self._called.clear()
        mode = self._step_mode = self._modes.mode
        self._own = own = {name: self._by_its_steps(tool) for name, tool in own.items()}
        prepared = await self._of(mode)
        offered = plan_tools_of(mode, task_plan=self.takes_task_plan)
        self.tools.clear()
        self.tools.update((name, tool) for name, tool in plan.items() if name in offered)
        self.tools.update(
            (name, tool) for name, tool in prepared.items() if self._steps or not _takes_steps(tool)
        )
        return self.tools

    async def of_steps(
        self, ctx: RunContext[Any], tools: Mapping[str, ToolDefinition]
    ) -> Mapping[str, ToolDefinition]:
        """What a plan may call in this step, of the tools that its steps call."""
        self._ctx = ctx
        marked = {name: _of_steps(tool) for name, tool in tools.items()}
        self._steps = await self._prepare(self._modes.mode, marked)
        return self._steps

    def _by_its_steps(self, tool: ToolDefinition) -> ToolDefinition:
        """`execute_plan` as a mode is asked about it: where its steps only read, so does it."""
        metadata = tool.metadata or {}
        reads = bool(self._steps) and all(
            tool_kind(step.metadata) in READ_ONLY_KINDS for step in self._steps.values()
        )
        if not reads or not _takes_steps(tool) or "kind" in metadata:
            return tool
        return replace(tool, metadata={**metadata, "kind": "read"})

    @property
    def takes_task_plan(self) -> bool:
        """Whether the model may return a `TaskPlan` now."""
        generation = self._generation
        return self._task_plan and generation is not None and generation.wants_task_plan(self._modes.mode)

    def native_tools(self, tools: list[AbstractNativeTool]) -> list[AbstractNativeTool]:
        """Those of the provider's own tools that the mode offers."""
        kinds = self._modes.mode.native_tools
        return tools if kinds is None else [tool for tool in tools if tool.kind in kinds]

    def stand_in(self, name: str, toolset: PlanToolset) -> ToolsetTool[Any]:
        """Takes the place of a tool that the model calls and was not given, so that the call can be refused.

        pydantic-ai ends a run whose model calls such a tool twice.
        """
        self._called.add(name)
        definition = ToolDefinition(name=name)
        return ToolsetTool(toolset=toolset, tool_def=definition, max_retries=0, args_validator=_ANY)

    def stands(self, name: str) -> bool:
        """Whether this is a tool of the agent's that the step was given, and the mode is still the step's.

        It may be used then, which `refusal` would find too, at some cost in a response with many calls.
        """
        return self._modes.mode is self._step_mode and name in self.tools and name in self._own

    def for_steps(self) -> list[str]:
        """The agent's tools that take plans of steps: those that the step was given, or else withheld."""
        own = [name for name, tool in self._own.items() if _takes_steps(tool)]
        return [name for name in own if name in self.tools] or own

    def withheld(self, name: str) -> ConfigError | None:
        """The refusal of a tool that the agent has and the mode does not offer; None for any other."""
        if name not in self._own or name in self.tools:
            return None
        return ConfigError(f"{name} may not be used in mode {self._modes.mode.id!r}: choose another mode")

    async def refusal(self, tool: ToolDefinition, *, of_step: bool = False) -> str | None:
        """Why a tool may not be used now, for the model to read; None when it may.

        The mode may have changed since the step began, and a model may call what it was not given.
        """
        name, mode = tool.name, self._modes.mode
        given = self.tools.get(name)
        if of_step:
            may = name in await self._prepare(mode, {name: _of_steps(tool)})
        elif name in self._plan:
            may = given is not None and name in plan_tools_of(mode, task_plan=self.takes_task_plan)
        elif name in self._own:
            now = (await self._of(mode)).get(name)
            # what needs approval in the mode of now may not run because it did not need it in the one before
            may = given is not None and now is not None and now.kind in (given.kind, "function")
        elif name in self._called:
            may = False
        else:  # another capability keeps it from the model, and uses it on the model's behalf
            may = name in await self._prepare(mode, {name: tool})
        if may:
            return None
        if name in self._called and name not in (*self._own, *self._plan, TASK_PLAN):
            there = f"use {', '.join(self.tools)}" if self.tools else "you have none now"
            return f"There is no tool {name}: {there}."
        return f"{name} may not be used in mode {mode.id!r}."

    async def _of(self, mode: PrepareToolsMode[Any]) -> Mapping[str, ToolDefinition]:
        """What `mode` offers in this step of the agent's own tools."""
        if mode.id not in self._prepared:
            self._prepared[mode.id] = await self._prepare(mode, self._own)
        return self._prepared[mode.id]

    async def _prepare(
        self, mode: PrepareToolsMode[Any], tools: Mapping[str, ToolDefinition]
    ) -> Mapping[str, ToolDefinition]:
        """Nothing when it fails: an error must not offer more than the mode does, nor end the turn."""
        assert self._ctx is not None
        try:
            answer = mode.prepare_func(self._ctx, list(tools.values()))
            if inspect.isawaitable(answer):
                answer = await answer
            if answer is None:
                return tools
            prepared = {tool.name: tool for tool in answer}
            if unknown := [name for name in prepared if name not in tools]:
                raise ValueError(f"it returned {unknown[0]!r}, which is none of the tools that it was given")
            return prepared
        except KeyboardInterrupt:  # in a task it would end the whole loop, and with it the kernel
            raise asyncio.CancelledError from None
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:
            log.error("prepare_func of mode %r failed", mode.id, exc_info=error)
            if mode.id not in self._failed:
                self._failed.add(mode.id)
                self._tell(f"Mode {mode.name!r} offers no tools: its prepare_func failed ({explain(error)}).")
            return {}


@dataclass
class SessionToolset(WrapperToolset[Any]):
    """Around the agent's toolset, for one run.

    Plan tools are put in here and not by the run's `toolsets`, where every step would pay for combining two
    sets. An agent's own tool of the same name stays the agent's. `allowed` is what a call was allowed that
    has asked again, by its id: the tool finds it as its `ctx.tool_call_metadata`.
    """

    plan_tools: PlanToolset
    offer: Offer  # this and the next are shared by the copies that pydantic-ai makes for each step
    allowed: Mapping[str, Mapping[str, Any]]

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        own = await self.wrapped.get_tools(ctx)
        plan = {n: tool for n, tool in (await self.plan_tools.get_tools(ctx)).items() if n not in own}
        offered = await self.offer.begin_step(ctx, _definitions(own), _definitions(plan))
        tools = {**plan, **own}
        return {
            name: tool if (tool := tools[name]).tool_def is definition else replace(tool, tool_def=definition)
            for name, definition in offered.items()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        if allowed := self.allowed.get(ctx.tool_call_id or ""):
            ctx = replace(ctx, tool_call_metadata=allowed)
        owner = self.plan_tools if tool.toolset is self.plan_tools else self.wrapped
        return await owner.call_tool(name, tool_args, ctx, tool)


def _takes_steps(tool: ToolDefinition) -> bool:
    """Whether this is `execute_plan`."""
    return STEP_PARAMETERS in (tool.metadata or {})


def _of_steps(tool: ToolDefinition) -> ToolDefinition:
    """The definition of a tool that steps call, marked as one."""
    return replace(tool, metadata={**(tool.metadata or {}), OF_STEPS: True})


def _definitions(tools: Mapping[str, ToolsetTool[Any]]) -> dict[str, ToolDefinition]:
    return {name: tool.tool_def for name, tool in tools.items()}
