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


def test_of_a_plan_that_is_too_long_to_be_drawn_the_steps_around_the_current_one_are_shown() -> None:
    entries = [PlanEntry(f"Step {number}", status="completed") for number in range(1, 1001)]
    entries[699] = PlanEntry("Now", status="in_progress")
    text = write(Plan(tuple(entries)), "mermaid")
    assert text.count(" --> ") < 500  # which is what Mermaid draws
    assert "▸ 700 · Now" in text and "699 · Step 699" in text and "701 · Step 701" in text
    before, after = re.findall(r's(\d+)\["(\d+) more"\]', text)
    assert before[0] == before[1] and int(after[0]) + int(after[1]) == 1001
    assert f"s{before[0]} --> s{int(before[0]) + 1} --> " in text and text.count("s701") == 2


def test_long_texts_are_as_many_as_there_is_room_for() -> None:
    plan = Plan(tuple(PlanEntry("#" * 1000) for _ in range(300)), title="x" * 60_000)
    for text in (write(plan, "mermaid"), write_all([plan] * 40, "mermaid")):
        assert len(text) < 50_000
        assert "1 · #35;#35;" in text and " more" in text


@given(plans)
def test_no_text_is_markup(plan: Plan) -> None:
    for line in write_all([plan, plan], "mermaid").splitlines():
        for label in re.findall('"(.*)"', line):
            assert re.fullmatch(r"(?:[^!-/:-@\[-`{-~]|[,?!:'()/+=.]|#\d+;|<br>)*", label), label
