"""What a tool call shows besides its arguments, as HTML: changes of files, code, tables, texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..protocol.content import Code, Content, Diff, Table, Text
from .highlight import highlighted
from .html import Html, join, tag, text
from .values import SHORT, SHORT_LINES, WHOLE, count, shortened, size

#: What happens to a file: mark, word, and what it means.
KINDS = {
    "create": ("+", "Creates", "a new file"),
    "edit": ("±", "Changes", None),
    "delete": ("✗", "Deletes", "the whole file"),
    "empty": ("∅", "Empties", "the file stays, with nothing in it"),
}
#: The longest line of a change that is shown whole, and characters of unchanged lines that can be unfolded.
LONG_LINE = 2_000
UNCHANGED = 8_000

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def blocks(content: Iterable[Content], whole: int = WHOLE) -> Iterator[Html]:
    """The blocks one after another; of each at most about `whole` characters, and what is left out said."""
    for block in content:
        yield tag(
            "div",
            _body(block, whole),
            tag("p", block.hidden, class_="acp-cut") if block.hidden else None,
            class_="acp-block",
        )


def written(content: Iterable[Content]) -> Iterator[str]:
    """Every text in the blocks that is shown."""
    for block in content:
        match block:
            case Diff(path, patch=patch):
                yield from (path, patch)
            case Table(columns, rows):
                yield from columns
                for row in rows:
                    yield from row
            case Code(source) | Text(source):
                yield source
        yield block.hidden or ""


def _body(block: Content, whole: int) -> Html:
    match block:
        case Diff():
            return diff(block, whole)
        case Code(source, language):
            marked = highlighted(source, language) if len(source) <= whole else shortened(source, whole)
            return join([_size(source, language or "code"), tag("pre", tag("code", marked), dir="ltr")])
        case Table():
            return _table(block, whole)
        case Text(source):
            return join([_size(source, "text"), _text(source, whole)])


def _size(source: str, label: str) -> Html | None:
    """A line above a long text: what it is, and how long."""
    if len(source) <= SHORT and source.count("\n") < SHORT_LINES:
        return None
    return tag("p", f"{label}, {size(source)}", class_="acp-quiet acp-label")


def _text(source: str, whole: int) -> Html:
    """A text as it is; lines of one that looks like a diff are marked as such."""
    lines = source.split("\n")
    if len(source) > whole or not any(line.startswith("@") for line in lines):
        return tag("pre", shortened(source, whole), dir="auto")
    return _lines(lines, whole)


def _table(table: Table, whole: int) -> Html:
    rows: list[Html] = []
    room = whole
    for row in table.rows:
        if room <= 0:
            break
        rows.append(tag("tr", *(tag("td", tag("bdi", shortened(cell, LONG_LINE))) for cell in row)))
        room -= sum(min(len(cell), LONG_LINE) for cell in row)
    head = tag("tr", *(tag("th", tag("bdi", name), scope="col") for name in table.columns))
    left = len(table.rows) - len(rows)
    return join(
        [
            tag("p", f"table, {count(len(table.rows), 'row')}", class_="acp-quiet acp-label"),
            tag("table", tag("thead", head), tag("tbody", *rows)),
            tag("p", f"{count(left, 'row')} not shown", class_="acp-cut") if left else None,
        ]
    )


# -- changes of files ------------------------------------------------------------------------------------


def diff(change: Diff, whole: int = WHOLE) -> Html:
    """A change of a file: what happens in words, counts of all of it, and the lines around its changes."""
    mark, word, meaning = KINDS[change.kind]
    head = tag(
        "p",
        tag("span", mark, class_="acp-mark", aria_hidden="true"),
        " ",
        tag("b", word),
        " ",
        tag("bdi", tag("code", change.path)),
        tag("span", " · ", f"{meaning} · " if meaning else None, class_="acp-quiet"),
        tag("span", f"+{change.added:,} −{change.removed:,}", class_="acp-num"),
        tag("span", " lines", class_="acp-quiet"),
        class_="acp-change",
        data_change=change.kind,
    )
    return join([head, *_hunks(change, whole)])


def _hunks(change: Diff, whole: int) -> Iterator[Html]:
    if not change.patch:
        nothing = "Nothing is in it." if change.kind == "create" else "No line changes."
        yield tag("p", nothing, class_="acp-quiet")
        return
    old = _Unchanged(change.old)
    rows: list[str] = []
    for line in change.patch.split("\n"):
        if not (match := _HUNK.match(line)):
            rows.append(line)
            continue
        if rows:
            yield _lines(rows, whole)
            whole -= sum(map(len, rows))
            rows = []
        length = int(match[2] or 1)
        yield from old.until(int(match[1]) - (length > 0), length)
    if rows:
        yield _lines(rows, whole)
    if change.hidden is None and change.new is not None:
        yield from old.until(None)


class _Unchanged:
    """The stretches of the old text between the hunks: short ones can be unfolded, the others are counted."""

    def __init__(self, old: str | None) -> None:
        self._lines = (old or "").removesuffix("\n").split("\n") if old else []
        self._at = 0
        self._room = UNCHANGED

    def until(self, end: int | None, then: int = 0) -> Iterator[Html]:
        """What lies before line `end` (0-based), None for all that is left; then `then` lines are passed."""
        stretch = self._lines[self._at : end]
        self._at = (len(self._lines) if end is None else end) + then
        if not stretch:
            return
        said = f"… {count(len(stretch), 'line')} without changes …"
        self._room -= sum(map(len, stretch))
        if self._room < 0:
            yield tag("p", said, class_="acp-cut")
        else:
            lines = _lines([f" {line}" for line in stretch], UNCHANGED)
            yield tag("details", tag("summary", said, class_="acp-cut"), lines, class_="acp-fold")


def _lines(lines: Sequence[str], whole: int) -> Html:
    """Lines of a diff; where there is no more room, the rest is counted."""
    made: list[Html] = []
    room = whole
    for position, line in enumerate(lines):
        if room <= 0:
            left = lines[position:]
            added, removed = (sum(one.startswith(sign) for one in left) for sign in "+-")
            said = f"… {count(len(left), 'line')} not shown (+{added:,} −{removed:,}) …"
            made.append(tag("span", said, class_="acp-cut"))
            break
        look = {"+": "add", "-": "del"}.get(line[:1], "at")
        made.append(tag("span", shortened(line, LONG_LINE), text("\n"), class_=look))
        room -= min(len(line), LONG_LINE)
    return tag("pre", *made, class_="acp-diff", dir="ltr")
