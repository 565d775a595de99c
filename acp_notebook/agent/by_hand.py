"""Steps that a person gives: looked at without running any, or run as a turn of the agent.

They take the road of the model's own plans. A run by hand is an ordinary turn whose model, for this turn
alone, is a script that calls `execute_plan` with exactly these steps: hooks, modes, approvals and
cancellation are those of any turn, and the conversation knows of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.models import Model, ModelRequestContext

from ..errors import AcpError, AgentError
from ..masking import marked
from ..steps.outline import Outline, outline
from ..steps.plan import Step
from ..steps.references import references, resolve
from ..steps.resume import Resume
from ..steps.toolset import EXECUTE_PLAN, StepToolset
from .capability import SessionCapability
from .remembered import Remembered
from .scripted import Call, Result, Say, ScriptedModel, Turn


@dataclass(frozen=True, slots=True)
class ByHand:
    """What a person has run: `steps`, or a run that is to go on. `ended` says how it ended."""

    steps: Any
    agent: str
    ended: Callable[[], str]
    resume: Resume | None = None

    @property
    def prompt(self) -> str:
        """What the turn says that it is about."""
        return "Run these steps." if self.resume is None else f"Go on with run {self.resume.run_id[:8]}."

    def model(self) -> Model:
        """The model of the turn."""
        model = ScriptedModel(name="steps by hand")

        @model.script()
        def play(turn: Turn) -> Generator[Call | Say, Result, None]:  # pyright: ignore[reportUnusedFunction]
            answer = yield Call(EXECUTE_PLAN, steps=self.steps)
            if answer.text.startswith(f"There is no tool {EXECUTE_PLAN}"):
                raise without_steps(self.agent)
            yield Say(self.ended() if answer.ok else answer.text)

        return model


def without_steps(agent: str) -> AgentError:
    """The refusal where an agent has no `execute_plan`, with how to give it one."""
    return AgentError(
        f"agent {agent!r} has no {EXECUTE_PLAN}: give it one with "
        "Agent(…, toolsets=[StepToolset([function, …])]), or with a StepApp"
    )


def sendable(steps: Any) -> Any:
    """Steps as a model could send them. Raises `AcpError` for what JSON cannot hold."""
    if isinstance(steps, str):  # which is read as a model's would be
        return steps
    try:
        return json.loads(json.dumps(steps))
    except (TypeError, ValueError, RecursionError) as error:
        raise AcpError(f"steps are given as JSON has them, and these are not: {error}") from None


class Looked(Exception):
    """Ends a run before it asks its model anything: what it was for has been seen."""


@dataclass
class Look(SessionCapability):
    """Sees what `execute_plan` would do with `steps` in a run, and ends that run with `Looked`."""

    steps: Any = None
    agent: str = ""
    approval: Callable[[Step], str | None] = lambda step: None
    outline: Outline | None = None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        tools = ctx.tool_manager.tools if ctx.tool_manager is not None else None
        tool = (tools or {}).get(EXECUTE_PLAN)
        if tool is None or not isinstance(tool.toolset, StepToolset):
            raise self.offer.withheld(EXECUTE_PLAN) or without_steps(self.agent)
        self.outline = await outlined(tool.toolset, self.steps, ctx, self.approval)
        raise Looked


async def outlined(
    toolset: StepToolset, steps: Any, ctx: RunContext[Any], approval: Callable[[Step], str | None]
) -> Outline:
    """What a plan would do now. Raises `StepsRefused` with everything that is wrong with it."""
    checked, notes = await toolset.check(steps, ctx)
    return outline(checked, approval, parallel=toolset.parallel, notes=notes)


def foreseen(remembered: Remembered, step: Step) -> str | None:
    """Who will answer before a step's tool runs, as far as that can be told; None where nobody is asked."""
    if not step.tool.gated:
        return None
    known = {
        name: resolve(node, _never)
        for name, node in step.args.items()
        if next(references(node), None) is None
    }
    given: Mapping[str, Any] = marked(known, step.tool.parameters)
    rule = remembered.find(step.tool.name, given, len(known) == len(step.args))
    if rule is None:
        return "asks a person first"
    return f"{'allowed' if rule.decision == 'allow' else 'denied'} by rule {rule.number}"


def _never(reference: object) -> Any:
    raise AssertionError(f"an argument with {reference} is not known yet")
