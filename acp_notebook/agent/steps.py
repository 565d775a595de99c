"""Runs of `execute_plan` as plans that the person sees: each step an entry, which moves as the step does.

Such a plan is the record of its run. Nobody edits it, the model's plan tools neither read nor write it, and
it never becomes the plan that the session works on.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ..errors import PlanError
from ..masking import masked
from ..plan import Plan, PlanEdit, SetPlan
from ..plan.display import progress
from ..plan.runs import DENIED, FAILED, RUN, StepFacts, run_of, shown_as, step_meta, step_of
from ..protocol.messages import Notice, PlanUpdate
from ..steps.events import (
    ItemEnded,
    NotWritten,
    Outcome,
    RunEnded,
    RunStarted,
    StepEnded,
    StepEvent,
    StepRetried,
    StepStarted,
)
from ..steps.outline import STATUSES, entries
from ..steps.preview import Preview, size
from .approvals import DENIED_BY
from .stream import FLUSH_AFTER, Outbox

#: Bytes of a result's preview, and steps that a report names.
RESULT, NAMED = 300, 8
#: News of the calls of so many runs find their plan.
_KEPT = 8
WAITS = "waiting for approval"


class RunPlans:
    """The plans of one session's runs: an observer of `steps.events`, and of what is told of steps' calls.

    A run's plan is sent at once, its changes gathered as texts are, and only entries that changed are new.
    """

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._runs: deque[_Run] = deque(maxlen=_KEPT)
        self._ids: set[str] = set()

    def __call__(self, event: StepEvent) -> None:
        if isinstance(event, RunStarted):
            run = _Run(event, self._outbox)
            self._runs.append(run)
            self._ids.add(run.plan_id)
            self._outbox.elsewhere = self._take
        for run in self._runs:
            if run.run_id == event.run_id:
                run.follow(event)

    def step(self, call_id: str) -> str | None:
        """The step that a call is made for, `drop`, or of a `for_each` `drop[3]`; None for other calls."""
        run = self._of(call_id)
        return None if run is None else call_id.removeprefix(run.calls)

    @property
    def secrets(self) -> Sequence[str]:
        """The texts that are secrets in the latest run."""
        return self._runs[-1].secrets.texts if self._runs else ()

    def ended(self) -> str:
        """How the latest run has ended, in words."""
        return self._runs[-1].ended() if self._runs else "Nothing has run."

    def copy(self, other: RunPlans) -> None:
        """Begin with the plans of a session that is forked, which are records there as well."""
        self._ids |= other._ids

    def checked(self, plan_id: str, edits: Sequence[PlanEdit] = ()) -> list[PlanEdit]:
        """Edits of a plan that is no run's; one that is set from a run's record is a plan like others.

        Raises `PlanError` for a plan that is a run's.
        """
        if plan_id in self._ids:
            raise PlanError(f"plan {plan_id!r} is the record of a run, which nobody changes")
        return [SetPlan(_ordinary(edit.plan)) if isinstance(edit, SetPlan) else edit for edit in edits]

    def _take(self, call_id: str, fields: Mapping[str, Any]) -> bool:
        """News of a call: whether it is a step's, which is shown in its plan and not as a call of its own."""
        run = self._of(call_id)
        if run is not None:
            run.hear(call_id.removeprefix(run.calls), fields)
        return run is not None

    def _of(self, call_id: str) -> _Run | None:
        return next((run for run in reversed(self._runs) if call_id.startswith(run.calls)), None)


def _ordinary(plan: Plan) -> Plan:
    if run_of(plan) is None:
        return plan
    return replace(
        plan, meta={name: value for name, value in (plan.meta or {}).items() if name != RUN} or None
    )


