"""A mode that only plans: the model returns a `TaskPlan`, or it sets the plan by a tool."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextvars import Context
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from pydantic_ai import Agent, NativeOutput, PromptedOutput, TextOutput, ToolOutput
from pydantic_ai.agent import WrapperAgent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.test import TestModel

from acp_notebook import (
    AdapterConfig,
    Call,
    Output,
    Plan,
    PlanEntry,
    PrepareToolsBridge,
    PrepareToolsMode,
    Say,
    ScriptedModel,
    Session,
    TaskPlan,
)
from acp_notebook.errors import ConfigError
from acp_notebook.protocol.messages import PlanUpdate
from acp_notebook.views.bundle import static_bundle

Hosted = Callable[..., Session]

ENTRIES = [{"content": "Load", "priority": "high"}, {"content": "Plot"}]
PLAN = {"plan_md": "# Survey", "plan_entries": ENTRIES}


class City(BaseModel):
    name: str


def planner() -> ScriptedModel:
    """Returns the plan where it can, else sets it where it can, and says what it had."""
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        read = (yield Call("acp_get_plan")) if "acp_get_plan" in turn.tools else None
        said = " ".join(sorted(turn.tools | turn.outputs)) + (
            f": {read.text.splitlines()[0]}" if read else ""
        )
        if "acp_task_plan" in turn.outputs and turn.prompt != "just talk":
            yield Say(said)
            yield Output("acp_task_plan", **PLAN)
        elif "acp_set_plan" in turn.tools:
            yield Call("acp_set_plan", entries=ENTRIES, plan_md="# Survey")
            yield Say(said)
        else:
            yield Say(said)

    return model


def _all(ctx: Any, tools: list[Any]) -> list[Any]:
    return tools


def contents(session: Session) -> list[str]:
    return [entry.content for entry in session.plan]


def updates(session: Session) -> list[PlanUpdate]:
    """The plan updates of the session from here on."""
    found: list[PlanUpdate] = []
    session.subscribe(lambda state, event: found.append(event) if isinstance(event, PlanUpdate) else None)
    return found


# -- structured ------------------------------------------------------------------------------------------


async def _stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    yield {0: DeltaToolCall(name=info.output_tools[0].name, tool_call_id="c1")}
    yield {0: DeltaToolCall(json_args='{"plan_md": "# Survey", "plan_entries": [{"content": "Load", ')}
    yield {0: DeltaToolCall(json_args='"priority": "high"}, {"content": "Plot"}]}')}


@pytest.mark.parametrize(
    "model",
    [planner(), FunctionModel(stream_function=_stream), TestModel(call_tools=[], custom_output_args=PLAN)],
    ids=["scripted", "function", "test"],
)
def test_a_task_plan_becomes_the_plan_by_one_update(hosted: Hosted, model: Any) -> None:
    session = hosted(Agent(model), mode="plan")
    sent = updates(session)
    turn = session.ask("plan it")
    assert turn.stop_reason == "end_turn"
    assert isinstance(turn.output, TaskPlan)
    assert session.plan == Plan((PlanEntry("Load", "high"), PlanEntry("Plot")), content="# Survey")
    assert [(update.plan, update.author) for update in sent] == [(session.plan, "model")]
    assert session.plan_history()[-1].turn == 1
    # it is shown as the plan and not as an answer in JSON
    assert "plan_entries" not in str(static_bundle(session.state, "turn", 1))
    assert "acp_task_plan" not in [call.name for call in turn.tool_calls]
    said = "acp_get_plan acp_task_plan: The plan is empty." if isinstance(model, ScriptedModel) else ""
    assert turn.text == said


def test_later_prompts_see_the_plan_and_are_not_told_of_it_as_news(hosted: Hosted) -> None:
    session = hosted(planner(), mode="plan")
    session.ask("plan it")
    text = session.ask("again").text
    assert text == "acp_get_plan acp_task_plan: # Survey"
    session.set_mode("agent")
    turn = session.ask("again")
    assert turn.text.endswith(": # Survey")
    assert not any("changed" in str(item) for item in turn.state.items)
    assert len(session.plan_history()) == 1  # the same plan again is no revision


def test_a_plain_answer_works_too(hosted: Hosted) -> None:
    session = hosted(planner(), mode="plan")
    turn = session.ask("just talk")
    assert (turn.output, turn.text) == (turn.text, "acp_get_plan acp_task_plan: The plan is empty.")
    assert len(session.plan) == 0


def test_a_plan_without_text_or_entries(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script("nothing")
    def nothing(turn: Any) -> Any:
        yield Output(plan_entries=[])

    @model.script("text")
    def text(turn: Any) -> Any:
        yield Output(plan_md="Think first.", plan_entries=[])

    session = hosted(model, mode="plan")
    session.set_plan(["mine"])
    assert session.ask("text").stop_reason == "end_turn"
    assert session.plan == Plan(content="Think first.")
    sent = updates(session)
    session.ask("nothing")
    assert session.plan == Plan() and len(sent) == 1


def test_a_wrong_task_plan_is_answered_to_the_model(hosted: Hosted) -> None:
    model = ScriptedModel()
    answers: list[str] = []

    @model.script()
    def script(turn: Any) -> Any:
        for entries in ([{"content": "Load", "status": "soon"}], "Load", [{}], ENTRIES):
            answers.append((yield Output(plan_entries=entries)).text)

    session = hosted(model, mode="plan")
    assert isinstance(session.ask("go").output, TaskPlan)
    assert contents(session) == ["Load", "Plot"]
    assert "'pending', 'in_progress', 'completed' or 'cancelled'" in answers[0]


def test_a_task_plan_made_without_knowing_what_a_person_changed_is_not_taken(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        if len(session.plan) == 0:  # while the model thinks, so that its plan cannot know of it
            Context().run(session.add_entry, "mine")  # by a person, though the model runs here
        first = yield Output(plan_entries=ENTRIES)
        said.append(first.text)
        yield Output(plan_entries=[{"content": "mine"}, *ENTRIES])

    said: list[str] = []
    session = hosted(model, mode="plan")
    assert isinstance(session.ask("go").output, TaskPlan)
    assert contents(session) == ["mine", "Load", "Plot"]
    assert 'the plan was changed by the person since you last saw it; 1. "mine" added' in said[-1]
    assert "The plan is now:\n1. [pending] (medium) mine" in said[-1]


def test_task_plan_is_a_model_that_code_can_make() -> None:
    plan = TaskPlan.model_validate({"plan_md": "", "plan_entries": [PlanEntry("Load", "high")]})
    assert TaskPlan(plan_entries=plan.plan_entries) == plan
    assert plan.plan_entries[0].priority == "high"
    with pytest.raises(ValidationError):
        TaskPlan.model_validate({"plan_md": "x"})
    schema = TaskPlan.model_json_schema()
    assert schema["required"] == ["plan_entries"]


# -- by tools --------------------------------------------------------------------------------------------


def test_which_plan_tools_each_mode_has(hosted: Hosted) -> None:
    def offered(plan_mode: bool, plan_tools: bool, generation: str) -> str:
        mode = PrepareToolsMode(
            id="m",
            name="M",
            prepare_func=_all,
            plan_mode=plan_mode,
            plan_tools=plan_tools,
        )
        session = hosted(planner(), modes=[mode], name=f"{plan_mode} {plan_tools} {generation}")
        if plan_mode:
            session.set_config("plan_generation_type", generation)
        else:
            assert [option.id for option in session.config_options] == ["mode", "thinking"]
        return session.ask("just talk").text.split(":")[0]

    rest = "acp_mark_plan_done acp_set_plan acp_update_plan_entry"
    for generation in ("structured", "tools"):
        assert offered(False, False, generation) == "Done."
        assert offered(False, True, generation) == "acp_get_plan acp_mark_plan_done acp_update_plan_entry"
        assert offered(True, True, generation) == f"acp_get_plan {rest}"
    assert offered(True, False, "structured") == "acp_get_plan acp_task_plan"
    assert offered(True, False, "tools") == "acp_get_plan acp_set_plan"


def test_the_option(hosted: Hosted) -> None:
    session = hosted(planner(), mode="plan")
    option = next(o for o in session.config_options if o.id == "plan_generation_type")
    assert (option.name, option.current) == ("Plan generation", "structured")
    assert [value.value for value in option.values] == ["structured", "tools"]
    with pytest.raises(ConfigError, match="plan generation type 'guess' is not offered: use"):
        session.set_config("plan_generation_type", "guess")
    session.set_config("plan_generation_type", "tools")
    turn = session.ask("plan it")
    assert turn.text == turn.output == "acp_get_plan acp_set_plan: The plan is empty."
    assert contents(session) == ["Load", "Plot"]


def test_a_bridge_may_begin_with_tools_and_hosts_that_own_the_plan_have_no_choice(hosted: Hosted) -> None:
    class Board:
        def get_plan(self, session: Any, agent: Any) -> list[PlanEntry]:
            return [PlanEntry("theirs")]

    mode = PrepareToolsMode(id="plan", name="Plan", prepare_func=_all, plan_mode=True)
    bridge = PrepareToolsBridge(default_mode_id="plan", modes=[mode], default_plan_generation_type="tools")
    session = hosted(planner(), config=AdapterConfig(capability_bridges=[bridge]))
    assert session.ask("plan it").text.startswith("acp_get_plan acp_set_plan")
    config = AdapterConfig(capability_bridges=[bridge], plan_provider=Board())
    session = hosted(planner(), config=config, name="board")
    assert "plan_generation_type" not in [option.id for option in session.config_options]
    assert session.ask("plan it").text.startswith("acp_get_plan: 1. [pending] (medium) theirs")


# -- agents with an output of their own ------------------------------------------------------------------


def output_of_own(output_type: Any, **arguments: Any) -> Agent[None, Any]:
    model = ScriptedModel()

    @model.script("city")
    def city(turn: Any) -> Any:
        yield Output(**arguments)

    @model.script("talk")
    def talk(turn: Any) -> Any:
        yield Say("loud")

    @model.script()
    def plan(turn: Any) -> Any:
        yield Output("acp_task_plan", **PLAN)

    return Agent(model, output_type=output_type)


def shout(text: str) -> str:
    return text.upper()


def praise(name: str) -> str:
    return f"{name} is eternal"


@pytest.mark.parametrize(
    ("output_type", "of_city", "of_talk"),
    [
        (City, City(name="Rome"), "loud"),
        (ToolOutput(City), City(name="Rome"), "loud"),
        ([City, str], City(name="Rome"), "loud"),
        (City | str, City(name="Rome"), "loud"),
        ((City, TextOutput(shout)), City(name="Rome"), "LOUD"),
        (praise, "Rome is eternal", "loud"),
    ],
    ids=str,
)
def test_an_agents_own_output_types_go_with_the_task_plan(
    hosted: Hosted, output_type: Any, of_city: Any, of_talk: str
) -> None:
    session = hosted(output_of_own(output_type, name="Rome"), mode="plan")
    assert isinstance(session.ask("plan").output, TaskPlan)
    assert contents(session) == ["Load", "Plot"]
    assert session.ask("city").output == of_city
    assert session.ask("talk").output == of_talk
    session.set_mode("agent")
    assert session.ask("city").output == of_city


def _validated() -> Agent[None, str]:
    agent = Agent(planner())

    @agent.output_validator
    def check(output: str) -> str:
        return f"{output}!"

    return agent


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        (Agent(planner(), output_type=NativeOutput(City)), "this agent's output has a form of its own"),
        (Agent(planner(), output_type=PromptedOutput([City])), "this agent's output has a form of its own"),
        (_validated(), "this agent has output validators"),
        (WrapperAgent(_validated()), "this agent has output validators"),
    ],
    ids=["native", "prompted", "validated", "wrapped"],
)
def test_an_agent_whose_output_is_fixed_sets_the_plan_by_tools(hosted: Hosted, agent: Any, why: str) -> None:
    session = hosted(agent, mode="plan")
    option = next(o for o in session.config_options if o.id == "plan_generation_type")
    assert (option.current, [value.value for value in option.values]) == ("tools", ["tools"])
    assert option.description == f"In a mode that only plans, the plan is set by a tool: {why}."
    with pytest.raises(ConfigError, match=why):
        session.set_config("plan_generation_type", "structured")
    if "validators" in why:
        assert session.ask("plan it").output == "acp_get_plan acp_set_plan: The plan is empty.!"
        assert contents(session) == ["Load", "Plot"]


# -- a mode that changes during the turn -----------------------------------------------------------------


def switching(hosted: Hosted, first: str, *then: Callable[[Session], Any]) -> tuple[Session, Any]:
    """A session whose model looks, once for each of `then`, and returns or sets the plan at the end."""
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        seen: list[str] = []
        for _ in then:
            yield Call("look")
            seen.append(" ".join(sorted((turn.tools | turn.outputs) - {"look"})))
        yield Say(" | ".join(seen))
        if "acp_task_plan" in turn.outputs:
            yield Output(**PLAN)
        elif "acp_set_plan" in turn.tools:
            yield Call("acp_set_plan", entries=ENTRIES)

    agent = Agent(model)
    deeds = iter(then)

    @agent.tool_plain(metadata={"kind": "read"})
    def look() -> str:
        next(deeds)(session)
        return "seen"

    session = hosted(agent, mode=first)
    return session, session.ask("go")


def test_leaving_the_mode_takes_the_task_plan_away(hosted: Hosted) -> None:
    session, turn = switching(
        hosted, "plan", lambda session: session.set_mode("ask"), lambda session: session.set_mode("plan")
    )
    assert turn.text == "| acp_get_plan acp_task_plan" and isinstance(turn.output, TaskPlan)
    session, turn = switching(hosted, "plan", lambda session: session.set_mode("agent"))
    assert "acp_task_plan" not in turn.text and "acp_set_plan" in turn.text
    assert contents(session) == ["Load", "Plot"] and session.mode == "agent"


def test_a_turn_that_began_elsewhere_sets_the_plan_by_a_tool(hosted: Hosted) -> None:
    """Its output types stand since it began, and a mode that plans is never without a way to do so."""
    session, turn = switching(hosted, "agent", lambda session: session.set_mode("plan"))
    assert turn.text.startswith("acp_get_plan acp_set_plan") and contents(session) == ["Load", "Plot"]


def test_the_generation_may_change_during_the_turn(hosted: Hosted) -> None:
    def by(generation: str) -> Callable[[Session], Any]:
        return lambda session: session.set_config("plan_generation_type", generation)

    session, turn = switching(hosted, "plan", by("tools"), by("structured"))
    assert turn.text == "acp_get_plan acp_set_plan | acp_get_plan acp_task_plan"
    assert isinstance(turn.output, TaskPlan) and contents(session) == ["Load", "Plot"]


def test_a_task_plan_that_was_asked_for_is_taken_although_the_mode_has_changed(hosted: Hosted) -> None:
    """The model has written what it was asked for, and nothing but the plan is changed by it."""
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Say("Here it is.")
        yield Output(**PLAN)

    session = hosted(model, mode="plan")
    session.subscribe(
        lambda state, event: (
            session.set_mode("ask") if state.turn and state.turn.text and session.mode == "plan" else None
        )
    )
    assert isinstance(session.ask("go").output, TaskPlan)
    assert session.mode == "ask" and contents(session) == ["Load", "Plot"]
