"""`%acp doctor`."""

from __future__ import annotations

from ..doctor import environment, report
from ..kernel.doctor import checks
from ..notebook import current
from .command import Invocation


def doctor(call: Invocation) -> None:
    """Check the environment: versions, and what clicks do while a cell runs."""
    session = current()
    print(report([*environment(), *checks(session.host if session else None)]))
