"""From pydantic-ai's event stream to session updates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable
from typing import Any

from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
)

from ..protocol.messages import (
    FINAL_STATUSES,
    AgentMessageChunk,
    AgentThoughtChunk,
    ToolCallUpdate,
    Update,
)
from .values import for_page

#: Text is gathered for this long, in seconds, before it becomes an update.
FLUSH_AFTER = 0.05


class Outbox:
    """Sends updates in order, with runs of text joined: a delta costs an append, not an update."""

    def __init__(self, send: Callable[[Update], None], loop: asyncio.AbstractEventLoop) -> None:
        self._send = send
        self._loop = loop
        self._pieces: list[str] = []
        self._kind: type[AgentMessageChunk] | type[AgentThoughtChunk] = AgentMessageChunk
        self._timer: asyncio.TimerHandle | None = None
        self._open_calls: dict[str, None] = {}

    def text(self, kind: type[AgentMessageChunk] | type[AgentThoughtChunk], text: str) -> None:
        """Add text; it is sent within `FLUSH_AFTER` seconds, or before the next other update."""
        if kind is not self._kind and self._pieces:
            self.flush()
        self._kind = kind
        self._pieces.append(text)
        if self._timer is None:
            self._timer = self._loop.call_later(FLUSH_AFTER, self.flush)

    def send(self, update: Update) -> None:
        """Send an update after all text that came before it."""
        if self._pieces:
            self.flush()
        if isinstance(update, ToolCallUpdate):
            if update.status in FINAL_STATUSES:
                self._open_calls.pop(update.tool_call_id, None)
            else:
                self._open_calls[update.tool_call_id] = None
        self._send(update)

    def close_calls(self, reason: str) -> None:
        """End the tool calls that have not ended, because the turn has."""
        for call_id in tuple(self._open_calls):
            self.send(ToolCallUpdate(call_id, status="cancelled", reason=reason))

    def flush(self) -> None:
        """Send what has been gathered."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._pieces:
            text = "".join(self._pieces)
            self._pieces.clear()
            if text:
                self._send(self._kind(text))


async def forward(events: AsyncIterable[AgentStreamEvent], outbox: Outbox, is_tool: Callable[[str], bool]) -> None:
    """Turn the events of a run into updates. `is_tool` tells function tools from output tools by name.

    Nothing here waits for the page, so a slow reader cannot hold the model back.
    """
    async for event in events:
        match event:
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                outbox.text(AgentMessageChunk, text)
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)) if text:
                outbox.text(AgentThoughtChunk, text)
            case PartStartEvent(part=TextPart(content=text)) if text:
                outbox.text(AgentMessageChunk, text)
            case PartStartEvent(part=ThinkingPart(content=text)) if text:
                outbox.text(AgentThoughtChunk, text)
            case PartStartEvent(part=ToolCallPart() as part) if is_tool(part.tool_name):
                outbox.send(ToolCallUpdate(part.tool_call_id, name=part.tool_name, status="pending"))
            case PartStartEvent(part=NativeToolCallPart() as part):
                outbox.send(_native_call(part))
            case PartStartEvent(part=NativeToolReturnPart() as part):
                output = for_page(part.content)
                outbox.send(ToolCallUpdate(part.tool_call_id, status="completed", raw_output=output))
            case FunctionToolCallEvent(part=part):
                outbox.send(ToolCallUpdate(part.tool_call_id, name=part.tool_name, raw_input=_arguments(part)))
            case FunctionToolResultEvent():
                outbox.send(_result(event))
            case _:
                pass


def _native_call(part: NativeToolCallPart) -> ToolCallUpdate:
    return ToolCallUpdate(
        part.tool_call_id, name=part.tool_name, kind="fetch", status="in_progress", raw_input=_arguments(part)
    )


def _arguments(part: ToolCallPart | NativeToolCallPart) -> Any:
    """The arguments as a mapping, or the text as the model sent it when it is not JSON."""
    try:
        return part.args_as_dict()
    except (ValueError, AssertionError):
        return part.args


def _result(event: FunctionToolResultEvent) -> ToolCallUpdate:
    part: Any = event.part
    # before pydantic-ai 2.6x a call to be made again came as a RetryPromptPart, which has no outcome
    outcome = getattr(part, "outcome", "retried")
    content = part.content if isinstance(part.content, str) else for_page(part.content)
    match outcome:
        case "success":
            return ToolCallUpdate(part.tool_call_id, status="completed", raw_output=content)
        case "denied":
            return ToolCallUpdate(part.tool_call_id, status="failed", raw_output=content, reason="denied")
        case "interrupted":
            return ToolCallUpdate(part.tool_call_id, status="cancelled", raw_output=content, reason="cancelled")
        case _:
            text = content if isinstance(content, str) else "the arguments do not fit the tool"
            return ToolCallUpdate(part.tool_call_id, status="failed", raw_output=content, reason=text)
