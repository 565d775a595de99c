"""`%acp mode`, `effort`, `model` and `config` print what is in effect."""

from __future__ import annotations

from typing import Any

import pytest

from acp_notebook import AdapterConfig, ConfigOption, ConfigValue, Session, current
from acp_notebook.magics.complete import suggestions
from harness.cells import Cells

from .conftest import echo_agent


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


class HostsOptions:
    """A switch, one that stays on, a value that can only be shown, and many values in two groups."""

    def __init__(self) -> None:
        self.web = False

    def get_config_options(self, *_: Any) -> list[ConfigOption]:
        sizes = [ConfigValue(f"s{n}", f"Size {n}", group="Even" if n % 2 == 0 else "Odd") for n in range(70)]
        return [
            ConfigOption("web", "Web search", "", self.web, type="boolean"),
            ConfigOption("safe", "Safe", "", True, type="boolean", description="Always on."),
            ConfigOption("_x", "Vendor", "_vendor", 3, type="slider"),
            ConfigOption("size", "Size", "model_config", "s3", tuple(sizes)),
        ]

    def set_config_option(self, session: Any, agent: Any, config_id: str, value: Any) -> None:
        if config_id == "web":
            self.web = value


@pytest.fixture
def rich(cells: Cells) -> Cells:
    """Cells with a session that has models to choose from and options of the host's own."""
    models = [("fast", echo_agent().model), "openai:gpt-5"]
    Session(echo_agent(), models=models, config=AdapterConfig(config_options_provider=HostsOptions()))
    return cells


def test_a_session_without_models_to_choose(echo: Cells) -> None:
    assert echo.fails("%acp model") == (
        "this session has no models to choose from: give them with Session(agent, models=[…])"
    )


def test_model_of_the_next_turn(rich: Cells) -> None:
    assert rich.run("%acp model").lines == [
        "Model: echo-script",
        "* echo-script   echo-script",
        "  fast          fast",
        "  openai:gpt-5  openai:gpt-5",
    ]
    assert rich.run("%acp model fast").text == "Model: fast\n"
    assert (
        rich.fails("%acp model quick") == "model 'quick' is not offered: use echo-script, fast, openai:gpt-5"
    )
    assert suggestions("model ", {}) == ("", ["echo-script", "fast", "openai:gpt-5"])


def test_options_of_all_kinds(rich: Cells) -> None:
    lines = rich.run("%acp config").lines
    assert lines[-4:-1] == ["web = off  (on, off)", "safe = on  (on, off)", "_x = 3  (can only be shown)"]
    assert lines[-1] == f"size = s3  ({', '.join(f's{n}' for n in range(12))}, … 58 more)"
    assert rich.run("%acp config web on").text == "web = on\n"
    assert rich.run("%acp config safe off").text == "safe = on ('off' was not taken)\n"
    assert rich.fails("%acp config web maybe") == "'maybe' is neither on nor off"
    assert rich.fails("%acp config _x 4") == "option '_x' is of type 'slider', which can only be shown"
    assert "use s40, s4, " in rich.fails("%acp config size s400")
    listed = rich.run("%acp config size").lines
    assert (listed[0], listed[4], listed[-1]) == ("Size: s3", "* s3   Odd: Size 3", "  … and 10 more")
    assert rich.run("%acp config safe").lines == ["Safe: on", "Always on."]
