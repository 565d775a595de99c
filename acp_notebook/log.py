"""What `%acp log` shows: the package's `logging` records, kept in memory and never printed into a cell.

Modules log through `logging.getLogger(__name__)`. Records also go where the user's own logging set-up sends
them.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable

from .masking import redacted


class Recent(logging.Handler):
    """Keeps the latest `size` records. Being there also keeps `logging` from printing warnings into cells."""

    def __init__(self, size: int = 1000) -> None:
        super().__init__()
        self._records: deque[logging.LogRecord] = deque(maxlen=size)
        self._hidden: deque[str] = deque(maxlen=size)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(record)

    def lines(self, level: int = logging.NOTSET) -> list[str]:
        """The kept records, oldest first, formatted, with tracebacks."""
        hidden = sorted(self._hidden, key=len, reverse=True)
        return [redacted(self.format(record), hidden) for record in self._records if record.levelno >= level]

    def hide(self, secrets: Iterable[str]) -> None:
        """Mask these texts, also in what is kept already: the latest that were named as secrets."""
        self._hidden.extend(secret for secret in secrets if secret not in self._hidden)


recent = Recent()
_logger = logging.getLogger("acp_notebook")
_logger.addHandler(recent)
_logger.setLevel(logging.INFO)
