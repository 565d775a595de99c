"""Plans as objects in a notebook or a terminal: text, Markdown and HTML that say the same."""

from __future__ import annotations

from html.parser import HTMLParser

from acp_notebook.plan import Plan, PlanEntry

PLAN = Plan(
    (
        PlanEntry("Load <b>", "high", "completed"),
        PlanEntry("Plot\nresiduals", status="in_progress"),
        PlanEntry("Ask", status="cancelled"),
        PlanEntry("Wait", "_soon", "_blocked"),
    ),
    title="Demo & more",
)


class Words(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)
        self.close()

    def handle_data(self, data: str) -> None:
        self.found.append(data)


def words(html: str) -> str:
    return "".join(Words(html).found)


def test_a_plan_has_three_forms() -> None:
    bundle = PLAN._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/markdown", "text/html"}
    assert bundle["text/plain"] == (
        "Demo & more · 1 of 4 done · 1 cancelled\n"
        "  1. [x] Load <b> (completed, high priority)\n"
        "  2. [/] Plot\n"
        "         residuals (in progress)\n"
        "  3. [-] Ask (cancelled)\n"
        "  4. [?] Wait (_blocked, _soon priority)"
    )
    assert Plan.parse(bundle["text/markdown"], "md") == PLAN


def test_str_is_for_reading() -> None:
    assert str(Plan((PlanEntry("look", status="completed"),))) == "Plan · 1 of 1 done\n  1. [x] look"


def test_html_says_in_words_what_it_says_by_marks() -> None:
    html = PLAN._repr_mimebundle_()["text/html"]
    assert words(html) == (
        "Demo & more 1 of 4 done · 1 cancelled"
        "✓ Load <b> (completed, high priority)▸ Plotresiduals (in progress)"
        "– Ask (cancelled)◇ Wait (_blocked, _soon priority)"
    )
    assert html.count("<li>") == 4 and "Plot<br>residuals" in html and "<ol>" in html


def test_plan_14_rtl_emoji_controls() -> None:
    texts = [
        "בדיקת נתונים (v2)",
        "ship 👩‍🔬 report",
        "note \u202etxt.exe",
        "é vs e\u0301",
        "zero\u200bwidth",
        "می\u200cخواهم",
    ]
    plan = Plan(tuple(map(PlanEntry, texts)))
    bundle = plan._repr_mimebundle_()
    html = bundle["text/html"]
    assert html.count('<span dir="auto">') == len(texts) + 1
    for shown in (html, bundle["text/plain"]):
        assert "note [U+202E]txt.exe" in shown and "zero[U+200B]width" in shown
        assert all(texts[n] in shown for n in (0, 1, 3, 5))
    assert Plan.parse(bundle["text/markdown"], "md") == plan == Plan.parse(plan.to("json"))


def test_plans_without_entries_show_what_they_have() -> None:
    for plan, text in [
        (Plan(), "No steps yet."),
        (Plan(type="markdown", content="# <Notes>"), "# <Notes>"),
        (Plan(type="file", uri="file:///a.md"), "The plan is kept in file:///a.md"),
        (Plan(type="_board", raw={"columns": ["<a>"]}), '"<a>"'),
    ]:
        bundle = plan._repr_mimebundle_()
        assert text in bundle["text/plain"] and text in words(bundle["text/html"])
        assert "<a>" not in bundle["text/html"] and "<Notes>" not in bundle["text/html"]
