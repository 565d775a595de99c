"""Turns as parts."""

from __future__ import annotations

import re
from typing import Any

from acp_notebook.protocol.messages import (
    RUNNING_ON,
    AgentMessageChunk,
    AgentThoughtChunk,
    Cancelled,
    ConfigOption,
    ConfigOptionUpdate,
    Notice,
    PermissionOption,
    RequestPermission,
    Selected,
    StateUpdate,
    ToolCall,
    ToolCallContentChunk,
    ToolCallUpdate,
    Usage,
    UserMessage,
)
from acp_notebook.session.reduce import reduce
from acp_notebook.session.state import Event, PermissionAnswered, PermissionAsked, SessionState
from acp_notebook.views.bundle import static_bundle
from acp_notebook.views.parts import Memo, assemble, diff, layout
from acp_notebook.views.session import render_session, render_turn
from harness.puppet import MODE, THINKING

AT = 1_796_047_000.0
HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>\u202e\u200b'


def after(*events: tuple[Event, float] | Event, state: SessionState | None = None) -> SessionState:
    state = state or SessionState("survey", "agent", "demo", scripted=True)
    for event in events:
        one, at = event if type(event) is tuple else (event, 0.0)
        state = reduce(state, one, AT + at)
    return state


def whole(state: SessionState, controls: bool = True) -> str:
    return assemble(render_session(state, Memo(), controls))


GO = UserMessage("Go <on>", "m")


def test_thoughts_are_folded_and_timed() -> None:
    thinking = after(GO, (AgentThoughtChunk("Hm, "), 1), (AgentThoughtChunk("<b>so</b>"), 2))
    made = whole(thinking)
    assert '<details class="acp-thought"><summary>Thinking…</summary>' in made
    assert "Hm, &lt;b&gt;so&lt;/b&gt;" in made
    assert "Thought for 2.1 s" in whole(after((AgentMessageChunk("Yes"), 3.1), state=thinking))


def test_a_tool_call_from_start_to_end() -> None:
    started = after(GO, ToolCallUpdate("c1", name="load", status="in_progress", raw_input={"path": "a.csv"}))
    made = whole(started)
    assert '<details class="acp-tool-call" data-tool-call-id="c1" data-status="in_progress">' in made
    assert "load(path=&quot;a.csv&quot;)" in made and " · running" in made
    printed = after(ToolCallContentChunk("c1", "500 rows\n"), state=started)
    done = after((ToolCallUpdate("c1", status="completed", raw_output={"rows": 500}), 0.031), state=printed)
    made = whole(done)
    assert "500 rows" in made and "&quot;rows&quot;: 500" in made and " · 31 ms" in made
    assert 'data-status="completed"' in made and ", completed</span>" in made
    failed = after(ToolCallUpdate("c1", status="failed", reason="KeyError: 'age'"), state=printed)
    assert "✗" in whole(failed) and "failed · KeyError: &#x27;age&#x27;" in whole(failed)


def test_plan_tools_in_a_row_are_one_line() -> None:
    calls = [
        ToolCallUpdate("1", name="acp_get_plan", status="completed", raw_output="1. [pending] (medium) a"),
        ToolCallUpdate("2", name="acp_mark_plan_done", status="in_progress", raw_input={"index": 1}),
        ToolCallUpdate("3", name="load", status="completed"),
        ToolCallUpdate("4", name="acp_get_plan", status="failed"),
    ]
    made = whole(after(GO, *calls))
    assert made.count('<details class="acp-plan-calls">') == 2
    assert "plan tools · 2 calls · running" in made and "plan tools · 1 call · 1 failed" in made
    assert made.count('<details class="acp-tool-call"') == 4
    done = ToolCallUpdate("2", status="completed")
    assert "plan tools · 2 calls</summary>" in whole(after(GO, *calls, done))


