"""Answers to permission requests on the wire and back, against the official schemas."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.protocol.messages import OMIT, Cancelled, Outcome, Selected
from acp_notebook.protocol.outcomes import read_outcome, write_outcome
from acp_notebook.protocol.plans import OWN
from acp_notebook.protocol.rules import Covers
from harness.updates import schema, values

SCHEMAS = [schema(version, "RequestPermissionResponse") for version in ("v1", "v2")]

texts = st.none() | st.text(max_size=8)
kinds = st.sampled_from(["exact", "tool", "equals", "under", "matches", "command"])
selected = st.builds(
    Selected,
    st.text(max_size=8),
    st.none() | st.dictionaries(st.text(max_size=4), values, max_size=3),
    texts,
    texts,
    st.just(OMIT) | values,
    st.builds(Covers, kinds, st.text(min_size=1, max_size=4), st.text(min_size=1, max_size=4)),
    st.sampled_from(["session", "folder", "user"]),
)


@given(selected | st.builds(Cancelled, texts))
@settings(deadline=None, database=None, max_examples=40)
def test_an_answer_comes_back_as_it_was(outcome: Outcome) -> None:
    written = write_outcome(outcome)
    assert all(schema.is_valid(written) for schema in SCHEMAS)
    assert read_outcome(written) == outcome


def test_a_plain_answer_says_no_more_than_the_protocol_does() -> None:
    assert write_outcome(Cancelled()) == {"outcome": {"outcome": "cancelled"}}
    assert write_outcome(Selected("y")) == {"outcome": {"outcome": "selected", "optionId": "y"}}


def answered(**meta: Any) -> dict[str, Any]:
    own = {OWN + name: value for name, value in meta.items()}
    return {"outcome": {"outcome": "selected", "optionId": "allow_once", "_meta": own}}


@pytest.mark.parametrize(
    "result",
    [
        None,
        [],
        {},
        {"outcome": "selected", "optionId": "allow_once"},
        {"outcome": {"outcome": "selected"}},
        {"outcome": {"outcome": "selected", "optionId": 1}},
        {"outcome": {"outcome": "allowed", "optionId": "allow_once"}},
        {"outcome": {"outcome": ["selected"], "optionId": "allow_once"}},
        answered(arguments=["edited"]),
        answered(note=1),
        answered(scope="everybody"),
        answered(scope=[]),
        answered(covers={"kind": "any"}),
        answered(covers={"kind": ["tool"]}),
        answered(covers={"kind": "under", "argument": "path", "value": 1}),
        answered(covers={"kind": "under", "argument": "path", "valeu": "notes"}),
        answered(covers={"kind": "command", "argument": "", "value": "git"}),
        answered(covers={"kind": "under", "argument": "path", "value": ""}),
        answered(argument={"path": "a"}),
    ],
)
def test_what_cannot_be_read_whole_is_no_approval(result: Any) -> None:
    assert isinstance(read_outcome(result), Cancelled)


def test_what_others_have_in_meta_is_passed_over() -> None:
    result = {"outcome": {"outcome": "selected", "optionId": "y", "_meta": {"else/note": 1}}}
    assert read_outcome(result) == read_outcome({**result, "_meta": None}) == Selected("y")
