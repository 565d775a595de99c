"""JSON, guessing what a text is, and names of formats."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from acp_notebook.errors import PlanError
from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.plan.formats import FORMATS, format_of, parse, update, write, write_all

ENTRIES = [{"content": "One"}, {"content": "Two", "priority": None, "status": "completed"}]
PLAN = Plan((PlanEntry("One"), PlanEntry("Two", status="completed")))


@pytest.mark.parametrize(
    "value",
    [
        ENTRIES,
        {"entries": ENTRIES},
        {"planId": "plan-1", "type": "items", "entries": ENTRIES, "_meta": None, "title": None},
        {"sessionUpdate": "plan", "entries": ENTRIES},
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "plan-1", "entries": ENTRIES}},
        {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": "s", "update": {"sessionUpdate": "plan", "entries": ENTRIES}},
        },
        {"todos": [{"content": "One", "status": None}, {"content": "Two", "status": "completed"}]},
        {
            "explanation": "…",
            "plan": [{"step": "One", "status": "pending"}, {"step": "Two", "status": "completed"}],
        },
        ["One", {"text": "Two", "status": "completed"}],
        {"tasks": [{"title": "One"}, {"task": "Two", "status": "completed"}]},
        [{"planId": "plan-1", "entries": ENTRIES}],
    ],
)
def test_json_is_read_in_every_shape_it_is_found_in(value: Any) -> None:
    assert parse(json.dumps(value)) == PLAN


def test_json_is_written_as_an_acp_plan_that_people_can_read() -> None:
    plan = Plan(
        (PlanEntry("Tür", "high", id="t", meta={"k": 1}, raw={"activeForm": "Färbe die Tür"}),),
        "p",
        title="T",
        meta=MappingProxyType({"a": None}),
        raw={"later": [1]},
    )
    text = write(plan, "json")
    assert "Tür" in text and text.endswith("}\n")
    assert json.loads(text) == {
        "planId": "p",
        "type": "items",
        "title": "T",
        "entries": [
            {
                "content": "Tür",
                "priority": "high",
                "status": "pending",
                "id": "t",
                "_meta": {"k": 1},
                "activeForm": "Färbe die Tür",
            }
        ],
        "_meta": {"a": None},
        "later": [1],
    }
    assert parse(text) == plan


def test_plan_02_unknown_status() -> None:
    wire = """{"sessionUpdate": "plan", "entries": [
        {"content": "Draft outline", "priority": "medium", "status": "completed"},
        {"content": "Ask the teacher", "priority": "medium", "status": "cancelled"},
        {"content": "Grade quiz", "priority": "_odd", "status": "blocked"},
        {"content": "Publish"}]}"""
    plan = parse(wire)
    assert [entry.status for entry in plan] == ["completed", "cancelled", "blocked", "pending"]
    assert plan.progress == (1, 4)
    assert parse(write(plan, "json")) == plan


def test_plans_of_other_types_are_kept_whole() -> None:
    board = {
        "type": "_board",
        "planId": "b",
        "columns": [{"name": "To do"}],
        "entries": [1, 2],
        "content": "x",
    }
    plan = parse(json.dumps(board))
    assert (plan.type, plan.plan_id, plan.content, plan.entries) == ("_board", "b", "x", ())
    assert json.loads(write(plan, "json")) == board


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"entries": [\n  {"content" "x"}]}',
            "this is not JSON: Expecting ':' delimiter at line 2, column 14",
        ),
        ("", "this is not JSON: Expecting value at line 1, column 1"),
        ("[" * 100_000, "this JSON cannot be read: "),
        ("9" * 5_000, "this JSON cannot be read: "),
        ("{}", "there is no plan here: "),
        ("1", "there is no plan here: "),
        ('{"entries": {}}', "a plan of type 'items' needs 'entries'"),
        ('{"type": "items", "planId": "p"}', "a plan of type 'items' needs 'entries'"),
        ('{"type": "markdown", "content": 1}', "a plan of type 'markdown' needs 'content'"),
        ('{"type": "file"}', "a plan of type 'file' needs 'uri'"),
        ('["a", {"status": "pending"}]', "entry 2 has no text: "),
        ("[1]", "entry 1 has no text: "),
        ('[{"content": "a", "priority": 1}]', "entry 1 has the priority 1: "),
    ],
)
def test_what_is_wrong_with_a_json_file_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(PlanError) as error:
        parse(text, "json")
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (Plan(meta={"x": {1, 2}}), "this plan cannot be written as JSON: set is not a JSON value"),
        (Plan(meta={"x": float("nan")}), "this plan cannot be written as JSON: "),
        (Plan(type="file"), "a plan of type 'file' needs 'uri'"),
        (Plan((PlanEntry("a"),), type="_own"), "a plan of type '_own' cannot be written with entries"),
    ],
)
def test_a_plan_that_json_cannot_hold_is_refused(plan: Plan, message: str) -> None:
    with pytest.raises(PlanError) as error:
        write(plan, "json")
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('\ufeff {"entries": ["a"]}', "a"),
        ('[\n "a"\n]', "a"),
        ('[{"content": "a"}]', "a"),
        ("[link](x)\n- [ ] a", "a"),
        ("[ ] words\n- [ ] a", "a"),
        ("- a", "a"),
        ("- [ ] a\n- content: b", "a"),
        ("---\ntodos: later\nentries:\n- x: 1\n---\n- [ ] a", "a"),
        ("- content: a\n  status: completed\n", "a"),
        ("# comment\ntitle: T\r\nentries:\r\n  - a\r\n", "a"),
        ("---\nsteps:\n- a\n", "a"),
        ("status;task\ndone;a\n", "a"),
        ("What to do, in order.\n\ntasks:\n- a\n", "a"),
        ("a: b, c", None),
    ],
)
def test_a_text_is_taken_for_what_it_looks_like(text: str, content: str | None) -> None:
    if content is None:
        with pytest.raises(PlanError, match="there is no list in this text"):
            Plan.parse(text)
    else:
        assert [entry.content for entry in Plan.parse(text)] == [content]


def test_fields_of_the_plan_can_be_given_along() -> None:
    assert Plan.parse("- [ ] a", plan_id="p", title="T") == Plan((PlanEntry("a"),), "p", title="T")


@pytest.mark.parametrize(
    ("name", "format"),
    [
        (".md", "md"),
        ("plan.MD", "md"),
        ("a/b.plan.markdown", "md"),
        (".json", "json"),
        ("md", "md"),
        ("a.yml", "yaml"),
    ],
)
def test_the_format_of_a_file_name(name: str, format: str) -> None:
    assert format_of(name) == format


@pytest.mark.parametrize("name", ["plan.docx", "plan", "", "a.md/b"])
def test_the_format_of_other_file_names_is_an_error_that_lists_the_known_endings(name: str) -> None:
    with pytest.raises(
        PlanError, match=r"'.*' is not the name of a plan file: use one that ends with \.md, .*\.json"
    ):
        format_of(name)


def test_an_org_file_is_refused_in_so_many_words() -> None:
    with pytest.raises(PlanError, match=r"'plan\.ORG' is an Org file, which is neither read nor written"):
        format_of("plan.ORG")


def test_an_unknown_format_is_an_error_that_lists_the_known_ones() -> None:
    for use in (lambda: Plan().to("docx"), lambda: Plan.parse("- a", "docx")):
        with pytest.raises(PlanError, match=f"'docx' is not a plan format: use {', '.join(FORMATS)}"):
            use()


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_has_its_own_endings(format: str) -> None:
    assert all(format_of(suffix) == format for suffix in FORMATS[format].suffixes)
    assert "/" in FORMATS[format].mime
    assert format in FORMATS[format].suffixes[0] or format == "mermaid"


@pytest.mark.parametrize("format", ["html", "mermaid", "ipynb"])
def test_what_is_only_written_is_not_read(format: str) -> None:
    with pytest.raises(PlanError, match=f"plans are not read from {format}: use md, json, yaml, csv"):
        Plan.parse("- a", format)


@pytest.mark.parametrize("format", ["md", "json", "yaml", "csv"])
def test_a_file_that_cannot_hold_a_plan_in_place_is_refused_in_one_line(format: str) -> None:
    text = write(PLAN, format)
    for plan in (Plan(type="markdown", content="x"), Plan((PlanEntry("a"),), type="_own")):
        with pytest.raises(PlanError, match=r"cannot be changed in place .*: write it anew with --force$"):
            update(text, plan, format)
    with pytest.raises(PlanError, match="this holds 2 plans"):
        update(write_all([PLAN, Plan(plan_id="q")], format), PLAN, format)


def test_plans_that_are_no_lists_are_left_as_they_are_or_refused() -> None:
    text = '{"type": "markdown", "content": "x"}'
    plan = Plan.parse(text)
    assert update(text, plan, "json") == text
    with pytest.raises(PlanError, match="--force"):
        update(text, replace(plan, content="y"), "json")


def test_what_takes_time_to_import_is_imported_when_it_is_needed() -> None:
    code = "import sys, acp_notebook.magics.table; print({'yaml', 'pandas', 'nbformat'} & sys.modules.keys())"
    found = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"
