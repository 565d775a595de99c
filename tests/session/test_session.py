"""A session from Python: from a script, other threads, async programs; its plan, subscribers and end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic_ai import Agent

import acp_notebook
from acp_notebook import Call, Plan, PlanEntry, Say, ScriptedModel, Session, current
from acp_notebook.agent.demo import demo_agent
from acp_notebook.errors import AcpError, PlanError, PlanIndexError, TurnTimeout
from acp_notebook.plan import RemoveEntry, UpdateEntry
from acp_notebook.protocol.messages import StateUpdate
from acp_notebook.session.state import SessionState
from acp_notebook.session.turn import Turn
from harness.sessions import pending, until

Hosted = Callable[..., Session]


def asking() -> Agent[None, str]:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        result = yield Call("gate")
        yield Say(result.text)

    agent = Agent(model)

    @agent.tool_plain(requires_approval=True)
    def gate() -> str:
        return "open"

    return agent


# -- waiting ---------------------------------------------------------------------------------------------


def test_a_turn_can_be_waited_for_from_threads_and_other_loops(hosted: Hosted) -> None:
    session = hosted(asking())
    turn = session.prompt("go")
    with pytest.raises(TurnTimeout, match=r"still runs after 0\.01 s"):
        turn.wait(0.01)

    async def elsewhere() -> str:
        return (await turn).text

    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(lambda: turn.wait(20).text), pool.submit(lambda: asyncio.run(elsewhere()))]
        until(session, pending(1))
        assert pool.submit(session.permissions[0].allow).result(10) is None
        assert [future.result(20) for future in waiting] == ["open", "open"]
    assert turn.wait(0) is turn
    assert turn.stop_reason == "end_turn"


def test_an_async_program_hosts_a_session_on_its_own_loop() -> None:
    async def program() -> tuple[str, str]:
        session = Session(asking(), on_unattended="allow")
        loop = session.host.loop
        assert loop is asyncio.get_running_loop()
        first = await session.prompt("go")
        second = await asyncio.to_thread(session.ask, "go")  # from a thread of the program
        session.close()
        return first.text, second.text

    assert asyncio.run(program()) == ("open", "open")


def test_commands_from_many_threads_are_applied_one_after_another(hosted: Hosted) -> None:
    session = hosted("demo")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: session.add_entry(f"step {n}"), range(40)))
    assert sorted(entry.content for entry in session.plan) == sorted(f"step {n}" for n in range(40))
    assert len(session.plan_history()) == 40


# -- the plan --------------------------------------------------------------------------------------------


def test_the_plan_is_edited_through_the_agent_side(hosted: Hosted) -> None:
    session = hosted("demo")
    authors: list[str] = []
    session.subscribe(lambda state, event: authors.append(getattr(event, "author", "-")))
    assert len(session.plan) == 0
    session.set_plan(["one", {"content": "two", "priority": "high"}, PlanEntry("three")], title="Numbers")
    session.add_entry("first", at=1)
    session.update_entry(2, status="in_progress", content="uno")
    session.mark_done(1, 3)
    session.move_entry(4, 1)
    plan = session.remove_entry(2)
    assert plan is session.plan
    assert [(entry.content, entry.status, entry.priority) for entry in plan] == [
        ("three", "pending", "medium"),
        ("uno", "in_progress", "medium"),
        ("two", "completed", "high"),
    ]
    assert (plan.title, plan.progress, plan.current) == ("Numbers", (1, 3), 2)
    assert session.clear_plan().title == "Numbers"
    assert set(authors) == {"person"}
    assert len(authors) == 7, "one update for each edit"


def test_edits_that_cannot_be_applied_change_nothing(hosted: Hosted) -> None:
    session = hosted("demo")
    session.set_plan(["one", "two"])
    before = session.state
    for edit, says in [
        (lambda: session.mark_done(1, 3), r"there is no entry 3 in this plan: use 1 to 2"),
        (lambda: session.remove_entry(0), r"there is no entry 0"),
        (lambda: session.add_entry("  "), r"needs some text"),
        (lambda: session.add_entry("x", at=4), r"cannot be inserted at 4: use 1 to 3"),
        (
            lambda: session.update_entry(1, status="finished"),
            r"'finished' is not a status: use pending, in_progress",
        ),
        (lambda: session.remove_plan("nope"), r"there is no plan 'nope': this session's plans are 'plan-1'"),
        (lambda: session.set_plan(3), r"3 is not a plan: use a Plan, Markdown text or a list"),
        (lambda: session.set_plan([{"text": 3}]), r"content"),
        (lambda: session.set_plan([PlanEntry(3)]), r"is not an entry of a plan"),  # type: ignore[arg-type]
        (lambda: session.set_plan(b"- a"), r"b'- a' is not a plan"),
        (lambda: session.set_plan(["a"], plan_id=3), r"the id of a plan cannot be 3"),  # type: ignore[arg-type]
        (lambda: session.restore_plan("1"), r"there is no revision '1'"),  # type: ignore[arg-type]
        (lambda: session.plan_history().diff(1.5), r"there is no revision 1\.5"),  # type: ignore[arg-type]
    ]:
        with pytest.raises(PlanError, match=says):
            edit()
    assert session.state is before
    with pytest.raises(IndexError):
        session.mark_done(7)
    assert issubclass(PlanIndexError, AcpError)


def test_an_empty_id_is_an_id(hosted: Hosted) -> None:
    session = hosted("demo")
    session.set_plan(["a"], plan_id="")
    session.set_plan(["b"], plan_id="other")
    session.add_entry("c", plan_id="")
    assert [entry.content for entry in session.plans[""]] == ["a", "c"]
    session.plan_history("other")
    assert session.restore_plan(1, "").plan_id == ""
    assert len(session.undo_plan("")) == 2
    view = session.plan_view("")
    view.plan = ["d"]
    assert [entry.content for entry in session.plans[""]] == ["d"]
    assert len(session.plans["other"]) == 1


def test_several_plans_by_id(hosted: Hosted) -> None:
    session = hosted("demo")
    session.set_plan(["a"], plan_id="one")
    session.set_plan(Plan((PlanEntry("b"),), plan_id="two"))
    assert list(session.plans) == ["one", "two"]
    assert session.plan.plan_id == "two"
    session.mark_done(1, plan_id="one")
    assert session.plans["one"].progress == (1, 1)
    session.remove_plan("one")
    assert list(session.plans) == ["two"]
    assert session.plan.plan_id == "two"


def test_the_model_reads_the_plan_that_a_person_made_and_edits_during_a_turn(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        first = yield Call("acp_get_plan")
        yield Call("gate")
        second = yield Call("acp_get_plan")
        yield Say(f"{first.text.splitlines()[0]} then {second.text.splitlines()[0]}")

    agent = Agent(model)

    @agent.tool_plain(requires_approval=True)
    def gate() -> str:
        return "open"

    session = hosted(agent)
    session.set_plan("- [ ] mine")
    turn = session.prompt("go")
    until(session, pending(1))
    session.update_entry(1, content="changed meanwhile")
    session.permissions[0].allow()
    assert turn.wait(20).text == "1. [pending] (medium) mine then 1. [pending] (medium) changed meanwhile"


# -- subscribers and the end -----------------------------------------------------------------------------


def test_subscribers_see_every_change_on_the_sessions_loop_and_can_fail_alone(hosted: Hosted) -> None:
    session = hosted(asking(), on_unattended="allow")
    threads: set[int] = set()
    kinds: list[str] = []

    def broken(state: Any, event: Any) -> None:
        raise RuntimeError("a subscriber's own fault")

    def watch(state: Any, event: Any) -> None:
        threads.add(threading.get_ident())
        kinds.append(type(event).__name__)

    session.subscribe(broken)
    unsubscribe = session.subscribe(watch)
    session.ask("go")
    unsubscribe()
    unsubscribe()
    session.ask("go")
    assert len(threads) == 1
    assert threads != {threading.get_ident()}
    assert [kind for kind in kinds if kind != "ToolCallUpdate"] == [
        "UserMessage",
        "StateUpdate",
        "PermissionAsked",
        "PermissionAnswered",
        "AgentMessageChunk",
        "StateUpdate",
    ]


def test_a_subscriber_may_send_the_next_prompt_when_a_turn_ends(hosted: Hosted) -> None:
    session = hosted(asking(), on_unattended="deny")
    follow_up: list[Turn] = []

    def chain(state: SessionState, event: Any) -> None:
        if isinstance(event, StateUpdate) and event.state == "idle" and not follow_up:
            follow_up.append(session.prompt("and then", approve=True))

    session.subscribe(chain)
    first = session.ask("go", timeout=20)
    second = follow_up[0].wait(20)
    assert session.turns == (first, second)
    assert first.text == first.output == "Denied: nobody is there to approve it."
    assert second.text == second.output == "open"


def test_subscribers_hear_everything_in_order_also_what_one_of_them_causes(hosted: Hosted) -> None:
    session = hosted("demo")
    heard: list[tuple[str, int]] = []

    def add_more(state: SessionState, event: Any) -> None:
        if len(session.plan) < 3:
            session.add_entry("more")

    session.subscribe(add_more)
    session.subscribe(lambda state, event: heard.append((type(event).__name__, len(state.plan))))
    session.add_entry("first")
    assert heard == [("PlanUpdate", 1), ("PlanUpdate", 2), ("PlanUpdate", 3)]


def test_a_subscriber_may_cancel_close_or_take_out_another(hosted: Hosted) -> None:
    session = hosted(asking())
    undo = session.subscribe(lambda state, event: session.cancel())
    assert session.ask("go", timeout=20).stop_reason == "cancelled"
    undo()

    heard: list[str] = []
    session.subscribe(lambda state, event: take_out())
    take_out = session.subscribe(lambda state, event: heard.append("too late"))
    session.subscribe(lambda state, event: session.close())
    session.subscribe(lambda state, event: heard.append(type(event).__name__))
    assert session.prompt("go").wait(20).stop_reason == "cancelled"
    assert heard[0] == "UserMessage"
    assert heard[-1] == "Closed"
    assert session.state.closed


def test_a_session_whose_loop_has_ended_can_be_closed_and_replaced(no_threads_left: None) -> None:
    async def program() -> Session:
        session = Session("demo", name="survey")
        session.add_entry("look")
        return session

    for _ in range(2):  # the second one closes the first
        with ThreadPoolExecutor() as pool:
            session = pool.submit(asyncio.run, program()).result(20)
    with pytest.raises(AcpError, match="no longer runs"):
        session.prompt("go")
    session.close()
    assert session.state.closed
    assert [entry.content for entry in session.plan] == ["look"]


def test_the_newest_session_is_current_and_one_of_a_name_replaces_the_other(hosted: Hosted) -> None:
    assert current() is None
    first = hosted("demo")
    second = hosted("demo", name="second")
    assert current() is second
    again = hosted("demo")
    assert first.state.closed
    with pytest.raises(AcpError, match=r"session 'demo' is closed: .*give name= to keep both"):
        first.ask("go")
    assert current() is again
    again.close()
    assert current() is second
    second.close()
    assert current() is None


def test_a_session_that_cannot_start_leaves_the_one_there_is(hosted: Hosted) -> None:
    session = hosted("demo")
    with pytest.raises(AcpError, match="mode 'zen' is not offered"):
        Session("demo", mode="zen", host="thread")
    with pytest.raises(AcpError, match="there is no host 'cloud'"):
        Session("demo", host="cloud")  # pyright: ignore
    assert current() is session
    assert not session.state.closed
    assert acp_notebook.current() is session


# -- back to any revision --------------------------------------------------------------------------------


def test_revisions_are_restored_and_undone(hosted: Hosted) -> None:
    session = hosted("demo")
    session.set_plan(["load", "plot"])
    session.mark_done(1)
    session.remove_entry(2)
    history = session.plan_history()
    assert [revision.author for revision in history] == ["person"] * 3
    assert [revision.turn for revision in history] == [None] * 3
    assert session.restore_plan(1) == history.plan_at(1)
    assert session.undo_plan() == history.plan
    assert [entry.content for entry in session.undo_plan()] == ["load", "plot"]
    assert [revision.undoes for revision in session.plan_history()][-2:] == [4, 3]
    with pytest.raises(PlanError, match="there is no revision 99"):
        session.restore_plan(99)
    with pytest.raises(PlanError, match="there is no plan 'nope'"):
        session.plan_history("nope")


def test_a_removed_plan_is_restored_under_its_id(hosted: Hosted) -> None:
    session = hosted("demo")
    session.set_plan(["a"], "one")
    session.set_plan(["b"], "two")
    session.remove_plan("one")
    assert list(session.plans) == ["two"] and session.plan_history("one").removed
    assert session.restore_plan(1, "one") == session.plans["one"]


@pytest.mark.once
def test_the_turn_of_a_revision_is_the_one_that_ran(hosted: Hosted) -> None:
    session = hosted(demo_agent(delay=0), on_unattended="allow")
    session.ask("Clean the survey data").wait()
    session.add_entry("by hand")
    revisions = session.plan_history()
    assert {revision.author: revision.turn for revision in revisions} == {"model": 1, "person": None}


def test_an_edit_can_name_the_revision_that_its_numbers_are_of(hosted: Hosted) -> None:
    session = hosted("demo")
    session.set_plan(["a", "b", "c"])
    session.remove_entry(1)
    session.edit_plan([UpdateEntry(3, status="completed")], since=1)
    assert [entry.status for entry in session.plan] == ["pending", "completed"]
    with pytest.raises(PlanError, match="entry 1, 'a', is no longer in the plan"):
        session.edit_plan([RemoveEntry(2), UpdateEntry(1, status="completed")], since=1)
    assert len(session.plan) == 2
