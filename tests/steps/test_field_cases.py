"""What models and tools did elsewhere, from reports of the field; a test for each case."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from pydantic_ai import Agent

from acp_notebook import Sharable, StepToolset
from harness.steps import FieldTools, calling, execute, reference, returned, step


@pytest.fixture
def tools() -> FieldTools:
    return FieldTools()


async def test_ep_01_args_as_text(tools: FieldTools) -> None:
    good = {"id": "a", "tool": "search", "args": '{"city": "Oslo"}'}
    broken = {"id": "b", "tool": "search", "args": '{"city": "Os'}
    assert (await execute(tools.toolset(), [good]))["steps"] == {"a": "ok"}
    tools.ran.clear()
    refusal = await execute(tools.toolset(), [good, broken])
    assert "step 'b', args: is a text that is not JSON" in refusal
    assert "line 1, column 10" in refusal
    assert tools.ran == []


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (
            [
                step("w", "weather", lat=reference("s", "items", 0, "lat"), lon=0),
                step("s", "search", city="Oslo"),
            ],
            "step 'w', argument 'lat': the reference to 's' is to a later step: none is before it",
        ),
        (
            [step("w", "weather", lat=reference("w", "t"), lon=0)],
            "step 'w', argument 'lat': the reference to 'w' is to the step itself",
        ),
        (
            [step("a", "search", city="x"), step("w", "weather", lat=reference("zz"), lon=0)],
            "the reference to 'zz' is to a step that there is not: the steps before it are 'a'",
        ),
    ],
    ids=["forward", "self", "missing"],
)
async def test_ep_03_forward_self_missing_ref(tools: FieldTools, steps: Any, says: str) -> None:
    assert says in await execute(tools.toolset(), steps)
    assert tools.ran == []


async def test_ep_06_unknown_tool_and_none(tools: FieldTools) -> None:
    refusal = await execute(
        tools.toolset(),
        [
            step("a", "Search", city="Oslo"),
            step("b", "none"),
            step("c", "weather", lat=reference("b"), lon=1),
        ],
    )
    assert "step 'a': there is no tool 'Search': did you mean 'search'?" in refusal
    assert "step 'b': there is no tool 'none': the tools are 'search', 'weather', 'total'" in refusal
    assert tools.ran == []


CITY = {"city": "x"}
VERDICTS: list[tuple[Any, str | None]] = [
    ([], "has no steps"),
    ("[]", "has no steps"),
    ({"a": {"tool": "search"}}, "is an object and not a list of steps"),
    ([{"tool": "search", "args": CITY}], "step 1: has no id"),
    ([{"id": 0, "tool": "search", "args": CITY}], None),  # a number is read as its text
    ([step("a", "search", city="x"), step("a", "search", city="y")], "steps 1 and 2 both have this id"),
    ([{"id": "a", "tool": "search", "args": None}], "argument 'city': search needs it"),
    ([{"id": "a", "tool": "search", "args": ["x"]}], "has a list as its args"),
    ([{"id": "a", "tool": "search"}], "argument 'city': search needs it"),
    ([{"id": "a", "tool": "search", "args": CITY, "why": "because"}], None),  # passed over, with a note
    ([step("a", "search", city=5)], "argument 'city': Input should be a valid string"),
    ([step("a", "search", town="x")], "argument 'town': search has no such parameter"),
    ([step(f"s{n}", "search", city="x") for n in range(1000)], "has 1,000 steps, and at most 100"),
]


@pytest.mark.parametrize(("steps", "says"), VERDICTS)
async def test_ep_07_shape_errors(tools: FieldTools, steps: Any, says: str | None) -> None:
    answer = await execute(tools.toolset(), steps)
    if says is None:
        assert answer["status"] == "ok" and tools.ran == ["search"]
    else:
        assert says in answer and tools.ran == []


class Odd:
    def __repr__(self) -> str:
        return "an odd thing"


async def test_ep_10_big_and_odd_results() -> None:
    """References pass the real values; the model gets short ones, and the history stays JSON."""
    pandas = pytest.importorskip("pandas")
    seen: list[Any] = []

    def big() -> str:
        return "x" * 3_000_000

    def obj() -> Any:
        return Odd()

    def nan() -> dict[str, float]:
        return {"v": float("nan")}

    def frame() -> Any:
        return pandas.DataFrame({"n": range(100_000)})

    def sep() -> str:
        return "a\u2028b\ud800"

    def look(value: Annotated[Any, Sharable()]) -> str:
        seen.append(value)
        return type(value).__name__

    names = ("big", "obj", "nan", "frame", "sep")
    steps = [step(name, name) for name in names]
    steps += [step(f"see-{name}", "look", value=reference(name)) for name in names]
    toolset = StepToolset([big, obj, nan, frame, sep, look])
    result = await Agent(calling(("execute_plan", {"steps": steps})), toolsets=[toolset]).run("go")
    (answer,) = returned(result.all_messages())
    assert answer["status"] == "ok"
    assert len(seen[0]) == 3_000_000 and isinstance(seen[1], Odd) and len(seen[3]) == 100_000
    assert answer["results"]["big"]["size"] == "3,000,000 characters"
    assert answer["results"]["obj"].endswith("Odd: an odd thing")
    assert answer["results"]["nan"] == {"v": "nan"}
    assert "DataFrame" in str(answer["results"]["frame"])
    assert answer["results"]["sep"] == "a\u2028b?"
    assert len(json.dumps(answer)) < 20_000
    assert json.loads(result.all_messages_json())
