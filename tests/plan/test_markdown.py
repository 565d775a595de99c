"""Task lists as people and coding agents write them."""

from __future__ import annotations

import re

import pytest

from acp_notebook.errors import PlanError
from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.plan.formats import parse_all, write_all


def read(text: str) -> list[tuple[str, str]]:
    return [(entry.status, entry.content) for entry in Plan.parse(text, "md")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "- [ ] a\n* [x] b\n+ [X] c\n1. [ ] d\n2) [x] e\n",
            [("pending", "a"), ("completed", "b"), ("completed", "c"), ("pending", "d"), ("completed", "e")],
            id="markers",
        ),
        pytest.param(
            "- [/] a\n- [~] b\n- [>] c\n- [-] d\n- [✓] e\n- [✔️] f\n- [] g\n",
            [
                *(("in_progress", "a"), ("in_progress", "b"), ("in_progress", "c"), ("cancelled", "d")),
                *(("completed", "e"), ("completed", "f"), ("pending", "g")),
            ],
            id="boxes",
        ),
        pytest.param(
            "- [!] a\n- [D] b\n- [ ] c", [("_!", "a"), ("_D", "b"), ("pending", "c")], id="own-boxes"
        ),
        pytest.param("- [ ] a\n- [1] Smith et al.\n- [x](y) link\n", [("pending", "a")], id="not-boxes"),
        pytest.param(
            "- Phase\n  - [ ] a\n    - [x] b\n\t- [ ] c\n- [ ] d\n",
            [("pending", "a"), ("completed", "b"), ("pending", "c"), ("pending", "d")],
            id="nested",
        ),
        pytest.param(
            "\ufeff- [ ] a\r\n  more\r\n- [x] b\r\n",
            [("pending", "a\nmore"), ("completed", "b")],
            id="windows",
        ),
        pytest.param("- [ ] a\r- [x] b\r", [("pending", "a"), ("completed", "b")], id="old-mac"),
        pytest.param(
            "```\n- [ ] no\n```\n- [ ] a\n~~~md\n- [ ] no\n```\n~~~\n- [ ] b\n",
            [("pending", "a"), ("pending", "b")],
            id="fences",
        ),
        pytest.param(
            "- [ ] a\n  ```sh\n  - [ ] no\n\n  ls\n  ```\n- [ ] b\n",
            [("pending", "a\n```sh\n- [ ] no\n\nls\n```"), ("pending", "b")],
            id="fence-in-an-item",
        ),
        pytest.param(
            "- [ ] a\n  ```\n  open\n- [ ] b\n",
            [("pending", "a\n```\nopen"), ("pending", "b")],
            id="open-fence",
        ),
        pytest.param(
            "<!-- - [ ] no -->\n<!--\n- [ ] no\n-->\n- [ ] a <!-- note -->\n",
            [("pending", "a")],
            id="comments",
        ),
        pytest.param(
            "---\ntitle: x\ntags:\n  - [ ] no\n---\n\n- [ ] a\n",
            [("pending", "a")],
            id="front-matter",
        ),
        pytest.param("---\n- [ ] a\n", [("pending", "a")], id="rule-and-no-front-matter"),
        pytest.param("---\n- [ ] a: b\n---\n", [("pending", "a: b")], id="list-between-rules"),
        pytest.param(
            "- [ ] a\n  same paragraph\nlazy\n\n  next paragraph\n\nnot of the item\n- [ ] b\n",
            [("pending", "a\nsame paragraph\nlazy\n\nnext paragraph"), ("pending", "b")],
            id="paragraphs",
        ),
        pytest.param(
            "- [ ] a\n      under the text\n      as people do\n- [ ] b\n## Heading\n",
            [("pending", "a\nunder the text\nas people do"), ("pending", "b")],
            id="hanging",
        ),
        pytest.param(
            "- [ ] 1. Set up\n  - Create it\n    - deeper\n  - _Requirements: 1.1_\n- [x] 2. Go\n",
            [
                ("pending", "1. Set up\n- Create it\n  - deeper\n- _Requirements: 1.1_"),
                ("completed", "2. Go"),
            ],
            id="details-as-bullets",
        ),
        pytest.param(
            "- [ ] a\n  - [x] b\n    of b\n\n  of a\n",
            [("pending", "a\n\nof a"), ("completed", "b\nof b")],
            id="text-after-nested",
        ),
        pytest.param(
            "- [ ] **Bold** `code` [link](x) \\* &amp; $x$\n",
            [("pending", "**Bold** `code` [link](x) \\* &amp; $x$")],
            id="inline-markdown-is-text",
        ),
        pytest.param(
            "My plan:\n\n1. **Load** the data\n   - from CSV\n2. Plot\n\n   with labels\n\nShall I?\n",
            [("pending", "**Load** the data\n- from CSV"), ("pending", "Plot\n\nwith labels")],
            id="no-boxes",
        ),
        pytest.param("- a\n- b\n  1. c\n", [("pending", "a"), ("pending", "b\n1. c")], id="no-boxes-nested"),
        pytest.param("- a\n- [ ] b\n", [("pending", "b")], id="one-box-is-enough"),
    ],
)
def test_lists(text: str, expected: list[tuple[str, str]]) -> None:
    assert read(text) == expected


