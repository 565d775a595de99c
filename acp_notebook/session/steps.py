"""Steps of `execute_plan` that a person has the agent look at."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator
from concurrent.futures import Future
from typing import Any

from ..errors import AcpError, TurnError
from ..protocol.connection import StepsOutline
from .host import Host


class StepsLook:
    """What the agent says of steps without running any; `finished` when it has (session.host.Waitable).

    Made on the session's loop. Wait with `look.wait()` anywhere, or `await look`.
    """

    def __init__(self, host: Host, reply: Awaitable[StepsOutline]) -> None:
        self.finished: Future[None] = Future()
        self._host = host
        self._reply = asyncio.ensure_future(reply)
        self._reply.add_done_callback(lambda reply: self.finished.set_result(None))

    def cancel(self) -> None:
        """Look no further."""
        self._reply.cancel()

    def wait(self) -> StepsOutline:
        """Wait for the outline of the steps. Raises `StepsRefused` with all that is wrong with them."""
        self._host.wait(self)
        return self._outline()

    def __await__(self) -> Generator[Any, None, StepsOutline]:
        yield from self._host.wait_async(self).__await__()
        return self._outline()

    def _outline(self) -> StepsOutline:
        if self._reply.cancelled():
            raise TurnError("nobody waited for what the agent says of the steps")
        error = self._reply.exception()
        if error is None:
            return self._reply.result()
        if isinstance(error, AcpError):
            raise error
        raise AcpError(f"the steps could not be looked at: {error}") from error
