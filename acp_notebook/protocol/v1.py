"""Session updates of ACP v1 as JSON values: as those of v2, but for what plans can say.

A client has one plan, of entries only, unless it sent `clientCapabilities.plan`. Statuses and priorities are
closed sets: what is not in them is written as the ordinary value, never as `completed`, and `_meta` carries
the real one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import PlanError
from ..plan import PRIORITIES, Plan, PlanEntry
from . import v2
from .messages import PlanRemoved, PlanUpdate, Update
from .plans import OWN, meta_member, split_meta, write_entry

STATUSES = ("pending", "in_progress", "completed")


def read(params: Any) -> tuple[Update, ...]:
    """The update in the `params` of a `session/update`, and the faults in it. Never raises."""
    return tuple(
        replace(update, plan=_real(update.plan)) if isinstance(update, PlanUpdate) else update
        for update in v2.read(params)
    )


class Writer:
    """Writes plan updates for one client; `plans`: it sent `clientCapabilities.plan`.

    A client without that has one plan. It is shown the one that changed last, of those that are left.
    """

    def __init__(self, plans: bool) -> None:
        self._several = plans
        self._plans: dict[str, PlanUpdate] = {}
        self._shown: str | None = None

    def write(self, update: PlanUpdate | PlanRemoved) -> dict[str, Any] | None:
        """The `update` member of a `session/update`, None when there is nothing to tell this client."""
        if self._several:
            return v2.write(
                replace(update, plan=_closed(update.plan)) if isinstance(update, PlanUpdate) else update
            )
        if isinstance(update, PlanUpdate):
            self._shown = update.plan.plan_id
            self._plans[self._shown] = update
            return _only(update)
        if self._plans.pop(update.plan_id, None) is None or update.plan_id != self._shown:
            return None
        self._shown = next(reversed(self._plans), None)
        return _only(PlanUpdate(Plan()) if self._shown is None else self._plans[self._shown])


def _only(update: PlanUpdate) -> dict[str, Any]:
    """The update of a client's only plan, which is made of entries."""
    plan, raw = update.plan, update.raw or {}
    own = v2.authorship(update.author, update.undoes)
    # Two objects become one: what said nothing in its place must not say something now.
    _, outer = split_meta(raw.get("_meta"), title=str)
    _, meta = v2.read_authorship(plan.meta, author=str, undoes=int)
    if outer is not None:
        meta = {**outer, **(meta or {})}
    return {
        **{name: member for name, member in raw.items() if name != "_meta"},
        **((plan.raw or {}) if plan.type == "items" else {}),
        "sessionUpdate": "plan",
        "entries": [write_entry(_stand_in(entry)) for entry in _readable(plan)],
        **meta_member(meta, title=plan.title, **own),
    }


def _closed(plan: Plan) -> Plan:
    """A plan of the types that v1 knows, with the statuses and priorities that it knows."""
    if plan.type in ("markdown", "file"):
        return plan
    entries = tuple(map(_stand_in, _readable(plan)))
    return replace(plan, type="items", entries=entries, raw=plan.raw if plan.type == "items" else None)


def _readable(plan: Plan) -> tuple[PlanEntry, ...]:
    """The entries that say best what a plan says."""
    if plan.entries or plan.type == "items":
        return plan.entries
    if plan.content and plan.content.strip():
        try:
            return Plan.parse(plan.content, "md").entries
        except PlanError:
            return (PlanEntry(plan.content.strip()),)
    if plan.uri:
        return (PlanEntry(f"The plan is kept in {plan.uri}"),)
    return () if plan.type == "markdown" else (PlanEntry(f"A plan of type {plan.type}"),)


def _stand_in(entry: PlanEntry) -> PlanEntry:
    status = entry.status if entry.status in STATUSES else "pending"
    priority = entry.priority if entry.priority in PRIORITIES else "medium"
    if status is entry.status and priority is entry.priority:
        return entry
    real = {
        "status": None if status is entry.status else entry.status,
        "priority": None if priority is entry.priority else entry.priority,
    }
    return replace(entry, status=status, priority=priority, meta=meta_member(entry.meta, **real)["_meta"])


def _real(plan: Plan) -> Plan:
    if not any(entry.meta for entry in plan.entries):
        return plan
    return replace(plan, entries=tuple(_real_entry(entry) for entry in plan.entries))


def _real_entry(entry: PlanEntry) -> PlanEntry:
    """The entry that a stand-in stands for, unless somebody on the way has changed it."""
    fields: dict[str, Any] = {}
    for name, stand_in, known in (("status", "pending", STATUSES), ("priority", "medium", PRIORITIES)):
        real = (entry.meta or {}).get(OWN + name)
        if getattr(entry, name) == stand_in and isinstance(real, str) and real not in known:
            fields[name] = real
    if not fields:
        return entry
    _, meta = split_meta(entry.meta, **dict.fromkeys(fields, str))
    return replace(entry, meta=meta, **fields)
