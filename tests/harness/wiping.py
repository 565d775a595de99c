"""An agent that asks before it wipes, in every way that pydantic-ai has to ask."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent, ApprovalRequiredToolset, FunctionToolset, RunContext, Tool
from pydantic_ai.exceptions import ApprovalRequired

from acp_notebook import Call, Say, ScriptedModel, StepApp

WAYS = ("flagged", "raising", "validator", "toolset", "step", "factory")


class Wiping:
    """An agent that wipes what the prompt says, once it may; `runs` is what was wiped.

    `agent` is what a session is given: for the way `factory` a function, for `step` an agent that wipes in an
    `execute_plan`.
    """

    def __init__(self, way: str = "flagged") -> None:
        self.runs: list[str] = []
        self.model = ScriptedModel()

        @self.model.script()
        def script(turn: Any) -> Any:
            paths = turn.prompt.split()
            if way == "step":
                steps = [{"id": path, "tool": "wipe", "args": {"path": path}} for path in paths]
                results = yield [Call("execute_plan", steps=steps), Call("look")]
            else:
                results = yield [*(Call("wipe", path=path) for path in paths), Call("look")]
            yield Say(" | ".join(result.text for result in results))

        def wipe(path: str) -> str:
            self.runs.append(path)
            return f"wiped {path}"

        def raising(ctx: RunContext[None], path: str) -> str:
            if not ctx.tool_call_approved:
                raise ApprovalRequired(metadata={"reason": "it is old"})
            return wipe(path)

        def validating(ctx: RunContext[None], path: str) -> None:
            if not ctx.tool_call_approved:
                raise ApprovalRequired

        flagged = Tool[None](wipe, requires_approval=True)
        tools: dict[str, Tool[None]] = {
            "raising": Tool(raising, name="wipe"),
            "validator": Tool(wipe, args_validator=validating),
            "toolset": Tool(wipe),
        }
        own = FunctionToolset[None]([tools.get(way, flagged)])
        app = StepApp("wiping")
        app.tool(requires_approval=True)(wipe)
        toolset = {"toolset": ApprovalRequiredToolset(own), "step": app}.get(way, own)
        agent = Agent(self.model, name="wiping", tools=[look], toolsets=[toolset])
        self.agent: Any = (lambda: agent) if way == "factory" else agent


def look() -> str:
    return "looked"
