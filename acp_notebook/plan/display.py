"""How a plan shows itself without a view: as plain text and as HTML that needs no styles."""

from __future__ import annotations

import json
from collections import Counter
from html import escape

from ..text import plain
from .model import Plan, PlanEntry
from .runs import DENIED, FAILED, SKIPPED, step_of

#: Status → box in text, mark in HTML, words.
STATUSES = {
    "pending": ("[ ]", "○", "pending"),
    "in_progress": ("[/]", "▸", "in progress"),
    "completed": ("[x]", "✓", "completed"),
    "cancelled": ("[-]", "–", "cancelled"),
    FAILED: ("[!]", "✗", "failed"),
    SKIPPED: ("[-]", "–", "skipped"),
    DENIED: ("[!]", "✗", "denied"),
}
UNKNOWN_MARK = "◇"
#: How an entry ends that is not done: counted beside those that are.
UNDONE = ("cancelled", FAILED, DENIED, SKIPPED)


def as_text(plan: Plan) -> str:
    """The plan for a terminal: a line of title and progress, then one numbered item an entry."""
    lines = [f"{plain(title(plan))} · {progress(plan)}" if plan.entries else plain(title(plan))]
    for number, entry in enumerate(plan, 1):
        box, said = STATUSES.get(entry.status, ("[?]",))[0], words(entry)
        # The box says pending and completed to everyone.
        said = "" if said in ("pending", "completed") else f" ({said})"
        content = plain(entry.content).replace("\n", "\n" + " " * 9)
        lines.append(f"{number:3}. {box} {content}{plain(said)}")
        if came := outcome(entry):
            lines.append(" " * 9 + plain(came))
    if not plan.entries:
        lines.append(plain(body(plan)))
    return "\n".join(lines)


def as_html(plan: Plan) -> str:
    """The plan as an HTML section; nothing is said by colour or place alone, and all text is escaped."""
    head = f'<h3><span dir="auto">{_html(title(plan))}</span>'
    if not plan.entries:
        return f'<section>{head}</h3><pre dir="auto">{escape(plain(body(plan)))}</pre></section>'
    items = "".join(_item(entry) for entry in plan)
    return f"<section>{head} <small>{progress(plan)}</small></h3><ol>{items}</ol></section>"


def _item(entry: PlanEntry) -> str:
    content = (
        f'<span dir="auto">{_html(entry.content)}</span> <small dir="auto">({_html(words(entry))})</small>'
    )
    came = f"<br><small>{_html(said)}</small>" if (said := outcome(entry)) else ""
    return f'<li><span aria-hidden="true">{mark(entry)}</span> {content}{came}</li>'


def _html(text: str) -> str:
    return escape(plain(text)).replace("\n", "<br>")


def mark(entry: PlanEntry) -> str:
    """The sign for an entry's status."""
    return STATUSES[entry.status][1] if entry.status in STATUSES else UNKNOWN_MARK


def words(entry: PlanEntry) -> str:
    """Status and priority in words; medium is the ordinary case."""
    status = STATUSES[entry.status][2] if entry.status in STATUSES else entry.status
    return status if entry.priority == "medium" else f"{status}, {entry.priority} priority"


def title(plan: Plan) -> str:
    """What the plan is called."""
    return plan.title or "Plan"


def progress(plan: Plan) -> str:
    """How far the plan is: `2 of 6 done · 1 cancelled`."""
    statuses = Counter(entry.status for entry in plan)
    counts = [(statuses[status], STATUSES[status][2]) for status in UNDONE if statuses[status]]
    return " · ".join(["{} of {} done".format(*plan.progress), *(f"{n} {word}" for n, word in counts)])


def outcome(entry: PlanEntry) -> str | None:
    """What came of a step of a run, in a line: `→ {"id": "bk-42"}`, or why it failed."""
    if (facts := step_of(entry)) is None:
        return None
    found = facts.error if facts.result is None or facts.error else f"→ {facts.result}"
    return " · ".join(filter(None, [found, facts.note])) or None


def body(plan: Plan) -> str:
    """What stands for a plan without entries."""
    if plan.content or plan.uri:
        return plan.content or f"The plan is kept in {plan.uri}"
    if plan.raw:
        return f"A plan of type {plan.type!r}:\n" + json.dumps(
            plan.raw, indent=2, ensure_ascii=False, default=str
        )
    return "No steps yet."
