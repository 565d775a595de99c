"""What a call will change, from its arguments: read inside the working folder only, and told apart."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from acp_notebook import Code, Diff, FileSystemProjectionMap
from acp_notebook.agent.projection import CannotPreview

FILES = FileSystemProjectionMap(
    default_write_tool="write_file",
    write_tool_names=frozenset({"edit_file"}),
    default_delete_tool="delete_file",
    default_bash_tool="run",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "work"
    (inside / "notes").mkdir(parents=True)
    (inside / "a.md").write_text("one\ntwo\n")
    (inside / "bytes").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "secret").write_text("secret\n")
    (inside / "link").symlink_to(tmp_path / "secret")
    (inside / "out").symlink_to(tmp_path)
    (inside / "alias.md").symlink_to("a.md")
    return inside


def project(folder: Path, tool: str, **arguments: Any) -> Any:
    found = FILES.project_start(tool, cwd=folder, raw_input=arguments)
    return found and found.content[0]


@pytest.mark.parametrize(
    ("tool", "arguments", "kind", "patch"),
    [
        ("write_file", {"path": "new.md", "content": "x\n"}, "create", "@@ -0,0 +1,1 @@\n+x"),
        ("write_file", {"path": "a.md", "content": "one\n2\n"}, "edit", "@@ -1,2 +1,2 @@\n one\n-two\n+2"),
        ("write_file", {"path": "a.md", "content": ""}, "empty", "@@ -1,2 +0,0 @@\n-one\n-two"),
        ("write_file", {"path": "new.md", "content": ""}, "create", ""),
        (
            "edit_file",
            {"path": "a.md", "old_text": "two", "new_text": "2"},
            "edit",
            "@@ -1,2 +1,2 @@\n one\n-two\n+2",
        ),
        ("delete_file", {"path": "a.md"}, "delete", "@@ -1,2 +0,0 @@\n-one\n-two"),
    ],
)
def test_what_happens_to_a_file(
    folder: Path, tool: str, arguments: dict[str, str], kind: str, patch: str
) -> None:
    made = project(folder, tool, **arguments)
    assert isinstance(made, Diff)
    assert (made.kind, made.patch, made.path) == (kind, patch, arguments["path"])
    assert made.hidden is None


def test_a_link_is_shown_as_what_it_leads_to(folder: Path) -> None:
    assert project(folder, "write_file", path="alias.md", content="").path == "a.md"
    assert project(folder, "write_file", path="notes/../a.md", content="").path == "a.md"
    assert project(folder, "write_file", path=str(folder / "a.md"), content="").path == "a.md"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("link", "outside of the working folder"),
        ("out/secret", "outside of the working folder"),
        ("../secret", "outside of the working folder"),
        ("notes/../../secret", "outside of the working folder"),
        ("/etc/passwd", "outside of the working folder"),
        (".", "outside of the working folder"),
        ("~/secret", "may be outside"),
        ("notes", "is a folder"),
        ("bytes", "not UTF-8|UTF-16"),
        ("a\0b", "cannot be read"),
        ("fifo", "a pipe or a device"),
    ],
)
def test_what_is_not_read(folder: Path, path: str, why: str) -> None:
    os.mkfifo(folder / "fifo")
    with pytest.raises(CannotPreview, match=why):
        project(folder, "write_file", path=path, content="x")


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("write_file", {"path": "a.md"}, "no argument 'content' that is a text"),
        ("write_file", {"path": 1, "content": "x"}, "no argument 'path' that is a text"),
        ("edit_file", {"path": "a.md", "old_text": "three", "content": "x"}, "does not occur in 'a.md'"),
        ("edit_file", {"path": "a.md", "old_text": "o", "content": "x"}, "occurs 2 times in 'a.md'"),
        ("delete_file", {"path": "gone"}, "there is no file 'gone' to delete"),
    ],
)
def test_what_cannot_be_shown(folder: Path, tool: str, arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(CannotPreview, match=why):
        project(folder, tool, **arguments)


def test_commands_and_other_tools(folder: Path) -> None:
    assert project(folder, "run", command="ls -l") == Code("ls -l", "bash")
    long = project(folder, "run", command="x" * 100_000)
    assert len(long.text) == 80_000 and long.hidden == "Not shown: 20,000 characters."
    assert project(folder, "other", path="a.md") is None


def test_names_of_arguments_are_settings(folder: Path) -> None:
    mine = FileSystemProjectionMap(default_write_tool="put", path_arg="where", content_arg="what")
    made = mine.project_start("put", cwd=folder, raw_input={"where": "a.md", "what": "", "content": "x"})
    assert made is not None and isinstance(made.content[0], Diff) and made.content[0].kind == "empty"
