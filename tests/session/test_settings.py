"""Asking the agent for the value of an option: its answer is what is in effect, whenever it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from acp_notebook.errors import ConfigError
from acp_notebook.kernel.host import ThreadHost
from acp_notebook.log import recent
from acp_notebook.protocol.messages import ConfigOption, Notice
from acp_notebook.protocol.options import read_options
from acp_notebook.protocol.plans import Remarks
from harness.puppet import MODE, THINKING, PuppetSession
from harness.sessions import until

Options = tuple[ConfigOption, ...]


@pytest.fixture
def session(no_threads_left: None) -> Iterator[PuppetSession]:
    session = PuppetSession(ThreadHost())
    yield session
    session.close()


def answer(session: PuppetSession, reply: Callable[[], Options], later: bool) -> None:
    """Have the agent answer so, at once or after a while."""

    async def in_time() -> Options:
        await asyncio.sleep(0)
        return reply()

    session.puppet.set_config = lambda *_: in_time() if later else reply()  # type: ignore[method-assign, assignment]


def notices(session: PuppetSession) -> list[str]:
    items = [*session.state.outside, *(item for turn in session.state.turns for item in turn.items)]
    return [item.text for item in items if isinstance(item, Notice)]


SOON = pytest.mark.parametrize("later", [False, True], ids=["at-once", "later"])

#: As an agent replied that took no effort but its own.
REPLY = [
    {
        "id": "thinking",
        "name": "Thinking",
        "category": "thought_level",
        "type": "select",
        "currentValue": "on",
        "options": [{"value": "on", "name": "On"}],
    }
]


@SOON
def test_cfg_05_change_silently_ignored(session: PuppetSession, later: bool) -> None:
    answer(session, lambda: read_options(REPLY, Remarks("reply")), later)
    assert session.set_effort("low") == "on"
    assert (session.effort, session.efforts) == ("on", ("on",))
    assert notices(session) == ["Thinking: 'low' was not taken; in effect is 'on'."]
    assert any(
        "survey: option 'thinking': 'low' was not taken; in effect is 'on'" in line for line in recent.lines()
    )


@SOON
def test_cfg_08_change_during_turn(session: PuppetSession, later: bool) -> None:
    def refuse() -> Options:
        raise ConfigError("Invalid request (the model is busy)")

    taken = session.puppet.set_config
    turn = session.prompt("go")
    answer(session, refuse, later)
    with pytest.raises(ConfigError, match=r"^Invalid request \(the model is busy\)$"):
        session.set_effort("low")
    session.puppet.set_config = taken  # type: ignore[method-assign]
    assert (session.set_mode("ask"), session.effort) == ("ask", "high")
    session.do(session.puppet.end)
    assert turn.wait(10).stop_reason == "end_turn"


@SOON
def test_an_answer_that_holds_is_not_said(session: PuppetSession, later: bool) -> None:
    low = ConfigOption("thinking", "Thinking", "thought_level", "low", THINKING.values)
    answer(session, lambda: (MODE, low), later)
    assert session.set_effort("low") == "low"
    assert notices(session) == []


def test_whoever_does_not_wait_is_told_of_a_refusal(session: PuppetSession) -> None:
    def fail() -> Options:
        raise ConnectionError("gone")

    answer(session, fail, later=True)
    change = session.request_config("thinking", "low")
    change.finished.result(10)
    assert str(change.refusal) == "Thinking: gone"
    until(session, lambda state: notices(session) == ["Thinking: gone"])


def test_a_wait_that_is_given_up_leaves_the_value(session: PuppetSession) -> None:
    async def never() -> Any:
        await asyncio.Event().wait()

    session.puppet.set_config = lambda *_: never()  # type: ignore[method-assign, assignment]
    change = session.request_config("thinking", "low")
    session.do(change.cancel)
    change.finished.result(10)
    assert "nobody waited" in str(change.refusal)
    assert session.effort == "high"
