"""Random plans: the values of plain Python calls, in order and together; and none of a spoilt plan runs."""

from __future__ import annotations

import asyncio
import copy
from typing import Annotated, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook import Sharable, StepToolset
from harness.journal import go_on, kill, rows, run
from harness.steps import execute, reference

Any_ = Annotated[Any, Sharable()]
RAN: list[str] = []


def make(seed: int) -> dict[str, Any]:
    RAN.append("make")
    return {"n": seed, "list": [seed, seed + 1, {"deep": [seed]}], "text": "x" * (seed % 7)}


async def pair(a: Any_, b: Any_ = None) -> list[Any]:
    RAN.append("pair")
    return [a, b]


def spoil(values: Any_) -> Any:
    """Changes what it is given."""
    RAN.append("spoil")
    if isinstance(values, list):
        values.append("spoilt")
    elif isinstance(values, dict):
        values.clear()
    return values


async def fold(
    values: Annotated[list[Any], Sharable()], options: Annotated[dict[str, Any], Sharable()]
) -> Any:
    RAN.append("fold")
    return {"values": values, **options}


def walk(value: Any, path: list[str | int]) -> Any:
    for key in path:
        value = value[key]
    return value


def paths(value: Any) -> list[list[str | int]]:
    """Every way into a value."""
    found: list[list[str | int]] = [[]]
    if isinstance(value, dict):
        found += [[key, *rest] for key, item in value.items() for rest in paths(item)]
    if isinstance(value, list):
        found += [[at, *rest] for at, item in enumerate(value) for rest in paths(item)]
    return found


@st.composite
def plans(draw: st.DrawFn) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A plan and the values that its steps have in plain Python."""
    values: dict[str, Any] = {}
    steps: list[dict[str, Any]] = []

    def argument() -> tuple[Any, Any]:
        """An argument as a model writes it, and its value."""
        kind = draw(st.sampled_from(["literal", "whole", "nested", "escaped"]))
        if kind == "escaped":
            data = reference("no such step")
            return {"literally": data}, data
        if kind == "literal" or not values:
            literal = draw(st.sampled_from([0, "t", None, [1, [2]], {"k": {"l": 1.5}}]))
            return copy.deepcopy(literal), copy.deepcopy(literal)
        step = draw(st.sampled_from(sorted(values)))
        path = draw(st.sampled_from(paths(values[step])))
        value = copy.deepcopy(walk(values[step], path))
        if kind == "whole":
            return reference(step, *path), value
        return {"k": [1, reference(step, *path)]}, {"k": [1, value]}

    for number in range(draw(st.integers(1, 7))):
        step_id, tool = f"s{number}", draw(st.sampled_from(["make", "pair", "spoil", "fold"]))
        if tool == "make":
            args: dict[str, Any] = {"seed": number}
            value: Any = copy.deepcopy(make(number))
        elif tool == "pair":
            (a, first), (b, second) = argument(), argument()
            args, value = {"a": a, "b": b}, [first, second]
        elif tool == "spoil":
            given_, taken = argument()
            args, value = {"values": given_}, spoil(taken)
        else:
            (a, first), (b, second) = argument(), argument()
            args, value = {"values": [a], "options": {"o": b}}, {"values": [first], "o": second}
        steps.append({"id": step_id, "tool": tool, "args": args})
        values[step_id] = value
    return steps, values


@settings(max_examples=40, deadline=None)
@given(plans(), st.booleans())
def test_a_plan_gives_what_plain_calls_give(
    plan: tuple[list[dict[str, Any]], dict[str, Any]], parallel: bool
) -> None:
    steps, values = plan
    written = copy.deepcopy(steps)
    toolset = StepToolset([make, pair, spoil, fold], parallel=parallel)
    answer = asyncio.run(execute(toolset, steps))
    assert answer["status"] == "ok", answer
    ((_, run, _),) = toolset._runs
    assert {step_id: outcome.result for step_id, outcome in run.outcomes.items()} == values
    assert steps == written


@settings(max_examples=12, deadline=None)
@given(plans(), st.booleans(), st.data())
def test_resumed_at_any_point_a_plan_gives_what_plain_calls_give(
    plan: tuple[list[dict[str, Any]], dict[str, Any]], parallel: bool, data: st.DataObject
) -> None:
    steps, values = plan
    tools = [make, pair, spoil, fold]
    run_id, _ = asyncio.run(run(StepToolset(tools, parallel=parallel), *steps))
    everything = rows(run_id)
    for cut in range(everything):
        kill(run_id, cut)
        RAN.clear()
        toolset = StepToolset(tools, parallel=parallel)
        again = frozenset(step["id"] for step in steps)
        answer = asyncio.run(go_on(toolset, run_id, wish={"again": again}))
        assert answer["status"] == "ok", answer
        ((_, found, _),) = toolset._runs
        assert {step_id: outcome.result for step_id, outcome in found.outcomes.items()} == values
        assert len(RAN) == len(steps) - len(found._taken.done)


SPOILS: list[Any] = [
    ("an unknown tool", lambda step: step.update(tool="mkae")),
    ("no tool", lambda step: step.pop("tool")),
    ("no id", lambda step: step.pop("id")),
    ("an unknown argument", lambda step: step["args"].update(colour="red")),
    ("no arguments", lambda step: step.update(args={})),
    ("a list of arguments", lambda step: step.update(args=["x"])),
    ("text that is no JSON", lambda step: step.update(args='{"a": ')),
    ("an unknown key", lambda step: step.update(depends_on=[])),
    ("a reference to no step", lambda step: step["args"].update(a=reference("ghost"))),
    ("a reference to itself", lambda step: step["args"].update(a=[reference(step["id"])])),
    (
        "a reference to two steps",
        lambda step: step["args"].update(a={"output_by_reference": {"a": [], "b": []}}),
    ),
    ("a path that is no list", lambda step: step["args"].update(a={"output_by_reference": {"a": "n"}})),
    ("a reference with more", lambda step: step["args"].update(a={**reference("a"), "more": 1})),
    ("a condition that is none", lambda step: step.update(when={"value": 1})),
    ("a for_each over no reference", lambda step: step.update(for_each=[1])),
]


@settings(max_examples=60, deadline=None)
@given(plans(), st.sampled_from(SPOILS), st.data())
def test_a_spoilt_plan_is_refused_before_any_tool_runs(
    plan: tuple[list[dict[str, Any]], dict[str, Any]], spoilt: Any, data: st.DataObject
) -> None:
    steps = copy.deepcopy(plan[0])
    what, change = spoilt
    at = data.draw(st.integers(0, len(steps) - 1))
    change(steps[at])
    RAN.clear()
    refusal = asyncio.run(execute(StepToolset([make, pair, spoil, fold]), steps))
    assert isinstance(refusal, str) and "nothing has run" in refusal, (what, refusal)
    assert "step " in refusal
    assert RAN == []
