"""What a line means: free text as typed, options before it, one line for every mistake."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.errors import AcpError
from acp_notebook.magics.parse import find_command, parse
from acp_notebook.magics.table import COMMANDS


def read(line: str, *, in_cell: bool = False) -> tuple[str, dict[str, Any], str]:
    command, rest = find_command(line, COMMANDS)
    return command.name, *parse(command, rest, in_cell=in_cell)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", ("", {}, "")),
        ("  status  ", ("status", {}, "")),
        ("plan", ("plan", {}, "")),
        ("plan --plan p2", ("plan", {"plan": "p2"}, "")),
        ("plan\tadd\tx", ("plan add", {}, "x")),
        # a remark, but never in a text
        ("mode plan  # read only", ("mode", {}, "plan")),
        ("plan export plan.md # or .json", ("plan export", {}, "plan.md")),
        ("plan export notes#1.md", ("plan export", {}, "notes#1.md")),
        ("plan add two  spaces # not a comment", ("plan add", {}, "two  spaces # not a comment")),
        # text as it is
        ("ask it's  \"odd\\ #1 {x} $y", ("ask", {}, "it's  \"odd\\ #1 {x} $y")),
        ("ask what does --mode do?", ("ask", {}, "what does --mode do?")),
        (
            "ask --mode plan --bg Write --effort high",
            ("ask", {"mode": "plan", "bg": True}, "Write --effort high"),
        ),
        ("ask --mode=plan Write", ("ask", {"mode": "plan"}, "Write")),
        ("ask -- --bg is a flag", ("ask", {}, "--bg is a flag")),
        ("ask --approve -- --bg", ("ask", {"approve": True}, "--bg")),
        ("ask ---", ("ask", {}, "---")),
        ("ask -x -1", ("ask", {}, "-x -1")),
        # the options of `plan add` may also follow, as its usage has always shown them
        ("plan add Write --priority high --at 2", ("plan add", {"priority": "high", "at": "2"}, "Write")),
        ("plan add -- Write --priority high", ("plan add", {}, "Write --priority high")),
        ("plan add Say --at midnight sharp", ("plan add", {}, "Say --at midnight sharp")),
        # values that are texts
        (
            "plan update 2 --content A b --status pending",
            ("plan update", {"content": "A b", "status": "pending"}, "2"),
        ),
        ('plan update 2 --content "A b" --status x', ("plan update", {"content": "A b", "status": "x"}, "2")),
        ('plan update 2 --content say "hi" now', ("plan update", {"content": 'say "hi" now'}, "2")),
        ('plan update 2 --content "a" and "b"', ("plan update", {"content": '"a" and "b"'}, "2")),
        ("plan update --content it's --status x 2", ("plan update", {"content": "it's", "status": "x"}, "2")),
        ('plan set --title "My plan" plan.md', ("plan set", {"title": "My plan"}, "plan.md")),
        ("plan set tasks --title My plan", ("plan set", {"title": "My plan"}, "tasks")),
        ('plan set "my plan.md"', ("plan set", {}, "my plan.md")),
        ("plan export my plan.md --force", ("plan export", {"force": True}, "my plan.md")),
        ("deny 2 --reason don't touch main", ("deny", {"reason": "don't touch main"}, "2")),
        # JSON
        ('approve --args {"a": [1, "x y"]} 2', ("approve", {"args": {"a": [1, "x y"]}}, "2")),
        (
            "approve --args '{\"a\": 1}' --note it is fine",
            ("approve", {"args": {"a": 1}, "note": "it is fine"}, ""),
        ),
        # names
        ("ask --attach a,b.md Compare", ("ask", {"attach": ["a", "b.md"]}, "Compare")),
        ("ask --attach a --attach b Compare", ("ask", {"attach": ["a", "b"]}, "Compare")),
        ("ask --attach a b.md -- Compare", ("ask", {"attach": ["a", "b.md"]}, "Compare")),
        ('ask --attach "my file.md" Compare', ("ask", {"attach": ["my file.md"]}, "Compare")),
    ],
)
def test_lines(line: str, expected: tuple[str, dict[str, Any], str]) -> None:
    assert read(line) == expected


def test_above_a_cell_names_need_no_end() -> None:
    assert read("ask --attach a b.md --mode plan", in_cell=True) == (
        "ask",
        {"attach": ["a", "b.md"], "mode": "plan"},
        "",
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("hello world", r"there is no %acp hello.*; to send a prompt: %acp ask hello …"),
        ("stat", r"there is no %acp stat: did you mean start or status\?"),
        ("plan ad x", r"there is no %acp plan ad: did you mean add\?"),
        ("plan xyz", r"there is no %acp plan xyz: use list, set, add"),
        ("ask --mod plan x", r"--mod is not an option here: this takes --bg, .*put -- before a text"),
        ("status --x", r"--x is not an option here: this takes no options"),
        ("ask --bg=1 x", "--bg takes no value"),
        ("ask --mode", "--mode needs a value: --mode M"),
        ("plan export --plan --force", "--plan needs a value: --plan ID"),
        ("approve --args {a: 1}", r"--args \{a: 1\} is not JSON: .* at character 2"),
        ("approve --args", "is not JSON"),
        ("deny --reason", "--reason needs a value: --reason TEXT"),
    ],
)
def test_mistakes(line: str, message: str) -> None:
    with pytest.raises(AcpError, match=message) as caught:
        read(line)
    assert "\n" not in str(caught.value)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_any_text_comes_through_after_the_end_of_options(text: str) -> None:
    assert read(f"ask -- {text}")[2] == text.strip()
