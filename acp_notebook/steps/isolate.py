"""Results that stay as they were: a tool that changes a value later changes a copy of its own."""

from __future__ import annotations

import copy
from collections import deque
from dataclasses import is_dataclass
from typing import Any, cast

from pydantic import BaseModel

#: Types of what cannot change.
ATOMS = frozenset({str, bytes, int, float, bool, complex, type(None)})


def isolated(value: Any) -> Any:
    """A copy that shares with `value` only what cannot change, so that long texts are not copied.

    Plain containers, dataclasses, pydantic models and what says how it is copied (arrays, data frames) are
    copied. Any other object is a handle, such as a connection or a browser, and is passed on as itself.
    """
    if type(value) in ATOMS:
        return value
    try:
        return _copied(value)
    except RecursionError:  # it holds itself, or is deeper than Python goes
        try:
            return copy.deepcopy(value)
        except Exception:
            return value


def _copied(value: Any) -> Any:
    kind = cast("type[Any]", type(value))
    if kind in ATOMS:
        return value
    if kind is dict:
        mapping = cast("dict[Any, Any]", value)
        if ATOMS.issuperset(map(type, mapping.values())):
            return mapping.copy()
        return {key: item if type(item) in ATOMS else _copied(item) for key, item in mapping.items()}
    if kind is list:
        items = cast("list[Any]", value)
        if ATOMS.issuperset(map(type, items)):
            return items.copy()
        return [item if type(item) in ATOMS else _copied(item) for item in items]
    if kind is tuple:
        return tuple(map(_copied, cast("tuple[Any, ...]", value)))
    plain = (dict, list, tuple, set, deque, bytearray, BaseModel)
    if isinstance(value, plain) or is_dataclass(value) or hasattr(kind, "__deepcopy__"):
        try:
            return copy.deepcopy(cast(Any, value))
        except RecursionError:
            raise
        except Exception:  # it holds a handle, which has no copy
            pass
    return cast(Any, value)
