"""What goes wrong around an approval, by mistake or on purpose: nothing runs without a yes for that very
call, and the person is asked where something cannot be known.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr
from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from acp_notebook import (
    AcpSessionContext,
    AdapterConfig,
    Call,
    Diff,
    FileSystemProjectionMap,
    NativeApprovalBridge,
    PermissionOptionSet,
    PermissionRequestContext,
    Say,
    ScriptedModel,
    Session,
    SessionMetadataApprovalPolicyStore,
    ToolCallUpdate,
)
from acp_notebook.agent.hosting import host
from acp_notebook.agent.session import AgentSession
from acp_notebook.errors import PermissionError
from acp_notebook.log import recent
from acp_notebook.protocol.messages import (
    Cancelled,
    Notice,
    Outcome,
    RequestPermission,
    RulesUpdate,
    Selected,
    StateUpdate,
    Update,
)
from acp_notebook.protocol.rules import Covers
from acp_notebook.session.state import PermissionState
from acp_notebook.views.bundle import static_bundle
from harness.sessions import pending, until

Hosted = Callable[..., Session]
MISLEADING = "rm \u200b-rf \u202eatad\u202c <b>x</b>\x1b[2K" + " " * 400 + "; evil"


class Door(BaseModel):
    key: SecretStr


class Running:
    """An agent with a gated tool that runs what the prompt says; `ran` is what has run."""

    def __init__(self, name: str | None = "running") -> None:
        self.ran: list[Any] = []
        model = ScriptedModel()

        @model.script()
        def script(turn: Any) -> Any:
            result = yield Call("run", **json.loads(turn.prompt))
            yield Say(result.text)

        def run(command: str, path: str = "", token: str = "") -> str:
            self.ran.append(command)
            return f"ran {command}"

        self.agent = Agent(model, name=name, tools=[Tool(run, requires_approval=True)])


def prompt(command: str = "ls", **more: str) -> str:
    return json.dumps({"command": command, **more})


def remembering(**fields: Any) -> AdapterConfig:
    return AdapterConfig(approval_bridge=NativeApprovalBridge(enable_persistent_choices=True, **fields))


# -- a client that answers as it likes -------------------------------------------------------------------


class Client:
    """A client whose answers are made up, on the agent's own loop."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[RequestPermission] = []
        self.updates: list[Update] = []

    def update(self, *updates: Update) -> None:
        self.updates.extend(updates)

    def request_permission(self, request: RequestPermission) -> Awaitable[Outcome]:
        self.requests.append(request)

        async def answer() -> Any:
            made = self.answers.pop(0)
            if isinstance(made, BaseException):
                raise made
            return made

        return answer()


async def ran_with(*answers: Any, bridge: NativeApprovalBridge | None = None) -> tuple[list[Any], Client]:
    running, client = Running(), Client(*answers)
    session = AgentSession(host(running.agent), client, adapter=AdapterConfig(approval_bridge=bridge))
    session.prompt(prompt())
    assert session._task is not None  # pyright: ignore[reportPrivateUsage]
    await session._task  # pyright: ignore[reportPrivateUsage]
    assert any(
        isinstance(update, StateUpdate) and update.stop_reason == "end_turn" for update in client.updates
    )
    return running.ran, client


@pytest.mark.parametrize(
    "answer",
    [
        Selected("allow"),
        Selected("allow_always"),  # which was not offered
        Selected("ALLOW_ONCE"),
        Selected(""),
        Selected("reject_once", arguments={"command": "ls"}),
        Selected("reject_once", note="yes"),
        Cancelled(),
        None,
        True,
        "allow_once",
        {"outcome": "selected", "optionId": "allow_once"},
        OSError("the wire is cut"),
    ],
    ids=repr,
)
async def test_what_is_no_yes(answer: Any) -> None:
    ran, client = await ran_with(answer)
    assert ran == [] and len(client.requests) == 1


