"""`%acp sweep` in a page: its turns are live, their cards can be answered, and what is left is a table."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from harness.jupyter import App, NotebookPage
from harness.live import SURVEY, card

Use = Callable[..., NotebookPage]


def test_cards_of_each_run_are_answered_and_a_table_is_left(use_notebook: Use, app: App) -> None:
    cells = [SURVEY, "%acp sweep --efforts low,high --out rows drop survey", "print(*rows.answer, sep=' / ')"]
    page = use_notebook(cells, app)
    page.run(0)
    page.start(1)
    expect(card(page, 1)).to_be_visible()
    expect(page.output(1).locator(".acp-sweep")).to_contain_text("runs …")
    card(page, 1).get_by_role("button", name="Allow once").click()
    expect(page.output(1).locator(".acp-sweep tr").nth(1)).to_contain_text("dropped from survey")
    card(page, 1).get_by_role("button", name="Deny", exact=True).click()
    page.wait_done(1)
    sweep = page.output(1).locator(".acp-sweep")
    expect(sweep.first.locator("tr")).to_have_count(3)
    expect(page.output(1).get_by_role("img")).to_have_accessible_name(
        re.compile("Time: low .*, high .*Tokens")
    )
    expect(page.output(1).locator("button")).to_have_count(0)
    page.run(2)
    expect(page.output(2)).to_contain_text("The answer is: dropped from survey. / The answer is: ")


def test_an_interrupt_ends_it(use_notebook: Use) -> None:
    page = use_notebook([SURVEY, "%acp sweep --efforts low,high drop survey"])
    page.run(0)
    page.start(1)
    expect(card(page, 1)).to_be_visible()
    page.interrupt()
    expect(page.output(1)).to_contain_text("KeyboardInterrupt")
    rows = page.output(1).locator(".acp-sweep tr")
    expect(rows.nth(1)).to_contain_text("cancelled")
    expect(rows.nth(2)).to_contain_text("waits")
