"""Sessions in this process, on a loop of their own, whose changes can be waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from acp_notebook import Session
from acp_notebook.session.state import SessionState


def until(session: Session, condition: Callable[[SessionState], Any], timeout: float = 20) -> None:
    """Wait until the session's state fulfils `condition`."""
    reached = threading.Event()

    def look(state: SessionState, event: object = None) -> None:
        if condition(state):
            reached.set()

    unsubscribe = session.subscribe(look)
    try:
        look(session.state)
        assert reached.wait(timeout), f"not within {timeout} s; the session is at {session.state}"
    finally:
        unsubscribe()


def pending(count: int) -> Callable[[SessionState], bool]:
    """A condition: so many permission requests wait."""
    return lambda state: len(state.pending) == count
