"""A YAML text with a plan in it: scalars are replaced in their places, entries come and go as whole lines."""

# PyYAML's stubs leave much of what its classes do without types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ...errors import PlanError
from ..model import Plan, PlanEntry
from ..objects import CONTENTS, FIELDS, TITLES, WRAPPERS, entries, is_plan
from ..yaml import dump, members, tree, value
from .matching import arranged, matches


class _Edit(NamedTuple):
    """`text` takes the place of what stands from `start` to `end`."""

    start: int
    end: int
    text: str


def update(text: str, plan: Plan, lists: Sequence[str] = ("entries", *WRAPPERS)) -> str:
    """The text with the plan's title and entries; comments, other members and their order stay as they are.

    `lists` are the members that may hold the list of entries. Raises `PlanError` where entries come or go in
    a list between brackets.
    """
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        return update(text.replace("\r\n", "\n"), plan, lists).replace("\n", "\r\n")
    holder, found = _places(text, lists)
    if plan.title is not None and holder and (edits := list(_title(text, holder, plan.title))):
        text = _applied(text, edits)
        holder, found = _places(text, lists)
    old = entries(value(found, "plan"))
    sources = matches(old, plan.entries)
    changes = {
        source: list(_edits(text, found.value[source], old[source], entry, bool(found.flow_style)))
        for source, entry in zip(sources, plan, strict=True)
        if source is not None
    }
    if sources == list(range(len(old))):
        return _applied(text, (edit for each in changes.values() for edit in each))
    if not plan.entries:
        return _emptied(text, holder, found)
    if found.flow_style and old:
        raise PlanError("entries cannot come or go between these brackets: write the file anew with --force")
    chunks = [
        (
            source,
            _new(entry, found, holder)
            if source is None
            else _old(text, found.value[source], changes[source]),
        )
        for source, entry in zip(sources, plan, strict=True)
    ]
    whole = arranged(_gaps(text, found), chunks)
    return whole if text.endswith("\n") else whole.removesuffix("\n")


def _places(text: str, lists: Sequence[str]) -> tuple[MappingNode | None, SequenceNode]:
    """The mapping that holds the list of entries, if there is one, and the list."""
    holder, node = None, tree(text)
    while True:
        if isinstance(node, SequenceNode):
            first = node.value[0] if len(node.value) == 1 else None
            names = set(members(first)) if isinstance(first, MappingNode) else set[str]()
            if not is_plan(names):
                return holder, node
            node = first  # a list of one plan
        holder = cast(MappingNode, node)
        found = members(holder)
        node = next(found[name] for name in lists if isinstance(found.get(name), SequenceNode | MappingNode))


def _applied(text: str, edits: Iterable[_Edit], start: int = 0) -> str:
    """A text that begins at `start`, edited; edits at one place stay in order."""
    parts: list[str] = []
    done = start
    for edit in sorted(edits, key=lambda edit: edit.start):
        parts += [text[done - start : edit.start - start], edit.text]
        done = edit.end
    return "".join([*parts, text[done - start :]])


# -- scalars ---------------------------------------------------------------------------------------------


def _title(text: str, holder: MappingNode, title: str) -> Iterator[_Edit]:
    """What gives the plan its title, where there is a place for one."""
    found = members(holder)
    column = holder.start_mark.column
    name = next((name for name in TITLES if name in found), None)
    if name is not None:
        if value(found[name]) != title:
            yield _replaced(text, found[name], title, column, bool(holder.flow_style))
    elif not holder.flow_style:
        start = holder.start_mark.index
        yield _Edit(start, start, f"title: {_scalar(title, column)}\n{' ' * column}")


def _edits(text: str, node: Node, old: PlanEntry, new: PlanEntry, flow: bool) -> Iterator[_Edit]:
    """What makes the node of an entry say `new`."""
    changes = {name: getattr(new, name) for name in FIELDS if getattr(new, name) != getattr(old, name)}
    column = node.start_mark.column
    if isinstance(node, ScalarNode):
        if changes.keys() - {"content"}:
            yield _Edit(node.start_mark.index, _end(text, node), _mapping(_fields(new), column, flow))
        elif changes:
            yield _replaced(text, node, new.content, column, flow)
        return
    mapping = cast(MappingNode, node)
    found = members(mapping)
    flow = flow or bool(mapping.flow_style)
    missing: dict[str, str | None] = {}
    for name, change in changes.items():
        name = _content_name(mapping) if name == "content" else name
        if name in found:
            yield _replaced(text, found[name], change, column, flow)
        else:
            missing[name] = change
    if missing and flow:
        end = mapping.end_mark.index - 1
        yield _Edit(end, end, ", " + _mapping(missing, column, flow)[1:-1])
    elif missing:
        end = _line_end(text, _end(text, mapping))
        yield _Edit(end, end, "\n" + " " * column + _mapping(missing, column))


