"""Real model classes of providers, their HTTP answered on this machine: efforts, thoughts, usage and cost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from acp_notebook import Session
from acp_notebook.errors import TurnFailed
from acp_notebook.protocol.messages import Usage
from acp_notebook.session.state import Message, Notice, Thought
from acp_notebook.views.bundle import static_bundle
from harness.providers import Json, Provider, Reply, provider
from harness.sessions import pending, until

Hosted = Callable[..., Session]
Make = Callable[[Provider, str], Model]


def chat(server: Provider, name: str) -> Model:
    return OpenAIChatModel(name, provider=OpenAIProvider(base_url=server.openai_url, api_key="none"))


def responses(server: Provider, name: str) -> Model:
    return OpenAIResponsesModel(name, provider=OpenAIProvider(base_url=server.openai_url, api_key="none"))


def messages(server: Provider, name: str) -> Model:
    return AnthropicModel(name, provider=AnthropicProvider(base_url=server.url, api_key="none"))


# Models get old; the SDK says so of those that are used here from then on.
pytestmark = pytest.mark.filterwarnings("ignore:The model 'claude:DeprecationWarning")

EVERY = pytest.mark.parametrize(
    ("make", "name"), [(chat, "gpt-5.2"), (responses, "gpt-5.2"), (messages, "claude-sonnet-4-5")]
)


@pytest.fixture
def server() -> Iterator[Provider]:
    with provider(Reply("Six.", thought="Twice three.")) as server:
        yield server


# -- efforts ---------------------------------------------------------------------------------------------


def efforts_sent(session: Session, server: Provider, said: Callable[[Json], Any]) -> Json:
    """What a request says of thinking at each effort that is offered, in effect afterwards, too."""
    sent: Json = {}
    for effort in session.efforts:
        session.set_effort(effort)
        session.ask("What is twice three?")
        sent[effort] = said(server.bodies[-1])
        assert session.effort == effort
    assert not [item for turn in session.state.turns for item in turn.items if isinstance(item, Notice)]
    return sent


OPENAI = {"default": None, "off": "none"} | {
    level: level for level in ("minimal", "low", "medium", "high", "xhigh")
}


def test_openai_requests_carry_the_effort(hosted: Hosted, server: Provider) -> None:
    session = hosted(Agent(chat(server, "gpt-5.2")))
    assert efforts_sent(session, server, lambda body: body.get("reasoning_effort")) == OPENAI


def test_openai_requests_of_the_other_interface_carry_the_effort(hosted: Hosted, server: Provider) -> None:
    session = hosted(Agent(responses(server, "gpt-5.2")))
    assert efforts_sent(session, server, lambda body: body.get("reasoning", {}).get("effort")) == OPENAI


def test_anthropic_requests_carry_a_budget_or_an_effort(hosted: Hosted, server: Provider) -> None:
    budgets = hosted(Agent(messages(server, "claude-sonnet-4-5")), name="budgets")
    sent = efforts_sent(budgets, server, lambda body: body.get("thinking", {}).get("budget_tokens"))
    assert sent.pop("default") is sent.pop("off") is None
    assert list(sent) == ["minimal", "low", "medium", "high", "xhigh"]
    assert sorted(sent.values()) == list(sent.values()) and len(set(sent.values())) == 5
    adaptive = hosted(Agent(messages(server, "claude-sonnet-4-6")), name="adaptive")
    sent = efforts_sent(adaptive, server, lambda body: body.get("output_config", {}).get("effort"))
    assert sent == {
        "default": None,
        "off": None,
        "low": "low",
        "medium": "medium",
        "high": "high",
        "xhigh": "max",
    }


def test_models_that_always_think_and_models_that_never_do(hosted: Hosted, server: Provider) -> None:
    always = hosted(Agent(chat(server, "gpt-5")), name="always")
    assert "off" not in always.efforts
    assert set(efforts_sent(always, server, lambda body: body.get("reasoning_effort"))) >= {"low", "high"}
    never = hosted(Agent(chat(server, "gpt-4o")), name="never")
    assert efforts_sent(never, server, lambda body: body.get("reasoning_effort")) == {"default": None}
    unknown = hosted(Agent(chat(server, "somebodys-own")), name="unknown")
    assert unknown.efforts == ("default",)


@pytest.mark.parametrize(
    ("make", "settings", "in_effect"),
    [
        (chat, {"openai_reasoning_effort": "low"}, "low"),
        (responses, {"openai_reasoning_effort": "none"}, "off"),
        (messages, {"anthropic_thinking": {"type": "enabled", "budget_tokens": 1500}}, "default"),
    ],
)
def test_a_setting_for_one_provider_that_the_agent_has_is_what_the_selector_shows(
    hosted: Hosted, server: Provider, make: Make, settings: Any, in_effect: str
) -> None:
    name = "claude-sonnet-4-5" if make is messages else "gpt-5.2"
    session = hosted(Agent(make(server, name), model_settings=settings), effort="high")
    turn = session.ask("What is twice three?")
    body = server.bodies[-1]
    sent = body.get("reasoning_effort") or body.get("reasoning", {}).get("effort") or body.get("thinking")
    [setting] = settings.values()
    assert sent == setting
    assert session.effort == in_effect
    notice = next(item.text for item in turn.state.items if isinstance(item, Notice))
    [setting] = settings
    assert notice.startswith(f"'High' was chosen, but the agent has the setting {setting}: in effect is ")


def test_two_efforts_in_two_sessions_on_one_agent_do_not_cross(hosted: Hosted) -> None:
    meet = threading.Barrier(2)

    def first_calls(body: Json) -> Reply:
        last = body["messages"][-1]
        return Reply("done") if last["role"] == "tool" else Reply(calls=[("wait", {})])

    with provider(first_calls) as server:
        agent = Agent(chat(server, "gpt-5.2"))

        @agent.tool_plain
        def wait() -> str:
            meet.wait(20)  # both are in the middle of a turn
            return "waited"

        sessions = [hosted(agent, name=effort, effort=effort) for effort in ("low", "high")]
        turns = [session.prompt(session.name) for session in sessions]
        assert [turn.wait(20).text for turn in turns] == ["done", "done"]
        prompts = [
            next(message["content"] for message in body["messages"] if message["role"] == "user")
            for body in server.bodies
        ]
        assert sorted(prompts) == ["high", "high", "low", "low"]
        assert [body["reasoning_effort"] for body in server.bodies] == prompts


# -- thoughts, usage, cost -------------------------------------------------------------------------------


@EVERY
def test_thoughts_come_as_thoughts_and_are_folded(
    hosted: Hosted, server: Provider, make: Make, name: str
) -> None:
    session = hosted(Agent(make(server, name)), effort="high")
    turn = session.ask("What is twice three?")
    assert [type(item) for item in turn.state.items] == [Thought, Message]
    assert (turn.thoughts, turn.text) == ("Twice three.", "Six.")
    shown = static_bundle(session.state, "turn", turn.number)["text/html"]
    assert '<details class="acp-thought"><summary>Thought for' in shown


@EVERY
def test_tokens_and_cost_are_summed_over_a_turn_with_a_pause_for_approval(
    hosted: Hosted, make: Make, name: str
) -> None:
    call = Reply(
        thought="I have to look.", calls=[("look", {"at": "it"})], input_tokens=100, output_tokens=10
    )
    with provider(call, Reply("Seen.", input_tokens=300, output_tokens=30)) as server:
        agent = Agent(make(server, name))

        @agent.tool_plain(requires_approval=True)
        def look(at: str) -> str:
            return f"looked at {at}"

        session = hosted(agent)
        turn = session.prompt("look")
        until(session, pending(1))
        session.permissions[0].allow()
        assert turn.wait(20).text == "Seen."
        one = turn.usage
        assert one is not None and one.cost is not None
        assert (one.input_tokens, one.output_tokens, one.requests, one.tool_calls) == (400, 40, 2, 1)
        assert one.unpriced == 0 and Decimal("0.0001") < one.cost < Decimal("0.01")
        session.ask("again")
        assert session.usage.cost is not None and session.usage.cost > one.cost
        assert (session.usage.input_tokens, session.usage.requests) == (700, 3)
        footer = static_bundle(session.state, "turn", 1)["text/html"]
        assert "440 tokens · $0.00" in footer


def test_a_cost_that_is_known_in_part_is_a_lower_bound(hosted: Hosted, server: Provider) -> None:
    models = [chat(server, "somebodys-own"), chat(server, "gpt-5.2")]
    session = hosted(Agent(models[0]), models=models)
    session.ask("What is twice three?")
    assert session.usage == Usage(1000, 200, 1, 0, None, 1)
    session.set_model("gpt-5.2")
    session.ask("And four times?")
    assert session.usage.cost is not None and session.usage.unpriced == 1
    assert [body["model"] for body in server.bodies] == ["somebodys-own", "gpt-5.2"]


def test_another_provider_takes_over_in_the_middle_of_a_conversation(
    hosted: Hosted, server: Provider
) -> None:
    first, second = responses(server, "gpt-5.2"), messages(server, "claude-sonnet-4-5")
    session = hosted(Agent(first), models=[first, second], effort="high")
    session.ask("What is twice three?")
    session.set_model("claude-sonnet-4-5")
    assert session.ask("And four times?").text == "Six."
    body = server.bodies[-1]
    assert body["model"] == "claude-sonnet-4-5" and body["thinking"]["type"] == "enabled"
    assert [message["role"] for message in body["messages"]][-2:] == ["assistant", "user"]


@EVERY
def test_what_was_used_before_a_failure_counts(hosted: Hosted, make: Make, name: str) -> None:
    with provider(Reply(calls=[("look", {})]), Reply("no such thing", status=400)) as server:
        agent = Agent(make(server, name))

        @agent.tool_plain
        def look() -> str:
            return "looked"

        session = hosted(agent)
        with pytest.raises(TurnFailed):
            session.ask("look")
        usage = session.turns[-1].usage
        assert usage is not None and usage.cost is not None
        assert (usage.input_tokens, usage.tool_calls) == (1000, 1)
        assert usage.requests in (1, 2)  # an older pydantic-ai counts the one that failed, too
