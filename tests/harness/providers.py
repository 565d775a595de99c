"""Providers of language models, as their HTTP: OpenAI's two interfaces and Anthropic's, on this machine.

with provider(Reply("Hello", thought="Hm.")) as server:
    OpenAIChatModel("gpt-5.2", provider=OpenAIProvider(base_url=server.url, api_key="none"))
server.bodies                               # the bodies of the requests, in order

The shapes are those that the providers document; what a reply holds is streamed in two pieces.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What a model answers: a thought, a text, calls of tools by name with arguments; and what it took.

    With a `status` it is an error of HTTP instead.
    """

    text: str = ""
    thought: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    input_tokens: int = 1000
    output_tokens: int = 200
    status: int = 200


class Provider(ThreadingHTTPServer):
    """Answers requests with `replies` in order, and then always with the last one."""

    daemon_threads = True

    def __init__(self, *replies: Reply | Callable[[Json], Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies = deque(replies)
        self.bodies: list[Json] = []
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The address, as Anthropic's SDK wants it."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    def reply(self, body: Json) -> Reply:
        with self._lock:
            self.bodies.append(body)
            reply = self.replies.popleft() if len(self.replies) > 1 else self.replies[0]
        return reply if isinstance(reply, Reply) else reply(body)


@contextmanager
def provider(*replies: Reply | Callable[[Json], Reply]) -> Iterator[Provider]:
    server = Provider(*replies or (Reply("Hello."),))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = self.server.reply(body)
        if reply.status != 200:
            error = {"type": "error", "error": {"type": "api_error", "message": reply.text or "out of order"}}
            self._answer(json.dumps(error), "application/json", reply.status)
            return
        events = _INTERFACES[self.path.split("?")[0]](reply, body)
        if body.get("stream"):
            self._answer("".join(map(_sse, events)), "text/event-stream")
        else:
            self._answer(json.dumps(events[-1]["whole"]), "application/json")

    def _answer(self, text: str, kind: str, status: int = 200) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.send_header("connection", "close")  # nothing is left open where a client is not closed
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _sse(event: Json) -> str:
    data = {name: value for name, value in event.items() if name != "whole"}
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data) if data else '[DONE]'}\n\n"


def _halves(text: str) -> tuple[str, ...]:
    return (text[: len(text) // 2], text[len(text) // 2 :]) if text else ()


# -- OpenAI, chat completions ----------------------------------------------------------------------------


def _chat(reply: Reply, body: Json) -> list[Json]:
    calls = [
        {
            "index": n,
            "id": f"call-{n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(args)},
        }
        for n, (name, args) in enumerate(reply.calls)
    ]
    deltas: list[Json] = [{"reasoning_content": part} for part in _halves(reply.thought)]
    deltas += [{"content": part} for part in _halves(reply.text)]
    deltas += [{"tool_calls": calls}] if calls else []
    ended = "tool_calls" if calls else "stop"
    total = reply.input_tokens + reply.output_tokens
    usage = {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": total,
    }

    def made(kind: str, **choice: Any) -> Json:
        choices = [{"index": 0, "finish_reason": None, **choice}]
        return {"id": "c", "object": kind, "created": 1, "model": body["model"], "choices": choices}

    message = {"role": "assistant", "content": reply.text, "reasoning_content": reply.thought or None}
    whole = made(
        "chat.completion", message=message | ({"tool_calls": calls} if calls else {}), finish_reason=ended
    )
    chunks = [made("chat.completion.chunk", delta={"role": "assistant"} | delta) for delta in deltas]
    last = made("chat.completion.chunk", delta={}, finish_reason=ended) | {"usage": usage}
    return [*chunks, last, {"whole": whole | {"usage": usage}}]


# -- OpenAI, responses -----------------------------------------------------------------------------------


def _responses(reply: Reply, body: Json) -> list[Json]:
    items: list[Json] = []
    events: list[Json] = []
    if reply.thought:
        summary = {"type": "summary_text", "text": reply.thought}
        item = {"id": "rs", "type": "reasoning", "summary": [summary]}
        where = {"item_id": "rs", "output_index": 0, "summary_index": 0}
        events.append(
            {"type": "response.output_item.added", "output_index": 0, "item": item | {"summary": []}}
        )
        part = {"type": "response.reasoning_summary_part.added", "part": summary | {"text": ""}}
        events.append(part | where)
        events += [
            {"type": "response.reasoning_summary_text.delta", "delta": half} | where
            for half in _halves(reply.thought)
        ]
        events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
        items.append(item)
    if reply.text:
        n = len(items)
        content = {"type": "output_text", "text": reply.text, "annotations": []}
        item = {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [content],
        }
        where = {"item_id": "m", "output_index": n, "content_index": 0}
        events.append(
            {"type": "response.output_item.added", "output_index": n, "item": item | {"content": []}}
        )
        events.append({"type": "response.content_part.added", "part": content | {"text": ""}} | where)
        events += [
            {"type": "response.output_text.delta", "delta": half, "logprobs": []} | where
            for half in _halves(reply.text)
        ]
        events.append({"type": "response.output_item.done", "output_index": n, "item": item})
        items.append(item)
    for n, (name, args) in enumerate(reply.calls, len(items)):
        item = {
            "id": f"f{n}",
            "type": "function_call",
            "call_id": f"call-{n}",
            "name": name,
            "status": "completed",
        }
        item |= {"arguments": json.dumps(args)}
        events.append(
            {"type": "response.output_item.added", "output_index": n, "item": item | {"arguments": ""}}
        )
        delta = {"type": "response.function_call_arguments.delta", "item_id": f"f{n}", "output_index": n}
        events.append(delta | {"delta": item["arguments"]})
        events.append({"type": "response.output_item.done", "output_index": n, "item": item})
        items.append(item)
    usage = {
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    empty = {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": body["model"],
        "status": "in_progress",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    whole = empty | {"status": "completed", "output": items, "usage": usage}
    events = [
        {"type": "response.created", "response": empty},
        *events,
        {"type": "response.completed", "response": whole},
    ]
    return [*(event | {"sequence_number": n} for n, event in enumerate(events)), {"whole": whole}]


# -- Anthropic, messages ---------------------------------------------------------------------------------


def _messages(reply: Reply, body: Json) -> list[Json]:
    blocks: list[tuple[Json, list[Json]]] = []
    if reply.thought:
        deltas = [{"type": "thinking_delta", "thinking": half} for half in _halves(reply.thought)]
        deltas.append({"type": "signature_delta", "signature": "signed"})
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    if reply.text:
        blocks.append(
            (
                {"type": "text", "text": ""},
                [{"type": "text_delta", "text": half} for half in _halves(reply.text)],
            )
        )
    for n, (name, args) in enumerate(reply.calls):
        deltas = [{"type": "input_json_delta", "partial_json": half} for half in _halves(json.dumps(args))]
        blocks.append(({"type": "tool_use", "id": f"call-{n}", "name": name, "input": {}}, deltas))
    events: list[Json] = []
    for n, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": n, "content_block": block})
        events += [{"type": "content_block_delta", "index": n, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": n})
    whole = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": reply.input_tokens, "output_tokens": 1},
    }
    ended = {"stop_reason": "tool_use" if reply.calls else "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": whole},
        *events,
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": reply.output_tokens}},
        {"type": "message_stop"},
    ]


_INTERFACES: dict[str, Callable[[Reply, Json], list[Json]]] = {
    "/v1/chat/completions": _chat,
    "/v1/responses": _responses,
    "/v1/messages": _messages,
}
