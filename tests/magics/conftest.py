"""Cells to run the magics in, and agents to talk to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, Tool

from acp_notebook import Call, Say, ScriptedModel
from harness.cells import Cells, started


@pytest.fixture
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cells]:
    """A shell with the extension loaded, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    with started() as shell:
        shell.run_line_magic("load_ext", "acp_notebook")
        yield Cells(shell)


def echo_agent(name: str | None = "echo") -> Agent[None, str]:
    """Answers with the prompt."""
    model = ScriptedModel(name="echo-script")

    @model.script()
    def script(turn: Any) -> Any:
        yield Say(turn.prompt)

    return Agent(model, name=name)


def gated_agent(calls: int = 1) -> Agent[None, str]:
    """Calls a tool that must be approved, so many times at once, and answers with the results."""
    model = ScriptedModel(name="gated-script")

    @model.script()
    def script(turn: Any) -> Any:
        results = yield [Call("send", to=f"person {n}", api_key="sk-123") for n in range(1, calls + 1)]
        yield Say(" ".join(result.text for result in results))

    def send(to: str, api_key: str) -> str:
        return f"sent to {to} with {api_key}"

    return Agent(model, name="gated", tools=[Tool(send, requires_approval=True)])


@pytest.fixture
def echo(cells: Cells) -> Cells:
    """Cells with a session on an agent that answers with the prompt."""
    cells.variables["agent"] = echo_agent()
    cells.run("%acp start agent")
    return cells


@pytest.fixture
def waiting(cells: Cells) -> Iterator[Cells]:
    """Cells with a turn that waits for two approvals."""
    from acp_notebook import current
    from harness.sessions import pending, until

    cells.run('%config AcpMagics.on_unattended = "wait"')
    cells.variables["agent"] = gated_agent(2)
    cells.run("%acp start agent")
    cells.run("%acp ask --bg --out turn go")
    session = current()
    assert session is not None
    until(session, pending(2))
    yield cells
    session.cancel()
