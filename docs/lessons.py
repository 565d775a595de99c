"""Runs the lessons and keeps what they look like: `python docs/lessons.py [NAME …]`, by default all of them.

The quickstart runs as a reader runs it, in JupyterLab, in the light and the dark theme: a picture is taken
when the card asks, then *Allow once* is clicked, and the lesson goes on to its end. The others run without a
page. Each notebook with its outputs replaces the stored one. Needs `pip install -e ".[test]"` and Chromium.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
QUICKSTART = ROOT / "notebooks" / "01_quickstart.ipynb"
sys.path.insert(0, str(ROOT / "tests"))

from harness import isolate  # noqa: E402
from harness.jupyter import JupyterServer, NotebookPage, launch  # noqa: E402


def main(names: list[str]) -> None:
    for lesson in LESSONS:
        if not names or lesson.stem in names:
            with tempfile.TemporaryDirectory() as folder:
                home = Path(folder)
                isolate(home)
                _store(lesson, _quickstart(home) if lesson == QUICKSTART else _run(lesson, home))


def _run(lesson: Path, home: Path) -> nbformat.NotebookNode:
    notebook = nbformat.read(_cleared(lesson, home / lesson.name), as_version=4)
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        resources={"metadata": {"path": str(home)}},
        extra_arguments=["--AcpMagics.on_unattended=allow"],
    )
    return client.execute()


def _quickstart(home: Path) -> nbformat.NotebookNode:
    root = home / "notebooks"
    root.mkdir()
    server = JupyterServer(root)
    try:
        with sync_playwright() as playwright, launch(playwright) as browser:
            for theme in ("dark", "light"):
                lesson = _cleared(QUICKSTART, root / f"{theme}.ipynb")
                page = NotebookPage(browser, server, lesson, width=1000, height=1600, scale=1.5)
                page.load(theme)
                _play(page, ROOT / "docs" / f"quickstart-{theme}.png")
                notebook = page.save()
                page.close()
    finally:
        server.close()
    return notebook


def _cleared(lesson: Path, path: Path) -> Path:
    notebook = nbformat.read(lesson, as_version=4)
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


def _store(lesson: Path, notebook: nbformat.NotebookNode) -> None:
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        outputs = cell.get("outputs", [])
        for output in outputs:
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)  # its kernel is gone
        outputs[:] = [output for output in outputs if output.get("data") != {"text/plain": ""}]
    nbformat.write(notebook, lesson)


if __name__ == "__main__":
    main(sys.argv[1:])
