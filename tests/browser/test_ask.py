"""`%acp ask` in a cell, as a person sees it while the cell runs."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from harness.jupyter import App, NotebookPage
from harness.live import SOON, SURVEY, card, view

Use = Callable[..., NotebookPage]

#: Notes what is seen in a cell while it runs: each status of each entry, and how often the texts grow.
WATCH = """(cell) => {
  const seen = window.seen = {entries: {}, thought: 0, answer: 0};
  const length = {};
  const grown = (name, selector) => {
    const now = [...cell.querySelectorAll(selector)].at(-1)?.textContent.length ?? 0;
    if (now > (length[name] ?? 0)) seen[name] += 1;
    length[name] = now;
  };
  new MutationObserver(() => {
    if (!cell.querySelector(".jp-InputPrompt").textContent.includes("*")) return;
    for (const {dataset: {index, status}} of cell.querySelectorAll("li.acp-entry")) {
      const statuses = seen.entries[index] ??= [];
      if (statuses.at(-1) !== status) statuses.push(status);
    }
    grown("thought", ".acp-thought .acp-log");
    grown("answer", ".acp-message");
  }).observe(cell, {subtree: true, childList: true, characterData: true, attributes: true});
}"""


def test_a_plan_is_worked_through_while_the_cell_runs(use_notebook: Use, app: App) -> None:
    result = "print([entry.status for entry in current().plan], turn.text.splitlines()[0], sep=', then ')"
    page = use_notebook(
        [
            "%load_ext acp_notebook\nfrom acp_notebook import current",
            "%acp ask --out turn Clean the survey data",
            result,
        ],
        app,
    )
    page.tab.evaluate(WATCH, page.cell(1).element_handle())
    page.start_all()
    expect(card(page, 1)).to_contain_text("drop_duplicates")
    expect(view(page, 1).get_by_role("status")).to_have_text("waiting for you · step 3 of 6")
    waits = view(page, 1).locator(".acp-tool-call", has_text="drop_duplicates")
    expect(waits).to_have_attribute("data-status", "paused")
    call = view(page, 1).locator(".acp-tool-call", has_text="count_duplicates")
    call.locator("summary").click()
    expect(call.locator(".acp-args")).to_contain_text('["respondent", "wave"]')
    expect(call.locator(".acp-result")).to_contain_text("duplicates")
    assert (page.prompt(1), page.prompt(2)) == ("[*]:", "[*]:")

    clicked = time.monotonic()
    card(page, 1).get_by_role("button", name="Allow once").click()
    expect(card(page, 1)).to_have_count(0)
    assert time.monotonic() - clicked < SOON
    fourth = view(page, 1).locator("li.acp-entry[data-index='4']")
    expect(fourth).not_to_have_attribute("data-status", "pending")
    assert page.prompt(1) == "[*]:"

    page.wait_all_done()
    expect(page.output(2)).to_have_text(f"{['completed'] * 6}, then ### What I did")
    seen = page.tab.evaluate("window.seen")
    for index in "12345":  # the sixth takes less time than there is between two paints
        assert seen["entries"][index] == ["pending", "in_progress", "completed"]
    assert seen["entries"]["6"][0] == "pending" and seen["entries"]["6"][-1] == "completed"
    assert seen["thought"] > 5 and seen["answer"] > 5


def test_cancel_stops_the_turn_and_then_the_next_cell_runs(use_notebook: Use, app: App) -> None:
    page = use_notebook([SURVEY, "%acp ask drop survey", "print(current().turns[-1].stop_reason)"], app)
    page.run(0)
    page.start(1)
    expect(card(page, 1)).to_be_visible()
    page.start(2)
    assert page.prompt(2) == "[*]:"
    clicked = time.monotonic()
    view(page, 1).get_by_role("button", name="Cancel turn").click()
    page.wait_done(2)
    assert time.monotonic() - clicked < SOON
    expect(page.output(2)).to_have_text("cancelled")
    expect(view(page, 1)).to_contain_text("The turn was cancelled.")
    expect(view(page, 1).locator(".acp-answered")).to_contain_text("Withdrawn")


def test_cancel_in_the_middle_of_an_answer(use_notebook: Use) -> None:
    talk = "model.delay = 0.01\n@model.script('talk')\ndef talks(turn):\n    yield Say('blah ' * 10_000)"
    page = use_notebook(
        [SURVEY, talk, "turn = %acp ask talk", "print(turn.stop_reason, len(turn.text) > 10)"]
    )
    page.run(0)
    page.run(1)
    page.start(2)
    expect(view(page, 2).locator(".acp-message")).to_contain_text("blah blah blah")
    view(page, 2).get_by_role("button", name="Cancel turn").click()
    page.wait_done(2, timeout=5)
    page.run(3)
    expect(page.output(3)).to_have_text("cancelled True")


# -- answers ---------------------------------------------------------------------------------------------


def test_the_reason_of_a_no_reaches_the_model(use_notebook: Use) -> None:
    page = use_notebook([SURVEY, "%acp ask --out turn drop survey"])
    page.run(0)
    page.start(1)
    card(page, 1).get_by_role("button", name="Deny with a reason").click()
    page.tab.keyboard.type("keep the duplicates")
    page.tab.keyboard.press("Enter")
    page.wait_done(1)
    call = view(page, 1).locator(".acp-tool-call", has_text='drop(table="survey")')
    expect(call).to_have_attribute("data-status", "failed")
    call.locator("summary").click()
    expect(call.locator(".acp-result")).to_contain_text("keep the duplicates")
    expect(view(page, 1).locator(".acp-message")).to_have_text("The answer is: keep the duplicates.")
    expect(view(page, 1).locator(".acp-answered")).to_contain_text("Denied by you")


def test_edited_arguments_are_the_ones_that_run(use_notebook: Use) -> None:
    page = use_notebook([SURVEY, "%acp ask --out turn drop survey"])
    page.run(0)
    page.start(1)
    card(page, 1).get_by_role("button", name="Edit arguments").click()
    page.tab.get_by_role("textbox", name="table", exact=True).fill("a copy")
    page.tab.get_by_role("button", name="Allow with these arguments").click()
    page.wait_done(1)
    expect(view(page, 1).locator(".acp-message")).to_have_text("The answer is: dropped from a copy.")
    expect(view(page, 1)).to_contain_text("arguments edited by you")


def test_what_a_tool_prints_is_in_its_call_alone(use_notebook: Use) -> None:
    page = use_notebook([SURVEY, "%acp ask --approve drop survey"])
    page.run(0)
    page.run(1)
    call = view(page, 1).locator(".acp-tool-call", has_text="look")
    call.locator("summary").click()
    expect(call.locator(".acp-printed")).to_contain_text("looking at survey")
    expect(page.output(1).locator(".jp-RenderedText")).to_have_count(0)


# -- by keyboard, for everybody --------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "result"), [("a", "dropped from survey"), ("r", "did not run")])
def test_keys_of_the_card(use_notebook: Use, app: App, key: str, result: str) -> None:
    page = use_notebook([SURVEY, "%acp ask drop survey"], app)
    page.run(0)
    page.start(1)
    expect(card(page, 1).get_by_role("button", name="Allow once")).to_be_visible()
    card(page, 1).focus()
    page.tab.keyboard.press(key)
    page.wait_done(1)
    expect(view(page, 1).locator(".acp-message")).to_contain_text(result)
    expect(page.tab.locator(".jp-Notebook .jp-Cell")).to_have_count(2)  # Jupyter's own "a" inserts a cell


def test_tab_leads_from_the_cell_to_the_answer(use_notebook: Use) -> None:
    page = use_notebook([SURVEY, "%acp ask drop survey"])
    page.run(0)
    page.start(1)
    expect(card(page, 1)).to_be_visible()
    page.tab.keyboard.press("Escape")  # from the editor to the notebook, as JupyterLab has it
    allow = card(page, 1).get_by_role("button", name="Allow once")
    for _ in range(40):
        page.tab.keyboard.press("Tab")
        if allow.evaluate("(button) => button === document.activeElement"):
            break
    expect(allow).to_be_focused()
    page.tab.keyboard.press("Enter")
    page.wait_done(1)
    expect(view(page, 1).locator(".acp-message")).to_contain_text("dropped from survey")
    expect(page.cell(1)).to_be_focused()  # the live view has gone, and the focus not with it


def test_names_and_roles_for_screen_readers(use_notebook: Use) -> None:
    page = use_notebook([SURVEY + "%acp plan add Look at it", "%acp ask drop survey"])
    page.run(0)
    page.start(1)
    expect(page.tab.get_by_role("group", name="Approval needed: drop")).to_be_visible()
    for role, name in [
        ("region", "Agent session survey"),
        ("progressbar", "0 of 1 done"),
        ("region", "Turn 1"),
    ]:
        expect(page.output(1).get_by_role(role, name=name, exact=True)).to_have_count(1)
    for name in ("Cancel turn", "Allow once", "Deny", "Edit arguments", "Export"):
        expect(view(page, 1).get_by_role("button", name=name, exact=True)).to_have_count(1)
    view(page, 1).get_by_role("button", name="Export", exact=True).click()
    markdown = view(page, 1).get_by_role("button", name="Export the plan as Markdown", exact=True)
    expect(markdown).to_have_count(1)
    expect(view(page, 1).get_by_role("status")).to_have_text("waiting for you")
    controls = view(page, 1).locator("button:visible, input:visible, select:visible, textarea:visible")
    nameless = "(all) => all.filter((it) => !(it.innerText || it.ariaLabel || it.labels?.length)).length"
    assert controls.evaluate_all(nameless) == 0
    card(page, 1).get_by_role("button", name="Deny", exact=True).click()
    page.wait_done(1)


# -- much text -------------------------------------------------------------------------------------------

MUCH = """
words = [f"word-{n}".ljust(49, "x") for n in range(2_000)]
model.delay = 0.001

