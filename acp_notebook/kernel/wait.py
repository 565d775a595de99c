"""The ways of waiting for a turn: re-entering the loop that runs here, blocking another thread, awaiting."""

from __future__ import annotations

import asyncio
import sys
import time
import warnings
from collections.abc import Callable
from concurrent import futures
from contextlib import suppress
from math import inf
from typing import Any

from ..errors import AcpError, TurnTimeout
from ..session.host import Waitable
from .interrupt import interrupted, one_line, watching

#: Seconds between looks at the clock and at interrupts, which wake no lock on Windows.
SLICE = 0.2

#: Waits up to so many seconds for the end of a turn.
Step = Callable[[float], object]
Finished = futures.Future[None]


def block(waitable: Waitable, loop: asyncio.AbstractEventLoop, step: Step, timeout: float | None) -> None:
    """Wait with `step` until the turn is finished.

    Raises `TurnTimeout`; on an interrupt the turn is cancelled and `KeyboardInterrupt` raised.
    """
    end = inf if timeout is None else time.monotonic() + timeout
    finished = waitable.finished
    with watching(_scheduled(loop, waitable.cancel), _scheduled(loop, _nothing), blocking=True) as watch:
        while not finished.done() and (left := min(end - time.monotonic(), watch.left())) > 0:
            step(min(left, SLICE))
    if watch.interrupted:
        raise interrupted(ended=finished.done())
    if not finished.done():
        raise TurnTimeout(
            f"the turn still runs after {timeout:g} s: call turn.wait() again, or stop it with turn.cancel()"
        )


def on_other_thread(finished: Finished) -> Step:
    """A step for a caller on another thread than the session's."""
    return lambda seconds: futures.wait([finished], seconds)


def reentering(finished: Finished, loop: asyncio.AbstractEventLoop) -> Step:
    """A step for a caller on the session's own thread: runs the loop further from inside, user's tasks too.

    Patches asyncio with nest_asyncio2, now and not earlier. Raises `AcpError` where that cannot be.
    """
    run: Callable[[asyncio.Task[Any]], object] = loop.run_until_complete
    if sys.platform == "emscripten":
        run = _suspending()
    elif loop.is_running():
        _make_reentrant(loop)
    future = asyncio.wrap_future(finished, loop=loop)

    def step(seconds: float) -> None:
        task = loop.create_task(_first(future, seconds))
        try:
            run(task)
        finally:
            task.cancel()  # an interrupt leaves the loop with this task still pending

    return step


async def _first(future: asyncio.Future[None], seconds: float) -> None:
    await asyncio.wait({future}, timeout=seconds)


def _make_reentrant(loop: asyncio.AbstractEventLoop) -> None:
    import nest_asyncio2  # pyright: ignore[reportMissingTypeStubs]

    kind: Any = type(loop)
    if not isinstance(loop, asyncio.BaseEventLoop):  # such as uvloop's; said before anything is patched
        name = f"{kind.__module__}.{kind.__qualname__}"
        raise AcpError(f"a running {name} cannot be re-entered: use `await session.prompt(…)`")
    if hasattr(kind, "_nest_patched") and not hasattr(kind, "_nest_asyncio2"):
        # Patched by nest_asyncio, which loses callbacks whose context is entered further up ("cannot enter
        # context"); on ipykernel 7 these are the next cells. nest_asyncio2 puts them off.
        del kind._nest_patched
    classes = [(place, name, getattr(place, name)) for place, name in _SWAPPED]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the other patch, which this one replaces
        # Without `run_close_loop` each later `asyncio.run` leaves its loop open.
        nest_asyncio2.apply(loop, run_close_loop=True)  # pyright: ignore[reportUnknownMemberType]
    for place, name, kept in classes:
        setattr(place, name, kept)


#: Where nest_asyncio2 puts asyncio's classes written in Python, which re-entering can do without. With them,
#: tasks already running would be no `asyncio.Task` any more: pydantic-ai then takes them for events.
_SWAPPED = (
    (asyncio, "Task"),
    (asyncio.tasks, "Task"),
    (asyncio.tasks, "_CTask"),
    (asyncio, "Future"),
    (asyncio.futures, "Future"),
    (asyncio.futures, "_CFuture"),
)


def _suspending() -> Callable[[asyncio.Task[Any]], object]:
    """Where the loop is the browser's own: possible if the browser can suspend WebAssembly."""
    from pyodide.ffi import can_run_sync, run_sync  # pyright: ignore

    if not can_run_sync():
        raise AcpError("this browser cannot wait inside a function: use `await session.prompt(…)`")

    return run_sync  # pyright: ignore


async def wait_async(waitable: Waitable, loop: asyncio.AbstractEventLoop) -> None:
    """Await the end of a turn on any loop. Cancelled, it cancels the turn, as awaiting a task does.

    In a cell, an interrupt ends in `KeyboardInterrupt` rather than `CancelledError`.
    """
    here = asyncio.get_running_loop()
    finished = asyncio.wrap_future(waitable.finished)
    woken = asyncio.Event()
    cancellation: asyncio.CancelledError | None = None
    with watching(_scheduled(loop, waitable.cancel), _scheduled(here, woken.set), blocking=False) as watch:
        while not finished.done() and (left := watch.left()) > 0:
            woken.clear()
            bell = here.create_task(woken.wait())
            try:
                timeout = None if left == inf else left
                await asyncio.wait({finished, bell}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError as error:
                if cancellation is not None:
                    raise
                cancellation = error
                watch.ask_to_end()
            finally:
                bell.cancel()
    if watch.ends_here or (watch.interrupted and cancellation is not None and in_async_cell()):
        if cancellation is not None and (task := asyncio.current_task()):
            task.uncancel()
        raise interrupted(ended=finished.done())
    if cancellation is not None:
        raise one_line(cancellation) if watch.interrupted else cancellation


def in_async_cell() -> bool:
    """Whether an async cell's code runs directly in this task: IPython catches what it raises.

    In any other task a `KeyboardInterrupt` would end the kernel's loop, and with it the kernel.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs here
        return False
    return task is not None and getattr(task.get_coro(), "__name__", "") == "run_cell_async"


def _scheduled(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> Callable[[], None]:
    def schedule() -> None:
        with suppress(RuntimeError):  # the loop has been closed: there is nothing left to cancel or wake
            loop.call_soon_threadsafe(function)

    return schedule


def _nothing() -> None:
    """Wakes a loop: ipykernel's own handler only appends to the queue of a loop that sleeps."""
