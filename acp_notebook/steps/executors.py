"""Calls of tools on the user's executor: threads, processes, engines of ipyparallel, workers of Dask.

A call is made once. An executor that makes calls again of its own is kept from it, unless the tool is
idempotent; a worker that is lost is the end of its step.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import pickle
import sys
import threading
import warnings
from collections.abc import Awaitable, Callable, Mapping
from concurrent import futures
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, cast
from uuid import uuid4

from ..describe import explain
from ..errors import AcpError
from .attempts import Flight, StepFailed, Unsure, called
from .away import Begun, Raised, carry_out, dumps
from .preview import without_secrets
from .tools import StepTool

log = logging.getLogger(__name__)

_LOST = "its worker was lost while it ran, and what it has done is not known"


@dataclass(frozen=True, slots=True)
class Sent:
    """A call on its way. `withdraw` takes it back: whether it is sure never to begin."""

    future: futures.Future[Any]
    withdraw: Callable[[], Awaitable[bool]]


#: Sends a packed function and its packed arguments; the last one is whether the call may be made twice.
Send = Callable[[bytes, bytes, bool], Sent]


class Outside:
    """The executor as one run of a plan uses it. It is the user's, and never shut down here."""

    def __init__(self, executor: futures.Executor) -> None:
        self._executor = executor
        self._send: Send | None = None if _is_threads(executor) else _way(executor)
        self._packed: dict[Callable[..., Any], bytes | None] = {}

    async def call(self, tool: StepTool, args: dict[str, Any], flight: Flight) -> Any:
        """What the tool returns out there. What cannot go is called here, on a thread.

        Raises whatever the tool raises, and `Unsure` for a worker or a result that is lost.
        """
        assert tool.function is not None
        send = self._send
        if send is None:
            context = copy_context()
            submit = partial(self._executor.submit, lambda: context.run(called, tool, args))
            return (await _ended(lambda: _given(submit()), flight)).result()
        if tool.function not in self._packed:
            self._packed[tool.function] = _pack(tool.name, tool.function)
        function = self._packed[tool.function]
        if function is None:
            return await _here(tool, args, flight)
        future = await _ended(lambda: send(function, dumps(args), tool.options.idempotent), flight)
        return await asyncio.to_thread(_came_back, tool.name, args, future)


async def _here(tool: StepTool, args: dict[str, Any], flight: Flight) -> Any:
    try:
        return await asyncio.to_thread(called, tool, args)
    except asyncio.CancelledError:
        flight.may_still_run = True
        raise


async def _ended(send: Callable[[], Sent], flight: Flight) -> futures.Future[Any]:
    """Send a call, which may take a while itself, and wait for its end.

    `asyncio.wrap_future` would take a call for cancelled that goes on running.
    """
    sending = asyncio.ensure_future(asyncio.to_thread(send))
    try:
        sent = await asyncio.shield(sending)
        await _done(sent.future)
    except asyncio.CancelledError:
        flight.may_still_run = True  # until it is known not to
        with suppress(Exception):  # what cannot be reached any more says nothing
            flight.may_still_run = flight.may_have_run = not await (await sending).withdraw()
        raise
    return sent.future


async def _done(future: futures.Future[Any]) -> None:
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def wake(_: object) -> None:
        with suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(wake)
    await done.wait()


def _came_back(name: str, args: Mapping[str, Any], future: futures.Future[Any]) -> Any:
    try:
        answer = pickle.loads(future.result())
    except futures.CancelledError:
        raise Unsure("the executor has dropped the call, and whether it had begun is not known") from None
    except futures.BrokenExecutor as error:
        raise Unsure(f"{_LOST} ({explain(error)})") from error
    except Exception as error:
        raise _remote(error) from error
    match answer:
        case Begun():
            raise Unsure(_LOST)
        case Raised():
            log.warning("%s raised on a worker:\n%s", name, without_secrets(answer.traceback, args))
            raise _raised(answer)
        case _:
            return answer[0]


def _raised(raised: Raised) -> Exception:
    if raised.has_run:
        return Unsure(raised.said)
    if raised.error is not None:
        with suppress(Exception):  # of a class that is not to be had here
            return cast(Exception, pickle.loads(raised.error))
    return StepFailed(raised.said)


