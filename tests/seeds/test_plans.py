"""The document on plans, thinking and approvals: its blocks on plans, with our names imported instead.

What a block names and does not have is defined here, and its agent answers offline.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.tools import ToolDefinition

from acp_notebook import AdapterConfig, Call, Output, Say, ScriptedModel, Session, TaskPlan

Hosted = Callable[..., Session]


def plan_tools(ctx: RunContext[None], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
    return [tool_def for tool_def in tool_defs if tool_def.name == "read_file"]


def agent_tools(ctx: RunContext[None], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
    return list(tool_defs)


def bridge() -> Any:
    # ---- the block
    from acp_notebook import PrepareToolsBridge, PrepareToolsMode

    return PrepareToolsBridge(
        default_mode_id="ask",
        modes=[
            PrepareToolsMode(
                id="plan",
                name="Plan",
                description="Draft ACP plan state.",
                prepare_func=plan_tools,
                plan_mode=True,
            ),
            PrepareToolsMode(
                id="agent",
                name="Agent",
                description="Execute the plan with the full tool surface.",
                prepare_func=agent_tools,
                plan_tools=True,
            ),
        ],
    )
    # ---- its end


def agent() -> Agent[None, str]:
    model = ScriptedModel()

    @model.script("plan")
    def plan(turn: Any) -> Any:
        yield Call("read_file")
        yield Output(plan_md="# Notes", plan_entries=[{"content": "Read"}, {"content": "Write"}])

    @model.script("work")
    def work(turn: Any) -> Any:
        yield Call("acp_update_plan_entry", index=1, status="in_progress")
        yield Call("write_file")
        yield Call("acp_mark_plan_done", index=1)
        read = yield Call("acp_get_plan")
        yield Say(read.text)

    @model.script()
    def look(turn: Any) -> Any:
        yield Say(" ".join(sorted(turn.tools | turn.outputs)) or "nothing")

    def read_file() -> str:
        return "text"

    def write_file() -> str:
        return "written"

    return Agent(model, tools=[read_file, write_file])


def test_how_native_plan_state_is_enabled(hosted: Hosted) -> None:
    config = AdapterConfig(
        capability_bridges=[bridge()], native_plan_additional_instructions="Keep plans short."
    )
    session = hosted(agent(), config=config)
    # the block's default mode is none of its own: it is the built-in one of this name
    assert (session.mode, session.modes) == ("ask", ("ask", "plan", "agent"))
    assert session.ask("look").text == "nothing"

    session.set_mode("plan")
    assert session.ask("look").text == "acp_get_plan acp_task_plan read_file"
    assert isinstance(session.ask("plan").output, TaskPlan)
    assert [entry.content for entry in session.plan] == ["Read", "Write"]

    session.set_mode("agent")
    told = session.ask("work").text
    assert [entry.status for entry in session.plan] == ["completed", "pending"]
    assert told.startswith("# Notes\n\n1. [completed] (medium) Read\n2. [pending] (medium) Write")
    assert told.endswith("Keep plans short.")
    session.set_config("plan_generation_type", "tools")
    assert session.ask("look").text == (
        "acp_get_plan acp_mark_plan_done acp_update_plan_entry read_file write_file"
    )
    session.set_mode("plan")
    assert session.ask("look").text == "acp_get_plan acp_set_plan read_file"


def test_persisting_native_plans(hosted: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.chdir(tmp_path)
    # ---- the block, whose agent is served by a session of the notebook
    from acp_notebook import AdapterConfig, PlanEntry

    class WorkspaceNativePlanPersistenceProvider:
        def persist_plan_state(
            self,
            session,
            agent,
            entries: list[PlanEntry],
            plan_markdown: str | None,
        ) -> None:
            del agent
            output_path = session.cwd / ".acpkit" / "plan.md"
            output_path.parent.mkdir(parents=True, exist_ok=True)
            numbered_entries = "\n".join(
                f"{index}. [{entry.status}] {entry.content}" for index, entry in enumerate(entries, start=1)
            )
            output_path.write_text(
                "\n\n".join(part for part in (plan_markdown, numbered_entries) if part),
                encoding="utf-8",
            )

    agent = Agent("openai:gpt-5", name="plan-agent")

    config = AdapterConfig(
        native_plan_persistence_provider=WorkspaceNativePlanPersistenceProvider(),
    )
    # ---- its end
    model = ScriptedModel()

    @model.script()
    def plan(turn: Any) -> Any:
        yield Output(plan_md="# Notes", plan_entries=[{"content": "Read"}, {"content": "Write"}])

    session = hosted(agent, model=model, config=config, mode="plan")
    session.ask("plan it")
    session.mark_done(1)
    kept = (tmp_path / ".acpkit" / "plan.md").read_text(encoding="utf-8")
    assert kept == "# Notes\n\n1. [completed] Read\n2. [pending] Write"
