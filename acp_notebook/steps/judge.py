"""Outcomes: how a step ended, by what its tool returned or raised.

Tools say in their results more often than by an exception that they have failed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import ValidationError
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import ToolReturn

from ..describe import explain
from .attempts import Denied, Flight, StepFailed, Unsure
from .events import Outcome
from .isolate import isolated
from .paths import NoSuchPath
from .plan import Step
from .preview import without_secrets
from .tools import StepTool

_FAILED = frozenset({"error", "failed", "failure"})
_SIGNS = frozenset({"error", "errors", "status", "ok", "success", "isError", "is_error"})
#: Types of what most tools return.
PLAIN = frozenset({str, bool, int, float, list, dict})
_BEGINNINGS = ("error:", "error ", "traceback (most recent call last)")


def failure(tool: StepTool, value: Any) -> str | None:
    """Why the tool's `fail_when` takes `value` for a failure; None when it does not, or there is none.

    Raises:
        Unsure: `fail_when` raised.
    """
    if tool.options.fail_when is None:
        return None
    try:
        return "its result says that it failed" if tool.options.fail_when(value) else None
    except Exception as error:
        raise Unsure(f"whether it failed is not known: its fail_when raised {explain(error)}") from error


def looks_failed(value: Any) -> bool:
    """Whether a result reads as if the call had failed. It is told, and changes nothing."""
    if isinstance(value, str):
        return value[:40].lstrip().lower().startswith(_BEGINNINGS)
    if not isinstance(value, dict):
        return False
    mapping = cast("dict[str, Any]", value)
    if _SIGNS.isdisjoint(mapping):
        return False
    status = mapping.get("status")
    return (
        _says(mapping.get("error"))
        or _says(mapping.get("errors"))
        or (isinstance(status, str) and status.lower() in _FAILED)
        or mapping.get("ok") is False
        or mapping.get("success") is False
        or mapping.get("isError") is True
        or mapping.get("is_error") is True
    )


def _says(value: Any) -> bool:
    """Whether something is there. The truth of an array cannot be asked for."""
    return value is not None and (bool(value) if type(value) in PLAIN else True)


def kept(value: Any) -> Any:
    """What is kept of what a tool returned: a copy; of an iterator, which can be read once, a list."""
    if type(value) in PLAIN:
        return isolated(value)
    if isinstance(value, ToolReturn):
        value = cast("ToolReturn[Any]", value).return_value
    if isinstance(value, Iterator):
        return list(map(isolated, cast("Iterator[Any]", value)))
    return isolated(value)


def said(error: Exception, args: Mapping[str, Any]) -> str:
    """An exception of a call in one line, without the secrets among its arguments."""
    match error:
        case StepFailed() | NoSuchPath():
            text = str(error)
        case ModelRetry() | ToolFailed():
            text = error.message
        case ValidationError():
            found = error.errors(include_url=False, include_input=False)[:3]
            text = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found)
        case _:
            text = explain(error)
    return without_secrets(text, args)


def judged(step: Step, value: Any, started: float) -> Outcome:
    """The outcome of a call that returned `value`, or of all calls of a `for_each`."""
    if step.for_each is not None:
        return Outcome("ok", started, time.time(), value, looks_failed=any(map(looks_failed, value)))
    value = kept(value)
    if step.tool.options.fail_when is not None:
        failed_so = Outcome("error", started, time.time(), value, looks_failed=True)
        try:
            reason = failure(step.tool, value)
        except Unsure as error:
            return failed_so._replace(error=str(error), may_have_run=True)
        if reason is not None:
            return failed_so._replace(error=reason)
    return Outcome("ok", started, time.time(), value, looks_failed=looks_failed(value))


def failed(
    error: Exception, started: float, *, may_still_run: bool = False, may_have_run: bool = False
) -> Outcome:
    """The outcome of a call that raised."""
    ended = time.time()
    if isinstance(error, Denied):
        return Outcome("denied", started, ended, error=str(error))
    result = error.results if isinstance(error, StepFailed) else None
    return Outcome(
        "error",
        started,
        ended,
        result,
        str(error),
        may_still_run=may_still_run,
        may_have_run=may_have_run,
    )


def element(step: Step, value: Any, flight: Flight) -> Any:
    """What is kept of one call of a `for_each`. Raises `StepFailed` by the tool's `fail_when`."""
    value = kept(value)
    reason = failure(step.tool, value)
    flight.may_have_run = False  # for it is known now
    if reason is not None:
        raise StepFailed(reason)
    return value


def skipped(error: str | None = None, because: str | None = None) -> Outcome:
    """The outcome of a step that does not begin."""
    return Outcome("skipped", None, time.time(), error=error, because=because)
