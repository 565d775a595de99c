"""What happens in a run, one event after another; the statuses of the steps follow from the events alone.

`RunStarted` names the steps, all of which are pending then. Each step has one `StepEnded`, and before it a
`StepStarted` unless it never began. Values are those that the tools took and gave: who shows or keeps them
masks secrets, of which `RunStarted` knows. Errors come without them. Observers are called on the loop's
thread, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from .plan import Step
from .secrets import RunSecrets

Status = Literal["ok", "error", "skipped", "denied", "cancelled"]


class Outcome(NamedTuple):
    """How a step ended.

    - `started`, `ended`: seconds since the epoch; `started` is None when the step never began
    - `result`: what the tool returned; also of a step that failed by its `fail_when`; of a `for_each` that
      failed at an element the results there are
    - `error`: what went wrong, or the reason of a denial, in a line
    - `because`: the step for whose sake it was skipped
    - `looks_failed`: the result of a step that is ok reads as if the call had failed
    - `may_still_run`: it was left alone on a thread, which nothing can stop
    - `may_have_run`: it did not end well, and its tool may have done its work all the same: it was stopped or
      given up after the call, or its worker or its result was lost; of a `for_each`, that of an element
    """

    status: Status
    started: float | None
    ended: float
    result: Any = None
    error: str | None = None
    because: str | None = None
    looks_failed: bool = False
    may_still_run: bool = False
    may_have_run: bool = False


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A checked plan begins. `call_id` is that of `execute_plan`; calls of steps are `call_id:step_id`.

    - `name`: what the toolset is called, if anything
    - `parallel`: steps run together where their references allow it
    - `resumed`: the run goes on from where it ended; first of all, steps that had ended well tell so again
    - `secrets`: those of all its steps, which may become more while it runs; what one returns may repeat them
    """

    run_id: str
    call_id: str
    steps: tuple[Step, ...]
    at: float
    name: str | None = None
    parallel: bool = False
    resumed: bool = False
    secrets: RunSecrets = field(default_factory=RunSecrets, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step is about to call its tool."""

    run_id: str
    step_id: str
    at: float


@dataclass(frozen=True, slots=True)
class StepRetried:
    """A call failed, and is made again after `wait` seconds. `attempt` is the number of the failed one."""

    run_id: str
    step_id: str
    attempt: int
    error: str
    wait: float


@dataclass(frozen=True, slots=True)
class ItemEnded:
    """One element of a `for_each` is done: `done` of `total` are."""

    run_id: str
    step_id: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A step has ended, or will not begin."""

    run_id: str
    step_id: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class NotWritten:
    """The run goes on, and is not written down any more, or not at all: it cannot be resumed."""

    run_id: str
    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class RunEnded:
    """Every step has its outcome. `status` is `cancelled`, that of the first step that failed, or `ok`."""

    run_id: str
    status: Status
    at: float


StepEvent = RunStarted | StepStarted | StepRetried | ItemEnded | StepEnded | NotWritten | RunEnded
Observer = Callable[[StepEvent], None]

#: Besides the toolset's own `on_event`: who follows the runs that are begun in this context.
watcher: ContextVar[Observer | None] = ContextVar("watcher", default=None)
