"""Every way to ask × every answer × from where it comes: code, a click, a magic, a rule, nobody, a cancel.
Nothing runs without a yes for that very call, and a call stands once in the turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from acp_notebook import AdapterConfig, NativeApprovalBridge, Session
from acp_notebook.errors import AlreadyAnswered
from acp_notebook.protocol.messages import ToolCallUpdate
from acp_notebook.session.state import Event, SessionState
from acp_notebook.views.commands import carry_out
from harness.cells import Cells, started
from harness.sessions import pending, until
from harness.wiping import WAYS, Wiping

Hosted = Callable[..., Session]

PERSISTENT = AdapterConfig(approval_bridge=NativeApprovalBridge(enable_persistent_choices=True))


@pytest.fixture(scope="module")
def cells() -> Iterator[Cells]:
    with started() as shell:
        shell.run_line_magic("load_ext", "acp_notebook")
        yield Cells(shell)


#: Answer → from Python, the line of a magic, and what a click or a form on the card sends.
ANSWERS: dict[str, tuple[Callable[[Any], None], str, dict[str, Any]]] = {
    "allow": (
        lambda request: request.allow(),
        "%acp approve",
        {"action": "option", "option": "allow_once"},
    ),
    "always": (
        lambda request: request.allow(always=True),
        "%acp approve --always",
        {"action": "option", "option": "allow_always"},
    ),
    "note": (
        lambda request: request.allow(note="only this once"),
        "%acp approve --note only this once",
        {"action": "allow-with-note", "note": "only this once"},
    ),
    "edit": (
        lambda request: request.allow(arguments={"path": "b"}),
        '%acp approve --args {"path": "b"}',
        {"action": "edit-arguments", "arguments": '{"path": "b"}'},
    ),
    "option": (
        lambda request: request.choose("allow_once"),
        "%acp approve 1",
        {"action": "option", "option": "allow_once"},
    ),
    "deny": (
        lambda request: request.deny(),
        "%acp deny",
        {"action": "option", "option": "reject_once"},
    ),
    "reason": (
        lambda request: request.deny("not that"),
        "%acp deny --reason not that",
        {"action": "deny-with-reason", "reason": "not that"},
    ),
    "never": (
        lambda request: request.deny(always=True),
        "%acp deny --always",
        {"action": "option", "option": "reject_always"},
    ),
}
RUNS = {"allow": ["a"], "always": ["a"], "note": ["a"], "edit": ["b"], "option": ["a"]}
DENIED = "The person denied this call; it did not run."


@pytest.mark.parametrize("by", ["python", "click", "magic"])
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_ask_and_every_answer(
    hosted: Hosted, cells: Cells, way: str, answer: str, by: str
) -> None:
    wiping = Wiping(way)
    session = hosted(wiping.agent, config=PERSISTENT)
    seen = statuses(session)
    turn = session.prompt("a")
    until(session, pending(1))
    assert wiping.runs == []
    asked = session.permissions[0]
    python, line, click = ANSWERS[answer]
    if by == "python":
        python(asked)
    elif by == "click":
        session.host.call(lambda: carry_out(session, {**click, "request": asked.id}))
    else:
        cells.run(line)
    text = turn.wait(20).text
    assert turn.stop_reason == "end_turn"
    assert wiping.runs == RUNS.get(answer, [])
    with pytest.raises(AlreadyAnswered):
        asked.allow()
    ran = answer in RUNS
    heard = f"wiped {wiping.runs[0]}" if ran else "not that" if answer == "reason" else DENIED
    if way == "step":
        assert heard in text
        assert [call.name for call in turn.tool_calls] == ["execute_plan", "look"]
    else:
        assert text == f"{heard} | looked"
        call = turn.tool_calls[0]
        assert len(turn.tool_calls) == 2, "one call, one entry"
        states = [status for status in seen["wipe"] if status not in ("pending", "in_progress")]
        assert states == ["paused", "completed" if ran else "failed"]
        assert call.raw_input == {"path": wiping.runs[0] if ran else "a"}
        assert ran or call.reason == "denied"
    kept = [rule.text for rule in session.rules]
    decision = {"always": "allow", "never": "deny"}.get(answer)
    assert kept == ([f'{decision} wipe (path="a") (this session)'] if decision else [])
    if decision:  # which answers the next one
        again = session.ask("a", timeout=20)
        assert again.state.permissions == ()
        assert len(wiping.runs) == (2 if ran else 0)


def statuses(session: Session) -> dict[str, list[str]]:
    """The states that each tool's calls go through."""
    seen: dict[str, list[str]] = {}
    names: dict[str, str] = {}

    def note(state: SessionState, event: Event) -> None:
        if isinstance(event, ToolCallUpdate):
            if isinstance(event.name, str):
                names[event.tool_call_id] = event.name
            of = seen.setdefault(names[event.tool_call_id], [])
            if isinstance(event.status, str) and event.status not in of[-1:]:
                of.append(event.status)

    session.subscribe(note)
    return seen


