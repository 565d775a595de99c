"""What a click does: messages from a view become commands to the session. The view itself changes nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from ..errors import AcpError, AlreadyAnswered, PermissionError
from ..masking import unmasked
from ..plan import AddEntry, MoveEntry, PlanEdit, RemoveEntry, UpdateEntry
from ..session.permissions import PermissionRequest
from ..session.session import Session

Message = Mapping[str, Any]


class File(NamedTuple):
    """A file for the person to save."""

    name: str
    text: str


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
    pending_request(session, message).choose(message["option"])


def _deny(session: Session, message: Message) -> None:
    pending_request(session, message).deny(message.get("reason", "").strip() or None)


def _edit_arguments(session: Session, message: Message) -> None:
    request = pending_request(session, message)
    try:
        arguments = json.loads(message["arguments"])
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise PermissionError(
            f"the arguments are not JSON: {error.msg} ({where}); the call still waits"
        ) from error
    if not isinstance(arguments, dict):
        raise PermissionError(
            "the arguments must be a JSON object, {…}, with a name for each; the call still waits"
        )
    request.allow(arguments=unmasked(cast("dict[str, Any]", arguments), request.tool_call.arguments))


# -- plan ------------------------------------------------------------------------------------------------


def _plan(session: Session, message: Message) -> None:
    session.edit_plan([_plan_edit(session, message)], message.get("plan"))


def _plan_edit(session: Session, message: Message) -> PlanEdit:
    index = message.get("index", 0)
    match message.get("op"):
        case "add":
            return AddEntry(message["content"].strip())
        case "update":
            return UpdateEntry(index, message.get("content"), message.get("status"), message.get("priority"))
        case "done":
            return UpdateEntry(index, status=_toggled(session, message, "completed"))
        case "start":
            return UpdateEntry(index, status=_toggled(session, message, "in_progress"))
        case "move":
            return MoveEntry(index, message["to"])
        case "remove":
            return RemoveEntry(index)
        case op:
            raise AcpError(
                f"this version knows no plan operation {op!r}: run the cell again to renew the view"
            )


def _toggled(session: Session, message: Message, status: str) -> str:
    """`status`, or back to pending where the entry has it."""
    plan = session.plans.get(message.get("plan", ""), session.plan)
    index = message.get("index", 0)
    has_it = 1 <= index <= len(plan) and plan[index - 1].status == status
    return "pending" if has_it else status


def _export(session: Session, message: Message) -> File:
    plan = session.plans.get(message.get("plan", ""), session.plan)
    format = message["format"]
    name = re.sub(r"[^\w-]+", "-", plan.title or plan.plan_id).strip("-")[:60] or "plan"
    return File(f"{name}.{format}", plan.to(format))


#: Action → what carries it out.
COMMANDS: dict[str, Callable[[Session, Message], File | None]] = {
    "cancel": _cancel,
    "config": _config,
    "option": _option,
    "deny-with-reason": _deny,
    "edit-arguments": _edit_arguments,
    "plan": _plan,
    "export": _export,
}
