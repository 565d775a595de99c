"""A preview is a promise: what was seen before a yes is what happens, or the person is asked again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, Tool

from acp_notebook import (
    AdapterConfig,
    Call,
    Diff,
    FileSystemProjectionMap,
    Say,
    ScriptedModel,
    Session,
    StepApp,
)
from acp_notebook.session.permissions import PermissionRequest
from harness.sessions import pending, until

Hosted = Callable[..., Session]
CHANGED = "what the call would change is no longer what was shown"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.md").write_text("one\n")
    return tmp_path


@pytest.fixture
def start(hosted: Hosted, folder: Path) -> Hosted:
    """A session whose agent makes the calls that the prompt lists, as JSON, all at once."""

    def write(path: str, content: str) -> str:
        (folder / path).write_text(content)
        return f"wrote {content.strip()}"

    def delete(path: str) -> str:
        (folder / path).unlink()
        return "deleted"

    def start(**options: Any) -> Session:
        model, app = ScriptedModel(), StepApp("files")
        app.tool(requires_approval=True)(write)

        @model.script("steps")
        def steps(turn: Any) -> Any:
            args = {"path": "notes.md", "content": "two\n"}
            result = yield Call("execute_plan", steps=[{"id": "w", "tool": "write", "args": args}])
            yield Say(str(result.content))

        @model.script()
        def script(turn: Any) -> Any:
            results = yield [Call(name, **arguments) for name, arguments in json.loads(turn.prompt)]
            yield Say(" | ".join(result.text for result in results))

        tools = [Tool(write, requires_approval=True), Tool(delete, requires_approval=True)]
        own = FileSystemProjectionMap(default_write_tool="write", default_delete_tool="delete")
        toolsets = [app] if options.pop("steps", False) else []
        agent = Agent(model, tools=[] if toolsets else tools, toolsets=toolsets)
        return hosted(agent, config=AdapterConfig(projection_maps=[own]), **options)

    return start


def calls(*made: tuple[str, str, str]) -> str:
    """A prompt for calls: tool, path, content."""
    return json.dumps(
        [[tool, {"path": path, **({"content": content} if content else {})}] for tool, path, content in made]
    )


def asked(session: Session, number: int) -> PermissionRequest:
    """The request that waits when so many have been made in this turn."""
    until(session, lambda state: len(state.turns[-1].permissions) == number and len(state.pending) == 1)
    return session.permissions[0]


def old(request: PermissionRequest) -> str | None:
    (diff,) = request.request.content
    assert isinstance(diff, Diff)
    return diff.old


@pytest.mark.parametrize("steps", [False, True], ids=["call", "step"])
def test_a_file_that_has_changed_is_shown_again(start: Hosted, folder: Path, steps: bool) -> None:
    session = start(steps=steps)
    turn = session.prompt("steps" if steps else calls(("write", "notes.md", "two\n")))
    first = asked(session, 1)
    assert old(first) == "one\n" and first.request.problem is None
    (folder / "notes.md").write_text("somebody's\n")
    first.allow()
    second = asked(session, 2)
    assert old(second) == "somebody's\n" and second.request.problem == CHANGED
    assert (folder / "notes.md").read_text() == "somebody's\n"
    second.allow()
    assert "wrote two" in turn.wait(20).text
    assert (folder / "notes.md").read_text() == "two\n"
    assert [state.status for state in turn.state.permissions] == ["allowed", "allowed"]


@pytest.mark.parametrize(
    ("prepare", "change"),
    [
        (lambda file: None, lambda file: file.unlink()),
        (lambda file: file.unlink(), lambda file: file.write_text("new\n")),
    ],
    ids=["goes", "comes"],
)
def test_a_file_that_goes_or_comes_is_shown_again(
    start: Hosted, folder: Path, prepare: Callable[[Path], Any], change: Callable[[Path], Any]
) -> None:
    session, file = start(), folder / "notes.md"
    prepare(file)
    turn = session.prompt(calls(("delete", "notes.md", "")))
    first = asked(session, 1)
    change(file)
    first.allow()
    second = asked(session, 2)
    assert second.request.problem == CHANGED
    assert bool(second.request.preview_error) != bool(first.request.preview_error)
    second.deny("not that")
    assert turn.wait(20).text == "not that"


def test_a_no_is_a_no_and_the_same_content_is_the_same(start: Hosted, folder: Path) -> None:
    session = start()
    turn = session.prompt(calls(("write", "notes.md", "two\n")))
    request = asked(session, 1)
    (folder / "notes.md").write_text("somebody's\n")
    request.deny()
    assert turn.wait(20).text == "The person denied this call; it did not run."
    turn = session.prompt(calls(("write", "notes.md", "two\n")))
    request = asked(session, 1)
    (folder / "notes.md").write_text("somebody's\n")  # a new time, the same text
    request.allow()
    assert turn.wait(20).text == "wrote two"


def test_a_file_that_changes_while_another_card_waits_is_shown_again(start: Hosted, folder: Path) -> None:
    session = start()
    turn = session.prompt(calls(("write", "notes.md", "two\n"), ("write", "other.md", "x\n")))
    until(session, pending(2))
    notes, other = session.permissions
    notes.allow()
    (folder / "new.md").write_text("somebody's\n")
    (folder / "new.md").replace(folder / "notes.md")  # in one go: it is looked at meanwhile
    other.allow()
    again = asked(session, 3)
    assert again.tool_call.arguments["path"] == "notes.md" and old(again) == "somebody's\n"
    assert again.request.problem == CHANGED
    again.allow(arguments={"path": "notes.md", "content": "both\n"})
    assert turn.wait(20).text == "wrote both | wrote x"
    assert (folder / "notes.md").read_text() == "both\n"


@pytest.mark.parametrize("yes", [True, False])
def test_of_two_calls_on_one_file_the_second_is_shown_again(start: Hosted, folder: Path, yes: bool) -> None:
    session = start()
    turn = session.prompt(calls(("write", "notes.md", "two\n"), ("write", "./notes.md", "three\n")))
    until(session, pending(2))
    for request in session.permissions:
        request.allow()
    again = asked(session, 3)
    seen = old(again)
    again.allow() if yes else again.deny()
    texts = turn.wait(20).text.split(" | ")
    assert len(texts) == 2 and seen in ("two\n", "three\n")
    assert ("The person denied this call; it did not run." in texts) is not yes
    assert ((folder / "notes.md").read_text() == seen) is not yes


def test_edited_arguments_are_held_against_the_file_as_it_was_seen(start: Hosted, folder: Path) -> None:
    session = start()
    edited = {"path": "notes.md", "content": "mine\n"}
    turn = session.prompt(calls(("write", "notes.md", "two\n")))
    asked(session, 1).allow(arguments=edited)
    assert turn.wait(20).text == "wrote mine" and len(turn.state.permissions) == 1
    turn = session.prompt(calls(("write", "notes.md", "two\n")))
    request = asked(session, 1)
    (folder / "notes.md").write_text("somebody's\n")
    request.allow(arguments=edited)
    assert asked(session, 2).request.problem == CHANGED
    session.cancel()
    assert turn.wait(20).stop_reason == "cancelled"
    assert (folder / "notes.md").read_text() == "somebody's\n"


def test_what_nobody_has_looked_at_is_not_asked_twice(start: Hosted, folder: Path) -> None:
    session = start(on_unattended="allow")
    assert session.ask(calls(("write", "notes.md", "two\n")), timeout=20).text == "wrote two"
    session.rules.add("allow", "write")
    turn = session.ask(calls(("write", "notes.md", "3\n"), ("write", "notes.md", "4\n")), timeout=20)
    assert turn.state.permissions == ()
