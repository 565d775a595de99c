"""The host application's part: a plan of its own that is followed, or the session's plans kept by it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent

from acp_notebook import (
    AcpSessionContext,
    AdapterConfig,
    Call,
    NativePlanPersistenceProvider,
    Plan,
    PlanEntry,
    PlanProvider,
    Say,
    ScriptedModel,
    Session,
)
from acp_notebook.agent import providers
from acp_notebook.errors import PlanError
from acp_notebook.plan import UpdateEntry
from acp_notebook.protocol.messages import Notice
from acp_notebook.session.state import SessionState
from harness.sessions import until

Hosted = Callable[..., Session]


def scripted(script: Callable[[Any], Any], **tools: Callable[[], str]) -> Agent[None, str]:
    model = ScriptedModel()
    model.script()(script)
    agent = Agent(model)
    for name, function in tools.items():
        agent.tool_plain(name=name)(function)
    return agent


def contents(session: Session) -> list[str]:
    return [entry.content for entry in session.plan]


def notices(state: SessionState) -> list[str]:
    """Lines for the person, but for those on what the agent was told."""
    items = [*state.outside, *(item for turn in state.turns for item in turn.items)]
    return [i.text for i in items if isinstance(i, Notice) and not i.text.startswith("Told the agent")]


# -- the host's own plan ---------------------------------------------------------------------------------


class Board:
    """A host's plan, which it can change and announce. `answers` come first, one for each reading."""

    def __init__(self, *plan: str) -> None:
        self.plan: list[PlanEntry] | None = [PlanEntry(text) for text in plan]
        self.answers: list[Any] = []
        self.readers: list[tuple[AcpSessionContext, Any]] = []
        self.listeners: list[Callable[[], None]] = []

    def get_plan(self, session: AcpSessionContext, agent: Any) -> Any:
        self.readers.append((session, agent))
        if not self.answers:
            return self.plan
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        self.listeners.append(changed)
        return lambda: self.listeners.remove(changed)

    def show(self, *plan: str) -> None:
        self.plan = [PlanEntry(text) for text in plan]
        for changed in self.listeners:
            changed()


class AsyncBoard(Board):
    async def get_plan(self, session: AcpSessionContext, agent: Any) -> Any:
        await asyncio.sleep(0)
        answer = super().get_plan(session, agent)
        return await answer() if callable(answer) else answer


def config(board: Any) -> AdapterConfig:
    return AdapterConfig(plan_provider=board, native_plan_additional_instructions="Be brief.")


def read_and_wait(turn: Any) -> Any:
    read = yield Call("acp_get_plan")
    yield Call("meanwhile")
    yield Say(f"{read.text.splitlines()[0]} | {','.join(sorted(turn.tools))} | {read.text}")


@pytest.mark.parametrize("kind", [Board, AsyncBoard])
def test_a_hosts_plan_is_shown_from_the_start_and_read_before_each_step_and_at_the_end(
    hosted: Hosted, kind: type[Board]
) -> None:
    board = kind("load")
    agent = scripted(read_and_wait, meanwhile=lambda: board.plan.append(PlanEntry("plot")) or "done")
    session = hosted(agent, config=config(board), name="survey")
    until(session, lambda state: state.plan.entries)
    assert contents(session) == ["load"]

    seen: list[tuple[str, ...]] = []
    session.subscribe(lambda state, event: seen.append(tuple(e.content for e in state.plan)))
    board.plan = [PlanEntry("fetch"), PlanEntry("load")]
    turn = session.ask("go")
    read, tools, text = turn.text.split(" | ")
    assert read == "1. [pending] (medium) fetch"
    assert tools == "acp_get_plan,meanwhile"
    assert text.split("\n\n")[1:] == [
        "The plan belongs to the host application, which alone changes it.",
        "Be brief.",
    ]
    assert contents(session) == ["fetch", "load", "plot"]
    assert [item.text for item in turn.state.items if isinstance(item, Notice)] == [
        "Told the agent: 2 added",
        'Told the agent: 3. "plot" added, pending, medium priority',
    ]
    assert [revision.author for revision in session.plan_history()] == ["host"] * 3

    context, given = board.readers[-1]
    assert given is agent
    assert (context.title, context.session_model_id, context.cwd) == ("survey", "demo", Path.cwd())
    assert context.config_values["mode"] == "agent"

    board.plan = None
    session.ask("go on")
    assert session.plans == {}


