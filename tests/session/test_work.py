"""From a plan to work on it: which entries, in which mode, and whether the agent knows the plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import Agent

from acp_notebook import AdapterConfig, Call, Plan, PlanEntry, PrepareToolsMode, Say, ScriptedModel, Session
from acp_notebook.errors import ConfigError, PlanChanged, PlanError, PlanIndexError, TurnRunning
from harness.sessions import pending, until

Hosted = Callable[..., Session]


def worker() -> Agent[None, str]:
    """Plans when asked to, and otherwise says what it was told, in which mode it is, and what the plan is."""
    model = ScriptedModel()

    @model.script("^plan")
    def plan(turn: Any) -> Any:
        yield Call("acp_set_plan", entries=[{"content": text} for text in ("Load", "Clean", "Plot")])
        yield Say("Planned.")

    @model.script("^hold")
    def hold(turn: Any) -> Any:
        yield Call("wait_for_it")

    @model.script()
    def work(turn: Any) -> Any:
        read = yield Call("acp_get_plan")
        yield Say(read.text)

    agent = Agent(model, name="worker")

    @agent.tool_plain(requires_approval=True)
    def wait_for_it() -> str:
        return "done"

    return agent


def test_the_next_entry_is_the_one_in_progress_or_the_first_pending_one(hosted: Hosted) -> None:
    session = hosted(worker())
    session.ask("plan")
    assert session.work().prompt == (
        'Work on the plan. Take entry 1, "Load", next, and go on until none is left to do.'
    )
    session.update_entry(1, status="cancelled")
    session.update_entry(3, status="in_progress")
    turn = session.work(confirmed=True)
    assert 'Take entry 3, "Plot", next' in turn.prompt
    assert "3. [in_progress] (medium) Plot" in turn.text


def test_entries_are_sent_alone(hosted: Hosted) -> None:
    session = hosted(worker())
    session.ask("plan")
    assert session.work(2).prompt == 'Work on entry 2 of the plan, "Clean", and on no other.'
    assert session.work([1, 3]).prompt == (
        'Work on these entries of the plan, and on no others:\n1. "Load"\n3. "Plot"'
    )
    assert session.start_work(2).wait().prompt.startswith("Work on entry 2")


def test_it_is_done_in_the_mode_that_works_on_plans_which_stays(hosted: Hosted) -> None:
    session = hosted(worker(), mode="plan")
    session.set_config("plan_generation_type", "tools")
    session.ask("plan")
    session.work()
    assert session.mode == "agent"


def test_a_mode_that_works_on_plans_is_kept(hosted: Hosted) -> None:
    def mode(name: str, **what: bool) -> PrepareToolsMode[None]:
        return PrepareToolsMode(id=name, name=name.title(), prepare_func=lambda ctx, tools: tools, **what)

    modes = [mode("look"), mode("do", plan_tools=True), mode("try", plan_tools=True, plan_mode=True)]
    session = hosted(worker(), modes=modes)
    session.set_plan(["Load"])
    session.set_mode("try")
    session.work()
    assert session.mode == "try"
    session.set_mode("look")
    session.work()
    assert session.mode == "do"

    session = hosted(worker(), name="lookers", modes=modes[:1])
    session.set_plan(["Load"])
    with pytest.raises(ConfigError, match="none of the modes look works on plans: give one of them plan_to"):
        session.work()
    assert not session.turns


def test_a_plan_that_a_person_changed_is_confirmed_first(hosted: Hosted) -> None:
    session = hosted(worker(), mode="plan")
    session.set_config("plan_generation_type", "tools")
    session.ask("plan")
    session.update_entry(2, content="Clean twice")
    session.add_entry("Publish")
    with pytest.raises(
        PlanChanged, match="the plan was changed since the agent saw it last: 1 added"
    ) as info:
        session.work()
    assert info.value.change.lines() == [
        '2. "Clean twice": was "Clean"',
        '4. "Publish" added, pending, medium priority',
    ]
    assert len(session.turns) == 1 and session.mode == "plan"  # nothing has been begun
    assert "4. [pending] (medium) Publish" in session.work(confirmed=True).text
    session.work()  # the agent has seen it now


def test_what_was_taken_back_is_no_change(hosted: Hosted) -> None:
    session = hosted(worker())
    session.ask("plan")
    session.remove_entry(1)
    session.undo_plan()
    session.work()


def test_a_plan_that_the_agent_has_never_seen_needs_no_confirmation(hosted: Hosted) -> None:
    session = hosted(worker())
    session.set_plan(["Load", "Plot"])
    session.update_entry(1, status="completed")
    assert 'Take entry 2, "Plot"' in session.work().prompt


def test_another_plan_than_the_current_one(hosted: Hosted) -> None:
    session = hosted(worker())
    session.set_plan(["Read"], "thesis")
    session.set_plan(["Teach"], "course")
    turn = session.work(plan_id="thesis")
    assert turn.text.startswith("1. [pending] (medium) Read")
    assert session.plan.plan_id == "thesis"
    assert len(session.plan_history("thesis")) == 1  # to be chosen is no change
    with pytest.raises(PlanError, match="there is no plan 'other'"):
        session.work(plan_id="other")


def test_a_running_turn_is_not_disturbed(hosted: Hosted) -> None:
    session = hosted(worker())
    session.ask("plan")
    session.set_mode("ask")
    session.set_mode("agent")
    turn = session.prompt("hold")
    until(session, pending(1))
    with pytest.raises(TurnRunning, match="a turn is running"):
        session.work()
    turn.cancel()


def test_nothing_to_do_is_said_in_a_line(hosted: Hosted) -> None:
    session = hosted(worker())
    with pytest.raises(PlanError, match="nothing to work on: the plan is empty"):
        session.work()
    session.set_plan(Plan(type="markdown", content="Some day."))
    with pytest.raises(PlanError, match="the plan is of type 'markdown', without entries"):
        session.work()
    session.set_plan(["Load", "Plot"])
    session.mark_done(1)
    with pytest.raises(PlanError, match=r"entry 1 is completed: .* takes it up again"):
        session.work(1)
    with pytest.raises(PlanIndexError, match="there is no entry 3"):
        session.work(3)
    session.mark_done(2)
    with pytest.raises(PlanError, match="nothing left to work on"):
        session.work()


def test_a_plan_of_the_hosts_is_worked_on_too(hosted: Hosted) -> None:
    class Semester:
        entries = [PlanEntry("Week 3"), PlanEntry("Exam")]

        def get_plan(self, session: Any, agent: Any) -> list[PlanEntry]:
            return self.entries

    semester = Semester()
    session = hosted(worker(), config=AdapterConfig(plan_provider=semester))
    assert "1. [pending] (medium) Week 3" in session.work().text
    semester.entries = [PlanEntry("Week 3", status="completed"), PlanEntry("Exam")]
    session.ask("hello")
    assert 'Take entry 2, "Exam"' in session.work().prompt
    with pytest.raises(PlanError, match="belongs to the host"):
        session.update_entry(2, status="cancelled")