async def test_an_offered_yes_is_one() -> None:
    ran, _ = await ran_with(Selected("allow_once"))
    assert ran == ["ls"]


async def test_arguments_that_a_client_has_not_checked_are_asked_for_again() -> None:
    ran, client = await ran_with(
        Selected("allow_once", arguments={"command": 1}),
        Selected("allow_once", arguments={"cmd": "ls"}),
        Selected("allow_once", arguments={"command": "pwd"}),
    )
    assert ran == ["pwd"]
    problems = [request.problem for request in client.requests]
    assert problems[0] is None and "command: " in (problems[1] or "") and "cmd: " in (problems[2] or "")


async def test_what_an_answer_covers_must_be_about_the_call() -> None:
    for covers in (
        Covers("equals", "command", '"pwd"'),
        Covers("under", "path", "/etc"),
        Covers("exact", value="0"),
    ):
        ran, client = await ran_with(
            Selected("allow_always", covers=covers),
            bridge=NativeApprovalBridge(enable_persistent_choices=True),
        )
        assert ran == ["ls"]
        rules = [
            rule for update in client.updates if isinstance(update, RulesUpdate) for rule in update.rules
        ]
        if covers.kind == "exact":  # whatever the client says of them, they are this call's
            assert [rule.text for rule in rules] == ['allow run (command="ls") (this session)']
        else:
            assert rules == []
            told = [update.text for update in client.updates if isinstance(update, Notice)]
            assert told and told[0].startswith("The answer counts for this call of run alone: ")


# -- ids -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("covers", "said"),
    [
        (Covers("under", "path", "elsewhere/"), "is not about this call, which still waits"),
        (Covers("matches", "path", "*.txt"), "is not about this call, which still waits"),
        (Covers("matches", "path", ""), "needs an argument's name and a value"),
        (Covers("command", "command", "ls; rm"), "is not the beginning of one plain command"),
    ],
    ids=lambda value: getattr(value, "value", ""),
)
def test_a_reach_that_was_typed_must_be_about_the_call(hosted: Hosted, covers: Covers, said: str) -> None:
    running = Running()
    session = hosted(running.agent, config=remembering())
    turn = session.prompt(prompt("ls", path="notes/a.md"))
    until(session, pending(1))
    request = session.permissions[0]
    with pytest.raises(PermissionError, match=said):
        request.allow(always=True, covers=covers)
    assert request.pending and running.ran == []
    request.allow(always=True, covers=Covers("matches", "path", "notes/*.md"))
    assert turn.wait(20).text == "ran ls"
    assert session.ask(prompt("ls", path="notes/b.md"), timeout=20).state.permissions == ()


def test_perm_05_two_requests_with_one_tool_call_id(hosted: Hosted) -> None:
    ran: list[str] = []
    steps = iter(["a", "b"])

    async def model(messages: Any, info: AgentInfo) -> Any:
        for path in steps:
            yield {0: DeltaToolCall("wipe", json.dumps({"path": path}), tool_call_id="same")}
            return
        yield "done"

    def wipe(path: str) -> str:
        ran.append(path)
        return path

    agent = Agent(FunctionModel(stream_function=model), tools=[Tool(wipe, requires_approval=True)])
    session = hosted(agent)
    turn = session.prompt("go")
    until(session, pending(1))
    session.permissions[0].allow()
    until(session, lambda state: len(state.turns[-1].permissions) == 2)
    assert ran == ["a"]
    session.permissions[0].deny()
    turn.wait(20)
    assert ran == ["a"]
    assert [permission.status for permission in turn.state.permissions] == ["allowed", "denied"]


