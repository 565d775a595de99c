"""The tools of one run: the agent's own and the session's plan tools, as the mode offers them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import WrapperToolset
from pydantic_ai.toolsets.abstract import ToolsetTool

from .modes import ModeSetting
from .plan_tools import PlanToolset


@dataclass
class SessionToolset(WrapperToolset[Any]):
    """Around the agent's toolset, for one run; `offered` is what the present step may use, by name.

    Plan tools are put in here and not by the run's `toolsets`, where every step would pay for combining two
    sets. An agent's own tool of the same name stays the agent's.
    """

    plan_tools: PlanToolset
    modes: ModeSetting
    offered: dict[str, ToolDefinition] = field(default_factory=dict[str, ToolDefinition])

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        mode = self.modes.mode
        tools = {**await self.plan_tools.get_tools(ctx), **await self.wrapped.get_tools(ctx)}
        tools = {name: tool for name, tool in tools.items() if mode.offers(name, tool.tool_def.metadata)}
        self.offered.clear()  # the copies that pydantic-ai makes for each step share it
        self.offered.update({name: tool.tool_def for name, tool in tools.items()})
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        owner = self.plan_tools if tool.toolset is self.plan_tools else self.wrapped
        return await owner.call_tool(name, tool_args, ctx, tool)
