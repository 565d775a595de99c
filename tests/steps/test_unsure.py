"""Steps that did not end well though their tools may have done their work: all say so, and resuming asks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls

from acp_notebook import Sharable, StepEvent, StepOptions, StepToolset
from acp_notebook.steps.events import RunStarted, StepEnded
from harness.journal import go_on, run
from harness.steps import calling, reference, step

Any_ = Annotated[Any, Sharable()]
PARALLEL = pytest.mark.parametrize("parallel", [False, True])


class Posts:
    """Tools that do their work, and then, the first time, wait: `begun` is set, and `release` ends it."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.begun = asyncio.Event()
        self.release = threading.Event()
        self._loop = asyncio.get_running_loop()

    async def post(self, n: Any_) -> Any:
        self.done.append(n)
        if self.done.count(n) == 1 and n != "quick":
            self.begun.set()
            await asyncio.Event().wait()
        return n

    def post_sync(self, n: Any_) -> Any:
        self.done.append(n)
        if self.done.count(n) == 1 and n != "quick":
            self._loop.call_soon_threadsafe(self.begun.set)
            self.release.wait(20)
        return n

    def refuse(self, n: Any_) -> Any:
        self.done.append(n)
        raise ValueError("refused")

    @staticmethod
    def listed(values: list[Any]) -> list[Any]:
        return values

    def toolset(self, **settings: Any) -> StepToolset:
        return StepToolset([self.post, self.post_sync, self.refuse, self.listed], **settings)


async def resumed(toolset: StepToolset, run_id: str, **wish: Any) -> tuple[Any, list[str]]:
    """The answer of a run that goes on with all allowed, and what was asked."""
    asked: list[str] = []

    def handle(ctx: Any, requests: Any) -> Any:
        asked.extend(requests.metadata[call.tool_call_id]["description"] for call in requests.approvals)
        return requests.build_results(approve_all=True)

    answer = await go_on(toolset, run_id, wish=wish, capabilities=[HandleDeferredToolCalls(handle)])
    return answer, asked


