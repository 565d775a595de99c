"""A CSV file with a plan in it: rows that change are written anew, the others stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from ...errors import PlanError
from ..csv import EXACT, PLAN, TITLE, Row, Table, cells, exactly, fields, line, parse, table, values
from ..model import Plan, PlanEntry
from ..objects import FIELDS
from .matching import arranged, matches

Said = Mapping[str, str | None]


def update(text: str, plan: Plan) -> str:
    """The text with the plan's entries, and its title where a column has one.

    Other columns, and rows that say nothing, stay as they are; a column that is missing is added at the end.
    Raises `PlanError` for a table of several plans.
    """
    found = table(text)
    if PLAN in found.columns:
        raise PlanError("a table of several plans cannot be changed in place: write it anew with --force")
    old = [row for row in found.rows if "content" in found.values(row)]
    sources = matches(parse(text)[0].entries, plan.entries)
    titled = {TITLE: plan.title} if TITLE in found.columns and plan.title is not None else {}
    wanted: list[Said] = [fields(entry) | titled for entry in plan]
    usual = fields(PlanEntry(""))
    added = [n for n in FIELDS if n not in found.columns and any(said[n] != usual[n] for said in wanted)]
    words = _words(found, old)
    rows = [None if source is None else old[source] for source in sources]
    changed = [_changed(found, row, said, added, words) for row, said in zip(rows, wanted, strict=True)]
    if EXACT not in found.columns and any(said and said.get(EXACT) for said in changed):
        added.append(EXACT)
    lines = [_line(found, row, said, added) for row, said in zip(rows, changed, strict=True)]
    whole = _header(found, added) + arranged(_gaps(found), list(zip(sources, lines, strict=True)))
    return whole if text.endswith(("\r", "\n")) else whole.rstrip("\r\n")


def _words(found: Table, rows: list[Row]) -> dict[tuple[str, str | None], str]:
    """The file's own word for a status or a priority: `Done` for completed, perhaps none for pending."""
    words: dict[tuple[str, str | None], str] = {}
    for row in rows:
        for name in ("status", "priority"):
            at = found.columns.get(name, len(row.cells))
            if at < len(row.cells):
                cell = row.cells[at]
                words.setdefault((name, values({"content": "any", name: cell})[name]), cell)
    return words


def _changed(
    found: Table, row: Row | None, wanted: Said, added: list[str], words: dict[tuple[str, str | None], str]
) -> dict[str, str] | None:
    """The cells of a row that is to say what is wanted; None where it says so already."""
    have = found.cells(row) if row else {}
    read = values(have)
    if row and all(read.get(name) == value for name, value in wanted.items()):
        return None
    fresh = cells(wanted)
    for name, value in wanted.items():
        if (name in found.columns or name in added) and read.get(name) != value:
            have[name] = words.get((name, value), fresh[name])
    have.pop(EXACT, None)
    return {EXACT: ""} | exactly(have, wanted)


def _line(found: Table, row: Row | None, said: dict[str, str] | None, added: list[str]) -> str:
    """A row of the file."""
    width = len(found.header.cells) if found.header else 1
    if row and said is None and (not added or len(row.cells) == width):
        return row.text.rstrip("\r\n") + found.delimiter * len(added) + _end(found, row)
    line_cells = list(row.cells) if row else []
    line_cells += [""] * (width + len(added) - len(line_cells))
    places = {**found.columns, **{name: width + n for n, name in enumerate(added)}}
    for name, at in places.items():
        line_cells[at] = (said or {}).get(name, line_cells[at])
    return line(line_cells, found.delimiter, _end(found, row))


def _header(found: Table, added: list[str]) -> str:
    if found.header is None:
        return line(["content", *added], end=_end(found, None)) if added else ""
    names = found.delimiter.join(["", *added])
    return found.header.text.rstrip("\r\n") + names + _end(found, found.header)


def _end(found: Table, row: Row | None) -> str:
    """The end of a row's line, or else of any line in the file."""
    for each in chain((row, found.header), found.rows):
        if each and (end := each.text[len(each.text.rstrip("\r\n")) :]):
            return end
    return "\r\n"


def _gaps(found: Table) -> list[str]:
    """What stands before each entry, and after the last: rows that say nothing."""
    gaps = [""]
    for row in found.rows:
        if "content" in found.values(row):
            gaps.append("")
        else:
            gaps[-1] += row.text
    return gaps
