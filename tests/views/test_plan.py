"""Plans as parts."""

from __future__ import annotations

import json
from dataclasses import replace

from acp_notebook.plan import Plan, PlanEntry, UpdateEntry, apply_edits
from acp_notebook.protocol.messages import PlanRemoved, PlanUpdate, StateUpdate, UserMessage
from acp_notebook.session.state import SessionState, reduce
from acp_notebook.views.parts import Memo, Part, assemble, diff
from acp_notebook.views.session import render_plan, render_session
from harness.puppet import PLAN

EMPTY = SessionState("survey", "agent", "demo")


def with_plan(plan: Plan, state: SessionState = EMPTY) -> SessionState:
    return reduce(state, PlanUpdate(plan))


def whole(state: SessionState, controls: bool = True) -> str:
    return assemble(render_session(state, Memo(), controls))


def only(parts: list[Part], end: str) -> str:
    return next(part.html for part in parts if part.key.endswith(end))


def test_the_hooks() -> None:
    parts = render_plan()(with_plan(PLAN), Memo(), True)
    made = assemble(parts)
    assert '<section class="acp-plan" data-plan-id="plan-1" aria-label="Plan: Clean the survey data">' in made
    third = only(parts, "entries.3")
    assert third.startswith(
        '<li class="acp-entry" data-index="3" data-status="in_progress" data-priority="high"'
    )
    assert 'aria-current="step"' in third
    assert 'class="acp-view"' in made and 'data-view="plan"' in made
    assert 'role="progressbar"' in made and 'aria-valuenow="2"' in made and 'aria-valuemax="6"' in made


def test_status_and_priority_are_said_in_words_too() -> None:
    parts = render_plan()(with_plan(PLAN), Memo(), True)
    marks = {
        1: ("✓", ", completed"),
        3: ("▸", ", in progress"),
        4: ("○", ", pending"),
        5: ("–", ", cancelled"),
    }
    for index, (mark, words) in marks.items():
        assert mark in only(parts, f"entries.{index}") and words in only(parts, f"entries.{index}")
    assert "low · cancelled" in only(parts, "entries.5")
    unknown = only(parts, "entries.6")
    assert "◇" in unknown and unknown.count("_blocked") == 3  # attribute, screen reader, label


def test_one_entry_of_a_thousand() -> None:
    plan = Plan(tuple(PlanEntry(f"Step number {n} of a long plan") for n in range(1, 1001)), title="Long")
    memo = Memo()
    before = render_session(with_plan(plan), memo, True)
    changed = apply_edits(plan, [UpdateEntry(500, status="in_progress")])
    patch = diff(before, render_session(with_plan(changed), memo, True))
    assert len(json.dumps(patch)) <= 2048
    assert {key.rpartition(".")[2] for key, *_ in patch.set} <= {"500", "1", "head", "bar"}
    done = diff(
        render_session(with_plan(changed), memo, True),
        render_session(with_plan(apply_edits(plan, [UpdateEntry(500, status="completed")])), memo, True),
    )
    assert len(json.dumps(done)) <= 2048 and not done.drop


def test_unchanged_parts_are_the_same_objects() -> None:
    memo = Memo()
    before = render_session(with_plan(PLAN), memo, True)
    after = render_session(with_plan(apply_edits(PLAN, [UpdateEntry(6, status="completed")])), memo, True)
    same = {part.key for part, other in zip(before, after, strict=True) if part.html is other.html}
    assert {f"plan.plan-1.entries.{n}" for n in range(1, 6)} <= same


def test_steps_in_progress_when_no_turn_runs() -> None:
    idle = with_plan(PLAN)
    assert "still in progress" not in whole(idle)
    running = reduce(reduce(idle, UserMessage("go", "m")), StateUpdate("running"))
    assert "acp-running" in whole(running) and "still in progress" not in whole(running)
    ended = reduce(running, StateUpdate("idle", "end_turn"))
    assert "acp-running" not in whole(ended) and "The turn ended with steps still in progress." in whole(
        ended
    )


def test_other_types() -> None:
    markdown = with_plan(Plan(plan_id="m", type="markdown", content="# Steps\n\n1. <b>one</b>"))
    assert "<h1>Steps</h1>" in whole(markdown) and "&lt;b&gt;one" in whole(markdown)
    file = with_plan(Plan(plan_id="f", type="file", uri="file:///home/me/plan.md"))
    assert "<code>file:///home/me/plan.md</code>" in whole(file) and "<a " not in whole(file)
    custom = with_plan(Plan(plan_id="c", type="_kanban", raw={"columns": ["<todo>", "done"]}))
    assert "_kanban" in whole(custom) and "&lt;todo&gt;" in whole(custom)


def test_several_plans_have_names_and_an_empty_one_says_so() -> None:
    state = with_plan(
        Plan((PlanEntry("two"),), plan_id="b"), with_plan(Plan((PlanEntry("one"),), plan_id="a"))
    )
    made = whole(state)
    assert "Plan a" in made and "Plan b" in made
    assert "No steps yet." in whole(EMPTY)
    removed = reduce(state, PlanRemoved("a"))
    assert 'data-plan-id="a"' not in whole(removed)


def test_long_entries_are_folded_whole() -> None:
    text = "word " * 400 + "end"
    made = whole(with_plan(Plan((PlanEntry(text),))))
    assert "<details" in made and text in made and "2,003 characters" in made


def test_hostile_entries_and_ids() -> None:
    plan = Plan(
        (
            PlanEntry("<script>alert(1)</script>", '"><img src=x>', "\u202e_x"),
            PlanEntry("\u202e" + "flip\u200b"),
        ),
        plan_id='"><script>',
        title="</section><script>",
    )
    made = whole(with_plan(plan))
    assert "<script" not in made and "<img" not in made
    assert "\u202e" not in made and "\u200b" not in made
    assert made.count("U+202E") >= 2


def test_no_controls_in_the_static_form() -> None:
    made = whole(with_plan(PLAN), controls=False)
    assert not any(
        name in made for name in ("<button", "<input", "<form", "<select", "tabindex", 'role="status"')
    )
    for entry in PLAN:
        assert entry.content.replace("`survey.csv`", "<code>survey.csv</code>") in made


def test_entries_in_any_language_are_isolated() -> None:
    made = whole(
        with_plan(replace(PLAN, entries=(PlanEntry("טקסט בעברית"), PlanEntry("👨\u200d👩\u200d👧"))))
    )
    assert '<span class="acp-text" dir="auto">טקסט בעברית' in made and "👨\u200d👩\u200d👧" in made
