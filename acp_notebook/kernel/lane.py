"""The comm lane: a subshell of our own, on which clicks arrive while a cell blocks the kernel's main thread.

Also the one place that reads private names of ipykernel, each behind a check that it exists, so that
a release without it only loses what the name was for.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from .running import kernel

log = logging.getLogger(__name__)

#: Seconds for the kernel's control thread to answer; it takes about 15 ms.
PATIENCE = 5.0


class Lane:
    """The one lane of this kernel, opened on first need. `subshell_id` is None while it is closed."""

    def __init__(self) -> None:
        self.subshell_id: str | None = None
        self._lock = threading.Lock()

    def why_not(self) -> str | None:
        """Why this kernel cannot have a lane, or None when it can."""
        running = kernel()
        if running is None:
            return "there is no kernel"
        if getattr(running, "shell_channel_thread", None) is None:
            return "this kernel has no subshells"
        if not comms_can_be_routed():
            return "ipykernel is older than 7.4, which first asks a comm where its messages should go"
        return None

    def open(self) -> bool:
        """Make the lane if there is none; False when this kernel cannot have one."""
        if self.subshell_id is None and self.why_not() is None:
            with self._lock:
                if self.subshell_id is None:
                    try:
                        reply = _request("create_subshell_request", {})
                    except (RuntimeError, OSError):  # a kernel without ipykernel's app or connection file
                        log.info("this kernel gave no comm lane", exc_info=True)
                        return False
                    self.subshell_id = reply.get("subshell_id")
        return self.subshell_id is not None

    def close(self) -> None:
        """Give the subshell back; comms then go where ipykernel sends them."""
        with self._lock:
            subshell_id, self.subshell_id = self.subshell_id, None
        if subshell_id is not None:
            _request("delete_subshell_request", {"subshell_id": subshell_id})


lane = Lane()


def route(comm: Any, wanted: Callable[[], bool]) -> None:
    """Have messages of `comm` arrive on the lane while it is open and `wanted()`, else as ipykernel decides.

    `wanted` is called on the kernel's shell channel thread for each message: it must not wait.
    """
    # Private: ipykernel ≥ 7.4 asks the comm on which subshell a message from the page should be handled. By
    # default that is the one that last sent something, where a blocking cell is in the way.
    default_route = getattr(comm, "_reply_subshell_for", None)
    if default_route is None:
        return

    def subshell_for(data: Any, default: str | None) -> str | None:
        usual = default_route(data, default)
        return lane.subshell_id if lane.subshell_id is not None and wanted() else usual

    comm._reply_subshell_for = subshell_for


def frontend_subshells() -> int:
    """How many subshells others have made: frontends that send comm messages on subshells make some."""
    threads = getattr(kernel(), "shell_channel_thread", None)
    if threads is None:
        return 0
    return sum(subshell_id != lane.subshell_id for subshell_id in threads.manager.list_subshell())


def stdin_identity(running: Any) -> Any:
    """Which frontend a prompt of the running cell must go to, or None if that cannot be told."""
    # Private: the routing id of the client that sent the cell; public is only the blocking `raw_input`.
    identities = getattr(running, "_parent_ident", None)
    return identities["shell"] if identities is not None else None


def comms_can_be_routed() -> bool:
    """Whether this is ipykernel ≥ 7.4, which also handles comm messages while a cell awaits."""
    try:
        from ipykernel.comm import comm
    except ImportError:
        return False
    return hasattr(getattr(comm, "BaseComm", None), "_reply_subshell_for")  # private, see `route`


def _request(kind: str, content: dict[str, Any]) -> dict[str, Any]:
    """Ask the kernel that we are on its own control channel, as a frontend would: there is no call for it."""
    import ipykernel
    from jupyter_client.blocking.client import BlockingKernelClient

    client: Any = BlockingKernelClient(connection_file=ipykernel.get_connection_file())
    client.load_connection_file()
    socket = client.connect_control()
    try:
        client.session.send(socket, kind, content)
        if not socket.poll(PATIENCE * 1000):
            return {}
        _, reply = client.session.recv(socket)
        return reply["content"]
    finally:
        socket.close(linger=0)
        client.context.term()