def test_long_output_is_folded_with_exact_counts() -> None:
    output = "".join(f"row {n}\n" for n in range(100_000))
    state = after(GO, ToolCallUpdate("c1", name="load"), ToolCallContentChunk("c1", output))
    made = whole(state)
    assert len(made) < 20_000
    assert f"{len(output):,} characters, 100,001 lines" in made
    hidden = re.search(r"… ([\d,]+) characters, ([\d,]+) lines? not shown …", made)
    assert hidden and int(hidden[1].replace(",", "")) == len(output) - 12_000
    assert "row 0\n" in made and "row 99999\n" in made


def test_unfinished_markdown_is_patched_not_sent_again() -> None:
    memo = Memo()
    state = after(GO, AgentMessageChunk("First paragraph.\n\nSecond para"))
    before = layout(render_session(state, memo, True))
    state = after(AgentMessageChunk("graph.\n\nThird"), state=state)
    patch = diff(before, layout(render_session(state, memo, True)))
    assert [html for _, html, *_ in patch.set] == ["<p>Second paragraph.</p>\n", "<p>Third</p>\n"]


def test_how_turns_end() -> None:
    usage = Usage(1000, 204, 2, 1)
    ended = after(GO, ToolCallUpdate("c1", name="f"), (StateUpdate("idle", "end_turn", usage), 4.2))
    made = whole(ended)
    assert "1,204 tokens · 4.2 s · 1 tool call" in made
    assert ">ready</span>" in made and "cancel" not in made
    cancelled = whole(after(GO, StateUpdate("idle", "cancelled")))
    assert "The turn was cancelled." in cancelled and "ready · last turn cancelled" in cancelled
    failed = whole(after(GO, StateUpdate("idle", "error", error="UserError: <no key>")))
    assert "The turn failed." in failed and "UserError: &lt;no key&gt;" in failed
    assert "it went _odd" not in failed
    assert "_odd" in whole(after(GO, StateUpdate("idle", "_odd")))


def test_notices_say_their_level() -> None:
    made = whole(after(GO, Notice("look out", "warning"), Notice("fyi")))
    assert 'data-level="warning"' in made and "Warning: " in made and "look out" in made
    outside = whole(after(Notice("before any turn")))
    assert "before any turn" in outside


def test_the_header() -> None:
    options = (
        MODE,
        THINKING,
        ConfigOption("web", "Web search", "model_config", True, type="boolean"),
        ConfigOption("odd", "Odd", "other", "7", type="_slider"),
        ConfigOption("m", "Model", "model", "unlisted"),
    )
    made = whole(after(ConfigOptionUpdate(options), GO, StateUpdate("running")))
    assert '<select data-config="mode">' in made and '<option value="agent" selected>Agent</option>' in made
    assert '<input type="checkbox" data-config="web" checked>' in made
    assert 'data-config="odd"' not in made and ">7</bdi>" in made
    assert '<option value="unlisted" selected>' in made
    assert "demo, a script, no language model" in made
    assert '<button type="button" class="acp-btn" data-action="cancel">' in made
    assert 'role="status"' in made and ">working</span>" in made
    static = whole(after(ConfigOptionUpdate(options), GO), controls=False)
    assert (
        "<select" not in static
        and "<input" not in static
        and ">Agent</bdi>" in static
        and ">on</bdi>" in static
    )


def test_hostile_text_in_every_field() -> None:
    state = after(
        ConfigOptionUpdate((ConfigOption(HOSTILE, HOSTILE, HOSTILE, HOSTILE, description=HOSTILE),)),
        UserMessage(HOSTILE, "m"),
        AgentThoughtChunk(HOSTILE),
        AgentMessageChunk(HOSTILE),
        ToolCallUpdate(HOSTILE, name=HOSTILE, title=HOSTILE, raw_input={HOSTILE: HOSTILE}, status=HOSTILE),
        ToolCallContentChunk(HOSTILE, HOSTILE),
        ToolCallUpdate(HOSTILE, raw_output=HOSTILE, reason=HOSTILE),
        Notice(HOSTILE, HOSTILE),
        StateUpdate("idle", HOSTILE, error=HOSTILE),
        state=SessionState(HOSTILE, HOSTILE, HOSTILE),
    )
    for controls in (True, False):
        made = whole(state, controls)
        assert "<script" not in made and "<img" not in made
        assert "\u202e" not in made and "\u200b" not in made


