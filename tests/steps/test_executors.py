"""Steps on threads and processes: what goes out, what stays here, and what ends a step."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic_ai import Agent, FunctionToolset, RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.toolsets import CombinedToolset

from acp_notebook import AcpError, Sharable, StepApp, StepEvent, StepOptions, StepToolset
from acp_notebook.masking import MASK
from acp_notebook.steps.events import Outcome, StepEnded, StepStarted
from harness import away
from harness.steps import calling, execute, reference, returned, step


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, get_context("forkserver")) as pool:
        yield pool


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2, "outside") as pool:
        yield pool


@pytest.fixture(params=["threads", "processes"])
def executor(request: pytest.FixtureRequest) -> Executor:
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("parallel", [False, True])
async def test_values_errors_and_words_come_back_as_from_here(executor: Executor, parallel: bool) -> None:
    tools = [away.where, away.count, away.boom, away.again, away.leave]
    steps = [
        step("c", "count", upto=3),
        step("w", "where", value={"n": reference("c", -1)}),
        step("e", "boom", token="hunter2"),
        step("r", "again"),
        step("x", "leave"),
    ]
    toolset = StepToolset(tools, executor=executor, parallel=parallel, keep_going=True)
    answer = await execute(toolset, steps)
    assert answer["results"]["c"] == [0, 1, 2]
    assert answer["results"]["w"][1] == {"n": 2}
    assert (answer["results"]["w"][0] == os.getpid()) == isinstance(executor, ThreadPoolExecutor)
    assert answer["steps"]["e"]["error"] == f"ValueError: no such table, with {MASK}"
    assert answer["steps"]["r"]["error"] == "use another day"
    assert "SystemExit" in answer["steps"]["x"]["error"]


async def test_elements_are_shared_out(processes: ProcessPoolExecutor) -> None:
    toolset = StepToolset([away.where, away.count], executor=processes, parallel=True)
    each = {**step("w", "where", value=reference("item")), "for_each": reference("c")}
    answer = await execute(toolset, [step("c", "count", upto=20), each])
    assert [value for _, value in answer["results"]["w"]] == list(range(20))


class Desk:
    def __init__(self) -> None:
        self.written = 0

    def write(self) -> int:
        self.written += 1
        return os.getpid()


async def test_what_needs_this_process_stays_here(processes: ProcessPoolExecutor) -> None:
    desk, kept = Desk(), []

    def inside() -> int:
        kept.append(1)
        return os.getpid()

    def context(ctx: RunContext[str]) -> str:
        return f"{ctx.deps} {os.getpid()}"

    async def asynchronous() -> int:
        return os.getpid()

    toolset = StepToolset(
        [desk.write, inside, context, asynchronous, away.where],
        executor=processes,
        options={"where": StepOptions(here=True)},
    )
    names = ["write", "inside", "context", "asynchronous", "where"]
    answer = await execute(toolset, [step(name, name) for name in names], deps="Ada")
    here = os.getpid()
    assert answer["results"] == {
        "write": here,
        "inside": here,
        "context": f"Ada {here}",
        "asynchronous": here,
        "where": [here, None],
    }
    assert desk.written == len(kept) == 1


async def test_on_threads_methods_and_inner_functions_go_too(threads: ThreadPoolExecutor) -> None:
    names: list[str] = []

    def inside() -> None:
        names.append(threading.current_thread().name)

    await execute(StepToolset([inside], executor=threads), [step("a", "inside")])
    assert names[0].startswith("outside")


class Doubling(AbstractCapability[Any]):
    """A hook that changes what tools return."""

    async def after_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
        return result * 2 if tool_def.name == "sql_where" else result


async def test_approval_is_asked_here_and_hooks_see_what_comes_back(processes: ProcessPoolExecutor) -> None:
    asked: list[Any] = []

    async def handle(ctx: Any, requests: Any) -> Any:
        asked.extend(call.args_as_dict() for call in requests.approvals)
        return requests.build_results(approve_all=True)

    inner = FunctionToolset([Tool(away.where, requires_approval=True)]).prefixed("sql")
    toolset = StepToolset(CombinedToolset([inner]), executor=processes)
    agent = Agent(
        calling(("execute_plan", {"steps": [step("a", "sql_where", value="v")]})),
        toolsets=[toolset],
        capabilities=[HandleDeferredToolCalls(handle), Doubling()],
    )
    (answer,) = returned((await agent.run("go")).all_messages())
    pid, value, *twice = answer["results"]["a"]
    assert asked == [{"value": "v"}] and value == "v" and pid != os.getpid() and twice == [pid, value]


async def test_what_cannot_travel_ends_its_step_alone(processes: ProcessPoolExecutor) -> None:
    toolset = StepToolset([away.lock, away.odd, away.where], executor=processes, keep_going=True)
    answer = await execute(toolset, [step("l", "lock"), step("o", "odd"), step("w", "where")])
    assert "cannot pickle" in answer["steps"]["l"]["error"] and answer["steps"]["l"]["may_have_run"]
    assert answer["steps"]["o"] == {"status": "error", "error": "Odd: one and two"}
    assert answer["steps"]["w"] == "ok"


async def test_the_traceback_there_is_in_the_log_without_secrets(
    processes: ProcessPoolExecutor, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "acp_notebook"):
        await execute(StepToolset([away.boom], executor=processes), [step("b", "boom", token="hunter2")])
    assert "away.py" in caplog.text and "no such table" in caplog.text and "hunter2" not in caplog.text


async def test_a_lost_process_is_the_error_of_its_step(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with ProcessPoolExecutor(1) as pool:
        toolset = StepToolset([away.die, away.where], executor=pool, keep_going=True)
        answer = await execute(toolset, [step("d", "die", mark=str(mark)), step("w", "where")])
    assert answer["steps"]["d"]["error"].startswith("its worker was lost while it ran, and what it has done")
    assert answer["steps"]["d"]["may_have_run"]
    assert "not usable anymore" in answer["steps"]["w"]["error"]
    assert mark.read_text() == "x"


@pytest.mark.parametrize("wrong", ["x", 4, ProcessPoolExecutor, lambda: None])
def test_what_is_no_executor_is_refused(wrong: Any) -> None:
    with pytest.raises(
        AcpError, match=f"^executor is no concurrent.futures.Executor: {re.escape(repr(wrong))}"
    ):
        StepToolset([away.where], executor=wrong)


async def test_it_is_never_shut_down_and_one_that_is_says_so() -> None:
    pool = ThreadPoolExecutor(1)
    toolset = StepToolset([away.where], executor=pool)
    assert (await execute(toolset, [step("a", "where")]))["status"] == "ok"
    assert pool.submit(int).result() == 0
    pool.shutdown()
    answer = await execute(toolset, [step("a", "where")])
    assert answer["steps"]["a"]["error"] == "RuntimeError: cannot schedule new futures after shutdown"


async def cancelled(toolset: StepToolset, name: str, begun: asyncio.Event | None = None) -> Outcome:
    """How a step ends that is cancelled: once it is on its way, or when `begun` is set."""
    started, ended = asyncio.Event(), []

    def observe(event: StepEvent) -> None:
        if isinstance(event, StepStarted):
            started.set()
        if isinstance(event, StepEnded):
            ended.append(event.outcome)

    toolset._observer = observe
    task = asyncio.ensure_future(execute(toolset, [step("a", name)]))
    await asyncio.wait_for((begun or started).wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return ended[0]


@pytest.mark.parametrize("timeout", [None, 60])
async def test_a_cancel_takes_back_what_has_not_begun(timeout: float | None) -> None:
    loop, begun, release = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def block() -> None:
        loop.call_soon_threadsafe(begun.set)
        release.wait(20)

    with ThreadPoolExecutor(1) as pool:
        toolset = StepToolset([block], executor=pool, options={"block": StepOptions(timeout=timeout)})
        assert (await cancelled(toolset, "block", begun)).may_still_run
        begun.clear()
        waiting = await cancelled(toolset, "block")
        assert waiting.status == "cancelled" and not (waiting.may_still_run or waiting.may_have_run)
        release.set()
    assert not begun.is_set()


async def test_a_time_limit_says_what_may_still_run(processes: ProcessPoolExecutor, tmp_path: Path) -> None:
    until = tmp_path / "until"
    toolset = StepToolset([away.hold], executor=processes, options={"hold": StepOptions(timeout=0.3)})
    answer = await execute(toolset, [step("h", "hold", mark=str(tmp_path / "mark"), until=str(until))])
    until.touch()
    assert answer["steps"]["h"]["error"] == "TimeoutError: no result within 0.3 s, and may still be running"


NOTEBOOK = """
import asyncio, os, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pydantic import BaseModel
from acp_notebook import StepToolset
from harness.steps import execute, step
{before}
FACTOR = 3

