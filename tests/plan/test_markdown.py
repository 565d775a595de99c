"""Task lists as people and coding agents write them."""

from __future__ import annotations

import re

import pytest

from acp_notebook.errors import PlanError
from acp_notebook.plan import Plan, PlanEntry


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


def test_tasks_in_front_matter_are_not_mistaken_for_the_lists_below() -> None:
    text = "---\nname: Demo\ntodos:\n  - id: a\n    content: Load\n---\n# Demo\n1. not a task\n"
    with pytest.raises(PlanError, match="front matter"):
        Plan.parse(text, "md")


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
