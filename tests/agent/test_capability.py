"""What a session adds to a run stays beside what the agent's own capabilities do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import (
    AbstractCapability,
    CombinedCapability,
    Hooks,
    Thinking,
    WrapperCapability,
)

from acp_notebook import Call, Say, ScriptedModel, Session
from acp_notebook.agent.capability import SessionCapability

Hosted = Callable[..., Session]


class Louder(AbstractCapability[Any]):
    async def after_tool_execute(self, ctx: RunContext[Any], *, result: Any, **call: Any) -> Any:
        return f"{result}!"


def hooks() -> Hooks[Any]:
    louder: Hooks[Any] = Hooks()

    @louder.on.after_tool_execute
    async def shout(ctx: RunContext[Any], *, result: Any, **call: Any) -> Any:
        return f"{result}!"

    return louder


def rooted(capabilities: list[AbstractCapability[Any]]) -> tuple[Agent[None, str], list[Any]]:
    """An agent that calls its tool in two steps, and what each call found at the root of its hooks."""
    model, roots = ScriptedModel(), list[Any]()

    @model.script()
    def script(turn: Any) -> Any:
        name = next(name for name in turn.tools if name.endswith("greet"))
        first = yield Call(name, who="Ada")
        second, third = yield [Call(name, who="Bob"), Call(name, who="Eve")]
        yield Say(f"{first.text} {second.text} {third.text}")

    agent = Agent(model, capabilities=capabilities)

    @agent.tool
    def greet(ctx: RunContext[None], who: str) -> str:
        assert ctx.tool_manager is not None
        roots.append(ctx.tool_manager.root_capability)
        return who

    return agent, roots


@pytest.mark.parametrize(
    "capability", [Louder(), hooks(), WrapperCapability(Louder()), CombinedCapability([Louder()])]
)
def test_hooks_of_the_agents_own_see_the_calls(hosted: Hosted, capability: AbstractCapability[Any]) -> None:
    agent, roots = rooted([capability])
    assert hosted(agent).ask("go").text == "Ada! Bob! Eve!"
    assert {type(root) for root in roots} == {CombinedCapability}


@pytest.mark.parametrize("capabilities", [[], [Thinking("low")]], ids=["none", "one that has no such hooks"])
def test_calls_pass_no_capability_that_does_nothing_about_them(
    hosted: Hosted, capabilities: list[AbstractCapability[Any]]
) -> None:
    agent, roots = rooted(capabilities)
    session = hosted(agent)
    assert session.ask("go").text == session.ask("go").text == "Ada Bob Eve"
    assert {type(root) for root in roots} == {SessionCapability}
