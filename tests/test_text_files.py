"""Text files that people name: read strictly, written whole or not at all, and nothing else is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acp_notebook.errors import AcpError
from acp_notebook.text_files import named, read_text, write_text


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["a\0.md", "\ud800.md"])
def test_a_name_that_no_file_can_have_is_refused_in_a_line(name: str) -> None:
    with pytest.raises(AcpError, match="is no name for a file"):
        named(name)


def test_a_name_that_is_too_long_is_refused_in_a_line() -> None:
    path = named("x" * 300)
    with pytest.raises(AcpError, match="cannot be read: "):
        read_text(path)
    with pytest.raises(AcpError, match="cannot be written: "):
        write_text(path, "text")


def test_the_longest_name_that_there_can_be_is_written() -> None:
    write_text(Path("x" * 252 + ".md"), "text")
    assert os.listdir() == ["x" * 252 + ".md"]


def test_home_is_where_it_is(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    assert named("~/plan.md") == folder / "plan.md"
    assert named("~nobody-has-this-name/plan.md") == Path("~nobody-has-this-name/plan.md")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes among files")
@pytest.mark.parametrize("force", [False, True])
def test_a_pipe_is_neither_waited_for_nor_replaced(force: bool) -> None:
    os.mkfifo("pipe")
    with pytest.raises(AcpError, match="a pipe or a device"):
        read_text(Path("pipe"))
    with pytest.raises(AcpError, match="a pipe or a device"):
        write_text(Path("pipe"), "text", force=force)
    assert Path("pipe").is_fifo()


@pytest.mark.parametrize("force", [False, True])
def test_a_circle_of_links_is_left_as_it_is(force: bool) -> None:
    os.symlink("one", "other")
    os.symlink("other", "one")
    with pytest.raises(AcpError, match="cannot be written"):
        write_text(Path("one"), "text", force=force)
    assert os.path.islink("one")
    assert os.path.islink("other")


def test_a_link_stays_one_and_what_it_names_is_written() -> None:
    os.symlink("plan.md", "link.md")
    write_text(Path("link.md"), "first")
    write_text(Path("link.md"), "second", force=True)
    assert os.path.islink("link.md")
    assert Path("plan.md").read_text() == "second"


def test_a_read_only_file_is_not_written_even_by_force() -> None:
    Path("plan.md").write_text("theirs")
    os.chmod("plan.md", 0o444)
    with pytest.raises(AcpError, match=r"'plan.md' is read-only"):
        write_text(Path("plan.md"), "mine", force=True)
    assert Path("plan.md").read_text() == "theirs"
    assert os.listdir() == ["plan.md"]
