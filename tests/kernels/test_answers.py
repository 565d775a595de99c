"""How a person's answer reaches a turn, on each ipykernel, for each way of waiting, with and without a
frontend that sends comm messages on subshells. The table is the one of the architecture: where a click gets
through, nothing else may be asked; where it cannot, the kernel's prompt asks; without a person, the policy
answers at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from harness.wire import Cell, Comm, Frontend

SETUP = """
%load_ext acp_notebook
import acp_notebook, time
from pydantic_ai import Agent
from acp_notebook import Call, Say, ScriptedModel
model = ScriptedModel()
@model.script(".")
def script(turn):
    result = yield Call("drop", table="survey")
    yield Say("denied" if result.denied else "dropped")
agent = Agent(model)
@agent.tool_plain(requires_approval=True)
def drop(table: str) -> str:
    return f"dropped from {table}"
def ask():
    global turn
    turn = acp_notebook.current().ask("go")
"""
WAITS = {
    "awaiting": "%acp ask --out turn go",
    "re-entered": "ask()",
    "thread, awaiting": "%acp ask --out turn go",
    "thread, blocking": "ask()",
}
CLICKS = {
    ("7.4", "main"),
    ("7.4", "subshells"),
    ("7.3", "subshells"),
}


@pytest.fixture(scope="session")
def page(ipykernel: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Frontend]:
    with Frontend.start(ipykernel, folder=tmp_path_factory.mktemp(ipykernel)) as page:
        page.run(SETUP)
        yield page


@pytest.fixture
def release(ipykernel: str) -> str:
    return ipykernel.removeprefix("ipykernel-")


def start(page: Frontend, wait: str, frontend: str = "main", *, hello: bool = True) -> None:
    """A new session; from here on the page is such a frontend."""
    page.comms_on_subshells = frontend == "subshells"
    page.on_display = (lambda comm: comm.send({"action": "hello"})) if hello else None
    page.run(f"%acp start agent --host {'thread' if 'thread' in wait else 'kernel'}")


def card(page: Frontend, cell: Cell) -> tuple[Comm, str] | None:
    """The view that shows a pending request, and the request's id; None while there is none."""
    for comm in reversed(page.widgets()):
        found = re.findall(r'data-request="(\w+)" data-status="pending"', str(comm.custom))
        if found:
            return comm, found[-1]
    assert not cell.done, f"the cell ended without a question: {cell.error or cell.outputs}"
    return None


def shown(page: Frontend, cell: Cell) -> tuple[Comm, str]:
    """The card, as soon as it is there. A page says hello again where nobody answers, as ours does."""
    try:
        return page.wait(lambda: card(page, cell), 1, "a card")
    except AssertionError:
        page.widgets()[-1].send({"action": "hello"})
        return page.wait(lambda: card(page, cell), 10, "a card, after another hello")


@pytest.mark.parametrize("frontend", ["main", "subshells"])
@pytest.mark.parametrize("wait", WAITS)
def test_a_click_or_else_a_prompt(page: Frontend, release: str, wait: str, frontend: str) -> None:
    if release == "6.31" and frontend == "subshells":
        pytest.skip("ipykernel 6 has no subshells")
    start(page, wait, frontend)
    cell = page.begin(WAITS[wait])
    if (release, frontend) in CLICKS:
        view, request = shown(page, cell)
        view.send({"action": "option", "request": request, "option": "allow_once"})
    else:
        prompt = page.wait(lambda: page.prompts, 10, "a prompt")[0]
        assert prompt.text == 'Allow drop(table="survey")? [y]es / [n]o / reason: '
        prompt.reply("y")
    page.finish(cell, 10)
    assert not cell.error and page.prompts == []
    assert page.value("turn.text") == "dropped"


@pytest.mark.parametrize("wait", WAITS)
def test_a_frontend_that_shows_no_widgets_gets_a_prompt(page: Frontend, wait: str) -> None:
    start(page, wait, hello=False)
    cell = page.begin(WAITS[wait])
    page.wait(lambda: page.prompts, 10, "a prompt")[0].reply("not today")
    page.finish(cell, 10)
    assert page.value("[turn.text, turn.state.permissions[0].explanation]") == ["denied", "denied by you"]
    assert "not today" in page.value("str(turn.tool_calls[0])")


@pytest.mark.parametrize("wait", WAITS)
def test_without_a_person_the_policy_answers_at_once(page: Frontend, wait: str) -> None:
    start(page, wait, hello=False)
    page.run(
        f"began = time.monotonic()\n{WAITS[wait]}\ntook = time.monotonic() - began"
    )  # allow_stdin is False
    assert page.value("turn.text") == "denied"
    assert page.value("took") < 1.5  # no grace, and no prompt
    assert page.prompts == []


@pytest.mark.parametrize("wait", WAITS)
def test_an_interrupt_ends_cell_and_turn(page: Frontend, wait: str) -> None:
    start(page, wait, hello=False)
    cell = page.begin(WAITS[wait])
    page.wait(lambda: page.prompts, 10, "a prompt")
    page.interrupt()
    page.finish(cell, 2)
    page.prompts.clear()
    assert cell.error == "KeyboardInterrupt: the turn was cancelled" and cell.status == "error"
    assert page.value("acp_notebook.current().turns[-1].stop_reason") == "cancelled"
    page.run("%acp ask --approve --out turn once more")
    assert page.value("turn.text") == "dropped"


@pytest.mark.parametrize("frontend", ["main", "subshells"])
def test_doctor_says_how_it_will_ask(page: Frontend, release: str, frontend: str) -> None:
    if release == "6.31" and frontend == "subshells":
        pytest.skip("ipykernel 6 has no subshells")
    start(page, "awaiting", frontend)

    def rows(*, allow_stdin: bool) -> list[str]:
        report = page.finish(page.begin("%acp doctor", allow_stdin=allow_stdin)).stdout
        assert f"ipykernel {release}" in report
        found = re.findall(r"^ok  approval in (?:%acp ask|session.ask\(\)) +(.*)$", report, re.MULTILINE)
        assert len(found) == 2, report
        return found

    clicks = release == "7.4" or page.value("bool(acp_notebook.kernel.lane.frontend_subshells())")
    for row in rows(allow_stdin=True):
        assert row.startswith("buttons once the page says hello (" if clicks else "a prompt after 2 s; ")
    for row in rows(allow_stdin=False):
        assert "on_unattended" in row
    page.run("%acp")
    page.wait(lambda: page.value("acp_notebook.current().host.presence.hellos"))
    for row in rows(allow_stdin=True):
        assert row.startswith("buttons: " if clicks else "a prompt after 2 s; ")
