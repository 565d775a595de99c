"""A notebook page without a browser: what JupyterLab sends and keeps, over a real kernel's sockets.

    with Frontend.start() as page:
        cell = page.execute("print(6 * 7)")
        assert cell.stdout == "42\n"

`page.execute` runs a cell to its end; `page.begin` returns at once, so that a test can click while the
cell runs; `page.wait(lambda: …)` reads messages until a condition holds. Nothing is read except inside
these calls, and nothing ever sleeps. Each wait fails with what the kernel printed.
"""

from __future__ import annotations

import ast
import os
import re
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

import zmq
from jupyter_client.manager import KernelManager
from traitlets.config import Config

T = TypeVar("T")
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
# What a kernel prints on its own stderr when something was left undone. No test may cause it unseen.
LEFT_BEHIND = re.compile(
    r"Traceback \(most recent call last\)|was never awaited|was destroyed but it is pending|never retrieved"
)


@dataclass
class Prompt:
    """An `input_request`: the kernel asks a question on its stdin channel."""

    text: str
    password: bool
    reply: Callable[[str], None]


@dataclass
class Cell:
    """An execute request and what came back for it.

    `outputs` are nbformat outputs as the page would save them: streams joined, `clear_output` obeyed,
    updates folded into the display they belong to (whichever cell shows it).
    """

    code: str
    msg_id: str
    outputs: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    reply: dict[str, Any] | None = None
    idle: bool = False
    clear_next: bool = False

    @property
    def done(self) -> bool:
        """The reply came, and so did the idle status which follows all outputs."""
        return self.idle and self.reply is not None

    @property
    def status(self) -> str:
        """`ok`, `error` or `aborted`; empty while the cell runs."""
        return self.reply["status"] if self.reply else ""

    @property
    def stdout(self) -> str:
        return self._stream("stdout")

    @property
    def stderr(self) -> str:
        return self._stream("stderr")

    @property
    def error(self) -> str:
        """`Name: message` of the exception that ended the cell, else empty."""
        return next((f"{o['ename']}: {o['evalue']}" for o in self.outputs if o["output_type"] == "error"), "")

    @property
    def bundles(self) -> list[dict[str, Any]]:
        """The mimebundles shown, in order (displays and the cell's own result)."""
        return [o["data"] for o in self.outputs if "data" in o]

    @property
    def text(self) -> str:
        """`text/plain` of the last thing shown."""
        return self.bundles[-1]["text/plain"] if self.bundles else ""

    def _stream(self, name: str) -> str:
        return "".join(o["text"] for o in self.outputs if o["output_type"] == "stream" and o["name"] == name)


@dataclass
class Comm:
    """A comm that the kernel opened: a widget model, as a page keeps it."""

    comm_id: str
    target: str
    page: Frontend
    state: dict[str, Any]
    custom: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    buffers: list[Any] = field(default_factory=list[Any])
    messages: int = 0
    closed: bool = False

    def send(self, content: dict[str, Any], *, subshell: str | None = None) -> str:
        """Sends a custom message, as `model.send(content)` in the page does; returns the message's id."""
        return self._message({"method": "custom", "content": content}, subshell)

    def update(self, state: dict[str, Any], *, subshell: str | None = None) -> str:
        """Sets traits from the page's side."""
        return self._message({"method": "update", "state": state, "buffer_paths": []}, subshell)

    def _message(self, data: dict[str, Any], subshell: str | None) -> str:
        content = {"comm_id": self.comm_id, "data": data}
        return self.page.send_shell("comm_msg", content, subshell or self.page.subshell_of(self.target))


def local_sockets() -> Config:
    """The configuration of a kernel on sockets of its own in the runtime folder: a TCP port that is found
    free may be taken by another of the kernels that start side by side."""
    name = secrets.token_hex(4)  # a socket's whole path has room for about 100 characters
    file = Path(os.environ["JUPYTER_RUNTIME_DIR"], f"{name}.json")
    return Config({"KernelManager": {"transport": "ipc", "connection_file": str(file)}})


