"""A JSON file with a plan in it: values are replaced where they stand, elements come and go."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..json import parse, spelled
from ..model import Plan, PlanEntry
from ..objects import CONTENTS, FIELDS, TITLES, WRAPPERS, is_plan
from .matching import matches

_BLANKS = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class _Member(NamedTuple):
    """A member of an object, or an element of a list, which has no name, and where it stands."""

    name: str
    start: int
    value: int
    end: int


def update(text: str, plan: Plan) -> str:
    """The text with the plan's title and entries. All other members, and the layout, stay as they are."""
    (before,) = parse(text)
    holder, start = _places(text)
    if plan.title not in (None, before.title) and holder is not None:
        called = [member.name for member in _members(text, holder) if member.name in TITLES]
        text = _with(text, {(called or ["title"])[0]: plan.title}, holder)
        _, start = _places(text)
    elements = _Elements(text, start)
    sources = matches(before.entries, plan.entries)
    chunks = [
        elements.new(entry) if source is None else elements.edited(source, before[source], entry)
        for source, entry in zip(sources, plan, strict=True)
    ]
    return text[: start + 1] + elements.joined(sources, chunks) + text[elements.end :]


class _Elements:
    """The elements of a list, how they are set, and the blanks around them."""

    def __init__(self, text: str, start: int) -> None:
        members = list(_members(text, start))
        self.texts = [text[member.start : member.end] for member in members]
        after = [_skip(text, member.end) for member in members]
        begin = [start + 1, *(at + 1 for at in after)]
        self.end = after[-1] if after else _skip(text, start + 1)
        self._leads = [text[at : member.start] for at, member in zip(begin, members, strict=False)]
        self._trails = [text[member.end : at] for at, member in zip(after, members, strict=True)]
        if not members and (breaks := re.search(r"\r?\n", text.strip())):
            line = text[text.rfind("\n", 0, start) + 1 : start]
            indent = breaks[0] + line[: len(line) - len(line.lstrip(" \t"))]
            self._leads, self._trails = [f"{indent}  "], [indent]
        first = "".join(self._leads[:1])
        self._lead = self._leads[1] if len(self._leads) > 1 else first if "\n" in first else " "

    def joined(self, sources: Sequence[int | None], chunks: Sequence[str]) -> str:
        """What stands between the brackets with these elements; old ones keep what is around them."""
        if not chunks:
            return ""
        parts: list[str] = []
        for source, chunk in zip(sources, chunks, strict=True):
            lead = self._leads[source] if source else self._lead
            trail = "" if source in (None, len(self.texts) - 1) else self._trails[source]
            parts.append(lead + chunk + trail if parts else "".join(self._leads[:1]) + chunk + trail)
        return ",".join(parts) + "".join(self._trails[-1:])

    def edited(self, source: int, old: PlanEntry, new: PlanEntry) -> str:
        """An element that said `old`, saying `new`."""
        text = self.texts[source]
        if not text.startswith("{"):
            return text if new == old else self.new(new)
        changes = {name: getattr(new, name) for name in FIELDS if getattr(new, name) != getattr(old, name)}
        if "content" in changes:
            changes = {_content_name(text): changes.pop("content"), **changes}
        return _with(text, changes)

    def new(self, entry: PlanEntry) -> str:
        """A new element, set like the others, without what goes without saying."""
        if any(text.startswith('"') for text in self.texts) and entry == PlanEntry(entry.content):
            return _spelled(entry.content)
        like = next((text for text in self.texts if text.startswith("{")), "{}")
        value = {_content_name(like): entry.content, "status": entry.status}
        value |= {"priority": entry.priority} if entry.priority != "medium" else {}
        value |= {"id": entry.id} if entry.id is not None else {}
        members = [f"{_spelled(name)}: {_spelled(member)}" for name, member in value.items()]
        lines = re.fullmatch(r"\{(\s*\n\s*).*?(\s*)\}", like, re.DOTALL)
        if lines is None:
            return "{" + ", ".join(members) + "}"
        return "{" + ",".join(lines[1] + member for member in members) + lines[2] + "}"


def _with(text: str, values: Mapping[str, Any], at: int = 0) -> str:
    """The text with these values in the object that begins at `at`: in their places, or after all others."""
    found = list(_members(text, at))
    places = {member.name: (member.value, member.end) for member in found}
    lead = text[at + 1 : found[0].start]
    between = text[found[-2].end : found[-1].start] if len(found) > 1 else f",{lead or ' '}"
    added = [
        f"{between}{_spelled(name)}: {_spelled(value)}"
        for name, value in values.items()
        if name not in places
    ]
    changes = [(*places[name], _spelled(value)) for name, value in values.items() if name in places]
    for start, end, said in sorted([*changes, (found[-1].end, found[-1].end, "".join(added))], reverse=True):
        text = text[:start] + said + text[end:]
    return text


# -- where things are ------------------------------------------------------------------------------------


def _places(text: str) -> tuple[int | None, int]:
    """Where the object that has the list of entries begins, if there is one, and the list."""
    holder, at = None, _skip(text, 0)
    while True:
        if text[at] == "[":
            first = _skip(text, at + 1)
            names = {member.name for member in _members(text, first)} if text[first] == "{" else set[str]()
            if not is_plan(names):
                return holder, at
            at = first  # a list of one plan
        holder = at
        found = {member.name: member.value for member in _members(text, at)}
        at = next(
            found[name] for name in ("entries", *WRAPPERS) if name in found and text[found[name]] in "[{"
        )


def _members(text: str, at: int) -> Iterator[_Member]:
    """The members of the object, or the elements of the list, that begins at `at`."""
    named = text[at] == "{"
    at = _skip(text, at + 1)
    while text[at] not in "]}":
        start, name = at, ""
        if named:
            name, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        yield _Member(name, start, at, end)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    """Where the blanks from `at` on end."""
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _content_name(text: str) -> str:
    """What the object calls the text of its entry."""
    members = json.loads(text)
    return next((name for name in CONTENTS if isinstance(members.get(name), str)), "content")


def _spelled(value: Any) -> str:
    return spelled(value, ensure_ascii=False)
