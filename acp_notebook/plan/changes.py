"""What turns one plan into another, as a value: small for a small change, and it can be taken back."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from operator import ne
from typing import Any, NamedTuple

from .model import Plan, PlanEntry
from .order import longest_rise

Entries = tuple[PlanEntry, ...]

#: What of a plan, besides its entries, can change.
FIELDS = ("type", "title", "content", "uri", "meta", "raw")

#: Up to this product of two lengths the best match of all texts is looked for; beyond it, one in linear time.
COMPARED = 250_000


class Splice(NamedTuple):
    """`old` entries from position `start` (0-based, when its turn comes) are replaced by `new`."""

    start: int
    old: Entries
    new: Entries

    def invert(self) -> Splice:
        return Splice(self.start, self.new, self.old)

    def follow(self, position: int) -> int | None:
        offset = position - self.start
        if offset < 0:
            return position
        if offset >= len(self.old):
            return position + len(self.new) - len(self.old)
        return position if len(self.old) == len(self.new) else None


class Move(NamedTuple):
    """The entry at position `start` goes to position `to` (both 0-based)."""

    start: int
    to: int

    def invert(self) -> Move:
        return Move(self.to, self.start)

    def follow(self, position: int) -> int | None:
        if position == self.start:
            return self.to
        if self.start < position <= self.to:
            return position - 1
        return position + 1 if self.to <= position < self.start else position


class FieldChange(NamedTuple):
    """A field of the plan itself, such as `title`, went from `old` to `new`."""

    name: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Change:
    """The difference between two plans with one id; falsy when there is none.

    `hunks` are applied one after another; each holds the entries that it takes out and puts in, so the memory
    of a change is in proportion to what changed. Unchanged entries are shared with the plans.
    """

    hunks: tuple[Splice | Move, ...] = ()
    fields: tuple[FieldChange, ...] = ()

    @classmethod
    def between(cls, old: Plan, new: Plan) -> Change:
        """What has to be done to `old` to have `new`."""
        changed = [name for name in FIELDS if getattr(old, name) != getattr(new, name)]
        fields = tuple(FieldChange(name, getattr(old, name), getattr(new, name)) for name in changed)
        return cls(tuple(_hunks(old.entries, new.entries)), fields)

    def __bool__(self) -> bool:
        return bool(self.hunks or self.fields)

    def apply(self, plan: Plan) -> Plan:
        """The plan after the change, given the plan it was made for."""
        entries = list(plan.entries)
        for hunk in self.hunks:
            if isinstance(hunk, Move):
                entries.insert(hunk.to, entries.pop(hunk.start))
            else:
                entries[hunk.start : hunk.start + len(hunk.old)] = hunk.new
        return replace(plan, entries=tuple(entries), **{field.name: field.new for field in self.fields})

    def invert(self) -> Change:
        """The change that takes this one back."""
        return Change(
            tuple(hunk.invert() for hunk in reversed(self.hunks)),
            tuple(FieldChange(name, new, old) for name, old, new in self.fields),
        )

    def follow(self, index: int) -> int | None:
        """The 1-based number that entry `index` has after the change; None when it is gone."""
        position: int | None = index - 1
        for hunk in self.hunks:
            if position is None:
                return None
            position = hunk.follow(position)
        return None if position is None else position + 1

    def lines(self) -> list[str]:
        """The change in words, a line for each entry: `2. "Plot": pending → completed`.

        Numbers are those of the plan as it is when the change has come that far; of removed entries, the ones
        they had.
        """
        return [line for hunk in self.hunks for line in _said(hunk)] + [
            _field(*field) for field in self.fields
        ]

    @property
    def summary(self) -> str:
        """The change in one line: in words when it is one thing, else counted (`4 added, 1 removed`)."""
        counts = dict.fromkeys(("added", "removed", "moved", "changed"), 0)
        for hunk in self.hunks:
            if isinstance(hunk, Move):
                counts["moved"] += 1
            elif len(hunk.old) == len(hunk.new):
                counts["changed"] += sum(map(ne, hunk.old, hunk.new))
            else:
                counts["removed"] += len(hunk.old)
                counts["added"] += len(hunk.new)
        if sum(counts.values()) + len(self.fields) == 1:
            return self.lines()[0]
        counted = [f"{count} {what}" for what, count in counts.items() if count]
        return ", ".join(counted + [_field(*field) for field in self.fields])


# -- comparing -------------------------------------------------------------------------------------------


def _hunks(old: Entries, new: Entries) -> Iterator[Splice | Move]:
    start = common_start(old, new)
    tail = common_end(old[start:], new[start:])
    gone, come = old[start : len(old) - tail], new[start : len(new) - tail]
    if not gone and not come:
        return
    if len(gone) == len(come) > 1:
        if gone[0] == come[-1] and gone[1:] == come[:-1]:
            yield Move(start, start + len(come) - 1)
            return
        if gone[-1] == come[0] and gone[:-1] == come[1:]:
            yield Move(start + len(gone) - 1, start)
            return
    if not gone or not come or len(gone) == len(come) == 1:
        yield Splice(start, gone, come)
    elif len(gone) * len(come) > COMPARED:
        yield from _by_same_text(start, gone, come)
    else:
        yield from _by_text(start, gone, come)


def _by_text(start: int, old: Entries, new: Entries) -> Iterator[Splice]:
    """Pairs entries that have the same text, so that each change is told of the entry it happened to."""
    matcher = SequenceMatcher(None, [e.content for e in old], [e.content for e in new], autojunk=False)
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        # all before it has been replaced already: positions are those of the new plan
        if kind == "equal" or i2 - i1 == j2 - j1:
            yield from _by_place(start + j1, old[i1:i2], new[j1:j2])
        else:
            yield Splice(start + j1, old[i1:i2], new[j1:j2])


def _by_place(start: int, old: Entries, new: Entries) -> Iterator[Splice]:
    for number, (before, after) in enumerate(zip(old, new, strict=True), start):
        if before != after:
            yield Splice(number, (before,), (after,))


def _by_same_text(start: int, old: Entries, new: Entries) -> Iterator[Splice]:
    """The same for long plans: entries of one text are paired in their order, those that moved are not."""
    places: defaultdict[str, deque[int]] = defaultdict(deque)
    for i, entry in enumerate(old):
        places[entry.content].append(i)
    pairs = [(places[entry.content].popleft(), j) for j, entry in enumerate(new) if places[entry.content]]
    steady = [pairs[n] for n in reversed(longest_rise([i for i, _ in pairs]))]
    at, to = 0, 0
    for i, j in [*steady, (len(old), len(new))]:
        if i - at != j - to or not steady:
            yield Splice(start + to, old[at:i], new[to:j])
        else:
            yield from _by_place(start + to, old[at:i], new[to:j])
        yield from _by_place(start + j, old[i : i + 1], new[j : j + 1])
        at, to = i + 1, j + 1


def common_start(old: tuple[object, ...], new: tuple[object, ...]) -> int:
    """How many members from the start are equal.

    Tuples compare identical members without looking into them, so halving slices costs next to nothing where
    the members are shared, as entries are after an edit.
    """
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_end(old: tuple[object, ...], new: tuple[object, ...]) -> int:
    """How many members from the end are equal."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


