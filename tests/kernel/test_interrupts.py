"""Interrupt at every moment of a turn with a pydantic-ai agent: the cell ends, the turn is cancelled, what
was asked is withdrawn, and the next prompt works.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_notebook.protocol.messages import RUNNING_ON
from harness.wire import Frontend

SETUP = """
%load_ext acp_notebook
import asyncio, pathlib, threading
from pydantic_ai import Agent
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
import acp_notebook
from acp_notebook.session.state import PermissionAsked

reached, release = pathlib.Path("reached"), threading.Event()

async def stream(messages, info):
    word = [p for m in messages for p in m.parts if p.part_kind == "user-prompt"][-1].content
    if word == "hello":
        yield "here I am"
    elif word == "text":
        yield "some words "
        reached.touch()
        await asyncio.sleep(60)
    else:
        yield {0: DeltaToolCall(word, "{}", tool_call_id="c")}

agent = Agent(FunctionModel(stream_function=stream), name="moments")

@agent.tool_plain
async def slow() -> str:
    reached.touch()
    await asyncio.sleep(60)

@agent.tool_plain
def stubborn() -> str:
    reached.touch()
    release.wait(60)
    return "after all"

@agent.tool_plain(requires_approval=True)
def gated() -> str:
    raise AssertionError

%acp start agent --host kernel
session = acp_notebook.current()
session.subscribe(lambda state, event: reached.touch() if isinstance(event, PermissionAsked) else None)
def ask(word):
    session.ask(word)
"""
WAITS = {"awaited": "%acp ask {}", "re-entered": "ask('{}')"}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Frontend]:
    with Frontend.start(folder=tmp_path_factory.mktemp("interrupts")) as page:
        page.on_display = lambda comm: comm.send({"action": "hello"})
        page.run(SETUP)
        yield page


@pytest.mark.parametrize("by", ["interrupt", "thread"])
@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("moment", ["text", "slow", "stubborn", "gated"])
def test_a_turn_is_ended_at_every_moment(page: Frontend, moment: str, wait: str, by: str) -> None:
    reached = Path(page.value("str(reached.absolute())"))
    reached.unlink(missing_ok=True)
    if by == "thread":
        page.run(CANCEL_FROM_A_THREAD)
    cell = page.begin(WAITS[wait].format(moment))
    page.wait(lambda: reached.exists() or cell.done, 20, "the moment")
    if by != "thread":
        page.quiet(0.1)  # nothing says from outside that the cell has come to its wait
        page.interrupt()
    page.finish(cell, 5)
    if by != "thread":
        assert cell.status == "error" and (cell.error or "").startswith("KeyboardInterrupt")
    ended = page.value(
        "[[turn.stop_reason, [p.status for p in turn.state.permissions], [c.left for c in turn.tool_calls]]"
        " for turn in session.turns[-1:]][0]"
    )
    assert ended == [
        "cancelled",
        ["cancelled"] if moment == "gated" else [],
        {"text": [], "stubborn": [RUNNING_ON]}.get(moment, [None]),
    ]
    page.run("%acp ask --out turn hello")
    assert page.value("turn.text") == "here I am"
    page.run("release.set()")
    page.wait(lambda: page.value("not session.state.left"), 10, "the end of the function")
    page.run("release.clear()")


CANCEL_FROM_A_THREAD = """
def cancel():
    while not reached.exists():
        release.wait(0.01)
    session.cancel()
    session.cancel()
threading.Thread(target=cancel).start()
"""