async def cancelled(
    tools: list[Any], steps: list[Any], until: asyncio.Event, *, hooks: Any = (), **settings: Any
) -> tuple[str, Any]:
    """The id of a run that is cancelled once `until` is set, and how its steps ended."""
    events: list[StepEvent] = []
    toolset = StepToolset(tools, on_event=events.append, **settings)
    agent = Agent(calling(("execute_plan", {"steps": steps})), toolsets=[toolset], capabilities=hooks)
    task = asyncio.ensure_future(agent.run("go"))
    await asyncio.wait_for(until.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert isinstance(events[0], RunStarted)
    return events[0].run_id, {e.step_id: e.outcome for e in events if isinstance(e, StepEnded)}


@PARALLEL
@pytest.mark.parametrize("tool", ["post", "post_sync"])
async def test_after_a_time_limit_it_is_asked(tool: str, parallel: bool) -> None:
    posts = Posts()
    toolset = posts.toolset(options={tool: StepOptions(timeout=0.05)}, parallel=parallel)
    run_id, answer = await run(toolset, step("a", tool, n=1))
    posts.release.set()
    assert answer["steps"]["a"]["may_have_run"] is True
    assert "A step with may_have_run may have done its work" in answer["notes"][0]
    (record,) = StepToolset.record(run_id).steps
    assert record.status == "error" and record.detail["may_have_run"] is True
    answer = await go_on(posts.toolset(), run_id)
    assert answer["steps"]["a"]["status"] == "denied" and posts.done == [1]  # nobody was there to ask
    answer, asked = await resumed(posts.toolset(), run_id)
    assert answer["status"] == "ok" and posts.done == [1, 1]
    assert len(asked) == 1 and asked[0].startswith("Step 'a' ")


@PARALLEL
@pytest.mark.parametrize("tool", ["post", "post_sync"])
@pytest.mark.parametrize("settings", [{}, {"timeout": 60}], ids=["plain", "timed"])
async def test_after_a_cancel_it_is_asked(tool: str, parallel: bool, settings: Any) -> None:
    posts = Posts()
    options = {tool: StepOptions(**settings)}
    steps = [step("a", tool, n=1)]
    run_id, ended = await cancelled(
        [posts.post, posts.post_sync], steps, posts.begun, options=options, parallel=parallel
    )
    posts.release.set()
    assert ended["a"].status == "cancelled" and ended["a"].may_have_run
    assert StepToolset.record(run_id).steps[0].detail["may_have_run"] is True
    answer, asked = await resumed(posts.toolset(), run_id)
    assert len(asked) == 1 and "cancelled while it ran" in asked[0]
    assert answer["results"] == {"a": 1} and posts.done == [1, 1]


@pytest.mark.parametrize("idempotent", [True, False])
async def test_of_an_idempotent_tool_it_is_not(idempotent: bool) -> None:
    posts = Posts()
    options = {"post": StepOptions(timeout=0.05, idempotent=idempotent)}
    run_id, _ = await run(posts.toolset(options=options), step("a", "post", n=1))
    _, asked = await resumed(posts.toolset(options=options), run_id)
    assert len(asked) == (not idempotent)


async def test_what_raised_by_itself_is_not_asked_about() -> None:
    posts = Posts()
    run_id, answer = await run(posts.toolset(), step("a", "refuse", n=1))
    assert "may_have_run" not in answer["steps"]["a"]
    _, asked = await resumed(posts.toolset(), run_id)
    assert asked == [] and posts.done == [1, 1]


@PARALLEL
async def test_what_waited_for_approval_has_not_run(parallel: bool) -> None:
    posts, waits = Posts(), asyncio.Event()

    async def handle(ctx: Any, requests: Any) -> Any:
        waits.set()
        await asyncio.Event().wait()

    gated = [Tool(posts.post, requires_approval=True)]
    steps = [step("a", "post", n="quick")]
    run_id, ended = await cancelled(
        gated, steps, waits, hooks=[HandleDeferredToolCalls(handle)], parallel=parallel
    )
    assert ended["a"].error == "cancelled before its tool was called" and ended["a"].started is None
    assert not ended["a"].may_have_run and posts.done == []
    answer, asked = await resumed(posts.toolset(), run_id)
    assert answer["results"] == {"a": "quick"} and asked == []


@PARALLEL
@pytest.mark.parametrize("tool", ["post", "post_sync"])
async def test_of_the_elements_only_those_are_asked_about(tool: str, parallel: bool) -> None:
    posts = Posts()
    steps = [
        step("l", "listed", values=["quick", 1, 2]),
        {**step("a", tool, n=reference("item")), "for_each": reference("l")},
    ]
    options = {tool: StepOptions(timeout=0.05, side_effects=True)}
    run_id, answer = await run(posts.toolset(options=options, parallel=parallel), *steps)
    posts.release.set()
    assert answer["steps"]["a"]["may_have_run"] is True and posts.done == ["quick", 1]
    assert StepToolset.record(run_id).steps[1].detail["may_have_run"] == [1]
    posts.done.append(2)  # so that the tool does not wait for the last one
    answer, asked = await resumed(posts.toolset(), run_id)
    assert answer["results"]["a"] == ["quick", 1, 2] and len(asked) == 1
    assert posts.done == ["quick", 1, 2, 1, 2]


async def test_an_element_that_was_not_allowed_again_is_asked_about_the_next_time() -> None:
    posts = Posts()
    steps = [
        step("l", "listed", values=[1, 2]),
        {**step("a", "post", n=reference("item")), "for_each": reference("l")},
    ]
    options = {"post": StepOptions(timeout=0.05)}
    run_id, _ = await run(posts.toolset(options=options, parallel=True), *steps)
    assert sorted(posts.done) == [1, 2]

    def first(ctx: Any, requests: Any) -> Any:
        answers = {call.tool_call_id: call.tool_call_id.endswith("[0]") for call in requests.approvals}
        return requests.build_results(approvals=answers)

    await go_on(posts.toolset(), run_id, capabilities=[HandleDeferredToolCalls(first)])
    assert sorted(posts.done) == [1, 1, 2]
    _, asked = await resumed(posts.toolset(), run_id)
    assert len(asked) == 1 and sorted(posts.done) == [1, 1, 2, 2]


class Spoiling(AbstractCapability[Any]):
    """A hook that fails once a tool has run."""

    async def after_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
        if tool_def.name == "number":
            raise RuntimeError("cannot be logged")
        return result


def _raises(result: Any) -> bool:
    raise KeyError("no such field")


def number() -> int:
    return 1


def rows() -> Any:
    yield 1
    raise RuntimeError("cannot be read")


@PARALLEL
@pytest.mark.parametrize(
    ("tool", "options", "hooks"),
    [
        (number, {"number": StepOptions(fail_when=_raises)}, []),
        (number, {}, [Spoiling()]),
        (rows, {}, []),
        (rows, {"rows": StepOptions(timeout=60)}, []),
    ],
    ids=["judge", "hook", "reading", "reading, timed"],
)
async def test_what_fails_after_the_call_is_unsure(
    tool: Callable[..., Any], options: Any, hooks: Any, parallel: bool
) -> None:
    toolset = StepToolset([tool], options=options, parallel=parallel)
    run_id, answer = await run(toolset, step("a", tool.__name__), capabilities=hooks)
    assert answer["steps"]["a"]["status"] == "error" and answer["steps"]["a"]["may_have_run"] is True
    _, asked = await resumed(StepToolset([tool]), run_id)
    assert len(asked) == 1
