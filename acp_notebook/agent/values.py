"""What tools return and raise, made fit for the model, the history and the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from pydantic_ai.messages import ToolReturn
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

#: How much of an object's `repr`, or of an exception's message, is passed on. Characters.
DESCRIBED = 2000
EXPLAINED = 300

_PLAIN = (str, int, float, bool, type(None))
_SURROGATES = re.compile("[\ud800-\udfff]")  # halves of a pair: JSON has no form for them


def for_model(result: Any) -> Any:
    """A tool's result as it is when the history can hold it as JSON, else a description of it.

    One result that is not JSON would break `all_messages_json()` for the whole session.
    """
    if isinstance(result, str):
        return _SURROGATES.sub("\ufffd", result)
    if isinstance(result, _PLAIN):
        return result
    if isinstance(result, Iterator):  # it could be read only once
        result = list(cast("Iterator[Any]", result))
    if isinstance(result, ToolReturn):
        returned = cast("ToolReturn[Any]", result)
        returned.return_value = for_model(returned.return_value)
        returned.metadata = for_model(returned.metadata)
        return returned
    try:
        to_json(result)
    except (PydanticSerializationError, ValueError, RecursionError):
        return described(result)
    return result


def described(value: Any) -> str:
    """An object in words: its type and the beginning of its `repr`."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    try:
        text = repr(value)
    except Exception as error:
        return f"<{kind}, whose repr raises {type(error).__name__}>"
    shown = text if len(text) <= DESCRIBED else f"{text[:DESCRIBED]}… ({len(text):,} characters)"
    return f"{kind}: {shown}"


def for_page(value: Any) -> Any:
    """A value as JSON-like data for the views."""
    if isinstance(value, _PLAIN):
        return value
    return to_jsonable_python(value, serialize_unknown=True)


def explain(error: BaseException) -> str:
    """An exception in one short line: its type and the first line of its message."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # an error of the error's own
        lines = []
    message = lines[0] if lines else ""
    if len(message) > EXPLAINED:
        message = message[:EXPLAINED] + "…"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
