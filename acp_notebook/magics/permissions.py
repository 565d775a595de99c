"""Subcommands that list and answer permission requests."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, cast, get_args

from ..errors import AcpError, PermissionError
from ..masking import marked, masked, unmasked
from ..notebook import current
from ..protocol.rules import EXACT, RuleScope
from ..session.permissions import PermissionRequest
from ..text import plain
from ..views.values import as_json, seconds, signature
from .command import Invocation, whole_number

#: How much of one argument is printed, in characters.
SHOWN = 2000


def approvals(call: Invocation) -> None:
    """List the calls that wait for approval, with all arguments; secrets masked."""
    waiting = _waiting()
    if not waiting:
        print("No request waits for approval.")
    for number, request in enumerate(waiting, 1):
        print(plain("\n".join(_described(number, request))))


def _waiting() -> tuple[PermissionRequest, ...]:
    session = current()
    return session.permissions if session else ()


def _described(number: int, request: PermissionRequest) -> Iterator[str]:
    session = current()
    asked = (
        next((p.asked for p in session.state.pending if p.request_id == request.id), None)
        if session
        else None
    )
    yield f"{number}. {request.tool_call.name}" + (
        f", waits for {seconds(time.time() - asked)}" if asked else ""
    )
    if request.request.subject == "result":
        yield f"   has {'failed' if request.request.failed else 'run'}; the model waits for its result"
    for name, value in masked(request.tool_call.arguments).items():
        text = as_json(value)
        if len(text) > SHOWN:
            text = f"{text[:SHOWN]}… (the first {SHOWN:,} of {len(text):,} characters)"
        yield f"   {name} = {text}"
    if request.preview:
        yield "\n".join(f"   {line}" for line in request.preview[:SHOWN].splitlines())
        if len(request.preview) > SHOWN:
            yield f"   … (the first {SHOWN:,} of {len(request.preview):,} characters)"

    if request.request.preview_error:
        yield f"   {request.request.preview_error}"
    for number, covers in enumerate(request.request.covers, 1):
        yield f"   --always --covers {number}: {request.tool_call.name} {covers.said()}"


def approve(call: Invocation) -> None:
    """Let a call run that waits for approval.

    N is its number in %acp approvals, by default the oldest. --args and --var give arguments that take the
    place of the model's. --always remembers the answer, for exactly these arguments unless --covers has the
    number of something wider, as %acp approvals lists it.
    """
    request = _chosen(call)
    arguments = _arguments(call, request)
    request.allow("always" in call.options, arguments, call.options.get("note"), **_remembered(call, request))
    _print("Allowed", request, arguments)


def deny(call: Invocation) -> None:
    """Keep a call from running that waits for approval.

    N is its number in %acp approvals, by default the oldest. The reason becomes the tool's answer, which the
    model reads. --always remembers the answer, as with %acp approve.
    """
    request = _chosen(call)
    request.deny(call.options.get("reason"), "always" in call.options, **_remembered(call, request))
    _print("Denied", request, None)


def _chosen(call: Invocation) -> PermissionRequest:
    waiting = _waiting()
    if not waiting:
        raise PermissionError("no request waits for approval")
    (number,) = call.numbers(1, 1) if call.text else (1,)
    if not 1 <= number <= len(waiting):
        valid = "only 1 waits" if len(waiting) == 1 else f"use 1 to {len(waiting)}"
        raise PermissionError(f"there is no request {number}: {valid} (%acp approvals)")
    return waiting[number - 1]


def _remembered(call: Invocation, request: PermissionRequest) -> dict[str, Any]:
    """How far an answer reaches that is remembered."""
    options = call.options
    if "always" not in options:
        if given := [name for name in ("covers", "scope") if name in options]:
            raise AcpError(f"--{given[0]} goes with --always")
        return {}
    scope, offered = options.get("scope", "session"), request.request.covers
    if scope not in get_args(RuleScope):
        raise AcpError(f"{scope!r} is no scope: use {', '.join(get_args(RuleScope))}")
    number = whole_number(options.get("covers", "1"))
    if not 1 <= number <= max(1, len(offered)):
        raise AcpError(f"--covers {number} is not offered: %acp approvals lists what is")
    return {"covers": offered[number - 1] if offered else EXACT, "scope": scope}


def _arguments(call: Invocation, request: PermissionRequest) -> Mapping[str, Any] | None:
    """The arguments to run with. Secrets that were left masked, as they are shown, stay what they are."""
    if "args" in call.options and "var" in call.options:
        raise AcpError("give the arguments as --args JSON or --var NAME, not both")
    if "args" in call.options:
        value, where = call.options["args"], "--args"
    elif "var" in call.options:
        value, where = call.variable(call.options["var"]), f"variable {call.options['var']!r}"
    else:
        return None
    if not isinstance(value, Mapping):
        shown = as_json(masked(request.tool_call.arguments))
        raise AcpError(f"{where} must hold arguments by name, such as {shown}")
    return unmasked(dict(cast("Mapping[str, Any]", value)), request.tool_call.arguments)


def _print(word: str, request: PermissionRequest, arguments: Mapping[str, Any] | None) -> None:
    call = request.tool_call
    given = call.arguments if arguments is None else marked(arguments, request.request.parameters)
    print(plain(f"{word} {signature(call.name, given)}"))
    if left := len(_waiting()):
        print(f"{left} more {'waits' if left == 1 else 'wait'}: %acp approvals")
