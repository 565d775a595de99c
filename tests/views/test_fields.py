"""Arguments as fields of a form, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.errors import PermissionError
from acp_notebook.masking import MASK
from acp_notebook.protocol.messages import RequestPermission, ToolCall
from acp_notebook.views.fields import Field, FieldError, fields_html, fields_of, in_field, read_fields
from acp_notebook.views.values import WHOLE
from harness.puppet import OPTIONS

SCHEMA: dict[str, Any] = {
    "type": "object",
    "$defs": {"Mode": {"enum": ["replace", "append"], "type": "string"}, "Loop": {"$ref": "#/$defs/Loop"}},
    "properties": {
        "path": {"type": "string", "description": "Where."},
        "count": {"type": "integer"},
        "share": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
        "sure": {"type": "boolean"},
        "mode": {"allOf": [{"$ref": "#/$defs/Mode"}], "default": "append"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "loop": {"$ref": "#/$defs/Loop"},
    },
    "required": ["path", "count", "sure"],
}
ARGUMENTS: dict[str, Any] = {"path": "a.md", "count": 3, "sure": True, "tags": ["x"], "more": None}


def request(arguments: dict[str, Any] = ARGUMENTS, schema: Any = SCHEMA) -> RequestPermission:
    return RequestPermission(ToolCall("c", "write", arguments), OPTIONS, "write", parameters=schema)


def sent(made: RequestPermission, **changes: str | None) -> dict[str, str]:
    """What the page sends when `changes` are typed in; None takes an argument away."""
    values: dict[str, str] = {}
    for place, field in enumerate(fields_of(made)):
        values[f"v{place}"] = changes.get(field.name) or field.shown
        if field.name in changes:
            values[f"v{place}"] = changes[field.name] or ""
        if changes[field.name] is not None if field.name in changes else field.given:
            values[f"g{place}"] = "on"
    return values


def by_name(made: RequestPermission) -> dict[str, Field]:
    return {field.name: field for field in fields_of(made)}


def test_each_argument_has_the_field_that_fits() -> None:
    fields = by_name(request())
    assert {name: field.kind for name, field in fields.items()} == {
        "path": "text",
        "count": "integer",
        "share": "number",
        "sure": "choice",
        "mode": "choice",
        "tags": "json",
        "loop": "json",
        "more": "json",
    }
    assert [name for name, field in fields.items() if field.required] == ["path", "count", "sure"]
    assert [name for name, field in fields.items() if field.given] == [
        "path",
        "count",
        "sure",
        "tags",
        "more",
    ]
    assert fields["mode"].choices[int(fields["mode"].shown)] == "append" and fields["path"].hint == "Where."


@pytest.mark.parametrize("schema", [None, {}, {"type": "object"}, {"properties": []}, {"$ref": "#/x"}])
def test_a_schema_that_says_nothing_gives_no_fields(schema: Any) -> None:
    assert fields_of(request(schema=schema)) == []


def test_what_is_left_as_it_was_comes_back_as_it_was() -> None:
    assert read_fields(request(), sent(request())) == ARGUMENTS


def test_changes_come_back_with_their_types() -> None:
    edited = sent(
        request(), path="b\nc", count=" -7 ", share="0.5", sure="1", mode="0", tags='["y", 1]', more=None
    )
    assert read_fields(request(), edited) == {
        "path": "b\nc",
        "count": -7,
        "share": 0.5,
        "sure": False,
        "mode": "replace",
        "tags": ["y", 1],
    }


@pytest.mark.parametrize(
    ("name", "written", "said"),
    [
        ("count", "many", "count: 'many' is not a whole number"),
        ("count", "1.5", "is not a whole number"),
        ("count", "", "is not a whole number"),
        ("share", "NaN", "share: 'NaN' is not a number"),
        ("share", "true", "is not a number"),
        ("mode", "7", "is not one of the choices"),
        ("tags", "[1", "tags: not JSON: Expecting ',' delimiter (line 1, column 3)"),
        ("tags", "[" * 100_000, "tags: not JSON"),
        ("tags", "9" * 10_000, "tags: not JSON that can be read"),
    ],
)
def test_what_cannot_be_used_is_refused_at_its_field(name: str, written: str, said: str) -> None:
    with pytest.raises(FieldError) as caught:
        read_fields(request(), sent(request(), **{name: written}))
    assert said in str(caught.value) and str(caught.value).endswith(": the call still waits")
    assert fields_of(request())[caught.value.field].name == name


def test_values_that_no_plain_field_can_show_are_json() -> None:
    odd = {"path": "a\u202eb", "count": 10**20, "sure": "maybe", "share": True, "mode": "other"}
    fields = by_name(request(odd))
    assert {fields[name].kind for name in odd} == {"json"}
    assert "\\u202e" in fields["path"].shown and "\u202e" not in fields_html(fields_of(request(odd)))
    assert read_fields(request(odd), sent(request(odd))) == odd
    assert by_name(request({"path": "a\r\nb"}))["path"].kind == "json"


def test_secrets_stay_hidden_and_come_back() -> None:
    schema = {"properties": {name: {"type": "string"} for name in ("api_key", "headers", "new_token")}}
    secret = request({"api_key": "sk-1", "headers": {"Authorization": "b", "a": "c"}}, schema)
    html = fields_html(fields_of(secret))
    assert "sk-1" not in html and MASK in html
    assert read_fields(secret, sent(secret)) == secret.tool_call.arguments
    edited = sent(secret, headers=json.dumps({"Authorization": MASK, "a": "d"}), new_token="t")
    assert read_fields(secret, edited) == {
        "api_key": "sk-1",
        "headers": {"Authorization": "b", "a": "d"},
        "new_token": "t",
    }


def test_long_arguments_stay_as_they_are() -> None:
    long = request({**ARGUMENTS, "path": "x" * (WHOLE + 1)})
    assert by_name(long)["path"].kind == "kept" and "60,001 characters: too long" in fields_html(
        fields_of(long)
    )
    assert read_fields(long, sent(long, count="4")) == {**long.tool_call.arguments, "count": 4}


def test_an_error_of_the_tool_stands_at_the_argument_that_it_names() -> None:
    error = in_field(
        PermissionError("tags.0: Input should be a valid string: the call still waits"), request()
    )
    assert isinstance(error, FieldError) and error.field == 5
    assert not isinstance(in_field(PermissionError("the arguments are odd"), request()), FieldError)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "x", "", "token"]), JSON))
def test_any_arguments_come_back_as_they_were(arguments: dict[str, Any]) -> None:
    made = request(arguments)
    values = sent(made)
    required = {"path": "p", "count": "1", "sure": "0"}
    values |= {
        f"v{n}": required[field.name]
        for n, field in enumerate(fields_of(made))
        if field.required and not field.given
    }
    back = read_fields(made, values)
    assert {name: back[name] for name in arguments} == arguments
    assert set(back) <= {*arguments, *required}


WORDS = ("type", "enum", "const", "anyOf", "allOf", "$ref", "$defs", "properties", "required", "default", "a")
ODD = st.recursive(
    st.none() | st.integers() | st.sampled_from(["string", "integer", "boolean", "#/$defs/a", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.sampled_from(WORDS), ODD), ODD)
def test_a_schema_may_be_anything(schema: dict[str, Any], value: Any) -> None:
    for properties in (schema.get("properties"), {"a": schema, "b": value}):
        made = request({"a": value}, {**schema, "properties": properties})
        fields_html(fields_of(made))
        if not any(field.required and not field.given for field in fields_of(made)) and fields_of(made):
            assert read_fields(made, sent(made)) == {"a": value}
