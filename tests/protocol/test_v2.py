"""Session updates of v2 from the wire and back, against the official schema."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from acp_notebook.errors import PlanError
from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.protocol import v1, v2
from acp_notebook.protocol.messages import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Fault,
    PlanRemoved,
    PlanUpdate,
    UnknownUpdate,
    Update,
)
from acp_notebook.protocol.plans import write_plan
from acp_notebook.session.reduce import fold
from acp_notebook.session.state import SessionState
from harness.updates import Json, extras, nearly, normal, params, schema, valid_updates, values

SCHEMAS = {"plan_update": schema("v2", "PlanUpdate"), "plan_removed": schema("v2", "PlanRemoved")}
START = SessionState("s", "agent", "model")

quick = settings(deadline=None, database=None, max_examples=60)


def read(update: Any) -> tuple[Update, ...]:
    return v2.read(params(update))


def entry(content: str = "a", **members: Any) -> Json:
    return {"content": content, "priority": "medium", "status": "pending", **members}


def items(*entries: Any, **members: Any) -> Json:
    """An update of a plan of items, in which `members` stand in place of the right ones."""
    plan = {"type": "items", "planId": "p", "entries": list(entries), **members}
    return {"sessionUpdate": "plan_update", "plan": plan}


# -- whole -----------------------------------------------------------------------------------------------


@given(valid_updates)
@quick
def test_what_is_valid_is_kept_whole(update: Json) -> None:
    assert SCHEMAS[update["sessionUpdate"]].is_valid(update)
    (message,) = read(update)
    assert isinstance(message, PlanUpdate | PlanRemoved)
    assert v2.write(message) == normal(update)


@given(st.sampled_from(["_ours", "terminal_update", "tool_call", ""]), extras)
@quick
def test_updates_of_other_kinds_are_kept_whole(kind: str, more: Json) -> None:
    update = {**more, "sessionUpdate": kind}
    (message,) = read(update)
    assert message == UnknownUpdate(kind, update)
    assert v2.write(message) == update


# -- the rules of the schema -----------------------------------------------------------------------------


class Oracle:
    """What a client shows by the letter of the schema, on plain JSON values."""

    def __init__(self) -> None:
        self.plans: dict[str, Json] = {}
        self.current: str | None = None
        self.refused = 0
        self.skipped = 0

    def take(self, update: Json) -> None:
        kind = update.get("sessionUpdate")
        if kind == "plan_removed" and isinstance(update.get("planId"), str):
            self.plans.pop(update["planId"], None)
            if update["planId"] == self.current:
                self.current = next(reversed(self.plans), None)
        elif kind == "plan_update" and (plan := self.deserialised(update.get("plan"))) is not None:
            self.plans[plan["planId"]] = plan
            self.current = plan["planId"]
        elif not isinstance(kind, str) or kind in SCHEMAS:
            self.refused += 1

    def deserialised(self, plan: Any) -> Json | None:
        skipped = 0
        if isinstance(plan, dict) and plan.get("type") in ("items", "markdown", "file"):
            plan = without_bad_meta(plan)
            if plan["type"] == "items" and isinstance(plan.get("entries"), list):
                found = [mended(entry) for entry in plan["entries"]]
                plan["entries"] = [entry for entry in found if entry is not None]
                skipped = found.count(None)
        if not SCHEMAS["plan_update"].is_valid({"plan": plan}):
            return None
        if plan["type"] == "file" and not urlsplit(plan["uri"]).scheme:
            return None
        self.skipped += skipped
        return plan


def without_bad_meta(value: Json) -> Json:
    """x-deserialize-default-on-error: no metadata is what `null` means."""
    return {k: v for k, v in value.items() if k != "_meta" or isinstance(v, dict)}


def mended(entry: Any) -> Json | None:
    """x-deserialize-skip-invalid-items, but for entries with a text."""
    if isinstance(entry, str):
        return {"content": entry, "priority": "medium", "status": "pending"}
    if not isinstance(entry, dict):
        return None
    entry = without_bad_meta(entry)
    name = next((n for n in ("content", "step", "text") if isinstance(entry.get(n), str)), None)
    if name is None:
        return None
    entry["content"] = entry[name] if name == "content" else entry.pop(name)
    for field, ordinary in (("priority", "medium"), ("status", "pending")):
        if not isinstance(entry.get(field), str):
            entry[field] = ordinary
    return entry


@given(st.lists(nearly(valid_updates), max_size=6))
@example([items(entry(), {"content": 5}, {"text": "b"}), items(planId=None), items(entries=None)])
@quick
def test_any_sequence_of_updates_leads_where_the_schema_says(sequence: list[Json]) -> None:
    oracle, state = Oracle(), START
    revisions = 0
    for update in sequence:
        before = dict(oracle.plans)
        oracle.take(update)
        revisions += before != oracle.plans
        state = fold(state, read(update))
        assert {plan_id: write_plan(plan) for plan_id, plan in state.plans.items()} == oracle.plans
        assert state.plan_id == oracle.current
    assert state.faults.get("update refused", 0) == oracle.refused
    assert state.faults.get("entry skipped", 0) == oracle.skipped
    assert sum(len(history) for history in state.history.values()) == revisions
    for plan in state.plans.values():
        assert SCHEMAS["plan_update"].is_valid(v2.write(PlanUpdate(plan)))


@given(
    values
    | nearly(valid_updates)
    | st.builds(lambda kind, more: {**more, "sessionUpdate": kind}, st.sampled_from([*v2.READERS]), extras)
    | values.map(lambda value: {"sessionUpdate": "plan", "entries": value, "content": value})
)
@quick
def test_reading_never_raises(value: Any) -> None:
    plan = {"sessionUpdate": "plan_update", "plan": value}
    for taken in (value, {"update": value}, {"update": plan}):
        for messages in (v2.read(taken), v1.read(taken)):
            assert messages and all(isinstance(message, Update) for message in messages)
            fold(START, messages)


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def test_what_nests_too_deep_is_refused_before_anybody_looks_into_it() -> None:
    deep = nested(100_000)
    state = fold(START, read_raw(items(entry(), later=nested(90))))
    for update in (
        items(entry(), later=deep),
        items(entry(), _meta={"x": deep}),
        {**items(entry()), "later": deep},
        {"sessionUpdate": "plan_removed", "planId": "p", "_meta": {"x": deep}},
        {"sessionUpdate": "plan", "entries": [], "later": deep},
    ):
        (fault,) = read_raw(update)
        assert isinstance(fault, Fault) and "nests more than 100 levels deep" in fault.text
        assert fold(state, [fault]).plans is state.plans
    plan, fault = read_raw(items(entry("b", later=deep), entry("c", _meta={"x": deep})))
    assert isinstance(plan, PlanUpdate) and plan.plan.entries == (PlanEntry("b"), PlanEntry("c"))
    assert isinstance(fault, Fault) and (fault.kind, fault.count) == ("entry mended", 2)


def read_raw(update: Any) -> tuple[Update, ...]:
    return v2.read({"sessionId": "s", "update": update})


# -- what is said about it -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("update", "kind", "text"),
    [
        (None, "update refused", "an update without a 'sessionUpdate' that says what it is"),
        ({"sessionUpdate": 5}, "update refused", "an update without a 'sessionUpdate' that says what it is"),
        ({"sessionUpdate": "plan_update"}, "update refused", "plan_update: 'plan' is null, not an object"),
        (items(planId=None), "update refused", "plan_update: 'planId' is null, not a text"),
        (items(type=True), "update refused", "plan_update 'p': 'type' is true, not a text"),
        (items(entries=None), "update refused", "plan_update 'p': 'entries' is null, not a list"),
        (items(entries={"0": "a"}), "update refused", "plan_update 'p': 'entries' is an object, not a list"),
        (items(entries="- [ ] a"), "update refused", "'entries' is the text '- [ ] a', not a list"),
        (
            items(type="markdown"),
            "update refused",
            "the 'content' of a plan of type 'markdown' is null, not a text",
        ),
        (
            items(type="file", uri=1.5),
            "update refused",
            "the 'uri' of a plan of type 'file' is a number, not a text",
        ),
        (items(type="file", uri="plan.md"), "update refused", "'uri' must be absolute, and 'plan.md' is not"),
        (
            {"sessionUpdate": "plan_removed", "planId": []},
            "update refused",
            "plan_removed: 'planId' is a list, not a",
        ),
        (
            items(planId="p" * 99, entries=5),
            "update refused",
            f"plan_update {'p' * 59 + '…'!r}: 'entries' is a number",
        ),
        (items(_meta=5), "update mended", "plan_update 'p': '_meta' is a number, not an object"),
        (items(5), "entry skipped", "plan_update 'p': entry 1 is a number, not an object"),
        (
            items(entry(), {}),
            "entry skipped",
            "plan_update 'p': the 'content' of entry 2 is null, not a text",
        ),
        (items("a"), "entry mended", "plan_update 'p': entry 1 is a bare text"),
        (items(entry(priority=None)), "entry mended", "plan_update 'p': entry 1: its priority is null"),
        (items(entry(status={"token": "s3cret"})), "entry mended", "entry 1: its status is an object"),
        (
            items({"step": "a"}),
            "entry mended",
            "its text is called 'step', its priority is null, its status is null",
        ),
        (items(entry(_meta="x")), "entry mended", "plan_update 'p': '_meta' is the text 'x', not an object"),
        (
            {"sessionUpdate": "agent_message_chunk", "content": "a"},
            "update refused",
            "'content' is the text 'a', not an",
        ),
        (
            {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text"}},
            "update refused",
            "is null, not a text",
        ),
        (
            {"sessionUpdate": "plan", "content": "prose"},
            "update refused",
            "no 'entries', and in its 'content' there is no list",
        ),
    ],
)
def test_what_was_wrong_is_said_in_a_line(update: Any, kind: str, text: str) -> None:
    fault = read(update)[-1]
    assert isinstance(fault, Fault) and fault.kind == kind and text in fault.text
    assert "\n" not in fault.text and "s3cret" not in fault.text


def test_many_faults_of_a_kind_are_one_line_and_their_number() -> None:
    message, skipped, mended = read(items(*range(1000), *map(str, range(7))))
    assert isinstance(message, PlanUpdate) and len(message.plan) == 7
    assert (
        isinstance(skipped, Fault)
        and skipped.count == 1000
        and skipped.text.endswith("; entry 5 is a number, not an object, and 995 more")
    )
    assert isinstance(mended, Fault) and mended.count == 7 and len(mended.text) < 300
    assert fold(START, read(items(*range(1000)))).faults == {"entry skipped": 1000}


# -- ours ------------------------------------------------------------------------------------------------


OURS = Plan(
    (
        PlanEntry("a", "_soon", "cancelled", "e1", {"k": 1}, {"activeForm": "doing a"}),
        PlanEntry("b", id="e2"),
    ),
    "p",
    title="T",
    meta={"traceparent": "00"},
    raw={"later": 1},
)


@pytest.mark.parametrize(
    "message",
    [
        PlanUpdate(OURS, "person", 3),
        PlanUpdate(OURS, "replay", raw={"later": 2, "_meta": {"x": None}}),
        PlanUpdate(Plan(plan_id="p")),
        PlanUpdate(Plan(plan_id="p", type="markdown", content="", title="T"), "file"),
        PlanUpdate(Plan(plan_id="p", type="file", uri="file:///a.md", meta={})),
        PlanUpdate(Plan(plan_id="p", type="_board", title="T", content="c", raw={"columns": [1, None]})),
        PlanRemoved("p", "person"),
        PlanRemoved("p", raw={"_meta": {"x": 1}}),
    ],
)
def test_title_ids_and_authorship_travel_in_meta(message: PlanUpdate | PlanRemoved) -> None:
    value = v2.write(message)
    assert SCHEMAS[value["sessionUpdate"]].is_valid(value)
    assert read(value) == (message,)


@pytest.mark.parametrize(
    "meta",
    [
        {"acp-notebook/author": "nobody"},
        {"acp-notebook/author": "model"},
        {"acp-notebook/author": ["person"]},
        {"acp-notebook/author": "nobody", "acp-notebook/undoes": 2},
        {"acp-notebook/undoes": 0},
        {"acp-notebook/undoes": True},
        {"author": "person", "undoes": 2},
    ],
)
def test_authorship_that_cannot_be_is_only_passed_on(meta: Json) -> None:
    update = {**items(entry()), "_meta": meta}
    message = PlanUpdate(Plan((PlanEntry("a"),), "p"), raw={"_meta": meta})
    assert read(update) == (message,) and v2.write(message) == update


def test_nothing_of_ours_stands_outside_of_meta() -> None:
    assert v2.write(PlanUpdate(OURS, "person", 3)) == {
        "sessionUpdate": "plan_update",
        "plan": {
            "type": "items",
            "planId": "p",
            "entries": [
                {
                    "content": "a",
                    "priority": "_soon",
                    "status": "cancelled",
                    "activeForm": "doing a",
                    "_meta": {"k": 1, "acp-notebook/id": "e1"},
                },
                {
                    "content": "b",
                    "priority": "medium",
                    "status": "pending",
                    "_meta": {"acp-notebook/id": "e2"},
                },
            ],
            "later": 1,
            "_meta": {"traceparent": "00", "acp-notebook/title": "T"},
        },
        "_meta": {"acp-notebook/author": "person", "acp-notebook/undoes": 3},
    }


@pytest.mark.parametrize("plan", [Plan(type="markdown"), Plan(type="file", content="x")])
def test_a_plan_that_its_type_does_not_allow_is_not_written(plan: Plan) -> None:
    with pytest.raises(PlanError, match=f"a plan of type {plan.type!r} needs"):
        v2.write(PlanUpdate(plan))


# -- other updates ---------------------------------------------------------------------------------------


def test_texts_of_the_agent() -> None:
    content = {"type": "text", "text": "Hello"}
    picture = {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "…"}}
    assert read({"sessionUpdate": "agent_message_chunk", "content": content}) == (AgentMessageChunk("Hello"),)
    assert read({"sessionUpdate": "agent_thought_chunk", "content": content}) == (AgentThoughtChunk("Hello"),)
    assert read(picture) == (UnknownUpdate("agent_message_chunk", picture),)
