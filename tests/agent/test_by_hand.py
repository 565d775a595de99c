"""Steps by hand: looked at without running any, run as a turn of the user's agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import CombinedToolset, DynamicToolset

from acp_notebook import AcpError, ScriptedModel, Session, StepApp, StepOptions, StepToolset
from acp_notebook.errors import AgentError, ConfigError, StepsRefused, TurnFailed
from acp_notebook.plan.runs import run_of, step_of
from harness.sessions import pending, until
from harness.steps import reference, step

Hosted = Callable[..., Session]
STEPS = [step("b", "create", database="prod"), step("r", "restore", backup=reference("b", "id"))]


class Backups:
    """Tools that note what ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.app = StepApp("backups")

        @self.app.tool()
        def create(database: str) -> dict[str, str]:
            self.ran.append("create")
            return {"id": f"bk-{database}"}

        @self.app.tool(requires_approval=True, options=StepOptions(sharable=("backup",), side_effects=True))
        def restore(backup: str) -> str:
            self.ran.append("restore")
            return f"restored {backup}"

    def agent(self, **settings: Any) -> Agent[None, Any]:
        return Agent(ScriptedModel(), toolsets=[self.app], **settings)


@pytest.fixture
def backups() -> Backups:
    return Backups()


def test_a_look_runs_nothing_and_tells_all(hosted: Hosted, backups: Backups) -> None:
    session = hosted(backups.agent())
    outline = session.preview_steps(STEPS)
    assert [(row.step_id, row.call, row.facts) for row in outline.rows] == [
        ("b", 'create(database="prod")', ()),
        ("r", "restore(backup=← b.id)", ("asks a person first", "side effects")),
    ]
    assert session.check_steps(STEPS) == ()
    wrong = session.check_steps([step("b", "creat"), step("r", "restore", backup=reference("x"), y=1)])
    assert len(wrong) == 3 and "did you mean 'create'" in str(wrong[0])
    with pytest.raises(StepsRefused):
        session.preview_steps("[{")
    assert backups.ran == [] and session.turns == () and not session.plans


def test_rules_say_what_will_be_asked(hosted: Hosted, backups: Backups) -> None:
    session = hosted(backups.agent())
    session.rules.add("allow", "restore")
    assert session.preview_steps(STEPS).rows[1].facts[0] == "allowed by rule 1"
    session.rules.add("deny", "restore", "backup", equals="bk-prod")
    literal = [step("r", "restore", backup="bk-prod")]
    assert session.preview_steps(literal).rows[0].facts[0] == "denied by rule 2"
    session.run_steps(literal)
    denied = step_of(session.plan.entries[0])
    assert denied and denied.note == "denied by rule 2" and backups.ran == []


def test_a_run_takes_the_road_of_any_turn(hosted: Hosted, backups: Backups) -> None:
    session = hosted(backups.agent())
    turn = session.start_steps(STEPS)
    until(session, pending(1))
    assert session.permissions[0].tool_call.arguments == {"backup": "bk-prod"}
    assert session.check_steps(STEPS) == ()  # also while a turn runs
    session.permissions[0].allow()
    turn.wait(20)
    assert backups.ran == ["create", "restore"]
    assert [entry.status for entry in session.plan] == ["completed"] * 2
    assert (turn.prompt, turn.stop_reason) == ("Run these steps.", "end_turn")
    assert "has ended: 2 of 2 done." in turn.text
    assert turn.usage and (turn.usage.requests, turn.usage.total_tokens) == (0, 0)


def test_what_is_refused_is_said_and_nothing_runs(hosted: Hosted, backups: Backups) -> None:
    session = hosted(backups.agent())
    with pytest.raises(TurnFailed, match="the steps were refused, and nothing has run"):
        session.run_steps([step("b", "create")])
    assert "create needs it" in session.turns[-1].text
    session.set_mode("ask")
    with pytest.raises(TurnFailed):
        session.run_steps(STEPS)
    assert "may not be used in mode 'ask'" in session.turns[-1].text
    with pytest.raises(ConfigError, match="choose another mode"):
        session.check_steps(STEPS)
    with pytest.raises(AcpError, match="as JSON has them"):
        session.run_steps([step("b", "create", database=object())])
    assert backups.ran == []


def test_an_agent_without_execute_plan_is_told_how_to_get_it(hosted: Hosted) -> None:
    session = hosted(Agent(ScriptedModel(), name="bare"))
    with pytest.raises(AgentError, match=r"agent 'bare' has no execute_plan: give it one with Agent\("):
        session.check_steps(STEPS)
    with pytest.raises(TurnFailed, match="agent 'bare' has no execute_plan"):
        session.run_steps(STEPS)


def dynamic(toolset: Any, *, per_run_step: bool, new: bool = False) -> DynamicToolset[Any]:
    async def make(ctx: RunContext[Any]) -> Any:
        return toolset.prefixed("x") if new else toolset

    return DynamicToolset(make, per_run_step=per_run_step)


