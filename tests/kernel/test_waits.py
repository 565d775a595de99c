"""How a cell waits, in a real kernel: interrupts, tools that never stop, the user's own tasks and patches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.wire import Cell, Frontend

TESTS = {"PYTHONPATH": str(Path(__file__).parents[1])}
SOON = 4  # on a busy machine; at rest within 2 s where a turn does not stop, at once where it does
SETUP = """
import asyncio, threading, time
from acp_notebook.kernel.host import choose_host
from harness.pending import Pending
ticks = []
async def ticker():
    while True:
        ticks.append(1)
        await asyncio.sleep(0.005)
tick = asyncio.ensure_future(ticker())
def new(kind=None, **options):
    global turn
    turn = Pending(choose_host(kind), **options)
    print("up", flush=True)
    return turn
def on_loop(function, *arguments):
    turn.host.loop.call_soon_threadsafe(function, *arguments)
def later(seconds=0.1):
    on_loop(turn.host.loop.call_later, seconds, turn.end)
async def awaiting():
    return await turn
def waiting():
    return turn.wait()
"""
HOSTS = ["kernel", "thread"]
WAITS = ["await turn", "turn.wait()", "waiting()", "await awaiting()"]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Frontend]:
    with Frontend.start(folder=tmp_path_factory.mktemp("waits"), env=TESTS) as page:
        page.run(SETUP)
        yield page


def up(page: Frontend, code: str) -> Cell:
    """Begins a cell and returns when it waits."""
    cell = page.begin(code)
    page.wait(lambda: "up" in cell.stdout or cell.done)
    return cell


def interrupted(page: Frontend, cell: Cell, *, times: int = 1) -> float:
    """Presses Interrupt and returns the seconds until the cell is over."""
    page.quiet(0.1)  # nothing says from outside that the cell has come to its wait
    began = time.monotonic()
    page.interrupt()
    for _ in range(times - 1):
        page.quiet(0.1)  # two signals at once count as one
        page.interrupt()
    page.finish(cell, 10)
    return time.monotonic() - began


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("wait", WAITS)
def test_a_cell_waits_and_has_the_result(page: Frontend, host: str, wait: str) -> None:
    cell = page.run(
        f"new({host!r}); later(); before = len(ticks); x = {wait}\nprint(x, len(ticks) - before > 4)"
    )
    stands_still = host == "thread" and "await" not in wait  # a blocked main thread
    assert cell.stdout == f"up\ndone {not stands_still}\n"


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("wait", WAITS)
def test_an_interrupt_cancels_the_turn_and_stops_the_cell(page: Frontend, host: str, wait: str) -> None:
    cell = up(page, f"new({host!r}); x = {wait}")
    assert interrupted(page, cell) < SOON
    assert cell.status == "error"  # so that Run All stops
    assert cell.error == "KeyboardInterrupt: the turn was cancelled"
    assert cell.outputs[-1]["traceback"] == ["KeyboardInterrupt: the turn was cancelled"]
    assert page.value("turn.outcome") == "cancelled"
    assert page.run(f"new({host!r}); later(); print({wait})").stdout == "up\ndone\n"


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("wait", WAITS)
def test_a_turn_that_cannot_be_stopped_gives_the_cell_back(page: Frontend, host: str, wait: str) -> None:
    cell = up(page, f"new({host!r}, stubborn=True); x = {wait}")
    assert interrupted(page, cell) < SOON
    assert cell.outputs[-1]["traceback"] == [
        "KeyboardInterrupt: the turn is cancelled, but a tool has not stopped yet"
    ]
    cell = up(page, f"new({host!r}, stubborn=True); x = {wait}")
    assert interrupted(page, cell, times=2) < SOON
    assert "has not stopped yet" in cell.error
    page.run("turn.host.call(turn.end)")


@pytest.mark.parametrize("host", HOSTS)
def test_waiting_for_several_turns_at_once(page: Frontend, host: str) -> None:
    cell = up(page, f"a, b = new({host!r}), new({host!r}); await asyncio.gather(a, b)")
    assert interrupted(page, cell) < SOON
    assert cell.error == "CancelledError: " and cell.outputs[-1]["traceback"] == ["CancelledError"]
    page.run("await asyncio.gather(a, b, return_exceptions=True)")  # the first has ended the wait for both
    assert page.value("[a.outcome, b.outcome]") == ["cancelled", "cancelled"]
    assert (
        page.run("import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)").stdout
        == "True\n"
    )


def test_a_tool_that_computes_on_the_loop_is_stopped_where_it_is(page: Frontend) -> None:
    page.run(
        "from acp_notebook.kernel.prints import capture\n"
        "import contextvars\n"
        "async def tool():\n"
        "    say = contextvars.copy_context().run\n"
        "    with capture(lambda text: None):\n"
        "        await asyncio.sleep(0.05)\n"
        "        say(print, 'computing', flush=True)\n"
        "        time.sleep(30)\n"
        "def start():\n"
        "    new(stubborn=True)\n"
        "    task = asyncio.ensure_future(tool())\n"
        "    task.add_done_callback(lambda task: turn.end('stopped' if task.cancelled() else 'ran on'))\n"
    )
    for wait in WAITS:
        cell = up(page, f"start(); x = {wait}")
        page.wait(lambda cell=cell: "computing" in cell.stdout or cell.done)
        assert interrupted(page, cell) < SOON, wait
        assert cell.error == "KeyboardInterrupt: the turn was cancelled"
        assert page.value("turn.outcome") == "stopped"


@pytest.mark.parametrize("cell_kind", ["", "await asyncio.sleep(0); "])
def test_a_loop_that_a_tool_blocks_can_be_left(page: Frontend, cell_kind: str) -> None:
    page.run("new('thread'); stop = threading.Event(); on_loop(lambda: stop.wait(30))")
    cell = up(page, f"{cell_kind}print('up', flush=True); turn.host.call(lambda: late.append(1))")
    assert interrupted(page, cell) < SOON
    assert cell.outputs[-1]["traceback"] == [
        "KeyboardInterrupt: the session is busy with a tool that blocks its loop"
    ]
    page.run("late = []; stop.set(); turn.host.call(turn.end)")
    assert page.value("late") == []


def test_a_timeout_of_the_users_own_stays_a_timeout(page: Frontend) -> None:
    cell = page.execute("new()\nasync with asyncio.timeout(0.05):\n    await turn")
    assert cell.error.startswith("TimeoutError") and page.value("turn.outcome") == "cancelled"
    cell = page.execute("new(); turn.wait(0.05)")
    assert cell.error.startswith("TurnTimeout: the turn still runs after 0.05 s")
    assert page.value("turn.outcome") is None


def test_interrupts_of_other_cells_leave_a_turn_in_the_background_alone(page: Frontend) -> None:
    page.run("new(); background = asyncio.ensure_future(awaiting())")
    for code, error in (
        ("time.sleep(30)", "KeyboardInterrupt"),
        ("await asyncio.sleep(30)", "CancelledError"),
    ):
        cell = up(page, f"print('up', flush=True); {code}")
        assert interrupted(page, cell) < SOON
        assert cell.error.startswith(error)
    assert page.value("turn.outcome") is None
    assert page.run("turn.end(); print(await background)").stdout == "done\n"


def test_a_wait_that_ends_in_a_later_cell_leaves_that_cells_interrupt_alone(page: Frontend) -> None:
    page.run("new(); background = asyncio.ensure_future(awaiting()); await asyncio.sleep(0.02)")
    cell = page.begin("turn.end(); print(await background, flush=True); await asyncio.sleep(30)")
    page.wait(lambda: "done" in cell.stdout)
    assert interrupted(page, cell) < SOON
    assert cell.error.startswith("CancelledError")


def test_callers_on_other_threads_wait_without_signals(page: Frontend) -> None:
    cell = page.run(
        "new()\ndef work():\n    got.append(turn.wait())\ngot = []\n"
        "worker = threading.Thread(target=work); worker.start(); later()\n"
        "await asyncio.to_thread(worker.join); print(got)"
    )
    assert cell.stdout == "up\n['done']\n"


def test_run_all_keeps_its_order(page: Frontend) -> None:
    cells = [
        page.begin(code)
        for code in ("new(); later(); a = turn.wait()", "b = a", "new(); c = b; later(); await turn")
    ]
    for cell in cells:
        page.finish(cell)
    assert page.value("[a, b, c]") == ["done"] * 3


@pytest.mark.parametrize("patch", ["nest_asyncio", "nest_asyncio2"])
def test_nb_09_loop_already_running(start_kernel: Callable[..., Frontend], patch: str) -> None:
    page = start_kernel(env=TESTS)
    page.run(f"import {patch}; {patch}.apply()")
    page.run(SETUP)
    first = page.begin("new(); later(0.3); a = waiting()")
    queued = page.begin("async def two():\n    return 2\nb = asyncio.run(two())")
    for cell in (first, queued):
        assert not page.finish(cell).error
    assert page.value("[a, b]") == ["done", 2]
    assert page.run("new(); later(); print(await turn)").stdout == "up\ndone\n"
    cell = up(page, "new(); x = waiting()")
    assert interrupted(page, cell) < SOON and cell.error.startswith("KeyboardInterrupt")


def test_nothing_is_patched_unless_a_cell_waits_inside_a_function(
    start_kernel: Callable[..., Frontend],
) -> None:
    page = start_kernel(env=TESTS)
    page.run(SETUP)
    page.run("new(); later(); await turn; new('thread'); later(); turn.wait()")
    assert page.value("hasattr(asyncio, '_nest_patched')") is False
