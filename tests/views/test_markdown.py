"""Answers: safe, complete, and cheap while they grow."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.views.markdown import INLINE_LIMIT, OPEN_LIMIT, PIECE, Answer, inline_code, markdown

HOSTILE = [
    "<script>alert(1)</script>",
    "a <img src=x onerror=alert(1)> b",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#115;cript:alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](data:text/html;base64,xx)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    "![x](javascript:alert(1))",
    '[x](https://a.b "onmouseover=alert(1)")',
    '[x](https://a.b/"onmouseover="alert(1))',
    '```"><script>alert(1)</script>\ncode\n```',
    "<!-- x --><svg/onload=alert(1)>",
    "|<b>|\n|-|\n|<i onclick=x>|",
    "&lt;script&gt;",
    "<a href='x'>",
]


@pytest.mark.parametrize("source", HOSTILE)
def test_no_markup_of_the_models_own(source: str) -> None:
    made = markdown(source)
    assert not re.search(r"<\s*(script|img|svg|style|iframe|b\b|i\b)", made, re.IGNORECASE)
    assert not re.search(r"<[^>]*\son\w+\s*=", made)
    for target in re.findall(r'href="([^"]*)"', made):
        assert target.lower().startswith(("https://", "http://", "mailto:"))


def test_links_and_images() -> None:
    made = markdown("[docs](https://a.b/c?d=1&e=2) ![chart](https://a.b/i.png) <mailto:a@b.c>")
    assert '<a href="https://a.b/c?d=1&amp;e=2" title=' in made
    assert 'rel="noopener noreferrer"' in made
    assert "<img" not in made and ">chart</a>" in made
    assert 'href="mailto:a@b.c"' in made


def test_what_misleads_is_shown_everywhere() -> None:
    for source in (
        "a\u202eb",
        "`a\u202eb`",
        "```\na\u202eb\n```",
        "# a\u202eb",
        "&#x202e;",
        "[a\u202eb](https://x.y)",
    ):
        made = markdown(source)
        assert "\u202e" not in made and "U+202E" in made


def test_tables_and_fences() -> None:
    made = markdown("|a|b|\n|---|--:|\n|1|2|\n\n```py\nx < y\n```")
    assert "<table>" in made and "<code>x &lt; y\n</code>" in made


def test_a_link_cannot_be_swallowed_by_worst_cases() -> None:
    assert markdown("[" * 200_000)  # would take minutes if it were parsed
    assert len(markdown("*" + "a" * INLINE_LIMIT)) > INLINE_LIMIT


def test_inline_code_in_entries() -> None:
    assert inline_code("Load `a.csv` <now>") == "Load <code>a.csv</code> &lt;now&gt;"
    assert inline_code("odd ` one") == "odd ` one"


PARAGRAPH = "Some *words* with `code`, **bold** and a [link](https://x.y). " * 40
BLOCKS = [
    "# Heading",
    "#hashtag",
    "para\nof lines",
    "Setext\n===",
    "x\n---",
    "- a\n- b\n\n  c\n- d",
    "1. one\n2. two",
    "* * *",
    "> quote\n> more",
    "```python\nx = 1\n\n# no heading\n```",
    "~~~\n```\n~~~",
    "    indented\n\n    code",
    "|a|b|\n|-|-|\n|1|2|",
    "see [ref] and [other][ref]",
    "[ref]: https://x.y",
    "a\r\nb\rc",
    "\u202e\x00 \ud800",
    "- " + "long item " * 700,
    "```\n" + "long line\n" * 700,
    PARAGRAPH * 3,
    "",
]


def stream(source: str, cuts: list[int]) -> Answer:
    answer = Answer()
    for cut in sorted(cuts):
        answer.grow(source[:cut], False)
    return answer


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_the_end_is_what_rendering_the_whole_gives(data: st.DataObject) -> None:
    source = data.draw(
        st.lists(st.sampled_from(BLOCKS), max_size=7).map(lambda b: data.draw(_between()).join(b))
    )
    cuts = data.draw(st.lists(st.integers(0, len(source)), max_size=12))
    pieces = stream(source, cuts).grow(source, True)
    assert "".join(piece.html for piece in pieces) == markdown(source)
    assert all(piece.open is None for piece in pieces)


def _between() -> st.SearchStrategy[str]:
    return st.sampled_from(["\n\n", "\n", "\n\n\n"])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from("ab*_`#>-[]() \n\t|1.~<!=\\"), max_size=80), st.integers(1, 9))
def test_any_text_in_any_pieces(chars: list[str], step: int) -> None:
    source = "".join(chars)
    pieces = stream(source, list(range(0, len(source), step))).grow(source, True)
    assert "".join(piece.html for piece in pieces) == markdown(source)


LONG = {
    "paragraph": "word " * 20_000,
    "fence": "```python\n" + "x = 1  # comment\n" * 6_000 + "```\n",
    "unclosed fence": "```python\n" + "x = 1  # comment\n" * 6_000,
    "list": "- item with *some* text\n" * 4_000,
    "loose list": "- item with *some* text\n\n" * 4_000,
    "document": (PARAGRAPH + "\n\n") * 40,
    "brackets": "[" * 100_000,
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.once
def test_a_long_answer_is_sent_once_or_twice_over(name: str) -> None:
    """What changes between two states of the page is bounded, whatever the text."""
    source = LONG[name]
    answer = Answer()
    before: dict[int, str] = {}
    biggest = total = 0
    for cut in range(500, len(source), 500):
        pieces = answer.grow(source[:cut], False)
        now = {position: piece.html for position, piece in enumerate(pieces)}
        changed = sum(len(html) for position, html in now.items() if before.get(position) != html)
        biggest, total = max(biggest, changed), total + changed
        before = now
    final = "".join(piece.html for piece in answer.grow(source, True))
    assert final == markdown(source)
    # At each step at most one open block or one piece is sent again, and once more when a long block closes.
    steps = len(source) // 500
    assert total < steps * 3 * OPEN_LIMIT + 2 * len(final)


def test_a_long_open_block_is_there_in_full_as_text() -> None:
    source = "```\n" + "".join(f"line {n}\n" for n in range(3_000))
    answer = Answer()
    for cut in range(0, len(source), 1_000):
        pieces = answer.grow(source[:cut], False)
    assert {piece.open for piece in pieces} == {"code"}
    assert all(len(piece.html) <= PIECE + 20 for piece in pieces)
    written = "".join(re.sub("</?span>", "", piece.html) for piece in pieces)
    assert written == source[:cut].partition("\n")[2]
    again = answer.grow(source[:cut], False)
    assert all(a.html is b.html for a, b in zip(pieces[:-1], again[:-1], strict=True))
