"""Thinking effort: what is offered, and what is in effect as the requests say it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability, Thinking
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from acp_notebook import (
    AcpSessionContext,
    AdapterConfig,
    Call,
    Say,
    ScriptedModel,
    Session,
    Think,
    ThinkingBridge,
)
from acp_notebook.agent.thinking import EFFORTS, offered
from acp_notebook.errors import ConfigError
from acp_notebook.log import recent
from acp_notebook.protocol.messages import ConfigOption, Notice

Hosted = Callable[..., Session]


class Recorder:
    """A model with this profile, and the efforts that its requests asked for."""

    def __init__(self, **profile: Any) -> None:
        self.efforts: list[Any] = []
        self.model = FunctionModel(
            stream_function=self._stream, profile={"supports_thinking": True, **profile}
        )

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        self.efforts.append(info.model_request_parameters.thinking)
        yield "done"


def thinking(session: Session) -> ConfigOption:
    option = session.state.option("thought_level")
    assert option is not None
    return option


def notices(session: Session) -> list[str]:
    items = [*session.state.outside, *(item for turn in session.state.turns for item in turn.items)]
    return [item.text for item in items if isinstance(item, Notice)]


# -- what is offered -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "without"),
    [
        ({}, set()),
        ({"thinking_always_enabled": True}, {"off"}),
        ({"openai_supports_minimal_reasoning_effort": False}, {"minimal"}),
        ({"anthropic_supports_adaptive_thinking": True}, {"minimal"}),
        ({"google_supports_thinking_level": True}, {"xhigh"}),
        (
            {
                "openai_reasoning_efforts": frozenset({"low", "medium", "high"}),
                "thinking_always_enabled": True,
            },
            {"off", "minimal", "xhigh"},
        ),
        ({"grok_reasoning_efforts": frozenset({"none", "low", "high"})}, {"minimal", "medium", "xhigh"}),
        ({"google_thinking_levels": frozenset({"LOW", "HIGH"})}, {"minimal", "medium", "xhigh"}),
        ({"openai_reasoning_efforts": frozenset()}, set(EFFORTS) - {"default"}),
        ({"supports_thinking": False}, set(EFFORTS) - {"default"}),
    ],
)
def test_a_model_offers_the_efforts_that_it_tells_apart(
    profile: Mapping[str, Any], without: set[str]
) -> None:
    model = Recorder(**profile).model
    assert offered(model) == tuple(effort for effort in EFFORTS if effort not in without)
    assert offered(WrapperModel(FallbackModel(model, ScriptedModel()))) == offered(model)


def test_a_model_that_always_thinks_says_so_and_one_of_several_can_be_hosted(hosted: Hosted) -> None:
    recorder = Recorder(thinking_always_enabled=True)
    session = hosted(Agent(FallbackModel(recorder.model, recorder.model)), effort="low")
    assert thinking(session).description == "This model always thinks."
    with pytest.raises(
        ConfigError, match=r"'off' is not offered: use default, minimal, .* \(This model always"
    ):
        session.set_effort("off")
    assert session.ask("hello").text == "done"
    assert (recorder.efforts, session.effort) == (["low"], "low")


# -- what requests say -----------------------------------------------------------------------------------


@pytest.mark.parametrize("effort", EFFORTS)
def test_requests_ask_for_the_effort_and_nothing_else_is_said(hosted: Hosted, effort: str) -> None:
    recorder = Recorder()
    session = hosted(Agent(recorder.model), effort=effort)
    session.ask("hello")
    assert recorder.efforts == [EFFORTS[effort]]
    assert (session.effort, thinking(session).description, notices(session)) == (effort, None, [])


def test_an_effort_set_during_a_turn_holds_from_its_next_step(hosted: Hosted) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Think(f"at {turn.thinking}")
        yield Call("change")
        yield Think(f"then at {turn.thinking}")
        yield Say("done")

    agent = Agent(model)
    session = hosted(agent, effort="low")

    @agent.tool_plain
    def change() -> None:
        session.set_effort("high")

    assert session.ask("go").thoughts.split("\n\n")[0] == "at low"
    assert session.effort == "high"
    assert notices(session) == ["The agent changed Thinking to High."]


class Hook(AbstractCapability[Any]):
    """Has the last word on what a request says, as a capability of the agent's own may."""

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        return replace(request_context, model_settings=ModelSettings(thinking="minimal"))


