"""What `%acp doctor` adds to the environment's checks: what this kernel can do, and how it asks."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from ..doctor import Check
from ..session.host import Host
from .host import HostedLoop
from .lane import comms_can_be_routed, frontend_subshells, lane
from .presence import GRACE, can_type
from .running import kernel, shell


def checks(host: Host | None = None) -> list[Check]:
    """Rows about this process, and about a session's `host` if there is one. Run it in a cell."""
    hellos = host.presence.hellos if isinstance(host, HostedLoop) else 0
    return [
        Check("runs in", _place()),
        Check("session lives on", _loop(host)),
        Check("pages", f"hellos so far: {hellos}" if hellos else "none has said hello to this session"),
        Check("frontend's subshells", str(frontend_subshells() or "none")),
        Check("comm lane", "open" if lane.subshell_id else lane.why_not() or "opened when a cell blocks"),
        Check("typed answers", "this cell takes them" if can_type() else "this cell takes none"),
        Check("asyncio", _patches()),
        Check("approval in %acp ask", _approval(hellos, *_clicks_while_awaiting())),
        Check("approval in session.ask()", _approval(hellos, *_clicks_while_blocking())),
    ]


def _place() -> str:
    running = kernel()
    if running is None:
        return "terminal IPython" if shell() is not None else "plain Python"
    ipykernel = sys.modules.get("ipykernel")
    version = getattr(ipykernel, "__version__", None)
    return f"ipykernel {version}" if version else f"a {type(running).__name__}"


def _loop(host: Host | None) -> str:
    if host is None:
        return "no session yet"
    return {"kernel": "the loop that runs here", "thread": "a loop on its own thread"}[host.kind]


def _patches() -> str:
    patched: Any = asyncio
    if hasattr(patched, "_nest_asyncio2"):
        return "made re-entrant by nest_asyncio2, as waiting inside a function does"
    if hasattr(patched, "_nest_patched"):
        return "made re-entrant by nest_asyncio, from elsewhere; it works, and is replaced when a cell waits"
    return "not patched"


def _clicks_while_awaiting() -> tuple[bool, str]:
    if comms_can_be_routed():
        return True, "this kernel handles clicks while a cell awaits"
    if frontend_subshells():
        return True, "the frontend sends clicks on subshells of its own"
    return False, "this kernel handles no clicks while a cell runs"


def _clicks_while_blocking() -> tuple[bool, str]:
    if lane.why_not() is None:
        return True, "clicks arrive on the comm lane"
    if frontend_subshells():
        return True, "the frontend sends clicks on subshells of its own"
    return False, f"clicks wait for the cell: {lane.why_not()}"


def _approval(hellos: int, clicks: bool, why: str) -> str:
    """How the next request is asked, in the order in which the host tries."""
    if kernel() is None:
        return "asked in the terminal" if can_type() else "by on_unattended: nobody is at the terminal"
    otherwise = (
        f"a prompt after {GRACE:g} s" if can_type() else "on_unattended, as this cell takes no typed answers"
    )
    if clicks:
        return f"buttons: {why}" if hellos else f"buttons once the page says hello ({why}), else {otherwise}"
    if hellos and not can_type():
        return f"buttons after the cell: {why}"
    return f"{otherwise}; {why}"
