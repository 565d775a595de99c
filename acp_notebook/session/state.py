"""The state of a session, frozen values, and the events that change it (`reduce.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from ..plan import DEFAULT_PLAN_ID, Plan, PlanHistory
from ..protocol.content import Content
from ..protocol.messages import (
    AvailableCommand,
    ConfigOption,
    Notice,
    Outcome,
    RequestPermission,
    Update,
    Usage,
)
from ..protocol.rules import Rule


@dataclass(frozen=True, slots=True)
class Message:
    """A stretch of the agent's answer, Markdown as it came."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """A stretch of the model's thoughts; `started` and `ended` in seconds since the epoch."""

    text: str
    started: float
    ended: float | None = None


class ToolCallState(NamedTuple):
    """A tool call as the person sees it. Times in seconds since the epoch; `printed` is what it printed.

    `left` is what is known of a function that went on after the call had ended.
    """

    tool_call_id: str
    name: str = ""
    title: str | None = None
    kind: str | None = None
    status: str = "pending"
    raw_input: Any = None
    raw_output: Any = None
    printed: str = ""
    reason: str | None = None
    started: float = 0.0
    ended: float | None = None
    content: tuple[Content, ...] = ()
    left: str | None = None


@dataclass(frozen=True, slots=True)
class PermissionState:
    """A permission request: `pending`, then `allowed`, `denied` or `cancelled`, and a line that says why.

    `edited` are the arguments that a person has put in place of the request's, `said` what they told the
    model with the answer; `always` says that it was to be remembered.
    """

    request_id: str
    request: RequestPermission
    status: str = "pending"
    explanation: str = ""
    edited: Mapping[str, Any] | None = None
    said: str | None = None
    always: bool = False
    asked: float = 0.0
    answered: float | None = None


Item = Message | Thought | ToolCallState | PermissionState | Notice


@dataclass(frozen=True, slots=True)
class TurnState:
    """One prompt and all that followed, in order. `stop_reason` is None while the turn runs."""

    number: int
    prompt: str
    items: tuple[Item, ...] = ()
    stop_reason: str | None = None
    error: str | None = None
    usage: Usage | None = None
    started: float = 0.0
    ended: float | None = None

    @property
    def text(self) -> str:
        """The answer: all messages of the turn, as paragraphs of their own."""
        texts = (item.text.strip() for item in self.items if isinstance(item, Message))
        return "\n\n".join(filter(None, texts))

    @property
    def thoughts(self) -> str:
        """All thoughts of the turn, as paragraphs of their own."""
        return "\n\n".join(item.text.strip() for item in self.items if isinstance(item, Thought))

    @property
    def tool_calls(self) -> tuple[ToolCallState, ...]:
        return tuple(item for item in self.items if isinstance(item, ToolCallState))

    @property
    def permissions(self) -> tuple[PermissionState, ...]:
        return tuple(item for item in self.items if isinstance(item, PermissionState))

    @property
    def waited(self) -> float:
        """Seconds in which the turn waited for a person (overlapping requests count once)."""
        total, until = 0.0, 0.0
        for item in self.permissions:
            end = item.answered if item.answered is not None else item.asked
            total += max(0.0, end - max(item.asked, until))
            until = max(until, end)
        return total


@dataclass(frozen=True, slots=True)
class PlanFile:
    """What the file of a `file` plan holds: its `text`, and a `note` on what is not shown, a sentence each.

    `text` is None when nothing of it is shown; then `note` says why.
    """

    text: str | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class SessionState:
    """Everything a view needs. `status` is `idle`, `running` or `requires_action`; `plans_editable` is False
    where the plans are the host application's, which alone changes them.

    `plans`, `history` and `files` are read-only mappings by plan id, in order of arrival; `history` keeps the
    plans that were removed, `files` has the plans of type `file`. `unknown` counts the updates that this
    version does not know, by kind, and `faults` what was wrong in the others (`Fault.kind`). `left` has the
    tool calls that have ended and whose functions run on, by id, with the number of their turn.
    """

    name: str
    agent: str
    model: str
    scripted: bool = False
    plans_editable: bool = True
    status: str = "idle"
    plans: Mapping[str, Plan] = field(default_factory=lambda: MappingProxyType({}))
    history: Mapping[str, PlanHistory] = field(default_factory=lambda: MappingProxyType({}))
    files: Mapping[str, PlanFile] = field(default_factory=lambda: MappingProxyType({}))
    plan_id: str | None = None
    turns: tuple[TurnState, ...] = ()
    config: tuple[ConfigOption, ...] = ()
    commands: tuple[AvailableCommand, ...] = ()
    rules: tuple[Rule, ...] = ()
    outside: tuple[Item, ...] = ()
    left: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    unknown: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    faults: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    closed: bool = False

    @property
    def plan(self) -> Plan:
        """The plan that changed last, that of a run only where there is no other; else an empty one."""
        if self.plan_id is not None:
            return self.plans[self.plan_id]
        runs = tuple(self.plans.values())
        return runs[-1] if runs else Plan(plan_id=DEFAULT_PLAN_ID)

    @property
    def turn(self) -> TurnState | None:
        """The latest turn."""
        return self.turns[-1] if self.turns else None

    @property
    def pending(self) -> tuple[PermissionState, ...]:
        """Requests that wait for an answer, oldest first. Only the latest turn can have any."""
        turn = self.turn
        return tuple(p for p in turn.permissions if p.status == "pending") if turn else ()

    @property
    def usage(self) -> Usage:
        """What all turns took that have ended, however they ended."""
        return sum((turn.usage for turn in self.turns if turn.usage is not None), Usage())

    def option(self, category: str) -> ConfigOption | None:
        """The first option of a category (`mode`, `thought_level`, …)."""
        return next((option for option in self.config if option.category == category), None)


# -- what happens on the client side ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PermissionAsked:
    """A permission request has arrived."""

    request_id: str
    request: RequestPermission


@dataclass(frozen=True, slots=True)
class PermissionAnswered:
    """A permission request has its answer."""

    request_id: str
    outcome: Outcome
    status: str
    explanation: str


@dataclass(frozen=True, slots=True)
class PlanFileRead:
    """What the file of a `file` plan holds now."""

    plan_id: str
    file: PlanFile


@dataclass(frozen=True, slots=True)
class Closed:
    """The session has been closed."""


Event = Update | PermissionAsked | PermissionAnswered | PlanFileRead | Closed
