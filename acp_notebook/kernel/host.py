"""Where a session lives: on the loop that runs here, or on a loop of its own on a thread."""

from __future__ import annotations

import asyncio
import atexit
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any, Literal, TypeVar

from ..errors import AcpError
from ..session.host import Host, Waitable
from ..session.state import PermissionState
from .interrupt import one_line, raising
from .lane import lane, route
from .presence import GRACE, Presence
from .running import kernel, shell
from .stdin import Answer, Questions
from .wait import block, in_async_cell, on_other_thread, reentering, wait_async

T = TypeVar("T")


class HostedLoop:
    """What both hosts do, once they know their loop and the thread that it runs on."""

    kind: str

    def __init__(self, loop: asyncio.AbstractEventLoop, thread: int, grace: float) -> None:
        self.loop = loop
        self.presence = Presence(loop, grace)
        self.questions = Questions(loop, self.presence)
        self._thread = thread
        self._routed = False
        self._sessions = 1

    @property
    def here(self) -> bool:
        """Whether the caller is on the session's own thread."""
        return threading.get_ident() == self._thread

    @property
    def alive(self) -> bool:
        """Whether the loop can still be called: it runs, or stands still on the caller's own thread."""
        return not self.loop.is_closed() and (self.here or self.loop.is_running())

    def call(self, function: Callable[[], T]) -> T:
        """Run `function` on the session's loop and return its result; direct on the loop's own thread.

        From other threads it runs in a copy of the caller's context. Raises `AcpError` after the loop's end,
        and `KeyboardInterrupt` when a person does not want to wait for a loop that a tool keeps busy.
        """
        self._must_live()
        if self.here:
            return function()
        result: Future[T] = Future()

        def run() -> None:
            if result.set_running_or_notify_cancel():
                try:
                    result.set_result(function())
                except BaseException as error:
                    result.set_exception(error)

        self.loop.call_soon_threadsafe(run)
        try:
            with raising() if in_async_cell() else nullcontext():
                return result.result()
        except KeyboardInterrupt:
            raise one_line(
                KeyboardInterrupt("the session is busy with a tool that blocks its loop")
            ) from None
        finally:
            result.cancel()  # interrupted before the loop came to it: it must not happen later

    def wait(self, waitable: Waitable, timeout: float | None = None) -> None:
        """Block the caller until the turn is finished while the page stays alive. Interrupts cancel the turn.

        Raises `TurnTimeout`, and `KeyboardInterrupt` after the turn has been cancelled by an interrupt.
        """
        if waitable.finished.done():
            return
        if self.here:
            step = reentering(waitable.finished, self.loop)
        else:
            self._must_live()
            step = on_other_thread(waitable.finished)
        if self._routed:
            lane.open()
        with self.presence.waiting(waitable, blocking=True):
            block(waitable, self.loop, step, timeout)

    async def wait_async(self, waitable: Waitable) -> None:
        """The same for an awaiting caller, on whatever loop it runs. Cancelling the wait cancels the turn."""
        if waitable.finished.done():
            return
        if self.here and asyncio.get_running_loop() is not self.loop:
            raise AcpError(
                "this would wait forever: the session's loop stands still while another loop runs on its "
                "thread; await the turn in the cell itself, or use host='thread'"
            )
        with self.presence.waiting(waitable, blocking=False):
            await wait_async(waitable, self.loop)

    def attended(self) -> bool:
        """False when it is certain that no person can answer."""
        return self.presence.attended()

    def ask(self, permission: PermissionState, answer: Answer) -> Callable[[], None]:
        """Prompt for an answer where no page has proven clickable; returns what withdraws the question."""
        return self.questions.ask(permission, answer)

    def hello_received(self) -> None:
        """A view has rendered on a page; called by views for each hello, on the session's loop."""
        self.presence.hello_received()

    def route(self, comm: Any) -> None:
        """Let messages of a view's `comm` arrive while a cell blocks, on any thread; once for each comm."""
        self._routed = True
        route(comm, self._lane_wanted)
        if not in_async_cell():  # an awaiting cell needs no lane
            lane.open()  # before the view is shown, so that its page's hello finds it

    def share(self) -> HostedLoop:
        """The host for one more session on the same loop; whoever waits for one answers for all of them."""
        self._sessions += 1
        return self

    def close(self) -> None:
        """One session has ended. With the last one, questions are withdrawn and a loop of the host's ends."""
        self._sessions -= 1
        if self._sessions == 0:
            self._release()

    def _release(self) -> None:
        """Withdraw questions, and release the loop if it is the host's own."""

    def _lane_wanted(self) -> bool:
        return self.presence.blocked

    def _must_live(self) -> None:
        if not self.alive:
            raise AcpError("the loop that this session lives on no longer runs: start a new session")


