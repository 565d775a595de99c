"""`%acp plan set` and `%acp plan export`: the plan from and to variables, cells and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import AcpError, PlanError
from ..notebook import Session
from ..plan import Plan
from ..plan.formats import format_of
from ..session.session import as_plan
from .command import Invocation
from .files import read_text, write_text
from .plan import chosen_plan, said
from .start import session_for

#: Endings that say nothing of the format: it is told by the text.
ANY_FORMAT = ("", ".txt")


def set_plan(call: Invocation) -> None:
    """Replace the plan with what a file or a variable holds.

    A variable can hold text, a list of strings, dicts or PlanEntry objects, a Plan, or a Path. A name that is
    both a variable and a file means the variable.
    """
    new, plan_id = _given(call)
    session = session_for(call)
    plan_id = call.options.get("plan") or plan_id or session.state.plan_id
    plan = session.set_plan(new, plan_id or new.plan_id, call.options.get("title"))
    print(f"Plan {plan.plan_id!r}: {said(plan)}")


def _given(call: Invocation) -> tuple[Plan, str | None]:
    """The new plan, and the id of its own that it may have."""
    if call.cell is not None:
        if call.text:
            raise AcpError(f"give a plan in the cell or name {call.text!r}, not both")
        return _parsed(call, call.cell, None, "the cell"), None
    if not call.text:
        raise AcpError(f"this is used as {call.command.usage}, or with a cell as %%acp plan set")
    name = call.text
    if name.isidentifier() and name in call.variables:
        value = call.variables[name]
        if isinstance(value, Path):
            return _from_file(call, value), None
        if isinstance(value, str):
            return _parsed(call, value, None, f"variable {name!r}"), None
        return _from_value(name, value), value.plan_id if isinstance(value, Plan) else None
    path = Path(name).expanduser()
    if not path.exists():
        raise AcpError(f"{name!r} is neither a variable nor a file")
    return _from_file(call, path), None


def _from_value(name: str, value: Any) -> Plan:
    try:
        return as_plan(value)
    except PlanError as error:
        raise PlanError(f"variable {name!r}: {error}") from error


def _from_file(call: Invocation, path: Path) -> Plan:
    text = read_text(path)
    named = call.options.get("format") or path.suffix in ANY_FORMAT
    return _parsed(call, text, None if named else format_of(path.name), repr(str(path)))


def _parsed(call: Invocation, text: str, format: str | None, where: str) -> Plan:
    if not text.strip():
        raise PlanError(f"{where} is empty; to empty the plan use %acp plan clear")
    try:
        return Plan.parse(text, call.options.get("format") or format)
    except PlanError as error:
        raise PlanError(f"{where}: {error}") from error


def export(call: Invocation) -> str | None:
    """Write the plan to a file; without PATH, return it as text.

    The suffix says the format. A file that exists is overwritten only with --force, and written whole or not
    at all.
    """
    session = session_for(call)
    format = call.options.get("format")
    if not call.text:
        return Text(_written(session, call, format or "md"))
    path = Path(call.text).expanduser()
    text = _written(session, call, format or format_of(path.name))
    write_text(path, text, force="force" in call.options)
    print(f"Wrote {call.text}")
    return None


def _written(session: Session, call: Invocation, format: str) -> str:
    if "all" not in call.options:
        return chosen_plan(session, call).to(format)
    texts = [plan.to(format) for plan in session.plans.values()]
    return f"[{','.join(texts)}]\n" if format == "json" else "\n".join(texts)


class Text(str):
    """Text that a cell shows as it is, without quotes."""

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))
