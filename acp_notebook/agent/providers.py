"""The host application's part in a session's plans: its own plan followed, or the session's plans kept."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from pydantic_ai.agent import AbstractAgent

from ..errors import AcpError, PlanError
from ..plan import DEFAULT_PLAN_ID, Plan, SetPlan
from ..plan.objects import from_value
from .adapter import AcpSessionContext, NativePlanPersistenceProvider, PlanProvider
from .plans import PlanChange, Plans
from .values import described, explain

log = logging.getLogger(__name__)

#: How long a turn waits for a host's plan, and the end of a session for the last state to be kept. Seconds.
PATIENCE = 10.0


class Calls:
    """What providers are called with, and what is said when a call fails: the same thing once, in a line."""

    def __init__(
        self,
        agent: AbstractAgent[Any, Any],
        context: Callable[[str], AcpSessionContext],
        warn: Callable[[str], None],
    ) -> None:
        self.agent = agent
        self.context = context
        self._warn = warn
        self._said: str | None = None

    @contextlib.contextmanager
    def guarded(self, failed: str) -> Generator[None]:
        """Whatever a provider raises ends its call and nothing else; `failed` says what that means."""
        try:
            yield
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:
            log.error("%s", failed, exc_info=error)
            said = f"{failed}: {_why(error)}"
            if said != self._said:
                self._said = said
                self._warn(said)

    def succeeded(self) -> None:
        self._said = None

    @contextlib.contextmanager
    def awaited(self, late: str) -> Generator[None]:
        """A call that is awaited for as long as it takes; `late` is said when that is long."""
        handle = asyncio.get_running_loop().call_later(PATIENCE, self._warn, late)
        try:
            yield
        finally:
            handle.cancel()


def _why(error: BaseException) -> str:
    if isinstance(error, TimeoutError) and not str(error):
        return f"no answer within {PATIENCE:g} s"
    return str(error) if isinstance(error, AcpError) else explain(error)


class HostPlan:
    """The host's plan, shown as the session's and read again whenever it may have changed."""

    FAILED = "the host's plan could not be read, so the last one stands"

    def __init__(self, provider: PlanProvider, plans: Plans, calls: Calls) -> None:
        self._provider = provider
        self._plans = plans
        self._calls = calls
        self._loop = asyncio.get_running_loop()
        self._reading = asyncio.Lock()
        self._due = self._closed = self._late = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._unsubscribe: Callable[[], None] | None = None
        with calls.guarded(self.FAILED):
            if (subscribe := getattr(provider, "subscribe", None)) is not None:
                self._unsubscribe = subscribe(self._changed)
            found = self._get()
            if inspect.isawaitable(found):
                self._start(self._follow(lambda: found))
            else:  # at once, so that a session has the plan from its beginning
                self._show(found)

    async def follow(self) -> None:
        """Read the plan, and show it where it has changed. Never raises."""
        await self._follow(self._get)

    def close(self) -> None:
        self._closed = True
        if self._unsubscribe is not None:
            with self._calls.guarded("the host's plan could not be left"):
                self._unsubscribe()

    def _get(self) -> Any:
        return self._provider.get_plan(self._calls.context(DEFAULT_PLAN_ID), self._calls.agent)

    async def _follow(self, get: Callable[[], Any]) -> None:
        async with self._reading:
            self._due = False
            with self._calls.guarded(self.FAILED):
                found = get()
                if inspect.isawaitable(found):
                    found = await self._answer(found)
                self._show(found)

    async def _answer(self, found: Awaitable[Any]) -> Any:
        """Raises `TimeoutError` after a while; a turn must not wait as long again at each of its steps."""
        try:
            async with asyncio.timeout(PATIENCE / 10 if self._late else PATIENCE):
                answer = await found
        except TimeoutError:
            self._late = True
            raise
        self._late = False
        return answer

    def _show(self, found: Any) -> None:
        shown = self._plans.find(DEFAULT_PLAN_ID)
        if found is None:
            if shown is not None:
                self._plans.remove(DEFAULT_PLAN_ID, "host")
        elif (plan := _as_plan(found)) != shown:
            self._plans.edit(DEFAULT_PLAN_ID, [SetPlan(plan)], "host")
        self._calls.succeeded()

    def _changed(self, *_: object) -> None:
        """What a provider's `subscribe` is given; for any thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended, and the session with it
            self._loop.call_soon_threadsafe(self._read_again)

    def _read_again(self) -> None:
        if not self._due and not self._closed:
            self._due = True
            self._start(self.follow())

    def _start(self, reading: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(reading, name="acp host's plan")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _as_plan(found: Any) -> Plan:
    """What a provider returned. Raises `PlanError` when that is no plan."""
    if isinstance(found, str | bytes) or not isinstance(found, Plan | Iterable):
        raise PlanError(f"{described(found)} is not a plan: return a list of PlanEntry, a Plan, or None")
    if isinstance(found, Plan):
        plan = found
    else:
        plan = from_value(found if isinstance(found, Mapping) else list(cast("Iterable[Any]", found)))
    return replace(plan, entries=tuple(plan.entries), plan_id=DEFAULT_PLAN_ID)


class KeptPlans:
    """Has every change of the session's plans kept by a provider: one call after another, in order."""

    FAILED = "the plan was not kept outside of this session"
    LATE = "the plan has not been kept outside of this session yet, and what changes now waits for that"

    def __init__(self, provider: NativePlanPersistenceProvider, plans: Plans, calls: Calls) -> None:
        self._provider = provider
        self._calls = calls
        self._loop = asyncio.get_running_loop()
        self._due: deque[Plan] = deque()
        self._busy = False
        self._task: asyncio.Task[None] | None = None
        plans.watchers.append(self._note)
        plans.afterwards.append(self._go_on)

    def _note(self, change: PlanChange) -> None:
        self._due.append(change.after)

    def _go_on(self) -> None:
        if self._busy:
            return
        self._busy = True
        call = self._next()
        if call is None:
            self._busy = False
        else:
            self._task = self._loop.create_task(self._finish(call), name="acp plan kept")

    def _next(self) -> Awaitable[None] | None:
        """Make the calls that are due, up to one that has to be awaited."""
        while self._due:
            plan = self._due[0]
            with self._calls.guarded(self.FAILED):
                call = self._provider.persist_plan_state(
                    self._calls.context(plan.plan_id), self._calls.agent, list(plan.entries), plan.content
                )
                if call is not None and inspect.isawaitable(call):
                    return call
                self._calls.succeeded()
            self._due.popleft()
        return None

    async def _finish(self, call: Awaitable[None]) -> None:
        try:
            await self._all(call)
        except asyncio.CancelledError:
            # The loop ends, and has stopped this call somewhere: it is made again, then those after it.
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
            with self._calls.guarded(self.FAILED):
                async with asyncio.timeout(PATIENCE):
                    await self._all(self._next())
        finally:
            self._busy = False

    async def _all(self, call: Awaitable[None] | None) -> None:
        while call is not None:
            with self._calls.guarded(self.FAILED), self._calls.awaited(self.LATE):
                await call
                self._calls.succeeded()
            self._due.popleft()
            call = self._next()
