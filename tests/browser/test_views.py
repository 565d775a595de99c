"""The view alone in a real page: the real module, patches from the real Python view, no Jupyter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from acp_notebook.agent.projection import diff
from acp_notebook.kernel.host import ThreadHost
from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.protocol.content import Code, Table, Text
from acp_notebook.protocol.messages import (
    AgentMessageChunk,
    AgentThoughtChunk,
    PermissionOption,
    Selected,
    StateUpdate,
    ToolCallContentChunk,
    ToolCallUpdate,
)
from acp_notebook.views.widget import session_view
from harness.puppet import ARGUMENTS, PuppetSession, pages, typical
from harness.stage import Stage

Show = Callable[..., Stage]

HOSTILE = '<script>boom()</script><img src=x onerror="boom()">"><svg onload=boom()>\u202e\u200b'


@pytest.fixture
def session() -> Iterator[PuppetSession]:
    with pages():
        session = PuppetSession(ThreadHost(), on_unattended="wait")
        yield session
        session.close()


@pytest.fixture
def show(session: PuppetSession, tab: Page) -> Iterator[Show]:
    """`show()` puts the session's view on the page; at the end there must be no error and no script run."""
    stages: list[Stage] = []

    def show_(**options: bool) -> Stage:
        stage = Stage(tab, session_view(session), **options)
        stages.append(stage)
        return stage

    yield show_
    for stage in stages:
        assert stage.errors == []


def card(tab: Page) -> Locator:
    return tab.locator(".acp-permission[data-status=pending]")


def focused(tab: Page) -> str:
    """What has the focus, for people: its name, or its text."""
    return tab.evaluate(
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText"
    )


# -- what is shown ---------------------------------------------------------------------------------------


