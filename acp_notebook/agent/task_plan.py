"""How a mode that only plans writes the plan: the model returns a `TaskPlan`, or it calls `acp_set_plan`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin

from pydantic import BaseModel, Field
from pydantic_ai import ModelRetry, NativeOutput, PromptedOutput, TextOutput, ToolOutput
from pydantic_ai.agent import AbstractAgent, WrapperAgent

from ..errors import PlanError
from ..plan import PlanEntry
from ..protocol.messages import ConfigOption, ConfigValue
from .config import choice
from .modes import ModeSetting, PlanGenerationType, PrepareToolsMode
from .plan_tools import Entry, PlanOwner, numbered

#: The output tool by which a model returns a `TaskPlan`.
TASK_PLAN = "acp_task_plan"

_READ = frozenset({"acp_get_plan"})
_WRITE = frozenset({"acp_set_plan"})
_WORK = frozenset({"acp_update_plan_entry", "acp_mark_plan_done"})

_DESCRIPTION = (
    "Give the whole plan, once it is ready. It replaces the one there is, the person sees it and can change "
    "it, and your turn ends: what else is to be said comes before this call."
)


class TaskPlan(BaseModel):
    """A plan as a model returns it: its steps in order, and a Markdown text that goes with them."""

    plan_md: str = Field("", description="A Markdown text to keep with the plan. It may be empty.")
    plan_entries: list[Entry] = Field(description="All steps of the plan in order.")


class PlanGenerationSetting:
    """How a mode that only plans writes the plan, `structured` or `tools`; shown where a mode plans.

    An agent whose output cannot be another for one run has `tools` alone.
    """

    id = "plan_generation_type"

    def __init__(
        self, modes: ModeSetting, agent: AbstractAgent[Any, Any], default: PlanGenerationType
    ) -> None:
        self._modes = modes
        self._agent = agent
        self._fixed = _fixed_output(agent)
        self._value: str = "tools" if self._fixed else default

    def option(self) -> ConfigOption | None:
        if not any(mode.plan_mode for mode in self._modes.modes.values()):
            return None
        values = (
            ConfigValue("structured", "Structured", "The model returns the plan as its answer."),
            ConfigValue("tools", "Tools", "The model calls a tool that sets the plan, and answers in words."),
        )
        return ConfigOption(
            self.id,
            "Plan generation",
            "",
            self._value,
            values[1:] if self._fixed else values,
            description=f"In a mode that only plans, the plan is set by a tool: {self._fixed}."
            if self._fixed
            else "How the plan is made in a mode that only plans.",
        )

    def set(self, value: str | bool) -> None:
        if (option := self.option()) is not None:
            self._value = choice(option, value, "plan generation type")

    def copy(self, other: PlanGenerationSetting) -> None:
        self._value = other._value

    def wants_task_plan(self, mode: PrepareToolsMode[Any]) -> bool:
        """Whether the model returns the plan in `mode`, and does not set it by a tool."""
        return mode.plan_mode and not mode.plan_tools and self._value == "structured"

    def output_types(self, owner: PlanOwner) -> list[Any] | None:
        """The output types of a run that begins now; None for the agent's own.

        With the agent's own come a `TaskPlan`, which becomes the plan of `owner`, and a plain answer.
        """
        if not self.wants_task_plan(self._modes.mode):
            return None
        own = list(_flat(self._agent.output_type))
        text = [] if any(type_ is str or isinstance(type_, TextOutput) for type_ in own) else [str]
        return [*own, *text, _output(owner)]


def plan_tools_of(mode: PrepareToolsMode[Any], *, task_plan: bool) -> frozenset[str]:
    """The plan tools that `mode` offers, where the model returns a `TaskPlan` or has to set the plan."""
    tools: frozenset[str] = frozenset()
    if mode.plan_mode:
        tools |= _READ if task_plan else _READ | _WRITE
    if mode.plan_tools:
        tools |= _READ | _WORK
    return tools


def _output(owner: PlanOwner) -> ToolOutput[TaskPlan]:
    def task_plan(plan: TaskPlan) -> TaskPlan:
        entries = tuple(PlanEntry(entry.content, entry.priority, entry.status) for entry in plan.plan_entries)
        try:
            owner.set(entries, plan.plan_md)
        except PlanError as error:  # others have changed it meanwhile
            raise ModelRetry(f"{error}. The plan is now:\n{numbered(owner.plan)}") from None
        return plan

    return ToolOutput(task_plan, name=TASK_PLAN, description=_DESCRIPTION, max_retries=20)


def plain_output(agent: AbstractAgent[Any, Any]) -> Any:
    """The output type of a run that answers in words, where the agent's own may be another for one run."""
    return None if _fixed_output(agent) else str


def _fixed_output(agent: AbstractAgent[Any, Any]) -> str | None:
    """Why pydantic-ai takes no other output type for a run of this agent; None when it does."""
    if any(isinstance(type_, NativeOutput | PromptedOutput) for type_ in _flat(agent.output_type)):
        return "this agent's output has a form of its own"
    while isinstance(agent, WrapperAgent):
        agent = agent.wrapped
    # There is no public way to ask. Where the field is called otherwise, the run says what is wrong.
    return "this agent has output validators" if getattr(agent, "_output_validators", None) else None


def _flat(spec: Any) -> Iterator[Any]:
    """The output types in an output specification of pydantic-ai."""
    if isinstance(spec, Sequence) and not isinstance(spec, str):
        for item in cast("Sequence[Any]", spec):
            yield from _flat(item)
    elif get_origin(spec) in (Union, UnionType):
        for item in get_args(spec):
            yield from _flat(item)
    else:
        yield spec
