"""`--attach`: variables and files as fenced blocks under a prompt."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from ..errors import AcpError
from ..text_files import named, read_text
from .command import Invocation, alike

#: How much of one attachment is sent, in characters, and how many rows of a table.
CHARACTERS = 20_000
ROWS = 100


def attachments(names: Iterable[str], call: Invocation) -> str:
    """What goes under the prompt. Raises `AcpError` for a name that is neither a variable nor a text file."""
    return "".join(f"\n\n{_attachment(name, call)}" for name in names)


def _attachment(name: str, call: Invocation) -> str:
    if name in call.variables:
        value = call.variables[name]
        text, note = _as_text(value)
        return _block(f"`{name}` ({type(value).__name__}{note})", text, "")
    path = named(name)
    if not os.path.exists(path):
        hint = alike(name, call.variables) or ": a text that follows names begins after --"
        raise AcpError(f"--attach {name!r} is neither a variable nor a file{hint}")
    return _block(f"`{name}`", read_text(path), path.suffix.removeprefix("."))


def _as_text(value: Any) -> tuple[str, str]:
    """A value as text, a Markdown table, or its `repr`; and a note where rows are left out."""
    if isinstance(value, str):
        return value, ""
    note = ""
    if hasattr(value, "to_markdown"):
        with suppress(TypeError):  # no length: not a table
            rows = len(value)
            if rows > ROWS and hasattr(value, "head"):
                value, note = value.head(ROWS), f", the first {ROWS} of {rows:,} rows"
    for method in ("to_markdown", "_repr_markdown_"):
        with suppress(Exception):  # pandas: to_markdown needs tabulate, which may not be installed
            text = getattr(value, method)()
            if isinstance(text, str):
                return text, note
    return repr(value), note


def _block(title: str, text: str, language: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    if len(text) > CHARACTERS:
        text, title = text[:CHARACTERS], f"{title}, the first {CHARACTERS:,} of {len(text):,} characters"
    return f"{title}:\n{fence}{language}\n{text.rstrip()}\n{fence}"
