"""The two sides of a session, and the connection between them inside one process.

Commands are plain calls that return when the other side has taken them; their effects come back as updates.
All calls happen on the session's loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..plan import Author, Change, PlanEdit
from .messages import ConfigOption, Outcome, RequestPermission, Setter, Update
from .rules import Rule


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """Who is on the other side: `name` of the agent, `model` it uses, and whether that model is a script.

    `plans_editable` is False where the plans are the host application's, and every edit would be refused.
    """

    name: str
    model: str
    scripted: bool = False
    plans_editable: bool = True


#: Why an edit is refused where plans are not to be edited.
NOT_OURS = "the plan belongs to the host application, which alone changes it: change it there"


@dataclass(frozen=True, slots=True)
class Readiness:
    """What there is to know before an agent is sent to work on a plan.

    `mode` is the mode to do it in, the present one where that will do, and None where the agent has no modes.
    `unseen` is what people have changed since the model saw the plan; it is falsy where that is nothing, and
    where the model has never seen it.
    """

    mode: str | None
    unseen: Change


class StepsOutline(Protocol):
    """What steps would do (steps.outline): `rows` has one for each, and it shows itself."""

    @property
    def rows(self) -> Sequence[Any]: ...

    @property
    def diagram(self) -> str: ...

    def __str__(self) -> str: ...

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]: ...


class ClientSide(Protocol):
    """What an agent may send to its client."""

    def update(self, *updates: Update) -> None:
        """Take session updates, in order."""
        ...

    def request_permission(self, request: RequestPermission) -> Awaitable[Outcome]:
        """Ask; the awaitable ends with the answer. Anything but an offered allow option is a no."""
        ...


class AgentSide(Protocol):
    """What a client may ask of a session's agent."""

    @property
    def info(self) -> AgentInfo:
        """Who this is, as it is now."""
        ...

    def prompt(self, text: str) -> None:
        """Start a turn: `UserMessage` and `StateUpdate("running")` come at once, `"idle"` at its end.

        Raises `TurnRunning` while the previous turn runs.
        """
        ...

    def readiness(self, plan_id: str) -> Readiness:
        """How a plan would be worked on. Raises `ConfigError` when the agent has modes, and none for that."""
        ...

    def cancel(self) -> None:
        """Cancel the running turn, if any; it ends with stop reason `cancelled`."""
        ...

    def set_config(
        self, option_id: str, value: str | bool, author: Setter = "person"
    ) -> tuple[ConfigOption, ...] | Awaitable[tuple[ConfigOption, ...]]:
        """Set an option and return all of them as they are then, at once or when the answer is there.

        `author` as in `ConfigOptionUpdate`. Raises `ConfigError`, and so may the awaitable: then the option
        is as it was.
        """
        ...

    def edit_plan(
        self,
        plan_id: str,
        edits: Sequence[PlanEdit],
        author: Author = "person",
        undoes: int | None = None,
    ) -> None:
        """Edits of a plan that do not come from the model, one update for all of them. Raises `PlanError`.

        `author` and `undoes` as in `PlanUpdate`.
        """
        ...

    def choose_plan(self, plan_id: str) -> None:
        """Make a plan the current one, which the next turn is about."""
        ...

    def remove_plan(self, plan_id: str, author: Author = "person") -> None:
        """Remove a plan on `author`'s behalf. Raises `PlanError` when there is none with this id."""
        ...

    def add_rule(self, rule: Rule, arguments: Mapping[str, Any] | None = None) -> Rule:
        """Remember a decision on a person's behalf; returns the rule with its number.

        `arguments` are those that an exact rule is about. Raises `PermissionError` for a rule that cannot be.
        """
        ...

    def remove_rules(self, numbers: Sequence[int] | None = None) -> None:
        """Forget rules, by their numbers, or all. Raises `PermissionError` for a number that there is not."""
        ...

    def outline_steps(self, steps: Any) -> Awaitable[StepsOutline]:
        """Look at steps of `execute_plan` without running any, also during a turn.

        The awaitable raises `StepsRefused` with everything that is wrong with them, and `AgentError` when the
        agent has no `execute_plan`. Over a wire this and the next two are extension requests,
        `_acp-notebook/steps/outline`, `…/run` and `…/resume`.
        """
        ...

    def run_steps(self, steps: Any) -> None:
        """Run steps of `execute_plan` as a turn, which begins and ends as one with a prompt does.

        Raises `TurnRunning`, and `AcpError` for what are no steps.
        """
        ...

    def resume_steps(self, run_id: str, steps: Any, done: Mapping[str, Any], again: Collection[str]) -> None:
        """Have a run go on as a turn, by its id or the beginning of it.

        `steps` are its steps once more where they are not written down as they were (secrets), else None.
        `done` gives results of steps that a person knows to have run, `again` names those that may run once
        more without a question. Raises `TurnRunning`.
        """
        ...

    def fork(self, client: ClientSide) -> AgentSide:
        """A new session for another client that begins as this one is: its conversation, plans and settings.

        Raises `TurnRunning` while a turn runs, and `AgentError` when the agent cannot do that.
        """
        ...

    def close(self) -> None:
        """End the session: cancels what runs and frees what it holds."""
        ...


#: How a client reaches an agent: given the client side, returns the agent side, which has sent its options.
Connect = Callable[[ClientSide], AgentSide]
