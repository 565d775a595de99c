"""Edits: each operation, its errors, and any order of them against a list edited in the plainest way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.errors import PlanError, PlanIndexError
from acp_notebook.plan import (
    PRIORITIES,
    STATUSES,
    AddEntry,
    ClearEntries,
    MoveEntry,
    Plan,
    PlanEdit,
    PlanEntry,
    RemoveEntry,
    SetPlan,
    UpdateEntry,
    apply_edits,
)

PLAN = Plan(
    (PlanEntry("a", id="1"), PlanEntry("b", "high", "in_progress"), PlanEntry("c")),
    "p",
    title="T",
    meta={"k": 1},
)


def contents(plan: Plan) -> str:
    return "".join(entry.content for entry in plan)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (AddEntry("n"), "abcn"),
        (AddEntry("n", at=1), "nabc"),
        (AddEntry("n", at=3), "abnc"),
        (AddEntry("n", at=4), "abcn"),
        (UpdateEntry(2, content="n"), "anc"),
        (UpdateEntry(2), "abc"),
        (MoveEntry(1, 3), "bca"),
        (MoveEntry(3, 1), "cab"),
        (MoveEntry(2, 2), "abc"),
        (RemoveEntry(1), "bc"),
        (RemoveEntry(3), "ab"),
        (ClearEntries(), ""),
        (SetPlan(Plan((PlanEntry("x"),), "other")), "x"),
    ],
    ids=repr,
)
def test_each_edit(edit: PlanEdit, expected: str) -> None:
    plan = edit.apply(PLAN)
    assert contents(plan) == expected
    assert plan.plan_id == "p"
    assert contents(PLAN) == "abc"


def test_an_update_changes_what_is_given_and_nothing_else() -> None:
    plan = UpdateEntry(1, status="completed").apply(PLAN)
    assert plan == replace(PLAN, entries=(PlanEntry("a", "medium", "completed", "1"), *PLAN.entries[1:]))
    assert plan.entries[1] is PLAN.entries[1]
    assert UpdateEntry(2, priority="low").apply(PLAN)[1] == PlanEntry("b", "low", "in_progress")


def test_an_added_entry_has_what_was_asked_for() -> None:
    assert AddEntry("n", "low", "completed").apply(PLAN)[3] == PlanEntry("n", "low", "completed")


def test_a_cleared_plan_keeps_id_and_title() -> None:
    assert ClearEntries().apply(PLAN) == Plan(plan_id="p", title="T")


@pytest.mark.parametrize(
    "edit", [UpdateEntry(0), UpdateEntry(4), MoveEntry(4, 1), MoveEntry(1, 0), RemoveEntry(-1)], ids=repr
)
def test_an_entry_number_outside_the_plan_names_the_range(edit: PlanEdit) -> None:
    with pytest.raises(PlanIndexError, match=r"^there is no entry -?\d in this plan: use 1 to 3$") as error:
        edit.apply(PLAN)
    assert isinstance(error.value, IndexError)


@pytest.mark.parametrize(
    ("plan", "message"), [(Plan(), "the plan is empty"), (Plan((PlanEntry("a"),)), "the only entry is 1")]
)
def test_a_range_of_none_or_one_is_said_as_such(plan: Plan, message: str) -> None:
    with pytest.raises(PlanIndexError, match=message):
        RemoveEntry(2).apply(plan)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (AddEntry(" \n"), "an entry needs some text"),
        (UpdateEntry(1, content=""), "remove it instead"),
        (AddEntry("n", at=0), "cannot be inserted at 0: use 1 to 4"),
        (AddEntry("n", at=5), "cannot be inserted at 5: use 1 to 4"),
        (AddEntry("n", priority="urgent"), "'urgent' is not a priority: use high, medium, low or"),
        (
            AddEntry("n", status="done"),
            "'done' is not a status: use pending, in_progress, completed, cancelled or",
        ),
        (UpdateEntry(1, status="done"), "'done' is not a status"),
        (UpdateEntry(1, priority=""), "'' is not a priority"),
        # what the types forbid, and notebooks bring all the same
        (AddEntry(None), "the text of an entry cannot be None: use a str"),  # type: ignore[arg-type]
        (AddEntry("n", priority=None), "None is not a priority"),  # type: ignore[arg-type]
        (AddEntry("n", at="1"), "cannot be inserted at '1': use 1 to 4"),  # type: ignore[arg-type]
        (AddEntry("n", at=1.0), r"cannot be inserted at 1\.0"),  # type: ignore[arg-type]
        (UpdateEntry(1, content=3), "the text of an entry cannot be 3"),  # type: ignore[arg-type]
        (UpdateEntry(1, status=3), "3 is not a status"),  # type: ignore[arg-type]
        (UpdateEntry("1"), "there is no entry '1' in this plan: use 1 to 3"),  # type: ignore[arg-type]
        (MoveEntry(1.0, 2), r"there is no entry 1\.0"),  # type: ignore[arg-type]
        (MoveEntry(1, [2]), r"there is no entry \[2\]"),  # type: ignore[arg-type]
        (RemoveEntry(None), "there is no entry None"),  # type: ignore[arg-type]
        (SetPlan(Plan((PlanEntry(3),))), r"content=3, .* is not an entry"),  # type: ignore[arg-type]
        (SetPlan(Plan((PlanEntry("a", status=None),))), "is not an entry"),  # type: ignore[arg-type]
        (SetPlan(Plan(("a",))), "'a' is not an entry of a plan: use PlanEntry"),  # type: ignore[arg-type]
        (SetPlan(Plan(title=3)), "the title of a plan cannot be 3"),  # type: ignore[arg-type]
        (SetPlan(Plan(type=None)), "a plan of type None needs 'type'"),  # type: ignore[arg-type]
        (SetPlan(Plan(type="markdown")), "a plan of type 'markdown' needs 'content'"),
        (SetPlan(Plan(type="file")), "a plan of type 'file' needs 'uri'"),
    ],
    ids=repr,
)
def test_what_cannot_be_done_is_said(edit: PlanEdit, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        edit.apply(PLAN)


def test_numbers_of_numpy_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    assert UpdateEntry(numpy.int64(2), "n").apply(PLAN)[1].content == "n"
    assert AddEntry("n", at=numpy.int64(1)).apply(PLAN)[0].content == "n"


def test_a_plan_that_is_set_does_not_follow_the_list_that_it_was_made_of() -> None:
    entries = [PlanEntry("a")]
    plan = SetPlan(Plan(entries)).apply(Plan())  # type: ignore[arg-type]
    entries.append(PlanEntry("b"))
    assert plan.entries == (PlanEntry("a"),)


def test_custom_values_begin_with_an_underscore() -> None:
    plan = UpdateEntry(1, status="_blocked", priority="_soon").apply(PLAN)
    assert (plan[0].status, plan[0].priority) == ("_blocked", "_soon")


def test_values_that_came_from_elsewhere_stay_when_others_are_changed() -> None:
    odd = Plan((PlanEntry("a", "urgent", "blocked"),))
    assert UpdateEntry(1, content="b").apply(odd)[0] == PlanEntry("b", "urgent", "blocked")


def test_edits_are_applied_in_order_and_all_or_none() -> None:
    assert contents(apply_edits(PLAN, [AddEntry("d"), MoveEntry(4, 1), RemoveEntry(2)])) == "dbc"
    with pytest.raises(PlanIndexError):
        apply_edits(PLAN, [RemoveEntry(1), RemoveEntry(3)])
    assert contents(PLAN) == "abc"


def test_plans_without_entries_are_not_edited_entry_by_entry() -> None:
    notes = Plan(plan_id="n", type="markdown", content="# Notes")
    with pytest.raises(PlanError, match="a plan of type 'markdown' has no entries to edit"):
        apply_edits(notes, [AddEntry("x")])
    assert apply_edits(notes, [SetPlan(Plan((PlanEntry("x"),))), AddEntry("y")]) == Plan(
        (PlanEntry("x"), PlanEntry("y")), "n"
    )


# -- any order -------------------------------------------------------------------------------------------

numbers = st.integers(-1, 6)
texts = st.sampled_from(["x", "y", "long text\nof two lines", ""])
edits: st.SearchStrategy[PlanEdit] = st.one_of(
    st.builds(AddEntry, texts, st.sampled_from(PRIORITIES), st.sampled_from(STATUSES), st.none() | numbers),
    st.builds(UpdateEntry, numbers, st.none() | texts, st.none() | st.sampled_from([*STATUSES, "_x", "odd"])),
    st.builds(MoveEntry, numbers, numbers),
    st.builds(RemoveEntry, numbers),
    st.builds(ClearEntries),
    st.builds(SetPlan, st.lists(st.builds(PlanEntry, texts), max_size=4).map(lambda new: Plan(tuple(new)))),
)


def by_hand(entries: list[list[str]], edit: PlanEdit) -> bool:
    """Edits a list of `[content, priority, status]` in place; False where the edit makes no sense."""
    count = len(entries)
    match edit:
        case AddEntry(content, priority, status, at):
            at = count + 1 if at is None else at
            if not content or at < 1 or at > count + 1:
                return False
            entries.insert(at - 1, [content, priority, status])
        case UpdateEntry(index, content, status, _):
            if index < 1 or index > count or content == "" or status == "odd":
                return False
            old = entries[index - 1]
            entries[index - 1] = [content or old[0], old[1], status or old[2]]
        case MoveEntry(index, to):
            if not (1 <= index <= count and 1 <= to <= count):
                return False
            entries.insert(to - 1, entries.pop(index - 1))
        case RemoveEntry(index):
            if not 1 <= index <= count:
                return False
            del entries[index - 1]
        case ClearEntries():
            entries.clear()
        case SetPlan(plan):
            entries[:] = [[entry.content, entry.priority, entry.status] for entry in plan]
    return True


@given(st.lists(edits, max_size=12))
@settings(deadline=None, database=None)
def test_any_order_of_edits_gives_what_a_list_edited_by_hand_gives(edits: list[PlanEdit]) -> None:
    plan, expected, valid = Plan(), [], []
    for edit in edits:
        if by_hand(expected, edit):
            plan = edit.apply(plan)
            valid.append(edit)
        else:
            with pytest.raises(PlanError):
                edit.apply(plan)
        assert [[entry.content, entry.priority, entry.status] for entry in plan] == expected
    assert apply_edits(Plan(), valid) == plan
    if len(valid) < len(edits):
        with pytest.raises(PlanError):
            apply_edits(Plan(), edits)