def test_it_shows_the_session_and_follows_it(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    typical(session)
    view = tab.locator("div.acp-view[data-view=session]")
    expect(view.locator("li.acp-entry")).to_have_count(6)
    expect(view.locator("li.acp-entry[data-index='3'][data-status=in_progress]")).to_contain_text(
        "Drop the 14"
    )
    expect(view.locator(".acp-message table")).to_contain_text("income")
    expect(card(tab)).to_contain_text("drop_duplicates")
    expect(tab.get_by_role("status")).to_have_text("waiting for you · step 3 of 6")
    card(tab).get_by_role("button", name="Allow once").click()
    expect(tab.locator(".acp-answered")).to_contain_text("Allowed by you")
    session.send(AgentMessageChunk("All **done**."))
    session.do(session.puppet.end)
    expect(view.locator(".acp-message").last.locator("strong")).to_have_text("done")
    expect(tab.get_by_role("button", name="Cancel turn")).to_have_count(0)
    expect(tab.get_by_role("status")).to_have_text("ready")


def test_parts_stand_in_order(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    session.set_plan(Plan(tuple(map(PlanEntry, "abc"))))
    entries = tab.locator("li.acp-entry .acp-text")
    expect(entries).to_have_count(3)
    session.add_entry("first", at=1)
    session.remove_entry(3)
    session.move_entry(1, 3)
    expect(entries).to_have_text(["a, pending", "c, pending", "first, pending"])
    session.prompt("Go")
    session.send(AgentMessageChunk("one"), ToolCallUpdate("c1", name="f"), AgentMessageChunk("two"))
    expect(tab.locator(".acp-turn > *")).to_have_count(4)
    kinds = tab.evaluate("[...document.querySelectorAll('.acp-turn > *')].map((e) => e.className)")
    assert kinds == ["acp-prompt", "acp-message", "acp-tool-call", "acp-message"]


@pytest.mark.parametrize("kind", ["paragraph", "fence"])
def test_a_long_answer_arrives_complete(session: PuppetSession, tab: Page, show: Show, kind: str) -> None:
    text = "word " * 20_000 if kind == "paragraph" else "```\n" + "x = 1 < 2\n" * 10_000 + "```"
    show()
    session.prompt("Write")
    for at in range(0, len(text), 2_000):
        session.send(AgentMessageChunk(text[at : at + 2_000]))
    expect(tab.locator(".acp-message .acp-open, .acp-message > p, .acp-message > pre").first).to_be_visible()
    session.do(session.puppet.end)
    expect(tab.locator(".acp-usage")).to_be_attached()
    written = tab.evaluate("document.querySelector('.acp-message').textContent")
    assert written.strip() == (text.strip() if kind == "paragraph" else text[4:-3].strip())
    expect(tab.locator(".acp-open")).to_have_count(0)


def test_hostile_text_runs_nothing(session: PuppetSession, tab: Page, show: Show) -> None:
    tab.evaluate("() => { window.boom = () => { window.boomed = new Error().stack; }; }")
    show()
    session.set_plan(Plan((PlanEntry(HOSTILE, HOSTILE, "_" + HOSTILE),), plan_id=HOSTILE, title=HOSTILE))
    session.prompt(HOSTILE)
    session.send(
        AgentThoughtChunk(HOSTILE),
        AgentMessageChunk(f"{HOSTILE} [x](javascript:boom()) ![y](https://127.0.0.1:1/i.png)"),
        ToolCallUpdate("c1", name=HOSTILE, raw_input={HOSTILE: HOSTILE}, raw_output=HOSTILE, reason=HOSTILE),
        ToolCallContentChunk("c1", HOSTILE),
    )
    options = (PermissionOption(HOSTILE, HOSTILE, "allow_once"),)
    session.request(
        HOSTILE, {HOSTILE: HOSTILE}, options, title=HOSTILE, description=HOSTILE, content=(Text(HOSTILE),)
    )
    expect(card(tab)).to_be_visible()
    assert tab.evaluate("window.boomed") is None
    assert tab.locator(".acp-view").locator("script, img, svg, iframe, [onerror], [onload]").count() == 0
    tab.get_by_role("button", name="Edit arguments").click()
    written = tab.locator("textarea[name=arguments]").input_value()
    assert json.loads(written) == {HOSTILE: HOSTILE} and "\u202e" not in written
    answer = next(iter(session.permissions))
    tab.locator("button[data-option]").click()
    expect(card(tab)).to_have_count(0)
    assert not answer.pending


# -- what is the person's --------------------------------------------------------------------------------


def test_focus_text_and_open_details_survive_patches(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    typical(session)
    tool = tab.locator("details.acp-tool-call").first
    tool.locator("summary").click()
    tab.get_by_label("Add a step").fill("Write a rep")
    tab.get_by_label("Add a step").evaluate("(field) => field.setSelectionRange(2, 5)")
    session.send(ToolCallUpdate("c1", raw_output="a new result"), AgentMessageChunk("more"))
    session.add_entry("from the agent")
    session.set_mode("plan")
    expect(tool).to_contain_text("a new result")
    expect(tab.locator("li.acp-entry")).to_have_count(7)
    expect(tool).to_have_attribute("open", "")
    expect(tab.get_by_label("Add a step")).to_be_focused()
    expect(tab.get_by_label("Add a step")).to_have_value("Write a rep")
    assert tab.get_by_label("Add a step").evaluate("(f) => [f.selectionStart, f.selectionEnd]") == [2, 5]


def test_a_form_being_filled_survives_patches(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    typical(session)
    card(tab).get_by_role("button", name="Edit arguments").click()
    field = tab.get_by_label("Arguments of this one call, as JSON").first
    expect(field).to_be_focused()
    field.fill('{"table": "copy"}')
    session.send(AgentMessageChunk("still talking"))
    session.request("another")
    expect(card(tab)).to_have_count(2)
    expect(field).to_be_focused()
    expect(field).to_have_value('{"table": "copy"}')


def test_a_log_sticks_to_its_end_only_when_it_was_there(
    session: PuppetSession, tab: Page, show: Show
) -> None:
    show()
    session.prompt("Think")
    session.send(AgentThoughtChunk("start\n" * 60))
    tab.locator(".acp-thought summary").click()
    log = tab.locator(".acp-log")
    at_end = "(log) => log.scrollHeight - log.scrollTop - log.clientHeight < 4"
    log.evaluate("(log) => { log.scrollTop = log.scrollHeight; }")
    session.send(AgentThoughtChunk("middle\n" * 30))
    expect(log).to_contain_text("middle")
    assert log.evaluate(at_end)
    log.evaluate("(log) => { log.scrollTop = 40; }")
    session.send(AgentThoughtChunk("end\n" * 30))
    expect(log).to_contain_text("end")
    assert log.evaluate("(log) => log.scrollTop") == 40


# -- answers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "chosen"), [("a", "allow_once"), ("A", "allow_always"), ("r", "reject_once")]
)
def test_keys_answer_the_card_that_has_the_focus(
    session: PuppetSession, tab: Page, show: Show, key: str, chosen: str
) -> None:
    show()
    session.prompt("Go")
    first, second = session.request("one"), session.request("two")
    expect(card(tab)).to_have_count(2)
    tab.keyboard.press(key)  # nothing has the focus: nothing is answered
    card(tab).nth(1).focus()
    tab.keyboard.press(key)
    expect(tab.locator(".acp-answered")).to_have_count(1)
    assert second.result(5) == Selected(chosen)
    # The focus stays where the card was, so a second stroke cannot answer another card unseen.
    tab.keyboard.press(key)
    expect(tab.locator(".acp-answered")).to_be_focused()
    assert not first.done()


def test_the_header_leads_to_a_card_that_is_out_of_sight(
    session: PuppetSession, tab: Page, show: Show
) -> None:
    show()
    session.prompt("Go")
    session.send(AgentMessageChunk("line\n\n" * 200))
    answer = session.request()
    expect(card(tab)).not_to_be_in_viewport()
    tab.get_by_role("button", name="Answer", exact=True).click()
    expect(card(tab)).to_be_in_viewport()
    expect(card(tab)).to_be_focused()
    tab.keyboard.press("a")
    assert answer.result(5) == Selected("allow_once")
    expect(tab.get_by_role("button", name="Answer", exact=True)).to_have_count(0)


def test_edited_arguments_by_keyboard(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    session.prompt("Go")
    answer = session.request(arguments={**ARGUMENTS, "api_key": "sk-1"})
    card(tab).focus()
    tab.keyboard.press("e")
    field = tab.get_by_label("Arguments of this one call, as JSON")
    expect(field).to_be_focused()
    assert "sk-1" not in field.input_value()
    tab.keyboard.type("a")  # letters are text here
    tab.keyboard.press("Escape")
    expect(field).to_be_hidden()
    expect(tab.get_by_role("button", name="Edit arguments")).to_be_focused()
    tab.keyboard.press("Enter")
    field.fill("{oops")
    tab.get_by_role("button", name="Allow with these arguments").click()
    expect(card(tab).get_by_role("alert")).to_contain_text("not JSON")
    assert not answer.done()
    field.fill('{"table": "copy", "api_key": "••••••"}')
    tab.get_by_role("button", name="Allow with these arguments").click()
    expect(tab.locator(".acp-answered")).to_be_visible()
    assert answer.result(5) == Selected("allow_once", arguments={"table": "copy", "api_key": "sk-1"})


def test_deny_with_a_reason(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    session.prompt("Go")
    answer = session.request()
    tab.get_by_role("button", name="Deny with a reason").click()
    tab.keyboard.type("keep the duplicates")
    tab.keyboard.press("Enter")
    expect(tab.locator(".acp-answered")).to_contain_text("Denied by you")
    assert answer.result(5) == Selected("reject_once", reason="keep the duplicates")


def test_perm_04_each_button_sends_its_own_id(session: PuppetSession, tab: Page, show: Show) -> None:
    options = (
        PermissionOption("approve for session ", "OK for session", "allow_always"),
        PermissionOption("allow_once", "Stop", "reject_once"),
        PermissionOption('<odd>"\u202e\r\n', "Odd", "allow_once"),
        PermissionOption("x", "Boss", "_escalate"),
        PermissionOption("dup", "Yes", "allow_once"),
        PermissionOption("dup", "No", "reject_once"),
    )
    show()
    session.prompt("Go")
    for option in options[:4]:
        answer = session.request(options=options)
        expect(card(tab).get_by_role("button", name="Yes")).to_be_disabled()
        card(tab).get_by_role("button", name=option.name).click()
        expect(card(tab)).to_have_count(0)
        assert answer.result(5) == Selected(option.option_id)


def test_a_late_click_says_so(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    session.prompt("Go")
    session.request()
    expect(card(tab)).to_be_visible()
    tab.evaluate("window.online = false")  # the click is on its way when the turn ends
    card(tab).get_by_role("button", name="Allow once").click()
    late = tab.evaluate("window.sent.at(-1)")
    session.cancel()
    expect(tab.locator(".acp-answered")).to_contain_text("Withdrawn")
    tab.evaluate("(message) => window.toKernel(message)", late)
    expect(tab.get_by_role("alert")).to_contain_text("nothing was changed")


# -- settings, plan, export ------------------------------------------------------------------------------


def test_selectors_show_the_value_in_effect(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    mode = tab.locator("select[data-config=mode]")
    tab.get_by_label("Mode").select_option("plan")
    expect(mode).not_to_have_attribute("aria-busy", "true")
    assert session.mode == "plan"
    session.set_mode("ask")
    expect(mode).to_have_value("ask")
    session.puppet.refuse.add("agent")
    mode.select_option("agent")
    expect(tab.get_by_role("alert")).to_contain_text("'agent'")
    expect(mode).to_have_value("ask")
    tab.get_by_label("Mode").select_option("plan")
    expect(tab.get_by_role("alert")).to_have_count(0)
    expect(mode).to_have_value("plan")


def test_the_plan_by_keyboard_alone(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    session.set_plan(Plan(tuple(map(PlanEntry, "abc"))))
    entries = tab.locator("li.acp-entry")
    expect(entries).to_have_count(3)
    entries.first.focus()
    tab.keyboard.press("ArrowDown")
    expect(entries.nth(1)).to_be_focused()
    tab.keyboard.press("Tab")
    assert focused(tab) == "Mark as done, step 2"
    tab.keyboard.press("Enter")
    expect(entries.nth(1)).to_have_attribute("data-status", "completed")
    expect(entries.nth(1).get_by_role("button").first).to_have_accessible_name("Mark as not done, step 2")
    expect(entries.nth(1).get_by_role("button").first).to_be_focused()
    entries.nth(1).focus()
    tab.keyboard.press("Alt+ArrowUp")
    expect(entries.locator(".acp-text")).to_have_text(["b, completed", "a, pending", "c, pending"])
    expect(entries.first).to_be_focused()  # it goes along
    entries.first.get_by_role("button", name="Move down").focus()
    tab.keyboard.press("Enter")
    expect(entries.locator(".acp-text")).to_have_text(["a, pending", "b, completed", "c, pending"])
    expect(entries.nth(1).get_by_role("button", name="Move down")).to_be_focused()
    assert tab.locator("li.acp-entry[tabindex='0']").count() == 1
    tab.get_by_label("Add a step").focus()
    tab.keyboard.type("report")
    tab.keyboard.press("Enter")
    expect(entries).to_have_count(4)
    expect(tab.get_by_label("Add a step")).to_have_value("")
    expect(tab.get_by_label("Add a step")).to_be_focused()


def test_the_plan_by_mouse(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    session.set_plan(Plan(tuple(map(PlanEntry, "abc"))))
    entries = tab.locator("li.acp-entry")
    entries.nth(2).hover()
    entries.nth(2).get_by_role("button", name="Remove").click()
    expect(entries).to_have_count(2)
    entries.nth(0).hover()
    entries.nth(0).get_by_role("button", name="Move down").click()
    expect(entries.locator(".acp-text")).to_have_text(["b, pending", "a, pending"])
    entries.nth(0).hover()
    expect(entries.nth(0).get_by_role("button", name="Move up")).to_have_attribute("aria-disabled", "true")
    session.remove_entry(2)
    entries.nth(0).hover()
    entries.nth(0).get_by_role("button", name="Mark as in progress").click()
    expect(entries.nth(0)).to_have_attribute("data-status", "in_progress")


def test_an_export_is_downloaded(session: PuppetSession, tab: Page, show: Show, tmp_path: Path) -> None:
    show()
    typical(session)
    with tab.expect_download() as caught:
        tab.get_by_role("button", name="Export", exact=True).click()
        tab.get_by_role("button", name="Export the plan as Markdown").click()
    assert caught.value.suggested_filename == "Clean-the-survey-data.md"
    caught.value.save_as(tmp_path / "plan.md")
    assert (tmp_path / "plan.md").read_text(encoding="utf-8") == session.plan.to("md")


# -- the kernel, and pages without one -------------------------------------------------------------------


def test_without_an_answer_nothing_looks_alive_and_hello_is_said_again(
    session: PuppetSession, tab: Page, show: Show
) -> None:
    typical(session)
    stage = show(online=False)
    expect(tab.locator("li.acp-entry")).to_have_count(6)
    expect(card(tab)).to_contain_text("drop_duplicates")
    for control in ("button", "input", "textarea"):
        assert tab.locator(f".acp-view {control}:visible").count() == 0
    expect(tab.locator("select[data-config=mode]")).to_be_disabled()
    expect(tab.get_by_text("Waiting for the kernel.")).to_be_visible()
    assert [message["action"] for message in stage.sent][:2] == ["hello", "hello"]
    # Changes are shown all the same, where the kernel can send but not hear.
    session.send(AgentMessageChunk("one-way news"))
    expect(tab.get_by_text("one-way news")).to_be_visible()
    tab.evaluate("window.online = true")
    expect(tab.get_by_role("button", name="Allow once")).to_be_visible()
    expect(tab.get_by_text("Waiting for the kernel.")).to_have_count(0)
    expect(tab.locator("select[data-config=mode]")).to_be_enabled()


def test_in_the_end_it_says_that_nobody_answers(session: PuppetSession, tab: Page, show: Show) -> None:
    tab.clock.install()
    stage = show(online=False)
    tab.clock.run_for(120_000)
    expect(tab.get_by_text("If it was restarted, run the cell again.")).to_be_visible()
    assert 5 <= len(stage.sent) <= 7


def test_a_kernel_that_goes_away_takes_the_controls_along(
    session: PuppetSession, tab: Page, show: Show
) -> None:
    show()
    typical(session)
    expect(tab.get_by_role("button", name="Allow once")).to_be_visible()
    tab.evaluate("window.online = false; window.model.emit('comm_live_update')")
    expect(tab.get_by_role("button", name="Allow once")).to_be_hidden()
    expect(tab.locator("li.acp-entry")).to_have_count(6)


def test_lost_patches_are_noticed(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    session.prompt("Go")
    expect(tab.locator(".acp-prompt")).to_be_visible()
    tab.evaluate("window.model.deliver({method: 'custom', content: {t: 'patch', n: 999, set: [], drop: []}})")
    session.send(AgentMessageChunk("after the gap"))
    expect(tab.get_by_text("after the gap")).to_be_visible()
    expect(tab.get_by_role("button", name="Cancel turn")).to_be_visible()


def test_a_busy_kernel_is_named(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    session.prompt("Go")
    session.request()
    expect(card(tab)).to_be_visible()
    tab.evaluate("window.online = false")
    card(tab).get_by_role("button", name="Allow once").click()
    expect(card(tab).get_by_role("status")).to_contain_text("The kernel is busy")
    card(tab).get_by_role("button", name="Allow once").click()  # once is enough
    assert tab.evaluate("window.sent.filter((m) => m.action === 'option').length") == 1


def test_two_views_of_one_model(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    typical(session)
    tab.evaluate(
        """() => {
          document.body.append(Object.assign(document.createElement("main"), {id: "two"}));
          show("two");
        }"""
    )
    for place in ("#one", "#two"):
        expect(tab.locator(f"{place} li.acp-entry")).to_have_count(6)
        expect(tab.locator(place).get_by_role("button", name="Allow once")).to_be_visible()
    tab.locator("#two").get_by_role("button", name="Allow once").click()
    for place in ("#one", "#two"):
        expect(tab.locator(f"{place} .acp-answered")).to_contain_text("Allowed by you")
    tab.locator("#one").get_by_label("Add a step").fill("x")
    tab.evaluate("() => window.leave()")
    session.add_entry("seen by the second")
    expect(tab.locator("#two li.acp-entry")).to_have_count(7)
    expect(tab.locator("#one li.acp-entry")).to_have_count(6)


# -- for everybody ---------------------------------------------------------------------------------------


def test_names_and_roles(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    typical(session)
    expect(card(tab)).to_be_visible()
    for role, name in [
        ("region", "Agent session survey"),
        ("region", "Plan: Clean the survey data"),
        ("region", "Turn 1"),
        ("progressbar", "2 of 6 done · 1 cancelled"),
        ("combobox", "Mode"),
        ("combobox", "Thinking"),
        ("group", "Approval needed: drop_duplicates"),
        ("textbox", "Add a step"),
    ]:
        expect(tab.get_by_role(role, name=name, exact=True)).to_have_count(1)
    unnamed = tab.evaluate(
        """[...document.querySelectorAll("button, input, select, textarea")]
             .filter((e) => !e.closest("[hidden]"))
             .filter((e) => !(e.innerText || e.getAttribute("aria-label") || e.labels?.length))
             .map((e) => e.outerHTML)"""
    )
    assert unnamed == []
    expect(tab.get_by_role("listitem").nth(2)).to_contain_text("in progress")


def test_every_control_is_reached_by_tab(session: PuppetSession, tab: Page, show: Show) -> None:
    show()
    typical(session)
    expect(card(tab)).to_be_visible()
    seen: list[str] = []
    for _ in range(30):
        tab.keyboard.press("Tab")
        seen.append(focused(tab).strip().split("\n")[0])
    walk = " | ".join(seen)
    header = ["Ask", "Off", "Cancel turn"]
    plan = ["Step 3", "Show steps", "Export", "Mark as done, step 3", "Status, step 3", "Add a step"]
    turn = ["Thought for", "Approval needed: drop_duplicates", "Allow once", "Deny with a reason"]
    for name in header + plan + turn:
        assert name in walk, walk


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_can_be_read_in_both_themes(session: PuppetSession, tab: Page, show: Show, dark: bool) -> None:
    """Contrast of at least 4.5 to 1 (WCAG 2, 1.4.3) for all text."""
    show(dark=dark)
    typical(session)
    session.request(
        "write",
        {"path": "a.md", "text": "a"},
        content=(
            diff("a.md", "a\nb\n", "a\nc\n"),
            diff("b.md", None, "new"),
            diff("c.md", "a", None),
            Code("def f():\n    return 'x', 1  # why", "python"),
            Table(("a", "b"), (("1", "2"),), "Not shown: 3 rows."),
        ),
        problem="no",
        preview_error="No preview.",
        parameters={"properties": {"path": {"type": "string", "description": "Where."}}},
    )
    card(tab).last.get_by_role("button", name="Edit arguments").click()
    poor = tab.evaluate(
        """() => {
          const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
          const rgba = (color) => {
            canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
          };
          const over = (top, under) => top.slice(0, 3).map((c, i) => c * top[3] + under[i] * (1 - top[3]));
          const light = (c) => {
            const [r, g, b] = c
              .map((v) => v / 255)
              .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const ground = (e) =>
            e ? over(rgba(getComputedStyle(e).backgroundColor), ground(e.parentElement)) : [255, 255, 255];
          const found = [];
          const walker = document.createTreeWalker(document.querySelector('.acp-view'), NodeFilter.SHOW_TEXT);
          for (let node; (node = walker.nextNode()); ) {
            const e = node.parentElement;
            if (!node.data.trim() || !e.checkVisibility() || e.closest('.acp-sr, option')) continue;
            const under = ground(e);
            const pair = [light(over(rgba(getComputedStyle(e).color), under)), light(under)];
            const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
            if (contrast < 4.5) found.push([node.data, contrast]);
          }
          return found;
        }"""
    )
    assert poor == []


def test_nothing_moves_for_people_who_do_not_want_it(session: PuppetSession, tab: Page, show: Show) -> None:
    tab.emulate_media(reduced_motion="reduce")
    show()
    session.prompt("Go")
    session.send(StateUpdate("running"))
    expect(tab.get_by_role("status")).to_contain_text("working")
    light = "getComputedStyle(document.querySelector('.acp-state'), '::before').animationName"
    assert tab.evaluate(light) == "none"
