"""Permission requests: a tool runs only on an explicit yes for that very call, and meaning comes from kinds
only.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from pydantic_ai import Agent

from acp_notebook import Call, Say, ScriptedModel, Session
from acp_notebook.errors import AlreadyAnswered, ConfigError, PermissionError
from acp_notebook.kernel.host import choose_host
from acp_notebook.protocol.connection import AgentInfo, ClientSide
from acp_notebook.protocol.messages import (
    Cancelled,
    Outcome,
    PermissionOption,
    RequestPermission,
    Selected,
    StateUpdate,
    ToolCall,
    UserMessage,
)
from acp_notebook.session import session as client
from acp_notebook.session.permissions import PermissionRequest
from acp_notebook.session.state import Event, PermissionAsked, SessionState
from harness.sessions import pending, until

Hosted = Callable[..., Session]

ONCE = PermissionOption("ok1", "Allow once", "allow_once")
ALWAYS = PermissionOption("ok2", "Always allow", "allow_always")
NO = PermissionOption("no1", "Reject", "reject_once")
NEVER = PermissionOption("no2", "Never", "reject_always")


class AskingAgent:
    """The agent side of a session that asks for permissions and keeps the outcomes, in the order of the
    wire.
    """

    info = AgentInfo("asking", "none")

    def __init__(self, me: ClientSide) -> None:
        self.client = me
        self.wire: list[tuple[str, Outcome | None]] = []
        self.waiting: set[asyncio.Task[None]] = set()

    def prompt(self, text: str) -> None:
        self.client.update(UserMessage(text, "m1"), StateUpdate("running"))

    def ask(self, name: str, options: Sequence[PermissionOption], call_id: str = "t1") -> None:
        request = RequestPermission(ToolCall(call_id, name, {}), tuple(options), f"Approve {name}?")
        answer: Awaitable[Outcome] = self.client.request_permission(request)

        async def wait() -> None:
            self.wire.append((name, await answer))

        task = asyncio.ensure_future(wait())
        self.waiting.add(task)
        task.add_done_callback(self.waiting.discard)

    def cancel(self) -> None:
        self.wire.append(("cancel", None))

    def close(self) -> None:
        pass


class Asking:
    """A session with such an agent, which has been asked `requests`."""

    def __init__(self, *requests: Sequence[PermissionOption], **options: Any) -> None:
        agents: list[AskingAgent] = []

        def connect(me: ClientSide) -> Any:
            agents.append(AskingAgent(me))
            return agents[0]

        self.session = client.Session(
            connect, choose_host("thread"), name="asking", on_unattended=options.get("on_unattended", "wait")
        )
        self.agent = agents[0]
        self.session.prompt("go")
        for number, request in enumerate(requests):
            self.session.host.call(lambda n=number, r=request: self.agent.ask(f"tool{n}", r, f"t{n}"))

    def outcomes(self, count: int) -> list[tuple[str, Outcome | None]]:
        """The wire once it holds so many messages."""

        async def settled() -> list[tuple[str, Outcome | None]]:
            while len(self.agent.wire) < count:
                await asyncio.wait(self.agent.waiting, return_when=asyncio.FIRST_COMPLETED)
            return self.agent.wire

        return asyncio.run_coroutine_threadsafe(settled(), self.session.host.loop).result(10)

    def __enter__(self) -> Asking:
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()


def test_perm_04_ids_verbatim_and_clashes() -> None:
    options = [
        PermissionOption("approve_for_session", "OK for session", "allow_always"),
        PermissionOption("deny_always", "Never", "reject_always"),
        PermissionOption("allow_once", "Stop", "reject_once"),
        PermissionOption("dup", "Yes", "allow_once"),
        PermissionOption("dup", "No", "reject_once"),
    ]
    with Asking(*[options] * 5) as asking:
        always, never, stop, deny, dup = asking.session.permissions
        always.choose("approve_for_session")
        never.choose("deny_always")
        stop.choose("allow_once")  # an id is a name, not a meaning
        deny.deny()
        with pytest.raises(
            PermissionError, match="'dup' is ambiguous: it stands for allow_once and reject_once"
        ):
            dup.choose("dup")
        with pytest.raises(PermissionError, match="does not offer to allow this"):
            dup.allow()
        with pytest.raises(PermissionError, match="'ok' was not offered: it offers 'approve_for_session'"):
            dup.choose("ok")
        assert dup.pending
        assert asking.outcomes(4) == [
            ("tool0", Selected("approve_for_session")),
            ("tool1", Selected("deny_always")),
            ("tool2", Selected("allow_once")),
            ("tool3", Selected("allow_once")),
        ]
        turn = asking.session.turns[0]
        assert [p.status for p in turn.state.permissions] == [
            "allowed",
            "denied",
            "denied",
            "denied",
            "pending",
        ]


def test_perm_05_several_at_once() -> None:
    options = [ONCE, ALWAYS, NO]
    with Asking(options, options, options) as asking:
        first, second, third = asking.session.permissions
        second.choose("ok1")
        first.choose("no1")
        assert asking.outcomes(2) == [("tool1", Selected("ok1")), ("tool0", Selected("no1"))]
        assert third.pending
        asking.session.cancel()
        assert asking.outcomes(4)[2:] == [("cancel", None), ("tool2", Cancelled())]


def test_perm_06_cancel_while_pending() -> None:
    with Asking([ONCE, NO], [ONCE, NO]) as asking:
        first, second = asking.session.permissions
        asking.session.cancel()
        wire = asking.outcomes(3)
        assert wire[0] == ("cancel", None)
        assert sorted(wire[1:]) == [("tool0", Cancelled()), ("tool1", Cancelled())]
        for late in (first.allow, second.deny, lambda: first.choose("ok1")):
            with pytest.raises(AlreadyAnswered, match="already has its answer: nothing was changed"):
                late()
        assert len(asking.agent.wire) == 3
        assert asking.session.permissions == ()
        assert not asking.agent.waiting


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ([ONCE, NEVER, NO], Selected("no1")),
        ([ONCE, ALWAYS], Cancelled()),
        ([NEVER], Cancelled()),  # never a standing refusal unasked
    ],
)
def test_perm_07_deny_semantics(options: list[PermissionOption], outcome: Outcome) -> None:
    with Asking(options) as asking:
        asking.session.permissions[0].deny()
        assert asking.outcomes(1) == [("tool0", outcome)]
        assert asking.session.turns[0].state.permissions[0].status == "denied"


def test_always_is_chosen_on_purpose_and_only_where_offered() -> None:
    with Asking([ONCE, ALWAYS, NO, NEVER], [ONCE, ALWAYS, NO, NEVER], [ONCE, NO]) as asking:
        first, second, third = asking.session.permissions
        first.allow(always=True)
        second.deny(always=True)
        with pytest.raises(PermissionError, match="does not offer to always allow this"):
            third.allow(always=True)
        assert asking.outcomes(2) == [("tool0", Selected("ok2")), ("tool1", Selected("no2"))]


# -- with a pydantic-ai agent ----------------------------------------------------------------------------


class Counting:
    """An agent with one gated tool, which counts its runs."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        model = ScriptedModel()

        @model.script()
        def script(turn: Any) -> Any:
            result = yield Call("wipe", path="notes")
            yield Say(f"denied={result.denied}: {result.text}")

        self.agent = Agent(model)

        @self.agent.tool_plain(requires_approval=True)
        def wipe(path: str) -> str:
            self.runs.append(path)
            return f"wiped {path}"


