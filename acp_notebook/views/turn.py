"""A turn as parts: prompt, thoughts, tool calls, answer, permission requests, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

from ..plan.runs import plan_shown
from ..protocol.messages import FINAL_STATUSES, RUNNING_ON, Notice
from ..session.state import Item, Message, PermissionState, Thought, ToolCallState, TurnState
from .content import blocks
from .html import Html, tag
from .markdown import Answer, PlainText
from .parts import Memo, Part, Run, slot_name
from .permission import permission, together
from .values import arguments_list, block, count, seconds, shown, signature, spent

#: Tool call status → mark, and what is said beside it (None: nothing, but screen readers hear the status).
CALL_MARKS = {
    "pending": ("○", "waiting"),
    "in_progress": ("▸", "running"),
    "paused": ("◐", "waiting for approval"),
    "completed": ("✓", None),
    "failed": ("✗", "failed"),
    "cancelled": ("–", "cancelled"),
}
#: Names of the tools with which a model keeps its plan.
PLAN_TOOL = re.compile(r"acp_\w*plan\w*")
#: Notice level → mark and word.
LEVELS = {"info": ("ℹ", "Note"), "warning": ("⚠", "Warning"), "error": ("✗", "Error")}
#: Why a turn ended, where it has to be said.
ENDINGS = {
    "cancelled": "The turn was cancelled.",
    "max_tokens": "The answer stopped at the model's token limit.",
    "max_turn_requests": "The turn stopped at its limit of model requests.",
    "refusal": "The model refused to go on.",
    "error": "The turn failed.",
}
#: Longest prompt shown unfolded, and most text of a result or of what was printed that is sent to the page.
LONG_PROMPT = 2_000
OUTPUT = 12_000


def turn_parts(turn: TurnState, memo: Memo, *, slot: str, controls: bool) -> list[Part | Run]:
    """The parts of a turn."""
    key = f"t{turn.number}"
    return memo.parts(key, _turn_parts, turn, memo, key, slot, controls)


def _turn_parts(turn: TurnState, memo: Memo, key: str, slot: str, controls: bool) -> Iterator[Part | Run]:
    yield Part(key, slot, tag("section", class_="acp-turn", aria_label=f"Turn {turn.number}", data_slot=key))
    yield Part(f"{key}.prompt", key, memo(f"{key}.prompt", _prompt, turn.prompt))
    last = len(turn.items) - 1
    below = answers_below(turn)
    placed = {position for positions in below.values() for position in positions}
    for about_plan, run in groupby(enumerate(turn.items), lambda numbered: _about_plan(numbered[1])):
        items = list(run)
        within = key
        if about_plan:
            within = f"{key}.plan{items[0][0]}"
            yield Part(within, key, _plan_calls([item for _, item in items], within))
        for position, item in items:
            final = position < last or turn.stop_reason is not None
            name = f"{key}.i{position}"
            if position not in placed:
                yield from memo.parts(name, _item, item, name, within, memo, final, controls)
            for answer in below.get(position, ()):
                name = f"{key}.i{answer}"
                yield from memo.parts(
                    name, _item, turn.items[answer], name, within, memo, True, controls, True
                )
    pending = [item for item in turn.items if isinstance(item, PermissionState) and item.status == "pending"]
    if controls and len(pending) > 1:
        yield from (Part(slot_name(key, "all", name), key, html) for name, html in together(pending))
    if turn.stop_reason is not None:
        yield from _end(turn, key)


def answers_below(turn: TurnState) -> dict[int, list[int]]:
    """Where answered requests stand: the positions of calls, and of the answers about them in order."""
    calls = {item.tool_call_id: n for n, item in enumerate(turn.items) if isinstance(item, ToolCallState)}
    below: dict[int, list[int]] = {}
    for position, item in enumerate(turn.items):
        if not isinstance(item, PermissionState) or item.status == "pending":
            continue
        if (call := calls.get(item.request.tool_call.tool_call_id)) is not None:
            below.setdefault(call, []).append(position)
    return below


def _prompt(prompt: str) -> Html:
    if len(prompt) > LONG_PROMPT:
        return tag("div", tag("b", "You"), " ", block(prompt, "prompt"), class_="acp-prompt")
    return tag("div", tag("b", "You"), " ", tag("bdi", prompt), class_="acp-prompt")


def item_parts(item: Item, name: str, slot: str, memo: Memo, controls: bool) -> list[Part | Run]:
    """The parts of an item that stands outside any turn."""
    return memo.parts(name, _item, item, name, slot, memo, True, controls)


def _item(
    item: Item, name: str, slot: str, memo: Memo, final: bool, controls: bool, below: bool = False
) -> Iterator[Part | Run]:
    match item:
        case Message():
            yield from _message(item, name, slot, memo, final)
        case Thought():
            yield from _thought(item, name, slot, memo)
        case ToolCallState():
            yield Part(name, slot, _tool_call(item))
            if controls and (plan_id := plan_shown(item.title)):
                yield Part(f"{name}.shown", slot, _to_plan(plan_id))
        case PermissionState():
            yield Part(name, slot, permission(item, controls, below))
        case Notice():
            yield Part(name, slot, _notice(item))


def _message(item: Message, name: str, slot: str, memo: Memo, final: bool) -> Iterator[Part | Run]:
    yield Part(name, slot, tag("div", class_="acp-message", dir="auto", data_slot=name))
    answer = memo(f"{name}.answer", Answer)
    wrapper: str | None = None
    for position, (html, opened) in enumerate(answer.grow(item.text, final)):
        if opened and wrapper is None:
            wrapper = f"{name}.open"
            yield Part(
                wrapper, name, tag("div", class_=f"acp-open acp-open-{opened}", dir="auto", data_slot=wrapper)
            )
        yield Part(
            f"{name}.{'p' if opened else 'b'}{position}", wrapper if opened and wrapper else name, html
        )


def _thought(item: Thought, name: str, slot: str, memo: Memo) -> Iterator[Part | Run]:
    inside = f"{name}.text"
    said = (
        "Thinking…" if item.ended is None else f"Thought for {seconds(max(0.0, item.ended - item.started))}"
    )
    body = tag("div", class_="acp-log", dir="auto", data_slot=inside, data_stick=True)
    yield Part(name, slot, tag("details", tag("summary", said), body, class_="acp-thought"))
    for position, html in enumerate(memo(f"{name}.plain", PlainText).grow(item.text)):
        yield Part(f"{inside}.{position}", inside, html)


def _tool_call(call: ToolCallState) -> Html:
    mark, words = CALL_MARKS.get(call.status, ("◇", call.status))
    took = None
    if call.status in FINAL_STATUSES and call.ended is not None and call.started:
        took = seconds(max(0.0, call.ended - call.started))
    given: Any = call.raw_input
    title = call.title if call.title and call.title != call.name else None
    if call.left == RUNNING_ON:
        took = None
    facts = " · ".join(dict.fromkeys(filter(None, [words, call.reason, call.left, took])))
    summary = tag(
        "summary",
        tag("span", mark, class_="acp-mark", aria_hidden="true"),
        " ",
        tag("bdi", tag("code", signature(call.name or call.tool_call_id, call.raw_input))),
        tag("bdi", f" {title}") if title else None,
        tag("span", f" · {facts}", dir="auto") if facts else None,
        tag("span", f", {call.status}", class_="acp-sr") if words is None else None,
    )
    return tag(
        "details",
        summary,
        arguments_list(cast("Mapping[str, Any]", given)) if isinstance(given, Mapping) and given else None,
        # a call that waits for approval shows them on its card
        *(blocks(call.content, OUTPUT) if call.status != "paused" else ()),
        _labelled("printed", block(call.printed, "printed", OUTPUT)) if call.printed else None,
        _labelled("result", shown(call.raw_output, "result", OUTPUT))
        if call.raw_output is not None
        else None,
        class_="acp-tool-call",
        data_tool_call_id=call.tool_call_id,
        data_status=call.status,
    )


def _to_plan(plan_id: str) -> Html:
    go = tag(
        "button",
        "Go to its plan",
        type="button",
        data_action="show-plan",
        data_plan=plan_id,
        class_="acp-btn acp-bare",
    )
    return tag("div", go, class_="acp-to-plan")


def _about_plan(item: Item) -> bool:
    return isinstance(item, ToolCallState) and PLAN_TOOL.fullmatch(item.name) is not None


def _plan_calls(calls: Sequence[Item], slot: str) -> Html:
    """Calls of plan tools in a row, as one line: what they did is there to see in the plan."""
    statuses = [call.status for call in calls if isinstance(call, ToolCallState)]
    failed, done = statuses.count("failed"), all(status in FINAL_STATUSES for status in statuses)
    mark, words = CALL_MARKS["failed" if failed else "completed" if done else "in_progress"]
    facts = ["plan tools", count(len(statuses), "call"), f"{failed} {words}" if failed else words]
    said = tag("span", mark, class_="acp-mark", aria_hidden="true")
    summary = tag("summary", said, " ", " · ".join(filter(None, facts)))
    return tag("details", summary, tag("div", class_="acp-calls", data_slot=slot), class_="acp-plan-calls")


def _labelled(label: str, body: Html) -> Html:
    return tag("div", tag("span", label, class_="acp-label acp-quiet"), body, class_=f"acp-{label}")


def _notice(notice: Notice) -> Html:
    mark, word = LEVELS.get(notice.level, ("ℹ", notice.level))
    said = tag("span", f"{word}: ", class_="acp-sr")
    return tag(
        "p",
        tag("span", mark, class_="acp-mark", aria_hidden="true"),
        said,
        tag("bdi", notice.text),
        class_="acp-notice",
        data_level=notice.level,
    )


def _end(turn: TurnState, key: str) -> Iterator[Part | Run]:
    reason = turn.stop_reason or ""
    if reason != "end_turn":
        said = ENDINGS.get(reason, f"The turn ended: {reason}.")
        mark = "✗" if reason == "error" else "–"
        error = tag("bdi", f" {turn.error}") if turn.error else None
        level = "error" if reason == "error" else "info"
        line = tag(
            "p",
            tag("span", mark, class_="acp-mark", aria_hidden="true"),
            " ",
            said,
            error,
            class_="acp-notice acp-ending",
            data_level=level,
        )
        yield Part(f"{key}.ending", key, line)
    yield Part(f"{key}.usage", key, _usage(turn))


def _usage(turn: TurnState) -> Html:
    facts = spent(turn.usage) if turn.usage else []
    if turn.ended is not None:
        waited = f", {seconds(turn.waited)} of it waiting for you" if turn.waited >= 0.1 else ""
        facts.append(seconds(max(0.0, turn.ended - turn.started)) + waited)
    if turn.tool_calls:
        facts.append(count(len(turn.tool_calls), "tool call"))
    return tag("div", " · ".join(facts), class_="acp-usage acp-num")
