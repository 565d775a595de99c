"""Steps on workers of Dask: once, whatever becomes of the worker."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acp_notebook import StepOptions, StepToolset
from acp_notebook.masking import MASK
from acp_notebook.steps.events import Outcome, StepEnded, StepEvent
from harness import away
from harness.steps import execute, reference, step

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


SQUARE = """
LARGE = 2
def square(value: int) -> int:
    return value**LARGE
"""


async def test_what_a_notebook_defines_runs_there(client: Any) -> None:
    square = away.from_notebook(SQUARE)
    toolset = StepToolset([square, away.where], executor=client.get_executor(pure=False), parallel=True)
    answer = await execute(
        toolset, [step("s", "square", value=3), step("w", "where", value=[reference("s")])]
    )
    assert answer["results"]["s"] == 9
    assert answer["results"]["w"][1] == [9] and answer["results"]["w"][0] != os.getpid()


async def test_equal_calls_are_made_each_and_errors_come_back(client: Any, tmp_path: Path) -> None:
    mark, until = tmp_path / "mark", tmp_path / "until"
    until.touch()
    toolset = StepToolset([away.hold, away.boom], executor=client.get_executor())  # pure, as Dask has it
    hold = {"mark": str(mark), "until": str(until)}
    answer = await execute(toolset, [step("a", "hold", **hold), step("b", "hold", **hold), step("c", "boom")])
    assert mark.read_text() == "xx"
    assert answer["steps"]["c"]["error"] == f"ValueError: no such table, with {MASK}"


def begun(mark: Path, times: int) -> None:
    while not mark.exists() or len(mark.read_text()) < times:
        time.sleep(0.01)


async def test_a_call_that_has_not_begun_is_taken_back_for_good(client: Any, tmp_path: Path) -> None:
    mark, until, ended = tmp_path / "mark", tmp_path / "until", dict[str, Outcome]()

    def observe(event: StepEvent) -> None:
        if isinstance(event, StepEnded):
            ended[event.step_id] = event.outcome

    toolset = StepToolset(
        [away.hold], executor=client.get_executor(), parallel=True, on_event=observe, keep_going=True
    )
    hold = {"mark": str(mark), "until": str(until)}
    task = asyncio.ensure_future(execute(toolset, [step(name, "hold", **hold) for name in "abc"]))
    await asyncio.to_thread(begun, mark, 2)  # two workers, with a thread each
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    left = [(outcome.may_still_run, outcome.may_have_run) for outcome in ended.values()]
    assert sorted(left) == [(False, False), (True, True), (True, True)]
    until.touch()
    assert await asyncio.to_thread(client.submit(int, pure=False).result) == 0
    assert mark.read_text() == "xx"


async def test_a_lost_worker_ends_the_step_and_no_other_runs_it(client: Any, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    toolset = StepToolset([away.die, away.where], executor=client.get_executor(retries=3), keep_going=True)
    answer = await execute(toolset, [step("d", "die", mark=str(mark)), step("w", "where")])
    error = "its worker was lost while it ran, and what it has done is not known"
    assert answer["steps"]["d"] == {"status": "error", "error": error, "may_have_run": True}
    assert answer["steps"]["w"] == "ok" and mark.read_text() == "x"


DIE_ONCE = """
def die_once(mark: str) -> str:
    import os, pathlib
    path = pathlib.Path(mark)
    if not path.exists():
        path.touch()
        os._exit(1)
    return "done"
"""


async def test_an_idempotent_call_may_be_made_again(client: Any, tmp_path: Path) -> None:
    toolset = StepToolset(
        [away.from_notebook(DIE_ONCE)],
        executor=client.get_executor(pure=False),
        options={"die_once": StepOptions(idempotent=True)},
    )
    answer = await execute(toolset, [step("d", "die_once", mark=str(tmp_path / "mark"))])
    assert answer["results"] == {"d": "done"}
