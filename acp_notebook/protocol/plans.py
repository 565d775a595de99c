"""Plans as they travel in ACP's plan updates, in either direction.

Reading takes what the draft calls valid as it is, unknown members and `_meta` included, so that writing gives
it back. Of what is not valid it takes all that has text: an entry without a priority is `medium`, one without
a status `pending`. What remains is refused (a plan) or skipped (an entry), and said. The rules are those of
ACP v2, "Agent Plan", and of its schema.

ACP reserves every name outside of `_meta`. Ours in there begin with `OWN`: a plan's `title`, an entry's `id`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from ..errors import PlanError
from ..plan import Plan, PlanEntry
from .messages import Fault

Object = Mapping[str, Any]

#: What our names in `_meta` begin with (ACP, "Extensibility").
OWN = "acp-notebook/"
#: What nests deeper is refused: comparing and showing it would end in a RecursionError.
DEEPEST = 100
#: The plan types that are understood, each with the member that it cannot be without.
REQUIRED = {"items": "entries", "markdown": "content", "file": "uri"}
#: So many of an update's faults of one kind are told apart; the others are only counted.
TOLD = 5

_ENTRY = frozenset({"content", "priority", "status"})
#: What coding agents call the text of an entry besides `content`.
_CONTENTS = ("content", "step", "text")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")  # RFC 3986


class Refused(Exception):
    """An update that cannot be used; the message says why, in one line."""


class Remarks:
    """What was wrong in one update without making it unusable. `where` says in what."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._told: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    def add(self, kind: str, text: str) -> None:
        """One more fault of a kind (`Fault.kind`)."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        told = self._told.setdefault(kind, [])
        if len(told) < TOLD:
            told.append(text)

    def faults(self) -> Iterable[Fault]:
        """One fault for each kind, however many there were."""
        for kind, count in self._counts.items():
            told = self._told[kind]
            more = f", and {count - len(told):,} more" if count > len(told) else ""
            yield Fault(kind, f"{self.where}: {'; '.join(told)}{more}", count)


def said(value: Any) -> str:
    """What a JSON value is, in a few words that give away no members of objects."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case str():
            return f"the text {quoted(value)}"
        case Mapping():
            return "an object"
        case _:
            return "a list"


def quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:59]}…")


# -- reading ---------------------------------------------------------------------------------------------


def as_object(value: Any) -> Object | None:
    return cast(Object, value) if isinstance(value, Mapping) else None


def read_plan(value: Any, remarks: Remarks) -> Plan:
    """The plan in the `plan` member of a `plan_update`. Raises `Refused`."""
    found = as_object(value)
    if found is None:
        raise Refused(f"'plan' is {said(value)}, not an object")
    plan_id, type = found.get("planId"), found.get("type")
    if not isinstance(plan_id, str):
        raise Refused(f"'planId' is {said(plan_id)}, not a text")
    remarks.where += f" {quoted(plan_id)}"
    if not isinstance(type, str):
        raise Refused(f"'type' is {said(type)}, not a text")
    taken = {"planId", "type"}
    fields: dict[str, Any] = {}
    for name in ("content", "uri"):
        if isinstance(text := found.get(name), str):
            fields[name] = text
            taken.add(name)
    if type == "items":
        fields["entries"] = read_entries(found.get("entries"), remarks)
        taken.add("entries")
    elif type in REQUIRED and REQUIRED[type] not in fields:
        missed = REQUIRED[type]
        raise Refused(f"the {missed!r} of a plan of type {type!r} is {said(found.get(missed))}, not a text")
    if type == "file" and not _ABSOLUTE.match(fields["uri"]):
        raise Refused(f"'uri' must be absolute, and {quoted(fields['uri'])} is not")
    meta = as_object(found.get("_meta"))
    if meta is not None or type in REQUIRED:  # of a custom type we do not know that this is wrong
        taken.add("_meta")
        meta = read_meta(found, remarks, "update")
    own, meta = split_meta(meta, title=str)
    return Plan(plan_id=plan_id, type=type, meta=meta, raw=rest(found, taken), **own, **fields)


def read_entries(values: Any, remarks: Remarks) -> tuple[PlanEntry, ...]:
    """The entries in a list, without those that cannot be read. Raises `Refused` when it is not a list."""
    if not isinstance(values, list):
        raise Refused(f"'entries' is {said(values)}, not a list, so the plan stays as it is")
    entries = (_entry(value, number, remarks) for number, value in enumerate(cast("list[Any]", values), 1))
    return tuple(entry for entry in entries if entry is not None)