class LoopHost(HostedLoop):
    """The loop that runs here: ipykernel's own, JupyterLite's, a plain async program's.

    Args:
        loop: the loop.
        thread: id of the thread it runs on; the caller's by default.
        grace: seconds for a page to say hello before a person is asked by a prompt.
    """

    kind = "kernel"

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, thread: int | None = None, grace: float = GRACE
    ) -> None:
        super().__init__(loop, thread or threading.get_ident(), grace)

    def _release(self) -> None:
        if self.loop.is_running():
            self.call(self.questions.close)


class ThreadHost(HostedLoop):
    """A loop of its own on a daemon thread: goes on while a cell computes. `grace` as for `LoopHost`."""

    kind = "thread"

    def __init__(self, *, grace: float = GRACE) -> None:
        started: Future[tuple[asyncio.AbstractEventLoop, int]] = Future()
        self._worker = threading.Thread(target=_run, args=(started,), name="acp-notebook", daemon=True)
        self._worker.start()
        super().__init__(*started.result(), grace)
        atexit.register(self._release)

    def route(self, comm: Any) -> None:
        super().route(comm)
        lane.open()  # the session hears clicks whatever the main thread does

    def _release(self) -> None:
        atexit.unregister(self._release)
        if self.loop.is_running():
            self.loop.call_soon_threadsafe(self.loop.stop)
        if not self.here:
            self._worker.join(2)

    def _lane_wanted(self) -> bool:
        return True


def _run(started: Future[tuple[asyncio.AbstractEventLoop, int]]) -> None:
    with asyncio.Runner() as runner:  # at its end it cancels what still runs, and lets it finish
        loop = runner.get_loop()
        asyncio.set_event_loop(loop)
        loop.call_soon(lambda: started.set_result((loop, threading.get_ident())))
        loop.run_forever()


def choose_host(kind: Literal["kernel", "thread"] | None = None) -> Host:
    """The host for a new session.

    By default `"kernel"` where a loop runs that outlives the call (a Jupyter kernel, an async program), else
    `"thread"`: in plain scripts, and in terminal IPython, whose loop runs only during an async cell.
    Raises `AcpError` when `kind` cannot be had here.
    """
    if kind not in (None, "kernel", "thread"):
        raise AcpError(f"there is no host {kind!r}: use 'kernel' or 'thread'")
    found = None if kind == "thread" else _loop_here()
    if found is not None:
        loop, thread = found
        return LoopHost(loop, thread=thread)
    if kind == "kernel":
        raise AcpError("host='kernel' needs a running event loop, and none runs here: use host='thread'")
    if sys.platform == "emscripten":
        raise AcpError("host='thread' needs threads, and a browser's Python has none: use host='kernel'")
    return ThreadHost()


def _loop_here() -> tuple[asyncio.AbstractEventLoop, int] | None:
    """The loop that a session could live on, and its thread."""
    running = kernel()
    loop = getattr(getattr(running, "io_loop", None), "asyncio_loop", None)
    if loop is not None:
        # ipykernel: cells can also run on subshells, which have loops and threads of their own.
        return loop, threading.main_thread().ident or 0
    if running is None and shell() is not None:
        return None
    try:
        return asyncio.get_running_loop(), threading.get_ident()
    except RuntimeError:
        return None