def test_perm_15_deny_with_reason(hosted: Hosted) -> None:
    counting = Counting()
    session = hosted(counting.agent)
    turn = session.prompt("go")
    until(session, pending(1))
    session.permissions[0].deny("keep tests as they are, change src only")
    assert turn.wait(20).text == "denied=True: keep tests as they are, change src only"
    assert turn.tool_calls[0].status == "failed"
    assert turn.tool_calls[0].reason == "denied"
    assert counting.runs == []


def test_edited_arguments_are_what_runs_and_both_are_on_record(hosted: Hosted) -> None:
    counting = Counting()
    session = hosted(counting.agent)
    turn = session.prompt("go")
    until(session, pending(1))
    session.permissions[0].allow(arguments={"path": "drafts"})
    assert turn.wait(20).text == "denied=False: wiped drafts"
    assert counting.runs == ["drafts"]
    assert turn.tool_calls[0].raw_input == {"path": "drafts"}
    assert turn.tool_calls[0].reason == "arguments edited by you"
    permission = turn.state.permissions[0]
    assert permission.request.tool_call.arguments == {"path": "notes"}
    assert permission.edited == {"path": "drafts"}


def test_arguments_that_do_not_fit_the_tool_do_not_run(hosted: Hosted) -> None:
    counting = Counting()
    session = hosted(counting.agent)
    turn = session.prompt("go")
    until(session, pending(1))
    request = session.permissions[0]
    with pytest.raises(PermissionError, match=r"^path: .* valid string; more: .*: the call still waits$"):
        request.allow(arguments={"path": ["a", "list"], "more": 1})
    assert request.pending and counting.runs == []
    request.allow(arguments={"path": "drafts"})
    assert turn.wait(20).stop_reason == "end_turn"
    assert counting.runs == ["drafts"]


