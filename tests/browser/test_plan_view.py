"""The plan in JupyterLab and Notebook: worked on by hand, alone, and linked with other widgets."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, expect

from harness.jupyter import App, NotebookPage
from harness.live import SURVEY, view

Use = Callable[..., NotebookPage]

STEPS = "current().set_plan(['load', 'clean', 'plot'], title='Survey')"
SHOWN = "print(*(f'{entry.content!r} {entry.status}' for entry in current().plan), sep='; ')"


def ready(plan: Locator) -> Locator:
    """The rows of a plan whose kernel has answered: before, keys would go to Jupyter."""
    expect(plan.get_by_label("Add a step")).to_be_enabled()
    return plan.locator("li.acp-entry")


def drag(page: NotebookPage, row: Locator, to: Locator) -> None:
    """Take a row by its number and let it go on the lower half of another."""
    to.scroll_into_view_if_needed()
    start, end = row.locator(".acp-index").bounding_box(), to.bounding_box()
    assert start and end
    page.tab.mouse.move(start["x"] + 4, start["y"] + 6)
    page.tab.mouse.down()
    page.tab.mouse.move(start["x"] + 4, start["y"] + 20)
    page.tab.mouse.move(start["x"] + 4, end["y"] + end["height"] * 0.75)
    expect(to).to_have_attribute("data-drop", "after")
    page.tab.mouse.up()


def test_a_plan_is_worked_on_by_hand(use_notebook: Use, app: App) -> None:
    page = use_notebook([SURVEY + STEPS, "current().plan_view()", SHOWN], app)
    page.run(0)
    page.run(1)
    plan = view(page, 1)
    rows = ready(plan)
    rows.nth(1).locator(".acp-text").dblclick()
    page.tab.keyboard.press("ControlOrMeta+a")
    page.tab.keyboard.type("clean")
    page.tab.keyboard.press("Shift+Enter")  # no key of Jupyter's while one types
    page.tab.keyboard.type("and check")
    page.tab.keyboard.press("Enter")
    expect(rows.nth(1).locator(".acp-text")).to_have_text("clean\nand check, pending")
    expect(rows.nth(1)).to_be_focused()
    page.tab.keyboard.press("Alt+ArrowUp")
    expect(rows.nth(0)).to_contain_text("clean")
    expect(rows.nth(0)).to_be_focused()
    drag(page, rows.nth(0), rows.nth(2))
    expect(rows.nth(2)).to_contain_text("clean")
    rows.nth(0).hover()
    rows.nth(0).get_by_label("Status, step 1").select_option("in_progress")
    rows.nth(0).get_by_label("Priority, step 1").select_option("high")
    expect(rows.nth(0).locator(".acp-priority")).to_have_text("high")
    page.run(2)
    expect(page.output(2)).to_have_text(r"'load' in_progress; 'plot' pending; 'clean\nand check' pending")
    rows.nth(0).focus()
    page.tab.keyboard.press("ControlOrMeta+z")
    page.tab.keyboard.press("ControlOrMeta+z")
    expect(rows.nth(0)).to_have_attribute("data-status", "pending")
    plan.get_by_role("button", name="Undo").click()
    expect(rows.nth(0)).to_contain_text("clean")

    plan.get_by_role("button", name="History").click()
    slider = plan.get_by_role("slider", name="Revision")
    expect(slider).to_be_focused()
    page.tab.keyboard.press("Home")
    expect(plan.locator(".acp-looking")).to_contain_text("revision 1 of")
    expect(rows.locator(".acp-text")).to_have_text([f"{text}, pending" for text in ("load", "clean", "plot")])
    plan.get_by_role("button", name="Restore this").click()
    expect(plan.locator(".acp-looking")).to_have_count(0)
    plan.get_by_role("button", name="Export", exact=True).click()
    with page.tab.expect_download() as caught:
        plan.get_by_role("button", name="Export the plan as Markdown").click()
    assert caught.value.suggested_filename == "Survey.md"
    page.run(2)
    expect(page.output(2)).to_have_text("'load' pending; 'clean' pending; 'plot' pending")


LINKED = """
from ipywidgets import FloatProgress, Label, VBox, dlink, jslink
plan = current().plan_view()
bar, words = FloatProgress(max=1.0, description="js"), Label()
jslink((plan, "fraction"), (bar, "value"))
dlink((plan, "progress"), (words, "value"), "{0[0]} of {0[1]} by Python".format)
VBox([plan, bar, words])
"""


def test_beside_other_widgets_and_linked_with_them(use_notebook: Use) -> None:
    page = use_notebook(
        [
            SURVEY + STEPS,
            LINKED,
            "plan.plan = ['by a trait', 'of the view']",
            "current().close()",
            "print(plan.progress, plan.fraction)\nplan.plan = []",
        ]
    )
    page.run(0)
    page.run(1)
    rows = ready(view(page, 1))
    bar = page.output(1).locator(".progress-bar")
    wide = "(bar) => Math.round(100 * bar.getBoundingClientRect().width / bar.parentElement.clientWidth)"
    assert bar.evaluate(wide) == 0
    rows.nth(0).hover()
    rows.nth(0).get_by_role("button", name="Mark as done, step 1").click()
    expect(page.output(1).get_by_text("1 of 3 by Python")).to_be_visible()
    page.tab.wait_for_function(f"(bar) => ({wide})(bar) === 33", arg=bar.element_handle())
    page.run(2)
    expect(rows.locator(".acp-text")).to_have_text(["by a trait, pending", "of the view, pending"])
    expect(page.output(1).get_by_text("0 of 2 by Python")).to_be_visible()
    page.run(3)  # it stays, and nothing in it looks alive
    expect(view(page, 1).get_by_label("Add a step")).to_have_count(0)
    expect(rows).to_have_count(2)
    assert view(page, 1).locator("button, select, textarea, input").count() == 0
    page.run(4)
    expect(page.output(4)).to_contain_text("(0, 2) 0.0")
    expect(page.output(4)).to_contain_text("SessionClosed")


def test_after_a_reload_it_is_as_it_was(open_notebook: Use) -> None:
    page = open_notebook([SURVEY + STEPS, "current().plan_view()", "current().close()"])
    page.run(0)
    page.run(1)
    ready(view(page, 1)).nth(0).hover()
    view(page, 1).get_by_role("button", name="Mark as done, step 1").click()
    expect(view(page, 1)).to_contain_text("1 of 3 done")
    page.save()
    page.reload()
    expect(ready(view(page, 1)).nth(0)).to_have_attribute("data-status", "completed")
    page.run(2)
    page.save()
    page.reload()
    expect(view(page, 1)).to_contain_text("1 of 3 done")
    assert view(page, 1).locator("button:visible, textarea:visible").count() == 0
    assert page.errors == []
