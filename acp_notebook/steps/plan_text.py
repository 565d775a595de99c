"""A plan as it is written down: without its secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..masking import declares_secrets, is_reference, marked, masked, mentions_secret
from .plan import Step
from .secrets import RunSecrets, defaults

#: One of these is in each name of a secret.
_HINTS = ("passw", "token", "secret", "api", "authoriz", "credential")


def without_secrets(text: str, steps: Sequence[Step]) -> tuple[str, RunSecrets]:
    """`text`, the JSON of `steps`, with the secrets masked, and those secrets."""
    tools = {id(step.tool): step.tool for step in steps}.values()
    low = text.lower()  # a search without regard to case takes many times as long
    hinted = any(part in low for part in _HINTS) and mentions_secret(text)
    if not hinted and not any(declares_secrets(tool.parameters) or defaults(tool) for tool in tools):
        return text, RunSecrets()
    secrets = RunSecrets(steps)
    plan: list[dict[str, Any]] = json.loads(text)
    for raw, step in zip(plan, steps, strict=True):
        raw["args"] = _masked(masked_arguments(raw["args"], step.tool.parameters), secrets)
        if "when" in raw:
            raw["when"] = _masked(raw["when"], secrets)
    return json.dumps(plan), secrets


def masked_arguments(args: Any, schema: Any) -> Any:
    """Arguments as they were sent, without what they say themselves to be secrets, by name or by schema."""
    return masked(marked(args, schema))


def _masked(value: Any, secrets: RunSecrets) -> Any:
    """A part of a plan without the secrets that it repeats. References stay, for they name steps."""
    if is_reference(value):
        return value
    if isinstance(value, dict):
        return {key: _masked(item, secrets) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_masked(item, secrets) for item in cast("list[Any]", value)]
    return secrets.masked(value)
