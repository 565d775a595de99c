"""One table for dispatch, help, docs and completion."""

from __future__ import annotations

import re

import pytest

from acp_notebook.magics.complete import suggestions
from acp_notebook.magics.table import COMMANDS
from harness.cells import Cells


def test_the_help_lists_each_subcommand_once(cells: Cells) -> None:
    text = cells.run("%acp help").text
    for command in COMMANDS.values():
        names = re.findall(rf"^  %acp {re.escape(command.name)}(?: [A-Z\[].*?)?  +(\S.*)$", text, re.M)
        if command.name:
            assert names == [command.summary], command.name
    assert all(len(line) <= 110 for line in text.splitlines())


@pytest.mark.parametrize("question", ["%acp?", "%%acp?", "%acp ?", "%acp --help"])
def test_a_question_mark_shows_the_same_table(cells: Cells, question: str) -> None:
    assert "%acp plan export [PATH]" in cells.run(question).text


@pytest.mark.parametrize("name", [name for name in COMMANDS if name])
def test_each_subcommand_explains_itself_in_three_ways(cells: Cells, name: str) -> None:
    text = cells.run(f"%acp help {name}").text
    assert text.startswith(COMMANDS[name].usage)
    assert COMMANDS[name].summary
    for option in COMMANDS[name].options:
        assert f"  {option.usage}" in text
    assert cells.run(f"%acp {name} --help").text in text
    assert cells.run(f"%acp {name}?").text in text


def test_help_for_a_group_lists_what_is_in_it(cells: Cells) -> None:
    assert "%acp plan move N TO" in cells.run("%acp help plan").text


def test_help_for_what_is_not_there(cells: Cells) -> None:
    assert cells.fails("%acp help moon") == "there is no %acp moon: %acp help lists what there is"
    assert cells.fails("%acp help aks") == "there is no %acp aks: did you mean ask?"


def test_completion_offers_the_same_subcommands() -> None:
    assert suggestions("", {})[1] == list(dict.fromkeys(name.split()[0] for name in COMMANDS if name))


def test_slash_commands_are_listed_and_completed(echo: Cells) -> None:
    text = echo.run("%acp help").text
    assert re.search("^  /plan  +Writes the plan, with the tools that only read[.]$", text, re.M)
    assert re.search(r"^  /mode \[ask\|plan\|agent\]  +Shows or sets Mode[.]$", text, re.M)
    assert suggestions("ask /", {})[1][:4] == ["/ask", "/plan", "/agent", "/mode"]
    assert suggestions("ask /p", {}) == ("/p", ["/plan", "/plan_generation_type"])
    assert suggestions("ask --mode plan /ef", {}) == ("/ef", ["/effort"])
    assert suggestions("ask /effort h", {}) == ("h", ["high"])
    for text in ("ask /plan ", "ask /effort high ", "ask what is /p", "ask /nothing "):
        assert suggestions(text, {})[1] == []
    assert suggestions("ask ", {})[1][0].startswith("--")
    assert echo.run("%acp ask /plan").value.text == "Mode: Plan."
    assert echo.run("%acp mode").lines[0] == "Mode: plan"
