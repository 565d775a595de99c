"""The agent side: one turn is one run, the user's agent stays as it is, and whatever happens the next prompt
works.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext, Tool, ToolOutput
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from acp_notebook import Call, Output, Say, ScriptedModel, Session, Think
from acp_notebook.errors import ConfigError, TurnFailed, TurnRunning
from acp_notebook.log import recent
from acp_notebook.protocol.messages import RUNNING_ON
from acp_notebook.session.state import Message
from acp_notebook.views.bundle import static_bundle
from harness.sessions import pending, until

Hosted = Callable[..., Session]


def say(text: str) -> ScriptedModel:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Say(text)

    return model


class City(BaseModel):
    name: str
    people: int


@dataclass
class Deps:
    people: int


# -- the user's agent ------------------------------------------------------------------------------------


def test_the_agent_is_the_same_afterwards_and_two_sessions_on_it_never_meet(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script("plan (?P<what>.+)")
    def plan(turn: Any) -> Any:
        yield Call("acp_set_plan", entries=[{"content": turn.match["what"]}])
        yield Call("wait")
        read = yield Call("acp_get_plan")
        yield Say(f"{sorted(turn.tools)} {turn.thinking} {read.text.splitlines()[0]}")

    agent = Agent(model)
    meet = threading.Barrier(2)

    @agent.tool_plain
    def wait() -> str:
        meet.wait(10)  # both turns are in the middle at the same time
        return "waited"

    before = {name: repr(value) for name, value in vars(agent).items()}
    first, second = hosted(agent, name="first"), hosted(agent, name="second", effort="high")
    turns = first.prompt("plan apples"), second.prompt("plan pears")
    assert turns[0].wait(20).text.endswith("None 1. [pending] (medium) apples")
    assert turns[1].wait(20).text.endswith("high 1. [pending] (medium) pears")
    assert [entry.content for entry in first.plan] == ["apples"]
    assert [entry.content for entry in second.plan] == ["pears"]
    assert {name: repr(value) for name, value in vars(agent).items()} == before
    assert agent.name is None

    async def outside() -> str:
        @model.script("outside")
        def script(turn: Any) -> Any:
            yield Say(f"{sorted(turn.tools)}")

        return (await agent.run("outside")).output

    assert asyncio.run(outside()) == "['wait']"


def test_deps_and_output_types_of_the_agents_own(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        counted = yield Call("count")
        yield Output(name="Oslo", people=counted.content)

    agent = Agent(model, deps_type=Deps, output_type=ToolOutput(City))

    @agent.tool
    async def count(ctx: RunContext[Deps]) -> int:
        return ctx.deps.people

    turn = hosted(agent, deps=Deps(709_000)).ask("how many?")
    assert turn.output == City(name="Oslo", people=709_000)
    assert '"people": 709000' in turn.text
    assert [call.name for call in turn.tool_calls] == ["count"]


def test_a_text_that_comes_through_an_output_tool_is_the_answer(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Output(name="Rome")

    def praise(name: str) -> str:
        return f"{name} is eternal"

    turn = hosted(Agent(model, output_type=praise)).ask("go")
    assert turn.text == turn.output == "Rome is eternal"


def test_responses_are_paragraphs_of_their_own(hosted: Hosted) -> None:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        responses = sum(isinstance(message, ModelResponse) for message in messages)
        if responses == 0:
            yield {0: DeltaToolCall(name="look", json_args="{}", tool_call_id="c1")}
            yield "I look."  # after the call, as some models do
        else:
            yield ["I have looked.", "Once more."][responses - 1]

    agent = Agent(FunctionModel(stream_function=stream))

    @agent.tool_plain
    def look() -> str:
        return "nothing"

    @agent.output_validator
    def check(output: str) -> str:
        if output == "I have looked.":
            raise ModelRetry("look again")
        return output

    assert hosted(agent).ask("go").text == "I look.\n\nI have looked.\n\nOnce more."
    session = hosted(say("hello"), name="other")
    assert [session.ask("go").state.items for _ in range(2)] == [(Message("hello"),)] * 2


def test_history_goes_on_from_turn_to_turn(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Say(f"prompt {turn.number}")

    session = hosted(model)
    assert [session.ask("again").text for _ in range(3)] == ["prompt 1", "prompt 2", "prompt 3"]
    assert [turn.number for turn in session.turns] == [1, 2, 3]


# -- what streams ----------------------------------------------------------------------------------------


def test_thoughts_text_and_calls_arrive_in_order_and_usage_is_summed(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Think("let me look")
        first, second = yield [Call("double", x=2), Call("double", x=3)]
        yield Say(f"{first.content} and {second.content}")

    agent = Agent(model)

    @agent.tool_plain
    def double(x: int) -> int:
        print("doubling", x)
        return 2 * x

    turn = hosted(agent).ask("go")
    kinds = [type(item).__name__ for item in turn.state.items]
    assert kinds == ["Thought", "ToolCallState", "ToolCallState", "Message"]
    assert (turn.thoughts, turn.text, turn.stop_reason) == ("let me look", "4 and 6", "end_turn")
    assert [(call.raw_input, call.raw_output, call.status) for call in turn.tool_calls] == [
        ({"x": 2}, 4, "completed"),
        ({"x": 3}, 6, "completed"),
    ]
    assert turn.usage is not None
    assert (turn.usage.requests, turn.usage.tool_calls) == (2, 2)
    assert turn.usage.total_tokens > 0
    assert all(call.ended is not None and call.ended >= call.started for call in turn.tool_calls)


def test_100_000_characters_arrive_whole_in_few_updates(hosted: Hosted) -> None:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        for number in range(10_000):
            yield f"{number:09d} "

    session = hosted(Agent(FunctionModel(stream_function=stream)))
    chunks: list[str] = []
    session.subscribe(lambda state, event: chunks.append(type(event).__name__))
    turn = session.ask("go")
    assert turn.state.text == "".join(f"{n:09d} " for n in range(10_000)).strip()
    assert turn.state.ended is not None
    seconds = turn.state.ended - turn.state.started
    assert chunks.count("AgentMessageChunk") <= 20 * seconds + 2


# -- what goes wrong -------------------------------------------------------------------------------------


def test_a_tool_that_raises_tells_the_model_one_line_and_the_log_everything(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        result = yield Call("read")
        yield Say(f"failed={result.failed}: {result.text}")

    agent = Agent(model)

    @agent.tool_plain
    def read() -> str:
        raise OSError("disk gone\npassword=hunter2")

    session = hosted(agent)
    turn = session.ask("go")
    assert turn.text == "failed=True: OSError: disk gone"
    assert turn.tool_calls[0].status == "failed"
    assert turn.tool_calls[0].reason == "OSError: disk gone"
    assert "raise OSError" in "\n".join(recent.lines())


def test_a_tool_that_exits_or_returns_an_odd_object_harms_nobody(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        left = yield Call("leave")
        odd = yield Call("odd")
        yield Say(f"{left.text} | {odd.text}")

    agent = Agent(model)

    @agent.tool_plain
    def leave() -> str:
        raise SystemExit(3)

    @agent.tool_plain
    def odd() -> object:
        return {"nested": {1, 2}, "object": object()}

    session = hosted(agent)
    text = session.ask("go").text
    assert text.startswith("leave tried to end the process (3). | dict: {'nested'")
    assert session.ask("go again").stop_reason == "end_turn"


class Panic(BaseException):
    """As extension modules raise it: no `Exception`."""


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize(
    ("raised", "says"),
    [(Panic("boom"), "Panic: boom"), (Speechless(), "Speechless"), (KeyboardInterrupt(), None)],
)
def test_whatever_a_tool_raises_the_next_prompt_works(
    hosted: Hosted, kind: str, raised: BaseException, says: str | None
) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        result = yield Call("fail")
        yield Say(result.text)

    def fail() -> str:
        raise raised

    async def fail_later() -> str:
        raise raised

    agent = Agent(model, tools=[Tool(fail if kind == "sync" else fail_later, name="fail")])
    session = hosted(agent)
    for _ in range(2):
        turn = session.ask("go", timeout=20)
        assert turn.stop_reason == ("cancelled" if says is None else "end_turn")
        assert turn.text == (says or "")


def test_whatever_a_model_raises_is_one_line(hosted: Hosted) -> None:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "Good"
        raise Panic("boom")

    session = hosted(Agent(FunctionModel(stream_function=stream)))
    for _ in range(2):
        with pytest.raises(TurnFailed, match="Panic: boom"):
            session.ask("go", timeout=20)


@pytest.mark.parametrize(
    ("odd", "text"),
    [
        ((n for n in (1, 2)), "[1,2]"),
        ("half \ud83d a pair", "half \ufffd a pair"),
        (["half \ud83d a pair"], "list: ['half \\ud83d a pair']"),
        (10**5000, "1" + 99 * "0"),
    ],
    ids=["generator", "surrogate", "surrogates", "number"],
)
def test_odd_results_are_read_shown_and_kept(hosted: Hosted, odd: Any, text: str) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        result = yield Call("odd")
        yield Say(result.text[:100])

    histories: list[list[ModelMessage]] = []

    def keep(messages: list[ModelMessage]) -> list[ModelMessage]:
        histories.append(messages)
        return messages

    agent = Agent(model, capabilities=[ProcessHistory(keep)])

    @agent.tool_plain(name="odd")
    def returns() -> Any:
        return odd

    session = hosted(agent)
    assert session.ask("go").text == text
    session.ask("go on")
    assert ModelMessagesTypeAdapter.dump_json(histories[-1])
    assert static_bundle(session.state, turn_number=1)["text/html"]


def test_a_model_that_fails_is_one_line_and_finished_work_is_not_done_again(hosted: Hosted) -> None:
    paid: list[int] = []

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if not paid:
            yield {0: DeltaToolCall("pay", "{}", tool_call_id="c1")}
        elif len(messages) == 3:
            raise ConnectionError("the line is dead\nand more")
            yield ""
        else:
            parts = [type(part).__name__ for message in messages for part in message.parts]
            yield f"goes on after {parts.count('ToolReturnPart')} result"

    agent = Agent(FunctionModel(stream_function=stream))

    @agent.tool_plain
    def pay() -> str:
        paid.append(1)
        return "paid"

    session = hosted(agent)
    turn = session.prompt("pay")
    with pytest.raises(TurnFailed, match=r"^ConnectionError: the line is dead$") as caught:
        turn.wait(20)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert (turn.stop_reason, turn.error) == ("error", "ConnectionError: the line is dead")
    assert session.ask("and now?").text == "goes on after 1 result"
    assert paid == [1]


def test_a_model_that_belongs_to_another_loop_is_one_line_that_says_what_to_do(hosted: Hosted) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        loops.append(asyncio.get_running_loop())
        if loops[0] is not loops[-1]:  # as asyncio's locks, and so a provider's client, do
            raise RuntimeError(
                f"<asyncio.locks.Event object> is bound to a different event loop than {loops[0]}"
            )
        yield "hi"

    agent = Agent(FunctionModel(stream_function=stream))

    async def here() -> None:
        async with agent.run_stream("go") as result:
            await result.get_output()

    asyncio.run(here())
    with pytest.raises(TurnFailed, match="give a model name, or an agent that is used nowhere else"):
        hosted(agent).ask("go", timeout=20)


def test_a_prompt_while_one_runs_and_an_empty_one_are_refused_in_a_line(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script("gate")
    def script(turn: Any) -> Any:
        yield Call("gate")

    agent = Agent(model)

    @agent.tool_plain(requires_approval=True)
    def gate() -> str:
        return "open"

    session = hosted(agent)
    turn = session.prompt("gate")
    with pytest.raises(TurnRunning, match="cancel it with %acp cancel"):
        session.prompt("another")
    until(session, pending(1))
    with pytest.raises(TurnRunning):
        session.prompt("another")
    assert len(session.turns) == 1
    session.permissions[0].allow()
    assert turn.wait(20).stop_reason == "end_turn"


# -- cancelling ------------------------------------------------------------------------------------------


class Cancelled:
    """An agent whose turns can be stopped at a chosen moment, and which tells what its history holds."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.release = threading.Event()
        self.did: list[str] = []

        async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
            prompts = [
                part for message in messages for part in message.parts if part.part_kind == "user-prompt"
            ]
            word = prompts[-1].content
            returns = [part for part in messages[-1].parts if part.part_kind == "tool-return"]
            if word == "history":
                kinds = [part.part_kind for message in messages for part in message.parts]
                yield f"{kinds.count('user-prompt')} prompts, {kinds.count('tool-return')} results"
            elif word == "text":
                yield "some words "
                self.reached.set()
                await asyncio.sleep(60)
            elif word == "after" and not returns:
                yield {0: DeltaToolCall("pay", "{}", tool_call_id="p1")}
            elif word == "after":
                self.reached.set()
                await asyncio.sleep(60)
                yield ""
            else:
                yield {0: DeltaToolCall(word, "{}", tool_call_id=f"c-{word}")}

        self.agent = Agent(FunctionModel(stream_function=stream))

        @self.agent.tool_plain
        async def slow() -> str:
            self.reached.set()
            await asyncio.sleep(60)
            return "slow"

        @self.agent.tool_plain
        def stubborn() -> str:
            self.reached.set()
            self.release.wait(30)
            return "done after all"

        @self.agent.tool_plain(requires_approval=True)
        def gated() -> str:
            self.did.append("gated")
            return "ran"

        @self.agent.tool_plain
        def pay() -> str:
            self.did.append("pay")
            return "paid"


