"""The state of a session and `reduce`, which folds one update into it. Pure: no I/O, no clock, no IPython.

Every value is frozen; an update makes new values only along the path that changed, so `old is new` tells a
view what it need not paint again. Unknown input is kept and counted, never dropped, never an exception.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from ..plan import DEFAULT_PLAN_ID, Author, Plan, PlanHistory
from ..protocol.content import Content
from ..protocol.messages import (
    FINAL_STATUSES,
    OMIT,
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommand,
    AvailableCommandsUpdate,
    ConfigOption,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    Fault,
    Notice,
    Outcome,
    PlanRemoved,
    PlanUpdate,
    RequestPermission,
    RulesUpdate,
    Selected,
    SessionInfoUpdate,
    Setter,
    StateUpdate,
    ToolCallContentChunk,
    ToolCallUpdate,
    UnknownUpdate,
    Update,
    Usage,
    UserMessage,
)
from ..protocol.rules import Rule

T = TypeVar("T")

#: So many kinds of unknown updates are counted apart, by the beginning of their names, and the rest as one.
KINDS = 100
KIND_LENGTH = 100
OTHER_KINDS = "…"


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
    content: tuple[Content, ...] = ()


@dataclass(frozen=True, slots=True)
class PermissionState:
    """A permission request: `pending`, then `allowed`, `denied` or `cancelled`, and a line that says why.

    `edited` are the arguments that a person has put in place of the request's.
    """

    request_id: str
    request: RequestPermission
    status: str = "pending"
    explanation: str = ""
    edited: Mapping[str, Any] | None = None
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
    version does not know, by kind, and `faults` what was wrong in the others (`Fault.kind`).
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
    unknown: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    faults: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
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

#: Events that change nothing but the items of the latest turn.
ItemEvent = AgentMessageChunk | AgentThoughtChunk | ToolCallUpdate | ToolCallContentChunk | Notice


# -- reduce ----------------------------------------------------------------------------------------------


def reduce(state: SessionState, event: Event, at: float = 0.0) -> SessionState:
    """The state after `event`, which arrived at `at` (seconds since the epoch)."""
    return fold(state, (event,), at)


def fold(state: SessionState, events: Sequence[Event], at: float = 0.0) -> SessionState:
    """The state after `events`, in order. Those that only touch the latest turn's items go together."""
    position = 0
    while position < len(events):
        start = position
        while position < len(events) and isinstance(events[position], ItemEvent):
            position += 1
        if position > start:
            state = _with_items(state, events[start:position], at)
        else:
            state = _reduce_one(state, events[position], at)
            position += 1
    return state


