"""Plans as Markdown task lists, as people and coding agents write them.

Reading is a scan of lines and not a Markdown parser, so that an entry's text is what stands in the file:
inline Markdown is kept as it is. Writing makes each entry one list item that looks right in any viewer. What
the item alone does not say (priority, other statuses, ids, blanks at the ends) follows in a comment that
viewers hide:

    - [x] Load the data
    - [/] Plot the residuals <!-- {"priority": "high"} -->
    - [-] Ask for more

Where item and comment disagree because somebody edited the item, the item is right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from ..errors import PlanError
from .model import Plan, PlanEntry

#: Box → status. Other characters in a box are somebody's custom status: `[!]` is `_!`.
MARKS = {
    **dict.fromkeys(["", " "], "pending"),
    **dict.fromkeys("xX✓✔☑✅", "completed"),
    **dict.fromkeys("/~>", "in_progress"),
    "-": "cancelled",
}
_OWN_MARK = re.compile(r"_[^\[\]\d\s`<\\\ufe0f" + re.escape("".join(MARKS)) + "]")
_BOXES = {"pending": " ", "completed": "x", "in_progress": "/", "cancelled": "-"}
_EMPTY = "*No entries.*"

# Digits are footnotes and references, not boxes.
_BOX = r"\[(?P<mark>[^\[\]\d\s]?\ufe0f?|\s)\](?=[ \t]|$)"
_ITEM = re.compile(rf"[ \t]*(?:[-*+]|\d{{1,9}}[.)])(?:[ \t]+(?P<box>{_BOX})?|$)(?P<text>.*)")
_FENCE = re.compile(r"(`{3,}|~{3,})[^`]*$")
_TITLE = re.compile(r" {0,3}#(?:[ \t]+(.*))?$")
# What ends the paragraph of an item although it is not set off by a blank line.
_BLOCK = re.compile(r"#{1,6}[ \t]|[>|<]|`{3}|~{3}|([-*_=])(?:[ \t]*\1){2,}$|(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_KEY = re.compile(r"[\w-]+:(?: |$)")
_ORG = re.compile(r"\*\*+ (?:TODO|DONE|NEXT|WAITING|CANCELL?ED)\b|#\+[A-Za-z]+:", re.ASCII)


@dataclass(slots=True)
class _Item:
    """A list item as it stands: the mark in its box, its column, its lines without marker and box."""

    mark: str
    indent: int
    lines: list[str] = field(default_factory=list[str])


def parse(text: str) -> Plan:
    """The plan in a Markdown text: its task list items in order, nested ones too, each with its whole text.

    Without a single box, every top-level list item is a pending entry. The title is the first-level heading,
    if there is exactly one before the first entry. Raises `PlanError` when there is no list.
    """
    lines = _lines(text)
    if any(_ORG.match(line) for line in lines):
        raise PlanError(
            "this looks like an Org file, which cannot be read: write one task a line as '- [ ] text'"
        )
    lines, front = _front_matter(lines)
    titles, items = _scan(lines, boxed=True)
    if not items and any(line.startswith("todos:") for line in front):
        raise PlanError(
            "this file has its tasks in YAML front matter, which cannot be read: write them as '- [ ] text'"
        )
    if not items:
        titles, items = _scan(lines, boxed=False)
    if not items and _EMPTY not in lines:
        raise PlanError("there is no list in this text: write one task a line as '- [ ] text'")
    return Plan(tuple(map(_entry, items)), title=_heading(titles[0]) if len(titles) == 1 else None)


def write(plan: Plan) -> str:
    """The plan as a Markdown text, from which `parse` gets the same title and entries (without their `meta`).

    A Markdown plan is written as it is.
    """
    if plan.content and not plan.entries:
        return plan.content
    head = [] if plan.title is None else [_write_heading(plan.title), ""]
    if plan.entries:
        body = list(map(_write_entry, plan.entries))
    elif plan.uri:
        body = [_line(f"The plan is kept in {plan.uri}")]
    elif plan.raw:
        body = ["```json", json.dumps(plan.raw, indent=2, default=str), "```"]
    else:
        body = [_EMPTY]
    return "\n".join([*head, *body]) + "\n"


# -- reading ---------------------------------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    """Lines as Markdown counts them: U+2028 and the like are text."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _front_matter(lines: list[str]) -> tuple[list[str], list[str]]:
    """`(body, front matter)`. A list between two rules is not front matter, which has keys."""
    if lines[0].rstrip() == "---":
        for end, line in enumerate(lines[1:], 1):
            if line.rstrip() in ("---", "..."):
                keys = any(map(_KEY.match, lines[1:end]))
                return (lines[end + 1 :], lines[1:end]) if keys else (lines, [])
    return lines, []


def _column(line: str) -> int:
    """Where the text of a line begins."""
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4))


def _scan(lines: Iterable[str], boxed: bool) -> tuple[list[str], list[_Item]]:
    """The first-level headings before the first entry, and the entries."""
    titles: list[str] = []
    items: list[_Item] = []
    nest: list[_Item] = []  # the items that a line may still belong to, outermost first
    fence = ""
    comment = False
    blanks = 0
    for line in lines:
        bare = line.strip(" \t")
        if not bare:
            blanks += 1
            continue
        if comment:
            comment = "-->" not in bare
            continue
        indent = _column(line)
        if fence and (not nest or indent >= nest[-1].indent + 2):
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        else:
            fence = ""  # it ends with the item it stands in
            lazy = bool(nest) and not blanks and not _BLOCK.match(bare)
            while not lazy and nest and indent < nest[-1].indent + 2:
                nest.pop()
            found = _ITEM.match(line)
            if found and (found["box"] if boxed else not nest):
                item = _Item(found["mark"] or "", indent, [found["text"].strip(" \t")])
                items.append(item)
                nest.append(item)
                blanks = 0
                continue
            if bare.startswith("<!--") and ("-->" not in bare or bare.endswith("-->")):
                comment = "-->" not in bare
                continue
            if opening := _FENCE.match(bare):
                fence = opening[1]
            elif not items and (heading := _TITLE.match(line)):
                titles.append(heading[1] or "")
        if nest:
            nest[-1].lines += [""] * blanks + [" " * indent + bare]
        blanks = 0
    return titles, items