@pytest.mark.parametrize("moment", ["text", "slow", "stubborn", "gated", "after"])
def test_cancel_at_every_moment_and_the_next_prompt_works(hosted: Hosted, moment: str) -> None:
    made = Cancelled()
    session = hosted(made.agent)
    session.set_plan(["keep me"])
    turn = session.prompt(moment)
    if moment == "gated":
        until(session, pending(1))
    else:
        assert made.reached.wait(20)
    session.cancel()
    session.cancel()
    assert turn.wait(5).stop_reason == "cancelled"
    assert session.permissions == ()
    assert all(call.ended is not None for call in turn.tool_calls)
    assert [p.status for p in turn.state.permissions] == (["cancelled"] if moment == "gated" else [])
    assert [call.left == RUNNING_ON for call in turn.tool_calls if call.status == "cancelled"] == {
        "stubborn": [True],
        "slow": [False],
        "gated": [False],
    }.get(moment, [])
    made.release.set()
    assert [entry.content for entry in session.plan] == ["keep me"]
    results = 0 if moment == "text" else 1  # what was open is closed, what was done stays
    assert session.ask("history", timeout=20).text == f"2 prompts, {results} results"
    assert made.did == (["pay"] if moment == "after" else [])


def test_cancel_before_the_turn_has_begun_and_without_one(hosted: Hosted) -> None:
    session = hosted(say("hello"))
    session.cancel()
    turn = session.host.call(lambda: (session.prompt("x"), session.cancel())[0])
    assert turn.wait(5).stop_reason == "cancelled"
    assert session.ask("y").text == "hello"


