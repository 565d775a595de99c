"""The arguments of a call as fields of a form, made from the tool's JSON schema, and back.

The page sends what stands in the fields by their place, `v0`, `v1`, …, and which optional ones are given,
`g0`, …. What is left as it was comes back as it was, so that secrets stay hidden and numbers exact.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, cast

from ..errors import PermissionError
from ..masking import masked, unmasked
from ..protocol.messages import RequestPermission
from ..text import misleads
from .html import Html, join, tag, typed
from .values import WHOLE, as_json, count, editable_json

#: `kept`: too long for a field, and stays as it is.
FieldKind = Literal["text", "integer", "number", "choice", "json", "kept"]
Schema = Mapping[str, Any]

WAITS = "the call still waits"
#: How many references lead to a schema at most: they can go round in circles.
_REFERENCES = 8
_MOST_ROWS = 12
_MOST_CHOICES = 100


class FieldError(PermissionError):
    """An argument that cannot be used; `field` is the place of its field."""

    def __init__(self, message: str, field: int) -> None:
        super().__init__(message)
        self.field = field


class Field(NamedTuple):
    """One argument: what its field shows, and whether it is among the arguments now."""

    name: str
    kind: FieldKind
    shown: str
    given: bool
    required: bool
    choices: tuple[Any, ...] = ()
    hint: str | None = None


def fields_of(request: RequestPermission) -> list[Field]:
    """The fields for a request, those of the schema first; none where there is no schema of arguments."""
    schema = request.parameters or {}
    found = schema.get("properties")
    if not isinstance(found, Mapping) or not found:
        return []
    properties = cast("Mapping[str, Any]", found)
    arguments = request.tool_call.arguments
    hidden = cast("dict[str, Any]", masked(arguments))
    required = _list(schema.get("required"))
    room = WHOLE
    fields: list[Field] = []
    for name in [*properties, *(n for n in arguments if n not in properties)]:
        made = _resolved(properties.get(name, {}), schema)
        field = _field(name, made, hidden, name in required)
        if len(field.shown) > room:
            field = field._replace(kind="kept")
        else:
            room -= len(field.shown)
        fields.append(field)
    return fields


def _field(name: str, schema: Schema, arguments: Mapping[str, Any], required: bool) -> Field:
    description = schema.get("description")
    hint = description if isinstance(description, str) else None
    given = name in arguments
    value = arguments.get(name, schema.get("default"))
    if value is None and "default" in schema and not required:
        given = False  # as if it were left out
    choices = _choices(schema)
    kind: FieldKind = "json"
    if choices:
        kind, place = "choice", next((n for n, one in enumerate(choices) if _same(one, value)), None)
        if place is not None or not given:
            return Field(name, kind, str(place or 0), given, required, choices, hint)
        return Field(name, "json", editable_json(value), given, required, (), hint)
    types = {"string": "text", "integer": "integer", "number": "number"}
    kind = cast(FieldKind, types.get(str(schema.get("type")), "json"))
    if value is None and not given:
        return Field(name, kind, "", given, required, (), hint)
    if kind == "text" and isinstance(value, str) and "\r" not in value and not misleads(value):
        return Field(name, kind, value, given, required, (), hint)
    if kind in ("integer", "number") and _fits(value, kind):
        return Field(name, kind, as_json(value), given, required, (), hint)
    return Field(name, "json", editable_json(value), given, required, (), hint)


def _resolved(schema: Any, root: Schema) -> Schema:
    """A schema with its references followed, and without the null that an optional argument may be."""
    given: dict[str, Any] = {}
    for _ in range(_REFERENCES):
        if not isinstance(schema, Mapping):
            return given
        schema = dict(cast("Schema", schema))
        given = {**schema, **{key: given[key] for key in ("description", "default") if key in given}}
        options = [
            option
            for key in ("anyOf", "oneOf", "allOf")
            for option in _list(schema.get(key))
            if option != {"type": "null"}
        ]
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/$defs/"):
            kept = root.get("$defs")
            name = reference.removeprefix("#/$defs/")
            schema = cast("Schema", kept).get(name) if isinstance(kept, Mapping) else None
        elif len(options) == 1:
            schema = options[0]
        else:
            return given
    return {}


def _choices(schema: Schema) -> tuple[Any, ...]:
    """The only values that an argument can have, where they are few and plain."""
    if schema.get("type") == "boolean":
        return True, False
    values = _list(schema.get("enum", [schema["const"]] if "const" in schema else []))
    plain = all(isinstance(value, str | int | float | bool | None) for value in values)
    return tuple(values) if plain and len(values) <= _MOST_CHOICES else ()


def _list(value: Any) -> list[Any]:
    """A part of a schema that should be a list: a schema may be anything."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def _fits(value: Any, kind: str) -> bool:
    numbers = int if kind == "integer" else int | float
    return isinstance(value, numbers) and not isinstance(value, bool) and abs(value) < 1e15


