"""Steps that a person gives: looked at without running any, or run as a turn of the agent.

They take the road of the model's own plans. A run by hand is an ordinary turn whose model, for this turn
alone, is a script that calls `execute_plan` with exactly these steps: hooks, modes, approvals and
cancellation are those of any turn, and the conversation knows of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ToolCallPart
from pydantic_ai.models import Model, ModelRequestContext

from ..errors import AcpError, AgentError
from ..masking import masked, redacted, secrets_in
from ..steps.outline import Outline
from ..steps.resume import Resume
from ..steps.toolset import EXECUTE_PLAN
from .capability import SessionCapability
from .scripted import Call, Result, Say, ScriptedModel, Turn
from .secrets import marked_arguments
from .step_tools import outlined, plan_tool
from .toolset import Offer

#: What an outline says where `execute_plan` itself needs approval.
WHOLE = "A person approves the plan as a whole before its first step."


@dataclass(slots=True)
class ByHand:
    """What a person has run: `steps`, or a run that is to go on. `ended` says how it ended.

    `refused` is set when nothing has run; `offer` is what the turn offers.
    """

    steps: Any
    agent: str
    ended: Callable[[], str]
    resume: Resume | None = None
    refused: bool = False
    offer: Offer | None = None

    @property
    def prompt(self) -> str:
        """What the turn says that it is about."""
        return "Run these steps." if self.resume is None else f"Go on with run {self.resume.run_id[:8]}."

    def model(self) -> Model:
        """The model of the turn."""
        model = ScriptedModel(name="steps by hand")

        @model.script()
        def play(turn: Turn) -> Generator[Call | Say, Result, None]:  # pyright: ignore[reportUnusedFunction]
            names = self.offer.for_steps() if self.offer is not None else []
            name = _only(names or [EXECUTE_PLAN], self.agent)
            answer = yield Call(name, steps=self.steps or [])
            if answer.text.startswith(f"There is no tool {EXECUTE_PLAN}"):
                raise without_steps(self.agent)
            self.refused = answer.failed
            yield Say(self.ended() if answer.ok else answer.text)

        return model

    def without_secrets(self, messages: Sequence[ModelMessage], known: Sequence[str]) -> list[ModelMessage]:
        """A history as a model may read it: it has not sent these steps, so their secrets are not for it.

        `known` are texts that were secrets in the run.
        """
        mine = [at for at, message in enumerate(messages) if any(map(self._is_mine, message.parts))]
        if not mine:
            return list(messages)
        tools = self.offer.tools if self.offer is not None else {}
        given = {
            id(part): marked_arguments(part.args_as_dict(), tools.get(part.tool_name))
            for part in messages[mine[-1]].parts
            if isinstance(part, ToolCallPart) and self._is_mine(part)
        }
        texts = sorted({*known, *secrets_in(list(given.values()))}, key=len, reverse=True)

        def shown(part: Any) -> Any:
            if id(part) in given:
                return replace(part, args=redacted(masked(given[id(part)]), texts))
            content = getattr(part, "content", None)
            return part if content is None else replace(part, content=redacted(content, texts))

        since = messages[mine[-1] :]
        new = [replace(message, parts=list(map(shown, message.parts))) for message in since]
        return [*messages[: mine[-1]], *new]

    def _is_mine(self, part: Any) -> bool:
        try:
            return isinstance(part, ToolCallPart) and part.args_as_dict().get("steps") == (self.steps or [])
        except (ValueError, AssertionError):
            return False


def _only(names: Sequence[str], agent: str) -> str:
    """The tool that steps go to. Raises `AgentError` where there are several."""
    if len(names) > 1:
        raise AgentError(
            f"agent {agent!r} has {len(names)} tools that take steps ({', '.join(names)}), and steps by hand "
            "do not say which is theirs: put the tools of all into one StepToolset"
        )
    return names[0]


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
    outline: Outline | None = None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        tools = ctx.tool_manager.tools if ctx.tool_manager is not None else None
        found = {name: tool for name, tool in (tools or {}).items() if plan_tool(tool) is not None}
        if not found:
            withheld = [self.offer.withheld(name) for name in self.offer.for_steps()]
            raise next(filter(None, withheld), None) or without_steps(self.agent)
        tool = found[_only(list(found), self.agent)]
        outline = await outlined(tool, self.steps, ctx, self.foreseen)
        if outline is not None and tool.tool_def.kind == "unapproved":
            outline = replace(outline, notes=(WHOLE, *outline.notes))
        self.outline = outline
        raise Looked
