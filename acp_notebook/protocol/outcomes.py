"""Answers to permission requests as they travel in the result of `session/request_permission`.

The rules are those of ACP, "Tool Calls: Requesting Permission" and "Cancellation", alike in v1 and v2. What a
person added to a choice is in its `_meta`, under names that begin with `OWN`. An answer that cannot be read
whole is a cancellation, so that no call runs with other arguments than those that were meant.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast, get_args

from .messages import OMIT, Cancelled, Outcome, Selected
from .plans import OWN, as_object, meta_member, quoted, said
from .rules import CoverKind, Covers, RuleScope

_NAMES = {"arguments": dict, "reason": str, "note": str, "result": object, "covers": dict, "scope": str}


def write_outcome(outcome: Outcome) -> dict[str, Any]:
    """The result of the request, JSON-like as the arguments and the result in it are."""
    if isinstance(outcome, Cancelled):
        return {"outcome": {"outcome": "cancelled", **meta_member(None, reason=outcome.reason)}}
    plain = Selected(outcome.option_id)
    added = {
        OWN + name: asdict(value) if isinstance(value, Covers) else value
        for name in _NAMES
        if (value := getattr(outcome, name)) != getattr(plain, name)
    }
    meta = {"_meta": added} if added else {}
    return {"outcome": {"outcome": "selected", "optionId": outcome.option_id, **meta}}


def read_outcome(result: Any) -> Outcome:
    """The answer in the result of the request. Never raises."""
    outcome = (as_object(result) or {}).get("outcome")
    found = as_object(outcome) or {}
    meta = as_object(found.get("_meta")) or {}
    own = {name.removeprefix(OWN): value for name, value in meta.items() if name.startswith(OWN)}
    for name, value in own.items():
        if name not in _NAMES or not isinstance(value, _NAMES[name]):
            return Cancelled(f"The answer's {quoted(name)} is {said(value)}, and cannot be read.")
    option = found.get("optionId")
    match found.get("outcome"):
        case "cancelled":
            return Cancelled(own.get("reason"))
        case "selected" if isinstance(option, str):
            pass
        case _:
            return Cancelled(f"The answer is {said(outcome)}, which chooses no option.")
    covers = _covers(own.pop("covers")) if "covers" in own else Covers()
    if covers is None or own.get("scope", "session") not in get_args(RuleScope):
        return Cancelled("What the answer is to be remembered for cannot be read.")
    added: dict[str, Any] = {"result": OMIT, **own, "covers": covers}
    return Selected(option, **added)


def _covers(value: dict[str, Any]) -> Covers | None:
    kind, argument, text = (value.get(name) for name in ("kind", "argument", "value"))
    if len(value) != 3 or not isinstance(argument, str) or not isinstance(text, str):
        return None
    if kind not in get_args(CoverKind) or (kind not in ("exact", "tool") and not (argument and text)):
        return None  # without them it would be about more calls than was meant
    return Covers(cast(CoverKind, kind), argument, text)
