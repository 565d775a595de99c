"""Edits of a plan, as values: the same ones whether the model, a person, a magic or a file makes them.

Entry numbers are 1-based everywhere, as in the tools that the model sees.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..errors import PlanError, PlanIndexError
from .model import PRIORITIES, STATUSES, Plan, PlanEntry


def _checked(value: str, known: tuple[str, ...], what: str) -> str:
    """ACP: custom values begin with `_`; other unknown ones are reserved and must not be minted."""
    if value not in known and not value.startswith("_"):
        raise PlanError(
            f"{value!r} is not a {what}: use {', '.join(known)} or a name of your own that begins with '_'"
        )
    return value


def _position(index: int, plan: Plan) -> int:
    if not 1 <= index <= len(plan.entries):
        raise PlanIndexError(index, len(plan.entries))
    return index - 1


@dataclass(frozen=True, slots=True)
class SetPlan:
    """Replace the whole plan. The plan's own id is kept as given in `plan`."""

    plan: Plan

    def apply(self, plan: Plan) -> Plan:
        return replace(self.plan, plan_id=plan.plan_id)


@dataclass(frozen=True, slots=True)
class AddEntry:
    """Insert an entry, by default at the end; `at` is the number it will have."""

    content: str
    priority: str = "medium"
    status: str = "pending"
    at: int | None = None

    def apply(self, plan: Plan) -> Plan:
        if not self.content.strip():
            raise PlanError("an entry needs some text")
        count = len(plan.entries)
        at = count + 1 if self.at is None else self.at
        if not 1 <= at <= count + 1:
            raise PlanError(f"an entry cannot be inserted at {at!r}: use 1 to {count + 1}")
        entry = PlanEntry(
            self.content,
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
        if self.content is not None and not self.content.strip():
            raise PlanError("an entry needs some text; remove it instead")
        changed = replace(
            entry,
            content=entry.content if self.content is None else self.content,
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
