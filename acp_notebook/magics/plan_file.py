"""`%acp plan set` and `%acp plan export`: the plan from and to variables, cells and files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..errors import AcpError, PlanError
from ..plan import Plan
from ..plan.formats import write_all
from ..plan.values import as_plan
from ..session.plan_io import chosen_plan, export_plan, read_plans, write_plans
from ..text_files import named
from .command import Invocation
from .plan import said
from .start import session_for


def set_plan(call: Invocation) -> None:
    """Replace the plan with what a file or a variable holds.

    A file is Markdown, JSON, YAML or CSV; several plans in one go where their own ids say. A variable can
    hold text, a list of strings, dicts or PlanEntry objects, a Plan, a data frame, or a Path. A name that is
    both a variable and a file means the variable.
    """
    options = call.options
    given = _given(call)
    session = session_for(call)
    plan_id = options.get("plan")
    if isinstance(given, Path):
        plans = read_plans(session, given, plan_id, options.get("format"), options.get("title"))
    else:
        new, own = given
        ids = (plan_id, own, session.state.plan_id, new.plan_id)
        plan_id = next(id for id in ids if id is not None)
        plans = [session.set_plan(new, plan_id, options.get("title"))]
    for plan in plans:
        print(f"Plan {plan.plan_id!r}: {said(plan)}")


def _given(call: Invocation) -> Path | tuple[Plan, str | None]:
    """The file, or the new plan and the id of its own that it may have."""
    if call.cell is not None:
        if call.text:
            raise AcpError(f"give a plan in the cell or name {call.text!r}, not both")
        return _parsed(call, call.cell, "the cell"), None
    if not call.text:
        raise AcpError(f"this is used as {call.command.usage}, or with a cell as %%acp plan set")
    name = call.text
    if name.isidentifier() and name in call.variables:
        value = call.variables[name]
        if isinstance(value, Path):
            return value
        if isinstance(value, str):
            return _parsed(call, value, f"variable {name!r}"), None
        return _from_value(name, value), value.plan_id if isinstance(value, Plan) else None
    path = named(name)
    if not os.path.exists(path):
        raise AcpError(f"{name!r} is neither a variable nor a file")
    return path


def _from_value(name: str, value: Any) -> Plan:
    try:
        return as_plan(value)
    except PlanError as error:
        raise PlanError(f"variable {name!r}: {error}") from error


def _parsed(call: Invocation, text: str, where: str) -> Plan:
    if not text.strip():
        raise PlanError(f"{where} is empty; to empty the plan use %acp plan clear")
    try:
        return Plan.parse(text, call.options.get("format"))
    except PlanError as error:
        raise PlanError(f"{where}: {error}") from error


def export(call: Invocation) -> str | None:
    """Write the plan to a file; without PATH, return it as text.

    The suffix says the format. Onto a file that the plan was read from, only what has changed is written, and
    all else in it stays. Any other file that exists is overwritten only with --force; all files are written
    whole or not at all.
    """
    session = session_for(call)
    options = call.options
    plan_id, format, force = options.get("plan"), options.get("format"), "force" in options
    every = list(session.plans.values()) or [session.plan]
    if not call.text:
        plans = every if "all" in options else [chosen_plan(session, plan_id)]
        text = write_all(plans, format or "md")
        return Diagram(text) if format == "mermaid" else Text(text)
    path = named(call.text)
    if "all" in options:
        done = write_plans(session, path, every, format, force)
    else:
        done = export_plan(session, path, plan_id, format, force)
    print(_DONE[done].format(call.text))
    return None


_DONE = {"written": "Wrote {}", "updated": "Updated {}", "unchanged": "{} is up to date"}


class Text(str):
    """Text that a cell shows as it is, without quotes."""

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


class Diagram(Text):
    """The source of a Mermaid diagram; a page that can draws it."""

    def _repr_markdown_(self) -> str:
        return f"```mermaid\n{self}```\n"