class Made(BaseModel):
    pid: int
    value: int

def triple(value: int) -> Made:
    return Made(pid=os.getpid(), value=FACTOR * value)

with ProcessPoolExecutor(1, get_context("spawn")) as pool:
    answer = asyncio.run(execute(StepToolset([triple], executor=pool), [step("a", "triple", value=2)]))
print(answer["results"]["a"]["value"], answer["results"]["a"]["pid"] == os.getpid())
"""


@pytest.mark.parametrize("cloudpickle", [True, False])
def test_what_a_notebook_defines_goes_with_cloudpickle_and_else_stays_with_a_line(cloudpickle: bool) -> None:
    pytest.importorskip("cloudpickle")
    before = "" if cloudpickle else "sys.modules['cloudpickle'] = None"
    ran = subprocess.run(
        [sys.executable, "-c", NOTEBOOK.format(before=before)],
        env={**os.environ, "PYTHONPATH": str(Path(away.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout == f"6 {not cloudpickle}\n", ran.stderr
    line = "triple runs here and not on the executor, which cannot import what a notebook defines"
    assert (line in ran.stderr) is not cloudpickle


async def test_an_app_takes_one_too(processes: ProcessPoolExecutor) -> None:
    app = StepApp("away", executor=processes)
    app.tool(away.where)

    @app.tool
    def here(value: Annotated[Any, Sharable()]) -> bool:
        return value == os.getpid()

    steps = [step("a", "where"), step("b", "here", value=reference("a", 0))]
    assert (await execute(app, steps))["results"]["b"] is False
