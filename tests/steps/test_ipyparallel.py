"""Steps on engines of ipyparallel."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from acp_notebook import StepToolset
from acp_notebook.masking import MASK
from harness import away
from harness.steps import execute, reference, step

ipyparallel = pytest.importorskip("ipyparallel")
pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    where = str(Path(away.__file__).parents[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", where)
        with ipyparallel.Cluster(n=2, log_level=logging.CRITICAL) as client:
            yield client


SQUARE = """
LARGE = 2
def square(value: int) -> int:
    return value**LARGE
"""


@pytest.mark.parametrize("balanced", [True, False])
async def test_each_call_is_made_once_on_one_engine(client: Any, balanced: bool, tmp_path: Path) -> None:
    view = client.load_balanced_view() if balanced else client[:]  # which makes its calls on all engines
    mark, until = tmp_path / "mark", tmp_path / "until"
    until.touch()
    toolset = StepToolset(
        [away.from_notebook(SQUARE), away.where, away.hold], executor=view.executor, parallel=True
    )
    steps = [
        step("s", "square", value=3),
        step("w", "where", value=[reference("s")]),
        step("h", "hold", mark=str(mark), until=str(until)),
    ]
    answer = await execute(toolset, steps)
    assert answer["results"]["s"] == 9 and answer["results"]["h"] == "held"
    assert answer["results"]["w"][1] == [9] and answer["results"]["w"][0] != os.getpid()
    assert mark.read_text() == "x"


async def test_an_error_says_the_reason_there(client: Any) -> None:
    answer = await execute(StepToolset([away.boom], executor=client[0].executor), [step("b", "boom")])
    assert answer["steps"]["b"] == {"status": "error", "error": f"ValueError: no such table, with {MASK}"}


class Refusing(Executor):
    """Says of every call what an engine without this package says."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = Future[Any]()
        error = ("ModuleNotFoundError", "No module named 'acp_notebook'", "…\na page of traceback")
        future.set_exception(ipyparallel.error.RemoteError(*error))
        return future


async def test_what_an_engine_itself_says_is_the_error() -> None:
    answer = await execute(StepToolset([away.where], executor=Refusing()), [step("w", "where")])
    error = "ModuleNotFoundError: No module named 'acp_notebook'"
    assert answer["steps"]["w"] == {"status": "error", "error": error}


async def test_a_lost_engine_ends_the_step_and_no_other_runs_it(client: Any, tmp_path: Path) -> None:
    mark, view = tmp_path / "mark", client.load_balanced_view()
    view.retries = 3
    toolset = StepToolset([away.die, away.where], executor=view.executor, keep_going=True)
    answer = await execute(toolset, [step("d", "die", mark=str(mark)), step("w", "where")])
    assert answer["steps"]["d"]["error"].startswith("its worker was lost while it ran, and what it has done")
    assert answer["steps"]["d"]["may_have_run"]
    assert answer["steps"]["w"] == "ok" and mark.read_text() == "x"
