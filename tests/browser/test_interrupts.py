"""The Interrupt button, failures, and cells that are run again, all at once or too early."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from harness.jupyter import App, NotebookPage
from harness.live import SOON, SURVEY, card, view

Use = Callable[..., NotebookPage]

SCRIPTS = (
    SURVEY
    + """
model.delay = 0.01

@agent.tool_plain
def open_table(table: str) -> str:
    raise ValueError(f"no table {table}")

@model.script("plan and (drop|talk)")
def plans(turn):
    yield Call("acp_set_plan", entries=[{"content": "one", "status": "completed"}, {"content": "two"}])
    if turn.match[1] == "drop":
        yield Call("drop", table="survey")
    yield Say("blah " * 10_000)

@model.script("open")
def opens(turn):
    result = yield Call("open_table", table="x")
    yield Say(f"It says: {result.text}")

@model.script("break")
def breaks(turn):
    yield Say("So far so good.")
    yield Call("look", table="survey")
    raise RuntimeError("the provider is down")
"""
)


@pytest.mark.parametrize("doing", ["drop", "talk"])
def test_an_interrupt_ends_cell_and_turn_and_keeps_the_plan(use_notebook: Use, app: App, doing: str) -> None:
    page = use_notebook(
        [
            SCRIPTS,
            "%acp",
            f"%acp ask plan and {doing}",
            "print(current().turns[-1].stop_reason, [entry.status for entry in current().plan])",
            "%acp ask hello",
        ],
        app,
    )
    page.run(0)
    page.run(1)
    page.start(2)
    last = card(page, 2) if doing == "drop" else view(page, 2).locator(".acp-message")
    expect(last).to_be_visible()
    interrupted = time.monotonic()
    page.interrupt()
    page.wait_done(2)
    assert time.monotonic() - interrupted < SOON
    expect(error(page, 2)).to_have_text("KeyboardInterrupt: the turn was cancelled")
    expect(view(page, 2).locator(".acp-state")).to_have_text("cancelled")
    expect(view(page, 2).locator("li.acp-entry")).to_have_count(2)
    for place in (1, 2):
        expect(card(page, place)).to_have_count(0)
    expect(view(page, 2).get_by_role("button")).to_have_count(0)
    expect(view(page, 1).get_by_role("status")).to_have_text("ready · last turn cancelled")
    if doing == "drop":
        expect(view(page, 2).locator(".acp-answered")).to_contain_text("Withdrawn")
    page.run(3)
    expect(page.output(3)).to_have_text("cancelled ['completed', 'pending']")
    page.run(4)
    expect(view(page, 4).locator(".acp-message")).to_have_text("Hello to you.")


# -- failures --------------------------------------------------------------------------------------------


def test_a_tool_that_raises_is_for_the_model_to_handle(use_notebook: Use) -> None:
    page = use_notebook([SCRIPTS, "%acp ask open it"])
    page.run(0)
    page.run(1)
    call = view(page, 1).locator(".acp-tool-call")
    expect(call).to_have_attribute("data-status", "failed")
    expect(call).to_contain_text("ValueError: no table x")
    expect(view(page, 1).locator(".acp-message")).to_have_text("It says: ValueError: no table x")
    expect(error(page, 1)).to_have_count(0)


def test_a_model_that_fails_is_one_line(use_notebook: Use, app: App) -> None:
    page = use_notebook([SCRIPTS, "%acp ask break", "%acp ask hello"], app)
    page.run(0)
    page.run(1)
    expect(error(page, 1)).to_have_count(1)
    said = error(page, 1).inner_text().strip()
    assert said.startswith("TurnFailed: ") and said.endswith("the provider is down") and "\n" not in said
    expect(view(page, 1).locator(".acp-message")).to_have_text("So far so good.")
    expect(view(page, 1).locator(".acp-ending")).to_contain_text("The turn failed.")
    page.run(2)
    expect(view(page, 2).locator(".acp-message")).to_have_text("Hello to you.")


def test_a_prompt_while_a_turn_runs_is_one_line(use_notebook: Use) -> None:
    page = use_notebook([SCRIPTS, "%acp ask --bg drop survey", "%acp ask hello"])
    for index in range(3):
        page.run(index)
    expect(error(page, 2)).to_have_text(
        "UsageError: a turn is running: wait for it to end, or cancel it with %acp cancel"
    )
    card(page, 1).get_by_role("button", name="Allow once").click()  # it has not been disturbed
    expect(view(page, 1).locator(".acp-message")).to_have_text("The answer is: dropped from survey.")


def test_mistakes_are_one_line(use_notebook: Use) -> None:
    page = use_notebook([SURVEY, "%acp asc hello", "%acp mode reckless", "%acp plan done 7"])
    page.run(0)
    for index, said in enumerate(["did you mean ask?", "'reckless'", "there is no entry 7"], 1):
        page.run(index)
        expect(error(page, index)).to_contain_text(said)
        assert "\n" not in error(page, index).inner_text().strip()


# -- again, all at once, too early -----------------------------------------------------------------------


def test_a_cell_that_is_run_again(use_notebook: Use) -> None:
    page = use_notebook([SURVEY, "%acp ask drop survey", "%acp status"])
    page.run(0)
    for answer, result in (("Allow once", "dropped from survey"), ("Deny", "did not run")):
        page.start(1)
        card(page, 1).get_by_role("button", name=answer, exact=True).click()
        page.wait_done(1)
        expect(view(page, 1)).to_have_count(1)
        expect(view(page, 1).locator(".acp-message")).to_contain_text(result)
    page.run(0)  # also the one that loads the extension and starts the session
    page.run(2)
    expect(page.output(2)).to_contain_text("survey: idle")
    expect(page.output(2)).not_to_contain_text("turn")


def test_run_all_stops_where_a_turn_waits_and_where_one_fails(use_notebook: Use, app: App) -> None:
    page = use_notebook([SCRIPTS, "%acp ask drop survey", "%acp ask break", "print('not reached')"], app)
    page.start_all()
    expect(card(page, 1)).to_be_visible()
    assert (page.prompt(2), page.prompt(3)) == ("[*]:", "[*]:")
    card(page, 1).get_by_role("button", name="Allow once").click()
    page.wait_done(2)
    expect(view(page, 1).locator(".acp-message")).to_have_text("The answer is: dropped from survey.")
    expect(error(page, 2)).to_contain_text("the provider is down")
    expect(page.cell(3).locator(".jp-InputPrompt")).to_have_text("[ ]:")
    expect(page.output(3)).to_have_text("")


def test_two_sessions_at_once(use_notebook: Use) -> None:
    page = use_notebook(
        [
            SURVEY,
            "%acp ask --bg drop first",
            "%acp start agent --name second\n%acp ask drop other",
            "%acp sessions",
        ]
    )
    page.run(0)
    page.run(1)
    page.start(2)
    expect(card(page, 1)).to_contain_text("first")
    expect(card(page, 2)).to_contain_text("other")
    card(page, 1).get_by_role("button", name="Allow once").click()
    expect(view(page, 1).locator(".acp-message")).to_have_text("The answer is: dropped from first.")
    card(page, 2).get_by_role("button", name="Allow once").click()
    page.wait_done(2)
    expect(view(page, 2).locator(".acp-message")).to_have_text("The answer is: dropped from other.")
    page.run(3)
    expect(page.output(3)).to_contain_text("survey: idle")
    expect(page.output(3)).to_contain_text("* second: idle")


def error(page: NotebookPage, index: int) -> Locator:
    """What a cell says went wrong: a traceback, or a line on stderr."""
    return page.output(index).locator("[data-mime-type$='stderr']")
