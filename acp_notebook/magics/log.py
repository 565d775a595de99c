"""`%acp log` and `%acp debug`: what one line of an error leaves out."""

from __future__ import annotations

import logging
import traceback

from ..errors import AcpError
from ..log import recent
from .command import Invocation, whole_number

LEVELS = ("debug", "info", "warning", "error")

#: How many records are shown when nobody says how many.
LATEST = 50


def log(call: Invocation) -> None:
    """Print the latest N records of the log (50), with tracebacks."""
    level = call.options.get("level", "debug")
    if level not in LEVELS:
        raise AcpError(f"{level!r} is not a level: use {', '.join(LEVELS)}")
    number = whole_number(call.text) if call.text else LATEST
    lines = recent.lines(logging.getLevelNamesMapping()[level.upper()])
    print("\n".join(lines[-number:] if number > 0 else []) or "The log is empty.")


def debug(call: Invocation) -> None:
    """Print the latest error of %acp in full, with its traceback."""
    error = call.magics.last_error
    print("".join(traceback.format_exception(error)).rstrip() if error else "Nothing has gone wrong so far.")