def test_md_07_speckit_and_codex_lines() -> None:
    text = """# Tasks
## Phase 1
- [ ] T001 [P] Create tests in tests/a.py
- [x] T002 [P] [US1] Build model
  <!-- COMPLETED: 2026-01-01T00:00:00Z -->
- [ ] (2026-01-02 10:00Z) Fit and report
"""
    assert read(text) == [
        ("pending", "T001 [P] Create tests in tests/a.py"),
        ("completed", "T002 [P] [US1] Build model"),
        ("pending", "(2026-01-02 10:00Z) Fit and report"),
    ]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# My plan #\n\n- [ ] a\n", "My plan"),
        ("- [ ] a\n# Later\n", None),
        ("# One\n# Two\n- [ ] a\n", None),
        ("# One\n## Two\n- [ ] a\n# Three\n", "One"),
        ("```\n# comment\n```\n# C#\n- [ ] a\n", "C#"),
        ("#hash\n- [ ] a\n", None),
        ("# Bare list\n1. a\n", "Bare list"),
    ],
)
def test_the_title_is_the_only_first_level_heading_before_the_first_entry(
    text: str, title: str | None
) -> None:
    assert Plan.parse(text, "md").title == title


@pytest.mark.parametrize("text", ["", "\n\n", "Just words.\n", "# Only a title\n", "```\n- [ ] a\n```\n"])
def test_a_text_without_a_list_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(PlanError, match=r"^there is no list in this text: .*- \[ \] text'$"):
        Plan.parse(text, "md")


def test_md_08_org_style() -> None:
    # Org is not supported: a clear message rather than a plan with entries missing.
    text = "* TODO Course [1/3]\n- [X] slides\n- [-] quiz [1/2]\n  - [X] q1\n- [ ] video\n** DONE Book room\n"
    with pytest.raises(PlanError, match="looks like an Org file"):
        Plan.parse(text, "md")


@pytest.mark.parametrize(
    "text", ["* TODO a\n* DONE b\n", "* WAITING a\n", "* a\n:PROPERTIES:\n:ID: 1\n:END:\n"]
)
def test_what_is_done_in_an_org_file_does_not_become_pending(text: str) -> None:
    with pytest.raises(PlanError, match="looks like an Org file"):
        Plan.parse(text, "md")
    assert [entry.content for entry in Plan.parse("* TODO a\n* b\n", "md")] == ["TODO a", "b"]


CURSOR = """---
name: Demo plan
overview: Short text
todos:
  - id: load-data
    content: Load `data.csv` — check types
    status: completed
  - id: plot
    content: "Plot: residuals"
    status: in_progress
  - id: drop-old
    content: Remove old file
    status: cancelled
isProject: false
---

# Demo

1. not a task
- also not a task
- [ ] nor this
"""


def test_md_06_cursor_plan_file() -> None:
    assert Plan.parse(CURSOR) == Plan(
        (
            PlanEntry("Load `data.csv` — check types", status="completed", id="load-data"),
            PlanEntry("Plot: residuals", status="in_progress", id="plot"),
            PlanEntry("Remove old file", status="cancelled", id="drop-old"),
        ),
        title="Demo plan",
    )
    assert Plan.parse("---\ntodos: []\n---\n- [ ] a\n") == Plan()
    assert read("---\ntodos: see below\n---\n- [ ] a\n") == [("pending", "a")]
    with pytest.raises(PlanError, match=r"this is not YAML: .* at line 3"):
        Plan.parse("---\ntodos:\n  - content: [\n---\n")


