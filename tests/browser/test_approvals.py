"""Approvals of a real agent in JupyterLab: what changes is shown, edited, remembered, and runs as shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from harness.jupyter import NotebookPage
from harness.live import card, view

Use = Callable[..., NotebookPage]

#: A tool that writes a file, in a folder of its own, with previews and remembered answers.
WRITER = """
%load_ext acp_notebook
import os, tempfile
from pathlib import Path
from pydantic_ai import Agent
from acp_notebook import *

os.chdir(tempfile.mkdtemp())
Path("notes.md").write_text("one\\ntwo\\nthree\\n")
model = ScriptedModel()
agent = Agent(model, name="writer")

@agent.tool_plain(requires_approval=True)
def write_file(path: str, content: str, times: int = 1) -> str:
    Path(path).write_text(content * times)
    return f"wrote {path}"

@model.script("write (.*)")
def writes(turn):
    result = yield Call("write_file", path=turn.match[1], content="one\\n2\\nthree\\n")
    yield Say(result.text)

Session(
    agent,
    config=AdapterConfig(
        approval_bridge=NativeApprovalBridge(enable_persistent_choices=True),
        projection_maps=[FileSystemProjectionMap(default_write_tool="write_file")],
    ),
)
"""


def test_a_change_is_seen_edited_and_written_as_it_was_seen(use_notebook: Use) -> None:
    page = use_notebook([WRITER, "%acp ask write notes.md", "print(*map(repr, Path('.').iterdir()))"])
    page.run(0)
    page.start(1)
    change = card(page, 1).locator(".acp-change")
    expect(change).to_have_text("± Changes notes.md · +1 −1 lines")
    expect(card(page, 1).locator(".acp-diff")).to_contain_text("-two")
    card(page, 1).focus()
    page.tab.keyboard.press("e")
    fields = card(page, 1).locator(".acp-fields")
    expect(fields.get_by_role("textbox", name="path", exact=True)).to_be_focused()
    times = fields.get_by_role("textbox", name="times")
    submit = card(page, 1).get_by_role("button", name="Allow with these arguments")
    times.fill("1.5")
    submit.click()
    expect(fields.get_by_role("alert")).to_contain_text("times: '1.5' is not a whole number")
    times.fill("2")
    fields.get_by_role("textbox", name="path", exact=True).fill("b.md")
    submit.click()
    page.wait_done(1)
    expect(view(page, 1).locator(".acp-message")).to_have_text("wrote b.md")
    answered = view(page, 1).locator(".acp-answered")
    expect(view(page, 1).locator(".acp-tool-call")).to_contain_text('write_file(path="b.md"')
    expect(answered).to_contain_text('Allowed by you, in place of write_file(path="notes.md"')
    answered.locator("summary").click()
    expect(answered.locator("dl").nth(0)).to_contain_text('"notes.md"')
    expect(answered.locator("dl").nth(1)).to_contain_text('"b.md"')
    page.run(2)
    expect(page.output(2)).to_contain_text("PosixPath('b.md')")


def test_an_answer_is_remembered_as_far_as_was_chosen(use_notebook: Use) -> None:
    page = use_notebook([WRITER, "%acp ask write a.md", "%acp ask write c.md", "%acp rules"])
    page.run(0)
    page.start(1)
    expect(card(page, 1).locator(".acp-change")).to_contain_text("Creates a.md")
    always = card(page, 1).locator("button[data-option][data-kind=allow_always]")
    expect(always).to_contain_text("write_file with exactly these arguments, this session")
    card(page, 1).get_by_role("button", name="Always…").click()
    covers = card(page, 1).get_by_role("combobox", name="Calls of write_file")
    covers.select_option(label="with any arguments")
    card(page, 1).locator("form button[data-choice]").first.click()
    page.wait_done(1)
    page.run(2)  # without a question
    expect(view(page, 2).locator(".acp-message")).to_have_text("wrote c.md")
    expect(view(page, 2)).to_contain_text("allowed by rule 1")
    page.run(3)
    expect(page.output(3)).to_contain_text("allow write_file with any arguments (this session)")


def test_a_file_that_changes_while_the_card_waits_is_shown_again(use_notebook: Use, tmp_path: Path) -> None:
    here = WRITER.replace("tempfile.mkdtemp()", repr(str(tmp_path)))
    page = use_notebook([here, "%acp ask write notes.md"])
    page.run(0)
    page.start(1)
    expect(card(page, 1).locator(".acp-diff")).to_contain_text("-two")
    (tmp_path / "notes.md").write_text("somebody's\n")
    first = card(page, 1)
    first.focus()
    page.tab.keyboard.press("a")
    expect(card(page, 1).get_by_role("alert")).to_contain_text("is no longer what was shown")
    expect(card(page, 1).locator(".acp-diff")).to_contain_text("-somebody's")
    assert (tmp_path / "notes.md").read_text() == "somebody's\n"
    card(page, 1).focus()
    page.tab.keyboard.press("d")
    page.tab.keyboard.type("leave it")
    page.tab.keyboard.press("Enter")
    page.wait_done(1)
    expect(view(page, 1).locator(".acp-message")).to_have_text("leave it")
    expect(view(page, 1).locator(".acp-tool-call + .acp-below + .acp-below")).to_contain_text("Denied by you")
    assert (tmp_path / "notes.md").read_text() == "somebody's\n"


HOLDING = """
%load_ext acp_notebook
import threading
from pydantic_ai import Agent
from acp_notebook import *
release, model = threading.Event(), ScriptedModel()
agent = Agent(model, name="holding")

@agent.tool_plain
def hold() -> str:
    release.wait(60)

@model.script("hold")
def holds(turn):
    yield Call("hold")

@model.script("hello")
def greets(turn):
    yield Say("Here I am.")

%acp start agent
"""


def test_a_tool_that_cannot_be_stopped_is_shown_until_it_ends(use_notebook: Use) -> None:
    page = use_notebook([HOLDING, "%acp ask hold", "%acp ask hello", "%acp status", "release.set()"])
    page.run(0)
    page.start(1)
    expect(view(page, 1).locator(".acp-tool-call")).to_contain_text("running")
    view(page, 1).get_by_role("button", name="Cancel turn").click()
    page.wait_done(1)
    call = view(page, 1).locator(".acp-tool-call")
    expect(call).to_contain_text("cancelled · its function could not be stopped and is still running")
    page.run(2)
    expect(view(page, 2).locator(".acp-message")).to_have_text("Here I am.")
    page.run(3)
    expect(page.output(3)).to_contain_text("1 ended call still running")
    page.run(4)
    expect(call).to_contain_text("and its result was dropped")
