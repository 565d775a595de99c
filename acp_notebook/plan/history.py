"""Every revision of a plan: who made it, when, in which turn, and what changed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, overload

from ..errors import PlanError, PlanIndexError
from ..text import plain_line
from .changes import Change, Move, Splice
from .edits import AddEntry, ClearEntries, MoveEntry, PlanEdit, SetPlan, UpdateEntry, apply_edits, is_number
from .model import Plan, PlanEntry

#: Who changed a plan; `tool` is a tool of the agent that does so through the session.
Author = Literal["model", "person", "file", "tool", "host", "replay"]


@dataclass(frozen=True, slots=True)
class Revision:
    """One change of a plan.

    `number` is 1-based; `at` is in seconds since the epoch; `turn` is the number of the turn that ran, or
    None; `undoes` is the number of the revision that this one took back; `removed` marks the plan's removal.
    """

    number: int
    author: Author
    at: float
    turn: int | None
    change: Change
    undoes: int | None = None
    removed: bool = False

    def __str__(self) -> str:
        """Number, time, who and what, in one line for a terminal."""
        when = time.strftime("%H:%M:%S", time.localtime(self.at))
        turn = "" if self.turn is None else f" in turn {self.turn}"
        return plain_line(f"{self.number:4}  {when}  {self.author}{turn}: {self.summary}")

    @property
    def summary(self) -> str:
        """What happened, in one line."""
        if self.removed:
            return "plan removed"
        if not self.change:  # only a plan that begins empty, and one that comes back after its removal
            return "an empty plan" if self.number == 1 else "plan there again"
        undo = f"undid revision {self.undoes}: " if self.undoes is not None else ""
        return undo + self.change.summary


@dataclass(frozen=True, slots=True)
class PlanHistory(Sequence[Revision]):
    """The revisions of one plan, oldest first; `plan` is the latest, also after its removal.

    A value like the rest of the state. The revisions themselves lie in a list that successive histories
    share, so that adding one costs the same however many there are. `undoable` is the number of the person's
    revision that undo takes back, None when there is none.
    """

    plan: Plan
    removed: bool = False
    _log: list[Revision] = field(default_factory=list[Revision], repr=False, compare=False)
    _length: int = 0
    _undo: _Undo | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, position: int) -> Revision: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Revision]: ...
    def __getitem__(self, position: int | slice) -> Revision | Sequence[Revision]:
        if isinstance(position, slice):
            return [self._log[at] for at in range(*position.indices(self._length))]
        if not -self._length <= position < self._length:
            raise IndexError(f"there are {self._length} revisions: {position!r} is none of them")
        return self._log[position % self._length]

    def add(
        self, plan: Plan | None, author: Author, at: float, turn: int | None, undoes: int | None = None
    ) -> PlanHistory:
        """The history with one more revision: the plan as it is now, None for its removal.

        A plan that is equal to the one before makes no revision; where taking back a change came to that, the
        change counts as taken back. Fields are those of `Revision`.
        """
        new = self.plan if plan is None else plan
        change = Change.between(self.plan, new)
        removed = plan is None
        if not change and self._length and removed == self.removed:
            return self if undoes is None else replace(self, _undo=self._undo and self._undo.before)
        revision = Revision(self._length + 1, author, at, turn, change, undoes, removed)
        # A second history made from the same one must not write over the first one's revision.
        log = self._log if len(self._log) == self._length else self._log[: self._length]
        log.append(revision)
        undo = self._undo
        if undoes is not None:
            undo = undo and undo.before
        elif (change or removed) and author in ("person", "file"):
            undo = _Undo(revision.number, undo)
        # Applied rather than taken, so that entries which came over a wire unchanged are the same objects.
        return PlanHistory(
            change.apply(self.plan) if change else self.plan, removed, log, revision.number, undo
        )

    # -- looking back --------------------------------------------------------------------------------

    def plan_at(self, number: int) -> Plan:
        """The plan as it was after revision `number`. Raises `PlanError` naming the valid ones."""
        self._check(number)
        plan = self.plan
        for at in range(self._length - 1, number - 1, -1):
            plan = self._log[at].change.invert().apply(plan)
        return plan

    def diff(self, a: int, b: int | None = None) -> Change:
        """What changed from revision `a` to `b`, by default to the latest. Raises `PlanError`."""
        return Change.between(self.plan_at(a), self.plan if b is None else self.plan_at(b))

    def follow(self, index: int, since: int) -> int | None:
        """The number that entry `index` (1-based) of revision `since` has now; None when it is gone."""
        self._check(since)
        now: int | None = index
        for revision in self._standing(since):
            if now is None:
                return None
            now = revision.change.follow(now)
        return now

    def _standing(self, since: int) -> list[Revision]:
        """The revisions after `since`, without those that were taken back right away, and their undoing."""
        standing: list[Revision] = []
        for at in range(since, self._length):
            if standing and self._log[at].undoes == standing[-1].number:
                standing.pop()
            else:
                standing.append(self._log[at])
        return standing

    def _check(self, number: int) -> None:
        if not is_number(number) or not 1 <= number <= self._length:
            valid = f"use 1 to {self._length}" if self._length else "there are none yet"
            raise PlanError(f"there is no revision {number!r} of plan {self.plan.plan_id!r}: {valid}")

    # -- taking back, and carrying forward -----------------------------------------------------------

    @property
    def undoable(self) -> int | None:
        return self._undo and self._undo.number

    def undone(self) -> Plan:
        """The present plan without the person's latest change that has not been taken back.

        What others changed since stays. Raises `PlanError` when there is nothing to undo, or when the same
        entries have been changed since.
        """
        number = self.undoable
        if number is None:
            plan = repr(self.plan.plan_id)
            raise PlanError(
                f"there is nothing to undo in plan {plan}: only what people changed can be undone"
            )
        back = self._log[number - 1].change.invert()
        return self._merged(back, number) if self._standing(number) else back.apply(self.plan)

    def _merged(self, back: Change, since: int) -> Plan:
        """`back`, made for revision `since`, applied to the present plan."""
        theirs = {name for name, _, _ in self.diff(since).fields}
        # Numbers of several moving parts cannot be told apart safely; entries that keep their places can.
        steady = all(isinstance(hunk, Splice) and len(hunk.old) == len(hunk.new) for hunk in back.hunks)
        entries: list[PlanEntry] | None = list(self.plan.entries)
        if theirs.intersection(name for name, _, _ in back.fields) or (len(back.hunks) > 1 and not steady):
            entries = None
        for hunk in back.hunks:
            if entries is not None:
                entries = self._put_back(entries, hunk, since)
        if entries is None:
            raise PlanError(
                f"what revision {since} changed has been changed again since: %acp plan history shows it, "
                "and %acp plan restore REV goes back"
            )
        return Change(fields=back.fields).apply(replace(self.plan, entries=tuple(entries)))

    def _put_back(self, entries: list[PlanEntry], hunk: Splice | Move, since: int) -> list[PlanEntry] | None:
        """`entries`, those of now, after a hunk made for revision `since`; None where they no longer fit."""
        if isinstance(hunk, Move):
            at = self.follow(hunk.start + 1, since)
            if at is not None:
                to = self._goes_to(at, hunk.start + 1, hunk.to + 1, since)
                entries.insert(to - 1, entries.pop(at - 1))
            return None if at is None else entries
        if not hunk.old:  # entries come back behind the one they stood behind
            at = self.follow(hunk.start, since) if hunk.start else 0
            return None if at is None else [*entries[:at], *hunk.new, *entries[at:]]
        places = [self.follow(hunk.start + n, since) for n in range(1, len(hunk.old) + 1)]
        first = places[0]
        if first is None or places != list(range(first, first + len(places))):
            return None
        if tuple(entries[first - 1 : first - 1 + len(places)]) != hunk.old:
            return None
        return [*entries[: first - 1], *hunk.new, *entries[first - 1 + len(places) :]]

    def carried(self, edits: Sequence[PlanEdit], since: int) -> tuple[PlanEdit, ...]:
        """Edits whose entry numbers are those of revision `since`, with the numbers of now, in order.

        Raises `PlanError` when an entry is gone, or when both it and the edit have new text.
        """
        done: list[PlanEdit] = []
        history = self
        for edit in edits:
            if done:  # the edits before this one move its entry too
                history = history.add(apply_edits(history.plan, done[-1:]), "person", 0.0, None)
            done.append(history._carried(edit, since))
        return tuple(done)

    def _carried(self, edit: PlanEdit, since: int) -> PlanEdit:
        if since == self._length or isinstance(edit, SetPlan | ClearEntries):
            return edit
        if isinstance(edit, AddEntry):
            return edit if edit.at is None else replace(edit, at=self._place(edit.at, since))
        index = self.follow(edit.index, since)
        before = self.plan_at(since)
        if not 1 <= edit.index <= len(before):
            raise PlanIndexError(edit.index, len(before))
        said = before[edit.index - 1].content
        if index is None:
            raise PlanError(f"entry {edit.index}, {said!r}, is no longer in the plan")
        if isinstance(edit, UpdateEntry) and edit.content is not None:
            now = self.plan[index - 1].content
            if now not in (said, edit.content):
                raise PlanError(f"entry {index} has been reworded meanwhile: it is now {now!r}")
        if isinstance(edit, MoveEntry):
            return MoveEntry(index, self._goes_to(index, edit.index, edit.to, since))
        return replace(edit, index=index)

    def _place(self, index: int, since: int) -> int:
        """The place of `index` now: where the entry that had it is, else the nearest number there is."""
        return self.follow(index, since) or min(index, max(1, len(self.plan)))

    def _goes_to(self, index: int, start: int, to: int, since: int) -> int:
        """Where the entry goes that has the number `index` now, and was to go from `start` to `to` then.

        Behind the entry that stood there, or in front of it, as then.
        """
        there = self.follow(to, since)
        if there is None:
            return min(to, len(self.plan))
        return there - (index < there) + (start < to)

    # -- showing -------------------------------------------------------------------------------------

    def __str__(self) -> str:
        """A line for each revision, the latest last."""
        return "\n".join(map(str, self)) or f"Plan {self.plan.plan_id!r} has no revisions."

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


class _Undo(NamedTuple):
    """A person's revision that has not been taken back, on top of those before it."""

    number: int
    before: _Undo | None
