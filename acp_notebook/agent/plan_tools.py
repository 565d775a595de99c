"""The plan tools that the model sees. Entry numbers are 1-based; a wrong one is answered with the range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets.abstract import ToolsetTool

from ..errors import PlanError
from ..plan import Plan, PlanEntry, UpdateEntry

Status = Literal["pending", "in_progress", "completed", "cancelled"]
Priority = Literal["high", "medium", "low"]

GUIDANCE = (
    "Entry numbers are 1-based. Set an entry to in_progress when you begin it and mark it done when it is "
    "finished; use acp_update_plan_entry for any other change."
)
HOSTS_GUIDANCE = "The plan belongs to the host application, which alone changes it."


class Entry(BaseModel):
    """One step of the plan."""

    model_config = ConfigDict(from_attributes=True)

    content: str = Field(description="What this step will accomplish, for a person to read.")
    status: Status = "pending"
    priority: Priority = "medium"


class PlanOwner(Protocol):
    """Where the tools find the plan and send what the model writes. Both writers raise `PlanError`."""

    @property
    def plan(self) -> Plan: ...

    def set(self, entries: tuple[PlanEntry, ...], content: str | None) -> Plan:
        """Replace the plan; with `content` None its Markdown text stays."""
        ...

    def update(self, edit: UpdateEntry) -> tuple[int, Plan]:
        """Change an entry; returns the number that it has now, and the plan."""
        ...


def numbered(plan: Plan) -> str:
    """The plan as the model reads it: entries, `1. [pending] (medium) text`, or what it has instead."""
    if plan.type != "items":
        return (
            plan.content or f"The plan is of type {plan.type!r}{f', kept in {plan.uri}' if plan.uri else ''}."
        )
    lines = (f"{n}. [{entry.status}] ({entry.priority}) {entry.content}" for n, entry in enumerate(plan, 1))
    return "\n".join(lines) or "The plan is empty."


def describe(plan: Plan, additional: str | None = None, guidance: str = GUIDANCE) -> str:
    """What `acp_get_plan` answers, in this order: Markdown if any, entries, guidance, instructions."""
    text = plan.content if plan.type == "items" else None
    return "\n\n".join(part for part in (text, numbered(plan), guidance, additional) if part)


class PlanToolset(FunctionToolset[Any]):
    """Tools that are the same at every step, so they are prepared once and not for each model request."""

    _prepared: dict[str, ToolsetTool[Any]] | None = None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        if self._prepared is None:
            self._prepared = await super().get_tools(ctx)
        return self._prepared


def plan_toolset(owner: PlanOwner, additional: str | None = None, *, read_only: bool = False) -> PlanToolset:
    """The four plan tools, bound to one session's plan; only `acp_get_plan` where the plan is the host's.

    Which of them a model sees depends on the mode. Calls run one after another, so that a batch of edits
    is applied in the order in which the model made it. `additional` ends what `acp_get_plan` answers.
    """
    # the schema's own errors use the retry budget, and a plan slip must never end a turn
    tools = PlanToolset(max_retries=20, sequential=True, metadata={"kind": "think"})
    additional = (additional or "").strip() or None

    @tools.tool_plain
    async def acp_get_plan() -> str:
        """Read the current plan with its numbered entries."""
        return describe(owner.plan, additional, HOSTS_GUIDANCE if read_only else GUIDANCE)

    if not read_only:
        _add_writers(tools, owner)
    return tools


def _add_writers(tools: PlanToolset, owner: PlanOwner) -> None:
    def refusal(error: PlanError) -> ToolFailed:
        return ToolFailed(f"{error}. Nothing was done; the plan is now:\n{numbered(owner.plan)}")

    @tools.tool_plain
    async def acp_set_plan(entries: list[Entry], plan_md: str | None = None) -> str:
        """Replace the whole plan, which the person sees and can edit.

        Args:
            entries: All steps of the plan in order. An empty list clears the plan.
            plan_md: A Markdown text to keep with the plan. Leave it out to keep the one there is.
        """
        new = tuple(PlanEntry(entry.content, entry.priority, entry.status) for entry in entries)
        try:
            plan = owner.set(new, plan_md)
        except PlanError as error:
            raise refusal(error) from None
        return f"The plan has {len(plan)} entries.\n{numbered(plan)}" if new else "The plan is cleared."

    def change(edit: UpdateEntry, done: Callable[[int, Plan], str]) -> str:
        try:
            index, plan = owner.update(edit)
        except PlanError as error:
            raise refusal(error) from None
        moved = "" if index == edit.index else f"\nIt was entry {edit.index} before others changed the plan."
        return done(index, plan) + moved

    @tools.tool_plain
    async def acp_update_plan_entry(
        index: int, status: Status | None = None, content: str | None = None, priority: Priority | None = None
    ) -> str:
        """Change one entry of the plan; what is left out stays.

        Args:
            index: The entry's number, 1-based.
            status: Its new status.
            content: Its new text.
            priority: Its new priority.
        """
        return change(
            UpdateEntry(index, content, status, priority),
            lambda now, plan: f"Entry {now} is now: [{plan[now - 1].status}] {plan[now - 1].content}",
        )

    @tools.tool_plain
    async def acp_mark_plan_done(index: int) -> str:
        """Mark one entry of the plan as completed.

        Args:
            index: The entry's number, 1-based.
        """

        def done(now: int, plan: Plan) -> str:
            completed, total = plan.progress
            return f"Entry {now} is done: {completed} of {total} entries are."

        return change(UpdateEntry(index, status="completed"), done)
