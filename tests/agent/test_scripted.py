"""Scripts played through real agents: what reaches the history, the stream and the script."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, Sequence
from typing import Any

import pytest
from pydantic import BaseModel, Field
from pydantic_ai import (
    Agent,
    AgentStreamEvent,
    CancellationToken,
    DeferredToolRequests,
    ModelMessagesTypeAdapter,
    ModelRetry,
    NativeOutput,
    RunCancelled,
    RunContext,
    ToolDenied,
    ToolOutput,
    ToolReturn,
)
from pydantic_ai.capabilities import HandleDeferredToolCalls, PrepareTools, ProcessHistory
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)

from acp_notebook.agent.scripted import Call, Output, Say, ScriptedModel, Think
from acp_notebook.errors import ScriptError


class City(BaseModel):
    name: str


def add(x: int, y: int) -> int:
    return x + y


def agent_of(script: Any, **options: Any) -> Agent[None, Any]:
    """An agent whose model plays `script` for every prompt."""
    model = ScriptedModel()
    model.script()(script)
    return Agent(model, **options)


def run(agent: Agent[None, Any], prompt: Any = None, **options: Any) -> Any:
    """A run without streaming."""
    return asyncio.run(agent.run(prompt, **options))


def parts(messages: Sequence[ModelMessage]) -> list[Any]:
    return [part for message in messages for part in message.parts]


def call_ids(messages: Sequence[ModelMessage]) -> list[str]:
    return [part.tool_call_id for part in parts(messages) if isinstance(part, ToolCallPart)]


async def streamed(
    agent: Agent[None, Any], prompt: Any, **options: Any
) -> tuple[Any, list[AgentStreamEvent]]:
    events: list[AgentStreamEvent] = []

    async def listen(ctx: RunContext[None], stream: AsyncIterable[AgentStreamEvent]) -> None:
        async for event in stream:
            events.append(event)

    return await agent.run(prompt, event_stream_handler=listen, **options), events


def restored(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(list(messages)))


def test_outside_of_this_package():
    def script(turn):
        sum = yield Call("add", x=1, y=2)
        yield Say(f"1 + 2 = {sum.content}")

    loop = asyncio.new_event_loop()  # run_sync takes the current one, and leaves it open
    asyncio.set_event_loop(loop)
    try:
        assert agent_of(script, tools=[add]).run_sync("go").output == "1 + 2 = 3"
    finally:
        asyncio.set_event_loop(None)
        loop.close()


# ---- choosing a script


def test_scripts_are_tried_in_order_and_the_one_without_a_pattern_comes_last():
    model = ScriptedModel()

    @model.script()
    def other(turn):
        yield Say(f"other {turn.match}")

    @model.script(r"weather in (\w+)")
    def weather(turn):
        yield Say(f"rain in {turn.match[1]}")

    @model.script(r"weather")
    def any_weather(turn):
        yield Say("rain")

    agent = Agent(model)
    assert run(agent, "Weather in Bergen?").output == "rain in Bergen"
    assert run(agent, "the weather").output == "rain"
    assert run(agent, "hello").output == "other None"


def test_a_pattern_registered_again_replaces_its_script_in_place():
    model = ScriptedModel()
    for answer in ("old", "new"):

        @model.script("a")
        def first(turn, answer=answer):
            yield Say(answer)

        @model.script("a|b")
        def second(turn):
            yield Say("second")

    assert run(Agent(model), "a").output == "new"


def test_a_prompt_that_no_script_is_for():
    model = ScriptedModel(name="lesson 3")
    with pytest.raises(
        ScriptError, match=r"no script of model 'lesson 3' matches the prompt 'one two': add one"
    ):
        run(Agent(model), "one\ntwo")


def test_a_prompt_of_several_parts_is_matched_by_its_texts():
    def script(turn):
        yield Say(turn.prompt)

    content = ["Look", BinaryContent(b"\x89PNG", media_type="image/png"), TextContent("at this")]
    assert run(agent_of(script), content).output == "Look\nat this"


def test_what_is_not_a_script_is_refused_when_it_is_registered():
    with pytest.raises(ScriptError, match="write a generator function"):
        agent_of(lambda turn: [Say("x")])


# ---- calls and their results


def test_calls_one_by_one_and_in_parallel():
    def script(turn):
        one = yield Call("add", x=1, y=2)
        two, three = yield [Call("add", x=one.content, y=10), Call("add", x=one.content, y=20)]
        none = yield []
        yield Say(f"{one.content} {two.content} {three.content} {none} {one.ok} {one.text!r}")

    result = run(agent_of(script, tools=[add]), "go")
    assert result.output == "3 13 23 [] True '3'"
    assert [len(m.parts) for m in result.all_messages()] == [1, 1, 1, 2, 2, 1]


def test_the_content_of_a_result_is_the_same_live_and_restored():
    def city() -> City:
        return City(name="Oslo")

    def script(turn):
        result = yield Call("city")
        yield Say(f"{result.content['name']} {result.text}")

    agent = agent_of(script, tools=[city])
    first = run(agent, "go")
    assert first.output == 'Oslo {"name":"Oslo"}'
    assert run(agent, message_history=restored(first.all_messages()[:-1])).output == first.output


def test_a_tool_that_is_not_offered_is_called_all_the_same():
    def script(turn):
        result = yield Call("fly")
        yield Say(f"{sorted(turn.tools)} {result.failed} {result.text}")

    assert run(agent_of(script, tools=[add]), "go").output.startswith("['add'] True Unknown tool name: 'fly'")


def test_a_retry_counts_as_a_failed_result():
    def even(n: int) -> int:
        if n % 2:
            raise ModelRetry("n must be even")
        return n

    def script(turn):
        bad_type = yield Call("add", x="one", y=2)
        odd = yield Call("even", n=3)
        even = yield Call("even", n=4)
        yield Say(f"{bad_type.failed} {odd.failed} {odd.ok} {odd.text.splitlines()[0]} {even.ok}")

    assert run(agent_of(script, tools=[add, even]), "go").output == "True True False n must be even True"


def test_denied_and_approved():
    def script(turn):
        kept, gone = yield [Call("delete", n=1), Call("delete", n=2)]
        yield Say(f"{kept.denied} {kept.text} / {gone.ok} {gone.content}")

    agent = agent_of(script)

    @agent.tool_plain(requires_approval=True)
    def delete(n: int) -> str:
        return f"deleted {n}"

    async def decide(ctx: RunContext[None], requests: DeferredToolRequests):
        first, second = requests.approvals
        return requests.build_results(
            approvals={first.tool_call_id: ToolDenied("keep it"), second.tool_call_id: True}
        )

    inline = run(agent, "go", capabilities=[HandleDeferredToolCalls(decide)])
    assert inline.output == "True keep it / True deleted 2"

    waiting = run(agent, "go", output_type=[str, DeferredToolRequests])
    assert isinstance(waiting.output, DeferredToolRequests)
    decided = asyncio.run(decide(None, waiting.output))
    again = run(agent, message_history=restored(waiting.all_messages()), deferred_tool_results=decided)
    assert again.output == inline.output


def interrupted_in_tool(script: Any) -> tuple[Agent[None, Any], list[ModelMessage]]:
    """A run cancelled while its tool `wait` runs; its history went through JSON."""
    agent = agent_of(script)
    token = CancellationToken()

    @agent.tool_plain
    async def wait() -> str:
        token.cancel()
        await asyncio.Event().wait()
        return "never"

    async def main() -> list[ModelMessage]:
        with pytest.raises(RunCancelled) as caught:
            await streamed(agent, "first", cancellation_token=token)
        return restored(caught.value.all_messages())

    return agent, asyncio.run(main())


def test_an_interrupted_call_is_one_when_the_turn_is_taken_up_again():
    def script(turn):
        result = yield Call("wait")
        yield Say(f"{turn.number} {turn.prompt} {result.interrupted} {result.ok}")

    agent, history = interrupted_in_tool(script)
    assert run(agent, message_history=history).output == "1 first True False"


def test_a_new_prompt_after_an_interruption_begins_a_new_turn():
    def script(turn):
        if turn.number == 1:
            yield Call("wait")
        yield Say(f"{turn.number} {turn.prompt}")

    agent, history = interrupted_in_tool(script)
    second = run(agent, "second", message_history=history)
    assert second.output == "2 second"
    assert run(agent, "third", message_history=restored(second.all_messages())).output == "3 third"


def test_a_stream_cut_short_can_be_followed_by_a_new_prompt():
    def script(turn):
        yield Say("word " * 300 if turn.number == 1 else "fine")

    agent = agent_of(script)

    async def main() -> str:
        token = CancellationToken()
        seen: list[AgentStreamEvent] = []

        async def listen(ctx: RunContext[None], stream: AsyncIterable[AgentStreamEvent]) -> None:
            async for event in stream:
                seen.append(event)
                if len(seen) == 20:
                    token.cancel()

        with pytest.raises(RunCancelled) as caught:
            await agent.run("talk", event_stream_handler=listen, cancellation_token=token)
        assert len(seen) < 200
        return (await agent.run("again", message_history=restored(caught.value.all_messages()))).output

    assert asyncio.run(main()) == "fine"


# ---- the history: whole, trimmed, branched


def summing(turn):
    first = yield Call("add", x=turn.number, y=1)
    second = yield Call("add", x=first.content, y=1)
    yield Say(f"turn {turn.number}: {second.content}")


def test_call_ids_are_unique_over_the_turns_of_a_session_and_over_sessions():
    agent = agent_of(summing, tools=[add])
    first = run(agent, "same")
    second = run(agent, "same", message_history=first.all_messages())
    branch = run(agent, "same", message_history=restored(first.all_messages()))
    other = run(agent, "same")
    assert (first.output, second.output, branch.output) == ("turn 1: 3", "turn 2: 4", "turn 2: 4")
    runs = (first, second, branch, other)
    ids = [call_id for run in runs for call_id in call_ids(run.new_messages())]
    assert len(set(ids)) == len(ids) == 8


def test_a_history_that_loses_earlier_turns_still_works():
    agent = agent_of(summing, tools=[add])
    history: list[ModelMessage] = []
    for _ in range(3):
        history = run(agent, "same", message_history=history[-6:]).all_messages()
    assert parts(history)[-1].content == "turn 2: 4"
    assert len(set(call_ids(history))) == len(call_ids(history))


def test_a_history_trimmed_within_the_turn_does_not_make_the_script_start_anew():
    def script(turn):
        results = []
        for n in range(4):
            results.append((yield Call("add", x=n, y=0)))
        yield Say(" ".join("lost" if result.interrupted else result.text for result in results))

    model = ScriptedModel()
    model.script()(script)
    calls: list[str] = []

    def keep_few(messages: list[ModelMessage]) -> list[ModelMessage]:
        calls[:] = call_ids(messages)
        return [messages[0], *messages[-2:]] if len(messages) > 3 else messages

    agent = Agent(model, tools=[add], capabilities=[ProcessHistory(keep_few)])
    assert run(agent, "go").output == "lost lost lost 3"


def test_content_that_a_tool_adds_for_the_model_is_not_a_prompt():
    def picture() -> ToolReturn:
        return ToolReturn("a cat", content=["Here it is:", BinaryContent(b"\x89PNG", media_type="image/png")])

    def script(turn):
        result = yield Call("picture")
        again = yield Call("add", x=turn.number, y=0)
        yield Say(f"{turn.prompt} {result.text} {again.text}")

    assert run(agent_of(script, tools=[picture, add]), "show").output == "show a cat 1"


def test_a_script_that_does_not_fit_its_history():
    plans = iter(["add", "sub", "sub"])

    def script(turn):
        yield Call(next(plans), x=1, y=1)

    with pytest.raises(ScriptError, match="'script' calls 'sub' where the history has a call of 'add'"):
        run(agent_of(script, tools=[add]), "go")


def test_tools_taken_away_during_a_turn_are_seen_from_then_on_and_not_before():
    modes = ["agent"]

    def script(turn):
        first = (yield Call("add", x=1, y=1)) if "add" in turn.tools else (yield Call("other"))
        modes[0] = "ask"
        second = yield Call("look")
        yield Say(f"{first.text} {second.text} {sorted(turn.tools)}")

    async def offer(ctx: RunContext[None], tools: list[Any]) -> list[Any]:
        return [tool for tool in tools if modes[0] == "agent" or tool.name == "look"]

    def look() -> str:
        return "seen"

    agent = agent_of(script, tools=[add, look], capabilities=[PrepareTools(offer)])
    assert run(agent, "go").output == "2 seen ['look']"


# ---- structured output


class Plan(BaseModel):
    goal: str
    steps: list[str] = Field(min_length=1)


class Refusal(BaseModel):
    why: str


def test_structured_output():
    def script(turn):
        yield Say("Here: ")
        yield Output(goal="tidy", steps=["sort"])

    assert run(agent_of(script, output_type=Plan), "go").output == Plan(goal="tidy", steps=["sort"])
    assert run(agent_of(script, output_type=NativeOutput(Plan)), "go")


def test_output_through_one_of_several_tools():
    def script(turn):
        yield Output("refuse", why="no")

    kinds = [ToolOutput(Plan, name="plan"), ToolOutput(Refusal, name="refuse"), str]
    assert run(agent_of(script, output_type=kinds), "go").output == Refusal(why="no")
    with pytest.raises(ScriptError, match="Output for 'refuse'; this run has the output tools plan"):
        run(agent_of(script, output_type=ToolOutput(Plan, name="plan")), "go")


def test_rejected_output_can_be_mended():
    def script(turn):
        rejected = yield Output(goal="tidy", steps=[])
        assert rejected.failed
        yield Output(goal="tidy", steps=["sort"])

    assert run(agent_of(script, output_type=Plan), "go").output.steps == ["sort"]


def test_rejected_output_that_is_not_mended():
    def script(turn):
        yield Output(goal="tidy", steps=[])

    with pytest.raises(ScriptError, match="'script' ended although its Output was rejected"):
        run(agent_of(script, output_type=Plan), "go")


def test_output_where_the_run_wants_text():
    def script(turn):
        yield Output(goal="tidy")

    with pytest.raises(ScriptError, match="'script' yielded Output, but this run wants plain text"):
        run(agent_of(script), "go")


def test_text_that_a_validator_rejects_is_said_again_and_the_prompt_stays_the_prompt():
    seen: list[str] = []

    def script(turn):
        seen.append(f"{turn.number} {turn.prompt}")
        yield Say("maybe")

    agent = agent_of(script, retries=1)

    @agent.output_validator
    def certain(text: str) -> str:
        raise ModelRetry("say yes or no")

    with pytest.raises(UnexpectedModelBehavior, match="retries"):
        run(agent, "well?")
    assert seen == ["1 well?", "1 well?"]


# ---- scripts that go wrong


def raises(turn):
    yield Say("so far")
    raise KeyError("degrees")


def odd(turn):
    yield 42


def mixed(turn):
    yield [Call("add"), Say("x")]


def not_json(turn):
    yield Call("add", x=object())


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (raises, "script 'raises' raised KeyError: 'degrees'"),
        (odd, "script 'odd' yielded 42: yield Think, Say, Call, Output or a list of Calls"),
        (mixed, "script 'mixed' yielded [Call("),
        (not_json, "script 'not_json' yielded arguments that are not JSON"),
    ],
)
def test_a_script_that_goes_wrong_is_one_clear_line(script: Any, message: str):
    with pytest.raises(ScriptError) as caught:
        run(agent_of(script), "go")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    with pytest.raises(ScriptError):
        asyncio.run(streamed(agent_of(script), "go"))


def test_a_script_that_says_nothing():
    def script(turn):
        yield Call("add", x=1, y=1)

    assert run(agent_of(script, tools=[add]), "go").output == "Done."


# ---- thinking and streaming


def thinker(turn):
    yield Think("first ")
    yield Think("thought")
    yield Say(f"said ({turn.thinking}) ")
    yield Think("second thought")
    yield Say("more")


@pytest.mark.parametrize(
    ("effort", "thoughts"), [(None, 2), (True, 2), ("high", 2), ("minimal", 2), (False, 0)]
)
def test_thinking_follows_the_effort(effort: Any, thoughts: int):
    settings = {} if effort is None else {"thinking": effort}
    result = run(agent_of(thinker), "go", model_settings=settings)
    assert sum(isinstance(part, ThinkingPart) for part in parts(result.all_messages())) == thoughts
    assert f"said ({effort})" in result.output


def test_streamed_and_whole_answers_are_the_same():
    def script(turn):
        yield Think("a  thought\n\n")
        yield Say("  Wörter, mehr\n\n| a | b |\n")
        yield Think("then")
        result = yield Call("add", x=1, y=2)
        yield Say(f"= {result.content}\n")

    agent = agent_of(script, tools=[add])
    whole = run(agent, "go")
    stream, events = asyncio.run(streamed(agent, "go"))

    def shape(messages: Sequence[ModelMessage]) -> list[Any]:
        return [
            (type(part).__name__, part.args if isinstance(part, ToolCallPart) else part.content)
            for part in parts(messages)
        ]

    assert shape(stream.all_messages()) == shape(whole.all_messages())
    assert stream.usage.input_tokens == whole.usage.input_tokens > 100
    assert stream.usage.output_tokens == whole.usage.output_tokens > 10
    assert [m.finish_reason for m in stream.all_messages()[1::2]] == ["tool_call", "stop"]
    first_response = [e.part for e in events if isinstance(e, PartEndEvent)][:4]
    assert [part.part_kind for part in first_response] == ["thinking", "text", "thinking", "tool-call"]


def test_words_and_arguments_come_in_pieces():
    def script(turn):
        yield Say("one two three ")
        yield Call("add", x=11111111111111111111, y=22222222222222222222)

    _, events = asyncio.run(streamed(agent_of(script, tools=[add]), "go"))
    starts = [e.part for e in events if isinstance(e, PartStartEvent)]
    assert isinstance(starts[0], TextPart) and starts[0].content == "one "
    assert isinstance(starts[1], ToolCallPart) and starts[1].args == '{"x":1111111111111111111'
    deltas = [e for e in events if isinstance(e, PartDeltaEvent)]
    assert len(deltas) == 2 + 2


def test_2000_words_arrive_whole_and_let_others_run_meanwhile():
    text = "".join(f"word{n} " for n in range(2000))

    def script(turn):
        yield Say(text)

    async def main() -> tuple[Any, int]:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        result, events = await streamed(agent_of(script), "go")
        task.cancel()
        assert sum(isinstance(e, PartStartEvent | PartDeltaEvent) for e in events) == 2000
        return result, turns

    result, turns = asyncio.run(main())
    assert result.output == text
    assert turns > 20


def test_delay_spaces_the_deltas_of_a_stream_only():
    model = ScriptedModel(delay=0.01)

    @model.script()
    def script(turn):
        yield Say("a b c d e f g h i j")

    start = time.perf_counter()
    asyncio.run(streamed(Agent(model), "go"))
    assert time.perf_counter() - start > 0.09
    long = ScriptedModel(delay=3600)
    long.script()(script)
    assert run(Agent(long), "go").output == "a b c d e f g h i j"
