"""A checked plan, run: each step once, in order or together, and every one of them ends with an outcome."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from ..describe import explain
from .attempts import Denied, Flight, StepFailed
from .events import (
    ItemEnded,
    NotWritten,
    Observer,
    Outcome,
    RunEnded,
    RunStarted,
    Status,
    StepEnded,
    StepEvent,
    StepRetried,
    StepStarted,
)
from .isolate import ATOMS, isolated
from .journal import Journal
from .judge import element, failed, judged, said, skipped
from .paths import NoSuchPath, follow
from .plan import DEFAULT_LIMITS, ITEM, Step
from .references import Reference, resolve
from .resume import Taken
from .secrets import RunSecrets
from .stretch import Stretch

log = logging.getLogger(__name__)

#: Calls the tool of a step with its arguments; raises `Denied`, or what the tool raises.
Call = Callable[[Step, dict[str, Any], Flight], Awaitable[Any]]
_NOTHING = object()


class Run:
    """One run of a plan. `outcomes` are by step id, in the order in which the steps ended.

    In order, or with `parallel` together where references allow it, at most `width` calls at once. After a
    failure or a denial no further step begins, unless `keep_going`: then all do that do not refer to it.
    With `taken` it goes on from there. A `journal` ends with the run; `fault` says why there is none though
    there should be. No error is told with one of `secrets`.
    """

    def __init__(
        self,
        run_id: str,
        steps: Sequence[Step],
        call: Call,
        *,
        call_id: str = "",
        parallel: bool = False,
        keep_going: bool = False,
        width: int = 8,
        items: int = DEFAULT_LIMITS.items,
        name: str | None = None,
        observers: Sequence[Observer] = (),
        journal: Journal | None = None,
        taken: Taken | None = None,
        secrets: RunSecrets | None = None,
        fault: str | None = None,
    ) -> None:
        self.run_id = run_id
        self.steps = tuple(steps)
        self.outcomes: dict[str, Outcome] = {}
        self.secrets = secrets or RunSecrets()
        self._call = call
        self._call_id = call_id or run_id
        self._parallel = parallel
        self._keep_going = keep_going
        self._items = items
        self._name = name
        self._observers = tuple(observers)
        self._journal = journal
        self._places = {step.step_id: place for place, step in enumerate(self.steps)} if journal else {}
        self._is_resumed = taken is not None
        self._taken = taken or Taken()
        self._gate = asyncio.Semaphore(width if parallel else 1)
        self._width = width
        self._fault = fault
        self._is_told = False
        self._failed: str | None = None
        self._cancelled = False

    @property
    def fault(self) -> str | None:
        """Why the run is not written down, or not any more."""
        return self._journal.fault if self._journal is not None else self._fault

    @property
    def status(self) -> Status:
        """`ok`, or `cancelled`, or how the first step ended that did not go well."""
        if self._cancelled:
            return "cancelled"
        for step in self.steps if self._failed is not None else ():
            match self.outcomes.get(step.step_id):
                case Outcome(status="error" | "denied" as status):
                    return status
                case _:
                    pass
        return "ok"

    async def run(self) -> None:
        """Run all steps. A cancellation ends it before the next one; every step has its outcome then too."""
        self.emit(
            RunStarted(
                self.run_id,
                self._call_id,
                self.steps,
                time.time(),
                self._name,
                self._parallel,
                self._is_resumed,
                self.secrets,
            )
        )
        self._tell_fault()
        for step_id, outcome in self._taken.done.items():
            self.secrets.learn(step_id, outcome.result)
            self.outcomes[step_id] = outcome
            self.emit(StepEnded(self.run_id, step_id, outcome))
        try:
            await (self._together() if self._parallel else self._in_order())
        except asyncio.CancelledError:
            self._cancelled = True
            raise
        finally:
            for step in self.steps:
                if step.step_id not in self.outcomes:
                    self._end(step, skipped("the run was cancelled before this step"))
            if self._journal is not None:
                self._journal.end(self.status)
            self._tell_fault()
            self.emit(RunEnded(self.run_id, self.status, time.time()))

    async def _in_order(self) -> None:
        at = 0
        while at < len(self.steps):
            stretch = at
            while stretch < len(self.steps) and self._is_plain(self.steps[stretch]):
                stretch += 1
            if stretch > at:
                await Stretch(self, self.steps[at:stretch]).run()
                at = stretch
            else:
                await self._step(self.steps[at])
                at += 1

    def _is_plain(self, step: Step) -> bool:
        if not step.tool.is_plain or step.for_each is not None or step.step_id in self.outcomes:
            return False
        return not self._taken.questions or self._question(step, None) is None

    async def _together(self) -> None:
        ended = {step.step_id: asyncio.Event() for step in self.steps}

        async def begin(step: Step, waits: Iterable[str]) -> None:
            for other in waits:
                await ended[other].wait()
            await self._step(step)
            ended[step.step_id].set()

        async with asyncio.TaskGroup() as group:
            for step, waits in _waits(self.steps):
                group.create_task(begin(step, waits))

    async def _step(self, step: Step) -> None:
        if step.step_id in self.outcomes:  # from before
            return
        if (outcome := self.skips(step)) is not None:
            self._end(step, outcome)
            return
        started = time.time()
        self.emit(StepStarted(self.run_id, step.step_id, started))
        flights: dict[int | None, Flight] = {}
        try:
            value = await (self._once(step, flights) if step.for_each is None else self._each(step, flights))
            outcome = judged(step, value, started)
        except asyncio.CancelledError:
            self._end(step, _stopped(step, flights.values(), started), flights)
            raise
        except Exception as error:
            outcome = failed(
                error,
                started,
                may_still_run=any(flight.may_still_run for flight in flights.values()),
                may_have_run=any(flight.may_have_run for flight in flights.values()),
            )
        self._end(step, outcome, flights)

    async def _once(
        self,
        step: Step,
        flights: dict[int | None, Flight],
        item: Any = _NOTHING,
        at: int | None = None,
    ) -> Any:
        async with self._gate:
            args = self.arguments(step, item)

            def retried(attempt: int, error: Exception, wait: float) -> None:
                why = self.secrets.masked(said(error, args))
                self.emit(StepRetried(self.run_id, step.step_id, attempt, why, wait))

            flight = Flight(
                f"{self._call_id}:{step.step_id}{'' if at is None else f'[{at}]'}",
                retried,
                began=lambda: self.began(step, at, flight.edited),
                question=self._question(step, at),
            )
            flights[at] = flight
            try:
                return await self._call(step, args, flight)
            except Denied:
                raise
            except Exception as error:
                raise StepFailed(said(error, args)) from error

    async def _each(self, step: Step, flights: dict[int | None, Flight]) -> list[Any]:
        assert step.for_each is not None
        items = self._look_up(step.for_each)
        if not isinstance(items, list | tuple):
            raise StepFailed(f"for_each needs a list, and {step.for_each} is of type {type(items).__name__}")
        items = cast("list[Any]", items)
        if len(items) > self._items:
            raise StepFailed(
                f"{step.for_each} has {len(items):,} elements, and for_each takes {self._items:,}"
            )
        before = self._taken.elements.get(step.step_id, {})
        results = [before.get(at) for at in range(len(items))]
        waiting = iter([(at, item) for at, item in enumerate(items) if at not in before])
        faults: list[tuple[int, Exception]] = []
        done = len(before)

        async def work() -> None:
            nonlocal done
            for at, item in waiting:
                if faults:
                    return
                try:
                    value = await self._once(step, flights, item, at)
                    results[at] = element(step, value, flights[at])
                except Exception as error:
                    faults.append((at, error))
                    return
                done += 1
                self.secrets.learn(step.step_id, results[at])
                if self._journal is not None:
                    self._journal.item(self._places[step.step_id], at, results[at])
                self.emit(ItemEnded(self.run_id, step.step_id, done, len(items)))

        together = self._parallel and not step.tool.options.side_effects
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._width, len(items)) if together else 1):
                group.create_task(work())
        if faults:
            at, error = min(faults, key=lambda fault: fault[0])
            if isinstance(error, Denied):
                raise error
            message = f"element {at} of {len(items)}: {error}; {done} elements are done"
            raise StepFailed(message, results)
        return results

    def skips(self, step: Step) -> Outcome | None:
        """Why a step does not begin; None when it does."""
        if self._failed is not None and not self._keep_going:
            return skipped(because=self._failed)
        for other in step.uses:
            if self.outcomes[other].status != "ok":
                return skipped(because=other)
        if step.when is not None:
            now = time.time()
            try:
                if not step.when.holds(self._look_up(step.when.value)):
                    return skipped("its condition does not hold")
            except Exception as error:  # what is compared may be of any type
                return Outcome("error", None, now, error=f"its condition cannot be decided: {explain(error)}")
        return None

    def arguments(self, step: Step, item: Any = _NOTHING) -> dict[str, Any]:
        """The arguments of a call, each reference replaced by a copy of its value. Raises `NoSuchPath`."""

        if item is _NOTHING:
            return {
                name: self._copy(node) if type(node) is Reference else resolve(node, self._copy)
                for name, node in step.args.items()
            }

        def look_up(reference: Reference) -> Any:
            found = follow(item, reference.path) if reference.step == ITEM else self._look_up(reference)
            return isolated(found)

        return {name: resolve(node, look_up) for name, node in step.args.items()}

    def _copy(self, reference: Reference) -> Any:
        value = self._look_up(reference)
        return value if type(value) in ATOMS else isolated(value)

    def _look_up(self, reference: Reference) -> Any:
        try:
            return follow(self.outcomes[reference.step].result, reference.path)
        except NoSuchPath as error:
            raise NoSuchPath(
                f"the result of {reference.step!r} has no {list(reference.path)!r}: {error}"
            ) from None

    def began(self, step: Step, at: int | None = None, edited: Mapping[str, Any] | None = None) -> None:
        """Note that a step's tool is about to be called, on whichever thread, for the element `at`."""
        if self._journal is not None:
            self._journal.began(self._places[step.step_id], at, edited)

    def _question(self, step: Step, at: int | None) -> str | None:
        if not (questions := self._taken.questions):
            return None
        return questions.get((step.step_id, at)) or questions.get((step.step_id, None))

    def settle(self) -> None:
        """Have what is noted written down soon. To be called on the loop's thread."""
        if self._journal is not None:
            self._journal.settle_soon()
            self._tell_fault()

    def _tell_fault(self) -> None:
        """Say once that the run is not written down."""
        if not self._is_told and (fault := self.fault) is not None:
            self._is_told = True
            self.emit(NotWritten(self.run_id, fault, time.time()))

    def _end(self, step: Step, outcome: Outcome, flights: Mapping[int | None, Flight] | None = None) -> None:
        unsure = [at for at, flight in (flights or {}).items() if at is not None and flight.may_have_run]
        outcome = self.record(step, outcome, unsure)
        self.settle()
        self.emit(StepEnded(self.run_id, step.step_id, outcome))

    def record(self, step: Step, outcome: Outcome, unsure: Sequence[int] = ()) -> Outcome:
        """Keep a step's outcome, on whichever thread it ended; returns it as it may be told.

        `unsure`: of a `for_each`, the elements whose call may have been made.
        """
        self.secrets.learn(step.step_id, outcome.result)
        if outcome.error is not None and self.secrets.texts:
            outcome = outcome._replace(error=self.secrets.masked(outcome.error))
        self.outcomes[step.step_id] = outcome
        if self._journal is not None:
            whole = step.for_each is not None and outcome.status == "ok"
            items = len(outcome.result) if whole else None
            self._journal.ended(self._places[step.step_id], outcome, items=items, unsure=unsure)
        if self._failed is None and outcome.status in ("error", "denied"):
            self._failed = step.step_id
        return outcome

    @property
    def is_watched(self) -> bool:
        return bool(self._observers)

    def emit(self, event: StepEvent) -> None:
        """Tell those who watch. To be called on the loop's thread."""
        for observer in self._observers:
            try:
                observer(event)
            except Exception:  # who watches a run must not change it
                log.exception("an observer of %s failed", self.run_id)


def _stopped(step: Step, flights: Collection[Flight], started: float) -> Outcome:
    """The outcome of a step that was cancelled."""
    left = any(flight.may_still_run for flight in flights)
    unsure = any(flight.may_have_run for flight in flights)
    if step.for_each is None and not unsure:
        return Outcome("cancelled", None, time.time(), error="cancelled before its tool was called")
    error = "cancelled while it ran" + (", and it may still be running" if left else "")
    return Outcome("cancelled", started, time.time(), error=error, may_still_run=left, may_have_run=unsure)


def _waits(steps: Sequence[Step]) -> Iterable[tuple[Step, list[str]]]:
    """Each step with those that it waits for. One with side effects keeps its place among all the others."""
    barrier: list[str] = []
    since: list[str] = []
    for step in steps:
        if step.tool.options.side_effects:
            yield step, [*barrier, *since]
            barrier, since = [step.step_id], []
        else:
            yield step, [*barrier, *step.uses]
            since.append(step.step_id)
