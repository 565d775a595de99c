"""Pictures of a typical view, light and dark: `python tests/browser/picture.py FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import expect, sync_playwright

from acp_notebook.kernel.host import ThreadHost
from acp_notebook.views.widget import session_view
from harness.jupyter import launch
from harness.puppet import PuppetSession, pages, typical
from harness.stage import Stage


def main(folder: Path) -> None:
    with pages(), sync_playwright() as playwright:
        browser = launch(playwright)
        session = PuppetSession(ThreadHost(), on_unattended="wait")
        typical(session)
        for theme in ("light", "dark"):
            tab = browser.new_page(viewport={"width": 900, "height": 820})
            view = session_view(session)
            stage = Stage(tab, view, dark=theme == "dark")
            expect(tab.get_by_role("button", name="Cancel turn")).to_be_visible()
            tab.screenshot(path=folder / f"{theme}.png")
            assert not stage.errors, stage.errors
            view.close()
        session.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