class _Run:
    """The plan of one run."""

    def __init__(self, started: RunStarted, outbox: Outbox) -> None:
        self.run_id = started.run_id
        self.plan_id = f"steps-{started.run_id[:8]}"
        #: What the ids of its steps' calls begin with.
        self.calls = f"{started.call_id}:"
        self.secrets = started.secrets
        self._outbox = outbox
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._hidden = 0
        self._call_id = started.call_id
        self._entries = list(entries(started.steps, started.secrets))
        self._at = {step.step_id: at for at, step in enumerate(started.steps)}
        self._outcomes: dict[str, Outcome] = {}
        name = f" of {started.name}" if started.name else ""
        self._title = f"Run {started.run_id[:8]}{name}{', resumed' if started.resumed else ''}"
        self._meta = {"id": started.run_id, "call": started.call_id, "parallel": started.parallel}
        if outbox.is_open(started.call_id):
            outbox.tool_call(started.call_id, title=shown_as(self.plan_id))
        self._send()

    def follow(self, event: StepEvent) -> None:
        if self._hidden < len(self.secrets.texts):  # also from what steps print, which the page shows
            self._hidden = len(self.secrets.texts)
            self._outbox.hide(self._call_id, self.secrets.texts)
        match event:
            case StepStarted(step_id=step_id, at=at):
                self._change(step_id, "in_progress", started=at)
            case StepRetried(step_id=step_id, attempt=attempt, error=error, wait=wait):
                self._change(step_id, note=f"try {attempt} failed: {error}; again in {wait:g} s")
            case ItemEnded(step_id=step_id, done=done, total=total):
                self._change(step_id, note=f"{done:,} of {total:,} elements")
            case StepEnded(step_id=step_id, outcome=outcome):
                self._ended(step_id, outcome)
            case RunEnded(status=status):
                self._meta["status"] = status
                if status == "cancelled":
                    self._outbox.send(self._report())
                self._send()
            case NotWritten(reason=reason):
                self._outbox.send(
                    Notice(f"This run is not written down, and cannot be resumed: {reason}", "warning")
                )
            case RunStarted():
                pass

    def hear(self, name: str, fields: Mapping[str, Any]) -> None:
        """What is told of the call of a step, or of one of its elements: `step` or `step[3]`."""
        step_id, element = name, ""
        if step_id not in self._at:
            step_id, _, number = name.rpartition("[")
            element = f"element {number.removesuffix(']')}: "
        if step_id not in self._at:
            return
        facts = step_of(self._entries[self._at[step_id]]) or StepFacts()
        if fields.get("status") == "paused":
            self._change(step_id, note=f"{element}{WAITS}")
        elif fields.get("left"):
            self._change(step_id, note=self.secrets.masked(f"{element}{fields['left']}"))
        elif (reason := fields.get("reason")) and (
            fields.get("status") not in ("failed", "cancelled") or reason.startswith(DENIED_BY)
        ):  # what else goes with these two is the outcome's error
            self._change(step_id, note=self.secrets.masked(f"{element}{reason}"))
        elif facts.note == f"{element}{WAITS}" and fields.get("status") is not None:
            self._change(step_id, note="allowed" if fields["status"] == "in_progress" else None)
        edited = fields.get("raw_input") if fields.get("reason") else None
        if isinstance(edited, Mapping) and not element:
            ran = cast("Mapping[str, Any]", self.secrets.masked(masked(edited)))
            self._change(step_id, arguments={key: _said(value) for key, value in ran.items()})

    def _ended(self, step_id: str, outcome: Outcome) -> None:
        facts = step_of(self._entries[self._at[step_id]]) or StepFacts()
        if outcome.status == "cancelled" and facts.note == WAITS:  # so its tool has not been called
            error = "cancelled while it waited for approval: it did not run"
            outcome = outcome._replace(started=None, error=error)
        self._outcomes[step_id] = outcome
        error = outcome.error or (f"{outcome.because} did not go well" if outcome.because else None)
        note = "the result looks failed" if outcome.looks_failed and outcome.status == "ok" else facts.note
        is_shown = outcome.status == "ok" or outcome.result is not None
        self._change(
            step_id,
            STATUSES[outcome.status],
            started=outcome.started,
            ended=outcome.ended,
            result=_previewed(outcome.result, self.secrets.texts) if is_shown else None,
            error=error,
            note=None if note is None or note.endswith(WAITS) else note,
        )

    def _change(self, step_id: str, status: str | None = None, **facts: Any) -> None:
        at = self._at[step_id]
        entry = self._entries[at]
        known = replace(step_of(entry) or StepFacts(), **facts)
        self._entries[at] = replace(entry, status=status or entry.status, meta=step_meta(known))
        if self._timer is None:
            self._timer = self._loop.call_later(FLUSH_AFTER, self._send)

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        plan = Plan(tuple(self._entries), self.plan_id, title=self._title, meta={RUN: dict(self._meta)})
        self._outbox.send(PlanUpdate(plan, "tool"))

    def ended(self) -> str:
        """How the run has ended: how many steps are done, and why the first was not that failed."""
        said = f"Run `{self.run_id[:8]}` has ended: {progress(Plan(tuple(self._entries)))}."
        failed = next((entry for entry in self._entries if entry.status in (FAILED, DENIED)), None)
        if failed is None:
            return said
        facts = step_of(failed) or StepFacts()
        return f"{said}\n\n`{failed.id}`: {facts.error or 'denied'}"

    def _report(self) -> Notice:
        """What ran, what did not, and what may still be running, once a person has cancelled."""
        said: dict[str, list[str]] = {}
        for entry in self._entries:
            outcome = self._outcomes.get(entry.id or "")
            said.setdefault(_fate(outcome), []).append(entry.id or "")
        parts = [f"{fate}: {_named(said[fate])}" for fate in _FATES if fate in said]
        return Notice(f"Cancelled. {'; '.join(parts)}.", "warning" if _RUNNING in said else "info")


_RAN, _ENDED, _UNSURE, _STOPPED, _RUNNING, _NOT = (
    "Ran",
    "failed",
    "failed and may have run",
    "stopped while running, perhaps done",
    "cancelled and may still be running",
    "did not run",
)
_FATES = (_RAN, _ENDED, _UNSURE, _STOPPED, _RUNNING, _NOT)


def _fate(outcome: Outcome | None) -> str:
    match outcome:
        case Outcome(may_still_run=True):
            return _RUNNING
        case Outcome(status="ok"):
            return _RAN
        case Outcome(status="error"):
            return _UNSURE if outcome.may_have_run else _ENDED
        case Outcome(status="cancelled", started=float()):
            return _STOPPED
        case _:
            return _NOT


def _named(step_ids: Sequence[str]) -> str:
    more = f" and {len(step_ids) - NAMED:,} more" if len(step_ids) > NAMED else ""
    return ", ".join(step_ids[:NAMED]) + more


def _previewed(value: Any, secrets: Sequence[str]) -> str:
    preview = Preview(value, RESULT, secrets=secrets)
    return f"{_said(preview.value)} ({size(value)})" if preview.cut else _said(preview.value)


def _said(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)
