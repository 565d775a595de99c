"""A turn: one prompt, and what came of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ..errors import TurnFailed
from ..protocol.messages import Usage
from .state import ToolCallState, TurnState

if TYPE_CHECKING:
    from .session import Session

log = logging.getLogger(__name__)


class Turn:
    """A prompt turn, running or finished. Wait with `turn.wait()` anywhere, or `await turn` on any loop.

    Attributes read the session's state, so they show what there is so far while the turn runs.
    """

    def __init__(self, session: Session, number: int) -> None:
        self.session = session
        self.number = number
        #: Done when the turn has ended, however it ended.
        self.finished: Future[None] = Future()
        #: What the agent's run returned: text, or an object of the agent's output type.
        self.output: Any = None
        self.cause: BaseException | None = None
        self._at_end: list[Callable[[], object]] = []

    @property
    def state(self) -> TurnState:
        """The frozen state of this turn."""
        return self.session.state.turns[self.number - 1]

    @property
    def prompt(self) -> str:
        return self.state.prompt

    @property
    def text(self) -> str:
        """The answer so far, Markdown."""
        return self.state.text

    @property
    def thoughts(self) -> str:
        return self.state.thoughts

    @property
    def tool_calls(self) -> tuple[ToolCallState, ...]:
        return self.state.tool_calls

    @property
    def stop_reason(self) -> str | None:
        """Why the turn ended (`end_turn`, `cancelled`, `error`, …); None while it runs."""
        return self.state.stop_reason

    @property
    def usage(self) -> Usage | None:
        return self.state.usage

    @property
    def error(self) -> str | None:
        """One line that says what failed, for stop reason `error`."""
        return self.state.error

    @property
    def running(self) -> bool:
        return not self.finished.done()

    def at_end(self, callback: Callable[[], object]) -> None:
        """Call `callback` on the session's loop when the turn ends, before whoever waits for it goes on.

        At once when the turn has ended already.
        """

        def note() -> None:
            self._at_end.append(callback) if self.running else callback()

        self.session.host.call(note)

    def end(self, output: Any, cause: BaseException | None) -> None:
        """Take the turn's outcome and let those go on who wait; called by the session on its loop."""
        self.output, self.cause = output, cause
        callbacks, self._at_end = self._at_end, []
        for callback in callbacks:
            try:
                callback()
            except Exception:
                log.exception("%s: what was to be done after turn %d failed", self.session.name, self.number)
        self.finished.set_result(None)

    def copy(self, session: Session) -> Turn:
        """The same turn, which has ended, in a session that begins as a fork of this one."""
        turn = Turn(session, self.number)
        turn.end(self.output, self.cause)
        return turn

    def cancel(self) -> None:
        """Cancel the turn if it is still running; safe from any thread, twice, and late."""
        if self.running:
            self.session.cancel()

    def wait(self, timeout: float | None = None) -> Turn:
        """Wait until the turn has ended and return it. `timeout` in seconds.

        Raises `TurnFailed` when the agent failed, `TurnTimeout` when time ran out (the turn goes on). An
        interrupt cancels the turn and raises `KeyboardInterrupt`.
        """
        self.session.host.wait(self, timeout)
        return self._checked()

    def __await__(self) -> Generator[Any, None, Turn]:
        yield from self.session.host.wait_async(self).__await__()
        return self._checked()

    def _checked(self) -> Turn:
        if self.stop_reason == "error":
            raise TurnFailed(self.error or "the agent failed") from self.cause
        return self

    def __repr__(self) -> str:
        return f"<Turn {self.number} of {self.session.name}: {self.stop_reason or 'running'}>"

    def _ipython_display_(self) -> None:
        self.session.show_turn(self)
