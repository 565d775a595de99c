"""Runs of step plans that go on: by a person's wish, and after a process was killed."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from pydantic_ai import Agent

from acp_notebook import StepToolset
from acp_notebook.steps.events import watcher
from acp_notebook.steps.resume import Resume, resuming
from acp_notebook.steps.run_file import RunFile
from harness.steps import calling, returned


async def run(toolset: StepToolset, *steps: dict[str, Any], **agent: Any) -> tuple[str, Any]:
    """The id of a run, and its answer."""
    answer, events = await watched(toolset, list(steps), None, **agent)
    return events[0].run_id, answer


async def go_on(
    toolset: StepToolset, run_id: str, steps: Any = None, *, wish: Any = None, **agent: Any
) -> Any:
    """The answer of a run that goes on."""
    return (await watched(toolset, steps, Resume(run_id, **(wish or {})), **agent))[0]


async def watched(
    toolset: StepToolset, steps: Any, wish: Resume | None, **agent: Any
) -> tuple[Any, list[Any]]:
    """The answer of a run that begins, or by a wish goes on, and its events."""
    events: list[Any] = []
    token, watching = resuming.set(wish), watcher.set(events.append)
    try:
        made = Agent(calling(("execute_plan", {"steps": steps})), toolsets=[toolset], **agent)
        result = await made.run("go")
    finally:
        resuming.reset(token)
        watcher.reset(watching)
    return returned(result.all_messages())[0], events


def kill(run_id: str, rows: int) -> None:
    """Leave of a run what was written up to a row, as if the process had been killed after it."""
    with closing(RunFile()) as file:
        (run,) = file.connection.execute(
            "SELECT number FROM step_runs WHERE run_id = ?", (run_id,)
        ).fetchone()
        file.connection.execute("DELETE FROM step_events WHERE run = ? AND number > ?", (run, rows))
        file.connection.execute("UPDATE step_runs SET ended = NULL, status = NULL WHERE number = ?", (run,))


def rows(run_id: str) -> int:
    """How many rows were written of a run."""
    with closing(RunFile()) as file:
        of_run = "run = (SELECT number FROM step_runs WHERE run_id = ?)"
        (count,) = file.connection.execute(
            f"SELECT count(*) FROM step_events WHERE {of_run}", (run_id,)
        ).fetchone()
    return count


def written() -> bytes:
    """All that is written down of runs. To read the file itself would break its locks (POSIX)."""
    tables = ("step_runs", "step_events", "step_parts")
    with closing(RunFile()) as file:
        rows = [row for name in tables for row in file.connection.execute(f"SELECT * FROM {name}")]
    return b"\n".join(
        value if isinstance(value, bytes) else str(value).encode() for row in rows for value in row
    )