def test_perm_05_duplicate_ids_in_one_response_run_nothing(hosted: Hosted) -> None:
    ran: list[str] = []

    async def model(messages: Any, info: AgentInfo) -> Any:
        for index in (0, 1):
            yield {index: DeltaToolCall("wipe", json.dumps({"path": "ab"[index]}), tool_call_id="same")}

    def wipe(path: str) -> str:
        ran.append(path)
        return path

    agent = Agent(FunctionModel(stream_function=model), tools=[Tool(wipe, requires_approval=True)])
    session = hosted(agent)
    turn = session.prompt("go")
    until(session, lambda state: state.status == "idle" or state.pending)
    for request in session.permissions:
        request.deny()
    session.cancel()
    until(session, lambda state: state.status == "idle")
    assert ran == [] and turn.stop_reason is not None


# -- rules -----------------------------------------------------------------------------------------------


def always(session: Session, text: str, **extra: Any) -> None:
    turn = session.prompt(text)
    until(session, pending(1))
    session.permissions[0].allow(always=True, **extra)
    turn.wait(20)


def asked(session: Session, text: str) -> PermissionState:
    """The request that a prompt leads to, which is then withdrawn."""
    turn = session.prompt(text)
    until(session, pending(1))
    session.cancel()
    turn.wait(20)
    return turn.state.permissions[0]


def test_always_allow_then_changed_arguments(hosted: Hosted) -> None:
    running = Running()
    session = hosted(running.agent, config=remembering())
    always(session, prompt("ls"))
    assert session.ask(prompt("ls"), timeout=20).text == "ran ls"
    for other in (prompt("rm -rf /"), prompt("ls "), prompt("ls", path="/"), prompt("ls; rm -rf /")):
        asked(session, other)
    assert running.ran == ["ls", "ls"]


def test_chained_commands_are_asked_about(hosted: Hosted) -> None:
    running = Running()
    session = hosted(running.agent, config=remembering())
    always(session, prompt("git status -s"), covers=Covers("command", "command", "git status"))
    assert session.ask(prompt("git status --long"), timeout=20).text == "ran git status --long"
    for chained in (
        "git status; rm x",
        "git status && rm x",
        "git status | sh",
        "git status $(rm x)",
        "git push",
    ):
        asked(session, prompt(chained))
    assert len(running.ran) == 2


def test_a_rule_with_edited_arguments_is_about_what_ran(hosted: Hosted) -> None:
    running = Running()
    session = hosted(running.agent, config=remembering())
    always(session, prompt("rm -rf /"), arguments={"command": "ls"})
    assert running.ran == ["ls"]
    asked(session, prompt("rm -rf /"))
    assert session.ask(prompt("ls"), timeout=20).tool_calls[0].reason == "allowed by rule 1"


