"""The doctor's rows outside of a kernel; `tests/kernels` has those of real kernels."""

from __future__ import annotations

import asyncio

from acp_notebook.doctor import report
from acp_notebook.kernel.doctor import checks
from acp_notebook.kernel.host import LoopHost, ThreadHost


def test_a_plain_process() -> None:
    rows = {check.name: check.value for check in checks()}
    assert rows["runs in"] in ("plain Python", "terminal IPython")
    assert rows["session lives on"] == "no session yet"
    assert rows["comm lane"] == "there is no kernel"
    assert rows["approval in %acp ask"] == "by on_unattended: nobody is at the terminal"
    assert all(check.ok for check in checks())
    assert report(checks())


async def test_where_a_session_lives() -> None:
    def lives_on(host: LoopHost | ThreadHost) -> str:
        return next(check.value for check in checks(host) if check.name == "session lives on")

    here, own = LoopHost(asyncio.get_running_loop()), ThreadHost()
    assert lives_on(here) == "the loop that runs here"
    assert lives_on(own) == "a loop on its own thread"
    await asyncio.to_thread(own.close)
