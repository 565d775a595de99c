"""Plans read from files and written to them; a file that was read is changed in place."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..errors import AcpError, PlanError
from ..plan import Plan, SetPlan
from ..plan.formats import FORMATS, format_of, guess, parse_all, update, write_all
from ..text_files import read_exactly, write_text

if TYPE_CHECKING:
    from .session import Session

#: Endings that say nothing of the format: it is told by the text.
ANY_FORMAT = ("", ".txt")

Done = Literal["written", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that a plan was read from.

    `text` is what it holds, as far as the session knows; `plan_id` is the session's plan that was made of it,
    or None where there were several in it.
    """

    text: str
    format: str
    plan_id: str | None


def read_plans(
    session: Session, path: Path, plan_id: str | None, format: str | None, title: str | None
) -> list[Plan]:
    """Replace plans of the session with those in a file, and return them as they are then.

    One plan in the file goes to `plan_id`, by default to the current one. Of several, `plan_id` chooses one;
    by default each goes where its own id says. Raises `AcpError` when there is none, and changes nothing.
    """
    name = str(path)
    text = read_exactly(path)
    if not text.removeprefix("\ufeff").strip():
        raise PlanError(f"{name!r} is empty; to empty the plan use %acp plan clear")
    if format is None:
        format = guess(text) if path.suffix in ANY_FORMAT else format_of(name)
    try:
        found = parse_all(text, format)
        if len(found) == 1:
            ids = (plan_id, session.state.plan_id, found[0].plan_id)
            targets = [(next(id for id in ids if id is not None), found[0])]
        else:
            targets = [(plan.plan_id, plan) for plan in _chosen(found, plan_id, title)]
    except PlanError as error:
        raise PlanError(f"{name!r}: {error}") from error
    plans: list[Plan] = []
    for target, plan in targets:
        new = plan if title is None else replace(plan, title=title)
        plans.append(session.edit_plan([SetPlan(new)], target, author="file"))
    session.read_files[_key(path)] = ReadFile(text, format, targets[0][0] if len(found) == 1 else None)
    return plans


def _chosen(found: Sequence[Plan], plan_id: str | None, title: str | None) -> Sequence[Plan]:
    ids = ", ".join(repr(plan.plan_id) for plan in found)
    if plan_id is None:
        if title is not None:
            raise PlanError(f"this holds plans {ids}: choose the one that gets the title with --plan ID")
        return found
    chosen = [plan for plan in found if plan.plan_id == plan_id]
    if not chosen:
        raise PlanError(f"this holds plans {ids}, and no {plan_id!r}")
    return chosen


def export_plan(session: Session, path: Path, plan_id: str | None, format: str | None, force: bool) -> Done:
    """Write a plan to a file: by default the one that was read from it, else the current one."""
    if plan_id is None and (read := session.read_files.get(_key(path))) and read.plan_id in session.plans:
        plan_id = read.plan_id
    return write_plans(session, path, [chosen_plan(session, plan_id)], format, force)


def chosen_plan(session: Session, plan_id: str | None) -> Plan:
    """The plan of this id, or the current one. Raises `PlanError` for an unknown id."""
    if plan_id is None:
        return session.plan
    if plan_id not in session.plans:
        known = ", ".join(map(repr, session.plans)) or "none"
        raise PlanError(f"there is no plan {plan_id!r}: this session's plans are {known}")
    return session.plans[plan_id]


def write_plans(session: Session, path: Path, plans: Sequence[Plan], format: str | None, force: bool) -> Done:
    """Write plans to a file, and say what was done.

    A file that its plan was read from gets the changes, and all else in it stays. Any other file that exists
    is only overwritten with `force`. Raises `AcpError`; then the file is as it was.
    """
    key = _key(path)
    read = session.read_files.get(key)
    name = format or (read.format if read else format_of(str(path)))
    if read and not force and os.path.exists(path) and name == read.format and len(plans) == 1:
        return _change(session, path, read, plans[0])
    text = FORMATS[name].mark + write_all(plans, name) if name in FORMATS else write_all(plans, name)
    write_text(path, text, force=force)
    if read:
        session.read_files[key] = ReadFile(text, name, plans[0].plan_id if len(plans) == 1 else None)
    return "written"


def _change(session: Session, path: Path, read: ReadFile, plan: Plan) -> Done:
    """Change a file in place."""
    name = str(path)
    if read.plan_id != plan.plan_id:
        was = "several plans" if read.plan_id is None else f"plan {read.plan_id!r}"
        raise AcpError(f"{name!r} was read as {was}: name another file, or overwrite it with --force")
    if read_exactly(path) != read.text:
        raise AcpError(
            f"{name!r} has changed since it was read: read it again with %acp plan set, "
            "or overwrite it with --force"
        )
    try:
        text = update(read.text, plan, read.format)
    except PlanError as error:
        raise PlanError(f"{name!r}: {error}") from error
    if text == read.text:
        return "unchanged"
    write_text(path, text, force=True)
    session.read_files[_key(path)] = replace(read, text=text)
    return "updated"


def _key(path: Path) -> str:
    return os.path.realpath(path)