def test_a_mode_without_plan_tools_has_none_for_a_hosts_plan_either(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        yield Say(",".join(sorted(turn.tools)) or "none")

    session = hosted(scripted(script), config=config(Board("load")), mode="ask")
    assert session.ask("go").text == "none"


def test_a_hosts_plan_is_pushed_from_any_thread_and_left_at_the_end(hosted: Hosted) -> None:
    pushed = threading.Event()
    board = Board("load")

    def push() -> str:  # tools run on threads of their own
        board.show("load", "plot")
        assert pushed.wait(20)
        return "done"

    def script(turn: Any) -> Any:
        yield Call("meanwhile")
        yield Say("ready")

    session = hosted(scripted(script, meanwhile=push), config=config(board))
    turn = session.prompt("go")
    until(session, lambda state: len(state.plan) == 2)
    assert turn.running
    pushed.set()
    turn.wait(20)
    board.show("all new")
    until(session, lambda state: state.plan.entries[0].content == "all new")
    [changed] = board.listeners
    session.close()
    assert board.listeners == []
    changed()  # too late, and harmless


def test_nobody_else_changes_a_hosts_plan(hosted: Hosted) -> None:
    session = hosted(scripted(read_and_wait), config=config(Board("load")))
    for change in (
        lambda: session.set_plan(["x"]),
        lambda: session.set_plan(["x"], plan_id="other"),
        lambda: session.mark_done(1),
        lambda: session.restore_plan(1),
        lambda: session.remove_plan("plan-1"),
        lambda: session.edit_plan([], author="file"),
        lambda: session.edit_plan([UpdateEntry(9, status="completed")], since=1),
        lambda: session.undo_plan(),
    ):
        with pytest.raises(PlanError, match="the plan belongs to the host application, which alone changes"):
            change()
    assert contents(session) == ["load"]


async def never() -> Any:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (RuntimeError("no connection\nsecret"), "RuntimeError: no connection"),
        (SystemExit(3), "SystemExit: 3"),
        (42, "int: 42 is not a plan: return a list of PlanEntry, a Plan, or None"),
        ("load, plot", "str: 'load, plot' is not a plan: return a list of PlanEntry, a Plan, or None"),
        ([{"status": "pending"}], "entry 1 has no text: give it a 'content'"),
        ([PlanEntry(None)], "is not an entry of a plan: use PlanEntry with texts"),  # type: ignore[arg-type]
        (Plan(("load",)), "'load' is not an entry of a plan: use PlanEntry with texts"),  # type: ignore[arg-type]
        (never, "no answer within 0.05 s"),
    ],
)
def test_a_host_that_fails_leaves_the_last_plan_and_says_so_once_in_a_line(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch, answer: Any, line: str
) -> None:
    monkeypatch.setattr(providers, "PATIENCE", 0.05)
    board = AsyncBoard("load")
    session = hosted(scripted(read_and_wait, meanwhile=lambda: "done"), config=config(board))
    until(session, lambda state: state.plan.entries)
    failures = 5
    board.answers = [answer] * failures
    board.plan = [PlanEntry("plot")]
    turn = session.ask("go")
    assert turn.stop_reason == "end_turn"
    assert contents(session) == ["load"]
    [said] = notices(session.state)
    assert said.startswith("the host's plan could not be read, so the last one stands: ")
    assert said.endswith(line)
    board.answers = []
    session.ask("go on")
    assert contents(session) == ["plot"]


