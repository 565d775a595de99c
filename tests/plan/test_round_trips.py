"""What is written is what is read: every text in every format, and every entry one list item in a viewer."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from acp_notebook.errors import PlanError
from acp_notebook.plan import PRIORITIES, STATUSES, Plan, PlanEntry
from acp_notebook.plan.formats import as_html, as_text, parse, write

settings.register_profile("plans", deadline=None, database=None)
settings.load_profile("plans")

# What Markdown, JSON or this package could take for something else.
PIECES = [
    *(
        "\n",
        "\n\n",
        "\r",
        "\r\n",
        " ",
        "    ",
        "\t",
        "\x00",
        "\x0b",
        "\x85",
        "\u2028",
        "\ufeff",
        "\u200b",
        "\ud800",
    ),
    *(
        "- ",
        "* ",
        "+ ",
        "1. ",
        "2) ",
        "[ ]",
        "[x] ",
        "[]",
        "- [x] looks done",
        "# ",
        "## ",
        "> ",
        "---",
        "===",
        "|",
        "|--|",
    ),
    *(
        "```",
        "~~~",
        "`",
        "``",
        "`tick`",
        "<b>",
        "</script>",
        "<!--",
        "-->",
        "<!-- note -->",
        "\\",
        "\\<",
        "\\[",
        "<",
    ),
    *(
        '<!-- {"priority": "high"} -->',
        '<!-- {"content": "`"} -->',
        '{"content": "x"}',
        "[link](x)",
        "![x](y)",
    ),
    *(
        "todos:",
        "*No entries.*",
        "** TODO x",
        "#+TITLE: x",
        "word",
        "é",
        "דף",
        "👩‍🔬",
        "*",
        "_",
        "ends with \\",
    ),
]
texts = st.lists(st.sampled_from(PIECES), max_size=10).map("".join) | st.text(
    st.characters(exclude_categories=[])
)
statuses = (
    st.sampled_from([*STATUSES, "blocked", "_x", "_!", "_ ", "_-", "_\ufe0f", "_`", "_1", "_waiting", ""])
    | texts
)
priorities = st.sampled_from(PRIORITIES) | texts
entries = st.builds(PlanEntry, texts, priorities, statuses, st.none() | texts)
plans = st.builds(Plan, st.lists(entries, max_size=4).map(tuple), title=st.none() | texts)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
metas = st.none() | st.dictionaries(texts, values, max_size=3)


@given(plans)
@settings(max_examples=300)
def test_md_09_export_roundtrip(plan: Plan) -> None:
    text = write(plan, "md")
    assert parse(text, "md") == plan
    assert parse("\ufeff" + text.replace("\n", "\r\n"), "md") == plan
    text.encode()  # whatever the text is, the file can be written


@given(plans)
@settings(max_examples=300)
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
@settings(max_examples=300)
def test_whatever_is_read_can_be_written_and_read_again(text: str) -> None:
    try:
        plan = parse("- [ ] first\n" + text, "md")
    except PlanError:
        assert "** TODO" in text or "#+TITLE" in text  # Org
        return
    assert parse(write(plan, "md"), "md") == plan
    assert parse(write(plan, "json"), "json") == plan


@given(
    st.builds(
        Plan,
        st.lists(st.builds(PlanEntry, texts, texts, texts, st.none() | texts, metas), max_size=3).map(tuple),
        texts,
        title=st.none() | texts,
        content=st.none() | texts,
        uri=st.none() | texts,
        meta=metas,
        raw=st.none()
        | st.dictionaries(
            texts.map("x-".__add__), values.filter(lambda value: value is not None), min_size=1
        ),
    )
)
def test_json_keeps_plans_of_entries_whole(plan: Plan) -> None:
    text = write(plan, "json")
    assert parse(text, "json") == plan == parse(text)
    text.encode()


@given(
    st.builds(
        Plan, plan_id=texts, type=st.just("markdown"), content=texts, title=st.none() | texts, meta=metas
    )
    | st.builds(Plan, plan_id=texts, type=st.just("file"), uri=texts, meta=metas)
    | st.builds(
        Plan,
        plan_id=texts,
        type=texts.map("_".__add__),
        meta=metas,
        raw=st.dictionaries(
            st.sampled_from(["entries", "columns", "content", "uri"]),
            values.filter(lambda value: value is not None and not isinstance(value, str)),
            min_size=1,
        ),
    )
)
def test_json_keeps_plans_of_other_types_whole(plan: Plan) -> None:
    assert parse(write(plan, "json"), "json") == plan


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
