"""The host's own options: what its provider has, and what is said when it does something else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai import Agent

from acp_notebook import (
    AcpSessionContext,
    AdapterConfig,
    Call,
    ConfigOption,
    ConfigValue,
    Say,
    ScriptedModel,
    Session,
)
from acp_notebook.errors import ConfigError
from acp_notebook.log import recent
from acp_notebook.protocol.messages import Notice
from harness.sessions import until

Hosted = Callable[..., Session]
Json = dict[str, Any]

SPEED = ConfigOption(
    "speed", "Speed", "model_config", "slow", (ConfigValue("slow", "Slow"), ConfigValue("fast", "Fast"))
)
WEB = {"id": "web", "name": "Web search", "type": "boolean", "currentValue": True}
SLIDER = {"id": "_x", "name": "Vendor", "category": "_vendor", "type": "slider", "currentValue": 3}


class Provider:
    """Keeps its options by id. `refuse` has what it raises, `keep` the ids that it does not change."""

    def __init__(self, *options: Any) -> None:
        self.options = list(options)
        self.contexts: list[AcpSessionContext] = []
        self.asked: list[tuple[str, Any]] = []
        self.keep: set[str] = set()
        self.refuse: dict[Any, Exception] = {}
        self.answers = True

    def get_config_options(self, session: AcpSessionContext, agent: Any) -> Any:
        self.contexts.append(session)
        return list(self.options)

    def set_config_option(self, session: AcpSessionContext, agent: Any, config_id: str, value: Any) -> Any:
        self.asked.append((config_id, value))
        if value in self.refuse:
            raise self.refuse[value]
        if config_id not in self.keep:
            self.options = [
                _with(option, value) if _id(option) == config_id else option for option in self.options
            ]
        return list(self.options) if self.answers else None


class AsyncProvider(Provider):
    """The same, which takes its time."""

    async def get_config_options(self, session: AcpSessionContext, agent: Any) -> Any:
        await asyncio.sleep(0)
        return super().get_config_options(session, agent)

    async def set_config_option(self, *arguments: Any) -> Any:
        await asyncio.sleep(0)
        return super().set_config_option(*arguments)


def _id(option: Any) -> str:
    return option.id if isinstance(option, ConfigOption) else option["id"]


def _with(option: Any, value: Any) -> Any:
    if isinstance(option, ConfigOption):
        return ConfigOption(option.id, option.name, option.category, value, option.values, option.type)
    return {**option, "currentValue": value}


def values(session: Session) -> Json:
    return {
        option.id: option.current for option in session.config_options if option.id in ("speed", "web", "_x")
    }


def notices(session: Session) -> list[str]:
    items = [*session.state.outside, *(item for turn in session.state.turns for item in turn.items)]
    return [item.text for item in items if isinstance(item, Notice)]


def say(text: str) -> ScriptedModel:
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Say(text)

    return model


def start(hosted: Hosted, provider: Any, agent: Any = None, **options: Any) -> Session:
    config = AdapterConfig(config_options_provider=provider)
    return hosted(agent or say("done"), config=config, **options)


def test_they_stand_behind_the_sessions_own_and_are_set_by_the_provider(hosted: Hosted) -> None:
    provider = Provider(WEB, SPEED, SLIDER)
    session = start(hosted, provider)
    assert [option.id for option in session.config_options][-3:] == ["web", "speed", "_x"]
    assert session.set_config("web", False) is False
    assert session.set_config("speed", "fast") == "fast"
    assert provider.asked == [("web", False), ("speed", "fast")]
    assert values(session) == {"web": False, "speed": "fast", "_x": 3}
    assert notices(session) == []
    assert provider.contexts[-1].config_values["mode"] == "agent"


def test_what_is_not_offered_never_reaches_the_provider(hosted: Hosted) -> None:
    provider = Provider(WEB, SPEED, SLIDER)
    session = start(hosted, provider)
    for option_id, value, why in [
        ("speed", "warp", "^speed 'warp' is not offered: use slow, fast$"),
        ("speed", True, "speed True is not offered"),
        ("web", "on", "^option 'web' is either on or off, and 'on' is neither$"),
        ("_x", "4", "^option '_x' is of type 'slider', which can only be shown$"),
        ("nonsense", "4", "^there is no option 'nonsense': this session has mode, .*, web, speed, _x$"),
    ]:
        with pytest.raises(ConfigError, match=why):
            session.set_config(option_id, value)
    assert provider.asked == []


@pytest.mark.parametrize("kind", [Provider, AsyncProvider])
@pytest.mark.parametrize("answers", [True, False])
def test_cfg_05_change_silently_ignored(hosted: Hosted, kind: type[Provider], answers: bool) -> None:
    provider = kind(SPEED)
    provider.keep, provider.answers = {"speed"}, answers
    session = start(hosted, provider, name="keeps")
    until(session, lambda state: "speed" in [option.id for option in state.config])
    assert session.set_config("speed", "fast") == "slow"
    until(session, lambda state: notices(session))
    assert values(session) == {"speed": "slow"}
    assert notices(session) == ["Speed: 'fast' was not taken; in effect is 'slow'."]
    assert any(
        "keeps: option 'speed': 'fast' was not taken; in effect is 'slow'" in line for line in recent.lines()
    )


@pytest.mark.parametrize("kind", [Provider, AsyncProvider])
def test_cfg_08_change_during_turn(hosted: Hosted, kind: type[Provider]) -> None:
    class RequestError(Exception):
        data = {"reason": "the model is busy"}

    provider = kind(SPEED, WEB)
    provider.refuse = {"fast": RequestError("Invalid request")}
    reached, go_on = threading.Event(), threading.Event()
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        yield Call("wait")
        yield Say("done")

    agent = Agent(model)

    @agent.tool_plain
    def wait() -> None:
        reached.set()
        assert go_on.wait(20)

    session = start(hosted, provider, agent)
    until(session, lambda state: "speed" in [option.id for option in state.config])
    turn = session.prompt("go")
    assert reached.wait(20)
    with pytest.raises(ConfigError) as refused:
        session.set_config("speed", "fast")
    assert (
        str(refused.value) == "Speed: 'fast' was refused: RequestError: Invalid request (the model is busy)"
    )
    session.set_mode("ask")
    session.set_config("web", False)
    go_on.set()
    assert turn.wait(20).stop_reason == "end_turn"
    assert (values(session), session.mode) == ({"speed": "slow", "web": False}, "ask")


def test_an_asynchronous_provider_is_waited_for_and_its_refusal_is_said(hosted: Hosted) -> None:
    provider = AsyncProvider(WEB)
    session = start(hosted, provider)
    until(session, lambda state: "web" in [option.id for option in state.config])
    assert session.set_config("web", False) is False
    provider.answers = False  # it has to be asked
    assert session.set_config("web", True) is True
    session.set_config("web", False)
    provider.refuse = {True: ConfigError("not on Sundays")}
    change = session.request_config("web", True)
    change.finished.result(20)
    assert values(session) == {"web": False}
    assert notices(session) == ["Web search: True was refused: not on Sundays"]


def test_options_follow_the_other_settings_and_the_turns(hosted: Hosted) -> None:
    provider = Provider()
    session = start(hosted, provider)
    assert values(session) == {}
    provider.options = [WEB]
    session.set_mode("plan")
    assert values(session) == {"web": True}
    provider.options = [WEB, SPEED]
    session.ask("go")
    assert values(session) == {"web": True, "speed": "slow"}


def test_objects_of_the_python_sdk_and_their_groups(hosted: Hosted) -> None:
    class Model(SimpleNamespace):
        def model_dump(self, **how: Any) -> Json:
            assert how == {"mode": "json", "by_alias": True}
            return vars(self)

    listed = [
        {"group": "g", "name": "Group", "options": [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}]}
    ]
    option = Model(id="speed", name="Speed", type="select", currentValue="a", options=listed, category=None)
    session = start(hosted, Provider(option))
    found = session.config_options[-1]
    assert [(value.value, value.name, value.group) for value in found.values] == [
        ("a", "A", "Group"),
        ("b", "B", "Group"),
    ]


def broken(found: Any) -> Any:
    def get(*arguments: Any) -> Any:
        if isinstance(found, Exception):
            raise found
        return found

    return SimpleNamespace(get_config_options=get, set_config_option=get)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (KeyError("speed"), "could not be read, so the last ones stand: KeyError: 'speed'"),
        ("speed", "could not be read, so the last ones stand: str: 'speed' is not a list of options"),
        ({"id": "speed"}, "is not a list of options"),
    ],
)
def test_a_provider_that_fails_is_one_line_and_the_session_works(
    hosted: Hosted, found: Any, said: str
) -> None:
    session = start(hosted, broken(found))
    session.ask("go")
    session.set_mode("ask")
    assert [said in text for text in notices(session)] == [True]


def test_options_that_cannot_be_shown_are_left_out_and_counted(hosted: Hosted) -> None:
    own = {"id": "mode", "name": "Mine", "type": "boolean", "currentValue": True}
    session = start(hosted, Provider(WEB, {"name": "nameless"}, own, {**WEB, "currentValue": "yes"}, 7))
    session.ask("go")
    assert values(session) == {"web": True}
    assert session.mode == "agent"
    assert dict(session.state.faults) == {"option skipped": 4}


def test_the_last_question_wins_whenever_the_answers_come(hosted: Hosted) -> None:
    class Slow(AsyncProvider):
        doors: Sequence[asyncio.Event] = ()

        async def get_config_options(self, session: AcpSessionContext, agent: Any) -> Any:
            if not self.doors:
                self.doors = asyncio.Event(), asyncio.Event()
                await self.doors[0].wait()
                return [{**WEB, "currentValue": False}]
            return [WEB]

    provider = Slow()
    session = start(hosted, provider)
    session.set_mode("plan")
    until(session, lambda state: values(session) == {"web": True})
    session.host.call(provider.doors[0].set)
    session.ask("go")
    assert values(session) == {"web": True}