def test_a_default_shows_what_the_agent_itself_asks_for(hosted: Hosted) -> None:
    recorder = Recorder()
    session = hosted(Agent(recorder.model, model_settings={"thinking": "low"}))
    assert [value.name for value in thinking(session).values][:2] == ["Default", "Off"]
    session.ask("hello")
    assert (session.effort, thinking(session).values[0].name) == ("default", "Default (low)")
    assert session.set_effort("high") == "high"
    assert thinking(session).values[0].name == "Default"
    session.ask("hello")
    assert (recorder.efforts, session.effort, notices(session)) == (["low", "high"], "high", [])


@pytest.mark.parametrize(
    "made",
    [lambda m: Agent(m, model_settings={"thinking": True}), lambda m: Agent(m, capabilities=[Thinking()])],
)
def test_a_default_that_is_on_without_a_level(
    hosted: Hosted, made: Callable[[Any], Agent[None, str]]
) -> None:
    session = hosted(made(Recorder().model))
    session.ask("hello")
    assert thinking(session).values[0].name == "Default (on)"


def test_the_selector_shows_what_a_run_used_and_why(hosted: Hosted) -> None:
    recorder = Recorder()
    session = hosted(Agent(recorder.model, capabilities=[Hook()]), name="hooked", effort="high")
    assert session.effort == "high"
    session.ask("hello")
    why = "'High' was chosen, but something in the agent changes it: in effect is 'minimal'."
    assert recorder.efforts == ["minimal"]
    assert (session.effort, thinking(session).description, notices(session)) == ("minimal", why, [why])
    assert any(f"hooked: {why}" in line for line in recent.lines())
    session.ask("again")
    assert notices(session) == [why]  # said once
    assert session.set_effort("minimal") == "minimal"
    session.ask("again")
    assert (thinking(session).description, notices(session)) == (None, [why])


class Swap(AbstractCapability[Any]):
    """Asks another model than the run's."""

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        return replace(request_context, model=TestModel(custom_output_text="swapped", model_name="plain"))


def test_a_model_without_thinking_that_the_agent_asks_instead_is_said(hosted: Hosted) -> None:
    session = hosted(Agent(Recorder().model, capabilities=[Swap()]), effort="high")
    assert session.ask("hello").text == "swapped"
    assert session.effort == "default"
    assert (
        thinking(session).description
        == "'High' was chosen, but plain has no thinking: in effect is 'default'."
    )


# -- other models ----------------------------------------------------------------------------------------


def test_another_model_offers_other_efforts_and_the_one_chosen_comes_back(hosted: Hosted) -> None:
    thinks, plain = Recorder(), Recorder(supports_thinking=False)
    session = hosted(Agent(thinks.model), models=[("clever", thinks.model), ("quick", plain.model)])
    session.set_effort("high")
    session.set_model("quick")
    assert (session.effort, session.efforts) == ("default", ("default",))
    about = thinking(session).description
    assert about and about.startswith("This model has no thinking to set")
    assert "'High' was chosen, which" in about
    session.ask("hello")
    assert plain.efforts == [None]
    session.set_model("clever")
    assert (session.effort, thinking(session).description) == ("high", None)
    session.ask("hello")
    assert thinks.efforts == ["high"]


# -- hosts -----------------------------------------------------------------------------------------------


def test_a_bridge_names_the_option_and_hosts_read_what_it_says(hosted: Hosted) -> None:
    seen: list[AcpSessionContext] = []

    class Keeper:
        def persist_plan_state(self, session: AcpSessionContext, *rest: Any) -> None:
            seen.append(session)

    bridge = ThinkingBridge(config_id="depth", config_name="Depth", config_description="How deep.")
    config = AdapterConfig(capability_bridges=[bridge], native_plan_persistence_provider=Keeper())
    session = hosted(
        Agent(Recorder(openai_reasoning_efforts=frozenset({"low", "high"})).model), config=config
    )
    option = thinking(session)
    assert (option.id, option.name, option.description) == (
        "depth",
        "Depth",
        "How deep. This model always thinks.",
    )
    session.set_config("depth", "high")
    session.add_entry("load")
    assert seen[-1].config_values["depth"] == "high"
    assert seen[-1].metadata["thinking"] == {
        "config_id": "depth",
        "current_value": "high",
        "supported_values": ["default", "low", "high"],
    }


def test_two_bridges_are_one_too_many(hosted: Hosted) -> None:
    with pytest.raises(ConfigError, match="two ThinkingBridge"):
        hosted(Agent(Recorder().model), config=AdapterConfig(capability_bridges=[ThinkingBridge()] * 2))
