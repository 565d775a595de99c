"""Results as a model reads them: small ones whole, of large ones the beginning. Secrets are masked.

Nothing here looks at more of a value than it shows, so that a result of 50 MB costs no more than one of 5 kB.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from ..describe import described
from ..masking import MASK, masked, redacted

_DEPTH = 20
_DIGITS = 4000  # Python itself refuses to write longer integers


class Preview:
    """`value` as JSON-like data of at most about `budget` bytes; `cut` when that is not all of it.

    `secrets` are texts that are masked wherever they stand, also where the preview would cut them in two.
    """

    def __init__(self, value: Any, budget: int, name: str = "", secrets: Sequence[str] = ()) -> None:
        self.cut = False
        self._left = budget
        self._secrets = secrets
        self.value = self._take(value, name, 0)

    def _take(self, value: Any, name: str, depth: int) -> Any:
        if isinstance(value, BaseModel):
            value = {name: getattr(value, name) for name in type(value).model_fields}
        elif is_dataclass(value) and not isinstance(value, type):
            value = {field.name: getattr(value, field.name) for field in fields(value)}
        if isinstance(value, Mapping | Sequence | Set) and not isinstance(value, str | bytes | bytearray):
            if depth > _DEPTH:
                self.cut = True
                return "…"
            if isinstance(value, Mapping):
                return self._mapping(cast("Mapping[Any, Any]", value), name, depth)
            return self._items(cast("Iterable[Any]", value), name, depth)
        return self._spend(masked(_scalar(value), name))

    def _mapping(self, mapping: Mapping[Any, Any], name: str, depth: int) -> dict[str, Any]:
        taken: dict[str, Any] = {}
        hidden = is_secret(name)
        for key, item in mapping.items():
            if self._left <= 0:
                self.cut = True
                break
            key = self._spend(str(key))
            taken[key] = self._take(item, name if hidden else key, depth + 1)
        return taken

    def _items(self, items: Iterable[Any], name: str, depth: int) -> list[Any]:
        taken: list[Any] = []
        for item in items:
            if self._left <= 0:
                self.cut = True
                break
            taken.append(self._take(item, name, depth + 1))
        return taken

    def _spend(self, value: Any) -> Any:
        if self._secrets:
            value = self._without_secrets(value)
        if not isinstance(value, str):
            self._left -= len(str(value)) + 2
            return value
        room = max(self._left, 8)
        text = value[:room]
        if (size := _bytes(text)) > room:
            text = text[: max(1, room * len(text) // size)]
        if len(text) < len(value):
            self.cut = True
            text += "…"
        self._left -= _bytes(text) + 2
        return text

    def _without_secrets(self, value: Any) -> Any:
        """`value` masked, as much of it as there is room for."""
        if not isinstance(value, str):
            return redacted(value, self._secrets)
        end = room = max(self._left, 8) + 1
        for secret in self._secrets:
            at = value.find(secret, max(0, room - len(secret)), room + len(secret))
            end = max(end, at + len(secret))
        self.cut |= end < len(value)
        return redacted(value[:end], self._secrets) + ("…" if end < len(value) else "")


def is_secret(name: str) -> bool:
    """Whether what is called `name` is masked."""
    return masked("", name) == MASK


def without_secrets(text: str, args: Any) -> str:
    """`text`, what a tool says of a call, without the secrets that the call had among its `args`."""
    for secret in sorted(set(_secrets(args, "")), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _secrets(value: Any, name: str) -> Iterable[str]:
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[Any, Any]", value).items():
            yield from _secrets(item, name if is_secret(name) else str(key))
    elif isinstance(value, list | tuple):
        for item in cast("Sequence[Any]", value):
            yield from _secrets(item, name)
    elif isinstance(value, str) and len(value) > 3 and is_secret(name):
        yield value


def _bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))


def _scalar(value: Any) -> Any:
    """A value without parts as JSON has it; what JSON has no form for, in words."""
    match value:
        case None | bool():
            return value
        case str():
            return value.encode("utf-8", "replace").decode() if not value.isascii() else value
        case int():
            digits = int(value.bit_length() * math.log10(2)) + 1
            return int(value) if digits < _DIGITS else f"an integer of about {digits:,} digits"
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes() | bytearray():
            return f"{len(value):,} bytes, beginning {bytes(value[:32])!r}"
        case _:
            pass
    try:
        known = to_jsonable_python(value)  # dates, decimals, paths, enumerations, …
    except Exception:
        return described(value)
    return known if isinstance(known, str | int | float | bool) else described(value)


def size(value: Any) -> str:
    """How large a value is, by what it says itself."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return " × ".join(map(str, cast("tuple[Any, ...]", shape)))
    match value:
        case str():
            return f"{len(value):,} characters"
        case bytes() | bytearray():
            return f"{len(value):,} bytes"
        case Mapping():
            return f"{len(cast('Mapping[Any, Any]', value)):,} keys"
        case Sequence() | Set():
            return f"{len(cast('Sequence[Any]', value)):,} items"
        case _:
            return type(value).__name__


def part(value: Any, start: int, count: int) -> tuple[Any, int | None]:
    """`count` characters, items or entries from `start` on, and how many there are (None: no parts)."""
    if isinstance(value, BaseModel):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    match value:
        case str() | bytes() | bytearray() | list() | tuple():
            sequence = cast("Sequence[Any]", value)
            return sequence[start : start + count], len(sequence)
        case Mapping():
            mapping = cast("Mapping[Any, Any]", value)
            return dict(islice(mapping.items(), start, start + count)), len(mapping)
        case Set():
            items = cast("Set[Any]", value)
            return list(islice(items, start, start + count)), len(items)
        case _:
            return value, None
