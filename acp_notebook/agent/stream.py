"""From pydantic-ai's event stream to session updates."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai.messages import (
    AgentStreamEvent,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
)
from pydantic_ai.tools import ToolDefinition

from ..log import recent
from ..masking import redacted, secrets_in
from ..protocol.messages import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Notice,
    PlanRemoved,
    PlanUpdate,
    ToolCallContentChunk,
    ToolCallUpdate,
    Update,
    UserMessage,
)
from .secrets import Secrets
from .values import for_page

#: Text is gathered for this long, in seconds, before it becomes an update.
FLUSH_AFTER = 0.05


TextKind = type[AgentMessageChunk] | type[AgentThoughtChunk]


@dataclass(slots=True)
class _Text:
    kind: TextKind
    pieces: list[str]


class Outbox:
    """Sends updates in order, and few of them: what follows closely is joined before it is sent.

    Text deltas and the stages of a tool call cost an append here; they become updates within `FLUSH_AFTER`
    seconds, or before the next update of another kind. Patches of one tool call merge, as their semantics
    allow.
    """

    def __init__(self, send: Callable[..., None], loop: asyncio.AbstractEventLoop) -> None:
        self._send = send
        self._loop = loop
        self._queue: list[_Text | dict[str, Any]] = []
        self._calls: dict[str, dict[str, Any]] = {}
        self._open: dict[str, None] = {}
        self._hidden: dict[str, list[str]] = {}
        self._in_answer = False
        self._timer: asyncio.TimerHandle | None = None
        #: Takes the patch of a call that is shown elsewhere than among the calls, and says whether it has.
        self.elsewhere: Callable[[str, Mapping[str, Any]], bool] | None = None

    def text(self, kind: TextKind, text: str) -> None:
        """Add a piece of the answer or of a thought."""
        if self._queue and type(last := self._queue[-1]) is _Text and last.kind is kind:
            last.pieces.append(text)
        else:
            self._push(_Text(kind, [text]))
            self._in_answer = kind is AgentMessageChunk

    def paragraph(self) -> None:
        """What is said next is a paragraph of its own, where nothing stands between it and the last one."""
        if self._in_answer:
            self.text(AgentMessageChunk, "\n\n")

    def tool_call(self, call_id: str, **fields: Any) -> None:
        """Patch a tool call; `fields` as in `ToolCallUpdate`."""
        if "raw_input" in fields:
            self._hide(call_id, fields["raw_input"])
        if hidden := self._hidden.get(call_id):
            told = {name: fields[name] for name in ("raw_output", "reason", "left") if name in fields}
            fields |= redacted(told, hidden)
        if self.elsewhere is not None and self.elsewhere(call_id, fields):
            return
        patch = self._calls.get(call_id)
        if patch is not None:
            patch.update(fields)
        else:
            patch = self._calls[call_id] = fields
            patch["tool_call_id"] = call_id
            self._push(patch)
            if call_id not in self._open:  # else this changes a call that stands further up
                self._in_answer = False
                self._open[call_id] = None
        match fields.get("status"):
            case "in_progress":
                patch["started"] = time.time()
            case "completed" | "failed" | "cancelled":
                patch["ended"] = time.time()
                self._open.pop(call_id, None)
            case _:
                pass

    def send(self, update: Update) -> None:
        """Send an update at once, after all that came before it.

        A plan goes ahead of what is gathered, and the gathering goes on: the two have nothing to do with each
        other, and a model that works through its plan changes it often.
        """
        if self._queue and not isinstance(update, PlanUpdate | PlanRemoved):
            self.flush()
        if isinstance(update, ToolCallContentChunk) and (hidden := self._hidden.get(update.tool_call_id)):
            update = replace(update, text=redacted(update.text, hidden))
        if isinstance(update, UserMessage | Notice):
            self._in_answer = False
        self._send(update)

    def flush(self) -> None:
        """Send what has been gathered."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        queue, self._queue = self._queue, []
        self._calls.clear()
        self._send(
            *(
                item.kind("".join(item.pieces)) if isinstance(item, _Text) else ToolCallUpdate(**item)
                for item in queue
            )
        )

    def is_open(self, call_id: str) -> bool:
        """Whether this is a call that has been told of and has not ended."""
        return call_id in self._open

    def left(self, call_id: str, said: str) -> None:
        """Say how a function has ended that had been left running, perhaps in a turn before."""
        fields = redacted({"left": said}, self._hidden.get(call_id, ()))
        if self.elsewhere is None or not self.elsewhere(call_id, fields):
            self.send(ToolCallUpdate(call_id, **fields))

    def close_calls(self, reason: str) -> None:
        """End the tool calls that have not ended, because the turn has."""
        for call_id in tuple(self._open):
            self.tool_call(call_id, status="cancelled", reason=reason)

    def hide(self, call_id: str, secrets: Iterable[str]) -> None:
        """Mask these texts in what is shown of a call from now on."""
        known = {*self._hidden.get(call_id, ()), *secrets}
        self._hidden[call_id] = sorted(known, key=len, reverse=True)

    def _hide(self, call_id: str, arguments: Any) -> None:
        """Keep secrets among a call's arguments out of what is shown of it, and out of the log."""
        if found := list(secrets_in(arguments)):
            self.hide(call_id, found)
            recent.hide(found)

    def _push(self, item: _Text | dict[str, Any]) -> None:
        self._queue.append(item)
        if self._timer is None:
            self._timer = self._loop.call_later(FLUSH_AFTER, self.flush)


