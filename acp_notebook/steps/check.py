"""A whole plan is checked before any of it runs, and every problem is told at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple, cast

from pydantic import ValidationError

from ..describe import described
from ..errors import StepProblem, StepsRefused
from ..masking import masked
from .conditions import Condition, read_condition
from .keep import plain_json
from .paths import impossible
from .plan import DEFAULT_LIMITS, ITEM, Limits, RawStep, Step
from .read import read
from .references import (
    FORM,
    LITERALLY,
    REFERENCE,
    Composite,
    Fault,
    Place,
    Reference,
    parse,
    reference,
    references,
    resolve,
)
from .tools import StepTool

_JSON = frozenset({str, int, float, bool, type(None)})
#: How deep JSON may nest. What is passed as literal data may be deeper than arguments that are looked into.
_DEEPEST = 200
_ANYTHING: Mapping[str, Any] = {}
#: So many names are listed where one is unknown.
_NAMED = 30
#: Characters of a step that do not count: its id, its tool.
_OWN = 30


class _Hole:
    """Stands for the value of a reference while an argument is validated without it."""


_HOLE = _Hole()


class Checked(NamedTuple):
    """A plan that is ready to run, notes on what was passed over in reading it, and its steps as JSON.

    `is_exact`: the JSON says all of them. Steps that were given in Python may hold any objects.
    """

    steps: tuple[Step, ...]
    notes: list[str]
    text: str
    is_exact: bool


def check(raw: Any, tools: Mapping[str, StepTool], limits: Limits = DEFAULT_LIMITS) -> Checked:
    """The steps of a plan.

    Raises:
        StepsRefused: with every problem that was found. Nothing has run.
    """
    reading = read(raw, limits)
    before = _Before(reading.steps)
    problems: list[StepProblem] = []
    steps: list[Step] = []
    is_exact = True
    for step in reading.steps:
        if (alike := before.alike(step)) is not None:
            steps.append(alike)
            continue
        checked = _Check(step, tools, before)
        problems += checked.problems
        before.returns.setdefault(step.step_id, checked.returns)
        if checked.step is not None:
            steps.append(checked.step)
            before.learn(checked.step)
            is_exact = is_exact and _is_json(step.sent)
    if problems := [*reading.problems, *problems]:
        raise StepsRefused(problems)
    text = _text([step.sent for step in reading.steps], is_exact)
    if len(text) > limits.size + _OWN * len(steps):
        message = (
            f"is {len(text):,} characters long, and at most {limits.size:,} may be sent: "
            "pass large values by reference"
        )
        raise StepsRefused([StepProblem("the plan", message)])
    return Checked(tuple(steps), reading.notes, text, is_exact)


def _is_json(value: Any, depth: int = 0) -> bool:
    """Whether JSON gives a value back as it is."""
    kind = cast(Any, type(value))
    if kind is not dict and kind is not list:
        return kind in _JSON
    if depth > _DEEPEST or (kind is dict and not all(type(key) is str for key in value)):
        return False
    return all(_is_json(item, depth + 1) for item in (value.values() if kind is dict else value))


def _text(steps: list[dict[str, Any]], is_exact: bool) -> str:
    if is_exact:
        return plain_json(steps)
    try:
        return json.dumps(steps, default=described, skipkeys=True)
    except (ValueError, RecursionError):
        message = "holds itself, or is nested too deeply: pass it flatter"
        raise StepsRefused([StepProblem("the plan", message)]) from None


class _Before:
    """What is known at a step: what those before it return, as JSON Schemas, and which are right."""

    def __init__(self, steps: Sequence[RawStep]) -> None:
        self._steps = steps
        self.returns: dict[str, Mapping[str, Any]] = {}
        self._ways: dict[tuple[int, Place], str | None] = {}
        self._right: dict[tuple[Any, ...], StepTool] = {}

    def impossible(self, step: str, path: Place) -> str | None:
        """Why a step's result cannot have `path`; many steps take the same way into results of one type."""
        schema = self.returns[step]
        way = id(schema), path
        if way not in self._ways:
            self._ways[way] = impossible(schema, path)
        return self._ways[way]

    def is_known(self, step_id: str) -> bool:
        """Whether the plan has such a step, wherever."""
        return any(step.step_id == step_id for step in self._steps)

    def learn(self, step: Step) -> None:
        """Note that nothing is wrong with a step."""
        plain = step.for_each is None and step.when is None
        if plain and all(type(node) is Reference for node in step.args.values()):
            shape = [step.tool.name, *(self._way(name, node) for name, node in step.args.items())]
            self._right[tuple(shape)] = step.tool

    def alike(self, raw: RawStep) -> Step | None:
        """The step, if it is right because one of the same shape is: a long plan has few shapes."""
        if raw.for_each is not None or raw.when is not None:
            return None
        args: dict[str, Reference] = {}
        shape: list[Any] = [raw.tool]
        for name, value in raw.args.items():
            if (node := reference(value)) is None or node.step not in self.returns:
                return None
            args[name] = node
            shape.append(self._way(name, node))
        if (tool := self._right.get(tuple(shape))) is None:
            return None
        self.returns.setdefault(raw.step_id, tool.returns)
        uses = tuple({node.step: None for node in args.values()})
        return Step(raw.step_id, tool, args, None, None, uses)

    def _way(self, name: str, node: Reference) -> tuple[str, Place, int]:
        """What decides whether an argument is right that is a reference."""
        return name, node.path, id(self.returns[node.step])


