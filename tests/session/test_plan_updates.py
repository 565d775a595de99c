"""Plan updates as agents in the field have sent them, from the line on the wire to what a person sees."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook
from acp_notebook.kernel.host import ThreadHost
from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.protocol import v1
from acp_notebook.protocol.messages import PlanRemoved, PlanUpdate
from acp_notebook.views.parts import Memo, Part, all_parts, assemble, layout
from acp_notebook.views.session import render_session
from acp_notebook.views.widget import session_view
from harness.puppet import PuppetSession, pages


@pytest.fixture
def session(no_threads_left: None) -> Iterator[PuppetSession]:
    with pages():
        session = PuppetSession(ThreadHost())
        yield session
        session.close()


def line(update: Any) -> str:
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}}
    return json.dumps(message)


def plan_line(*entries: tuple[str, str]) -> str:
    """A plan of v1, given contents and statuses."""
    members = [{"content": content, "priority": "medium", "status": status} for content, status in entries]
    return line({"sessionUpdate": "plan", "entries": members})


def receive(session: PuppetSession, *lines: str) -> None:
    """Lines from the agent's stdout."""
    for one in lines:
        session.send(*v1.read(json.loads(one)["params"]))


def contents(session: PuppetSession) -> list[str]:
    return [entry.content for entry in session.plan]


def parts(session: PuppetSession) -> list[Part]:
    return list(all_parts(layout(render_session(session.state, Memo(), True))))


def row(session: PuppetSession, number: int) -> str:
    return next(part.html for part in parts(session) if part.key.endswith(f"entries.{number}"))


def test_plan_02_unknown_status(session: PuppetSession) -> None:
    statuses = ["completed", "cancelled", "blocked", "pending"]
    texts = ["Draft outline", "Ask the teacher", "Grade quiz", "Publish"]
    receive(session, plan_line(*zip(texts, statuses, strict=True)))
    assert contents(session) == texts and session.plan.progress == (1, 4)
    assert session.plan.to("md").count("[x]") == 1
    assert [entry.status for entry in Plan.parse(session.plan.to("json"))] == statuses
    assert 'data-status="blocked"' in row(session, 3) and ">blocked<" in row(session, 3)
    assert "cancelled" in row(session, 2) and "completed" not in row(session, 2) + row(session, 3)
    wire: Any = v1.Writer(plans=False).write(PlanUpdate(session.plan))
    assert [entry["status"] for entry in wire["entries"]] == ["completed", "pending", "pending", "pending"]
    assert v1.read({"update": wire}) == (PlanUpdate(session.plan),)


def test_plan_04_entries_absent_is_not_clear(session: PuppetSession) -> None:
    receive(session, plan_line(("Keep me", "in_progress")))
    kept = session.plan
    for count, update in enumerate(({}, {"entries": None}), 1):
        receive(session, line({"sessionUpdate": "plan", **update}))
        assert session.plan is kept and session.state.faults == {"update refused": count}
    receive(session, line({"sessionUpdate": "plan", "content": "- [x] load\n- [ ] plot"}))
    assert session.plan.entries == (PlanEntry("load", status="completed"), PlanEntry("plot"))
    assert session.state.faults == {"update refused": 2, "update mended": 1}
    receive(session, line({"sessionUpdate": "plan", "content": "I will load and plot."}))
    assert contents(session) == ["load", "plot"]
    turn = session.prompt("go on")
    receive(session, line({"sessionUpdate": "plan", "entries": []}))
    session.do(session.puppet.end)
    assert turn.stop_reason == "end_turn" and session.plan == Plan()


@pytest.mark.parametrize(
    ("stop_reason", "fields"),
    [("end_turn", {}), ("cancelled", {}), ("error", {"error": "the agent has exited with 1"})],
    ids=["ended", "cancelled", "exited"],
)
def test_plan_07_stale_step_when_turn_ends(
    session: PuppetSession, stop_reason: str, fields: dict[str, str]
) -> None:
    session.prompt("begin")
    receive(session, plan_line(("Step 1", "completed"), ("Step 2", "in_progress"), ("Step 3", "pending")))
    running = assemble(parts(session))
    assert "acp-running" in running and "still in progress" not in running
    session.do(session.puppet.end, stop_reason, **fields)
    statuses = [entry["status"] for entry in json.loads(session.plan.to("json"))["entries"]]
    assert statuses == ["completed", "in_progress", "pending"] and session.state.status == "idle"
    for controls in (True, False):
        ended = assemble(render_session(session.state, Memo(), controls))
        assert "acp-running" not in ended and "The turn ended with steps still in progress." in ended


