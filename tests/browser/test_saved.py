"""What a notebook keeps: opened again without its kernel, exported, and when a kernel dies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, Locator, Page, expect

from harness.jupyter import App, JupyterServer, NotebookPage, Theme
from harness.live import SURVEY, card, view

Open = Callable[..., NotebookPage]

ENTRIES = ["Look at the survey", "Drop the duplicates"]
ANSWER = "The answer is: dropped from survey."
CELLS = [
    SURVEY,
    f"%%acp plan set\n- [x] {ENTRIES[0]}\n- [ ] {ENTRIES[1]}",
    "%acp",
    "%acp ask --approve drop survey",
]
PANEL, ASK = 2, 3
CONTROLS = "button, select, input, textarea"


@pytest.fixture(scope="module")
def saved(chromium: Browser, jupyter: JupyterServer) -> Iterator[Path]:
    """A notebook with a panel and a turn, saved after the turn's end. Its kernel is gone."""
    page = NotebookPage(chromium, jupyter, jupyter.new_notebook(CELLS))
    page.load()
    page.run_all()
    expect(page.output(PANEL).locator(".acp-still")).to_contain_text(ANSWER)
    page.save()
    page.close()
    jupyter.shut_down_kernels(page.path)
    yield page.path


def reads_well(output: Locator) -> None:
    """Plan and answer are seen, and nothing that looks as if it could be clicked."""
    expect(output.locator(".acp-entry:visible .acp-text")).to_contain_text(ENTRIES)
    expect(output.locator(".acp-message:visible")).to_have_text(ANSWER)
    expect(output.locator(CONTROLS).locator("visible=true")).to_have_count(0)
    expect(output.get_by_text("model not found").locator("visible=true")).to_have_count(0)
    call = output.locator(".acp-tool-call:visible", has_text="look")
    call.locator("summary").click()  # folds are the browser's own
    expect(call).to_contain_text("survey has 500 rows")


@pytest.mark.parametrize("index", [PANEL, ASK], ids=["panel", "ask"])
def test_the_file_has_the_final_form_of_plan_and_answer(saved: Path, tab: Page, index: int) -> None:
    data = nbformat.read(saved, 4).cells[index].outputs[0].data
    assert set(data) == {"text/html", "text/markdown", "text/plain"}
    for text in data.values():
        assert all(entry in text for entry in ENTRIES) and ANSWER in text
    assert f"- [x] {ENTRIES[0]}\n- [ ] {ENTRIES[1]}" in data["text/markdown"]
    tab.set_content(data["text/html"])
    expect(tab.locator(f"{CONTROLS}, a, script, [tabindex], [onclick]")).to_have_count(0)


@pytest.mark.parametrize(("app", "theme"), [("lab", "dark"), ("notebook", "light")])
def test_opened_again(open_notebook: Open, saved: Path, app: App, theme: Theme) -> None:
    page = open_notebook(saved, app=app, theme=theme)
    for index in (PANEL, ASK):
        reads_well(page.output(index))


def test_opened_by_somebody_who_does_not_trust_it(open_notebook: Open, saved: Path) -> None:
    """JupyterLab then takes styles and classes away."""
    notebook = nbformat.read(saved, 4)
    notebook.metadata["from"] = "elsewhere"  # the signature fits no more
    path = saved.with_name("foreign.ipynb")
    nbformat.write(notebook, path)
    page = open_notebook(path)
    for index in (PANEL, ASK):
        for text in ("Plan 1 of 2 done", *ENTRIES, "survey has 500 rows", ANSWER):
            expect(page.output(index)).to_contain_text(text)
        expect(page.output(index).locator(CONTROLS).locator("visible=true")).to_have_count(0)


def test_converted_to_html(saved: Path, tab: Page) -> None:
    html, _ = HTMLExporter().from_filename(str(saved))
    tab.set_content(html)
    for index in (PANEL, ASK):
        reads_well(tab.locator(".jp-Cell").nth(index))


def test_opened_again_it_runs_again(open_notebook: Open, saved: Path) -> None:
    page = open_notebook(saved)
    page.run_all()
    for index in (PANEL, ASK):
        expect(view(page, index).locator(".acp-message")).to_have_text(ANSWER)
    expect(view(page, PANEL).get_by_role("status")).to_have_text("ready")


def test_a_kernel_that_dies_takes_the_buttons_along(open_notebook: Open, app: App) -> None:
    page = open_notebook([SURVEY, "%acp", "%acp ask drop survey"], app=app)
    page.run(0)
    page.run(1)
    page.start(2)
    expect(card(page, 2).get_by_role("button", name="Allow once")).to_be_visible()
    page.kill_kernel()
    for index in (1, 2):
        expect(card(page, index)).to_contain_text('"survey"')
        expect(
            view(page, index).locator("button, input, select:enabled").locator("visible=true")
        ).to_have_count(0)
    page.run(0)
    page.start(2)
    card(page, 2).get_by_role("button", name="Allow once").click()
    page.wait_done(2)
    expect(view(page, 2).locator(".acp-message")).to_have_text(ANSWER)
