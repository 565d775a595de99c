"""What is shown of the files of `file` plans, and what never is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_notebook.kernel.host import ThreadHost
from acp_notebook.plan import Plan
from acp_notebook.protocol.messages import (
    AgentMessageChunk,
    PlanRemoved,
    PlanUpdate,
    StateUpdate,
    ToolCallUpdate,
    UserMessage,
)
from acp_notebook.session.file_plans import LONGEST, read_plan_file
from acp_notebook.session.reduce import fold, reduce
from acp_notebook.session.state import PlanFile, PlanFileRead, SessionState
from harness.puppet import PuppetSession

TASKS = "- [x] Load\n- [ ] Plot\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with a plan in it, and one beside it."""
    (tmp_path / "outside.md").write_text("not for you")
    work = tmp_path / "work"
    work.mkdir()
    (work / "plan.md").write_text(TASKS)
    return work


def test_a_text_inside_the_working_folder_is_shown(folder: Path) -> None:
    assert read_plan_file((folder / "plan.md").as_uri(), folder) == PlanFile(TASKS)
    deep = folder / ".plans" / "ünïcode & 100% #1?.md"
    deep.parent.mkdir()
    deep.write_bytes("\ufeff# Täglich\r\n".encode())
    assert read_plan_file(deep.as_uri(), folder) == PlanFile("# Täglich\r\n")
    assert read_plan_file(deep.as_uri().replace("file://", "FILE://localhost"), folder).text
    assert read_plan_file(f"{(folder / 'plan.md').as_uri()}#steps", folder) == PlanFile(TASKS)


