"""Plans as tables: which column is which, and the words that people have for a status or a priority."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .model import PlanEntry

#: The field of an entry → what columns of it are called, the likeliest first.
NAMES = {
    "content": (
        *("content", "task", "step", "text", "todo", "item", "entry", "activity", "action", "subject"),
        *("summary", "title", "name", "description"),
    ),
    "status": ("status", "state", "done", "completed", "complete", "finished"),
    "priority": ("priority", "prio", "importance"),
    "id": ("id", "key", "no", "nr", "number", "#"),
}

_STATUSES = {
    "pending": ("", "pending", "to do", "todo", "open", "not started", "new", "planned", "no", "false", "0"),
    "in_progress": ("in progress", "doing", "started", "active", "ongoing", "wip", "/"),
    "completed": ("completed", "complete", "done", "finished", "closed", "yes", "true", "1", "x", "✓", "✔"),
    "cancelled": ("cancelled", "canceled", "dropped", "skipped", "-"),
}
_STATUS = {word: status for status, words in _STATUSES.items() for word in words}
_PRIORITIES = {"high": ("h",), "medium": ("", "med", "m", "normal"), "low": ("l",)}
_PRIORITY = {word: priority for priority, words in _PRIORITIES.items() for word in (priority, *words)}


def find(header: Sequence[str]) -> dict[str, int]:
    """Which column of a table holds which field of an entry; without `content`, it is no table of a plan."""
    words = [_plain(name) for name in header]
    found: dict[str, int] = {}
    for field, names in NAMES.items():
        at = next((words.index(name) for name in names if name in words), None)
        if at is not None:
            found[field] = at
    return found


def entry(cells: Mapping[str, str]) -> PlanEntry:
    """The entry in the cells of a row; a column that is missing or empty says nothing."""
    status, priority = cells.get("status", ""), cells.get("priority", "")
    return PlanEntry(
        cells["content"],
        _PRIORITY.get(_plain(priority), priority.strip()),
        _STATUS.get(_plain(status), status.strip()),
        cells.get("id") or None,
    )


def _plain(word: str) -> str:
    word = word.strip().casefold()
    return word if len(word) < 2 or word.startswith("_") else re.sub(r"[\s_-]+", " ", word)
