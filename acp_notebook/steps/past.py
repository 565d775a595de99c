"""Runs as the user's file has them: what they were to do, and what is known of each step."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..errors import AcpError
from .events import Outcome, Status
from .keep import Kept, NotKept, loaded
from .run_file import RunFile

_COLUMNS = (
    "number, run_id, name, agent, folder, pid, plan, is_whole, settings, tools, began, ended, status, "
    "(SELECT max(at) FROM step_events WHERE run = step_runs.number)"
)
_EVENTS = (
    "SELECT number, at, kind, step, item, ahead, started, status, detail, form, value FROM step_events "
    "WHERE run = ? ORDER BY number"
)
_KNOWN = "SELECT substr(run_id, 1, 8) FROM step_runs ORDER BY number DESC LIMIT 8"
_PARTS = "FROM step_parts WHERE run = ? AND event = ? AND stream = ?"


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run as its row has it; `last` is the time of its last event.

    `ended` and `status` are None when it runs, or was killed.
    """

    number: int
    run_id: str
    name: str | None
    agent: str | None
    folder: str
    pid: int
    plan: str
    is_whole: int
    settings: str
    tools: str
    began: float
    ended: float | None
    status: Status | None
    last: float | None

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps as they were sent, secrets masked."""
        return json.loads(self.plan)


@dataclass(frozen=True, slots=True)
class Written:
    """A value in the file: the number of its event."""

    event: int
    kept: Kept


@dataclass(slots=True)
class PastStep:
    """What is known of a step.

    - `status`: how it ended last; None: it did not
    - `unsure`: calls that may have been made, though it is not known that they went well, each with how often
      the run had been resumed by then; by element of a `for_each`, None for the whole step
    - `edits`: how its arguments differed that a person had edited, by element, None for the whole step
    - `elements`: the results of the elements that are done; `count`: how many there are, when they all are
    """

    status: Status | None = None
    began: float | None = None
    ended: float | None = None
    detail: dict[str, Any] = field(default_factory=dict[str, Any])
    value: Written | None = None
    elements: dict[int, Written] = field(default_factory=dict[int, Written])
    count: int | None = None
    unsure: dict[int | None, int] = field(default_factory=dict[int | None, int])
    edits: dict[int | None, dict[str, Any]] = field(default_factory=dict[int | None, dict[str, Any]])

    @property
    def may_have_run(self) -> bool:
        return bool(self.unsure)

    @property
    def items(self) -> list[int]:
        """The elements that may have run."""
        return [item for item in self.unsure if item is not None]


class Past:
    """One run, with the file that its values are read from."""

    def __init__(self, file: RunFile, run: PastRun) -> None:
        self.run = run
        self.resumed: list[float] = []
        self._file = file
        self.steps = [PastStep() for _ in run.steps]
        self._ahead = (0, 0)
        for row in file.connection.execute(_EVENTS, (run.number,)):
            self._add(*row)
        self._mark_ahead()

    def _add(
        self,
        number: int,
        at: float,
        kind: str,
        place: int | None,
        item: int | None,
        ahead: int | None,
        started: float | None,
        status: Status | None,
        detail: str | None,
        form: str | None,
        value: bytes | None,
    ) -> None:
        if kind == "resumed":
            self._mark_ahead()
            self.resumed.append(at)
        if kind == "lost":
            for step in self.steps:
                if step.status != "ok":
                    step.unsure[None] = len(self.resumed)
        self._ahead = (place or 0, ahead or 0)
        if kind == "many":
            many: list[tuple[int, float, float, Any]] = json.loads(value or b"[]")
            for of, started, ended, result in many:
                self.steps[of].began = started
                kept = Kept("json", json.dumps(result).encode())
                self._end(self.steps[of], ended, "ok", {}, Written(number, kept))
            return
        if place is None:
            return
        step = self.steps[place]
        said: dict[str, Any] = json.loads(detail) if detail else {}
        written = Written(number, Kept(form, value, said.get("lost"))) if form is not None else None
        if kind == "began":
            step.began, step.status, step.detail = at, None, {}
            step.unsure[item] = len(self.resumed)
            step.edits.pop(item, None)
            if "edited" in said:
                step.edits[item] = said["edited"]
        elif kind == "item" and item is not None and written is not None:
            step.elements[item] = written
            step.unsure.pop(item, None)
        elif kind == "ended":
            step.began = started
            self._end(step, at, status, said, written)

    def _end(
        self, step: PastStep, at: float, status: Status | None, said: dict[str, Any], value: Written | None
    ) -> None:
        step.status, step.ended, step.detail, step.value = status, at, said, value
        step.count = said.get("items")
        now = len(self.resumed)
        before = {item: since for item, since in step.unsure.items() if since < now}
        step.unsure = {} if status == "ok" else before | dict.fromkeys(_unsure(said), now)

    def _mark_ahead(self) -> None:
        """Steps that may have begun after the last row was written, before the process was killed."""
        place, left = self._ahead
        for step in self.steps[place + 1 :] if left else ():
            if step.status != "ok":
                step.unsure[None] = len(self.resumed)
                left -= 1
                if not left:
                    break

    def value(self, step: PastStep) -> Any:
        """The result of a step; `NotKept` stands for what there is not, also in the list of a `for_each`."""
        if step.count is not None:
            return [
                self._load(step.elements[at]) if at in step.elements else NotKept("it was not written")
                for at in range(step.count)
            ]
        return None if step.value is None else self._load(step.value)

    def elements(self, step: PastStep) -> dict[int, Any]:
        """The results of the elements of a `for_each` that are done and were kept."""
        found = {at: self._load(written) for at, written in step.elements.items()}
        return {at: value for at, value in found.items() if not isinstance(value, NotKept)}

    def outcome(self, step: PastStep) -> Outcome:
        """How a step ended that has a status."""
        assert step.status is not None and step.ended is not None
        detail = step.detail
        return Outcome(
            step.status,
            step.began,
            step.ended,
            self.value(step),
            detail.get("error"),
            detail.get("because"),
            bool(detail.get("looks_failed")),
            bool(detail.get("may_still_run")),
            bool(detail.get("may_have_run")),
        )

    def _load(self, written: Written) -> Any:
        def read(stream: int) -> bytearray:
            key = (self.run.number, written.event, stream)
            (size,) = self._file.connection.execute(f"SELECT sum(length(data)) {_PARTS}", key).fetchone()
            whole = bytearray(size or 0)
            at = 0
            for (data,) in self._file.connection.execute(f"SELECT data {_PARTS} ORDER BY part", key):
                whole[at : at + len(data)] = data
                at += len(data)
            return whole

        return loaded(written.kept, read)


def _unsure(said: Mapping[str, Any]) -> Sequence[int | None]:
    """Of a step that has ended, the calls that may have been made."""
    if not said.get("may_have_run"):
        return ()
    return said.get("unsure") or (None,)


@contextmanager
def opened() -> Generator[RunFile]:
    """The user's file, for as long as it takes to read from it. Raises `DatabaseError`."""
    file = RunFile()
    try:
        with file.explained():
            yield file
    finally:
        file.close()


def all_runs(file: RunFile) -> list[PastRun]:
    """The runs that are kept, the newest first."""
    rows = file.connection.execute(f"SELECT {_COLUMNS} FROM step_runs ORDER BY number DESC")
    return [PastRun(*row) for row in rows]


def find(file: RunFile, run_id: str) -> PastRun:
    """The run with this id, or the only one whose id begins so. Raises `AcpError`."""
    where = "WHERE substr(run_id, 1, ?) = ? ORDER BY number DESC LIMIT 2"
    rows = file.connection.execute(
        f"SELECT {_COLUMNS} FROM step_runs {where}", (len(run_id), run_id)
    ).fetchall()
    if len(rows) == 1 and run_id:
        return PastRun(*rows[0])
    if len(rows) > 1 and run_id:
        raise AcpError(f"{run_id!r} is the beginning of several runs: give more of it")
    known = [row for (row,) in file.connection.execute(_KNOWN)]
    there = f"the last are {', '.join(map(repr, known))}" if known else "none has been written down"
    raise AcpError(f"there is no run {run_id!r}: {there}")
