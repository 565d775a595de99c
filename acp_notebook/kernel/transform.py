"""`%acp ask` at the top level of a cell becomes an awaited call, so that the kernel handles clicks meanwhile.

IPython has turned magics into calls by then (`get_ipython().run_line_magic('acp', 'ask …')`); those that
wait get `await` and the name of the async magic. Inside functions that are not async the call stays as it
is: there the magic waits by itself, re-entering the loop.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from inspect import currentframe
from typing import Any

MAGIC = "acp"
AWAITED_MAGIC = "acp_await"

_CALLS = ("run_line_magic", "run_cell_magic")
#: Where `await` may not stand, or (f-strings) Python 3.11 does not tell the position of a call.
_SCOPES = (
    ast.JoinedStr,
    ast.FunctionDef,
    ast.Lambda,
    ast.ClassDef,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


class AwaitTransform:
    """An entry for `ip.input_transformers_post`.

    Args:
        shell: the IPython shell.
        waiting: subcommands that wait for a turn. A cell magic without a subcommand counts as `ask`.
    """

    has_side_effects = False

    def __init__(self, shell: Any, waiting: Collection[str] = ("ask",)) -> None:
        self._shell = shell
        self._waiting = frozenset(waiting)

    def __call__(self, lines: list[str]) -> list[str]:
        """The cell with its waiting magics awaited; as it is when there are none or it cannot be awaited."""
        cell = "".join(lines)
        if MAGIC not in cell or not any(call in cell for call in _CALLS) or not self._can_await():
            return lines
        try:
            calls = _awaitable_calls(ast.parse(cell), awaitable=True)
        except (SyntaxError, ValueError, RecursionError):
            return lines  # Python will say what is wrong with it
        found = [call for call in calls if self._waits(call)]
        return [_rewritten(cell, found)] if found else lines

    def _can_await(self) -> bool:
        if not self._shell.autoawait or getattr(self._shell, "trio_runner", None):
            return False
        # %%time, %%capture, %run and others run code while their own cell runs: no loop can be run for that.
        frame = currentframe()
        runs_cells: Any = self._shell.run_code.__code__
        while frame is not None:
            if frame.f_code is runs_cells:
                return False
            frame = frame.f_back
        return True

    def _waits(self, call: ast.Call) -> bool:
        function, magic, *rest = call.func, *call.args
        if not (isinstance(function, ast.Attribute) and function.attr in _CALLS and rest):
            return False
        if not (_text(magic) == MAGIC and isinstance(line := _text(rest[0]), str)):
            return False
        first = next(iter(line.split()), "")
        if function.attr == "run_cell_magic":
            if [_text(body) for body in rest[1:]] == [""]:
                return False  # IPython says that the cell is empty, and of which magic
            if not first or first.startswith("-"):
                first = "ask"
        return first in self._waiting


def _text(node: ast.expr) -> Any:
    return node.value if isinstance(node, ast.Constant) else None


def _awaitable_calls(node: ast.AST, *, awaitable: bool) -> list[ast.Call]:
    """Calls of magics where `await` may stand, in no order."""
    found: list[ast.Call] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Await):
            continue
        inside = not isinstance(child, _SCOPES) and (awaitable or isinstance(child, ast.AsyncFunctionDef))
        if awaitable and isinstance(child, ast.Call) and child.args:
            found.append(child)
        found += _awaitable_calls(child, awaitable=inside)
    return found


def _rewritten(cell: str, calls: list[ast.Call]) -> str:
    """Edits within lines only, from the end, so that line numbers and the other positions stay."""
    lines = [line.encode() for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", cell)]  # as Python's parser splits

    def put(line: int, start: int, end: int, text: str) -> None:
        lines[line - 1] = lines[line - 1][:start] + text.encode() + lines[line - 1][end:]

    edits: list[tuple[int, int, int, str]] = []
    for call in calls:
        name = call.args[0]
        assert call.end_lineno and call.end_col_offset is not None and name.end_col_offset is not None
        edits.append((call.lineno, call.col_offset, call.col_offset, "(await "))
        edits.append((name.lineno, name.col_offset, name.end_col_offset, repr(AWAITED_MAGIC)))
        edits.append((call.end_lineno, call.end_col_offset, call.end_col_offset, ")"))
    for edit in sorted(edits, reverse=True):
        put(*edit)
    return b"".join(lines).decode()