@pytest.mark.parametrize(
    "around",
    [
        lambda app: app.prefixed("my"),
        lambda app: app.renamed({"run_plan": "execute_plan"}),
        lambda app: app.filtered(lambda ctx, tool: True).prefixed("my"),
        lambda app: dynamic(app, per_run_step=True),
        lambda app: dynamic(app, per_run_step=False),
        lambda app: dynamic(app, per_run_step=True, new=True),
        lambda app: CombinedToolset([dynamic(app.prefixed("my"), per_run_step=True)]),
    ],
)
def test_whatever_stands_around_a_step_toolset(
    around: Callable[[Any], Any], hosted: Hosted, backups: Backups
) -> None:
    def look() -> str:
        return "seen"

    session = hosted(Agent(ScriptedModel(), tools=[look], toolsets=[around(backups.app)]))
    assert session.check_steps(STEPS) == ()
    assert [row.step_id for row in session.preview_steps(STEPS).rows] == ["b", "r"]
    assert session.run_steps(STEPS, approve=True, timeout=20).stop_reason == "end_turn"
    assert backups.ran == ["create", "restore"]
    session.set_mode("ask")
    with pytest.raises(ConfigError, match="may not be used in mode 'ask'"):
        session.check_steps(STEPS)
    with pytest.raises(TurnFailed, match="nothing has run"):
        session.run_steps(STEPS, approve=True, timeout=20)
    assert len(backups.ran) == 2


def test_steps_by_hand_need_one_tool_that_takes_them(hosted: Hosted, backups: Backups) -> None:
    session = hosted(Agent(ScriptedModel(), toolsets=[backups.app, backups.app.prefixed("my")]))
    with pytest.raises(AgentError, match=r"has 2 tools that take steps \(execute_plan, my_execute_plan\)"):
        session.check_steps(STEPS)
    with pytest.raises(TurnFailed, match="has 2 tools"):
        session.run_steps(STEPS, timeout=20)
    assert backups.ran == []


def test_an_agent_with_output_of_its_own_runs_steps_too(hosted: Hosted, backups: Backups) -> None:
    class Report(BaseModel):
        text: str

    session = hosted(backups.agent(output_type=Report))
    assert "1 of 1 done" in session.run_steps(STEPS[:1]).text


def test_steps_are_told_in_stages_where_they_run_together(hosted: Hosted) -> None:
    async def one() -> int:
        return 1

    async def two(x: Any = 0) -> int:
        return 2

    steps = StepToolset([one, two], parallel=True, options={"two": StepOptions(sharable=("x",))})
    session = hosted(Agent(ScriptedModel(), toolsets=[steps]))
    outline = session.preview_steps([step("a", "one"), step("b", "two", x=reference("a")), step("c", "one")])
    assert [(row.stage, row.step_id) for row in outline.rows] == [(1, "a"), (1, "c"), (2, "b")]
    assert f"{outline}".startswith("3 steps, in 2 stages; nothing runs yet")
    assert "s1 --> s2" in outline.diagram


def test_a_look_can_be_awaited(hosted: Hosted, backups: Backups) -> None:
    session = hosted(backups.agent())

    async def look() -> int:
        return len((await session.look_at_steps(STEPS)).rows)

    assert asyncio.run(look()) == 2


def test_a_run_goes_on_where_it_failed(hosted: Hosted, backups: Backups) -> None:
    session = hosted(backups.agent(), on_unattended="deny")
    session.run_steps(STEPS)
    plan = session.plan
    assert [entry.status for entry in plan] == ["completed", "_denied"]
    turn = session.resume_steps((run_of(plan) or "")[:8], approve=True)
    assert turn.prompt.startswith("Go on with run ") and backups.ran == ["create", "restore"]
    assert session.plan.plan_id == plan.plan_id and session.plan.title == f"{plan.title}, resumed"
    assert [entry.status for entry in session.plan] == ["completed"] * 2
    for run_id, refusal in (
        (run_of(plan) or "", "has ended well: nothing is left to do"),
        ("no", "there is no run"),
    ):
        with pytest.raises(AcpError, match=refusal):
            session.resume_steps(run_id)
    assert len(session.turns) == 2


@pytest.mark.parametrize("as_text", [False, True], ids=["list", "text"])
def test_secrets_in_steps_by_hand_are_not_for_the_model(hosted: Hosted, as_text: bool) -> None:
    seen: list[Any] = []

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> AsyncGenerator[str]:
        seen.append(messages)
        yield "hello"

    def login(user: str, pin: SecretStr, password: str = "") -> str:
        raise ValueError(f"{user} is not known by {password}, {pin.get_secret_value()}")

    def note(text: str) -> str:
        print(f"noted {text}")
        return text

    steps = [
        step("l", "login", user="ada", pin="4711-pin", password="hunter2"),
        step("n", "note", text="it is hunter2"),
    ]
    toolset = StepToolset([login, note], keep_going=True)
    session = hosted(Agent(FunctionModel(stream_function=respond), toolsets=[toolset]))
    session.run_steps(json.dumps(steps) if as_text else steps)
    with pytest.raises(TurnFailed):  # refused: nothing has run
        session.run_steps([*steps, step("x", "nothing", password="hunter2")])
    session.ask("hello")
    for told in (repr(seen), repr(session.state)):
        assert "hunter2" not in told and "4711" not in told
    assert "'user': 'ada'" in repr(seen) or as_text
