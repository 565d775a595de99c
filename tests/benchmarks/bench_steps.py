"""What a plan of steps costs, beside Concierge's Plan backend: `python tests/benchmarks/bench_steps.py`.

The peer lives in an environment of its own (`pip install concierge-sdk==0.8.0 "mcp<2"`), whose Python is
CONCIERGE_PYTHON. Each measurement is a process of its own, ours and the peer's in turns. A small plan goes
first: what is paid once in a process, such as the opening of the file of runs, is not what a plan costs.
Time is from the call of `execute_plan` to its answer: ours within a run of an agent, the peer's through an
MCP client in its process. Where nothing waits, CPU times are compared, and of each side the least of the
rounds: other work on the machine only adds to it. Memory is the peak of Python's allocations meanwhile.
Arguments are names of plans.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3  # noqa: F401, a kernel has it, and the next
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Annotated, Any

os.environ["PYDANTIC_AI_NO_BANNER"] = "1"

import jupyter_core.paths  # noqa: F401
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from acp_notebook import Sharable, StepToolset

ROUNDS, MB, EIGHT = 9, 50, 8
Steps = list[dict[str, Any]]


def reference(step: str, *path: str) -> dict[str, Any]:
    return {"output_by_reference": {step: list(path)}}


def chain(count: int, prefix: str = "") -> Steps:
    first = {"id": "s0", "tool": f"{prefix}one", "args": {}}
    rest = (
        {"id": f"s{n}", "tool": f"{prefix}add", "args": {"n": reference(f"s{n - 1}", "n")}}
        for n in range(1, count)
    )
    return [first, *rest]


PLANS: dict[str, Steps] = {
    "chain of 1,000": chain(1_000),
    "chain of 10,000": chain(10_000),
    "chain of 1,000, async tools": chain(1_000, "async_"),
    "chain of 10,000, async tools": chain(10_000, "async_"),
    f"{MB} MB by reference": [
        {"id": "b", "tool": "big", "args": {"size": MB * 1_000_000}},
        {"id": "l", "tool": "length", "args": {"text": reference("b", "text")}},
    ],
    f"{MB} MB through four steps": [
        {"id": "b", "tool": "big", "args": {"size": MB * 1_000_000}},
        {"id": "p", "tool": "passed", "args": {"text": reference("b", "text")}},
        {"id": "q", "tool": "passed", "args": {"text": reference("p", "text")}},
        {"id": "l", "tool": "length", "args": {"text": reference("q", "text")}},
    ],
    f"{EIGHT} steps of 0.1 s": [
        {"id": f"w{n}", "tool": "wait", "args": {"seconds": 0.1}} for n in range(EIGHT)
    ],
}


def one() -> dict[str, Any]:
    return {"n": 1}


def add(n: Annotated[int, Sharable()]) -> dict[str, Any]:
    return {"n": n + 1}


async def async_one() -> dict[str, Any]:
    return {"n": 1}


async def async_add(n: Annotated[int, Sharable()]) -> dict[str, Any]:
    return {"n": n + 1}


def big(size: int) -> dict[str, Any]:
    return {"text": "x" * size}


def passed(text: Annotated[str, Sharable()]) -> dict[str, Any]:
    return {"text": text}


def length(text: Annotated[str, Sharable()]) -> dict[str, Any]:
    return {"length": len(text)}


async def wait(seconds: float) -> dict[str, Any]:
    await asyncio.sleep(seconds)
    return {"waited": seconds}


async def ours(steps: Steps, memory: bool) -> dict[str, Any]:
    """The second of two runs of an agent, each of which calls `execute_plan` once."""
    plans = [PLANS["chain of 1,000"][:1], steps]
    measured: dict[str, Any] = {}

    class Measured(StepToolset):
        async def call_tool(self, name: str, tool_args: Any, ctx: Any, tool: Any) -> Any:
            if memory:
                tracemalloc.start()
            start, cpu = time.perf_counter(), time.process_time()
            answer = await super().call_tool(name, tool_args, ctx, tool)
            measured["seconds"] = time.perf_counter() - start
            measured["cpu"] = time.process_time() - cpu
            measured["peak"] = tracemalloc.get_traced_memory()[1] if memory else 0
            measured["failed"] = answer["status"] != "ok"
            tracemalloc.stop()
            return answer

    def model(messages: list[Any], info: Any) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse([TextPart("done")])
        return ModelResponse([ToolCallPart("execute_plan", {"steps": plans.pop(0)})])

    tools = [one, add, async_one, async_add, big, passed, length, wait]
    toolset = Measured(tools, max_steps=10_000, parallel=len(steps) == EIGHT)
    agent = Agent(FunctionModel(model), toolsets=[toolset])
    await agent.run("go")
    result = await agent.run("go")
    returned = result.all_messages()[-2].parts[0]
    assert isinstance(returned, ToolReturnPart)
    return {**measured, "answer": len(returned.model_response_str().encode())}


def measure(side: str, name: str, *options: str) -> dict[str, Any]:
    """One measurement in a process of its own."""
    if side == "ours":
        command, given = [sys.executable, __file__, "--ours", name, *options], ""
    else:
        script = str(Path(__file__).with_name("steps_peer.py"))
        command, given = [os.environ["CONCIERGE_PYTHON"], script, *options], json.dumps(PLANS[name])
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JUPYTER_DATA_DIR"] = folder  # where the runs are written down
        compare()


def compare() -> None:
    sides = ["ours", "peer"] if "CONCIERGE_PYTHON" in os.environ else ["ours"]
    for name in PLANS if len(sys.argv) < 2 else sys.argv[1:]:
        rounds = [{side: measure(side, name) for side in sides} for _ in range(ROUNDS)]
        peaks = {side: measure(side, name, "--memory")["peak"] / 1e6 for side in sides}
        assert not any(found["failed"] for one in rounds for found in one.values()), name
        line = f"{name:30} {min(one['ours']['seconds'] for one in rounds) * 1e3:8.1f} ms"
        line += f", {peaks['ours']:7.1f} MB, answer {rounds[0]['ours']['answer']:,} bytes"
        if "peer" in sides:
            clock = "seconds" if "0.1 s" in name else "cpu"
            least = {side: min(one[side][clock] for one in rounds) for side in sides}
            ratio = least["ours"] / least["peer"]
            line += f"; the peer's {clock} × {ratio:.2f}, memory × {peaks['ours'] / peaks['peer']:.2f}"
            line += f", answer {rounds[0]['peer']['answer']:,} bytes"
        print(line, flush=True)


if __name__ == "__main__":
    if "--ours" in sys.argv:
        print(json.dumps(asyncio.run(ours(PLANS[sys.argv[2]], "--memory" in sys.argv))))
    else:
        main()
