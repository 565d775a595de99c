"""Plans as JSON files, in ACP's field names."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ..errors import PlanError
from .model import Plan
from .objects import json_text, plans_from_value, to_value

_SURROGATES = re.compile("[\ud800-\udfff]")


def value(text: str) -> Any:
    """The value in a JSON text. Raises `PlanError` that says where the text is not JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise PlanError(f"this is not JSON: {error.msg} at {where}") from error
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, thousands of brackets
        raise PlanError(f"this JSON cannot be read: {error}") from error


def parse(text: str) -> tuple[Plan, ...]:
    """The plan in a JSON text, in any shape that `from_value` takes; several in a list of plans."""
    return plans_from_value(value(text))


def write(plans: Sequence[Plan]) -> str:
    """A plan as an object that `parse` reads back; several as a list of such objects."""
    values = [to_value(plan) for plan in plans]
    return spelled(values[0] if len(values) == 1 else values, indent=2, ensure_ascii=False) + "\n"


def spelled(value: Any, **options: Any) -> str:
    """A value as JSON text; halves of a surrogate pair, which have no UTF-8 form, are spelled."""
    return _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text(value, **options))
