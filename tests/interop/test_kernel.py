"""A real provider class, its HTTP answered on this machine: one agent, in own cells and in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from harness.providers import Json, Provider, Reply, provider
from harness.wire import Frontend

pytestmark = pytest.mark.once


def counted(body: Json) -> Reply:
    return Reply(f"It has {len(body['messages'])} messages.", input_tokens=3, output_tokens=4)


@pytest.fixture
def server() -> Iterator[Provider]:
    with provider(counted) as server:
        yield server


SETUP = """
%load_ext acp_notebook
from acp_notebook import Session, current
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
def made():
    return Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url={url!r}, api_key="none")))
agent = made()
"""


def test_one_agent_in_cells_and_in_turns(start_kernel: Callable[..., Frontend], server: Provider) -> None:
    page = start_kernel()
    page.run(SETUP.format(url=server.openai_url))
    page.run("first = (await agent.run('one')).output")
    page.run("%acp start agent\nturn = %acp ask two")
    page.run("def ask():\n    return current().ask('three')\nagain = ask()")
    page.run("last = (await agent.run('four')).output")
    assert page.value("(first, turn.text, again.text, last)") == (
        "It has 1 messages.",
        "It has 1 messages.",
        "It has 3 messages.",
        "It has 1 messages.",
    )
    assert page.value("turn.usage.total_tokens") == 7
    prompts = [body["messages"][-1]["content"] for body in server.bodies]
    assert prompts == ["one", "two", "three", "four"]


def test_a_session_on_a_thread_with_an_agent_of_its_own(
    start_kernel: Callable[..., Frontend], server: Provider
) -> None:
    page = start_kernel()
    page.run(SETUP.format(url=server.openai_url))
    page.run("%acp start made --host thread\nfirst = %acp ask one")
    assert page.value("first.text") == "It has 1 messages."
