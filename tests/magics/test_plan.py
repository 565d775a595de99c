"""`%acp plan …`: the plan is edited by number, set from text, variables and files, and exported."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_notebook import Plan, PlanEntry, current
from acp_notebook.plan.formats import FORMATS
from harness.cells import Cells
from harness.wire import Frontend


def contents() -> list[str]:
    session = current()
    assert session is not None
    return [entry.content for entry in session.plan]


def statuses() -> list[str]:
    session = current()
    assert session is not None
    return [entry.status for entry in session.plan]


# -- entries ---------------------------------------------------------------------------------------------


def mangled(text: str, *arguments: object) -> list[str]:
    raise AssertionError(f"{text!r} was split as a shell would")


@pytest.mark.parametrize("windows", [False, True])
def test_nb_15_magic_quotes(echo: Cells, windows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if windows:  # IPython splits in another way there; here nothing is split at all
        monkeypatch.setattr("IPython.utils.process.arg_split", mangled)
        monkeypatch.setattr("sys.platform", "win32")
    texts = ["don't touch main", 'say "hello', "read C:\\data\\new.csv", "two  spaces # not a comment"]
    echo.run("%acp plan add don't touch main")
    echo.run('%acp plan add say "hello')
    echo.run("%acp plan add read C:\\data\\new.csv")
    echo.run("%acp plan add  two  spaces # not a comment")
    assert contents() == texts


def test_quotes_around_the_whole_of_a_text_are_taken_off(echo: Cells) -> None:
    echo.run('%acp plan add "Return essays" --priority high')
    echo.run("%acp plan add 'Return' the 'essays'")
    assert contents() == ["Return essays", "'Return' the 'essays'"]
    assert "needs some text" in echo.fails('%acp plan add ""')


def test_braces_and_dollars_are_not_expanded(echo: Cells) -> None:
    echo.run("x = 1\n%acp plan add {x} $x {{x}}")
    assert contents() == ["{x} $x {{x}}"]


def test_a_text_may_end_in_a_question_mark(echo: Cells) -> None:
    echo.run("for n in range(2):\n    %acp plan add is it done?\n%acp plan add really??")
    assert contents() == ["is it done?", "is it done?", "really??"]
    echo.run("%acp plan clear\n%acp plan add what (is it?\nx = 1\nlen?")
    assert contents() == ["what (is it?"]
    turn = echo.run("t = %acp ask What is in the data?\nt").value
    assert turn.prompt == "What is in the data?"


def test_other_question_marks_are_still_ipython_s(echo: Cells) -> None:
    assert "Docstring" in echo.run("len?").text
    assert echo.run('x = """\n%acp ask what?\n"""').text == ""
    assert echo.variables["x"] == "\n%acp ask what?\n"


def test_entries_are_added_changed_moved_and_removed_by_number(echo: Cells) -> None:
    assert echo.run("%acp plan add Load").text == "Added 1. [pending] (medium) Load · 0 of 1 done\n"
    echo.run(
        "%acp plan add --priority high Plot\n%acp plan add Report --priority low\n%acp plan add --at 1 Begin"
    )
    assert contents() == ["Begin", "Load", "Plot", "Report"]
    assert (
        "2. [in_progress] (high) Load it"
        in echo.run("%acp plan update 2 --content Load it --status in_progress --priority high").text
    )
    assert echo.run("%acp plan done 1 2").lines[-1].endswith("· 2 of 4 done")
    echo.run("%acp plan start 3\n%acp plan cancel 4")
    assert statuses() == ["completed", "completed", "in_progress", "cancelled"]
    echo.run("%acp plan move 4 1\n%acp plan remove 2")
    assert contents() == ["Report", "Load it", "Plot"]
    assert echo.run("%acp plan clear").text == "Plan 'plan-1' is empty.\n"
    assert contents() == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("plan done 5", "there is no entry 5 in this plan: the only entry is 1"),
        ("plan done x", "'x' is not a number"),
        ("plan done", "this is used as %acp plan done N [N…] [--plan ID]"),
        ("plan move 1", "this is used as %acp plan move N TO [--plan ID]"),
        ("plan update 1", "say what should change: --content TEXT, --status S or --priority P"),
        ("plan add", "an entry needs some text: %acp plan add TEXT"),
        ("plan add --at x Load", "'x' is not a number"),
        ("plan --plan p9", "there is no plan 'p9': this session's plans are 'plan-1'"),
        ("plan clear 1", "%acp plan clear takes no '1': use %acp plan clear [--plan ID]"),
    ],
)
def test_mistakes_are_one_line_and_change_nothing(echo: Cells, line: str, message: str) -> None:
    echo.run("%acp plan add Load")
    assert echo.fails(f"%acp {line}") == message
    assert contents() == ["Load"]


def test_an_unknown_status_is_refused(echo: Cells) -> None:
    echo.run("%acp plan add Load")
    assert "'doing' is not a status: use pending, in_progress" in echo.fails(
        "%acp plan update 1 --status doing"
    )


def test_without_a_session_the_demo_is_started_and_said(cells: Cells) -> None:
    first = cells.run("%acp plan add Load").lines
    assert first[0].startswith("Session 'demo': model scripted demo (a script, not a language model)")
    assert first[1].startswith("Added 1.")
    assert len(cells.run("%acp plan add Plot").lines) == 1


def test_several_plans(echo: Cells) -> None:
    assert echo.run("%acp plan list").text == "There is no plan yet: %acp plan add TEXT begins one.\n"
    echo.run("%acp plan add Load\n%acp plan add --plan thesis Write")
    assert echo.run("%acp plan list").lines == ["  plan-1  0 of 1 done", "* thesis  0 of 1 done"]
    assert echo.run("%acp plan --plan plan-1").value.plan_id == "plan-1"
    assert echo.run("%acp plan").value.plan_id == "thesis"


def test_the_plan_is_the_value_of_a_cell(echo: Cells) -> None:
    echo.run("%acp plan add Load the data")
    shown = echo.run("%acp plan")
    assert isinstance(shown.value, Plan)
    assert "Load the data" in shown.text
    assert echo.run("p = %acp plan\nlen(p)").value == 1


# -- set -------------------------------------------------------------------------------------------------


def test_a_cell_is_a_markdown_task_list(echo: Cells) -> None:
    ran = echo.run("%%acp plan set --title Survey of June\n- [x] Load\n- [ ] Plot: don't {x}\n")
    assert ran.text == "Plan 'plan-1': 1 of 2 done\n"
    assert contents() == ["Load", "Plot: don't {x}"]
    assert echo.run("%acp plan").value.title == "Survey of June"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("- [ ] a\n- [x] b", ["a", "b"]),
        (["a", "b"], ["a", "b"]),
        ([{"content": "a"}, PlanEntry("b")], ["a", "b"]),
        (Plan((PlanEntry("a"),)), ["a"]),
        ('{"entries": [{"content": "a"}]}', ["a"]),
    ],
)
def test_a_variable_holds_the_plan(echo: Cells, value: object, expected: list[str]) -> None:
    echo.variables["tasks"] = value
    Path("tasks").write_text("- [ ] not this")  # the variable wins over a file of the same name
    echo.run("%acp plan set tasks")
    assert contents() == expected


def test_a_plan_s_own_id_is_kept(echo: Cells) -> None:
    echo.variables["p"] = Plan((PlanEntry("a"),), plan_id="thesis")
    assert echo.run("%acp plan set p").text == "Plan 'thesis': 0 of 1 done\n"
    assert echo.run("%acp plan set p --plan other").text == "Plan 'other': 0 of 1 done\n"


def test_a_function_s_own_variables_are_seen(echo: Cells) -> None:
    echo.run("def f():\n    mine = ['a']\n    %acp plan set mine\nf()")
    assert contents() == ["a"]


def test_a_file_holds_the_plan(echo: Cells) -> None:
    Path("my plan.md").write_bytes("\ufeff- [x] Übung\r\n- [ ] b\r\n".encode())
    echo.run("%acp plan set my plan.md")
    assert contents() == ["Übung", "b"]
    Path("plan.json").write_text('[{"content": "c", "status": "completed"}]')
    echo.run("%acp plan set plan.json")
    assert (contents(), statuses()) == (["c"], ["completed"])
    Path("notes.txt").write_text("- d")
    echo.run("from pathlib import Path\nfile = Path('notes.txt')\n%acp plan set file")
    assert contents() == ["d"]


def test_files_of_every_format_that_is_read(echo: Cells) -> None:
    Path("plan.yaml").write_text("todos:\n  - content: a\n    status: completed\n")
    Path("plan.csv").write_bytes("\ufefftask;state\r\nÜben;Done\r\n".encode())
    Path("cursor.md").write_text("---\ntodos:\n  - id: x\n    content: c\n---\n- [ ] not this\n")
    Path("notes.txt").write_text("entries:\n- d\n")
    for name, content in (("plan.yaml", "a"), ("plan.csv", "Üben"), ("cursor.md", "c"), ("notes.txt", "d")):
        echo.run(f"%acp plan set {name}")
        assert contents() == [content]
    session = current()
    assert session is not None
    assert [revision.author for revision in session.plan_history()] == ["file"] * 4


def test_a_data_frame_is_a_plan_and_a_plan_is_a_data_frame(echo: Cells) -> None:
    pytest.importorskip("pandas")
    echo.run("import pandas\ndf = pandas.DataFrame({'task': ['a', 'b'], 'done': [True, False]})")
    echo.run("%acp plan set df")
    assert (contents(), statuses()) == (["a", "b"], ["completed", "pending"])
    assert echo.run("p = %acp plan\np.to_frame().status.tolist()").value == ["completed", "pending"]


BAD_FILES: dict[str, tuple[bytes | None, str]] = {
    "latin-1": (
        bytes.fromhex("2d205b205d20dc62756e670a"),
        "'plan.md' is not UTF-8 text: byte 0xdc at offset 6",
    ),
    "utf-16": ("\ufeff- [ ] a".encode("utf-16-le"), "'plan.md' is UTF-16: save it as UTF-8"),
    "png": (b"\x89PNG\r\n\x1a\n\x00\x00", "'plan.md' is not UTF-8 text: byte 0x89 at offset 0"),
    "nul": (b"- a\x00", "'plan.md' is not text: NUL byte at offset 3"),
    "folder": (None, "'plan.md' is a folder: name a file in it"),
    "empty": (b"", "'plan.md' is empty; to empty the plan use %acp plan clear"),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_md_12_not_utf8_and_wrong_type(echo: Cells, kind: str) -> None:
    data, message = BAD_FILES[kind]
    echo.run("%acp plan add Load")
    path = Path("plan.md")
    path.mkdir() if data is None else path.write_bytes(data)
    assert echo.fails("%acp plan set plan.md") == message
    assert contents() == ["Load"]
    if data is not None:
        assert path.read_bytes() == data


def test_md_12_not_utf8_and_wrong_type_whatever_the_locale(start_kernel: Callable[..., Frontend]) -> None:
    """The platform's own encoding plays no part."""
    page = start_kernel(env={"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "LANG": "C"})
    page.run("%load_ext acp_notebook\nfrom pathlib import Path")
    page.run("n = Path('p.md').write_bytes('- [ ] Übung'.encode())")
    page.run("%acp plan set p.md\n%acp plan export q.md")
    page.run("n = Path('p.md').write_bytes(b'- [ ] \\xdcbung')")
    cell = page.execute("%acp plan set p.md")
    assert "'p.md' is not UTF-8 text: byte 0xdc at offset 6" in cell.stderr
    assert page.value("Path('q.md').read_bytes().decode()") == "- [ ] Übung\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nothing", "'nothing' is neither a variable nor a file"),
        ("number", "variable 'number': 3 is not a plan: use a Plan, Markdown text or a list of entries"),
        ("entries", "variable 'entries': entry 1 has no text: give it a 'content'"),
        ("blank", "variable 'blank' is empty; to empty the plan use %acp plan clear"),
        ("plan.yaml", "'plan.yaml': entry 1 has no text: give it a 'content'"),
        (
            "plan.org",
            "'plan.org' is an Org file, which is neither read nor written: use Markdown, a .md file with",
        ),
        ("plan.html", "'plan.html': plans are not read from html: use md, json, yaml, csv"),
        ("plan.md --format docx", "'plan.md': 'docx' is not a plan format: use md, json, yaml, csv, html"),
        ("prose.md", "'prose.md': there is no list in this text"),
        ("", "this is used as %acp plan set FILE|VAR"),
    ],
)
def test_what_is_no_plan_is_refused_in_one_line(echo: Cells, line: str, message: str) -> None:
    echo.run("number, entries, blank = 3, [{'status': 'pending'}], ' '\n%acp plan add Load")
    Path("plan.yaml").write_text("- a: 1")
    Path("plan.org").write_text("* TODO Course")
    Path("plan.html").write_text("<ul><li>a</ul>")
    Path("plan.md").write_text("- a")
    Path("prose.md").write_text("Once upon a time.")
    assert message in echo.fails(f"%acp plan set {line}")
    assert contents() == ["Load"]