def _entry(value: Any, number: int, remarks: Remarks) -> PlanEntry | None:
    found = as_object(value)
    if found is None:
        if isinstance(value, str):
            remarks.add("entry mended", f"entry {number} is a bare text")
            return PlanEntry(value)
        remarks.add("entry skipped", f"entry {number} is {said(value)}, not an object")
        return None
    content, priority, status = found.get("content"), found.get("priority"), found.get("status")
    taken = _ENTRY
    if not (isinstance(content, str) and isinstance(priority, str) and isinstance(status, str)):
        name = next((name for name in _CONTENTS if isinstance(found.get(name), str)), None)
        if name is None:
            remarks.add("entry skipped", f"the 'content' of entry {number} is {said(content)}, not a text")
            return None
        content, taken = found[name], _ENTRY | {name}
        wrong = [] if name == "content" else [f"its text is called {name!r}"]
        if not isinstance(priority, str):
            wrong.append(f"its priority is {said(priority)}")
            priority = "medium"
        if not isinstance(status, str):
            wrong.append(f"its status is {said(status)}")
            status = "pending"
        remarks.add("entry mended", f"entry {number}: {', '.join(wrong)}")
    if len(found) == len(_ENTRY) and taken is _ENTRY:  # as almost always: nothing but the three
        return PlanEntry(content, priority, status)
    try:
        own, meta = split_meta(read_meta(found, remarks, "entry"), id=str)
        return PlanEntry(content, priority, status, meta=meta, raw=rest(found, {*taken, "_meta"}), **own)
    except Refused as reason:
        remarks.add("entry mended", f"entry {number}: {reason}, and is left out")
        return PlanEntry(content, priority, status)


def rest(found: Object, taken: Iterable[str]) -> Object | None:
    """The members that are not taken, None without any. Raises `Refused` when they nest too deep."""
    left = {name: member for name, member in found.items() if name not in taken}
    for name, member in left.items():
        _check_depth(member, name)
    return left or None


def read_meta(found: Object, remarks: Remarks, what: str) -> Object | None:
    """The `_meta` of an object; the schemas want one that is wrong to be ignored. Raises `Refused`."""
    value = found.get("_meta")
    meta = as_object(value)
    if meta is None and value is not None:
        remarks.add(f"{what} mended", f"'_meta' is {said(value)}, not an object")
    _check_depth(meta, "_meta")
    return meta


def split_meta(meta: Object | None, **types: type) -> tuple[dict[str, Any], Object | None]:
    """Our names in a `_meta`, those with a value of the right type, and what else there is."""
    if not meta:
        return {}, meta
    own = {name: meta[OWN + name] for name, kind in types.items() if type(meta.get(OWN + name)) is kind}
    taken = {OWN + name for name in own}
    return own, {name: member for name, member in meta.items() if name not in taken} or None if own else meta


def _check_depth(value: Any, name: str) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _members(outer)]
        if not level:
            return
    raise Refused(f"{quoted(name)} nests more than {DEEPEST} levels deep")


def _members(value: Any) -> Iterable[Any]:
    match value:
        case Mapping():
            return cast(Object, value).values()
        case list() | tuple():
            return cast("list[Any]", value)
        case _:
            return ()


# -- writing ---------------------------------------------------------------------------------------------


def write_plan(plan: Plan) -> dict[str, Any]:
    """The plan for the `plan` member of a `plan_update`.

    Raises `PlanError` for a plan without the member that its type cannot be without.
    """
    value: dict[str, Any] = {"type": plan.type, "planId": plan.plan_id}
    if plan.entries or plan.type == "items":
        value["entries"] = [write_entry(entry) for entry in plan.entries]
    for name, text in (("content", plan.content), ("uri", plan.uri)):
        if text is not None:
            value[name] = text
    if (missed := REQUIRED.get(plan.type)) and missed not in value:
        raise PlanError(f"a plan of type {plan.type!r} needs {missed!r}")
    return {**(plan.raw or {}), **value, **meta_member(plan.meta, title=plan.title)}


def write_entry(entry: PlanEntry) -> dict[str, Any]:
    value = {"content": entry.content, "priority": entry.priority, "status": entry.status}
    if entry.raw is None and entry.meta is None and entry.id is None:
        return value
    return {**(entry.raw or {}), **value, **meta_member(entry.meta, id=entry.id)}


def meta_member(meta: Object | None, **own: Any) -> dict[str, Any]:
    """`{"_meta": …}` with our own names added to what is there; `{}` without anything to say."""
    added = {OWN + name: value for name, value in own.items() if value is not None}
    return {} if meta is None and not added else {"_meta": {**(meta or {}), **added}}