@pytest.mark.parametrize(
    ("uri", "note"),
    [
        ("https://example.org/plan.md", "only files are read, nothing is fetched"),
        ("untitled:plan.md", "only files are read, nothing is fetched"),
        ("file://example.org/{folder}/plan.md", "it is on another machine"),
        ("file://example.org{folder}/plan.md", "it is on another machine"),
        ("{folder}/plan.md", "its URI is not absolute"),
        ("file:plan.md", "its URI is not absolute"),
        ("plan.md", "its URI is not absolute"),
        ("", "its URI is not absolute"),
        ("file://{folder}/../outside.md", "it lies outside the working folder"),
        ("file://{folder}/%2e%2e/outside.md", "it lies outside the working folder"),
        ("file://{folder}/..%2Foutside.md", "it lies outside the working folder"),
        ("file://{folder}-not/plan.md", "it lies outside the working folder"),
        ("file:///etc/passwd", "it lies outside the working folder"),
        ("file://{folder}/link.md", "it lies outside the working folder"),
        ("file://{folder}/up/outside.md", "it lies outside the working folder"),
        ("file://{folder}", "it is a folder"),
        ("file://{folder}/pipe", "it is not a file"),
        ("file://{folder}/picture.png", "it is not a text in UTF-8"),
        ("file://{folder}/wide.md", "it is not a text in UTF-8"),
        ("file://{folder}/circle", "it cannot be read"),
        ("file://{folder}/plan.md%00.png", "it cannot be read"),
        ("file://{folder}/%ff.md", "it cannot be read"),
        ("file://{folder}/\ud800.md", "it cannot be read"),
        ("file://[", "it cannot be read"),
        ("file://{folder}/plan.md/below", "it cannot be read"),
        ("file:///C:/work/plan.md", "its path is one of Windows"),
        ("file:///c%3A/work/plan.md", "its path is one of Windows"),
        ("file:///C|/work/plan.md", "its path is one of Windows"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths and links of POSIX")
def test_what_is_not_shown_says_why(folder: Path, uri: str, note: str) -> None:
    (folder / "link.md").symlink_to(folder.parent / "outside.md")
    (folder / "up").symlink_to(folder.parent)
    (folder / "circle").symlink_to(folder / "circle")
    os.mkfifo(folder / "pipe")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    (folder / "wide.md").write_bytes(TASKS.encode("utf-16"))
    assert read_plan_file(uri.replace("{folder}", str(folder)), folder) == PlanFile(
        None, f"Not shown: {note}."
    )


def test_a_link_that_stays_inside_is_followed(folder: Path) -> None:
    (folder / "current.md").symlink_to("plan.md")
    assert read_plan_file((folder / "current.md").as_uri(), folder) == PlanFile(TASKS)
    (folder.parent / "alias").symlink_to(folder)
    assert read_plan_file((folder / "plan.md").as_uri(), folder.parent / "alias") == PlanFile(TASKS)


def test_a_file_that_is_not_there_and_a_folder_that_is_gone(folder: Path) -> None:
    uri = (folder / "later.md").as_uri()
    assert read_plan_file(uri, folder) == PlanFile(None, "There is no such file yet.")
    assert read_plan_file(uri, None) == PlanFile(None, "Not shown: it lies outside the working folder.")


@pytest.mark.parametrize("shift", range(4))
def test_only_the_beginning_of_a_long_file_is_read(folder: Path, shift: int) -> None:
    long = folder / "long.md"
    data = b"x" * shift + "🚀".encode() * (LONGEST // 4 + 250)
    long.write_bytes(data)
    file = read_plan_file(long.as_uri(), folder)
    assert file.text == data[:LONGEST].decode(errors="ignore")
    assert file.note == f"{len(data) - LONGEST:,} more bytes are not shown."


# -- in the state ----------------------------------------------------------------------------------------


def file_plan(uri: str, plan_id: str = "p") -> Plan:
    return Plan(plan_id=plan_id, type="file", uri=uri)


def test_what_a_file_holds_goes_when_the_plan_goes_or_is_kept_elsewhere() -> None:
    start = SessionState("s", "agent", "model")
    shown = fold(start, [PlanUpdate(file_plan("file:///a")), PlanFileRead("p", PlanFile("a"))])
    assert shown.files == {"p": PlanFile("a")} and shown.plan == file_plan("file:///a")
    assert reduce(shown, PlanFileRead("p", PlanFile("a"))) is shown
    assert reduce(shown, PlanUpdate(file_plan("file:///a"))).files is shown.files
    assert reduce(shown, PlanUpdate(file_plan("file:///b"))).files == {}
    assert reduce(shown, PlanUpdate(Plan(plan_id="p"))).files == {}
    assert reduce(shown, PlanRemoved("p")).files == {}
    assert reduce(start, PlanFileRead("p", PlanFile("a"))) is start


@pytest.fixture
def session(folder: Path, monkeypatch: pytest.MonkeyPatch, no_threads_left: None) -> Iterator[PuppetSession]:
    monkeypatch.chdir(folder)
    session = PuppetSession(ThreadHost())
    yield session
    session.close()


def test_a_session_reads_files_again_when_they_may_have_been_written(
    session: PuppetSession, folder: Path
) -> None:
    path = folder / "plan.md"
    session.send(PlanUpdate(file_plan(path.as_uri())))
    assert session.state.files == {"p": PlanFile(TASKS)}
    session.prompt("go on")
    path.write_text("first")
    session.send(AgentMessageChunk("…"), ToolCallUpdate("c", status="in_progress"))
    assert session.state.files["p"].text == TASKS
    session.send(ToolCallUpdate("c", status="completed"))
    assert session.state.files["p"].text == "first"
    path.write_text("second")
    session.do(session.puppet.end)
    assert session.state.files["p"].text == "second"
    path.unlink()
    session.send(UserMessage("again", "m"), StateUpdate("idle"))
    assert session.state.files["p"].note == "There is no such file yet."
    session.send(PlanUpdate(file_plan(path.as_uri())), PlanRemoved("p"))
    assert session.state.files == {}


def test_a_sessions_working_folder_stays_the_one_it_began_in(
    session: PuppetSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    session.send(PlanUpdate(file_plan((folder.parent / "outside.md").as_uri())))
    assert session.state.files["p"].text is None
    session.send(PlanUpdate(file_plan((folder / "plan.md").as_uri())))
    assert session.state.files["p"].text == TASKS