def test_rules_of_other_sessions_agents_and_folders(
    hosted: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(here)
    one = hosted(Running().agent, config=remembering(), name="one")
    one.rules.add("allow", "run")
    one.rules.add("allow", "run", "path", under="a", scope="folder")
    one.rules.add("deny", "run", "path", equals="b", scope="user")
    try:
        assert [rule.number for rule in one.rules] == [1, 2, 3]
        two = hosted(Running().agent, config=remembering(), name="two")
        assert [rule.scope for rule in two.rules] == ["folder", "user"]
        asked(two, prompt())
        one.rules.add("allow", "run", "command", matches="l*", scope="folder")
        assert two.ask(prompt(), timeout=20).tool_calls[0].reason == "allowed by rule 3"
        assert [rule.scope for rule in two.rules] == ["folder", "user", "folder"]
        one.rules.remove(4)
        asked(two, prompt())
        fork = two.fork("three")
        assert [rule.scope for rule in fork.rules] == ["folder", "user"]
        fork.close()
        monkeypatch.chdir(there)
        assert [rule.scope for rule in hosted(Running().agent, name="four").rules] == ["user"]
        assert list(hosted(Running("other").agent, name="five").rules) == []
        nameless = hosted(Running(None).agent, name="running")
        assert list(nameless.rules) == []
        with pytest.raises(PermissionError, match="this agent has no name"):
            nameless.rules.add("allow", "run", scope="user")
    finally:
        one.rules.clear()
    assert list(one.rules) == []
    with pytest.raises(PermissionError, match="there is no rule 2: there are none"):
        one.rules.remove(2)


def test_a_rule_revoked_is_asked_about_and_numbers_stay(hosted: Hosted) -> None:
    session = hosted(Running().agent)
    session.rules.add("allow", "run", "command", matches="l*")
    second = session.rules.add("allow", "run")
    assert second.number == 2
    session.rules.remove(1)
    assert [rule.number for rule in session.rules] == [2]
    assert session.ask(prompt(), timeout=20).tool_calls[0].reason == "allowed by rule 2"
    session.rules.remove(2)
    asked(session, prompt())


# -- stores ----------------------------------------------------------------------------------------------


class Broken(SessionMetadataApprovalPolicyStore):
    def export_state(self, session: AcpSessionContext) -> dict[str, Any] | None:
        raise OSError("the disk is gone")

    def set_policy(self, session: AcpSessionContext, policy_key: str, policy: Any) -> None:
        raise OSError("the disk is gone")


def test_a_policy_store_that_raises_has_the_person_asked(hosted: Hosted) -> None:
    running = Running()
    session = hosted(running.agent, config=remembering(policy_store=Broken()))
    asked(session, prompt())
    always(session, prompt())
    assert running.ran == ["ls"]
    asked(session, prompt())
    notices = [item.text for turn in session.state.turns for item in turn.items if isinstance(item, Notice)]
    assert any(
        text.startswith("The answer counts for this call of run alone: the rule was not kept")
        for text in notices
    )
    assert any("so you are asked: OSError: the disk is gone" in str(i) for i in session.state.outside) or any(
        "so you are asked: OSError: the disk is gone" in text for text in notices
    )
    with pytest.raises(PermissionError, match="the rule was not kept: OSError: the disk is gone"):
        session.rules.add("allow", "run")


class Kept:
    """A host's store: nothing but the three methods, and `answers` for any session."""

    def __init__(self, **answers: Any) -> None:
        self.kept: dict[str, Any] = {}
        self.lists = answers.get("lists", True)
        self.sessions: set[str] = set()

    def get_policy(self, session: AcpSessionContext, policy_key: str) -> Any:
        self.sessions.add(session.session_id)
        return self.kept.get(policy_key)

    def set_policy(self, session: AcpSessionContext, policy_key: str, policy: Any) -> None:
        self.kept[policy_key] = policy

    def export_state(self, session: AcpSessionContext) -> dict[str, Any] | None:
        return dict(self.kept) if self.lists else None


@pytest.mark.parametrize("lists", [True, False])
def test_a_hosts_store(hosted: Hosted, lists: bool) -> None:
    store = Kept(lists=lists)
    running = Running()
    session = hosted(running.agent, config=remembering(policy_store=store))
    always(session, prompt())
    assert list(store.kept.values()) == ["allow"]
    assert session.ask(prompt(), timeout=20).tool_calls[0].reason == "allowed by rule 1"
    asked(session, prompt("pwd"))
    if lists:
        with pytest.raises(PermissionError, match="the host's store has no remove_policy"):
            session.rules.clear()
    for key in store.kept:
        store.kept[key] = "reject"
    assert session.ask(prompt(), timeout=20).tool_calls[0].reason == "denied by rule 1"
    for nonsense in ("yes", True, 1, None, ["allow"]):
        for key in store.kept:
            store.kept[key] = nonsense
        asked(session, prompt())
    assert len(running.ran) == 2


def test_policies_are_in_the_sessions_metadata(hosted: Hosted) -> None:
    seen: list[Any] = []

    class Commands:
        def available_commands(self, session: AcpSessionContext, agent: Any) -> Any:
            seen.append(session.metadata.get("approval_policies"))
            return []

        def handle_command(self, request: Any) -> Any: ...

    config = AdapterConfig(
        approval_bridge=NativeApprovalBridge(enable_persistent_choices=True),
        slash_command_provider=Commands(),
    )
    session = hosted(Running().agent, config=config)
    always(session, prompt("ls", token="sk-123"))
    session.ask(prompt("ls", token="sk-123"), timeout=20)
    assert list(seen[-1].values()) == ["allow"]
    assert '\\"ls\\"' in next(iter(seen[-1])) and "sk-123" not in str(seen[-1])
    assert "sk-123" not in str(session.state.rules)


# -- what is shown ---------------------------------------------------------------------------------------


def test_option_names_are_the_hosts_and_nothing_else_of_them(hosted: Hosted) -> None:
    names = PermissionOptionSet(
        allow_once_name="Ja", reject_once_name="Nein", allow_always_name="Immer", reject_always_name="Nie"
    )
    shown = asked(hosted(Running().agent, config=remembering(option_set=names)), prompt()).request
    reach = "run with exactly these arguments, this session"
    assert [(option.option_id, option.kind, option.label) for option in shown.options] == [
        ("allow_once", "allow_once", "Ja"),
        ("allow_always", "allow_always", f"Immer: {reach}"),
        ("reject_once", "reject_once", "Nein"),
        ("reject_always", "reject_always", f"Nie: {reach}"),
    ]
    plain = asked(hosted(Running().agent), prompt()).request
    assert [option.label for option in plain.options] == ["Allow once", "Deny"]
    assert plain.covers == ()


class Builder:
    def __init__(self, made: Callable[[PermissionRequestContext], Any]) -> None:
        self.build_tool_call_update = made


def raising(context: PermissionRequestContext) -> Any:
    context.raw_input["command"] = "evil"
    raise ValueError("no such table: a\nmore")


def changing(context: PermissionRequestContext) -> Any:
    context.raw_input["command"] = "evil"
    context.tool_call.args = {"command": "evil"}
    return ToolCallUpdate(context.tool_call.tool_call_id, title="List", raw_input={"command": "evil"})


@pytest.mark.parametrize(
    ("build", "title", "error"),
    [
        (raising, "Approve run?", "The preview failed: ValueError: no such table: a."),
        (changing, "List", None),
        (lambda context: None, "Approve run?", "The preview failed: AttributeError: "),
        (lambda context: ToolCallUpdate("x", content=7), "Approve run?", "The preview failed: TypeError: "),
    ],
    ids=["raises", "changes", "none", "nonsense"],
)
def test_a_builder_is_not_to_be_trusted(hosted: Hosted, build: Any, title: str, error: str | None) -> None:
    running = Running()
    session = hosted(running.agent, config=remembering(tool_call_builder=Builder(build)))
    turn = session.prompt(prompt())
    until(session, pending(1))
    request = session.permissions[0].request
    assert request.tool_call.arguments == {"command": "ls"} and request.title == title
    assert (request.preview_error or "").startswith(error or "") and bool(request.preview_error) == bool(
        error
    )
    session.permissions[0].allow()
    turn.wait(20)
    assert running.ran == ["ls"]


def test_a_preview_by_projection_settings(
    hosted: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.md").write_text("old\n")
    (tmp_path.parent / "outside.md").write_text("secret of the neighbour\n")
    (tmp_path / "link.md").symlink_to(tmp_path.parent / "outside.md")
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        result = yield Call("write_file", path=turn.prompt, content="new\n")
        yield Say(result.text)

    def write_file(path: str, content: str) -> str:
        Path(path).write_text(content)
        return "written"

    agent = Agent(model, tools=[Tool(write_file, requires_approval=True)])
    config = AdapterConfig(projection_maps=[FileSystemProjectionMap(default_write_tool="write_file")])
    session = hosted(agent, config=config)
    for path in ("link.md", "../outside.md", str(tmp_path.parent / "outside.md")):
        shown = asked(session, path).request
        assert shown.content == () and "is outside of the working folder" in (shown.preview_error or "")
        assert "secret of the neighbour" not in repr(shown)
    turn = session.prompt("notes.md")
    until(session, pending(1))
    (diff,) = session.permissions[0].request.content
    assert isinstance(diff, Diff) and diff.headline == "changes notes.md (+1 −1)"
    assert session.permissions[0].preview == "@ changes notes.md (+1 −1)\n@@ -1,1 +1,1 @@\n-old\n+new"
    session.permissions[0].allow()
    assert turn.wait(20).text == "written"
    assert turn.tool_calls[0].content == (diff,), "the same as after it has run"


def test_perm_12_spoofed_text_in_every_field_runs_as_it_was_written(hosted: Hosted) -> None:
    ran: list[str] = []
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        result = yield Call("run", command=MISLEADING)
        yield Say(result.text)

    agent = Agent(model)

    @agent.tool
    def run(ctx: RunContext[None], command: str) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"reason": MISLEADING, "preview": MISLEADING})
        ran.append(command)
        return "done"

    def titled(context: PermissionRequestContext) -> ToolCallUpdate:
        return ToolCallUpdate(context.tool_call.tool_call_id, title=MISLEADING)

    session = hosted(agent, config=remembering(tool_call_builder=Builder(titled)))
    turn = session.prompt("go")
    until(session, pending(1))
    page = str(static_bundle(session.state, "session")["text/html"])
    assert "<b>x</b>" not in page
    for char in "\u200b\u202e\u202c\x1b":
        assert char not in page
    assert session.permissions[0].request.tool_call.arguments == {"command": MISLEADING}
    session.permissions[0].allow(always=True)
    turn.wait(20)
    assert ran == [MISLEADING]
    assert session.ask("go", timeout=20).tool_calls[0].reason == "allowed by rule 1"


