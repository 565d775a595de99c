"""Where the tasks stand in a Markdown file.

A scan of lines and not a Markdown parser, so that an entry's text is what stands in the file, and a line can
be changed without touching the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ..errors import PlanError
from .markup import BOX, split

#: Boxes without brackets, as coding agents print their to-do lists.
GLYPHS = {**dict.fromkeys("☐□◻", "pending"), **dict.fromkeys("☑☒✔", "completed"), "◼": "in_progress"}
#: The line that stands for a plan without entries.
EMPTY = "*No entries.*"

ITEM = re.compile(rf"[ \t]*(?:[-*+]|\d{{1,9}}[.)])(?:[ \t]+(?P<box>{BOX})?|$)(?P<text>.*)")
GLYPH_ITEM = re.compile(
    rf"[ \t]*(?:[-*+•└⎿][ \t]+)?(?P<box>(?P<mark>[{''.join(GLYPHS)}]))(?=[ \t])(?P<text>.*)"
)
TITLE = re.compile(r" {0,3}#(?:[ \t]+(.*))?$")
_FENCE = re.compile(r"(`{3,}|~{3,})[^`]*$")
# What ends the paragraph of an item although it is not set off by a blank line.
_BLOCK = re.compile(r"#{1,6}[ \t]|[>|<]|`{3}|~{3}|([-*_=])(?:[ \t]*\1){2,}$|(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_KEY = re.compile(r"[\w-]+:(?: |$)")
# With one star, `TODO` could begin a Markdown item; the others would be pending entries that are not.
_ORG = re.compile(
    r"\*\*+ TODO\b|\*+ (?:DONE|NEXT|WAITING|CANCELL?ED)\b|#\+[A-Za-z]+:|:PROPERTIES:$", re.ASCII
)


@dataclass(slots=True, eq=False)
class Item:
    """A list item as it stands in a file.

    `mark` is what is in its box, `indent` its column, `lines` its lines without marker and box; `at` are the
    numbers of these lines, and `notes` those of comments that hang below it.
    """

    mark: str
    indent: int
    parent: Item | None
    lines: list[str]
    at: list[int]
    notes: list[int] = field(default_factory=list[int])

    @property
    def hang(self) -> int:
        """The column of the text that hangs below the item: that of the leftmost line that is set back."""
        columns = (column(line) for line in self.lines[1:] if line)
        return min((at for at in columns if at >= self.indent + 2), default=0)


@dataclass(frozen=True, slots=True)
class Document:
    """A file that has been scanned.

    The body begins with line `start`. `pattern` matches the first line of an item; `boxed` says that only
    those with a box are entries. `titles` are the numbers of the first-level headings before the first entry.
    """

    lines: list[str]
    start: int
    pattern: re.Pattern[str]
    boxed: bool
    titles: list[int]
    items: list[Item]


def document(text: str) -> Document:
    """The task list in a Markdown text, with where it stands. Raises `PlanError` when there is none."""
    lines = split(text)
    if any(_ORG.match(line) for line in lines):
        raise PlanError(
            "this looks like an Org file, which cannot be read: write one task a line as '- [ ] text'"
        )
    start = front_matter(lines)
    for pattern, boxed in ((ITEM, True), (GLYPH_ITEM, True), (ITEM, False)):
        titles, items = scan(lines, start, pattern, boxed)
        if items:
            return Document(lines, start, pattern, boxed, titles, items)
    if EMPTY not in lines:
        raise PlanError("there is no list in this text: write one task a line as '- [ ] text'")
    return Document(lines, start, ITEM, True, scan(lines, start)[0], [])


def front_matter(lines: list[str]) -> int:
    """How many lines the front matter takes. A list between two rules is not front matter, which has keys."""
    if lines[0].rstrip() == "---":
        for end, line in enumerate(lines[1:], 1):
            if line.rstrip() in ("---", "..."):
                return end + 1 if any(map(_KEY.match, lines[1:end])) else 0
    return 0


def scan(
    lines: Sequence[str], start: int = 0, pattern: re.Pattern[str] = ITEM, boxed: bool = True
) -> tuple[list[int], list[Item]]:
    """The numbers of the first-level headings before the first entry, and the entries, from line `start`."""
    titles: list[int] = []
    items: list[Item] = []
    nest: list[Item] = []  # the items that a line may still belong to, outermost first
    fence = ""
    comment = False
    blanks: list[int] = []
    for number in range(start, len(lines)):
        line = lines[number]
        bare = line.strip(" \t")
        if not bare:
            blanks.append(number)
            continue
        if comment:
            comment = "-->" not in bare
            if nest:
                nest[-1].notes.append(number)
            continue
        indent = column(line)
        if fence and (not nest or indent >= nest[-1].indent + 2):
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        else:
            fence = ""  # it ends with the item it stands in
            lazy = bool(nest) and not blanks and not _BLOCK.match(bare)
            while not lazy and nest and indent < nest[-1].indent + 2:
                nest.pop()
            found = pattern.match(line)
            if found and (found["box"] if boxed else not nest):
                text = found["text"].strip(" \t")
                items.append(Item(found["mark"] or "", indent, nest[-1] if nest else None, [text], [number]))
                nest.append(items[-1])
                blanks = []
                continue
            if bare.startswith("<!--") and ("-->" not in bare or bare.endswith("-->")):
                comment = "-->" not in bare
                if nest:
                    nest[-1].notes.append(number)
                continue
            if opening := _FENCE.match(bare):
                fence = opening[1]
            elif not items and TITLE.match(line):
                titles.append(number)
        if nest:
            nest[-1].lines += [""] * len(blanks) + [" " * indent + bare]
            nest[-1].at += [*blanks, number]
        blanks = []
    return titles, items


def column(line: str) -> int:
    """Where the text of a line begins."""
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4))


def comments(line: str) -> tuple[str, list[str], dict[str, Any]]:
    """A line without the comments at its end: the line, other people's comments, and what ours say."""
    others: list[str] = []
    said: dict[str, Any] = {}
    while line.endswith("-->"):
        start = line.rfind("<!--")
        if start < 0 or "-->" in line[start:-3] or line[:start].endswith("\\"):
            break
        try:
            value = json.loads(line[start + 4 : -3])
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            said = cast("dict[str, Any]", value) | said
        else:
            others.insert(0, line[start:])
        line = line[:start].rstrip(" \t")
    return line, others, said
