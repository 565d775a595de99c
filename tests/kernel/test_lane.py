"""The comm lane in a real kernel: opened on need, used only when wanted, given back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from acp_notebook.kernel.lane import lane, route
from harness.wire import Cell, Comm, Frontend

SETUP = """
import threading, time
import ipywidgets
from IPython.display import display
from acp_notebook.kernel.lane import frontend_subshells, lane, route
button = ipywidgets.Button()
wanted, arrived = True, threading.Event()
def message(widget, content, buffers):
    global where
    where = threading.current_thread().name.replace(f"subshell-{lane.subshell_id}", "lane")
    arrived.set()
button.on_msg(message)
route(button.comm, lambda: wanted)
display(button)
def blocked():
    arrived.clear(); print("up", flush=True)
    return arrived.wait(0.5)
"""


@pytest.fixture
def page(start_kernel: Callable[..., Frontend]) -> Iterator[Frontend]:
    page = start_kernel()
    page.run(SETUP)
    yield page


def click(page: Frontend, cell: Cell) -> str:
    page.wait(lambda: "up" in cell.stdout)
    button: Comm = page.widgets()[0]
    button.send({"x": 1})
    return page.finish(cell).stdout


def test_messages_come_through_while_a_cell_blocks_and_only_when_wanted(page: Frontend) -> None:
    assert click(page, page.begin("print(blocked())")) == "up\nFalse\n"
    assert page.value("(lane.open(), lane.open(), lane.why_not())") == (True, True, None)
    assert click(page, page.begin("print(blocked(), where)")) == "up\nTrue lane\n"
    page.run("wanted = False")
    assert click(page, page.begin("print(blocked())")) == "up\nFalse\n"
    assert page.value("where") == "MainThread"


def test_the_lane_is_given_back_and_can_be_had_again(page: Frontend) -> None:
    page.run("lane.open()")
    assert page.value("frontend_subshells()") == 0
    page.run("lane.close(); lane.close()")
    assert page.value("(lane.subshell_id, frontend_subshells())") == (None, 0)
    assert click(page, page.begin("print(blocked())")) == "up\nFalse\n"
    page.run("lane.open()")
    assert click(page, page.begin("print(blocked(), where)")) == "up\nTrue lane\n"
    page.create_subshell()
    assert page.value("frontend_subshells()") == 1


def test_without_a_kernel_there_is_none_and_nothing_fails() -> None:
    assert lane.why_not() == "there is no kernel"
    assert lane.open() is False
    lane.close()
    route(object(), lambda: True)
