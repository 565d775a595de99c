"""Subcommands that change entries of the plan. With --plan ID they change that one, which a new id makes."""

from __future__ import annotations

from ..errors import AcpError
from ..plan import Plan, UpdateEntry
from ..text import plain
from .command import Invocation, whole_number
from .parse import unquoted
from .plan import said
from .start import session_for


def add(call: Invocation) -> None:
    """Add an entry to the plan, at its end or as number N.

    Quotes around the whole text are taken off.
    """
    options = call.options
    at = whole_number(options["at"]) if "at" in options else None
    text = unquoted(call.text)
    if not text:
        raise AcpError("an entry needs some text: %acp plan add TEXT")
    plan = session_for(call).add_entry(
        text, options.get("priority", "medium"), at=at, plan_id=options.get("plan")
    )
    _print(f"Added {_entry(plan, at or len(plan))}", plan)


def update(call: Invocation) -> None:
    """Change the text, status or priority of an entry."""
    (number,) = call.numbers(1, 1)
    options = call.options
    changes = {name: options.get(name) for name in ("content", "status", "priority")}
    if not any(changes.values()):
        raise AcpError("say what should change: --content TEXT, --status S or --priority P")
    plan = session_for(call).update_entry(number, **changes, plan_id=options.get("plan"))
    _print(_entry(plan, number), plan)


def done(call: Invocation) -> None:
    """Mark entries as completed."""
    _set_status(call, "completed")


def start(call: Invocation) -> None:
    """Mark entries as in progress."""
    _set_status(call, "in_progress")


def cancel(call: Invocation) -> None:
    """Mark entries as cancelled: they stay in the plan and are not done."""
    _set_status(call, "cancelled")


def _set_status(call: Invocation, status: str) -> None:
    numbers = call.numbers()
    edits = [UpdateEntry(number, status=status) for number in numbers]
    plan = session_for(call).edit_plan(edits, call.options.get("plan"))
    _print("\n".join(_entry(plan, number) for number in numbers), plan)


def move(call: Invocation) -> None:
    """Move an entry so that its number is TO."""
    number, to = call.numbers(2, 2)
    plan = session_for(call).move_entry(number, to, plan_id=call.options.get("plan"))
    _print(_entry(plan, to), plan)


def remove(call: Invocation) -> None:
    """Take an entry out of the plan."""
    (number,) = call.numbers(1, 1)
    plan = session_for(call).remove_entry(number, plan_id=call.options.get("plan"))
    _print(f"Removed entry {number}", plan)


def clear(call: Invocation) -> None:
    """Empty the plan; it keeps its id and title."""
    plan = session_for(call).clear_plan(plan_id=call.options.get("plan"))
    print(f"Plan {plan.plan_id!r} is empty.")


def _entry(plan: Plan, number: int) -> str:
    entry = plan[number - 1]
    return f"{number}. [{entry.status}] ({entry.priority}) {plain(entry.content)}"


def _print(text: str, plan: Plan) -> None:
    print(f"{text} · {said(plan)}")
