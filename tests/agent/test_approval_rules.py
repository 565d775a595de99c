"""Which calls a rule covers: in doubt an allowing rule covers nothing, and a denying one covers the call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_notebook.agent.approval_rules import covering, covers, offered
from acp_notebook.agent.approval_store import RuleFile, key_of, read_key, rules_path
from acp_notebook.errors import AcpError, PermissionError
from acp_notebook.protocol.rules import Covers, Decision, Rule, canonical, exactly, in_short


def covered(what: Covers, arguments: dict[str, Any], folder: Path, decision: Decision = "allow") -> bool:
    return covers(Rule(1, decision, "tool", what), arguments, folder)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    inside = tmp_path / "work"
    (inside / "notes" / "deep").mkdir(parents=True)
    (inside / "notes" / "out").symlink_to(tmp_path)
    (inside / "in").symlink_to("notes")
    monkeypatch.chdir(inside)
    return inside


# -- exact arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        {"command": "rm -rf /"},
        {"command": "ls "},
        {"command": "ls", "cwd": "/"},
        {},
        {"Command": "ls"},
        {"command": ["ls"]},
        {"command": "l\u200bs"},
    ],
)
def test_always_allow_then_changed_arguments(folder: Path, other: dict[str, Any]) -> None:
    rule = exactly({"command": "ls"})
    assert covered(rule, {"command": "ls"}, folder)
    assert not covered(rule, other, folder)


def test_values_that_python_takes_for_equal_are_not(folder: Path) -> None:
    for one, other in ((1, True), (1, 1.0), (0, False), ("1", 1), (None, "null")):
        assert not covered(exactly({"n": one}), {"n": other}, folder)
        assert not covered(Covers("equals", "n", canonical(one)), {"n": other}, folder)
        assert covered(Covers("equals", "n", canonical(one)), {"n": one}, folder)


def test_the_order_of_arguments_says_nothing_and_secrets_are_not_kept(folder: Path) -> None:
    arguments = {"to": "a", "token": "sk-123"}
    rule = exactly(arguments)
    assert covered(rule, dict(reversed(arguments.items())), folder)
    key = key_of("send", rule, in_short(arguments))
    assert "sk-123" not in key and '\\"a\\"' in key
    assert read_key(key, "allow", 3, "session") == Rule(3, "allow", "send", rule, shown=in_short(arguments))


# -- commands --------------------------------------------------------------------------------------------

GIT = Covers("command", "command", "git status")


@pytest.mark.parametrize("command", ["git status", "git status -s", "git  status 'a b'", 'git "status"'])
def test_a_command_that_begins_with_the_words(folder: Path, command: str) -> None:
    assert covered(GIT, {"command": command}, folder)


@pytest.mark.parametrize(
    "command",
    [
        "git status; rm -rf /",
        "git status | sh",
        "git status && rm x",
        "git status || rm x",
        "git status & rm x",
        "git status &",
        "git status\nrm x",
        "git status\r\nrm x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status ${IFS}rm",
        "git status $HOME",
        "git status > /etc/passwd",
        "git status < x",
        "git status <(rm x)",
        "git status \\\nrm",
        "git status ';' rm",
        "git status\u2028rm x",
        "git status\x0brm x",
        "git status {a,b}",
        "git stat",
        "git statusx",
        "git push",
        "git -c x=y status",
        "/tmp/git status",
        "PATH=. git status",
        "sudo git status",
        " rm; git status",
        "git 'status",
        "",
        None,
        ["git", "status"],
    ],
)
def test_never_more_than_one_plain_command(folder: Path, command: Any) -> None:
    assert not covered(GIT, {"command": command}, folder)
    pattern = Covers("matches", "command", "git status*")
    plain = command in ("git status", "git statusx")
    assert covered(pattern, {"command": command}, folder) == plain


@pytest.mark.parametrize(
    "command",
    [
        "rm x",
        "ls; rm x",
        "ls && rm x",
        "$(rm x)",
        "ls | rm x",
        "/bin/rm x",
        "sudo rm x",
        "A=1 rm x",
        "ls\nrm x",
        "bash -c 'rm x'",
        "sudo -u root rm x",
        "timeout 5 nice -n 3 rm x",
        "xargs -n1 rm",
        "find . -name x -exec rm {} +",
        "A=1 B=2 env C=3 rm x",
        "RM x",
    ],
)
def test_a_denied_command_is_found_wherever_a_shell_would(folder: Path, command: str) -> None:
    assert covered(Covers("command", "command", "rm"), {"command": command}, folder, "deny")


# -- paths -----------------------------------------------------------------------------------------------

NOTES = Covers("under", "path", "notes/")


@pytest.mark.parametrize(
    ("path", "allowed", "denied"),
    [
        ("notes/a", True, True),
        ("./notes/deep/../a", True, True),
        ("in/a", True, True),  # a link that leads there
        ("notes", True, True),
        ("notes/../a", False, False),
        ("notes/../notes/a", True, True),
        ("notes/out/a", False, True),  # a link that leads away
        ("notesx/a", False, False),
        ("../work/notes/a", True, True),
        ("/notes/a", False, False),
        ("~/notes/a", False, True),
        ("notes/a\0", False, True),
        ("", False, False),
        ("file:///etc/passwd", False, True),
        ("https://example.org/x", False, True),
        ("notes/$HOME/x", False, True),
        ("notes/%2e%2e/x", False, True),
        (" notes/a", False, True),
        ("notes/a\n", False, True),
        ("notes/..\\..\\x", False, True),
        ("NOTES/a", False, True),
        ("ｎｏｔｅｓ/a", False, True),
    ],
)
def test_paths_in_a_folder(folder: Path, path: str, allowed: bool, denied: bool) -> None:
    assert covered(NOTES, {"path": path}, folder) == allowed
    assert covered(NOTES, {"path": path}, folder, "deny") == denied
    assert not covered(NOTES, {"other": path}, folder)
    assert not covered(NOTES, {"path": [path]}, folder)


def test_a_process_that_has_gone_elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert not covered(NOTES, {"path": "notes/a"}, folder)
    assert covered(NOTES, {"path": str(folder / "notes/a")}, folder)


@pytest.mark.parametrize(
    "path", ["notes/../../etc/passwd", "notes/..", "notes/a\nb", "notes/a\u2028b", "../a"]
)
def test_a_pattern_allows_nothing_that_it_does_not_show(folder: Path, path: str) -> None:
    for pattern in ("notes/*", "*"):
        assert not covered(Covers("matches", "path", pattern), {"path": path}, folder)
    assert covered(Covers("matches", "path", "*"), {"path": path}, folder, "deny")


def test_a_pattern_denies_a_path_however_it_is_written(folder: Path) -> None:
    for path in ("data/a", "./data/a", "notes/../data/a", "data//a"):
        assert covered(Covers("matches", "path", "data/*"), {"path": path}, folder, "deny")


def test_a_rule_that_somebody_has_put_into_a_store_without_words(folder: Path) -> None:
    for words in ("", " "):
        assert not covered(Covers("command", "command", words), {"command": "rm x"}, folder)
        assert not covered(Covers("command", "command", words), {"command": "rm x"}, folder, "deny")


# -- which rule, and what is offered ---------------------------------------------------------------------


def test_deny_wins(folder: Path) -> None:
    allow, deny = Rule(1, "allow", "write", Covers("tool")), Rule(2, "deny", "write", NOTES)
    assert covering([allow, deny], "write", {"path": "notes/a"}, folder) is deny
    assert covering([allow, deny], "write", {"path": "a"}, folder) is allow
    assert covering([allow, deny], "Write", {"path": "a"}, folder) is None


def test_what_an_answer_may_cover(folder: Path) -> None:
    arguments = {"path": "notes/a", "content": "x" * 500, "token": "k", "times": 3}
    assert [what.said() for what in offered(arguments, folder)] == [
        "with exactly these arguments",
        "with path under notes/",
        'with path equal to "notes/a"',
        "with any arguments",
    ]
    commands = {
        "git status -s": ["git status"],
        "ls -l": ["ls"],
        "a; b": [],
        "sudo ls": [],
        "bash -c x": [],
        "X=1 ls": [],
        "": [],
    }
    for command, words in commands.items():
        found = [what.value for what in offered({"command": command}, folder) if what.kind == "command"]
        assert found == words, command


@pytest.mark.parametrize(
    "key", ["", "[]", "1", "{", '{"tool": 1, "covers": "tool"}', '{"tool": "a", "covers": "all"}']
)
def test_what_is_no_rule_of_ours_is_left_alone(key: str) -> None:
    assert read_key(key, "allow", 1, "session") is None
    assert read_key(key_of("a", Covers("tool")), "yes", 1, "session") is None


def test_rules_for_later_sessions_are_an_agents_own(folder: Path, tmp_path: Path) -> None:
    key = key_of("write", Covers("tool"))
    path, file = rules_path(), RuleFile("mine", folder)
    assert path is not None
    file.set("folder", key, "allow")
    file.set("user", key, "reject")
    try:
        assert list(RuleFile("mine", folder / "notes" / "..").rules()) == [
            ("folder", key, "allow"),
            ("user", key, "reject"),
        ]
        assert list(RuleFile("mine", tmp_path).rules()) == [("user", key, "reject")]
        assert list(RuleFile("other", folder).rules()) == []
        assert path.stat().st_mode & 0o077 == 0
        path.write_text("{")
        with pytest.raises(AcpError, match=r"rules\.json' is not JSON: mend or remove it"):
            list(file.rules())
    finally:
        path.unlink()


def test_processes_that_keep_rules_at_once_lose_none(folder: Path) -> None:
    path = rules_path()
    assert path is not None
    write = """
import sys
from pathlib import Path
from acp_notebook.agent.approval_store import RuleFile
for number in range(30):
    RuleFile("mine", Path(sys.argv[1])).set("folder", f"{sys.argv[2]}{number}", "allow")
"""
    try:
        processes = [
            subprocess.Popen([sys.executable, "-c", write, str(folder), name]) for name in ("a", "b", "c")
        ]
        assert [process.wait(60) for process in processes] == [0, 0, 0]
        assert len(list(RuleFile("mine", folder).rules())) == 90
    finally:
        path.unlink()


def test_where_there_is_no_place_for_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jupyter_core.paths", None)
    file = RuleFile("mine", folder)
    assert list(file.rules()) == []
    with pytest.raises(PermissionError, match="no place here for rules that outlive the session"):
        file.set("user", key_of("write", Covers("tool")), "allow")
