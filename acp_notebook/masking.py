"""Secrets among the arguments of calls: they are shown as `MASK`, never as they are.

A text is a secret when it is called one, or when the tool declares it as one (pydantic's `SecretStr`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

#: What stands for a secret.
MASK = "••••••"
_SECRET = re.compile(r"password|passwd|token|secret|api_?-?key|authorization|credential", re.IGNORECASE)
#: How far a schema is followed that refers to itself.
_DEPTH = 40


class Secret(str):
    """A text that is a secret whatever it is called."""


def declares_secrets(schema: Any) -> bool:
    """Whether anything in a JSON schema is a password."""
    if isinstance(schema, Mapping):
        found = cast("Mapping[str, Any]", schema)
        return found.get("format") == "password" or any(map(declares_secrets, found.values()))
    return isinstance(schema, list) and any(map(declares_secrets, cast("list[Any]", schema)))


def marked(value: Any, schema: Any, whole: Any = None, depth: int = 0) -> Any:
    """`value`, JSON-like, with the texts as `Secret` that its JSON schema says are passwords."""
    whole = schema if whole is None else whole
    if not isinstance(schema, Mapping) or depth > _DEPTH:
        return value
    found = cast("Mapping[str, Any]", schema)
    if isinstance(ref := found.get("$ref"), str):
        value = marked(value, whole.get("$defs", {}).get(ref.rpartition("/")[2]), whole, depth + 1)
    for branch in (*found.get("anyOf", ()), *found.get("oneOf", ()), *found.get("allOf", ())):
        value = marked(value, branch, whole, depth + 1)
    if isinstance(value, str):
        return Secret(value) if found.get("format") == "password" else value
    if isinstance(value, Mapping):
        known, other = found.get("properties", {}), found.get("additionalProperties")
        items = cast("Mapping[str, Any]", value).items()
        return {name: marked(item, known.get(name, other), whole, depth + 1) for name, item in items}
    if isinstance(value, list):
        return [marked(item, found.get("items"), whole, depth + 1) for item in cast("list[Any]", value)]
    return value


def masked(value: Any, name: str = "") -> Any:
    """`value` with the secrets masked, at any depth."""
    if isinstance(value, Secret):
        return MASK
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {key: masked(item, name if _SECRET.search(name) else str(key)) for key, item in items}
    if isinstance(value, list | tuple):
        return [masked(item, name) for item in cast("list[Any]", value)]
    # A number or a flag under such a name is a limit or a switch (`max_tokens`).
    if value is None or isinstance(value, bool | int | float) or not _SECRET.search(name):
        return value
    return MASK


def unmasked(edited: Any, original: Any) -> Any:
    """`edited`, made by a person from `masked(original)`, with the secrets put back that were left masked."""
    if edited == MASK and original is not None:
        return original
    if isinstance(edited, dict) and isinstance(original, Mapping):
        new, old = cast("dict[str, Any]", edited), cast("Mapping[str, Any]", original)
        return {key: unmasked(item, old.get(key)) for key, item in new.items()}
    if isinstance(edited, list) and isinstance(original, list | tuple):
        items, before = cast("list[Any]", edited), cast("list[Any]", original)
        return [unmasked(item, before[at] if at < len(before) else None) for at, item in enumerate(items)]
    return cast(Any, edited)
