"""A plan as it is written down: without its secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..masking import MASK, declares_secrets, marked, masked, mentions_secret, says_secret, secrets_in
from .plan import Step
from .references import REFERENCE

#: One of these is in each name of a secret.
_HINTS = ("passw", "token", "secret", "api", "authoriz", "credential")


def without_secrets(text: str, steps: Sequence[Step]) -> tuple[str, list[str]]:
    """`text`, the JSON of `steps`, with the secrets masked, and the texts that those are."""
    tools = {id(step.tool): step.tool for step in steps}.values()
    low = text.lower()  # a search without regard to case takes many times as long
    hinted = any(part in low for part in _HINTS) and mentions_secret(text)
    if not hinted and not any(declares_secrets(tool.parameters) for tool in tools):
        return text, []
    secrets: list[str] = []
    plan: list[dict[str, Any]] = json.loads(text)
    for raw, step in zip(plan, steps, strict=True):
        shown = marked(raw["args"], step.tool.parameters)
        raw["args"] = {name: _masked(raw["args"][name], shown[name], name, secrets) for name in raw["args"]}
    return json.dumps(plan), secrets


def _masked(value: Any, shown: Any, name: str, secrets: list[str]) -> Any:
    """`shown` is the same with what the tool declares as secrets marked. A reference says none."""
    if isinstance(value, dict):
        mapping = cast("Mapping[str, Any]", value)
        if REFERENCE in mapping:
            return mapping
        return {
            key: _masked(item, shown[key], name if says_secret(name) else key, secrets)
            for key, item in mapping.items()
        }
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [_masked(item, shown[at], name, secrets) for at, item in enumerate(items)]
    if masked(shown, name) == MASK != value:
        secrets += secrets_in(shown, name)
        return MASK
    return value
