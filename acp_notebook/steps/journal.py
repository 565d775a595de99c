"""Runs of plans in the user's file, written as they go.

A row is written before a tool is called, and with it how the step before it ended. So what was running when
the process was killed can be told. Steps that take microseconds would take several times as long with a
transaction each: in a plan of more than `SHORT`, at most `AHEAD` of those are written together, after `PAUSE`
seconds at the latest, and when the process is killed meanwhile it is not known which of them have run.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ..errors import DatabaseError
from .events import Outcome, Status
from .keep import WHOLE, is_small_json, keep, plain_json
from .run_file import Beginning, RunFile, Statement

log = logging.getLogger(__name__)

#: Seconds between transactions of quick steps, and the number of steps in one.
PAUSE, AHEAD = 0.005, 250
#: The steps of a plan in which each has its own transaction, however quick.
SHORT = 20
_END = "UPDATE step_runs SET ended = ?, status = ? WHERE number = ?"
_ROW = "INSERT INTO step_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
#: Closes journals that could not say, when their runs ended, that rows are missing.
_unsaid: list[Callable[[], bool]] = []


@atexit.register
def say() -> None:
    """Have runs of this process say that they were not written down to their ends, where they could not."""
    _unsaid[:] = [closes for closes in _unsaid if not closes()]


class Journal:
    """Writes one run. When that fails, `fault` says why, and no more is written: the run itself goes on.

    It fails when the disk is full, the file is locked for seconds or somebody takes it away. When it can be
    written again, it says there that what is missing is not known. Until then this process holds the run, so
    that nobody goes on with it as if that had not been done.

    `shares`: tools are called one after the other, and quick ones may share a transaction. Methods may be
    called on any thread, unless they say else.
    """

    def __init__(self, file: RunFile, run: int, secrets: Sequence[str], *, shares: bool = False) -> None:
        self.fault: str | None = None
        self._file = file
        self._connection = connection = file.connection
        self._run = run
        self._secrets = secrets
        self._shares = shares
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        self._rows: list[tuple[Any, ...]] = []
        (self._number,) = connection.execute(
            "SELECT ifnull(max(number), 0) FROM step_events WHERE run = ?", (run,)
        ).fetchone()
        self._ahead = 0
        self._running: int | None = None
        self._many: list[tuple[int, float | None, float, Any]] = []
        self._last = 0.0
        self._is_expected = False

    # -- what happens --------------------------------------------------------------------------------

    def began(self, step: int, item: int | None = None, edited: Mapping[str, Any] | None = None) -> None:
        """A tool is about to be called, for an element of a `for_each` or for the whole step.

        `edited`: what a person has changed about its arguments (`Calls`).
        """
        with self._lock:
            now = time.perf_counter()
            is_quick = now - self._last < PAUSE
            if item is None and edited is None and self._ahead > 0 and is_quick:
                self._ahead -= 1
                self._running = step  # its row would be followed by that of its end in the same transaction
                return
            self._running = None
            opens = is_quick and self._shares and item is None
            said = None if edited is None else {"edited": edited}
            self._row("began", step, item, ahead=AHEAD if opens else None, detail=said)
            self._commit()
            self._last, self._ahead = now, AHEAD if opens else 0
            if opens and not self._is_expected:
                self._is_expected = True
                self._loop.call_soon_threadsafe(self._loop.call_later, 2 * PAUSE, self.settle)

    def resumed(self) -> None:
        """The run goes on. From here on each row is written at once: few steps are left, or there is care."""
        with self._lock:
            self._row("resumed")
            self._commit()

    def item(self, step: int, item: int, value: Any) -> None:
        """An element of a `for_each` is done."""
        with self._lock:
            self._value("item", step, value, item)

    def ended(
        self,
        step: int,
        outcome: Outcome,
        *,
        items: int | None = None,
        unsure: Sequence[int] = (),
        by_hand: bool = False,
    ) -> None:
        """A step has ended, or will not begin.

        - `items`: its result is a list of so many, each told of already
        - `unsure`: the elements whose call may have been made
        - `by_hand`: a person gave the result
        """
        is_plain = outcome.status == "ok" and items is None and not (outcome.looks_failed or by_hand)
        with self._lock:
            self._running = None
            if is_plain and self._ahead and self._packs(step, outcome):
                return
            said = _detail(outcome, items, unsure, by_hand)
            if items is None and (outcome.status == "ok" or outcome.result is not None):
                self._value("ended", step, outcome.result, None, outcome, said)
            else:
                self._row("ended", step, outcome=outcome, detail=said)

    def settle(self) -> None:
        """Write what there is to write, for it may take a while until the next tool is called."""
        with self._lock:
            self._look()
            self._is_expected = False
            if self._running is not None:
                self._row("began", self._running)
                self._running = None
            elif self._ahead and not self._rows and not self._many:
                self._row("settled")
            self._ahead = 0
            self._commit()

    def settle_soon(self) -> None:
        """The same when the loop has nothing else to do. To be called on its thread."""
        if not self._is_expected:
            self._is_expected = True
            self._loop.call_soon(self.settle)

    def end(self, status: Status) -> None:
        """The run has ended, and so has the writing."""
        with self._lock:
            self._look()
            end = (_END, [(time.time(), status, self._run)])
            self._commit(end)
            self._is_open = False
            if not self._closes(end):
                _unsaid.append(partial(self._closes, end))

    def _closes(self, end: Statement) -> bool:
        """Close the file. If rows are missing it says so first, and cannot be closed before it does.

        Without that it would seem that no step has begun since.
        """
        if self.fault is not None and self._file.is_there:
            self._row("lost")
            try:
                with self._file.explained():
                    self._connection.execute("PRAGMA busy_timeout = 0")  # it has been waited for
                self._file.execute((_ROW, self._rows[-1:]), end)
            except DatabaseError:
                return False
        with suppress(DatabaseError):
            self._file.close()
        return True

    def _look(self) -> None:
        """See that what is written can be read: SQLite writes on to a file that is deleted."""
        if self.fault is None and not self._file.is_there:
            self._fail(DatabaseError(f"{str(self._file.path)!r} has been moved or deleted meanwhile"))

    # -- quick steps that ended well: one row for many of them ----

    def _packs(self, step: int, outcome: Outcome) -> bool:
        """Whether the outcome goes into the next row of many."""
        if self._secrets or not is_small_json(outcome.result):
            return False
        self._many.append((step, outcome.started, outcome.ended, outcome.result))
        return True

    def _pack(self) -> None:
        many, self._many = self._many, []
        self._row("many", form="json", value=plain_json(many).encode())

    # -- rows ----------------------------------------------------------------------------------------

    def _row(
        self,
        kind: str,
        step: int | None = None,
        item: int | None = None,
        *,
        ahead: int | None = None,
        outcome: Outcome | None = None,
        detail: Mapping[str, Any] | None = None,
        form: str | None = None,
        value: bytes | None = None,
    ) -> None:
        if self._many:
            self._pack()
        self._number += 1
        started, status = (outcome.started, outcome.status) if outcome is not None else (None, None)
        said = json.dumps(detail) if detail else None
        now = time.time()
        self._rows.append(
            (self._run, self._number, now, kind, step, item, ahead, started, status, said, form, value)
        )

    def _value(
        self,
        kind: str,
        step: int,
        value: Any,
        item: int | None = None,
        outcome: Outcome | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        if not self._is_open or self.fault is not None:
            return
        parts = _Parts(self, self._number + 1)
        kept = keep(value, self._secrets, parts)
        if kept.reason is not None:
            detail = {**(detail or {}), "lost": kept.reason}
        self._row(kind, step, item, outcome=outcome, detail=detail, form=kept.form, value=kept.data)
        if kept.data is None or len(kept.data) > WHOLE // 10:
            self._ahead = 0
            self._commit()

    def _commit(self, *more: Statement) -> None:
        if self._many:
            self._pack()
        rows, self._rows = self._rows, []
        self._write((_ROW, rows), *more)

    def _write(self, *statements: Statement) -> None:
        if not self._is_open or self.fault is not None:
            return
        try:
            self._file.execute(*statements)
        except DatabaseError as error:
            self._fail(error)

    def _fail(self, error: DatabaseError) -> None:
        log.error("a run is not written down any more: %s", error)
        self.fault = str(error)

    def part(self, *row: Any) -> None:
        self._write(("INSERT INTO step_parts VALUES (?, ?, ?, ?, ?)", [(self._run, *row)]))

    def forget(self, event: int) -> None:
        self._write(("DELETE FROM step_parts WHERE run = ? AND event = ?", [(self._run, event)]))


def _detail(outcome: Outcome, items: int | None, unsure: Sequence[int], by_hand: bool) -> dict[str, Any]:
    """What else is written of how a step ended, where there is something to say."""
    said = {
        "error": outcome.error,
        "because": outcome.because,
        "items": items,
        "unsure": list(unsure) or None if outcome.may_have_run else None,
    }
    flags = {
        "looks_failed": outcome.looks_failed,
        "may_still_run": outcome.may_still_run,
        "may_have_run": outcome.may_have_run,
        "by_hand": by_hand,
    }
    return {
        **{name: value for name, value in said.items() if value is not None},
        **{name: True for name, value in flags.items() if value},
    }


class _Parts:
    """The pieces of the value of one event, each in a transaction of its own: others can write meanwhile."""

    def __init__(self, journal: Journal, event: int) -> None:
        self._journal = journal
        self._event = event
        self._count = 0

    def add(self, stream: int, data: bytes) -> None:
        self._count += 1
        self._journal.part(self._event, stream, self._count, data)

    def clear(self) -> None:
        if self._count:
            self._journal.forget(self._event)
            self._count = 0


def begin(beginning: Beginning, *, shares: bool) -> Journal:
    """A journal for a run that begins.

    Raises:
        DatabaseError: the file cannot be used.
    """
    say()
    file = RunFile()
    try:
        with file.explained():
            number = file.add(beginning)
            file.hold(number)
            file.prune(number)
            return Journal(file, number, beginning.secrets, shares=shares)
    except BaseException:
        file.close()
        raise
