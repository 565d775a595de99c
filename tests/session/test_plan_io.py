"""Plans read from files and written to them: in place where they were read, and never over anything else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_notebook.errors import AcpError, PlanError
from acp_notebook.kernel.host import ThreadHost
from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.plan.formats import write_all
from harness.puppet import PuppetSession


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PuppetSession]:
    """A session in an empty folder."""
    monkeypatch.chdir(tmp_path)
    session = PuppetSession(ThreadHost())
    yield session
    session.close()


TASKS = b"\xef\xbb\xbf# Tasks\r\n\r\n* [ ] Load\r\n* [ ] \xc3\x9cben <!-- mine -->\r\n\r\nNotes"


def test_a_plan_is_read_from_a_file_and_said_to_be(session: PuppetSession) -> None:
    Path("plan.md").write_bytes(TASKS)
    plan = session.read_plan("plan.md")
    assert plan == session.plan == Plan((PlanEntry("Load"), PlanEntry("Üben")), title="Tasks")
    (revision,) = session.plan_history()
    assert revision.author == "file"
    assert session.read_plan(Path("plan.md"), "other", title="Mine").title == "Mine"
    Path("plan.txt").write_text("task,done\nLoad,x\n")
    assert session.read_plan("plan.txt")[0].status == "completed"


def test_a_file_that_was_read_is_changed_in_place(session: PuppetSession) -> None:
    Path("plan.md").write_bytes(TASKS)
    os.chmod("plan.md", 0o640)
    session.read_plan("plan.md")
    assert session.export_plan("plan.md") == "unchanged"
    session.mark_done(2)
    assert session.export_plan("plan.md") == "updated"
    assert Path("plan.md").read_bytes() == TASKS.replace(b"[ ] \xc3", b"[x] \xc3")
    assert Path("plan.md").stat().st_mode & 0o777 == 0o640
    session.add_entry("Report")
    assert session.export_plan(Path("plan.md").resolve()) == "updated"
    assert b"<!-- mine -->\r\n* [ ] Report\r\n\r\nNotes" in Path("plan.md").read_bytes()
    assert os.listdir() == ["plan.md"]


def test_a_file_that_others_changed_is_left_alone(session: PuppetSession) -> None:
    Path("plan.md").write_bytes(TASKS)
    session.read_plan("plan.md")
    session.mark_done(1)
    Path("plan.md").write_text("- [ ] theirs\n")
    with pytest.raises(AcpError) as error:
        session.export_plan("plan.md")
    assert str(error.value) == (
        "'plan.md' has changed since it was read: read it again with %acp plan set, "
        "or overwrite it with --force"
    )
    assert Path("plan.md").read_text() == "- [ ] theirs\n"
    assert session.export_plan("plan.md", force=True) == "written"
    session.mark_done(2)
    assert session.export_plan("plan.md") == "updated"
    assert Path("plan.md").read_text() == "# Tasks\n\n- [x] Load\n- [x] Üben\n"
    Path("plan.md").unlink()
    assert session.export_plan("plan.md") == "written"


def test_a_file_that_was_not_read_is_never_overwritten_unasked(session: PuppetSession) -> None:
    session.add_entry("Load")
    assert session.export_plan("plan.md") == "written"
    for path, format in (("plan.md", None), ("plan.md", "json")):
        with pytest.raises(
            AcpError, match=r"^'plan.md' exists: name another file, or overwrite it with --force$"
        ):
            session.export_plan(path, format=format)
    session.read_plan("plan.md")
    with pytest.raises(AcpError, match=r"'plan\.md' exists"):
        session.export_plan("plan.md", format="json")
    session.remove_entry(1)
    session.add_entry("Other")
    assert session.export_plan("plan.md") == "updated"


def test_a_plan_goes_back_to_the_file_it_came_from(session: PuppetSession) -> None:
    for name in ("one", "two"):
        Path(f"{name}.md").write_text(f"- [ ] {name}\n")
        session.read_plan(f"{name}.md", name)
    session.mark_done(1, plan_id="one")
    session.mark_done(1, plan_id="two")
    session.export_plan("one.md")
    session.export_plan("two.md")
    assert [Path(f"{name}.md").read_text() for name in ("one", "two")] == ["- [x] one\n", "- [x] two\n"]
    with pytest.raises(AcpError, match=r"^'one.md' was read as plan 'one': name another file, or overwrite"):
        session.export_plan("one.md", "two")
    session.remove_plan("one")
    with pytest.raises(AcpError, match="was read as plan 'one'"):
        session.export_plan("one.md")
    with pytest.raises(PlanError, match="there is no plan 'one': this session's plans are 'two'"):
        session.export_plan("one.md", "one")


PLANS = (Plan((PlanEntry("a"),), "one", title="One"), Plan((PlanEntry("b"),), "two"))


@pytest.mark.parametrize("format", ["md", "json", "yaml", "csv"])
def test_several_plans_in_a_file_go_where_their_ids_say(session: PuppetSession, format: str) -> None:
    path = Path(f"all.{format}")
    path.write_text(write_all(PLANS, format), newline="")
    assert session.read_plan(path) == PLANS[1]
    assert session.plans == {"one": PLANS[0], "two": PLANS[1]}
    session.clear_plan(plan_id="one")
    assert session.read_plan(path, "one") == PLANS[0]
    with pytest.raises(PlanError, match=r"^'all.*': this holds plans 'one', 'two', and no 'three'$"):
        session.read_plan(path, "three")
    with pytest.raises(PlanError, match=r"choose the one that gets the title with --plan ID$"):
        session.read_plan(path, title="T")
    with pytest.raises(AcpError, match=r"was read as several plans: name another file, or overwrite it with"):
        session.export_plan(path)


@pytest.mark.parametrize("format", ["md", "json", "yaml", "csv"])
def test_what_cannot_be_changed_in_place_is_refused(session: PuppetSession, format: str) -> None:
    path = Path(f"plan.{format}")
    session.set_plan(["a"])
    session.export_plan(path)
    session.read_plan(path)
    text = path.read_bytes()
    session.set_plan(Plan(type="markdown", content="words"))
    with pytest.raises(PlanError, match=r"^'plan\..*': it cannot be changed in place .*--force$"):
        session.export_plan(path)
    assert path.read_bytes() == text


def test_csv_files_begin_as_excel_wants_it(session: PuppetSession) -> None:
    session.set_plan(["Übung", "=1"])
    session.export_plan("plan.csv")
    data = Path("plan.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbfcontent,status,priority\r\n\xc3\x9cbung,")
    session.read_plan("plan.csv")
    session.mark_done(2)
    session.export_plan("plan.csv")
    assert Path("plan.csv").read_bytes() == data.replace(b"'=1,pending", b"'=1,completed")
