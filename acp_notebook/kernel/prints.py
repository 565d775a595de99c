"""What a tool prints goes to its tool call instead of the cell: by context, so nobody else's prints move.

Only Python's own streams: what a child process writes to the terminal is not seen. `display()` in a tool
stays a display, shown by the cell: a figure says more there than its text in a tool call.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: Takes what was printed, piece by piece; may be called from any thread.
Sink = Callable[[str], None]

_sink: ContextVar[Sink | None] = ContextVar("acp_notebook_sink", default=None)
_lock = threading.Lock()
_active = 0


class _Stream:
    """Stands for `sys.stdout` or `sys.stderr`: writes of a capturing context go to its sink."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        sink = _sink.get()
        if sink is None:
            return self._stream.write(text)
        token = _sink.set(None)  # a sink that prints must not feed itself
        try:
            sink(text)
        finally:
            _sink.reset(token)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def capturing() -> bool:
    """Whether the running code is inside a `capture`: a tool's own code."""
    return _sink.get() is not None


@contextmanager
def capture(sink: Sink) -> Generator[None]:
    """Send what this context prints to `sink`, also from threads that it is copied to (anyio, asyncio)."""
    _enter()
    token = _sink.set(sink)
    try:
        yield
    finally:
        _sink.reset(token)
        _leave()


def _enter() -> None:
    global _active
    with _lock:
        _active += 1
        # Each time: whoever redirected a stream (contextlib, %%capture) may have put another one there since.
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is not None and not isinstance(stream, _Stream):
                setattr(sys, name, _Stream(stream))


def _leave() -> None:
    global _active
    with _lock:
        _active -= 1
        if _active:
            return
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if isinstance(stream, _Stream):
                setattr(sys, name, stream._stream)  # pyright: ignore[reportPrivateUsage]
