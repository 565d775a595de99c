"""Flowcharts; that Mermaid draws them is seen in the browser's tests."""

from __future__ import annotations

import re

from hypothesis import given

from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.plan.formats import write, write_all
from harness.plans import plans


def test_a_plan_is_a_chain_of_boxes() -> None:
    plan = Plan(
        (
            PlanEntry("Load `a.csv`", "high", "completed"),
            PlanEntry('Plot "x"\nand y', status="in_progress"),
            PlanEntry("Ask", status="cancelled"),
            PlanEntry("1. Wait", status="_blocked"),
        ),
        title='Say "hi"\nnow',
    )
    assert write(plan, "mermaid") == (
        '---\ntitle: "Say \\"hi\\" now · 1 of 4 done · 1 cancelled"\n---\n'
        "flowchart TD\n"
        '  s1[["✓ 1 · Load #96;a.csv#96;<br>(completed, high priority)"]]\n'
        '  s2(["▸ 2 · Plot #34;x#34;<br>and y<br>(in progress)"]):::in_progress\n'
        '  s3{{"– 3 · Ask<br>(cancelled)"}}:::cancelled\n'
        '  s4[/"◇ 4 · 1#46; Wait<br>(#95;blocked)"/]\n'
        "  s1 --> s2 --> s3 --> s4\n"
        "  classDef in_progress stroke-width:3px\n"
        "  classDef cancelled stroke-dasharray:5 4\n"
    )


def test_several_plans_are_drawn_side_by_side() -> None:
    text = write_all([Plan((PlanEntry("a"),), title="One"), Plan(type="file", uri="file:///p")], "mermaid")
    assert text.count("subgraph") == text.count("  end") == 2
    assert '  subgraph p1["One · 0 of 1 done"]' in text
    assert 'p2s0["The plan is kept in file:///p"]' in text


@given(plans)
def test_no_text_is_markup(plan: Plan) -> None:
    for line in write_all([plan, plan], "mermaid").splitlines():
        for label in re.findall('"(.*)"', line):
            assert re.fullmatch(r"(?:[^!-/:-@\[-`{-~]|[,?!:'()/+=.]|#\d+;|<br>)*", label), label
