"""*Start working* in a view: where it is offered, and the question that comes first after a change."""

from __future__ import annotations

from dataclasses import replace

from acp_notebook.plan import Change, Plan, PlanEntry
from acp_notebook.protocol.messages import (
    PermissionOption,
    PlanUpdate,
    RequestPermission,
    Selected,
    StateUpdate,
    ToolCall,
    UserMessage,
)
from acp_notebook.session.reduce import reduce
from acp_notebook.session.state import Closed, Event, PermissionAnswered, PermissionAsked, SessionState
from acp_notebook.views.parts import Memo, assemble
from acp_notebook.views.session import render_plan, render_session
from acp_notebook.views.widget import session_view
from acp_notebook.views.work import Question
from harness.puppet import PLAN, PageComm, PuppetSession

EMPTY = SessionState("survey", "agent", "demo")
BUTTON = 'data-action="work"'
ONCE = PermissionOption("yes", "Allow once", "allow_once")
CHANGED = Plan((*PLAN.entries, PlanEntry("Publish")), title=PLAN.title)


def after(*events: Event) -> SessionState:
    state = EMPTY
    for event in events:
        state = reduce(state, event)
    return state


def plan_html(state: SessionState, live: bool = True, question: Question | None = None) -> str:
    questions = {} if question is None else {"plan-1": question}
    return assemble(render_plan()(state, Memo(), live, questions=questions))


def test_it_is_offered_where_something_is_left_to_do_and_no_turn_runs() -> None:
    idle = after(PlanUpdate(PLAN))
    assert plan_html(idle).count(BUTTON) == 1
    assert BUTTON in assemble(render_session(idle, Memo()))
    assert BUTTON not in plan_html(after(PlanUpdate(PLAN), UserMessage("Go", "m")))
    assert BUTTON not in plan_html(idle, live=False)
    assert BUTTON not in plan_html(after(PlanUpdate(PLAN), Closed()))
    done = replace(PLAN, entries=tuple(replace(entry, status="completed") for entry in PLAN))
    assert BUTTON not in plan_html(after(PlanUpdate(done)))
    assert BUTTON not in plan_html(after(PlanUpdate(Plan(type="markdown", content="Later"))))
    assert BUTTON not in assemble(
        render_plan()(after(PlanUpdate(PLAN), PlanUpdate(CHANGED)), Memo(), True, {"plan-1": 1})
    )


def test_a_plan_alone_shows_the_turn_that_was_started_there() -> None:
    call = ToolCall("c1", "drop_duplicates", {"table": "survey"})
    asked = PermissionAsked("r1", RequestPermission(call, (ONCE,), "Approve drop_duplicates?"))
    running = after(PlanUpdate(PLAN), UserMessage("Go", "m"), StateUpdate("running"))
    waiting = reduce(running, asked)
    assert "acp-head" not in plan_html(after(PlanUpdate(PLAN)))
    assert 'data-action="cancel"' in plan_html(running) and "acp-permission" not in plan_html(running)
    assert 'data-request="r1"' in plan_html(waiting) and 'data-option="yes"' in plan_html(waiting)
    answered = reduce(waiting, PermissionAnswered("r1", Selected("yes"), "allowed", "allowed by you"))
    assert "acp-permission" not in plan_html(answered)
    assert "acp-permission" not in plan_html(waiting, live=False)
    assert "acp-head" not in plan_html(waiting, live=False)


def test_the_question_shows_what_has_changed() -> None:
    state = after(PlanUpdate(PLAN), PlanUpdate(CHANGED, "person"))
    question = Question(None, 2, Change.between(PLAN, CHANGED))
    made = plan_html(state, question=question)
    assert "7. &quot;Publish&quot; added, pending, medium priority" in made
    assert 'data-confirmed="2"' in made and "Work on it" in made
    assert "Work on step 3" in plan_html(state, question=question._replace(entry=3))
    assert "acp-question" not in plan_html(state, live=False, question=question)


def test_a_question_about_another_revision_is_none() -> None:
    question = Question(None, 2, Change.between(PLAN, CHANGED))
    asked = [PlanUpdate(PLAN), PlanUpdate(CHANGED, "person")]
    assert "acp-question" not in plan_html(after(*asked, PlanUpdate(PLAN, "person")), question=question)
    assert "acp-question" not in plan_html(after(*asked, UserMessage("Go", "m")), question=question)
    ended = after(*asked, UserMessage("Go", "m"), StateUpdate("idle", "end_turn"))
    assert "acp-question" in plan_html(ended, question=question)


def planned(session: PuppetSession) -> PageComm:
    session.do(session.puppet.set_plan, PLAN)
    comm: PageComm = session_view(session).comm
    comm.receive({"action": "hello"})
    return comm


def test_a_click_sends_the_agent_to_work(session: PuppetSession) -> None:
    comm = planned(session)
    assert comm.command("work", plan="plan-1", revision=1)["t"] == "ack"
    assert session.turns[-1].prompt.startswith('Work on the plan. Take entry 3, "Drop the 14 duplicate rows"')
    assert comm.command("work", plan="plan-1", revision=1)["text"].startswith("a turn is running")


def test_a_changed_plan_is_asked_about_first(session: PuppetSession) -> None:
    comm = planned(session)
    session.add_entry("Publish")
    session.puppet.unseen = Change.between(PLAN, session.plan)
    assert comm.command("work", plan="plan-1", revision=2)["t"] == "ack"
    assert not session.turns and "acp-question" in str(comm.custom("patch")[-1])
    assert comm.command("not-now", plan="plan-1")["t"] == "ack"
    assert [key for key in comm.custom("patch")[-1]["drop"] if key.endswith(".question")]
    # a confirmation of what was asked before another change counts for nothing
    session.add_entry("Celebrate")
    assert comm.command("work", plan="plan-1", revision=2, confirmed=2)["t"] == "ack"
    assert not session.turns
    assert comm.command("work", plan="plan-1", revision=3, confirmed=3)["t"] == "ack"
    assert len(session.turns) == 1


def test_a_step_is_the_one_that_the_page_showed(session: PuppetSession) -> None:
    comm = planned(session)
    session.move_entry(4, 1)
    assert comm.command("work", plan="plan-1", revision=1, index=3)["t"] == "ack"
    assert session.turns[-1].prompt.startswith('Work on entry 4 of the plan, "Drop the 14 duplicate rows"')
    session.do(session.puppet.end)
    session.remove_entry(4)
    answer = comm.command("work", plan="plan-1", revision=1, index=3)
    assert answer["text"] == "step 3 is no longer in the plan"
