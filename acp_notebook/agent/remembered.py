"""The rules of one session: those of its store, and those kept for all sessions of its agent."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import AcpError, PermissionError
from ..masking import MASK, masked
from ..protocol.messages import RulesUpdate
from ..protocol.rules import Covers, Rule, RuleScope, exactly, in_short
from .adapter import AcpSessionContext
from .approval_rules import covering, is_plain
from .approval_store import ApprovalPolicyStore, RuleFile, key_of, policy_of, read_key
from .values import explain, foreign

log = logging.getLogger(__name__)

FAILED = "the remembered decisions could not be read, so you are asked"


class Remembered:
    """Finds the rule that answers a call, and changes the rules on a person's behalf.

    `file` is None for an agent without a name: such rules would be anybody's. A rule keeps its number.
    """

    def __init__(
        self,
        store: ApprovalPolicyStore,
        file: RuleFile | None,
        context: Callable[[], AcpSessionContext],
        send: Callable[[RulesUpdate], None],
        tell: Callable[[str], None],
    ) -> None:
        self._store = store
        self._file = file
        self._context = context
        self._send = send
        self._tell = tell
        self._numbers: dict[tuple[RuleScope, str], int] = {}
        self._failed: str | None = None
        self._announced: tuple[Rule, ...] | None = None
        self.announce()

    @property
    def folder(self) -> Path:
        """What paths in rules are relative to."""
        return self._context().cwd

    def announce(self) -> None:
        """Send the rules where they have changed."""
        try:
            with foreign():
                self._show(self._rules())
        except Exception as error:
            self._fail(error)

    def _show(self, rules: Sequence[Rule]) -> None:
        if (found := tuple(rules)) != self._announced:
            self._announced = found
            self._send(RulesUpdate(found))

    def find(self, tool: str, arguments: Mapping[str, Any], whole: bool = True) -> Rule | None:
        """The rule that answers a call; None when there is none, and when that cannot be told.

        `whole`: the arguments are all that there is to know. Else no rule about them can allow the call.
        """
        try:
            with foreign():
                kept = self._rules()
                self._show(kept)  # other sessions, and the host, may have changed them
                rules = [*kept, *self._looked_up(tool, arguments)]
            if not whole:
                rules = [rule for rule in rules if rule.decision == "deny" or rule.covers.kind == "tool"]
            found = covering(rules, tool, arguments, self.folder)
        except Exception as error:
            self._fail(error)
            return None
        self._failed = None
        return found

    def add(self, rule: Rule, arguments: Mapping[str, Any] | None = None) -> Rule:
        """Keep a rule and return it with its number; `arguments` are those that an exact one is about.

        Raises `PermissionError` for a rule that cannot be.
        """
        rule = self.checked(rule, arguments)
        key = key_of(rule.tool, rule.covers, rule.shown)
        with _said("the rule was not kept"):
            if rule.scope == "session":
                self._store.set_policy(self._context(), key, policy_of(rule))
            else:
                self._lasting().set(rule.scope, key, policy_of(rule))
        self.announce()
        return replace(rule, number=self._number(rule.scope, key))

    def remove(self, numbers: Sequence[int] | None) -> None:
        """Forget the rules with these numbers; None for all. Raises `PermissionError` for an unknown one."""
        with _said("the rules could not be read"):
            rules = {rule.number: rule for rule in self._rules()}
        for number in numbers or ():
            if number not in rules:
                known = ", ".join(map(str, sorted(rules))) or "none"
                raise PermissionError(f"there is no rule {number}: there are {known}")
        for number in rules if numbers is None else dict.fromkeys(numbers):
            self._forget(rules[number])
        self.announce()

    def _forget(self, rule: Rule) -> None:
        key = key_of(rule.tool, rule.covers, rule.shown)
        with _said(f"rule {rule.number} was not forgotten"):
            if rule.scope != "session":
                self._lasting().remove(rule.scope, key)
                return
            remove = getattr(self._store, "remove_policy", None)
            if remove is None:
                raise PermissionError("the host's store has no remove_policy")
            remove(self._context(), key)

    def _rules(self) -> list[Rule]:
        """All rules, by number."""
        kept: list[tuple[RuleScope, str, Any]] = [
            ("session", key, policy)
            for key, policy in (self._store.export_state(self._context()) or {}).items()
        ]
        if self._file is not None:
            kept.extend(self._file.rules())
        found = [read_key(key, policy, 0, scope) for scope, key, policy in kept]
        rules = [
            replace(rule, number=self._number(scope, key))
            for rule, (scope, key, _) in zip(found, kept, strict=True)
            if rule is not None
        ]
        return sorted(rules, key=lambda rule: rule.number)

    def _looked_up(self, tool: str, arguments: Mapping[str, Any]) -> list[Rule]:
        """What a store knows that does not list what it has."""
        keys = [key_of(tool, Covers("tool"))]
        with suppress(TypeError, ValueError, RecursionError):  # a step's arguments may be any objects
            keys.append(key_of(tool, exactly(arguments), in_short(arguments)))
        context = self._context()
        policies = ((key, self._store.get_policy(context, key)) for key in keys)
        found = [
            read_key(key, policy, self._number("session", key), "session")
            for key, policy in policies
            if policy is not None
        ]
        return [rule for rule in found if rule is not None]

    def _number(self, scope: RuleScope, key: str) -> int:
        return self._numbers.setdefault((scope, key), len(self._numbers) + 1)

    def _lasting(self) -> RuleFile:
        if self._file is None:
            raise PermissionError(
                "this agent has no name, so only rules for this session can be kept: Agent(…, name=…)"
            )
        return self._file

    def checked(self, rule: Rule, arguments: Mapping[str, Any] | None = None) -> Rule:
        """The rule as it is kept. Raises `PermissionError` for one that cannot be."""
        what = rule.covers
        if not rule.tool:
            raise PermissionError("a rule is about a tool: name it")
        if what.kind == "exact":
            if arguments is not None:
                if rule.scope != "session" and masked(arguments) != arguments:
                    raise PermissionError(
                        "these arguments hold a secret: keep the rule for this session only"
                    )
                return replace(rule, covers=exactly(arguments), shown=in_short(arguments))
            raise PermissionError("a rule for exact arguments needs them")
        if what.kind != "tool" and not (what.argument and what.value):
            raise PermissionError(f"a rule of the kind {what.kind!r} needs an argument's name and a value")
        if what.kind == "equals" and masked({what.argument: what.value})[what.argument] == MASK:
            raise PermissionError(f"{what.argument!r} is a secret, which a rule cannot name")
        if what.kind == "command" and not is_plain(what.value):
            raise PermissionError(f"{what.value!r} is not the beginning of one plain command")
        if what.kind == "under" and rule.scope == "user":  # relative to which folder, in another one?
            return replace(rule, covers=replace(what, value=os.path.realpath(self.folder / what.value)))
        return rule

    def _fail(self, error: Exception) -> None:
        log.error("%s", FAILED, exc_info=error)
        said = f"{FAILED}: {error if isinstance(error, AcpError) else explain(error)}"
        if said != self._failed:
            self._failed = said
            self._tell(said)


@contextmanager
def _said(failed: str) -> Generator[None]:
    """What a store raises, as a `PermissionError` in a line."""
    try:
        with foreign():
            yield
    except PermissionError as error:
        raise PermissionError(f"{failed}: {error}") from error
    except Exception as error:
        log.error("%s", failed, exc_info=error)
        raise PermissionError(f"{failed}: {explain(error)}") from error