def test_a_cell_and_a_name_are_one_too_many(echo: Cells) -> None:
    assert echo.fails("%%acp plan set tasks\n- [ ] a") == "give a plan in the cell or name 'tasks', not both"
    assert echo.fails("%%acp plan add a\nb") == "%%acp plan add takes no cell: use %acp plan add"


# -- export ----------------------------------------------------------------------------------------------


def test_the_plan_is_written_in_the_format_of_the_suffix(echo: Cells) -> None:
    echo.run("%acp plan add Load\n%acp plan done 1")
    assert echo.run("%acp plan export out.md").text == "Wrote out.md\n"
    assert Path("out.md").read_text() == "- [x] Load\n"
    echo.run("%acp plan export out.json\n%acp plan export out --format md")
    assert json.loads(Path("out.json").read_text())["entries"][0]["content"] == "Load"
    assert Path("out").read_text() == "- [x] Load\n"
    assert sorted(os.listdir()) == ["out", "out.json", "out.md"]  # no temporary file is left


def test_a_file_is_never_overwritten_unasked(echo: Cells) -> None:
    echo.run("%acp plan add Load")
    Path("out.md").write_text("mine")
    assert (
        echo.fails("%acp plan export out.md")
        == "'out.md' exists: name another file, or overwrite it with --force"
    )
    assert Path("out.md").read_text() == "mine"
    echo.run("%acp plan export out.md --force")
    assert Path("out.md").read_text() == "- [ ] Load\n"


