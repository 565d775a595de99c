"""What can be hosted as an agent, and the one line for what cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from acp_notebook import Say, ScriptedModel, Session
from acp_notebook.errors import AgentError

Hosted = Callable[..., Session]


def scripted() -> ScriptedModel:
    model = ScriptedModel(name="two lines")

    @model.script()
    def script(turn: Any) -> Any:
        yield Say("hello")

    return model


@pytest.mark.parametrize(
    ("agent", "name", "model"),
    [
        (scripted(), "two lines", "two lines"),
        (lambda: Agent(scripted(), name="made"), "made", "two lines"),
        (Agent(scripted()), "agent", "two lines"),
        ("demo", "demo", "scripted demo"),
        ("test", "test", "test"),
    ],
)
def test_agents_factories_models_and_names(hosted: Hosted, agent: Any, name: str, model: str) -> None:
    state = hosted(agent).state
    assert (state.name, state.agent, state.model) == (name, name, model)
    assert state.scripted is (model != "test")


def test_a_model_in_place_of_the_agents_own_leaves_the_agent_alone(hosted: Hosted) -> None:
    agent = Agent(TestModel(custom_output_text="from the agent's own"))
    session = hosted(agent, model=scripted(), name="other")
    assert session.ask("go").text == "hello"
    assert asyncio.run(agent.run("go")).output == "from the agent's own"


def test_a_model_given_to_the_agent_later_is_the_one_that_runs(hosted: Hosted) -> None:
    agent = Agent(TestModel(custom_output_text="first"))
    session = hosted(agent)
    assert session.ask("go").text == "first"
    agent.model = TestModel(custom_output_text="second")
    assert session.ask("go").text == "second"


@dataclass
class Deps:
    path: str


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        (3, "int cannot be hosted: use a pydantic-ai Agent, a function that returns one"),
        (lambda: None, "NoneType cannot be hosted"),
        (Agent(), "agent 'agent' has no model: name one with --model or model="),
        (
            Agent("test", deps_type=Deps, name="needy"),
            "agent 'needy' needs deps of type Deps: give them with --deps",
        ),
        ("gpt-5", r"model 'gpt-5' cannot be used \(names look like 'openai:gpt-5'\): Unknown model"),
        ("nobody:model-1", "model 'nobody:model-1' cannot be used: Unknown model"),
        ("openai:gpt-5", "model 'openai:gpt-5' cannot be used: .*OPENAI_API_KEY"),
        ("groq:llama-3.3-70b-versatile", "needs a package that is not installed: Please install"),
    ],
)
def test_what_cannot_be_hosted_is_one_line(hosted: Hosted, agent: Any, says: str) -> None:
    with pytest.raises(AgentError, match=says) as caught:
        hosted(agent)
    assert len(str(caught.value).splitlines()) == 1
