"""The state of a session and `reduce`, which folds one update into it. Pure: no I/O, no clock, no IPython.

Every value is frozen; an update makes new values only along the path that changed, so `old is new` tells a view
what it need not paint again. Unknown input is kept and counted, never dropped, never an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

from ..plan import DEFAULT_PLAN_ID, Plan
from ..protocol.messages import (
    FINAL_STATUSES,
    OMIT,
    AgentMessageChunk,
    AgentThoughtChunk,
    ConfigOption,
    ConfigOptionUpdate,
    Notice,
    Omit,
    Outcome,
    PlanRemoved,
    PlanUpdate,
    RequestPermission,
    StateUpdate,
    ToolCallContentChunk,
    ToolCallUpdate,
    UnknownUpdate,
    Update,
    Usage,
    UserMessage,
)

T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class ToolCallState:
    """A tool call as the person sees it. Times in seconds since the epoch; `printed` is what it printed."""

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


@dataclass(frozen=True, slots=True)
class PermissionState:
    """A permission request: `pending`, then `allowed`, `denied` or `cancelled` with a line that says by whom."""

    request_id: str
    request: RequestPermission
    status: str = "pending"
    explanation: str = ""
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
        """The answer: all messages of the turn."""
        return "".join(item.text for item in self.items if isinstance(item, Message))

    @property
    def thoughts(self) -> str:
        """All thoughts of the turn."""
        return "".join(item.text for item in self.items if isinstance(item, Thought))

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
class SessionState:
    """Everything a view needs. `status` is `idle`, `running` or `requires_action`.

    `plans` and `revisions` are read-only mappings by plan id, in order of arrival; `unknown` counts the updates
    that this version does not know, by kind.
    """

    name: str
    agent: str
    model: str
    scripted: bool = False
    status: str = "idle"
    plans: Mapping[str, Plan] = field(default_factory=lambda: MappingProxyType({}))
    revisions: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    plan_id: str | None = None
    turns: tuple[TurnState, ...] = ()
    config: tuple[ConfigOption, ...] = ()
    outside: tuple[Item, ...] = ()
    unknown: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    closed: bool = False

    @property
    def plan(self) -> Plan:
        """The plan that changed last; an empty one when there is none."""
        return self.plans[self.plan_id] if self.plan_id is not None else Plan(plan_id=DEFAULT_PLAN_ID)

    @property
    def turn(self) -> TurnState | None:
        """The latest turn."""
        return self.turns[-1] if self.turns else None

    @property
    def pending(self) -> tuple[PermissionState, ...]:
        """Requests that wait for an answer, oldest first. Only the latest turn can have any."""
        turn = self.turn
        return tuple(p for p in turn.permissions if p.status == "pending") if turn else ()

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
class Closed:
    """The session has been closed."""


Event = Update | PermissionAsked | PermissionAnswered | Closed


# -- reduce ----------------------------------------------------------------------------------------------


def reduce(state: SessionState, event: Event, at: float = 0.0) -> SessionState:
    """The state after `event`, which arrived at `at` (seconds since the epoch)."""
    match event:
        case AgentMessageChunk(text):
            return _in_turn(state, lambda items: _append_message(items, text, at))
        case AgentThoughtChunk(text):
            return _in_turn(state, lambda items: _append_thought(items, text, at))
        case ToolCallUpdate():
            return _in_turn(state, lambda items: _patch_tool_call(items, event, at))
        case ToolCallContentChunk(tool_call_id, text):
            return _in_turn(state, lambda items: _append_printed(items, tool_call_id, text))
        case PlanUpdate(plan):
            return replace(
                state,
                plans=_with(state.plans, plan.plan_id, plan),
                revisions=_with(state.revisions, plan.plan_id, state.revisions.get(plan.plan_id, 0) + 1),
                plan_id=plan.plan_id,
            )
        case PlanRemoved(plan_id):
            if plan_id not in state.plans:
                return state
            left = {key: plan for key, plan in state.plans.items() if key != plan_id}
            current = state.plan_id if state.plan_id != plan_id else next(reversed(left), None)
            return replace(state, plans=MappingProxyType(left), plan_id=current)
        case ConfigOptionUpdate(options):
            return replace(state, config=options)
        case UserMessage(text):
            turn = TurnState(len(state.turns) + 1, text, started=at)
            return replace(state, turns=(*state.turns, turn), status="running")
        case StateUpdate("idle"):
            return _end_turn(state, event, at)
        case StateUpdate(status):
            return replace(state, status=status)
        case PermissionAsked(request_id, request):
            asked = PermissionState(request_id, request, asked=at)
            return replace(_in_turn(state, lambda items: (*items, asked)), status="requires_action")
        case PermissionAnswered():
            state = _in_turn(state, lambda items: _answer(items, event, at))
            return replace(state, status="running") if not state.pending and state.status != "idle" else state
        case Notice():
            return _in_turn(state, lambda items: (*items, event))
        case Closed():
            return replace(state, closed=True, status="idle")
        case UnknownUpdate(kind):
            return replace(state, unknown=_with(state.unknown, kind, state.unknown.get(kind, 0) + 1))


def _with(mapping: Mapping[str, T], key: str, value: T) -> Mapping[str, T]:
    return MappingProxyType({**mapping, key: value})


def _in_turn(state: SessionState, change: Any) -> SessionState:
    """Change the items of the latest turn: late updates belong to the turn they come after, never to the next."""
    if not state.turns:
        return replace(state, outside=change(state.outside))
    turn = state.turns[-1]
    return replace(state, turns=(*state.turns[:-1], replace(turn, items=change(turn.items))))


def _append_message(items: tuple[Item, ...], text: str, at: float) -> tuple[Item, ...]:
    items = _end_thought(items, at)
    if items and isinstance(last := items[-1], Message):
        return (*items[:-1], Message(last.text + text))
    return (*items, Message(text))


def _append_thought(items: tuple[Item, ...], text: str, at: float) -> tuple[Item, ...]:
    if items and isinstance(last := items[-1], Thought) and last.ended is None:
        return (*items[:-1], replace(last, text=last.text + text))
    return (*items, Thought(text, at))


def _end_thought(items: tuple[Item, ...], at: float) -> tuple[Item, ...]:
    if items and isinstance(last := items[-1], Thought) and last.ended is None:
        return (*items[:-1], replace(last, ended=at))
    return items


def _find(items: tuple[Item, ...], tool_call_id: str) -> int | None:
    """From the end: the calls that change are the latest ones."""
    for position in range(len(items) - 1, -1, -1):
        item = items[position]
        if isinstance(item, ToolCallState) and item.tool_call_id == tool_call_id:
            return position
    return None


def _put(items: tuple[Item, ...], position: int, item: Item) -> tuple[Item, ...]:
    return (*items[:position], item, *items[position + 1 :])


def _patched(value: T | Omit, old: T) -> T:
    return old if isinstance(value, Omit) else value


def _patch_tool_call(items: tuple[Item, ...], update: ToolCallUpdate, at: float) -> tuple[Item, ...]:
    position = _find(items, update.tool_call_id)
    if position is None:
        items = _end_thought(items, at)
        old = ToolCallState(update.tool_call_id, started=at)
    else:
        old = items[position]
        assert isinstance(old, ToolCallState)
    status = _patched(update.status, old.status)
    ended = old.ended
    if status in FINAL_STATUSES:
        ended = old.ended if old.ended is not None else at
    started = at if old.status in ("pending", "paused") and status == "in_progress" else old.started
    call = ToolCallState(
        tool_call_id=old.tool_call_id,
        name=_patched(update.name, old.name) or "",
        title=_patched(update.title, old.title),
        kind=_patched(update.kind, old.kind),
        status=status,
        raw_input=old.raw_input if update.raw_input is OMIT else update.raw_input,
        raw_output=old.raw_output if update.raw_output is OMIT else update.raw_output,
        printed=old.printed,
        reason=_patched(update.reason, old.reason),
        started=started,
        ended=ended,
    )
    return (*items, call) if position is None else _put(items, position, call)


def _append_printed(items: tuple[Item, ...], tool_call_id: str, text: str) -> tuple[Item, ...]:
    position = _find(items, tool_call_id)
    if position is None:
        return items
    call = items[position]
    assert isinstance(call, ToolCallState)
    return _put(items, position, replace(call, printed=call.printed + text))


def _answer(items: tuple[Item, ...], event: PermissionAnswered, at: float) -> tuple[Item, ...]:
    for position in range(len(items) - 1, -1, -1):
        item = items[position]
        if isinstance(item, PermissionState) and item.request_id == event.request_id:
            answered = replace(item, status=event.status, explanation=event.explanation, answered=at)
            return _put(items, position, answered)
    return items


def _end_turn(state: SessionState, event: StateUpdate, at: float) -> SessionState:
    state = replace(state, status="idle")
    turn = state.turn
    if turn is None or turn.stop_reason is not None:
        return state
    ended = replace(
        turn,
        items=_end_thought(turn.items, at),
        stop_reason=event.stop_reason or "end_turn",
        error=event.error,
        usage=event.usage,
        ended=at,
    )
    return replace(state, turns=(*state.turns[:-1], ended))
