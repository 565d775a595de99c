"""`hosted(agent, …)`: a session with an agent, on a thread's loop, closed after the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from acp_notebook import Session


@pytest.fixture
def hosted(no_threads_left: None) -> Iterator[Callable[..., Session]]:
    sessions: list[Session] = []

    def start(agent: Any, **options: Any) -> Session:
        session = Session(agent, **{"host": "thread", "on_unattended": "wait", **options})
        sessions.append(session)
        return session

    yield start
    for session in sessions:
        session.close()
