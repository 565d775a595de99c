"""What turns take: summed over the requests of a turn, and over a session's turns, however they ended."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai import Agent, Tool
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.models.test import TestModel

from acp_notebook import Call, Say, ScriptedModel, Session, Think
from acp_notebook.errors import TurnFailed
from acp_notebook.protocol.messages import Usage
from harness.sessions import pending, until

Hosted = Callable[..., Session]


def working_agent() -> Agent[None, str]:
    """Calls the tools that a prompt names: `look`, `gate` (waits for approval), `slip` (fails once).

    At `break` the model fails.
    """
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        for tool in turn.prompt.split():
            if tool == "break":
                raise ConnectionError("the line is dead")
            yield Call(tool)
        yield Say("done")

    slipped: list[bool] = []

    def slip() -> str:
        if not slipped:
            slipped.append(True)
            raise ModelRetry("once more")
        return "ok"

    def look() -> str:
        return "ok"

    def gate() -> str:
        return "ok"

    return Agent(model, tools=[look, slip, Tool(gate, requires_approval=True)])


def test_every_request_of_a_turn_counts_pauses_for_approval_included(hosted: Hosted) -> None:
    session = hosted(working_agent())
    turn = session.prompt("look gate gate")
    for _ in range(2):
        until(session, pending(1))
        session.permissions[0].allow()
    usage = turn.wait(20).usage
    assert usage is not None
    assert (usage.requests, usage.tool_calls) == (4, 3)
    assert usage.input_tokens > 200 and usage.output_tokens > 3
    assert (usage.cost, usage.unpriced) == (None, 0)  # a script costs nothing, and nothing is said of it
    assert session.usage == usage


def test_retries_and_turns_that_were_cancelled_or_failed_count(hosted: Hosted) -> None:
    session = hosted(working_agent())
    first = session.ask("slip slip")
    assert first.usage and (first.usage.requests, first.usage.tool_calls) == (3, 1)
    second = session.prompt("look gate")
    until(session, pending(1))
    session.cancel()
    second.wait(20)
    assert second.stop_reason == "cancelled"
    assert second.usage and (second.usage.requests, second.usage.tool_calls) == (2, 1)
    with pytest.raises(TurnFailed, match="the line is dead"):
        session.ask("look break")
    third = session.turns[-1]
    # an older pydantic-ai counts the request that failed, too
    assert third.usage and third.usage.requests in (1, 2) and third.usage.tool_calls == 1
    assert session.usage == first.usage + second.usage + third.usage


def test_a_turn_cancelled_in_the_middle_of_an_answer_counts_what_had_come(hosted: Hosted) -> None:
    model = ScriptedModel(delay=0.01)

    @model.script()
    def script(turn: Any) -> Any:
        yield Think("so many words " * 500)

    session = hosted(model)
    turn = session.prompt("go")
    until(session, lambda state: state.turn and state.turn.thoughts)
    assert turn.usage is None  # not known before its end
    session.cancel()
    usage = turn.wait(20).usage
    assert usage is not None and usage.requests == 1 and usage.input_tokens > 0


def test_models_without_a_provider_have_no_price_that_could_be_missing(hosted: Hosted) -> None:
    session = hosted(Agent(TestModel()))
    session.ask("hello")
    assert session.usage.requests and (session.usage.cost, session.usage.unpriced) == (None, 0)


def test_sums_know_what_they_leave_out() -> None:
    script, priced, unknown = (
        Usage(1, 2, 3, 4),
        Usage(10, 20, 1, 0, Decimal("0.25")),
        Usage(5, 5, 2, 0, None, 2),
    )
    assert script + priced == Usage(11, 22, 4, 4, Decimal("0.25"), 0)
    assert priced + unknown == Usage(15, 25, 3, 0, Decimal("0.25"), 2)
    assert script + unknown == Usage(6, 7, 5, 4, None, 2)
    assert Usage() + Usage() == Usage()
