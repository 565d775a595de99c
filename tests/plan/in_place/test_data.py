"""JSON, YAML and CSV files are changed where their plan has changed; what is not the plan's stays."""

from __future__ import annotations

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
    PlanEntry,
    RemoveEntry,
    UpdateEntry,
    apply_edits,
)
from acp_notebook.plan.formats import parse, update, write
from harness.plans import edited, plans

Edits = Sequence[PlanEdit]


def changed(format: str, text: str, *edits: PlanEdit) -> str:
    return update(text, apply_edits(parse(text, format), edits), format)


def diff(format: str, text: str, *edits: PlanEdit) -> list[str]:
    lines = unified_diff(text.splitlines(), changed(format, text, *edits).splitlines(), n=0)
    return [line for line in lines if line[0] in "+-" and line.rstrip() not in ("---", "+++")]


def done(index: int, status: str = "completed") -> UpdateEntry:
    return UpdateEntry(index, status=status)


# -- JSON ------------------------------------------------------------------------------------------------

PRETTY = """{
    "todos": [
        {
            "step": "Load",
            "status": "pending",
            "owner": ["me", {"entries": []}]
        },
        {"step": "Plot",  "activeForm": "Plotting"}
    ],
    "version": 1.0
}
"""


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([done(1)], ['-            "status": "pending",', '+            "status": "completed",']),
        (
            [UpdateEntry(2, content="Plot\nall", priority="high")],
            [
                '-        {"step": "Plot",  "activeForm": "Plotting"}',
                '+        {"step": "Plot\\nall",  "activeForm": "Plotting",  "priority": "high"}',
            ],
        ),
        (
            [AddEntry("Über", "low", at=2)],
            [
                "+        {",
                '+            "step": "Über",',
                '+            "status": "pending",',
                '+            "priority": "low"',
                "+        },",
            ],
        ),
        (
            [RemoveEntry(1)],
            [
                "-        {",
                '-            "step": "Load",',
                '-            "status": "pending",',
                '-            "owner": ["me", {"entries": []}]',
                "-        },",
            ],
        ),
    ],
)
def test_json_keeps_its_layout_and_all_other_members(edits: Edits, expected: list[str]) -> None:
    assert diff("json", PRETTY, *edits) == expected


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ('["a", "b"]', [AddEntry("c"), MoveEntry(1, 2)], '["b", "a", "c"]'),
        ('["a","b"]', [done(1)], '[{"content": "a", "status": "completed"},"b"]'),
        ('["a" , "b" ]', [RemoveEntry(1)], '["b" ]'),
        ("[]\n", [AddEntry("c")], '[{"content": "c", "status": "pending"}]\n'),
        ("[ ]", [], "[ ]"),
        ('["a"]', [ClearEntries()], "[]"),
        (
            '{\r\n\t"entries": []\r\n}',
            [AddEntry("c")],
            '{\r\n\t"entries": [\r\n\t  {"content": "c", "status": "pending"}\r\n\t]\r\n}',
        ),
        ('[{"planId": "p", "entries": ["a"]}]', [AddEntry("b")], '[{"planId": "p", "entries": ["a", "b"]}]'),
        (
            '{"update": {"sessionUpdate": "plan", "entries": [{"content": "a", "id": 1}]}}',
            [done(1)],
            '{"update": {"sessionUpdate": "plan", "entries": '
            '[{"content": "a", "id": 1, "status": "completed"}]}}',
        ),
    ],
)
def test_json_of_any_shape(text: str, edits: Edits, expected: str) -> None:
    assert changed("json", text, *edits) == expected


# -- YAML ------------------------------------------------------------------------------------------------

BLOCK = """# Tasks of June
todos:
    # first
    -   id: a
        content: Load   # by hand
        status: pending
        deps: [b, c]

    # then
    -   content: >-
          folded
          text
        status:
    - Plain
after: {x: 1}
"""


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([done(1)], ["-        status: pending", "+        status: completed"]),
        ([done(2)], ["-        status:", "+        status: completed"]),
        (
            [UpdateEntry(1, content="Load: all")],
            ["-        content: Load   # by hand", "+        content: 'Load: all'   # by hand"],
        ),
        (
            [UpdateEntry(2, content="a\n\nb", priority="low")],
            [
                *("-    -   content: >-", "-          folded", "-          text"),
                *("+    -   content: |-", "+          a", "+", "+          b", "+        priority: low"),
            ],
        ),
        ([done(3)], ["-    - Plain", "+    - content: Plain", "+      status: completed"]),
        ([AddEntry("no")], ["+    -   content: 'no'", "+        status: pending"]),
        (
            [RemoveEntry(1)],
            [
                "-    -   id: a",
                "-        content: Load   # by hand",
                "-        status: pending",
                "-        deps: [b, c]",
            ],
        ),
        ([MoveEntry(3, 1)], ["+    - Plain", "-    - Plain"]),
    ],
)
def test_yaml_keeps_comments_order_and_all_other_members(edits: Edits, expected: list[str]) -> None:
    assert diff("yaml", BLOCK, *edits) == expected
    windows = BLOCK.replace("\n", "\r\n")
    assert changed("yaml", windows, *edits) == changed("yaml", BLOCK, *edits).replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("- a\n- b", [AddEntry("c")], "- a\n- b\n- c"),
        ("- 'a'\n", [UpdateEntry(1, content="it's")], "- 'it''s'\n"),
        (
            "[a, {content: b}]",
            [done(1), done(2)],
            "[{content: a, status: completed}, {content: b, status: completed}]",
        ),
        (
            "x: 1\ntodos: [] # none\n",
            [AddEntry("c")],
            "x: 1\ntodos: # none\n  - content: c\n    status: pending\n",
        ),
        ("- a # x\n# y\n", [ClearEntries()], "[]\n# y\n"),
        ("todos: [a]\n", [ClearEntries()], "todos: []\n"),
    ],
)
def test_yaml_of_any_shape(text: str, edits: Edits, expected: str) -> None:
    assert changed("yaml", text, *edits) == expected


