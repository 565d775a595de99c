"""`reduce`: what each update does to the state, and what it leaves alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.plan import DEFAULT_PLAN_ID, Plan, PlanEntry
from acp_notebook.protocol.messages import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Cancelled,
    ConfigOption,
    ConfigOptionUpdate,
    Notice,
    PermissionOption,
    PlanRemoved,
    PlanUpdate,
    RequestPermission,
    Selected,
    StateUpdate,
    ToolCall,
    ToolCallContentChunk,
    ToolCallUpdate,
    UnknownUpdate,
    Usage,
    UserMessage,
)
from acp_notebook.session.reduce import fold, reduce
from acp_notebook.session.state import (
    Closed,
    Event,
    Message,
    PermissionAnswered,
    PermissionAsked,
    SessionState,
    Thought,
    ToolCallState,
)

START = SessionState("s", "agent", "model")
ASK = RequestPermission(ToolCall("c", "run", {}), (PermissionOption("yes", "Yes", "allow_once"),), "Run?")


def after(*events: Event, state: SessionState = START) -> SessionState:
    """The state after events that arrive at 1, 2, 3, … seconds."""
    for at, event in enumerate(events, 1):
        state = reduce(state, event, at)
    return state


def plan(*contents: str, plan_id: str = DEFAULT_PLAN_ID, status: str = "pending") -> Plan:
    return Plan(tuple(PlanEntry(content, status=status) for content in contents), plan_id)


def answered(request_id: str, status: str = "allowed") -> PermissionAnswered:
    return PermissionAnswered(request_id, Selected("yes"), status, f"{status} by you")


# -- turns -----------------------------------------------------------------------------------------------


def test_a_new_session_has_nothing() -> None:
    assert (START.status, START.turn, START.pending, len(START.plan)) == ("idle", None, (), 0)
    assert START.plan.plan_id == DEFAULT_PLAN_ID


def test_a_turn_from_prompt_to_end() -> None:
    usage = Usage(10, 5, 1)
    state = after(UserMessage("hi", "m1"), StateUpdate("running"), StateUpdate("idle", "end_turn", usage))
    assert state.status == "idle"
    turn = state.turns[0]
    assert (turn.number, turn.prompt, turn.stop_reason, turn.usage) == (1, "hi", "end_turn", usage)
    assert (turn.started, turn.ended) == (1, 3)


def test_a_turn_that_failed_says_why() -> None:
    turn = after(UserMessage("hi", "m1"), StateUpdate("idle", "error", error="no route")).turns[0]
    assert (turn.stop_reason, turn.error) == ("error", "no route")


def test_idle_ends_a_turn_once_and_none_when_there_is_none() -> None:
    state = after(UserMessage("hi", "m1"), StateUpdate("idle", "cancelled"), StateUpdate("idle", "end_turn"))
    assert (state.turns[0].stop_reason, state.turns[0].ended) == ("cancelled", 2)
    assert after(StateUpdate("idle")).turns == ()
    assert after(UserMessage("hi", "m1"), StateUpdate("idle")).turns[0].stop_reason == "end_turn"


def test_messages_and_thoughts_are_stretches_in_order() -> None:
    turn = after(
        UserMessage("hi", "m1"),
        AgentThoughtChunk("let "),
        AgentThoughtChunk("me see"),
        AgentMessageChunk("Hel"),
        AgentMessageChunk("lo"),
        AgentThoughtChunk("more"),
        ToolCallUpdate("c", name="run"),
        AgentMessageChunk(" there"),
        StateUpdate("idle"),
    ).turns[0]
    assert [type(item) for item in turn.items] == [Thought, Message, Thought, ToolCallState, Message]
    assert (turn.text, turn.thoughts) == ("Hello\n\nthere", "let me see\n\nmore")


@pytest.mark.parametrize(
    "event",
    [
        AgentMessageChunk("a"),
        ToolCallUpdate("c"),
        PermissionAsked("r", ASK),
        Notice("n"),
        StateUpdate("idle", "cancelled"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_thought_ends_when_something_else_begins(event: Event) -> None:
    thinking = after(UserMessage("hi", "m1"), AgentThoughtChunk("hm"), AgentThoughtChunk("…"))
    assert thinking.turns[0].items == (Thought("hm…", started=2),)
    state = reduce(thinking, event, 7)
    assert state.turns[0].items[0] == Thought("hm…", started=2, ended=7)
    assert reduce(state, AgentMessageChunk("later"), 9).turns[0].items[0] == Thought(
        "hm…", started=2, ended=7
    )


@pytest.mark.parametrize(
    "event",
    [
        PlanUpdate(plan("a")),
        ConfigOptionUpdate(()),
        UnknownUpdate("x"),
        StateUpdate("running"),
        ToolCallContentChunk("?", "x"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_thought_goes_on_through_what_is_not_part_of_the_answer(event: Event) -> None:
    state = after(UserMessage("hi", "m1"), AgentThoughtChunk("hm"), event, AgentThoughtChunk("…"))
    assert state.turns[0].items == (Thought("hm…", started=2),)


def test_notices_and_text_before_the_first_turn_are_kept_outside_of_turns() -> None:
    state = after(
        Notice("Welcome"), AgentMessageChunk("early"), UserMessage("hi", "m1"), AgentMessageChunk("answer")
    )
    assert state.outside == (Notice("Welcome"), Message("early"))
    assert state.turns[0].text == "answer"


def test_plan_08_update_after_turn_end() -> None:
    state = after(
        UserMessage("one", "m1"),
        AgentMessageChunk("answer "),
        ToolCallUpdate("c", name="run", status="in_progress"),
        StateUpdate("idle", "end_turn"),
        PlanUpdate(plan("Late tick", status="completed")),
        AgentMessageChunk("late words"),
        AgentThoughtChunk("late thought"),
        ToolCallUpdate("c", status="completed"),
        Notice("late notice"),
        UserMessage("two", "m2"),
        AgentMessageChunk("second"),
    )
    assert state.plan == plan("Late tick", status="completed")
    first, second = state.turns
    assert (first.text, first.thoughts, first.stop_reason, first.ended) == (
        "answer\n\nlate words",
        "late thought",
        "end_turn",
        4,
    )
    assert first.tool_calls[0].status == "completed"
    assert first.items[-1] == Notice("late notice")
    assert all(item.ended is not None for item in first.items if isinstance(item, Thought))
    assert (second.text, second.items) == ("second", (Message("second"),))


def test_plan_08_a_late_thought_does_not_go_on_for_ever() -> None:
    state = after(UserMessage("one", "m1"), StateUpdate("idle"), AgentThoughtChunk("late"))
    assert state.turns[0].items == (Thought("late", started=3, ended=3),)


# -- tool calls ------------------------------------------------------------------------------------------


def test_a_tool_call_is_created_by_its_first_update_and_patched_by_the_others() -> None:
    state = after(
        UserMessage("hi", "m1"),
        ToolCallUpdate("c", name="run", title="Run", kind="execute", status="pending", raw_input={"x": 1}),
        ToolCallUpdate("d", name="other"),
        ToolCallUpdate("c", status="in_progress"),
        ToolCallContentChunk("c", "line 1\n"),
        ToolCallContentChunk("c", "line 2\n"),
        ToolCallUpdate("c", status="completed", raw_output=[1], reason="allowed by you"),
    )
    first, second = state.turns[0].tool_calls
    assert first == ToolCallState(
        "c",
        "run",
        "Run",
        "execute",
        "completed",
        {"x": 1},
        [1],
        "line 1\nline 2\n",
        "allowed by you",
        started=4,
        ended=7,
    )
    assert second == ToolCallState("d", "other", started=3)


FULL = ToolCallUpdate("c", "run", "Run", "execute", "in_progress", {"x": 1}, "out", "reason")


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("name", None, ""),
        ("name", "n", "n"),
        ("title", None, None),
        ("kind", None, None),
        ("raw_input", None, None),
        ("raw_input", {}, {}),
        ("raw_output", None, None),
        ("raw_output", 0, 0),
        ("reason", None, None),
        ("status", "paused", "paused"),
    ],
)
def test_none_clears_a_field_and_what_is_left_out_stays(field: str, value: Any, expected: Any) -> None:
    call = after(UserMessage("hi", "m1"), FULL).turns[0].tool_calls[0]
    changes: dict[str, Any] = {field: value}
    changed = after(UserMessage("hi", "m1"), FULL, ToolCallUpdate("c", **changes)).turns[0].tool_calls[0]
    for name in (
        "name",
        "title",
        "kind",
        "status",
        "raw_input",
        "raw_output",
        "reason",
        "printed",
        "started",
    ):
        assert getattr(changed, name) == (expected if name == field else getattr(call, name)), name
    assert after(UserMessage("hi", "m1"), FULL, ToolCallUpdate("c")).turns[0].tool_calls[0] == call


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_a_call_has_ended_when_its_status_says_so(status: str) -> None:
    call = after(
        UserMessage("hi", "m1"),
        ToolCallUpdate("c"),
        ToolCallUpdate("c", status=status),
        ToolCallUpdate("c", reason="r"),
    )
    assert (call.turns[0].tool_calls[0].ended, call.turns[0].tool_calls[0].reason) == (3, "r")


def test_a_call_that_had_to_wait_for_approval_starts_when_it_may() -> None:
    steps = [
        ToolCallUpdate("c", status=status) for status in ("pending", "paused", "in_progress", "completed")
    ]
    call = after(UserMessage("hi", "m1"), *steps).turns[0].tool_calls[0]
    assert (call.started, call.ended) == (4, 5)


def test_times_that_the_agent_gives_count_rather_than_those_of_arrival() -> None:
    call = after(
        UserMessage("hi", "m1"),
        ToolCallUpdate("c", status="in_progress", started=0.5),
        ToolCallUpdate("c", status="completed", ended=0.75),
    )
    assert (call.turns[0].tool_calls[0].started, call.turns[0].tool_calls[0].ended) == (0.5, 0.75)


def test_what_an_unknown_call_prints_makes_no_call() -> None:
    assert after(UserMessage("hi", "m1"), ToolCallContentChunk("c", "x")).turns[0].items == ()


def test_a_call_id_may_come_again_in_another_turn() -> None:
    turn = (UserMessage("hi", "m"), ToolCallUpdate("c", status="completed"), StateUpdate("idle"))
    state = after(*turn, UserMessage("again", "m"), ToolCallUpdate("c", status="in_progress"))
    assert [t.tool_calls[0].status for t in state.turns] == ["completed", "in_progress"]


# -- permissions -----------------------------------------------------------------------------------------


def test_a_permission_request_from_question_to_answer() -> None:
    asked = after(UserMessage("hi", "m1"), PermissionAsked("r", ASK))
    assert asked.status == "requires_action"
    assert [(p.request_id, p.status, p.asked, p.answered) for p in asked.pending] == [
        ("r", "pending", 2, None)
    ]
    state = reduce(asked, answered("r"), 5)
    assert (state.status, state.pending) == ("running", ())
    permission = state.turns[0].permissions[0]
    assert (permission.status, permission.explanation, permission.answered) == (
        "allowed",
        "allowed by you",
        5,
    )
    assert permission.request is ASK


def test_the_session_waits_until_the_last_request_has_its_answer() -> None:
    asked = after(UserMessage("hi", "m1"), PermissionAsked("a", ASK), PermissionAsked("b", ASK))
    one = after(answered("b", "denied"), state=asked)
    assert (one.status, [p.request_id for p in one.pending]) == ("requires_action", ["a"])
    assert after(answered("a"), state=one).status == "running"


def test_requests_that_a_cancelled_turn_takes_along_leave_the_session_idle() -> None:
    state = after(
        UserMessage("hi", "m1"),
        PermissionAsked("a", ASK),
        StateUpdate("idle", "cancelled"),
        PermissionAnswered("a", Cancelled("turn cancelled"), "cancelled", "the turn was cancelled"),
    )
    assert (state.status, state.pending) == ("idle", ())
    assert state.turns[0].permissions[0].status == "cancelled"


def test_an_answer_to_a_request_that_is_not_there_changes_nothing() -> None:
    state = after(UserMessage("hi", "m1"), PermissionAsked("a", ASK))
    assert reduce(state, answered("?"), 9) == state


@pytest.mark.parametrize(
    ("spans", "waited"),
    [
        ([], 0),
        ([(1, 4)], 3),
        ([(1, 4), (6, 7)], 4),
        ([(1, 4), (2, 3)], 3),  # one inside the other
        ([(1, 4), (2, 6)], 5),  # overlapping
        ([(1, 5), (2, 3), (4, 9)], 8),
        ([(1, None)], 0),
        ([(1, None), (2, 5)], 3),
    ],
)
def test_seconds_waited_for_a_person_count_once(spans: list[tuple[int, int | None]], waited: int) -> None:
    moments: list[tuple[int, Event]] = []
    for n, (start, end) in enumerate(spans):
        moments.append((start, PermissionAsked(str(n), ASK)))
        if end is not None:
            moments.append((end, answered(str(n))))
    state = after(UserMessage("hi", "m1"))
    for at, event in sorted(moments, key=lambda moment: moment[0]):
        state = reduce(state, event, at)
    assert state.turns[0].waited == waited


# -- plans -----------------------------------------------------------------------------------------------


def test_a_plan_update_replaces_the_whole_plan() -> None:
    state = after(PlanUpdate(plan("a", "b")), PlanUpdate(plan("c")))
    assert state.plan == plan("c") and len(state.history[DEFAULT_PLAN_ID]) == 2
    empty = after(PlanUpdate(Plan()), state=state)
    assert (
        empty.plan == Plan()
        and empty.plans == {DEFAULT_PLAN_ID: Plan()}
        and len(empty.history[DEFAULT_PLAN_ID]) == 3
    )


def test_entries_that_come_again_as_they_were_are_the_same_objects() -> None:
    state = after(PlanUpdate(plan("a", "b", "c")))
    new = after(PlanUpdate(plan("a", "B", "new", "c")), state=state)
    assert [entry.content for entry in new.plan] == ["a", "B", "new", "c"]
    assert new.plan[0] is state.plan[0] and new.plan[3] is state.plan[2]
    assert after(PlanUpdate(plan("a", "B", "new", "c")), state=new).plan is new.plan


def test_plan_11_plan_operations() -> None:
    one, two = plan("One", plan_id="p1"), Plan(plan_id="p2", type="markdown", content="# Notes\n- [ ] two")
    odd = Plan(plan_id="p3", type="hologram", raw={"depth": 3})
    state = after(PlanUpdate(one), PlanUpdate(two))
    assert (list(state.plans), state.plan) == (["p1", "p2"], two)
    changed = after(PlanUpdate(plan("Two", plan_id="p1")), state=state)
    assert (list(changed.plans), changed.plan, changed.plans["p2"]) == (
        ["p1", "p2"],
        plan("Two", plan_id="p1"),
        two,
    )
    state = after(PlanRemoved("p1"), state=state)
    assert (list(state.plans), state.plan) == (["p2"], two)
    assert after(PlanRemoved("nope"), state=state) is state
    state = after(PlanUpdate(odd), state=state)
    assert state.plans == {"p2": two, "p3": odd}


def test_when_the_current_plan_goes_the_latest_that_is_left_is_current() -> None:
    state = after(*(PlanUpdate(plan(name, plan_id=name)) for name in "abc"), PlanRemoved("c"))
    assert state.plan_id == "b"
    state = after(PlanRemoved("a"), state=state)
    assert state.plan_id == "b"
    state = after(PlanRemoved("b"), state=state)
    assert (state.plan_id, state.plan) == (None, Plan())
    first_again = (PlanUpdate(plan(name, plan_id=name)) for name in "abca")
    assert after(*first_again, PlanRemoved("b")).plan_id == "a"


def test_a_plan_that_was_removed_and_comes_again_counts_on() -> None:
    state = after(PlanUpdate(plan("a")), PlanRemoved(DEFAULT_PLAN_ID), PlanUpdate(plan("b")))
    assert [revision.removed for revision in state.history[DEFAULT_PLAN_ID]] == [False, True, False]


@pytest.mark.parametrize("reason", ["end_turn", "cancelled", "error"])
def test_plan_07_stale_step_when_turn_ends(reason: str) -> None:
    steps = Plan((PlanEntry("1", status="completed"), PlanEntry("2", status="in_progress"), PlanEntry("3")))
    state = after(UserMessage("hi", "m1"), PlanUpdate(steps), StateUpdate("idle", reason))
    assert state.plan == steps
    assert state.status == "idle"


# -- the rest --------------------------------------------------------------------------------------------


def test_options_are_replaced_as_a_whole() -> None:
    mode = ConfigOption("mode", "Mode", "mode", "ask")
    level = ConfigOption("effort", "Effort", "thought_level", "high")
    state = after(ConfigOptionUpdate((mode,)), ConfigOptionUpdate((level, mode)))
    assert state.config == (level, mode)
    assert (state.option("mode"), state.option("thought_level"), state.option("model")) == (mode, level, None)


def test_updates_that_are_not_known_are_counted_by_kind() -> None:
    state = after(
        UserMessage("hi", "m1"), UnknownUpdate("a", {"x": 1}), UnknownUpdate("b"), UnknownUpdate("a")
    )
    assert state.unknown == {"a": 2, "b": 1}
    assert state.turns[0].items == ()


def test_a_closed_session_is_idle() -> None:
    state = after(UserMessage("hi", "m1"), Closed())
    assert (state.closed, state.status) == (True, "idle")


EVENTS: list[Event] = [
    AgentMessageChunk("a"),
    AgentMessageChunk("b"),
    AgentThoughtChunk("t"),
    ToolCallUpdate("c", name="run"),
    ToolCallUpdate("c", status="in_progress"),
    ToolCallUpdate("c", status="completed", raw_output=1),
    ToolCallUpdate("d", title="T"),
    ToolCallContentChunk("c", "x"),
    ToolCallContentChunk("?", "x"),
    PlanUpdate(plan("a")),
    PlanUpdate(plan("b", plan_id="q")),
    PlanUpdate(Plan()),
    PlanRemoved("q"),
    PlanRemoved("?"),
    ConfigOptionUpdate((ConfigOption("mode", "Mode", "mode", "ask"),)),
    UserMessage("hi", "m1"),
    StateUpdate("running"),
    StateUpdate("idle", "end_turn"),
    StateUpdate("_odd"),
    Notice("n"),
    UnknownUpdate("x"),
    PermissionAsked("r", ASK),
    answered("r"),
    answered("?"),
    Closed(),
]


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_what_an_update_does_not_change_stays_the_same_object(event: Event) -> None:
    old = after(
        UserMessage("one", "m1"),
        AgentMessageChunk("answer"),
        StateUpdate("idle"),
        PlanUpdate(plan("a", plan_id="p")),
        PlanUpdate(plan("b", plan_id="q")),
        ConfigOptionUpdate(()),
        UserMessage("two", "m2"),
        ToolCallUpdate("c", name="run"),
        AgentMessageChunk("text"),
        ToolCallUpdate("d", name="other"),
        PermissionAsked("r", ASK),
        Notice("last"),
    )
    new = reduce(old, event, 99)
    assert new.turns[0] is old.turns[0]
    touched = {"c": 0, "d": 2, "r": 3}
    name = getattr(event, "tool_call_id", getattr(event, "request_id", None))
    for position, item in enumerate(old.turns[1].items):
        if touched.get(str(name)) != position or isinstance(event, PermissionAsked):
            assert new.turns[1].items[position] is item
    for plan_id in old.plans.keys() & new.plans.keys():
        assert new.plans[plan_id] is old.plans[plan_id] or isinstance(event, PlanUpdate)
    if not isinstance(event, PlanUpdate | PlanRemoved):
        assert new.plans is old.plans and new.history is old.history
    if not isinstance(event, ConfigOptionUpdate):
        assert new.config is old.config
    if not isinstance(event, UnknownUpdate):
        assert new.unknown is old.unknown


def test_mappings_of_a_state_cannot_be_changed() -> None:
    state = after(PlanUpdate(plan("a")), UnknownUpdate("x"), PlanRemoved("?"))
    for mapping in (
        START.plans,
        state.plans,
        state.history,
        state.unknown,
        after(PlanRemoved(DEFAULT_PLAN_ID), state=state).plans,
    ):
        assert isinstance(mapping, MappingProxyType)


@given(st.lists(st.sampled_from(EVENTS), max_size=30), st.randoms(use_true_random=False))
@settings(deadline=None, database=None)
def test_updates_in_batches_do_what_they_do_one_by_one(
    events: Sequence[Event], random: random.Random
) -> None:
    one_by_one = START
    for event in events:
        one_by_one = reduce(one_by_one, event, 1.0)
    batched, rest = START, list(events)
    while rest:
        size = random.randint(1, 8)
        batched, rest = fold(batched, rest[:size], 1.0), rest[size:]
    assert batched == one_by_one
    assert len(batched.turns) == sum(isinstance(event, UserMessage) for event in events)
    assert batched.plan_id is None or batched.plan_id in batched.plans
    items = [item for part in (batched.outside, *(turn.items for turn in batched.turns)) for item in part]
    said = "".join(item.text for item in items if isinstance(item, Message))
    assert said == "".join(event.text for event in events if isinstance(event, AgentMessageChunk))
