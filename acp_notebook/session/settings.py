"""Asking the agent for the value of an option, and what comes of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future

from ..errors import ConfigError
from ..protocol.messages import ConfigOption, ConfigOptionUpdate, Notice, Update

log = logging.getLogger(__name__)

Options = tuple[ConfigOption, ...]

#: Category → what people call it, for those that a session has methods for.
CALLED = {"mode": "mode", "thought_level": "thinking effort", "model": "model"}


class ConfigChange:
    """A value that the agent is asked for; `finished` when it has answered (session.host.Waitable).

    What is in effect then is what the answer says. The person is told, by an update, where that is not what
    was asked for, and of a refusal that did not come at once.
    """

    def __init__(
        self, session: str, option: ConfigOption, value: str | bool, tell: Callable[[Update], None]
    ) -> None:
        self.finished: Future[None] = Future()
        self.refusal: Exception | None = None
        self._session = session
        self._option = option
        self._value = value
        self._tell = tell
        self._answer: asyncio.Future[Options] | None = None

    def take(self, reply: Options | Awaitable[Options]) -> None:
        """Take what the agent has returned; called on the session's loop."""
        if isinstance(reply, tuple):
            self._answered(reply)
        else:
            self._answer = asyncio.ensure_future(reply)
            self._answer.add_done_callback(self._answered_later)

    def cancel(self) -> None:
        """Wait no longer. What the agent has done by then stands."""
        if self._answer is not None:
            self._answer.cancel()

    def _answered_later(self, answer: asyncio.Future[Options]) -> None:
        if answer.cancelled():
            self.refusal = ConfigError(f"{self._option.name}: nobody waited for the agent's answer")
        elif (error := answer.exception()) is None:
            self._answered(answer.result())
            return
        else:
            self.refusal = (
                error if isinstance(error, ConfigError) else ConfigError(f"{self._option.name}: {error}")
            )
            log.warning("%s: %s", self._session, self.refusal)
            self._tell(Notice(str(self.refusal), "warning"))
        self.finished.set_result(None)

    def _answered(self, options: Options) -> None:
        self._tell(ConfigOptionUpdate(options))
        current = next((option.current for option in options if option.id == self._option.id), self._value)
        if current != self._value:
            kept = f"{self._value!r} was not taken; in effect is {current!r}"
            log.warning("%s: option %r: %s", self._session, self._option.id, kept)
            self._tell(Notice(f"{self._option.name}: {kept}.", "warning"))
        self.finished.set_result(None)