def test_yaml_between_brackets_gets_no_entries() -> None:
    with pytest.raises(PlanError, match=r"^entries cannot come or go between these brackets: .*--force$"):
        changed("yaml", "[a, b]", RemoveEntry(1))
    with pytest.raises(PlanError, match=r"^line 2 has no text that could change: .*--force$"):
        update("- content: a\n  id: [1]\n", Plan((PlanEntry("a"),)), "yaml")


# -- CSV -------------------------------------------------------------------------------------------------

SHEET = 'Nr;Task;State;Owner\r\n1;Load;Done;"me"\r\n\r\n2;"Plot; all";To do;you\r\n;;;\r\n'


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([done(2)], ['-2;"Plot; all";To do;you', '+2;"Plot; all";Done;you']),
        ([UpdateEntry(2, content="=1")], ['-2;"Plot; all";To do;you', "+2;'=1;To do;you"]),
        ([AddEntry("Report")], ["+;Report;To do;"]),
        ([RemoveEntry(1)], ['-1;Load;Done;"me"']),
        (
            [UpdateEntry(1, priority="high")],
            [
                *(
                    "-Nr;Task;State;Owner",
                    '-1;Load;Done;"me"',
                    "+Nr;Task;State;Owner;priority",
                    "+1;Load;Done;me;high",
                ),
                *('-2;"Plot; all";To do;you', '+2;"Plot; all";To do;you;'),
            ],
        ),
        (
            [done(1, "_ ")],
            [
                *("-Nr;Task;State;Owner", '-1;Load;Done;"me"', "+Nr;Task;State;Owner;exact"),
                *(
                    '+1;Load;_ ;me;"{""status"": ""_ ""}"',
                    '-2;"Plot; all";To do;you',
                    '+2;"Plot; all";To do;you;',
                ),
            ],
        ),
    ],
)
def test_csv_keeps_its_words_columns_and_rows(edits: Edits, expected: list[str]) -> None:
    assert diff("csv", SHEET, *edits) == expected


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("\ufeffLoad\nPlot", [done(2)], "\ufeffcontent,status\nLoad,\nPlot,completed"),
        ("Load\n", [AddEntry("a, b")], 'Load\n"a, b"\n'),
        ("task,status\nLoad\n", [done(1)], "task,status\nLoad,completed\n"),
        ("task,done\na,x\nb,\n", [AddEntry("c"), done(1, "pending")], "task,done\na,\nb,\nc,\n"),
        ("task,plan_title\na,T\nb,T\n", [done(1)], "task,plan_title,status\na,T,completed\nb,T,\n"),
    ],
)
def test_csv_of_any_shape(text: str, edits: Edits, expected: str) -> None:
    assert changed("csv", text, *edits) == expected


# -- all -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format", "text", "expected"),
    [
        ("json", '{"entries": ["a"]}', '{"entries": ["a"], "title": "N"}'),
        ("json", '{"name": "T", "todos": ["a"]}', '{"name": "N", "todos": ["a"]}'),
        ("json", '["a"]', '["a"]'),
        ("yaml", "x: 1\nentries:\n- a\n", "title: N\nx: 1\nentries:\n- a\n"),
        ("yaml", "name: 'T'\nentries:\n- a\n", "name: 'N'\nentries:\n- a\n"),
        ("yaml", "- a\n", "- a\n"),
        ("csv", "task,plan_title\na,T\nb,T\n", "task,plan_title\na,N\nb,N\n"),
        ("csv", "a\n", "a\n"),
    ],
)
def test_the_title_is_changed_where_there_is_a_place_for_it(format: str, text: str, expected: str) -> None:
    assert update(text, Plan(parse(text, format).entries, title="N"), format) == expected
    assert update(text, Plan(parse(text, format).entries), format) == text


FILES = {
    "json": [PRETTY, '["a", "b"]', "[]", '{"entries" : [ ] , "title": "T"}', '{"plan":[{"step":"a"}]}'],
    "yaml": [
        BLOCK,
        "- a\n- b # c\n\n# d\n- content: x\n",
        "tasks: []\nx: 1",
        "- step: |\n    x\n\n    y\n  n: 2",
    ],
    "csv": [SHEET, "task\nLoad\n\nPlot", "Load\nPlot\n", 'content,exact\nx,"{""status"": ""_b""}"\n'],
    "md": [],
}


@pytest.mark.parametrize("format", FILES)
@given(data=st.data())
@settings(max_examples=100)
def test_any_edit_of_any_file(format: str, data: st.DataObject) -> None:
    texts = (
        st.sampled_from(FILES[format])
        if FILES[format] and data.draw(st.booleans())
        else plans.map(lambda plan: write(plan, format))
    )
    text = data.draw(texts)
    wanted = data.draw(edited(parse(text, format)))
    new = update(text, wanted, format)
    assert [(e.content, e.status, e.priority, e.id) for e in parse(new, format)] == [
        (e.content, e.status, e.priority, e.id) for e in wanted
    ]
    new.encode()
