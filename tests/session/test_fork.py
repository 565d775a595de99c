"""A fork begins as its session is, and nothing that happens in one of them touches the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext

from acp_notebook import AdapterConfig, Call, PlanEntry, Say, ScriptedModel, Session, current
from acp_notebook.errors import AgentError, SessionClosed, TurnRunning
from acp_notebook.kernel.host import ThreadHost
from acp_notebook.notebook import sessions
from acp_notebook.views.bundle import static_bundle
from harness.puppet import Puppet
from harness.sessions import pending, until

Hosted = Callable[..., Session]


def rememberer(name: str = "rememberer") -> Agent[list[str], str]:
    """Says all prompts that are in its history, and plans, works or waits when it is told to."""
    model = ScriptedModel()

    @model.script("^plan (.*)")
    def plan(turn: Any) -> Any:
        yield Call("acp_set_plan", entries=[{"content": text} for text in turn.match[1].split()])
        yield Say("Planned.")

    @model.script("^done (.*)")
    def done(turn: Any) -> Any:
        yield Call("acp_mark_plan_done", index=int(turn.match[1]))
        yield Say("Done.")

    @model.script("^wait")
    def wait(turn: Any) -> Any:
        yield Call("gated")

    @model.script()
    def say(turn: Any) -> Any:
        yield Call("note", text=turn.prompt)
        yield Say(f"turn {turn.number}, thinking {turn.thinking}")

    agent = Agent(model, name=name, deps_type=list)

    @agent.tool_plain(requires_approval=True)
    def gated() -> str:
        return "let through"

    @agent.tool
    def note(ctx: RunContext[list[str]], text: str) -> str:
        ctx.deps.append(text)
        return "noted"

    return agent


def start(hosted: Hosted, **options: Any) -> tuple[Session, list[str]]:
    notes: list[str] = []
    return hosted(rememberer(), deps=notes, **options), notes


def test_it_begins_with_history_plans_and_settings(hosted: Hosted) -> None:
    session, notes = start(hosted, effort="high")
    session.ask("plan Load Clean")
    session.update_entry(2, content="Clean twice")
    session.set_config("plan_generation_type", "tools")
    fork = session.fork()
    try:
        assert fork.name == "rememberer-2" and current() is fork
        assert [turn.prompt for turn in fork.turns] == ["plan Load Clean"]
        assert fork.turns[0].session is fork and fork.turns[0].output == "Planned."
        assert fork.plan == session.plan
        assert [r.author for r in fork.plan_history()] == ["model", "person"]
        assert {o.id: o.current for o in fork.config_options} == {
            o.id: o.current for o in session.config_options
        }
        assert fork.ask("hello").text == "turn 2, thinking high"
        assert notes == ["hello"]  # deps are the agent's
        fork.undo_plan()
        assert fork.plan[1].content == "Clean"
    finally:
        fork.close()


def test_nothing_is_shared_afterwards(hosted: Hosted) -> None:
    session, _ = start(hosted)
    session.ask("plan Load Clean")
    fork = session.fork("other")
    try:
        fork.ask("done 1")
        session.ask("done 2")
        fork.set_effort("low")
        session.set_mode("ask")
        fork.set_plan(["Read"], "thesis")
        assert [entry.status for entry in fork.plans["plan-1"]] == ["completed", "pending"]
        assert [entry.status for entry in session.plan] == ["pending", "completed"]
        assert len(session.plan_history()) == len(fork.plan_history("plan-1")) == 2
        assert (session.mode, session.effort) == ("ask", "default")
        assert (fork.mode, fork.effort) == ("agent", "low")
        assert "thesis" not in session.plans
        assert session.ask("hello").text.startswith("turn 3")
        assert fork.ask("hello").text.startswith("turn 3")
        assert [turn.prompt for turn in session.turns] == ["plan Load Clean", "done 2", "hello"]
    finally:
        fork.close()


def test_a_fork_is_shown_by_its_own_name(hosted: Hosted) -> None:
    session, _ = start(hosted)
    fork = session.fork("what-if")
    try:
        fork.ask("hello")
        for text in static_bundle(fork.state, "turn").values():
            assert "what-if" in text and session.name not in text
    finally:
        fork.close()


def test_what_the_model_knows_of_the_plan_goes_along(hosted: Hosted) -> None:
    session, _ = start(hosted)
    session.ask("plan Load Clean")
    session.update_entry(1, status="cancelled")
    fork = session.fork()
    try:
        for one in (session, fork):
            one.ask("hello")
            told = [item.text for item in one.state.turns[-1].items if hasattr(item, "level")]
            assert told == ['Told the agent: 1. "Load": pending → cancelled']
    finally:
        fork.close()


def test_each_ends_by_itself_and_the_loop_with_the_last(hosted: Hosted, no_threads_left: None) -> None:
    session, _ = start(hosted)
    fork = session.fork()
    session.close()
    assert fork.ask("hello").text
    again = fork.fork()
    fork.close()
    assert again.ask("hello").text.startswith("turn 2")
    again.close()
    with pytest.raises(SessionClosed):
        again.fork()


def test_a_request_is_answered_in_its_own_session(hosted: Hosted) -> None:
    session, _ = start(hosted)
    fork = session.fork()
    try:
        turns = session.prompt("wait"), fork.prompt("wait")
        until(session, pending(1))
        until(fork, pending(1))
        fork.permissions[0].deny("no")
        session.permissions[0].allow()
        for turn in turns:
            turn.wait()
        assert [turns[0].tool_calls[0].raw_output, turns[1].tool_calls[0].status] == ["let through", "failed"]
    finally:
        fork.close()


def test_not_while_a_turn_runs(hosted: Hosted) -> None:
    session, _ = start(hosted)
    turn = session.prompt("wait")
    until(session, pending(1))
    with pytest.raises(TurnRunning, match="the session can be forked when it has ended"):
        session.fork()
    turn.cancel()
    assert sessions() == (session,)


def test_an_agent_may_refuse(no_threads_left: None) -> None:
    from acp_notebook.session.session import Session as ClientSession

    session = ClientSession(Puppet, host := ThreadHost(), name="outside")
    with pytest.raises(AgentError, match="cannot fork"):
        ClientSession(session._agent.fork, host, name="fork", parent=session)
    session.close()


def test_a_plan_of_the_hosts_stays_the_hosts(hosted: Hosted) -> None:
    class Semester:
        entries = [PlanEntry("Week 3")]

        def get_plan(self, session: Any, agent: Any) -> list[PlanEntry]:
            return self.entries

    semester = Semester()
    session, _ = start(hosted, config=AdapterConfig(plan_provider=semester))
    session.ask("hello")
    semester.entries = [PlanEntry("Week 4")]
    fork = session.fork()
    try:
        assert [entry.content for entry in fork.plan] == ["Week 4"]
        fork.ask("hello")
        assert any("Told the agent" in getattr(item, "text", "") for item in fork.state.turns[-1].items)
    finally:
        fork.close()
