"""Tools as a model reads them: a line for each, its types short, then what its parameters mean."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from ..masking import masked
from .tools import StepTool

#: So deep are types of results and arguments written out.
_DEPTH = 3
_NAMES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "null"}


def signatures(tools: Iterable[StepTool]) -> str:
    """One entry for each tool; `*` marks the parameters that take references."""
    return "\n".join(map(signature, tools))


def signature(tool: StepTool) -> str:
    """`name(parameter: type = default, …) -> type`, the description, and what is said of the parameters."""
    defs = tool.parameters.get("$defs", {})
    parameters = [_parameter(tool, name, schema, defs) for name, schema in tool.properties.items()]
    if tool.takes_more:
        parameters.append("…")
    returns = typed(tool.returns, tool.returns.get("$defs", {}))
    gate = " [asks a person first]" if tool.gated else ""
    lines = [f"- {tool.name}({', '.join(parameters)}) -> {returns}{gate}"]
    lines += [f"  {line}" for line in tool.description.strip().splitlines() if line.strip()]
    lines += [
        f"  {name}: {' '.join(schema['description'].split())}"
        for name, schema in tool.properties.items()
        if "description" in schema
    ]
    return "\n".join(lines)


def _parameter(tool: StepTool, name: str, schema: Any, defs: Mapping[str, Any]) -> str:
    mark = "*" if name in tool.sharable else ""
    text = f"{name}{mark}: {typed(schema, defs)}"
    if name in tool.required:
        return text
    if "default" not in schema:
        return f"{text}?"
    return f"{text} = {json.dumps(masked(schema['default'], name), ensure_ascii=False, default=str)}"


def typed(schema: Any, defs: Mapping[str, Any], depth: int = _DEPTH) -> str:
    """A JSON Schema as a short type: `str`, `list[int]`, `"a" | "b"`, `{id: int, name?: str}`."""
    if not isinstance(schema, Mapping) or not schema:
        return "any"
    schema = cast("Mapping[str, Any]", schema)
    if "$ref" in schema:
        return typed(defs.get(str(schema["$ref"]).rpartition("/")[2]), defs, depth)
    if "const" in schema or "enum" in schema:
        values: list[Any] = schema.get("enum", [schema.get("const")])
        return " | ".join(json.dumps(value, default=str) for value in values)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(dict.fromkeys(typed(branch, defs, depth) for branch in branches))
    match schema.get("type"):
        case "array":
            if depth and (firsts := schema.get("prefixItems")):
                return f"[{', '.join(typed(first, defs, depth - 1) for first in firsts)}]"
            return (
                f"list[{typed(schema.get('items'), defs, depth - 1)}]"
                if depth and schema.get("items")
                else "list"
            )
        case "object":
            return _object(schema, defs, depth)
        case str() as kind:
            text = _NAMES.get(kind, kind)
            return f"{text} ({schema['format']})" if "format" in schema else text
        case _:
            return "any"


def _object(schema: Mapping[str, Any], defs: Mapping[str, Any], depth: int) -> str:
    properties: Mapping[str, Any] = schema.get("properties", {})
    if not depth or not properties:
        values = schema.get("additionalProperties")
        return (
            f"dict[str, {typed(values, defs, depth - 1)}]"
            if depth and isinstance(values, Mapping)
            else "dict"
        )
    required = schema.get("required", ())
    return (
        "{"
        + ", ".join(
            f"{name}{'' if name in required else '?'}: {typed(inside, defs, depth - 1)}"
            for name, inside in properties.items()
        )
        + "}"
    )
