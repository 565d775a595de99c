"""What a tool call shows besides its arguments: what it will change or run, in blocks that a view can draw.

Blocks are bounded where they are made. What a block leaves out it says in `hidden`; counts are those of the
whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

#: What happens to a file: `empty` keeps it, with nothing in it.
DiffKind = Literal["create", "edit", "delete", "empty"]

_DONE = {"create": "creates", "edit": "changes", "delete": "deletes", "empty": "empties"}


@dataclass(frozen=True, slots=True)
class Diff:
    """A change of a text file.

    `path` is as people read it, `old` and `new` the whole texts, None where there is no file. `patch` is the
    unified diff without file headers, cut where it is long; `added` and `removed` count the lines of the
    whole change.
    """

    path: str
    old: str | None
    new: str | None
    kind: DiffKind
    patch: str
    added: int
    removed: int
    hidden: str | None = None

    @property
    def headline(self) -> str:
        """What happens, in a line: `changes notes.md (+2 −1)`."""
        return f"{_DONE[self.kind]} {self.path} (+{self.added:,} −{self.removed:,})"


@dataclass(frozen=True, slots=True)
class Code:
    """Text in a programming language, such as `python` or `bash`; empty where the language is not known."""

    text: str
    language: str = ""
    hidden: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts below column names."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    hidden: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text, as it is."""

    text: str
    hidden: str | None = None


Content = Diff | Code | Table | Text


def as_text(content: Iterable[Content]) -> str:
    """The blocks as one plain text, for places that show nothing else."""
    return "\n\n".join("\n".join(filter(None, (_body(block), block.hidden))) for block in content)


def _body(block: Content) -> str:
    match block:
        case Diff():
            return f"@ {block.headline}\n{block.patch}".rstrip("\n")
        case Table(columns, rows):
            return "\n".join(" | ".join(row) for row in (columns, *rows))
        case Code(text) | Text(text):
            return text
