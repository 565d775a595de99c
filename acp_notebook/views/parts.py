"""Keyed parts of a view, and the patch from what is painted to what should be.

A part is one element. It stands in a slot: an element with `data-slot` inside another part, or the view's
root (slot `""`). Elements with `data-slot` are empty in their own part; their children are parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

from ..plan.changes import common_end, common_start
from ..plan.order import longest_rise
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


#: Some parts of one slot, in order. The same objects stand for the same parts, so that ten thousand of them
#: are compared at next to no cost where one has changed.
Run = tuple[Part, ...]

#: All parts of a view by slot, in order. A slot comes after the part that holds it.
Layout = Mapping[str, Run]

#: `[key, html]` for a part that changes where it stands. `[key, html, slot, after]` for one that is new or
#: moves: `after` is the key of the part before it, None for the first; `html` is None where that is the same.
Set = tuple[str, str] | tuple[str, str | None, str, str | None]


class Patch(NamedTuple):
    """What changes on the page: keys of parts to drop, then parts to set, in order."""

    set: list[Set]
    drop: list[str]


def layout(parts: Iterable[Part | Run]) -> Layout:
    """The parts of a view by slot. A run is kept as it is where it is all that its slot has."""
    slots: dict[str, list[Part | Run]] = {}
    for part in parts:
        if part:
            slots.setdefault(part.slot if isinstance(part, Part) else part[0].slot, []).append(part)
    return {slot: _run(found) for slot, found in slots.items()}


def _run(found: list[Part | Run]) -> Run:
    if len(found) == 1 and not isinstance(found[0], Part):
        return found[0]
    return tuple(part for one in found for part in ((one,) if isinstance(one, Part) else one))


def all_parts(painted: Layout) -> Iterator[Part]:
    """Every part of a view, each after the one that holds its slot."""
    return (part for run in painted.values() for part in run)


def diff(painted: Layout, wanted: Layout) -> Patch:
    """The patch from `painted` to `wanted`."""
    changed: list[Set] = []
    gone: list[str] = []
    for slot, new in wanted.items():
        old = painted.get(slot, ())
        if old is not new:
            changed += _changes(old, new, gone)
    for slot, old in painted.items():
        if slot not in wanted:
            gone += [part.key for part in old]
    set_again = {one[0] for one in changed} if gone else ()  # parts that went to another slot
    return Patch(changed, [key for key in gone if key not in set_again])


def _changes(old: Run, new: Run, gone: list[str]) -> list[Set]:
    """What has to be set in one slot; the keys that are no longer in it go to `gone`."""
    start = common_start(old, new)
    tail = common_end(old[start:], new[start:])
    before = {part.key: (place, part.html) for place, part in enumerate(old[start : len(old) - tail])}
    parts = new[start : len(new) - tail]
    kept = [part.key for part in parts if part.key in before]
    settled = {kept[n] for n in longest_rise([before[key][0] for key in kept])}
    changed: list[Set] = []
    after = new[start - 1].key if start else None
    for key, slot, html in parts:
        was = before[key][1] if key in before else None
        if key not in settled:
            changed.append((key, None if was == html else html, slot, after))
        elif was != html:
            changed.append((key, html))
        after = key
    gone += before.keys() - set(kept)
    return changed


_SLOT = re.compile(r' data-slot="([^"]*)"([^<>]*>)')


def assemble(parts: Iterable[Part | Run]) -> Html:
    """All parts as one HTML text, each in its slot, for where no page patches them."""
    slots = layout(parts)

    def fill(slot: str) -> str:
        html = "".join(part.html for part in slots.get(slot, ()))
        return _SLOT.sub(lambda match: match[2] + fill(match[1]), html) if " data-slot=" in html else html

    return Html(fill(ROOT))


class Memo:
    """Keeps what was made for a key, and gives it back while what it was made from is the same.

    The values of a session's state are frozen and shared between states, so identity tells.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[Any, ...], Any]] = {}

    def __call__(self, key: str, make: Callable[[*Inputs], T], *inputs: *Inputs) -> T:
        """`make(*inputs)`, or what it was the last time where the inputs are the same."""
        kept = self._kept.get(key)
        if kept is not None and all(map(_same, kept[0], inputs)):
            return kept[1]
        made = make(*inputs)
        self._kept[key] = inputs, made
        return made

    def parts(
        self, key: str, make: Callable[[*Inputs], Iterable[Part | Run]], *inputs: *Inputs
    ) -> list[Part | Run]:
        """The same for what makes several parts."""
        return self(key, lambda *given: list(make(*given)), *inputs)

    def inner(self, key: str, scope: str | int) -> Memo:
        """A memo for what belongs to a scope, such as the turn shown: another one forgets everything."""
        return self(key, lambda _: Memo(), scope)


def _same(old: Any, new: Any) -> bool:
    if old is new or type(old) is not type(new):
        return old is new
    if hasattr(old, "_fields"):  # a NamedTuple is several inputs
        return all(map(_same, old, new))
    return isinstance(old, str | int) and old == new


def slot_name(*names: str | int) -> str:
    """A key for parts and slots from names of any kind."""
    return ".".join(re.sub(r"[^\w-]", lambda match: f"~{ord(match[0]):x}", str(name)) for name in names)
