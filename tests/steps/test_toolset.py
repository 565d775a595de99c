"""`execute_plan` as a part of pydantic-ai: context, deps, validators, hooks, approvals, other toolsets."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, FunctionToolset, ModelRetry, RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolReturn
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import ToolDenied
from pydantic_ai.toolsets import CombinedToolset

from acp_notebook import Sharable, StepOptions, StepToolset
from harness.steps import answers, calling, execute, reference, returned, step


def echo(value: Annotated[Any, Sharable()]) -> Any:
    return value


async def test_context_and_deps_reach_the_tools() -> None:
    async def who(ctx: RunContext[str], greeting: str) -> list[Any]:
        return [greeting, ctx.deps, ctx.tool_name, ctx.tool_call_id]

    answer = await execute(StepToolset([who, echo]), [step("w", "who", greeting="hello")], deps="Ada")
    assert answer["results"]["w"] == ["hello", "Ada", "who", "call-0:w"]


async def test_the_words_of_a_retry_or_a_failure_are_the_error() -> None:
    def retry() -> None:
        raise ModelRetry("use another day")

    async def failed() -> None:
        raise ToolFailed("the archive is closed")

    steps = [step("r", "retry"), step("f", "failed")]
    answer = await execute(StepToolset([retry, failed], keep_going=True), steps)
    assert [answer["steps"][n]["error"] for n in ("r", "f")] == ["use another day", "the archive is closed"]


async def test_a_tools_own_validator_refuses_the_plan_before_it_runs() -> None:
    ran: list[str] = []

    def begin() -> None:
        ran.append("begin")

    def book(day: str) -> None:
        ran.append("book")

    def no_sunday(ctx: RunContext[Any], day: str) -> None:
        if day == "sunday":
            raise ModelRetry("closed on sundays: give another day")

    toolset = StepToolset([begin, Tool(book, args_validator=no_sunday)])
    steps = [step("a", "begin"), step("b", "book", day="sunday")]
    assert "- step 'b': closed on sundays: give another day" in await execute(toolset, steps)
    assert ran == []
    steps[1] = step("b", "book", day="monday")
    assert (await execute(toolset, steps))["status"] == "ok"


@dataclass
class Doubling(AbstractCapability[Any]):
    """A hook that changes what tools return."""

    async def after_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
        return result * 2 if tool_def.name == "echo" else result


async def test_hooks_of_the_agent_see_the_calls_of_steps() -> None:
    steps = [step("a", "echo", value="x"), step("b", "echo", value=reference("a"))]
    agent = Agent(
        calling(("execute_plan", {"steps": steps})), toolsets=[StepToolset([echo])], capabilities=[Doubling()]
    )
    (answer,) = returned((await agent.run("go")).all_messages())
    assert answer["results"] == {"a": "xx", "b": "xxxx"}


async def test_a_cancel_below_hooks_says_what_may_still_run() -> None:
    loop, begun, release = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def block() -> None:
        loop.call_soon_threadsafe(begun.set)
        release.wait(20)

    toolset = StepToolset([block])
    model = calling(("execute_plan", {"steps": [step("b", "block")]}))
    task = asyncio.ensure_future(Agent(model, toolsets=[toolset], capabilities=[Doubling()]).run("go"))
    await asyncio.wait_for(begun.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    ((_, run, _),) = toolset._runs
    assert run.outcomes["b"].status == "cancelled" and run.outcomes["b"].may_still_run


def drop(table: Annotated[str, Sharable()]) -> str:
    return f"dropped {table}"


GATED = [step("a", "echo", value="old"), step("d", "drop", table=reference("a"))]


async def test_a_step_that_needs_approval_never_runs_without() -> None:
    answer = await execute(StepToolset([echo, Tool(drop, requires_approval=True)]), GATED)
    assert answer["steps"]["d"] == {
        "status": "denied",
        "error": "drop asks for approval, and nobody is there to give it",
    }


@pytest.mark.parametrize("approve", [True, False])
async def test_a_handler_approves_a_step_by_its_resolved_arguments(approve: bool) -> None:
    asked: list[Any] = []

    async def handle(ctx: Any, requests: Any) -> Any:
        asked.extend((call.tool_name, call.args_as_dict()) for call in requests.approvals)
        answers = {c.tool_call_id: True if approve else ToolDenied("not today") for c in requests.approvals}
        return requests.build_results(approvals=answers)

    toolset = StepToolset([echo, Tool(drop, requires_approval=True)])
    agent = Agent(
        calling(("execute_plan", {"steps": GATED})),
        toolsets=[toolset],
        capabilities=[HandleDeferredToolCalls(handle)],
    )
    (answer,) = returned((await agent.run("go")).all_messages())
    assert asked == [("drop", {"table": "old"})]
    if approve:
        assert answer["results"]["d"] == "dropped old"
    else:
        assert answer["steps"]["d"] == {"status": "denied", "error": "not today"}


async def test_time_limits_leave_out_the_wait_for_approval() -> None:
    async def handle(ctx: Any, requests: Any) -> Any:
        await asyncio.sleep(0.2)
        return requests.build_results(approve_all=True)

    toolset = StepToolset(
        [echo, Tool(drop, requires_approval=True)], options={"drop": StepOptions(timeout=0.1)}
    )
    agent = Agent(
        calling(("execute_plan", {"steps": GATED})),
        toolsets=[toolset],
        capabilities=[HandleDeferredToolCalls(handle)],
    )
    (answer,) = returned((await agent.run("go")).all_messages())
    assert answer["status"] == "ok"


async def test_it_stands_beside_ordinary_tools_and_takes_other_toolsets() -> None:
    seen: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen[:] = [tool.name for tool in info.function_tools]
        return ModelResponse([TextPart("done")])

    def ordinary() -> str:
        return "ordinary"

    await Agent(FunctionModel(model), toolsets=[StepToolset([echo])], tools=[ordinary]).run("go")
    assert sorted(seen) == ["execute_plan", "ordinary", "read_step"]

    combined = CombinedToolset([FunctionToolset([echo]), FunctionToolset([drop]).prefixed("sql")])
    steps = [step("a", "echo", value="t"), step("b", "sql_drop", table=reference("a"))]
    assert (await execute(StepToolset(combined), steps))["results"]["b"] == "dropped t"


async def test_prefixed_and_filtered_it_works_as_before() -> None:
    toolset = StepToolset([echo]).prefixed("plan")
    agent = Agent(
        calling(
            ("plan_execute_plan", {"steps": [step("a", "echo", value=1)]}), ("plan_read_step", {"id": "a"})
        ),
        toolsets=[toolset],
    )
    answer, read = returned((await agent.run("go")).all_messages())
    assert answer["results"] == {"a": 1} and read["value"] == 1


async def test_conversations_do_not_read_each_others_results() -> None:
    toolset = StepToolset([echo])
    await execute(toolset, [step("a", "echo", value="mine")])
    (read,) = await answers(toolset, ("read_step", {"id": "a"}))
    assert "no plan has run yet" in read


async def test_arguments_may_be_json_text() -> None:
    (answer,) = await answers(
        StepToolset([echo]),
        ("execute_plan", '{"steps": [{"id": "a", "tool": "echo", "args": {"value": 1}}]}'),
    )
    assert answer["results"] == {"a": 1}


async def test_calls_count_as_tool_calls() -> None:
    for capabilities in ([], [Doubling()]):
        steps = [step(f"s{n}", "echo", value="x") for n in range(4)]
        agent = Agent(
            calling(("execute_plan", {"steps": steps})),
            toolsets=[StepToolset([echo])],
            capabilities=capabilities,
        )
        assert (await agent.run("go")).usage.tool_calls == 5


class Backup(BaseModel):
    backup_id: str
    parts: list[int]


async def test_models_and_tool_returns_are_values() -> None:
    def create() -> Backup:
        return Backup(backup_id="bk-1", parts=[1, 2])

    def wrapped() -> ToolReturn[str]:
        return ToolReturn(return_value="inner", metadata={"private": True})

    answer = await execute(
        StepToolset([create, wrapped, echo]),
        [
            step("b", "create"),
            step("w", "wrapped"),
            step("e", "echo", value=[reference("b", "parts", -1), reference("w")]),
        ],
    )
    assert answer["results"] == {
        "b": {"backup_id": "bk-1", "parts": [1, 2]},
        "w": "inner",
        "e": [2, "inner"],
    }


async def test_the_model_sees_every_tool_compactly() -> None:
    described: list[str] = []

    def ship(
        parts: Annotated[list[int], Sharable()],
        speed: Literal["fast", "slow"] = "slow",
        note: Annotated[str | None, Sharable] = None,
    ) -> Backup:
        """Send parts.

        Args:
            parts: Which ones.
            speed: How soon.
        """
        raise NotImplementedError

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        (tool,) = (tool for tool in info.function_tools if tool.name == "execute_plan")
        described.append(tool.description or "")
        described.append(
            str(tool.parameters_json_schema["properties"]["steps"]["items"]["properties"]["tool"])
        )
        return ModelResponse([TextPart("done")])

    toolset = StepToolset([ship, Tool(drop, requires_approval=True)])
    await Agent(FunctionModel(model), toolsets=[toolset]).run("go")
    assert described[0].endswith(
        '- ship(parts*: list[int], speed: "fast" | "slow" = "slow", note*: str | null = null)'
        " -> {backup_id: str, parts: list[int]}\n"
        "  Send parts.\n"
        "  parts: Which ones.\n"
        "  speed: How soon.\n"
        "- drop(table*: str) -> str [asks a person first]"
    )
    assert "'enum': ['ship', 'drop']" in described[1]
