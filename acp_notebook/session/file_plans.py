"""What the files of `file` plans hold: read when an agent names one, and when it may have written it since.

Only text files inside the session's working folder are read, and only their beginning. Nothing is ever
fetched: an agent says where its plan lies, and must not make the notebook look elsewhere.
"""

from __future__ import annotations

import os
import re
import stat
from codecs import getincrementaldecoder
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..plan import Plan
from ..protocol.messages import FINAL_STATUSES, PlanRemoved, PlanUpdate, StateUpdate, ToolCallUpdate, Update
from .state import PlanFile, PlanFileRead, SessionState

#: How much of a file is shown, in bytes.
LONGEST = 100_000

#: A pipe in the file's place must not hold up the loop, nor a link that was put there meanwhile lead away.
_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
_DRIVE = re.compile(r"/[A-Za-z][:|]")


def working_folder() -> Path | None:
    """The folder that this process works in; None when it has been deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None


def read_plan_files(
    state: SessionState, updates: Sequence[Update], folder: Path | None
) -> list[PlanFileRead]:
    """What the files hold that `updates`, which come next, make worth reading.

    Those of the plans among them, and of all plans when a tool call or a turn ends, which may have written
    them.
    """
    plans: dict[str, Plan] = {}
    for update in updates:
        match update:
            case PlanUpdate(plan):
                plans[plan.plan_id] = plan
            case PlanRemoved(plan_id):
                plans.pop(plan_id, None)
            case StateUpdate("idle"):
                plans = {**state.plans, **plans}
            case ToolCallUpdate(status=status) if status in FINAL_STATUSES:
                plans = {**state.plans, **plans}
            case _:
                pass
    return [
        PlanFileRead(plan_id, read_plan_file(plan.uri, folder))
        for plan_id, plan in plans.items()
        if plan.type == "file"
    ]


def read_plan_file(uri: str | None, folder: Path | None) -> PlanFile:
    """The beginning of the file that `uri` names, if it is a text inside `folder`. Never raises."""
    try:
        path = _path(uri or "")
        if folder is None or not path.is_relative_to(folder.resolve()):
            raise _Hidden("it lies outside the working folder")
        return _read(path)
    except _Hidden as reason:
        return PlanFile(None, f"Not shown: {reason}.")
    except FileNotFoundError:
        return PlanFile(None, "There is no such file yet.")
    except IsADirectoryError:
        return PlanFile(None, "Not shown: it is a folder.")
    except (OSError, RuntimeError, ValueError):  # no permission, a circle of links, a name no file can have
        return PlanFile(None, "Not shown: it cannot be read.")


class _Hidden(Exception):
    """Why a file is not shown."""


def _path(uri: str) -> Path:
    """Where a file URI leads (RFC 8089), links followed."""
    parts = urlsplit(uri)
    if parts.scheme not in ("file", ""):
        raise _Hidden("only files are read, nothing is fetched")
    path = unquote(parts.path, errors="strict")
    if not parts.scheme or not path.startswith("/"):
        raise _Hidden("its URI is not absolute")
    if parts.netloc not in ("", "localhost"):
        raise _Hidden("it is on another machine")
    if _DRIVE.match(path):
        if os.name != "nt":
            raise _Hidden("its path is one of Windows")
        path = f"{path[1]}:{path[3:]}"
    return Path(path).resolve()


def _read(path: Path) -> PlanFile:
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _FLAGS)) as file:
        found = os.stat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise _Hidden("it is not a file")
        data = file.read(LONGEST)
    hidden = found.st_size - len(data)
    try:  # what is cut off may begin in the middle of a character
        text = getincrementaldecoder("utf-8-sig")().decode(data, final=hidden <= 0)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise _Hidden("it is not a text in UTF-8")
    return PlanFile(text, f"{hidden:,} more bytes are not shown." if hidden > 0 else None)
