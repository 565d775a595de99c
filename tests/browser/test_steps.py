"""Steps on a page: entries move while the cell runs, a gated step asks on a card, a cancel says what ran."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, expect

from harness.jupyter import NotebookPage
from harness.live import card, view

Use = Callable[..., NotebookPage]

SETUP = """
%load_ext acp_notebook
import threading, time
from typing import Annotated
from pydantic_ai import Agent
from acp_notebook import ScriptedModel, Sharable, StepApp, current

app = StepApp("backups")
leave = threading.Event()

@app.tool()
def create(database: str, token: str = "") -> dict:
    return {"id": f"bk-{database}"}

@app.tool(requires_approval=True)
def restore(backup: Annotated[str, Sharable()]) -> str:
    return f"restored {backup}"

@app.tool()
def wait(what: Annotated[str, Sharable()] = "") -> None:
    leave.wait(30)

def step(id, tool, **args):
    return {"id": id, "tool": tool, "args": args}

ref = {"output_by_reference": {"b": ["id"]}}
made, last = step("b", "create", database="prod", token="sesame"), step("c", "create", database="x")
first = [made, step("r", "restore", backup=ref), last]
slow = [made, step("w", "wait", what=ref), last]
agent = Agent(ScriptedModel(), name="backups", toolsets=[app])
%acp start agent
"""
CELLS = [SETUP, "%acp steps preview first", "%acp steps run first", "%acp steps run slow"]
PREVIEW, RUN, CANCEL = 1, 2, 3


def rows(page: NotebookPage, index: int) -> Locator:
    return view(page, index).locator("li.acp-entry")


def test_steps_run_in_a_cell_are_asked_for_cancelled_and_kept(use_notebook: Use, tmp_path: Path) -> None:
    page = use_notebook(CELLS)
    page.start_all()
    table = page.output(PREVIEW).locator("table")
    expect(table).to_contain_text("restore(backup=← b.id)")
    expect(table).to_contain_text("asks a person first")
    expect(page.output(PREVIEW).locator(".jp-RenderedMermaid, .mermaid, svg, img").first).to_be_visible()

    asked = card(page, RUN)
    expect(asked).to_contain_text('"bk-prod"')  # the argument as it is, and not the reference
    expect(rows(page, RUN).nth(0)).to_have_attribute("data-status", "completed")
    expect(rows(page, RUN).nth(1)).to_contain_text("waiting for approval")
    expect(rows(page, RUN).nth(2)).to_have_attribute("data-status", "pending")
    expect(view(page, RUN).locator("[data-row-tools], .acp-add")).to_have_count(0)
    asked.get_by_role("button", name="Allow once").click()
    page.wait_done(RUN)
    expect(rows(page, RUN).nth(1)).to_contain_text('→ "restored bk-prod" · allowed')
    page.screenshot(tmp_path / "run.png", view(page, RUN))

    expect(rows(page, CANCEL).nth(1)).to_have_attribute("data-status", "in_progress")
    view(page, CANCEL).get_by_role("button", name="Cancel turn").click()
    expect(view(page, CANCEL)).to_contain_text(
        "Cancelled. Ran: b; cancelled and may still be running: w; did not run: c."
    )
    page.wait_done(CANCEL)
    page.execute("leave.set()")

    saved = page.save()
    html = saved.cells[RUN].outputs[-1].data["text/html"]
    assert "restored bk-prod" in html and "<button" not in html
    assert all("sesame" not in f"{cell.outputs}" for cell in saved.cells)
    markdown = saved.cells[RUN].outputs[-1].data["text/markdown"]
    assert "r: restore(backup=← b.id)" in markdown and "restored bk-prod" in markdown


def test_a_row_unfolds_by_keyboard(use_notebook: Use) -> None:
    page = use_notebook([SETUP, "%acp steps run --approve first"])
    page.run_all()
    fold = rows(page, 1).nth(0).locator("summary")
    fold.focus()
    page.tab.keyboard.press("Enter")
    expect(rows(page, 1).nth(0).locator(".acp-args")).to_be_visible()
    expect(rows(page, 1).nth(0)).to_contain_text("••••••")
