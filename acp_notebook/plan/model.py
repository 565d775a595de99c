"""The plan model: frozen values with the vocabulary of ACP v2's agent plan.

Known values are the ones of the draft; any other string is kept as it came, because unknown statuses and
priorities are either somebody's extension (`_blocked`) or a later version of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

STATUSES = ("pending", "in_progress", "completed", "cancelled")
PRIORITIES = ("high", "medium", "low")

#: The plan a session has when nobody names one, and the id under which a v1 peer's single plan is held.
DEFAULT_PLAN_ID = "plan-1"


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """One step of a plan.

    `content` is the text; `priority` and `status` hold known values or any other string, as it came;
    `id` is the entry's own id where its source has one; `meta` is ACP's `_meta`; `raw` holds the members it
    came with that no field is for.
    """

    content: str
    priority: str = "medium"
    status: str = "pending"
    id: str | None = None
    meta: Mapping[str, Any] | None = field(default=None, hash=False)
    raw: Mapping[str, Any] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan: iterable over its entries, `len()` counts them, `plan[0]` is the first.

    `type` is ACP's discriminator: `items` has `entries`, `markdown` has `content`, `file` has an absolute
    `uri`; any other type keeps what it came with in `raw`. `title` is ours (ACP carries it in `_meta`).
    """

    entries: tuple[PlanEntry, ...] = ()
    plan_id: str = DEFAULT_PLAN_ID
    type: str = "items"
    title: str | None = None
    content: str | None = None
    uri: str | None = None
    meta: Mapping[str, Any] | None = field(default=None, hash=False)
    raw: Mapping[str, Any] | None = field(default=None, hash=False)

    def __iter__(self) -> Iterator[PlanEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __str__(self) -> str:
        """The plan to read; `repr` shows the fields."""
        from .formats import as_text

        return as_text(self)

    def __bool__(self) -> bool:
        """False only for a plan that holds nothing at all."""
        return bool(self.entries or self.content or self.uri or self.raw)

    def __getitem__(self, position: int) -> PlanEntry:
        return self.entries[position]

    @property
    def progress(self) -> tuple[int, int]:
        """`(done, total)`. Only `completed` counts as done; cancelled and unknown ones stay in the total."""
        return sum(entry.status == "completed" for entry in self.entries), len(self.entries)

    @property
    def current(self) -> int | None:
        """The 1-based number of the first entry in progress."""
        return next((n for n, entry in enumerate(self.entries, 1) if entry.status == "in_progress"), None)

    @property
    def upcoming(self) -> int | None:
        """The 1-based number of the entry to take up next: the current one, else the first pending one."""
        pending = (n for n, entry in enumerate(self.entries, 1) if entry.status == "pending")
        return self.current or next(pending, None)

    @classmethod
    def parse(cls, text: str, format: str | None = None, **fields: Any) -> Plan:
        """Read a plan from `text`; `format` as in `acp_notebook.plan.formats.FORMATS`, guessed when None.

        Raises `PlanError` when the text holds no plan in that format.
        """
        from .formats import parse

        plan = parse(text, format)
        return replace(plan, **fields) if fields else plan

    def to(self, format: str = "md") -> str:
        """Write the plan in a format of `acp_notebook.plan.formats.FORMATS`.

        `md`, `json`, `yaml`, `csv`, `html` (a page), `mermaid` (a diagram's source) or `ipynb` (an outline).
        Raises `PlanError` for other formats, and for a plan that the format cannot hold.
        """
        from .formats import write

        return write(self, format)

    def to_frame(self) -> Any:
        """The entries as a `pandas.DataFrame`: a row each, numbered from 1.

        Raises `PlanError` when pandas is not installed, or for a plan that is no list.
        """
        from .values import to_frame

        return to_frame(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from .formats import as_html, as_text

        return {"text/plain": as_text(self), "text/markdown": self.to("md"), "text/html": as_html(self)}
