"""Plans from what people have at hand, and as what they work on with: tables of pandas or polars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, cast

from ..errors import PlanError
from . import columns
from .model import Plan, PlanEntry
from .objects import FIELDS, from_value


def as_plan(value: Plan | str | Iterable[PlanEntry | str | Mapping[str, Any]] | Any) -> Plan:
    """A plan from a `Plan`, a text, a mapping, an iterable of entries, strings or mappings, or a data frame.

    Raises `PlanError` for anything else.
    """
    match value:
        case Plan():
            return value
        case str():
            return Plan.parse(value)
        case Mapping():
            return from_value(value)
        case _ if hasattr(value, "columns") and hasattr(value, "__getitem__"):
            return _from_frame(value)
        case Iterable() if not isinstance(value, bytes | bytearray):
            return from_value(list(cast("Iterable[Any]", value)))
        case _:
            raise PlanError(f"{value!r} is not a plan: use a Plan, Markdown text or a list of entries")


def to_frame(plan: Plan) -> Any:
    """A `pandas.DataFrame` with a row for each entry, numbered from 1, and the title in its `attrs`.

    Raises `PlanError` when pandas is not installed, or for a plan that is no list.
    """
    try:
        pandas: Any = import_module("pandas")  # no dependency, also not of the types
    except ImportError as error:
        raise PlanError("a data frame needs pandas: %pip install pandas") from error
    if plan.type != "items":
        raise PlanError(f"a plan of type {plan.type!r} is no table: use plan.to('md')")
    names = [name for name in FIELDS if name != "id" or any(entry.id is not None for entry in plan)]
    index = pandas.RangeIndex(1, len(plan) + 1, name="entry")
    frame = pandas.DataFrame({name: [getattr(e, name) for e in plan] for name in names}, index, dtype=object)
    frame.attrs["title"] = plan.title
    return frame


def _from_frame(frame: Any) -> Plan:
    names = [str(name) for name in frame.columns]
    found = columns.find(names) if len(names) != 1 else {"content": 0}
    if "content" not in found:
        known = "content, status, priority, id"
        raise PlanError(f"no column of this table has the texts of entries: name its columns {known}")
    cells = {field: [_cell(value) for value in _column(frame, at)] for field, at in found.items()}
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    entries = (columns.entry(row) for row in rows if any(row.get(name) for name in FIELDS[:3]))
    title = getattr(frame, "attrs", {}).get("title")
    return Plan(tuple(entries), title=title if isinstance(title, str) else None)


def _column(frame: Any, at: int) -> Any:
    """A column by its place: pandas may have several of one name."""
    return frame.iloc[:, at] if hasattr(frame, "iloc") else frame[frame.columns[at]]


def _cell(value: Any) -> str:
    """A value as the text of a cell; whole numbers that are floats because others are missing as such."""
    try:
        missing = value is None or bool(value != value)
    except TypeError:  # pandas.NA, which compares to nothing
        missing = True
    if missing:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
