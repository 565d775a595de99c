"""Runs of `execute_plan` as plans: entries move as steps do, and nobody but the run changes them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic_ai import Agent

from acp_notebook import AcpError, Call, Plan, Say, ScriptedModel, Session, Sharable, StepApp, StepOptions
from acp_notebook.database import database_path
from acp_notebook.plan.runs import RUN, run_of, step_of
from acp_notebook.protocol.messages import Notice, PlanUpdate
from acp_notebook.session.state import SessionState
from harness.sessions import pending, until
from harness.steps import reference, step

Hosted = Callable[..., Session]


def planner(app: StepApp, *steps: dict[str, Any], **settings: Any) -> Agent[None, str]:
    """An agent that sends these steps for every prompt."""
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Call("execute_plan", steps=list(steps))
        yield Say("done")

    return Agent(model, toolsets=[app], **settings)


def backups(**settings: Any) -> StepApp:
    app = StepApp("backups", **settings)

    @app.tool()
    def create(database: str, token: str = "") -> dict[str, Any]:
        return {"id": f"bk-{database}", "said": f"with {token}"}

    @app.tool(requires_approval=True, options=StepOptions(side_effects=True))
    def restore(backup: Annotated[str, Sharable()]) -> str:
        return f"restored {backup}"

    @app.tool()
    def fail(x: Annotated[Any, Sharable()] = None) -> None:
        raise ValueError("no room")

    return app


def runs(state: SessionState) -> list[Plan]:
    return [plan for plan in state.plans.values() if run_of(plan) is not None]


def test_entries_appear_at_once_and_move(hosted: Hosted) -> None:
    steps = step("b", "create", database="prod"), step("r", "restore", backup=reference("b", "id"))
    session = hosted(planner(backups(), *steps))
    seen: list[list[str]] = []
    session.subscribe(
        lambda state, event: isinstance(event, PlanUpdate) and seen.append([e.status for e in event.plan])
    )
    turn = session.prompt("go")
    until(session, pending(1))
    until(session, lambda state: state.plan and "approval" in (step_of(state.plan[1]).note or ""))  # type: ignore[union-attr]
    assert session.permissions[0].request.description == "Step r."
    assert [entry.content for entry in session.plan] == [
        'b: create(database="prod")',
        "r: restore(backup=← b.id)",
    ]
    session.permissions[0].allow()
    turn.wait(20)
    assert seen[0] == ["pending"] * 2 and seen[-1] == ["completed"] * 2
    assert ["completed", "in_progress"] in seen
    facts = [step_of(entry) for entry in session.plan]
    assert facts[0] and facts[0].result and '"id": "bk-prod"' in facts[0].result
    assert facts[1] and (facts[1].uses, facts[1].result) == (("b",), '"restored bk-prod"')
    assert facts[1].started and facts[1].ended and facts[1].ended >= facts[1].started


def test_the_call_names_the_plan_and_steps_are_no_calls_of_their_own(hosted: Hosted) -> None:
    session = hosted(planner(backups(), step("b", "create", database="x"), step("r", "restore", backup="y")))
    turn = session.ask("go", approve=True)
    (call,) = turn.tool_calls
    assert call.title == f"shown as plan {session.plan.plan_id}"
    assert session.plan.plan_id == f"steps-{(run_of(session.plan) or '')[:8]}"


def test_failures_say_why_and_what_was_left(hosted: Hosted) -> None:
    steps = step("f", "fail"), step("g", "fail", x=reference("f")), step("h", "create", database="z")
    session = hosted(planner(backups(), *steps))
    session.ask("go")
    assert [entry.status for entry in session.plan] == ["_failed", "_skipped", "_skipped"]
    said = [facts.error for entry in session.plan if (facts := step_of(entry))]
    assert said[0] == "ValueError: no room" and said[1] == "f did not go well"


def test_secrets_are_masked_wherever_they_would_stand(hosted: Hosted) -> None:
    session = hosted(planner(backups(), step("b", "create", database="x", token="sesame-open")))
    session.ask("go")
    assert "sesame" not in repr(session.plan) and "sesame" not in session.plan.to("json")
    assert 'token="••••••"' in session.plan[0].content


def test_the_plan_is_the_runs_alone(hosted: Hosted) -> None:
    session = hosted(planner(backups(), step("b", "create", database="x")))
    session.set_plan(["mine"])
    session.ask("go")
    (run,) = runs(session.state)
    fork = session.fork()
    assert session.plan[0].content == "mine"  # which stays the one that is worked on
    for change in (
        lambda: session.update_entry(1, status="pending", plan_id=run.plan_id),
        lambda: session.remove_plan(run.plan_id),
        lambda: session.set_plan(["x"], plan_id=run.plan_id),
        lambda: session.work(plan_id=run.plan_id),
        lambda: fork.update_entry(1, status="pending", plan_id=run.plan_id),
    ):
        with pytest.raises(AcpError, match="the record of a run"):
            change()
    fork.close()
    session.set_plan(Plan(run.entries, meta=run.meta, plan_id="copy"))
    assert run_of(session.plans["copy"]) is None and RUN in (run.meta or {})
    session.update_entry(1, status="pending", plan_id="copy")


@pytest.mark.parametrize("sync", [True, False])
def test_a_cancel_says_what_ran_what_did_not_and_what_may_still_run(hosted: Hosted, sync: bool) -> None:
    app, entered, leave = backups(), threading.Event(), threading.Event()

    if sync:

        @app.tool()
        def slow() -> None:
            entered.set()
            leave.wait(20)
    else:

        @app.tool(name="slow")
        async def wait() -> None:
            entered.set()
            await asyncio.Event().wait()

    steps = (
        step("b", "create", database="x"),
        step("s", "slow"),
        *(step(f"c{n}", "create", database="y") for n in range(12)),
    )
    session = hosted(planner(app, *steps))
    turn = session.prompt("go")
    assert entered.wait(20)
    session.cancel()
    turn.wait(20)
    leave.set()
    (notice,) = (item for item in turn.state.items if isinstance(item, Notice))
    stopped = "cancelled and may still be running: s" if sync else "stopped while running, perhaps done: s"
    assert notice.text == (
        f"Cancelled. Ran: b; {stopped}; did not run: c0, c1, c2, c3, c4, c5, c6, c7 and 4 more."
    )
    assert notice.level == ("warning" if sync else "info")
    statuses = [entry.status for entry in session.plan]
    assert statuses == ["completed", "cancelled", *["_skipped"] * 12]


def test_a_thousand_steps_are_few_updates_and_few_new_entries(hosted: Hosted) -> None:
    app = backups(max_steps=1_000)
    session = hosted(planner(app, *(step(f"s{n}", "create", database="x") for n in range(1_000))))
    updates: list[Plan] = []
    session.subscribe(lambda state, event: isinstance(event, PlanUpdate) and updates.append(event.plan))
    session.ask("go")
    assert all(entry.status == "completed" for entry in session.plan)
    assert len(updates) < 200
    news = sum(old is not new for a, b in pairwise(updates) for old, new in zip(a, b, strict=True))
    assert news <= 2 * 1_000


def test_a_plan_approved_as_a_whole_is_seen_first_and_gated_steps_still_ask(hosted: Hosted) -> None:
    steps = step("b", "create", database="prod"), step("r", "restore", backup=reference("b", "id"))
    session = hosted(planner(backups(requires_approval=True), *steps))
    turn = session.prompt("go")
    until(session, pending(1))
    (request,) = session.permissions
    assert request.tool_call.name == "execute_plan" and not session.plans
    assert 'b  create(database="prod")' in (request.preview or "")
    assert "restore(backup=← b.id)  · asks a person first" in (request.preview or "")
    assert session.preview_steps(steps).notes[0].startswith("A person approves the plan as a whole")
    request.allow()
    until(session, lambda state: [p.request.tool_call.name for p in state.pending] == ["restore"])
    session.permissions[0].deny()
    turn.wait(20)
    assert [entry.status for entry in session.plan] == ["completed", "_denied"]


def test_a_plan_that_cannot_run_is_nothing_to_approve(hosted: Hosted) -> None:
    session = hosted(planner(backups(requires_approval=True), step("b", "creat")))
    turn = session.ask("go")
    (call,) = turn.tool_calls
    assert call.status == "failed" and "did you mean 'create'" in (call.reason or "")
    assert not turn.state.permissions


def test_a_step_that_was_not_approved_yet_did_not_run(hosted: Hosted) -> None:
    steps = step("b", "create", database="prod"), step("r", "restore", backup=reference("b", "id"))
    session = hosted(planner(backups(), *steps))
    turn = session.prompt("go")
    until(session, lambda state: state.pending and state.plan[1].status == "in_progress")
    session.cancel()
    turn.wait(20)
    (notice,) = (item for item in turn.state.items if isinstance(item, Notice))
    assert notice.text == "Cancelled. Ran: b; did not run: r."
    facts = step_of(session.plan[1])
    assert session.plan[1].status == "cancelled" and facts and facts.started is None
    assert facts.error == "cancelled while it waited for approval: it did not run"


def test_a_person_hears_that_a_run_is_not_written_down(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    app = backups()

    @app.tool()
    def delete() -> None:
        database_path().unlink()

    turn = hosted(planner(app, step("d", "delete"), step("b", "create", database="x"))).ask("go")
    (notice,) = (item for item in turn.state.items if isinstance(item, Notice))
    assert notice.level == "warning"
    assert notice.text == (
        "This run is not written down, and cannot be resumed: "
        f"{str(database_path())!r} has been moved or deleted meanwhile"
    )