@pytest.mark.parametrize(
    "text",
    [
        "● Update Todos\n  ⎿  ☒ Load\n     ☐ Plot\n",  # Claude Code
        "• Updated Plan\n  └ ✔ Load\n    □ Plot\n",  # Codex
        "- ☒ Load\n- ☐ Plot\n",  # pandoc
    ],
)
def test_lists_as_agents_print_them(text: str) -> None:
    assert read(text) == [("completed", "Load"), ("pending", "Plot")]
    assert read("◼ now\n◻ later\n") == [("in_progress", "now"), ("pending", "later")]
    assert read("- [ ] a\n- ☒ no box\n") == [("pending", "a")]


def test_several_plans_of_any_type_are_written_one_after_the_other() -> None:
    plans = (
        Plan((PlanEntry("a"),), "one", title="First"),
        Plan(plan_id="two"),
        Plan(type="markdown", plan_id="m", content="Some *text*\n\n- [ ] no entry", title="Notes"),
        Plan(type="file", plan_id="f", uri="file:///plan.md"),
        Plan(type="_board", plan_id="b", raw={"columns": ["--><b>"]}),
    )
    text = write_all(plans, "md")
    assert text.startswith(
        '# First <!-- {"planId": "one"} -->\n\n- [ ] a\n\n# two <!-- {"planId": "two", "title": null} -->\n\n'
    )
    assert parse_all(text) == plans
    edited = text.replace("# two", "# Second").replace("[ ] a", "[x] a")
    assert [(plan.plan_id, plan.title) for plan in parse_all(edited)[:2]] == [
        ("one", "First"),
        ("two", "Second"),
    ]
    with pytest.raises(PlanError, match="this holds 5 plans, 'one', 'two', 'm', 'f', 'b'"):
        Plan.parse(text)


# -- writing ---------------------------------------------------------------------------------------------


def test_plan_02_unknown_status() -> None:
    statuses = ["completed", "cancelled", "blocked", "pending", "in_progress", "_waiting", "_!"]
    plan = Plan(tuple(PlanEntry(f"step {n}", status=status) for n, status in enumerate(statuses)))
    text = plan.to("md")
    assert text.count("[x]") == 1
    assert Plan.parse(text, "md") == plan


def test_what_is_written_can_be_read_by_people() -> None:
    plan = Plan(
        (
            PlanEntry("Load `data.csv` and <check> `Map<str>`", status="completed"),
            PlanEntry("Plot\nresiduals", "high", "in_progress"),
            PlanEntry("Ask", status="cancelled"),
            PlanEntry("Notes:\n- first\n- [x] second", id="n"),
            PlanEntry("  padded  ", status="_!"),
            PlanEntry(""),
        ),
        title="Demo\nplan",
    )
    assert plan.to("md") == (
        '# Demo plan <!-- {"title": "Demo\\nplan"} -->\n'
        "\n"
        "- [x] Load `data.csv` and \\<check> `Map<str>`\n"
        '- [/] Plot <!-- {"priority": "high"} -->\n'
        "  residuals\n"
        "- [-] Ask\n"
        '- [ ] Notes: <!-- {"id": "n"} -->\n'
        "  - first\n"
        "  - \\[x] second\n"
        '- [!] padded <!-- {"content": "  padded  "} -->\n'
        "- [ ]\n"
    )


def test_where_somebody_edited_the_item_the_comment_gives_way() -> None:
    text = Plan((PlanEntry(" exact ", "high", "blocked"),), title=" t ").to("md")
    edited = text.replace("[ ] exact", "[x] other").replace("# t", "# u")
    assert edited != text
    plan = Plan.parse(edited, "md")
    assert (plan.title, *plan) == ("u", PlanEntry("other", "high", "completed"))


def test_comments_with_anything_else_in_them_change_nothing() -> None:
    comments = (
        "<!-- {} -->",
        "<!-- [1] -->",
        '<!-- {"status": 1, "content": null, "priority": 2, "id": []} -->',
        "<!-- { -->",
    )
    assert read("".join(f"- [x] a {comment}\n" for comment in comments)) == [("completed", "a")] * 4


def test_an_empty_plan_can_be_written_and_read() -> None:
    for plan in (Plan(), Plan(title="T"), Plan(title="")):
        assert Plan.parse(plan.to("md"), "md") == plan


def test_plans_of_other_types_are_written_as_what_they_are() -> None:
    markdown = Plan(type="markdown", content="# Notes\n- [ ] two", title="ignored")
    assert markdown.to("md") == "# Notes\n- [ ] two"
    assert (
        Plan(type="file", uri="file:///plan.md", title="P").to("md")
        == "# P\n\nThe plan is kept in file:///plan.md\n"
    )
    assert re.fullmatch(
        r"```json\n\{.*\}\n```\n", Plan(type="_board", raw={"columns": [1]}).to("md"), re.DOTALL
    )
