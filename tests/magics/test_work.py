"""`%acp work`: numbers, plans and options, and what is said of a plan that has changed."""

from __future__ import annotations

from acp_notebook import Turn, current
from acp_notebook.magics.complete import suggestions
from harness.cells import Cells


def planned(cells: Cells) -> Cells:
    cells.run("%%acp plan set\n- [x] Load\n- [ ] Clean\n- [ ] Plot")
    return cells


def test_it_waits_for_the_turn_which_is_its_value(echo: Cells) -> None:
    ran = planned(echo).run("%acp work")
    assert isinstance(ran.value, Turn) and not ran.value.running
    assert ran.value.prompt.startswith('Work on the plan. Take entry 2, "Clean", next')
    assert ran.text.count("You: Work on the plan.") == 1
    assert echo.run("%acp work 2, 3 --out turn").value.prompt.endswith('2. "Clean"\n3. "Plot"')
    assert echo.run("turn.prompt").value.startswith("Work on these entries")


def test_a_changed_plan_is_shown_and_not_begun(echo: Cells) -> None:
    planned(echo).run("%acp work")
    echo.run("%acp plan update 2 --content Clean twice\n%acp plan cancel 3")
    ran = echo.try_run("%acp work")
    assert [line for line in ran.lines if line] == [
        "Changed since echo saw the plan last:",
        '  2. "Clean twice": was "Clean"',
        '  3. "Plot": pending → cancelled',
        "UsageError: the plan has changed since the agent saw it: %acp work --yes works on it as it is now",
    ]
    session = current()
    assert session is not None and len(session.turns) == 1
    assert echo.run("%acp work --yes 2").value.prompt.startswith("Work on entry 2")


def test_mistakes_are_a_line(echo: Cells) -> None:
    assert echo.fails("%acp work").startswith("there is nothing to work on: the plan is empty")
    planned(echo)
    assert echo.fails("%acp work 4") == "there is no entry 4 in this plan: use 1 to 3"
    assert echo.fails("%acp work all") == "'all' is not a number"
    assert echo.fails("%acp work 1").startswith("entry 1 is completed: %acp plan update 1 --status pending")
    assert echo.fails("%acp work --plan other").startswith("there is no plan 'other'")
    assert echo.fails("%acp work --out 1x") == "--out '1x' is not a name for a variable"


def test_it_returns_at_once_in_the_background(echo: Cells) -> None:
    ran = planned(echo).run("%acp work --bg --out turn")
    assert "Turn 1 of 'echo' runs" in ran.text
    echo.run("turn.wait()")


def test_tab_knows_the_entries_that_are_open(echo: Cells) -> None:
    planned(echo)
    assert suggestions("work ", {})[1][:2] == ["2", "3"]
    assert "--yes" in suggestions("work 2 --", {})[1]
