"""From a tool's arguments to what it will change: settings that say which tool writes, deletes or runs what.

The names are those of pydantic-acp.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..errors import AcpError
from ..protocol.content import Code, Content, Diff, DiffKind
from ..text_files import read_exactly
from .line_diff import patch

#: Bytes of a file that is read for a preview, and characters of code that are shown.
LONGEST = 16 * 2**20
CODE = 80_000

_PATHS = ("path", "file_path", "filename", "file")
_CONTENTS = ("content", "text", "new_text")
_OLD_TEXTS = ("old_text", "old_string", "old_content")
_COMMANDS = ("command", "cmd", "script", "bash")


class CannotPreview(AcpError):
    """Why no preview can be shown, for the person. The call itself may be all right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProjection:
    """What a call shows besides its arguments: its content, and a title in place of the tool's name."""

    content: tuple[Content, ...] = ()
    title: str | None = None


class ProjectionMap(Protocol):
    """Turns calls of some tools into what they will change."""

    def project_start(
        self, tool_name: str, *, cwd: Path | None = None, raw_input: Any = None
    ) -> ToolProjection | None:
        """The projection of a call that has not run; None for a tool that this is not about.

        Raises `CannotPreview` with a line for the person.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystemProjectionMap:
    """Tools that write and delete text files and run commands.

    Args:
        write_tool_names, default_write_tool: tools that write a file, or put `content_arg` in place of
            `old_text_arg` in it where they have such an argument.
        delete_tool_names, default_delete_tool: tools that delete a file.
        bash_tool_names, default_bash_tool: tools that run a command.
        path_arg, content_arg, old_text_arg, command_arg: names of arguments, where they are not such as
            `path`, `content`, `old_text` and `command`.

    Files are read only inside the session's folder, links followed.
    """

    write_tool_names: frozenset[str] = frozenset()
    delete_tool_names: frozenset[str] = frozenset()
    bash_tool_names: frozenset[str] = frozenset()
    default_write_tool: str | None = None
    default_delete_tool: str | None = None
    default_bash_tool: str | None = None
    path_arg: str | None = None
    content_arg: str | None = None
    old_text_arg: str | None = None
    command_arg: str | None = None

    def project_start(
        self, tool_name: str, *, cwd: Path | None = None, raw_input: Any = None
    ) -> ToolProjection | None:
        if tool_name in self.write_tool_names or tool_name == self.default_write_tool:
            return ToolProjection(content=(self._written(raw_input, cwd or Path.cwd()),))
        if tool_name in self.delete_tool_names or tool_name == self.default_delete_tool:
            path, old = _read(_text(raw_input, self.path_arg, _PATHS, "path"), cwd or Path.cwd())
            if old is None:
                raise CannotPreview(f"there is no file {path!r} to delete")
            return ToolProjection(content=(diff(path, old, None),))
        if tool_name in self.bash_tool_names or tool_name == self.default_bash_tool:
            command = _text(raw_input, self.command_arg, _COMMANDS, "command")
            left = len(command) - CODE
            hidden = f"Not shown: {left:,} characters." if left > 0 else None
            return ToolProjection(content=(Code(command[:CODE], "bash", hidden),))
        return None

    def _written(self, raw_input: Any, cwd: Path) -> Diff:
        path, old = _read(_text(raw_input, self.path_arg, _PATHS, "path"), cwd)
        new = _text(raw_input, self.content_arg, _CONTENTS, "content")
        replaced = _argument(raw_input, self.old_text_arg, _OLD_TEXTS)
        if not isinstance(replaced, str) or not replaced:
            return diff(path, old, new)
        if (times := (old or "").count(replaced)) != 1:
            found = f"occurs {times:,} times" if times else "does not occur"
            raise CannotPreview(f"the text to replace {found} in {path!r}")
        return diff(path, old, (old or "").replace(replaced, new))


def diff(path: str, old: str | None, new: str | None) -> Diff:
    """The change of a file from `old` to `new`, None where there is no file."""
    kind: DiffKind = "edit"
    if old is None:
        kind = "create"
    elif new is None:
        kind = "delete"
    elif old and not new:
        kind = "empty"
    text, added, removed, hidden = patch(old or "", new or "")
    return Diff(path, old, new, kind, text, added, removed, hidden)


def _argument(raw_input: Any, named: str | None, usual: tuple[str, ...]) -> Any:
    if not isinstance(raw_input, Mapping):
        return None
    names = usual if named is None else (named,)
    return next((raw_input[name] for name in names if name in raw_input), None)  # pyright: ignore


def _text(raw_input: Any, named: str | None, usual: tuple[str, ...], what: str) -> str:
    found = _argument(raw_input, named, usual)
    if not isinstance(found, str):
        raise CannotPreview(f"the call has no argument {named or what!r} that is a text")
    return found


def _read(path: str, folder: Path) -> tuple[str, str | None]:
    """Where a path leads, as people read it, and what is there; None where there is no file.

    Raises `CannotPreview` for what lies outside of `folder` once links and `..` are followed.
    """
    try:
        if path.startswith("~"):  # a tool may expand it, and then it is another file
            raise CannotPreview(f"{path!r} may be outside of the working folder: its file is not read")
        root = Path(os.path.realpath(folder))
        real = Path(os.path.realpath(root / path))
        if not real.is_relative_to(root) or real == root:
            raise CannotPreview(f"{path!r} is outside of the working folder: its file is not read")
        shown = real.relative_to(root).as_posix()
        if not os.path.lexists(real):
            return shown, None
        if (size := real.stat().st_size) > LONGEST:
            raise CannotPreview(f"{shown!r} has {size:,} bytes: too many for a preview")
        return shown, read_exactly(real)
    except CannotPreview:
        raise
    except AcpError as reason:
        raise CannotPreview(str(reason)) from reason
    except (OSError, ValueError) as error:
        raise CannotPreview(f"{path!r} cannot be read: {error}") from error
