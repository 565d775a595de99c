"""Going on with a run that did not end well, or not at all."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, cast

from ..errors import AcpError
from .events import Outcome
from .journal import Journal, say
from .keep import NotKept
from .past import Past, PastStep, find
from .plan import Step
from .run_file import RunFile


@dataclass(frozen=True, slots=True)
class Resume:
    """A person's wish to have a run go on.

    - `done`: results, by step id, of steps that the person knows to have run
    - `again`: steps that may have run already and may run again without a question
    """

    run_id: str
    done: Mapping[str, Any] = field(default_factory=dict[str, Any])
    again: frozenset[str] = frozenset()


#: While it is set, `execute_plan` goes on with that run, whatever its arguments. A model cannot set it.
resuming: ContextVar[Resume | None] = ContextVar("resuming", default=None)


@dataclass(frozen=True, slots=True)
class Taken:
    """What a run takes over from before.

    - `done`: how steps ended that do not run again
    - `elements`: results of elements of a `for_each` that goes on
    - `questions`: why a person is to be asked before a step, or an element of one, is called
    """

    done: Mapping[str, Outcome] = field(default_factory=dict[str, Outcome])
    elements: Mapping[str, Mapping[int, Any]] = field(default_factory=dict[str, Mapping[int, Any]])
    questions: Mapping[tuple[str, int | None], str] = field(default_factory=dict[tuple[str, int | None], str])


class Resumption:
    """A run that goes on, held from the beginning so that nobody else goes on with it too.

    Raises:
        AcpError: there is no such run, it is running, or nothing is left of it to do.
    """

    def __init__(self, wish: Resume) -> None:
        self.wish = wish
        say()
        self._file = RunFile()
        try:
            with self._file.explained():
                self.run = find(self._file, wish.run_id)
                if not self._file.hold(self.run.number):
                    raise AcpError(f"run {self.run.run_id[:8]!r} is running, in process {self.run.pid}")
                self.run = find(self._file, self.run.run_id)  # as whoever held it has left it
                self._past = Past(self._file, self.run)
            if self.run.status == "ok":
                raise AcpError(f"run {self.run.run_id[:8]!r} has ended well: nothing is left to do")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of a run that does not go on after all."""
        self._file.close()

    def plan(self, sent: Any, text: str | None) -> Any:
        """The steps to run: as the file has them, or as they are in this kernel (`text`) or were sent again.

        Raises:
            AcpError: the file has not all of them (secrets, objects), and there is nothing else.
        """
        if self.run.is_whole:
            return self.run.steps
        if text is not None:
            return json.loads(text)
        if not sent:
            raise AcpError(
                f"the plan of run {self.run.run_id[:8]!r} holds secrets or objects, which were not written "
                "down: give the same steps again to go on with it"
            )
        return sent

    def take(self, steps: Sequence[Step], text: str, live: Mapping[str, Outcome]) -> Taken:
        """What the run takes over, when it has `steps`, whose JSON without secrets is `text`.

        `live`: outcomes that are still in this kernel, with all their values.

        Raises:
            AcpError: the wish names a step that the plan has not, or these are not the steps of the run.
        """
        known = {step.step_id for step in steps}
        if unknown := sorted({*self.wish.done, *self.wish.again} - known):
            raise AcpError(f"there is no step {unknown[0]!r} in run {self.run.run_id[:8]!r}")
        if text != self.run.plan and json.loads(text) != self.run.steps:
            raise AcpError(f"these are not the steps of run {self.run.run_id[:8]!r}: give the same ones")
        past = dict(zip((step.step_id for step in steps), self._past.steps, strict=True))
        done = {step.step_id: o for step in steps if (o := self._done(step, past, live)) is not None}
        self._drop_what_is_missed(steps, done)
        again = [step for step in steps if step.step_id not in done]
        elements = self._elements(again, past, done)
        return Taken(done, elements, dict(self._questions(again, past, elements)))

    def _done(self, step: Step, past: Mapping[str, PastStep], live: Mapping[str, Outcome]) -> Outcome | None:
        if step.step_id in self.wish.done:
            now = time.time()
            return Outcome("ok", None, now, self.wish.done[step.step_id])
        if past[step.step_id].status != "ok":
            return None
        here = live.get(step.step_id)
        return here if here is not None and here.status == "ok" else self._past.outcome(past[step.step_id])

    def _drop_what_is_missed(self, steps: Sequence[Step], done: dict[str, Outcome]) -> None:
        """Have steps run again whose results were not kept, and are needed by those that run."""
        by_id = {step.step_id: step for step in steps}
        waiting = [used for step in steps if step.step_id not in done for used in step.uses]
        while waiting:
            step_id = waiting.pop()
            if step_id in done and _missed(done[step_id].result):
                del done[step_id]
                waiting += by_id[step_id].uses

    def _elements(
        self, again: Iterable[Step], past: Mapping[str, PastStep], done: Mapping[str, Outcome]
    ) -> dict[str, Mapping[int, Any]]:
        """Of a `for_each` whose list is as it was, the results there are."""
        return {
            step.step_id: self._past.elements(past[step.step_id])
            for step in again
            if step.for_each is not None and all(used in done for used in step.uses)
        }

    def _questions(
        self,
        again: Iterable[Step],
        past: Mapping[str, PastStep],
        elements: Mapping[str, Mapping[int, Any]],
    ) -> Iterable[tuple[tuple[str, int | None], str]]:
        for step in again:
            known, step_id = past[step.step_id], step.step_id
            if step.tool.options.idempotent or step_id in self.wish.again:
                continue
            if None in known.unsure:
                yield (step_id, None), _may_have_run(step_id, known)
            elif step.for_each is not None and (known.items or known.elements):
                yield from (((step_id, item), _may_have_run(step_id, known)) for item in known.items)
                yield from (
                    ((step_id, item), _has_run(step_id))
                    for item in known.elements
                    if item not in elements.get(step_id, ())
                )
            elif known.status == "ok":
                yield (step_id, None), _has_run(step_id)

    def go_on(self, taken: Taken, steps: Sequence[Step], secrets: Sequence[str]) -> Journal:
        """The run's journal, from here on. Raises `DatabaseError`."""
        connection = self._file.connection
        with self._file.explained():
            row = (os.getpid(), self.run.number)
            connection.execute(
                "UPDATE step_runs SET pid = ?, ended = NULL, status = NULL WHERE number = ?", row
            )
            journal = Journal(self._file, self.run.number, secrets)
        journal.resumed()
        for place, step in enumerate(steps):
            if step.step_id in self.wish.done:
                journal.ended(place, taken.done[step.step_id], by_hand=True)
        return journal


def _may_have_run(step_id: str, known: PastStep) -> str:
    if known.status is not None and known.detail.get("may_have_run"):
        return f"Step {step_id!r} may have run already: {known.detail.get('error')}"
    return f"Step {step_id!r} was running when the run ended, and may have run already."


def _has_run(step_id: str) -> str:
    return f"Step {step_id!r} has run already, and its result was not kept: it would run a second time."


def _missed(value: Any) -> bool:
    """Whether a result, or an element of it, was not kept."""
    return _is_lost(value) or (isinstance(value, list) and any(map(_is_lost, cast("list[Any]", value))))


def _is_lost(value: object) -> bool:
    return isinstance(value, NotKept)
