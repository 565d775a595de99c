"""Records of runs as texts: values in a line, times, tables. Nothing in a value is taken for markup."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from ..masking import is_reference
from ..text import plain, plain_line
from .references import LITERALLY, REFERENCE

#: Characters of a value in a line.
_CELL = 160
#: Longest text in a cell that is not broken, in characters.
_WORD = 20


def finite(value: Any) -> Any:
    """`value` with the numbers as texts that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: finite(item) for key, item in cast("dict[str, Any]", value).items()}
    return list(map(finite, cast("list[Any]", value))) if isinstance(value, list) else value


def listed(args: Mapping[str, Any]) -> str:
    """Arguments in a line."""
    return ", ".join(f"{name}={short(value)}" for name, value in args.items())


def short(value: Any) -> str:
    """A value in a line; what refers to a step with an arrow."""
    if is_reference(value):
        ((step, path),) = value[REFERENCE].items()
        return f"← {'.'.join(map(str, (step, *path)))}"
    if isinstance(value, dict) and set(cast("dict[str, Any]", value)) == {LITERALLY}:
        text = json.dumps(value[LITERALLY], ensure_ascii=False, default=str)
    elif isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        text = f"{{{', '.join(f'{key}: {short(item)}' for key, item in items)}}}"
    elif isinstance(value, list):
        text = f"[{', '.join(map(short, cast('list[Any]', value)))}]"
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _CELL else f"{text[:_CELL]}…"


def time_of(at: float) -> str:
    """Seconds since the epoch as a time here."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")


def iso(at: float | None) -> str | None:
    """Seconds since the epoch as ISO 8601 has a time here."""
    return None if at is None else datetime.fromtimestamp(at).astimezone().isoformat()


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of texts as a table in Markdown."""
    lines = [" | ".join(columns), " | ".join("---" for _ in columns)]
    lines += [" | ".join(map(markdown_cell, row)) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def markdown_cell(text: str) -> str:
    """A text in a cell of a Markdown table, where nothing in it is markup."""
    text = plain_line(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{char}" if char in "\\`*_{}[]#|~$!" else char for char in text)


def html_table(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """Rows of texts as a table in HTML."""
    above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    head = "".join(f'<th scope="col" style="text-align:left">{html.escape(name)}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_cell(text: str) -> str:
    """A cell that reads from its start, as notebooks' own tables do not; a time or an id stays on a line."""
    nowrap = ";white-space:nowrap" if len(text) <= _WORD else ""
    return f'<td style="text-align:left{nowrap}" dir="auto">{html.escape(plain(text))}</td>'
