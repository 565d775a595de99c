"""A sweep: the same prompt at several settings, each in a fork, and the session as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.settings import ModelSettings

from acp_notebook import Call, Say, ScriptedModel, Session, Think
from acp_notebook.errors import AcpError, ConfigError, TurnRunning
from acp_notebook.notebook import sessions
from harness.sessions import pending, until

Hosted = Callable[..., Session]


def thinker(name: str = "thinker") -> ScriptedModel:
    model = ScriptedModel(name=name)

    @model.script("^plan")
    def plan(turn: Any) -> Any:
        steps = ["Look", "Think", "Do"] if turn.thinking == "high" else ["Do"]
        yield Call("acp_set_plan", entries=[{"content": step} for step in steps])
        yield Call("acp_mark_plan_done", index=1)
        yield Say("Planned.")

    @model.script("^wait")
    def wait(turn: Any) -> Any:
        result = yield Call("gated")
        yield Say(result.text)

    @model.script("^fail")
    def fail(turn: Any) -> Any:
        yield Think("Hm. ")
        if turn.thinking == "low":
            raise RuntimeError("too hard at low")
        yield Say("Easy.")

    @model.script()
    def say(turn: Any) -> Any:
        yield Say(f"{name}, {turn.thinking}, turn {turn.number}: {sorted(turn.tools)}")

    return model


def agent_of(model: Any) -> Agent[None, str]:
    agent = Agent(model, name="agent")

    @agent.tool_plain(requires_approval=True)
    def gated() -> str:
        return "let through"

    return agent


def test_each_run_has_a_fork_and_the_session_stays_as_it_is(hosted: Hosted) -> None:
    session = hosted(agent_of(thinker()))
    session.ask("hello")
    before = session.state
    done = session.sweep("plan", efforts=["low", "high"])
    assert session.state is before and sessions() == (session,)
    assert [row.settings for row in done] == [{"effort": "low"}, {"effort": "high"}]
    assert [len(row.plan) for row in done] == [1, 3]
    assert [row.plan.progress for row in done] == [(1, 1), (1, 3)]
    assert [row.status for row in done] == ["end_turn", "end_turn"] and len(done) == 2
    assert done[0].turn.number == 2  # after what was said before
    assert all(row.session.state.closed for row in done)
    records = done.records()
    assert records[1] | {"seconds": None, "turn": None} == {
        "effort": "high",
        "status": "end_turn",
        "done": 1,
        "entries": 3,
        "answer": "Planned.",
        "seconds": None,
        "requests": 3,
        "tokens": done[1].usage.total_tokens,
        "cost": None,
        "error": None,
        "turn": None,
    }
    assert records[1]["turn"].prompt == "plan" and records[1]["seconds"] > 0
    assert list(done.to_frame().entries) == [1, 3]


def test_kinds_of_settings_are_combined_the_model_outermost(hosted: Hosted) -> None:
    session = hosted(agent_of(thinker("a")), models=[("b", thinker("b"))])
    done = session.sweep("say", efforts=["low", "high"], modes=["ask", "agent"], models=["a", "b"])
    assert [row.label for row in done][:5] == [
        "a, ask, low",
        "a, ask, high",
        "a, agent, low",
        "a, agent, high",
        "b, ask, low",
    ]
    assert [row.answer.partition(",")[0] for row in done] == ["a"] * 4 + ["b"] * 4
    assert ["gated" in row.answer for row in done] == [False, False, True, True] * 2
    assert session.model == "a"


def test_one_value_needs_no_list(hosted: Hosted) -> None:
    assert [row.label for row in hosted(agent_of(thinker())).sweep("say", efforts="high")] == ["high"]


def test_unknown_settings_are_refused_before_anything_runs(hosted: Hosted) -> None:
    session = hosted(agent_of(thinker("a")), models=[("b", thinker("b"))])
    for settings, said in (
        ({"efforts": ["low", "huge"]}, "effort 'huge' is not offered: use default, off,"),
        ({"modes": ["agent", "code"]}, "mode 'code' is not offered: use ask, plan, agent"),
        ({"models": ["b", "c"]}, "model 'c' is not offered: use a, b"),
    ):
        with pytest.raises(ConfigError, match=said):
            session.sweep("say", **settings)
    with pytest.raises(AcpError, match="say what the sweep goes through"):
        session.sweep("say")
    with pytest.raises(AcpError, match="the prompt is empty"):
        session.sweep(" ", efforts=["low"])
    assert session.turns == () and sessions() == (session,)


def test_an_effort_that_a_model_does_not_offer_is_not_run(hosted: Hosted) -> None:
    plain = FunctionModel(lambda messages, info: pytest.fail("must not run"), model_name="plain")
    session = hosted(agent_of(thinker("a")), models=[("plain", plain)])
    done = session.sweep("say", efforts=["low"], models=["a", "plain"])
    assert [row.status for row in done] == ["end_turn", "refused"]
    assert "effort 'low' is not offered: use default" in (done[1].error or "")
    assert done[1].record()["turn"] is None
    session.set_model("plain")
    with pytest.raises(ConfigError, match="effort 'low' is not offered"):
        session.sweep("say", efforts=["low"])


class Hook(AbstractCapability[Any]):
    """Has the last word on what a request says."""

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        return replace(request_context, model_settings=ModelSettings(thinking="minimal"))


def test_the_effort_in_effect_is_told_where_it_is_another(hosted: Hosted) -> None:
    session = hosted(Agent(thinker(), name="stubborn", capabilities=[Hook()]))
    done = session.sweep("say", efforts=["minimal", "high"])
    assert [row.error for row in done] == [None, "the effort in effect was 'minimal'"]


def test_a_run_that_fails_is_a_row_and_the_others_go_on(hosted: Hosted) -> None:
    done = hosted(agent_of(thinker())).sweep("fail", efforts=["low", "high"])
    assert done[0].status == "error" and "too hard at low" in (done[0].error or "")
    assert "\n" not in (done[0].error or "")
    assert done[1].answer == "Easy." and done[1].error is None


def test_requests_are_never_allowed_silently(hosted: Hosted) -> None:
    session = hosted(agent_of(thinker()), on_unattended="deny")
    denied = session.sweep("wait", efforts=["low"])
    assert "Denied" in denied[0].answer
    assert session.sweep("wait", efforts=["low"], approve=True)[0].answer == "let through"


def test_requests_of_forks_are_answered_one_by_one(hosted: Hosted) -> None:
    session = hosted(agent_of(thinker()))
    sweep = session.start_sweep("wait", efforts=["low", "high"])
    for row, answer in zip(sweep, ("allow", "deny"), strict=True):
        until(row.session, pending(1))
        (request,) = sweep.permissions
        getattr(request, answer)()
    sweep.wait(20)
    assert sweep[0].answer == "let through" and sweep[1].answer != "let through"
    assert (sweep[0].seconds or 0) < 20


def test_cancelling_ends_the_run_and_leaves_out_the_others(hosted: Hosted) -> None:
    session = hosted(agent_of(thinker()))
    sweep = session.start_sweep("wait", efforts=["low", "high"])
    until(sweep[0].session, pending(1))
    assert sweep.running and sweep.current is sweep[0]
    sweep.cancel()
    sweep.wait(20)
    assert [row.status for row in sweep] == ["cancelled", "waiting"]
    assert sweep[0].error == "cancelled" and sweep[1].seconds is None
    sweep.cancel()


def test_the_end_of_the_session_ends_it(hosted: Hosted) -> None:
    session = hosted(agent_of(thinker()))
    sweep = session.start_sweep("wait", efforts=["low", "high"])
    until(sweep[0].session, pending(1))
    session.close()
    sweep.finished.result(20)
    assert all(row.session.state.closed for row in sweep)


def test_not_while_a_turn_runs(hosted: Hosted) -> None:
    session = hosted(agent_of(thinker()))
    turn = session.prompt("wait")
    until(session, pending(1))
    with pytest.raises(TurnRunning):
        session.sweep("say", efforts=["low"])
    turn.cancel()


async def test_it_is_awaited_on_the_loop_that_runs(hosted: Hosted) -> None:
    session = Session(agent_of(thinker()), host="kernel")
    try:
        sweep = session.start_sweep("say", efforts=["low", "high"])
        assert [row.answer.split(",")[1] for row in await sweep] == [" low", " high"]
    finally:
        session.close()
