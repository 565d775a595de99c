"""Plans as a Mermaid flowchart: a box for each entry, one after the other; several plans side by side.

JupyterLab, Notebook and GitHub draw it in a Markdown block of the language `mermaid`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from ..text import plain
from .display import body, mark, progress, title, words
from .model import Plan, PlanEntry

#: Status → the brackets that give a box its shape: rectangle, stadium, double sides, hexagon; else slanted.
_SHAPES = {
    "pending": ("[", "]"),
    "in_progress": ("([", "])"),
    "completed": ("[[", "]]"),
    "cancelled": ("{{", "}}"),
}
_OTHER_SHAPE = ("[/", "/]")
#: Outlines, besides shape and words. Colours are left to the theme of the page.
_CLASSES = {"in_progress": "stroke-width:3px", "cancelled": "stroke-dasharray:5 4"}
#: Longest text of a box, in characters: Mermaid draws a long one as a wall of words.
LONGEST = 160
#: What could be markup of Mermaid, Markdown or HTML: all of ASCII but what texts have in plenty.
_MARKUP = re.compile(r"[!-~](?<![\w,?!:'()/+=.])|_|(?<=\d)\.")


def write(plans: Sequence[Plan]) -> str:
    """The source of a flowchart. Status and priority are in words; no text can be taken for markup."""
    lines = ["flowchart TD"]
    if len(plans) == 1:
        lines = ["---", f"title: {json.dumps(plain(_head(plans[0])), ensure_ascii=False)}", "---", *lines]
        lines += [f"  {line}" for line in _chart(plans[0], "s")]
    else:
        for number, plan in enumerate(plans, 1):
            lines += [f'  subgraph p{number}["{_label(_head(plan))}"]', "    direction TB"]
            lines += [*(f"    {line}" for line in _chart(plan, f"p{number}s")), "  end"]
    return "\n".join([*lines, *(f"  classDef {name} {look}" for name, look in _CLASSES.items())]) + "\n"


def _head(plan: Plan) -> str:
    head = title(plan).replace("\n", " ")
    return f"{head} · {progress(plan)}" if plan.entries else head


def _chart(plan: Plan, name: str) -> Iterator[str]:
    if not plan.entries:
        yield f'{name}0["{_label(body(plan))}"]'
    for number, entry in enumerate(plan, 1):
        yield f"{name}{number}{_box(number, entry)}"
    if len(plan) > 1:
        yield " --> ".join(f"{name}{number}" for number in range(1, len(plan) + 1))


def _box(number: int, entry: PlanEntry) -> str:
    opened, closed = _SHAPES.get(entry.status, _OTHER_SHAPE)
    label = f"{_label(f'{mark(entry)} {number} · {entry.content}')}<br>({_label(words(entry))})"
    style = f":::{entry.status}" if entry.status in _CLASSES else ""
    return f'{opened}"{label}"{closed}{style}'


def _label(text: str) -> str:
    text = plain(text)
    if len(text) > LONGEST:
        text = text[:LONGEST] + "…"
    # A long word has places to break at, or its box is as wide as it.
    text = re.sub(r"\S{24}(?=\S)", "\\g<0>\u200b", text)
    return _MARKUP.sub(lambda match: f"#{ord(match[0])};", text).replace("\n", "<br>")