def _reduce_one(state: SessionState, event: Event, at: float) -> SessionState:
    match event:
        case PlanUpdate(plan, author, undoes):
            if (old := state.plans.get(plan.plan_id)) and (old.type, old.uri) != (plan.type, plan.uri):
                state = _without_file(state, plan.plan_id)
            history = _remembered(state, plan.plan_id, plan, author, at, undoes)
            # an equal plan is the same one, so that nobody has to look at it again
            plans = _with(state.plans, plan.plan_id, history[plan.plan_id].plan)
            return replace(state, plans=plans, history=history, plan_id=plan.plan_id)
        case PlanRemoved(plan_id, author):
            if plan_id not in state.plans:
                return state
            left = _without(state.plans, plan_id)
            current = state.plan_id if state.plan_id != plan_id else next(reversed([*left]), None)
            history = _remembered(state, plan_id, None, author, at)
            return replace(_without_file(state, plan_id), plans=left, history=history, plan_id=current)
        case PlanFileRead(plan_id, file):
            if plan_id not in state.plans or state.files.get(plan_id) == file:
                return state
            return replace(state, files=_with(state.files, plan_id, file))
        case ConfigOptionUpdate(options, author):
            return _with_options(state, options, author, at)
        case CurrentModeUpdate(mode_id):
            mode = state.option("mode")
            options = tuple(replace(o, current=mode_id) if o is mode else o for o in state.config)
            return _with_options(state, options, "agent", at)
        case AvailableCommandsUpdate(commands):
            return replace(state, commands=commands)
        case RulesUpdate(rules):
            return replace(state, rules=rules)
        case SessionInfoUpdate(model, scripted):
            return replace(state, model=model, scripted=scripted)
        case UserMessage(text):
            turn = TurnState(len(state.turns) + 1, text, started=at)
            return replace(state, turns=(*state.turns, turn), status="running")
        case StateUpdate("idle"):
            return _end_turn(state, event, at)
        case StateUpdate(status):
            return replace(state, status=status)
        case PermissionAsked():
            return replace(_with_items(state, (event,), at), status="requires_action")
        case PermissionAnswered():
            state = _with_items(state, (event,), at)
            return replace(state, status="running") if not state.pending and state.status != "idle" else state
        case Closed():
            return replace(state, closed=True, status="idle")
        case UnknownUpdate(kind):
            kind = kind[:KIND_LENGTH]
            if kind not in state.unknown and len(state.unknown) >= KINDS:
                kind = OTHER_KINDS
            return replace(state, unknown=_with(state.unknown, kind, state.unknown.get(kind, 0) + 1))
        case Fault(kind, _, more):
            return replace(state, faults=_with(state.faults, kind, state.faults.get(kind, 0) + more))
        case _:
            return state


def _with_options(
    state: SessionState, options: tuple[ConfigOption, ...], author: Setter, at: float
) -> SessionState:
    """The state with these options. What the agent has set by itself is said in its turn."""
    before = {option.id: option.current for option in state.config}
    state = replace(state, config=options)
    if author != "agent":
        return state
    notices = [
        Notice(f"The agent changed {option.name} to {option.current_name}.")
        for option in options
        if before.get(option.id, option.current) != option.current
    ]
    return _with_items(state, notices, at) if notices else state


def _remembered(
    state: SessionState, plan_id: str, plan: Plan | None, author: Author, at: float, undoes: int | None = None
) -> Mapping[str, PlanHistory]:
    """The histories with one more revision of a plan, None for its removal."""
    history = state.history.get(plan_id) or PlanHistory(Plan(plan_id=plan_id))
    turn = state.turns[-1].number if state.turns and state.status != "idle" else None
    return _with(state.history, plan_id, history.add(plan, author, at, turn, undoes))


def _with(mapping: Mapping[str, T], key: str, value: T) -> Mapping[str, T]:
    return MappingProxyType({**mapping, key: value})


def _without(mapping: Mapping[str, T], key: str) -> Mapping[str, T]:
    return MappingProxyType({name: value for name, value in mapping.items() if name != key})


def _without_file(state: SessionState, plan_id: str) -> SessionState:
    """The state without what the file of a plan held: the plan is gone, or kept elsewhere now."""
    return replace(state, files=_without(state.files, plan_id)) if plan_id in state.files else state


def _with_items(state: SessionState, events: Sequence[Event], at: float) -> SessionState:
    """Apply events to the latest turn's items: late ones belong to the turn before, never to the next."""
    items = _Items(state.turns[-1].items if state.turns else state.outside, at)
    for event in events:
        items.apply(event)
    if not state.turns:
        return replace(state, outside=tuple(items.items))
    if state.turns[-1].stop_reason is not None:  # nothing will come that could end a late thought
        items.end_thought()
    return replace(state, turns=(*state.turns[:-1], replace(state.turns[-1], items=tuple(items.items))))


_UNSEEN = ToolCallState("")


