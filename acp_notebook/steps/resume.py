"""Going on with a run that did not end well, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Resume:
    """A person's wish to have a run go on.

    - `done`: results, by step id, of steps that the person knows to have run
    - `again`: steps that may have run already and may run again without a question
    """

    run_id: str
    done: Mapping[str, Any] = field(default_factory=dict[str, Any])
    again: frozenset[str] = frozenset()


#: While it is set, `execute_plan` goes on with that run, whatever its arguments. A model cannot set it.
resuming: ContextVar[Resume | None] = ContextVar("resuming", default=None)