def _replaced(text: str, node: Node, new: str | None, column: int, flow: bool = False) -> _Edit:
    """A scalar with another value, in its own style of quotes; `column` is that of its mapping."""
    if not isinstance(node, ScalarNode):
        line = node.start_mark.line + 1
        raise PlanError(f"line {line} has no text that could change: write the file anew with --force")
    start, end = node.start_mark.index, _end(text, node)
    return _Edit(start, end, (" " if start == end else "") + _scalar(new, column, flow, node.style))


def _scalar(new: str | None, column: int, flow: bool = False, style: str | None = None) -> str:
    if style in ("'", '"') and new is not None and "\n" not in new:
        return dump([new], default_flow_style=True, default_style=style)[1:-2]
    if flow:
        return dump([new], default_flow_style=True)[1:-2]
    return _mapping({"k": new}, column).removeprefix("k: ")


def _mapping(values: Mapping[str, Any], column: int, flow: bool = False) -> str:
    """A mapping that begins at this column."""
    lines = dump(values, default_flow_style=flow).rstrip("\n").split("\n")
    return "\n".join([lines[0], *(line and " " * column + line for line in lines[1:])])


def _fields(entry: PlanEntry, name: str = "content") -> dict[str, str]:
    """An entry as a mapping, without what goes without saying."""
    own = {"id": entry.id} if entry.id is not None else {}
    priority = {"priority": entry.priority} if entry.priority != "medium" else {}
    return {**own, name: entry.content, "status": entry.status, **priority}


def _content_name(node: MappingNode | None) -> str:
    """What a mapping calls the text of its entry."""
    found = members(node) if node else {}
    return next((name for name in CONTENTS if isinstance(found.get(name), ScalarNode)), "content")


# -- lines -----------------------------------------------------------------------------------------------


def _old(text: str, node: Node, edits: list[_Edit]) -> str:
    """The lines of an entry, edited."""
    start, end = _span(text, node)
    chunk = _applied(text[start:end], edits, start)
    return chunk if chunk.endswith("\n") else f"{chunk}\n"


def _new(entry: PlanEntry, found: SequenceNode, holder: MappingNode | None) -> str:
    """The lines of a new entry, set like the others."""
    first = found.value[0] if found.value else None
    indent = found.start_mark.column if first else holder.start_mark.column + 2 if holder else 0
    if isinstance(first, ScalarNode) and entry == PlanEntry(entry.content):
        return f"{' ' * indent}- {_scalar(entry.content, indent)}\n"
    column = first.start_mark.column if first else indent + 2
    like = next((node for node in found.value if isinstance(node, MappingNode)), None)
    said = _mapping(_fields(entry, _content_name(like)), column)
    return f"{' ' * indent}-{' ' * (column - indent - 1)}{said}\n"


def _gaps(text: str, found: SequenceNode) -> list[str]:
    """What stands before each entry, and after the last: comments and blank lines, which stay."""
    if found.flow_style:  # an empty list: entries go below its line
        start, end = found.start_mark.index, found.end_mark.index
        below = _line_end(text, end) + 1
        head = (text[:start].rstrip(" ") + text[end:below]).rstrip("\n")
        return [f"{head}\n" if head else "", text[below:]]
    spans = [_span(text, node) for node in found.value]
    starts = [*(start for start, _ in spans), len(text)]
    return [text[end:start] for end, start in zip([0, *(end for _, end in spans)], starts, strict=True)]


def _emptied(text: str, holder: MappingNode | None, found: SequenceNode) -> str:
    """The text with an empty list."""
    if found.flow_style:
        return f"{text[: found.start_mark.index]}[]{text[found.end_mark.index :]}"
    kept = "".join(_gaps(text, found))
    if holder is None:
        start = _span(text, found.value[0])[0]
        return f"{kept[:start]}[]\n{kept[start:]}"
    key = next(key for key, node in holder.value if node is found)
    colon = text.index(":", key.end_mark.index) + 1
    return f"{kept[:colon]} []{kept[colon:]}"


def _span(text: str, node: Node) -> tuple[int, int]:
    """From where to where the lines of an entry go."""
    dash = text.rindex("-", 0, node.start_mark.index)
    return text.rfind("\n", 0, dash) + 1, _line_end(text, _end(text, node)) + 1


def _end(text: str, node: Node) -> int:
    """Where the text of a node ends: its mark may be further on, past blank lines and comments."""
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, ScalarNode):
        return start + len(text[start:end].rstrip()) if node.style in ("|", ">") else end
    if not isinstance(node, MappingNode | SequenceNode) or node.flow_style or not node.value:
        return end
    last = node.value[-1]
    return _end(text, last[1] if isinstance(node, MappingNode) else last)


def _line_end(text: str, at: int) -> int:
    """Where the line ends that `at` is in."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end
