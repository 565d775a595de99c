"""Modes: which tools the model has in them, at each step and when it calls one, whatever the model is."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from pydantic_ai import Agent, FunctionToolset, RunContext
from pydantic_ai.capabilities import AbstractCapability, NativeTool
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.native_tools import CodeExecutionTool, WebSearchTool
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import WrapperToolset

from acp_notebook import (
    AdapterConfig,
    Call,
    Output,
    PrepareToolsBridge,
    PrepareToolsMode,
    Say,
    ScriptedModel,
    Session,
    current,
)
from acp_notebook.errors import ConfigError, TurnFailed
from acp_notebook.protocol.messages import Notice
from harness.sessions import pending, until

Hosted = Callable[..., Session]
Tools = list[ToolDefinition]


def mode(id_: str, offers: Any, **options: Any) -> PrepareToolsMode[Any]:
    """A mode that offers the tools with these names, or what a function says."""

    def named(ctx: RunContext[Any], tools: Tools) -> Tools:
        return [tool for tool in tools if tool.name in offers]

    return PrepareToolsMode(
        id=id_, name=id_.title(), prepare_func=offers if callable(offers) else named, **options
    )


def everything(ctx: RunContext[Any], tools: Tools) -> None:
    return None


LOOKS, WORKS = mode("look", {"look"}, description="Only looks."), mode("work", everything)


class Desk:
    """An agent with two tools, `look` and `wipe`, and the names of those that ran."""

    def __init__(self, model: Any) -> None:
        self.agent = Agent(model)
        self.ran: list[str] = []
        self.meanwhile: Callable[[], Any] = lambda: None

        @self.agent.tool_plain(metadata={"kind": "read"})
        def look() -> str:
            """Look at the desk."""
            self.ran.append("look")
            self.meanwhile()
            return "seen"

        @self.agent.tool_plain
        def wipe() -> str:
            self.ran.append("wipe")
            return "wiped"


def script_of(*calls: str) -> ScriptedModel:
    """Calls these tools one after another and says how each call ended, and what was on offer at the end."""
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        ended: list[str] = []
        for name in calls:
            result = yield Call(name)
            ended.append(result.text)
        yield Say(" | ".join([*ended, ",".join(sorted(turn.tools))]))

    return model


def notices(session: Session) -> list[str]:
    return [item.text for turn in session.state.turns for item in turn.items if isinstance(item, Notice)]


# -- whatever the model ----------------------------------------------------------------------------------


def function_model(*calls: str) -> FunctionModel:
    """The same for a model that is a function."""

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        step = sum(isinstance(message, ModelResponse) for message in messages)
        if step < len(calls):
            yield {0: DeltaToolCall(name=calls[step], json_args="{}", tool_call_id=f"c{step}")}
        else:
            yield ",".join(sorted(tool.name for tool in info.function_tools))

    return FunctionModel(stream_function=stream)


@pytest.mark.parametrize(
    "model",
    [script_of("look", "wipe"), function_model("look", "wipe"), TestModel(call_tools=["look"])],
    ids=["scripted", "function", "test"],
)
def test_a_mode_holds_for_every_model_and_on_every_run(hosted: Hosted, model: Any) -> None:
    desk = Desk(model)
    session = hosted(desk.agent, modes=[LOOKS, WORKS])
    for _ in range(2):
        assert session.ask("go").stop_reason == "end_turn"
    assert set(desk.ran) == {"look"}
    if isinstance(model, TestModel):
        model.call_tools = ["look", "wipe"]
    desk.ran.clear()
    session = hosted(desk.agent, modes=[LOOKS, WORKS], mode="work", name="second")
    assert session.ask("go").stop_reason == "end_turn"
    assert sorted(desk.ran) == ["look", "wipe"]  # two calls at once may end in any order


def test_a_test_model_that_calls_all_tools_has_those_of_the_mode(hosted: Hosted) -> None:
    model = TestModel()
    desk = Desk(model)
    session = hosted(desk.agent, modes=[LOOKS, WORKS])
    assert json.loads(session.ask("go").text) == {"look": "seen"}
    assert model.last_model_request_parameters is not None
    assert [tool.name for tool in model.last_model_request_parameters.function_tools] == ["look"]
    session = hosted(desk.agent, modes=[LOOKS, WORKS], mode="work", name="second")
    assert json.loads(session.ask("go").text) == {"look": "seen", "wipe": "wiped"}


# -- prepare_func ----------------------------------------------------------------------------------------


def test_a_prepare_func_may_be_asynchronous_and_has_the_run(hosted: Hosted) -> None:
    seen: list[Any] = []

    async def prepare(ctx: RunContext[int], tools: Tools) -> Tools:
        await asyncio.sleep(0)
        seen.append((ctx.deps, ctx.prompt, sorted(tool.name for tool in tools)))
        return tools if ctx.deps > 1 else []

    desk = Desk(script_of())
    modes = [mode("deps", prepare, plan_tools=True)]
    assert hosted(desk.agent, modes=modes, deps=1, name="one").ask("go").text == (
        "acp_get_plan,acp_mark_plan_done,acp_update_plan_entry"
    )
    assert "look,wipe" in hosted(desk.agent, modes=modes, deps=2, name="two").ask("go").text
    assert seen == [(1, "go", ["look", "wipe"]), (2, "go", ["look", "wipe"])]  # plan tools are the mode's


def test_a_mode_may_describe_tools_otherwise_and_have_them_approved(hosted: Hosted) -> None:
    def careful(ctx: RunContext[Any], tools: Tools) -> Tools:
        return [replace(tool, description="Careful!", kind="unapproved") for tool in tools]

    model = TestModel(call_tools=["wipe"])
    desk = Desk(model)
    session = hosted(desk.agent, modes=[mode("careful", careful), WORKS])
    turn = session.prompt("go")
    until(session, pending(1))
    assert model.last_model_request_parameters is not None
    assert {tool.description for tool in model.last_model_request_parameters.function_tools} == {"Careful!"}
    session.permissions[0].deny()
    turn.wait(20)
    assert desk.ran == []
    session = hosted(desk.agent, modes=[WORKS], name="second")
    assert session.ask("go").state.permissions == () and desk.ran == ["wipe"]
    assert {tool.description for tool in model.last_model_request_parameters.function_tools} != {"Careful!"}


def _raises(ctx: RunContext[Any], tools: Tools) -> Tools:
    raise ValueError("no\nidea")


def _leaves(ctx: RunContext[Any], tools: Tools) -> Tools:
    raise SystemExit(3)


def _invents(ctx: RunContext[Any], tools: Tools) -> Tools:
    return [*tools, replace(tools[0], name="fly")]


def _wrong(ctx: RunContext[Any], tools: Tools) -> Any:
    return ["look"]


@pytest.mark.parametrize(
    ("prepare", "why"),
    [
        (_raises, "ValueError: no"),
        (_leaves, "SystemExit: 3"),
        (_invents, "'fly', which is none of the tools"),
        (_wrong, "AttributeError: 'str'"),
    ],
)
def test_a_prepare_func_that_fails_offers_nothing_and_the_turn_goes_on(
    hosted: Hosted, prepare: Any, why: str
) -> None:
    """Fewer tools than the mode has are a nuisance, more would be a danger."""
    desk = Desk(script_of("wipe", "look"))
    session = hosted(desk.agent, modes=[mode("odd", prepare, plan_tools=True), WORKS])
    turn = session.ask("go")
    assert turn.stop_reason == "end_turn" and desk.ran == []
    assert turn.text == (
        "wipe may not be used in mode 'odd'. | look may not be used in mode 'odd'. | "
        "acp_get_plan,acp_mark_plan_done,acp_update_plan_entry"
    )
    [line] = notices(session)  # of three steps and two calls
    assert line.startswith("Mode 'Odd' offers no tools: its prepare_func failed (") and why in line
    session.set_mode("work")
    assert "wiped | seen" in session.ask("go").text


# -- when a tool is called -------------------------------------------------------------------------------


def test_a_call_of_what_is_not_there_is_answered_however_often_it_comes(hosted: Hosted) -> None:
    """pydantic-ai itself ends a run whose model calls such a tool twice."""
    desk = Desk(script_of("wipe", "fly", "wipe", "fly", "fly", "acp_set_plan", "acp_task_plan", "look"))
    session = hosted(desk.agent, modes=[LOOKS, WORKS])
    turn = session.ask("go")
    assert turn.stop_reason == "end_turn" and desk.ran == ["look"]
    no_wipe, no_fly = "wipe may not be used in mode 'look'.", "There is no tool fly: use look."
    no_plan = [f"{name} may not be used in mode 'look'." for name in ("acp_set_plan", "acp_task_plan")]
    answers = [no_wipe, no_fly, no_wipe, no_fly, no_fly, *no_plan, "seen", "look"]
    assert turn.text.split(" | ") == answers
    assert [call.status for call in turn.tool_calls] == ["failed"] * 7 + ["completed"]
    assert turn.tool_calls[0].reason == no_wipe


def test_several_of_one_response_are_answered_each(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        results = yield [Call("wipe"), Call("look"), Call("fly", high=True), Call("wipe", wrong=1)]
        yield Say(",".join(str(result.ok) for result in results))

    desk = Desk(model)
    assert hosted(desk.agent, modes=[LOOKS]).ask("go").text == "False,True,False,False"
    assert desk.ran == ["look"]


def test_nobody_is_asked_to_approve_what_may_not_be_used(hosted: Hosted) -> None:
    agent = Agent(script_of("wipe"))

    @agent.tool_plain(requires_approval=True)
    def wipe() -> str:
        return "wiped"

    turn = hosted(agent, mode="ask").ask("go")
    assert turn.state.permissions == () and turn.text.startswith("wipe may not be used in mode 'ask'.")


def test_what_was_approved_does_not_run_when_the_mode_has_changed_meanwhile(hosted: Hosted) -> None:
    agent = Agent(script_of("wipe"))

    @agent.tool_plain(requires_approval=True)
    def wipe() -> str:
        raise AssertionError("it ran")

    session = hosted(agent)
    turn = session.prompt("go")
    until(session, pending(1))
    session.set_mode("ask")
    session.permissions[0].allow()
    assert turn.wait(20).text.startswith("wipe may not be used in mode 'ask'.")


def test_a_mode_of_now_judges_the_calls_of_a_step_that_began_in_another(hosted: Hosted) -> None:
    """One call changes the mode, and the next one of the same response is already judged by it."""
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        first, second = yield [Call("look"), Call("wipe")]
        yield Say(f"{first.text}, {second.text}")

    def ask_first(ctx: RunContext[Any], tools: Tools) -> Tools:
        return [replace(tool, kind="unapproved") for tool in tools]

    desk = Desk(model)
    for tool in desk.agent.toolsets[0].tools.values():  # type: ignore[attr-defined]
        tool.sequential = True
    session = hosted(desk.agent, modes=[WORKS, LOOKS, mode("asks", ask_first), mode("odd", _raises)])
    for other in ("look", "asks", "odd"):
        session.set_mode("work")
        desk.meanwhile = lambda other=other: session.set_mode(other)
        assert session.ask("go").text == f"seen, wipe may not be used in mode '{other}'."
    session.set_mode("work")
    desk.meanwhile = lambda: (session.set_mode("look"), session.set_mode("work"))
    assert session.ask("go").text == "seen, wiped"


class Dispatching(WrapperToolset[Any]):
    """Keeps all tools from the model but one, which uses the others, as code that a model writes may."""

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, Any]:
        self.hidden = await self.wrapped.get_tools(ctx)
        return {"dispatch": self.hidden["dispatch"]}

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: Any) -> Any:
        assert ctx.tool_manager is not None
        inside = replace(ctx.tool_manager, toolset=self.wrapped, tools=self.hidden)
        call = ToolCallPart(tool_args["tool"], {}, tool_call_id=f"inner-{tool_args['tool']}")
        try:
            return await inside.handle_call(call, wrap_validation_errors=False)
        except (ToolFailed, ModelRetry) as error:
            return error.message


class Hidden(AbstractCapability[Any]):
    def get_wrapper_toolset(self, toolset: Any) -> Any:
        return Dispatching(toolset)


@pytest.mark.parametrize("inside", [True, False], ids=["a toolset of the agent's", "around the session's"])
def test_tools_that_are_used_on_the_models_behalf_are_judged_too(hosted: Hosted, inside: bool) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        look, wipe = yield [Call("dispatch", tool="look"), Call("dispatch", tool="wipe")]
        yield Say(f"{look.text} | {wipe.text} | {','.join(sorted(turn.tools))}")

    tools = FunctionToolset[None]()
    ran: list[str] = []

    @tools.tool_plain(metadata={"kind": "read"})
    def dispatch(tool: str) -> str:
        raise AssertionError("the wrapper does it")

    @tools.tool_plain(metadata={"kind": "read"})
    def look() -> str:
        ran.append("look")
        return "seen"

    @tools.tool_plain
    def wipe() -> str:
        ran.append("wipe")
        return "wiped"

    agent = (
        Agent(model, toolsets=[Dispatching(tools)])
        if inside
        else Agent(model, toolsets=[tools], capabilities=[Hidden()])
    )
    session = hosted(agent, mode="ask")
    seen, refused, offered = session.ask("go").text.split(" | ")
    assert (seen, offered, ran) == ("seen", "dispatch", ["look"])
    assert refused == "wipe may not be used in mode 'ask'." if inside else "Unknown tool" in refused
    session.set_mode("agent")
    assert session.ask("go").text.startswith("seen | wiped | ")


def test_what_a_provider_runs_itself_is_the_modes_too(hosted: Hosted) -> None:
    """A TestModel refuses all native tools, so a request without them is one that it answers."""
    agent = Agent(TestModel(), capabilities=[NativeTool(CodeExecutionTool())])
    session = hosted(agent, mode="ask")
    assert session.ask("go").stop_reason == "end_turn"
    session.set_mode("plan")
    assert session.ask("go").stop_reason == "end_turn"
    session.set_mode("agent")
    with pytest.raises(TurnFailed, match=r"(?i)native|built-in"):
        session.ask("go")
    search = hosted(Agent(TestModel(), capabilities=[NativeTool(WebSearchTool())]), mode="ask", name="search")
    with pytest.raises(TurnFailed, match=r"(?i)native|built-in"):
        search.ask("go")


# -- which mode ------------------------------------------------------------------------------------------


def test_the_model_is_told_once_of_a_mode_that_it_does_not_know(hosted: Hosted) -> None:
    requests: list[list[ModelMessage]] = []

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        requests.append(messages)
        yield "yes"

    def told() -> list[str]:
        return re.findall("The session is now in mode .*?[.]", str(requests[-1]))

    session = hosted(Agent(FunctionModel(stream_function=stream)), modes=[WORKS, LOOKS])
    session.ask("go")
    assert told() == []
    session.set_mode("look")
    session.set_mode("work")
    session.ask("go")
    assert told() == []
    session.set_mode("look")
    session.ask("go")
    session.ask("go")
    assert told() == ["The session is now in mode 'Look': Only looks."]
    session.set_mode("work")
    session.ask("go")
    assert told() == ["The session is now in mode 'Look': Only looks.", "The session is now in mode 'Work'."]
    earlier, later = ([message.parts for message in request] for request in requests[-2:])
    assert later[: len(earlier)] == earlier  # what a provider has read stays as it was


def test_a_bridge_may_begin_in_a_built_in_mode(hosted: Hosted) -> None:
    bridge = PrepareToolsBridge(default_mode_id="ask", modes=[mode("work", everything, plan_tools=True)])
    session = hosted(Desk(script_of()).agent, config=AdapterConfig(capability_bridges=[bridge]))
    assert (session.mode, session.modes) == ("ask", ("ask", "work"))
    assert session.ask("go").text == "look"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mode("two words", everything), "mode id 'two words' cannot be a command: use a word"),
        (lambda: mode("", everything), "mode id '' cannot be a command"),
        (lambda: mode("model", everything), "mode id 'model' is a command of another kind"),
        (
            lambda: PrepareToolsBridge(default_mode_id="a", modes=[mode("a", everything)] * 2),
            "two modes have the id 'a'",
        ),
        (lambda: PrepareToolsBridge(default_mode_id="a", modes=[]), "a session has at least one mode"),
        (
            lambda: PrepareToolsBridge(default_mode_id="b", modes=[mode("a", everything)]),
            "default_mode_id 'b' is none of the modes: use a, ask, plan, agent",
        ),
        (
            lambda: PrepareToolsBridge(default_mode_id="a", modes=cast("Any", ["a"])),
            "'a' is no mode: use PrepareToolsMode",
        ),
        (
            lambda: PrepareToolsBridge(
                default_mode_id="a",
                modes=[mode("a", everything)],
                default_plan_generation_type=cast("Any", "guess"),
            ),
            "default_plan_generation_type 'guess' is not known: use structured or tools",
        ),
    ],
)
def test_modes_that_cannot_be_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        make()
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"modes": []}, "a session has at least one mode"),
        ({"modes": [LOOKS], "mode": "agent"}, "mode 'agent' is not offered: use look"),
        (
            {
                "modes": [LOOKS],
                "config": AdapterConfig(
                    capability_bridges=[PrepareToolsBridge(default_mode_id="ask", modes=[WORKS])]
                ),
            },
            "the modes are given twice: put all of them into one PrepareToolsBridge",
        ),
    ],
)
def test_a_session_with_wrong_modes_does_not_start(
    no_threads_left: None, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Session("test", host="thread", **options)


# -- the agent itself ------------------------------------------------------------------------------------


def changing(how: str) -> Agent[None, str]:
    """An agent that goes from `look` to `work` by a tool, in one of several ways, and says what it had."""
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        before = sorted(turn.tools)
        changed = yield Call("change")
        yield Say(f"{changed.text}: {','.join(before)} -> {','.join(sorted(turn.tools))}")

    agent = Agent(model)

    def now() -> str:
        session = current()
        assert session is not None
        return f"{session.name} is in {session.set_mode('work')}"

    match how:
        case "sync":
            agent.tool_plain(now, name="change")
        case "async":

            @agent.tool_plain
            async def change() -> str:
                await asyncio.sleep(0)
                return now()

        case _:

            @agent.tool_plain(name="change")
            async def change_on_a_thread() -> str:
                return await asyncio.to_thread(now)

    @agent.tool_plain
    def wipe() -> str:
        return "wiped"

    return agent


CHANGES = mode("look", {"change"}), WORKS


@pytest.mark.parametrize("how", ["sync", "async", "thread"])
def test_a_tool_may_change_the_mode_of_its_own_session(hosted: Hosted, how: str) -> None:
    agent = changing(how)
    first = hosted(agent, modes=CHANGES, name="first")
    other = hosted(agent, modes=CHANGES, name="other")  # the newest, so the one that %acp talks to
    assert current() is other
    turn = first.ask("go")
    assert turn.text == "first is in work: change -> change,wipe"
    assert (first.mode, other.mode) == ("work", "look")  # kept after the turn, and nobody else's
    assert [type(item).__name__ for item in turn.state.items] == ["ToolCallState", "Notice", "Message"]
    assert notices(first) == ["The agent changed Mode to Work."]
    first.set_mode("look")
    assert current() is other and notices(first) == ["The agent changed Mode to Work."]


def test_instructions_and_prepare_functions_have_the_session_too(hosted: Hosted) -> None:
    seen: list[str | None] = []

    def prepare(ctx: RunContext[Any], tools: Tools) -> None:
        seen.append((session := current()) and session.name)

    desk = Desk(script_of())

    @desk.agent.instructions
    def instructions() -> str:
        seen.append((session := current()) and session.name)
        return ""

    first = hosted(desk.agent, modes=[mode("m", prepare)], name="first")
    hosted("test", name="other")
    first.ask("go")
    assert seen and set(seen) == {"first"}


def test_what_follows_a_turn_is_not_the_agents_doing(hosted: Hosted) -> None:
    """Subscribers, and what is done at a turn's end, are called in the turn's task."""
    session = hosted(Desk(script_of("look")).agent, modes=[WORKS, LOOKS])
    seen: list[Any] = []

    def watch(state: Any, event: Any) -> None:
        if getattr(event, "status", None) == "completed":
            session.set_mode("look")

    session.subscribe(watch)
    turn = session.prompt("go")
    turn.at_end(lambda: (seen.append(current()), session.set_mode("work")))
    turn.wait(20)
    assert session.mode == "work" and notices(session) == []


# -- sessions that share an agent ------------------------------------------------------------------------


def test_two_sessions_with_interleaved_turns_keep_their_modes_and_plans(hosted: Hosted) -> None:
    """Both turns are in the middle at the same time, at each of their steps."""
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        seen: list[str] = []
        for _ in range(3):
            yield Call("meet")
            seen.append(",".join(sorted((turn.tools | turn.outputs) - {"meet"})))
        if "acp_task_plan" in turn.outputs:
            yield Say(" | ".join(seen))
            yield Output(plan_entries=[{"content": turn.prompt}])
        elif "acp_set_plan" in turn.tools:
            yield Call("acp_set_plan", entries=[{"content": turn.prompt}])
            yield Say(" | ".join(seen))
        else:
            yield Say(" | ".join(seen))

    barrier = threading.Barrier(2)
    agent = Agent(model)
    steps: dict[str, list[str]] = {"first": ["plan", "agent", "plan"], "second": ["ask", "plan", "agent"]}

    @agent.tool_plain(metadata={"kind": "read"})
    def meet() -> str:
        barrier.wait(20)
        session = current()
        assert session is not None
        session.set_mode(steps[session.name].pop(0))
        barrier.wait(20)
        return "met"

    @agent.tool_plain
    def wipe() -> str:
        return "wiped"

    first, second = hosted(agent, name="first", mode="plan"), hosted(agent, name="second", mode="agent")
    turns = first.prompt("apples"), second.prompt("pears")
    plan_tools = "acp_get_plan,acp_mark_plan_done,acp_set_plan,acp_update_plan_entry"
    assert turns[0].wait(30).text == (
        f"acp_get_plan,acp_task_plan | {plan_tools},wipe | acp_get_plan,acp_task_plan"
    )
    assert turns[1].wait(30).text == f" | acp_get_plan,acp_set_plan | {plan_tools},wipe".strip()
    assert [entry.content for entry in first.plan] == ["apples"]
    assert [entry.content for entry in second.plan] == ["pears"]
    assert (first.mode, second.mode) == ("plan", "agent")
    assert notices(first) == ["The agent changed Mode to Agent.", "The agent changed Mode to Plan."]
