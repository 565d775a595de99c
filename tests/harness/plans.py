"""Plans with every text that some format could take for something else, and people's edits of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from acp_notebook.plan import PRIORITIES, STATUSES, Plan, PlanEntry

settings.register_profile("plans", max_examples=60, deadline=None, database=None)
settings.load_profile("plans")

#: What Markdown, JSON, YAML, CSV, a spreadsheet or this package could take for something else.
PIECES = [
    *("\n", "\n\n", "\r", "\r\n", " ", "    ", "\t", "\x00", "\x0b", "\x85", "\u2028"),
    *("\ufeff", "\u200b", "\ud800"),
    *("- ", "* ", "+ ", "1. ", "2) ", "[ ]", "[x] ", "[]", "- [x] looks done", "☐ ", "☒ "),
    *("# ", "## ", "> ", "---", "===", "|", "|--|"),
    *("```", "~~~", "`", "``", "`tick`", "<b>", "</script>", "<!--", "-->", "<!-- note -->"),
    *("\\", "\\<", "\\[", "<", "ends with \\", "*", "_"),
    *('<!-- {"priority": "high"} -->', '<!-- {"content": "`"} -->', '<!-- {"planId": "p"} -->'),
    *('{"content": "x"}', "[link](x)", "![x](y)"),
    *("todos:", "content: x", "*No entries.*", "** TODO x", "#+TITLE: x", "word", "é", "דף", "👩‍🔬"),
    *("=1+1", "@all", "'", "'=", "＝", '"', '""', ",", ";", "content,status"),
    *("no", "null", "~", "1.10", "1e5", "08", "0x1f", "2026-01-01", "12:30", "&a", "!!x", "%", "#35;"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=10).map("".join) | st.text(
    st.characters(exclude_categories=[])
)
statuses = (
    st.sampled_from([*STATUSES, "blocked", "done", "_x", "_!", "_ ", "_-", "_\ufe0f", "_`", "_1", "_☐", ""])
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
raws = st.none() | st.dictionaries(
    texts.map("x-".__add__), values.filter(lambda value: value is not None), min_size=1
)
#: Plans with all that JSON and YAML hold.
whole_plans = st.builds(
    Plan,
    st.lists(st.builds(PlanEntry, texts, texts, texts, st.none() | texts, metas, raws), max_size=3).map(
        tuple
    ),
    texts,
    title=st.none() | texts,
    content=st.none() | texts,
    uri=st.none() | texts,
    meta=metas,
    raw=raws,
)
other_plans = (
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


@st.composite
def edited(draw: Any, plan: Plan) -> Plan:
    """The plan after up to four edits: entries come, go, move and change; the title may."""
    new = list(plan.entries)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(new)))
        match draw(st.sampled_from(["add", "remove", "move", "status", "reword"])):
            case "add":
                new.insert(at, draw(entries))
            case "remove":
                new[at : at + 1] = []
            case "move" if at < len(new):
                new.insert(draw(st.integers(0, len(new) - 1)), new.pop(at))
            case "status" if at < len(new):
                new[at] = replace(new[at], status=draw(statuses))
            case "reword" if at < len(new):
                new[at] = replace(new[at], content=draw(texts), priority=draw(priorities))
            case _:
                pass
    return replace(plan, entries=tuple(new), title=draw(st.sampled_from([plan.title, None, "New"])))
