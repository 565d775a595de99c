"""A Markdown file is changed where its plan has changed: diffs as a person would make them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import unified_diff

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.errors import PlanError
from acp_notebook.plan import (
    AddEntry,
    ClearEntries,
    MoveEntry,
    Plan,
    PlanEdit,
    RemoveEntry,
    UpdateEntry,
    apply_edits,
)
from acp_notebook.plan.formats import parse, update
from harness.plans import edited, statuses

Edits = Sequence[PlanEdit]


def changed(text: str, *edits: PlanEdit) -> str:
    """The file after edits of its plan; the plan is checked on the way."""
    wanted = apply_edits(parse(text, "md"), edits)
    new = update(text, wanted, "md")
    assert list(parse(new, "md")) == list(wanted)
    return new


def diff(text: str, *edits: PlanEdit) -> list[str]:
    """Lines that have gone (`-`) and come (`+`)."""
    lines = unified_diff(text.splitlines(), changed(text, *edits).splitlines(), n=0)
    return [line for line in lines if line[0] in "+-" and line.rstrip() not in ("---", "+++")]


def done(index: int, status: str = "completed") -> UpdateEntry:
    return UpdateEntry(index, status=status)


SPECKIT = """# Tasks
## Phase 1
- [ ] T001 [P] Create tests in tests/a.py
- [x] T002 [P] [US1] Build model
  <!-- COMPLETED: 2026-01-01T00:00:00Z -->
- [ ] (2026-01-02 10:00Z) Fit and report
"""


def test_md_07_speckit_and_codex_lines() -> None:
    assert changed(SPECKIT, done(1)) == SPECKIT.replace("[ ] T001", "[x] T001")
    assert changed(SPECKIT, done(2, "pending")) == SPECKIT.replace("[x] T002", "[ ] T002")
    assert changed(SPECKIT, RemoveEntry(2)) == re.sub("- .x. T002.*\n.*\n", "", SPECKIT)


CURSOR = """\ufeff---
name: Demo plan
todos:
  - id: load-data
    content: Load `data.csv` — check types
    status: completed # by hand
  # next
  - id: plot
    content: "Plot: residuals"
    status: in_progress
isProject: false
---

# Demo

- [ ] not a task
"""


@pytest.mark.parametrize("breaks", ["\n", "\r\n"])
def test_md_06_cursor_plan_file(breaks: str) -> None:
    text = CURSOR.replace("\n", breaks)
    assert changed(text, done(2)) == text.replace("in_progress", "completed")
    assert diff(
        text, UpdateEntry(1, priority="high"), AddEntry("Report: all"), UpdateEntry(2, content="Plot")
    ) == [
        "+    priority: high",
        '-    content: "Plot: residuals"',
        '+    content: "Plot"',
        "+  - content: 'Report: all'",
        "+    status: pending",
    ]
    assert changed(text, RemoveEntry(1), RemoveEntry(1)) == re.sub(
        r"todos:(\r?\n)(?:  - id.*\n(?:    .*\n)*|(  # next\r?\n))*",
        f"todos: []{breaks}  # next{breaks}",
        text,
    )
    renamed = update(text, Plan(parse(text, "md").entries, title="Other"), "md")
    assert renamed == text.replace("name: Demo plan", "name: Other")


TEXT = """Plan of *June*

* [ ] Load the data <!-- note -->
    * [X] from CSV
      with `;`

      and from Excel
    * [ ] from SQL

## Later

