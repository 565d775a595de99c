"""Settings that the agent changes by itself, from the line on the wire to what a person sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from acp_notebook.kernel.host import ThreadHost
from acp_notebook.protocol import v1, v2
from acp_notebook.protocol.messages import (
    AgentMessageChunk,
    ConfigOption,
    ConfigOptionUpdate,
    ConfigValue,
    CurrentModeUpdate,
    Notice,
    UserMessage,
)
from acp_notebook.session.reduce import reduce
from acp_notebook.session.state import Message, SessionState
from acp_notebook.views.settings import settings
from harness.puppet import PuppetSession

CODE = ConfigOption(
    "mode", "Mode", "mode", "plan", (ConfigValue("plan", "Plan"), ConfigValue("code", "Code"))
)


@pytest.fixture
def session(no_threads_left: None) -> Iterator[PuppetSession]:
    session = PuppetSession(ThreadHost(), (CODE,))
    yield session
    session.close()


def line(update: Any) -> str:
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}}
    return json.dumps(message)


def selectors(session: PuppetSession) -> str:
    return "".join(part.html for part in settings(session.state.config, "settings", True))


CHANGES = [
    {"sessionUpdate": "current_mode_update", "currentModeId": "code"},
    {
        "sessionUpdate": "config_option_update",
        "configOptions": [
            {
                "id": "mode",
                "name": "Mode",
                "category": "mode",
                "type": "select",
                "currentValue": "code",
                "options": [{"value": "plan", "name": "Plan"}, {"value": "code", "name": "Code"}],
            }
        ],
    },
]


@pytest.mark.parametrize("change", CHANGES, ids=["v1", "v2"])
def test_cfg_01_agent_changes_mode(session: PuppetSession, change: Any) -> None:
    sent_back: list[Any] = []
    session.puppet.set_config = lambda *arguments: sent_back.append(arguments)  # type: ignore
    session.prompt("go")
    session.send(*v1.read(json.loads(line(change))["params"]))
    assert session.mode == "code"
    assert '<option value="code" selected>Code</option>' in selectors(session)
    assert 'value="plan" selected' not in selectors(session)
    assert session.turns[0].state.items == (Notice("The agent changed Mode to Code."),)
    session.send(*v2.read(json.loads(line(change))["params"]))  # said again
    assert len(session.turns[0].state.items) == 1
    assert sent_back == []


def test_a_mode_that_is_not_text_changes_nothing(session: PuppetSession) -> None:
    session.send(*v1.read({"update": {"sessionUpdate": "current_mode_update", "currentModeId": 3}}))
    assert session.mode == "plan" and session.state.faults == {"update refused": 1}


def test_a_mode_that_nobody_knows_is_shown_as_it_is(session: PuppetSession) -> None:
    session.send(CurrentModeUpdate("dream"))
    assert session.mode == "dream" and '<option value="dream" selected>dream</option>' in selectors(session)
    [note] = session.state.outside
    assert note == Notice("The agent changed Mode to dream.")


def test_only_what_the_agent_set_is_said_and_each_option_once() -> None:
    fast = ConfigOption("fast", "Fast", "", True, type="boolean")
    state = reduce(SessionState("s", "s", "m"), ConfigOptionUpdate((CODE, fast), "agent"))
    assert state.outside == ()  # nothing was there before that could have changed
    state = reduce(reduce(state, UserMessage("go", "m1")), AgentMessageChunk("I begin."))
    other = ConfigOption("mode", "Mode", "mode", "code", CODE.values)
    off = ConfigOption("fast", "Fast", "", False, type="boolean")
    assert reduce(state, ConfigOptionUpdate((other, off))).turns == state.turns
    state = reduce(reduce(state, ConfigOptionUpdate((other, off), "agent")), AgentMessageChunk("I go on."))
    assert state.turns[0].items == (
        Message("I begin."),
        Notice("The agent changed Mode to Code."),
        Notice("The agent changed Fast to off."),
        Message("I go on."),
    )


def test_a_session_without_modes_has_none_after_the_update() -> None:
    state = SessionState("s", "s", "m")
    assert reduce(state, CurrentModeUpdate("code")) == state
