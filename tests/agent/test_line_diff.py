"""What changes from one text to another: right for any texts, quick for long ones, bounded and honest."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.agent.line_diff import WHOLE, patch, stretches

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n"]), max_size=30)


@settings(max_examples=200, deadline=None)
@given(LINES, LINES)
def test_what_is_left_alone_and_what_comes_anew_make_the_new_text(old: list[str], new: list[str]) -> None:
    made: list[str] = []
    at = 0
    for stretch in stretches(old, new):
        assert stretch.old_start >= at
        made += old[at : stretch.old_start] + new[stretch.new_start : stretch.new_end]
        at = stretch.old_end
    assert made + old[at:] == new


def test_a_unified_diff() -> None:
    old = "".join(f"{n}\n" for n in range(20))
    new = old.replace("3\n", "three\n", 1).replace("17\n", "") + "end"
    assert patch(old, new) == (
        "@@ -1,7 +1,7 @@\n 0\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n"
        "@@ -15,6 +15,6 @@\n 14\n 15\n 16\n-17\n 18\n 19\n+end\n\\ No newline at end of file",
        2,
        2,
        None,
    )
    assert patch("a\r\n", "a\n").text == "@@ -1,1 +1,1 @@\n-a␍\n+a"
    assert patch("", "a\n").text == "@@ -0,0 +1,1 @@\n+a"
    assert patch("a\n", "a\n") == ("", 0, 0, None)


BASE = [f"line {n} " + "x" * 40 for n in range(60_000)]


def changed(*at: int) -> str:
    return "\n".join("new" if n in at else line for n, line in enumerate(BASE))


@pytest.mark.parametrize(
    ("old", "new", "counts", "hidden"),
    [
        ("\n".join(BASE), changed(20_000, 40_000), (2, 2), None),
        ("\n".join(BASE), "", (0, 60_000), "Not shown: changed lines (+0 −58,409)."),
        (
            "a" * 3_000_000,
            "a" * 1_500_000 + "b" + "a" * 1_499_999,
            (1, 1),
            "Not shown: 5,996,000 characters of long lines.",
        ),
        ("same\n" * 60_000, "same\n" * 30_000 + "other\n" + "same\n" * 30_000, (1, 0), None),
    ],
    ids=["two-lines", "all", "one-line", "alike"],
)
def test_perm_11_huge_diff(old: str, new: str, counts: tuple[int, int], hidden: str | None) -> None:
    begun = time.monotonic()
    made = patch(old, new)
    assert time.monotonic() - begun < 5, "far more than it takes on a slow machine"
    assert (made.added, made.removed) == counts
    assert len(made.text) < 2 * WHOLE
    assert made.hidden == hidden


def test_perm_11_every_second_line_changed_is_counted_whole() -> None:
    new = "\n".join(line + "!" * (n % 2) for n, line in enumerate(BASE))
    made = patch("\n".join(BASE), new)
    assert (made.added, made.removed) == (30_000, 30_000)
    shown = [line[:1] for line in made.text.split("\n") if line[:2] != "@@"]
    left = f"Not shown: changed lines (+{30_000 - shown.count('+'):,} −{30_000 - shown.count('-'):,})."
    assert made.hidden == left


def test_the_change_in_a_long_line_is_shown() -> None:
    made = patch("a" * 50_000 + "X" + "b" * 50_000 + "\n", "a" * 50_000 + "Y" + "b" * 50_000 + "\n")
    assert "aXb" in made.text and "aYb" in made.text
    assert "…(49,800 characters) " in made.text
