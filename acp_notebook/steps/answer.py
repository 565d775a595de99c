"""What a run answers to the model: every step's status, and previews of the results, in at most 20 kB."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from ..masking import redacted
from .events import Outcome
from .plan import Step
from .preview import Preview, is_secret, part, size
from .run import Run

#: Bytes for the previews of all results, for one of them, and for the errors.
RESULTS, RESULT, ERRORS = 10_000, 4_000, 4_000
#: So many results are shown. Of a longer plan they are those that no other step took up, the last ones.
_SHOWN = 40
_ROWS = 60
_NOTES = 10
#: Bytes of one answer of `read_step`.
READ = 16_000


def answer(run: Run, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The answer to `execute_plan`: `status`, `results`, `steps` and `notes`."""
    shown = _shown(run)
    budget = min(RESULT, RESULTS // max(1, len(shown)))
    results = {
        step.step_id: _result(step.step_id, run.outcomes[step.step_id].result, budget, run.secrets.texts)
        for step in shown
    }
    notes = [*notes[:_NOTES], *_hints(run)]
    left = sum(run.outcomes[step.step_id].status == "ok" for step in run.steps) - len(results)
    if left > 0:
        notes.append(f"The results of {left:,} more steps can be read with read_step.")
    said = {"status": run.status, "results": results, "steps": _statuses(run)}
    return {**said, "notes": notes} if notes else said


def _shown(run: Run) -> list[Step]:
    with_result = [
        step
        for step in run.steps
        if (outcome := run.outcomes[step.step_id]).status == "ok" or outcome.result is not None
    ]
    if len(with_result) <= _SHOWN:
        return with_result
    used = {other for step in run.steps for other in step.uses}
    return [step for step in with_result if step.step_id not in used][-_SHOWN:]


def _result(step_id: str, value: Any, budget: int, secrets: Sequence[str]) -> Any:
    preview = Preview(value, budget, secrets=secrets)
    if not preview.cut:
        return preview.value
    return {"preview": preview.value, "size": size(value), "more": f"read_step({step_id!r:.80})"}


def _statuses(run: Run) -> dict[str, Any]:
    """A status for each step; in a long plan one for each row of steps that ended alike."""
    failures = sum(outcome.error is not None for outcome in run.outcomes.values())
    room = max(40, min(300, ERRORS // max(1, failures)))

    def status_of(step: Step) -> Any:
        return _status(run.outcomes[step.step_id], room)

    if len(run.steps) <= _ROWS:
        return {step.step_id[:80]: status_of(step) for step in run.steps}
    rows: dict[str, Any] = {}
    for status, group in groupby(run.steps, key=status_of):
        if len(rows) == _ROWS:
            rows["…"] = "more steps ended in other ways: read_step tells of each"
            break
        steps = list(group)
        first, last = steps[0].step_id[:80], steps[-1].step_id[:80]
        rows[first if len(steps) == 1 else f"{first} … {last} ({len(steps):,} steps)"] = status
    return rows


def _status(outcome: Outcome, room: int) -> Any:
    more: dict[str, Any] = {}
    if outcome.error is not None:
        more["error" if outcome.status in ("error", "denied") else "reason"] = (
            outcome.error if len(outcome.error) <= room else f"{outcome.error[:room]}…"
        )
    if outcome.because is not None:
        more["because"] = outcome.because[:80]
    if outcome.looks_failed and outcome.status == "ok":
        more["looks_failed"] = True
    if outcome.may_still_run:
        more["may_still_run"] = True
    if outcome.may_have_run:
        more["may_have_run"] = True
    return {"status": outcome.status, **more} if more else outcome.status


def _hints(run: Run) -> Iterable[str]:
    if any(outcome.looks_failed and outcome.status == "ok" for outcome in run.outcomes.values()):
        yield "A result with looks_failed reads as if the call had failed: look at it before you rely on it."
    if any(outcome.may_have_run for outcome in run.outcomes.values()):
        yield "A step with may_have_run may have done its work: find that out before you send it again."
    if run.status != "ok":
        yield "Steps that are ok have run: do not send them again, unless they should run twice."


def read(
    step_id: str,
    outcome: Outcome,
    path: list[str | int],
    value: Any,
    start: int,
    count: int,
    secrets: Sequence[str] = (),
) -> dict[str, Any]:
    """The answer to `read_step`: a part of a result, and where it lies in the whole."""
    if isinstance(value, str):  # before it is cut
        value = redacted(value, secrets)
    taken, total = part(value, start, count)
    name = next((name for name in map(str, path) if is_secret(name)), "")
    preview = Preview(taken, READ, name, secrets)
    said: dict[str, Any] = {"step": step_id, "status": outcome.status, "value": preview.value}
    if path:
        said["path"] = path
    if total is not None:
        said |= {"start": start, "end": min(start + count, total), "of": size(value)}
    if preview.cut:
        said["cut"] = "Not all of it fits: give a path further in, or a smaller count."
    if outcome.error is not None:
        said["error"] = outcome.error
    return said
