"""A real provider class, its HTTP answered on this machine: one agent, in own cells and in turns."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from harness.wire import Frontend

USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


class Provider(BaseHTTPRequestHandler):
    """Answers chat completions, streamed or not, with how many messages the request had."""

    protocol_version = "HTTP/1.1"
    requests: list[dict[str, Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)  # type: ignore[attr-defined]
        words = ["It", " has", f" {len(body['messages'])}", " messages."]
        if body.get("stream"):
            chunks = [{"delta": {"role": "assistant", "content": word}} for word in words]
            messages = [self.completion(chunk, "chat.completion.chunk") for chunk in chunks]
            choice = {"delta": {}, "finish_reason": "stop"}
            messages.append(self.completion(choice, "chat.completion.chunk") | {"usage": USAGE})
            lines = [f"data: {json.dumps(message)}\n\n" for message in messages]
            self.answer("".join([*lines, "data: [DONE]\n\n"]), "text/event-stream")
        else:
            choice = {"message": {"role": "assistant", "content": "".join(words)}, "finish_reason": "stop"}
            answer = self.completion(choice, "chat.completion") | {"usage": USAGE}
            self.answer(json.dumps(answer), "application/json")

    def completion(self, choice: dict[str, Any], kind: str) -> dict[str, Any]:
        choices = [{"index": 0, "finish_reason": None, **choice}]
        return {"id": "c", "object": kind, "created": 1, "model": "m", "choices": choices}

    def answer(self, text: str, kind: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def provider() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The provider's address, and the bodies of the requests it gets."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    server.daemon_threads = True
    server.bodies = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", server.bodies  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()
    thread.join()


SETUP = """
%load_ext acp_notebook
from acp_notebook import Session, current
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
def made():
    return Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url={url!r}, api_key="none")))
agent = made()
"""


def test_one_agent_in_cells_and_in_turns(
    start_kernel: Callable[..., Frontend], provider: tuple[str, list[dict[str, Any]]]
) -> None:
    url, bodies = provider
    page = start_kernel()
    page.run(SETUP.format(url=url))
    page.run("first = (await agent.run('one')).output")
    page.run("%acp start agent\nturn = %acp ask two")
    page.run("def ask():\n    return current().ask('three')\nagain = ask()")
    page.run("last = (await agent.run('four')).output")
    assert page.value("(first, turn.text, again.text, last)") == (
        "It has 1 messages.",
        "It has 1 messages.",
        "It has 3 messages.",
        "It has 1 messages.",
    )
    assert page.value("turn.usage.total_tokens") == 7
    assert [body["messages"][-1]["content"] for body in bodies] == ["one", "two", "three", "four"]


def test_a_session_on_a_thread_with_an_agent_of_its_own(
    start_kernel: Callable[..., Frontend], provider: tuple[str, list[dict[str, Any]]]
) -> None:
    page = start_kernel()
    page.run(SETUP.format(url=provider[0]))
    page.run("%acp start made --host thread\nfirst = %acp ask one")
    assert page.value("first.text") == "It has 1 messages."