def test_what_a_tool_declares_as_a_secret_is_one(hosted: Hosted) -> None:
    got: list[Any] = []
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        result = yield Call("open_door", pin="4711-secret", doors=[{"key": "4711-secret"}])
        yield Say(result.text)

    def open_door(pin: SecretStr, doors: list[Door], note: SecretStr | None = None) -> str:
        got.append(
            (pin.get_secret_value(), doors[0].key.get_secret_value(), note and note.get_secret_value())
        )
        return "open"

    agent = Agent(model, tools=[Tool(open_door, requires_approval=True)])
    session = hosted(agent, config=remembering())
    turn = session.prompt("go")
    until(session, pending(1))
    request = session.permissions[0]
    assert request.tool_call.arguments["pin"] == "4711-secret", "what comes back unchanged is what it was"
    assert "4711" not in str(static_bundle(session.state, "session"))
    assert [covers.kind for covers in request.request.covers] == ["exact", "tool"]
    request.allow(always=True, arguments={**request.tool_call.arguments, "note": "also-secret"})
    assert turn.wait(20).text == "open"
    assert got == [("4711-secret", "4711-secret", "also-secret")]
    for shown in (
        str(static_bundle(session.state, "session")),
        repr(session.rules),
        "\n".join(recent.lines()),
    ):
        assert "4711" not in shown and "also-secret" not in shown
    assert len(session.rules) == 1


def test_secrets_stay_masked_and_what_runs_is_the_original(hosted: Hosted) -> None:
    got: list[str] = []
    model = ScriptedModel()

    @model.script()
    def script(turn: Any) -> Any:
        result = yield Call("send", to="a", api_key="sk-123")
        yield Say("sent" if not result.denied else result.text)

    def send(to: str, api_key: str) -> None:
        got.append(api_key)
        raise ValueError("the provider said no")

    agent = Agent(model, tools=[Tool(send, requires_approval=True)])
    session = hosted(agent, config=remembering())
    always(session, "go")
    assert got == ["sk-123"]
    session.ask("go", timeout=20)
    assert got == ["sk-123"] * 2
    bundle = static_bundle(session.state, "session")
    assert "sk-123" not in str(bundle)
    assert "sk-123" not in "\n".join(recent.lines())
