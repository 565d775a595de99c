"""What the model reads of results: short, masked, JSON whatever they are; and parts of large ones."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from acp_notebook import Sharable, StepToolset
from acp_notebook.steps.preview import Preview
from harness.steps import answers, execute, reference, step

Any_ = Annotated[Any, Sharable()]


@dataclass
class Point:
    x: int
    api_key: str


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"a": [1, "t", None, True]}, {"a": [1, "t", None, True]}),
        (float("inf"), "inf"),
        (10**5000, "an integer of about 5,001 digits"),
        (b"ab", "2 bytes, beginning b'ab'"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        ((1, 2), [1, 2]),
        ({1: "one"}, {"1": "one"}),
        (Point(1, "s3cret"), {"x": 1, "api_key": "••••••"}),
        ({"password": {"value": "s3cret"}}, {"password": {"value": "••••••"}}),
        ("half \ud800", "half ?"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_small_is_shown_whole(value: Any, shown: Any) -> None:
    preview = Preview(value, 4000)
    assert preview.value == shown and not preview.cut
    to_json(preview.value)


def test_an_object_that_holds_itself_is_cut() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert Preview(loop, 100).cut


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=20), inner, max_size=20),
)


@settings(max_examples=60, deadline=None)
@given(JSON, st.integers(20, 2000))
def test_a_preview_keeps_to_its_budget(value: Any, budget: int) -> None:
    preview = Preview(value, budget)
    assert len(to_json(preview.value)) < budget * 2 + 100


@pytest.mark.parametrize(
    "result",
    [
        "x" * 100_000,
        "\x00" * 100_000,
        "ü" * 100_000,
        ["word"] * 100_000,
        {f"k{n}": {"v": n} for n in range(9000)},
    ],
    ids=["text", "controls", "umlauts", "list", "mapping"],
)
@pytest.mark.parametrize("count", [1, 12, 41, 100])
async def test_an_answer_is_at_most_20_kb(result: Any, count: int) -> None:
    def large() -> Any:
        return result

    answer = await execute(
        StepToolset([large], journal=False), [step(f"{'long-name-' * 3}{n}", "large") for n in range(count)]
    )
    assert answer["status"] == "ok" and len(to_json(answer)) <= 20_000


async def test_an_answer_with_many_failures_is_too() -> None:
    def fail(n: int) -> None:
        raise RuntimeError(f"{n} " + "very long " * 100)

    steps = [step(f"s{n}", "fail", n=n) for n in range(100)]
    answer = await execute(StepToolset([fail], keep_going=True), steps)
    assert answer["status"] == "error" and len(to_json(answer)) <= 20_000
    assert "…" in answer["steps"]


async def test_a_long_plan_tells_its_last_results_and_rows_of_steps() -> None:
    def one(after: Any_ = None) -> int:
        return 1

    chain = [step("s0", "one")] + [step(f"s{n}", "one", after=reference(f"s{n - 1}")) for n in range(1, 100)]
    answer = await execute(StepToolset([one]), chain)
    assert answer["steps"] == {"s0 … s99 (100 steps)": "ok"}
    assert answer["results"] == {"s99": 1}
    assert answer["notes"] == ["The results of 99 more steps can be read with read_step."]


async def test_secrets_are_masked_and_passed_on() -> None:
    seen: list[str] = []

    def login(password: Annotated[str, Sharable()] = "hunter2") -> dict[str, Any]:
        return {"access_token": f"of {password}", "user": "ada"}

    def use(access_token: Annotated[str, Sharable()]) -> str:
        seen.append(access_token)
        raise RuntimeError(f"{access_token!r} has expired")

    toolset = StepToolset([login, use])
    steps = [step("l", "login"), step("u", "use", access_token=reference("l", "access_token"))]
    answer, *read = await answers(
        toolset,
        ("execute_plan", {"steps": steps}),
        ("read_step", {"id": "l"}),
        ("read_step", {"id": "l", "path": ["access_token"]}),
        ("read_step", {"id": "l", "path": ["access_token"], "start": 3}),
    )
    assert seen == ["of hunter2"]
    assert answer["results"]["l"] == {"access_token": "••••••", "user": "ada"}
    assert answer["steps"]["u"]["error"] == "RuntimeError: '••••••' has expired"
    assert "hunter2" not in json.dumps([answer, *read])


async def test_parts_of_texts_lists_and_mappings_can_be_read() -> None:
    def large() -> dict[str, Any]:
        return {"text": "0123456789" * 2000, "keys": {f"k{n}": n for n in range(9)}, "set": {1}}

    read = await answers(
        StepToolset([large]),
        ("execute_plan", {"steps": [step("a", "large")]}),
        ("read_step", {"id": "a", "path": ["text"], "start": 19_995, "count": 100}),
        ("read_step", {"id": "a", "path": ["keys"], "start": 7}),
        ("read_step", {"id": "a", "path": ["text"], "count": 20_000}),
        ("read_step", {"id": "a", "path": ["set"]}),
    )
    assert (read[1]["value"], read[1]["end"], read[1]["of"]) == ("56789", 20_000, "20,000 characters")
    assert read[2]["value"] == {"k7": 7, "k8": 8}
    assert "a smaller count" in read[3]["cut"] and len(to_json(read[3])) < 20_000
    assert read[4]["value"] == [1]
