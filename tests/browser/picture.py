"""Pictures of views, light and dark: `python tests/browser/picture.py FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import Page, expect, sync_playwright

from acp_notebook.kernel.host import ThreadHost
from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.views.widget import session_view
from harness.jupyter import launch
from harness.puppet import PLAN, PuppetSession, pages, typical
from harness.stage import Stage

THOUSAND = Plan(
    tuple(
        PlanEntry(
            f"Step number {n}: look at what the step before has left",
            "high" if n % 7 == 0 else "medium",
            "completed" if n < 500 else "in_progress" if n == 500 else "pending",
        )
        for n in range(1, 1_001)
    ),
    title="A long plan",
)
SCRIPTS = Plan(
    (
        PlanEntry("בדיקת נתונים (v2)", "high", "completed"),
        PlanEntry("ship 👩\u200d🔬 report", status="in_progress"),
        PlanEntry("note \u202etxt.exe, zero\u200bwidth", "low"),
        PlanEntry(
            "تحليل البيانات وكتابة التقرير النهائي مع جميع الرسوم البيانية والجداول المطلوبة", "_urgent"
        ),
        PlanEntry("several\nlines of\n    indented text", status="_waiting"),
        PlanEntry("\n".join(f"line {n}" for n in range(40)), status="cancelled"),
    ),
    title="תוכנית",
)


def asking(tab: Page, session: PuppetSession) -> None:
    typical(session)
    expect(tab.get_by_role("button", name="Cancel turn")).to_be_visible()


def plan(tab: Page, session: PuppetSession, shown: Plan = PLAN) -> None:
    session.do(session.puppet.set_plan, shown)
    expect(tab.get_by_label("Add a step")).to_be_visible()
    expect(tab.locator("li.acp-entry")).to_have_count(len(shown))


def tools(tab: Page, session: PuppetSession) -> None:
    plan(tab, session)
    tab.locator("li.acp-entry").nth(3).hover()


def editing(tab: Page, session: PuppetSession) -> None:
    plan(tab, session)
    tab.locator("li.acp-entry").nth(3).focus()
    tab.keyboard.press("Enter")


def dragging(tab: Page, session: PuppetSession) -> None:
    plan(tab, session)
    start = tab.locator("li.acp-entry .acp-index").nth(4).bounding_box()
    assert start
    tab.mouse.move(start["x"] + 4, start["y"] + 6)
    tab.mouse.down()
    tab.mouse.move(start["x"] + 4, start["y"] - 20)
    tab.mouse.move(start["x"] + 4, start["y"] - 70)


def history(tab: Page, session: PuppetSession) -> None:
    plan(tab, session)
    session.update_entry(4, content="Fill ages", status="in_progress")
    session.remove_entry(5)
    session.move_entry(1, 3)
    tab.get_by_role("button", name="History").click()
    expect(tab.get_by_role("slider")).to_be_focused()
    for _ in range(2):
        tab.keyboard.press("ArrowLeft")
    expect(tab.locator(".acp-looking")).to_contain_text("revision 2 of 4")


def exports(tab: Page, session: PuppetSession) -> None:
    plan(tab, session)
    tab.get_by_role("button", name="Export", exact=True).click()


def thousand(tab: Page, session: PuppetSession) -> None:
    plan(tab, session, THOUSAND)
    expect(tab.locator("li.acp-entry[data-index='500']")).to_be_in_viewport()


def scripts(tab: Page, session: PuppetSession) -> None:
    plan(tab, session, SCRIPTS)


SCENES: tuple[Callable[[Page, PuppetSession], None], ...] = (
    asking,
    tools,
    editing,
    dragging,
    history,
    exports,
    thousand,
    scripts,
)


def main(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    with pages(), sync_playwright() as playwright:
        browser = launch(playwright)
        for scene in SCENES:
            for theme in ("light", "dark"):
                session = PuppetSession(ThreadHost(), on_unattended="wait")
                tab = browser.new_page(viewport={"width": 900, "height": 820})
                view = session_view(session)
                stage = Stage(tab, view, dark=theme == "dark")
                scene(tab, session)
                tab.locator(".acp-view").screenshot(path=folder / f"{scene.__name__}-{theme}.png")
                assert not stage.errors, stage.errors
                view.close()
                tab.close()
                session.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
