"""The tools that an agent's plans call, under the mode of the session: what a mode keeps out, it keeps out of
plans as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from inspect import isawaitable
from typing import Any

from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.toolsets import (
    AbstractToolset,
    CombinedToolset,
    DynamicToolset,
    ToolsetFunc,
    WrapperToolset,
)
from pydantic_ai.toolsets.abstract import ToolsetTool

from ..masking import marked
from ..steps.outline import Outline, outline
from ..steps.plan import Step
from ..steps.references import references, resolve
from ..steps.toolset import PlanTool, StepToolset
from .remembered import Remembered
from .toolset import Offer


@dataclass
class OfferedSteps(WrapperToolset[Any]):
    """Around the tools that plans call: those that the mode offers, as it offers them."""

    offer: Offer

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await self.wrapped.get_tools(ctx)
        offered = await self.offer.of_steps(ctx, {name: tool.tool_def for name, tool in tools.items()})
        return {
            name: tools[name]
            if definition is tools[name].tool_def
            else replace(tools[name], tool_def=definition)
            for name, definition in offered.items()
        }


def under(toolset: AbstractToolset[Any], offer: Offer) -> AbstractToolset[Any]:
    """The same toolset, in which plans may call what the mode offers; nothing of the agent's is changed."""
    if isinstance(toolset, StepToolset):
        return toolset.around(OfferedSteps(toolset.wrapped, offer))
    if isinstance(toolset, WrapperToolset):
        return _with(toolset, "wrapped", toolset.wrapped, under(toolset.wrapped, offer))
    if isinstance(toolset, DynamicToolset):
        return _with(toolset, "toolset_func", None, _made_under(toolset.toolset_func, offer))
    if isinstance(toolset, CombinedToolset):
        parts = list(toolset.toolsets)
        new = [under(part, offer) for part in parts]
        same = all(map(_is, parts, new))
        return toolset if same else _with(toolset, "toolsets", parts, new)
    return toolset


def _made_under(make: ToolsetFunc[Any], offer: Offer) -> ToolsetFunc[Any]:
    """Makes what `make` makes, under the offer; of the same toolset the same, which stays entered then."""
    last: tuple[AbstractToolset[Any], AbstractToolset[Any]] | None = None

    async def made(ctx: RunContext[Any]) -> AbstractToolset[Any] | None:
        nonlocal last
        toolset = make(ctx)
        if isawaitable(toolset):
            toolset = await toolset
        if toolset is None:
            return None
        if last is None or last[0] is not toolset:
            last = toolset, under(toolset, offer)
        return last[1]

    return made


def _with(toolset: AbstractToolset[Any], name: str, old: Any, new: Any) -> AbstractToolset[Any]:
    if old is new:
        return toolset
    other = copy(toolset)
    setattr(other, name, new)
    return other


def _is(one: object, other: object) -> bool:
    return one is other


def plans_by_steps(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether an agent has `execute_plan` beside other tools, so that a mode can choose between them."""
    found = list(_flat(agent.toolsets))
    return any(map(_is_steps, found)) and not all(map(_is_steps, found))


def _is_steps(toolset: AbstractToolset[Any]) -> bool:
    return isinstance(toolset, StepToolset)


def _flat(toolsets: Iterable[AbstractToolset[Any]]) -> Iterator[AbstractToolset[Any]]:
    """The toolsets in others, without those that have no tools."""
    for toolset in toolsets:
        if isinstance(toolset, StepToolset):
            yield toolset
        elif isinstance(toolset, CombinedToolset):
            yield from _flat(toolset.toolsets)
        elif isinstance(toolset, WrapperToolset):
            yield from _flat([toolset.wrapped])
        elif not isinstance(toolset, FunctionToolset) or toolset.tools:
            yield toolset


Foreseen = Callable[[Step], str | None]


async def outlined(
    tool: ToolsetTool[Any], steps: Any, ctx: RunContext[Any], foreseen: Foreseen
) -> Outline | None:
    """What a plan would do now that is sent to `tool`; None for a tool that takes no plans.

    `foreseen` says who lets a step run. Raises `StepsRefused` with everything that is wrong with the plan.
    """
    found = plan_tool(tool)
    if found is None:
        return None
    checked, notes = await found.steps.check(steps, ctx)
    return outline(checked, foreseen, parallel=found.steps.parallel, notes=notes)


def plan_tool(tool: ToolsetTool[Any]) -> PlanTool | None:
    """The tool as the one that takes plans, whatever its name is and the toolsets around it are."""
    while (inner := getattr(tool, "source_tool", None)) is not None:
        tool = inner
    return tool if isinstance(tool, PlanTool) else None


def foreseen(remembered: Remembered, step: Step) -> str | None:
    """Who will answer before a step's tool runs, as far as that can be told; None where nobody is asked."""
    if not step.tool.gated:
        return None
    known = {
        name: resolve(node, _never)
        for name, node in step.args.items()
        if next(references(node), None) is None
    }
    given: Mapping[str, Any] = marked(known, step.tool.parameters)
    rule = remembered.find(step.tool.name, given, len(known) == len(step.args))
    if rule is None:
        return "asks a person first"
    return f"{'allowed' if rule.decision == 'allow' else 'denied'} by rule {rule.number}"


def _never(reference: object) -> Any:
    raise AssertionError(f"an argument with {reference} is not known yet")
