"""Plans as Markdown task lists, as people and coding agents write them.

Inline Markdown is kept as it is. Writing makes each entry one list item that looks right in any viewer. What
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
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from .markup import escape, one_line, shown, split, unescape
from .model import Plan, PlanEntry
from .objects import FIELDS, from_value, json_text, to_value
from .task_list import EMPTY, GLYPHS, Item, column, comments, document, front_matter, scan

#: Box → status. Other characters in a box are somebody's custom status: `[!]` is `_!`.
MARKS = {
    **dict.fromkeys(["", " "], "pending"),
    **dict.fromkeys("xX✓✔☑✅", "completed"),
    **dict.fromkeys("/~>", "in_progress"),
    "-": "cancelled",
}
_OWN_MARK = re.compile(r"_[^\[\]\d\s`<\\\ufe0f" + re.escape("".join(MARKS) + "".join(GLYPHS)) + "]")
_BOXES = {"pending": " ", "completed": "x", "in_progress": "/", "cancelled": "-"}


def parse(text: str) -> tuple[Plan, ...]:
    """The plans in a Markdown text, nearly always one; several where `write` wrote several.

    A plan is its task list items in order, nested ones too, each with its whole text. Without a single box,
    every top-level list item is a pending entry. The title is the first-level heading, if there is exactly
    one before the first entry. Where the front matter has `todos:`, as in Cursor's plan files, those are the
    entries and nothing else. Raises `PlanError` when there is no list.
    """
    if (front := front_plan(text)) is not None:
        return (front,)
    if len(plans := _several(text)) > 1:
        return plans
    found = document(text)
    title = heading(found.lines[found.titles[0]]) if len(found.titles) == 1 else None
    return (Plan(tuple(map(entry, found.items)), title=title),)


def write(plans: Sequence[Plan]) -> str:
    """Plans as a Markdown text, from which `parse` gets the same titles and entries (without their `meta`).

    A Markdown plan is written as it is. With several, the heading of each has its id in a comment.
    """
    if len(plans) != 1:
        return "\n".join(map(_part, plans))
    (plan,) = plans
    if plan.content and not plan.entries:
        return plan.content
    head = [] if plan.title is None else [write_heading(plan.title), ""]
    return "\n".join([*head, *_body(plan)]) + "\n"


# -- reading ---------------------------------------------------------------------------------------------


def front_plan(text: str) -> Plan | None:
    """The plan that a Cursor plan file has in its front matter."""
    lines = split(text)
    front = lines[: front_matter(lines)]
    if not any(line.startswith("todos:") for line in front):
        return None
    from . import yaml

    return yaml.front_plan("\n".join(["", *front[1:-1]]))


def entry(item: Item) -> PlanEntry:
    """The entry that an item stands for."""
    first, _, said = comments(item.lines[0])
    # Text that hangs below its item is set back by as much as its leftmost line.
    hang = item.hang
    lines = [line[hang:] if 0 < hang <= column(line) else line.lstrip(" ") for line in item.lines[1:]]
    content = unescape([first, *lines])
    status = mark_status(item.mark)
    exact, unboxed, priority, own = (said.get(name) for name in ("content", "status", "priority", "id"))
    # The exact text counts as long as the item shows it, and a status as long as the box is empty.
    return PlanEntry(
        exact if isinstance(exact, str) and read(item_lines(" ", exact)).content == content else content,
        priority if isinstance(priority, str) else "medium",
        unboxed if isinstance(unboxed, str) and status == "pending" else status,
        own if isinstance(own, str) else None,
    )


def read(lines: Sequence[str]) -> PlanEntry:
    """The entry that these lines stand for, which `item_lines` made."""
    return entry(scan(lines)[1][0])


def mark_status(mark: str) -> str:
    """The status that the mark in a box stands for."""
    mark = mark.removesuffix("\ufe0f")
    return MARKS.get(mark.strip()) or GLYPHS.get(mark) or f"_{mark}"


def heading(line: str) -> str:
    """The title that a first-level heading shows."""
    text, _, said = comments(line.strip(" \t").removeprefix("#").strip(" \t"))
    title = unescape([re.sub(r"(?:^|[ \t]+)#+$", "", text)])
    exact = said.get("title")
    return exact if isinstance(exact, str) and heading(f"# {one_line(exact)}") == title else title


# -- writing ---------------------------------------------------------------------------------------------


def write_entry(entry: PlanEntry) -> list[str]:
    """The lines of an entry."""
    first, *rest = lines = item_lines(box(entry.status), entry.content)
    return [first + comment(missed(entry, read(lines))), *rest]


def item_lines(box: str, content: str) -> list[str]:
    """The lines of a list item."""
    first, *rest = escape(shown(content).split("\n"))
    return [f"- [{box}] {first}".rstrip(" "), *(line and f"  {line}" for line in rest)]


def box(status: str) -> str:
    """The mark for a status; a blank for those that no box says."""
    if status in _BOXES:
        return _BOXES[status]
    return status[1] if len(status) == 2 and _OWN_MARK.match(status) and status[1].isprintable() else " "


def missed(entry: PlanEntry, read: PlanEntry) -> dict[str, Any]:
    """What of an entry its item, which is read as `read`, does not say."""
    return {name: getattr(entry, name) for name in FIELDS if getattr(entry, name) != getattr(read, name)}


def comment(values: dict[str, Any]) -> str:
    """The comment that says these values, with a blank before it."""
    if not values:
        return ""
    text = json_text(values, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e")
    return " <!-- " + text.replace("--", "-\\u002d") + " -->"


def write_heading(title: str) -> str:
    """A title as a first-level heading."""
    line = f"# {one_line(title)}".rstrip(" ")
    return line + comment({} if heading(line) == title else {"title": title})


def _body(plan: Plan) -> list[str]:
    if plan.entries:
        return [line for entry in plan.entries for line in write_entry(entry)]
    if plan.uri:
        return [one_line(f"The plan is kept in {plan.uri}")]
    if plan.raw:
        return ["```json", json.dumps(plan.raw, indent=2, default=str), "```"]
    return [EMPTY]


# -- several plans ---------------------------------------------------------------------------------------


def _part(plan: Plan) -> str:
    """One plan of several: a heading that has in a comment what else the plan is, and its body."""
    line = f"# {one_line(plan.plan_id if plan.title is None else plan.title)}".rstrip(" ")
    said: dict[str, Any] = {"planId": plan.plan_id}
    if heading(line) != plan.title:
        said["title"] = plan.title
    body = _body(plan)
    if plan.type != "items":
        said = {name: value for name, value in to_value(plan).items() if name != "title"} | said
        if plan.type == "markdown" and "\n".join(split(plan.content or "")) == plan.content:
            body = [said.pop("content")]
    return "\n".join([line + comment(said), "", *body]) + "\n"


def _several(text: str) -> tuple[Plan, ...]:
    """The plans that `_part` wrote."""
    lines = split(text)
    starts = [n for n, line in enumerate(lines) if line[:2] == "# " and "planId" in comments(line)[2]]
    ends = pairwise([*starts, len(lines)])
    return tuple(_read_part(lines[start], lines[start + 2 : end - 1]) for start, end in ends)


def _read_part(first: str, body: list[str]) -> Plan:
    said = comments(first)[2]
    plan_id = str(said["planId"])
    title: str | None = heading(first)
    if said.get("title", "") is None and title == heading(f"# {one_line(plan_id)}"):
        title = None
    if "type" in said:
        content = {"content": "\n".join(body)} if said["type"] == "markdown" else {}
        return replace(from_value(content | said), title=title)
    return Plan(tuple(map(entry, scan(body)[1])), plan_id, title=title)
