"""Session updates of ACP v2 as JSON values, read and written.

Names that are not known are kept whole (`UnknownUpdate`); what is malformed becomes a `Fault`. Updates of v1
have other names or the same meaning, and some agents mix the two, so they are read here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from ..errors import PlanError
from ..plan import DEFAULT_PLAN_ID, Author, Plan
from .messages import (
    AgentMessageChunk,
    AgentThoughtChunk,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    Fault,
    PlanRemoved,
    PlanUpdate,
    UnknownUpdate,
    Update,
)
from .options import read_options
from .plans import (
    Object,
    Refused,
    Remarks,
    as_object,
    meta_member,
    read_entries,
    read_meta,
    read_plan,
    rest,
    said,
    split_meta,
    write_plan,
)


def read(params: Any) -> tuple[Update, ...]:
    """The update in the `params` of a `session/update`, and the faults in it. Never raises."""
    found = as_object(params)
    update = as_object(found.get("update")) if found is not None else None
    kind = update.get("sessionUpdate") if update is not None else None
    if update is None or not isinstance(kind, str):
        return (Fault("update refused", "an update without a 'sessionUpdate' that says what it is"),)
    reader = READERS.get(kind)
    remarks = Remarks(kind)
    try:
        read = None if reader is None else reader(update, remarks)
    except Refused as reason:
        return (Fault("update refused", f"{remarks.where}: {reason}"),)
    return (read or UnknownUpdate(kind, update), *remarks.faults())


def write(update: PlanUpdate | PlanRemoved | UnknownUpdate) -> dict[str, Any]:
    """The `update` member of a `session/update`.

    Raises `PlanError` for a plan without the member that its type cannot be without.
    """
    match update:
        case PlanUpdate(plan, author, undoes, raw):
            value = {"sessionUpdate": "plan_update", "plan": write_plan(plan)}
        case PlanRemoved(plan_id, author, raw):
            value, undoes = {"sessionUpdate": "plan_removed", "planId": plan_id}, None
        case UnknownUpdate():
            return dict(update.raw)
    return {**(raw or {}), **value, **meta_member((raw or {}).get("_meta"), **authorship(author, undoes))}


#: Authors that are named.
_NAMED = frozenset(get_args(Author)) - {"model"}


# -- authorship ------------------------------------------------------------------------------------------


def authorship(author: Author, undoes: int | None) -> dict[str, Any]:
    """What `_meta` says on who made an update; the model goes without saying."""
    return {"author": None if author == "model" else author, "undoes": undoes}


def read_authorship(meta: Object | None, **types: type) -> tuple[dict[str, Any], Object | None]:
    """What a `_meta` says on who made an update, and what else there is."""
    own, left = split_meta(meta, **types)
    if own.get("author", "person") in _NAMED and own.get("undoes", 1) > 0:
        return own, left
    return {}, meta


# -- readers ---------------------------------------------------------------------------------------------


def _plan_update(update: Object, remarks: Remarks) -> PlanUpdate:
    plan = read_plan(update.get("plan"), remarks)
    own, raw = _rest(update, remarks, "plan", author=str, undoes=int)
    return PlanUpdate(plan, **own, raw=raw)


def _plan_removed(update: Object, remarks: Remarks) -> PlanRemoved:
    plan_id = update.get("planId")
    if not isinstance(plan_id, str):
        raise Refused(f"'planId' is {said(plan_id)}, not a text")
    own, raw = _rest(update, remarks, "planId", author=str)
    return PlanRemoved(plan_id, **own, raw=raw)


def _rest(
    update: Object, remarks: Remarks, taken: str, **types: type
) -> tuple[dict[str, Any], Object | None]:
    """Who made an update, and what else it came with."""
    own, meta = read_authorship(read_meta(update, remarks, "update"), **types)
    left = rest(update, {"sessionUpdate", "_meta", taken}) or {}
    return own, (left if meta is None else {**left, "_meta": meta}) or None


def _plan(update: Object, remarks: Remarks) -> PlanUpdate:
    """v1: the update is the plan, the only one there is."""
    taken = {"sessionUpdate", "entries", "_meta"}
    text = update.get("content")
    if update.get("entries") is None and isinstance(text, str):  # as adapters of the first days sent it
        entries = _tasks(text)
        remarks.add("update mended", "the plan is a text in 'content' instead of 'entries'")
        taken.add("content")
    else:
        entries = read_entries(update.get("entries"), remarks)
    own, meta = read_authorship(read_meta(update, remarks, "update"), author=str, undoes=int)
    titled, meta = split_meta(meta, title=str)
    plan = Plan(entries, DEFAULT_PLAN_ID, meta=meta, raw=rest(update, taken), **titled)
    return PlanUpdate(plan, **own)


def _config_options(update: Object, remarks: Remarks) -> ConfigOptionUpdate:
    return ConfigOptionUpdate(read_options(update.get("configOptions"), remarks), "agent")


def _current_mode(update: Object, remarks: Remarks) -> CurrentModeUpdate:
    """v1 only, but some agents mix the two."""
    mode_id = update.get("currentModeId")
    if not isinstance(mode_id, str):
        raise Refused(f"'currentModeId' is {said(mode_id)}, not a text")
    return CurrentModeUpdate(mode_id)


def _tasks(text: str) -> tuple[Any, ...]:
    try:
        return Plan.parse(text, "md").entries
    except PlanError as reason:
        raise Refused(f"there are no 'entries', and in its 'content' {reason}") from reason


def _text(make: Callable[[str], Update]) -> Callable[[Object, Remarks], Update | None]:
    def read(update: Object, remarks: Remarks) -> Update | None:
        content = as_object(update.get("content"))
        if content is None:
            raise Refused(f"'content' is {said(update.get('content'))}, not an object")
        if content.get("type") != "text":
            return None  # a picture, for example: kept whole
        if not isinstance(text := content.get("text"), str):
            raise Refused(f"the 'text' of its content is {said(text)}, not a text")
        return make(text)

    return read


#: Kind of update → what reads it; None means that it is kept as an unknown one.
READERS: Mapping[str, Callable[[Object, Remarks], Update | None]] = {
    "plan": _plan,
    "plan_update": _plan_update,
    "plan_removed": _plan_removed,
    "config_option_update": _config_options,
    "current_mode_update": _current_mode,
    "agent_message_chunk": _text(AgentMessageChunk),
    "agent_thought_chunk": _text(AgentThoughtChunk),
}
