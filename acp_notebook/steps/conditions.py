"""Conditions: whether a step runs, by what an earlier step returned."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from .references import REFERENCE, Fault, Reference, parse

#: How a value is compared. A new comparison is a row here, and its name one in the tool's schema.
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "equals": operator.eq,
    "not_equals": operator.ne,
    "greater_than": operator.gt,
    "less_than": operator.lt,
    "one_of": lambda value, among: value in among,
}
FORM = f'{{"value": {{"{REFERENCE}": …}}, "equals": …}} (or {", ".join(list(COMPARISONS)[1:])})'


@dataclass(frozen=True, slots=True)
class Condition:
    """What is at a reference, compared with a literal; or with no comparison, whether it is true."""

    value: Reference
    comparison: str | None = None
    other: Any = None

    def holds(self, value: Any) -> bool:
        """Whether it holds for the referenced value. Raises `TypeError` where the two cannot be compared."""
        return bool(value if self.comparison is None else COMPARISONS[self.comparison](value, self.other))


def read_condition(raw: Any, faults: list[Fault]) -> Condition | None:
    """The condition that a step has as its `when`; what is wrong with it is added to `faults`."""
    place = ("when",)
    if isinstance(raw, dict) and REFERENCE in raw:
        node = parse(cast(Any, raw), place, faults)
        return Condition(node) if isinstance(node, Reference) else None
    if isinstance(raw, dict) and set(raw := cast("dict[str, Any]", raw)) - {"value"} < set(COMPARISONS):
        node = parse(raw.get("value"), place, faults)
        others = [(name, other) for name, other in raw.items() if name != "value"]
        if isinstance(node, Reference) and len(others) <= 1:
            name, other = others[0] if others else (None, None)
            if name != "one_of" or isinstance(other, list):
                return Condition(node, name, other)
    if not faults:
        faults.append(Fault(place, f"is not a condition: write a reference, or {FORM}"))
    return None
