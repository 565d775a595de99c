"""Slash commands: what is one, what it does, and that everything else goes to the model."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import Agent

from acp_notebook import (
    AdapterConfig,
    AvailableCommand,
    PrepareToolsMode,
    Say,
    ScriptedModel,
    Session,
    SlashCommandRequest,
    SlashCommandResult,
)
from acp_notebook.errors import TurnFailed
from acp_notebook.protocol.messages import ConfigOption, Notice, Usage
from harness.sessions import until

Hosted = Callable[..., Session]


def echo() -> ScriptedModel:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Say(f"{turn.number}: {turn.prompt}")

    return model


class Options:
    """The host's own option, a switch that is set when `release` is."""

    def __init__(self) -> None:
        self.fast = False
        self.refuses = False

    def get_config_options(self, session: Any, agent: Any) -> list[ConfigOption]:
        return [ConfigOption("fast", "Fast", "", self.fast, type="boolean")]

    async def set_config_option(self, session: Any, agent: Any, config_id: str, value: Any) -> None:
        if self.refuses:
            raise RuntimeError("not today")
        self.fast = value


class Commands:
    """The host's own commands; `deploy` waits for `release`."""

    def __init__(self, *commands: AvailableCommand, later: bool = False) -> None:
        self.commands = list(commands)
        self.later = later
        self.requests: list[SlashCommandRequest] = []
        self.answer: Any = SlashCommandResult(text="**Done.**")
        self.hold: Any = None

    def available_commands(self, session: Any, agent: Any) -> Any:
        async def answer() -> Any:
            return self.commands

        return answer() if self.later else self.commands

    async def handle_command(self, request: SlashCommandRequest) -> Any:
        self.requests.append(request)
        if self.hold is not None:
            await self.hold()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


DEPLOY = AvailableCommand("deploy", "Puts it online.", "where")
STATUS = AvailableCommand("health", "Says how it is.")


# -- the session's own -----------------------------------------------------------------------------------


def test_each_mode_and_each_option_is_a_command(hosted: Hosted) -> None:
    session = hosted(echo(), config=AdapterConfig(config_options_provider=Options()))
    commands = {command.name: command for command in session.commands}
    assert list(commands) == ["ask", "plan", "agent", "mode", "effort", "plan_generation_type", "fast"]
    assert commands["plan"].description == "Writes the plan, with the tools that only read."
    assert (commands["plan"].hint, commands["mode"].hint) == (None, "ask|plan|agent")
    assert commands["fast"].hint == "on|off"


@pytest.mark.parametrize(
    ("prompt", "said", "settings"),
    [
        ("/plan", "Mode: Plan.", ("plan", "default", "structured", False)),
        ("  /ask \n", "Mode: Ask.", ("ask", "default", "structured", False)),
        ("/mode ask", "Mode: Ask.", ("ask", "default", "structured", False)),
        ("/effort high", "Thinking: High.", ("agent", "high", "structured", False)),
        ("/thinking   low", "Thinking: Low.", ("agent", "low", "structured", False)),
        ("/plan_generation_type tools", "Plan generation: Tools.", ("agent", "default", "tools", False)),
        ("/fast on", "Fast: on.", ("agent", "default", "structured", True)),
        ("/mode", "Mode: Agent. Choices: ask, plan, agent.", ("agent", "default", "structured", False)),
        ("/fast", "Fast: off. Choices: on, off.", ("agent", "default", "structured", False)),
    ],
)
def test_a_command_sets_or_shows_and_no_model_hears_of_it(
    hosted: Hosted, prompt: str, said: str, settings: tuple[Any, ...]
) -> None:
    session = hosted(echo(), config=AdapterConfig(config_options_provider=Options()))
    turn = session.ask(prompt)
    assert (turn.prompt, turn.text, turn.output, turn.stop_reason) == (prompt, said, said, "end_turn")
    assert turn.usage == Usage()
    ids = ("mode", "thinking", "plan_generation_type", "fast")
    assert tuple(next(o.current for o in session.config_options if o.id == id_) for id_ in ids) == settings
    assert not any(isinstance(item, Notice) for item in turn.state.items)  # nobody else has done it
    assert session.ask("go").text == "1: go"  # the first prompt that the model hears of


@pytest.mark.parametrize(
    "prompt",
    [
        "/tools are broken, why?",
        "/plan the analysis",
        "/planning",
        "/Plan",
        "/effort huge",
        "/effort high please",
        "/mode ask plan",
        "/fast maybe",
        "plan",
        "please /plan",
        "/plan\n\nand then work",
        "/",
        "//plan",
        "/ plan",
        "/tmp/plan.md is broken",
    ],
)
def test_everything_else_goes_to_the_model_as_it_is(hosted: Hosted, prompt: str) -> None:
    session = hosted(echo(), config=AdapterConfig(config_options_provider=Options()))
    before = session.config_options
    assert session.ask(prompt).text == f"1: {prompt}".strip()
    assert session.config_options == before


