"""Revisions of a plan: back to any of them, undo, and edits that were meant for an earlier one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.errors import PlanError
from acp_notebook.plan import (
    AddEntry,
    Author,
    ClearEntries,
    MoveEntry,
    Plan,
    PlanEdit,
    PlanEntry,
    PlanHistory,
    RemoveEntry,
    SetPlan,
    UpdateEntry,
)


def plan(*contents: str) -> Plan:
    return Plan(tuple(PlanEntry(content) for content in contents))


def contents(plan: Plan) -> str:
    return " ".join(entry.content for entry in plan)


def history(*edits: tuple[Author, PlanEdit], start: str = "a b c d") -> PlanHistory:
    """A history that begins with the model's plan of one-letter entries."""
    made = PlanHistory(Plan()).add(plan(*start.split()), "model", 0.0, 1)
    for author, edit in edits:
        made = made.add(edit.apply(made.plan), author, 0.0, None)
    return made


def undo(made: PlanHistory) -> PlanHistory:
    return made.add(made.undone(), "person", 0.0, None, made.undoable)


def random_edit(now: Plan, chance: random.Random) -> PlanEdit:
    count = len(now)
    index, other = chance.randint(1, max(1, count)), chance.randint(1, max(1, count))
    edits: list[PlanEdit] = [AddEntry(f"n{chance.random():.3f}"), AddEntry("first", at=1), ClearEntries()]
    edits.append(SetPlan(plan(*chance.choices("abcxyz", k=4))))
    if count:
        edits += [
            UpdateEntry(index, f"r{chance.random():.3f}"),
            UpdateEntry(index, status="completed"),
            MoveEntry(index, other),
            RemoveEntry(index),
        ]
    return chance.choice(edits)


@given(st.integers(), st.integers(1, 25))
@settings(deadline=None, database=None)
def test_every_revision_can_be_had_again(seed: int, length: int) -> None:
    chance = random.Random(seed)
    made, seen = PlanHistory(Plan()), [Plan()]
    for number in range(length):
        removed = number > 2 and not made.removed and chance.random() < 0.1
        new = None if removed else random_edit(made.plan, chance).apply(made.plan)
        made = made.add(new, chance.choice(["model", "person"]), float(number), None)
        if len(made) == len(seen):
            seen.append(made.plan)
    for number in range(1, len(made) + 1):
        assert made.plan_at(number) == seen[number]
        assert made.diff(number).apply(seen[number]) == made.plan


@given(st.integers(), st.integers(1, 12))
@settings(deadline=None, database=None)
def test_undoing_all_that_a_person_did_alone_leads_back_to_the_start(seed: int, length: int) -> None:
    chance = random.Random(seed)
    made = start = history()
    for _ in range(length):
        made = made.add(random_edit(made.plan, chance).apply(made.plan), "person", 0.0, None)
    while made.undoable is not None:
        made = undo(made)
    assert made.plan == start.plan


def test_a_revision_says_who_when_in_which_turn_and_what() -> None:
    (revision,) = history()
    assert (revision.number, revision.author, revision.at, revision.turn) == (1, "model", 0.0, 1)
    assert revision.summary == "4 added"
    assert "model in turn 1" in str(revision)


def test_an_equal_plan_makes_no_revision_and_an_empty_first_one_does() -> None:
    made = history()
    assert made.add(plan("a", "b", "c", "d"), "person", 0.0, None) is made
    (first,) = PlanHistory(Plan()).add(Plan(), "model", 0.0, None)
    assert first.summary == "an empty plan"


def test_a_removed_plan_keeps_its_history() -> None:
    made = history(("person", RemoveEntry(1)))
    gone = made.add(None, "person", 0.0, None)
    assert gone.removed and gone[-1].removed and gone[-1].summary == "plan removed"
    assert (contents(gone.plan), contents(gone.plan_at(1)), contents(gone.plan_at(3))) == (
        "b c d",
        "a b c d",
        "b c d",
    )
    back = gone.add(gone.plan, "person", 0.0, None)
    assert not back.removed and back[-1].summary == "plan there again" and len(back) == 4


def test_two_histories_from_one_do_not_mix() -> None:
    common = history()
    one = common.add(plan("one"), "person", 0.0, None)
    two = common.add(plan("two"), "model", 0.0, None)
    assert (contents(one.plan_at(2)), contents(two.plan_at(2)), len(common)) == ("one", "two", 1)
    assert (one[-1].author, two[-1].author, common[-1].author) == ("person", "model", "model")


@pytest.mark.parametrize("number", [0, 3, -1])
def test_a_revision_that_is_not_there_is_named_with_the_valid_ones(number: int) -> None:
    with pytest.raises(PlanError, match=f"there is no revision {number} of plan 'plan-1': use 1 to 2"):
        history(("person", RemoveEntry(1))).plan_at(number)
    with pytest.raises(PlanError, match="there are none yet"):
        PlanHistory(Plan()).plan_at(1)


