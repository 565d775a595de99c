from __future__ import annotations

from collections.abc import Iterator

import pytest

from acp_notebook.kernel.host import ThreadHost
from harness.puppet import PuppetSession, pages


@pytest.fixture
def session() -> Iterator[PuppetSession]:
    """A session on a loop of its own; a person is taken to be there."""
    with pages():
        session = PuppetSession(ThreadHost(), on_unattended="wait")
        yield session
        session.close()
