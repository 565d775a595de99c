"""The ways in which a cell waits for a turn, each with an approval that is clicked meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from harness.jupyter import App, NotebookPage
from harness.live import SOON, SURVEY, card, view

Use = Callable[..., NotebookPage]

IN_A_FUNCTION = """
def clean(table):
    turn = current().ask(f"drop {table}")
    return turn.text
"""
TICKING = """
import asyncio
ticks = []

async def tick():
    while True:
        ticks.append(len(ticks))
        await asyncio.sleep(0.02)

task = asyncio.create_task(tick())
"""


def allow(card: Locator) -> None:
    card.get_by_role("button", name="Allow once").click()


def test_in_loops_and_blocks_and_assignments(use_notebook: Use, app: App) -> None:
    cell = """
texts = []
for number in range(2):
    if number == 1:
        turn = %acp ask drop the second
    else:
        with open("notes.txt", "w"):
            turn = %acp ask drop the first
    texts.append(turn.text)
print(texts)
"""
    page = use_notebook([SURVEY, cell], app)
    page.run(0)
    page.start(1)
    for name in ("first", "second"):
        waiting = card(page, 1).filter(has_text=f"the {name}")
        expect(waiting).to_be_visible()
        assert page.prompt(1) == "[*]:"
        allow(waiting)
        expect(waiting).to_have_count(0)
    page.wait_done(1)
    expect(page.output(1)).to_contain_text(
        "['The answer is: dropped from the first.', 'The answer is: dropped from the second.']"
    )
    expect(view(page, 1)).to_have_count(2)


@pytest.mark.parametrize(
    ("app", "comms_on_subshells"),
    [("lab", True), ("lab", False), ("notebook", True)],
    ids=["lab", "lab, comms on the main shell", "notebook"],
)
def test_in_a_function(open_notebook: Use, app: App, comms_on_subshells: bool) -> None:
    """The kernel's thread is blocked, so clicks take the lane; tasks of the user's own go on meanwhile."""
    page = open_notebook(
        [
            SURVEY + TICKING + IN_A_FUNCTION,
            "before = len(ticks)\ntext = clean('survey')\nprint(text, len(ticks) - before > 2)",
            "clean('again')",
            "%acp ask drop awaited",
        ],
        app=app,
        comms_on_subshells=comms_on_subshells,
    )
    page.run(0)
    page.start(1)
    expect(card(page, 1)).to_be_visible()
    clicked = time.monotonic()
    allow(card(page, 1))
    page.wait_done(1)
    assert time.monotonic() - clicked < SOON
    expect(page.output(1)).to_contain_text("The answer is: dropped from survey. True")
    expect(view(page, 1).locator(".acp-message")).to_have_text("The answer is: dropped from survey.")

    page.start(2)
    expect(card(page, 2)).to_be_visible()
    page.interrupt()
    page.wait_done(2, timeout=SOON)
    expect(page.output(2)).to_contain_text("KeyboardInterrupt: the turn was cancelled")

    page.start(3)
    allow(card(page, 3))
    page.wait_done(3)
    expect(view(page, 3).locator(".acp-message")).to_have_text("The answer is: dropped from awaited.")
    expect(page.tab.locator(".jp-Stdin")).to_have_count(0)
    assert page.errors == []


def test_await_a_turn(use_notebook: Use) -> None:
    page = use_notebook(
        [SURVEY, "%acp", "turn = current().prompt('drop survey')\nawait turn\nprint(turn.text)"]
    )
    page.run(0)
    page.run(1)
    page.start(2)
    allow(card(page, 1))
    page.wait_done(2)
    expect(page.output(2)).to_have_text("The answer is: dropped from survey.")


@pytest.mark.parametrize("ask", ["%acp ask --out turn drop survey", "turn = current().ask('drop survey')"])
def test_on_a_thread(use_notebook: Use, ask: str) -> None:
    page = use_notebook([SURVEY, "%acp start agent --host thread", f"{ask}\nprint(turn.text)"])
    page.run(0)
    page.run(1)
    page.start(2)
    allow(card(page, 2))
    page.wait_done(2)
    expect(page.output(2)).to_contain_text("The answer is: dropped from survey.")


def test_on_a_thread_while_a_cell_computes(use_notebook: Use, app: App) -> None:
    """The click is answered during the computation: that ends with the turn."""
    compute = """
import time
end = time.monotonic() + 30
while turn.running and time.monotonic() < end:
    sum(range(10_000))
print(turn.text)
"""
    page = use_notebook(
        [SURVEY, "%acp start agent --host thread", "%acp ask --bg --out turn drop survey", compute], app
    )
    for index in range(3):
        page.run(index)
    expect(card(page, 2)).to_be_visible()
    page.start(3)
    expect(page.cell(3).locator(".jp-InputPrompt")).to_have_text("[*]:")
    clicked = time.monotonic()
    allow(card(page, 2))
    expect(card(page, 2)).to_have_count(0)
    page.wait_done(3)
    assert time.monotonic() - clicked < SOON
    expect(page.output(3)).to_have_text("The answer is: dropped from survey.")


def test_where_the_notebook_has_patched_asyncio_itself(open_notebook: Use) -> None:
    page = open_notebook(
        [
            "import nest_asyncio\nnest_asyncio.apply()",
            SURVEY + IN_A_FUNCTION,
            "%acp ask --out turn drop awaited\nprint(turn.text)",
            "print(clean('survey'))",
            "import asyncio\nprint(asyncio.run(asyncio.sleep(0, 'nested')))",
        ]
    )
    page.run(0)
    page.run(1)
    for index, name in ((2, "awaited"), (3, "survey")):
        page.start(index)
        allow(card(page, index))
        page.wait_done(index)
        expect(page.output(index)).to_contain_text(f"The answer is: dropped from {name}.")
    page.run(4)
    expect(page.output(4)).to_have_text("nested")
    assert page.errors == []