async def forward(
    events: AsyncIterable[AgentStreamEvent],
    outbox: Outbox,
    tools: Mapping[str, ToolDefinition],
    reasons: Mapping[str, str],
) -> None:
    """Turn the events of a run into updates. `tools` are the function tools by name,
    and `reasons` why calls were denied that no person denied.

    Nothing here waits for the page, so a slow reader cannot hold the model back.
    """
    answered = False
    secrets = Secrets(tools)
    async for event in events:
        # by kind and not by class pattern: this is the hot path, once per token
        match event.event_kind:
            case "part_delta":
                delta = event.delta
                if isinstance(delta, TextPartDelta):
                    outbox.text(AgentMessageChunk, delta.content_delta)
                elif isinstance(delta, ThinkingPartDelta) and delta.content_delta:
                    outbox.text(AgentThoughtChunk, delta.content_delta)
            case "part_start":
                if not answered and isinstance(event.part, TextPart):
                    answered = True
                    outbox.paragraph()
                _start(event.part, outbox, tools)
            case "function_tool_call":
                part = event.part
                outbox.tool_call(
                    part.tool_call_id, name=part.tool_name, raw_input=secrets.marked(part, _arguments(part))
                )
            case "function_tool_result":
                outbox.tool_call(event.part.tool_call_id, **_result(event.part, reasons))
            case _:
                pass


def _start(part: ModelResponsePart, outbox: Outbox, tools: Mapping[str, ToolDefinition]) -> None:
    match part:
        case TextPart(content=text) if text:
            outbox.text(AgentMessageChunk, text)
        case ThinkingPart(content=text) if text:
            outbox.text(AgentThoughtChunk, text)
        case ToolCallPart() if part.tool_name in tools:
            outbox.tool_call(part.tool_call_id, name=part.tool_name, status="pending")
        case NativeToolCallPart():
            arguments = _arguments(part)
            outbox.tool_call(
                part.tool_call_id, name=part.tool_name, status="in_progress", raw_input=arguments
            )
        case NativeToolReturnPart():
            outbox.tool_call(part.tool_call_id, status="completed", raw_output=for_page(part.content))
        case _:
            pass


def _arguments(part: ToolCallPart | NativeToolCallPart) -> Any:
    """The arguments as a mapping, or the text as the model sent it when it is not JSON."""
    try:
        return part.args_as_dict()
    except (ValueError, AssertionError):
        return part.args


def _result(part: Any, reasons: Mapping[str, str]) -> dict[str, Any]:
    """How a tool call ended. An older pydantic-ai asks for another try by a part that has no outcome."""
    content = part.content if isinstance(part.content, str) else for_page(part.content)
    match getattr(part, "outcome", "retried"):
        case "success":
            return {"status": "completed", "raw_output": content}
        case "denied":
            return {
                "status": "failed",
                "raw_output": content,
                "reason": reasons.get(part.tool_call_id, "denied"),
            }
        case "interrupted":
            return {"status": "cancelled", "raw_output": content, "reason": "cancelled"}
        case _:
            reason = content if isinstance(content, str) else "the arguments do not fit the tool"
            return {"status": "failed", "raw_output": content, "reason": reason}
