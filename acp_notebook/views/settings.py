"""A session's settings as parts: a select, a field to search in, a checkbox, or the value alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from zlib import crc32

from ..protocol.messages import ConfigOption, ConfigValue
from ..text import plain
from .html import Html, tag
from .parts import Part, slot_name
from .values import as_json

#: With more values than this, an option is a field to type in, which suggests those with the text in them.
LONGEST_SELECT = 30
#: The categories of ACP; options of others stand behind these, in their own order.
CATEGORIES = frozenset({"", "mode", "model", "model_config", "thought_level"})


def settings(options: tuple[ConfigOption, ...], slot: str, controls: bool) -> Iterator[Part]:
    """The parts of all options, in the agent's order."""
    known = [option for option in options if option.category in CATEGORIES]
    other = [option for option in options if option.category not in CATEGORIES]
    yield from (_part(option, slot, controls) for option in known)
    if other and known:
        yield Part(slot_name(slot, "", "other"), slot, tag("span", "Other", class_="acp-quiet"))
    yield from (_part(option, slot, controls) for option in other)


def _part(option: ConfigOption, slot: str, controls: bool) -> Part:
    return Part(slot_name(slot, option.id), slot, _setting(option, controls))


def _setting(option: ConfigOption, controls: bool) -> Html:
    name = tag("bdi", option.name)
    if not controls or option.type not in ("select", "boolean"):
        value = tag("bdi", _shown(option), class_="acp-value")
        return tag("span", name, " ", value, " ", class_="acp-setting", title=option.description)
    if option.type == "boolean":
        field = tag("input", type="checkbox", data_config=option.id, checked=option.current is True)
        return tag("label", field, " ", name, " ", class_="acp-setting", title=option.description)
    values = list(option.values)
    if option.current not in [value.value for value in values]:
        values.insert(0, ConfigValue(str(option.current), str(option.current)))
    field = _select(option, values) if len(values) <= LONGEST_SELECT else _search(option, values)
    return tag("label", name, " ", field, " ", class_="acp-setting", title=option.description)


def _select(option: ConfigOption, values: list[ConfigValue]) -> Html:
    groups: list[Html] = []
    for group, members in groupby(values, lambda value: value.group):
        choices = [
            tag("option", v.name, value=v.value, selected=v.value == option.current, title=v.description)
            for v in members
        ]
        groups += choices if group is None else [tag("optgroup", *choices, label=plain(group))]
    return tag("select", *groups, data_config=option.id)


def _search(option: ConfigOption, values: list[ConfigValue]) -> Html:
    choices = [
        tag(
            "option", ": ".join(filter(None, [v.group, v.name if v.name != v.value else None])), value=v.value
        )
        for v in values
    ]
    # one list for all views on a page that have the same values
    name = f"acp-values-{crc32(repr(values).encode(errors='replace')):08x}"
    field = tag(
        "input",
        type="text",
        list=name,
        value=str(option.current),
        data_config=option.id,
        autocomplete="off",
        spellcheck="false",
    )
    return tag("span", field, tag("datalist", *choices, id=name))


def _shown(option: ConfigOption) -> str:
    return option.current_name if isinstance(option.current, str | bool) else as_json(option.current)
