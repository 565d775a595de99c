"""Steps: as they were read, and as they are run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .conditions import Condition
from .references import Reference
from .tools import StepTool

#: In the arguments of a step with `for_each`: the element that the call is for.
ITEM = "item"


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a plan may be: its steps, the characters of its JSON, the elements of one `for_each`."""

    steps: int = 100
    size: int = 1_000_000
    items: int = 1_000


DEFAULT_LIMITS = Limits()


@dataclass(slots=True)
class RawStep:
    """One step as it was read: of the right shape, and not yet checked. Its number is 1-based.

    `sent` is what it was read from, without what was passed over.
    """

    number: int
    step_id: str
    tool: str
    args: dict[str, Any]
    sent: dict[str, Any]
    for_each: Any = None
    when: Any = None


class Step(NamedTuple):
    """A step that has been checked. `args` are what `references.parse` returns, by name.

    `uses` are the ids of the steps that it refers to, wherever in it.
    """

    step_id: str
    tool: StepTool
    args: Mapping[str, Any]
    for_each: Reference | None = None
    when: Condition | None = None
    uses: tuple[str, ...] = ()
