"""Hosts outside of notebooks: loops that run here, loops of their own, callers on other threads."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from acp_notebook.errors import AcpError, TurnTimeout
from acp_notebook.kernel.host import LoopHost, ThreadHost, choose_host
from acp_notebook.session.host import Host
from harness.pending import Pending

pytestmark = pytest.mark.usefixtures("no_threads_left")


@pytest.fixture
def own_thread() -> Any:
    host = ThreadHost()
    yield host
    host.close()


def soon(host: Host, function: Callable[[], object]) -> None:
    host.loop.call_soon_threadsafe(function)


def test_a_plain_script_gets_a_thread() -> None:
    host = choose_host()
    assert host.kind == "thread"
    host.close()


async def test_an_async_program_gets_the_loop_that_runs() -> None:
    host = choose_host()
    assert host.kind == "kernel" and host.loop is asyncio.get_running_loop()
    other = choose_host("thread")
    assert other.kind == "thread" and other.loop is not host.loop
    await asyncio.to_thread(other.close)


def test_terminal_ipython_gets_a_thread_also_in_an_async_cell() -> None:
    code = (
        "from IPython.terminal.interactiveshell import TerminalInteractiveShell as Shell\n"
        "shell = Shell.instance()\n"
        "r = shell.run_cell('import asyncio; await asyncio.sleep(0)\\n"
        "from acp_notebook.kernel.host import choose_host; choose_host().kind')\n"
        "assert r.result == 'thread', r\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_cannot_be_had_is_said_in_one_line() -> None:
    with pytest.raises(AcpError, match="there is no host 'moon': use 'kernel' or 'thread'"):
        choose_host("moon")  # type: ignore[arg-type]
    with pytest.raises(AcpError, match="needs a running event loop"):
        choose_host("kernel")


def test_call_runs_on_the_loops_thread_and_brings_back_results_and_errors(own_thread: ThreadHost) -> None:
    assert own_thread.call(threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        own_thread.call(lambda: 1 / 0)
    # direct when already there, so it can be called from inside
    assert own_thread.call(lambda: own_thread.call(threading.get_ident)) == own_thread.call(
        threading.get_ident
    )


def test_call_from_another_thread_sees_the_callers_context_and_leaves_none(own_thread: ThreadHost) -> None:
    mine: contextvars.ContextVar[str] = contextvars.ContextVar("mine", default="unset")
    mine.set("the cell's")
    assert own_thread.call(mine.get) == "the cell's"
    own_thread.call(lambda: mine.set("the session's"))
    assert mine.get() == "the cell's"
    assert contextvars.Context().run(own_thread.call, mine.get) == "unset"


async def test_call_reaches_a_loop_that_runs_here_from_other_threads() -> None:
    host = LoopHost(asyncio.get_running_loop())
    assert host.call(threading.get_ident) == threading.get_ident()
    assert await asyncio.to_thread(host.call, threading.get_ident) == threading.get_ident()


def test_a_loop_that_has_ended_is_an_error_and_not_a_hang(own_thread: ThreadHost) -> None:
    async def program() -> LoopHost:
        return LoopHost(asyncio.get_running_loop())

    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(asyncio.run, program()).result()
    own_thread.close()
    for host in (ended, own_thread):
        with pytest.raises(AcpError, match="no longer runs"):
            host.call(lambda: None)
        with pytest.raises(AcpError, match="no longer runs"):
            Pending(host).wait()
        host.close()


# -- waiting -----------------------------------------------------------------------------------------------


def test_a_script_waits_for_a_thread(own_thread: ThreadHost) -> None:
    turn = Pending(own_thread)
    soon(own_thread, turn.end)
    assert turn.wait() == "done"
    assert turn.wait() == "done"


def test_a_timeout_leaves_the_turn_running(own_thread: ThreadHost) -> None:
    turn = Pending(own_thread)
    for seconds in (0, 0.01):
        with pytest.raises(TurnTimeout, match="still runs after"):
            turn.wait(seconds)
    assert turn.outcome is None
    soon(own_thread, turn.end)
    assert turn.wait(5) == "done"


async def test_a_program_awaits_on_its_loop_and_on_another(own_thread: ThreadHost) -> None:
    here = LoopHost(asyncio.get_running_loop())
    for host in (here, own_thread):
        turn = Pending(host)
        soon(host, turn.end)
        assert await turn == "done"
        assert await turn == "done"


async def test_many_wait_for_one_turn(own_thread: ThreadHost) -> None:
    turn = Pending(own_thread)
    waiting = asyncio.gather(turn, turn, asyncio.to_thread(turn.wait), asyncio.to_thread(turn.wait, 5))
    soon(own_thread, turn.end)
    assert await waiting == ["done"] * 4


async def test_cancelling_a_wait_cancels_the_turn_as_with_a_task(own_thread: ThreadHost) -> None:
    for host in (LoopHost(asyncio.get_running_loop()), own_thread):
        turn = Pending(host)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await turn
        assert turn.outcome == "cancelled"
        turn = Pending(host)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(turn, 0.01)
        assert turn.outcome == "cancelled"


async def test_another_loop_on_the_sessions_own_thread_would_wait_forever() -> None:
    host = LoopHost(asyncio.get_running_loop())
    turn = Pending(host)

    def nested() -> None:
        other = asyncio.new_event_loop()
        running = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        try:
            with pytest.raises(AcpError, match="would wait forever"):
                other.run_until_complete(host.wait_async(turn))
        finally:
            asyncio._set_running_loop(running)
            other.close()

    nested()


def test_closing_a_thread_cancels_what_runs_there_and_can_be_repeated() -> None:
    host = ThreadHost()
    ended: Future[str] = Future()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.set_result("cancelled")
            raise

    task = host.call(lambda: host.loop.create_task(forever()))
    host.call(lambda: None)  # the task has started
    host.close()
    host.close()
    assert ended.result(1) == "cancelled" and task.cancelled() and host.loop.is_closed()


def test_a_script_that_forgets_to_close_ends_cleanly() -> None:
    code = (
        "import asyncio\n"
        "from acp_notebook.kernel.host import ThreadHost\n"
        "from harness.pending import Pending\n"
        "host = ThreadHost()\n"
        "host.call(lambda: host.loop.create_task(asyncio.sleep(60)))\n"
        "turn = Pending(host)\n"
        "host.loop.call_soon_threadsafe(turn.end)\n"
        "print(turn.wait())\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": "tests"},
    )
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


# -- re-entering, in a process of its own because it patches asyncio ----------------------------------------

REENTER = """
import asyncio, sys
from acp_notebook.kernel.host import choose_host
from harness.pending import Pending
assert not hasattr(asyncio, "_nest_patched")
ticks = []
async def ticker():
    while True:
        ticks.append(1)
        await asyncio.sleep(0.001)
