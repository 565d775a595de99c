"""Differences between plans: they lead there and back, are small, follow entries, and say what happened."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.plan import (
    AddEntry,
    Change,
    ClearEntries,
    MoveEntry,
    Plan,
    PlanEdit,
    PlanEntry,
    RemoveEntry,
    SetPlan,
    UpdateEntry,
    apply_edits,
    changes,
)

ENTRIES = st.builds(
    PlanEntry,
    st.sampled_from(["load", "plot", "fit", "report", "report"]),
    st.sampled_from(["high", "medium", "_later"]),
    st.sampled_from(["pending", "in_progress", "completed", "_blocked"]),
    meta=st.sampled_from([None, {"by": "x"}]),
    raw=st.sampled_from([None, {"activeForm": "loading"}]),
)
PLANS = st.builds(
    Plan,
    st.lists(ENTRIES, max_size=8).map(tuple),
    title=st.sampled_from([None, "A", "B"]),
    content=st.sampled_from([None, "why"]),
    raw=st.sampled_from([None, {"depth": 3}]),
)


def plan(*contents: str, **fields: str) -> Plan:
    return Plan(tuple(PlanEntry(content) for content in contents), **fields)


@given(PLANS, PLANS)
@settings(deadline=None, database=None)
def test_a_change_leads_there_and_back(old: Plan, new: Plan) -> None:
    change = Change.between(old, new)
    assert change.apply(old) == new
    assert change.invert().apply(new) == old
    assert bool(change) == (old != new)
    assert bool(change.lines()) == bool(change)


@given(PLANS, PLANS)
@settings(deadline=None, database=None)
def test_an_entry_that_is_followed_is_where_the_change_has_put_it(old: Plan, new: Plan) -> None:
    change = Change.between(old, new)
    followed = [change.follow(index) for index in range(1, len(old) + 1)]
    places = [index for index in followed if index is not None]
    assert len(set(places)) == len(places) and all(1 <= index <= len(new) for index in places)
    if [entry.content for entry in old] == [entry.content for entry in new]:
        assert followed == list(range(1, len(old) + 1))


@pytest.mark.parametrize(
    ("edit", "lines"),
    [
        (UpdateEntry(2, status="completed"), ['2. "b": pending → completed']),
        (UpdateEntry(2, "bb", priority="high"), ['2. "bb": was "b", medium → high']),
        (AddEntry("new", at=1), ['1. "new" added, pending, medium priority']),
        (RemoveEntry(3), ['3. "c" removed']),
        (MoveEntry(1, 4), ["1 moved to 4"]),
        (MoveEntry(4, 1), ["4 moved to 1"]),
        (ClearEntries(), [f'{n}. "{text}" removed' for n, text in enumerate("abcd", 1)]),
        (SetPlan(plan("a", "b", "c", "d", title="T")), ['titled "T"']),
        (SetPlan(plan("a", "c", "e", "d")), ['2. "b" removed', '3. "e" added, pending, medium priority']),
    ],
)
def test_a_change_says_what_happened(edit: PlanEdit, lines: list[str]) -> None:
    old = plan("a", "b", "c", "d")
    assert Change.between(old, edit.apply(old)).lines() == lines


def test_a_summary_is_the_change_itself_or_counts() -> None:
    old = plan("a", "b", "c", "d")
    new = AddEntry("new").apply(
        UpdateEntry(1, "A").apply(RemoveEntry(3).apply(plan("a", "b", "c", "d", title="T")))
    )
    assert Change.between(old, new).summary == '1 added, 1 removed, 1 changed, titled "T"'
    assert Change.between(old, RemoveEntry(3).apply(old)).summary == '3. "c" removed'
    assert Change.between(old, MoveEntry(1, 4).apply(old)).summary == "1 moved to 4"
    assert Change().summary == ""


def test_words_are_one_line_each_and_bounded() -> None:
    change = Change.between(Plan(), plan("first\nsecond " + "x" * 1_000))
    (line,) = change.lines()
    assert "\n" not in line and len(line) < 150 and "first second" in line


@pytest.mark.parametrize("edit", [UpdateEntry(500, status="completed"), MoveEntry(1, 1000), RemoveEntry(7)])
def test_a_small_change_of_a_long_plan_is_small(edit: PlanEdit) -> None:
    old = plan(*(f"step {n}" for n in range(1000)))
    (hunk,) = Change.between(old, edit.apply(old)).hunks
    assert (
        sum(isinstance(part, PlanEntry) for group in hunk if isinstance(group, tuple) for part in group) <= 2
    )


def test_scattered_changes_of_a_long_plan_are_told_one_by_one() -> None:
    old = plan(*(f"step {n}" for n in range(400)))
    new = UpdateEntry(390, status="completed").apply(RemoveEntry(5).apply(AddEntry("x", at=9).apply(old)))
    assert len(Change.between(old, new).lines()) == 3


@pytest.mark.parametrize("others", [[], [AddEntry("new")], [RemoveEntry(2), AddEntry("new", at=9_000)]])
def test_changes_at_both_ends_of_a_very_long_plan_are_told_one_by_one(others: list[PlanEdit]) -> None:
    old = plan(*(f"step {n}" for n in range(10_000)))
    edits = [UpdateEntry(1, status="completed"), UpdateEntry(9_999, status="in_progress"), *others]
    new = apply_edits(old, edits)
    change = Change.between(old, new)
    assert len(change.lines()) == len(edits)
    assert change.apply(old) == new and change.invert().apply(new) == old
    assert change.follow(5_000) == (4_999 if others[1:] else 5_000)


@given(PLANS, PLANS)
@settings(deadline=None, database=None)
def test_long_plans_are_compared_by_the_same_rules(old: Plan, new: Plan) -> None:
    with patch.object(changes, "COMPARED", 0):
        change = Change.between(old, new)
    assert change.apply(old) == new
    assert change.invert().apply(new) == old
    assert bool(change) == (old != new)
    if [entry.content for entry in old] == [entry.content for entry in new]:
        assert [change.follow(n) for n in range(1, len(old) + 1)] == list(range(1, len(old) + 1))


def test_plans_that_share_nothing_are_compared_at_once() -> None:
    old, new = (plan(*(f"{name} {n}" for n in range(5_000))) for name in "ab")
    change = Change.between(old, new)
    assert change.apply(old) == new and len(change.hunks) == 1