class _Items:
    """The items of a turn while a batch of events is applied to them."""

    def __init__(self, items: tuple[Item, ...], at: float) -> None:
        self.items = list(items)
        self._at = at
        self._calls: dict[str, int] | None = None

    def apply(self, event: Event) -> None:
        match event:
            case AgentMessageChunk(text):
                self.end_thought()
                if self.items and isinstance(last := self.items[-1], Message):
                    self.items[-1] = Message(last.text + text)
                else:
                    self.items.append(Message(text))
            case AgentThoughtChunk(text):
                if self.items and isinstance(last := self.items[-1], Thought) and last.ended is None:
                    self.items[-1] = replace(last, text=last.text + text)
                else:
                    self.items.append(Thought(text, self._at))
            case ToolCallUpdate():
                self._patch(event)
            case ToolCallContentChunk(tool_call_id, text):
                if found := self._find(tool_call_id):
                    position, call = found
                    self.items[position] = call._replace(printed=call.printed + text)
            case PermissionAsked(request_id, request):
                self.end_thought()
                self.items.append(PermissionState(request_id, request, asked=self._at))
            case PermissionAnswered():
                self._answer(event)
            case Notice():
                self.end_thought()
                self.items.append(event)
            case _:
                pass

    def end_thought(self) -> None:
        if self.items and isinstance(last := self.items[-1], Thought) and last.ended is None:
            self.items[-1] = replace(last, ended=self._at)

    def _find(self, tool_call_id: str) -> tuple[int, ToolCallState] | None:
        if self._calls is None:
            self._calls = {
                c.tool_call_id: n for n, c in enumerate(self.items) if isinstance(c, ToolCallState)
            }
        position = self._calls.get(tool_call_id)
        if position is None:
            return None
        call = self.items[position]
        assert isinstance(call, ToolCallState)
        return position, call

    def _patch(self, update: ToolCallUpdate) -> None:
        if found := self._find(update.tool_call_id):
            position, old = found
            started = old.started
        else:
            self.end_thought()
            position, old = len(self.items), _UNSEEN
            started = self._at
            self.items.append(old)
            assert self._calls is not None
            self._calls[update.tool_call_id] = position
        status = old.status if update.status is OMIT else update.status
        ended = old.ended
        if update.started is not OMIT:
            started = update.started
        elif status == "in_progress" and old.status in ("pending", "paused"):
            started = self._at
        if status not in FINAL_STATUSES:
            ended = None
        elif ended is None:
            ended = self._at if update.ended is OMIT else update.ended
        self.items[position] = ToolCallState(
            tool_call_id=update.tool_call_id,
            name=old.name if update.name is OMIT else update.name or "",
            title=old.title if update.title is OMIT else update.title,
            kind=old.kind if update.kind is OMIT else update.kind,
            status=status,
            raw_input=old.raw_input if update.raw_input is OMIT else update.raw_input,
            raw_output=old.raw_output if update.raw_output is OMIT else update.raw_output,
            printed=old.printed,
            reason=old.reason if update.reason is OMIT else update.reason,
            started=started,
            ended=ended,
            content=old.content if update.content is OMIT else update.content,
        )

    def _answer(self, event: PermissionAnswered) -> None:
        for position, item in enumerate(self.items):
            if isinstance(item, PermissionState) and item.request_id == event.request_id:
                self.items[position] = replace(
                    item,
                    status=event.status,
                    explanation=event.explanation,
                    edited=event.outcome.arguments if isinstance(event.outcome, Selected) else None,
                    answered=self._at,
                )
                return


def _end_turn(state: SessionState, event: StateUpdate, at: float) -> SessionState:
    state = replace(state, status="idle")
    turn = state.turn
    if turn is None or turn.stop_reason is not None:
        return state
    items = turn.items
    if items and isinstance(last := items[-1], Thought) and last.ended is None:
        items = (*items[:-1], replace(last, ended=at))
    ended = replace(
        turn,
        items=items,
        stop_reason=event.stop_reason or "end_turn",
        error=event.error,
        usage=event.usage,
        ended=at,
    )
    return replace(state, turns=(*state.turns[:-1], ended))
