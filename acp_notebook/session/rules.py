"""Remembered decisions as a person lists, adds and revokes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast, get_args, overload

from ..errors import PermissionError
from ..protocol.connection import AgentSide
from ..protocol.messages import OMIT
from ..protocol.rules import Covers, Decision, Rule, RuleScope, canonical, exactly, in_short


class Rules(Sequence[Rule]):
    """The rules of a session, oldest first. Rule numbers are those of `rule.number`, which stay.

    Where several rules cover a call, one that denies wins.
    """

    def __init__(
        self,
        rules: Callable[[], tuple[Rule, ...]],
        command: Callable[[Callable[[], Any]], Any],
        agent: AgentSide,
    ) -> None:
        self._rules = rules
        self._command = command
        self._agent = agent

    def add(
        self,
        decision: Decision,
        tool: str,
        argument: str | None = None,
        *,
        arguments: Mapping[str, Any] | None = None,
        equals: Any = OMIT,
        under: str | None = None,
        matches: str | None = None,
        command: str | None = None,
        scope: RuleScope = "session",
    ) -> Rule:
        """Remember a decision and return it with its number.

        Args:
            decision: `"allow"` or `"deny"`.
            tool: the tool's name.
            argument: the name of one argument, which has to be as one of these says:
                `equals` a value; a path `under` a folder, relative to the session's; a text that `matches` a
                pattern of `*`, `?` and `[…]`; a `command` that begins with these words and, for a rule that
                allows, is one plain command without separators, substitutions and redirections.
            arguments: the exact arguments of the call. Without these and without `argument`, the rule is
                about every call of the tool.
            scope: `"session"`, `"folder"` (all sessions of this agent in this folder) or `"user"` (anywhere).

        Raises `PermissionError` for a rule that cannot be.
        """
        tests = {"equals": equals, "under": under, "matches": matches, "command": command}
        given = {kind: value for kind, value in tests.items() if value is not None and value is not OMIT}
        if equals is None:  # JSON's null
            given["equals"] = None
        if decision not in get_args(Decision):
            raise PermissionError(f"a rule cannot {decision!r}: use 'allow' or 'deny'")
        if scope not in get_args(RuleScope):
            raise PermissionError(f"{scope!r} is no scope: use {', '.join(get_args(RuleScope))}")
        shown = ""
        if arguments is not None:
            if argument is not None or given:
                raise PermissionError("a rule is about exact arguments or about one argument: give one")
            covers, shown = self._exact(arguments)
        elif argument is None and not given:
            covers = Covers("tool")
        elif argument is None or len(given) != 1:
            raise PermissionError(
                "a rule about one argument needs its name and one of equals, under, matches, command"
            )
        else:
            kind, value = given.popitem()
            covers = Covers(cast(Any, kind), argument, canonical(value) if kind == "equals" else str(value))
        rule = Rule(0, decision, tool, covers, scope, shown)
        return self._command(lambda: self._agent.add_rule(rule, arguments))

    def remove(self, *numbers: int) -> None:
        """Revoke rules by their numbers. Raises `PermissionError` for one that there is not."""
        if numbers:
            self._command(lambda: self._agent.remove_rules(numbers))

    def clear(self) -> None:
        """Revoke all rules of this session, also those that were kept for later ones."""
        self._command(lambda: self._agent.remove_rules())

    @staticmethod
    def _exact(arguments: Mapping[str, Any]) -> tuple[Covers, str]:
        try:
            return exactly(arguments), in_short(arguments)
        except (TypeError, ValueError, RecursionError) as error:
            raise PermissionError(f"the arguments are not JSON: {error}") from error

    # -- a sequence ----------------------------------------------------------------------------------

    @overload
    def __getitem__(self, index: int) -> Rule: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Rule, ...]: ...

    def __getitem__(self, index: int | slice) -> Rule | tuple[Rule, ...]:
        return self._rules()[index]

    def __len__(self) -> int:
        return len(self._rules())

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules())

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no rules"
