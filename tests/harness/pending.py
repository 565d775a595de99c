"""A turn that ends when it is told to, for tests of hosts and waits: here, or in a kernel that imports it."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Future
from typing import Any

from acp_notebook.session.host import Host


class Pending:
    """`stubborn`: cancelling does not end it, as with a tool in a worker thread that cannot be stopped."""

    def __init__(self, host: Host, *, stubborn: bool = False) -> None:
        self.host = host
        self.finished: Future[None] = Future()
        self.outcome: str | None = None
        self.stubborn = stubborn

    def end(self, outcome: str = "done") -> None:
        if not self.finished.done():
            self.outcome = outcome
            self.finished.set_result(None)

    def cancel(self) -> None:
        if not self.stubborn:
            self.end("cancelled")

    def wait(self, timeout: float | None = None) -> str | None:
        self.host.wait(self, timeout)
        return self.outcome

    def __await__(self) -> Generator[Any, None, str | None]:
        yield from self.host.wait_async(self).__await__()
        return self.outcome
