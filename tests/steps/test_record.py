"""The audit record of a run, and the run as a script and a notebook that do the same."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import nbformat
import pytest
from nbclient import NotebookClient
from pydantic_ai import Tool

from acp_notebook import AcpError, Sharable, StepToolset
from acp_notebook.steps.record import RunRecord
from harness.journal import kill, run
from harness.steps import reference, step
from harness.wire import local_sockets

Any_ = Annotated[Any, Sharable()]

#: Run as a program of its own: tools that are defined where no script can import them from.
PROGRAM = '''
import asyncio, json, sys
from typing import Annotated, Any
import math
from pydantic import BaseModel
from pydantic_ai import Tool
from pydantic_ai.capabilities import HandleDeferredToolCalls
from acp_notebook import Sharable, StepToolset
from harness.journal import run
from harness.steps import reference, step

FACTOR = 2
Any_ = Annotated[Any, Sharable()]

def helper(n):
    return math.floor(n) * FACTOR

def create_backup(database: str) -> dict[str, Any]:
    """With a docstring."""
    return {"backup_id": "bk-42", "parts": [{"n": 1.5}, {"n": 2}], "size": len(database)}

def double(n: Any_) -> int:
    return helper(n)

def pair(a: Any_, b: Any_ = None) -> Any:
    return [a, b]

async def later(value: Any_) -> Any:
    return value

def drop(table: Any_) -> str:
    return f"dropped {table}"

def login(user: str, password: str) -> int:
    return len(password)

steps = [
    step("backup", "create_backup", database="prod"),
    step("first part", "double", n=reference("backup", "parts", 0, "n")),
    {**step("all", "double", n=reference("item", "n")), "for_each": reference("backup", "parts")},
    {**step("yes", "pair", a=reference("all", -1)),
     "when": {"value": reference("first part"), "less_than": 9}},
    {**step("no", "pair", a=1), "when": {"value": reference("backup", "size"), "one_of": [1, 2]}},
    step("never", "pair", a=reference("no")),
    step("class", "pair", a={"k": [reference("yes"), {"literally": reference("x")}]}, b="it\\'s\\n"),
    step("gone", "drop", table=reference("backup", "backup_id")),
    {**step("dropped", "drop", table=reference("item")), "for_each": reference("all")},
    step("in", "login", user="ada", password="hunter22"),
] + ([step("late", "later", value=reference("class"))] if sys.argv[1] == "async" else [])
tools = [create_backup, double, pair, later, Tool(drop, requires_approval=True), login]
allow = HandleDeferredToolCalls(lambda ctx, requests: requests.build_results(approve_all=True))
run_id, answer = asyncio.run(run(StepToolset(tools), *steps, capabilities=[allow]))
assert answer["status"] == "ok", answer
print(json.dumps([run_id, answer["results"], answer.get("notes")]))
'''
SHOW = (
    "\nimport json\nprint(json.dumps({{name: globals()[name] for name in {names} if name in globals()}}))\n"
)
NAMES = {
    "backup": "backup",
    "first part": "first_part",
    "all": "all_2",
    "yes": "yes",
    "class": "class_2",
    "gone": "gone",
    "dropped": "dropped",
    "in": "in_2",
}


record, runs = StepToolset.record, StepToolset.runs


def made(kind: str, tmp_path: Path) -> tuple[RunRecord, dict[str, Any]]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    found = subprocess.run(
        [sys.executable, str(program), kind],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        timeout=100,
    )
    assert found.returncode == 0, found.stderr
    run_id, results, notes = json.loads(found.stdout)
    assert not notes
    return record(run_id), results


def test_a_script_gives_the_same_values_and_asks_before_gated_steps(tmp_path: Path) -> None:
    kept, results = made("sync", tmp_path)
    text = kept.to("py")
    assert "hunter22" not in text
    assert "backup = create_backup(database='prod')" in text
    script = tmp_path / "again.py"
    script.write_text(text + SHOW.format(names=list(NAMES.values())))
    env = {**os.environ, "IN_PASSWORD": "hunter22"}
    done = subprocess.run(
        [sys.executable, str(script)], input="y\n" * 3, capture_output=True, text=True, env=env, timeout=60
    )
    assert done.returncode == 0, done.stderr + text
    values = json.loads(done.stdout.splitlines()[-1].rpartition("[y/N] ")[2])
    assert {step: values[name] for step, name in NAMES.items()} == results
    no = subprocess.run(
        [sys.executable, str(script)], input="n\n", capture_output=True, text=True, env=env, timeout=60
    )
    assert "drop was not allowed" in no.stderr


def test_async_tools_make_an_async_script_and_notebook(tmp_path: Path) -> None:
    kept, results = made("async", tmp_path)
    script = tmp_path / "again.py"
    script.write_text(kept.to("py"))
    env = {**os.environ, "IN_PASSWORD": "hunter22"}
    done = subprocess.run(
        [sys.executable, str(script)], input="y\n" * 3, capture_output=True, text=True, env=env, timeout=60
    )
    assert done.returncode == 0, done.stderr
    book = nbformat.reads(kept.to("ipynb"), as_version=4)
    nbformat.validate(book)
    answers = "import os; os.environ['IN_PASSWORD'] = 'hunter22'; input = lambda text: 'y'"
    book.cells.insert(1, nbformat.v4.new_code_cell(answers))
    book.cells.append(nbformat.v4.new_code_cell("late"))
    NotebookClient(book, timeout=60, record_timing=False, config=local_sockets()).execute()
    assert eval(book.cells[-1].outputs[0]["data"]["text/plain"]) == results["late"]


def number(value: Any_, token: str = "") -> Any:
    return value


async def test_a_record_shows_itself_and_is_json() -> None:
    run_id, _ = await run(
        StepToolset([number]),
        step("a", "number", value={"x": "<b>|"}, token="hunter22"),
        step("b", "number", value=reference("a", "x")),
    )
    kept = record(run_id[:8])
    shown = kept._repr_mimebundle_()
    assert "ok" in shown["text/plain"] and "b: number(value=← a.x)" in shown["text/plain"]
    assert "<b>" not in shown["text/html"].replace("<b>Run", "")
    assert "hunter22" not in str(shown) + kept.to("json")
    data = json.loads(kept.to("json"))
    assert [(s["id"], s["status"], s["result"]) for s in data["steps"]] == [
        ("a", "ok", {"x": "<b>|"}),
        ("b", "ok", "<b>|"),
    ]
    assert runs()[0].run_id == run_id and run_id[:8] in str(runs()._repr_mimebundle_())


@dataclass
class Told:
    n: int = 1


@pytest.mark.parametrize("told", [Told(), {"n": 1}, [1]], ids=["dataclass", "mapping", "list"])
@pytest.mark.parametrize("key", ["n) ; print('in'", "n\nprint()", "²", "word", "class"])
async def test_a_way_that_leads_nowhere_is_no_code(told: Any, key: str) -> None:
    def tell() -> Any:
        return told

    run_id, answer = await run(
        StepToolset([tell, Tool(number, name="a.b\nprint()")]),
        step("t", "tell"),
        step("n", "a.b\nprint()", value=reference("t", key)),
    )
    assert answer["status"] == "error"
    found = [*ast.walk(ast.parse(record(run_id).to("py")))]
    assert not [node for node in found if isinstance(node, ast.Name) and node.id == "print"]
    keys = [node.slice for node in found if isinstance(node, ast.Subscript)]
    assert key in [node.value for node in keys if isinstance(node, ast.Constant)]


async def test_what_a_kill_left_is_unknown_and_pending() -> None:
    run_id, _ = await run(StepToolset([number]), *(step(n, "number", value=1) for n in "abc"))
    kill(run_id, 3)
    kept = record(run_id)
    assert kept.status == "unfinished"
    assert [step.status for step in kept.steps] == ["ok", "unknown", "pending"]


async def test_a_record_draws_itself_and_shows_what_would_mislead() -> None:
    run_id, _ = await run(
        StepToolset([number], keep_going=True),
        step("a\u202eb", "number", value=["x\u200by"]),
        {**step("c", "number", value=reference("item")), "for_each": reference("a\u202eb")},
        {**step("d", "number", value=1), "when": {"value": reference("c"), "equals": 1}},
    )
    kept = record(run_id)
    for text in (*kept._repr_mimebundle_().values(), kept.diagram):
        assert "\u202e" not in text and "U+202E" in text and "U+200B" in text
    assert "s1 --> s2" in kept.diagram and "s2 --> s3" in kept.diagram and "s1 --> s3" not in kept.diagram
    assert "skipped" in kept.diagram


async def test_an_id_cannot_look_like_another_step() -> None:
    run_id, _ = await run(StepToolset([number]), step("a\nok  0 ms  z", "number", value=1))
    assert len(str(record(run_id)).splitlines()) == 3


async def test_a_record_is_written_to_a_file_and_never_over_one(tmp_path: Path) -> None:
    run_id, _ = await run(StepToolset([number]), step("a", "number", value=1))
    kept = record(run_id)
    kept.export(tmp_path / "run.py")
    assert "a = number(value=1)" in (tmp_path / "run.py").read_text()
    with pytest.raises(AcpError, match="exists"):
        kept.export(tmp_path / "run.py")
    kept.export(tmp_path / "run.py", force=True)
    with pytest.raises(AcpError, match="no form 'txt'"):
        kept.export(tmp_path / "run.txt")


def test_there_is_no_such_run() -> None:
    asyncio.run(run(StepToolset([number]), step("a", "number", value=1)))
    with pytest.raises(AcpError, match="there is no run 'nothing'"):
        record("nothing")