def test_a_turn_view_stays_with_its_turn() -> None:
    state = after(GO, AgentMessageChunk("one"), StateUpdate("idle", "end_turn"), UserMessage("Next", "n"))
    first = assemble(render_turn(1)(state, Memo(), True))
    assert "Go &lt;on&gt;" in first and "Next" not in first
    assert "Next" in assemble(render_turn()(state, Memo(), True))
    assert 'data-view="turn"' in first and "<select" not in first


def test_the_status_line_does_not_change_with_each_chunk() -> None:
    memo = Memo()
    state = after(GO, StateUpdate("running"), AgentMessageChunk("a"))
    before = layout(render_session(state, memo, True))
    for _ in range(20):
        state = after(AgentMessageChunk(" b"), state=state)
    patch = diff(before, layout(render_session(state, memo, True)))
    assert [key for key, *_ in patch.set] == ["t1.i0.b0"]


def test_a_call_and_its_answers_read_as_one() -> None:
    yes = PermissionOption("yes", "Yes", "allow_once")

    def asked(number: int, call_id: str) -> PermissionAsked:
        request = RequestPermission(ToolCall(call_id, "wipe", {"path": call_id}), (yes,), "Wipe?")
        return PermissionAsked(f"p{number}", request)

    def call(call_id: str, **fields: Any) -> ToolCallUpdate:
        return ToolCallUpdate(call_id, name="wipe", raw_input={"path": call_id}, **fields)

    state = after(GO, call("a"), call("b"), asked(1, "a"), asked(2, "b"), asked(3, "elsewhere"))
    made = whole(state)
    assert made.index('data-tool-call-id="b"') < made.index('data-request="p1"') < made.index("Allow all 3")
    state = after(
        PermissionAnswered("p1", Selected("yes"), "allowed", "allowed by you"),
        PermissionAnswered("p2", Cancelled(), "denied", "denied by you"),
        PermissionAnswered("p3", Selected("yes"), "allowed", "allowed by rule 3"),
        call("a", status="completed"),
        call("b", status="failed", reason="denied"),
        StateUpdate("idle"),
        state=state,
    )
    for made in (whole(state), static_bundle(state)["text/html"]):
        places = [made.index(f'data-tool-call-id="{one}"') for one in "ab"]
        answers = [made.index(f'data-request="p{one}"') for one in (1, 2, 3)]
        assert places[0] < answers[0] < places[1] < answers[1] < answers[2]
        assert made.count("wipe(path=") == 3, "a line below its call does not say again what was called"
        assert made.count("acp-below") == made.count("acp-answered acp-below") + made.count(".acp-below")
    text = static_bundle(state)["text/plain"].splitlines()
    assert '[completed] wipe(path="a") (allowed by you)' in text
    assert '[failed] wipe(path="b") (denied by you)' in text
    assert '[allowed] wipe(path="elsewhere"): allowed by rule 3' in text
    assert sum("wipe" in line for line in text) == 3


def test_a_function_that_runs_on_is_said_and_has_no_time() -> None:
    cancelled = ToolCallUpdate("c", name="hold", status="cancelled", reason="cancelled", left=RUNNING_ON)
    state = after(GO, ToolCallUpdate("c", status="in_progress"), (cancelled, 2), StateUpdate("idle"))
    assert f'hold()</code></bdi><span dir="auto"> · cancelled · {RUNNING_ON}</span>' in whole(state)
    ended = after(UserMessage("next", "m2"), ToolCallUpdate("c", left="its function ended"), state=state)
    made = assemble(render_turn(1)(ended, Memo()))
    assert "cancelled · its function ended · 2.0 s" in made and not ended.left
    assert "hold" not in assemble(render_turn(2)(ended, Memo()))
