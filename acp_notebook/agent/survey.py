"""The demo's data: a small made-up survey, read from the package and worked on in memory.

The methods are the demo agent's tools: their docstrings are what a model reads, what they return is JSON, and
a wrong argument is answered with the valid ones.
"""

from __future__ import annotations

import csv
from collections.abc import Hashable, Sequence
from importlib.resources import files
from statistics import fmean, median
from threading import Lock
from typing import Any, TypeAlias

from pydantic_ai import ApprovalRequired, ModelRetry, RunContext

Value: TypeAlias = str | int | float | None
Row: TypeAlias = dict[str, Value]

FILE = files("acp_notebook") / "data" / "survey.csv"

#: Numbers that only name something; a mean of them says nothing.
KEYS = ("respondent", "wave")


def read_rows() -> list[Row]:
    """The rows of the file: whole numbers as int, empty fields as None."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return [{name: _value(field) for name, field in row.items()} for row in csv.DictReader(lines)]


def _value(field: str) -> Value:
    return int(field) if field.isdecimal() else field or None


class Survey:
    """The survey table in memory. Nothing here ever writes to the file."""

    def __init__(self) -> None:
        self.rows = read_rows()
        self._lock = Lock()  # tools run in worker threads, several at a time

    @property
    def columns(self) -> list[str]:
        return list(self.rows[0])

    def load_table(self) -> dict[str, Any]:
        """Read survey.csv afresh, which undoes all changes to the table in memory."""
        with self._lock:
            self.rows = read_rows()
        print(f"read {FILE.name}: {len(self.rows)} rows, {len(self.columns)} columns")
        return {"table": "survey", "rows": len(self.rows), "columns": self.columns}

    def describe_table(self) -> dict[str, Any]:
        """Say how many rows the table has, and what is in each column."""
        return {
            "table": "survey",
            "rows": len(self.rows),
            "columns": {name: self._describe(name) for name in self.columns},
        }

    def _describe(self, column: str) -> dict[str, Any]:
        known = [value for row in self.rows if (value := row[column]) is not None]
        numbers = [value for value in known if isinstance(value, int | float)]
        spread = {"min": min(numbers), "max": max(numbers)} if numbers else {}
        return {"missing": len(self.rows) - len(known), "distinct": len(set(known)), **spread}

    def count_missing(self) -> dict[str, int]:
        """Count the missing values in every column."""
        return {name: sum(row[name] is None for row in self.rows) for name in self.columns}

    def count_duplicates(self, subset: list[str]) -> dict[str, Any]:
        """Count the rows that repeat an earlier row.

        Args:
            subset: The columns that tell rows apart.
        """
        return {"duplicates": len(self.rows) - len(self._first_rows(subset)), "rows": len(self.rows)}

    def drop_duplicates(self, ctx: RunContext[Any], table: str, subset: list[str]) -> dict[str, Any]:
        """Delete the rows that repeat an earlier row. Asks first, and shows which rows would go.

        Args:
            table: The table to delete from: "survey".
            subset: The columns that tell rows apart.
        """
        if table != "survey":
            raise ModelRetry(f"there is no table {table!r}: the only one is 'survey'")
        with self._lock:
            kept = self._first_rows(subset)
            if not ctx.tool_call_approved:
                raise ApprovalRequired(metadata={"preview": self._loss(kept)})
            dropped = len(self.rows) - len(kept)
            self.rows = kept
        print(f"dropped {dropped} rows, {len(kept)} left")
        return {"dropped": dropped, "rows": len(kept)}

    def _loss(self, kept: list[Row], shown: int = 3) -> str:
        """Which rows would be lost, as lines of a diff."""
        stays = {id(row) for row in kept}
        lost = [row for row in self.rows if id(row) not in stays]
        lines = [f"{FILE.name}  {len(self.rows)} → {len(kept)} rows"]
        lines += ["- " + ", ".join("" if v is None else str(v) for v in row.values()) for row in lost[:shown]]
        if len(lost) > shown:
            lines.append(f"  … {len(lost) - shown} more rows")
        return "\n".join(lines)

    def _first_rows(self, subset: Sequence[str]) -> list[Row]:
        names = [self._column(name) for name in subset] or self.columns
        first: dict[Hashable, Row] = {}
        for row in self.rows:
            first.setdefault(tuple(row[name] for name in names), row)
        return list(first.values())

    def fill_missing(self, column: str, by: str) -> dict[str, Any]:
        """Fill the missing values of a numeric column with the median of their group.

        Adds a column `<column>_filled` that says which values were filled.

        Args:
            column: The column to fill.
            by: The column whose values make the groups.
        """
        everywhere = _numbers(self._column(column), self.rows)
        if not everywhere:
            raise ModelRetry(f"column {column!r} is not numeric: it has no median")
        flag = f"{column}_filled"
        with self._lock:
            medians = {
                group: median(_numbers(column, rows) or everywhere)
                for group, rows in self._groups(by).items()
            }
            rows: list[Row] = []
            for row in self.rows:
                if row[column] is None:
                    rows.append({**row, column: medians[row[by]], flag: "yes"})
                else:
                    rows.append({**row, flag: row.get(flag, "no")})
            count = sum(row[column] is None for row in self.rows)
            self.rows = rows
        print(f"filled {count} values of {column} by {by}")
        return {"column": column, "by": by, "filled": count, "medians": medians}

    def summarise(self, by: str) -> dict[str, Any]:
        """Count the rows of each group, and average its numeric columns.

        Args:
            by: The column whose values make the groups.
        """
        averaged = [name for name in self.columns if name not in KEYS and _numbers(name, self.rows)]
        return {
            "by": by,
            "groups": [
                {by: group, "rows": len(rows)} | {name: _mean(_numbers(name, rows)) for name in averaged}
                for group, rows in self._groups(by).items()
            ],
        }

    def _groups(self, by: str) -> dict[Value, list[Row]]:
        """The rows of each group, in the order of the groups' names."""
        column = self._column(by)
        groups: dict[Value, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(row[column], []).append(row)
        return {group: groups[group] for group in sorted(groups, key=str)}

    def _column(self, name: str) -> str:
        if name not in self.columns:
            raise ModelRetry(f"there is no column {name!r}: the columns are {', '.join(self.columns)}")
        return name


def _numbers(column: str, rows: Sequence[Row]) -> list[int | float]:
    return [value for row in rows if isinstance(value := row[column], int | float)]


def _mean(numbers: Sequence[int | float]) -> float | None:
    return round(fmean(numbers), 1) if numbers else None