def test_close_ends_the_turn_and_everything_else_says_so(hosted: Hosted) -> None:
    made = Cancelled()
    session = hosted(made.agent)
    turn = session.prompt("gated")
    until(session, pending(1))
    session.close()
    assert turn.wait(5).stop_reason == "cancelled"
    assert session.state.closed
    with pytest.raises(Exception, match="is closed: start another"):
        session.prompt("x")
    session.close()


# -- settings --------------------------------------------------------------------------------------------


def test_the_mode_holds_on_every_step_and_at_call_time(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Call("look")
        result = yield Call("wipe")  # even when the model calls what it was not offered
        yield Say(f"{sorted(turn.tools)} {result.ok}")

    agent = Agent(model)
    wiped: list[str] = []

    @agent.tool_plain(metadata={"kind": "read"})
    def look() -> str:
        return "seen"

    @agent.tool_plain
    def wipe() -> str:
        wiped.append("!")
        return "wiped"

    session = hosted(agent, mode="ask")
    assert session.ask("go").text == "['look'] False"
    session.set_mode("plan")
    assert session.ask("go").text == "['acp_get_plan', 'look'] False"
    assert wiped == []
    session.set_mode("agent")
    assert session.ask("go").text.endswith("True")
    assert wiped == ["!"]


def test_a_mode_changed_during_a_turn_holds_from_then_on_and_is_kept(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Call("look")
        result = yield Call("wipe")
        yield Say(f"wiped={result.ok}")

    agent = Agent(model)
    session: list[Session] = []

    @agent.tool_plain(metadata={"kind": "read"})
    def look() -> str:
        session[0].set_mode("ask")
        return "seen"

    @agent.tool_plain
    def wipe() -> str:
        return "wiped"

    session.append(hosted(agent))
    assert session[0].ask("go").text == "wiped=False"
    assert session[0].mode == "ask"


def test_effort_reaches_the_model_and_wrong_values_name_the_valid_ones(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Say(f"{turn.thinking}")

    session = hosted(model)
    assert [session.ask("?").text for level in session.efforts if session.set_effort(level)] == [
        "None",
        "False",
        "minimal",
        "low",
        "medium",
        "high",
        "xhigh",
    ]
    with pytest.raises(ConfigError, match="effort 'huge' is not offered: use default, off, minimal"):
        session.set_effort("huge")
    with pytest.raises(ConfigError, match="mode 'zen' is not offered: use ask, plan, agent"):
        session.set_mode("zen")
    with pytest.raises(ConfigError, match="there is no option 'speed'"):
        session.set_config("speed", "high")
    assert session.effort == "xhigh"


def test_a_model_without_thinking_offers_none(hosted: Hosted) -> None:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "hi"

    session = hosted(Agent(FunctionModel(stream_function=stream)))
    assert session.efforts == ("default",)
    with pytest.raises(ConfigError, match="This model has no thinking to set"):
        session.set_effort("high")


# -- deferred calls --------------------------------------------------------------------------------------


def test_every_way_to_ask_and_external_calls_mixed_with_ordinary_ones(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        results = yield [Call("free"), Call("flagged"), Call("raising", path="a"), Call("external")]
        yield Say(" | ".join(result.text for result in results))

    agent = Agent(model)

    @agent.tool_plain
    def free() -> str:
        return "free"

    @agent.tool_plain(requires_approval=True)
    def flagged() -> str:
        return "flagged"

    @agent.tool
    def raising(ctx: RunContext[None], path: str) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"preview": f"removes {path}", "reason": "it is old"})
        return f"raised {path}"

    @agent.tool_plain
    def external() -> str:
        raise CallDeferred

    session = hosted(agent)
    turn = session.prompt("go")
    until(session, pending(2))
    by_name = {request.tool_call.name: request for request in session.permissions}
    assert by_name["raising"].preview == "removes a"
    assert by_name["raising"].request.description == "it is old"
    assert {call.name: call.status for call in turn.tool_calls} == {
        "free": "completed",
        "flagged": "paused",
        "raising": "paused",
        "external": "in_progress",
    }
    by_name["raising"].allow()
    by_name["flagged"].deny("not today")
    text = turn.wait(20).text
    assert text.startswith("free | not today | raised a | This call would have to be carried out outside")
    assert len(turn.tool_calls) == 4, "one call, one entry"


def test_the_plan_tools_answer_a_slip_with_the_valid_range_and_go_on(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Call("acp_set_plan", entries=[{"content": "one"}, {"content": "two", "priority": "high"}])
        wrong = yield [Call("acp_mark_plan_done", index=index) for index in (0, 3, -1)]
        yield Call("acp_update_plan_entry", index=2, status="nonsense")
        yield Call("acp_mark_plan_done", index=1)
        read = yield Call("acp_get_plan")
        yield Say("\n".join([*(w.text.splitlines()[0] for w in wrong), read.text]))

    session = hosted(model)
    lines = session.ask("go").text.splitlines()
    assert lines[:5] == [
        "there is no entry 0 in this plan: use 1 to 2. Nothing was done; the plan is now:",
        "there is no entry 3 in this plan: use 1 to 2. Nothing was done; the plan is now:",
        "there is no entry -1 in this plan: use 1 to 2. Nothing was done; the plan is now:",
        "1. [completed] (medium) one",
        "2. [pending] (high) two",
    ]
    assert session.plan.progress == (1, 2)


def test_an_empty_plan_clears_and_is_sent_and_the_markdown_is_kept(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Call("acp_set_plan", entries=[{"content": "one"}], plan_md="# Why\nBecause.")
        cleared = yield Call("acp_set_plan", entries=[])
        read = yield Call("acp_get_plan")
        yield Say(f"{cleared.text}\n{read.text}")

    session = hosted(model)
    sizes: list[int] = []
    session.subscribe(
        lambda state, event: type(event).__name__ == "PlanUpdate" and sizes.append(len(state.plan))
    )
    assert session.ask("go").text.startswith("The plan is cleared.\n# Why\nBecause.\n\nThe plan is empty.")
    assert sizes == [1, 0]