@pytest.mark.parametrize(
    ("policy", "runs", "explanation"),
    [
        ("deny", [], "on_unattended='deny'"),
        ("allow", ["notes"], "allowed by on_unattended"),
        (
            lambda request: request.tool_call.arguments["path"] == "notes",
            ["notes"],
            "allowed by on_unattended",
        ),
        (lambda request: "yes", [], "denied by"),  # only True is a yes
        (lambda request: 1 / 0, [], "denied by"),
        (lambda request: sys.exit(1), [], "denied by"),
    ],
)
def test_perm_13_nobody_answers(hosted: Hosted, policy: Any, runs: list[str], explanation: str) -> None:
    counting = Counting()
    turn = hosted(counting.agent, on_unattended=policy).ask("go", timeout=20)
    assert counting.runs == runs
    permission = turn.state.permissions[0]
    assert explanation in permission.explanation
    assert permission.answered is not None
    assert permission.answered - permission.asked < 1
    if policy == "deny":
        assert "%acp ask --approve or on_unattended='allow'" in permission.explanation


def test_approve_lets_the_calls_of_one_turn_run(hosted: Hosted) -> None:
    counting = Counting()
    session = hosted(counting.agent, on_unattended="deny")
    assert session.ask("go", approve=True).text == "denied=False: wiped notes"
    assert session.turns[0].state.permissions[0].explanation == "allowed by --approve"
    assert session.ask("go").text.startswith("denied=True")


def test_an_unknown_policy_is_refused(hosted: Hosted) -> None:
    with pytest.raises(
        ConfigError, match="on_unattended='maybe' is not a policy: use 'deny', 'allow', 'wait'"
    ):
        hosted("demo", on_unattended="maybe")

    async def later(request: PermissionRequest) -> bool:
        return True

    with pytest.raises(ConfigError, match="on_unattended cannot be an async function"):
        hosted("demo", on_unattended=later)


@pytest.mark.parametrize("policy", ["deny", "wait"])
def test_a_subscriber_may_answer_as_soon_as_it_hears_of_a_request(hosted: Hosted, policy: Any) -> None:
    counting = Counting()
    session = hosted(counting.agent, on_unattended=policy)

    def answer(state: SessionState, event: Event) -> None:
        if isinstance(event, PermissionAsked):
            session.permissions[0].allow()

    session.subscribe(answer)
    assert session.ask("go", timeout=20).text == "denied=False: wiped notes"
    assert counting.runs == ["notes"]


def test_arguments_that_are_not_json_do_not_run(hosted: Hosted) -> None:
    counting = Counting()
    session = hosted(counting.agent)
    turn = session.prompt("go")
    until(session, pending(1))
    with pytest.raises(PermissionError, match="the arguments are not JSON"):
        session.permissions[0].allow(arguments={"path": object()})
    session.permissions[0].deny("no")
    assert turn.wait(20).text == "denied=True: no"
    assert counting.runs == []
