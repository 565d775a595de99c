"""`%acp` alone, and `%acp status`."""

from __future__ import annotations

from ..notebook import Session, current
from ..text import plain
from ..views.values import count, spent
from .command import Invocation
from .plan import said
from .start import model_name, session_for


def show(call: Invocation) -> Session:
    """Show the session: plan, settings, latest turn, pending approvals.

    Without a session, the built-in demo is started.
    """
    return session_for(call)


def status(call: Invocation) -> None:
    """Print in one line how the session is doing."""
    session = current()
    print(
        in_brief(session)
        if session
        else "No session: %acp start AGENT begins one, %acp ask TEXT the built-in demo."
    )


def in_brief(session: Session) -> str:
    """A session in one line."""
    state = session.state
    parts = [f"{session.name}: {state.status.replace('_', ' ')}", f"model {model_name(session)}"]
    parts += [f"mode {session.mode}"] if session.mode else []
    parts += [f"effort {session.effort}"] if session.effort else []
    parts.append(f"plan {said(session.plan)}")
    if state.turn:
        parts.append(f"turn {state.turn.number} {state.turn.stop_reason or 'runs'}")
    if (usage := session.usage).requests:
        parts.append(", ".join([count(usage.requests, "model request"), *spent(usage)]))
    if session.permissions:
        parts.append(f"{count(len(session.permissions), 'approval')} pending")
    if left := len(state.left):
        parts.append(f"{count(left, 'ended call')} still running")
    if faults := sum(state.faults.values()):
        parts.append(f"{count(faults, 'fault')} in the agent's updates (%acp log)")
    return plain(" · ".join(parts))
