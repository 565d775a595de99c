"""Modes and plans of steps: what a mode keeps out of the model's hands it keeps out of plans, too."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai import Agent, FunctionToolset, RunContext
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.tools import ToolDefinition

from acp_notebook import PrepareToolsMode, Session, StepApp, steps_only
from harness.steps import returned, step

Hosted = Callable[..., Session]


class Seen:
    """A model that sends steps to `execute_plan` where it has it, and what it was offered and answered."""

    def __init__(self, *steps: dict[str, Any]) -> None:
        self.offered: list[dict[str, str]] = []
        self.answers: list[Any] = []

        async def respond(
            messages: list[ModelMessage], info: AgentInfo
        ) -> AsyncIterator[str | DeltaToolCalls]:
            if isinstance(messages[-1].parts[-1], ToolReturnPart):
                self.answers.append(returned(messages)[-1])
                yield "done"
            else:
                self.offered.append({tool.name: tool.description or "" for tool in info.function_tools})
                args = json.dumps({"steps": list(steps)})
                yield {0: DeltaToolCall("execute_plan", args, tool_call_id="call")}

        self.model = FunctionModel(stream_function=respond)


def files(*, ordinary: bool = True) -> dict[str, Any]:
    """Tools and toolsets of an agent that reads and deletes files, one by one and by steps."""
    app = StepApp("files")
    tools = FunctionToolset[None]()

    @app.tool()
    def delete(name: str) -> str:
        return f"deleted {name}"

    def read(name: str) -> str:
        return f"read {name}"

    app.wrapped.add_function(read, metadata={"kind": "read"})  # type: ignore[attr-defined]
    if ordinary:
        tools.add_function(delete)
    return {"toolsets": [tools, app]}


def test_an_agent_with_both_gets_a_mode_for_steps_alone(hosted: Hosted) -> None:
    seen = Seen(step("r", "read", name="a"), step("d", "delete", name="a"))
    session = hosted(Agent(seen.model, **files()))
    assert session.modes == ("ask", "plan", "agent", "steps")
    session.set_mode("steps")
    session.ask("go")
    assert set(seen.offered[0]) == {"execute_plan", "read_step"}
    assert seen.answers[0]["results"] == {"r": "read a", "d": "deleted a"}
    for agent in (Agent(seen.model, **files(ordinary=False)), Agent(seen.model)):
        assert hosted(agent, name="other").modes == ("ask", "plan", "agent")


def test_a_mode_that_only_reads_has_plans_that_only_read(hosted: Hosted) -> None:
    seen = Seen(step("r", "read", name="a"), step("d", "delete", name="a"))
    session = hosted(Agent(seen.model, **files()), mode="ask")
    session.ask("go")
    assert "read(" in seen.offered[0]["execute_plan"] and "delete(" not in seen.offered[0]["execute_plan"]
    assert "there is no tool 'delete'" in seen.answers[0] and "nothing has run" in seen.answers[0]
    assert session.check_steps([step("r", "read", name="a")]) == ()
    assert len(session.check_steps([step("d", "delete", name="a")])) == 1


def test_a_mode_without_any_tool_for_steps_has_no_plans(hosted: Hosted) -> None:
    seen = Seen(step("d", "delete", name="a"))
    app = StepApp("files")

    @app.tool()
    def delete(name: str) -> str:
        return name

    session = hosted(Agent(seen.model, toolsets=[app]), mode="ask")
    session.ask("go")
    assert "execute_plan" not in seen.offered[0]
    assert "execute_plan may not be used in mode 'ask'" in seen.answers[0]


@pytest.mark.parametrize("kept", [True, False])
def test_a_mode_of_ones_own_rules_over_plans(hosted: Hosted, kept: bool) -> None:
    def prepare(ctx: RunContext[Any], tools: list[ToolDefinition]) -> list[ToolDefinition]:
        return [tool for tool in steps_only(ctx, tools) if kept or tool.name != "delete"]

    seen = Seen(step("d", "delete", name="a"))
    mode = PrepareToolsMode(id="own", name="Own", prepare_func=prepare)
    hosted(Agent(seen.model, **files()), modes=[mode]).ask("go")
    assert ("delete(" in seen.offered[0]["execute_plan"]) is kept
    assert ("nothing has run" in seen.answers[0]) is not kept


def test_a_mode_may_have_steps_approved(hosted: Hosted) -> None:
    def prepare(ctx: RunContext[Any], tools: list[ToolDefinition]) -> list[ToolDefinition]:
        return [replace(tool, kind="unapproved") if tool.name == "delete" else tool for tool in tools]

    seen = Seen(step("d", "delete", name="a"))
    mode = PrepareToolsMode(id="own", name="Own", prepare_func=prepare)
    session = hosted(Agent(seen.model, **files(ordinary=False)), modes=[mode], on_unattended="deny")
    session.ask("go")
    assert session.plan[0].status == "_denied"
