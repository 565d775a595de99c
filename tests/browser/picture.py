"""Pictures of views, light and dark: `python tests/browser/picture.py FOLDER [SCENE…]`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import Page, expect, sync_playwright

from acp_notebook.agent.projection import diff
from acp_notebook.kernel.host import ThreadHost
from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.plan.runs import RUN, StepFacts, step_meta
from acp_notebook.protocol.content import Code, Diff, Table, Text
from acp_notebook.protocol.messages import PermissionOption
from acp_notebook.protocol.rules import EXACT, Covers
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


def ran(call: str, status: str, **facts: Any) -> PlanEntry:
    return PlanEntry(call, status=status, id=call.split(":")[0], meta=step_meta(StepFacts(**facts)))


STEPS = Plan(
    (
        ran(
            'backup: create_backup(database="prod", token="••••••")',
            "completed",
            arguments={"database": '"prod"', "token": '"••••••"'},
            started=1.0,
            ended=2.2,
            result='{"backup_id": "bk-42", "size_mb": 3, "parts": [{"n": 1}, {"n": 2}], "x": {}} (12 keys)',
        ),
        ran(
            "valid: validate_backup(backup_id=← backup.backup_id)",
            "completed",
            arguments={"backup_id": "← backup.backup_id"},
            uses=("backup",),
            started=2.2,
            ended=2.23,
            result="true",
            note="allowed",
        ),
        ran("note\u202e: say()", "completed", started=2.2, ended=2.21, result="null"),
        ran(
            "each: restore(part=← item) · for each of ← backup.parts",
            "in_progress",
            arguments={"part": "← item"},
            uses=("backup",),
            started=2.3,
            note="element 1: waiting for approval",
        ),
        ran(
            'mail: send(to=["a@example.org"])',
            "_failed",
            arguments={"to": '["a@example.org"]'},
            started=2.0,
            ended=2.5,
            error="TimeoutError: no result within 0.5 s, and may still be running",
        ),
        ran('drop: drop_table(name="old")', "_denied", arguments={"name": '"old"'}, error="keep it"),
        ran("report: write(x=← mail)", "_skipped", uses=("mail",), error="mail did not go well"),
        ran("last: stop()", "cancelled", error="cancelled while it ran"),
        ran('more: create_backup(database="b")', "pending", arguments={"database": '"b"'}),
    ),
    "steps-1a2b3c4d",
    title="Run 1a2b3c4d of backups",
    meta={RUN: {"id": "1a2b3c4d"}},
)

NOTES = "".join(f"line {n}\n" for n in range(1, 41))
REACH = "write_file with exactly these arguments, this session"
REMEMBERED = (
    PermissionOption("allow_once", "Allow once", "allow_once"),
    PermissionOption("allow_always", "Always allow", "allow_always", REACH),
    PermissionOption("reject_once", "Deny", "reject_once"),
    PermissionOption("reject_always", "Always deny", "reject_always", REACH),
)
COVERS = (EXACT, Covers("under", "path", "notes/"), Covers("equals", "path", '"notes/a.md"'), Covers("tool"))
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Relative to the working folder."},
        "text": {"type": "string"},
        "mode": {"enum": ["replace", "append"], "default": "replace"},
        "retries": {"type": "integer", "default": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["path", "text"],
}


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


def steps(tab: Page, session: PuppetSession) -> None:
    session.prompt("Go")
    session.do(session.puppet.set_plan, STEPS)
    expect(tab.locator("li.acp-entry")).to_have_count(len(STEPS))
    tab.locator("li.acp-entry summary").first.click()


def request(session: PuppetSession, content: Sequence[Diff | Code | Table | Text], **fields: Any) -> None:
    arguments = {"path": "notes/a.md", "text": NOTES.replace("line 20", "line twenty"), "tags": ["a"]}
    session.prompt("Go")
    session.request(
        "write_file",
        arguments,
        REMEMBERED,
        content=tuple(content),
        covers=COVERS,
        parameters=PARAMETERS,
        **fields,
    )


def changes(tab: Page, session: PuppetSession) -> None:
    edited = NOTES.replace("line 4\n", "").replace("line 35", "line thirty-five\nand more")
    kinds = [
        diff("notes/a.md", NOTES, edited),
        diff("new.md", None, "# New\n\ntext\n"),
        diff("old.md", "a\nb\n", None),
        diff("full.md", "all\nof\nit\n", ""),
    ]
    request(session, kinds)
    expect(tab.locator(".acp-change")).to_have_count(4)


def code(tab: Page, session: PuppetSession) -> None:
    python = 'def f(x: int) -> str:\n    """Says it."""\n    return "a" * 3  # three \u202e times\n'
    sql = "SELECT name, 'x' FROM people -- all\nWHERE age > 18"
    bash = 'for f in *.txt; do rm "$f"; done  # gone'
    table = Table(("region", "rows \u202e"), (("North", "12"), ("South\u200b", "9")), "Not shown: 3 columns.")
    request(
        session,
        [
            Code(python, "python"),
            Code(bash, "bash"),
            Code(sql, "sql"),
            Code('{"a": [1, true]}', "json"),
            table,
        ],
        preview_error="No preview: 'x' is outside of the working folder: its file is not read.",
        problem="retries: Input should be a valid integer: the call still waits",
        timeout=600,
    )
    expect(tab.locator(".acp-block")).to_have_count(5)


def fields(tab: Page, session: PuppetSession) -> None:
    request(session, [])
    tab.get_by_role("button", name="Edit arguments").click()
    tab.locator(".acp-field[data-name=retries] input:not([type=checkbox])").fill("many")
    tab.get_by_role("button", name="Allow with these arguments").click()
    expect(tab.get_by_role("alert")).to_contain_text("whole number")


def always(tab: Page, session: PuppetSession) -> None:
    request(session, [])
    tab.get_by_role("button", name="Always…").click()


def several(tab: Page, session: PuppetSession) -> None:
    request(session, [])
    session.request("write_file", {"path": "b.md", "text": ""}, REMEMBERED)
    session.request("fetch", {"url": "https://x.y"}, result={"token": "t", "text": "hello"}, subject="result")
    answered = session.permissions[0]
    expect(tab.get_by_role("button", name="Allow all 2 calls of write_file")).to_be_visible()
    session.request("write_file", {"path": "b.md", "text": "c"}, REMEMBERED)
    answered.allow(arguments={"path": "notes/c.md", "text": "other"})
    expect(tab.locator(".acp-answered")).to_be_visible()


SCENES: tuple[Callable[[Page, PuppetSession], None], ...] = (
    asking,
    tools,
    editing,
    dragging,
    history,
    exports,
    thousand,
    scripts,
    steps,
    changes,
    code,
    fields,
    always,
    several,
)


def main(folder: Path, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    with pages(), sync_playwright() as playwright:
        browser = launch(playwright)
        for scene in (one for one in SCENES if one.__name__ in names or not names):
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
    main(Path(sys.argv[1]), *sys.argv[2:])
