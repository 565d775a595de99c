"""What a saved notebook keeps."""

from __future__ import annotations

import re

from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.protocol.messages import (
    AgentMessageChunk,
    PlanUpdate,
    RequestPermission,
    StateUpdate,
    ToolCall,
    ToolCallUpdate,
    UserMessage,
)
from acp_notebook.session.reduce import reduce
from acp_notebook.session.state import PermissionAsked, SessionState
from acp_notebook.views.bundle import static_bundle
from harness.puppet import OPTIONS, PLAN

AT = 1_796_047_000.0


def a_turn(answer: str = "Column **income** has gaps.") -> SessionState:
    state = SessionState("survey", "survey-cleaner", "demo")
    secrets = {"api_key": "sk-123", "table": "survey"}
    for event in (
        UserMessage("Clean the survey", "m"),
        PlanUpdate(PLAN),
        ToolCallUpdate("c1", name="connect", status="completed", raw_input=secrets),
        PermissionAsked("p1", RequestPermission(ToolCall("c2", "send", secrets), OPTIONS, "Send")),
        AgentMessageChunk(answer),
    ):
        state = reduce(state, event, AT)
    return state


def test_nb_07_reopened_notebook() -> None:
    for view in ("turn", "session", "plan"):
        bundle = static_bundle(a_turn(), view, at=AT)
        assert set(bundle) == {"text/html", "text/markdown", "text/plain"}
        html = bundle["text/html"]
        assert not re.search(r"<(button|select|input|textarea|form|script)\b", html)
        assert not re.search(r"\son\w+=|data-slot|data-row-tools|tabindex", html)
        for kind, text in bundle.items():
            assert re.search(r"as of \d{4}-\d\d-\d\d \d\d:\d\d", text), kind
            plain = re.sub(r"<[^>]*>|[`\\]", "", text)
            for entry in PLAN:
                assert entry.content.replace("`", "") in plain, (view, kind)


def test_the_turn_is_in_all_three() -> None:
    for kind, text in static_bundle(a_turn(), "turn", at=AT).items():
        assert "Clean the survey" in text and "income" in text and "connect" in text, kind
        assert "sk-123" not in text, kind


def test_a_turn_by_its_number() -> None:
    state = reduce(a_turn(), StateUpdate("idle", "cancelled"), AT)
    state = reduce(reduce(state, UserMessage("And now?", "n"), AT), StateUpdate("idle", "end_turn"), AT)
    assert "And now?" in static_bundle(state)["text/html"]
    first = static_bundle(state, "turn", 1)
    assert "And now?" not in first["text/html"] and "The turn was cancelled." in first["text/plain"]
    assert "The turn was cancelled." in first["text/markdown"]


def test_one_small_stylesheet_each() -> None:
    html = static_bundle(a_turn())["text/html"]
    assert html.count("<style>") == 1
    style = html.partition("<style>")[2].partition("</style>")[0]
    assert len(style) < 16_000 and "/*" not in style and "<" not in style


def test_nothing_hostile_in_any_form() -> None:
    evil = "<script>alert(1)</script> [x](javascript:alert(1)) \u202e\u200b"
    state = a_turn(
        f"{evil}\n\n[y]: javascript:alert(2)\n\n![z](javascript:alert(3)) [ok](https://x.y) ![pixel](https://x.z)"
    )
    state = reduce(state, PlanUpdate(Plan((PlanEntry(evil),), title=evil)), AT)
    bundle = static_bundle(state)
    assert "<script" not in bundle["text/html"] and "<script" not in bundle["text/markdown"]
    assert not re.search(r"(?<!\\)\]\(\s*javascript:|(?<!\\)\]:\s*javascript:", bundle["text/markdown"])
    assert "(https://x.y)" in bundle["text/markdown"]
    assert "\\![pixel]" in bundle["text/markdown"] and "<img" not in bundle["text/html"]
    assert not any("\u202e" in text or "\u200b" in text for text in bundle.values())
