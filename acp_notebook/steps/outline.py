"""What a plan of steps would do, before any of it runs; and its steps as the entries of a plan."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, cast

from ..masking import marked, masked
from ..plan import Plan, PlanEntry
from ..plan.runs import DENIED, FAILED, RUN, SKIPPED, StepFacts, step_meta
from ..text import plain, plain_line
from .plan import ITEM, Step
from .preview import Preview, is_secret
from .record_text import html_table, markdown_cell, markdown_table
from .references import Reference, resolve
from .secrets import RunSecrets

#: How a step has ended, or not, as the status of its entry.
STATUSES = {
    "ok": "completed",
    "error": FAILED,
    "skipped": SKIPPED,
    "denied": DENIED,
    "cancelled": "cancelled",
    "running": "in_progress",
}
#: Longest argument in a line, and in the list of them; longest line. Characters.
SHORT, WHOLE, LINE = 60, 2_000, 200


class _Arrow(str):
    """A reference, where a value will be."""

    @classmethod
    def of(cls, reference: Reference) -> _Arrow:
        return cls(f"← {reference}")


def written(step: Step, secrets: RunSecrets, longest: int = SHORT) -> dict[str, str]:
    """The arguments of a step as they are shown: JSON, references as `← backup.id`, secrets masked."""
    values = {name: resolve(node, _Arrow.of) for name, node in step.args.items()}
    known: Mapping[str, Any] = marked(values, step.tool.parameters)
    return {
        name: _cut("".join(_pieces(value, name, longest, secrets.texts)), longest)
        for name, value in known.items()
    }


def _pieces(value: Any, name: str, room: int, secrets: Sequence[str]) -> Iterator[str]:
    """A value as JSON, in pieces; it ends where there is no more room."""
    match value:
        case _Arrow():
            yield str(value)
        case dict():
            items = cast("dict[str, Any]", value).items()
            inside = (
                (
                    json.dumps(str(key), ensure_ascii=False) + ": ",
                    _pieces(item, name if is_secret(name) else str(key), room, secrets),
                )
                for key, item in items
            )
            yield from _within("{", "}", inside, room)
        case list():
            inside = (("", _pieces(item, name, room, secrets)) for item in cast("list[Any]", value))
            yield from _within("[", "]", inside, room)
        case _:
            yield json.dumps(Preview(value, room, name, secrets).value, ensure_ascii=False, default=repr)


def _within(
    opened: str, closed: str, inside: Iterable[tuple[str, Iterator[str]]], room: int
) -> Iterator[str]:
    yield opened
    used = 0
    for number, (before, pieces) in enumerate(inside):
        text = (", " if number else "") + before + "".join(pieces)
        yield text
        if (used := used + len(text)) > room:
            break
    yield closed


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def line(step: Step, secrets: RunSecrets) -> str:
    """A step's call in one line: `restore(backup_id=← backup.id)`."""
    inside = ", ".join(f"{name}={value}" for name, value in written(step, secrets).items())
    return _cut(f"{step.tool.name}({inside})", LINE)


def circumstances(step: Step, secrets: RunSecrets) -> list[str]:
    """Whether and how often a step runs, in words."""
    said = [f"for each of ← {step.for_each}"] if step.for_each is not None else []
    if step.when is not None:
        compared = ""
        if step.when.comparison is not None:
            known = secrets.masked(masked(step.when.other))
            other = _cut(json.dumps(known, ensure_ascii=False, default=repr), SHORT)
            compared = f" {step.when.comparison.replace('_', ' ')} {other}"
        said.append(f"only when ← {step.when.value}{compared}")
    return said


