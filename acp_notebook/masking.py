"""Secrets among the arguments of calls: what is called a secret is shown as `MASK`, never as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

#: What stands for a secret.
MASK = "••••••"
_SECRET = re.compile(r"password|passwd|token|secret|api_?-?key|authorization|credential", re.IGNORECASE)


def masked(value: Any, name: str = "") -> Any:
    """`value` with the texts masked whose name says that they are secrets, at any depth."""
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
