"""Values, ways into them, and arguments as Python expressions."""

from __future__ import annotations

import keyword
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ..masking import is_reference
from .paths import NoSuchPath, field_names, follow, index_of
from .references import LITERALLY, REFERENCE


def literal(value: Any) -> str:
    """A value that is JSON, or nearly so, as Python has it."""
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return f"{{{', '.join(f'{key!r}: {literal(item)}' for key, item in items)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, cast('list[Any]', value)))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)


def way(code: str, value: Any, path: Sequence[str | int]) -> tuple[str, Any]:
    """The expression for a path into what `code` is, and the value there; None where it is not known.

    By what there is on the way; where that is not known, as keys and indexes.
    """
    for key in path:
        code += _part(value, key)
        try:
            value = follow(value, (key,))
        except NoSuchPath:
            value = None
    return code, value


def _part(value: Any, key: str | int) -> str:
    """One key of a path as code: an attribute only where the value has a field that is called so."""
    if isinstance(value, Mapping):
        other = str(key) if isinstance(key, int) else index_of(key)
        return f"[{(other if key not in value and other in value else key)!r}]"
    if isinstance(value, list | tuple):
        if key in getattr(cast(Any, value), "_fields", ()):
            return f".{key}"
        index = index_of(key)
        return f"[{(key if index is None else index)!r}]"
    name = field_names(value).get(str(key), "")
    return f".{name}" if name and is_name(name) else f"[{key!r}]"


def arguments(given: Mapping[str, str], *first: str) -> str:
    """As a call has them. A name that is no identifier goes by a mapping."""
    parts = [*first, *(f"{name}={code}" for name, code in given.items() if is_name(name))]
    odd = [f"{name!r}: {code}" for name, code in given.items() if not is_name(name)]
    return ", ".join([*parts, *([f"**{{{', '.join(odd)}}}"] if odd else [])])


def is_name(text: str) -> bool:
    """Whether Python takes a text for a name, and for this one."""
    normal = unicodedata.normalize("NFKC", text) == text
    return normal and text.isidentifier() and not keyword.iskeyword(text)


def name_like(text: str, otherwise: str) -> str:
    """A name made of a text; `otherwise` is what it begins with where the text alone makes none."""
    plain = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", text)).strip("_")
    return plain if plain.isidentifier() else f"{otherwise}_{plain}"


def used(value: Any) -> Iterator[str]:
    """The steps that are referred to in a part of a plan, at any depth."""
    if is_reference(value):
        yield from value[REFERENCE]
    elif isinstance(value, dict):
        mapping = cast("dict[str, Any]", value)
        for item in mapping.values() if set(mapping) != {LITERALLY} else ():
            yield from used(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from used(item)
