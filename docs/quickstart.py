"""Runs the quickstart as a reader does, and keeps what it looks like: `python docs/quickstart.py`.

In JupyterLab, in the light and the dark theme: the cell that asks runs, and a picture is taken when the card
asks. Then *Allow once* is clicked, the lesson goes on to its end, and the notebook with its outputs replaces
the stored one. Needs `pip install -e ".[test]"` and Chromium.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
LESSON = ROOT / "notebooks" / "01_quickstart.ipynb"
sys.path.insert(0, str(ROOT / "tests"))

from harness import isolate  # noqa: E402
from harness.jupyter import JupyterServer, NotebookPage, launch  # noqa: E402


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        isolate(home)
        root = home / "notebooks"
        root.mkdir()
        server = JupyterServer(root)
        try:
            with sync_playwright() as playwright, launch(playwright) as browser:
                for theme in ("dark", "light"):
                    lesson = _cleared(root / f"{theme}.ipynb")
                    page = NotebookPage(browser, server, lesson, width=1000, height=1600, scale=1.5)
                    page.load(theme)
                    _play(page, ROOT / "docs" / f"quickstart-{theme}.png")
                    notebook = page.save()
                    page.close()
        finally:
            server.close()
    _store(notebook)


def _cleared(path: Path) -> Path:
    notebook = nbformat.read(LESSON, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    nbformat.write(notebook, path)
    return path


def _play(page: NotebookPage, picture: Path) -> None:
    cells = nbformat.read(page.path, as_version=4).cells
    ask = next(n for n, cell in enumerate(cells) if cell.source.startswith("%acp ask"))
    page.command("application:toggle-left-area")
    page.start_all()
    card = page.output(ask).locator(".acp-permission")
    card.wait_for()
    page.screenshot(picture, of=page.cell(ask))
    card.locator("button[data-option=allow_once]").click()
    page.wait_all_done()


def _store(notebook: nbformat.NotebookNode) -> None:
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)  # its kernel is gone
    nbformat.write(notebook, LESSON)


if __name__ == "__main__":
    main()
