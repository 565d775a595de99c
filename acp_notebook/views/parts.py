"""Keyed parts of a view, and the patch from what is painted to what should be.

A part is one element. It stands in a slot: an element with `data-slot` inside another part, or the view's
root (slot `""`). Elements with `data-slot` are empty in their own part; their children are parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

from .html import Html

T = TypeVar("T")
Inputs = TypeVarTuple("Inputs")

#: The slot of a view's outermost part.
ROOT = ""


class Part(NamedTuple):
    """One element of a view: its key, the slot it stands in, and its HTML."""

    key: str
    slot: str
    html: Html


#: `[key, slot, after, html]`: `after` is the key of the part before it in its slot, or None for the first.
Set = tuple[str, str, str | None, str]


class Patch(NamedTuple):
    """What changes on the page: parts to set, in order, and keys of parts to drop."""

    set: list[Set]
    drop: list[str]


def diff(painted: Sequence[Part], wanted: Sequence[Part]) -> Patch:
    """The patch from `painted` to `wanted`: a part is set when it is new, changed or out of place."""
    before = {part.key: part for part in painted}
    keys = {part.key for part in wanted}
    kept = {part.key for part in wanted if part.key in before and before[part.key].slot == part.slot}
    order = _order(painted, kept)
    last: dict[str, str] = {}
    seen: dict[str, int] = {}
    disordered: set[str] = set()
    changed: list[Set] = []
    for part in wanted:
        key, slot, html = part
        if key in kept:
            position = seen.get(slot, 0)
            seen[slot] = position + 1
            if order[slot][position] != key:
                disordered.add(slot)  # from here on every part of the slot is put behind the one before it
        old = before[key].html if key in kept else None
        if slot in disordered or old is None or (old is not html and old != html):
            changed.append((key, slot, last.get(slot), html))
        last[slot] = key
    return Patch(changed, [part.key for part in painted if part.key not in keys])


def _order(parts: Sequence[Part], keys: set[str]) -> dict[str, list[str]]:
    """The keys of each slot, in order, as far as they are in `keys`."""
    order: dict[str, list[str]] = {}
    for part in parts:
        if part.key in keys:
            order.setdefault(part.slot, []).append(part.key)
    return order


_SLOT = re.compile(r' data-slot="([^"]*)"([^<>]*>)')


def assemble(parts: Iterable[Part]) -> Html:
    """All parts as one HTML text, each in its slot, for where no page patches them."""
    children: dict[str, list[Html]] = {}
    for part in parts:
        children.setdefault(part.slot, []).append(part.html)

    def fill(html: str) -> str:
        return _SLOT.sub(lambda match: match[2] + "".join(map(fill, children.get(match[1], ()))), html)

    return Html("".join(map(fill, children.get(ROOT, ()))))


class Memo:
    """Keeps what was made for a key, and gives it back while what it was made from is the same.

    The values of a session's state are frozen and shared between states, so identity tells. A new `scope`
    (the number of the turn shown) forgets everything.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[Any, ...], Any]] = {}
        self._scope: object = None

    def scope(self, scope: object) -> None:
        if scope != self._scope:
            self._kept.clear()
            self._scope = scope

    def __call__(self, key: str, make: Callable[[*Inputs], T], *inputs: *Inputs) -> T:
        """`make(*inputs)`, or what it was the last time where the inputs are the same."""
        kept = self._kept.get(key)
        if kept is not None and all(map(_same, kept[0], inputs)):
            return kept[1]
        made = make(*inputs)
        self._kept[key] = inputs, made
        return made

    def parts(self, key: str, make: Callable[[*Inputs], Iterable[Part]], *inputs: *Inputs) -> list[Part]:
        """The same for what makes several parts."""
        return self(key, lambda *given: list(make(*given)), *inputs)


def _same(old: Any, new: Any) -> bool:
    return old is new or (isinstance(old, str | int) and type(old) is type(new) and old == new)


def slot_name(*names: str | int) -> str:
    """A key for parts and slots from names of any kind."""
    return ".".join(re.sub(r"[^\w-]", lambda match: f"~{ord(match[0]):x}", str(name)) for name in names)
