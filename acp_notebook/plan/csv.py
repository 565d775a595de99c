"""Plans as CSV (RFC 4180): a row with names of columns, then a row for each entry.

Spreadsheets run a cell that begins like a formula. Such a cell gets an apostrophe in front, which reading
takes away again. What cells cannot say is in a column `exact`, as JSON, that is there only when it is needed.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from typing import Any, cast

from ..errors import PlanError
from . import columns
from .model import DEFAULT_PLAN_ID, Plan, PlanEntry
from .objects import FIELDS, json_text

#: What begins a formula in some spreadsheet, also in full width and after blanks.
_FORMULA = re.compile(r"'*(?:[\t\r\n＝＋－＠]|\s*[=+\-@])")
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
#: Columns of our own: the id of the plan where a table holds several, its title, and what cells cannot say.
PLAN, TITLE, EXACT = "plan", "plan_title", "exact"


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it stands in the file, with its end, and its cells."""

    text: str
    cells: list[str]


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file that has been read: `columns` are those that mean something; a mere list has no `header`."""

    delimiter: str
    columns: Mapping[str, int]
    header: Row | None
    rows: list[Row]

    def cells(self, row: Row) -> dict[str, str]:
        """The cells of a row by what they hold."""
        return {name: row.cells[at] for name, at in self.columns.items() if at < len(row.cells)}

    def values(self, row: Row) -> dict[str, str | None]:
        """What a row says, by field; without the fields of an entry where it has none."""
        return values(self.cells(row))


def parse(text: str) -> tuple[Plan, ...]:
    """The plan in a CSV text: rows under names of columns in any order, or a list in one column.

    Several where `write` wrote several. Raises `PlanError` when no column holds the texts of entries.
    """
    found = table(text)
    titles: dict[str, str | None] = {} if PLAN in found.columns else {DEFAULT_PLAN_ID: None}
    entries: dict[str, list[PlanEntry]] = {}
    for said in map(found.values, found.rows):
        own, title = said[PLAN], said[TITLE]
        plan_id = DEFAULT_PLAN_ID if own is None else own
        if "content" in said:
            entries.setdefault(plan_id, []).append(entry(said))
        if "content" in said or own is not None or title is not None:
            titles[plan_id] = title if titles.get(plan_id) is None else titles[plan_id]
    return tuple(
        Plan(tuple(entries.get(plan_id, ())), plan_id, title=title) for plan_id, title in titles.items()
    ) or (Plan(),)


def write(plans: Sequence[Plan]) -> str:
    """Plans as a table; with several, a column has their ids. Raises `PlanError` for one without entries."""
    rows: list[dict[str, str]] = []
    for plan in plans:
        if plan.type != "items":
            raise PlanError(f"a plan of type {plan.type!r} is no table: use another format")
        own = {PLAN: plan.plan_id if len(plans) > 1 else None, TITLE: plan.title}
        rows += [cells(own | fields(entry)) for entry in plan] or [cells(own)]
    always = {*FIELDS[:3], *([PLAN] if len(plans) > 1 else [])}
    names = [n for n in (PLAN, TITLE, *FIELDS, EXACT) if n in always or any(row.get(n) for row in rows)]
    used = ([row.get(name, "") for name in names] for row in rows if any(row.values()))
    return "".join(map(line, [names, *used]))


def entry(said: Mapping[str, str | None]) -> PlanEntry:
    """The entry of a row that says this."""
    content, status, priority = (said[name] or "" for name in FIELDS[:3])
    return PlanEntry(content, priority, status, said["id"])


def fields(entry: PlanEntry) -> dict[str, str | None]:
    """What a row says of an entry."""
    return {name: getattr(entry, name) for name in FIELDS}


# -- cells -----------------------------------------------------------------------------------------------


def cells(said: Mapping[str, str | None]) -> dict[str, str]:
    """The cells of a row that says this, by their columns."""
    return exactly({name: _cell(value or "") for name, value in said.items()}, said)


def exactly(row: dict[str, str], said: Mapping[str, str | None]) -> dict[str, str]:
    """A row, with what its cells do not say of this in a cell of its own."""
    read = values(row)
    missed = {name: value for name, value in said.items() if value is not None and read.get(name) != value}
    return row | ({EXACT: json_text(missed, ensure_ascii=True)} if missed else {})


def values(row: Mapping[str, str]) -> dict[str, str | None]:
    """What a row says, by field; without the fields of an entry where it has none."""
    shown = {name: _uncell(cell) for name, cell in row.items()}
    said: dict[str, str | None] = {name: shown.get(name) or None for name in (PLAN, TITLE)}
    # An exact value counts as long as its cell shows it.
    exact = {n: v for n, v in _exact(row.get(EXACT, "")).items() if _visible(v) == shown.get(n, "")}
    if any(shown.get(name) for name in FIELDS[:3]) or exact.keys() & FIELDS:
        said |= fields(columns.entry({"content": "", **shown}))
    return said | exact


def line(row: Iterable[str], delimiter: str = ",", end: str = "\r\n") -> str:
    """Cells as a row of the file."""
    text = StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerow(row)  # its own end of a row says which cells need quotes
    return text.getvalue().removesuffix("\r\n") + end


def _cell(text: str) -> str:
    text = _visible(text)
    return f"'{text}" if _FORMULA.match(text) else text


def _uncell(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _visible(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", text)


def _exact(cell: str) -> dict[str, str]:
    with suppress(ValueError, RecursionError):
        if isinstance(found := json.loads(cell), dict):
            known = (PLAN, TITLE, *FIELDS)
            members = cast("dict[str, Any]", found).items()
            return {name: value for name, value in members if name in known and isinstance(value, str)}
    return {}


# -- rows ------------------------------------------------------------------------------------------------


def table(text: str) -> Table:
    """The rows of a CSV text. Raises `PlanError` when no column holds the texts of entries."""
    lines = _LINE.findall(text)
    delimiter = _delimiter(next(filter(str.strip, lines), ""))
    reader = csv.reader(iter(lines), delimiter=delimiter)
    rows: list[Row] = []
    start = 0
    try:
        for found in reader:
            rows.append(Row("".join(lines[start : reader.line_num]), found))
            start = reader.line_num
    except csv.Error as error:
        raise PlanError(f"this CSV cannot be read: {error} at line {reader.line_num}") from error
    first = next((n for n, row in enumerate(rows) if any(row.cells)), 0)
    names = rows[first].cells if rows else []
    if "content" in (known := columns.find(names)):
        known |= {name: names.index(name) for name in (PLAN, TITLE, EXACT) if name in names}
        header = Row("".join(row.text for row in rows[: first + 1]), names)
        return Table(delimiter, known, header, rows[first + 1 :])
    if any(len(row.cells) > 1 for row in rows):
        known = "content, status, priority, id"
        raise PlanError(f"no column of this CSV has the texts of entries: name its columns {known}")
    return Table(delimiter, {"content": 0}, None, rows)


def has_header(text: str) -> bool:
    """Whether the first line of a text names columns of a plan, and more than one."""
    first = text.lstrip().partition("\n")[0]
    found = _columns(first, _delimiter(first))
    return "content" in found and len(found) > 1


def _delimiter(header: str) -> str:
    """The delimiter that gives the most columns with known names; spreadsheets use `;` in many countries."""
    return max(",;\t|", key=lambda delimiter: len(_columns(header, delimiter)))


def _columns(header: str, delimiter: str) -> dict[str, int]:
    with suppress(csv.Error):
        for names in csv.reader([header.rstrip("\r\n")], delimiter=delimiter):
            return columns.find(names)
    return {}
