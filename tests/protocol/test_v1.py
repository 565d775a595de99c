"""Session updates of v1 from the wire and back: one plan, closed sets, and what stands in for the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.protocol import v1, v2
from acp_notebook.protocol.messages import Fault, PlanRemoved, PlanUpdate
from acp_notebook.session.reduce import fold
from acp_notebook.session.state import SessionState
from harness.updates import (
    Json,
    entries,
    metas,
    nearly,
    normal,
    objects,
    params,
    schema,
    valid_updates,
    values,
)

PLAN = schema("v1", "Plan")
SEVERAL = {"plan_update": schema("v1", "PlanUpdate"), "plan_removed": schema("v1", "PlanRemoved")}
START = SessionState("s", "agent", "model")

quick = settings(deadline=None, database=None, max_examples=60)
real = st.fixed_dictionaries(
    {},
    optional={
        "acp-notebook/status": st.sampled_from(["cancelled", "_blocked", "pending"]) | values,
        "acp-notebook/priority": st.sampled_from(["_soon", "high"]) | values,
        "traceparent": values,
    },
)
valid = objects(
    {
        "sessionUpdate": st.just("plan"),
        "entries": entries(
            st.sampled_from(["pending", "in_progress", "completed"]),
            st.sampled_from(["high", "medium", "low"]),
            metas | real,
        ),
    }
)


@given(valid)
@quick
def test_what_is_valid_is_kept_whole(update: Json) -> None:
    assert PLAN.is_valid(update)
    (message,) = v1.read(params(update))
    assert isinstance(message, PlanUpdate) and message.plan.plan_id == "plan-1"
    assert v1.Writer(plans=False).write(message) == normal(update)
    assert v1.read(params(v1.Writer(plans=True).write(message))) == (message,)


@given(st.lists(nearly(valid_updates), max_size=6))
@quick
def test_a_client_that_knows_one_plan_has_the_current_one(sequence: list[Json]) -> None:
    agent, client, writer = START, START, v1.Writer(plans=False)
    for message in (message for update in sequence for message in v2.read(params(update))):
        agent = fold(agent, [message])
        if not isinstance(message, PlanUpdate | PlanRemoved):
            continue
        if (update := writer.write(message)) is not None:
            assert PLAN.is_valid(update) and update["sessionUpdate"] == "plan"
            client = fold(client, v1.read(params(update)))
        if agent.plan.type == "items":
            plan, shown = without_empty_meta(agent.plan), without_empty_meta(client.plan)
            assert (shown.entries, shown.title) == (plan.entries, plan.title)
        else:
            assert client.plan.entries or agent.plan.content is not None
        assert list(client.plans) in ([], ["plan-1"]) and not client.faults


@given(st.lists(nearly(valid_updates), max_size=6))
@quick
def test_a_client_that_tells_plans_apart_has_them_all(sequence: list[Json]) -> None:
    agent, client, writer = START, START, v1.Writer(plans=True)
    for message in (message for update in sequence for message in v2.read(params(update))):
        agent = fold(agent, [message])
        if isinstance(message, PlanUpdate | PlanRemoved):
            update = writer.write(message)
            assert update is not None and SEVERAL[update["sessionUpdate"]].is_valid(update)
            client = fold(client, v1.read(params(update)))
    assert list(client.plans) == list(agent.plans) and client.plan_id == agent.plan_id
    for plan_id, plan in agent.plans.items():
        if plan.type in ("items", "markdown", "file"):
            assert without_empty_meta(client.plans[plan_id]) == without_empty_meta(plan)
        else:
            assert client.plans[plan_id].type == "items" and len(client.plans[plan_id])


def without_empty_meta(plan: Plan) -> Plan:
    """An empty `_meta` says what no `_meta` says."""
    entries = tuple(replace(entry, meta=entry.meta or None) for entry in plan.entries)
    return replace(plan, entries=entries, meta=plan.meta or None)


def contents(plan: Plan) -> list[tuple[str, str]]:
    update = v1.Writer(plans=False).write(PlanUpdate(plan))
    assert update is not None and PLAN.is_valid(update)
    return [(entry["status"], entry["content"]) for entry in update["entries"]]


@pytest.mark.parametrize(
    ("plan", "read"),
    [
        (
            Plan(type="markdown", content="# Notes\nprose\n- [x] one\n  - [-] two\n"),
            [("completed", "one"), ("pending", "two")],
        ),
        (Plan(type="markdown", content="\nJust prose.\n"), [("pending", "Just prose.")]),
        (Plan(type="markdown", content=" "), []),
        (Plan(type="file", uri="file:///plan.md"), [("pending", "The plan is kept in file:///plan.md")]),
        (Plan(type="_board", raw={"columns": 3}), [("pending", "A plan of type _board")]),
        (Plan(type="_notes", content="- [ ] one"), [("pending", "one")]),
        (Plan((PlanEntry("a", status="completed"),), type="_odd"), [("completed", "a")]),
        (Plan(), []),
    ],
)
def test_plans_of_other_types_become_entries_to_read(plan: Plan, read: list[tuple[str, str]]) -> None:
    assert contents(plan) == read


def test_what_v1_has_no_word_for_is_pending_and_medium_and_meta_says_what_it_is() -> None:
    plan = Plan((PlanEntry("a", "_soon", "cancelled", meta={"k": 1}), PlanEntry("b", "low", "blocked", "e")))
    for several in (False, True):
        update: Any = v1.Writer(several).write(PlanUpdate(plan, "person", 2))
        assert update.get("plan", update)["entries"] == [
            {
                "content": "a",
                "priority": "medium",
                "status": "pending",
                "_meta": {"k": 1, "acp-notebook/status": "cancelled", "acp-notebook/priority": "_soon"},
            },
            {
                "content": "b",
                "priority": "low",
                "status": "pending",
                "_meta": {"acp-notebook/status": "blocked", "acp-notebook/id": "e"},
            },
        ]
        assert v1.read(params(update)) == (PlanUpdate(plan, "person", 2),)
        update.get("plan", update)["entries"][0]["status"] = "completed"  # by somebody on the way
        (read,) = v1.read(params(update))
        assert isinstance(read, PlanUpdate) and read.plan.progress == (1, 2)


def test_what_comes_over_the_wire_of_v1_as_it_should_not_is_shown_by_its_own_name() -> None:
    entries = [{"content": "a", "priority": "urgent", "status": "cancelled"}]
    (read,) = v1.read(params({"sessionUpdate": "plan", "entries": entries}))
    assert isinstance(read, PlanUpdate) and read.plan.entries == (PlanEntry("a", "urgent", "cancelled"),)


def test_removing_a_plan_that_is_not_shown_tells_a_client_with_one_plan_nothing() -> None:
    writer = v1.Writer(plans=False)
    one, two = (Plan((PlanEntry(name),), name) for name in ("one", "two"))
    writer.write(PlanUpdate(one))
    writer.write(PlanUpdate(two))
    assert writer.write(PlanRemoved("nope")) is None
    back: Any = writer.write(PlanRemoved("two"))
    assert [entry["content"] for entry in back["entries"]] == ["one"]
    assert writer.write(PlanRemoved("two")) is None
    assert writer.write(PlanRemoved("one")) == {"sessionUpdate": "plan", "entries": []}
    writer.write(PlanUpdate(one))
    writer.write(PlanUpdate(two))
    assert writer.write(PlanRemoved("one")) is None


def test_what_is_wrong_in_a_plan_of_v1_is_a_fault() -> None:
    (fault,) = v1.read(params({"sessionUpdate": "plan", "entries": 5}))
    assert isinstance(fault, Fault) and fault.kind == "update refused"


def test_what_said_nothing_in_its_place_says_nothing_where_update_and_plan_are_one() -> None:
    plan = Plan((PlanEntry("a"),), meta={"acp-notebook/author": "person", "k": 1})
    raw = {"later": 1, "_meta": {"acp-notebook/title": "T", "k": 2, "l": 2}}
    update: Any = v1.Writer(plans=False).write(PlanUpdate(plan, raw=raw))
    assert update["_meta"] == {"k": 1, "l": 2} and update["later"] == 1
    assert v1.Writer(plans=True).write(PlanUpdate(plan, raw=raw)) == v2.write(PlanUpdate(plan, raw=raw))