def ask(host):
    turn = Pending(host)
    host.loop.call_later(0.2, turn.end)
    return turn.wait()
async def main():
    tick = asyncio.create_task(ticker())
    host = choose_host()
    assert host.kind == "kernel"
    for _ in range(2):
        before = len(ticks)
        assert ask(host) == "done"
        assert len(ticks) > before + 1, "the user's own task stood still"
        await asyncio.sleep(0)
    turn = Pending(host)
    try:
        turn.wait(0.01)
    except TimeoutError as error:
        print(error)
    tick.cancel()
asyncio.run(main())
"""


ASK_FROM_A_TOOL = """
import asyncio
from pydantic_ai import Agent
from acp_notebook import Call, Say, ScriptedModel, Session
model = ScriptedModel()
@model.script("inner")
def inner(turn):
    yield Say("heard")
@model.script()
def outer(turn):
    result = yield Call("ask_other")
    yield Say(result.text)
async def ask_other() -> str:
    return other.ask("inner").text
async def main():
    global other
    other = Session(Agent(model), name="other")
    session = Session(Agent(model, tools=[ask_other]), name="session")
    print((await session.prompt("outer")).text)
asyncio.run(main())
"""


def test_re_entering_in_the_middle_of_a_turn_leaves_that_turn_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ASK_FROM_A_TOOL], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr, done.returncode) == ("heard\n", "", 0)


@pytest.mark.parametrize("before", ["", "import nest_asyncio2; nest_asyncio2.apply()"])
def test_a_synchronous_wait_re_enters_the_loop_and_the_users_tasks_go_on(before: str) -> None:
    code = (
        REENTER if not before else f"{before}\n" + REENTER.replace("assert not hasattr", "assert hasattr", 1)
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": "tests"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("the turn still runs after 0.01 s")


def test_a_loop_that_cannot_be_re_entered_says_what_to_do() -> None:
    class Foreign(asyncio.AbstractEventLoop):
        def is_running(self) -> bool:
            return True

    host = LoopHost(Foreign())
    with pytest.raises(AcpError, match="cannot be re-entered: use `await"):
        Pending(host).wait()
