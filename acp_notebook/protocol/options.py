"""Config options as they travel in ACP's updates and replies, read.

Rules as in `plans`: what is valid is taken as it is, unknown types and categories included, and of the rest
what can be shown. Values that stand in groups are flattened, each with the label of its group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from .messages import ConfigOption, ConfigValue
from .plans import Object, Refused, Remarks, as_object, quoted, said


def read_options(values: Any, remarks: Remarks) -> tuple[ConfigOption, ...]:
    """The options in a `configOptions` member, without those that cannot be shown.

    Raises `Refused` when it is not a list.
    """
    if not isinstance(values, list | tuple):
        raise Refused(f"'configOptions' is {said(values)}, not a list, so the options stay as they are")
    options: dict[str, ConfigOption] = {}
    for number, value in enumerate(cast("list[Any]", values), 1):
        try:
            option = value if isinstance(value, ConfigOption) else _option(value)
            if option.id in options:
                raise Refused(f"there is one {quoted(option.id)} before it")
        except Refused as reason:
            remarks.add("option skipped", f"option {number}: {reason}")
        else:
            options[option.id] = option
    return tuple(options.values())


def _option(value: Any) -> ConfigOption:
    found = as_object(value)
    if found is None:
        raise Refused(f"it is {said(value)}, not an object")
    id_ = found.get("id", found.get("configId"))
    if not isinstance(id_, str):
        raise Refused(f"its 'id' is {said(id_)}, not a text")
    current, listed = found.get("currentValue"), found.get("options")
    type_ = found.get("type", "boolean" if isinstance(current, bool) else "select")
    wanted = {"select": str, "boolean": bool}.get(type_, object)
    if not isinstance(type_, str) or not isinstance(current, wanted):
        raise Refused(
            f"the value of {quoted(id_)} is {said(current)}, which does not fit its type {said(type_)}"
        )
    return ConfigOption(
        id_,
        _text(found, "name") or id_,
        _text(found, "category") or "",
        current,
        tuple(_values(listed)) if type_ == "select" else (),
        type_,
        _text(found, "description"),
    )


def _values(listed: Any) -> Iterator[ConfigValue]:
    """Values and groups of them; what is neither is left out."""
    for item in cast("list[Any]", listed if isinstance(listed, list | tuple) else []):
        found = as_object(item)
        if found is None:
            continue
        if isinstance(value := found.get("value"), str):
            yield ConfigValue(value, _text(found, "name") or value, _text(found, "description"))
        elif "options" in found:
            label = _text(found, "name") or _text(found, "group")
            yield from (replace(value, group=value.group or label) for value in _values(found["options"]))


def _text(found: Object, name: str) -> str | None:
    return value if isinstance(value := found.get(name), str) else None
