"""`%acp log` and `%acp debug`: what one line of an error leaves out."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

from ..errors import AcpError
from ..log import recent
from ..notebook import current
from ..session.state import SessionState
from ..text import plain
from .command import Invocation, whole_number

LEVELS = ("debug", "info", "warning", "error")

#: How many records are shown when nobody says how many.
LATEST = 50

#: How many kinds of what was counted are named.
KINDS = 10


def log(call: Invocation) -> None:
    """Print the latest N records of the log (50), and what has been counted."""
    level = call.options.get("level", "debug")
    if level not in LEVELS:
        raise AcpError(f"{level!r} is not a level: use {', '.join(LEVELS)}")
    number = whole_number(call.text) if call.text else LATEST
    lines = recent.lines(logging.getLevelNamesMapping()[level.upper()])
    print("\n".join(lines[-number:] if number > 0 else []) or "The log is empty.")
    if session := current():
        print(end="".join(f"{line}\n" for line in _counted(session.state)))


def _counted(state: SessionState) -> Iterator[str]:
    """What the agent's updates had that was wrong or is not known, also where the log has gone over it."""
    for what, kinds in (("faults in updates", state.faults), ("updates not known", state.unknown)):
        most = sorted(kinds.items(), key=lambda item: -item[1])[:KINDS]
        counts = ", ".join(f"{kind} {number:,}" for kind, number in most)
        more = f", and {len(kinds) - KINDS} more kinds" if len(kinds) > KINDS else ""
        if kinds:
            yield plain(f"{state.name}: {what}: {counts}{more}")


def debug(call: Invocation) -> None:
    """Print the latest error of %acp in full, with its traceback."""
    error = call.magics.last_error
    print("".join(traceback.format_exception(error)).rstrip() if error else "Nothing has gone wrong so far.")
