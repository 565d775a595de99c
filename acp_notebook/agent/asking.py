"""Asking the client: what counts as an answer, and which answers mean yes."""

from __future__ import annotations

import logging
from typing import Any

from ..protocol.connection import ClientSide
from ..protocol.messages import Cancelled, Outcome, RequestPermission, Selected
from .stream import Outbox
from .values import explain

log = logging.getLogger(__name__)

_ALLOWS = frozenset({"allow_once", "allow_always"})


async def ask(client: ClientSide, outbox: Outbox, request: RequestPermission) -> Outcome:
    """Ask, and wait for ever. Returns a `Selected` only for an option that was offered, and only one."""
    call = request.tool_call
    outbox.tool_call(call.tool_call_id, name=call.name, status="paused")  # a step's call is new here
    outbox.flush()
    try:
        outcome: Any = await client.request_permission(request)
    except Exception as error:
        log.error("the client could not be asked", exc_info=error)
        return Cancelled(f"Nobody could be asked ({explain(error)}).")
    if not isinstance(outcome, Selected):
        return outcome if isinstance(outcome, Cancelled) else Cancelled()
    if len({option.kind for option in request.options if option.option_id == outcome.option_id}) != 1:
        return Cancelled(f"The answer {outcome.option_id!r} was not offered.")
    return outcome


def kind_of(outcome: Selected, request: RequestPermission) -> str:
    """What an answer means, which its option's kind says alone."""
    return next(option.kind for option in request.options if option.option_id == outcome.option_id)


def is_yes(outcome: Outcome, request: RequestPermission) -> bool:
    return isinstance(outcome, Selected) and kind_of(outcome, request) in _ALLOWS
