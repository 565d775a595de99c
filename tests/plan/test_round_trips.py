"""What is written is what is read: every text in every format, and every entry one list item in a viewer."""

from __future__ import annotations

import csv
import re
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from acp_notebook.errors import PlanError
from acp_notebook.plan import Plan
from acp_notebook.plan.formats import as_html, as_text, parse, parse_all, write, write_all
from harness.plans import PIECES, other_plans, plans, texts, whole_plans

READ = ("md", "json", "yaml", "csv")


@pytest.mark.parametrize("format", READ)
@given(plan=plans)
def test_md_09_export_roundtrip(format: str, plan: Plan) -> None:
    text = write(plan, format)
    assert parse(text, format) == plan == parse("\ufeff" + text, format)
    text.encode()  # whatever the text is, the file can be written


@given(plans)
def test_markdown_survives_other_line_ends(plan: Plan) -> None:
    assert parse(write(plan, "md").replace("\n", "\r\n"), "md") == plan


@pytest.mark.parametrize("format", READ)
@given(several=st.lists(plans, min_size=2, max_size=3), names=st.lists(texts, min_size=3, unique=True))
@settings(max_examples=30)
def test_several_plans_in_one_file(format: str, several: list[Plan], names: list[str]) -> None:
    named = tuple(
        Plan(plan.entries, name, title=plan.title) for plan, name in zip(several, names, strict=False)
    )
    assert parse_all(write_all(named, format), format) == named


@given(plans)
@settings(max_examples=150)
def test_a_viewer_shows_each_entry_as_one_item_and_ticks_the_completed_ones_only(plan: Plan) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(write(plan, "md"))
    blocks = [token.type for token in tokens if token.level == 0 and token.nesting >= 0]
    heading = ["heading_open"] if plan.title is not None else []
    assert blocks == [*heading, "bullet_list_open" if plan.entries else "paragraph_open"]

    items = [n for n, token in enumerate(tokens) if token.type == "list_item_open" and token.level == 1]
    firsts = [(tokens[n + 1].type, tokens[n + 2].content) for n in items]
    assert len(firsts) == len(plan)
    assert all(type == "paragraph_open" and re.match(r"\[.\](\s|$)", content) for type, content in firsts)
    # A box counts at the start of any list item's first paragraph, also of nested ones.
    boxes = [
        token.content
        for n, token in enumerate(tokens)
        if token.type == "inline"
        and [t.type for t in tokens[n - 2 : n]] == ["list_item_open", "paragraph_open"]
    ]
    assert sum(bool(re.match(r"\[[xX]\](\s|$)", box)) for box in boxes) == plan.progress[0]
    assert all(token.content.startswith("<!-- {") for token in _all(tokens) if token.type.startswith("html"))


def _all(tokens: list[Token]) -> list[Token]:
    return [inner for token in tokens for inner in (token, *_all(token.children or []))]


@given(
    st.lists(
        st.sampled_from([*PIECES, "- [ ] a\n", "  - [x] b\n", "1. c\n", "---\n", "\n```\n"]), max_size=12
    ).map("".join)
)
@settings(max_examples=150)
def test_whatever_is_read_can_be_written_and_read_again(text: str) -> None:
    try:
        plan = parse("- [ ] first\n" + text, "md")
    except PlanError:
        assert "** TODO" in text or "#+TITLE" in text  # Org
        return
    for format in READ:
        assert parse(write(plan, format), format) == plan


@pytest.mark.parametrize("format", ["json", "yaml"])
@given(plan=whole_plans | other_plans)
def test_json_and_yaml_keep_all_that_a_plan_has(format: str, plan: Plan) -> None:
    text = write(plan, format)
    assert parse(text, format) == plan
    text.encode()


@given(whole_plans)
def test_json_is_told_by_its_look(plan: Plan) -> None:
    assert parse(write(plan, "json")) == plan


@given(plans)
def test_md_10_csv_formulas_never_begin_a_cell(plan: Plan) -> None:
    for text in (write(plan, "csv"), write_all([plan, plan], "csv")):
        cells = [cell for row in csv.reader(StringIO(text, newline="")) for cell in row]
        assert not any(re.match(r"[=+\-@\t\r]", cell) for cell in cells)


@given(plans)
def test_plans_show_themselves_without_markup_of_their_own(plan: Plan) -> None:
    html = as_html(plan)
    assert set(re.findall(r"</?([^\s/>]*)", html)) <= {
        "section",
        "h3",
        "small",
        "span",
        "ol",
        "li",
        "pre",
        "br",
    }
    for shown in (html, as_text(plan)):
        assert not re.search("[\x00\u200b\u202e\u2028\ud800]", shown)
        shown.encode()


@given(plans)
def test_other_formats_can_be_written_whatever_is_in_a_plan(plan: Plan) -> None:
    for format in ("html", "mermaid", "ipynb"):
        write(plan, format).encode()