def test_plan_08_update_after_turn_end(session: PuppetSession, capsys: pytest.CaptureFixture[str]) -> None:
    first = session.prompt("one")
    session.do(session.puppet.end)
    late = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "late words"}}
    receive(session, plan_line(("Late tick", "completed")), line(late))
    second = session.prompt("two")
    receive(session, line({**late, "content": {"type": "text", "text": "answer"}}))
    session.do(session.puppet.end)
    assert session.plan.entries == (PlanEntry("Late tick", status="completed"),)
    assert session.plan_history()[0].turn is None
    assert (first.text, second.text) == ("late words", "answer")
    assert capsys.readouterr() == ("", "")


def test_plan_11_plan_operations(session: PuppetSession) -> None:
    one = {"content": "One", "priority": "medium", "status": "pending"}
    items = {"type": "items", "planId": "p1", "entries": [one]}
    notes = {"type": "markdown", "planId": "p2", "content": "# Notes\n- [ ] two"}
    lines = [
        ({"sessionUpdate": "plan_update", "plan": items}, ["p1"]),
        ({"sessionUpdate": "plan_update", "plan": notes}, ["p1", "p2"]),
        ({"sessionUpdate": "plan_removed", "planId": "p1"}, ["p2"]),
        ({"sessionUpdate": "plan_removed", "planId": "nope"}, ["p2"]),
        ({"sessionUpdate": "plan_update", "plan": {"type": "hologram", "planId": "p3"}}, ["p2", "p3"]),
    ]
    for update, live in lines:
        receive(session, line(update))
        assert list(session.plans) == live
    assert session.plans["p2"].content == "# Notes\n- [ ] two" and not session.state.faults
    assert "<h1>Notes</h1>" in assemble(parts(session)) and "hologram" in assemble(parts(session))
    assert list(session.state.history) == ["p1", "p2", "p3"]


def test_plan_11_plan_operations_for_a_client_that_did_not_ask_for_them(session: PuppetSession) -> None:
    writer = v1.Writer(plans=False)

    def send(update: PlanUpdate | PlanRemoved) -> None:
        if (wire := writer.write(update)) is not None:
            receive(session, line(wire))

    send(PlanUpdate(Plan((PlanEntry("One"),), "p1")))
    send(PlanUpdate(Plan(plan_id="p2", type="markdown", content="# Notes\n- [ ] two")))
    assert contents(session) == ["two"] and list(session.plans) == ["plan-1"]
    send(PlanRemoved("p1"))
    assert contents(session) == ["two"]
    send(PlanRemoved("p2"))
    assert list(session.plans) == ["plan-1"] and not session.plan


def test_plan_13_long_plan_long_entry(session: PuppetSession) -> None:
    texts = [f"Step {number:02}" for number in range(1, 61)]
    texts[6], texts[7] = "x" * 12_000, "\n".join(f"line {number}" for number in range(40))
    comm: Any = session_view(session).comm
    comm.receive({"action": "hello"})
    comm.wait_for(lambda: comm.custom("snapshot"))
    receive(session, plan_line(*((text, "pending") for text in texts)))
    comm.wait_for(lambda: comm.custom("patch"))
    assert sum(len(json.dumps(message)) for message in comm.custom("patch")) < 200_000
    assert contents(session) == texts
    for format in ("md", "json"):
        assert [entry.content for entry in Plan.parse(session.plan.to(format), format)] == texts
    assert "<details" in row(session, 7) and "12,000 characters" in row(session, 7)
    assert texts[6] in row(session, 7)
    css = (Path(acp_notebook.__file__).parent / "static" / "acp.css").read_text(encoding="utf-8")
    assert re.search(r"\.acp-entries\b[^{}]*\{[^}]*max-height: [^}]*overflow(-y)?: auto", css)
    assert re.search(r"\.acp-text\b[^{}]*\{[^}]*overflow-wrap: anywhere", css)


def test_plan_14_rtl_emoji_controls(session: PuppetSession) -> None:
    texts = [
        "בדיקת נתונים (v2)",
        "ship 👩‍🔬 report",
        "note \u202etxt.exe",
        "é vs e\u0301",
        "zero\u200bwidth",
    ]
    receive(session, plan_line(*((text, "pending") for text in texts)))
    assert contents(session) == texts
    assert [entry["content"] for entry in json.loads(session.plan.to("json"))["entries"]] == texts
    assert all('dir="auto"' in row(session, number) for number in range(1, 6))
    assert "U+202E" in row(session, 3) and "\u202e" not in row(session, 3)
    assert "\u200d" in row(session, 2) and "U+200D" not in row(session, 2)
    assert "U+200B" in row(session, 5)
