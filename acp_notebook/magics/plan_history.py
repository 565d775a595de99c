"""`%acp plan history`, `diff`, `restore` and `undo`: what the plan was, and back to it."""

from __future__ import annotations

from ..text import plain
from .command import Invocation
from .plan import said
from .start import session_for


def history(call: Invocation) -> None:
    """List the revisions of the plan: when, who, and what changed.

    With --plan ID also those of a plan that was removed.
    """
    print(session_for(call).plan_history(call.options.get("plan")))


def diff(call: Invocation) -> None:
    """Say what changed from revision A to B, or to the present plan."""
    a, *rest = call.numbers(1, 2)
    lines = session_for(call).plan_history(call.options.get("plan")).diff(a, *rest).lines()
    print(plain("\n".join(lines)) or "No difference.")


def restore(call: Invocation) -> None:
    """Make the plan what it was at a revision, as a new revision.

    With --plan ID also a plan that was removed: it comes back.
    """
    (revision,) = call.numbers(1, 1)
    plan = session_for(call).restore_plan(revision, call.options.get("plan"))
    print(f"Plan {plan.plan_id!r} is as at revision {revision}: {said(plan)}")


def undo(call: Invocation) -> None:
    """Take back your latest change of the plan.

    What the agent has changed since stays. Again takes back the change before.
    """
    session = session_for(call)
    plan = session.undo_plan(call.options.get("plan"))
    print(f"{plain(session.plan_history(plan.plan_id)[-1].summary)} · {said(plan)}")
