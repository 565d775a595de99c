"""What is written of a run, what is not, and that a run goes on where nothing can be written."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from acp_notebook import Sharable, StepEvent, StepToolset
from acp_notebook.database import database_path
from acp_notebook.masking import secrets_in
from acp_notebook.steps import run_file
from acp_notebook.steps.events import NotWritten
from acp_notebook.steps.keep import NotKept, keep, loaded
from acp_notebook.steps.past import Past, find
from acp_notebook.steps.run_file import RunFile
from harness.journal import go_on, kill, run
from harness.steps import execute, reference, step


class Pieces:
    """The pieces of one value."""

    def __init__(self) -> None:
        self.streams: dict[int, bytearray] = {}

    def add(self, stream: int, data: bytes) -> None:
        self.streams.setdefault(stream, bytearray()).extend(data)

    def clear(self) -> None:
        self.streams.clear()

    def read(self, stream: int) -> bytearray:
        return self.streams.get(stream, bytearray())


def back(value: Any, secrets: tuple[str, ...] = ()) -> tuple[str, Any]:
    """The form in which a value is kept, and the value that comes back."""
    pieces = Pieces()
    kept = keep(value, secrets, pieces)
    return kept.form, loaded(kept, pieces.read)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(JSON | st.tuples(JSON) | st.dictionaries(st.integers(), JSON) | st.binary())
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    form, same = back(value)
    if form != "lost":  # a key may say that it is a secret
        assert same == value and type(same) is type(value)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("x" * 1_200_000, "json"),
        ("é☃𝄞" * 300_000, "json"),
        ([{"n": n} for n in range(40_000)], "json"),
        (["x" * 1_200_000, float("inf")], "pickle"),
        (["x" * 1_200_000, "\ud800"], "pickle"),
        (b"x" * 1_200_000, "pickle"),
        (10**5000, "pickle"),
    ],
    ids=["text", "wide", "list", "infinite", "half a pair", "bytes", "long"],
)
def test_large_and_odd_values_come_back(value: Any, form: str) -> None:
    found, same = back(value)
    assert found == form and (same == value) is True


def test_a_data_frame_comes_back_and_can_be_changed() -> None:
    frame = pd.DataFrame({"n": range(100_000)})
    form, same = back(frame)
    assert form == "pickle" and same.equals(frame)
    same.loc[0, "n"] = 7


class Account(BaseModel):
    name: str
    password: str


class Login(BaseModel):
    pin: SecretStr


@pytest.mark.parametrize(
    "value",
    [
        {"token": "hunter22"},
        [{"deep": {"api_key": "hunter22"}}],
        Account(name="ada", password="hunter22"),
        Login(pin=SecretStr("hunter22")),
        "they said hunter22",
        ("they said hunter22",),
        "x" * 499_996 + "hunter22" + "x" * 600_000,
        pd.DataFrame({"password": ["hunter22"]}),
    ],
    ids=["key", "deep", "model", "declared", "repeated", "tuple", "between two pieces", "column"],
)
def test_what_holds_a_secret_is_not_kept(value: Any) -> None:
    pieces = Pieces()
    kept = keep(value, ["hunter22"], pieces)
    assert kept.form == "lost" and pieces.streams == {}
    assert "hunter22" not in str(kept)
    assert isinstance(loaded(kept, pieces.read), NotKept)


def test_a_secret_is_found_however_it_is_written() -> None:
    secret = 'pä"ss\\word'
    kept = keep(f"they said {secret}", [*secrets_in({"password": secret})], Pieces())
    assert kept.form == "lost" and "they said" in str(kept) and "word" not in str(kept)


def test_measures_are_no_secrets() -> None:
    assert back({"max_tokens": 5, "token": None}) == ("json", {"max_tokens": 5, "token": None})


async def same(value: Annotated[Any, Sharable()]) -> Any:
    return value


def add(n: Annotated[int, Sharable()]) -> int:
    return n + 1


def chain(count: int, tool: str, name: str) -> list[dict[str, Any]]:
    first = step("s0", tool, **{name: 0})
    return [first, *(step(f"s{n}", tool, **{name: reference(f"s{n - 1}")}) for n in range(1, count))]


@pytest.mark.parametrize(("tool", "name"), [("add", "n"), ("same", "value")])
async def test_quick_steps_share_rows_and_none_is_lost(tool: str, name: str) -> None:
    run_id, answer = await run(StepToolset([add, same], max_steps=500), *chain(400, tool, name))
    assert answer["status"] == "ok"
    with closing(RunFile()) as file:
        past = Past(file, find(file, run_id))
        values = [past.value(known) for known in past.steps]
        (rows,) = file.connection.execute(
            "SELECT count(*) FROM step_events WHERE run = ?", (past.run.number,)
        ).fetchone()
    assert values == ([n + 1 for n in range(400)] if tool == "add" else [0] * 400)
    assert rows < 400


async def test_quick_results_that_are_no_unicode_are_kept_too() -> None:
    def half(n: int) -> str:
        return f"{n} \ud800"

    steps = [step(f"s{n}", "half", n=n) for n in range(60)]
    run_id, answer = await run(StepToolset([half]), *steps)
    assert answer["status"] == "ok" and "notes" in answer
    with closing(RunFile()) as file:
        past = Past(file, find(file, run_id))
        assert [past.value(known) for known in past.steps] == [f"{n} \ud800" for n in range(60)]


async def test_at_a_kill_among_quick_steps_all_that_may_have_begun_are_unknown() -> None:
    run_id, _ = await run(StepToolset([add], max_steps=500), *chain(400, "add", "n"))
    with closing(RunFile()) as file:
        number = find(file, run_id).number
        ahead = "SELECT number, step, ahead FROM step_events WHERE run = ? AND ahead > 0"
        row, place, count = file.connection.execute(ahead, (number,)).fetchone()
    kill(run_id, row)
    with closing(RunFile()) as file:
        past = Past(file, find(file, run_id))
    unknown = [at for at, known in enumerate(past.steps) if known.may_have_run]
    assert unknown == list(range(place, place + count + 1))
    answer = await go_on(
        StepToolset([add], max_steps=500), run_id, wish={"again": frozenset(f"s{n}" for n in unknown)}
    )
    assert answer["status"] == "ok" and answer["results"]["s399"] == 400


async def test_old_runs_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_file, "RUNS", 3)
    ids = [(await run(StepToolset([add]), step("a", "add", n=n)))[0] for n in range(5)]
    with closing(RunFile()) as file:
        kept = [
            run_id for (run_id,) in file.connection.execute("SELECT run_id FROM step_runs ORDER BY number")
        ]
        assert kept == ids[2:]
        for table in ("step_events", "step_parts"):
            orphans = f"SELECT count(*) FROM {table} WHERE run NOT IN (SELECT number FROM step_runs)"
            assert file.connection.execute(orphans).fetchone() == (0,)


@pytest.fixture
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    database_path().parent.mkdir()
    return tmp_path


async def test_a_broken_file_is_said_in_a_line_and_the_run_goes_on(own_folder: Path) -> None:
    database_path().write_bytes(b"broken" * 2000)
    answer = await execute(StepToolset([add]), [step("a", "add", n=1)])
    assert answer["results"] == {"a": 2}
    (note,) = answer["notes"]
    assert note.startswith("This run is not written down, and cannot be resumed: ") and "\n" not in note


def boom(n: Annotated[int, Sharable()]) -> int:
    raise RuntimeError("broken")


async def test_a_file_that_is_deleted_is_told_of_once(own_folder: Path) -> None:
    def delete() -> None:
        database_path().unlink()

    events: list[StepEvent] = []
    steps = [step("d", "delete"), step("a", "same", value=1), step("b", "same", value=reference("a"))]
    answer = await execute(StepToolset([delete, same], on_event=events.append), steps)
    assert answer["status"] == "ok" and "has been moved or deleted meanwhile" in answer["notes"][0]
    (told,) = (event for event in events if isinstance(event, NotWritten))
    assert "has been moved or deleted meanwhile" in told.reason
    assert StepToolset.runs() == ()


@pytest.mark.parametrize("until", ["end", "later"])
async def test_a_file_that_is_locked_for_too_long_says_later_what_it_does_not_know(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch, until: str
) -> None:
    monkeypatch.setattr(run_file, "WAIT", 0.01)
    connections: list[sqlite3.Connection] = []
    ran: list[str] = []

    def lock() -> None:
        connections.append(sqlite3.connect(database_path(), isolation_level=None, check_same_thread=False))
        connections[0].execute("BEGIN EXCLUSIVE")

    def note(name: str) -> str:
        ran.append(name)
        if name == "c" and until == "end":
            connections[0].close()
        return name

    names = "abc"
    steps = [step("l", "lock"), *(step(n, "note", name=n) for n in names), step("x", "boom", n=1)]
    run_id, answer = await run(StepToolset([lock, note, boom]), *steps)
    assert answer["notes"][0].startswith("This run is not written down") and "is locked" in answer["notes"][0]
    connections[0].close()
    said = await go_on(StepToolset([lock, note, boom]), run_id)
    assert said["steps"]["l"]["status"] == "denied"  # nobody is there to ask whether it may run twice
    said = await go_on(StepToolset([lock, note, boom]), run_id, wish={"done": {"l": None}})
    assert said["steps"]["a"]["status"] == "denied" and ran == list(names)
    assert {known.status for known in StepToolset.record(run_id).steps[2:]} <= {"skipped", "unknown"}


async def test_nothing_is_written_when_it_is_not_asked_for(own_folder: Path) -> None:
    await execute(StepToolset([add], journal=False), [step("a", "add", n=1)])
    assert not database_path().exists()


FULL = """
    import asyncio, resource, signal
    from acp_notebook import StepToolset
    from harness.steps import execute, reference, step

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def big(size: int) -> str:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
        return "x" * size

    answer = asyncio.run(execute(StepToolset([big]), [step(n, "big", size=2_000_000) for n in "abc"]))
    print(answer["status"], answer["notes"][0])
"""


def test_where_there_is_no_room_the_run_goes_on(own_folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FULL)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        timeout=60,
    )
    assert done.stdout.startswith("ok This run is not written down, and cannot be resumed: "), done.stderr
    assert done.stdout.count("\n") == 1
