"""Edits of a plan, as values: the same ones whether the model, a person, a magic or a file makes them.

Entry numbers are 1-based everywhere, as in the tools that the model sees.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

from ..errors import PlanError, PlanIndexError
from .model import PRIORITIES, STATUSES, Plan, PlanEntry
from .objects import REQUIRED


def _checked(value: str, known: tuple[str, ...], what: str) -> str:
    """ACP: custom values begin with `_`; other unknown ones are reserved and must not be minted."""
    if not is_text(value) or (value not in known and not value.startswith("_")):
        raise PlanError(
            f"{value!r} is not a {what}: use {', '.join(known)} or a name of your own that begins with '_'"
        )
    return value


def is_number(value: Any) -> bool:
    """Whether a value, which came from anywhere, is a whole number: an `int`, or one of numpy's."""
    return hasattr(value, "__index__")


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def _said(content: str) -> str:
    """The text of an entry."""
    if not is_text(content):
        raise PlanError(f"the text of an entry cannot be {content!r}: use a str")
    if not content.strip():
        raise PlanError("an entry needs some text; to take it out, remove it instead")
    return content


def _position(index: int, plan: Plan) -> int:
    if not is_number(index) or not 1 <= index <= len(plan.entries):
        raise PlanIndexError(index, len(plan.entries))
    return index - 1


def _whole(plan: Plan) -> Plan:
    """The plan, which may have come from anywhere, when it is one: what cannot be shown must not get in."""
    for name in ("type", "title", "content", "uri"):
        value = getattr(plan, name)
        if value is None:
            if REQUIRED.get(plan.type) == name or name == "type":
                raise PlanError(f"a plan of type {plan.type!r} needs {name!r}")
        elif not is_text(value):
            raise PlanError(f"the {name} of a plan cannot be {value!r}: use a str")
    for entry in plan.entries:
        if not isinstance(cast(Any, entry), PlanEntry) or not (
            is_text(entry.content) and is_text(entry.priority) and is_text(entry.status)
        ):
            raise PlanError(f"{entry!r} is not an entry of a plan: use PlanEntry with texts")
    return plan


@dataclass(frozen=True, slots=True)
class SetPlan:
    """Replace the whole plan. The plan's own id is kept as given in `plan`."""

    plan: Plan

    def apply(self, plan: Plan) -> Plan:
        return replace(_whole(self.plan), plan_id=plan.plan_id, entries=tuple(self.plan.entries))


@dataclass(frozen=True, slots=True)
class AddEntry:
    """Insert an entry, by default at the end; `at` is the number it will have."""

    content: str
    priority: str = "medium"
    status: str = "pending"
    at: int | None = None

    def apply(self, plan: Plan) -> Plan:
        count = len(plan.entries)
        at = count + 1 if self.at is None else self.at
        if not is_number(at) or not 1 <= at <= count + 1:
            raise PlanError(f"an entry cannot be inserted at {at!r}: use 1 to {count + 1}")
        entry = PlanEntry(
            _said(self.content),
            _checked(self.priority, PRIORITIES, "priority"),
            _checked(self.status, STATUSES, "status"),
        )
        return replace(plan, entries=(*plan.entries[: at - 1], entry, *plan.entries[at - 1 :]))


@dataclass(frozen=True, slots=True)
class UpdateEntry:
    """Change an entry; what is None stays as it is."""

    index: int
    content: str | None = None
    status: str | None = None
    priority: str | None = None

    def apply(self, plan: Plan) -> Plan:
        at = _position(self.index, plan)
        entry = plan.entries[at]
        changed = replace(
            entry,
            content=entry.content if self.content is None else _said(self.content),
            status=entry.status if self.status is None else _checked(self.status, STATUSES, "status"),
            priority=entry.priority
            if self.priority is None
            else _checked(self.priority, PRIORITIES, "priority"),
        )
        return replace(plan, entries=(*plan.entries[:at], changed, *plan.entries[at + 1 :]))


@dataclass(frozen=True, slots=True)
class MoveEntry:
    """Move an entry so that it has the number `to`."""

    index: int
    to: int

    def apply(self, plan: Plan) -> Plan:
        at, to = _position(self.index, plan), _position(self.to, plan)
        entries = list(plan.entries)
        entries.insert(to, entries.pop(at))
        return replace(plan, entries=tuple(entries))


@dataclass(frozen=True, slots=True)
class RemoveEntry:
    """Take an entry out."""

    index: int

    def apply(self, plan: Plan) -> Plan:
        at = _position(self.index, plan)
        return replace(plan, entries=plan.entries[:at] + plan.entries[at + 1 :])


@dataclass(frozen=True, slots=True)
class ClearEntries:
    """Empty the plan; it keeps its id and title."""

    def apply(self, plan: Plan) -> Plan:
        return Plan(plan_id=plan.plan_id, title=plan.title)


PlanEdit = SetPlan | AddEntry | UpdateEntry | MoveEntry | RemoveEntry | ClearEntries


def apply_edits(plan: Plan, edits: Iterable[PlanEdit]) -> Plan:
    """Apply edits in order, all or none: an edit that cannot be applied raises and changes nothing.

    Only plans made of entries can be edited entry by entry; `PlanError` says so for the others.
    """
    for edit in edits:
        if plan.type != "items" and not isinstance(edit, SetPlan | ClearEntries):
            raise PlanError(f"a plan of type {plan.type!r} has no entries to edit: set a new plan instead")
        plan = edit.apply(plan)
    return plan