def entries(steps: Sequence[Step], secrets: RunSecrets) -> tuple[PlanEntry, ...]:
    """Steps as the entries of a plan, all of them pending."""
    return tuple(
        PlanEntry(
            " · ".join([f"{step.step_id}: {line(step, secrets)}", *circumstances(step, secrets)]),
            id=step.step_id,
            meta=step_meta(StepFacts(written(step, secrets, WHOLE), step.uses)),
        )
        for step in steps
    )


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """One step: in which `stage` it begins (1-based), what it calls, and all that is to be known before."""

    stage: int
    step_id: str
    call: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """What a plan would do. In a notebook it shows itself as a table; `diagram` is Mermaid source.

    Steps of one stage run together; without `parallel` each has a stage of its own.
    """

    rows: tuple[OutlineRow, ...]
    parallel: bool
    diagram: str
    notes: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """How many steps, and how they run."""
        count, stages = len(self.rows), self.rows[-1].stage if self.rows else 0
        what = "1 step" if count == 1 else f"{count:,} steps"
        if count == 1:
            return f"{what}, nothing runs yet"
        how = f"in {stages:,} stages" if self.parallel and stages < count else "one after another"
        return f"{what}, {how}; nothing runs yet"

    def __str__(self) -> str:
        numbers = [f"{row.stage}." for row in self.rows]
        names = [row.step_id for row in self.rows]
        wide, name = max(map(len, numbers), default=0), min(24, max(map(len, names), default=0))
        lines = [self.head.capitalize()]
        for number, row in zip(numbers, self.rows, strict=True):
            said = "".join(f"  · {fact}" for fact in row.facts)
            lines.append(plain_line(f"{number:>{wide}} {row.step_id:<{name}}  {row.call}{said}"))
        return "\n".join([*lines, *map(plain_line, self.notes)])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._html(), "text/markdown": self._markdown()}

    def _html(self) -> str:
        table = html_table(self._columns(), [*map(self._cells, self.rows)], self.head.capitalize())
        return table + "".join(f"<p>{escape(plain(note))}</p>" for note in self.notes)

    def _markdown(self) -> str:
        table = markdown_table(self._columns(), [*map(self._cells, self.rows)])
        return "\n\n".join([f"{self.head.capitalize()}.", table, *map(markdown_cell, self.notes)])

    def _columns(self) -> tuple[str, ...]:
        return ("Stage" if self.parallel else "#", "Step", "Calls", "Before it runs")

    def _cells(self, row: OutlineRow) -> tuple[str, ...]:
        return (str(row.stage), row.step_id, row.call, " · ".join(row.facts))


def outline(
    steps: Sequence[Step],
    approval: Callable[[Step], str | None],
    *,
    parallel: bool = False,
    notes: Iterable[str] = (),
) -> Outline:
    """The outline of checked steps. `approval` says who lets a step run, None where nobody is asked."""
    secrets = RunSecrets(steps)
    stages = _stages(steps) if parallel else {step.step_id: number for number, step in enumerate(steps, 1)}
    rows = (
        OutlineRow(
            stages[step.step_id],
            step.step_id,
            line(step, secrets),
            tuple(_facts(step, approval(step), secrets)),
        )
        for step in steps
    )
    diagram = Plan(entries(steps, secrets), title="Steps", meta={RUN: {"id": ""}}).to("mermaid")
    return Outline(tuple(sorted(rows, key=lambda row: row.stage)), parallel, diagram, tuple(notes))


def _facts(step: Step, approval: str | None, secrets: RunSecrets) -> Iterator[str]:
    options = step.tool.options
    if approval:
        yield approval
    yield from circumstances(step, secrets)
    if options.side_effects:
        yield "side effects"
    if options.idempotent:
        yield f"up to {options.retries + 1} tries" if options.retries else "may be repeated"
    if options.timeout is not None:
        yield f"at most {options.timeout:g} s"


def _stages(steps: Sequence[Step]) -> dict[str, int]:
    """In which stage each step begins at the earliest. One with side effects is alone in its own."""
    stages: dict[str, int] = {}
    floor = 1
    for step in steps:
        before = [stages[other] for other in step.uses if other != ITEM]
        if step.tool.options.side_effects:
            stage = max(stages.values(), default=0) + 1
            floor = stage + 1
        else:
            stage = max([floor, *(one + 1 for one in before)])
        stages[step.step_id] = stage
    return stages
