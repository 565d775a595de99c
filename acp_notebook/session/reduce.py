"""What events make of a session's state. Pure: no I/O, no clock, no IPython.

An event makes new values only along the path that changed, so `old is new` tells a view what it need not
paint again. Unknown input is kept and counted, never dropped, never an exception.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from ..plan import Author, Plan, PlanHistory
from ..plan.runs import run_of
from ..protocol.messages import (
    FINAL_STATUSES,
    OMIT,
    RUNNING_ON,
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOption,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    Fault,
    Notice,
    PlanRemoved,
    PlanUpdate,
    RulesUpdate,
    Selected,
    SessionInfoUpdate,
    Setter,
    StateUpdate,
    ToolCallContentChunk,
    ToolCallUpdate,
    UnknownUpdate,
    UserMessage,
)
from .state import (
    Closed,
    Event,
    Item,
    Message,
    PermissionAnswered,
    PermissionAsked,
    PermissionState,
    PlanFileRead,
    SessionState,
    Thought,
    ToolCallState,
    TurnState,
)

T = TypeVar("T")

#: So many kinds of unknown updates are counted apart, by the beginning of their names, and the rest as one.
KINDS = 100
KIND_LENGTH = 100
OTHER_KINDS = "…"

#: Events that change nothing but the items of the latest turn.
ItemEvent = AgentMessageChunk | AgentThoughtChunk | ToolCallUpdate | ToolCallContentChunk | Notice


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
            current = plan.plan_id if run_of(plan) is None else state.plan_id
            return replace(state, plans=plans, history=history, plan_id=current)
        case PlanRemoved(plan_id, author):
            if plan_id not in state.plans:
                return state
            left = _without(state.plans, plan_id)
            own = [other for other, plan in left.items() if run_of(plan) is None]
            current = state.plan_id if state.plan_id != plan_id else next(reversed(own), None)
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
    if not state.turns:
        items = _Items(state.outside, at)
        items.apply_all(events)
        return replace(state, outside=tuple(items.items))
    latest = state.turns[-1].number
    if state.left:
        here = list[Event]()
        for event in events:
            if (number := _left_in(state, event)) in (None, latest):
                here.append(event)
            else:
                state = _in_turn(state, number, (event,), at)
        events = here
    return _in_turn(state, latest, events, at) if events else state


def _left_in(state: SessionState, event: Event) -> int | None:
    """The number of the turn that an event belongs to because a call was left running there."""
    match event:
        case ToolCallUpdate(tool_call_id=tool_call_id, left=str()):
            return state.left.get(tool_call_id)
        case ToolCallContentChunk(tool_call_id):
            same = any(call.tool_call_id == tool_call_id for call in state.turns[-1].tool_calls)
            return None if same else state.left.get(tool_call_id)
        case _:
            return None


def _in_turn(state: SessionState, number: int, events: Sequence[Event], at: float) -> SessionState:
    turn = state.turns[number - 1]
    items = _Items(turn.items, at)
    items.apply_all(events)
    if turn.stop_reason is not None:  # nothing will come that could end a late thought
        items.end_thought()
    turns = list(state.turns)
    turns[number - 1] = replace(turn, items=tuple(items.items))
    left = state.left
    for tool_call_id, running in items.left.items():
        left = _with(left, tool_call_id, number) if running else _without(left, tool_call_id)
    return replace(state, turns=tuple(turns), left=left)


_UNSEEN = ToolCallState("")


class _Items:
    """The items of a turn while a batch of events is applied to them."""

    def __init__(self, items: tuple[Item, ...], at: float) -> None:
        self.items = list(items)
        self._at = at
        self._calls: dict[str, int] | None = None
        #: Calls that have been said to be left, or to be so no longer, in these events.
        self.left: dict[str, bool] = {}

    def apply_all(self, events: Sequence[Event]) -> None:
        for event in events:
            self.apply(event)

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
        if update.left is not OMIT:
            self.left[update.tool_call_id] = update.left == RUNNING_ON
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
            left=old.left if update.left is OMIT else update.left,
        )

    def _answer(self, event: PermissionAnswered) -> None:
        for position, item in enumerate(self.items):
            if isinstance(item, PermissionState) and item.request_id == event.request_id:
                outcome = event.outcome
                item = replace(item, status=event.status, explanation=event.explanation, answered=self._at)
                if isinstance(outcome, Selected):
                    chosen = (o.kind for o in item.request.options if o.option_id == outcome.option_id)
                    item = replace(
                        item,
                        edited=outcome.arguments,
                        said=outcome.reason or outcome.note,
                        always=next(chosen, "").endswith("_always"),
                    )
                self.items[position] = item
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
