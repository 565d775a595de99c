"""`%acp ask` and `%acp cancel`."""

from __future__ import annotations

from collections.abc import Mapping
from keyword import iskeyword
from typing import Any

from ..errors import AcpError
from ..notebook import Session, current
from ..session.turn import Turn
from .attach import attachments
from .command import Invocation
from .start import session_for


def ask(call: Invocation) -> Turn:
    """Send a prompt and wait for the turn, which the cell shows live.

    The text goes to the agent exactly as typed. Without a session, the built-in demo is started. A text that
    is a slash command as a whole, such as /plan or /effort high, does what it says and is not sent.
    """
    turn = _begin(call)
    return turn if "bg" in call.options else turn.wait()


async def ask_async(call: Invocation) -> Turn:
    """The same for a cell that awaits."""
    turn = _begin(call)
    return turn if "bg" in call.options else await turn


def cancel(call: Invocation) -> None:
    """Cancel the running turn; what was completed and the plan are kept."""
    session = current()
    if session is None or not (session.turns and session.turns[-1].running):
        print("No turn is running.")
        return
    session.cancel()
    print(f"Cancelling turn {session.turns[-1].number} of {session.name!r}.")


def _begin(call: Invocation) -> Turn:
    name = variable_name(call)
    text = "\n\n".join(filter(None, [call.text, (call.cell or "").strip()]))
    if not text:
        raise AcpError("the prompt is empty: write what you want done after %acp ask, or under %%acp")
    text += attachments(call.options.get("attach", ()), call)
    session = session_for(call)
    # on the session's own loop, so that no step of another turn comes in between
    turn = session.host.call(lambda: _prompt(session, text, call.options))
    hand_out(call, turn, name)
    return turn


def variable_name(call: Invocation) -> str | None:
    """What `--out` names. Raises `AcpError` when that cannot be a variable."""
    name = call.options.get("out")
    if name is not None and (not name.isidentifier() or iskeyword(name)):
        raise AcpError(f"--out {name!r} is not a name for a variable")
    return name


def hand_out(call: Invocation, turn: Turn, name: str | None) -> None:
    """Put a turn that has begun into its variable, and with `--bg` say that it goes on."""
    if name is not None:
        call.magics.shell.push({name: turn})
    if "bg" in call.options:
        print(f"Turn {turn.number} of {turn.session.name!r} runs: see %acp status; %acp cancel stops it.")


def _prompt(session: Session, text: str, options: Mapping[str, Any]) -> Turn:
    """Send the prompt, with `--mode` and `--effort` in effect until the turn ends."""
    before = session.mode, session.effort
    try:
        if "mode" in options:
            session.set_mode(options["mode"])
        if "effort" in options:
            session.set_effort(options["effort"])
        turn = session.prompt(text, approve="approve" in options)
    except AcpError:
        _restore(session, before, (session.mode, session.effort))
        raise
    during = session.mode, session.effort
    session.show_turn(turn)
    turn.at_end(lambda: _restore(session, before, during))
    return turn


Settings = tuple[str | None, str | None]


def _restore(session: Session, before: Settings, during: Settings) -> None:
    """Take back what was set for one turn. What somebody has changed since stays as they want it."""
    if session.state.closed:
        return
    (mode, effort), (mode_then, effort_then) = before, during
    if mode is not None and mode != mode_then == session.mode:
        session.set_mode(mode)
    if effort is not None and effort != effort_then == session.effort:
        session.set_effort(effort)
