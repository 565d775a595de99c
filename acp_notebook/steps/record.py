"""What happened in a run, for a reader: the audit record, from the user's file."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, cast

from ..errors import AcpError
from ..text_files import named, write_text
from .keep import NotKept
from .past import Past, PastRun, PastStep, all_runs, find, opened
from .preview import Preview
from .references import REFERENCE
from .script import Script, script

Format = Literal["json", "ipynb", "py"]
#: Bytes of a result in a record, and characters of a cell in its table.
_RESULT, _CELL = 20_000, 160


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
        return f"{self.run_id[:8]}  {_time(self.began)}  {self.status:10}  {self.steps:5} steps  {whose}"


class Runs(tuple[RunSummary, ...]):
    """The runs that are kept, the newest first. They show themselves as a table."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        columns = ("run", "began", "status", "steps", "tools", "agent")
        rows = [
            (r.run_id[:8], _time(r.began), r.status, str(r.steps), r.name or "", r.agent or "") for r in self
        ]
        text = "\n".join(map(str, self)) or "No run of steps has been written down yet."
        if not rows:
            return {"text/plain": text}
        table = _markdown(columns, rows)
        return {"text/plain": text, "text/markdown": table, "text/html": _html(columns, rows)}


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step: as it was sent, and what came of it.

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

    @property
    def tool(self) -> str:
        return self.sent["tool"]

    @property
    def arguments(self) -> str:
        """The arguments in a line, references as `← step.path`, secrets masked."""
        return ", ".join(f"{name}={_short(value)}" for name, value in self.sent["args"].items())

    @property
    def said(self) -> str:
        """What came of it, in a line."""
        if (error := self.detail.get("error")) is not None:
            return str(error)
        if (because := self.detail.get("because")) is not None:
            return f"because of {because}"
        return _short(self.result) if self.status == "ok" else ""


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
                return json.dumps(self._json(), indent=1, ensure_ascii=False) + "\n"
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
        return f"{self.title}, {_time(self.began)}."

    def _json(self) -> dict[str, Any]:
        return {
            "run": self.run_id,
            "status": self.status,
            "name": self.name,
            "agent": self.agent,
            "folder": self.folder,
            "began": _iso(self.began),
            "ended": _iso(self.ended),
            "resumed": [_iso(at) for at in self.resumed],
            "settings": dict(self.settings),
            "steps": [
                {
                    **step.sent,
                    "status": step.status,
                    "began": _iso(step.began),
                    "ended": _iso(step.ended),
                    "result": step.result,
                    **({"result_is_cut": True} if step.is_cut else {}),
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
        lines = [self.title, f"began {_time(self.began)} in {self.folder}"]
        if self.resumed:
            lines.append(f"resumed {', '.join(map(_time, self.resumed))}")
        for step_id, tool, arguments, status, took, said in self._rows():
            lines.append(
                f"{status:9} {took:>8}  {step_id}: {tool}({arguments}){f' → {said}' if said else ''}"
            )
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        columns = ("step", "tool", "arguments", "status", "took", "result")
        head = f"began {_time(self.began)} in {self.folder}"
        rows = self._rows()
        table = _html(columns, rows)
        return {
            "text/plain": str(self),
            "text/markdown": f"**{_cell(self.title)}**, {_cell(head)}\n\n{_markdown(columns, rows)}",
            "text/html": f"<p><b>{html.escape(self.title)}</b>, {html.escape(head)}</p>{table}",
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
        values = {s["id"]: past.value(known) for s, known in zip(run.steps, past.steps, strict=True)}
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
            tuple(_step(sent, known, values, is_running) for sent, known in _both(run, past)),
            script(run.steps, json.loads(run.tools), values),
        )


def _both(run: PastRun, past: Past) -> Iterator[tuple[dict[str, Any], PastStep]]:
    return zip(run.steps, past.steps, strict=True)


def _step(
    sent: Mapping[str, Any], known: PastStep, values: Mapping[str, Any], is_running: bool
) -> StepRecord:
    value = values[sent["id"]]
    detail = {name: said for name, said in known.detail.items() if name not in ("items", "unsure")}
    if isinstance(value, NotKept):
        detail["lost"], value = value.reason, value.shown
    preview = Preview(value, _RESULT)
    status = known.status or "pending"
    if known.may_have_run and known.status is None:
        status = "running" if is_running else "unknown"
    elif known.may_have_run:
        detail["may_have_run"] = known.items or True
    return StepRecord(sent["id"], sent, status, known.began, known.ended, preview.value, preview.cut, detail)


def _short(value: Any) -> str:
    """A value in a line; what refers to a step with an arrow."""
    if isinstance(value, dict) and REFERENCE in value:
        target: Any = cast("dict[str, Any]", value)[REFERENCE]
        if isinstance(target, dict):
            ((step, path),) = cast("dict[str, Any]", target).items()
            return f"← {'.'.join(map(str, (step, *path)))}"
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        text = f"{{{', '.join(f'{key}: {_short(item)}' for key, item in items)}}}"
    elif isinstance(value, list):
        text = f"[{', '.join(map(_short, cast('list[Any]', value)))}]"
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _CELL else f"{text[:_CELL]}…"


def _took(step: StepRecord) -> str:
    if step.began is None or step.ended is None:
        return ""
    return f"{max(step.ended - step.began, 0):.2f} s"


def _time(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")


def _iso(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at).astimezone().isoformat()


def _markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [" | ".join(columns), " | ".join("---" for _ in columns)]
    lines += [" | ".join(map(_cell, row)) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _cell(text: str) -> str:
    """A text in a cell of a Markdown table, where nothing in it is markup."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|~$&!" else " " if c in "\r\n" else c for c in text)


def _html(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
