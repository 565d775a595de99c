"""The rows of a plan's entries: carried from one plan to the next, numbered by the page.

A row keeps its key as long as the entry can be told to be the same one, wherever it stands. So a change sends
what changed and nothing else, also where every number after it is another, and what a person has open in a
row stays there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import count
from typing import NamedTuple, cast

from ..plan import Change, Plan, PlanEntry
from ..plan.changes import Entries, Move
from ..plan.display import STATUSES, UNDONE
from ..plan.runs import step_of
from .html import Html, attributes, tag
from .markdown import inline_code
from .parts import Part, Run
from .steps import step_html
from .values import size

#: Status → the mark in front of an entry.
MARKS = {status: mark for status, (_, mark, _) in STATUSES.items()}
UNKNOWN_MARK = "◇"
#: Longest entry shown unfolded, in characters and in lines, and how much of a longer one is.
LONG_ENTRY = 1_000
LONG_ENTRY_LINES = 12
FOLDED, FOLDED_LINES = 200, 3


class Look(NamedTuple):
    """What a row shows besides its entry: whether it is the one worked on, and what happened to it."""

    current: bool = False
    change: str | None = None


PLAIN = Look()


class RowList:
    """The rows of a plan that changes, all in one slot."""

    def __init__(self, slot: str) -> None:
        self._slot = slot
        self._numbers = count(1)
        self._entries: Entries = ()
        self._keys: list[str] = []
        self._looks: dict[str, Look] = {}
        self._rows: Run = ()

    def show(self, entries: Entries, looks: Mapping[int, Look]) -> Run:
        """The rows of `entries`. `looks` holds, by 1-based number, those that are not `PLAIN`."""
        change = Change.between(Plan(self._entries), Plan(entries))
        rows: list[Part | None] = list(self._rows)
        for hunk in change.hunks:
            if isinstance(hunk, Move):
                self._keys.insert(hunk.to, self._keys.pop(hunk.start))
                rows.insert(hunk.to, rows.pop(hunk.start))
            elif len(hunk.old) == len(hunk.new):  # the same entries, in other words or with another status
                for at, (old, new) in enumerate(zip(hunk.old, hunk.new, strict=True), hunk.start):
                    rows[at] = rows[at] if old == new else None
            else:
                there = slice(hunk.start, hunk.start + len(hunk.old))
                self._keys[there] = [f"{self._slot}.{next(self._numbers)}" for _ in hunk.new]
                rows[there] = [None] * len(hunk.new)
        before = self._looks
        self._looks = now = {self._keys[number - 1]: look for number, look in looks.items()}
        if others := {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}:
            rows = [None if key in others else row for key, row in zip(self._keys, rows, strict=True)]
        if change.hunks or others:
            at = -1
            for _ in range(rows.count(None)):
                at = rows.index(None, at + 1)
                key = self._keys[at]
                rows[at] = Part(key, self._slot, row_html(entries[at], now.get(key, PLAIN)))
            self._entries, self._rows = entries, cast("Run", tuple(rows))
        return self._rows


def row_html(entry: PlanEntry, look: Look = PLAIN, number: int | None = None) -> Html:
    """One row. Without a `number` it is for the page, which puts the number in, and can edit the text."""
    opened, before, after, closed = _frame(entry.status, entry.priority, look, number is not None)
    content = entry.content
    if entry.meta is not None and (facts := step_of(entry)) is not None:
        place = "" if number is None else f' data-index="{number}"'
        shown = "" if number is None else number
        said = step_html(content, entry.status, facts, alone=number is not None)
        return Html(f"{opened}{place}{before}{shown}{after}{said}{closed}")
    html = inline_code(content)
    if len(content) > LONG_ENTRY or content.count("\n") >= LONG_ENTRY_LINES:
        html = _folded(content, html)
    if number is not None:
        return Html(f'{opened} data-index="{number}"{before}{number}{after}{html}{closed}')
    # What is shown is not always the text itself: backticks, hidden characters.
    source = attributes(data_content=content) if "<" in html or "\r" in content else ""
    return Html(f"{opened}{source}{before}{after}{html}{closed}")


@lru_cache(maxsize=500)
def _frame(status: str, priority: str, look: Look, alone: bool) -> tuple[str, ...]:
    """A row without its text, in four: up to its attributes, its number, its text, its end.

    `alone`: to be read without the stylesheet too, as on GitHub and in notebooks that are not trusted.
    """
    hole, gap = Html("\0"), " " if alone else None  # NUL, which no text brings along
    said = STATUSES[status][2] if status in STATUSES else status
    heard = f", {said}" if priority == "medium" else f", {said}, {priority} priority"
    # Words for what else only mark, colour or weight would say. Pending and medium go without saying.
    words = [priority] if priority != "medium" else []
    if status in UNDONE or status not in STATUSES:
        words.append(said)
    if look.change:
        words.append(look.change)
        heard += f", {look.change}"
    mark = tag("span", MARKS.get(status, UNKNOWN_MARK), class_="acp-mark", aria_hidden="true")
    index = tag("span", hole, class_="acp-index acp-num")
    text = tag("span", hole, tag("span", heard, class_="acp-sr"), class_="acp-text", dir="auto")
    labels = tag("span", " · ".join(words), class_="acp-priority", dir="auto", aria_hidden="true")
    row = tag(
        "li",
        mark,
        gap,
        index,
        gap,
        text,
        gap,
        labels if words else None,
        class_="acp-entry",
        data_status=status,
        data_priority=priority,
        data_change=look.change,
        aria_current="step" if look.current else None,
        tabindex=None if alone else -1,  # one of them takes part in the Tab order: the page knows which
    )
    opened, rest = row[:3], row[3:]
    return (opened, *rest.split("\0"))


def _folded(content: str, html: Html) -> Html:
    start = "\n".join(content[:FOLDED].split("\n")[:FOLDED_LINES]) + "…"
    summary = tag("summary", inline_code(start), " ", tag("span", size(content), class_="acp-quiet"))
    return tag("details", summary, tag("div", html, class_="acp-pre", dir="auto"), class_="acp-fold")
