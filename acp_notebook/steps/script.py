"""A run as Python: a statement for each step, which calls the tools with no agent and no plan.

References are plain expressions, a `for_each` is a comprehension, a `when` an `if`. What a person was asked
about is asked about again, and what a person had changed is changed. Secrets are read from the environment,
or typed; they are never in the script. A value that is used again is passed on as a copy, as in a run.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .expressions import is_name, name_like
from .statements import Edits, Writer


@dataclass(frozen=True, slots=True)
class Script:
    """The code of a run: what comes first, and a statement for each step."""

    setup: str
    statements: tuple[str, ...]
    is_async: bool

    def text(self, title: str) -> str:
        """The script as a file."""
        body = "\n\n".join(self.statements)
        first, _, rest = self.setup.partition("\n")
        more = ["import asyncio"] if self.is_async else []
        head = "\n".join([json.dumps(title, ensure_ascii=False), first, "", *more, rest.lstrip("\n")])
        if self.is_async:  # inside a function the names are local, which changes nothing for the statements
            body = f"async def main():\n{textwrap.indent(body, '    ')}\n\n\nasyncio.run(main())"
        return f"{head.rstrip()}\n\n\n{body}\n"

    def notebook(self, title: str) -> str:
        """The script as a notebook: a cell for each step."""
        code = [cell for cell in (self.setup.strip(), *self.statements) if cell]
        cells = [_cell("markdown", title, 0), *(_cell("code", cell, n) for n, cell in enumerate(code, 1))]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, source: str, number: int) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "cell_type": kind,
        "id": f"step-{number}",
        "metadata": {},
        "source": source.splitlines(True),
    }
    return {**cell, "execution_count": None, "outputs": []} if kind == "code" else cell


def script(
    steps: Sequence[tuple[Mapping[str, Any], Edits]],
    tools: Mapping[str, Mapping[str, Any]],
    values: Mapping[str, Any],
) -> Script:
    """The script of `steps` as they were sent, each with what a person has changed about it.

    The `values` that they had, as far as they ended well, say how parts of one are reached.
    """
    named = {name: {**tool, "function": _called(tool["function"])} for name, tool in tools.items()}
    writer = Writer([sent for sent, _ in steps], named, values)
    statements = tuple(writer.statement(sent, edits) for sent, edits in steps)
    return Script(writer.setup(), statements, any(tool["is_async"] for tool in tools.values()))


def _called(function: str) -> str:
    """The name of a function that a stand-in may be defined by: that of a tool may be any text."""
    plain = name_like(function, "tool")
    return plain if is_name(plain) else f"tool_{plain}"
