"""Sync tools that cannot be stopped: shown as still running until they end, in the turn they belong to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic_ai import Agent, Tool

from acp_notebook import Call, Say, ScriptedModel, Session, StepApp
from acp_notebook.log import recent
from acp_notebook.magics.status import in_brief
from acp_notebook.protocol.messages import RUNNING_ON
from acp_notebook.session.state import SessionState
from acp_notebook.views.bundle import static_bundle
from harness.sessions import until

Hosted = Callable[..., Session]


class Stubborn:
    """An agent whose tool runs until it is released, once a turn; any other prompt is answered at once."""

    def __init__(self, error: BaseException | None = None, **fields: Any) -> None:
        self.reached, self.release = threading.Event(), threading.Event()
        model = ScriptedModel()

        @model.script("hold")
        def holds(turn: Any) -> Any:
            result = yield Call("hold", token="sk-123")
            yield Say(f"in the end: {result.text}")

        @model.script()
        def answers(turn: Any) -> Any:
            yield Say("here I am")

        def hold(token: str) -> str:
            self.reached.set()
            assert self.release.wait(30)
            print("at last")
            if error is not None:
                raise error
            return "done after all"

        self.agent = Agent(model, tools=[Tool(hold, **fields)])


def left(number: int) -> Callable[[SessionState], bool]:
    return lambda state: len(state.left) == number


@pytest.mark.parametrize(
    ("error", "how"),
    [
        (None, "and its result was dropped"),
        (ValueError("no sk-123"), "and raised ValueError: no ••••••"),
        (StopIteration("x"), "and raised RuntimeError: StopIteration: x"),
    ],
    ids=["returns", "raises", "stops"],
)
def test_it_is_shown_until_it_ends_in_its_own_turn(hosted: Hosted, error: Any, how: str) -> None:
    stubborn = Stubborn(error)
    session = hosted(stubborn.agent)
    turn = session.prompt("hold")
    assert stubborn.reached.wait(20)
    session.cancel()
    session.cancel()
    assert turn.wait(5).stop_reason == "cancelled"
    assert turn.tool_calls[0].status == "cancelled" and turn.tool_calls[0].left == RUNNING_ON
    assert "1 ended call still running" in in_brief(session)
    for form in static_bundle(session.state, "turn", 1).values():
        assert RUNNING_ON in form
    later = session.ask("hello", timeout=20)  # the next prompt works meanwhile
    fork = session.fork("fork")
    assert not fork.state.left and "when the session was forked" in (fork.turns[0].tool_calls[0].left or "")
    stubborn.release.set()
    until(session, left(0))
    call = turn.tool_calls[0]
    assert call.left is not None and call.left.startswith("its function ended ") and call.left.endswith(how)
    assert (call.status, call.reason) == ("cancelled", "cancelled")
    assert later.text == "here I am" and later.tool_calls == ()
    assert "still running" not in in_brief(session)
    for form in static_bundle(session.state, "turn", 1).values():
        assert "its function ended" in form and RUNNING_ON not in form
    lines = [line for line in recent.lines() if "hold" in line]
    assert any(RUNNING_ON in line for line in lines) and how in lines[-1]
    fork.close()


def test_what_ends_in_time_is_not_said_to_be_left(hosted: Hosted) -> None:
    stubborn = Stubborn()
    stubborn.release.set()
    turn = hosted(stubborn.agent).ask("hold", timeout=20)
    assert turn.text == "in the end: done after all"
    assert turn.tool_calls[0].left is None


def test_the_same_id_in_a_later_turn_is_another_call(hosted: Hosted) -> None:
    stubborn = Stubborn()
    session = hosted(stubborn.agent)
    first = session.prompt("hold")
    assert stubborn.reached.wait(20)
    session.cancel()
    first.wait(5)
    stubborn.reached.clear()
    second = session.prompt("hold")
    assert stubborn.reached.wait(20)
    stubborn.release.set()
    until(session, lambda state: state.status == "idle" and not state.left)
    assert second.wait(5).text == "in the end: done after all" and second.tool_calls[0].left is None
    assert first.tool_calls[0].left is not None and first.tool_calls[0].left != RUNNING_ON


def test_a_call_that_took_too_long_is_followed_too(hosted: Hosted) -> None:
    stubborn = Stubborn(timeout=0.05, max_retries=0)
    session = hosted(stubborn.agent)
    turn = session.prompt("hold")
    until(session, lambda state: state.status == "idle")
    assert turn.tool_calls[0].left == RUNNING_ON
    stubborn.release.set()
    until(session, left(0))


def test_threads_of_a_plan_of_calls_are_the_plans(hosted: Hosted) -> None:
    model, app = ScriptedModel(), StepApp("holding")
    reached, release = threading.Event(), threading.Event()

    @app.tool()
    def hold() -> str:
        reached.set()
        assert release.wait(30)
        return "held"

    @model.script()
    def script(turn: Any) -> Any:
        yield Call("execute_plan", steps=[{"id": "h", "tool": "hold", "args": {}}])

    session = hosted(Agent(model, toolsets=[app]))
    turn = session.prompt("go")
    assert reached.wait(20)
    session.cancel()
    assert turn.wait(5).stop_reason == "cancelled"
    assert [(call.name, call.left) for call in turn.tool_calls] == [("execute_plan", RUNNING_ON)]
    release.set()
    until(session, left(0))


def test_an_executor_of_the_users_is_used(hosted: Hosted) -> None:
    names: list[str] = []
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Call("where")

    def where() -> str:
        names.append(threading.current_thread().name)
        return "here"

    with ThreadPoolExecutor(1, "mine") as pool:
        from pydantic_ai.capabilities import UseThreadExecutor

        agent = Agent(model, tools=[where], capabilities=[UseThreadExecutor(pool)])
        hosted(agent).ask("go", timeout=20)
    assert [name.split("_")[0] for name in names] == ["mine"]


def test_a_session_that_closes_leaves_it_alone(hosted: Hosted) -> None:
    stubborn = Stubborn()
    session = hosted(stubborn.agent)
    session.prompt("hold")
    assert stubborn.reached.wait(20)
    session.close()
    stubborn.release.set()
