"""Who is there to answer: pages that said hello, cells that wait, and who can type an answer."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import TypeVar

from ..session.host import Waitable
from .lane import comms_can_be_routed
from .running import kernel

T = TypeVar("T")

#: Seconds that a page gets to render a view and say hello before a person is asked through a prompt.
GRACE = 2.0
#: So many times longer is waited for a page that has said hello before, on a kernel that can hear it in a
#: cell: a prompt that turns out to be needless stays open in JupyterLab, which then runs no other cell.
KNOWN_PAGE = 5


@dataclass(eq=False)
class Wait:
    """Somebody waits for a turn. `blocking`: the thread that waits handles no messages meanwhile.

    `clicks`: a hello came during the wait, so clicks will, too. `overdue`: none came within the grace.
    `context` is the waiting cell's: questions go to whoever ran that cell.
    """

    waitable: Waitable
    blocking: bool
    clicks: bool = False
    overdue: bool = False
    context: Context = field(default_factory=copy_context)

    @property
    def typed(self) -> bool:
        """Whether the one who waits can type an answer."""
        return self.context.run(can_type)


class Presence:
    """What is known of the people around one session. `grace` in seconds."""

    def __init__(self, loop: asyncio.AbstractEventLoop, grace: float = GRACE) -> None:
        self._loop = loop
        self._grace = grace
        self._watchers: list[asyncio.Future[None]] = []
        self.hellos = 0
        self.waits: list[Wait] = []

    def hello_received(self) -> None:
        """A view has rendered on a page. During a wait this proves that clicks get through."""
        self.hellos += 1
        for wait in self.waits:
            wait.clicks = True
        self._changed()

    def attended(self) -> bool:
        """False when it is certain that nobody can answer."""
        return self.hellos > 0 or can_type() or any(wait.typed for wait in tuple(self.waits))

    @property
    def blocked(self) -> bool:
        """Whether a caller blocks a thread that would otherwise handle clicks."""
        return any(wait.blocking for wait in tuple(self.waits))

    @property
    def clickable(self) -> bool:
        """Whether clicks have been proven to work in the present wait."""
        return any(wait.clicks for wait in tuple(self.waits))

    @contextmanager
    def waiting(self, waitable: Waitable, *, blocking: bool) -> Generator[None]:
        """Note that somebody waits, from any thread."""
        wait = Wait(waitable, blocking)
        self.waits.append(wait)
        self._soon(lambda: self._start_grace(wait))
        try:
            yield
        finally:
            self.waits.remove(wait)
            self._changed()

    def to_ask(self) -> Wait | None:
        """The wait whose person must be asked by a prompt now, since no page has shown that it can."""
        if self.clickable:
            return None
        return next((wait for wait in tuple(self.waits) if wait.overdue and wait.typed), None)

    async def until(self, condition: Callable[[], T | None]) -> T:
        """The first `condition()` that is not None, looked at after every change; on the session's loop."""
        while (value := condition()) is None:
            watcher = self._loop.create_future()
            self._watchers.append(watcher)
            await watcher
        return value

    def _start_grace(self, wait: Wait) -> None:
        def over() -> None:
            wait.overdue = True
            self._wake()

        known = self.hellos > 0 and comms_can_be_routed()
        grace = self._grace * (KNOWN_PAGE if known else 1)
        self._loop.call_later(grace if kernel() is not None else 0, over)  # a terminal has no page

    def _changed(self) -> None:
        self._soon(self._wake)

    def _wake(self) -> None:
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            if not watcher.done():
                watcher.set_result(None)

    def _soon(self, function: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has been closed: nobody is left to tell
            self._loop.call_soon_threadsafe(function)


def can_type() -> bool:
    """Whether whoever runs this code can answer a prompt: JupyterLab's cells say yes, nbclient's no."""
    running = kernel()
    if running is None:
        return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
    if getattr(running, "stdin_socket", None) is None:  # JupyterLite
        return False
    return bool(running.get_parent("shell").get("content", {}).get("allow_stdin", False))