def _remote(error: Exception) -> Exception:
    """What an executor itself says of a call: the reason there, for which ipyparallel has two attributes.

    An engine that is there and says so has not called the tool, which raises nothing there.
    """
    kind, message = getattr(error, "ename", None), getattr(error, "evalue", None)
    said = f"{kind}: {message}" if kind else explain(error)
    lost = type(error).__name__ in ("EngineError", "KilledWorker") or kind == "EngineError"
    if lost:
        return Unsure(f"{_LOST} ({said})")
    return StepFailed(said) if kind else Unsure(said)


def usable(executor: object) -> futures.Executor | None:
    """What the user has given as an executor. Raises `AcpError` for what is none."""
    if executor is None or isinstance(executor, futures.Executor):
        return executor
    raise AcpError(
        f"executor is no concurrent.futures.Executor: {executor!r}; give ThreadPoolExecutor(4), "
        "ProcessPoolExecutor(4), view.executor of ipyparallel or client.get_executor(pure=False) of Dask"
    )


def leaves(function: Callable[..., Any], executor: futures.Executor) -> bool:
    """Whether calls of a function go to an executor.

    To threads all do. What is copied to elsewhere is a function of a module or of a notebook: a method's
    object, or what a function inside another one holds, would be changed there and nobody would see it.
    """
    if _is_threads(executor):
        return True
    return inspect.isfunction(function) and "<locals>" not in function.__qualname__


def _is_threads(executor: futures.Executor) -> bool:
    interpreters = getattr(futures, "InterpreterPoolExecutor", ())  # Python 3.14: threads that share nothing
    return isinstance(executor, futures.ThreadPoolExecutor) and not isinstance(executor, interpreters)


def _pack(name: str, function: Callable[..., Any]) -> bytes | None:
    """A function as bytes; None, with a line that says why, if it has to stay here."""
    try:
        packed = dumps(function)
    except Exception as error:
        log.warning("%s runs here and not on the executor: %s", name, explain(error))
        return None
    notebook = function.__module__ == "__main__" and not hasattr(sys.modules["__main__"], "__file__")
    if notebook and find_spec("cloudpickle") is None:
        warnings.warn(
            f"{name} runs here and not on the executor, which cannot import what a notebook defines: "
            "install cloudpickle, or put the function into a module",
            stacklevel=2,
        )
        return None
    return packed


def _given(future: futures.Future[Any]) -> Sent:
    async def withdraw() -> bool:
        return future.cancel()

    return Sent(future, withdraw)


def _way(executor: futures.Executor) -> Send:
    """How calls go to an executor that shares no memory with this process."""
    if _is(executor, "ipyparallel.client.view", "ViewExecutor"):
        return _to_engines(cast(Any, executor).view)
    if _is(executor, "distributed.cfexecutor", "ClientExecutor"):
        return _to_dask(executor)
    return lambda function, args, _: _given(executor.submit(carry_out, function, args))


def _is(executor: futures.Executor, module: str, name: str) -> bool:
    """Whether it is of a class of a module, which is not imported to find out."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(executor, kind)


def _to_engines(view: Any) -> Send:
    """Each call goes to one engine, also of a `client[:]`, which would make it on every one of them.

    The view is one of our own: the retries that the user's may ask for would make calls again.
    """
    balanced = view.client.load_balanced_view(view.targets)
    one_by_one = threading.Lock()  # a client is not made for threads

    async def withdraw() -> bool:
        return False  # an engine does not say what it has begun

    def send(function: bytes, args: bytes, _: bool) -> Sent:
        with one_by_one:
            return Sent(balanced.apply_async(carry_out, function, args), withdraw)

    return send


def _to_dask(executor: futures.Executor) -> Send:
    """Dask makes a call again when the worker is lost that runs it, or that holds what it returned.

    `retries=0` does not keep it from that. So a call, before it begins, takes the one item of a queue that
    the scheduler holds: it is there once. `pure=False`, or two equal calls would be one.
    """
    from distributed import Queue

    submit, client = cast(Any, executor).submit, cast(Any, executor)._client

    def send(function: bytes, args: bytes, idempotent: bool) -> Sent:
        if idempotent:
            return _given(submit(carry_out, function, args, pure=False))
        queue = cast(Any, Queue)(f"acp-notebook-{uuid4().hex}", client=client)
        queue.put("once")
        future = submit(carry_out, function, args, queue.name, pure=False, retries=0)

        def close(_: object) -> None:
            queue.close()

        future.add_done_callback(close)

        def take_back() -> bool:
            never = bool(queue.get(batch=True))
            future.cancel()
            return never

        async def withdraw() -> bool:
            return await asyncio.to_thread(take_back)

        return Sent(future, withdraw)

    return send
