"""The ground the other tests in this folder stand on: a page that runs a cell."""

from collections.abc import Callable

from playwright.sync_api import expect

from harness.jupyter import App, NotebookPage


def test_a_cell_runs_and_the_notebook_is_saved(open_notebook: Callable[..., NotebookPage], app: App) -> None:
    page = open_notebook(
        ["1 + 1", "from IPython.display import display, HTML; display(HTML('<b>bold</b>'))"], app=app
    )
    page.run(0)
    expect(page.output(0)).to_contain_text("2")
    page.run_all()
    expect(page.output(1).locator("b")).to_have_text("bold")
    saved = page.save()
    assert saved.cells[1].outputs[0].data["text/html"] == "<b>bold</b>"
    page.set_theme("dark")
    page.reload()
    expect(page.output(1).locator("b")).to_have_text("bold")
    assert (page.errors, page.outside) == ([], [])