def _entry(item: _Item) -> PlanEntry:
    """The entry that an item stands for."""
    first, said = _comments(item.lines[0])
    # Text that hangs below its item is set back by as much as its leftmost line.
    rest = item.lines[1:]
    hang = min((column for line in rest if line and (column := _column(line)) >= item.indent + 2), default=0)
    lines = [line[hang:] if 0 < hang <= _column(line) else line.lstrip(" ") for line in rest]
    content = _unescape([first, *lines])
    mark = item.mark.removesuffix("\ufe0f")
    exact, status, priority, own = (said.get(name) for name in ("content", "status", "priority", "id"))
    # The exact text counts as long as the item shows it, and a status as long as the box is empty.
    return PlanEntry(
        exact if isinstance(exact, str) and _read(_item(" ", exact)).content == content else content,
        priority if isinstance(priority, str) else "medium",
        status if isinstance(status, str) and not mark.strip() else MARKS.get(mark, f"_{mark}"),
        own if isinstance(own, str) else None,
    )


def _heading(text: str) -> str:
    text, said = _comments(text.strip(" \t"))
    title = _unescape([re.sub(r"(?:^|[ \t]+)#+$", "", text)])
    exact = said.get("title")
    return exact if isinstance(exact, str) and _heading(_line(exact)) == title else title


def _comments(line: str) -> tuple[str, dict[str, Any]]:
    """A line without the comments at its end, and what those that `_comment` wrote say."""
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
        line = line[:start].rstrip(" \t")
    return line, said


# -- writing ---------------------------------------------------------------------------------------------


def _write_entry(entry: PlanEntry) -> str:
    item = _item(_box(entry.status), entry.content)
    read = _read(item)
    names = ("content", "status", "priority", "id")
    missed = {name: getattr(entry, name) for name in names if getattr(entry, name) != getattr(read, name)}
    first, *rest = item
    return "\n".join([first + _comment(missed), *rest])


def _write_heading(title: str) -> str:
    line = _line(title)
    return f"# {line}".rstrip(" ") + _comment({} if _heading(line) == title else {"title": title})


def _item(box: str, content: str) -> list[str]:
    """The lines of a list item."""
    first, *rest = _escape(_shown(content).split("\n"))
    return [f"- [{box}] {first}".rstrip(" "), *(line and f"  {line}" for line in rest)]


def _read(lines: list[str]) -> PlanEntry:
    return _entry(_scan(lines, boxed=True)[1][0])


def _line(title: str) -> str:
    return _escape([_shown(title).replace("\n", " ")])[0]


def _box(status: str) -> str:
    if status in _BOXES:
        return _BOXES[status]
    return status[1] if len(status) == 2 and _OWN_MARK.match(status) and status[1].isprintable() else " "


def _shown(text: str) -> str:
    """What of a text can stand in a Markdown file: no blanks at the ends of lines, nor empty lines around."""
    text = re.sub("[\x00\ud800-\udfff]", "\ufffd", "\n".join(_lines(text)))
    return re.sub("[ \t]+$", "", text, flags=re.MULTILINE).strip("\n").lstrip(" \t")


def _comment(values: dict[str, Any]) -> str:
    if not values:
        return ""
    text = json.dumps(values).replace("<", "\\u003c").replace(">", "\\u003e").replace("--", "-\\u002d")
    return f" <!-- {text} -->"


# -- characters that would be markup ---------------------------------------------------------------------

_CODE = r"(?<![\\`])(?P<ticks>`+)(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`)"
_TAG = r"(?P<slashes>\\*)<(?=[A-Za-z/!?])"
_ESCAPED_TAG = r"(?<!\\)(?P<slashes>(?:\\\\)*)\\<(?=[A-Za-z/!?])"
# Below an item's first line: what would be a task, or would make a heading or a table of the line above.
_MARKUP = re.compile(
    rf"([ \t]*(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]+(?=\\*{_BOX})|(?=\\*[=|:-][=|:\- \t]*$)))(\\*)"
)


def _escape(lines: list[str]) -> list[str]:
    """Lines of text as lines of Markdown: no HTML outside of code, no tasks within the task."""
    first, *rest = _outside_code(_TAG, "\n".join(lines), lambda slashes: slashes * 2 + "\\<").split("\n")
    return [first, *(_MARKUP.sub(lambda match: f"{match[1]}\\{match[3]}", line, count=1) for line in rest)]


def _unescape(lines: list[str]) -> str:
    first, *rest = lines
    rest = [_MARKUP.sub(lambda match: match[1] + match[3][1:], line, count=1) for line in rest]
    return _outside_code(_ESCAPED_TAG, "\n".join([first, *rest]), lambda slashes: slashes[::2] + "<")


def _outside_code(pattern: str, text: str, change: Callable[[str], str]) -> str:
    """Replace where no code span is. If some backtick has no partner on its line, nothing counts as code."""
    if "`" in re.sub(_CODE, "", text):
        return re.sub(pattern, lambda match: change(match["slashes"]), text)
    return re.sub(f"{_CODE}|{pattern}", lambda m: m[0] if m["ticks"] else change(m["slashes"]), text)
