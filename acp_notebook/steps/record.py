"""What happened in a run, for a reader: the audit record, from the user's file."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from ..errors import AcpError
from ..plan import Plan, PlanEntry
from ..plan.runs import RUN, StepFacts, step_meta
from ..text import plain, plain_line
from ..text_files import named, write_text
from .expressions import used
from .keep import NotKept
from .outline import STATUSES
from .past import Past, PastRun, PastStep, all_runs, find, opened
from .plan import ITEM
from .preview import Preview
from .record_text import finite, html_table, iso, listed, markdown_cell, markdown_table, short, time_of
from .references import LITERALLY
from .script import Script, script

Format = Literal["json", "ipynb", "py"]
#: Bytes of a result in a record.
_RESULT = 20_000


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in a line. `status` is also `running`, or `unfinished` when its process has ended before it."""

    run_id: str
    status: str
    began: float
    ended: float | None
    name: str | None
    agent: str | None
    steps: int

    def __str__(self) -> str:
        whose = " · ".join(filter(None, (self.name, self.agent)))
        return f"{self.run_id[:8]}  {time_of(self.began)}  {self.status:10}  {self.steps:5} steps  {whose}"


class Runs(tuple[RunSummary, ...]):
    """The runs that are kept, the newest first. They show themselves as a table."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        columns = ("run", "began", "status", "steps", "tools", "agent")
        rows = [
            (r.run_id[:8], time_of(r.began), r.status, str(r.steps), r.name or "", r.agent or "")
            for r in self
        ]
        text = "\n".join(plain_line(f"{run}") for run in self) or "No run of steps has been written down yet."
        if not rows:
            return {"text/plain": text}
        table = markdown_table(columns, rows)
        return {"text/plain": text, "text/markdown": table, "text/html": html_table(columns, rows)}


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step: as it was sent, and what came of it.

    `edited`: where a person has changed the arguments before it ran, those that it ran with, in the form of
    the sent ones. They are by the element of its `for_each`; those of a step without one are under None.
    `status` is that of its outcome, `running`, `unknown` when its process ended while it may have been
    running, or `pending`. `result` is the beginning of a large one; `detail` has error, because, and flags.
    """

    step_id: str
    sent: Mapping[str, Any]
    status: str
    began: float | None
    ended: float | None
    result: Any
    is_cut: bool
    detail: Mapping[str, Any]
    edited: Mapping[int | None, Mapping[str, Any]] = field(
        default_factory=dict[int | None, Mapping[str, Any]]
    )

    @property
    def tool(self) -> str:
        return self.sent["tool"]

    @property
    def arguments(self) -> str:
        """The arguments in a line, references as `← step.path`, secrets masked; also those it ran with."""
        said = listed(self.sent["args"])
        for at, args in self.edited.items():
            which = "" if at is None else f" for element {at}"
            said += f"; edited by you{which} to {listed(args)}"
        return said

    @property
    def said(self) -> str:
        """What came of it, in a line."""
        if (error := self.detail.get("error")) is not None:
            return str(error)
        if (because := self.detail.get("because")) is not None:
            return f"because of {because}"
        return short(self.result) if self.status == "ok" else ""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run: its plan as it was sent, who ran it where, and how each step ended. It shows itself.

    `script` is the same as Python; `settings` are those of its `StepToolset`; `resumed` are times.
    """

    run_id: str
    status: str
    name: str | None
    agent: str | None
    folder: str
    began: float
    ended: float | None
    resumed: tuple[float, ...]
    settings: Mapping[str, Any]
    steps: tuple[StepRecord, ...]
    script: Script

    @property
    def title(self) -> str:
        whose = " · ".join(filter(None, (self.name, self.agent)))
        return f"Run {self.run_id[:8]}{f' of {whose}' if whose else ''}: {self.status}"

    def to(self, format: Format) -> str:
        """The record as JSON, or as a script or a notebook that does the same. Raises `AcpError`."""
        match format:
            case "json":
                return json.dumps(finite(self._json()), indent=1, ensure_ascii=False) + "\n"
            case "py":
                return self.script.text(self._heading)
            case "ipynb":
                return self.script.notebook(self._heading)
            case _:
                raise AcpError(f"a run has no form {format!r}: use json, ipynb or py")

    def export(
        self, path: str | os.PathLike[str], format: Format | None = None, *, force: bool = False
    ) -> None:
        """Write it to a file, in the form that the suffix names. Raises `AcpError`."""
        file = named(path)
        write_text(file, self.to(cast(Format, format or file.suffix.removeprefix("."))), force=force)

    @property
    def _heading(self) -> str:
        return f"{self.title}, {time_of(self.began)}."

    @property
    def diagram(self) -> str:
        """How the steps depend on each other, and how each ended, as the source of a Mermaid diagram."""
        entries = (
            PlanEntry(
                f"{step.step_id}: {step.tool}({step.arguments})",
                id=step.step_id,
                status=STATUSES.get(step.status, "pending"),
                meta=step_meta(StepFacts(uses=_uses(step.sent))),
            )
            for step in self.steps
        )
        return Plan(tuple(entries), title=self.title, meta={RUN: {"id": self.run_id}}).to("mermaid")

    def _json(self) -> dict[str, Any]:
        return {
            "run": self.run_id,
            "status": self.status,
            "name": self.name,
            "agent": self.agent,
            "folder": self.folder,
            "began": iso(self.began),
            "ended": iso(self.ended),
            "resumed": [iso(at) for at in self.resumed],
            "settings": dict(self.settings),
            "steps": [
                {
                    **step.sent,
                    "status": step.status,
                    "began": iso(step.began),
                    "ended": iso(step.ended),
                    "result": step.result,
                    **({"result_is_cut": True} if step.is_cut else {}),
                    **({"edited": _edits_json(step)} if step.edited else {}),
                    **step.detail,
                }
                for step in self.steps
            ],
        }

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (step.step_id, step.tool, step.arguments, step.status, _took(step), step.said)
            for step in self.steps
        ]

    def __str__(self) -> str:
        lines = [self.title, f"began {time_of(self.began)} in {self.folder}"]
        if self.resumed:
            lines.append(f"resumed {', '.join(map(time_of, self.resumed))}")
        for step_id, tool, arguments, status, took, said in self._rows():
            lines.append(
                f"{status:9} {took:>8}  {step_id}: {tool}({arguments}){f' → {said}' if said else ''}"
            )
        return "\n".join(map(plain_line, lines))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        columns = ("step", "tool", "arguments", "status", "took", "result")
        head = f"began {time_of(self.began)} in {self.folder}"
        rows = self._rows()
        title, text = html.escape(plain(self.title)), html.escape(plain(head))
        above = f"**{markdown_cell(self.title)}**, {markdown_cell(head)}"
        return {
            "text/plain": str(self),
            "text/markdown": f"{above}\n\n{markdown_table(columns, rows)}",
            "text/html": f"<p><b>{title}</b>, {text}</p>{html_table(columns, rows)}",
        }


def runs() -> Runs:
    """The runs that are kept, the newest first. Raises `DatabaseError`."""
    with opened() as file:
        return Runs(
            tuple(
                RunSummary(
                    run.run_id,
                    run.status or ("running" if file.is_held(run.number) else "unfinished"),
                    run.began,
                    run.ended,
                    run.name,
                    run.agent,
                    len(run.steps),
                )
                for run in all_runs(file)
            )
        )


def record(run_id: str) -> RunRecord:
    """What happened in a run, by its id or the beginning of it. Raises `AcpError`."""
    with opened() as file:
        run = find(file, run_id)
        is_running = run.status is None and file.is_held(run.number)
        past = Past(file, run)
        values = {sent["id"]: past.value(known) for sent, known in _both(run, past) if known.status == "ok"}
        steps = tuple(_step(sent, known, past, is_running) for sent, known in _both(run, past))
        return RunRecord(
            run.run_id,
            run.status or ("running" if is_running else "unfinished"),
            run.name,
            run.agent,
            run.folder,
            run.began,
            run.ended,
            tuple(past.resumed),
            json.loads(run.settings),
            steps,
            script([(step.sent, step.edited) for step in steps], json.loads(run.tools), values),
        )


def _both(run: PastRun, past: Past) -> Iterator[tuple[dict[str, Any], PastStep]]:
    return zip(run.steps, past.steps, strict=True)


def _step(sent: Mapping[str, Any], known: PastStep, past: Past, is_running: bool) -> StepRecord:
    value = past.value(known)
    detail = {name: said for name, said in known.detail.items() if name not in ("items", "unsure")}
    if isinstance(value, NotKept):
        detail["lost"], value = value.reason, value.shown
    preview = Preview(value, _RESULT)
    status = known.status or "pending"
    if known.may_have_run and known.status is None:
        status = "running" if is_running else "unknown"
    elif known.may_have_run:
        detail["may_have_run"] = known.items or True
    edited = {at: _ran(sent["args"], edit) for at, edit in known.edits.items()}
    took = known.began, known.ended
    return StepRecord(sent["id"], sent, status, *took, preview.value, preview.cut, detail, edited)


def _uses(sent: Mapping[str, Any]) -> tuple[str, ...]:
    found = used([sent["args"], sent.get("for_each"), sent.get("when")])
    return tuple(name for name in dict.fromkeys(found) if name != ITEM or "for_each" not in sent)


def _ran(sent: Mapping[str, Any], edit: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a step ran with: the sent ones, and what a person has changed about them."""
    changed: dict[str, Any] = {
        name: {LITERALLY: value} if isinstance(value, dict | list) else value
        for name, value in edit["changed"].items()
    }
    return {name: value for name, value in sent.items() if name not in edit["removed"]} | changed


def _edits_json(step: StepRecord) -> Any:
    """By element, or of the step as a whole."""
    return step.edited[None] if None in step.edited else {str(at): args for at, args in step.edited.items()}


def _took(step: StepRecord) -> str:
    if step.began is None or step.ended is None:
        return ""
    return f"{max(step.ended - step.began, 0):.3f} s"  # most steps take milliseconds
