"""The card of a permission request in a real page, without Jupyter: forms, keys, what is said of answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from acp_notebook.agent.projection import diff
from acp_notebook.errors import PermissionError
from acp_notebook.kernel.host import ThreadHost
from acp_notebook.protocol.content import Code, Table, Text
from acp_notebook.protocol.messages import PermissionOption, Selected
from acp_notebook.protocol.rules import EXACT, Covers
from acp_notebook.views.widget import session_view
from harness.puppet import OPTIONS, PuppetSession, pages
from harness.stage import Stage

REACH = "write with exactly these arguments, this session"
LASTING = (*OPTIONS[:1], PermissionOption("always", "Always allow", "allow_always", REACH), *OPTIONS[2:])
SCHEMA: dict[str, Any] = {
    "properties": {
        "path": {"type": "string"},
        "mode": {"enum": ["replace", "append"]},
        "count": {"type": "integer", "default": 0},
        "tags": {"type": "array"},
    },
    "required": ["path", "mode"],
}
ARGUMENTS = {"path": "a.md", "mode": "append", "tags": [12345678901234567890]}
HOSTILE = '<script>boom()</script><img src=x onerror="boom()">"><svg onload=boom()>\u202e\u200b'


@pytest.fixture
def session(tab: Page) -> Iterator[PuppetSession]:
    """A session in a turn, with its view on the page; at the end there must be no error in it."""
    with pages():
        session = PuppetSession(ThreadHost(), on_unattended="wait")
        stage = Stage(tab, session_view(session))
        session.prompt("Go")
        yield session
        assert stage.errors == []
        session.close()


def card(tab: Page) -> Locator:
    return tab.locator(".acp-permission[data-status=pending]")


def field(tab: Page, name: str) -> Locator:
    return tab.locator(f".acp-field[data-name={name}] [name^=v]")


def check(arguments: Mapping[str, Any]) -> None:
    if arguments["path"].startswith("/"):
        raise PermissionError("path: only below this folder: the call still waits")


def test_arguments_by_form(session: PuppetSession, tab: Page) -> None:
    answer = session.request("write", ARGUMENTS, parameters=SCHEMA, check=check)
    card(tab).focus()
    tab.keyboard.press("e")
    expect(field(tab, "path")).to_be_focused()
    tab.keyboard.press("ControlOrMeta+a")
    tab.keyboard.type("/etc/passwd")
    mode = tab.get_by_role("combobox", name="mode", exact=True)
    mode.select_option("replace")
    given = tab.get_by_label("given: count")
    expect(given).not_to_be_checked()
    field(tab, "count").fill("many")
    expect(given).to_be_checked()
    submit = tab.get_by_role("button", name="Allow with these arguments")
    for name, said, mended in [
        ("count", "count: 'many' is not a whole number", "7"),
        ("path", "path: only below this folder", "b.md"),
    ]:
        submit.click()
        alert = tab.locator(f".acp-field[data-name={name}]").get_by_role("alert")
        expect(alert).to_contain_text(said)
        expect(tab.get_by_role("alert")).to_have_count(1)
        expect(field(tab, name)).to_be_focused()
        expect(field(tab, name)).to_have_attribute("aria-invalid", "true")
        expect(mode).to_have_value("0")  # nothing is lost
        field(tab, name).fill(mended)
    assert not answer.done()
    submit.click()
    expect(tab.locator(".acp-answered")).to_be_focused()
    assert answer.result(5) == Selected(
        "allow_once", {**ARGUMENTS, "path": "b.md", "mode": "replace", "count": 7}
    )


def test_fields_and_json_are_the_same_arguments(session: PuppetSession, tab: Page) -> None:
    answer = session.request("write", ARGUMENTS, parameters=SCHEMA)
    card(tab).get_by_role("button", name="Edit arguments").click()
    field(tab, "path").fill('a "b"\nc')
    switch, area = tab.get_by_role("button", name="As JSON"), tab.locator("textarea[name=arguments]")
    switch.click()
    expect(area).to_be_focused()
    written = area.input_value()
    assert json.loads(written) == {**ARGUMENTS, "path": 'a "b"\nc'}  # no digit is lost
    area.fill("{oops")
    switch.click()
    expect(card(tab).get_by_role("alert")).to_contain_text("This is not JSON.")
    tab.get_by_role("button", name="Allow with these arguments").click()
    expect(card(tab).get_by_role("alert")).to_contain_text("the arguments are not JSON")
    expect(area).to_have_value("{oops")
    area.fill(written)
    switch.click()
    expect(area).to_be_hidden()
    field(tab, "path").fill("d")
    switch.click()
    tab.get_by_role("button", name="Allow with these arguments").click()
    expect(tab.locator(".acp-answered")).to_be_visible()
    assert answer.result(5) == Selected("allow_once", {**ARGUMENTS, "path": "d"})


def test_json_goes_back_into_the_fields_where_they_can_show_it(session: PuppetSession, tab: Page) -> None:
    answer = session.request("write", ARGUMENTS, parameters=SCHEMA)
    card(tab).get_by_role("button", name="Edit arguments").click()
    switch, area = tab.get_by_role("button", name="As JSON"), tab.locator("textarea[name=arguments]")
    switch.click()
    for text, said in [
        ("[]", "The arguments are an object"),
        ('{"path": "b"}', "mode is missing."),
        ('{"path": 1, "mode": "append"}', "path is nothing that its field can show"),
        ('{"path": "b", "mode": "other"}', "mode is nothing that its field can show"),
        ('{"path": "b", "mode": "append", "more": 1}', "There is no field for more"),
    ]:
        area.fill(text)
        switch.click()
        expect(card(tab).get_by_role("alert")).to_contain_text(said)
        expect(area).to_have_value(text)
    area.fill('{"path": "b\\nc", "mode": "replace", "count": 1234567890123456789, "tags": [1.0, {"x": 1e3}]}')
    switch.click()
    expect(area).to_be_hidden()
    expect(field(tab, "path")).to_have_value("b\nc")
    expect(field(tab, "mode")).to_have_value("0")
    expect(field(tab, "count")).to_have_value("1234567890123456789")
    tab.get_by_role("button", name="Allow with these arguments").click()
    expect(tab.locator(".acp-answered")).to_be_visible()
    expected = {"path": "b\nc", "mode": "replace", "count": 1234567890123456789, "tags": [1.0, {"x": 1e3}]}
    assert answer.result(5) == Selected("allow_once", expected)


def test_a_reason_by_keyboard(session: PuppetSession, tab: Page) -> None:
    answer = session.request()
    card(tab).focus()
    tab.keyboard.press("d")
    expect(tab.get_by_label("Reason, which the model reads")).to_be_focused()
    tab.keyboard.type("d is a letter here")
    tab.keyboard.press("Enter")
    expect(tab.locator(".acp-answered")).to_be_focused()
    assert answer.result(5) == Selected("reject_once", reason="d is a letter here")


def test_something_narrower_is_typed(session: PuppetSession, tab: Page) -> None:
    def about(covers: Covers, decision: str) -> None:
        if not covers.value.startswith("notes/"):
            raise PermissionError(f"a rule {covers.said()} is not about this call, which still waits")

    covers = (EXACT, Covers("under", "path", "notes/"), Covers("equals", "path", '"notes/a.md"'))
    answer = session.request("write", ARGUMENTS, LASTING, covers=covers, check_covers=about)
    card(tab).get_by_role("button", name="Always…").click()
    folder = tab.locator("input[name=narrow1]")
    expect(folder).to_be_hidden()
    tab.get_by_label("Calls of write").select_option("1")
    expect(folder).to_have_value("notes/")
    folder.fill("other/")
    always = tab.locator("form[data-action=always]").get_by_role("button", name="Always allow")
    always.click()
    expect(card(tab).get_by_role("alert")).to_contain_text("a rule with path under other/ is not about this")
    tab.get_by_label("Calls of write").select_option("2")
    expect(folder).to_be_hidden()
    tab.get_by_role("textbox", name="with path matching").fill("notes/*.md")
    always.click()
    expect(tab.locator(".acp-answered")).to_be_visible()
    assert answer.result(5) == Selected("always", covers=Covers("matches", "path", "notes/*.md"))


def test_a_note_by_keyboard(session: PuppetSession, tab: Page) -> None:
    answer = session.request()
    card(tab).focus()
    tab.keyboard.press("n")
    expect(tab.get_by_label("Note, which the model reads")).to_be_focused()
    tab.keyboard.type("r is a letter here")
    tab.keyboard.press("Enter")
    expect(tab.locator(".acp-answered")).to_be_focused()
    assert answer.result(5) == Selected("allow_once", note="r is a letter here")


def test_more_than_this_call_is_chosen_on_purpose(session: PuppetSession, tab: Page) -> None:
    covers = (EXACT, Covers("under", "path", "notes/"), Covers("tool"))
    for wider in (False, True):
        answer = session.request("write", ARGUMENTS, LASTING, covers=covers)
        expect(card(tab).locator("button[data-option=always]")).to_contain_text(REACH)
        card(tab).get_by_role("button", name="Always…").click()
        outcome = Selected("always")
        if wider:
            tab.get_by_role("combobox", name="Calls of write").select_option(label="with path under notes/")
            tab.get_by_role("combobox", name="Where").select_option(label="every session in this folder")
            outcome = Selected("always", covers=covers[1], scope="folder")
        tab.locator("button[data-choice=always]").click()
        expect(card(tab)).to_have_count(0)
        assert answer.result(5) == outcome


def test_a_result_is_edited_or_withheld(session: PuppetSession, tab: Page) -> None:
    options = (
        PermissionOption("allow_once", "Give it to the model", "allow_once"),
        PermissionOption("reject_once", "Withhold it", "reject_once"),
    )
    answer = session.request("fetch", {"url": "x"}, options, subject="result", result="the whole page")
    expect(card(tab)).to_contain_text("Let the model read what fetch returned?")
    card(tab).focus()
    tab.keyboard.press("e")
    tab.get_by_label("What the model reads instead").fill("a part of it")
    tab.locator("form[data-action=edit-result]").get_by_role("button", name="Give it to the model").click()
    expect(tab.locator(".acp-answered")).to_contain_text("Shown to the model by you")
    assert answer.result(5) == Selected("allow_once", result="a part of it")
    answer = session.request("fetch", {"url": "x"}, options, subject="result", result="the whole page")
    card(tab).get_by_role("button", name="Withhold it").click()
    expect(tab.locator(".acp-answered").last).to_contain_text("Withheld from the model by you")
    assert answer.result(5) == Selected("reject_once")


def test_all_of_one_kind(session: PuppetSession, tab: Page) -> None:
    given = [session.request("write", {"path": name}) for name in "abc"]
    other = session.request("wipe", {"path": "d"})
    allow = tab.get_by_role("button", name="Allow all 3 calls of write")
    expect(allow).to_be_visible()
    card(tab).first.get_by_role("button", name="Deny", exact=True).click()
    tab.get_by_role("button", name="Allow all 2 calls of write").click()
    expect(card(tab)).to_have_count(1)
    expect(tab.locator(".acp-together")).to_have_count(0)
    assert [one.result(5).option_id for one in given] == ["reject_once", "allow_once", "allow_once"]  # type: ignore
    assert not other.done()
    expect(tab.locator("button:focus")).to_have_count(0)


def test_one_answer_at_a_time_and_the_second_says_so(session: PuppetSession, tab: Page) -> None:
    second = "Object.assign(document.createElement('main'), {id: 'two'})"
    tab.evaluate(f"document.body.append({second}), void show('two')")
    answer = session.request()
    one, two = (tab.locator(place).locator(".acp-permission") for place in ("#one", "#two"))
    expect(two.get_by_role("button", name="Allow once")).to_be_visible()
    tab.evaluate("window.online = false")  # the answer of the first window is on its way
    one.get_by_role("button", name="Allow once").click()
    expect(one.locator("button[aria-busy=true]")).to_have_count(1)
    one.get_by_role("button", name="Deny", exact=True).click()
    assert tab.evaluate("window.sent.filter((m) => m.action === 'option').length") == 1
    late = tab.evaluate("window.sent.at(-1)")
    tab.evaluate("window.online = true")
    two.get_by_role("button", name="Deny", exact=True).click()
    for place in (one, two):
        expect(place).to_contain_text("Denied by you")
    tab.evaluate("(message) => window.toKernel(message)", late)
    expect(one.get_by_role("alert")).to_contain_text("nothing was changed")
    expect(tab.get_by_role("alert")).to_have_count(1)
    assert answer.result(5) == Selected("reject_once")


def test_caps_lock_makes_no_lasting_answer(session: PuppetSession, tab: Page) -> None:
    answer = session.request()
    card(tab).focus()
    stroke = "new KeyboardEvent('keydown', {key: 'A', modifierCapsLock: true, bubbles: true})"
    card(tab).evaluate(f"(card) => card.dispatchEvent({stroke})")
    assert answer.result(5) == Selected("allow_once")


def test_it_is_said_aloud(session: PuppetSession, tab: Page) -> None:
    voice = tab.locator(".acp-sr[aria-live=polite]")
    session.request("one")
    expect(voice).to_have_text("Approval needed: one")
    card(tab).get_by_role("button", name="Allow once").click()
    expect(voice).to_contain_text("Allowed by you")


def test_hostile_text_runs_nothing(session: PuppetSession, tab: Page) -> None:
    tab.evaluate("() => { window.boom = () => { window.boomed = new Error().stack; }; }")
    options = (
        PermissionOption("a", HOSTILE, "allow_once"),
        PermissionOption("b", HOSTILE, "allow_always", HOSTILE),
    )
    answer = session.request(
        HOSTILE,
        {HOSTILE: "x", "n": HOSTILE},
        options,
        title=HOSTILE,
        description=HOSTILE,
        problem=HOSTILE,
        preview_error=HOSTILE,
        content=(
            diff(HOSTILE, HOSTILE, f"{HOSTILE}\n"),
            Code(HOSTILE, "python"),
            Table((HOSTILE,), ((HOSTILE,),), HOSTILE),
            Text(HOSTILE, HOSTILE),
        ),
        covers=(EXACT, Covers("equals", HOSTILE, HOSTILE)),
        parameters={"properties": {HOSTILE: {"type": "string", "description": HOSTILE}}},
    )
    card(tab).get_by_role("button", name="Edit arguments").click()
    tab.get_by_role("button", name="As JSON").click()
    assert tab.evaluate("window.boomed") is None
    assert tab.locator(".acp-view").locator("script, img, svg, iframe, [onerror], [onload]").count() == 0
    assert not {"\u202e", "\u200b"} & set(card(tab).inner_text())
    tab.get_by_role("button", name="Allow with these arguments").click()
    expect(tab.locator(".acp-answered")).to_be_visible()
    assert answer.result(5) == Selected("a"), "they came back as they were, so it is a plain yes"


def test_every_control_has_a_name_and_is_reached_by_tab(session: PuppetSession, tab: Page) -> None:
    session.request("write", ARGUMENTS, LASTING, covers=(EXACT, Covers("tool")), parameters=SCHEMA)
    card(tab).get_by_role("button", name="Edit arguments").click()
    controls = card(tab).locator("button:visible, input:visible, select:visible, textarea:visible")
    nameless = "(all) => all.filter((it) => !(it.innerText || it.ariaLabel || it.labels?.length)).length"
    assert controls.evaluate_all(nameless) == 0
    card(tab).focus()
    names = ["Allow once", "Always allow", "Edit arguments", "Deny", "Deny with", "Allow with", "Always…"]
    for name in names:
        tab.keyboard.press("Tab")
        assert name in tab.evaluate("document.activeElement.innerText")
