"""Two sessions on one agent, their turns in the middle at the same time: nothing of one is in the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelRequest, UserPromptPart

from acp_notebook import Call, Say, ScriptedModel, Session, current

Hosted = Callable[..., Session]

#: What each session is set to in the middle of its turns: mode, effort, and the model of the next turn.
SETTINGS = {
    "first": [("agent", "low", "b"), ("agent", "high", "a"), ("ask", "low", "b")],
    "second": [("agent", "high", "a"), ("ask", "minimal", "b"), ("agent", "high", "b")],
}


def meeting_agent() -> tuple[Agent[None, str], ScriptedModel, list[tuple[str, list[str]]]]:
    """An agent whose turns meet, in pairs, in a tool; another model, and the prompts that calls saw."""
    meeting = threading.Barrier(2)
    seen: list[tuple[str, list[str]]] = []

    def scripted(name: str) -> ScriptedModel:
        model = ScriptedModel(name=name)

        @model.script()
        def script(turn: Any) -> Any:
            yield Call("meet", number=turn.number)
            after = f"{name} {turn.thinking} {'wipe' in turn.tools}"
            if "acp_set_plan" in turn.tools:
                yield Call("acp_set_plan", entries=[{"content": f"{turn.prompt} {n}"} for n in (1, 2)])
                yield Call("meet", number=0)
                yield Call("acp_mark_plan_done", index=1)
            else:
                yield Call("meet", number=0)
            yield Say(after)

        return model

    agent = Agent(scripted("a"), name="shared")

    @agent.tool(metadata={"kind": "read"})
    def meet(ctx: RunContext[None], number: int) -> str:
        meeting.wait(20)
        session = current()
        assert session is not None
        requests = [message for message in ctx.messages if isinstance(message, ModelRequest)]
        prompts = [p.content for r in requests for p in r.parts if isinstance(p, UserPromptPart)]
        seen.append((session.name, prompts))
        if number:
            mode, effort, model = SETTINGS[session.name][number - 1]
            session.set_mode(mode)
            session.set_effort(effort)
            session.set_model(model)
        meeting.wait(20)
        return "met"

    @agent.tool_plain
    def wipe() -> str:
        return "wiped"

    return agent, scripted("b"), seen


def test_nothing_crosses(hosted: Hosted) -> None:
    agent, other, seen = meeting_agent()
    before = vars(agent).copy()
    sessions = [hosted(agent, name=name, models=[("b", other)], mode="agent") for name in SETTINGS]
    for number in (1, 2, 3):
        turns = [session.prompt(f"{session.name} {number}") for session in sessions]
        for turn in turns:
            turn.wait(60)
    first, second = sessions

    assert [turn.text for turn in first.turns] == ["a low True", "b high True", "a low False"]
    assert [turn.text for turn in second.turns] == ["a high True", "a minimal False", "b high True"]
    assert (first.mode, first.effort, first.model) == ("ask", "low", "b")
    assert (second.mode, second.effort, second.model) == ("agent", "high", "b")
    for session, turns in ((first, [1, 2]), (second, [1, 3])):
        name = session.name
        assert [entry.content for entry in session.plan] == [f"{name} {turns[-1]} 1", f"{name} {turns[-1]} 2"]
        assert {revision.turn for revision in session.plan_history()} == set(turns)
        assert session.plan.progress == (1, 2)
        own = [prompts for whose, prompts in seen if whose == name]
        assert own == [[f"{name} {n}" for n in range(1, last + 1)] for last in (1, 1, 2, 2, 3, 3)]
        assert session.usage.requests == sum(turn.usage.requests for turn in session.turns if turn.usage)
    assert vars(agent) == before  # which is as it was
