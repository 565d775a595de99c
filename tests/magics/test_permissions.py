"""`%acp approvals`, `approve` and `deny`."""

from __future__ import annotations

import pytest

from acp_notebook import Call, Say, ScriptedModel, Session, Turn, current
from harness.cells import Cells


@pytest.fixture
def session(waiting: Cells) -> Session:
    found = current()
    assert found is not None
    return found


def answer(session: Session) -> str:
    turn: Turn = session.turns[-1].wait(20)
    return turn.text


def test_requests_are_listed_with_all_arguments_and_no_secrets(waiting: Cells) -> None:
    text = waiting.run("%acp approvals").text
    assert "1. send, waits for" in text
    assert '   to = "person 1"' in text
    assert '   api_key = "••••••"' in text
    assert "2. send" in text
    assert "sk-123" not in text


def test_the_oldest_is_answered_by_default_and_the_next_by_number(waiting: Cells, session: Session) -> None:
    assert waiting.run("%acp deny 2 --reason don't: she left").text.startswith('Denied send(to="person 2"')
    ran = waiting.run("%acp approve --note fine with me")
    assert ran.text == 'Allowed send(to="person 1", api_key="••••••")\n'
    assert answer(session) == "sent to person 1 with sk-123 don't: she left"
    assert waiting.run("%acp approvals").text == "No request waits for approval.\n"


def test_what_waits_is_said(waiting: Cells) -> None:
    assert waiting.run("%acp approve").lines[-1] == "1 more waits: %acp approvals"


def test_arguments_can_be_changed_and_masked_ones_stay(waiting: Cells, session: Session) -> None:
    waiting.run('%acp approve 1 --args {"to": "Ada Lovelace", "api_key": "••••••"}')
    waiting.run("mine = {'to': 'Bob', 'api_key': 'k'}\n%acp approve --var mine")
    assert answer(session) == "sent to Ada Lovelace with sk-123 sent to Bob with k"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("approve 3", "there is no request 3: use 1 to 2 (%acp approvals)"),
        ("approve x", "'x' is not a number"),
        ("approve 1 2", "this is used as %acp approve [N]"),
        ("deny 0", "there is no request 0: use 1 to 2 (%acp approvals)"),
        ("approve --args [1]", "--args must hold arguments by name, such as {"),
        ("approve --var nothing", "there is no variable 'nothing'"),
        ("approve --var In", "variable 'In' must hold arguments by name"),
        ('approve --args {"to": "x"} --var In', "give the arguments as --args JSON or --var NAME, not both"),
    ],
)
def test_mistakes_answer_nothing(waiting: Cells, session: Session, line: str, message: str) -> None:
    assert message in waiting.fails(f"%acp {line}")
    assert len(session.permissions) == 2


def test_nothing_to_answer(cells: Cells) -> None:
    assert cells.fails("%acp approve") == "no request waits for approval"
    assert cells.fails("%acp deny") == "no request waits for approval"
    assert current() is None


def test_misleading_characters_are_shown(cells: Cells) -> None:
    from pydantic_ai import Agent, Tool

    from harness.sessions import pending, until

    model = ScriptedModel()

    @model.script()
    def script(turn: object):  # type: ignore[no-untyped-def]
        yield Call("run", command="rm \u202egpj.tac")
        yield Say("done")

    cells.variables["agent"] = Agent(
        model, tools=[Tool(lambda command: command, name="run", requires_approval=True)]
    )
    cells.run('%config AcpMagics.on_unattended = "wait"\n%acp start agent\n%acp ask --bg go')
    session = current()
    assert session is not None
    until(session, pending(1))
    assert "rm [U+202E]gpj.tac" in cells.run("%acp approvals").text
    session.cancel()
