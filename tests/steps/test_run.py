"""Running: in order and together, conditions, elements, tries, time limits, cancellation."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic_ai import Agent

from acp_notebook import Sharable, StepEvent, StepOptions, StepToolset
from acp_notebook.steps.events import (
    ItemEnded,
    Outcome,
    RunEnded,
    RunStarted,
    StepEnded,
    StepRetried,
    StepStarted,
)
from harness.steps import answers, calling, execute, reference, step

Any_ = Annotated[Any, Sharable()]


def number(value: int) -> int:
    return value


def double(value: Annotated[int, Sharable()]) -> int:
    return 2 * value


def items(count: int) -> list[dict[str, int]]:
    return [{"n": n} for n in range(count)]


def fail(why: str = "broken") -> str:
    raise RuntimeError(why)


def pair(a: Any_, b: Any_ = None) -> list[Any]:
    return [a, b]


TOOLS = [number, double, items, fail, pair]


def statuses(events: list[StepEvent]) -> dict[str, str]:
    """What the events alone say of the steps."""
    found: dict[str, str] = {}
    for event in events:
        match event:
            case RunStarted():
                found = {step.step_id: "pending" for step in event.steps}
            case StepStarted():
                found[event.step_id] = "running"
            case StepEnded():
                found[event.step_id] = event.outcome.status
            case _:
                pass
    return found


def outcomes(events: list[StepEvent]) -> dict[str, Outcome]:
    return {event.step_id: event.outcome for event in events if isinstance(event, StepEnded)}


@pytest.mark.parametrize("parallel", [False, True])
async def test_events_tell_every_status(parallel: bool) -> None:
    events: list[StepEvent] = []
    toolset = StepToolset(TOOLS, parallel=parallel, keep_going=True, on_event=events.append)
    answer = await execute(
        toolset,
        [
            step("a", "number", value=1),
            step("f", "fail"),
            step("b", "double", value=reference("f")),
            step("c", "double", value=reference("a")),
        ],
    )
    assert statuses(events) == {"a": "ok", "f": "error", "b": "skipped", "c": "ok"}
    assert answer["status"] == "error" and answer["results"] == {"a": 1, "c": 2}
    assert isinstance(events[0], RunStarted) and events[0].call_id == "call-0"
    assert isinstance(events[-1], RunEnded) and events[-1].status == "error"
    for outcome in outcomes(events).values():
        assert outcome.started is None or outcome.started <= outcome.ended
    assert outcomes(events)["b"].started is None


async def test_an_observer_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def observe(event: StepEvent) -> None:
        raise ValueError("a broken view")

    answer = await execute(StepToolset(TOOLS, on_event=observe), [step("a", "number", value=1)])
    assert answer["results"] == {"a": 1}
    assert "a broken view" in caplog.text


async def test_after_a_failure_nothing_begins_unless_asked() -> None:
    steps = [step("f", "fail"), step("a", "number", value=1)]
    assert (await execute(StepToolset(TOOLS), steps))["steps"]["a"] == {"status": "skipped", "because": "f"}
    assert (await execute(StepToolset(TOOLS, keep_going=True), steps))["steps"]["a"] == "ok"


async def test_steps_that_do_not_refer_to_each_other_run_together() -> None:
    together = asyncio.Barrier(3)

    async def meet() -> str:
        await asyncio.wait_for(together.wait(), 10)
        return "met"

    answer = await execute(StepToolset([meet], parallel=True), [step(f"m{n}", "meet") for n in range(3)])
    assert answer["status"] == "ok"


async def test_no_more_than_width_run_at_once() -> None:
    running, most = 0, 0

    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    toolset = StepToolset([work], parallel=True, width=2)
    await execute(toolset, [step(f"w{n}", "work") for n in range(6)])
    assert most == 2


async def test_a_tool_with_side_effects_keeps_its_place_among_all_others() -> None:
    order: list[str] = []

    async def read(name: str, turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        order.append(name)

    async def write(name: str) -> None:
        order.append(name)

    toolset = StepToolset([read, write], parallel=True, options={"write": StepOptions(side_effects=True)})
    await execute(
        toolset,
        [
            step("a", "read", name="a", turns=20),
            step("b", "read", name="b", turns=1),
            step("w", "write", name="w"),
            step("x", "write", name="x"),
            step("c", "read", name="c", turns=9),
            step("d", "read", name="d", turns=1),
        ],
    )
    assert order == ["b", "a", "w", "x", "d", "c"]


@pytest.mark.parametrize("observed", [False, True])
async def test_sync_tools_run_off_the_loop(observed: bool) -> None:
    threads: list[threading.Thread] = []

    def where() -> None:
        threads.append(threading.current_thread())

    toolset = StepToolset([where], on_event=(lambda event: None) if observed else None)
    await execute(toolset, [step("a", "where"), step("b", "where")])
    assert threading.current_thread() not in threads and len(threads) == 2


@pytest.mark.parametrize("parallel", [False, True])
async def test_for_each_calls_the_tool_for_every_element(parallel: bool) -> None:
    events: list[StepEvent] = []
    answer = await execute(
        StepToolset(TOOLS, parallel=parallel, on_event=events.append),
        [
            step("l", "items", count=5),
            {**step("d", "double", value=reference("item", "n")), "for_each": reference("l")},
            step("p", "pair", a=reference("d", -1), b=reference("d")),
        ],
    )
    assert answer["results"]["p"] == [8, [0, 2, 4, 6, 8]]
    assert [(e.done, e.total) for e in events if isinstance(e, ItemEnded)] == [(n, 5) for n in range(1, 6)]


async def test_for_each_ends_at_a_failure_and_keeps_what_there_is() -> None:
    def even(n: Annotated[int, Sharable()]) -> int:
        if n == 2:
            raise ValueError("two is too much")
        return n

    answer = await execute(
        StepToolset([*TOOLS, even]),
        [
            step("l", "items", count=5),
            {**step("e", "even", n=reference("item", "n")), "for_each": reference("l")},
        ],
    )
    assert answer["steps"]["e"]["error"] == "element 2 of 5: ValueError: two is too much; 2 elements are done"
    assert answer["results"]["e"] == [0, 1, None, None, None]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (step("l", "pair", a=[1] * 3), "has 2 elements, and for_each takes 1"),
        (step("l", "number", value=1), "cannot be followed"),
    ],
)
async def test_for_each_over_too_much_or_no_list(source: Any, says: str) -> None:
    looped = {**step("d", "pair", a=reference("item")), "for_each": reference("l")}
    answer = await execute(StepToolset(TOOLS, max_items=1), [source, looped])
    assert says in str(answer)


@pytest.mark.parametrize(
    ("condition", "runs"),
    [
        (reference("a"), True),
        ({"value": reference("a"), "equals": 3}, True),
        ({"value": reference("a"), "not_equals": 3}, False),
        ({"value": reference("a"), "greater_than": 2}, True),
        ({"value": reference("a"), "less_than": 3}, False),
        ({"value": reference("a"), "one_of": [1, 2]}, False),
    ],
)
async def test_when(condition: Any, runs: bool) -> None:
    steps = [step("a", "number", value=3), {**step("b", "number", value=1), "when": condition}]
    answer = await execute(StepToolset(TOOLS), [*steps, step("c", "double", value=reference("b"))])
    assert answer["status"] == "ok"
    if runs:
        assert answer["steps"] == {"a": "ok", "b": "ok", "c": "ok"}
    else:
        assert answer["steps"]["b"] == {"status": "skipped", "reason": "its condition does not hold"}
        assert answer["steps"]["c"] == {"status": "skipped", "because": "b"}


async def test_a_condition_that_cannot_be_decided_is_an_error() -> None:
    steps = [step("a", "number", value=3), {**step("b", "number", value=1)}]
    steps[1]["when"] = {"value": reference("a"), "less_than": "text"}
    answer = await execute(StepToolset(TOOLS), steps)
    assert "its condition cannot be decided: TypeError" in answer["steps"]["b"]["error"]


async def test_an_idempotent_tool_is_tried_again_with_its_arguments_as_they_were() -> None:
    seen: list[list[int]] = []

    def push(values: Annotated[list[int], Sharable()]) -> int:
        seen.append(list(values))
        values.append(9)
        if len(seen) < 3:
            raise ConnectionError("try again")
        return len(values)

    events: list[StepEvent] = []
    options = {"push": StepOptions(idempotent=True, retries=2, backoff=0.001)}
    toolset = StepToolset([push], options=options, on_event=events.append)
    answer = await execute(toolset, [step("a", "push", values=[1])])
    assert answer["results"] == {"a": 2} and seen == [[1], [1], [1]]
    tries = [(e.attempt, e.error, e.wait) for e in events if isinstance(e, StepRetried)]
    assert tries == [(1, "ConnectionError: try again", 0.001), (2, "ConnectionError: try again", 0.002)]


def test_only_what_is_declared_idempotent_may_be_tried_again() -> None:
    with pytest.raises(ValueError, match="retries are for tools declared idempotent"):
        StepOptions(retries=1)


@pytest.mark.parametrize("sync", [False, True])
async def test_a_step_that_takes_too_long(sync: bool) -> None:
    release = threading.Event()

    async def wait() -> None:
        await asyncio.Event().wait()

    def block() -> None:
        release.wait(20)

    toolset = StepToolset(
        [block if sync else wait], options={n: StepOptions(timeout=0.05) for n in ("block", "wait")}
    )
    try:
        answer = await execute(toolset, [step("a", "block" if sync else "wait")])
    finally:
        release.set()
    assert answer["steps"]["a"]["error"].startswith("TimeoutError: no result within 0.05 s")
    assert answer["steps"]["a"].get("may_still_run", False) is sync


async def test_fail_when_a_result_says_so() -> None:
    def charge() -> dict[str, Any]:
        return {"status": "declined", "amount": 3}

    options = {"charge": StepOptions(fail_when=lambda result: result["status"] == "declined")}
    toolset = StepToolset([*TOOLS, charge], options=options)
    answer = await execute(toolset, [step("c", "charge"), step("n", "number", value=1)])
    assert answer["steps"]["c"] == {"status": "error", "error": "its result says that it failed"}
    assert answer["results"]["c"]["amount"] == 3
    assert answer["steps"]["n"] == {"status": "skipped", "because": "c"}


async def test_results_stay_as_they_were() -> None:
    kept: list[int] = []

    def grow() -> list[int]:
        kept.append(len(kept))
        return kept

    def spoil(values: Any_) -> str:
        values.clear()
        return "spoilt"

    answer = await execute(
        StepToolset([grow, spoil, pair]),
        [
            step("a", "grow"),
            step("b", "grow"),
            step("s", "spoil", values=reference("b")),
            step("p", "pair", a=reference("a"), b=reference("b")),
        ],
    )
    assert answer["results"]["p"] == [[0], [0, 1]]


async def cancelled(
    tools: list[Callable[..., Any]], begun: asyncio.Event, release: Callable[[], None], **settings: Any
) -> dict[str, Outcome]:
    """The outcomes of a plan whose turn is cancelled while step `b` runs."""
    toolset = StepToolset(tools, **settings)
    steps = [
        step("a", "number", value=1),
        step("b", tools[0].__name__),
        step("c", "double", value=reference("a")),
    ]
    agent = Agent(calling(("execute_plan", {"steps": steps})), toolsets=[toolset])
    task = asyncio.ensure_future(agent.run("go"))
    await asyncio.wait_for(begun.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release()
    ((_, run, _),) = toolset._runs
    return run.outcomes


async def test_cancel_says_what_ran_and_what_did_not() -> None:
    begun = asyncio.Event()

    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    events: list[StepEvent] = []
    found = await cancelled([wait, *TOOLS], begun, lambda: None, on_event=events.append)
    assert isinstance(events[-1], RunEnded) and events[-1].status == "cancelled"
    assert statuses(events) == {name: outcome.status for name, outcome in found.items()}
    assert {name: outcome.status for name, outcome in found.items()} == {
        "a": "ok",
        "b": "cancelled",
        "c": "skipped",
    }
    assert not found["b"].may_still_run and found["b"].started is not None
    assert found["c"].error == "the run was cancelled before this step"


@pytest.mark.parametrize("settings", [{}, {"on_event": lambda event: None}, {"parallel": True}])
async def test_cancel_says_what_may_still_run(settings: dict[str, Any]) -> None:
    loop, begun, release = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    ended = threading.Event()

    def block() -> None:
        loop.call_soon_threadsafe(begun.set)
        release.wait(20)
        ended.set()

    found = await cancelled([block, *TOOLS], begun, release.set, **settings)
    assert found["b"].status == "cancelled" and found["b"].may_still_run
    assert await asyncio.to_thread(ended.wait, 10)
    assert found["b"].status == "cancelled"


class Panic(BaseException):
    """As extension modules raise it."""


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("error", [SystemExit(3), Panic("oh no")], ids=["exit", "panic"])
async def test_a_tool_that_would_end_the_process_ends_its_step(error: BaseException, observed: bool) -> None:
    def leave() -> None:
        raise error

    async def leave_async() -> None:
        raise error

    toolset = StepToolset(
        [leave, leave_async], keep_going=True, on_event=(lambda event: None) if observed else None
    )
    answer = await execute(toolset, [step("a", "leave"), step("b", "leave_async")])
    said = "tried to end the process" if isinstance(error, SystemExit) else "raised Panic: oh no"
    assert answer["steps"]["a"]["error"] == f"RuntimeError: leave {said}" + (
        " (SystemExit)" if isinstance(error, SystemExit) else ""
    )
    assert f"leave_async {said}" in answer["steps"]["b"]["error"]


async def test_a_generator_is_read_once_and_kept() -> None:
    def lines() -> Any:
        return (n for n in range(3))

    answer = await execute(
        StepToolset([lines, pair]), [step("l", "lines"), step("p", "pair", a=reference("l"))]
    )
    assert answer["results"] == {"l": [0, 1, 2], "p": [[0, 1, 2], None]}


async def test_runs_can_be_read_afterwards() -> None:
    toolset = StepToolset(TOOLS)
    read = await answers(
        toolset,
        ("execute_plan", {"steps": [step("l", "items", count=500)]}),
        ("read_step", {"id": "l", "start": 498}),
        ("read_step", {"id": "l", "path": [3, "n"]}),
        ("read_step", {"id": "l", "path": ["x"]}),
        ("read_step", {"id": "zz"}),
    )
    assert (
        read[0]["results"]["l"]["size"] == "500 items" and read[0]["results"]["l"]["more"] == "read_step('l')"
    )
    assert read[1]["value"] == [{"n": 498}, {"n": 499}]
    assert (read[1]["start"], read[1]["end"], read[1]["of"]) == (498, 500, "500 items")
    assert read[2]["value"] == 3
    assert "there is no 'x' in it: it is a list of 500, 0 to 499" in read[3]
    assert "there is no step 'zz' to read: the steps are 'l'" in read[4]
    assert "no plan has run yet" in (await answers(toolset, ("read_step", {"id": "l"})))[0]