# -- to the page -----------------------------------------------------------------------------------------


def fields_html(fields: list[Field]) -> Html:
    """The fields with their names; optional ones with a box that says whether they are given."""
    return tag("div", *(_labelled(place, field) for place, field in enumerate(fields)), class_="acp-fields")


def _labelled(place: int, field: Field) -> Html:
    said = {"integer": "whole number", "number": "number", "json": "JSON"}.get(field.kind)
    facts = ", ".join(filter(None, [said, None if field.required else "optional"]))
    name = join([tag("bdi", tag("code", field.name)), tag("span", f" {facts}", class_="acp-quiet")])
    given = None
    if not field.required and field.kind != "kept":
        box = tag("input", type="checkbox", name=f"g{place}", checked=field.given)
        given = tag(
            "label", box, " given", tag("span", f": {field.name}", class_="acp-sr"), class_="acp-given"
        )
    return tag(
        "div",
        tag("label", tag("span", name), _control(place, field)),
        given,
        tag("p", field.hint, class_="acp-quiet", dir="auto") if field.hint else None,
        class_="acp-field",
        data_name=field.name,
        data_kind=field.kind,
    )


def _control(place: int, field: Field) -> Html:
    name = f"v{place}"
    if field.kind == "kept":
        stays = f"{count(len(field.shown), 'character')}: too long to edit here, and stays as it is."
        return tag("span", stays, class_="acp-quiet")
    if field.kind == "choice":
        options = (
            tag(
                "option",
                choice if isinstance(choice, str) else as_json(choice),
                value=str(at),
                selected=str(at) == field.shown,
                data_json=json.dumps(choice),
            )
            for at, choice in enumerate(field.choices)
        )
        return tag("select", *options, name=name)
    if field.kind in ("integer", "number"):
        mode = "numeric" if field.kind == "integer" else "decimal"
        return tag("input", name=name, value=field.shown, inputmode=mode, autocomplete="off")
    rows = min(_MOST_ROWS, field.shown.count("\n") + 1)
    return tag("textarea", typed(field.shown), name=name, rows=rows, spellcheck="false", dir="auto")


# -- from the page ---------------------------------------------------------------------------------------


def read_fields(request: RequestPermission, sent: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that stand in the fields. Raises `FieldError` for what is none."""
    original = request.tool_call.arguments
    arguments: dict[str, Any] = {}
    for place, field in enumerate(fields_of(request)):
        if field.kind == "kept":
            if field.name in original:
                arguments[field.name] = original[field.name]
        elif field.required or sent.get(f"g{place}"):
            typed_in = str(sent.get(f"v{place}", "")).replace("\r\n", "\n")
            if typed_in == field.shown and field.given:
                arguments[field.name] = original[field.name]
            else:
                arguments[field.name] = unmasked(_value(place, field, typed_in), original.get(field.name))
        elif field.name in original and not field.given:
            arguments[field.name] = original[field.name]  # a null that says the same
    return arguments


def _value(place: int, field: Field, written: str) -> Any:
    match field.kind:
        case "text":
            return written
        case "choice" if written.isdecimal() and int(written) < len(field.choices):
            return field.choices[int(written)]
        case "json":
            return _json(place, field.name, written)
        case "integer" if re.fullmatch(r"\s*[+-]?[0-9]{1,1000}\s*", written):
            return int(written)
        case "number":
            try:
                number = json.loads(written)
            except (ValueError, RecursionError):
                number = None
            if isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number):
                return number
        case _:
            pass
    what = {"integer": "a whole number", "number": "a number"}.get(field.kind, "one of the choices")
    raise FieldError(f"{field.name}: {written!r} is not {what}: {WAITS}", place)


def _json(place: int, name: str, written: str) -> Any:
    try:
        return json.loads(written)
    except (ValueError, RecursionError) as error:
        raise FieldError(f"{name}: {not_json(error)}: {WAITS}", place) from error


def not_json(error: Exception) -> str:
    """What is wrong with a text that is no JSON, and where."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
    return "not JSON that can be read"


def in_field(error: PermissionError, request: RequestPermission) -> PermissionError:
    """The same error at the field whose argument it names first, where it names one."""
    said = str(error)
    for place, field in enumerate(fields_of(request)):
        if said.startswith((f"{field.name}:", f"{field.name}.")):
            return FieldError(said, place)
    return error
