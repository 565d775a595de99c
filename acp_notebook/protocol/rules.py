"""Remembered decisions on tool calls: what a rule is, and how it is said. What it covers the agent finds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal

from ..masking import masked

#: `exact`: the tool with exactly these arguments. `tool`: any call of it. The others are about one argument:
#: `equals` a value, a path `under` a folder, a text that `matches` a pattern (`*`, `?`, `[…]`), a `command`
#: that begins with these words and is one plain command.
CoverKind = Literal["exact", "tool", "equals", "under", "matches", "command"]

#: How long a rule holds: for the session, or for every session of the same agent, in this folder or in any.
RuleScope = Literal["session", "folder", "user"]

Decision = Literal["allow", "deny"]

REACH: dict[RuleScope, str] = {
    "session": "this session",
    "folder": "every session in this folder",
    "user": "all your sessions",
}


@dataclass(frozen=True, slots=True)
class Covers:
    """Which calls of a tool a rule is about.

    `argument` is the name of the argument for the kinds that are about one, and `value` the text that it is
    compared with, for `equals` as JSON. For `exact` it is a digest of the arguments, and empty for those of
    the call that is asked about.
    """

    kind: CoverKind = "exact"
    argument: str = ""
    value: str = ""

    def said(self, shown: str = "") -> str:
        """The words after the tool's name; `shown` stands for exact arguments."""
        match self.kind:
            case "exact":
                return shown or "with exactly these arguments"
            case "tool":
                return "with any arguments"
            case "equals":
                return f"with {self.argument} equal to {self.value}"
            case "under":
                return f"with {self.argument} under {self.value}"
            case "matches":
                return f"with {self.argument} matching {self.value}"
            case "command":
                return f"with {self.argument} beginning with {self.value}, one command alone"


def exactly(arguments: Mapping[str, Any]) -> Covers:
    """What covers a call with these arguments, JSON-like, and no other: it holds a digest of them."""
    return Covers("exact", value=sha256(canonical(arguments).encode()).hexdigest())


def in_short(arguments: Mapping[str, Any], length: int = 100) -> str:
    """Exact arguments as a rule shows them: with secrets masked, and cut."""
    text = ", ".join(f"{name}={canonical(value)}" for name, value in masked(arguments).items())
    return f"({text})" if len(text) <= length else f"({text[:length]}…)"


def canonical(value: Any) -> str:
    """JSON that is the same for equal values only: `1`, `1.0`, `true` and `"1"` are four."""
    return json.dumps(value, sort_keys=True)


#: What a remembered answer covers unless something wider was chosen on purpose.
EXACT: Final = Covers()


@dataclass(frozen=True, slots=True)
class Rule:
    """A remembered decision. `number` stays while the session lives; `shown` are exact arguments, in short.

    Secrets among these are masked.
    """

    number: int
    decision: Decision
    tool: str
    covers: Covers = EXACT
    scope: RuleScope = "session"
    shown: str = ""

    @property
    def text(self) -> str:
        """The rule in words: `allow write_file with path under notes/ (this session)`."""
        return f"{self.decision} {self.tool} {self.covers.said(self.shown)} ({REACH[self.scope]})"

    def __str__(self) -> str:
        return f"{self.number}. {self.text}"
