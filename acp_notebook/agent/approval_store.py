"""Where remembered decisions are kept: in the session, in a host's store, or in a file for later sessions.

The names are those of pydantic-acp. A decision is kept under a key, which is the rule in JSON without its
number; arguments are in it as a digest only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, cast, get_args

from ..errors import AcpError, PermissionError
from ..protocol.rules import CoverKind, Covers, Decision, Rule, RuleScope
from ..text_files import locked, read_text, write_text
from .adapter import AcpSessionContext

#: What a store knows of a key.
ApprovalPolicy = Literal["allow", "reject"]

_DECISIONS: dict[Any, Decision] = {"allow": "allow", "reject": "deny"}
_POLICIES: dict[Decision, ApprovalPolicy] = {"allow": "allow", "deny": "reject"}


class ApprovalPolicyStore(Protocol):
    """Where the rules of a session are kept. Calls are made on the session's loop.

    A store from which a rule can be taken out has one more method, `remove_policy(session, policy_key)`. When
    a call fails, no rule answers, and the person is asked.
    """

    def get_policy(self, session: AcpSessionContext, policy_key: str) -> ApprovalPolicy | None:
        """The decision under a key: `allow` or `reject`; None, and anything else, for none."""
        ...

    def set_policy(self, session: AcpSessionContext, policy_key: str, policy: ApprovalPolicy) -> None:
        """Keep a decision."""
        ...

    def export_state(self, session: AcpSessionContext) -> dict[str, Any] | None:
        """All decisions by key. A store that returns None is only asked for exact calls and whole tools."""
        ...


@dataclass(frozen=True, slots=True)
class SessionMetadataApprovalPolicyStore:
    """Keeps the rules in the session's metadata, and so for the session only."""

    metadata_key: str = "approval_policies"

    def get_policy(self, session: AcpSessionContext, policy_key: str) -> ApprovalPolicy | None:
        return self._policies(session).get(policy_key)

    def set_policy(self, session: AcpSessionContext, policy_key: str, policy: ApprovalPolicy) -> None:
        session.metadata[self.metadata_key] = {**self._policies(session), policy_key: policy}

    def remove_policy(self, session: AcpSessionContext, policy_key: str) -> None:
        left = self._policies(session)
        session.metadata[self.metadata_key] = {k: v for k, v in left.items() if k != policy_key}

    def export_state(self, session: AcpSessionContext) -> dict[str, Any] | None:
        return dict(self._policies(session))

    def _policies(self, session: AcpSessionContext) -> dict[str, ApprovalPolicy]:
        return session.metadata.get(self.metadata_key) or {}


# -- keys ------------------------------------------------------------------------------------------------


def key_of(tool: str, covers: Covers, shown: str = "") -> str:
    """The key of a rule in a store."""
    what = {"tool": tool, "covers": covers.kind, "argument": covers.argument, "value": covers.value}
    return json.dumps({**{name: text for name, text in what.items() if text}, "shown": shown}, sort_keys=True)


def read_key(key: str, policy: Any, number: int, scope: RuleScope) -> Rule | None:
    """The rule that a store has under a key; None for what is no rule of ours."""
    try:
        found: Any = json.loads(key)
        decision = _DECISIONS[policy]
        texts = {name: found.get(name, "") for name in ("tool", "covers", "argument", "value", "shown")}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if not all(isinstance(text, str) for text in texts.values()) or texts["covers"] not in get_args(
        CoverKind
    ):
        return None
    covers = Covers(cast(CoverKind, texts["covers"]), texts["argument"], texts["value"])
    return Rule(number, decision, texts["tool"], covers, scope, texts["shown"])


def policy_of(rule: Rule) -> ApprovalPolicy:
    return _POLICIES[rule.decision]


# -- later sessions --------------------------------------------------------------------------------------


class RuleFile:
    """Rules for every session of one agent, in one folder or in any, in a file of the user's.

    It is not in the folder itself: a folder that comes from somebody else must not bring rules along.
    """

    def __init__(self, agent: str, folder: Path) -> None:
        self._owners: dict[RuleScope, str] = {
            "folder": json.dumps([agent, os.path.realpath(folder)]),
            "user": json.dumps([agent]),
        }

    def rules(self) -> Iterator[tuple[RuleScope, str, Any]]:
        """Scope, key and policy of each rule for this agent and folder. Raises `AcpError`."""
        kept = self._read()
        for scope, owner in self._owners.items():
            for key, policy in kept.get(owner, {}).items():
                yield scope, key, policy

    def set(self, scope: RuleScope, key: str, policy: ApprovalPolicy) -> None:
        """Keep a rule. Raises `AcpError`."""
        self._write(scope, key, policy)

    def remove(self, scope: RuleScope, key: str) -> None:
        """Forget a rule. Raises `AcpError`."""
        self._write(scope, key, None)

    def _write(self, scope: RuleScope, key: str, policy: ApprovalPolicy | None) -> None:
        path = rules_path()
        if path is None:
            raise PermissionError("there is no place here for rules that outlive the session")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with locked(path.with_suffix(".lock")):  # others change it, too
                if not path.exists():
                    path.touch(mode=0o600)
                kept = self._read()
                rules = kept.setdefault(self._owners[scope], {})
                rules.pop(key, None)
                if policy is not None:
                    rules[key] = policy
                write_text(path, json.dumps(kept, indent=1), force=True)
        except OSError as error:
            raise AcpError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error

    def _read(self) -> dict[str, dict[str, Any]]:
        path = rules_path()
        if path is None or not path.exists():
            return {}
        text = read_text(path)
        if not text:  # it has just been made
            return {}
        try:
            found: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise AcpError(f"{str(path)!r} is not JSON: mend or remove it") from error
        if not isinstance(found, Mapping):
            raise AcpError(f"{str(path)!r} holds no rules: mend or remove it")
        kept = cast("Mapping[str, Any]", found)
        return {owner: dict(rules) for owner, rules in kept.items() if isinstance(rules, Mapping)}  # pyright: ignore


def rules_path() -> Path | None:
    """The file of rules for later sessions, in Jupyter's data folder; None where there is none."""
    try:
        from jupyter_core.paths import jupyter_data_dir
    except ImportError:  # JupyterLite
        return None
    return Path(jupyter_data_dir()) / "acp-notebook" / "rules.json"
