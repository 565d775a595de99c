"""YAML as people write it, and as it is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_notebook.errors import PlanError
from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.plan.formats import parse, write, write_all

PLAN = Plan((PlanEntry("One"), PlanEntry("Two", "high", "completed", id="t")), title="T")


@pytest.mark.parametrize(
    "text",
    [
        "title: T\nentries:\n- One\n- content: Two\n  priority: high\n  status: completed\n  id: t\n",
        "name: T\ntodos: [One, {step: Two, priority: high, status: completed, id: t}]\n",
        "---\n# comment\nname: 'T'\ntasks:\n\n  - \"One\" # first\n"
        "  - {task: Two, priority: high, status: completed, id: t}\n...\n",
    ],
)
def test_yaml_is_read_in_every_shape_it_is_found_in(text: str) -> None:
    assert parse(text, "yaml") == PLAN == parse(text.replace("\n", "\r\n"), "yaml")


def test_every_json_is_yaml() -> None:
    assert parse(json.dumps(json.loads(write(PLAN, "json"))), "yaml") == PLAN


@pytest.mark.parametrize(
    ("scalar", "content"),
    [
        ("no", "no"),
        ("On", "On"),
        ("1.10", "1.10"),
        ("007", "007"),
        ("12:30", "12:30"),
        ("2026-01-01", "2026-01-01"),
        ("0x1F", "0x1F"),
        ("=", "="),
        ("'null'", "null"),
        ("a\n    b", "a b"),
        ("|\n    a\n    b", "a\nb\n"),
    ],
)
def test_texts_are_taken_as_they_are_written(scalar: str, content: str) -> None:
    assert parse(f"- content: {scalar}\n  id: {scalar}\n", "yaml")[0] == PlanEntry(content, id=content)
    assert parse(f"- {scalar}\n", "yaml")[0].content == content


def test_what_is_no_text_of_a_plan_keeps_its_type() -> None:
    text = (
        "- content: a\n  priority: ~\n  status:\n  _meta: {content: 1, x: [no, 1.5, true, ~]}\n  effort: 3\n"
    )
    assert parse(text, "yaml")[0] == PlanEntry(
        "a", meta={"content": 1, "x": ["no", 1.5, True, None]}, raw={"effort": 3}
    )


def test_what_is_written_can_be_read_by_people() -> None:
    plan = Plan(
        (PlanEntry("Load\n- all\n", "high"), PlanEntry("Über: 2026-01-01", status="_x"), PlanEntry("a\n  b")),
        title="yes",
    )
    assert write(plan, "yaml") == (
        "planId: plan-1\n"
        "type: items\n"
        "title: 'yes'\n"
        "entries:\n"
        '  - content: "Load\\n- all\\n"\n'
        "    priority: high\n"
        "    status: pending\n"
        "  - content: 'Über: 2026-01-01'\n"
        "    priority: medium\n"
        "    status: _x\n"
        "  - content: |-\n"
        "      a\n"
        "        b\n"
        "    priority: medium\n"
        "    status: pending\n"
    )
    shared: dict[str, Any] = {"k": [1]}
    assert "&" not in write_all([Plan(meta=shared), Plan(meta=shared)], "yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "- content: [a\n",
            "this is not YAML: expected ',' or ']', but got '<stream end>' at line 2, column 1",
        ),
        ("- &a x\n- *a\n", "this is not YAML: aliases (*name) are not read, write the value out at line 2"),
        ("- a\n--- \n- b\n", "this is not YAML: but found another document at line 2, column 1"),
        ("- a\0\n", "this YAML cannot be read: unacceptable character #x0000"),
        ("[" * 5_000, "this YAML cannot be read: "),
        ("- content: !!binary aGk=\n", "this YAML has a value of type 'tag:yaml.org,2002:binary' at line 1"),
        ("- content: a\n  _meta: !own {}\n", "this YAML has a value of type '!own' at line 2"),
        ("- content: a\n  x: !!int b\n", "this YAML has a value of type"),
        (f"- content: a\n  x: {'9' * 5_000}\n", "this YAML has a value of type"),
        ("entries:\n- content: a\n  ? [x]\n  : 1\n", "this YAML has a key that is not a text at line 3"),
        ("- status: pending\n", "entry 1 has no text: "),
        ("- a\n-\n", "entry 2 has no text: "),
        ("", "there is no plan here: "),
        ("just words", "there is no plan here: "),
    ],
)
def test_what_is_wrong_with_a_yaml_file_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(PlanError) as error:
        parse(text, "yaml")
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_plan_that_yaml_cannot_hold_is_refused() -> None:
    with pytest.raises(PlanError, match=r"^this plan cannot be written as YAML: .*set|object"):
        write(Plan(meta={"x": object()}), "yaml")