# -- words -----------------------------------------------------------------------------------------------


def _field(name: str, old: Any, new: Any) -> str:
    match name:
        case "title" if old is None:
            return f"titled {quoted(new)}"
        case "title" if new is not None:
            return f"title: {quoted(old)} → {quoted(new)}"
        case "type":
            return f"type: {old} → {new}"
        case _:
            return f"{name} {'removed' if new is None else 'added' if old is None else 'changed'}"


def _said(hunk: Splice | Move) -> Iterator[str]:
    if isinstance(hunk, Move):
        yield f"{hunk.start + 1} moved to {hunk.to + 1}"
        return
    start, old, new = hunk
    if len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True), start + 1):
            if before != after:
                yield f"{number}. {quoted(after.content)}: {', '.join(_entry(before, after))}"
        return
    for number, entry in enumerate(old, start + 1):
        yield f"{number}. {quoted(entry.content)} removed"
    for number, entry in enumerate(new, start + 1):
        yield f"{number}. {quoted(entry.content)} added, {entry.status}, {entry.priority} priority"


def _entry(before: PlanEntry, after: PlanEntry) -> Iterator[str]:
    if before.content != after.content:
        yield f"was {quoted(before.content)}"
    for name in ("status", "priority", "id"):
        was, now = getattr(before, name), getattr(after, name)
        if was != now:
            yield f"{was} → {now}"
    if before.meta != after.meta:
        yield "its _meta changed"
    if before.raw != after.raw:
        yield "its other members changed"


def quoted(text: str | None, longest: int = 80) -> str:
    """A text on one line, shortened."""
    line = " ".join((text or "").split())
    return f'"{line if len(line) <= longest else line[: longest - 1] + "…"}"'
