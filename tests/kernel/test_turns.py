"""Real turns in a real kernel: each kind of tool interrupted in each way of waiting, and what comes after."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from harness.wire import Cell, Frontend

SOON = 4  # on a busy machine; at rest within 2 s where a tool does not stop, at once where it does
SETUP = """
%load_ext acp_notebook
import acp_notebook, asyncio, threading
from pathlib import Path
from pydantic_ai import Agent
from acp_notebook import Call, Say, ScriptedModel
model = ScriptedModel()
@model.script("use (\\\\w+)")
def use(turn):
    yield Call(turn.match[1])
    yield Say("used")
@model.script(".")
def other(turn):
    yield Say("fine")
agent = Agent(model)
stop = threading.Event()
@agent.tool_plain
def thread() -> str:
    Path("started").touch(); stop.wait(30); return "done"
@agent.tool_plain
async def loop() -> str:
    await asyncio.sleep(0.2)  # the cell has come to its wait
    Path("started").touch(); stop.wait(30); return "done"
@agent.tool_plain
async def waiting() -> str:
    Path("started").touch(); await asyncio.sleep(30); return "done"
@agent.tool_plain(requires_approval=True)
def gated() -> str:
    return "done"
def session():
    return acp_notebook.current()
async def asked(text):
    turn = session().prompt(text)
    return await turn
"""
WAYS = {
    "magic": "%acp ask use {tool}",
    "ask": "session().ask('use {tool}')",
    "await": "await session().prompt('use {tool}')",
    "coroutine": "await asked('use {tool}')",
    "time": "%%time\n%acp ask use {tool}",
}


@pytest.fixture(scope="module", params=["kernel", "thread"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Frontend]:
    with Frontend.start(folder=tmp_path_factory.mktemp("turns")) as page:
        page.run(SETUP)
        page.run(f"%acp start agent --host {request.param}")
        page.run("%acp ask something")  # the first turn imports what all need
        yield page


def begin(page: Frontend, way: str, tool: str) -> Cell:
    """Begins a cell and returns when its tool runs, or waits for approval."""
    cell = page.begin(WAYS[way].format(tool=tool))
    if tool == "gated":
        page.wait(lambda: page.prompts or cell.done, 10, "a prompt")
    else:  # a tool that keeps the loop busy can be seen by nothing that the loop would send
        page.wait(lambda: page.log.with_name("started").exists() or cell.done, 10, "the tool")
        page.log.with_name("started").unlink()
        page.quiet(0.3)
    assert not cell.done, cell.outputs
    return cell


@pytest.mark.parametrize(
    ("way", "tool"),
    [(way, tool) for way in ("magic", "ask") for tool in ("thread", "loop", "waiting", "gated")]
    + [(way, "waiting") for way in ("await", "coroutine", "time")],
)
def test_nb_05_interrupt_during_turn(page: Frontend, way: str, tool: str) -> None:
    cell = begin(page, way, tool)
    began = time.monotonic()
    page.interrupt()
    page.finish(cell, 10)
    assert time.monotonic() - began < SOON
    page.prompts.clear()
    assert cell.error.startswith("KeyboardInterrupt: the turn")
    assert len(cell.outputs[-1]["traceback"]) == 1
    page.run("stop.set(); turn = session().turns[-1].wait(10); stop.clear()")
    assert page.value("turn.stop_reason") == "cancelled"
    assert page.value("[p.status for p in turn.state.permissions]") == ["cancelled"] * (tool == "gated")
    assert page.run("%acp ask --out next something else").error == "" and page.value("next.text") == "fine"