@model.script("much")
def tells(turn):
    yield Say("".join(word + " " for word in words))
"""


def test_100_000_characters_arrive_complete_in_few_messages(
    open_notebook: Callable[..., NotebookPage],
) -> None:
    page = open_notebook([SURVEY, MUCH, "%acp ask much"])
    received: list[tuple[float, int]] = []

    def note(frame: bytes | str) -> None:
        if b'"comm_msg"' in (data := frame if isinstance(frame, bytes) else frame.encode()):
            received.append((time.monotonic(), len(data)))

    page.tab.on("websocket", lambda socket: socket.on("framereceived", note))
    page.reload()
    page.run(0)
    page.run(1)
    page.tab.evaluate(LAST_TEXT, page.cell(2).element_handle())
    page.run(2)
    words = [f"word-{n}".ljust(49, "x") for n in range(2_000)]
    assert page.tab.evaluate("window.text").split() == words
    assert view(page, 2).locator(".acp-message").inner_text().split() == words
    seconds = received[-1][0] - received[0][0]
    assert len(received) / seconds < 25
    assert sum(size for _, size in received) / seconds < 1_000_000


#: Keeps the answer as it is shown while the cell runs: at its end another output takes its place.
LAST_TEXT = """(cell) => new MutationObserver(() => {
  if (cell.querySelector(".jp-InputPrompt").textContent.includes("*"))
    window.text = cell.querySelector(".acp-message")?.textContent;
}).observe(cell, {subtree: true, childList: true, characterData: true})"""