# -- undo ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mine", "theirs", "left"),
    [
        (UpdateEntry(2, "B"), UpdateEntry(3, "C"), "a b C d"),
        (RemoveEntry(2), UpdateEntry(3, "D"), "a b c D"),
        (RemoveEntry(1), UpdateEntry(3, "D"), "a b c D"),
        (AddEntry("x", at=1), RemoveEntry(3), "a c d"),
        (AddEntry("x"), MoveEntry(5, 1), "a b c d"),
        (MoveEntry(4, 1), UpdateEntry(2, "A"), "A b c d"),
        (UpdateEntry(1, "A"), MoveEntry(1, 4), "b c d a"),
    ],
)
def test_undo_leaves_what_the_model_has_done_since(mine: PlanEdit, theirs: PlanEdit, left: str) -> None:
    assert contents(undo(history(("person", mine), ("model", theirs))).plan) == left


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (UpdateEntry(2, "B"), UpdateEntry(2, "BB")),
        (UpdateEntry(2, "B"), RemoveEntry(2)),
        (AddEntry("x"), SetPlan(plan("p", "q"))),
        (ClearEntries(), SetPlan(plan("p", "q"))),
    ],
)
def test_undo_does_not_overwrite_what_was_changed_again(mine: PlanEdit, theirs: PlanEdit) -> None:
    made = history(("person", mine), ("model", theirs))
    if isinstance(mine, ClearEntries):  # its entries come back in front of the new ones
        assert contents(undo(made).plan) == "a b c d p q"
        return
    with pytest.raises(PlanError, match=r"revision 2 changed has been changed again since.*restore"):
        made.undone()


def test_undo_again_takes_back_the_one_before_and_an_undo_is_not_undone() -> None:
    made = history(("person", UpdateEntry(1, "A")), ("model", UpdateEntry(4, "D")), ("file", RemoveEntry(2)))
    assert made.undoable == 4
    once = undo(made)
    assert (contents(once.plan), once[-1].undoes, once.undoable) == ("A b c D", 4, 2)
    assert once[-1].summary.startswith("undid revision 4: ")
    twice = undo(once)
    assert (contents(twice.plan), twice.undoable) == ("a b c D", None)
    with pytest.raises(PlanError, match="nothing to undo"):
        twice.undone()


@pytest.mark.parametrize(
    ("mine", "theirs"), [(None, plan("A", "b", "c", "d")), (MoveEntry(1, 2), plan("b", "A", "c", "d"))]
)
def test_an_undo_that_comes_to_nothing_is_not_in_the_way_of_the_next(
    mine: PlanEdit | None, theirs: Plan
) -> None:
    made = history(("person", UpdateEntry(1, "A")))
    made = made.add(None if mine is None else mine.apply(made.plan), "person", 0.0, None)
    made = made.add(theirs, "model", 0.0, None)
    if mine is not None:  # and moved back
        made = made.add(plan("A", "b", "c", "d"), "model", 0.0, None)
    once = undo(made)
    assert (once.plan, len(once), once.undoable) == (made.plan, len(made), 2)
    assert contents(undo(once).plan) == "a b c d"


def test_a_plan_that_a_person_removed_is_brought_back_by_undo() -> None:
    made = history(("person", UpdateEntry(1, "A")))
    back = undo(made.add(None, "person", 0.0, None))
    assert (contents(back.plan), back.removed, back.undoable) == ("A b c d", False, 2)


def test_undoing_the_only_entry_leaves_an_empty_plan() -> None:
    made = PlanHistory(Plan()).add(plan("a"), "person", 0.0, None)
    assert undo(made.add(Plan((PlanEntry("a", "high"),)), "person", 0.0, None)).plan == plan("a")
    alone = made.add(plan("a", "b"), "model", 0.0, None)
    assert contents(undo(alone).plan) == "b"
    assert undo(made).plan == Plan()


# -- edits that were meant for an earlier revision -------------------------------------------------------


@pytest.mark.parametrize(
    ("meanwhile", "meant", "done"),
    [
        (RemoveEntry(1), UpdateEntry(3, status="completed"), UpdateEntry(2, status="completed")),
        (AddEntry("x", at=2), RemoveEntry(3), RemoveEntry(4)),
        (MoveEntry(1, 4), UpdateEntry(1, "A"), UpdateEntry(4, "A")),
        (AddEntry("x", at=1), MoveEntry(4, 3), MoveEntry(5, 4)),
        # to the side of the other entry that it was meant for, wherever the two have gone
        (MoveEntry(1, 4), MoveEntry(1, 3), MoveEntry(4, 3)),
        (MoveEntry(4, 1), MoveEntry(4, 2), MoveEntry(1, 2)),
        (UpdateEntry(2, "B"), UpdateEntry(2, status="completed"), UpdateEntry(2, status="completed")),
        (RemoveEntry(2), AddEntry("y", at=4), AddEntry("y", at=3)),
        (RemoveEntry(2), AddEntry("y"), AddEntry("y")),
    ],
)
def test_an_edit_follows_its_entry(meanwhile: PlanEdit, meant: PlanEdit, done: PlanEdit) -> None:
    made = history(("model", meanwhile))
    assert made.carried([meant], since=1) == (done,)
    assert made.carried([meant], since=2) == (meant,)


def test_an_edit_of_an_entry_that_is_gone_or_reworded_is_refused() -> None:
    gone = history(("model", RemoveEntry(2)))
    with pytest.raises(PlanError, match="entry 2, 'b', is no longer in the plan"):
        gone.carried([RemoveEntry(2)], since=1)
    reworded = history(("model", UpdateEntry(2, "better")))
    with pytest.raises(PlanError, match="entry 2 has been reworded meanwhile: it is now 'better'"):
        reworded.carried([UpdateEntry(2, "mine")], since=1)
    with pytest.raises(PlanError, match="there is no entry 9 in this plan: use 1 to 4"):
        reworded.carried([RemoveEntry(9)], since=1)


def test_several_edits_have_the_numbers_of_one_revision() -> None:
    made = history(("model", AddEntry("x", at=1)))
    edits = made.carried([RemoveEntry(1), UpdateEntry(2, "B"), MoveEntry(4, 3)], since=1)
    assert edits == (RemoveEntry(2), UpdateEntry(2, "B"), MoveEntry(4, 3))
    assert len(made) == 2 and len(made.add(plan("z"), "model", 0.0, None)) == 3
