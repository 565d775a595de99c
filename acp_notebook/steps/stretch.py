"""Plain steps that follow one another, all on one thread."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

from .attempts import StepFailed, called, guarded
from .events import Outcome, StepEnded, StepEvent, StepStarted
from .judge import PLAIN, failed, judged, said
from .plan import Step

if TYPE_CHECKING:
    from .run import Run


class Stretch:
    """Runs them so because a change of threads costs more than most of them.

    A cancellation takes effect at once: the thread ends before its next step, and what it still does is
    dropped. Events go to the loop's thread, as many at once as there are by the time that it looks.
    """

    def __init__(self, run: Run, steps: Sequence[Step]) -> None:
        self._run = run
        self._steps = steps
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._left = False
        self._now: tuple[Step, float] | None = None
        self._events: deque[StepEvent] = deque()
        self._expected = False

    async def run(self) -> None:
        try:
            await asyncio.to_thread(self._work)
        except asyncio.CancelledError:
            with self._lock:
                self._left = True
                if self._now is not None:
                    step, started = self._now
                    error = "cancelled while it ran, and it may still be running"
                    outcome = Outcome(
                        "cancelled",
                        started,
                        time.time(),
                        error=error,
                        may_still_run=True,
                        may_have_run=True,
                    )
                    self._record(step, outcome)
            raise
        finally:
            self._drain()
            self._run.settle()

    def _work(self) -> None:
        run, ended = self._run, None
        for step in (*self._steps, None):
            with self._lock:
                if self._left:
                    return
                if ended is not None:
                    self._record(*ended)
                    self._now = ended = None
                if step is None:
                    return
                outcome = run.skips(step)
                if outcome is not None:
                    self._record(step, outcome)
                    continue
                started = time.time()
                self._now = step, started
                if run.is_watched:
                    self._tell(StepStarted(run.run_id, step.step_id, started))
                run.began(step)
            ended = step, self._called(step, started)

    def _record(self, step: Step, outcome: Outcome) -> None:
        outcome = self._run.record(step, outcome)
        if self._run.is_watched:
            self._tell(StepEnded(self._run.run_id, step.step_id, outcome))

    def _tell(self, event: StepEvent) -> None:
        self._events.append(event)
        if not self._expected:
            self._expected = True
            self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        self._expected = False  # before it looks: what comes from now on has a drain of its own
        while self._events:
            self._run.emit(self._events.popleft())

    def _called(self, step: Step, started: float) -> Outcome:
        args: dict[str, Any] = {}
        has_run = False
        try:
            args = self._run.arguments(step)
            value = called(step.tool, step.tool.validator.validate_python(args))
            if type(value) not in PLAIN and inspect.isawaitable(value):
                value = asyncio.run_coroutine_threadsafe(guarded(step.tool, value), self._loop).result()
            has_run = True
            return judged(step, value, started)
        except Exception as error:
            unsure = has_run or isinstance(error, CancelledError)
            return failed(StepFailed(said(error, args)), started, may_have_run=unsure)
