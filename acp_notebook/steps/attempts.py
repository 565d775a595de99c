"""One call of a tool: its time limit, more tries where they do no harm, and what is left when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from ..describe import explain
from .tools import StepTool

#: What a task may need to end after it was cancelled, in seconds. What takes longer runs on a thread.
_GRACE = 0.05
#: Codes of an MCP client itself: the connection is closed; no answer came in time (two generations of it).
_NO_ANSWER = (-32000, -32001, 408)
#: Calls that nobody waits for any more. The loop itself keeps only weak references to tasks.
_left: set[asyncio.Task[Any]] = set()


class Denied(Exception):
    """A person or a policy said no; the message is the reason."""


class StepFailed(Exception):
    """A step failed; the message is for the model. `results` are those of a `for_each` before it failed."""

    def __init__(self, message: str, results: list[Any] | None = None) -> None:
        super().__init__(message)
        self.results = results


class Unsure(StepFailed):
    """A step failed, and its tool may have done its work all the same."""


@dataclass(slots=True)
class Flight:
    """One call of a step's tool.

    - `retried`, `began`: hear of another try, and that the tool is about to be called
    - `question`: why a person is asked before it is called, whatever its tool says
    - `may_still_run`: it was left on a thread
    - `may_have_run`: the tool was called, and it is not known that it failed to do its work
    - `edited`: what a person has changed about its arguments (`Calls`)
    """

    call_id: str
    retried: Callable[[int, Exception, float], None]
    began: Callable[[], None]
    question: str | None = None
    may_still_run: bool = False
    may_have_run: bool = False
    edited: Mapping[str, Any] | None = None

    def begin(self) -> None:
        """The tool is about to be called. From here on only what it raises by itself tells that it failed."""
        self.began()
        self.may_have_run = True


def called(tool: StepTool, args: dict[str, Any]) -> Any:
    """Call a tool's function on a worker thread, where nothing but the function raises what it raises."""
    assert tool.function is not None
    try:
        return tool.function(**args)
    except Exception:
        raise
    except BaseException as error:
        raise _tamed(tool, error) from None


async def guarded(tool: StepTool, call: Awaitable[Any], flight: Flight | None = None) -> Any:
    """Await a call. What would end the whole loop, and with it the kernel, ends the step alone."""
    try:
        return await call
    except (Unsure, asyncio.CancelledError, GeneratorExit):
        raise
    except KeyboardInterrupt:
        raise asyncio.CancelledError from None
    except Exception as error:
        if flight is not None:
            flight.may_have_run = _unanswered(error)
        raise
    except BaseException as error:  # also a panic of an extension module
        if flight is not None:
            flight.may_have_run = False
        raise _tamed(tool, error) from None


def _unanswered(error: BaseException | None) -> bool:
    """Whether it is not the tool that has raised, but an MCP client to which no answer came."""
    while error is not None:
        code = getattr(getattr(error, "error", None), "code", None)
        if code in _NO_ANSWER and type(error).__module__.startswith("mcp."):
            return True
        error = error.__cause__
    return False


def _tamed(tool: StepTool, error: BaseException) -> RuntimeError:
    if isinstance(error, SystemExit | KeyboardInterrupt):
        return RuntimeError(f"{tool.name} tried to end the process ({type(error).__name__})")
    return RuntimeError(f"{tool.name} raised {explain(error)}")


async def attempt(
    call: Callable[[], Coroutine[Any, Any, Any]],
    tool: StepTool,
    flight: Flight,
    final: tuple[type[Exception], ...],
) -> Any:
    """What `call` returns, by the rules of its tool. Errors of the kinds in `final` are not tried again.

    Raises:
        TimeoutError: nothing came in time, and the tool may not be tried again.
    """
    options = tool.options
    for number in count(1):
        try:
            return await _limited(guarded(tool, call(), flight), tool, flight)
        except final:
            raise
        except Exception as error:
            if number > options.retries:
                raise
            wait = options.backoff * 2 ** (number - 1)
            flight.retried(number, error, wait)
            await asyncio.sleep(wait)


async def _limited(call: Coroutine[Any, Any, Any], tool: StepTool, flight: Flight) -> Any:
    """Await a call as long as it may take; after that, or a cancellation, it is left to itself.

    Awaiting it without a task of its own would wait for the thread of a sync tool even then.
    """
    task, timeout = asyncio.ensure_future(call), tool.options.timeout
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout)
    except asyncio.CancelledError:
        await _leave(task, tool, flight)
        raise
    if done:
        if task.cancelled():
            raise RuntimeError("the tool cancelled itself")
        return task.result()
    await _leave(task, tool, flight)
    still = ", and may still be running" if flight.may_still_run else ""
    raise TimeoutError(f"no result within {timeout:g} s{still}")


async def _leave(task: asyncio.Task[Any], tool: StepTool, flight: Flight) -> None:
    task.cancel()
    _left.add(task)
    task.add_done_callback(_forget)
    await asyncio.wait({task}, timeout=_GRACE)
    if not tool.sent:  # else it has said so itself, if it has ended
        flight.may_still_run, flight.may_have_run = not tool.is_async, True
    flight.may_still_run |= not task.done()


def _forget(task: asyncio.Task[Any]) -> None:
    _left.discard(task)
    if not task.cancelled():
        task.exception()  # nobody else asks for it
