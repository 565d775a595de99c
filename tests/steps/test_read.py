"""What models really send: read where it is plain, refused with the position otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.steps import FieldTools, answers, execute, step

STEPS = [step("1", "search", city="Oslo"), step("b", "search", city="Rome")]


@pytest.mark.parametrize(
    "sent",
    [
        STEPS,
        json.dumps(STEPS),
        f"```json\n{json.dumps(STEPS, indent=2)}\n```",
        f"\n```\n{json.dumps(STEPS)}\n```\n",
        f"\ufeff~~~json\r\n{json.dumps(STEPS)}\r\n~~~\r\n",
        {"steps": STEPS},
        json.dumps({"steps": STEPS}),
        [{**STEPS[0], "id": 1}, {**STEPS[1], "args": json.dumps(STEPS[1]["args"])}],
        [STEPS[0], {**STEPS[1], "args": '```json\n{"city": "Rome"}\n```'}],
    ],
    ids=[
        "list",
        "text",
        "fenced",
        "fenced-plain",
        "tildes",
        "wrapped",
        "wrapped-text",
        "numeric-id",
        "fenced-args",
    ],
)
async def test_what_is_plain_is_read(sent: Any) -> None:
    tools = FieldTools()
    answer = await execute(tools.toolset(), sent)
    assert answer["steps"] == {"1": "ok", "b": "ok"}
    assert tools.ran == ["search", "search"]


async def test_a_key_that_stands_twice_is_refused() -> None:
    twice = '[{"id": "a", "tool": "search", "args": {"city": "Oslo", "city": "Rome"}}]'
    tools = FieldTools()
    assert "has the key 'city' twice in one object: give it once" in await execute(tools.toolset(), twice)
    assert tools.ran == []


@pytest.mark.parametrize("form", ["plan", "args"])
async def test_a_number_that_python_does_not_read_is_refused(form: str) -> None:
    args = f'{{"city": {"9" * 5000}}}'
    whole = f'[{{"id": "a", "tool": "search", "args": {args}}}]'
    sent = whole if form == "plan" else [{"id": "a", "tool": "search", "args": args}]
    tools = FieldTools()
    assert "a whole number with too many digits" in await execute(tools.toolset(), sent)
    assert tools.ran == []


async def test_the_list_itself_may_be_all_that_is_sent() -> None:
    (answer,) = await answers(FieldTools().toolset(), ("execute_plan", json.dumps(STEPS)))
    assert answer["status"] == "ok"


async def test_remarks_are_passed_over_with_a_note() -> None:
    answer = await execute(FieldTools().toolset(), [{**STEPS[0], "why": "it is near"}])
    assert answer["notes"] == ["step '1': 'why' was passed over."]


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (None, "the plan: is null and not a list of steps"),
        (7, "the plan: is a number"),
        ("[{]", "the plan: is a text that is not JSON: Expecting property name"),
        ("[" * 100_000, "the plan: is"),
        ([STEPS], "step 1: is a list and not an object"),
        ([{**STEPS[0], "id": True}], "step 1: has the id True"),
        ([{**STEPS[0], "id": "  "}], "has the id '  '"),
        ([{**STEPS[0], "tool": 3}], "step '1': has a number as its tool"),
        ([{"id": "a", "args": {}}], "step 'a': names no tool"),
        ([{**STEPS[0], "arguments": {}}], "has the unknown key 'arguments'"),
        ([{**STEPS[0], "arg": {}}], "has the unknown key 'arg': did you mean 'args'?"),
        ([{**STEPS[0], "args": "[1]"}], "has a list as its args"),
        ([{**STEPS[0], "args": "city=Oslo"}], "step '1', args: is a text that is not JSON"),
    ],
)
async def test_what_is_not_is_refused_with_the_place(sent: Any, says: str) -> None:
    tools = FieldTools()
    assert says in await execute(tools.toolset(), sent)
    assert tools.ran == []