def test_modes_come_before_options_of_the_same_name(hosted: Hosted) -> None:
    modes = [
        PrepareToolsMode(id=id_, name=id_, prepare_func=lambda ctx, tools: None) for id_ in ("slow", "fast")
    ]
    session = hosted(echo(), modes=modes, config=AdapterConfig(config_options_provider=Options()))
    assert [command.name for command in session.commands].count("fast") == 1
    assert session.ask("/fast").text == "Mode: fast."
    assert session.ask("/fast on").text == "Fast: on."  # a mode takes no argument
    assert session.mode == "fast"


def test_a_model_is_chosen_at_once(hosted: Hosted) -> None:
    session = hosted(echo(), models=[("other", ScriptedModel(name="other"))])
    turn = session.ask("/model other")
    assert turn.text == "Model: other." and session.state.model == "other"
    assert not any(isinstance(item, Notice) for item in turn.state.items)


def test_what_is_refused_ends_the_turn_in_a_line(hosted: Hosted) -> None:
    options = Options()
    session = hosted(echo(), config=AdapterConfig(config_options_provider=options))
    options.refuses = True
    with pytest.raises(TurnFailed, match="Fast: True was refused: RuntimeError: not today"):
        session.ask("/fast on")
    assert session.ask("go").text == "1: go"


# -- the host's own --------------------------------------------------------------------------------------


@pytest.mark.parametrize("later", [False, True])
def test_a_hosts_command(hosted: Hosted, later: bool) -> None:
    commands = Commands(DEPLOY, STATUS, later=later)
    session = hosted(echo(), config=AdapterConfig(slash_command_provider=commands), name="host's")
    until(session, lambda state: DEPLOY in state.commands)
    assert session.commands[-2:] == (DEPLOY, STATUS)
    assert session.ask("/deploy to the\nmoon").text == "**Done.**"
    assert session.ask("/health").text == "**Done.**"
    first, second = commands.requests
    assert (first.name, first.argument, first.raw_prompt) == (
        "deploy",
        "to the\nmoon",
        "/deploy to the\nmoon",
    )
    assert (second.name, second.argument) == ("health", None)
    assert first.session.config_values["mode"] == "agent" and isinstance(first.agent, Agent)
    assert session.ask("/health of the moon").text == "1: /health of the moon"  # which takes no argument
    commands.answer = None
    assert session.ask("/health").text == "2: /health"
    commands.answer = SlashCommandResult(handled=False)
    assert session.ask("/health").text == "3: /health"
    commands.answer = SlashCommandResult()
    assert session.ask("/health").text == ""
    commands.commands.pop()
    session.ask("go")
    until(session, lambda state: STATUS not in state.commands)
    assert session.ask("/health").text == "5: /health"


def test_the_sessions_own_commands_come_first(hosted: Hosted) -> None:
    commands = Commands(AvailableCommand("plan", "Mine."), DEPLOY)
    session = hosted(echo(), config=AdapterConfig(slash_command_provider=commands))
    assert [command.name for command in session.commands].count("plan") == 1
    assert session.ask("/plan").text == "Mode: Plan." and commands.requests == []


def test_a_hosts_command_that_fails_or_waits_ends_alone(hosted: Hosted) -> None:
    commands = Commands(STATUS)
    session = hosted(echo(), config=AdapterConfig(slash_command_provider=commands))
    commands.answer = RuntimeError("no network\nat all")
    with pytest.raises(TurnFailed, match="RuntimeError: no network"):
        session.ask("/health")
    started = threading.Event()

    async def forever() -> None:
        started.set()
        await asyncio.Event().wait()

    commands.hold = forever
    turn = session.prompt("/health")
    assert started.wait(20)
    session.cancel()
    assert turn.wait(20).stop_reason == "cancelled"
    assert session.ask("go").text == "1: go"


@pytest.mark.parametrize(
    ("commands", "why"),
    [
        (None, "TypeError: 'NoneType' object is not iterable"),
        (["deploy"], "'deploy' is none: use AvailableCommand(name, description)"),
        ([AvailableCommand("two words", "")], "is none: use AvailableCommand(name, description)"),
    ],
)
def test_commands_that_cannot_be_are_left_out_with_a_line(hosted: Hosted, commands: Any, why: str) -> None:
    provider = Commands(STATUS)
    provider.commands = commands
    session = hosted(echo(), config=AdapterConfig(slash_command_provider=provider))
    [line] = [item.text for item in session.state.outside if isinstance(item, Notice)]
    assert line.startswith("the host's slash commands could not be read, so the last ones stand: ")
    assert why in line
    assert session.ask("/plan").text == "Mode: Plan."