class Frontend:
    """One page on one kernel.

    `kernel_name`: a kernelspec's name. `comms_on_subshells`: send comm messages on one subshell a comm
    target, as JupyterLab ≥ 4.4 and Notebook ≥ 7.4 do when the kernel can. `on_display`: called with the
    `Comm` of each widget that a display shows, as a page would render it (send the hello from here).
    """

    def __init__(
        self,
        manager: KernelManager,
        log: Path,
        *,
        comms_on_subshells: bool = False,
        on_display: Callable[[Comm], object] | None = None,
    ) -> None:
        self.manager, self.log = manager, log
        self.client = manager.client()
        self.client.start_channels()
        self.comms_on_subshells = comms_on_subshells
        self.on_display = on_display
        self.cells: dict[str, Cell] = {}
        self.comms: dict[str, Comm] = {}
        self.displays: dict[str, list[dict[str, Any]]] = {}
        self.prompts: list[Prompt] = []
        self.orphans: list[dict[str, Any]] = []
        self.log_may_hold: str | None = None
        self._replies: dict[str, dict[str, Any]] = {}
        self._subshells: dict[str, str] = {}
        self._poller = zmq.Poller()
        self._channels = {
            channel.socket: read
            for channel, read in (
                (self.client.iopub_channel, self._read_iopub),
                (self.client.shell_channel, self._read_reply),
                (self.client.control_channel, self._read_reply),
                (self.client.stdin_channel, self._read_stdin),
            )
        }
        for socket in self._channels:
            self._poller.register(socket, zmq.POLLIN)

    @classmethod
    def start(
        cls,
        kernel_name: str = "python3",
        *,
        folder: Path | None = None,
        env: dict[str, str] | None = None,
        **options: Any,
    ) -> Self:
        """Starts a kernel (in `folder`, with `env` added to its environment) and waits until it answers."""
        folder = folder or Path(tempfile.mkdtemp())
        log = folder / "kernel.log"
        manager = KernelManager(kernel_name=kernel_name, config=local_sockets())
        with log.open("wb") as out:
            manager.start_kernel(cwd=str(folder), env=os.environ | (env or {}), stdout=out, stderr=out)
        page = cls(manager, log, **options)
        try:
            page.client.wait_for_ready(timeout=60)
        except BaseException as error:
            manager.shutdown_kernel(now=True)
            raise AssertionError(f"the kernel did not start:\n{log.read_text()}") from error
        return page

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close(checked=kind is None)

    # ── cells ────────────────────────────────────────────────────────────────────────────────────────

    def begin(self, code: str, *, allow_stdin: bool = True, silent: bool = False) -> Cell:
        """Sends a cell and returns at once."""
        msg_id = self.client.execute(code, allow_stdin=allow_stdin, silent=silent, stop_on_error=False)
        cell = self.cells[msg_id] = Cell(code, msg_id)
        return cell

    def finish(self, cell: Cell, timeout: float = 60) -> Cell:
        """Reads messages until the cell is over."""
        self.wait(lambda: cell.done, timeout, f"the end of {cell.code!r}")
        return cell

    def execute(self, code: str, *, allow_stdin: bool = False, timeout: float = 60) -> Cell:
        """Runs a cell to its end. `allow_stdin` is False as with nbclient; a real page sends True."""
        return self.finish(self.begin(code, allow_stdin=allow_stdin), timeout)

    def run(self, code: str, *, timeout: float = 60) -> Cell:
        """`execute`, and the cell must not fail."""
        cell = self.execute(code, timeout=timeout)
        assert not cell.error and cell.status == "ok", f"{code!r} failed:\n{cell.error}\n{cell.stderr}"
        return cell

    def value(self, expression: str) -> Any:
        """The value of an expression of plain literals, from the kernel."""
        msg_id = self.client.execute(
            "", silent=True, store_history=False, user_expressions={"value": f"repr({expression})"}
        )
        content = self.wait(lambda: self._replies.get(msg_id), what=f"the value of {expression!r}")
        found = content["user_expressions"]["value"]
        assert found["status"] == "ok", f"{expression!r}: {found}"
        return ast.literal_eval(ast.literal_eval(found["data"]["text/plain"]))

    def complete(self, code: str, cursor: int | None = None) -> list[str]:
        """Tab completion's matches at `cursor` (default: the end)."""
        msg_id = self.client.complete(code, cursor)
        return self.wait(lambda: self._replies.get(msg_id), what="completion")["matches"]

    def interrupt(self) -> None:
        """The Interrupt button: SIGINT to the kernel."""
        self.manager.interrupt_kernel()

    # ── comms ────────────────────────────────────────────────────────────────────────────────────────

    def widgets(self, *, view: str | None = None) -> list[Comm]:
        """Open widget models that some display shows, oldest first. `view`: only those whose state
        has this `_view_name`."""
        shown = [
            output["data"][WIDGET_VIEW]["model_id"]
            for cell in self.cells.values()
            for output in cell.outputs
            if WIDGET_VIEW in output.get("data", ())
        ]
        comms = [self.comms[model] for model in dict.fromkeys(shown) if model in self.comms]
        return [c for c in comms if not c.closed and view in (None, c.state.get("_view_name"))]

    def create_subshell(self) -> str | None:
        """A new subshell's id, or None when this kernel has none."""
        message = self.client.session.msg("create_subshell_request", {})
        self.client.control_channel.send(message)
        try:
            reply = self.wait(lambda: self._replies.get(message["msg_id"]), 5, "a subshell")
        except AssertionError:
            return None  # ipykernel 6 ignores the request
        return reply.get("subshell_id")

    def subshell_of(self, target: str) -> str | None:
        """The subshell on which this page sends comm messages of `target`: None is the main shell."""
        if not self.comms_on_subshells:
            return None
        if target not in self._subshells:
            subshell = self.create_subshell()
            assert subshell, "this kernel has no subshells"
            self._subshells[target] = subshell
        return self._subshells[target]

    def send_shell(self, kind: str, content: dict[str, Any], subshell: str | None = None) -> str:
        """Sends any message on the shell channel, to the main shell or a subshell."""
        message = self.client.session.msg(kind, content)
        if subshell:
            message["header"]["subshell_id"] = subshell
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────

    def wait(self, until: Callable[[], T], timeout: float = 30, what: str = "a condition") -> T:
        """Reads messages until `until()` is true, and returns its value."""
        end = time.monotonic() + timeout
        while not (value := until()):
            if not self.manager.is_alive():
                raise AssertionError(f"the kernel died while waiting for {what}:\n{self.log.read_text()}")
            if (left := end - time.monotonic()) <= 0:
                raise AssertionError(f"{what}: not within {timeout:g} s\n{self._seen()}")
            self._read(min(left, 1.0))
        return value

    def quiet(self, seconds: float) -> None:
        """Reads for a while: for what must *not* happen, where no event can be waited for."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._read(left)

    def _read(self, seconds: float) -> None:
        for socket, _ in self._poller.poll(max(1, seconds * 1000)):
            self._channels[socket]()

    def _read_reply(self) -> None:
        for channel in (self.client.shell_channel, self.client.control_channel):
            while channel.msg_ready():
                message = channel.get_msg(timeout=0)
                parent = message["parent_header"].get("msg_id", "")
                self._replies[parent] = message["content"]
                if message["msg_type"] == "execute_reply" and parent in self.cells:
                    self.cells[parent].reply = message["content"]

    def _read_stdin(self) -> None:
        message = self.client.stdin_channel.get_msg(timeout=0)
        content = message["content"]

        def reply(value: str) -> None:
            self.prompts.remove(prompt)
            answer = self.client.session.msg("input_reply", {"value": value}, parent=message)
            self.client.stdin_channel.send(answer)

        prompt = Prompt(content["prompt"], content["password"], reply)
        self.prompts.append(prompt)

    def _read_iopub(self) -> None:
        message = self.client.iopub_channel.get_msg(timeout=0)
        kind, content = message["msg_type"], message["content"]
        cell = self.cells.get(message["parent_header"].get("msg_id", ""))
        match kind:
            case "comm_open":
                data = content["data"]
                comm = Comm(content["comm_id"], content["target_name"], self, dict(data.get("state", {})))
                comm.buffers += message["buffers"]
                self.comms[comm.comm_id] = comm
            case "comm_msg" if comm := self.comms.get(content["comm_id"]):
                comm.messages += 1
                comm.buffers += message["buffers"]
                if content["data"].get("method") == "custom":
                    comm.custom.append(content["data"]["content"])
                else:
                    comm.state.update(content["data"].get("state", {}))
            case "comm_close" if comm := self.comms.get(content["comm_id"]):
                comm.closed = True
            case "status" if cell and content["execution_state"] == "idle":
                cell.idle = True
            case "update_display_data":
                for output in self.displays.get(content["transient"]["display_id"], ()):
                    output.update(data=content["data"], metadata=content["metadata"])
                self._rendered(content["data"])
            case "clear_output" if cell:
                if content["wait"]:
                    cell.clear_next = True
                else:
                    cell.outputs.clear()
            case "stream" | "display_data" | "execute_result" | "error":
                if cell:
                    self._output(cell, kind, content)
                else:
                    self.orphans.append({"output_type": kind, **content})

    def _output(self, cell: Cell, kind: str, content: dict[str, Any]) -> None:
        if cell.clear_next:
            cell.outputs.clear()
            cell.clear_next = False
        last = cell.outputs[-1] if cell.outputs else {}
        if kind == "stream" and last.get("output_type") == "stream" and last["name"] == content["name"]:
            last["text"] += content["text"]
            return
        output = {"output_type": kind, **content}
        display_id = output.pop("transient", {}).get("display_id")
        cell.outputs.append(output)
        if display_id:
            self.displays.setdefault(display_id, []).append(output)
        self._rendered(content.get("data", {}))

    def _rendered(self, bundle: dict[str, Any]) -> None:
        if self.on_display and (view := bundle.get(WIDGET_VIEW)):
            self.on_display(self.comms[view["model_id"]])

    def _seen(self) -> str:
        cells = "\n".join(f"  {c.code!r}: {c.status or 'running'} {c.outputs}" for c in self.cells.values())
        return f"cells:\n{cells}\nkernel's own output:\n{self.log.read_text()}"

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────

    def close(self, *, checked: bool = True) -> None:
        """Shuts the kernel down. Checked: it must end by itself within 30 s, with no question open, and
        its own output must show nothing left behind (unless `log_may_hold`, a pattern, allows for it)."""
        if not self.manager.has_kernel:
            return  # closed by the test itself
        process = self.manager.provisioner.process  # type: ignore[union-attr]
        try:
            if checked:
                self.client.shutdown()
                self._wait_for_the_end(process)
        finally:
            self.client.stop_channels()
            self.manager.shutdown_kernel(now=True)
            self.manager.cleanup_resources()
        if checked:
            assert not self.prompts, f"questions left unanswered: {[p.text for p in self.prompts]}"
            printed = self.log.read_text(errors="replace")
            if self.log_may_hold:
                printed = re.sub(self.log_may_hold, "", printed)
            assert not LEFT_BEHIND.search(printed), f"the kernel's own output shows a fault:\n{printed}"

    def _wait_for_the_end(self, process: Any) -> None:
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # ipykernel prints where each of its threads is
            process.wait(10)
            raise AssertionError(f"the kernel did not end:\n{self.log.read_text(errors='replace')}") from None
