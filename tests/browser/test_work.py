"""*Start working* on a page, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from acp_notebook.kernel.host import ThreadHost
from acp_notebook.plan import Change
from acp_notebook.views.widget import session_view
from harness.jupyter import App, NotebookPage
from harness.live import view
from harness.puppet import PLAN, PuppetSession, pages
from harness.stage import Stage

Use = Callable[..., NotebookPage]


@pytest.fixture
def session() -> Iterator[PuppetSession]:
    with pages():
        session = PuppetSession(ThreadHost(), on_unattended="wait")
        session.do(session.puppet.set_plan, PLAN)
        yield session
        session.close()


@pytest.fixture
def rows(session: PuppetSession, tab: Page) -> Iterator[Locator]:
    stage = Stage(tab, session_view(session))
    yield tab.locator("li.acp-entry")
    assert stage.errors == []


def start(tab: Page) -> Locator:
    return tab.locator('.acp-plan-head button[data-action="work"]')


def test_it_is_there_while_no_turn_runs(session: PuppetSession, tab: Page, rows: Locator) -> None:
    start(tab).click()
    expect(tab.get_by_role("status").first).to_contain_text("working")
    expect(start(tab)).to_have_count(0)
    rows.nth(3).hover()
    expect(tab.get_by_role("button", name="Skip, step 4")).to_be_visible()
    expect(tab.get_by_role("button", name="Work on this one, step 4")).to_be_hidden()
    session.do(session.puppet.end)
    expect(start(tab)).to_be_visible()
    assert session.turns[0].prompt.startswith("Work on the plan. Take entry 3")


def test_a_step_is_sent_alone_or_skipped(session: PuppetSession, tab: Page, rows: Locator) -> None:
    rows.nth(3).hover()
    tab.get_by_role("button", name="Skip, step 4").click()
    expect(rows.nth(3)).to_have_attribute("data-status", "cancelled")
    revision = session.plan_history()[-1]
    assert revision.author == "person" and revision.summary.endswith("pending → cancelled")
    expect(tab.get_by_role("button", name="Work on this one, step 4")).to_have_attribute(
        "aria-disabled", "true"
    )
    tab.get_by_role("button", name="Undo").click()
    expect(rows.nth(3)).to_have_attribute("data-status", "pending")
    rows.nth(3).hover()
    tab.get_by_role("button", name="Work on this one, step 4").click()
    expect(start(tab)).to_have_count(0)
    assert session.turns[0].prompt.startswith('Work on entry 4 of the plan, "Fill missing ages')


def test_a_changed_plan_is_asked_about_by_keyboard(session: PuppetSession, tab: Page, rows: Locator) -> None:
    session.add_entry("Publish")
    session.puppet.unseen = Change.between(PLAN, session.plan)
    start(tab).focus()
    tab.keyboard.press("Enter")
    question = tab.get_by_role("group", name="Start working")
    expect(question).to_contain_text('7. "Publish" added, pending, medium priority')
    expect(question.get_by_role("button", name="Work on it")).to_be_focused()
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    expect(question).to_have_count(0)
    expect(start(tab)).to_be_focused()
    assert not session.turns

    rows.nth(2).focus()
    tab.get_by_role("button", name="Work on this one, step 3").click()
    session.update_entry(7, priority="high")  # it is another plan now
    expect(question).to_have_count(0)
    rows.nth(2).focus()
    tab.get_by_role("button", name="Work on this one, step 3").click()
    question.get_by_role("button", name="Work on step 3").click()
    expect(start(tab)).to_have_count(0)
    assert session.turns[0].prompt.startswith("Work on entry 3")


def test_from_the_plan_to_its_end(use_notebook: Use, app: App) -> None:
    page = use_notebook(
        [
            "%load_ext acp_notebook\n%acp start demo --mode plan",
            "%acp",
            "%acp ask Plan how to clean the survey data",
            "print(current().mode, *current().plan.progress)",
        ],
        app,
    )
    page.execute("from acp_notebook import current")
    for index in range(3):
        page.run(index)
    panel = view(page, 1)
    panel.locator(".acp-entry").nth(2).hover()
    panel.get_by_role("button", name="Skip, step 3").click()
    panel.locator('button[data-action="work"]').click()
    question = panel.get_by_role("group", name="Start working")
    expect(question).to_contain_text('3. "Drop the duplicate rows": pending → cancelled')
    question.get_by_role("button", name="Work on it").click()
    expect(panel.locator(".acp-plan-head")).to_contain_text("5 of 6 done · 1 cancelled")
    expect(panel.get_by_role("status").first).to_have_text("ready")
    page.run(3)
    expect(page.output(3)).to_have_text("agent 5 6")
