"""Plans as JSON values, in ACP's field names.

Reading takes what is found in files and logs: one plan object, a bare list of entries or strings, the todo
lists of coding agents, and any of them inside a `session/update`. What a plan or an entry has no field for is
kept in its `raw`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from ..errors import PlanError
from .model import Plan, PlanEntry

#: The plan types that are understood, each with the field that it cannot be without.
REQUIRED = {"items": "entries", "markdown": "content", "file": "uri"}
#: Member of the object → field of `Plan`; all hold text.
_TEXTS = {
    "planId": "plan_id",
    "plan_id": "plan_id",
    "type": "type",
    "title": "title",
    "content": "content",
    "uri": "uri",
}
#: Where a plan is found inside of something else: JSON-RPC, `session/update`, `plan_update`, todo tools.
WRAPPERS = ("params", "update", "plan", "todos", "tasks", "steps")
#: What an entry says, besides its `_meta`.
FIELDS = ("content", "status", "priority", "id")
#: What people and coding agents call the text of an entry.
CONTENTS = ("content", "step", "text", "task", "title", "description")
#: Where an object around a list of entries says what the list is called.
TITLES = ("title", "name")


def plans_from_value(value: Any) -> tuple[Plan, ...]:
    """The plans in a JSON value: those in a list of plan objects, or the one that `from_value` gives."""
    if isinstance(value, list) and value:
        values = cast("list[Any]", value)
        if all(isinstance(item, Mapping) and is_plan(cast("Mapping[str, Any]", item)) for item in values):
            return tuple(map(from_value, values))
    return (from_value(value),)


def from_value(value: Any) -> Plan:
    """The plan in a JSON value. Raises `PlanError` when there is none, or when an entry has no text."""
    found, title = _unwrapped(value)
    if isinstance(found, list):
        return Plan(entries(found), title=title)
    fields: dict[str, Any] = {}
    raw = dict(found)
    if raw.get("sessionUpdate") == "plan":  # the first version's plan is the update itself
        del raw["sessionUpdate"]
    for name, field in _TEXTS.items():
        if isinstance(raw.get(name), str):
            fields[field] = raw.pop(name)
    if (meta := _mapping(raw.get("_meta"))) is not None:
        fields["meta"] = meta
        del raw["_meta"]
    type = fields.get("type", "items")
    if type in REQUIRED:
        if isinstance(raw.get("entries"), list):
            fields["entries"] = entries(raw.pop("entries"))
        if REQUIRED[type] not in fields:
            raise PlanError(f"a plan of type {type!r} needs {REQUIRED[type]!r}")
    return Plan(**fields, raw={name: member for name, member in raw.items() if member is not None} or None)


def to_value(plan: Plan) -> dict[str, Any]:
    """The plan as an object that `from_value` reads back.

    Raises `PlanError` for a plan that its type does not allow.
    """
    if plan.type not in REQUIRED and plan.entries:
        raise PlanError(f"a plan of type {plan.type!r} cannot be written with entries")
    value: dict[str, Any] = {"planId": plan.plan_id, "type": plan.type}
    for name, member in (("title", plan.title), ("content", plan.content), ("uri", plan.uri)):
        if member is not None:
            value[name] = member
    if plan.entries or plan.type == "items":
        value["entries"] = [_entry_value(entry) for entry in plan.entries]
    if plan.meta is not None:
        value["_meta"] = plan.meta
    if (needed := REQUIRED.get(plan.type)) and needed not in value:
        raise PlanError(f"a plan of type {plan.type!r} needs {needed!r}")
    return value | {name: member for name, member in (plan.raw or {}).items() if name not in value}


def json_text(value: Any, **options: Any) -> str:
    """A value as JSON, given the options of `json.dumps`. Raises `PlanError` for what JSON cannot hold."""
    try:
        return json.dumps(value, allow_nan=False, default=_as_dict, **options)
    except (TypeError, ValueError, RecursionError) as error:
        raise PlanError(f"this plan cannot be written as JSON: {error}") from error


def _as_dict(value: object) -> dict[str, Any]:
    if (found := _mapping(value)) is not None:
        return dict(found)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _mapping(value: Any) -> Mapping[str, Any] | None:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def is_plan(members: Iterable[str]) -> bool:
    """Whether an object in a list, which has these members, is a plan and not an entry."""
    names = set(members)
    return "planId" in names or ("entries" in names and names.isdisjoint(CONTENTS))


def _unwrapped(value: Any) -> tuple[Mapping[str, Any] | list[Any], str | None]:
    """The object or the list that is the plan, and the title that the object around a list gives it."""
    title = None
    while (item := _mapping(value)) is not None and not {"entries", "type"} & item.keys():
        inside = [item[name] for name in WRAPPERS if isinstance(item.get(name), Mapping | list)]
        value = inside[0] if inside else None
        title = next((item[name] for name in TITLES if isinstance(item.get(name), str)), None)
    if item is not None:
        return item, None
    if isinstance(value, list):
        return cast("list[Any]", value), title
    raise PlanError("there is no plan here: use a list of entries, or an object with 'entries'")


def entries(values: list[Any]) -> tuple[PlanEntry, ...]:
    """The entries in a list of strings, objects or entries. Raises `PlanError` for one that has no text."""
    return tuple(_entry(value, number) for number, value in enumerate(values, 1))


def _entry(value: Any, number: int) -> PlanEntry:
    """Absent or null, a priority is `medium` and a status `pending`; other texts stay as they came."""
    if isinstance(value, PlanEntry):
        return value
    if isinstance(value, str):
        return PlanEntry(value)
    item = _mapping(value) or {}
    named = next((name for name in CONTENTS if isinstance(item.get(name), str)), None)
    if named is None:
        raise PlanError(f"entry {number} has no text: give it a 'content'")
    known = {"priority": "medium", "status": "pending"}
    for name in known:
        if (given := item.get(name)) is not None:
            if not isinstance(given, str):
                raise PlanError(f"entry {number} has the {name} {given!r}: use a text")
            known[name] = given
    own = item.get("id")
    fields = {named, *known, "id", "_meta"}
    raw = {name: member for name, member in item.items() if name not in fields and member is not None}
    return PlanEntry(
        item[named],
        **known,
        id=None if own is None else str(own),
        meta=_mapping(item.get("_meta")),
        raw=raw or None,
    )


def _entry_value(entry: PlanEntry) -> dict[str, Any]:
    value: dict[str, Any] = {"content": entry.content, "priority": entry.priority, "status": entry.status}
    if entry.id is not None:
        value["id"] = entry.id
    if entry.meta is not None:
        value["_meta"] = entry.meta
    return value | {name: member for name, member in (entry.raw or {}).items() if name not in value}
