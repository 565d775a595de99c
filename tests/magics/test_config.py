"""`%acp mode`, `effort` and `config` print what is in effect."""

from __future__ import annotations

from acp_notebook import current
from harness.cells import Cells


def test_the_value_in_effect_and_the_choices(echo: Cells) -> None:
    lines = echo.run("%acp mode").lines
    assert lines[0] == "Mode: agent"
    assert [line[:7] for line in lines[1:]] == ["  ask  ", "  plan ", "* agent"]
    assert echo.run("%acp mode plan").text == "Mode: plan\n"
    assert echo.run("%acp effort high").text == "Thinking: high\n"
    assert "* high " in echo.run("%acp effort").text
    session = current()
    assert session is not None
    assert (session.mode, session.effort) == ("plan", "high")


def test_all_settings(echo: Cells) -> None:
    assert echo.run("%acp config").lines == [
        "mode = agent  (ask, plan, agent)",
        "thinking = default  (default, off, minimal, low, medium, high, xhigh)",
        "plan_generation_type = structured  (structured, tools)",
    ]
    assert echo.run("%acp config thinking low").text == "thinking = low\n"
    assert echo.run("%acp config thinking").lines[0] == "Thinking: low"


def test_mistakes_name_what_is_offered(echo: Cells) -> None:
    assert echo.fails("%acp mode agnet") == "mode 'agnet' is not offered: use ask, plan, agent"
    assert "effort 'huge' is not offered: use default, off" in echo.fails("%acp effort huge")
    assert echo.fails("%acp config model x") == (
        "there is no option 'model': this session has mode, thinking, plan_generation_type"
    )
    assert echo.fails("%acp config a b c") == "this is used as %acp config [ID [VALUE]]"
