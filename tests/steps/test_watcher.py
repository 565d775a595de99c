"""Who follows a run: the toolset's own observer and whoever watches the context, on the loop's thread."""

from __future__ import annotations

import threading
from typing import Annotated, Any

import pytest
from pydantic_ai import Agent, RunContext

from acp_notebook import Sharable, StepEvent, StepToolset
from acp_notebook.errors import StepsRefused
from acp_notebook.steps.events import RunEnded, RunStarted, StepEnded, StepStarted, watcher
from harness.steps import calling, execute, reference, step


def number(value: int) -> int:
    return value


async def double(value: Annotated[int, Sharable()]) -> int:
    return 2 * value


STEPS = [
    step("a", "number", value=1),
    step("b", "number", value=2),
    step("c", "double", value=reference("b")),
]


@pytest.mark.parametrize("parallel", [False, True])
async def test_a_watcher_sees_the_runs_of_its_context_as_the_observer_does(parallel: bool) -> None:
    own: list[StepEvent] = []
    seen: list[tuple[StepEvent, threading.Thread]] = []
    token = watcher.set(lambda event: seen.append((event, threading.current_thread())))
    toolset = StepToolset([number, double], parallel=parallel, on_event=own.append)
    try:
        await execute(toolset, STEPS)
    finally:
        watcher.reset(token)
    assert own == [event for event, _ in seen]
    assert {thread for _, thread in seen} == {threading.current_thread()}
    await execute(toolset, STEPS)
    assert len(own) == 2 * len(seen)


async def test_events_of_quick_steps_come_in_order() -> None:
    seen: list[Any] = []
    await execute(StepToolset([number, double], on_event=seen.append), STEPS)
    assert [(type(event), getattr(event, "step_id", None)) for event in seen] == [
        (RunStarted, None),
        *((kind, step_id) for step_id in "abc" for kind in (StepStarted, StepEnded)),
        (RunEnded, None),
    ]
    assert (seen[0].parallel, seen[0].resumed, seen[0].call_id) == (False, False, "call-0")


async def test_a_plan_is_checked_without_running_anything() -> None:
    toolset = StepToolset([number, double])
    found: list[Any] = []

    async def look(ctx: RunContext[Any]) -> None:
        found.append(await toolset.check([{**STEPS[0], "note": "first"}], ctx))
        with pytest.raises(StepsRefused, match="there is no tool 'none'"):
            await toolset.check([step("x", "none")], ctx)

    await Agent(calling(("look", {})), tools=[look]).run("go")
    (((checked,), notes),) = found
    assert (checked.step_id, checked.args, len(notes)) == ("a", {"value": 1}, 1)
