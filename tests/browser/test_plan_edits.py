"""What a person does with a plan in a real page: the real module and the real Python view, no Jupyter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from acp_notebook.kernel.host import ThreadHost
from acp_notebook.plan import Plan, PlanEntry, apply_edits
from acp_notebook.plan.edits import AddEntry, MoveEntry, RemoveEntry, UpdateEntry
from acp_notebook.plan.formats import FORMATS
from acp_notebook.plan.runs import RUN, StepFacts, shown_as, step_meta
from acp_notebook.protocol.messages import ToolCallUpdate
from acp_notebook.views.widget import session_view
from harness.puppet import PLAN, PuppetSession, pages
from harness.stage import Stage

Show = Callable[..., Locator]


@pytest.fixture
def session() -> Iterator[PuppetSession]:
    with pages():
        session = PuppetSession(ThreadHost(), on_unattended="wait")
        yield session
        session.close()


@pytest.fixture
def show(session: PuppetSession, tab: Page) -> Iterator[Show]:
    """`show("a", "b")` sets a plan of these steps, shows the session and returns the rows."""
    stages: list[Stage] = []

    def show_(*texts: str) -> Locator:
        session.do(session.puppet.set_plan, Plan(tuple(map(PlanEntry, texts))) if texts else PLAN)
        stages.append(Stage(tab, session_view(session)))
        expect(tab.get_by_label("Add a step")).to_be_visible()
        return tab.locator("li.acp-entry")

    yield show_
    for stage in stages:
        assert stage.errors == []


def agent(session: PuppetSession, *edits: AddEntry | MoveEntry | RemoveEntry | UpdateEntry) -> None:
    """The agent changes the plan."""
    session.do(session.puppet.set_plan, apply_edits(session.plan, edits))


def numbers(rows: Locator) -> list[str]:
    return rows.evaluate_all("(rows) => rows.map((row) => row.dataset.index)")


def editor(tab: Page) -> Locator:
    return tab.locator(".acp-edit textarea")


# -- texts -----------------------------------------------------------------------------------------------


def test_a_text_is_edited_in_place(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show("Load `data.csv`", "Plot")
    rows.first.focus()
    tab.keyboard.press("Enter")
    expect(editor(tab)).to_be_focused()
    expect(editor(tab)).to_have_value("Load `data.csv`")  # as it was written, not as it is shown
    tab.keyboard.type(" twice")
    tab.keyboard.press("Shift+Enter")
    tab.keyboard.type("and look")
    tab.keyboard.press("Enter")
    expect(rows.first.locator(".acp-text")).to_have_text("Load data.csv twice\nand look, pending")
    expect(editor(tab)).to_have_count(0)
    expect(rows.first).to_be_focused()
    assert session.plan[0].content == "Load `data.csv` twice\nand look"
    assert [revision.author for revision in session.plan_history()] == ["model", "person"]

    rows.nth(1).locator(".acp-text").dblclick()
    editor(tab).fill("something else")
    tab.keyboard.press("Escape")
    expect(editor(tab)).to_have_count(0)
    expect(rows.nth(1)).to_contain_text("Plot")
    rows.nth(1).hover()
    rows.nth(1).get_by_role("button", name="Edit, step 2").click()
    editor(tab).fill("Plot again")
    tab.get_by_role("button", name="Save").click()
    expect(rows.nth(1)).to_contain_text("Plot again")
    rows.nth(1).focus()
    tab.keyboard.press("F2")
    tab.keyboard.press("Enter")  # nothing was changed, so nothing is sent
    expect(editor(tab)).to_have_count(0)
    assert len(session.plan_history()) == 3


def test_a_refused_edit_keeps_the_text_with_the_reason(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show("a", "b", "c")
    rows.nth(1).focus()
    tab.keyboard.press("Enter")
    editor(tab).fill("mine")
    agent(session, UpdateEntry(2, content="the agent's"))
    expect(rows.nth(1).locator(".acp-text")).to_have_text("the agent's, pending")
    tab.keyboard.press("Enter")
    expect(rows.nth(1).get_by_role("alert")).to_contain_text('it is now "the agent\'s"')
    expect(editor(tab)).to_have_value("mine")
    expect(editor(tab)).to_be_focused()
    tab.keyboard.press("Enter")  # all the same
    expect(rows.nth(1).locator(".acp-text")).to_have_text("mine, pending")
    rows.nth(2).focus()
    tab.keyboard.press("Enter")
    editor(tab).fill(" ")
    tab.keyboard.press("Enter")
    expect(rows.nth(2).get_by_role("alert")).to_contain_text("needs some text")
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize(
    ("edits", "index"),
    [
        ([UpdateEntry(2, status="in_progress")], "2"),
        ([MoveEntry(2, 4)], "4"),
        ([RemoveEntry(1), AddEntry("x", at=1), AddEntry("y", at=1)], "3"),
        ([MoveEntry(1, 4)], "1"),
    ],
    ids=["another status", "moved", "others come and go", "another moves"],
)
def test_what_is_being_typed_survives_patches(
    session: PuppetSession, tab: Page, show: Show, edits: list[AddEntry], index: str
) -> None:
    show("a", "b", "c", "d")
    tab.locator("li.acp-entry").nth(1).focus()
    tab.keyboard.press("Enter")
    tab.keyboard.type("ut")
    agent(session, *edits)
    row = tab.locator("li.acp-entry[data-editing]")
    expect(row).to_have_attribute("data-index", index)
    expect(editor(tab)).to_be_focused()
    tab.keyboard.type(" not c")
    tab.keyboard.press("Enter")
    expect(editor(tab)).to_have_count(0)
    assert session.plan[int(index) - 1].content == "but not c"


def test_a_step_that_is_gone_keeps_what_is_typed(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show("a", "b", "c")
    rows.nth(1).focus()
    tab.keyboard.press("Enter")
    tab.keyboard.type("ut")
    agent(session, RemoveEntry(2), AddEntry("d"))
    expect(rows).to_have_count(4)  # the one that is typed in too
    expect(editor(tab)).to_be_focused()
    assert numbers(rows.locator("visible=true").filter(has_not=editor(tab))) == ["1", "2", "3"]
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("alert")).to_contain_text("no longer in the plan")
    expect(editor(tab)).to_have_value("but")
    tab.keyboard.press("Escape")
    expect(rows.locator(".acp-text")).to_have_text(["a, pending", "c, pending", "d, pending"])
    expect(rows.nth(1)).to_be_focused()
    tab.keyboard.press("Enter")
    session.remove_plan("plan-1")  # with all its rows
    expect(tab.get_by_text("No steps yet.")).to_be_visible()
    expect(editor(tab)).to_be_focused()
    tab.keyboard.press("Escape")
    expect(rows).to_have_count(0)


def test_steps_are_added_with_several_lines(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show("a")
    field = tab.get_by_label("Add a step")
    field.focus()
    tab.keyboard.type("b")
    tab.keyboard.press("Shift+Enter")
    tab.keyboard.type("b2")
    tab.keyboard.press("Enter")
    expect(rows).to_have_count(2)
    expect(field).to_have_value("")
    expect(field).to_be_focused()
    assert session.plan[1].content == "b\nb2"


# -- status, priority, place -----------------------------------------------------------------------------


def test_status_and_priority_are_chosen_in_the_row(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show()
    rows.nth(3).hover()
    rows.nth(3).get_by_label("Status, step 4").select_option("cancelled")
    expect(rows.nth(3)).to_have_attribute("data-status", "cancelled")
    rows.nth(3).get_by_label("Priority, step 4").select_option("low")
    expect(rows.nth(3)).to_have_attribute("data-priority", "low")
    expect(rows.nth(3).locator(".acp-priority")).to_have_text("low · cancelled")
    rows.nth(5).hover()
    own = rows.nth(5).get_by_label("Status, step 6")
    expect(own).to_have_value("_blocked")  # its own name, and it stays to be chosen
    expect(own.locator("option")).to_have_count(5)
    assert len(session.plan_history()) == 3


def test_arrow_keys_in_a_closed_select_are_one_edit(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show("a", "b")
    rows.nth(1).focus()
    rows.nth(1).get_by_label("Status, step 2").focus()
    for _ in range(3):
        tab.keyboard.press("ArrowDown")
    expect(rows.nth(1)).to_have_attribute("data-status", "cancelled")
    assert len(session.plan_history()) == 2
    expect(rows.nth(1).get_by_label("Status, step 2")).to_be_focused()


def test_a_click_never_hits_a_neighbour(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show("a", "b", "c")
    rows.nth(1).hover()
    tab.evaluate("window.online = false")  # the click is on its way while the plan changes
    rows.nth(1).get_by_role("button", name="Mark as done, step 2").click()
    rows.nth(2).hover()
    rows.nth(2).get_by_role("button", name="Remove, step 3").click()
    sent = tab.evaluate("window.sent.filter((message) => message.action === 'plan')")
    agent(session, AddEntry("first", at=1))
    agent(session, RemoveEntry(4))
    for message in sent:
        tab.evaluate("(message) => window.toKernel(message)", message)
    expect(tab.get_by_role("alert")).to_contain_text("no longer in the plan")
    assert [(e.content, e.status) for e in session.plan] == [
        ("first", "pending"),
        ("a", "pending"),
        ("b", "completed"),
    ]


def test_reordering_by_keyboard(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show("a", "b", "c")
    rows.first.focus()
    for place, texts in ((1, "bac"), (2, "bca")):
        tab.keyboard.press("Alt+ArrowDown")
        expect(rows.nth(place)).to_be_focused()
        expect(rows.locator(".acp-text")).to_have_text([f"{text}, pending" for text in texts])
        assert numbers(rows) == ["1", "2", "3"]
    expect(tab.locator("[aria-live]")).to_have_text("Step 2 moved to 3.")
    tab.keyboard.press("Alt+ArrowDown")  # there is nothing below
    tab.keyboard.press("Home")
    expect(rows.first).to_be_focused()
    tab.keyboard.press("End")
    expect(rows.nth(2)).to_be_focused()
    assert len(session.plan_history()) == 3


def test_keys_are_faster_than_the_kernel(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show("a", "b", "c", "d")
    rows.first.focus()
    tab.evaluate("window.online = false")
    for key in ("Alt+ArrowDown", "Alt+ArrowDown", "Alt+ArrowDown", "Control+z"):
        tab.keyboard.press(key)
    sent = "window.sent.filter((message) => message.action === 'plan' || message.action === 'undo')"
    assert tab.evaluate(f"{sent}.length") == 1
    tab.evaluate("(message) => { window.online = true; window.toKernel(message); }", tab.evaluate(sent)[0])
    expect(tab.locator("[aria-live]")).to_have_text("Undone.")
    expect(rows.locator(".acp-text")).to_have_text([f"{text}, pending" for text in "bcad"])
    assert len(session.plan_history()) == 5


def drag(tab: Page, grip: Locator, to: Locator, side: float) -> None:
    """Take a row at its number to where the pointer stands over another; the button stays down."""
    start, end = grip.bounding_box(), to.bounding_box()
    assert start and end
    tab.mouse.move(start["x"] + 4, start["y"] + 6)
    tab.mouse.down()
    for part in (0.3, 0.7, 1):
        target = end["y"] + end["height"] * side
        tab.mouse.move(start["x"] + 4, start["y"] + 6 + (target - start["y"] - 6) * part)


def test_reordering_by_drag(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show("a", "b", "c", "d")
    drag(tab, rows.nth(0).locator(".acp-index"), rows.nth(2), 0.75)
    expect(rows.nth(2)).to_have_attribute("data-drop", "after")
    tab.mouse.up()
    expect(rows.locator(".acp-text")).to_have_text(["b, pending", "c, pending", "a, pending", "d, pending"])
    expect(rows.nth(2)).to_be_focused()
    expect(tab.locator("[aria-live]")).to_have_text("Step 1 moved to 3.")
    rows.nth(3).hover()
    drag(tab, rows.nth(3).locator(".acp-grip"), rows.nth(0), 0.25)
    tab.mouse.up()
    expect(rows.locator(".acp-text")).to_have_text(["d, pending", "b, pending", "c, pending", "a, pending"])
    drag(tab, rows.nth(0).locator(".acp-mark"), rows.nth(3), 0.75)
    tab.keyboard.press("Escape")
    expect(tab.locator("[data-drop], [data-dragged]")).to_have_count(0)
    tab.mouse.up()
    drag(tab, rows.nth(1).locator(".acp-index"), rows.nth(1), 0.9)  # back to where it was
    tab.mouse.up()
    assert [entry.content for entry in session.plan] == ["d", "b", "c", "a"]
    assert len(session.plan_history()) == 3


def test_a_drag_scrolls_the_list_and_outlives_patches(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show(*(f"step {n}" for n in range(40)))
    drag(tab, rows.nth(0).locator(".acp-index"), tab.locator(".acp-entries"), 0.995)
    agent(session, UpdateEntry(30, status="completed"))
    expect(rows.nth(39)).to_have_attribute("data-drop", "after")
    tab.mouse.up()
    expect(rows.nth(39)).to_contain_text("step 0")
    assert session.plan[39].content == "step 0" and session.plan[28].status == "completed"


def test_undo(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show("a", "b", "c")
    undo = tab.get_by_role("button", name="Undo")
    expect(undo).to_have_count(0)
    rows.nth(0).hover()
    rows.nth(0).get_by_role("button", name="Mark as done, step 1").click()
    expect(undo).to_have_attribute("title", 'Undo: 1. "a": pending → completed')
    rows.nth(2).focus()
    rows.nth(2).get_by_role("button", name="Remove, step 3").click()
    expect(undo).to_have_attribute("title", 'Undo: 3. "c" removed')
    expect(rows.nth(1)).to_be_focused()
    tab.keyboard.press("Control+z")
    expect(rows.locator(".acp-text")).to_have_text(["a, completed", "b, pending", "c, pending"])
    undo.click()
    expect(rows.locator(".acp-text")).to_have_text(["a, pending", "b, pending", "c, pending"])
    expect(undo).to_have_count(0)
    rows.nth(0).focus()
    tab.keyboard.press("Control+z")
    expect(tab.get_by_role("alert")).to_contain_text("nothing to undo")


def test_the_focus_goes_to_the_row_in_the_place_of_one_that_is_gone(
    session: PuppetSession, tab: Page, show: Show
) -> None:
    rows = show("a", "b", "c")
    rows.nth(1).focus()
    rows.nth(1).get_by_role("button", name="Remove, step 2").focus()
    tab.keyboard.press("Enter")
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_be_focused()
    agent(session, RemoveEntry(2))
    expect(rows.nth(0)).to_be_focused()


# -- history ---------------------------------------------------------------------------------------------


def test_the_slider_shows_the_plan_as_it_was(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show()
    history = tab.get_by_role("button", name="History")
    expect(history).to_have_count(0)  # there is only one revision
    session.update_entry(4, content="Fill ages", status="in_progress")
    session.remove_entry(1)
    history.click()
    slider = tab.get_by_role("slider", name="Revision")
    expect(slider).to_be_focused()
    expect(tab.locator(".acp-history")).to_contain_text("Revision 3 of 3 · you")
    expect(tab.locator(".acp-history li")).to_contain_text("removed")
    tab.keyboard.press("ArrowLeft")
    expect(tab.locator(".acp-looking")).to_contain_text("as it was at revision 2 of 3")
    expect(rows).to_have_count(6)
    expect(rows.nth(3).locator(".acp-priority")).to_have_text("reworded, was pending")
    assert numbers(rows) == list("123456")
    assert tab.locator(".acp-plan").get_by_label("Add a step").count() == 0
    rows.nth(3).dblclick()
    rows.nth(3).hover()
    assert tab.locator(".acp-edit, li .acp-row-tools").count() == 0
    slider.focus()
    tab.keyboard.press("ArrowLeft")
    expect(tab.locator(".acp-looking")).to_contain_text("revision 1 of 3")
    expect(slider).to_be_focused()
    session.mark_done(2)  # meanwhile
    expect(tab.locator(".acp-looking")).to_contain_text("revision 1 of 4")
    expect(slider).to_have_value("1")
    tab.get_by_role("button", name="Back to now").click()
    expect(rows).to_have_count(5)
    expect(slider).to_have_value("4")
    expect(slider).to_be_focused()
    slider.fill("1")
    tab.get_by_role("button", name="Restore this").click()
    expect(tab.locator(".acp-looking")).to_have_count(0)
    expect(rows).to_have_count(6)
    assert session.plan == PLAN and len(session.plan_history()) == 5
    expect(slider).to_have_count(0)
    expect(history).to_have_attribute("aria-pressed", "false")


def test_the_slider_is_not_slower_than_the_hand(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show("a")
    for number in range(30):
        session.add_entry(f"step {number}")
    tab.get_by_role("button", name="History").click()
    slider = tab.get_by_role("slider", name="Revision")
    expect(slider).to_be_focused()
    for _ in range(25):
        tab.keyboard.press("ArrowLeft")
    expect(tab.locator(".acp-looking")).to_contain_text("revision 6 of 31")
    expect(rows).to_have_count(6)
    expect(slider).to_have_value("6")


def test_a_removed_plan_is_restored(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show()
    session.remove_plan("plan-1")
    expect(tab.locator(".acp-removed")).to_contain_text("Removed plans: Clean the survey data (6 steps)")
    tab.get_by_role("button", name="Restore the plan Clean the survey data").click()
    expect(rows).to_have_count(6)
    expect(tab.locator(".acp-removed")).to_have_count(0)


# -- what is shown ---------------------------------------------------------------------------------------


def test_filter_and_jump_to_the_current_step(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show()
    shown = rows.locator("visible=true")
    choose = tab.get_by_label("Show steps")
    for filter, count in {
        "Open": 3,
        "In progress": 1,
        "Done": 2,
        "Cancelled": 1,
        "Other": 1,
        "All steps": 6,
        "open": 3,
    }.items():
        choose.select_option(filter)
        expect(shown).to_have_count(count)
    expect(tab.locator("li.acp-entry[tabindex='0']:visible")).to_have_count(1)
    rows.nth(3).focus()
    tab.keyboard.press("Alt+ArrowUp")  # over what is shown
    expect(rows.nth(2)).to_contain_text("Fill missing ages")
    expect(rows.nth(2)).to_be_focused()
    rows.nth(2).get_by_role("button", name="Mark as done, step 3").click()
    expect(shown).to_have_count(2)  # it survives patches
    expect(rows.nth(3)).to_be_focused()
    choose.select_option("Cancelled")
    tab.get_by_role("button", name="Step 4").click()
    expect(choose).to_have_value("all")
    expect(rows.nth(3)).to_be_focused()
    session.update_entry(6, status="pending")
    choose.select_option("Other")
    expect(tab.get_by_text("No step has this status.")).to_be_visible()


def test_thousands_of_steps(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show(*(f"Step number {n} of a long plan" for n in range(1, 1_001)))
    expect(rows).to_have_count(1_000)
    entries = tab.locator(".acp-entries")
    box = entries.bounding_box()
    assert box and box["height"] < 500
    agent(session, UpdateEntry(700, status="in_progress"))
    current = tab.locator("li.acp-entry[data-index='700']")
    expect(current).to_be_in_viewport()  # the list was at its beginning, and follows
    agent(session, UpdateEntry(700, status="completed"), UpdateEntry(800, status="in_progress"))
    expect(tab.locator("li.acp-entry[data-index='800']")).to_be_in_viewport()
    entries.evaluate("(list) => { list.scrollTop = 0; }")
    agent(session, UpdateEntry(800, status="completed"), UpdateEntry(900, status="in_progress"))
    expect(tab.get_by_role("button", name="Step 900")).to_be_visible()
    assert entries.evaluate("(list) => list.scrollTop") == 0  # the person is elsewhere
    tab.get_by_role("button", name="Step 900").click()
    expect(tab.locator("li.acp-entry[data-index='900']")).to_be_focused()
    expect(tab.locator("li.acp-entry[data-index='900']")).to_be_in_viewport()
    tab.get_by_label("Show steps").select_option("Done")
    shown = "(rows) => rows.filter((row) => row.checkVisibility()).map((row) => row.dataset.index)"
    assert rows.evaluate_all(shown) == ["700", "800"]
    tab.get_by_label("Show steps").select_option("all")
    agent(session, AddEntry("new", at=1))
    last = tab.locator("li.acp-entry[data-index='1001']")
    expect(last).to_be_attached()
    tab.locator("li.acp-entry[data-index='1']").focus()
    tab.keyboard.press("End")
    expect(last).to_be_focused()
    expect(last).to_be_in_viewport()
    tab.keyboard.press("Alt+ArrowUp")
    expect(tab.locator("li.acp-entry[data-index='1000']")).to_be_focused()
    for _ in range(120):  # into the next group of rows
        tab.keyboard.press("ArrowUp")
    expect(tab.locator("li.acp-entry[data-index='880']")).to_be_focused()
    assert session.plan[999].content == "Step number 1000 of a long plan"


def test_every_format_is_a_button(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    export = tab.get_by_role("button", name="Export", exact=True)
    export.focus()
    tab.keyboard.press("Enter")
    expect(export).to_have_attribute("aria-expanded", "true")
    buttons = tab.locator("button[data-action=export]")
    assert buttons.evaluate_all("(all) => all.map((b) => b.dataset.format)") == list(FORMATS)
    expect(buttons.first).to_be_focused()
    for name, format in FORMATS.items():
        with tab.expect_download() as caught:
            tab.locator(f"button[data-action=export][data-format={name}]").click()
        assert caught.value.suggested_filename == f"Clean-the-survey-data{format.suffixes[0]}"
    tab.keyboard.press("Escape")
    expect(buttons.first).to_be_hidden()
    expect(export).to_be_focused()


def test_patches_that_were_lost_do_not_interrupt(session: PuppetSession, tab: Page, show: Show) -> None:
    rows = show("a", "b")
    rows.nth(0).focus()
    tab.keyboard.press("Enter")
    editor(tab).fill("typed")
    tab.evaluate("window.model.deliver({method: 'custom', content: {t: 'patch', n: 999, set: [], drop: []}})")
    session.add_entry("c")
    expect(rows).to_have_count(3)
    expect(editor(tab)).to_be_focused()
    expect(editor(tab)).to_have_value("typed")
    tab.keyboard.press("Enter")
    expect(rows.nth(0)).to_contain_text("typed")


# -- steps of a run --------------------------------------------------------------------------------------


def ran(text: str, status: str, **facts: Any) -> PlanEntry:
    return PlanEntry(text, status=status, meta=step_meta(StepFacts(**facts)))


def test_a_run_is_followed_without_mouse_and_eyes(session: PuppetSession, tab: Page) -> None:
    def steps(*entries: PlanEntry) -> None:
        session.do(session.puppet.set_plan, Plan(entries, "steps-1", title="Run 1", meta={RUN: {"id": "1"}}))

    given = {"arguments": {"x": "1"}}
    rest = ran("c: f(x=1)", "pending", **given)
    session.prompt("Go")
    session.send(ToolCallUpdate("p", name="execute_plan", title=shown_as("steps-1"), status="in_progress"))
    steps(ran("a: f(x=1)", "in_progress", **given), ran("b: g(x=1)", "pending", **given), rest)
    stage = Stage(tab, session_view(session))
    rows = tab.locator("li.acp-entry")
    tab.get_by_role("button", name="Go to its plan").click()
    expect(rows.nth(0)).to_be_focused()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    expect(rows.nth(1).locator(".acp-args")).to_be_visible()
    steps(
        ran("a: f(x=1)", "_failed", error="ValueError: no room", **given),
        ran("b: g(x=1)", "pending", **given),
        rest,
    )
    expect(rows.nth(1).locator(".acp-args")).to_be_visible()
    expect(rows.nth(1).locator("summary")).to_be_focused()
    expect(tab.locator("[aria-live]")).to_have_text("Step 1 failed: ValueError: no room")
    steps(
        ran("a: f(x=1)", "_failed", error="ValueError: no room", **given),
        ran("b: g(x=1)", "_denied", error="keep it", **given),
        ran("c: f(x=1)", "_failed", error="KeyError: 'x'", **given),
    )
    expect(tab.locator("[aria-live]")).to_have_text("Step 2 denied: keep it, and 1 more")
    expect(tab.locator("summary[tabindex='0'], .acp-step summary:not([tabindex])")).to_have_count(0)
    assert stage.errors == []