def test_what_cannot_be_written_is_said_in_one_line(echo: Cells) -> None:
    echo.run("%acp plan add Load")
    assert "'no/out.md' cannot be written: No such file" in echo.fails("%acp plan export no/out.md")
    assert "use one that ends with .md" in echo.fails("%acp plan export out.docx")
    Path("folder.md").mkdir()
    assert echo.fails("%acp plan export folder.md") == "'folder.md' is a folder: name a file in it"


def test_without_a_path_the_text_is_the_value(echo: Cells) -> None:
    echo.run("%acp plan add Load")
    shown = echo.run("%acp plan export")
    assert shown.value == "- [ ] Load\n"
    assert "- [ ] Load" in shown.lines
    assert json.loads(echo.run("%acp plan export --format json").value)["planId"] == "plan-1"


def test_a_file_that_the_plan_was_read_from_is_updated_in_place(echo: Cells) -> None:
    text = "# Mine\n\n1. [ ] a\n2. [ ] b <!-- note -->\n\nEnd"
    Path("plan.md").write_text(text)
    echo.run("%acp plan set plan.md")
    assert echo.run("%acp plan export plan.md").text == "plan.md is up to date\n"
    echo.run("%acp plan done 2")
    assert echo.run("%acp plan export plan.md").text == "Updated plan.md\n"
    assert Path("plan.md").read_text() == text.replace("[ ] b", "[x] b")
    Path("plan.md").write_text("- [ ] theirs")
    message = "'plan.md' has changed since it was read: read it again with %acp plan set, "
    assert echo.fails("%acp plan export plan.md") == f"{message}or overwrite it with --force"
    assert echo.run("%acp plan export plan.md --force").text == "Wrote plan.md\n"
    assert Path("plan.md").read_text() == "# Mine\n\n- [ ] a\n- [x] b\n"


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_can_be_exported(echo: Cells, format: str) -> None:
    echo.run("%acp plan add Load\n%acp plan add --plan thesis Write")
    name = f"out{FORMATS[format].suffixes[0]}"
    assert echo.run(f"%acp plan export {name} --plan plan-1").text == f"Wrote {name}\n"
    shown = echo.run(f"%acp plan export --plan plan-1 --format {format}")
    assert FORMATS[format].mark + shown.value == Path(name).read_bytes().decode()
    assert "Load" in shown.value and "Write" not in shown.value
    assert echo.run(f"%acp plan export {name} --all --force").text == f"Wrote {name}\n"
    assert "Load" in (text := Path(name).read_text()) and "Write" in text


