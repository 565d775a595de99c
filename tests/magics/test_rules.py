"""`%acp rules`, and answers that are remembered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic_ai import Agent, Tool

from acp_notebook import AdapterConfig, Call, NativeApprovalBridge, Say, ScriptedModel, Session, current
from acp_notebook.magics.complete import suggestions
from harness.cells import Cells
from harness.sessions import pending, until

RULES = [
    ("deny wipe", "1. deny wipe with any arguments (this session)"),
    ("allow wipe path --under notes/", "1. allow wipe with path under notes/ (this session)"),
    ("allow wipe path --matches *.tmp", "1. allow wipe with path matching *.tmp (this session)"),
    ("allow wipe path --equals a.md", '1. allow wipe with path equal to "a.md" (this session)'),
    ("deny wipe times --equals 3", "1. deny wipe with times equal to 3 (this session)"),
    (
        "allow run command --command git status",
        "1. allow run with command beginning with git status, one command alone (this session)",
    ),
    ('allow wipe --args {"path": "a", "token": "k"}', '1. allow wipe (path="a", token='),
    ("allow wipe --scope folder", "1. allow wipe with any arguments (every session in this folder)"),
]


@pytest.fixture
def session(cells: Cells) -> Iterator[Session]:
    """A session whose agent wipes a path, and that offers to remember answers."""
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        result = yield Call("wipe", path=turn.prompt)
        yield Say(result.text)

    agent = Agent(
        model,
        name="rules-agent",
        tools=[Tool(lambda path: f"wiped {path}", name="wipe", requires_approval=True)],
    )
    config = AdapterConfig(approval_bridge=NativeApprovalBridge(enable_persistent_choices=True))
    session = Session(agent, config=config, on_unattended="wait", host="thread")
    yield session
    session.rules.clear()
    session.close()


@pytest.mark.parametrize(("line", "said"), RULES)
def test_a_rule_is_added_listed_and_revoked(cells: Cells, session: Session, line: str, said: str) -> None:
    assert cells.run(f"%acp rules add {line}").text.startswith(said)
    listed = cells.run("%acp rules").text
    assert listed.startswith(said) and 'token="k"' not in listed
    assert cells.run("%acp rules remove 1").text.startswith(f"Revoked rule 1: {said[3:]}")
    assert cells.run("%acp rules").text.startswith("No decision is remembered: %acp rules add")


def test_a_rule_answers_and_says_so(cells: Cells, session: Session) -> None:
    cells.run("%acp rules add allow wipe path --under notes/")
    cells.run("%acp rules add deny wipe path --equals notes/mine")
    turn = session.ask("notes/a", timeout=20)
    assert turn.text == "wiped notes/a" and turn.tool_calls[0].reason == "allowed by rule 1"
    assert turn.state.permissions == ()
    turn = session.ask("notes/mine", timeout=20)
    assert turn.text == "The person has denied all calls like this one; it did not run."
    assert (turn.tool_calls[0].status, turn.tool_calls[0].reason) == ("failed", "denied by rule 2")
    assert cells.run("%acp rules clear").text == "Revoked 2 remembered decisions.\n"
    session.prompt("notes/a")
    until(session, pending(1))
    session.cancel()


def test_an_answer_is_remembered_as_wide_as_it_is_chosen(cells: Cells, session: Session) -> None:
    turn = session.prompt("notes/a")
    until(session, pending(1))
    listed = cells.run("%acp approvals").lines
    assert listed[2:] == [
        "   --always --covers 1: wipe with exactly these arguments",
        "   --always --covers 2: wipe with path under notes/",
        '   --always --covers 3: wipe with path equal to "notes/a"',
        "   --always --covers 4: wipe with any arguments",
    ]
    cells.run("%acp approve --always --covers 2")
    turn.wait(20)
    assert cells.run("%acp rules").text == "1. allow wipe with path under notes/ (this session)\n"
    assert session.ask("notes/b", timeout=20).text == "wiped notes/b"
    turn = session.prompt("other")
    until(session, pending(1))
    cells.run("%acp deny --always --reason not that")
    assert turn.wait(20).text == "not that"
    assert cells.run("%acp rules").lines[1] == '2. deny wipe (path="other") (this session)'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("rules add", "this is used as %acp rules add WHAT TOOL [ARG]"),
        ("rules add permit wipe", "a rule cannot 'permit': use 'allow' or 'deny'"),
        ("rules add allow wipe path", "a rule about one argument needs its name and one of equals"),
        (
            "rules add allow wipe path --under a --matches b",
            "a rule about one argument needs its name and one",
        ),
        ("rules add allow wipe path --under a --scope moon", "'moon' is no scope: use session, folder, user"),
        ("rules add allow run command --command a; b", "'a; b' is not the beginning of one plain command"),
        ("rules add allow run token --equals k", "'token' is a secret, which a rule cannot name"),
        ('rules add allow run --args {"token": "k"} --scope user', "these arguments hold a secret"),
        ("rules add allow run --args [1]", "--args must hold arguments by name"),
        ("rules remove 7", "there is no rule 7: there are none"),
        ("rules remove", "this is used as %acp rules remove N [N…]"),
        ("approve --always --covers 9", "no request waits for approval"),
    ],
)
def test_mistakes_change_nothing(cells: Cells, session: Session, line: str, message: str) -> None:
    assert message in cells.fails(f"%acp {line}")
    assert list(session.rules) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--covers 1", "--covers goes with --always"),
        ("--always --covers 9", "--covers 9 is not offered: %acp approvals lists what is"),
        ("--always --scope moon", "'moon' is no scope: use session, folder, user"),
    ],
)
def test_a_mistake_answers_nothing(cells: Cells, session: Session, options: str, message: str) -> None:
    session.prompt("notes/a")
    until(session, pending(1))
    assert message in cells.fails(f"%acp approve {options}")
    assert len(session.permissions) == 1
    session.cancel()


def test_what_tab_suggests(cells: Cells, session: Session) -> None:
    session.rules.add("allow", "wipe")
    session.ask("a", timeout=20)
    assert suggestions("rules ", {})[1][:3] == ["add", "remove", "clear"]
    assert suggestions("rules add ", {})[1][:2] == ["allow", "deny"]
    assert suggestions("rules add deny ", {})[1][0] == "wipe"
    assert suggestions("rules add deny wipe --scope ", {})[1] == ["session", "folder", "user"]
    assert suggestions("rules remove ", {})[1] == ["1"]
    assert current() is session
