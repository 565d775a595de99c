"""Models to choose from: an opt-in list, applied to runs and never to the agent."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from acp_notebook import AdapterConfig, AdapterModel, Call, Say, ScriptedModel, Session
from acp_notebook.errors import ConfigError, TurnFailed
from acp_notebook.protocol.messages import ConfigOptionUpdate, Notice

Hosted = Callable[..., Session]


def named(name: str) -> ScriptedModel:
    """A model that answers with its name, after a tool call if there is a tool."""
    model = ScriptedModel(name=name)

    @model.script("work")
    def work(turn: Any) -> Any:
        yield Call("wait")
        yield Say(name)

    @model.script()
    def script(turn: Any) -> Any:
        yield Say(name)

    return model


def test_there_is_nothing_to_choose_unless_models_are_given(hosted: Hosted) -> None:
    unasked = AdapterConfig(available_models=[AdapterModel(model_id="a", name="A", override=named("a"))])
    for session in (hosted(named("own")), hosted(named("own"), name="unasked", config=unasked)):
        assert (session.model, session.models) == (None, ())
        assert "model" not in [option.id for option in session.config_options]
        with pytest.raises(ConfigError, match="this session has no model to choose"):
            session.set_model("openai:gpt-5")


def test_models_from_a_config_and_from_a_plain_list_are_the_same_option(hosted: Hosted) -> None:
    own, fast = named("own"), named("fast")
    config = AdapterConfig(
        available_models=[
            AdapterModel(model_id="own", name="own", override=own),
            AdapterModel(model_id="fast", name="fast", override=fast),
            AdapterModel(model_id="openai:gpt-5", name="openai:gpt-5", override="openai:gpt-5"),
        ],
        allow_model_selection=True,
    )
    options = [
        session.state.option("model")
        for session in (
            hosted(Agent(own), name="1", config=config),
            hosted(Agent(own), name="2", models=[own, ("fast", fast), "openai:gpt-5"]),
            hosted(Agent(own), name="3", models=[fast, "openai:gpt-5"]),  # its own is among them, before them
        )
    ]
    assert options[0] is not None
    assert options[0] == options[1] == options[2]
    assert (options[0].id, options[0].type, options[0].current) == ("model", "select", "own")
    assert hosted(Agent(own), name="4", models=[own, ("quick", fast)], model="quick").ask("?").text == "fast"


def test_the_next_run_has_the_model_that_was_chosen_and_the_agent_keeps_its_own(hosted: Hosted) -> None:
    agent = Agent(named("own"))
    first, second = (hosted(agent, name=name, models=[named("other")]) for name in "ab")
    assert first.set_model("other") == "other"
    assert (first.ask("?").text, second.ask("?").text) == ("other", "own")
    assert (first.state.model, second.state.model) == ("other", "own")
    first.set_model("own")
    assert (first.ask("?").text, first.state.model) == ("own", "own")
    assert agent.model is not None and agent.name is None
    assert first.turns[0].text == "other"


def test_a_run_keeps_its_model_and_says_so(hosted: Hosted) -> None:
    reached, go_on = threading.Event(), threading.Event()
    agent = Agent(named("own"))

    @agent.tool_plain
    def wait() -> None:
        reached.set()
        assert go_on.wait(20)

    session = hosted(agent, models=[named("other")])
    turn = session.prompt("work")
    assert reached.wait(20)
    assert session.set_model("other") == "other"
    assert session.state.model == "own"
    go_on.set()
    assert turn.wait(20).text == "own"
    assert [item.text for item in turn.state.items if isinstance(item, Notice)] == [
        "The next turn runs on other; this one goes on with own."
    ]
    assert session.state.model == "other"
    assert session.ask("?").text == "other"


def test_a_model_that_is_in_use_is_not_sent_again(hosted: Hosted) -> None:
    session = hosted(named("own"), models=[named(f"m{n}") for n in range(300)])
    sent: list[ConfigOptionUpdate] = []
    session.subscribe(
        lambda state, event: sent.append(event) if isinstance(event, ConfigOptionUpdate) else None
    )
    before = session.config_options
    session.set_model("own")
    session.set_mode("agent")
    session.ask("?")
    assert all(update.options is before or update.options == before for update in sent)
    assert session.config_options == before
    session.set_model("m299")
    assert session.model == "m299"


def test_unknown_ones_are_refused_with_those_that_there_are(hosted: Hosted) -> None:
    session = hosted(named("own"), models=[named("fast"), named("slow")])
    with pytest.raises(ConfigError, match=r"^model 'fats' is not offered: use own, fast, slow$"):
        session.set_model("fats")
    with pytest.raises(ConfigError, match="model True is not offered"):
        session.set_config("model", True)
    many = hosted(named("own"), name="many", models=[named(f"m{n}") for n in range(357)])
    with pytest.raises(ConfigError, match=r"^model 'm3500' is not offered: use m350, m\d.*, …, of 358$"):
        many.set_model("m3500")
    assert (session.model, many.model) == ("own", "own")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("gpt-5", r"^model 'gpt-5' cannot be used \(names look like 'openai:gpt-5'\)"),
        ("openai:gpt-5", r"^model 'openai:gpt-5' cannot be .*OPENAI_API_KEY"),
        ("groq:llama-3.3", r"^model 'groq:llama-3.3' needs a package that is not installed: .*groq"),
    ],
)
def test_a_model_that_cannot_be_had_is_one_line_and_the_old_one_stays(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch, given: str, why: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    session = hosted(named("own"), models=[given])
    with pytest.raises(ConfigError, match=why + ".*; the model stays 'own'$") as refused:
        session.set_model(given)
    assert "\n" not in str(refused.value)
    assert (session.model, session.ask("?").text) == ("own", "own")


@pytest.mark.parametrize("given", [7, ("one", "two", "three"), (7, "openai:gpt-5"), ("one", None)])
def test_what_is_no_model_is_refused_before_anything_starts(hosted: Hosted, given: Any) -> None:
    with pytest.raises(ConfigError, match="is not a model to choose: use a name such as 'openai:gpt-5'"):
        hosted(named("own"), models=[given])


def test_two_of_a_name_are_refused(hosted: Hosted) -> None:
    with pytest.raises(
        ConfigError, match=r"two models are called 'fast': give them names, as \(name, model\)"
    ):
        hosted(named("own"), models=[named("fast"), named("fast")])


def test_a_turn_that_failed_after_a_side_effect_is_not_run_again_on_another_model(hosted: Hosted) -> None:
    paid: list[str] = []

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if len(messages) > 1:
            raise ConnectionError("the provider is down")
        yield {0: DeltaToolCall("pay", "{}", tool_call_id="c")}

    agent = Agent(FunctionModel(stream_function=stream, model_name="failing"))

    @agent.tool_plain
    def pay() -> str:
        paid.append("once")
        return "paid"

    session = hosted(agent, models=[named("other")])
    with pytest.raises(TurnFailed, match="the provider is down"):
        session.ask("pay")
    assert (paid, session.model) == (["once"], "failing")
    session.set_model("other")
    assert session.ask("go on").text == "other"
    assert paid == ["once"]
