"""The formats in which plans are read and written. A new one is a row in `FORMATS` and two functions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..errors import PlanError
from . import markdown
from .display import as_html, as_text
from .model import Plan
from .objects import from_value, to_value

__all__ = ["FORMATS", "Format", "as_html", "as_text", "format_of", "parse", "write"]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: reader, writer, file name endings (the usual one first), its MIME type."""

    parse: Callable[[str], Plan]
    write: Callable[[Plan], str]
    suffixes: tuple[str, ...]
    mime: str


def parse(text: str, format: str | None = None) -> Plan:
    """Read a plan from `text`, in the format of that name or, when None, in the one it looks like.

    Raises `PlanError` when there is no plan in it, or no such format.
    """
    if format is None:
        format = "json" if _JSON.match(text) else "md"
    return _named(format).parse(text)


def write(plan: Plan, format: str) -> str:
    """Write the plan in the format of that name. Raises `PlanError` when it cannot be, or for other names."""
    return _named(format).write(plan)


def format_of(suffix: str) -> str:
    """The name of the format for a file name, or for its ending (`.md`). Raises `PlanError` for others."""
    ending = "." + suffix.rpartition(".")[2].lower()
    for name, format in FORMATS.items():
        if ending in format.suffixes:
            return name
    known = ", ".join(ending for format in FORMATS.values() for ending in format.suffixes)
    raise PlanError(f"{suffix!r} is not the name of a plan file: use one that ends with {known}")


def _named(format: str) -> Format:
    try:
        return FORMATS[format]
    except KeyError:
        raise PlanError(f"{format!r} is not a plan format: use {', '.join(FORMATS)}") from None


# -- JSON ------------------------------------------------------------------------------------------------

# An object, or a list that cannot be a box (`[ ] task`) or a link (`[text](…)`).
_JSON = re.compile(r'\ufeff?\s*(?:\{|\[\s*(?:["{]|\]\s*$))')
_SURROGATES = re.compile("[\ud800-\udfff]")


def _parse_json(text: str) -> Plan:
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise PlanError(f"this is not JSON: {error.msg} at {where}") from error
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, thousands of brackets
        raise PlanError(f"this JSON cannot be read: {error}") from error
    return from_value(value)


def _write_json(plan: Plan) -> str:
    try:
        text = json.dumps(to_value(plan), indent=2, ensure_ascii=False, allow_nan=False, default=_mapping)
    except (TypeError, ValueError, RecursionError) as error:
        raise PlanError(f"this plan cannot be written as JSON: {error}") from error
    # Halves of a surrogate pair have no UTF-8 form; JSON can spell them.
    return _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def _mapping(value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    raise TypeError(f"{type(value).__name__} is not a JSON value")


FORMATS: dict[str, Format] = {
    "md": Format(markdown.parse, markdown.write, (".md", ".markdown"), "text/markdown"),
    "json": Format(_parse_json, _write_json, (".json",), "application/json"),
}
