"""The Interrupt button and Ctrl-C while somebody waits for a turn: the turn is cancelled, then the wait ends.

One handler serves all waits of the main thread, because they overlap (`asyncio.gather(turn_a, turn_b)`,
a tool that asks another session) and end in any order.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from types import FrameType
from typing import Any, TypeVar

from .prints import capturing

E = TypeVar("E", bound=BaseException)

#: Seconds that a cancelled turn gets to end in order. A tool in a worker thread cannot be stopped at all.
PATIENCE = 1.5


@dataclass(eq=False)
class Watch:
    """One wait. `cancel` and `wake` run inside the signal handler, so they only schedule.

    `interrupted`: an interrupt came meanwhile. `ends_here`: the wait itself must raise `KeyboardInterrupt`,
    because nobody else turns the interrupt into anything.
    """

    cancel: Callable[[], None]
    wake: Callable[[], None]
    blocking: bool
    interrupted: bool = False
    ends_here: bool = False
    _until: float = inf
    _given_up: bool = False

    def ask_to_end(self) -> None:
        """Cancel the turn; from now on the wait lasts no longer than `PATIENCE`."""
        self._until = time.monotonic() + PATIENCE
        self.cancel()

    def left(self) -> float:
        """Seconds that the wait may still last."""
        return 0.0 if self._given_up else self._until - time.monotonic()

    def interrupt(self, ends_here: bool) -> None:
        """Take an interrupt: the first asks the turn to end, the next one ends the wait at once."""
        self.interrupted = True
        self.ends_here = self.ends_here or ends_here
        if self._until != inf:
            self._given_up = True
        elif ends_here:
            self.ask_to_end()
        self.wake()

    @property
    def given_up(self) -> bool:
        return self._given_up


_watches: list[Watch] = []
_previous: Any = None


@contextmanager
def watching(cancel: Callable[[], None], wake: Callable[[], None], *, blocking: bool) -> Generator[Watch]:
    """Watch for interrupts. Python handles signals on the main thread only: elsewhere nothing ever comes."""
    watch = Watch(cancel, wake, blocking)
    if threading.current_thread() is not threading.main_thread():
        yield watch
        return
    _install()
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches.remove(watch)
        # Whoever replaced the handler meanwhile (ipykernel does around every cell) has put its own in place.
        if not _watches and signal.getsignal(signal.SIGINT) is _on_interrupt:
            signal.signal(signal.SIGINT, _previous)


def _install() -> None:
    global _previous
    current = signal.getsignal(signal.SIGINT)
    # Not callable: SIG_IGN, an idle kernel, where an interrupt means nothing.
    if current is not _on_interrupt and callable(current):
        _previous = current
        signal.signal(signal.SIGINT, _on_interrupt)


def _on_interrupt(number: int, frame: FrameType | None) -> None:
    blocking = [watch for watch in _watches if watch.blocking]
    if not blocking and _previous is not signal.default_int_handler:
        # The runner of an async cell or script (ipykernel, asyncio.run) cancels the task that should end;
        # only it knows which. It does so through its loop, which `wake` gets out of its sleep.
        _previous(number, frame)
        for watch in _watches:
            watch.interrupt(ends_here=False)
    else:
        for watch in blocking or _watches:
            watch.interrupt(ends_here=True)
    if capturing() and _in_task():
        # A tool computes on this thread and keeps the loop from anything else: stop it where it is.
        raise asyncio.CancelledError
    if blocking and blocking[-1].given_up:
        raise interrupted(ended=False)


def _in_task() -> bool:
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


@contextmanager
def raising() -> Generator[None]:
    """Interrupts raise `KeyboardInterrupt` where the code is; in async cells ipykernel's handler does not."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def interrupted(*, ended: bool) -> KeyboardInterrupt:
    """What a cell ends with after an interrupt, shown by IPython as one line."""
    message = "the turn was cancelled" if ended else "the turn is cancelled, but a tool has not stopped yet"
    return one_line(KeyboardInterrupt(message))


def one_line(error: E) -> E:
    """Have IPython show `error` as one line: the frames in here would tell the reader nothing."""
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    # IPython lets an exception draw its own traceback.
    error._render_traceback_ = lambda: [text]  # pyright: ignore[reportAttributeAccessIssue]
    return error
