"""What every test stands on: folders of its own instead of the user's, and kernels.

Fixtures: `start_kernel(…)` and `notebook_kernel`, a real kernel seen from a page without a browser
(`harness.wire.Frontend`); `hosted(agent, …)`, a session in this process; `no_threads_left`.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_core.utils import ensure_event_loop

from acp_notebook import Session
from harness import isolate
from harness.wire import Frontend

_HOME = Path(tempfile.mkdtemp(prefix="acp-notebook-tests-"))


def pytest_configure(config: pytest.Config) -> None:
    isolate(_HOME)
    config.add_cleanup(lambda: shutil.rmtree(_HOME, ignore_errors=True))
    # pytest-asyncio asks for the current event loop, which makes one that nobody closes once jupyter_client
    # has put its own in place. So there is one from the start.
    config.add_cleanup(ensure_event_loop().close)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests last: Playwright's synchronous API leaves its event loop running in this thread,
    where no other loop can then be started."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.fixture
def start_kernel(tmp_path: Path) -> Iterator[Callable[..., Frontend]]:
    """`start_kernel(kernel_name="python3", env=…, comms_on_subshells=…, on_display=…) -> Frontend`:
    a kernel of this environment (or of another kernelspec), checked and shut down after the test."""
    pages: list[Frontend] = []

    def start(kernel_name: str = "python3", **options: object) -> Frontend:
        folder = tmp_path / f"kernel-{len(pages)}"
        folder.mkdir()
        page = Frontend.start(kernel_name, folder=folder, **options)
        pages.append(page)
        return page

    yield start
    failures = []
    for page in pages:
        try:
            page.close()
        except Exception as error:
            failures.append(error)
    if failures:
        raise ExceptionGroup("kernels that did not end well", failures)


@pytest.fixture
def notebook_kernel(start_kernel: Callable[..., Frontend]) -> Frontend:
    """A fresh kernel of this environment, with one page on it."""
    return start_kernel()


@pytest.fixture
def no_threads_left() -> Iterator[None]:
    """The test ends with the threads it began with."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
    left = [t.name for t in set(threading.enumerate()) - before]
    assert not left, f"threads left behind: {left}"


@pytest.fixture
def hosted(no_threads_left: None) -> Iterator[Callable[..., Session]]:
    """`hosted(agent, …)`: a session on a thread's loop whose requests wait for the test, closed after it."""
    sessions: list[Session] = []

    def start(agent: Any, **options: Any) -> Session:
        session = Session(agent, **{"host": "thread", "on_unattended": "wait", **options})
        sessions.append(session)
        return session

    yield start
    for session in sessions:
        session.close()
