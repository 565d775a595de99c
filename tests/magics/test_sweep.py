"""`%acp sweep`: how it is typed, what it shows and hands out, and what it refuses before anything runs."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from pydantic_ai import Agent

from acp_notebook import Say, ScriptedModel, current
from acp_notebook.magics.complete import suggestions
from acp_notebook.notebook import sessions
from acp_notebook.sweeps import Sweep
from harness.cells import Cells


@pytest.fixture
def thinker(cells: Cells) -> Cells:
    """Cells with a session on an agent that says how it thinks, and what it was asked."""
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Say(f"{turn.thinking}: {turn.prompt}")

    cells.variables["agent"] = Agent(model, name="thinker")
    cells.run("%acp start agent")
    return cells


def test_the_cell_waits_and_shows_a_table_once(thinker: Cells) -> None:
    ran = thinker.run('%acp sweep "Why?" --efforts low,high')
    assert isinstance(ran.value, Sweep) and not ran.value.running
    assert ran.text.count("low     ") == 1 and "low: Why?" in ran.text and "high: Why?" in ran.text
    session = current()
    assert session is not None and session.turns == () and sessions() == (session,)


@pytest.mark.parametrize(
    "cell",
    [
        "%acp sweep --efforts low,high Why --not",
        '%acp sweep "Why --not" --efforts low,high',
        "%acp sweep Why --not --efforts=low,high --approve",
        "%%acp sweep --efforts low,high\nWhy --not\n",
    ],
)
def test_the_prompt_stands_before_or_after_the_options(thinker: Cells, cell: str) -> None:
    assert thinker.run(cell).value.prompt == "Why --not"


def test_several_kinds_are_combined(thinker: Cells) -> None:
    done = thinker.run("%acp sweep Why --modes ask,plan --efforts low,high").value
    assert [row.label for row in done] == ["ask, low", "ask, high", "plan, low", "plan, high"]


def test_out_gives_a_frame_or_a_list(thinker: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    thinker.run("%acp sweep Why --efforts low,high --out rows")
    frame = thinker.variables["rows"]
    assert list(frame.answer) == ["low: Why", "high: Why"] and list(frame.effort) == ["low", "high"]
    monkeypatch.setattr("acp_notebook.magics.sweep.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    thinker.run("%acp sweep Why --efforts low,high --out rows")
    rows = thinker.variables["rows"]
    assert [row["effort"] for row in rows] == ["low", "high"] and rows[0]["turn"].text == "low: Why"


def test_it_waits_in_a_function_too(thinker: Cells) -> None:
    thinker.run("def run():\n    done = %acp sweep Why --efforts low\n    return done.rows\nrows = run()")
    assert [row.answer for row in thinker.variables["rows"]] == ["low: Why"]


def test_refused_before_anything_runs(thinker: Cells) -> None:
    assert thinker.fails("%acp sweep Why").startswith(
        "say what the sweep goes through: --efforts A,B, --modes"
    )
    assert thinker.fails("%acp sweep --efforts low").startswith("the prompt is empty")
    assert thinker.fails("%acp sweep Why --efforts low,hihg").startswith("effort 'hihg' is not offered: use ")
    assert thinker.fails("%acp sweep Why --modes code").startswith(
        "mode 'code' is not offered: use ask, plan"
    )
    assert thinker.fails("%acp sweep Why --models a").startswith("this session has no model to choose")
    assert thinker.fails("%acp sweep Why --efforts low --out 1").startswith("--out '1' is not a name")


def test_tab_completes_lists(thinker: Cells) -> None:
    assert suggestions("sweep Why --efforts low,h", {}) == ("low,h", ["low,high"])
    assert "low,low" not in suggestions("sweep Why --efforts low,", {})[1]
    assert "--modes" in suggestions("sweep Why --", {})[1]
