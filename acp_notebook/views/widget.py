"""The live view: one widget model that shows parts, patches them as the session changes, and takes clicks."""

# ipywidgets and anywidget have hardly any types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import logging
from asyncio import TimerHandle
from collections.abc import Callable
from typing import Any, cast

import anywidget
import traitlets

from ..errors import AcpError, PlanChanged
from ..session.session import Session
from ..session.state import Closed, Event, SessionState
from ..text import plain
from .bundle import live_stylesheet, module, static_bundle
from .commands import Message, carry_out, entry_now, pending_request
from .fields import FieldError
from .html import Html, tag
from .parts import Layout, Memo, all_parts, diff, layout
from .session import Render, render_session, render_turn
from .work import Question

log = logging.getLogger(__name__)

#: Shortest time between two patches, in seconds.
INTERVAL = 0.05
#: A page that has not said hello gets the whole state: this seldom, and at most so many characters a second.
UNSEEN_INTERVAL = 0.25
UNSEEN_RATE = 400_000
#: Seconds without a change, and without anything running, after which a view is at rest.
REST = 1.0


class View(anywidget.AnyWidget):
    """A live view of a session, made on the session's loop.

    `kind` is `session`, `turn` or `plan`; `number` is the turn's, `plan_id` the plan's.
    """

    _esm = module()
    _css = live_stylesheet()

    state = traitlets.Dict().tag(sync=True)
    """What a page shows at first: `{"n": number of the last patch, "parts": [[key, slot, html], …]}`.

    With `"final": true` nothing comes after it: the session is closed.
    """

    def __init__(
        self,
        session: Session,
        render: Render,
        kind: str,
        number: int | None = None,
        plan_id: str | None = None,
    ) -> None:
        self._session = session
        self._loop = session.host.loop
        self._render = render
        self._kind, self._number, self._plan_id = kind, number, plan_id
        self._memo = Memo()
        #: What the person at the page looks at: see `session.Looking`.
        self._looking: dict[str, int] = {}
        #: What they are asked there, by plan id.
        self._questions: dict[str, Question] = {}
        self._painted: tuple[int, Layout] = (0, self._wanted())
        #: How many times a page has rendered it.
        self.hellos = 0
        self._greeted = self._dirty = self._closed = False
        self._timer: TimerHandle | None = None
        self._resting: TimerHandle | None = None
        self._at_rest: Callable[[dict[str, str]], None] | None = None
        self.before_display: Callable[[], None] | None = None
        super().__init__()
        if not session.state.closed:
            session.host.route(cast(Any, self).comm)
            self.on_msg(self._arrived)
            self._unsubscribe = session.subscribe(self._changed)

    def live(self) -> dict[str, Any]:
        """The widget alone, after `before_display`, which shows the `still` form above it."""
        if self.before_display is not None:
            self.before_display()
        return self._widget()

    def _widget(self) -> dict[str, Any]:
        live: Any = super()._repr_mimebundle_()
        data = live[0] if isinstance(live, tuple) else live
        return {**(data or {}), "text/plain": ""}

    def still(self) -> dict[str, str]:
        """The static form, hidden by the stylesheet while a live view stands in the output below it.

        JupyterLab prefers the widget of an output to its HTML even where the widget's model is gone: a
        notebook opened again shows "Error displaying widget: model not found". With the two in outputs of
        their own the reader sees the still one, and the error not at all.
        """
        bundle = self._static()
        return {**bundle, "text/html": tag("div", Html(bundle["text/html"]), class_="acp-still")}

    def bundle(self) -> dict[str, Any]:
        """Widget and static form in one output, for one that is replaced before anybody opens it again."""
        return {**self._widget(), **self._static()}

    def _static(self) -> dict[str, str]:
        return static_bundle(self._session.state, self._kind, self._number, plan_id=self._plan_id)

    def at_rest(self, replace: Callable[[dict[str, str]], None]) -> None:
        """Call `replace` with the still form, on the session's loop, when the view is at rest or closes."""
        self._at_rest = replace

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.bundle() if self.before_display is None else self.live()

    # -- to the page ---------------------------------------------------------------------------------

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """The widget's state; `state` is made when asked for, so that a reloaded page is right."""
        values: dict[str, Any] = super().get_state(key, drop_defaults)
        if "state" in values:
            values["state"] = {**self._everything(), "final": self._session.state.closed}
        return values

    def _everything(self) -> dict[str, Any]:
        n, painted = self._painted
        return {"n": n, "parts": [list(part) for part in all_parts(painted)]}

    def _wanted(self) -> Layout:
        return layout(self._render(self._session.state, self._memo, True, self._looking, self._questions))

    def _changed(self, state: SessionState, event: Event) -> None:
        """The first change is painted at once, the ones that follow together; the last one always."""
        self._dirty = True
        if self._timer is None:
            self._paint()
        if isinstance(event, Closed):
            self._paint()
            self._rest()
            self._end()

    def _end(self) -> None:
        """The session is closed; its views are done."""
        self.close()

    def _paint(self) -> None:
        self._timer = None
        if not self._dirty or self._closed:
            return
        self._dirty = False
        n, painted = self._painted
        wanted = self._wanted()
        patch = diff(painted, wanted)
        wait = INTERVAL
        if patch.set or patch.drop:
            self._rest_later()
            self._painted = n + 1, wanted
            if self._greeted:
                self.send({"t": "patch", "n": n + 1, "set": patch.set, "drop": patch.drop})
            else:
                self.send_state("state")
                wait = max(UNSEEN_INTERVAL, sum(len(part.html) for part in all_parts(wanted)) / UNSEEN_RATE)
        self._timer = self._loop.call_later(wait, self._paint)

    def _rest_later(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
        self._resting = self._loop.call_later(REST, self._rest)

    def _rest(self) -> None:
        self._resting = None
        if self._at_rest is not None and not self._closed and self._session.state.status != "running":
            self._at_rest(self.still())

    def _paint_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._paint()

    # -- from the page -------------------------------------------------------------------------------

    def _arrived(self, widget: Any, content: Message, buffers: Any) -> None:
        """A message, on whatever thread the kernel handles it: the rest happens on the session's loop."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take, content)

    def _take(self, message: Message) -> None:
        if message.get("action") == "hello":
            self._hello()
            return
        answer: dict[str, Any] = {"t": "ack", "id": message.get("id")}
        try:
            file = None
            if message.get("action") == "look":
                self._look(message["plan"], message.get("revision"))
            elif message.get("action") in ("work", "not-now"):
                self._work(message)
            else:
                file = carry_out(self._session, message)
        except AcpError as error:
            answer = {**answer, "t": "error", "text": plain(str(error))}
            if isinstance(error, FieldError):
                answer["field"] = error.field
        except Exception as error:
            log.exception("%s: %r failed", self._session.name, message.get("action"))
            answer = {**answer, "t": "error", "text": f"{type(error).__name__}: {error}. See %acp log."}
            self._withdraw(message)
        else:
            if file:
                self.send({"t": "file", "id": message.get("id"), **file._asdict()})
            elif message.get("action") == "restore":
                self._look(message["plan"], None)
        # The change first: when the page hears that the command is done, it shows what came of it.
        self._paint_now()
        self.send(answer)

    def _look(self, plan_id: str, revision: int | None) -> None:
        """Show a plan as it was: the latest revision, and 0, are now; None closes its history."""
        latest = len(self._session.state.history.get(plan_id, ()))
        if revision is None:
            self._looking.pop(plan_id, None)
        else:
            self._looking[plan_id] = revision if 1 <= revision < latest else 0
        self._dirty = True

    def _work(self, message: Message) -> None:
        """Have the agent work on a plan; where that has to be confirmed, the person is asked first."""
        plan_id = message["plan"]
        self._questions.pop(plan_id, None)
        self._dirty = True
        if message["action"] == "work":
            entry, history = entry_now(self._session, message), self._session.plan_history(plan_id)
            confirmed = message.get("confirmed") == len(history)
            try:
                self._session.start_work(entry, plan_id=plan_id, confirmed=confirmed)
            except PlanChanged as changed:
                self._questions[plan_id] = Question(entry, len(history), changed.change)

    def _withdraw(self, message: Message) -> None:
        """An answer that failed half-way must count neither as yes nor keep the call waiting."""
        try:
            pending_request(self._session, message).cancel("the answer could not be given")
        except AcpError:
            pass
        except Exception:
            log.exception("%s: the request could not be withdrawn", self._session.name)

    def _hello(self) -> None:
        self._greeted = True
        self.hellos += 1
        self._session.host.hello_received()
        self._paint_now()
        self.send({"t": "snapshot", **self._everything()})

    def close(self) -> None:
        """Close the widget: pages stop showing it. Safe to call twice, from any thread."""
        self._closed = True
        if unsubscribe := getattr(self, "_unsubscribe", None):
            unsubscribe()
        if self.comm is not None:
            self.layout.close()  # a model of its own, which ipywidgets makes for every widget and leaves
        super().close()


def session_view(session: Session) -> View:
    """The session's panel."""
    return _view(session, render_session, "session")


def turn_view(session: Session, number: int | None = None) -> View:
    """One turn, with the plans beside it. `number` is 1-based; None follows the latest."""
    return _view(session, render_turn(number), "turn", number)


def _view(session: Session, render: Render, kind: str, number: int | None = None) -> View:
    return session.host.call(lambda: View(session, render, kind, number))
