"""`%acp plan history|diff|restore|undo`."""

from __future__ import annotations

import pytest

from acp_notebook import current
from acp_notebook.magics.complete import suggestions
from harness.cells import Cells


def contents() -> list[str]:
    session = current()
    assert session is not None
    return [entry.content for entry in session.plan]


@pytest.fixture
def edited(echo: Cells) -> Cells:
    """A plan with five revisions."""
    echo.run("%acp plan add load\n%acp plan add plot\n%acp plan done 1\n%acp plan update 2 --content draw")
    echo.run("%acp plan remove 1")
    return echo


def test_history_lists_who_and_what(edited: Cells) -> None:
    lines = edited.run("%acp plan history").lines
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "4", "5"]
    assert all(" person: " in line for line in lines)
    assert [line.partition("person: ")[2] for line in lines] == [
        '1. "load" added, pending, medium priority',
        '2. "plot" added, pending, medium priority',
        '1. "load": pending → completed',
        '2. "draw": was "plot"',
        '1. "load" removed',
    ]


def test_diff_between_revisions_and_to_the_present(edited: Cells) -> None:
    assert edited.run("%acp plan diff 2 4").lines == [
        '1. "load": pending → completed',
        '2. "draw": was "plot"',
    ]
    assert edited.run("%acp plan diff 4").text == '1. "load" removed\n'
    assert edited.run("%acp plan diff 5").text == "No difference.\n"


def test_restore_goes_back_and_is_a_revision_of_its_own(edited: Cells) -> None:
    assert edited.run("%acp plan restore 2").text == "Plan 'plan-1' is as at revision 2: 0 of 2 done\n"
    assert contents() == ["load", "plot"]
    assert len(edited.run("%acp plan history").lines) == 6


def test_undo_takes_back_one_change_after_another(edited: Cells) -> None:
    out = edited.run("%acp plan undo\n%acp plan undo").lines
    assert out[0] == 'undid revision 5: 1. "load" added, completed, medium priority · 1 of 2 done'
    assert contents() == ["load", "plot"]


def test_a_removed_plan_can_be_read_and_restored(edited: Cells) -> None:
    session = current()
    assert session is not None
    session.remove_plan("plan-1")
    assert edited.run("%acp plan history --plan plan-1").lines[-1].endswith("plan removed")
    edited.run("%acp plan restore 6 --plan plan-1")
    assert contents() == ["draw"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("restore 9", "there is no revision 9 of plan 'plan-1': use 1 to 5"),
        ("restore", "this is used as %acp plan restore REV"),
        ("diff", "this is used as %acp plan diff A [B]"),
        ("diff x", "'x' is not a number"),
        ("history --plan nope", "there is no plan 'nope': this session's plans are 'plan-1'"),
        ("undo 3", "%acp plan undo takes no '3': use %acp plan undo [--plan ID]"),
    ],
)
def test_a_mistake_is_one_line_that_helps(edited: Cells, line: str, said: str) -> None:
    assert said in edited.fails(f"%acp plan {line}")


def test_nothing_to_undo(echo: Cells) -> None:
    assert "there is nothing to undo" in echo.fails("%acp plan undo")
    assert echo.run("%acp plan history").text == "Plan 'plan-1' has no revisions.\n"


def test_revisions_and_removed_plans_are_completed(edited: Cells) -> None:
    assert suggestions("plan restore ", {})[1][:5] == ["5", "4", "3", "2", "1"]
    session = current()
    assert session is not None
    session.set_plan("- [ ] other", "notes")
    session.remove_plan("plan-1")
    assert suggestions("plan history --plan ", {})[1] == ["plan-1", "notes"]
