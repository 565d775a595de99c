"""Plans of steps in a session: approvals by the same requests, values that pass as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic_ai import Agent

from acp_notebook import Call, PrepareToolsMode, Say, ScriptedModel, Session, Sharable, StepApp
from harness.sessions import pending, until
from harness.steps import reference, step

Hosted = Callable[..., Session]
STEPS = [
    step("made", "make"),
    step("gone", "drop", table=reference("made")),
    step("told", "tell", what=reference("gone")),
]


class Table:
    """A value that is not JSON."""


def agent_with(*steps: dict[str, Any]) -> Agent[None, str]:
    app = StepApp("tables", keep_going=True)
    model = ScriptedModel()

    @app.tool()
    def make() -> Any:
        return Table()

    @app.tool(requires_approval=True)
    def drop(table: Annotated[Any, Sharable()]) -> str:
        return f"dropped a {type(table).__name__}"

    @app.tool()
    async def tell(what: Annotated[str, Sharable()]) -> str:
        return what

    @app.tool()
    def fail() -> str:
        raise ValueError("no such table")

    @app.tool()
    def leave() -> None:
        raise SystemExit(3)

    @model.script("go")
    def go(turn: Any) -> Any:
        answer = yield Call("execute_plan", steps=list(steps))
        yield Say(str(answer.content))

    return Agent(model, toolsets=[app])


def said(session: Session) -> str:
    return session.turns[-1].text or ""


def test_a_step_asks_with_its_resolved_arguments_and_runs_when_it_may(hosted: Hosted) -> None:
    session = hosted(agent_with(*STEPS))
    turn = session.prompt("go")
    until(session, pending(1))
    (request,) = session.permissions
    assert request.tool_call.name == "drop"
    assert "Table object" in request.tool_call.arguments["table"]
    request.allow()
    turn.wait(20)
    assert "'gone': 'dropped a Table', 'told': 'dropped a Table'" in said(session)
    assert [(call.name, call.status) for call in turn.tool_calls] == [("execute_plan", "completed")]
    assert [entry.status for entry in session.plan] == ["completed"] * 3


def test_a_denied_step_does_not_run_and_says_why(hosted: Hosted) -> None:
    session = hosted(agent_with(*STEPS, step("last", "tell", what="still here")))
    turn = session.prompt("go")
    until(session, pending(1))
    session.permissions[0].deny(reason="keep it")
    turn.wait(20)
    assert "'gone': {'status': 'denied', 'error': 'keep it'}" in said(session)
    assert "'told': {'status': 'skipped', 'because': 'gone'}" in said(session)
    assert "'last': 'ok'" in said(session)
    assert [call.name for call in turn.tool_calls] == ["execute_plan"]
    assert [entry.status for entry in session.plan] == ["completed", "_denied", "_skipped", "completed"]


def test_a_tool_that_raises_is_one_line_for_the_model(hosted: Hosted) -> None:
    session = hosted(agent_with(step("f", "fail")))
    session.ask("go")
    assert "{'status': 'error', 'error': 'ValueError: no such table'}" in said(session)


@pytest.mark.parametrize(
    ("offered", "answer"),
    [
        ({"execute_plan", "tell"}, "'ok'"),
        ({"execute_plan", "make"}, "there is no tool 'tell'"),
        ({"execute_plan"}, "execute_plan may not be used in mode 'steps'."),
    ],
)
def test_a_mode_offers_the_plan_and_rules_over_its_steps(
    hosted: Hosted, offered: set[str], answer: str
) -> None:
    mode = PrepareToolsMode(
        id="steps", name="Steps", prepare_func=lambda ctx, tools: [t for t in tools if t.name in offered]
    )
    session = hosted(agent_with(step("t", "tell", what="hello")), modes=[mode], mode="steps")
    session.ask("go")
    assert answer in said(session)
