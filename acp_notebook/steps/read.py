"""Steps as models really send them: read where what is meant is plain, else refused with the position."""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from typing import Any, cast

from ..errors import StepProblem
from .plan import ITEM, Limits, RawStep

_KEYS = ("id", "tool", "args", "for_each", "when")
_ALL = frozenset(_KEYS)
#: Keys that only say something to a reader. They are passed over, and a note says so.
_REMARKS = frozenset({"why", "reason", "description", "comment", "note", "notes", "title", "name", "purpose"})
_FENCE = re.compile(r"\s*(```|~~~)[\w-]*[ \t]*\r?\n(.*?)\s*\1\s*", re.DOTALL)
_SHAPE = '[{"id": …, "tool": …, "args": {…}}, …]'
_PLAN = "the plan"


class Reading:
    """The steps that were read, the problems with the rest, and notes on what was passed over."""

    def __init__(self) -> None:
        self.steps: list[RawStep] = []
        self.problems: list[StepProblem] = []
        self.notes: list[str] = []

    def problem(self, step: str, message: str) -> None:
        self.problems.append(StepProblem(step, message))


def read(raw: Any, limits: Limits) -> Reading:
    """Read the `steps` of a call: a list of objects, or that as JSON text, fenced or not.

    A numeric id is read as its text; `args` may be JSON text of an object, or left out.
    """
    reading = Reading()
    steps = _steps(raw, reading, limits)
    for number, step in enumerate(steps, 1):
        if not isinstance(step, dict):
            reading.problem(f"step {number}", f"is {_kind(step)} and not an object: write {_SHAPE}")
        elif (read_step := _step(number, cast("dict[str, Any]", step), reading)) is not None:
            reading.steps.append(read_step)
    _unique(reading)
    return reading


def _steps(raw: Any, reading: Reading, limits: Limits) -> list[Any]:
    value = _parsed(raw, _PLAN, reading)
    if isinstance(value, dict) and set(cast("dict[str, Any]", value)) == {"steps"}:
        value = _parsed(value["steps"], _PLAN, reading)
    if reading.problems:
        return []
    if not isinstance(value, list):
        reading.problem(_PLAN, f"is {_kind(value)} and not a list of steps: write {_SHAPE}")
        return []
    steps = cast("list[Any]", value)
    if not steps:
        reading.problem(_PLAN, "has no steps: give at least one")
    elif len(steps) > limits.steps:
        reading.problem(
            _PLAN,
            f"has {len(steps):,} steps, and at most {limits.steps:,} may be sent at once: "
            "send fewer, or use for_each",
        )
    else:
        return steps
    return []


def _step(number: int, step: dict[str, Any], reading: Reading) -> RawStep | None:
    step_id, tool, args = step.get("id"), step.get("tool"), step.get("args")
    if (
        type(step_id) is str
        and type(tool) is str
        and type(args) is dict
        and (len(step) == 3 or step.keys() <= _ALL)
        and step_id.strip()
    ):
        given = cast("dict[str, Any]", args)  # as most are: nothing has to be read into it
        return RawStep(number, step_id, tool, given, step, step.get("for_each"), step.get("when"))
    if isinstance(step_id, int) and not isinstance(step_id, bool):
        step_id = str(step_id)
    where = f"step {step_id!r}" if isinstance(step_id, str) and step_id else f"step {number}"
    before = len(reading.problems)
    if not isinstance(step_id, str) or not step_id.strip():
        has = "has no id" if "id" not in step else f"has the id {step_id!r}"
        reading.problem(where, f'{has}: give it a short text of its own, such as "id": "s{number}"')
    if not isinstance(step.get("tool"), str):
        has = "names no tool" if "tool" not in step else f"has {_kind(step['tool'])} as its tool"
        reading.problem(where, f'{has}: write "tool": "<name>"')
    args = _args(args, where, reading)
    _keys(step, where, reading)
    if len(reading.problems) > before:
        return None
    step = {**{key: step[key] for key in _KEYS if key in step}, "id": step_id, "args": args}
    return RawStep(number, step["id"], step["tool"], args, step, step.get("for_each"), step.get("when"))


def _args(raw: Any, where: str, reading: Reading) -> dict[str, Any]:
    value: Any = {} if raw is None or (isinstance(raw, str) and not raw.strip()) else raw
    before = len(reading.problems)
    value = _parsed(value, f"{where}, args", reading)
    if len(reading.problems) > before:
        return {}
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    reading.problem(where, f'has {_kind(value)} as its args: write an object, "args": {{"<parameter>": …}}')
    return {}


def _keys(step: dict[str, Any], where: str, reading: Reading) -> None:
    for key in step:
        if key in _KEYS:
            continue
        if key in _REMARKS:
            reading.notes.append(f"{where}: {key!r} was passed over.")
            continue
        close = get_close_matches(key, _KEYS, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"leave it out; a step has {', '.join(_KEYS)}"
        if key == "depends_on":
            hint = "leave it out; steps run in the order of the list, and after those that they refer to"
        reading.problem(where, f"has the unknown key {key!r}: {hint}")


def _unique(reading: Reading) -> None:
    seen: dict[str, int] = {}
    loops = any(step.for_each is not None for step in reading.steps)
    for step in reading.steps:
        first = seen.setdefault(step.step_id, step.number)
        if first != step.number:
            reading.problem(
                f"step {step.step_id!r}",
                f"steps {first} and {step.number} both have this id: give each its own",
            )
    if loops and ITEM in seen:
        reading.problem(
            f"step {ITEM!r}", "this id is what for_each calls its element: give the step another id"
        )


def _parsed(value: Any, where: str, reading: Reading) -> Any:
    """JSON text as what it holds, without a Markdown fence around it; any other value as it is."""
    if not isinstance(value, str):
        return value
    value = value.removeprefix("\ufeff")
    fenced = _FENCE.fullmatch(value)
    text = fenced[2] if fenced else value
    try:
        return json.loads(text, object_pairs_hook=_object)
    except _Twice as error:
        reading.problem(where, f"has the key {error.args[0]!r} twice in one object: give it once")
    except json.JSONDecodeError as error:
        shown = text[max(0, error.pos - 20) : error.pos + 20]
        reading.problem(
            where,
            f"is a text that is not JSON: {error.msg} at line {error.lineno}, column {error.colno} "
            f"(near {shown!r}): send it as JSON itself, not as text",
        )
    except RecursionError:
        reading.problem(where, "is JSON that is nested too deeply: write it flatter")
    except ValueError:  # Python limits what it turns into an int
        reading.problem(where, "has a whole number with too many digits: give it as text")
    return None


class _Twice(Exception):
    """A key that an object has twice, so that one of its values would be lost."""


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) < len(members):
        names = [name for name, _ in members]
        raise _Twice(next(name for name in names if names.count(name) > 1))
    return value


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"
