"""Whatever text comes in, no markup and nothing misleading comes out."""

from __future__ import annotations

import html as stdlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.text import misleads, plain
from acp_notebook.views.html import Html, join, tag, text


def shown(made: str) -> str:
    """The text that a browser would show."""
    return stdlib.unescape(re.sub(r"<[^>]*>", "", made))


class Tags(HTMLParser):
    def __init__(self, made: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(made)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs


@given(st.text())
def test_text_makes_no_markup(value: str) -> None:
    made = text(value)
    assert set(Tags(made).names) <= {"span"}
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]", made
    )


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=30))
def test_ordinary_text_is_shown_as_it_is(value: str) -> None:
    if not misleads(value):
        assert shown(text(value)) == value


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_attributes_hold_any_value_and_give_it_back(value: str) -> None:
    made = tag("button", "x", data_option=value)
    ((name, back),) = Tags(made).attributes
    # The parser of the standard library drops references to characters that HTML forbids; a browser does not.
    if not re.search("[\x01-\x1f\x7f-\x9f\ufffe\uffff]|[\ufdd0-\ufdef]", value) and not any(
        ord(char) & 0xFFFE == 0xFFFE for char in value
    ):
        assert (name, back) == ("data-option", value)
    assert Tags(made).names == ["button"]


@pytest.mark.parametrize(
    ("value", "escape"),
    [
        ("a\u202eb", "U+202E"),
        ("a\u2066b", "U+2066"),
        ("a\u200fb", "U+200F"),
        ("rm \u200b-rf", "U+200B"),
        ("a\ufeffb", "U+FEFF"),
        ("a\u2060b", "U+2060"),
        ("\x1b[2K", "U+001B"),
        ("ls\rrm", "U+000D"),
        ("a\x85b", "U+0085"),
        ("a\U000e0041b", "U+E0041"),
        ("a\ud800b", "U+D800"),
        ("a\u00adb", "U+00AD"),
        ("a\u200db", "U+200D"),
        ("a\u200cb", "U+200C"),
        ("a\ufe0f\ufe0fb", "U+FE0F"),
        ("a\U000e0101b", "U+E0101"),
        ("x" + " " * 60 + "y", "60 blanks"),
        ("x" + "\u00a0" * 60 + "y", "60 blanks"),
        ("x" + "\n" * 30 + "y", "29 empty lines"),
        ("x" + "\n \t" * 30 + "\ny", "30 empty lines"),
    ],
)
def test_what_misleads_is_shown(value: str, escape: str) -> None:
    assert escape in shown(text(value))
    assert f"[{escape}]" in plain(value)
    assert misleads(value)


@pytest.mark.parametrize(
    "value",
    [
        "שלום עולם",
        "مرحبا",
        "می\u200cخواهم",  # Persian: a zero-width non-joiner inside a word
        "क्\u200dष",  # Devanagari: a half form
        "👨\u200d👩\u200d👧",
        "❤\ufe0f",
        "👩🏽\u200d🚀",
        "🏳\ufe0f\u200d🌈",
        "葛\U000e0100",  # an ideograph's variant
        "a  b\tc\nd\r\ne",
        "naïve – “quoted” …",
    ],
)
def test_writing_keeps_what_it_needs(value: str) -> None:
    assert shown(text(value)) == value.replace("\r\n", "\n")
    assert not misleads(value)


def test_attributes_that_people_read_show_what_misleads() -> None:
    assert tag("a", title="a\u202eb") == '<a title="a[U+202E]b"></a>'
    assert tag("a", data_id="a\u202eb") == '<a data-id="a&#x202e;b"></a>'


def test_tags_and_children() -> None:
    assert tag("p", "a<b", None, tag("br"), class_="x", hidden=True, open=False, title=None) == (
        '<p class="x" hidden>a&lt;b<br></p>'
    )
    assert join(["<", Html("<i>")], ", ") == "&lt;, <i>"


def test_long_texts_take_time_in_proportion() -> None:
    # Would take minutes if blanks and empty lines were looked for from every place anew.
    for piece in (" ", "\n", "\n ", "\u200b", "a\u202e"):
        assert text(piece * 200_000)
