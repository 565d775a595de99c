"""`%acp ask`: the text as typed, the turn as the value, settings for one turn, attachments, and failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel

from acp_notebook import Session, Turn, current
from acp_notebook.errors import TurnFailed
from harness.cells import Cells
from harness.sessions import pending, until


def session_of(cells: Cells) -> Session:
    session = current()
    assert session is not None
    return session


def test_the_turn_is_the_value_and_is_shown_once(echo: Cells) -> None:
    ran = echo.run('%acp ask it\'s {x} $y "odd"')
    assert isinstance(ran.value, Turn)
    assert ran.value.prompt == 'it\'s {x} $y "odd"'
    assert ran.text.count("You: it's") == 1


def test_it_can_be_assigned_looped_and_used_in_functions(echo: Cells) -> None:
    echo.run("for n in range(2):\n    t = %acp ask again\nwith open('x', 'w'):\n    u = %acp ask inside")
    assert [t.text for t in session_of(echo).turns] == ["again", "again", "inside"]
    assert (
        echo.run("def f():\n    t = %acp ask in a function\n    return t.text\nf()").value == "in a function"
    )


def test_a_cell_is_the_prompt(echo: Cells) -> None:
    prompt = "Line one\n  %acp is not a magic here {x}\n\nLine #2?"
    for line in ("%%acp", "%%acp ask", "%%acp --mode plan"):
        echo.run(f"{line}\n{prompt}\n")
        assert session_of(echo).turns[-1].prompt == prompt
    echo.run("%%acp ask Look at this:\nx = 1\n")
    assert session_of(echo).turns[-1].prompt == "Look at this:\n\nx = 1"


def test_out_stores_the_turn(echo: Cells) -> None:
    echo.run("%acp ask --out turn hello")
    assert echo.run("turn.text").value == "hello"
    assert echo.fails("%acp ask --out a.b hello") == "--out 'a.b' is not a name for a variable"
    assert echo.fails("%acp ask --out class hello") == "--out 'class' is not a name for a variable"


def test_an_empty_prompt_starts_nothing(cells: Cells) -> None:
    for cell in ("%acp ask", "%acp ask --bg", "%%acp\n \n"):
        assert cells.fails(cell).startswith("the prompt is empty")
    assert current() is None


def test_mode_and_effort_hold_for_this_turn(echo: Cells) -> None:
    session = session_of(echo)
    seen: list[tuple[str | None, str | None]] = []
    stop = session.subscribe(lambda state, event: seen.append((session.mode, session.effort)))
    echo.run("%acp ask --mode plan --effort high hello")
    stop()
    assert ("plan", "high") in seen
    assert (session.mode, session.effort) == ("agent", "default")


def test_a_setting_changed_during_the_turn_stays(waiting: Cells) -> None:
    session = session_of(waiting)
    waiting.run("%acp cancel")
    session.turns[-1].wait(20)
    waiting.run("%acp ask --bg --mode agent --effort high go")
    until(session, pending(2))
    waiting.run("%acp effort low")
    session.cancel()
    session.turns[-1].wait(20)
    assert (session.mode, session.effort) == ("agent", "low")


def test_an_unknown_mode_sends_nothing(echo: Cells) -> None:
    assert "mode 'nope' is not offered: use ask, plan, agent" in echo.fails(
        "%acp ask --effort high --mode nope x"
    )
    assert session_of(echo).turns == ()
    assert session_of(echo).effort == "default"


def test_a_prompt_while_a_turn_runs_is_one_line_and_changes_nothing(waiting: Cells) -> None:
    line = waiting.fails("%acp ask --mode plan --effort high --out turn hello")
    assert line.startswith("a turn is running: wait for it")
    session = session_of(waiting)
    assert (session.mode, session.effort, len(session.turns)) == ("agent", "default", 1)
    assert waiting.run("turn.number").value == 1


def test_in_the_background_it_returns_at_once(waiting: Cells) -> None:
    session = session_of(waiting)
    assert session.turns[-1].running
    assert waiting.run("turn").value is session.turns[-1]
    assert waiting.run("%acp cancel").lines[0] == "Cancelling turn 1 of 'gated'."
    assert session.turns[-1].wait(20).stop_reason == "cancelled"
    assert waiting.run("%acp cancel").lines[0] == "No turn is running."


def test_approve_lets_the_calls_of_this_turn_run(cells: Cells) -> None:
    from .conftest import gated_agent

    cells.variables["agent"] = gated_agent()
    cells.run("%acp start agent")
    assert "nobody is there to approve it" in cells.run("t = %acp ask go\nt.text").value
    assert cells.run("t = %acp ask --approve go\nt.text").value == "sent to person 1 with sk-123"
    assert "nobody is there to approve it" in cells.run("t = %acp ask go\nt.text").value


# -- failures --------------------------------------------------------------------------------------------


def failing_agent() -> Agent[None, str]:
    async def fail(messages: Any, info: Any) -> Any:
        raise ConnectionError("the provider hung up\nwith details")
        yield ""

    return Agent(FunctionModel(stream_function=fail), name="failing")


def test_a_failed_turn_fails_the_cell_in_one_line(cells: Cells) -> None:
    cells.variables["agent"] = failing_agent()
    cells.run("%acp start agent")
    ran = cells.try_run("%acp ask --out turn hello")
    assert isinstance(ran.error, TurnFailed)
    assert "ConnectionError: the provider hung up" in ran.text
    assert "Traceback" not in ran.text
    assert ran.lines.count("TurnFailed: ConnectionError: the provider hung up") == 1
    assert cells.run("turn.stop_reason").value == "error"
    assert "with details" in cells.run("%acp debug").text
    assert "with details" in cells.run("%acp log").text
    cells.variables["TurnFailed"] = TurnFailed
    cells.run("try:\n    %acp ask hello\nexcept TurnFailed as e:\n    seen = e")
    assert "hung up" in str(cells.variables["seen"])


def test_the_unexpected_is_one_line_with_the_rest_in_the_log(cells: Cells) -> None:
    def factory() -> None:
        raise ZeroDivisionError("no agent\ntoday")

    cells.variables["factory"] = factory
    line = cells.fails("%acp start factory")
    assert line == "ZeroDivisionError: no agent today (%acp debug shows all of it)"
    assert "in factory" in cells.run("%acp debug").text
    assert "ZeroDivisionError: no agent" in cells.run("%acp log 1 --level error").text


# -- attachments -----------------------------------------------------------------------------------------


class Frame:
    """As a pandas table: long, with its own Markdown."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def head(self, rows: int) -> Frame:
        return Frame(rows)

    def to_markdown(self) -> str:
        return f"| {self.rows} rows |"