* [~] Plot
* [ ] Report <!-- {"priority": "high", "own": 1} -->
"""


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        pytest.param(
            [done(1)],
            ["-* [ ] Load the data <!-- note -->", "+* [X] Load the data <!-- note -->"],
            id="mark-of-the-file",
        ),
        pytest.param([done(3, "in_progress")], ["-    * [ ] from SQL", "+    * [~] from SQL"], id="nested"),
        pytest.param([done(4, "cancelled")], ["-* [~] Plot", "+* [-] Plot"], id="mark-not-in-the-file"),
        pytest.param(
            [done(4, "_blocked")],
            ["-* [~] Plot", '+* [ ] Plot <!-- {"status": "_blocked"} -->'],
            id="status-without-a-mark",
        ),
        pytest.param(
            [UpdateEntry(5, priority="medium")],
            [
                '-* [ ] Report <!-- {"priority": "high", "own": 1} -->',
                '+* [ ] Report <!-- {"own": 1} -->',
            ],
            id="comment-that-says-more",
        ),
        pytest.param(
            [UpdateEntry(1, content="Load all")],
            ["-* [ ] Load the data <!-- note -->", "+* [ ] Load all <!-- note -->"],
            id="first-line",
        ),
        pytest.param(
            [UpdateEntry(2, content="from CSV\nwith `,`\n\nand from Excel\nor ODS")],
            ["-      with `;`", "+      with `,`", "+      or ODS"],
            id="other-lines",
        ),
        pytest.param(
            [UpdateEntry(2, content="from CSV\n\nand from Excel")], ["-      with `;`"], id="line-removed"
        ),
        pytest.param([AddEntry("Read", at=4)], ["+* [ ] Read"], id="added-in-the-section-before"),
        pytest.param([AddEntry("a\nb", at=3)], ["+    * [ ] a", "+      b"], id="added-among-nested"),
        pytest.param([AddEntry("Begin", at=1)], ["+* [ ] Begin"], id="added-first"),
        pytest.param(
            [AddEntry("Print", "low", "completed")],
            ['+* [X] Print <!-- {"priority": "low"} -->'],
            id="added-last",
        ),
        pytest.param([RemoveEntry(4)], ["-* [~] Plot"], id="removed"),
        pytest.param([MoveEntry(3, 5)], ["-    * [ ] from SQL", "+* [ ] from SQL"], id="moved-out"),
        pytest.param([MoveEntry(4, 2)], ["+    * [~] Plot", "-* [~] Plot"], id="moved-in"),
        pytest.param(
            [RemoveEntry(1)],
            [
                *("-* [ ] Load the data <!-- note -->", "-    * [X] from CSV", "-      with `;`"),
                *("+* [X] from CSV", "+  with `;`"),
                *("-      and from Excel", "-    * [ ] from SQL", "+  and from Excel", "+* [ ] from SQL"),
            ],
            id="parent-removed",
        ),
    ],
)
def test_only_what_differs_is_touched(edits: Edits, expected: list[str]) -> None:
    assert diff(TEXT, *edits) == expected
    windows = TEXT.replace("\n", "\r\n").removesuffix("\r\n")
    assert changed("\ufeff" + windows, *edits) == "\ufeff" + changed(TEXT, *edits).replace(
        "\n", "\r\n"
    ).removesuffix("\r\n")


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        pytest.param("1. a\n2. b\n", [AddEntry("c")], "1. a\n2. b\n3. c\n", id="numbered"),
        pytest.param(
            "10. [ ] a\n", [UpdateEntry(1, content="a\n- b")], "10. [ ] a\n    - b\n", id="numbered-lines"
        ),
        pytest.param(
            "1) [ ] a\n9) [ ] b", [AddEntry("c", at=2)], "1) [ ] a\n9) [ ] c\n9) [ ] b", id="numbers"
        ),
        pytest.param(
            "1. a\n1. b\n", [AddEntry("c\nd")], "1. a\n1. b\n1. c\n   d\n", id="all-the-same-number"
        ),
        pytest.param(
            "Plan:\n1. a\n   - x\n2. b\nEnd\n",
            [done(2)],
            "Plan:\n1. [ ] a\n   - x\n2. [x] b\nEnd\n",
            id="boxes-for-all",
        ),
        pytest.param("- a\n", [AddEntry("[x] b")], "- [ ] a\n- [ ] [x] b\n", id="what-seems-a-box"),
        pytest.param("- a\n", [AddEntry("b\n☒ c")], "- [ ] a\n- [ ] b\n  ☒ c\n", id="what-seems-a-box-below"),
        pytest.param("- a\n", [done(1, "_x y")], '- a <!-- {"status": "_x y"} -->\n', id="no-box-needed"),
        pytest.param("- [ ] a\n\n- [ ] b\n", [AddEntry("c")], "- [ ] a\n\n- [ ] b\n\n- [ ] c\n", id="loose"),
        pytest.param(
            "- [ ] a\n\n- [ ] b\n\nText\n", [RemoveEntry(2)], "- [ ] a\n\nText\n", id="loose-removed"
        ),
        pytest.param("- [ ] a\n\n- [ ] b\n", [RemoveEntry(1)], "- [ ] b\n", id="loose-first-removed"),
        pytest.param("- [ ] a\n\n- [ ] b\n", [RemoveEntry(2)], "- [ ] a\n", id="loose-end-removed"),
        pytest.param("- [ ] a\n\n- [ ] b", [RemoveEntry(2)], "- [ ] a", id="loose-last-removed"),
        pytest.param("# T\n- [ ] a\n", [RemoveEntry(1)], "# T\n*No entries.*\n", id="emptied"),
        pytest.param("# T\n\n*No entries.*\n", [AddEntry("a")], "# T\n\n- [ ] a\n", id="filled"),
        pytest.param(
            "- [ ] a\r\n+ [ ] b\n", [AddEntry("c")], "- [ ] a\r\n+ [ ] b\n+ [ ] c\r\n", id="mixed-breaks"
        ),
        pytest.param("- [] a\n- [x] b\n", [done(2, "pending")], "- [] a\n- [] b\n", id="narrow-boxes"),
        pytest.param("- [✔️] a\n- [ ] b\n", [done(2)], "- [✔️] a\n- [✔️] b\n", id="emoji-boxes"),
        pytest.param(
            "  ⎿  ☐ a\n     ☒ b\n",
            [done(1), AddEntry("c", status="_x")],
            '  ⎿  ☒ a\n     ☒ b\n     ☐ c <!-- {"status": "_x"} -->\n'.replace("☐ c", "☐ c"),
            id="boxes-without-brackets",
        ),
        pytest.param("\t- [ ] a\n", [AddEntry("b")], "\t- [ ] a\n\t- [ ] b\n", id="tabs"),
        pytest.param("- [ ] a  \n", [UpdateEntry(1, content="b")], "- [ ] b  \n", id="blanks-at-the-end"),
        pytest.param(
            "- [ ] <b> `x`\n",
            [UpdateEntry(1, content="<i>\n- [x] y")],
            "- [ ] \\<i>\n  - \\[x] y\n",
            id="markup",
        ),
        pytest.param(
            "- [ ] a\n```\n- [ ] b\n```\n", [ClearEntries()], "*No entries.*\n```\n- [ ] b\n```\n", id="fence"
        ),
    ],
)
def test_a_file_keeps_its_ways(text: str, edits: Edits, expected: str) -> None:
    assert changed(text, *edits) == expected


def test_the_title_is_changed_in_its_heading() -> None:
    def titled(text: str, title: str | None) -> str:
        return update(text, Plan(parse(text, "md").entries, title=title), "md")

    assert titled("---\nx: 1\n---\n\n# Old #\n- [ ] a\n", "N") == "---\nx: 1\n---\n\n# N\n- [ ] a\n"
    assert titled("---\nx: 1\n---\n\nText\n- [ ] a", "N") == "---\nx: 1\n---\n\n# N\n\nText\n- [ ] a"
    for text in ("# One\n# Two\n- [ ] a\n", "# Kept\n- [ ] a\n"):
        assert titled(text, None) == text
    assert titled("# One\n# Two\n- [ ] a\n", "N") == "# One\n# Two\n- [ ] a\n"


def test_what_would_be_read_as_another_plan_is_refused() -> None:
    with pytest.raises(PlanError, match=r"it cannot be changed in place .*--force"):
        changed("- [ ] a\n\nNotes:\n- not a task\n", RemoveEntry(1))


LINES = [
    *("- [ ] a", "- [x] b", "  - [/] c", '    - [-] d <!-- {"priority": "high"} -->', "* [X] e", "1. [ ] f"),
    *("2. [x] g", "10. [ ] ten", "\t- [ ] tab", "- []", "- [!] bang", "- [ ] <b> `x`", "   more", "    deep"),
    *("", "", "# T", "## H", "Text", "- bare", "  - bare in", "> quote", "<!-- note -->", "  <!-- note -->"),
    *("```", "  ```"),
]
files = st.builds(
    lambda lines, end, breaks: ("\n".join(lines) + end).replace("\n", breaks),
    st.lists(st.sampled_from(LINES), min_size=1, max_size=12),
    st.sampled_from(["", "\n"]),
    st.sampled_from(["\n", "\r\n"]),
)


@given(files, st.data())
@settings(max_examples=150)
def test_any_edit_of_any_file(text: str, data: st.DataObject) -> None:
    try:
        plan = parse(text, "md")
    except PlanError:
        return
    wanted = data.draw(edited(plan))
    try:
        new = update(text, wanted, "md")
    except PlanError:
        assert not wanted.entries and "bare" in text  # which would be the entries then
        return
    assert list(parse(new, "md")) == list(wanted)
    breaks = re.findall("\r?\n", new)
    assert not breaks or set(breaks) == set(re.findall("\r?\n", text) or ["\n"])
    assert text.endswith("\n") == new.endswith("\n")


@given(files.filter(lambda text: "- bare" not in text), st.data())
@settings(max_examples=100)
def test_another_status_changes_one_line_and_all_back_nothing(text: str, data: st.DataObject) -> None:
    try:
        plan = parse(text, "md")
    except PlanError:
        return
    if not plan.entries or "[" not in text:
        return
    index = data.draw(st.integers(1, len(plan)))
    new = changed(
        text, done(index, data.draw(statuses.filter(lambda s: s.startswith("_")) | st.just("completed")))
    )
    lines = list(zip(text.splitlines(), new.splitlines(), strict=True))
    assert sum(before != after for before, after in lines) <= 1
    box = re.compile(r"\[[^\]]?\]")  # the mark that was there may be gone from the file
    assert box.sub("[]", update(new, plan, "md")) == box.sub("[]", text)
