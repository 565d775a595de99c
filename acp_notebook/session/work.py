"""Sending the agent to work on a plan: which entries, in which mode, and whether it knows the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import PlanChanged, PlanError, PlanIndexError, TurnRunning
from ..plan import Plan
from ..plan.changes import quoted
from ..plan.runs import run_of
from ..protocol.connection import AgentSide
from .plan_io import chosen_plan

if TYPE_CHECKING:
    from .session import Session
    from .turn import Turn

#: Which entries: one by its 1-based number, several, or from the upcoming one on until none is left.
Entries = int | Sequence[int] | None


def start_work(
    session: Session,
    agent: AgentSide,
    entries: Entries,
    plan_id: str | None,
    *,
    confirmed: bool,
    approve: bool,
) -> Turn:
    """Prompt the agent to work on a plan, the current one when None; called on the session's loop.

    Raises `AcpError` where that cannot be, and `PlanChanged` where it has to be confirmed.
    """
    if session.turns and session.turns[-1].running:
        raise TurnRunning("a turn is running: wait for it to end, or cancel it with %acp cancel")
    plan = chosen_plan(session, plan_id)
    if run_of(plan) is not None:
        raise PlanError(f"plan {plan.plan_id!r} is the record of a run, and no plan to work on")
    prompt = _prompt(plan, (entries,) if isinstance(entries, int) else entries)
    ready = agent.readiness(plan.plan_id)
    if ready.unseen and not confirmed:
        raise PlanChanged(ready.unseen)
    if ready.mode is not None and ready.mode != session.mode:
        session.set_mode(ready.mode)
    agent.choose_plan(plan.plan_id)
    return session.prompt(prompt, approve=approve)


def _prompt(plan: Plan, chosen: Sequence[int] | None) -> str:
    """What the agent is told. Raises `PlanError` where there is nothing to do."""
    if not plan.entries:
        what = "is empty" if plan.type == "items" else f"is of type {plan.type!r}, without entries"
        raise PlanError(f"there is nothing to work on: the plan {what}")
    if not chosen:
        if plan.upcoming is None:
            raise PlanError("there is nothing left to work on: no entry is pending or in progress")
        entry = f"{plan.upcoming}, {quoted(plan[plan.upcoming - 1].content)}"
        return f"Work on the plan. Take entry {entry}, next, and go on until none is left to do."
    for number in chosen:
        if not 1 <= number <= len(plan):
            raise PlanIndexError(number, len(plan))
        if (status := plan[number - 1].status) in ("completed", "cancelled"):
            raise PlanError(
                f"entry {number} is {status}: %acp plan update {number} --status pending takes it up again"
            )
    if len(chosen) == 1:
        entry = quoted(plan[chosen[0] - 1].content)
        return f"Work on entry {chosen[0]} of the plan, {entry}, and on no other."
    lines = (f"{number}. {quoted(plan[number - 1].content)}" for number in chosen)
    return "\n".join(["Work on these entries of the plan, and on no others:", *lines])