def test_a_host_that_hangs_holds_a_turn_up_once(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(providers, "PATIENCE", 1.0)
    board = AsyncBoard("load")
    session = hosted(scripted(read_and_wait, meanwhile=lambda: "done"), config=config(board))
    until(session, lambda state: state.plan.entries)
    board.answers = [never] * 9
    turn = session.ask("go").state
    assert len(board.readers) >= 5 and turn.ended is not None
    assert turn.ended - turn.started < 3


def test_a_host_that_fails_at_the_start_fails_alone(hosted: Hosted) -> None:
    board = Board("load")
    board.answers = [RuntimeError("not yet")]
    session = hosted(scripted(read_and_wait, meanwhile=lambda: "done"), config=config(board))
    assert notices(session.state) == [
        "the host's plan could not be read, so the last one stands: RuntimeError: not yet"
    ]
    session.ask("go")
    assert contents(session) == ["load"]


# -- the session's plans kept ----------------------------------------------------------------------------


class WorkspaceNativePlanPersistenceProvider:
    """As pydantic-acp's guide has it."""

    def persist_plan_state(
        self, session: Any, agent: Any, entries: list[PlanEntry], plan_markdown: str | None
    ) -> None:
        del agent
        output_path = session.cwd / ".acpkit" / "plan.md"
        output_path.parent.mkdir(parents=True, exist_ok=True)
        numbered_entries = "\n".join(
            f"{index}. [{entry.status}] {entry.content}" for index, entry in enumerate(entries, start=1)
        )
        output_path.write_text(
            "\n\n".join(part for part in (plan_markdown, numbered_entries) if part),
            encoding="utf-8",
        )


class Shelf:
    """Keeps what it is given, as `plan id: entries`. `hold` is awaited before anything is kept."""

    def __init__(self, hold: Callable[[], Any] | None = None) -> None:
        self.kept: list[str] = []
        self.calls = 0
        self._hold = hold

    async def persist_plan_state(
        self,
        session: AcpSessionContext,
        agent: Any,
        entries: Sequence[PlanEntry],
        plan_markdown: str | None,
    ) -> None:
        self.calls += 1
        if self._hold is not None:
            await self._hold()
        self.kept.append(f"{session.active_plan_id}: {' '.join(entry.content for entry in entries)}")


def keeping(provider: NativePlanPersistenceProvider) -> AdapterConfig:
    return AdapterConfig(native_plan_persistence_provider=provider)


def write_plan(turn: Any) -> Any:
    yield Call("acp_set_plan", entries=[{"content": "load"}, {"content": "plot"}], plan_md="# Survey")
    yield Call("acp_mark_plan_done", index=1)
    yield Say("ready")


def test_every_change_of_the_plan_is_kept_whoever_made_it(
    hosted: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = hosted(scripted(write_plan), config=keeping(WorkspaceNativePlanPersistenceProvider()))
    file = tmp_path / ".acpkit" / "plan.md"
    session.ask("go")
    assert file.read_text() == "# Survey\n\n1. [completed] load\n2. [pending] plot"
    session.add_entry("report")
    assert file.read_text().endswith("3. [pending] report")
    session.undo_plan()
    assert file.read_text().endswith("2. [pending] plot")
    session.edit_plan([], author="file")
    session.remove_plan("plan-1")
    assert file.read_text() == ""


def test_a_slow_shelf_holds_nothing_up_and_gets_every_change_in_order(hosted: Hosted) -> None:
    go_on = threading.Event()

    async def hold() -> None:
        await asyncio.to_thread(go_on.wait, 20)

    shelf = Shelf(hold)
    session = hosted(scripted(write_plan), config=keeping(shelf))
    turn = session.ask("go", timeout=20)
    session.set_plan(["bake"], plan_id="cake")
    session.remove_plan("cake")
    assert (turn.stop_reason, shelf.kept, shelf.calls) == ("end_turn", [], 1)
    go_on.set()
    session.close()
    assert shelf.kept == ["plan-1: load plot", "plan-1: load plot", "cake: bake", "cake: "]


def test_a_shelf_that_hangs_is_said_to_be(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(providers, "PATIENCE", 0.05)
    session = hosted(scripted(write_plan), config=keeping(Shelf(never)))
    assert session.ask("go").stop_reason == "end_turn"
    until(session, notices)
    assert notices(session.state) == [
        "the plan has not been kept outside of this session yet, and what changes now waits for that"
    ]
    session.close()


def test_what_is_not_kept_when_the_session_ends_is_kept_then(hosted: Hosted) -> None:
    ends = asyncio.Event()

    async def hold() -> None:
        if shelf.calls == 1:
            await ends.wait()  # as long as the loop runs

    shelf = Shelf(hold)
    session = hosted(scripted(write_plan), config=keeping(shelf))
    session.set_plan(["load"])
    session.set_plan(["plot"])
    session.close()
    assert shelf.kept == ["plan-1: load", "plan-1: plot"]


def test_a_shelf_that_stops_for_good_does_not_keep_the_session_from_ending(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers, "PATIENCE", 0.05)
    session = hosted(scripted(write_plan), config=keeping(Shelf(never)))
    session.set_plan(["load"])
    session.close()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_shelf_that_fails_leaves_the_plan_and_says_so_once_in_a_line(
    hosted: Hosted, asynchronous: bool
) -> None:
    class Full:
        def persist_plan_state(
            self, session: Any, agent: Any, entries: list[PlanEntry], plan_markdown: str | None
        ) -> Any:
            return self.later(entries) if asynchronous else self.keep(entries)

        async def later(self, entries: list[PlanEntry]) -> None:
            self.keep(entries)

        def keep(self, entries: list[PlanEntry]) -> None:
            if entries[-1].content != "small":
                raise OSError("disk full")

    session = hosted(scripted(write_plan), config=keeping(Full()))
    turn = session.ask("go")
    said = "the plan was not kept outside of this session: OSError: disk full"
    until(session, lambda state: notices(state) == [said])
    assert turn.stop_reason == "end_turn"
    assert contents(session) == ["load", "plot"]
    session.add_entry("small")
    session.add_entry("large")
    session.add_entry("larger")
    until(session, lambda state: notices(state) == [said, said])
    assert len(session.plan) == 5


def test_a_shelf_may_change_the_plan_itself(hosted: Hosted) -> None:
    kept: list[list[str]] = []

    class Tidy:
        def persist_plan_state(self, session: Any, agent: Any, entries: Any, plan_markdown: Any) -> None:
            kept.append([entry.content for entry in entries])
            if entries[-1].content != "tidy up":
                here.add_entry("tidy up")

    here = hosted(scripted(write_plan), config=keeping(Tidy()))
    here.set_plan(["load"])
    assert kept == [["load"], ["load", "tidy up"]]
    assert contents(here) == ["load", "tidy up"]


# -- settings --------------------------------------------------------------------------------------------


def test_additional_instructions_end_what_the_model_reads(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        read = yield Call("acp_get_plan")
        yield Say(read.text.splitlines()[-1])

    session = hosted(
        scripted(script), config=AdapterConfig(native_plan_additional_instructions="\nKeep plans short.\n")
    )
    assert session.ask("go").text == "Keep plans short."


def test_a_config_is_a_value_and_providers_are_plain_objects() -> None:
    board: PlanProvider = Board()
    shelf: NativePlanPersistenceProvider = Shelf()
    assert AdapterConfig(plan_provider=board) == AdapterConfig(plan_provider=board)
    assert AdapterConfig(native_plan_persistence_provider=shelf) != AdapterConfig()
    with pytest.raises(AttributeError):
        AdapterConfig().plan_provider = board  # type: ignore[misc]
