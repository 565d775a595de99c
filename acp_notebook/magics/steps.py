"""`%acp steps`: steps of `execute_plan` by hand, from files, variables and cells."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ..errors import AcpError, StepsRefused
from ..kernel.display import Output
from ..notebook import Session, current
from ..plan.runs import run_of
from ..protocol.connection import StepsOutline
from ..session.steps import StepsLook
from ..session.turn import Turn
from ..text import plain_line
from ..text_files import named, read_text
from .ask import hand_out, variable_name
from .command import Invocation
from .plan_file import Diagram
from .start import session_for
from .suggest import LAST_RUN

#: The files that steps are read from.
SUFFIXES = (".json", ".yaml", ".yml", ".md", ".txt")
#: So many runs are listed.
LISTED = 50
_FENCED = re.compile(r"^(```|~~~)(json|ya?ml)?[ \t]*\r?\n(.*?)^\1", re.DOTALL | re.MULTILINE)


def steps(call: Invocation) -> None:
    """List the runs that are written down, the latest last.

    They are those of all your notebooks. %acp steps resume RUN goes on with one that did not end well.
    """
    from ..steps.record import runs

    found = runs()[:LISTED]
    for run in reversed(found):
        print(plain_line(f"{run}"))
    if not found:
        print("Nothing has run yet: %acp steps run FILE runs steps, and so does the agent by execute_plan.")


def show(call: Invocation) -> None:
    """Show what happened in a run, or write it to a file.

    RUN is its id or the beginning of it, or `last`: this session's latest one. PATH ends with .json for the
    record, with .ipynb or .py for the same as a notebook or a script that can be run; --format says so where
    it does not, and without PATH prints it. A file that exists is overwritten only with --force.
    """
    from ..steps.record import record

    run_id, _, path = call.text.partition(" ")
    if not run_id:
        raise AcpError(f"this is used as {call.command.usage}; %acp steps lists the runs")
    found, format = record(_run_id(run_id)), call.options.get("format")
    if path := path.strip():
        found.export(path, format, force="force" in call.options)
        print(f"Wrote {path}")
    elif format is not None:
        print(found.to(format), end="")
    else:
        Output(cast(Any, found)._repr_mimebundle_())
        _draw(found.diagram)


def check(call: Invocation) -> None:
    """Say all that is wrong with steps, or that they could run.

    Nothing runs, so it can be done any time. FILE is JSON or YAML, also between ``` in Markdown; VAR holds a
    list of dicts, or JSON text.
    """
    with _all_told():
        _fine(_look(call).wait())


async def check_async(call: Invocation) -> None:
    """The same for a cell that awaits."""
    with _all_told():
        _fine(await _look(call))


def preview(call: Invocation) -> None:
    """Show what steps would do.

    That is which run in which order, what is asked before, and what depends on what. FILE is JSON or YAML,
    also between ``` in Markdown; VAR holds a list of dicts, or JSON text.
    """
    with _all_told():
        _show(_look(call).wait())


async def preview_async(call: Invocation) -> None:
    """The same for a cell that awaits."""
    with _all_told():
        _show(await _look(call))


def run(call: Invocation) -> Turn:
    """Run steps as if the model had sent them, and wait.

    The cell shows the turn live. Modes, approvals and rules are as in any turn; %acp cancel stops it before
    the next step. FILE is JSON or YAML, also between ``` in Markdown; VAR holds a list of dicts or JSON text.
    """
    turn = _begin(call)
    return turn if "bg" in call.options else turn.wait()


async def run_async(call: Invocation) -> Turn:
    """The same for a cell that awaits."""
    turn = _begin(call)
    return turn if "bg" in call.options else await turn


def resume(call: Invocation) -> Turn:
    """Go on with a run that did not end well, and wait.

    RUN is its id or the beginning of it, or `last`: this session's latest one. Steps that ended well are not
    repeated; of one that may have run when the kernel ended you are asked, unless --again names it. Where
    secrets among the steps were not written down, give the steps again, as a file or a variable.
    """
    turn = _resume(call)
    return turn if "bg" in call.options else turn.wait()


async def resume_async(call: Invocation) -> Turn:
    """The same for a cell that awaits."""
    turn = _resume(call)
    return turn if "bg" in call.options else await turn


def _begin(call: Invocation) -> Turn:
    given, session = read_steps(call), session_for(call)
    return _started(call, session, lambda: session.start_steps(given, approve="approve" in call.options))


def _resume(call: Invocation) -> Turn:
    word, _, where = call.text.partition(" ")
    if not word:
        raise AcpError(f"this is used as {call.command.usage}; %acp steps lists the runs")
    run_id = _run_id(word)
    given = read_steps(replace(call, text=where.strip())) if where.strip() else None
    again = call.options["again"].split(",") if "again" in call.options else ()
    session, approve = session_for(call), "approve" in call.options
    return _started(
        call,
        session,
        lambda: session.start_resume(run_id, steps=given, again=again, approve=approve),
    )


def _started(call: Invocation, session: Session, begin: Callable[[], Turn]) -> Turn:
    name = variable_name(call)

    def start() -> Turn:
        turn = begin()
        session.show_turn(turn)
        return turn

    turn = session.host.call(start)
    hand_out(call, turn, name)
    return turn


def _look(call: Invocation) -> StepsLook:
    return session_for(call).look_at_steps(read_steps(call))


def _fine(outline: StepsOutline) -> None:
    print(f"{outline}".partition("\n")[0] + ": fine.")


@contextmanager
def _all_told() -> Generator[None]:
    """Prints all that is wrong with steps, one below the other, before the refusal in a line."""
    try:
        yield
    except StepsRefused as refused:
        for problem in refused.problems:
            print(plain_line(f"- {problem}"))
        count = len(refused.problems)
        said = "a problem" if count == 1 else f"{count} problems"
        raise AcpError(f"the steps have {said}; nothing has run") from refused


def _show(outline: StepsOutline) -> None:
    Output(cast(Any, outline)._repr_mimebundle_())
    _draw(outline.diagram)


def _draw(diagram: str) -> None:
    """Draw what depends on what, where the page can."""
    Output({"text/markdown": cast(Any, Diagram(diagram))._repr_markdown_(), "text/plain": ""})


def _run_id(word: str) -> str:
    """The id of a run; its plan is called `steps-` and the beginning of it. Raises `AcpError` for a `last`
    that there is not."""
    if word != LAST_RUN:
        return word.removeprefix("steps-")
    session = current()
    shown = map(run_of, session.plans.values()) if session is not None else ()
    if not (known := list(filter(None, shown))):
        raise AcpError("no run of steps has begun in this session: %acp steps lists those of others")
    return known[-1]


def read_steps(call: Invocation) -> Any:
    """The steps that a line names, or its cell holds. Raises `AcpError` when there are none."""
    if call.cell is not None:
        if call.text:
            raise AcpError(f"give steps in the cell or name {call.text!r}, not both")
        return _parsed(call.cell)
    if not call.text:
        raise AcpError(f"this is used as {call.command.usage}, or with a cell as %%acp {call.command.name}")
    name = call.text
    value: Any = Path(name)
    if name.isidentifier() and name in call.variables:
        value = call.variables[name]
    if isinstance(value, Path):
        path = named(value)
        if not os.path.exists(path):
            raise AcpError(f"{name!r} is neither a variable nor a file")
        return _parsed(read_text(path), yaml_first=path.suffix in (".yaml", ".yml"))
    return _parsed(value) if isinstance(value, str) else _listed(value)


def _parsed(text: str, *, yaml_first: bool = False) -> Any:
    """The steps in a text. JSON goes on as it is: what is wrong with it is told with its position."""
    fenced = _FENCED.search(text)
    if fenced is not None:
        text, yaml_first = fenced[3], (fenced[2] or "").startswith("y")
    if not yaml_first and text.lstrip()[:1] in ("[", "{", ""):
        return text
    from ..plan import yaml

    return _listed(yaml.value(yaml.tree(text), "data"))


def _listed(value: Any) -> Any:
    """The list of steps in a value, which may be the arguments of a call."""
    arguments = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return arguments["steps"] if set(arguments) == {"steps"} else cast(Any, value)
