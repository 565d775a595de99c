"""Subcommands for the live sessions."""

from __future__ import annotations

from ..errors import AcpError
from ..notebook import Session, current, sessions
from ..notebook import use as make_current
from .command import Invocation, alike
from .start import in_a_line
from .status import in_brief


def list_sessions(call: Invocation) -> None:
    """List the live sessions; * marks the one that %acp talks to."""
    if not sessions():
        print("There is no session: %acp start begins one.")
    for session in sessions():
        print(f"{'*' if session is current() else ' '} {in_brief(session)}")


def use(call: Invocation) -> None:
    """Let %acp talk to another live session."""
    if not call.text:
        raise AcpError(f"this is used as {call.command.usage}")
    make_current(_named(call.text))
    print(in_a_line(_named(call.text)))


def close(call: Invocation) -> None:
    """End a session, by default the current one; its turn is cancelled."""
    session = _named(call.text) if call.text else current()
    if session is None:
        raise AcpError("there is no session to close")
    session.close()
    after = current()
    print(f"Closed {session.name!r}." + (f" %acp talks to {after.name!r}." if after else ""))


def _named(name: str) -> Session:
    for session in sessions():
        if session.name == name:
            return session
    known = [session.name for session in sessions()]
    hint = alike(name, known) or f": the live ones are {', '.join(known) or 'none'}"
    raise AcpError(f"there is no session {name!r}{hint}")
