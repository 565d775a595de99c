"""Plans as parts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from acp_notebook.plan import (
    AddEntry,
    Author,
    Change,
    MoveEntry,
    Plan,
    PlanEdit,
    PlanEntry,
    RemoveEntry,
    UpdateEntry,
    apply_edits,
    runs,
)
from acp_notebook.plan.formats import FORMATS
from acp_notebook.plan.runs import StepFacts, step_meta
from acp_notebook.protocol.messages import PlanRemoved, PlanUpdate, StateUpdate, UserMessage
from acp_notebook.session.reduce import reduce
from acp_notebook.session.state import Closed, Event, PlanFile, PlanFileRead, SessionState
from acp_notebook.views.history import change_lines
from acp_notebook.views.parts import Layout, Memo, all_parts, assemble, diff, layout
from acp_notebook.views.rows import row_html
from acp_notebook.views.session import NOW, Looking, render_plan, render_session, render_turn
from harness.puppet import PLAN

EMPTY = SessionState("survey", "agent", "demo")


def with_plan(plan: Plan, state: SessionState = EMPTY, author: Author = "model") -> SessionState:
    return reduce(state, PlanUpdate(plan, author))


def after(*events: Event, state: SessionState = EMPTY) -> SessionState:
    for event in events:
        state = reduce(state, event)
    return state


def whole(state: SessionState, live: bool = True, looking: Looking = NOW) -> str:
    return assemble(render_session(state, Memo(), live, looking))


def rendered(state: SessionState, memo: Memo, looking: Looking = NOW) -> Layout:
    return layout(render_session(state, memo, True, looking))


def only(state: SessionState, end: str, looking: Looking = NOW) -> str:
    parts = layout(render_plan()(state, Memo(), True, looking))
    return next(part.html for part in all_parts(parts) if part.key.endswith(end))


def test_the_hooks() -> None:
    state = with_plan(PLAN)
    made = assemble(render_plan()(state, Memo(), True))
    assert '<section class="acp-plan" data-plan-id="plan-1" data-revision="1" aria-label="Plan: Clean' in made
    assert '<li data-index="3" class="acp-entry" data-status="in_progress" data-priority="high"' in whole(
        state, live=False
    )
    third = only(state, "entries.3")  # the page puts the number in
    assert third.startswith('<li class="acp-entry" data-status="in_progress" data-priority="high"')
    assert 'aria-current="step"' in third
    assert 'class="acp-view"' in made and 'data-view="plan"' in made
    assert 'role="progressbar"' in made and 'aria-valuenow="2"' in made and 'aria-valuemax="6"' in made


def test_status_and_priority_are_said_in_words_too() -> None:
    state = with_plan(PLAN)
    marks = {
        1: ("✓", ", completed, high priority"),
        3: ("▸", ", in progress, high priority"),
        4: ("○", ", pending"),
        5: ("–", ", cancelled"),
    }
    for index, (mark, words) in marks.items():
        assert mark in only(state, f"entries.{index}") and words in only(state, f"entries.{index}")
    assert "low · cancelled" in only(state, "entries.5")
    unknown = only(state, "entries.6")
    assert "◇" in unknown and unknown.count("_blocked") == 3  # attribute, screen reader, label


@pytest.mark.parametrize("length", [1_000, 10_000])
def test_one_entry_of_thousands(length: int) -> None:
    """Whatever is done to one entry, what is sent is small: numbers are no part of a row."""
    plan = Plan(
        tuple(PlanEntry(f"Step number {n} of a long plan") for n in range(1, length + 1)), title="Long"
    )
    state, memo = with_plan(plan), Memo()
    painted = rendered(state, memo)
    edits: list[tuple[PlanEdit, int]] = [
        (UpdateEntry(500, status="in_progress"), 1),
        (UpdateEntry(500, status="completed", priority="high"), 1),
        (UpdateEntry(7, content="Another text"), 1),
        (AddEntry("A new one", at=3), 1),
        (MoveEntry(5, length - 5), 1),
        (MoveEntry(length, 1), 1),
        (RemoveEntry(9), 0),
    ]
    for edit, rows in edits:
        state = with_plan(apply_edits(state.plan, [edit]), state, "person")
        wanted = rendered(state, memo)
        patch = diff(painted, wanted)
        assert len(json.dumps(patch)) <= 2_000, edit
        assert sum(".entries." in key for key, *_ in patch.set) == rows, edit
        painted = wanted


def test_rows_stay_the_same_objects_wherever_their_entry_goes() -> None:
    memo, state = Memo(), with_plan(Plan(tuple(map(PlanEntry, "abcdef"))))
    before = rendered(state, memo)["plan.plan-1.entries"]

    def rows(*edits: PlanEdit) -> list[object]:
        nonlocal state
        state = with_plan(apply_edits(state.plan, edits), state)
        return [
            before.index(row) if row in before else None
            for row in rendered(state, memo)["plan.plan-1.entries"]
        ]

    assert rows(MoveEntry(6, 1)) == [5, 0, 1, 2, 3, 4]
    assert rows(RemoveEntry(2)) == [5, 1, 2, 3, 4]
    assert rows(AddEntry("new", at=1), UpdateEntry(6, status="completed")) == [None, 5, 1, 2, 3, None]
    assert rows(RemoveEntry(1), UpdateEntry(5, status="pending")) == [
        5,
        1,
        2,
        3,
        4,
    ]  # as it was, so is the row


def test_unchanged_parts_are_the_same_objects() -> None:
    memo, state = Memo(), with_plan(PLAN)
    before = rendered(state, memo)["plan.plan-1.entries"]
    state = with_plan(apply_edits(PLAN, [UpdateEntry(6, status="completed")]), state)
    now = rendered(state, memo)["plan.plan-1.entries"]
    assert [one is other for one, other in zip(before, now, strict=True)] == [True] * 5 + [False]
    assert rendered(state, memo)["plan.plan-1.entries"] is now


def test_texts_that_are_not_shown_as_they_are_come_along_for_who_edits_them() -> None:
    texts = ("plain <b> & 'text'", "with `code`", "hid\u200bden", "x" * 2_000, "two\r\nlines")
    state = with_plan(Plan(tuple(map(PlanEntry, texts))))
    assert "data-content" not in only(state, "entries.1")
    assert 'data-content="with `code`"' in only(state, "entries.2")
    assert 'data-content="hid&#x200b;den"' in only(state, "entries.3")
    assert f'data-content="{"x" * 2_000}"' in only(state, "entries.4")
    assert 'data-content="two&#xd;&#xa;lines"' in only(state, "entries.5")
    assert "data-content" not in whole(state, live=False)


GO, RUN, END = UserMessage("go", "m"), StateUpdate("running"), StateUpdate("idle", "end_turn")


def test_steps_in_progress_when_no_turn_runs() -> None:
    idle = with_plan(PLAN)
    assert "still in progress" not in whole(idle)
    running = after(GO, RUN, PlanUpdate(apply_edits(PLAN, [UpdateEntry(4, content="x")])), state=idle)
    assert "acp-running" in whole(running) and "still in progress" not in whole(running)
    ended = after(END, state=running)
    for live in (True, False):
        made = whole(ended, live)
        assert "acp-running" not in made and "The turn ended with steps still in progress." in made


def test_what_a_turn_left_in_progress_is_said_of_that_turn() -> None:
    first = after(GO, RUN, PlanUpdate(PLAN), END)
    second = after(GO, RUN, END, state=first)

    def beside(number: int, state: SessionState) -> str:
        return assemble(render_turn(number)(state, Memo(), False))

    assert "The turn ended with steps still in progress." in beside(1, second)
    assert "still in progress" not in beside(2, second)
    assert "Turn 1 ended with steps still in progress." in whole(second)
    moved_on = with_plan(apply_edits(second.plan, [UpdateEntry(3, status="completed")]), second, "person")
    assert "still in progress" not in whole(moved_on) + beside(1, moved_on)
    by_hand = with_plan(
        apply_edits(moved_on.plan, [UpdateEntry(4, status="in_progress")]), moved_on, "person"
    )
    assert "still in progress" not in whole(by_hand)


def test_other_types() -> None:
    markdown = with_plan(Plan(plan_id="m", type="markdown", content="# Steps\n\n1. <b>one</b>"))
    assert "<h1>Steps</h1>" in whole(markdown) and "&lt;b&gt;one" in whole(markdown)
    file = with_plan(Plan(plan_id="f", type="file", uri="file:///home/me/plan.md"))
    assert "<code>file:///home/me/plan.md</code>" in whole(file) and "<a " not in whole(file)
    assert "acp-file" not in whole(file)
    custom = with_plan(Plan(plan_id="c", type="_kanban", raw={"columns": ["<todo>", "done"]}))
    assert "_kanban" in whole(custom) and "&lt;todo&gt;" in whole(custom)


def test_what_the_file_of_a_plan_holds() -> None:
    def kept(uri: str, file: PlanFile) -> str:
        return whole(after(PlanUpdate(Plan(plan_id="f", type="file", uri=uri)), PlanFileRead("f", file)))

    assert "<h1>Steps &lt;b&gt;</h1>" in kept("file:///p/plan.md", PlanFile("# Steps <b>"))
    assert '<pre dir="auto"># Steps &lt;b&gt;</pre>' in kept("file:///p/plan.txt", PlanFile("# Steps <b>"))
    assert "5 more bytes are not shown." in kept("file:///p", PlanFile("x", "5 more bytes are not shown."))
    hidden = kept("file:///etc/passwd", PlanFile(None, "Not shown: it lies outside the working folder."))
    assert "outside the working folder" in hidden and "acp-file" not in hidden


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
    lines = whole(with_plan(Plan((PlanEntry("\n".join(f"line {n}" for n in range(40))),))))
    assert "<details" in lines and "line 39" in lines and "40 lines" in lines


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
    edited = with_plan(apply_edits(PLAN, [AddEntry("more")]), with_plan(PLAN), "person")
    made = whole(edited, live=False) + whole(reduce(edited, PlanRemoved("plan-1")), live=False)
    controls = ("<button", "<input", "<form", "<select", "<textarea", "tabindex", 'role="status"', " hidden")
    assert not any(name in made for name in controls)
    for entry in PLAN:
        assert entry.content.replace("`survey.csv`", "<code>survey.csv</code>") in made


def test_entries_in_any_language_are_isolated() -> None:
    made = whole(
        with_plan(replace(PLAN, entries=(PlanEntry("טקסט בעברית"), PlanEntry("👨\u200d👩\u200d👧"))))
    )
    assert '<span class="acp-text" dir="auto">טקסט בעברית' in made and "👨\u200d👩\u200d👧" in made


# -- tools, history --------------------------------------------------------------------------------------


def test_a_button_for_each_format() -> None:
    made = whole(with_plan(PLAN))
    for name, format in FORMATS.items():
        assert f'data-action="export" data-format="{name}"' in made and f">{format.label}</button>" in made


def test_undo_says_what_it_takes_back() -> None:
    assert 'data-action="undo"' not in whole(with_plan(PLAN))  # the model's
    edited = with_plan(apply_edits(PLAN, [UpdateEntry(4, status="completed")]), with_plan(PLAN), "person")
    made = only(edited, "tools.undo")
    assert 'title="Undo: 4. &quot;Fill missing ages' in made and "pending → completed" in made


def test_a_change_of_a_right_to_left_step_is_still_a_sentence_from_the_left() -> None:
    plan = Plan((PlanEntry("שלום"),))
    change = Change.between(plan, Plan((PlanEntry("שלום", status="completed"),)))
    assert '<bdi dir="ltr">1. "שלום": pending → completed</bdi>' in change_lines(change.lines()).replace(
        "&quot;", '"'
    )


def test_a_revision_as_it_was() -> None:
    edits: list[PlanEdit] = [
        UpdateEntry(4, content="Fill ages", status="in_progress", priority="high"),
        AddEntry("Write it up"),
        RemoveEntry(1),
    ]
    state = with_plan(apply_edits(PLAN, edits), with_plan(PLAN), "person")
    state = with_plan(apply_edits(state.plan, [MoveEntry(1, 3)]), state)
    assert 'type="range"' not in whole(state)
    at_now = whole(state, looking={"plan-1": 0})
    assert 'type="range" name="revision" min="1" max="3" value="3"' in at_now
    assert "Revision 3 of 3</b> · the model · " in at_now and "1 moved to 3</bdi>" in at_now
    assert 'data-op="add"' in at_now and "Restore this" not in at_now

    past = {"plan-1": 2}
    made = whole(state, looking=past)
    assert "Revision 2 of 3</b> · you · " in made and "&quot;Write it up&quot; added, pending, medium" in made
    assert "Restore this" in made and "Back to now" in made and 'data-looking="2"' in made
    assert 'data-op="add"' not in made and "data-row-tools" not in made and 'data-action="undo"' not in made
    reworded = only(state, "entries.3", past)
    assert 'data-change="reworded, was pending, was medium priority"' in reworded
    assert "high · reworded, was pending, was medium priority</span>" in reworded
    assert ", in progress, high priority, reworded, was" in reworded  # and it is heard
    assert "added" in only(state, "entries.6", past) and "data-change" not in only(state, "entries.1", past)
    first = whole(state, looking={"plan-1": 1})
    assert "data-change" not in first and "Load" in first  # all of it was new then
    closed = whole(reduce(state, Closed()), looking=past)
    assert "Restore this" not in closed and "Load" not in closed


def test_looking_back_sends_what_differs() -> None:
    memo, state = Memo(), with_plan(Plan(tuple(PlanEntry(f"Step {n}") for n in range(1_000))))
    for number in range(1, 6):
        state = with_plan(apply_edits(state.plan, [UpdateEntry(number, status="completed")]), state)
    painted = rendered(state, memo)
    for number in (3, 2, 5, 0):
        wanted = rendered(state, memo, {"plan-1": number})
        assert sum(".entries." in key for key, *_ in diff(painted, wanted).set) <= 4
        painted = wanted


def test_removed_plans_can_be_restored() -> None:
    state = after(
        PlanUpdate(replace(PLAN, plan_id="a")), PlanUpdate(replace(PLAN, plan_id="b")), PlanRemoved("a")
    )
    made = whole(state)
    assert "Removed plans: " in made and "<bdi>Clean the survey data</bdi> (6 steps)" in made
    assert 'data-action="restore" data-plan="a" data-revision="2"' in made
    assert "Removed plans" not in whole(with_plan(replace(PLAN, plan_id="a"), state))
    assert "Removed plans" not in assemble(render_plan()(state, Memo(), True))


def test_a_plan_of_the_hosts_offers_nothing_that_would_be_refused() -> None:
    state = replace(EMPTY, plans_editable=False)
    state = after(
        PlanUpdate(PLAN, "person"),  # from a time when it was not the host's
        PlanUpdate(replace(PLAN, plan_id="old"), "host"),
        PlanRemoved("old", "host"),
        PlanUpdate(UpdateEntry(1, status="pending").apply(PLAN), "host"),
        state=state,
    )
    for looking in (NOW, {PLAN.plan_id: 0}, {PLAN.plan_id: 1}):
        made = whole(state, looking=looking)
        for edit in ('data-action="undo"', 'data-action="restore"', "data-row-tools", 'data-op="'):
            assert edit not in made
        assert 'data-action="history"' in made and "acp-filter" in made
    assert 'data-action="now"' in whole(state, looking={PLAN.plan_id: 1})
    assert 'data-action="export"' in whole(state)


def test_a_steps_row_says_what_came_of_it_and_folds_the_rest() -> None:
    facts = StepFacts({"x": "← a.b"}, ("a",), 1.0, 2.5, '"yes \u202e"', None, "allowed")
    html = row_html(PlanEntry("v: validate(x=← a.b)", status="completed", meta=step_meta(facts)))
    assert (
        '<details class="acp-step"><summary tabindex="-1"><bdi><code>v: validate(x=← a.b)</code></bdi>'
        in html
    )
    assert "1.5 s" in html and "allowed" in html and "<dt><bdi>x</bdi></dt><dd><bdi>← a.b</bdi></dd>" in html
    assert "U+202E" in html and "data-content" not in html


def test_a_denied_steps_row_takes_no_waiting_for_work() -> None:
    facts = StepFacts(started=1.0, ended=9.0, error="keep it")
    alone = row_html(PlanEntry("v: f()", status="_denied", meta=step_meta(facts)), number=1)
    assert "keep it" in alone and "8.0 s" not in alone and "tabindex" not in alone


def test_a_steps_row_that_failed_says_so_in_words() -> None:
    html = row_html(
        PlanEntry("v: f()", status="_failed", meta=step_meta(StepFacts(error="ValueError: <no>")))
    )
    assert ", failed</span>" in html and '<span class="acp-bad">ValueError: &lt;no&gt;</span>' in html
    assert ">failed<" in html and "<details" not in html


def test_a_runs_plan_is_shown_with_its_turn_and_cannot_be_changed() -> None:
    run = Plan((PlanEntry("a: f()"),), "steps-1", title="Run 1", meta={runs.RUN: {"id": "1"}})
    state = SessionState("s", "a", "m")
    for event in (UserMessage("one", "m1"), PlanUpdate(run, "tool"), StateUpdate("idle", "end_turn")):
        state = reduce(state, event)
    html = assemble(render_session(state, Memo()))
    assert 'data-plan-id="steps-1"' in html and "data-row-tools" not in html and "acp-add" not in html
    assert 'data-action="work"' not in html and 'data-action="export"' in html
    for event in (UserMessage("two", "m2"), StateUpdate("idle", "end_turn")):
        state = reduce(state, event)
    assert 'data-plan-id="steps-1"' not in assemble(render_session(state, Memo()))
    assert 'data-plan-id="steps-1"' in assemble(render_turn(1)(state, Memo(), False))
