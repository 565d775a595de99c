"""Secrets among the arguments of calls: they are shown as `MASK`, never as they are.

A text is a secret when it is called one, or when the tool declares it as one (pydantic's `SecretStr`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, cast
from urllib.parse import quote

#: What stands for a secret.
MASK = "••••••"
#: The key of what stands for a value that an earlier step will have returned. It says no secret itself.
REFERENCE = "output_by_reference"
_SECRET = re.compile(r"password|passwd|token|secret|api_?-?key|authorization|credential", re.IGNORECASE)
#: A number under such a name is a limit or a size (`max_tokens`), and no secret.
_MEASURE = re.compile(
    r"tokens|(?:^|[_-])(?:max|min|limit|count|length|size|ttl|expir\w*|timeout|budget)(?:$|[_-])",
    re.IGNORECASE,
)
#: Shorter texts are left where they stand in other texts: they would be found everywhere.
_SHORTEST = 4
#: How far a schema is followed that refers to itself.
_DEPTH = 40


class Secret(str):
    """A text that is a secret whatever it is called. Its `repr`, also within other values, is masked."""

    def __repr__(self) -> str:
        return repr(MASK)


def declares_secrets(schema: Any) -> bool:
    """Whether anything in a JSON schema is a password."""
    if isinstance(schema, Mapping):
        found = cast("Mapping[str, Any]", schema)
        return found.get("format") == "password" or any(map(declares_secrets, found.values()))
    return isinstance(schema, list) and any(map(declares_secrets, cast("list[Any]", schema)))


def marked(value: Any, schema: Any) -> Any:
    """`value`, JSON-like, with the texts as `Secret` that are called secrets, or are by its JSON schema."""
    return _marked_by_name(_marked(value, schema, schema, 0), "")


def _marked(value: Any, schema: Any, whole: Any, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEPTH or is_reference(value):
        return value
    found = cast("Mapping[str, Any]", schema)
    if isinstance(ref := found.get("$ref"), str):
        value = _marked(value, whole.get("$defs", {}).get(ref.rpartition("/")[2]), whole, depth + 1)
    for branch in (*found.get("anyOf", ()), *found.get("oneOf", ()), *found.get("allOf", ())):
        value = _marked(value, branch, whole, depth + 1)
    if found.get("format") == "password":  # whatever the model has put there
        return _all_marked(value)
    if isinstance(value, Mapping):
        known, other = found.get("properties", {}), found.get("additionalProperties")
        items = cast("Mapping[str, Any]", value).items()
        return {name: _marked(item, known.get(name, other), whole, depth + 1) for name, item in items}
    if isinstance(value, list):
        return [_marked(item, found.get("items"), whole, depth + 1) for item in cast("list[Any]", value)]
    return value


def _all_marked(value: Any) -> Any:
    """All texts, also of what looks like a reference: it is no place for one."""
    if type(value) is str:
        return Secret(value)
    if isinstance(value, Mapping):
        return {name: _all_marked(item) for name, item in cast("Mapping[str, Any]", value).items()}
    return [_all_marked(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def _marked_by_name(value: Any, name: str) -> Any:
    return _each(
        value, name, lambda text, of: Secret(text) if type(text) is str and says_secret(of) else text
    )


def marked_where(value: Any, secrets: Collection[str]) -> Any:
    """`value`, JSON-like, with the texts as `Secret` that have one of these in them."""

    def mark(text: Any, name: str) -> Any:
        return Secret(text) if type(text) is str and any(secret in text for secret in secrets) else text

    return _each(value, "", mark) if secrets else value


def _each(value: Any, name: str, change: Callable[[Any, str], Any]) -> Any:
    """`value`, JSON-like, with what `change` makes of all in it that is no container, and of its name.

    What is under the name of a secret has that name, however deep. References to results stay.
    """
    if isinstance(value, Mapping):
        mapping = cast("Mapping[Any, Any]", value)
        if is_reference(mapping):
            return mapping
        hidden = says_secret(name)
        return {key: _each(item, name if hidden else str(key), change) for key, item in mapping.items()}
    if isinstance(value, list | tuple):
        items = [_each(item, name, change) for item in cast("list[Any]", value)]
        return tuple(items) if type(cast(Any, value)) is tuple else items
    return change(value, name)


def is_reference(value: Any) -> bool:
    """Whether a value, JSON-like, stands for what an earlier step will have returned."""
    if not isinstance(value, Mapping) or len(mapping := cast("Mapping[Any, Any]", value)) != 1:
        return False
    return isinstance(mapping.get(REFERENCE), Mapping)


@lru_cache(maxsize=4096)
def says_secret(name: str) -> bool:
    """Whether what is called `name` is a secret."""
    return mentions_secret(name)


def mentions_secret(text: str) -> bool:
    """Whether a text has the name of a secret in it."""
    return _SECRET.search(text) is not None


def masked(value: Any, name: str = "") -> Any:
    """`value` with the secrets masked, at any depth."""
    return _each(value, name, lambda item, of: MASK if _is_secret(item, of) else item)


def _is_secret(value: Any, name: str) -> bool:
    if isinstance(value, Secret):
        return True
    if value is None or isinstance(value, bool) or not says_secret(name):  # a flag is a switch
        return False
    return not isinstance(value, int | float) or _MEASURE.search(name) is None


def secret_values(value: Any, name: str = "") -> Iterator[tuple[str, str | int | float]]:
    """What `masked` hides in arguments, each with the name that makes it a secret."""
    if isinstance(value, Mapping):
        mapping = cast("Mapping[Any, Any]", value)
        if not is_reference(mapping):
            for key, item in mapping.items():
                yield from secret_values(item, name if says_secret(name) else str(key))
    elif isinstance(value, list | tuple):
        for item in cast("list[Any]", value):
            yield from secret_values(item, name)
    elif isinstance(value, str | int | float) and _is_secret(value, name):
        yield name, value


def secrets_in(value: Any, name: str = "") -> Iterator[str]:
    """The texts that `masked` hides in arguments, as they may stand in other texts."""
    for _, found in secret_values(value, name):
        yield from forms(found)


def forms(secret: str | int | float) -> Iterator[str]:
    """A secret as it may stand in other texts: as it is, in JSON, in Python, in an address."""
    text = _written(secret)
    if len(text) < _SHORTEST:
        return
    found = [text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], ascii(text)[1:-1]]
    found += [repr(text)[1:-1], quote(text, safe="", errors="replace")]
    yield from dict.fromkeys(found)


def redacted(value: Any, secrets: Iterable[str]) -> Any:
    """`value`, JSON-like, with these texts masked wherever they stand in its own."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, MASK)
        return value
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {redacted(key, secrets): redacted(item, secrets) for key, item in items}
    if isinstance(value, list | tuple):
        return [redacted(item, secrets) for item in cast("list[Any]", value)]
    return MASK if isinstance(value, int | float) and _written(value) in secrets else value


def _written(value: str | int | float) -> str:
    """A value as text; nothing for a number that is longer than Python writes."""
    try:
        return str(value)
    except ValueError:
        return ""


def unmasked(edited: Any, original: Any) -> Any:
    """`edited`, made by a person from `masked(original)`, with the secrets put back that were left masked."""
    if edited == MASK and original is not None:
        return original
    if isinstance(edited, dict) and isinstance(original, Mapping):
        new, old = cast("dict[str, Any]", edited), cast("Mapping[str, Any]", original)
        return {key: unmasked(item, old.get(key)) for key, item in new.items()}
    if isinstance(edited, list) and isinstance(original, list | tuple):
        items, before = cast("list[Any]", edited), cast("list[Any]", original)
        return [unmasked(item, before[at] if at < len(before) else None) for at, item in enumerate(items)]
    return cast(Any, edited)
