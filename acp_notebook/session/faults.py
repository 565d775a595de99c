"""What was wrong in the updates of an agent, for the log."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable

from ..protocol.messages import Fault, UnknownUpdate, Update
from .reduce import KIND_LENGTH

log = logging.getLogger(__name__)

#: So many faults of a kind are logged: an agent that goes on must not push all else out of the log.
LOGGED = 100


class FaultLog:
    """Logs the faults of one session, and once each kind of update that is not known."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: Counter[str] = Counter()

    def take(self, updates: Iterable[Update]) -> None:
        for update in updates:
            if isinstance(update, Fault):
                self._fault(update)
            elif isinstance(update, UnknownUpdate) and len(self._seen) < LOGGED:
                kind = update.kind[:KIND_LENGTH]
                if not self._seen[kind]:
                    log.info("%s: updates of the kind %r are not known: kept, not shown", self._name, kind)
                self._seen[kind] += 1

    def _fault(self, fault: Fault) -> None:
        self._seen[fault.kind] += 1
        seen = self._seen[fault.kind]
        if seen <= LOGGED:
            level = logging.INFO if fault.kind.endswith("mended") else logging.WARNING
            log.log(level, "%s: %s: %s", self._name, fault.kind, fault.text)
        if seen == LOGGED:
            log.warning("%s: %s: more of this kind are only counted", self._name, fault.kind)
