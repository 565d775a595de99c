"""What a click does: messages from a view become commands to the session. The view itself changes nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from ..errors import AcpError, AlreadyAnswered, PermissionError, PlanError
from ..masking import unmasked
from ..plan import AddEntry, MoveEntry, PlanEdit, RemoveEntry, UpdateEntry
from ..plan.formats import FORMATS
from ..protocol.rules import REACH, canonical
from ..session.permissions import PermissionRequest
from ..session.session import Session
from .answers import is_text, narrowed, result_source
from .fields import in_field, not_json, read_fields

Message = Mapping[str, Any]


class File(NamedTuple):
    """A file for the person to save."""

    name: str
    text: str
    mime: str


def carry_out(session: Session, message: Message) -> File | None:
    """Carry out one message of a view; called on the session's loop.

    Raises `AcpError` with a line for the person when it cannot be done, and then nothing has changed.
    """
    command = COMMANDS.get(message.get("action", ""))
    if command is None:
        raise AcpError(
            f"this version knows no action {message.get('action')!r}: run the cell again to renew the view"
        )
    return command(session, message)


def _cancel(session: Session, message: Message) -> None:
    session.cancel()


def _config(session: Session, message: Message) -> None:
    session.request_config(message["option"], message["value"])


# -- permissions -----------------------------------------------------------------------------------------


def pending_request(session: Session, message: Message) -> PermissionRequest:
    """The request that a message is about. Raises `AlreadyAnswered` when it waits no longer."""
    for request in session.permissions:
        if request.id == message.get("request"):
            return request
    raise AlreadyAnswered(
        "this request waits no longer: it was answered or withdrawn before, and nothing was changed"
    )


def _option(session: Session, message: Message) -> None:
    request = pending_request(session, message)
    if "covers" not in message:
        request.choose(message["option"])
        return
    covers, scope = request.request.covers, message["scope"]
    place = int(message["covers"])
    if not 0 <= place < len(covers) or scope not in REACH:
        raise PermissionError("this reach was not offered: run the cell again to renew the view")
    chosen = narrowed(covers[place], message.get(f"narrow{place}"))
    request.choose(message["option"], covers=chosen, scope=scope)


def _deny(session: Session, message: Message) -> None:
    pending_request(session, message).deny(message.get("reason", "").strip() or None)


def _note(session: Session, message: Message) -> None:
    pending_request(session, message).allow(note=message.get("note", "").strip() or None)


def _edit_arguments(session: Session, message: Message) -> None:
    request = pending_request(session, message)
    if "arguments" in message:
        arguments = _arguments(message["arguments"], request)
    else:
        arguments = read_fields(request.request, message)
    if canonical(arguments) == canonical(request.tool_call.arguments):
        request.allow()
        return
    try:
        request.allow(arguments=arguments)
    except AlreadyAnswered:
        raise
    except PermissionError as error:
        raise in_field(error, request.request) from error


def _arguments(written: str, request: PermissionRequest) -> dict[str, Any]:
    """Arguments from JSON, with the secrets that were left masked."""
    arguments = _json(written, "the arguments are")
    if not isinstance(arguments, dict):
        raise PermissionError(
            "the arguments must be a JSON object, {…}, with a name for each; the call still waits"
        )
    return unmasked(cast("dict[str, Any]", arguments), request.tool_call.arguments)


def _edit_result(session: Session, message: Message) -> None:
    request = pending_request(session, message)
    original, written = request.request.result, message["result"].replace("\r\n", "\n")
    if written == result_source(request.request):
        request.choose(message["option"])
    elif is_text(original):
        request.choose(message["option"], result=written)
    else:
        request.choose(message["option"], result=unmasked(_json(written, "the result is"), original))


def _json(written: str, what: str) -> Any:
    try:
        return json.loads(written)
    except (ValueError, RecursionError) as error:
        raise PermissionError(f"{what} {not_json(error)}; the call still waits") from error


def _answer_all(session: Session, message: Message) -> None:
    """One answer for the requests that the person saw; for those that came since it is none."""
    waiting = {request.id: request for request in session.permissions}
    late = 0
    for request_id in message["requests"]:
        try:
            request = waiting[request_id]
            request.allow() if message["answer"] == "allow" else request.deny()
        except (KeyError, AlreadyAnswered):
            late += 1
    if late:
        raise AlreadyAnswered(
            f"{late} of them waited no longer: answered or withdrawn before, and left as they were"
        )


# -- plan ------------------------------------------------------------------------------------------------


def _plan(session: Session, message: Message) -> None:
    # The numbers are those that the person saw: a plan that changed since must not have a neighbour changed.
    session.edit_plan([_plan_edit(message)], message.get("plan"), since=message.get("revision"))


def _plan_edit(message: Message) -> PlanEdit:
    index = message.get("index", 0)
    match message.get("op"):
        case "add":
            return AddEntry(message["content"].strip())
        case "update":
            fields = {name: message[name] for name in ("content", "status", "priority") if name in message}
            if not fields:
                raise AcpError("nothing was changed: an update names content, status or priority")
            return UpdateEntry(index, **fields)
        case "move":
            return MoveEntry(index, message["to"])
        case "remove":
            return RemoveEntry(index)
        case op:
            raise AcpError(
                f"this version knows no plan operation {op!r}: run the cell again to renew the view"
            )


def entry_now(session: Session, message: Message) -> int | None:
    """The number now of the entry that a message is about, None where it is about none.

    Raises `PlanError` when the entry is gone.
    """
    index, revision = message.get("index"), message.get("revision")
    if index is None or revision is None:
        return index
    now = session.plan_history(message["plan"]).follow(index, revision)
    if now is None:
        raise PlanError(f"step {index} is no longer in the plan")
    return now


def _undo(session: Session, message: Message) -> None:
    session.undo_plan(message.get("plan"))


def _restore(session: Session, message: Message) -> None:
    session.restore_plan(message["revision"], message.get("plan"))


def _export(session: Session, message: Message) -> File:
    plan = session.plans.get(message["plan"])
    if plan is None:
        raise AcpError("this plan has been removed: restore it first")
    format = FORMATS[message["format"]]
    name = re.sub(r"[^\w-]+", "-", plan.title or plan.plan_id).strip("-")[:60] or "plan"
    return File(name + format.suffixes[0], format.mark + plan.to(message["format"]), format.mime)


#: Action → what carries it out.
COMMANDS: dict[str, Callable[[Session, Message], File | None]] = {
    "cancel": _cancel,
    "config": _config,
    "option": _option,
    "deny-with-reason": _deny,
    "allow-with-note": _note,
    "edit-arguments": _edit_arguments,
    "edit-result": _edit_result,
    "answer-all": _answer_all,
    "plan": _plan,
    "undo": _undo,
    "restore": _restore,
    "export": _export,
}
