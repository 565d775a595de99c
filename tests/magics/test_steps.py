"""`%acp steps`: where steps come from, what is said of them, and that running them waits as asking does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent

from acp_notebook import ScriptedModel, StepApp, StepOptions, Turn, current
from acp_notebook.magics.complete import suggestions
from harness.cells import Cells
from harness.steps import reference, step

STEPS = [step("b", "create", database="prod"), step("r", "restore", backup=reference("b", "id"))]
YAML = """
- {id: b, tool: create, args: {database: prod}}
- id: r
  tool: restore
  args:
    backup: {output_by_reference: {b: [id]}}
"""


@pytest.fixture
def stepping(cells: Cells) -> Cells:
    """Cells with a session whose agent has steps."""
    app = StepApp("backups")

    @app.tool()
    def create(database: str) -> dict[str, Any]:
        return {"id": f"bk-{database}"}

    @app.tool(options=StepOptions(sharable=("backup",)))
    def restore(backup: str) -> str:
        return f"restored {backup}"

    cells.variables["app"] = app
    cells.variables["agent"] = Agent(ScriptedModel(), name="stepper", toolsets=[app])
    cells.run("%acp start agent")
    return cells


def test_steps_come_from_files_variables_and_cells(stepping: Cells) -> None:
    written = json.dumps(STEPS)
    Path("a.json").write_text(written)
    Path("b.yaml").write_text(YAML)
    Path("c.md").write_text(f"# Backup\n\nAs follows:\n\n```json\n{written}\n```\n")
    Path("d.md").write_text(f"```yaml{YAML}```\n")
    Path("e.json").write_text(json.dumps({"steps": STEPS}))
    stepping.variables |= {"listed": STEPS, "text": written, "path": Path("a.json"), "call": {"steps": STEPS}}
    for where in ("a.json", "b.yaml", "c.md", "d.md", "e.json", "listed", "text", "path", "call"):
        assert stepping.run(f"%acp steps check {where}").lines[-1].endswith("nothing runs yet: fine."), where
    assert "2 steps, one after another" in stepping.run(f"%%acp steps check\n{YAML}").text


def test_every_problem_is_told_at_once(stepping: Cells) -> None:
    stepping.variables["wrong"] = [step("b", "creat"), step("r", "restore", backup=reference("x"), y=1)]
    for name in ("check", "preview"):
        ran = stepping.try_run(f"%acp steps {name} wrong")
        assert len([line for line in ran.lines if line.startswith("- step")]) == 3
        assert ran.lines[-1] == "UsageError: the steps have 3 problems; nothing has run"


def test_mistakes_are_a_line(stepping: Cells) -> None:
    assert stepping.fails("%acp steps check").startswith("this is used as %acp steps check FILE|VAR")
    assert stepping.fails("%acp steps run nowhere.json") == "'nowhere.json' is neither a variable nor a file"
    Path("broken.yaml").write_text("- {id: [")
    assert stepping.fails("%acp steps check broken.yaml").startswith("this is not YAML")
    stepping.variables["odd"] = [step("b", "create", database=object())]
    assert "steps are given as JSON has them" in stepping.fails("%acp steps run odd")


def test_preview_shows_order_and_dependencies(stepping: Cells) -> None:
    stepping.variables["listed"] = STEPS
    text = stepping.run("%acp steps preview listed").text
    assert text.startswith("2 steps, one after another; nothing runs yet\n1. b  create(")
    assert current().turns == ()  # type: ignore[union-attr]


def test_running_waits_and_is_listed(stepping: Cells) -> None:
    stepping.variables["listed"] = STEPS
    ran = stepping.run("%acp steps run listed --out turn")
    assert isinstance(ran.value, Turn) and not ran.value.running
    assert "✓ 2. r: restore(backup=← b.id)" in ran.text and '→ "restored bk-prod"' in ran.text
    assert stepping.run("turn.stop_reason").value == "end_turn"
    before = stepping.run("%acp steps").lines
    assert "ok" in before[-1] and "2 steps  backups · stepper" in before[-1]
    stepping.run("%acp steps run listed --bg --out later\nlater.wait()")
    assert stepping.run("%acp steps").lines[-1] != before[-1]


def test_a_run_that_did_not_end_well_goes_on(stepping: Cells) -> None:
    refused = stepping.variables["refused"] = {"now": True}

    @stepping.variables["app"].tool()
    def once() -> str:
        if refused["now"]:
            raise ValueError("not yet")
        return "now"

    stepping.variables["listed"] = [STEPS[0], step("o", "once")]
    stepping.run("%acp steps run listed")
    run_id = stepping.run("%acp steps").lines[-1].split()[0]
    assert suggestions("steps resume ", {})[1][:2] == ["last", run_id]
    stepping.run("%acp steps resume last")
    refused["now"] = False
    assert '→ "now"' in stepping.run(f"%acp steps resume {run_id}").text
    assert stepping.fails("%acp steps resume").startswith("this is used as %acp steps resume RUN")
    assert "ok" in stepping.run("%acp steps").lines[-1]


def test_a_run_is_shown_and_written(stepping: Cells) -> None:
    assert stepping.fails("%acp steps show last").startswith("no run of steps has begun in this session")
    stepping.variables["listed"] = STEPS
    stepping.run("%acp steps run listed")
    run_id = stepping.run("%acp steps").lines[-1].split()[0]
    assert "restored bk-prod" in stepping.run(f"%acp steps show {run_id}").text
    assert json.loads(stepping.run("%acp steps show last --format json").text)["status"] == "ok"
    for name in ("a.json", "a.py", "a.ipynb"):
        assert stepping.run(f"%acp steps show steps-{run_id} {name}").lines == [f"Wrote {name}"]
    assert "create(" in Path("a.py").read_text()
    assert "exists" in stepping.fails(f"%acp steps show {run_id} a.py")
    stepping.run(f"%acp steps show {run_id} a.py --force")
    assert stepping.fails("%acp steps show ffffffff").startswith("there is no run 'ffffffff'")
    assert "--format" in suggestions(f"steps show {run_id} --", {})[1]


def test_tab_knows_files_and_variables(stepping: Cells) -> None:
    Path("a.json").write_text("[]")
    Path("b.png").write_text("")
    found = suggestions("steps run ", {"listed": STEPS})[1]
    assert "listed" in found and "a.json" in found and "b.png" not in found
    assert {"check", "preview", "run"} <= set(suggestions("steps ", {})[1])
    assert "--approve" in suggestions("steps run --", {})[1]