class Untidy(Frame):
    """As pandas without tabulate."""

    def to_markdown(self) -> str:
        raise ImportError("tabulate")

    def __repr__(self) -> str:
        return "an untidy table"


def prompt(cells: Cells, line: str) -> str:
    cells.run(line)
    return session_of(cells).turns[-1].prompt


def test_variables_and_files_follow_the_prompt(echo: Cells) -> None:
    Path("notes.md").write_text("# Übung\n", encoding="utf-8")
    echo.variables |= {"text": "some text", "table": Frame(3), "numbers": [1, 2], "untidy": Untidy(3)}
    assert prompt(echo, "%acp ask --attach text,notes.md What is it?") == (
        "What is it?\n\n`text` (str):\n```\nsome text\n```\n\n`notes.md`:\n```md\n# Übung\n```"
    )
    assert prompt(echo, "%acp ask --attach table numbers untidy -- Go").endswith(
        "`table` (Frame):\n```\n| 3 rows |\n```\n\n`numbers` (list):\n```\n[1, 2]\n```"
        "\n\n`untidy` (Untidy):\n```\nan untidy table\n```"
    )
    assert prompt(echo, "%%acp --attach text numbers\nGo\n").startswith("Go\n\n`text` (str):")


def test_what_is_long_is_cut_and_said(echo: Cells) -> None:
    echo.variables |= {"table": Frame(12_345), "text": "x" * 30_000, "fenced": "```\ncode\n```"}
    assert "`table` (Frame, the first 100 of 12,345 rows):\n```\n| 100 rows |" in prompt(
        echo, "%acp ask --attach table a"
    )
    sent = prompt(echo, "%acp ask --attach text a")
    assert "`text` (str), the first 20,000 of 30,000 characters:" in sent
    assert len(sent) < 20_100
    assert "````\n```\ncode\n```\n````" in prompt(echo, "%acp ask --attach fenced a")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tabel", "--attach 'tabel' is neither a variable nor a file: did you mean table?"),
        (
            "nothing",
            "--attach 'nothing' is neither a variable nor a file: a text that follows names begins after --",
        ),
        ("latin.txt", "'latin.txt' is not UTF-8 text: byte 0xdc at offset 0"),
        (".", "'.' is a folder: name a file in it"),
    ],
)
def test_what_cannot_be_attached_sends_nothing(echo: Cells, name: str, message: str) -> None:
    echo.variables["table"] = 1
    Path("latin.txt").write_bytes(b"\xdcbung")
    assert echo.fails(f"%acp ask --attach {name} Go") == message
    assert session_of(echo).turns == ()
