"""Approvals asked for through a prompt: the kernel's stdin, which pages show during a cell, or a terminal.

The answer is polled for on the session's loop, never blocked for: a click, a call from another thread or
the end of the turn may come first, and then the question is withdrawn.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ..errors import AcpError
from ..masking import masked
from ..session.state import PermissionState
from ..text import plain
from .lane import stdin_identity
from .presence import Presence, Wait
from .running import kernel

#: Seconds between looks for an answer. Neither a zmq socket nor a terminal can be awaited on every loop.
POLL = 0.05
#: Characters of one argument, and of all: a prompt is one line in most frontends.
ARGUMENT, ARGUMENTS = 200, 1000

Answer = Callable[[str, str | None], None]


class Questions:
    """The prompts of one session, one at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, presence: Presence) -> None:
        self._loop = loop
        self._presence = presence
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, permission: PermissionState, answer: Answer) -> Callable[[], None]:
        """Prompt for an answer once somebody waits who cannot click. Returns what withdraws the question.

        Both on the session's loop. End of input cancels the turn.
        """
        task = self._loop.create_task(self._ask(permission, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

        def withdraw() -> None:
            # Not from inside: the answer itself settles the request, which withdraws the question.
            if asyncio.current_task(self._loop) is not task:
                task.cancel()

        return withdraw

    def close(self) -> None:
        """Withdraw all questions; on the session's loop."""
        for task in tuple(self._tasks):
            task.cancel()

    async def _ask(self, permission: PermissionState, answer: Answer) -> None:
        text = question(permission)
        async with self._turn:
            while True:
                wait = await self._presence.until(self._presence.to_ask)
                try:
                    reply = await self._reply(wait, text)
                except EOFError:
                    wait.waitable.cancel()
                    return
                if decision := understood(reply):
                    try:
                        answer(*decision)
                    except AcpError as error:  # this request cannot take that answer
                        text = f"{error}\n{question(permission)}"
                    else:
                        return

    async def _reply(self, wait: Wait, text: str) -> str:
        """The line typed; empty when the wait has ended before there was one."""
        line: Line = TerminalLine() if kernel() is None else KernelLine(kernel())
        wait.context.run(line.ask, text)
        try:
            while wait in self._presence.waits:
                if (reply := line.poll()) is not None:
                    return reply
                await asyncio.sleep(POLL)
        except asyncio.CancelledError:
            wait.context.run(line.withdraw)
            raise
        wait.context.run(line.withdraw)
        return ""


class Line(Protocol):
    """Where one line is asked for and typed."""

    def ask(self, prompt: str) -> None: ...

    def poll(self) -> str | None:
        """The line, or None while there is none. Raises `EOFError`."""
        ...

    def withdraw(self) -> None: ...


class KernelLine:
    """An `input_request` of the Jupyter protocol, to the frontend that runs the waiting cell."""

    def __init__(self, running: Any) -> None:
        self._kernel = running
        self._request: Mapping[str, Any] = {}

    def ask(self, prompt: str) -> None:
        while self._receive() is not None:
            pass  # answers to earlier prompts
        self._request = self._kernel.session.send(
            self._kernel.stdin_socket,
            "input_request",
            {"prompt": prompt, "password": False},
            parent=self._kernel.get_parent("shell"),
            ident=stdin_identity(self._kernel),
        )

    def poll(self) -> str | None:
        reply = self._receive()
        if reply is None:
            return None
        # A box left open by a withdrawn prompt can still be answered, which says nothing about this one.
        asked = reply["parent_header"].get("msg_id")
        if asked and asked != self._request["header"]["msg_id"]:
            return None
        value = str(reply["content"].get("value", ""))
        if value == "\x04":
            raise EOFError
        return value

    def withdraw(self) -> None:
        """The protocol has no message for it: a late answer is dropped by `ask` and `poll`."""
        print("(The question above needs no answer any more. If its box is still there, press Enter in it.)")

    def _receive(self) -> Any:
        return self._kernel.session.recv(self._kernel.stdin_socket)[1]


class TerminalLine:
    """Standard input, line by line."""

    def ask(self, prompt: str) -> None:
        print(prompt, end="", flush=True)

    def poll(self) -> str | None:
        if sys.platform != "win32":
            import select

            if not select.select([sys.stdin], [], [], 0)[0]:
                return None
        # A Windows console cannot be polled, so there the session's loop stands still meanwhile.
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")

    def withdraw(self) -> None:
        print(flush=True)


def understood(reply: str) -> tuple[str, str | None] | None:
    """What a typed line means: allow, deny, deny with a reason; None for what is too short to be either."""
    word = reply.strip()
    match word.lower():
        case "y" | "yes":
            return "allow", None
        case "n" | "no":
            return "deny", None
        case _:
            return ("deny", word) if len(word) > 1 else None


def question(permission: PermissionState) -> str:
    """One line that says what would be allowed, with secrets masked and nothing invisible."""
    call = permission.request.tool_call
    arguments = ", ".join(f"{name}={_value(value)}" for name, value in masked(call.arguments).items())
    return f"Allow {plain(f'{call.name}({_cut(arguments, ARGUMENTS)})')}? [y]es / [n]o / reason: "


def _value(value: object) -> str:
    return _cut(json.dumps(value, ensure_ascii=False, default=repr), ARGUMENT)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}… (+{len(text) - length} characters)"
