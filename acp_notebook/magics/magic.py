"""The `%acp` magic itself: parse, dispatch, and say what went wrong in one line."""

# IPython's decorators are only partly typed:
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import logging
import re
from asyncio import CancelledError
from collections import ChainMap
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand
from traitlets import Enum, observe

from ..errors import AcpError, TurnFailed
from ..kernel.display import cell as running_cell
from ..kernel.display import in_notebook
from ..kernel.interrupt import one_line
from ..notebook import current, sessions
from ..plan import Plan
from .command import Invocation
from .help import explained, overview
from .parse import find_command, parse
from .table import COMMANDS

_HELP = re.compile(r"(.*?)\s*(?:\?|--help|-h)")

log = logging.getLogger(__name__)


@magics_class
class AcpMagics(Magics):
    """`%acp`, `%%acp` and their awaited twin.

    `on_unattended` can be set with `%config AcpMagics.on_unattended = "allow"`, or when the kernel starts.
    """

    on_unattended = Enum(
        ("deny", "allow", "wait"),
        "deny",
        help="What answers requests for approval when nobody is there: deny, allow, or wait for code to.",
    ).tag(config=True)

    commands = COMMANDS

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.shell: Any = shell
        #: What `%acp debug` shows.
        self.last_error: BaseException | None = None
        self._live: tuple[Plan, Any] | None = None

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def acp(self, line: str, cell: str | None = None, local_ns: Mapping[str, Any] | None = None) -> Any:
        with self._in_one_line(line):
            call = self._read(line, cell, local_ns)
            return call.command.run(call) if call else None

    acp.__doc__ = overview(COMMANDS)

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    async def acp_await(
        self, line: str, cell: str | None = None, local_ns: Mapping[str, Any] | None = None
    ) -> Any:
        """What `%acp` becomes where a cell can await it, so that the page stays alive meanwhile."""
        with self._in_one_line(line):
            call = self._read(line, cell, local_ns)
            if call and call.command.run_async:
                return await call.command.run_async(call)
            return call.command.run(call) if call else None

    def _read(self, line: str, cell: str | None, local_ns: Mapping[str, Any] | None) -> Invocation | None:
        """The line taken apart; None when it only asked for help, which is then printed."""
        if asked := _HELP.fullmatch(line.strip()):
            name = " ".join(asked[1].split())
            if name in COMMANDS:
                print(explained(COMMANDS[name]) if name else overview(COMMANDS))
                return None
        if cell is not None and (not line.strip() or line.lstrip().startswith("--")):
            line = f"ask {line}"
        command, rest = find_command(line, COMMANDS)
        if cell is not None and command.cell is None:
            raise AcpError(f"%%acp {command.name} takes no cell: use %acp {command.name}")
        options, text = parse(command, rest, in_cell=cell is not None)
        if text and not command.argument:
            raise AcpError(f"%acp {command.name} takes no {text!r}: use {command.usage}")
        return Invocation(
            command, self, text, options, cell, ChainMap(dict(local_ns or {}), self.shell.user_ns)
        )

    @contextmanager
    def _in_one_line(self, line: str) -> Generator[None]:
        """Errors as one line in the cell. They fail the cell, so *Run All* stops there."""
        try:
            yield
        except TurnFailed as error:
            self.last_error = error
            # IPython lets an exception draw its own traceback; it keeps its type for those who catch it
            shown = f"TurnFailed: {_line(error)}"
            error._render_traceback_ = lambda: [shown]  # type: ignore[attr-defined]
            raise
        except AcpError as error:
            self.last_error = error
            raise UsageError(_line(error)) from error
        except (CancelledError, KeyboardInterrupt) as error:
            one_line(error)  # also where it came before or after the wait, e.g. during a first import
            raise
        except Exception as error:
            self.last_error = error
            log.error("%%acp %s failed", line, exc_info=error)
            raise UsageError(
                f"{type(error).__name__}: {_line(error)} (%acp debug shows all of it)"
            ) from error

    @observe("on_unattended")
    def _apply_on_unattended(self, change: Any) -> None:
        for session in sessions():
            session.on_unattended = change["new"]

    # -- the plan as the value of a cell -------------------------------------------------------------

    def show_live(self, plan: Plan) -> None:
        """`plan` shows itself as the session's live view, if it is what the running cell ends with."""
        self._live = (plan, running_cell())

    def plan_bundle(self, plan: Plan) -> Any:
        """The formatter of plans while the extension is loaded."""
        session = current()
        if self._live == (plan, running_cell()) and session and plan == session.plan and in_notebook():
            return session.plan_view().live()
        return cast(Any, plan)._repr_mimebundle_()


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
