"""`%acp plan` and `%acp plan list`, and how the subcommands under `plan` find theirs."""

from __future__ import annotations

from ..errors import PlanError
from ..notebook import Session
from ..plan import Plan
from .command import Invocation
from .start import session_for


def show(call: Invocation) -> Plan:
    """Show the current plan, in a notebook live; `p = %acp plan` gives the Plan."""
    plan = chosen_plan(session_for(call), call)
    call.magics.show_live(plan)
    return plan


def list_plans(call: Invocation) -> None:
    """List the plans of the session; * marks the current one."""
    session = session_for(call)
    if not session.plans:
        print("There is no plan yet: %acp plan add TEXT begins one.")
    for plan_id, plan in session.plans.items():
        title = f"  {plan.title}" if plan.title else ""
        mark = "*" if plan_id == session.state.plan_id else " "
        print(f"{mark} {plan_id}{title}  {said(plan)}")


def chosen_plan(session: Session, call: Invocation) -> Plan:
    """The plan that `--plan` names, else the current one. Raises `PlanError` for an unknown id."""
    plan_id = call.options.get("plan")
    if plan_id is None:
        return session.plan
    if plan_id not in session.plans:
        known = ", ".join(map(repr, session.plans)) or "none"
        raise PlanError(f"there is no plan {plan_id!r}: this session's plans are {known}")
    return session.plans[plan_id]


def said(plan: Plan) -> str:
    """How far a plan is, in words."""
    if plan.type != "items":
        return f"a plan of type {plan.type}"
    done, total = plan.progress
    return f"{done} of {total} done" if total else "empty"
