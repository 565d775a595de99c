"""`%acp plan` and `%acp plan list`, and how the subcommands under `plan` find theirs."""

from __future__ import annotations

from ..notebook import Session
from ..plan import Plan
from ..session import plan_io
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
    return plan_io.chosen_plan(session, call.options.get("plan"))


def said(plan: Plan) -> str:
    """How far a plan is, in words."""
    if plan.type != "items":
        return f"a plan of type {plan.type}"
    done, total = plan.progress
    return f"{done} of {total} done" if total else "empty"
