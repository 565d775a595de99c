"""A plan's history as parts: the slider, who did what when, and what changed, said at each entry."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ..plan import Author, Change, Plan, PlanEntry, PlanHistory, Revision
from ..plan.changes import Move
from ..session.state import SessionState
from .html import Html, tag
from .parts import Part
from .values import count

#: Most lines of a change that are shown.
LINES = 12
#: Who made a revision, in words; `person` is the reader, as elsewhere in a view.
AUTHORS: dict[Author, str] = {
    "model": "the model",
    "person": "you",
    "file": "a file",
    "tool": "a tool",
    "host": "the host",
    "replay": "a recording",
}


def history_part(history: PlanHistory, key: str, slot: str, number: int) -> Part:
    """The slider, and below it the revision that it stands on."""
    revision = history[number - 1]
    place, about = f"Revision {number} of {len(history)}", _circumstances(revision)
    slider = tag(
        "input",
        type="range",
        name="revision",
        min=1,
        max=len(history),
        value=number,
        aria_label="Revision",
        aria_valuetext=f"{place}, {about}",
    )
    said = tag("p", tag("b", place), f" · {about}", class_="acp-num")
    return Part(key, slot, tag("div", slider, said, _lines(revision), class_="acp-history"))


def looking_part(history: PlanHistory, key: str, slot: str, number: int, editable: bool) -> Part:
    """What stands above a plan as it was: that it is one, and the ways back."""
    actions = [("restore", "Restore this")] * editable + [("now", "Back to now")]
    buttons = [
        tag("button", label, type="button", class_="acp-btn", data_action=action) for action, label in actions
    ]
    said = f"The plan as it was at revision {number} of {len(history)}; it cannot be edited here."
    return Part(key, slot, tag("div", tag("span", said), *buttons, class_="acp-looking", role="status"))


def _circumstances(revision: Revision) -> str:
    facts = [
        AUTHORS[revision.author],
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(revision.at)),
        None if revision.turn is None else f"turn {revision.turn}",
        None if revision.undoes is None else f"undid revision {revision.undoes}",
    ]
    return " · ".join(filter(None, facts))


def _lines(revision: Revision) -> Html:
    lines = revision.change.lines() if not revision.removed else []
    return change_lines(lines or [revision.summary])


def change_lines(lines: list[str]) -> Html:
    """What changed as a list, the first lines of it."""
    shown = [tag("li", tag("bdi", line, dir="ltr")) for line in lines[:LINES]]
    if len(lines) > LINES:
        shown.append(tag("li", f"and {len(lines) - LINES:,} more", class_="acp-quiet"))
    return tag("ul", *shown)


def changes_said(change: Change, plan: Plan) -> dict[int, str]:
    """What a change has done to entries of `plan`, the plan after it, by 1-based number.

    Nothing where it has made all of them. Of a change between two plans, hunks stand in order, so that their
    positions are those of the plan after it.
    """
    said: dict[int, str] = {}
    for hunk in change.hunks:
        if isinstance(hunk, Move):
            said[hunk.to + 1] = f"moved from {hunk.start + 1}"
        elif len(hunk.old) == len(hunk.new):
            for number, (old, new) in enumerate(zip(hunk.old, hunk.new, strict=True), hunk.start + 1):
                if old != new:
                    said[number] = ", ".join(_differences(old, new))
        else:
            said |= {hunk.start + n: "added" for n in range(1, len(hunk.new) + 1)}
    return {} if len(said) == len(plan) and set(said.values()) == {"added"} else said


def _differences(old: PlanEntry, new: PlanEntry) -> Iterator[str]:
    if old.content != new.content:
        yield "reworded"
    if old.status != new.status:
        yield f"was {old.status}"
    if old.priority != new.priority:
        yield f"was {old.priority} priority"
    if (old.content, old.status, old.priority) == (new.content, new.status, new.priority):
        yield "changed"


def left_in_progress(history: PlanHistory) -> int | None:
    """The number of the turn that ended with steps in progress, as long as one of them still is.

    For a session that is idle: the turn is the last one in which the plan changed.
    """
    plan = history.plan
    if history.removed or plan.current is None:
        return None
    last = next((revision for revision in reversed(history) if revision.turn is not None), None)
    if last is None:
        return None
    for number, entry in enumerate(history.plan_at(last.number), 1):
        if entry.status == "in_progress":
            now = history.follow(number, last.number)
            if now is not None and plan[now - 1].status == "in_progress":
                return last.turn
    return None


def removed_plans(state: SessionState) -> Html | None:
    """One line with the plans that were removed and can be brought back."""
    found: list[Html] = []
    for plan_id, history in state.history.items():
        if history.removed and history.plan:
            name = tag("bdi", history.plan.title or plan_id)
            steps = f" ({count(len(history.plan), 'step')}) " if history.plan.entries else " "
            restore = tag(
                "button",
                "Restore",
                type="button",
                class_="acp-btn acp-bare",
                data_action="restore",
                data_plan=plan_id,
                data_revision=len(history),
                aria_label=f"Restore the plan {history.plan.title or plan_id}",
            )
            found.append(tag("span", name, steps, restore))
    return tag("p", "Removed plans: ", *found, class_="acp-removed acp-quiet") if found else None