def test_a_diagram_is_drawn_where_it_can_be(echo: Cells) -> None:
    echo.run("%acp plan add Load")
    diagram = echo.run("%acp plan export --format mermaid").value
    assert diagram == Plan((PlanEntry("Load"),)).to("mermaid")
    shown, _ = echo.shell.display_formatter.format(diagram)
    assert shown == {"text/plain": diagram, "text/markdown": f"```mermaid\n{diagram}```\n"}


@pytest.mark.parametrize("format", ["md", "json", "yaml", "csv"])
def test_all_plans_go_out_and_come_back(echo: Cells, format: str) -> None:
    echo.run("%acp plan add Load\n%acp plan add --plan thesis Write\n%acp plan done --plan thesis 1")
    echo.run(f"%acp plan export all.{format} --all\n%acp plan clear\n%acp plan clear --plan plan-1")
    ran = echo.run(f"%acp plan set all.{format}")
    assert ran.lines == ["Plan 'plan-1': 0 of 1 done", "Plan 'thesis': 1 of 1 done"]
    assert "was read as several plans" in echo.fails(f"%acp plan export all.{format}")


def test_all_plans_at_once(echo: Cells) -> None:
    echo.run("%acp plan add Load\n%acp plan add --plan thesis Write")
    assert [line for line in echo.run("%acp plan export --all").value.splitlines() if line] == [
        '# plan-1 <!-- {"planId": "plan-1", "title": null} -->',
        "- [ ] Load",
        '# thesis <!-- {"planId": "thesis", "title": null} -->',
        "- [ ] Write",
    ]
    plans = json.loads(echo.run("%acp plan export --all --format json").value)
    assert [plan["planId"] for plan in plans] == ["plan-1", "thesis"]
