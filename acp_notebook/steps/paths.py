"""Ways into what a step returned: through the value itself, and beforehand through its declared type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

from pydantic import BaseModel

from .references import Place

_NAMED = 12
_MISSING = object()


class NoSuchPath(Exception):
    """A path that a value does not have; the message says what it has instead."""


def follow(value: Any, path: Place) -> Any:
    """What is at `path` in `value`: keys of mappings, fields of models and dataclasses, indexes of sequences.

    An index may be negative, or be written as a text.

    Raises:
        NoSuchPath: naming the keys or the length that there are.
    """
    for at, key in enumerate(path):
        if type(value) is dict and key in value:  # as most are; the general case takes several times as long
            value = cast("dict[Any, Any]", value)[key]
            continue
        found = _enter(value, key)
        if found is _MISSING:
            where = "".join(f"[{step!r}]" for step in path[:at])
            raise NoSuchPath(f"there is no {key!r} in {f'its {where}' if where else 'it'}: {_offers(value)}")
        value = found
    return value


def _enter(value: Any, key: str | int) -> Any:
    if isinstance(value, Mapping):
        mapping = cast("Mapping[Any, Any]", value)
        if key in mapping:
            return mapping[key]
        # JSON has text keys only, and models write the key "0" as the number
        other = str(key) if isinstance(key, int) else index_of(key)
        return mapping[other] if other is not None and other in mapping else _MISSING
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        sequence = cast("Sequence[Any]", value)
        if isinstance(key, str) and key in getattr(sequence, "_fields", ()):  # a named tuple
            return getattr(sequence, key)
        index = index_of(key)
        in_range = index is not None and -len(sequence) <= index < len(sequence)
        return sequence[index] if in_range and index is not None else _MISSING
    name = field_names(value).get(str(key))
    return _MISSING if name is None else getattr(value, name)


def index_of(key: str | int) -> int | None:
    """A key as an index, which may be written as a text; None when it is none."""
    if isinstance(key, int):
        return key
    return int(key) if key.removeprefix("-").isascii() and key.removeprefix("-").isdigit() else None


def field_names(value: Any) -> dict[str, str]:
    """The fields of a model or dataclass: as the declared type calls them, and as attributes."""
    if isinstance(value, BaseModel):
        model = type(value)
        names = {name: name for name in (*model.model_fields, *model.model_computed_fields)}
        aliases = {field.serialization_alias: name for name, field in model.model_fields.items()}
        return {**names, **{alias: name for alias, name in aliases.items() if alias}}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: field.name for field in fields(value)}
    return {}


def _offers(value: Any) -> str:
    if isinstance(value, Mapping):
        return _named(list(map(str, cast("Mapping[Any, Any]", value))))
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        count = len(cast("Sequence[Any]", value))
        return f"it is a list of {count:,}" + (f", 0 to {count - 1}" if count else "")
    if names := field_names(value):
        return _named(list(names))
    return f"it is of type {type(value).__name__}, which has nothing inside"


def _named(names: list[str]) -> str:
    if not names:
        return "it is empty"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"it has {', '.join(map(repr, names[:_NAMED]))}{more}"


def impossible(schema: Mapping[str, Any], path: Place) -> str | None:
    """Why a value of the type that `schema` (JSON Schema) declares cannot have `path`; None when it can."""
    return _impossible(schema, path, schema.get("$defs", {}))


def _impossible(schema: Any, path: Place, defs: Mapping[str, Any]) -> str | None:
    if not path or not isinstance(schema, Mapping):
        return None
    schema = cast("Mapping[str, Any]", schema)
    if "$ref" in schema:
        return _impossible(defs.get(str(schema["$ref"]).rpartition("/")[2]), path, defs)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        reasons = [_impossible(branch, path, defs) for branch in branches]
        return (
            next((r for r in reasons if r and "nothing inside" not in r), reasons[0])
            if all(reasons)
            else None
        )
    match schema.get("type"):
        case "object":
            return _not_in_object(schema, path, defs)
        case "array":
            return _not_in_array(schema, path, defs)
        case "string" | "number" | "integer" | "boolean" | "null" as kind:
            return f"there is no {path[0]!r} in it: it is of type {kind}, which has nothing inside"
        case _:
            return None


def _not_in_object(schema: Mapping[str, Any], path: Place, defs: Mapping[str, Any]) -> str | None:
    properties: Mapping[str, Any] = schema.get("properties", {})
    more = schema.get("additionalProperties", not properties)
    inside = properties.get(str(path[0]), more)
    if inside is False:
        return f"there is no {path[0]!r} in it: {_named(list(properties))}"
    return _impossible(inside, path[1:], defs)


def _not_in_array(schema: Mapping[str, Any], path: Place, defs: Mapping[str, Any]) -> str | None:
    index = index_of(path[0])
    if index is None:
        return f"there is no {path[0]!r} in it: it is a list, so give an index"
    firsts: Sequence[Any] = schema.get("prefixItems", ())
    length = schema.get("maxItems")
    if length is not None and not -length <= index < length:
        return f"there is no {index} in it: it is a list of at most {length}"
    inside = firsts[index] if 0 <= index < len(firsts) else schema.get("items") if not firsts else None
    return _impossible(inside, path[1:], defs)
