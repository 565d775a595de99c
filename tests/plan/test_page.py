"""The page for people without a notebook; how it looks is seen in the browser's tests."""

from __future__ import annotations

import re

from hypothesis import given

from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.plan.formats import write, write_all
from harness.plans import plans


def body(text: str) -> str:
    return text[text.index("<main>") :]


def test_status_and_priority_are_in_words() -> None:
    plan = Plan(
        (
            PlanEntry("Load `a.csv`", "high", "completed"),
            PlanEntry("Plot", "low", "in_progress"),
            PlanEntry("Ask", "_soon", "_blocked"),
        ),
        title="Survey",
    )
    text = body(write(plan, "html"))
    assert " ".join(re.sub("<[^>]*>", " ", text).split()) == (
        "Survey 1 of 3 done ✓ 1 Load a.csv completed · high priority ▸ 2 Plot in progress · low priority "
        "◇ 3 Ask _blocked · _soon priority"
    )
    assert '<progress value="1" max="3" aria-label="1 of 3 done"></progress>' in text
    assert "<code>a.csv</code>" in text


def test_the_page_needs_nothing_besides_itself() -> None:
    text = write_all([Plan((PlanEntry("a"),), title="A & B"), Plan(type="markdown", content="# <b>")], "html")
    assert text.startswith('<!doctype html>\n<html lang="en">')
    assert "<title>A &amp; B · Plan</title>" in text
    assert "default-src 'none'; style-src 'unsafe-inline'" in text
    assert "prefers-color-scheme: dark" in text and "@media print" in text
    assert '<pre dir="auto"># &lt;b&gt;</pre>' in body(text)
    assert not re.search(r"https?:|src=|url\(|@import|<script|<link", text)


@given(plans)
def test_no_text_is_markup(plan: Plan) -> None:
    text = write(plan, "html")
    allowed = {"section", "h1", "p", "progress", "ol", "li", "span", "code", "pre", "main", "body", "html"}
    assert set(re.findall(r"</?([^\s/>]*)", body(text))) <= allowed
    assert not re.search("[\x00\u200b\u202e\u2028\ud800]", text)