#: Who answers → what is set up, whether the call runs, and what the model hears.
NOBODY: dict[str, tuple[dict[str, Any], Callable[[Session], Any], bool, str]] = {
    "rule: allow": ({}, lambda session: session.rules.add("allow", "wipe"), True, "wiped a"),
    "rule: allow exactly this": (
        {},
        lambda session: session.rules.add("allow", "wipe", arguments={"path": "a"}),
        True,
        "wiped a",
    ),
    "rule: deny": (
        {},
        lambda session: session.rules.add("deny", "wipe"),
        False,
        "The person has denied all calls like this one; it did not run.",
    ),
    "rule: deny wins": (
        {},
        lambda session: [
            session.rules.add("allow", "wipe"),
            session.rules.add("deny", "wipe", "path", matches="[ab]"),
        ],
        False,
        "The person has denied all calls like this one; it did not run.",
    ),
    "headless: allow": ({"on_unattended": "allow"}, lambda session: None, True, "wiped a"),
    "headless: deny": (
        {"on_unattended": "deny"},
        lambda session: None,
        False,
        "Denied: nobody is there to approve it.",
    ),
    "headless: a function": (
        {"on_unattended": lambda request: request.tool_call.arguments == {"path": "a"}},
        lambda session: None,
        True,
        "wiped a",
    ),
    "headless: a function that is no yes": (
        {"on_unattended": lambda request: "yes"},
        lambda session: None,
        False,
        "Denied: nobody is there to approve it.",
    ),
}


@pytest.mark.parametrize("who", NOBODY)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_ask_is_answered_without_a_person(hosted: Hosted, way: str, who: str) -> None:
    wiping = Wiping(way)
    options, prepare, ran, heard = NOBODY[who]
    session = hosted(wiping.agent, **options)
    prepare(session)
    turn = session.ask("a", timeout=20)
    assert wiping.runs == ["a"] * ran
    assert heard in turn.text and turn.text.endswith(" | looked")
    by_rule = who.startswith("rule")
    assert len(turn.state.permissions) == (0 if by_rule else 1)
    if by_rule and way != "step":
        number = 2 if who == "rule: deny wins" else 1
        assert turn.tool_calls[0].reason == f"{'allowed' if ran else 'denied'} by rule {number}"


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_ask_can_be_cancelled(hosted: Hosted, way: str) -> None:
    wiping = Wiping(way)
    session = hosted(wiping.agent)
    turn = session.prompt("a")
    until(session, pending(1))
    asked = session.permissions[0]
    session.cancel()
    session.cancel()
    assert turn.wait(20).stop_reason == "cancelled" and turn.text == ""
    assert [permission.status for permission in turn.state.permissions] == ["cancelled"]
    assert turn.tool_calls[0].status == "cancelled"
    assert all(call.status in ("cancelled", "completed") for call in turn.tool_calls)
    with pytest.raises(AlreadyAnswered):
        asked.allow()
    turn = session.prompt("b")
    until(session, pending(1))
    session.permissions[0].allow()
    assert "wiped b" in turn.wait(20).text
    assert wiping.runs == ["b"]
