"""`%acp work`: from a plan to work on it."""

from __future__ import annotations

from ..errors import AcpError, PlanChanged
from ..notebook import Session
from ..session.turn import Turn
from ..text import plain
from .ask import hand_out, variable_name
from .command import Invocation
from .start import session_for


def work(call: Invocation) -> Turn:
    """Have the agent work on the plan and wait for the turn, which the cell shows.

    The session is put into the mode that works on plans. Without numbers the agent takes the entry in
    progress or the first pending one, and goes on until none is left; with numbers it works on these alone.
    Where you have changed the plan since the agent saw it, the changes are shown first: --yes starts.
    """
    turn = _begin(call)
    return turn if "bg" in call.options else turn.wait()


async def work_async(call: Invocation) -> Turn:
    """The same for a cell that awaits."""
    turn = _begin(call)
    return turn if "bg" in call.options else await turn


def _begin(call: Invocation) -> Turn:
    name = variable_name(call)
    numbers = call.numbers(0)
    session = session_for(call)

    def start() -> Turn:
        turn = session.start_work(
            numbers,
            plan_id=call.options.get("plan"),
            confirmed="yes" in call.options,
            approve="approve" in call.options,
        )
        session.show_turn(turn)
        return turn

    try:
        turn = session.host.call(start)
    except PlanChanged as changed:
        raise _to_confirm(session, changed) from changed
    hand_out(call, turn, name)
    return turn


def _to_confirm(session: Session, changed: PlanChanged) -> AcpError:
    """Prints what has changed; returns the refusal that says how to go on."""
    print(f"Changed since {session.name} saw the plan last:")
    for line in changed.change.lines():
        print(plain(f"  {line}"))
    return AcpError("the plan has changed since the agent saw it: %acp work --yes works on it as it is now")
