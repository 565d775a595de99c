"""Subcommands for remembered decisions on calls."""

from __future__ import annotations

import json
from typing import Any

from ..errors import AcpError
from ..notebook import current
from ..protocol.rules import Rule
from ..text import plain
from .command import Invocation
from .start import session_for


def rules(call: Invocation) -> None:
    """List the decisions that are remembered. One that denies wins."""
    session = current()
    if session is None or not session.rules:
        print("No decision is remembered: %acp rules add, or %acp approve --always where that is offered.")
        return
    for rule in session.rules:
        print(plain(str(rule)))


def add(call: Invocation) -> None:
    """Remember a decision on calls of a tool.

    WHAT is allow or deny. Without ARG it is about every call. With the name of an argument it is about
    calls where that one is equal to a value (JSON, or a text), is a path under a folder, matches a pattern
    (*, ?, […]), or is a command that begins with these words and, to be allowed, is one plain command. --args
    is about calls with exactly these arguments.
    """
    words, options = call.words, call.options
    if len(words) not in (2, 3):
        raise AcpError(f"this is used as {call.command.usage}")
    given: dict[str, Any] = {
        name: options[name] for name in ("under", "matches", "command") if name in options
    }
    if "equals" in options:
        given["equals"] = _value(options["equals"])
    if not isinstance(options.get("args", {}), dict):
        raise AcpError('--args must hold arguments by name, such as {"path": "notes.md"}')
    rule = session_for(call).rules.add(
        words[0],  # pyright: ignore[reportArgumentType], which checks it
        words[1],
        words[2] if len(words) == 3 else None,
        arguments=options.get("args"),
        scope=options.get("scope", "session"),
        **given,
    )
    print(plain(str(rule)))


def remove(call: Invocation) -> None:
    """Revoke remembered decisions by their numbers."""
    numbers = call.numbers()
    session = session_for(call)
    revoked = {rule.number: rule for rule in session.rules}
    session.rules.remove(*numbers)
    for number in dict.fromkeys(numbers):
        print(plain(f"Revoked {_of(revoked[number])}"))


def clear(call: Invocation) -> None:
    """Revoke all remembered decisions.

    Those for this agent's later sessions, here and everywhere, are forgotten as well.
    """
    session = session_for(call)
    count = len(session.rules)
    session.rules.clear()
    print(f"Revoked {count} remembered decision{'' if count == 1 else 's'}.")


def _of(rule: Rule) -> str:
    return f"rule {rule.number}: {rule.text}"


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
