"""`acp-notebook`: what each command prints, and its exit status."""

import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from acp_notebook import cli, doctor


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "acp_notebook", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=170)


@pytest.mark.once
def test_the_demo_finishes_its_plan_and_says_where_the_exports_are(tmp_path: Path) -> None:
    found = run("demo", "--keep", "kept", folder=tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "%acp ask Clean the survey data" in found.stdout
    assert "- [x]" in found.stdout and "- [ ]" not in found.stdout
    assert "drop_duplicates: allowed" in found.stdout
    for name in (cli.QUICKSTART, "plan.md", "plan.json"):
        assert str(tmp_path / "kept" / name) in found.stdout
        assert (tmp_path / "kept" / name).stat().st_size
    assert found.stderr == ""
    assert "<button" not in (tmp_path / "kept" / cli.QUICKSTART).read_text()


def test_the_doctor_reports_and_passes_here(tmp_path: Path) -> None:
    found = run("doctor", folder=tmp_path)
    assert found.returncode == 0
    assert "ipykernel" in found.stdout and "buttons while a cell runs" in found.stdout


def test_the_doctor_fails_when_something_needed_is_too_old(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(doctor.REQUIRED, "ipython", "999")
    assert cli.main(["doctor"]) == 1
    assert "pip install 'ipython>=999'" in capsys.readouterr().out


def test_the_doctor_asks_for_what_the_package_requires() -> None:
    lowest = {
        item.name: next(s.version for s in item.specifier if s.operator == ">=")
        for item in map(Requirement, requires("acp-notebook") or ())
        if item.specifier
    }
    table = doctor.REQUIRED | doctor.OPTIONAL
    assert {name: lowest[name] for name in table} == table


@pytest.mark.parametrize(
    ("found", "lowest", "enough"),
    [("7.4.0", "7.4", True), ("7.10", "7.4", True), ("7.3.1", "7.4", False), ("8.0.0rc1", "7.4", True)],
)
def test_releases_are_compared_by_number(found: str, lowest: str, enough: bool) -> None:
    assert doctor.at_least(found, lowest) is enough


@pytest.mark.once
def test_lab_opens_a_copy_of_the_lessons_and_keeps_a_changed_one(tmp_path: Path) -> None:
    mine = tmp_path / "acp-lessons" / cli.QUICKSTART
    first = run("lab", "--version", folder=tmp_path)  # the argument is JupyterLab's, which then only prints
    assert first.returncode == 0, first.stderr
    assert f"copied   {mine}" in first.stdout
    assert mine.read_bytes() == (cli.lessons() / cli.QUICKSTART).read_bytes()
    mine.write_text("changed by hand")
    assert f"kept     {mine}" in run("lab", "--version", folder=tmp_path).stdout
    assert mine.read_text() == "changed by hand"


def test_a_missing_package_is_one_line_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "nbclient", None)
    assert cli.main(["demo"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_unknown_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["doctor", "--everything"])
    assert stopped.value.code == 2
    assert "--everything" in capsys.readouterr().err
