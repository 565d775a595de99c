"""How a plan shows itself without a view: as plain text and as HTML that needs no styles."""

from __future__ import annotations

import json
from html import escape

from ..text import plain
from .model import Plan, PlanEntry

#: Status → box in text, mark in HTML, words.
_STATUSES = {
    "pending": ("[ ]", "○", "pending"),
    "in_progress": ("[/]", "▸", "in progress"),
    "completed": ("[x]", "✓", "completed"),
    "cancelled": ("[-]", "–", "cancelled"),
}


def as_text(plan: Plan) -> str:
    """The plan for a terminal: a line of title and progress, then one numbered item an entry."""
    lines = [f"{plain(_title(plan))} · {_progress(plan)}" if plan.entries else plain(_title(plan))]
    for number, entry in enumerate(plan, 1):
        box, _, words = _words(entry)
        # The box says pending and completed to everyone.
        said = "" if words in ("pending", "completed") else f" ({words})"
        content = plain(entry.content).replace("\n", "\n" + " " * 9)
        lines.append(f"{number:3}. {box} {content}{plain(said)}")
    if not plan.entries:
        lines.append(plain(_body(plan)))
    return "\n".join(lines)


def as_html(plan: Plan) -> str:
    """The plan as an HTML section; nothing is said by colour or place alone, and all text is escaped."""
    head = f'<h3><span dir="auto">{_html(_title(plan))}</span>'
    if not plan.entries:
        return f'<section>{head}</h3><pre dir="auto">{escape(plain(_body(plan)))}</pre></section>'
    items = "".join(_item(entry) for entry in plan)
    return f"<section>{head} <small>{_progress(plan)}</small></h3><ol>{items}</ol></section>"


def _item(entry: PlanEntry) -> str:
    _, mark, words = _words(entry)
    content = f'<span dir="auto">{_html(entry.content)}</span> <small dir="auto">({_html(words)})</small>'
    return f'<li><span aria-hidden="true">{mark}</span> {content}</li>'


def _html(text: str) -> str:
    return escape(plain(text)).replace("\n", "<br>")


def _words(entry: PlanEntry) -> tuple[str, str, str]:
    """Box, mark, and status with priority in words; pending and medium are the ordinary case."""
    box, mark, words = _STATUSES.get(entry.status, ("[?]", "◇", entry.status))
    return box, mark, words if entry.priority == "medium" else f"{words}, {entry.priority} priority"


def _title(plan: Plan) -> str:
    return plan.title or "Plan"


def _progress(plan: Plan) -> str:
    done, total = plan.progress
    cancelled = sum(entry.status == "cancelled" for entry in plan)
    return f"{done} of {total} done" + (f" · {cancelled} cancelled" if cancelled else "")


def _body(plan: Plan) -> str:
    """What stands for a plan without entries."""
    if plan.content or plan.uri:
        return plan.content or f"The plan is kept in {plan.uri}"
    if plan.raw:
        return f"A plan of type {plan.type!r}:\n" + json.dumps(
            plan.raw, indent=2, ensure_ascii=False, default=str
        )
    return "No steps yet."
