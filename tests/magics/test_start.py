"""`%acp start` and the live sessions."""

from __future__ import annotations

import pytest
from pydantic_ai import Agent, RunContext

from acp_notebook import Call, Say, ScriptedModel, current
from acp_notebook.notebook import sessions
from harness.cells import Cells

from .conftest import echo_agent


def test_an_agent_is_named_with_its_settings(cells: Cells) -> None:
    cells.variables["agent"] = echo_agent()
    assert cells.run("%acp start agent --mode plan --effort high").text == (
        "Session 'echo': model echo-script (a script, not a language model), mode plan, effort high\n"
    )


def test_what_can_be_started(cells: Cells) -> None:
    model = ScriptedModel(name="my-script")
    cells.variables |= {"factory": lambda: echo_agent(None), "model": model, "agent": echo_agent(None)}
    assert cells.run("%acp start factory").text.startswith("Session 'factory': model echo-script")
    assert cells.run("%acp start model").text.startswith("Session 'model': model my-script")
    assert cells.run("%acp start agent --model model --name mine").text.startswith(
        "Session 'mine': model my-script"
    )
    assert cells.run("%acp start test").text.startswith("Session 'test': model test,")
    assert cells.run("%acp start demo").text.startswith("Session 'demo': model scripted demo")
    assert cells.run("%acp start").text.startswith("Session 'demo': model scripted demo")
    assert cells.run("%acp start --model test --name t").text.startswith("Session 't': model test")


def test_deps_reach_the_tools(cells: Cells) -> None:
    model = ScriptedModel()

    @model.script()
    def script(turn: object):  # type: ignore[no-untyped-def]
        result = yield Call("look")
        yield Say(result.text)

    agent = Agent(model, deps_type=str)

    @agent.tool
    def look(ctx: RunContext[str]) -> str:
        return ctx.deps

    cells.variables |= {"agent": agent, "secret": "42"}
    assert "needs deps of type str: give them with --deps NAME" in cells.fails("%acp start agent")
    cells.run("%acp start agent --deps secret")
    assert cells.run("t = %acp ask go\nt.text").value == "42"
    assert (
        cells.fails("%acp start agent --deps secrte") == "there is no variable 'secrte': did you mean secret?"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "my_agnt",
            "'my_agnt' is neither a variable nor a model such as 'openai:gpt-5': did you mean my_agent?",
        ),
        ("gpt-5", "'gpt-5' is neither a variable nor a model such as 'openai:gpt-5'"),
        ("number", "variable 'number': int cannot be hosted: use a pydantic-ai Agent"),
        ("nobody:gpt-5", "model 'nobody:gpt-5' cannot be used"),
        ("openai:gpt-5", "model 'openai:gpt-5' cannot be used: Set the `OPENAI_API_KEY`"),
        ("my_agent --mode nope", "mode 'nope' is not offered: use ask, plan, agent"),
        ("my_agent --host moon", "there is no host 'moon': use 'kernel' or 'thread'"),
        ("my_agent other", "this is used as %acp start [AGENT]"),
    ],
)
def test_what_cannot_be_started_is_one_line_and_starts_nothing(cells: Cells, line: str, message: str) -> None:
    cells.variables |= {"my_agent": echo_agent(), "number": 3}
    assert message in cells.fails(f"%acp start {line}")
    assert sessions() == ()


def test_two_sessions_side_by_side(cells: Cells) -> None:
    cells.variables |= {"a": echo_agent(None), "b": echo_agent(None)}
    assert cells.run("%acp sessions").text == "There is no session: %acp start begins one.\n"
    cells.run("%acp start a\n%acp ask one\n%acp start b\n%acp plan add only b")
    listed = cells.run("%acp sessions").lines
    assert [line[:3] for line in listed] == ["  a", "* b"]
    assert "turn 1 end_turn" in listed[0]
    assert "plan 0 of 1 done" in listed[1]
    assert cells.run("%acp use a").text.startswith("Session 'a': model")
    assert len(cells.run("%acp plan").value) == 0
    assert cells.fails("%acp use c") == "there is no session 'c': the live ones are a, b"
    assert cells.run("%acp close").text == "Closed 'a'. %acp talks to 'b'.\n"
    assert cells.run("%acp close b").text == "Closed 'b'.\n"
    assert current() is None
    assert cells.fails("%acp close") == "there is no session to close"


def test_the_same_cell_run_again_starts_anew(cells: Cells) -> None:
    cells.variables["agent"] = echo_agent()
    cells.run("%acp start agent\n%acp plan add old")
    before = current()
    cells.run("%acp start agent")
    assert before is not current()
    assert before is not None and before.state.closed
    assert len(sessions()) == 1


def test_status_in_one_line(echo: Cells) -> None:
    assert echo.run("%acp status").text == (
        "echo: idle · model echo-script (a script, not a language model) · "
        "mode agent · effort default · plan empty\n"
    )
    echo.run("%acp ask hello\n%acp plan add Load\n%acp close")
    assert echo.run("%acp status").text.startswith("No session: %acp start AGENT begins one")


def test_names_that_mislead_are_shown_as_they_are(cells: Cells) -> None:
    started = cells.run("%acp start demo --name a\u202eb").text
    assert "a\\u202eb" in started
    assert cells.run("%acp status").text.startswith("a[U+202E]b: idle")


def test_the_session_is_the_value_of_acp_alone(cells: Cells) -> None:
    shown = cells.run("s = %acp\ns")
    assert shown.value is current()
    assert shown.lines[0].startswith("Session 'demo': model scripted demo")
    assert "1. Load" in cells.run("%acp plan add Load\n%acp").text


def test_on_unattended_is_a_setting_of_the_magics(cells: Cells) -> None:
    from .conftest import gated_agent

    cells.variables["agent"] = gated_agent()
    cells.run("%acp start agent")
    cells.run('%config AcpMagics.on_unattended = "allow"')
    assert cells.run("t = %acp ask go\nt.text").value == "sent to person 1 with sk-123"
    cells.run("%acp start agent")
    assert cells.run("t = %acp ask go\nt.text").value == "sent to person 1 with sk-123"
    assert "deny" in cells.run("%config AcpMagics").text