class _Check:
    """The check of one step: `step` when there are no `problems`; `returns` is the type of its result."""

    def __init__(self, raw: RawStep, tools: Mapping[str, StepTool], before: _Before) -> None:
        self.problems: list[StepProblem] = []
        self.step: Step | None = None
        self._found: list[tuple[Place, Reference]] = []
        self._raw = raw
        self._before = before
        tool = tools.get(raw.tool)
        if tool is None:
            close = get_close_matches(raw.tool.lower(), {name.lower(): name for name in tools}, 1)
            closest = next((name for name in tools if close and name.lower() == close[0]), None)
            meant = f"did you mean {closest!r}? " if closest else ""
            self._problem(f"there is no tool {raw.tool!r}: {meant}{_listed('the tools are', list(tools))}")
        self._items = for_each = None if raw.for_each is None else self._for_each(raw.for_each)
        when = None if raw.when is None else self._when(raw.when)
        self.returns: Mapping[str, Any] = tool.returns if tool is not None else _ANYTHING
        if raw.for_each is not None:
            self.returns = {"type": "array", "items": self.returns, "$defs": self.returns.get("$defs", {})}
        args = self._args(tool)
        if tool is not None:
            self._validate(tool, args)
            if not self.problems:
                self.step = Step(raw.step_id, tool, args, for_each, when, self._uses(for_each, when))

    def _uses(self, for_each: Reference | None, when: Condition | None) -> tuple[str, ...]:
        if for_each is None and when is None and len(self._found) == 1:
            return (self._found[0][1].step,)
        used = [ref.step for _, ref in self._found if for_each is None or ref.step != ITEM]
        used += [for_each.step] if for_each is not None else []
        used += [when.value.step] if when is not None else []
        return tuple(dict.fromkeys(used))

    def _problem(self, message: str, argument: str | None = None) -> None:
        self.problems.append(StepProblem(f"step {self._raw.step_id!r}", message, argument))

    def _faults(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            self._problem(f"{_inside(fault.place)}{fault.message}", str(fault.place[0]))

    def _when(self, raw: Any) -> Condition | None:
        faults: list[Fault] = []
        when = read_condition(raw, faults)
        self._faults(faults)
        if when is not None:
            self._reference(when.value, ("when",))
        return when

    def _for_each(self, raw: Any) -> Reference | None:
        faults: list[Fault] = []
        node = parse(raw, ("for_each",), faults)
        if isinstance(node, Reference):
            self._reference(node, ("for_each",))
            return node
        if not faults:
            faults.append(Fault(("for_each",), f"is not a reference to a list: write {FORM}"))
        self._faults(faults)
        return None

    def _args(self, tool: StepTool | None) -> dict[str, Any]:
        faults: list[Fault] = []
        if REFERENCE in self._raw.args:
            message = (
                "its args as a whole are a reference: refer to it in one argument, by the parameter's name"
            )
            self._problem(message)
            return {}
        args: dict[str, Any] = {}
        for name, value in self._raw.args.items():
            node = args[name] = parse(value, (name,), faults)
            if type(node) is Reference:
                self._found.append(((name,), node))
            elif type(node) is Composite:
                self._found += references(node, (name,))
        if faults:
            self._faults(faults)
        closed: dict[str, None] = {}
        for place, found in self._found:
            self._reference(found, place)
            name = str(place[0])
            if (
                tool is not None
                and name not in tool.sharable
                and (name in tool.properties or tool.takes_more)
            ):
                closed[name] = None
        if tool is not None:
            for name in closed:
                self._not_sharable(tool, name)
        return args

    def _not_sharable(self, tool: StepTool, name: str) -> None:
        those = _listed("those that do are", sorted(tool.sharable)) if tool.sharable else "none of its do"
        self._problem(
            f"this parameter of {tool.name} takes no references ({those}): give the value itself, "
            f'or {{"{LITERALLY}": …}} to pass this object as data',
            name,
        )

    def _reference(self, reference: Reference, place: Place) -> None:
        step, path, name = reference.step, reference.path, place[0]
        if step == ITEM and self._raw.for_each is not None and name != "for_each":
            if self._items is None:
                return
            step, path = self._items.step, (*self._items.path, 0, *path)
        elif name == "for_each":
            path = (*path, 0)
        if step in self._before.returns:
            why = self._before.impossible(step, path)
            if why is not None:
                why = f"cannot be followed to {list(path)!r}: {why}"
        else:
            known = list(self._before.returns)
            before = _listed("the steps before it are", known) if known else "none is before it"
            if step == self._raw.step_id:
                why = f"is to the step itself: {before}"
            elif self._before.is_known(step):
                why = f"is to a later step: {before}"
            else:
                why = f"is to a step that there is not: {before}"
        if why is not None:
            self._problem(f"{_inside(place)}the reference to {step!r} {why}", str(name))

    def _validate(self, tool: StepTool, args: Mapping[str, Any]) -> None:
        if (
            len(self._found) >= len(args)
            and tool.required <= args.keys() <= tool.properties.keys()
            and all(type(node) is Reference for node in args.values())
        ):
            return  # there is no value yet to validate
        told = {problem.argument for problem in self.problems}
        holes = [place for place, _ in self._found]
        holes += [(name,) for name in args if name in told]
        values = {name: _HOLE if name in told else resolve(node, _hole) for name, node in args.items()}
        try:
            tool.validator.validate_python(values)
        except ValidationError as error:
            for found in _unexcused(error.errors(include_url=False), holes):
                self._invalid(tool, found)
        except Exception as error:  # of a validator of the tool's own, which may not expect a hole
            if not holes:
                self._problem(f"{tool.name} cannot take these args: {type(error).__name__}: {error}"[:300])

    def _invalid(self, tool: StepTool, error: Any) -> None:
        place: Place = error["loc"] or ("args",)
        name = str(place[0])
        if error["type"] in ("extra_forbidden", "unexpected_keyword_argument") and len(place) == 1:
            close = get_close_matches(name, list(tool.properties), 1)
            meant = f"did you mean {close[0]!r}? " if close else ""
            has = _listed("it takes", list(tool.properties)) if tool.properties else "it takes no arguments"
            self._problem(f"{tool.name} has no such parameter: {meant}{has}", name)
        elif error["type"] in ("missing", "missing_argument") and len(place) == 1:
            self._problem(f"{tool.name} needs it: add it to the args", name)
        else:
            given = repr(masked(error.get("input"), str(place[-1])))[:80]
            self._problem(f"{_inside(place)}{error['msg'][:300]}, and not {given}", name)


def _hole(reference: Reference) -> Any:
    return _HOLE


def _unexcused(errors: list[Any], holes: list[Place]) -> list[Any]:
    """The errors that are not due to a value that is not there yet.

    An error at a hole, or inside it, is excused. A union tells its branches in the places of its errors; then
    nothing can be said of the argument, unless an error lies outside of its holes in every branch.
    """
    vague: set[Any] = set()
    rest: list[Any] = []
    for error in errors:
        place: Place = error["loc"]
        hole = next((hole for hole in holes if _leads(hole, place)), None)
        if hole is None:
            rest.append(error)
        elif place[: len(hole)] != hole or len(place) > len(hole):
            vague.add(hole[0])
    return [error for error in rest if not error["loc"] or error["loc"][0] not in vague]


def _leads(hole: Place, place: Place) -> bool:
    """Whether `place` passes through `hole`; branches of unions may stand between its parts."""
    parts = iter(place)
    return all(part in parts for part in hole)


def _inside(place: Place) -> str:
    return f"at {'.'.join(map(str, place[1:]))}, " if len(place) > 1 else ""


def _listed(lead: str, names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{lead} {', '.join(map(repr, names[:_NAMED]))}{more}"
