"""References to what earlier steps returned, as a model writes them among a step's arguments.

`{"output_by_reference": {"backup": ["parts", 0, "id"]}}` is what step `backup` returned, and from there the
key `parts`, the first item, the key `id`. `{"literally": X}` is X as it is, whatever it looks like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from ..masking import REFERENCE
from .isolate import isolated

LITERALLY = "literally"
FORM = f'{{"{REFERENCE}": {{"<step id>": ["<key>", <index>, …]}}}}'
#: How deep an argument may nest; a model's own JSON seldom goes beyond ten.
MAX_DEPTH = 64

Place = tuple[str | int, ...]
_KEYS = frozenset({str, int})  # and not bool, which is an int to isinstance


class Reference(NamedTuple):
    """What step `step` returned, at `path` in it."""

    step: str
    path: Place = ()

    def __str__(self) -> str:
        return ".".join((self.step, *map(str, self.path)))


@dataclass(frozen=True, slots=True)
class Composite:
    """A list or a mapping with references somewhere in it. Its parts are what `parse` returns."""

    parts: dict[str, Any] | list[Any]


@dataclass(frozen=True, slots=True)
class Literal:
    """A list or a mapping that is data and no more."""

    value: Any


@dataclass(frozen=True, slots=True)
class Fault:
    """What looks like a reference and is none, or cannot be looked into."""

    place: Place
    message: str


def parse(value: Any, place: Place, faults: list[Fault]) -> Any:
    """An argument with its references found: `Reference`, `Composite`, `Literal`, or a scalar as it is."""
    kind = cast("type[Any]", type(value))
    if kind is not dict and kind is not list:
        return value
    if len(place) > MAX_DEPTH:
        faults.append(Fault(place, f"is nested more than {MAX_DEPTH} deep: pass it flatter"))
        return None
    if kind is list:
        raw = cast("list[Any]", value)
        items = [parse(item, (*place, at), faults) for at, item in enumerate(raw)]
        return Literal(raw) if all(map(_unchanged, items, raw)) else Composite(items)
    mapping = cast("dict[str, Any]", value)
    if REFERENCE in mapping:
        found = reference(mapping)
        if found is None:
            faults.append(Fault(place, _fault(mapping)))
        return found
    if len(mapping) == 1 and LITERALLY in mapping:
        return Literal(mapping[LITERALLY])
    parts = {key: parse(item, (*place, key), faults) for key, item in mapping.items()}
    same = all(map(_unchanged, parts.values(), mapping.values()))
    return Literal(mapping) if same else Composite(parts)


def reference(value: Any) -> Reference | None:
    """The reference that `value` is; None when it is none, or is not written as it should be."""
    if cast(Any, type(value)) is not dict or len(value) != 1:
        return None
    target: Any = value.get(REFERENCE)
    if cast(Any, type(target)) is not dict or len(target) != 1:
        return None
    ((step, path),) = target.items()
    if cast(Any, type(path)) is not list or not _KEYS.issuperset(map(type, path)):
        return None
    return Reference(step, tuple(path))


def _unchanged(part: Any, raw: Any) -> bool:
    return part is raw or (type(part) is Literal and part.value is raw)


def _fault(mapping: dict[str, Any]) -> str:
    target = mapping[REFERENCE]
    escape = f'to pass it as data, write {{"{LITERALLY}": …}} around it'
    if len(mapping) > 1:
        others = ", ".join(repr(key) for key in mapping if key != REFERENCE)
        return f"is a reference with more beside it ({others}): leave that out, or {escape}"
    if not isinstance(target, dict) or len(cast("dict[str, Any]", target)) != 1:
        shown = repr(cast(Any, target))[:80]
        return f"refers to {shown} and not to exactly one step: write {FORM}, or {escape}"
    (path,) = cast("dict[str, Any]", target).values()
    return f"has the path {repr(path)[:80]}, which is not a list of keys and indexes: write {FORM}"


def references(node: Any, place: Place = ()) -> Iterator[tuple[Place, Reference]]:
    """The references in what `parse` returned, each with its place."""
    if type(node) is Reference:
        yield place, node
    elif type(node) is Composite:
        parts = node.parts
        for key, part in parts.items() if isinstance(parts, dict) else enumerate(parts):
            yield from references(part, (*place, key))


def resolve(node: Any, look_up: Callable[[Reference], Any]) -> Any:
    """The value of what `parse` returned. It is the caller's own: nothing in it is shared with the plan."""
    kind = cast(Any, type(node))
    if kind is Reference:
        return look_up(node)
    if kind is Literal:
        return isolated(node.value)
    if kind is Composite:
        parts = cast(Composite, node).parts
        if isinstance(parts, dict):
            return {key: resolve(part, look_up) for key, part in parts.items()}
        return [resolve(part, look_up) for part in parts]
    return node
