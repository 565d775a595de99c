"""One prompt at several settings, each in a fork of its own: what came of it, and what it took."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any, Self

from ..errors import AcpError, ConfigError
from ..plan import Plan
from ..protocol.messages import Usage
from .permissions import PermissionRequest
from .state import Closed, Event, SessionState

if TYPE_CHECKING:
    from .session import Session
    from .turn import Turn

#: What is varied → how it is set, in the order of the table. What can be chosen may depend on what is before.
SETTERS: dict[str, Callable[[Session, str], object]] = {
    "model": lambda session, value: session.set_model(value),
    "mode": lambda session, value: session.set_mode(value),
    "effort": lambda session, value: session.set_effort(value),
}


@dataclass(eq=False, slots=True)
class SweepRow:
    """One run of a sweep, in a fork: `settings` by what is varied (`model`, `mode`, `effort`).

    `turn` is None until it begins. `refusal` says why it never does: its model does not offer that effort.
    """

    settings: Mapping[str, str]
    session: Session
    turn: Turn | None = None
    refusal: str | None = None

    @property
    def label(self) -> str:
        """The settings in short."""
        return ", ".join(self.settings.values())

    @property
    def status(self) -> str:
        """`waiting`, `running`, `refused`, or the stop reason of its turn."""
        if self.turn is None:
            return "waiting" if self.refusal is None else "refused"
        return self.turn.stop_reason or "running"

    @property
    def plan(self) -> Plan:
        """The current plan of its fork."""
        return self.session.plan

    @property
    def answer(self) -> str:
        """The answer so far, Markdown."""
        return self.turn.text if self.turn is not None else ""

    @property
    def seconds(self) -> float | None:
        """How long it took, without the time that a person took to answer; None until it has ended."""
        state = self.turn.state if self.turn is not None else None
        if state is None or state.ended is None:
            return None
        return max(0.0, state.ended - state.started - state.waited)

    @property
    def usage(self) -> Usage | None:
        """What its model calls took; None until it has ended."""
        return self.turn.usage if self.turn is not None else None

    @property
    def error(self) -> str | None:
        """In a line, why it has no answer of its own accord, or ran at another effort than it was to."""
        if self.turn is None or self.turn.running:
            return self.refusal
        if self.status == "error":
            return self.turn.error
        if self.status != "end_turn":
            return self.status.replace("_", " ")
        effort = self.settings.get("effort", self.session.effort)
        return None if effort == self.session.effort else f"the effort in effect was {self.session.effort!r}"

    def record(self) -> dict[str, Any]:
        """The row as a dict: what is not known is None; `cost` in US dollars, `turn` the `Turn` itself."""
        usage = self.usage
        done, total = self.plan.progress
        return {
            **self.settings,
            "status": self.status,
            "done": done,
            "entries": total,
            "answer": self.answer,
            "seconds": self.seconds,
            "requests": usage and usage.requests,
            "tokens": usage and usage.total_tokens,
            "cost": None if usage is None or usage.cost is None else float(usage.cost),
            "error": self.error,
            "turn": self.turn,
        }


class Sweep:
    """The runs of a sweep, a row each, one after another (session.host.Waitable).

    Wait with `sweep.wait()` anywhere, or `await sweep`. Made on the session's loop, where `fork` gives a fork
    of `session` by this name.
    """

    def __init__(
        self,
        session: Session,
        prompt: str,
        varied: Mapping[str, Sequence[str]],
        fork: Callable[[str], Session],
        *,
        approve: bool = False,
    ) -> None:
        self.session = session
        self.prompt = prompt
        #: What is varied, in the order of `SETTERS`.
        self.varied = tuple(name for name in SETTERS if varied.get(name))
        #: Done when all has ended, however it ended.
        self.finished: Future[None] = Future()
        self._approve = approve
        self._cancelled = False
        if not prompt.strip():
            raise AcpError("the prompt is empty: say what is to be done at each setting")
        if not self.varied:
            raise AcpError("say what the sweep goes through: efforts, modes or models")
        values = [varied[name] for name in self.varied]
        combinations = list(product(*((one,) if isinstance(one, str) else one for one in values)))
        self._rows = _rows(fork, session.name, [dict(zip(self.varied, c, strict=True)) for c in combinations])
        self._unsubscribe = session.subscribe(self._heard)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, position: int) -> SweepRow:
        return self._rows[position]

    def __iter__(self) -> Iterator[SweepRow]:
        return iter(self._rows)

    @property
    def rows(self) -> tuple[SweepRow, ...]:
        """All runs in order, also those that wait."""
        return tuple(self._rows)

    @property
    def running(self) -> bool:
        return not self.finished.done()

    @property
    def current(self) -> SweepRow | None:
        """The run that is at it."""
        return next((row for row in self._rows if row.status == "running"), None)

    @property
    def permissions(self) -> tuple[PermissionRequest, ...]:
        """Requests of the forks that wait for an answer."""
        return tuple(request for row in self._rows for request in row.session.permissions)

    # -- running -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin the first run; the others follow. On the session's loop."""
        for row in self._rows:
            if row.status == "waiting" and not self._cancelled:
                row.turn = row.session.prompt(self.prompt, approve=self._approve)
                # not in the turn's own end, which the fork has still to make known
                row.turn.at_end(lambda: self.session.host.loop.call_soon(self.start))
                self._show()
                return
        self._unsubscribe()
        for row in self._rows:
            row.session.close()
        self._show()
        self.finished.set_result(None)

    def _heard(self, state: SessionState, event: Event) -> None:
        if isinstance(event, Closed):
            self.cancel()

    def _show(self) -> None:
        """Show how far it is, where there is something to show it on: only the notebook's sweep knows."""

    def cancel(self) -> None:
        """Cancel the run that is at it, and leave out the others. Safe from any thread, twice, and late."""
        self._cancelled = True
        if self.running and (row := self.current) is not None:
            row.session.cancel()

    def wait(self, timeout: float | None = None) -> Self:
        """Wait until all runs have ended. `timeout` in seconds; raises `TurnTimeout`, and the sweep goes on.

        A run that fails raises nothing: its row has the error. An interrupt cancels the sweep and raises
        `KeyboardInterrupt`.
        """
        self.session.host.wait(self, timeout)
        return self

    def __await__(self) -> Generator[Any, None, Self]:
        yield from self.session.host.wait_async(self).__await__()
        return self

    # -- results -------------------------------------------------------------------------------------

    def records(self) -> list[dict[str, Any]]:
        """The rows as dicts (`SweepRow.record`)."""
        return [row.record() for row in self._rows]

    def to_frame(self) -> Any:
        """The rows as a `pandas.DataFrame`. Raises `AcpError` when pandas is not installed."""
        try:
            pandas: Any = import_module("pandas")  # no dependency, also not of the types
        except ImportError as error:
            raise AcpError("a data frame needs pandas: %pip install pandas") from error
        return pandas.DataFrame(self.records())

    def __repr__(self) -> str:
        rows = ", ".join(f"{row.label} {row.status}" for row in self._rows)
        return f"<Sweep of {self.session.name}: {rows}>"


def _rows(
    fork: Callable[[str], Session], name: str, combinations: Sequence[Mapping[str, str]]
) -> list[SweepRow]:
    """A fork at each of the settings. Raises `ConfigError`, before anything runs, for what cannot be.

    An effort that some of the models do not offer is a row that says so.
    """
    rows: list[SweepRow] = []
    refused: dict[str, ConfigError] = {}
    try:
        for number, settings in enumerate(combinations, 1):
            row = SweepRow(settings, fork(f"{name}-sweep-{number}"))
            rows.append(row)
            for varied, value in settings.items():
                try:
                    SETTERS[varied](row.session, value)
                except ConfigError as error:
                    if varied != "effort":
                        raise
                    row.refusal = str(error)
                    refused[value] = error
        for effort, error in refused.items():
            if all(row.refusal for row in rows if row.settings["effort"] == effort):
                raise error
    except BaseException:
        for row in rows:
            row.session.close()
        raise
    return rows
