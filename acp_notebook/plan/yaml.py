"""Plans as YAML, in the shapes of JSON, and the front matter of Cursor's plan files.

Texts are taken as they are written: in YAML 1.1 `content: no` would be false, `id: 1.10` a number and
`- 2026-01-01` a date.
"""

# PyYAML's stubs leave much of what its classes do without types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import yaml
from yaml.composer import ComposerError
from yaml.events import AliasEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ..errors import PlanError
from .model import Plan
from .objects import CONTENTS, WRAPPERS, from_value, is_plan, plans_from_value, to_value

_TAG = "tag:yaml.org,2002:"
#: What a node stands for: a plan or what it is in, an entry, a text as it is written, or a value of JSON.
Role = Literal["plan", "entry", "text", "data"]


class _Loader(yaml.SafeLoader):
    """Knows the scalar types of JSON, and no aliases: a few lines of them can stand for gigabytes."""

    yaml_implicit_resolvers = {}

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        if self.check_event(AliasEvent):
            mark = self.peek_event().start_mark
            raise ComposerError(None, None, "aliases (*name) are not read, write the value out", mark)
        return super().compose_node(parent, index)


# Of what YAML 1.1 takes for these types, so that whatever could be mistaken is quoted by every writer.
for _name, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", list("-+0123456789")),
    ("float", r"[-+]?[0-9]+\.[0-9]*(?:[eE][-+][0-9]+)?|[-+]?\.inf|\.nan", list("-+.0123456789")),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(f"(?:{_pattern})$"), _first)

_SCALARS: dict[str, Callable[[str], Any]] = {
    "null": lambda text: None,
    "bool": lambda text: text.lower() == "true",
    "int": int,
    "float": lambda text: float(text.replace(".inf", "inf").replace(".nan", "nan")),
    "str": str,
}


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, and out in full what is there twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, value: str) -> ScalarNode:
    # YAML 1.1 has line breaks besides \n that only this style keeps, and breaks at the end are easily lost.
    quoted = value.endswith("\n") or re.search("[\x85\u2028\u2029]", value)
    style = '"' if quoted else "|" if "\n" in value else None
    return dumper.represent_scalar(_TAG + "str", value, style=style)


def _mapping(dumper: yaml.SafeDumper, value: Mapping[str, Any]) -> MappingNode:
    return dumper.represent_mapping(_TAG + "map", value.items())


_Dumper.add_representer(str, _text)
_Dumper.add_multi_representer(Mapping, _mapping)


def parse(text: str) -> tuple[Plan, ...]:
    """The plan in a YAML text, in any shape that `from_value` takes; several in a list of plans."""
    return plans_from_value(value(tree(text)))


def write(plans: Sequence[Plan]) -> str:
    """A plan as an object that `parse` reads back; several as a list of such objects."""
    values = [to_value(plan) for plan in plans]
    return dump(values[0] if len(values) == 1 else values)


def front_plan(front: str) -> Plan | None:
    """The plan in the front matter of a Cursor plan file; None where `todos` is not a list."""
    found = value(tree(front))
    if not isinstance(found, dict) or not isinstance(found.get("todos"), list):
        return None
    return from_value({name: found[name] for name in ("todos", "name", "title") if name in found})


def dump(value: Any, **options: Any) -> str:
    """A value as YAML, given the options of `yaml.dump`. Raises `PlanError` for what cannot be written."""
    options = {"sort_keys": False, "allow_unicode": True, "width": float("inf"), **options}
    try:
        return yaml.dump(value, Dumper=_Dumper, **options)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise PlanError(f"this plan cannot be written as YAML: {' '.join(str(error).split())}") from error


# -- reading ---------------------------------------------------------------------------------------------


def tree(text: str) -> Node | None:
    """A YAML text as nodes that know their place. Raises `PlanError` that says what is wrong, and where."""
    try:
        return _Loader(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise PlanError(f"this is not YAML: {error.problem}{where}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise PlanError(f"this YAML cannot be read: {' '.join(str(error).split())}") from error


def value(node: Node | None, role: Role = "plan") -> Any:
    """The value of a node, in the types of JSON; where plans have texts, as they are written."""
    match node:
        case ScalarNode():
            return _scalar(node, role)
        case SequenceNode(tag=tag) if tag == _TAG + "seq":
            return [value(item, "entry" if role == "plan" else "data") for item in node.value]
        case MappingNode(tag=tag) if tag == _TAG + "map":
            found = members(node)
            roles = _roles(found, role)
            return {name: value(child, roles.get(name, "data")) for name, child in found.items()}
        case None:
            return None
        case _:
            raise _odd(node)


#: Members of a plan, of one that is understood, and of an entry → what they stand for.
_PLAN: dict[str, Role] = {
    "planId": "text",
    "plan_id": "text",
    "type": "text",
    "title": "text",
    "name": "text",
}
_LISTS: dict[str, Role] = dict.fromkeys(("entries", *WRAPPERS), "plan")
_KNOWN: dict[str, Role] = {**_PLAN, **_LISTS, "content": "text", "uri": "text"}
_ENTRY: dict[str, Role] = {"status": "text", "priority": "text", "id": "text"}


def _roles(found: Mapping[str, Node], role: Role) -> Mapping[str, Role]:
    """What the members of a mapping stand for."""
    if role == "plan" or (role == "entry" and is_plan(found)):
        type = found.get("type")
        return _KNOWN if type is None or type.value in ("items", "markdown", "file") else _PLAN
    if role == "entry":
        content = next((name for name in CONTENTS if isinstance(found.get(name), ScalarNode)), "content")
        return {**_ENTRY, content: "text"}
    return {}


def members(node: MappingNode) -> dict[str, Node]:
    """The nodes in a mapping, by name. Raises `PlanError` for a key that is not a text."""
    for key, _ in node.value:
        if not isinstance(key, ScalarNode):
            raise PlanError(f"this YAML has a key that is not a text at line {key.start_mark.line + 1}")
    return {key.value: child for key, child in node.value}


def _scalar(node: ScalarNode, role: Role) -> Any:
    read = _SCALARS.get(node.tag.removeprefix(_TAG))
    if read is None:
        raise _odd(node)
    if role != "data" and node.tag != _TAG + "null":
        return node.value
    try:
        return read(node.value)
    except ValueError as error:  # a tag that the text belies, or numbers of thousands of digits
        raise _odd(node) from error


def _odd(node: Node) -> PlanError:
    return PlanError(
        f"this YAML has a value of type {node.tag!r} at line {node.start_mark.line + 1}: use JSON's types"
    )
