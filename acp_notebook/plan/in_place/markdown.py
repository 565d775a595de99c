"""A Markdown file with a plan in it: marks and lines are changed, every other byte of it stays.

Lines come and go with the entry they belong to. What belongs to none (headings, text, blank lines, comments
of the file) stays where it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from ..markdown import box, comment, entry, front_plan, heading, mark_status, missed, write_heading
from ..markup import BOX, escape, shown, split
from ..model import Plan, PlanEntry
from ..objects import FIELDS
from ..task_list import EMPTY, GLYPH_ITEM, Item, column, comments, document, front_matter, scan
from .lines import Lines
from .matching import matches, stay

_BOX = re.compile(BOX)
_NUMBER = re.compile(r"\d+(?=[.)])")


def update(text: str, plan: Plan) -> str:
    """The text with the plan's title and entries.

    Where a Cursor plan file has its tasks in the front matter, they are changed there. Otherwise an entry
    keeps its marker, its indentation and its kind of box; a new one gets those of its neighbours.
    """
    if front_plan(text) is not None:
        return _front(text, plan)
    file = _File(text, plan)
    if plan.title is not None:
        file.set_title(plan.title)
    file.set_entries()
    return file.lines.changed()


def _front(text: str, plan: Plan) -> str:
    """A Cursor plan file with its front matter changed."""
    from . import yaml

    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
    end = front_matter(split(text)) - 1
    return "".join([lines[0], yaml.update("".join(lines[1:end]), plan, ["todos"]), *lines[end:]])


class _File:
    """A task list that shall hold the entries of a plan."""

    def __init__(self, text: str, plan: Plan) -> None:
        self.lines = Lines(text)
        self.found = document(text)
        self.items = self.found.items
        self.plan = plan
        self.old = {item: entry(item) for item in self.items}
        self.sources = matches(list(self.old.values()), plan.entries)
        self.kept = {self.items[number] for number in stay(self.sources)}
        self.owners = {line: item for item in self.items for line in _own(item)}
        self.owned = sorted(self.owners)
        # A list without boxes needs them when an entry is not pending any more, or would seem to have one.
        self.boxing = not self.found.boxed and any(box(e.status) != " " or _seems_boxed(e) for e in plan)
        numbers = [_NUMBER.search(self.lines.lines[item.at[0]]) for item in self.items]
        self.step = 0 if len(numbers) > 1 and len({n and n[0] for n in numbers}) == 1 else 1
        marks: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for item in self.items if self.found.boxed else ():
            marks[mark_status(item.mark)][item.mark] += 1
        self.marks = {status: counted.most_common(1)[0][0] for status, counted in marks.items()}

    # -- the whole ---------------------------------------------------------------------------------------

    def set_title(self, title: str) -> None:
        """Change the heading. A file without one gets it; several are left alone."""
        lines = self.lines.lines
        if len(self.found.titles) == 1:
            (number,) = self.found.titles
            if heading(lines[number]) != title:
                self.lines.replaced[number] = [write_heading(title)]
        elif not self.found.titles:
            body = range(self.found.start, len(lines))
            first = next((number for number in body if lines[number].strip()), self.found.start)
            self.lines.before[first] += [write_heading(title), ""]

    def set_entries(self) -> None:
        """Change, take out and put in what differs."""
        for item in self.items:
            if item not in self.kept:
                self.lines.gone.update(_own(item))
        coming: list[tuple[Item | None, PlanEntry]] = []
        for source, new in zip(self.sources, self.plan, strict=True):
            item = None if source is None else self.items[source]
            if item is None or item not in self.kept:
                coming.append((item, new))
                continue
            if coming:
                self._put(coming, item)
                coming = []
            self.lines.replaced |= self._edited(item, new)
            if out := self._outdent(item):
                for number in _own(item):
                    self.lines.replaced[number] = [_moved(line, -out) for line in self.lines.now(number)]
        if coming:
            self._put(coming, None)
        elif not self.kept and self.items:
            self.lines.after[self.owned[-1]] += [EMPTY]

    def _put(self, coming: Sequence[tuple[Item | None, PlanEntry]], following: Item | None) -> None:
        """Put entries before one that stays, or behind all others, next to what stands before them."""
        limit = following.at[0] if following else len(self.lines.lines)
        place = bisect_left(self.owned, limit) - 1
        before = self.owned[place] if place >= 0 else None
        if not self.items:
            before = self.lines.lines.index(EMPTY)
            self.lines.gone.add(before)
        model = self._model(before, following)
        indent = model.indent - self._outdent(model) if model else 0
        loose = self._loose()
        for number, (item, new) in enumerate(coming):
            if item is None:
                block = self._new(new, model, number if model is following else number + 1)
                block = [_moved(line, -self._outdent(model) if model else 0) for line in block]
            else:
                edited = self._edited(item, new)
                block = [line for n in _own(item) for line in edited.get(n, [self.lines.lines[n]])]
                block = [_moved(line, indent - item.indent) for line in block]
            if before is None:
                self.lines.before[limit] += [*block, *([""] if loose else [])]
            else:
                self.lines.after[before] += [*([""] if loose else []), *block]

    def _model(self, before: int | None, following: Item | None) -> Item | None:
        """The item whose indentation and marker new ones get: the next one, unless something lies between."""
        if before is None or not self.items:
            return following
        if following and not any(line.strip() for line in self.lines.lines[before + 1 : following.at[0]]):
            return following
        item = self.owners[before]
        while item.parent:
            item = item.parent
        return item

    def _loose(self) -> bool:
        """Whether blank lines are between most items."""
        above = [self.lines.lines[item.at[0] - 1] for item in self.items[1:]]
        return sum(not line.strip() for line in above) > len(above) / 2

    def _outdent(self, item: Item) -> int:
        """By how many columns an item goes to the left, because what it hung below has gone."""
        parent = item.parent
        if parent is None:
            return 0
        out = self._outdent(parent)
        return out if parent in self.kept else item.indent - parent.indent + out

    # -- an entry ----------------------------------------------------------------------------------------

    def _edited(self, item: Item, new: PlanEntry) -> dict[int, list[str]]:
        """What stands in the place of an item's lines so that it says `new`; nothing for the others."""
        old = self.old[item]
        if all(getattr(old, name) == getattr(new, name) for name in FIELDS) and not self.boxing:
            return {}
        line = self.lines.lines[item.at[0]]
        matched = self.found.pattern.match(line)
        assert matched
        prefix, text = line[: matched.start("text")], matched["text"]
        if self.boxing:
            prefix = f"{prefix.rstrip()} [{box(new.status)}]"
        elif self.found.boxed and old.status != new.status:
            start, end = matched.span("mark")
            prefix = line[:start] + self._mark(new.status) + line[end : matched.start("text")]
        bare = text.strip(" \t")
        lead = text[: text.find(bare)] or ("" if prefix.endswith((" ", "\t")) else " ")
        shown_text, others, said = comments(bare)
        edited: dict[int, list[str]] = {}
        start, more, values = prefix, list[str](), dict[str, Any]()
        for whole in (False, True):
            edited = self._text(item, shown_text, old.content, new.content, whole)
            first, *more = edited.pop(item.at[0], [shown_text])
            start = prefix + lead + first if first else prefix
            rest = [line for n in item.at[1:] for line in edited.get(n, [self.lines.lines[n]])]
            values = missed(new, self._read([start, *more, *rest]))
            if "content" not in values:
                break
        values = {name: value for name, value in said.items() if name not in FIELDS} | values
        if values == said:
            tail = bare[len(shown_text) :] + text[len(text.rstrip(" \t")) :]
        else:
            tail = "".join(f" {other}" for other in others) + comment(values)
        return edited | {item.at[0]: [start + tail, *more]}

    def _text(self, item: Item, first: str, old: str, new: str, whole: bool) -> dict[int, list[str]]:
        """What stands in the place of an item's lines of text: of those that differ, or of the whole text.

        The first line, which is `first` now, is without marker and comments.
        """
        if old == new:
            return {}
        before, after = shown(old).split("\n"), shown(new).split("\n")
        same = ending = 0
        if not whole and len(before) == len(item.at):
            same = _common(before, after)
            ending = _common(before[max(same, 1) :][::-1], after[max(same, 1) :][::-1])
        hang = " " * (item.hang or self._hang(self.lines.lines[item.at[0]]))
        lines = [hang + line if line and n else line for n, line in enumerate(escape(after))]
        lines = lines[same : len(lines) - ending]
        numbers = item.at[same : len(item.at) - ending]
        if numbers:
            return {numbers[0]: lines} | {number: [] for number in numbers[1:]}
        last = item.at[same - 1]
        return {last: [first if same == 1 else self.lines.lines[last], *lines]}

    def _new(self, new: PlanEntry, model: Item | None, step: int) -> list[str]:
        """The lines of a new entry, with the marker of its model, and its number so many steps on."""
        line = self.lines.lines[model.at[0]] if model else "- [ ] "
        matched = self.found.pattern.match(line)
        assert matched
        prefix = line[: matched.start("box" if matched["box"] else "text")]
        prefix = _NUMBER.sub(lambda number: str(int(number[0]) + step * self.step), prefix, count=1)
        prefix = re.sub("[⎿└]", " ", prefix)
        prefix = prefix if prefix[-1:] in ("", " ", "\t") else f"{prefix} "
        mark = self._mark(new.status)
        shown_box = mark if self.found.pattern is GLYPH_ITEM else f"[{mark}]"
        first, *rest = escape(shown(new.content).split("\n"))
        first = " ".join(filter(None, [shown_box, first])) if self.found.boxed or self.boxing else first
        hang = " " * self._hang(line)
        lines = [(prefix + first).rstrip(" "), *(line and hang + line for line in rest)]
        return [lines[0] + comment(missed(new, self._read(lines))), *lines[1:]]

    def _hang(self, line: str) -> int:
        """The column of text below the first line of an item: that of its box or text."""
        matched = self.found.pattern.match(line)
        start = matched.start("box" if matched["box"] else "text") if matched else 0
        return max(len(line[:start].expandtabs(4)), column(line) + 2)

    def _mark(self, status: str) -> str:
        """What is in the box of this status, as this file writes it; that of pending where no box says it."""
        if self.found.pattern is GLYPH_ITEM:
            pending = self.marks.get("pending", "☐")
            return self.marks.get(status, "☑" if status == "completed" else pending)
        mark = box(status)
        return self.marks.get("pending" if mark == " " else status, mark)

    def _read(self, lines: Sequence[str]) -> PlanEntry:
        """The entry that these lines stand for."""
        _, items = scan(lines, 0, self.found.pattern, self.found.boxed or self.boxing)
        return entry(items[0]) if items else PlanEntry("")


def _seems_boxed(entry: PlanEntry) -> bool:
    first, *_ = lines = shown(entry.content).split("\n")
    return _BOX.match(first) is not None or any(GLYPH_ITEM.match(f"{line} ") for line in lines)


def _own(item: Item) -> list[int]:
    """The numbers of all lines that belong to an item."""
    return sorted([*item.at, *item.notes])


def _moved(line: str, columns: int) -> str:
    """A line, so many columns further right."""
    return " " * max(column(line) + columns, 0) + line.lstrip(" \t") if columns and line.strip() else line


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines from the start are the same."""
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
