"""Cells of an IPython shell in this process, as in a terminal: `cells.run("%acp status").text`."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import acp_notebook.notebook


@dataclass
class Ran:
    """A cell that has run: its value, all that it printed, and the exception that it ended with."""

    value: Any
    text: str
    error: BaseException | None

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


class Cells:
    """A shell with the extension loaded."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.variables: dict[str, Any] = shell.user_ns

    def try_run(self, code: str) -> Ran:
        """Run a cell that may fail."""
        with capture_output() as out:
            result = self.shell.run_cell(code, store_history=True)
        shown = "".join(output.data.get("text/plain", "") for output in out.outputs)
        return Ran(
            result.result, out.stdout + out.stderr + shown, result.error_before_exec or result.error_in_exec
        )

    def run(self, code: str) -> Ran:
        """Run a cell that must not fail."""
        ran = self.try_run(code)
        assert ran.error is None, f"{code!r} failed: {ran.text or repr(ran.error)}"
        return ran

    def fails(self, code: str) -> str:
        """Run a cell that must fail, with a single line; the line without its `UsageError: `."""
        ran = self.try_run(code)
        assert ran.error is not None, f"{code!r} did not fail: {ran.text}"
        lines = [line for line in ran.lines if line]
        assert len(lines) == 1, f"more than a line:\n{ran.text}"
        return lines[0].removeprefix("UsageError: ")


@contextmanager
def started(**config: Any) -> Iterator[InteractiveShell]:
    """A new shell, the one that `get_ipython()` gives; `config`: settings by class, `AcpMagics={...}`."""
    settings = Config(
        {"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}, **config}
    )
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=settings)
    try:
        yield shell
    finally:
        shell.run_line_magic("unload_ext", "acp_notebook")
        acp_notebook.notebook.close_all()
        forget(shell)


def forget(shell: InteractiveShell) -> None:
    """No shell is kept to the end of the process, where each would collect all garbage once more."""
    InteractiveShell.clear_instance()
    atexit.unregister(shell.atexit_operations)
