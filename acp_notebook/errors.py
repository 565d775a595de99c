"""What can go wrong, as one tree. Each message says what was wrong and what to do next.

AcpError
├── PlanError                  a plan, an entry or a plan file that cannot be used
│   ├── PlanIndexError         an entry number outside the plan (also an IndexError)
│   └── PlanChanged            a plan that people changed since the agent saw it: look before it goes to work
├── ConfigError                an unknown mode, effort or option value
├── PermissionError            an answer that a permission request cannot take
│   └── AlreadyAnswered        a second or late answer: nothing was changed
├── TurnError                  something about a prompt turn
│   ├── TurnRunning            a prompt while the previous turn is still running
│   ├── TurnFailed             the agent or its model failed; the cause is chained
│   └── TurnTimeout            `wait(timeout=…)` ran out; the turn goes on (also a TimeoutError)
├── AgentError                 an object that cannot be hosted as an agent, or a model name that is not one
├── ScriptError                a script of a ScriptedModel that cannot be played
├── DatabaseError              the user's file of runs and sessions cannot be used as it is
├── StepsRefused               steps with problems, all of them named; none has run
└── SessionClosed              the session has been closed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .plan import Change


class AcpError(Exception):
    """Base of every error of this package."""


class PlanError(AcpError):
    """A plan, an entry or a plan file that cannot be used."""


class PlanIndexError(PlanError, IndexError):
    """An entry number outside the plan. Entry numbers are 1-based."""

    def __init__(self, index: object, count: int) -> None:
        valid = f"use 1 to {count}" if count > 1 else "the only entry is 1" if count else "the plan is empty"
        super().__init__(f"there is no entry {index!r} in this plan: {valid}")


class PlanChanged(PlanError):
    """A plan that people changed since the agent saw it; `change` is what. It is worked on when confirmed."""

    def __init__(self, change: Change) -> None:
        self.change = change
        super().__init__(
            f"the plan was changed since the agent saw it last: {change.summary}; "
            "confirmed=True has it worked on as it is now"
        )


class ConfigError(AcpError):
    """An unknown mode, effort, option or option value."""


class PermissionError(AcpError):
    """An answer that a permission request cannot take."""


class AlreadyAnswered(PermissionError):
    """A second or late answer to a permission request: nothing was changed."""


class TurnError(AcpError):
    """Something about a prompt turn."""


class TurnRunning(TurnError):
    """A prompt while the previous turn is still running."""


class TurnFailed(TurnError):
    """The agent or its model failed; `__cause__` is the original exception."""


class TurnTimeout(TurnError, TimeoutError):
    """A wait ran out of time. The turn itself goes on."""


class AgentError(AcpError):
    """An object that cannot be hosted as an agent, or a model name that is not one."""


class ScriptError(AcpError):
    """A script of a `ScriptedModel` that cannot be played, or a prompt that no script is for."""


@dataclass(frozen=True, slots=True)
class StepProblem:
    """One thing that is wrong with the steps of a plan: where, and what to do about it."""

    step: str
    message: str
    argument: str | None = None

    def __str__(self) -> str:
        where = f"{self.step}, argument {self.argument!r}" if self.argument is not None else self.step
        return f"{where}: {self.message}"


class StepsRefused(AcpError):
    """Steps that cannot be run as they are; `problems` are all that is wrong. Nothing has run."""

    def __init__(self, problems: Sequence[StepProblem]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        lines = "\n".join(f"- {problem}" for problem in self.problems)
        what = "a problem" if count == 1 else f"{count} problems"
        super().__init__(f"the plan has {what}, and nothing has run: mend all and send it again\n{lines}")


class DatabaseError(AcpError):
    """The file in which runs and sessions are kept cannot be used as it is."""


class SessionClosed(AcpError):
    """The session has been closed."""
