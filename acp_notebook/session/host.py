"""Where a session lives: an event loop, and how callers on other threads, or on the same one, wait for it.

The implementations are in `kernel/`; sessions and turns know only this.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from .state import PermissionState

T = TypeVar("T")


class Waitable(Protocol):
    """What a caller waits for: a turn."""

    finished: Future[None]

    def cancel(self) -> None: ...


class Host(Protocol):
    """An event loop for a session."""

    kind: str
    loop: asyncio.AbstractEventLoop

    @property
    def alive(self) -> bool:
        """Whether the loop can still be called."""
        ...

    def call(self, function: Callable[[], T]) -> T:
        """Run `function` on the session's loop and return its result; direct on the loop's own thread."""
        ...

    def wait(self, waitable: Waitable, timeout: float | None = None) -> None:
        """Block the caller until the turn is finished while the page stays alive. Interrupts cancel the turn.

        Raises `TurnTimeout`, and `KeyboardInterrupt` after the turn has been cancelled by an interrupt.
        """
        ...

    async def wait_async(self, waitable: Waitable) -> None:
        """The same for an awaiting caller, on whatever loop it runs."""
        ...

    def attended(self) -> bool:
        """False when it is certain that no person can answer: requests go to the policy at once."""
        ...

    def ask(
        self, permission: PermissionState, answer: Callable[[str, str | None], None]
    ) -> Callable[[], None]:
        """See to it that a person is asked who cannot click, e.g. by a prompt; called on the session's loop.

        `answer("allow" | "deny", reason)` settles the request. Returns what withdraws the question.
        """
        ...

    def hello_received(self) -> None:
        """A view has rendered on a page, which during a wait proves that clicks get through; on the loop."""
        ...

    def route(self, comm: Any) -> None:
        """Let messages of a view's comm get through while a cell blocks; once for each comm."""
        ...

    def share(self) -> Host:
        """The host for one more session on the same loop. It is released when each of them has closed it."""
        ...

    def close(self) -> None:
        """Release the loop, if it is the host's own."""
        ...
