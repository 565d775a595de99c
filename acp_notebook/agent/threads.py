"""Sync tools on threads, followed to their end: also where the call that began one has ended before it.

pydantic-ai hands a sync function to an executor. A cancelled or timed-out call does not wait for it, and
nothing stops a thread; so whoever looks at the call has to be told that it goes on, and when it has ended.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from pydantic_ai import _utils  # pyright: ignore[reportPrivateUsage]
from pydantic_ai.messages import ToolCallPart

from ..protocol.messages import RUNNING_ON
from .stream import Outbox
from .values import explain

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

#: Functions of one turn that run at once: as many as pydantic-ai has without an executor.
WORKERS = 40


class Threads:
    """The worker threads of one turn. A thread that is left behind takes no room from the next turn's."""

    def __init__(self) -> None:
        self._pool: Executor | None = None

    def follow(self) -> Followed:
        """An executor for one call, on the user's own where they have set one."""
        return Followed(_set_by_user() or self._own)

    def close(self) -> None:
        """Let the threads end, each when its function has."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)

    def _own(self) -> Executor:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(WORKERS, "acp-notebook tool")
        return self._pool


class Followed(Executor):
    """Knows which of its functions have not ended. `executor`, or what makes it, carries them out."""

    def __init__(self, executor: Executor | Callable[[], Executor]) -> None:
        self._executor = executor
        self._futures: set[Future[Any]] = set()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        executor = self._executor if isinstance(self._executor, Executor) else self._executor()
        future = executor.submit(_raising_what_can_be_awaited, fn, *args, **kwargs)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def left(self) -> list[Future[Any]]:
        """Those that go on. What waited for a thread when its call was cancelled does not run at all."""
        return [future for future in tuple(self._futures) if not future.done()]


def _raising_what_can_be_awaited(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return fn(*args, **kwargs)
    except StopIteration as error:  # which no asyncio future takes: whoever awaits it would wait for ever
        raise RuntimeError(f"StopIteration: {error}") from error


def _set_by_user() -> Executor | None:
    """The executor set by `Agent.using_thread_executor` or a capability, which have no public way to ask."""
    variable: Any = getattr(_utils, "_thread_executor", None)
    return variable.get() if isinstance(variable, ContextVar) else None  # pyright: ignore


def leave(call: ToolCallPart, running: Sequence[Future[Any]], outbox: Outbox) -> None:
    """Tell the person that functions of a call go on, and when the last of them has ended how it did."""
    loop, since, left = asyncio.get_running_loop(), time.monotonic(), set(running)
    log.warning("%s has ended, but %s", call.tool_name, RUNNING_ON)
    outbox.tool_call(call.tool_call_id, left=RUNNING_ON)

    def ended(future: Future[Any]) -> None:
        left.discard(future)
        if not left:
            said = _how(future, time.monotonic() - since)
            log.info("%s: %s", call.tool_name, said)
            outbox.left(call.tool_call_id, said)

    def on_thread(future: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop has ended before it
            loop.call_soon_threadsafe(ended, future)

    for future in running:
        future.add_done_callback(on_thread)


def _how(future: Future[Any], later: float) -> str:
    if future.cancelled() or (error := future.exception()) is None:
        return f"its function ended {later:.1f} s later, and its result was dropped"
    return f"its function ended {later:.1f} s later and raised {explain(error)}"
