"""Plans as a notebook to work in: a section for each entry, with a cell for its code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .display import STATUSES, body, progress, title
from .json import spelled
from .markup import escape, one_line, shown
from .model import Plan, PlanEntry


def write(plans: Sequence[Plan]) -> str:
    """The text of a notebook file (nbformat 4.5): a heading for each plan, and a section for each entry."""
    cells = [cell for number, plan in enumerate(plans, 1) for cell in _cells(plan, f"plan-{number}")]
    notebook = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return spelled(notebook, indent=1, ensure_ascii=False) + "\n"


def _cells(plan: Plan, name: str) -> Iterator[dict[str, Any]]:
    about = progress(plan) if plan.entries else "\n".join(escape(shown(body(plan)).split("\n")))
    yield _cell("markdown", name, f"# {one_line(title(plan))}\n\n{about}")
    for number, entry in enumerate(plan, 1):
        yield _cell("markdown", f"{name}-step-{number}", _section(number, entry))
        yield _cell("code", f"{name}-code-{number}", "")


def _section(number: int, entry: PlanEntry) -> str:
    first, *rest = escape(shown(entry.content).split("\n"))
    status = STATUSES[entry.status][2] if entry.status in STATUSES else one_line(entry.status)
    priority = "" if entry.priority == "medium" else f" · Priority: {one_line(entry.priority)}"
    text = "\n".join([f"## {number}. {first}".rstrip(), "", f"Status: {status}{priority}", "", *rest])
    return text.rstrip("\n")


def _cell(kind: str, name: str, source: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": name, "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | {"source": source.splitlines(keepends=True)}
