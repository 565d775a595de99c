"""The plans of `bench_steps.py` on Concierge's Plan backend; run by the Python of an environment that has it.

It tells what a plan costs from the call of `execute_plan` to its answer, by an MCP client in the process.
A small plan goes first.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
import tracemalloc
from typing import Annotated

from concierge import Concierge, Config, ProviderType
from concierge.core.sharable import Sharable
from mcp.shared.memory import create_connected_server_and_client_session as connect

logging.disable(logging.INFO)

app = Concierge("bench", config=Config(provider_type=ProviderType.PLAN))


@app.tool()
def one() -> dict:
    return {"n": 1}


@app.tool()
def add(n: Annotated[int, Sharable()]) -> dict:
    return {"n": n + 1}


@app.tool()
async def async_one() -> dict:
    return {"n": 1}


@app.tool()
async def async_add(n: Annotated[int, Sharable()]) -> dict:
    return {"n": n + 1}


@app.tool()
def big(size: int) -> dict:
    return {"text": "x" * size}


@app.tool()
def passed(text: Annotated[str, Sharable()]) -> dict:
    return {"text": text}


@app.tool()
def length(text: Annotated[str, Sharable()]) -> dict:
    return {"length": len(text)}


@app.tool()
async def wait(seconds: float) -> dict:
    await asyncio.sleep(seconds)
    return {"waited": seconds}


async def main(steps: list[dict], memory: bool) -> None:
    app.streamable_http_app()  # sets the backend's tools up
    async with connect(app._server) as client:
        await client.list_tools()
        await client.call_tool("execute_plan", {"steps": [{"id": "a", "tool": "one", "args": {}}]})
        if memory:
            tracemalloc.start()
        start, cpu = time.perf_counter(), time.process_time()
        result = await client.call_tool("execute_plan", {"steps": steps})
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        peak = tracemalloc.get_traced_memory()[1] if memory else 0
        answer = sum(len(part.text) for part in result.content)
        told = {"seconds": seconds, "cpu": cpu, "peak": peak, "answer": answer, "failed": result.isError}
        print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main(json.load(sys.stdin), "--memory" in sys.argv))
