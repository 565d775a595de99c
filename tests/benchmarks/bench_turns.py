"""What a session costs on top of the bare agent: `python tests/benchmarks/bench_turns.py`.

Each case runs the same function model through `agent.run(event_stream_handler=…)` and through a session, in
turns in one process, and compares their CPU times round by round: a shared machine is now faster, now slower,
but seldom changes between two runs that follow one another. The median of the rounds is told.
"""

from __future__ import annotations

import asyncio
import gc
import os
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

os.environ["PYDANTIC_AI_NO_BANNER"] = "1"

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.usage import UsageLimits

from acp_notebook.notebook import Session

CHUNKS, PARALLEL, SEQUENTIAL, PROMPTS = 2_000, 100, 40, 12


def results(messages: list[ModelMessage]) -> int:
    """How many tools have answered since the last prompt."""
    count = 0
    for message in reversed(messages):
        returned = [part for part in message.parts if isinstance(part, ToolReturnPart)]
        if message.kind == "request" and not returned:
            break
        count += len(returned)
    return count


async def short(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
    yield "Paris."


async def chunks(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
    for number in range(CHUNKS):
        yield f"word{number} "


async def parallel(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
    if results(messages):
        yield "done"
    else:
        yield {n: DeltaToolCall("add", f'{{"x": {n}}}', tool_call_id=f"c{n}") for n in range(PARALLEL)}


async def sequential(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
    done = results(messages)
    if done < SEQUENTIAL:
        yield {0: DeltaToolCall("add", f'{{"x": {done}}}', tool_call_id=f"c{done}-{len(messages)}")}
    else:
        yield "done"


def agent_of(stream: Any) -> Agent[None, str]:
    agent = Agent(FunctionModel(stream_function=stream))

    @agent.tool_plain
    async def add(x: int) -> int:
        return x + 1

    return agent


async def bare(agent: Agent[None, str]) -> None:
    async def handle(ctx: Any, events: Any) -> None:
        async for _ in events:
            pass

    limits = UsageLimits(request_limit=None)
    await agent.run("go", event_stream_handler=handle, usage_limits=limits, infer_name=False)


async def cpu(run: Callable[[], Awaitable[Any]]) -> float:
    gc.collect()  # or one pays for what another left behind
    start = time.process_time()
    await run()
    return time.process_time() - start


async def ask(session: Session) -> None:
    await session.prompt("go")


async def compare(stream: Any, rounds: int, panel: bool = False) -> list[tuple[float, float]]:
    """CPU seconds of one prompt, bare and in a session: a pair a round. Each round has a new session."""
    agent = agent_of(stream)
    pairs: list[tuple[float, float]] = []
    for number in range(rounds + 1):
        session = Session(agent)
        if panel:
            session.view()
        runs = [lambda: bare(agent), lambda session=session: ask(session)]
        order = (0, 1) if number % 2 else (1, 0)  # neither always follows the other
        times = {which: await cpu(runs[which]) for which in order}
        pairs.append((times[0], times[1]))
        session.close()
    return pairs[1:]


def bare_ms(pairs: list[tuple[float, float]]) -> str:
    return f"bare {statistics.median(bare for bare, _ in pairs) * 1e3:7.2f} ms"


def times_bare(pairs: list[tuple[float, float]]) -> str:
    return f"session × {statistics.median(ours / bare for bare, ours in pairs):.2f}"


async def growth() -> float:
    """CPU time of the last of `PROMPTS` prompts of `CHUNKS` chunks in one session, over that of the first."""
    ratios: list[float] = []
    for _ in range(5):
        session = Session(agent_of(chunks))
        times = [await cpu(lambda session=session: ask(session)) for _ in range(PROMPTS)]
        session.close()
        ratios.append(statistics.median(times[-3:]) / statistics.median(times[:3]))
    return statistics.median(ratios)


async def main() -> None:
    pairs = await compare(short, 40)
    extra = statistics.median(ours - bare for bare, ours in pairs)
    print(f"{'one short answer':27} {bare_ms(pairs)}  session +{extra * 1e3:.2f} ms")
    for name, stream, rounds in (
        (f"{CHUNKS:,} text chunks", chunks, 14),
        (f"{PARALLEL} calls in one response", parallel, 60),
        (f"{SEQUENTIAL} sequential calls", sequential, 14),
    ):
        pairs = await compare(stream, rounds)
        print(f"{name:27} {bare_ms(pairs)}  {times_bare(pairs)}")
    pairs = await compare(chunks, 10, panel=True)
    print(f"{'the chunks, a panel watching':27} {bare_ms(pairs)}  {times_bare(pairs)}")
    print(f"{PROMPTS} prompts of {CHUNKS:,} chunks: the last ones cost × {await growth():.2f} the first")


if __name__ == "__main__":
    asyncio.run(main())
