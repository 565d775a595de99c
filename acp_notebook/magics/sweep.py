"""`%acp sweep`: one prompt at several settings."""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import AcpError
from ..sweeps import Sweep
from .ask import variable_name
from .command import Invocation
from .parse import unquoted
from .start import session_for

#: What a sweep goes through; each is an option with values between commas.
VARIED = ("efforts", "modes", "models")


def sweep(call: Invocation) -> Sweep:
    """Send one prompt at several efforts, modes or models, and compare.

    Each run has a fork of the session to itself, one after another; the session stays as it is. Several of
    these options are combined: every mode at every effort. The cell waits and shows a table and a picture;
    --out gives the rows as a data frame, or as a list of dicts where there is no pandas. Requests for
    approval are answered as in any session.
    """
    name, running = _begin(call)
    return _hand_out(call, running.wait(), name)


async def sweep_async(call: Invocation) -> Sweep:
    """The same for a cell that awaits."""
    name, running = _begin(call)
    return _hand_out(call, await running, name)


def _begin(call: Invocation) -> tuple[str | None, Sweep]:
    name = variable_name(call)
    prompt = "\n\n".join(filter(None, [unquoted(call.text), (call.cell or "").strip()]))
    varied = {option: _values(call, option) for option in VARIED}
    if not any(varied.values()):
        known = ", ".join(f"--{option} A,B" for option in VARIED)
        raise AcpError(f"say what the sweep goes through: {known}")
    running = session_for(call).start_sweep(prompt, **varied, approve="approve" in call.options)
    return name, running


def _values(call: Invocation, option: str) -> list[str]:
    return [value for value in call.options.get(option, "").split(",") if value]


def _hand_out(call: Invocation, done: Sweep, name: str | None) -> Sweep:
    if name is not None:
        rows = done.to_frame() if find_spec("pandas") else done.records()
        call.magics.shell.push({name: rows})
    return done
