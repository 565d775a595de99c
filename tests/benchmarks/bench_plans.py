"""What a plan costs: `python tests/benchmarks/bench_plans.py`.

The plan tools are compared with a bare agent's tool that does the same to a list, called by the same
function model, in turns in one process, by CPU time. Then single entries are changed in large
plans, and the time is taken from the tool call to the folded state. Ratios count; absolute times mean little
on a shared machine.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Literal

from bench_turns import ask, bare, cpu, results
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from acp_notebook.notebook import Session
from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.protocol.messages import PlanUpdate

UPDATES, ENTRIES = 200, 200

Status = Literal["pending", "in_progress", "completed", "cancelled"]
Priority = Literal["high", "medium", "low"]


def entries(count: int) -> list[PlanEntry]:
    return [PlanEntry(f"Step {n}: look at what the step before has left") for n in range(1, count + 1)]


def updating(count: int, together: int) -> FunctionModel:
    """A model that updates `UPDATES` entries of `count`, all over the plan, so many in a response."""

    def call(number: int) -> DeltaToolCall:
        arguments = f'{{"index": {number * count // UPDATES + 1}, "status": "completed"}}'
        return DeltaToolCall("acp_update_plan_entry", arguments, tool_call_id=f"c{number}")

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        done = results(messages)
        yield {n: call(done + n) for n in range(together)} if done < UPDATES else "done"

    return FunctionModel(stream_function=stream)


def with_a_list(model: FunctionModel) -> Agent[None, str]:
    """An agent whose own tool does to a list what the session's does to the plan."""
    agent = Agent(model)
    steps = entries(ENTRIES)

    @agent.tool_plain(sequential=True)
    async def acp_update_plan_entry(
        index: int, status: Status | None = None, content: str | None = None, priority: Priority | None = None
    ) -> str:
        given = {"status": status, "content": content, "priority": priority}
        step = replace(
            steps[index - 1], **{name: value for name, value in given.items() if value is not None}
        )
        steps[index - 1] = step
        return f"Entry {index} is now: [{step.status}] {step.content}"

    return agent


async def tools(together: int, rounds: int) -> tuple[float, float]:
    """`UPDATES` updates of a plan of `ENTRIES` entries: median CPU seconds bare, and how many times that in a
    session, the median of rounds."""
    model = updating(ENTRIES, together)
    listed = with_a_list(model)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        session = Session(Agent(model))
        session.set_plan(entries(ENTRIES))
        times[0].append(await cpu(lambda: bare(listed)))
        times[1].append(await cpu(lambda session=session: ask(session)))
        assert session.plan.progress == (UPDATES, ENTRIES)
        session.close()
    ratios = [ours / bare_time for bare_time, ours in list(zip(*times, strict=True))[1:]]
    return statistics.median(times[0][1:]), statistics.median(ratios)


class Began(AbstractCapability[Any]):
    """Notes when a tool call begins."""

    at = 0.0

    async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: dict[str, Any]) -> Any:
        self.at = time.perf_counter()
        return args


async def one_change(count: int) -> float:
    """Median seconds from a tool call that changes one entry of `count` to the state that has it."""
    began, times = Began(), list[float]()
    session = Session(Agent(updating(count, UPDATES), capabilities=[began]))
    session.set_plan(Plan(tuple(entries(count))))

    def folded(state: object, event: object) -> None:
        if isinstance(event, PlanUpdate):
            times.append(time.perf_counter() - began.at)

    session.subscribe(folded)
    await ask(session)
    assert session.plan.progress == (UPDATES, count)
    session.close()
    return statistics.median(times)


async def main() -> None:
    for together in (2, 20, UPDATES):
        bare_time, ratio = await tools(together, 15)
        name = f"{UPDATES} updates, {together} a response"
        print(f"{name:28} bare {bare_time * 1e3:7.1f} ms  session × {ratio:.2f}")
    small, large = [statistics.median([await one_change(n) for _ in range(7)]) for n in (1_000, 10_000)]
    print(f"one entry changed of  1,000: {small * 1e3:.2f} ms")
    print(f"one entry changed of 10,000: {large * 1e3:.2f} ms, × {large / small:.1f}")


if __name__ == "__main__":
    asyncio.run(main())
