"""Which lines of a text change, quickly for texts of any kind, and the change as a bounded unified diff."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

#: Lines around a change that are shown with it.
CONTEXT = 3
#: Characters of a patch, and of one line in it, that are shown; of a longer line what is near its change.
WHOLE = 80_000
LONG_LINE = 2_000
BEFORE = 200
#: Pairs of lines that are compared one by one; beyond it a stretch counts as replaced as a whole.
PAIRS = 200_000
#: How often a stretch is divided at lines that occur once on both sides.
DEPTH = 40


class Stretch(NamedTuple):
    """Lines `old_start:old_end` become lines `new_start:new_end`, 0-based."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


class Patch(NamedTuple):
    """A unified diff without file headers; `added` and `removed` count all lines, shown or not."""

    text: str
    added: int
    removed: int
    hidden: str | None


def patch(old: str, new: str) -> Patch:
    """How `old` becomes `new`. What is left out for its length is said in `hidden`."""
    before, after = _lines(old), _lines(new)
    found = list(stretches(before, after))
    writer = _Writer(before, after)
    for group in _groups(found):
        writer.hunk(group)
    added = sum(stretch.new_end - stretch.new_start for stretch in found)
    removed = sum(stretch.old_end - stretch.old_start for stretch in found)
    return Patch("\n".join(writer.out), added, removed, writer.hidden)


def stretches(old: Sequence[str], new: Sequence[str]) -> Iterator[Stretch]:
    """The stretches that differ, in order.

    Divided at the lines that occur once on both sides (patience diff), which takes n log n steps; difflib,
    which can take n² and more, only compares short stretches between them.
    """
    pending = [(Stretch(0, len(old), 0, len(new)), 0)]
    while pending:
        (a, b, c, d), depth = pending.pop()
        while a < b and c < d and old[a] == new[c]:
            a, c = a + 1, c + 1
        while a < b and c < d and old[b - 1] == new[d - 1]:
            b, d = b - 1, d - 1
        if a == b and c == d:
            continue
        anchors = _anchors(old, new, Stretch(a, b, c, d)) if a < b and c < d and depth < DEPTH else []
        if anchors:
            starts = [(a, c), *((x + 1, y + 1) for x, y in anchors)]
            parts = [
                (Stretch(x, x_end, y, y_end), depth + 1)
                for (x, y), (x_end, y_end) in zip(starts, [*anchors, (b, d)], strict=True)
            ]
            pending.extend(reversed(parts))
        elif (b - a) * (d - c) > PAIRS or a == b or c == d:
            yield Stretch(a, b, c, d)
        else:
            for tag, i, j, k, m in SequenceMatcher(None, old[a:b], new[c:d], autojunk=False).get_opcodes():
                if tag != "equal":
                    yield Stretch(a + i, a + j, c + k, c + m)


def _anchors(old: Sequence[str], new: Sequence[str], within: Stretch) -> list[tuple[int, int]]:
    """Lines that occur once on both sides: the longest run of pairs in the same order on both."""
    a, b, c, d = within
    once = Counter(old[a:b])
    again = Counter(new[c:d])
    places = {line: at for at, line in enumerate(new[c:d], c) if again[line] == 1 and once.get(line) == 1}
    pairs = [(at, places[line]) for at, line in enumerate(old[a:b], a) if line in places]
    ends: list[int] = []
    piles: list[int] = []
    previous = [-1] * len(pairs)
    for index, (_, at) in enumerate(pairs):
        pile = bisect_left(ends, at)
        previous[index] = piles[pile - 1] if pile else -1
        if pile == len(ends):
            ends.append(at)
            piles.append(index)
        else:
            ends[pile], piles[pile] = at, index
    run: list[tuple[int, int]] = []
    index = piles[-1] if piles else -1
    while index >= 0:
        run.append(pairs[index])
        index = previous[index]
    return run[::-1]


def _lines(text: str) -> list[str]:
    """The lines with their ends, so that a missing one at the end of a file is a change."""
    parts = text.split("\n")
    return [*(part + "\n" for part in parts[:-1]), *filter(None, parts[-1:])]


def _groups(found: Sequence[Stretch]) -> Iterator[list[Stretch]]:
    """Stretches so near each other that their surroundings meet."""
    group: list[Stretch] = []
    for stretch in found:
        if group and stretch.old_start - group[-1].old_end > 2 * CONTEXT:
            yield group
            group = []
        group.append(stretch)
    if group:
        yield group


class _Writer:
    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._old, self._new = old, new
        self._room = WHOLE
        self._left = {"+": 0, "-": 0}
        self._cut = 0
        self.out: list[str] = []

    @property
    def hidden(self) -> str | None:
        said: list[str] = []
        if any(self._left.values()):
            said.append(f"changed lines (+{self._left['+']:,} −{self._left['-']:,})")
        if self._cut:
            said.append(f"{self._cut:,} characters of long lines")
        return f"Not shown: {' and '.join(said)}." if said else None

    def hunk(self, group: Sequence[Stretch]) -> None:
        first, last = group[0], group[-1]
        lead = min(CONTEXT, first.old_start)
        trail = min(CONTEXT, len(self._old) - last.old_end)
        if self._room > 0:
            old = _range(first.old_start - lead, last.old_end + trail)
            self.out.append(f"@@ -{old} +{_range(first.new_start - lead, last.new_end + trail)} @@")
        at = first.old_start - lead
        for stretch in group:
            self._same(at, stretch.old_start)
            old, new = (
                self._old[stretch.old_start : stretch.old_end],
                self._new[stretch.new_start : stretch.new_end],
            )
            alike = [_prefix(x, y) for x, y in zip(old, new, strict=False)]
            for sign, lines in (("-", old), ("+", new)):
                for number, line in enumerate(lines):
                    self._line(sign, line, alike[number] if number < len(alike) else 0)
            at = stretch.old_end
        self._same(at, last.old_end + trail)

    def _same(self, start: int, end: int) -> None:
        for line in self._old[start:end]:
            if self._room > 0:
                self._line(" ", line, 0)

    def _line(self, sign: str, line: str, changed: int) -> None:
        """Add a line, of which a long one is shown from near its first change."""
        if self._room <= 0:
            self._left[sign] += 1
            return
        ended = line.endswith("\n")
        body = line.removesuffix("\n")
        if body.endswith("\r"):  # which would look like no change at all
            body = body[:-1] + ("␍" if sign != " " else "")
        if len(body) > LONG_LINE:
            start = max(0, min(changed - BEFORE, len(body) - LONG_LINE))
            after = len(body) - start - LONG_LINE
            self._cut += start + after
            body = "".join(
                (
                    f"…({start:,} characters) " if start else "",
                    body[start : start + LONG_LINE],
                    f" …({after:,} characters)" if after else "",
                )
            )
        self.out.append(sign + body)
        self._room -= len(body) + 1
        if not ended:
            self.out.append("\\ No newline at end of file")


def _range(start: int, end: int) -> str:
    """A range of lines as a unified diff says it: 1-based, and 0 before the first line."""
    return f"{start + 1 if end > start else start},{end - start}"


def _prefix(one: str, other: str) -> int:
    """How many characters two long lines begin with alike; 0 for short ones, which are shown whole."""
    if max(len(one), len(other)) <= LONG_LINE:
        return 0
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
