"""Plans as a Mermaid flowchart: a box for each entry, one after the other; several plans side by side.

In the plan of a run an arrow leads from a step to each that takes what it returned.

JupyterLab, Notebook and GitHub draw it in a Markdown block of the language `mermaid`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from ..text import plain
from .display import body, mark, progress, title, words
from .model import Plan, PlanEntry
from .runs import DENIED, FAILED, SKIPPED, run_of, step_of

#: Status → the brackets that give a box its shape: rectangle, stadium, double sides, hexagon; else slanted.
_SHAPES = {
    "pending": ("[", "]"),
    "in_progress": ("([", "])"),
    "completed": ("[[", "]]"),
    "cancelled": ("{{", "}}"),
    SKIPPED: ("{{", "}}"),
}
_OTHER_SHAPE = ("[/", "/]")
#: Outlines, besides shape and words. Colours are left to the theme of the page.
_CLASSES = {
    "in_progress": "stroke-width:3px",
    "cancelled": "stroke-dasharray:5 4",
    FAILED: "stroke-width:3px,stroke-dasharray:2 3",
    DENIED: "stroke-width:3px,stroke-dasharray:2 3",
    SKIPPED: "stroke-dasharray:5 4",
}
#: What Mermaid draws unless a page says otherwise: `maxEdges` is 500, and `maxTextSize` 50,000 characters.
EDGES, ROOM = 450, 45_000
#: Longest text of a box, in characters: Mermaid draws a long one as a wall of words.
LONGEST = 160
#: What could be markup of Mermaid, Markdown or HTML: all of ASCII but what texts have in plenty.
_MARKUP = re.compile(r"[!-~](?<![\w,?!:'()/+=.])|_|(?<=\d)\.")


def write(plans: Sequence[Plan]) -> str:
    """The source of a flowchart. Status and priority are in words; no text can be taken for markup.

    Of plans that are longer than what Mermaid draws, the steps around the current one are shown, and how many
    there are besides.
    """
    lines = ["flowchart TD"]
    share = max(1, len(plans))
    if len(plans) == 1:
        head = json.dumps(_cut(plain(_head(plans[0]))), ensure_ascii=False)
        lines = ["---", f"title: {head}", "---", *lines]
        lines += [f"  {line}" for line in _chart(plans[0], "s", share)]
    else:
        for number, plan in enumerate(plans, 1):
            lines += [f'  subgraph p{number}["{_label(_head(plan))}"]', "    direction TB"]
            lines += [*(f"    {line}" for line in _chart(plan, f"p{number}s", share)), "  end"]
    statuses = {entry.status for plan in plans for entry in plan}
    used = [name for name in _CLASSES if name in statuses or not name.startswith("_")]
    return "\n".join([*lines, *(f"  classDef {_class(name)} {_CLASSES[name]}" for name in used)]) + "\n"


def _head(plan: Plan) -> str:
    head = title(plan).replace("\n", " ")
    return f"{head} · {progress(plan)}" if plan.entries else head


def _chart(plan: Plan, name: str, share: int) -> Iterator[str]:
    """The boxes of a plan and the line through them, in its part of the diagram: one of `share`."""
    if not plan.entries:
        yield f'{name}0["{_label(body(plan))}"]'
    boxes = {number: _box(number, entry) for number, entry in enumerate(plan, 1)}
    first, last = _drawn(boxes, plan.current or 1, EDGES // share, ROOM // share)
    drawn = {number: boxes[number] for number in range(first, last + 1)}
    for number, missing in ((first - 1, first - 1), (last + 1, len(plan) - last)):
        if missing > 0:
            drawn[number] = f'["{missing} more"]'
    for number, box in sorted(drawn.items()):
        yield f"{name}{number}{box}"
    if run_of(plan) is not None:
        yield from _flow(plan, name, range(first, last + 1), EDGES // share)
    elif len(drawn) > 1:
        yield " --> ".join(f"{name}{number}" for number in sorted(drawn))


def _flow(plan: Plan, name: str, drawn: range, most: int) -> Iterator[str]:
    """The arrows between the steps of a run that are drawn: from each to those that refer to it."""
    numbers = {entry.id: number for number, entry in enumerate(plan, 1) if number in drawn}
    arrows = (
        f"{name}{numbers[used]} --> {name}{number}"
        for number in drawn
        if (facts := step_of(plan[number - 1])) is not None
        for used in facts.uses
        if used in numbers
    )
    yield from islice(arrows, most)


def _drawn(boxes: Mapping[int, str], current: int, most: int, room: int) -> tuple[int, int]:
    """From which number to which there is room for boxes: from the current one outward."""
    first, last = current, current - 1
    more = True
    while more and last - first < most:
        more = False
        for number in (last + 1, first - 1):
            cost = len(boxes.get(number, "")) + 30  # with its two names, and the arrow between them
            if number in boxes and (cost <= room or last < first):
                first, last = min(first, number), max(last, number)
                room -= cost
                more = True
    return first, last


def _box(number: int, entry: PlanEntry) -> str:
    opened, closed = _SHAPES.get(entry.status, _OTHER_SHAPE)
    label = f"{_label(f'{mark(entry)} {number} · {entry.content}')}<br>({_label(words(entry))})"
    style = f":::{_class(entry.status)}" if entry.status in _CLASSES else ""
    return f'{opened}"{label}"{closed}{style}'


def _class(status: str) -> str:
    return status.strip("_")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def _label(text: str) -> str:
    text = _cut(plain(text))
    # A long word has places to break at, or its box is as wide as it.
    text = re.sub(r"\S{24}(?=\S)", "\\g<0>\u200b", text)
    return _MARKUP.sub(lambda match: f"#{ord(match[0])};", text).replace("\n", "<br>")
