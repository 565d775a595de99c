"""Values and exceptions in words: short, whatever they are."""

from __future__ import annotations

from typing import Any

#: How much of an object's `repr`, or of an exception's message, is passed on. Characters.
DESCRIBED = 2000
EXPLAINED = 300


def described(value: Any) -> str:
    """An object in words: its type and the beginning of its `repr`."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    try:
        text = repr(value)
    except Exception as error:
        return f"<{kind}, whose repr raises {type(error).__name__}>"
    shown = text if len(text) <= DESCRIBED else f"{text[:DESCRIBED]}… ({len(text):,} characters)"
    return f"{kind}: {shown}"


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
