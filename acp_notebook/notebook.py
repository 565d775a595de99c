"""The session as people hold it: an agent, a place to run and views, put together.

The one module that knows both sides: `session/` and `agent/` meet here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from .errors import AcpError
from .kernel.display import Output, cell, in_notebook
from .kernel.host import choose_host
from .kernel.prints import capture
from .protocol.connection import AgentSide, ClientSide
from .session import session as client
from .session.permissions import Unattended
from .session.state import Event, SessionState
from .session.turn import Turn
from .sweeps import Sweep

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from .agent.adapter import AdapterConfig
    from .agent.models import AdapterModel
    from .agent.modes import PrepareToolsMode
    from .views.plan_view import PlanView
    from .views.widget import View

_live: dict[str, Session] = {}
#: Plan views of closed sessions by the session's name: they stay until another session has it.
_remaining: dict[str, set[PlanView]] = {}
_current: Session | None = None


class Session(client.Session):
    """A session with a pydantic-ai agent.

    Args:
        agent: an `Agent`, a function that returns one, a `ScriptedModel` or another model, a model name such
            as `"openai:gpt-5"`, or `"demo"`.
        model: a model or model name in place of the agent's own, or one of `models` by its name.
        models: what a person may choose from, besides the model that the agent begins with: model names,
            models, or pairs of a name and either of these.
        name: what the session is called, by default as its agent. A live session of this name is closed.
        modes: the modes in place of `ask`, `plan` and `agent`; the session begins in the first.
        mode: the mode to begin in.
        effort: the thinking effort to begin with.
        deps: what the agent's tools get as `ctx.deps`.
        host: `"kernel"`, the loop that runs here, or `"thread"`, a loop of its own. By default the kernel's
            loop in a notebook, and a thread in scripts and terminals.
        on_unattended: what answers approvals when no person can: `"deny"`, `"allow"`, `"wait"` (your code
            will) or a callable.
        config: the host application's part in the session, such as a plan of its own.

    The newest session is the one that `%acp` talks to. Raises `AgentError` for what cannot be hosted, and
    `ConfigError` for settings that cannot be; then nothing has been started.
    """

    def __init__(
        self,
        agent: Any,
        *,
        model: str | Model | None = None,
        models: Sequence[str | Model | tuple[str, str | Model] | AdapterModel] = (),
        name: str | None = None,
        modes: Sequence[PrepareToolsMode[Any]] | None = None,
        mode: str | None = None,
        effort: str | None = None,
        deps: Any = None,
        host: Literal["kernel", "thread"] | None = None,
        on_unattended: Unattended = "deny",
        config: AdapterConfig | None = None,
    ) -> None:
        from .agent.adapter import AdapterConfig
        from .agent.hosting import host as hosted_agent
        from .agent.models import adapter_models
        from .agent.modes import as_bridge
        from .agent.session import AgentSession

        adapter = config or AdapterConfig()
        if models:
            adapter = replace(adapter, available_models=adapter_models(models), allow_model_selection=True)
        listed = next((m for m in adapter.available_models if m.model_id == model), None)
        begin_with = model if listed is None else listed.override
        hosted = hosted_agent(agent, model=begin_with, name=name, deps=deps)
        if modes is not None:
            adapter = replace(adapter, capability_bridges=(*adapter.capability_bridges, as_bridge(modes)))

        def connect(me: ClientSide) -> AgentSide:
            return AgentSession(hosted, me, capture if in_notebook() else None, adapter)

        place = choose_host(host)
        try:
            super().__init__(connect, place, name=hosted.name, on_unattended=on_unattended)
            if listed is not None and self.models:
                self.set_model(listed.model_id)
            if mode is not None:
                self.set_mode(mode)
            if effort is not None:
                self.set_effort(effort)
        except AcpError:
            place.close()
            raise
        self._begin()

    def _begin(self, *, listed: bool = True) -> None:
        """Take note of views from now on, and be one of the sessions of `%acp`, unless not `listed`."""
        self._view: View | None = None
        self._left: View | None = None
        self._plan_views: dict[str | None, PlanView] = {}
        self._shown_in: dict[int, Any] = {}
        if not listed:
            return
        if same := _live.get(self.name):
            same.close()
        _close_remaining(self.name)
        _live[self.name] = self
        use(self)

    # -- forks ---------------------------------------------------------------------------------------

    def fork(self, name: str | None = None) -> Session:
        """A new session on the same agent that begins as this one is: history, plans, settings.

        What happens in one of them does not touch the other. They share what the agent itself holds: its
        tools, and its `deps`. Answers to approvals that are remembered for this session are not copied.
        `%acp` talks to the fork from then on; a live session of its `name` is closed, and the default is a
        new name. Raises `TurnRunning` while a turn runs, and `AgentError` for an agent that cannot do this.
        """
        if name is None:
            name = next(name for n in count(2) if (name := f"{self.name}-{n}") not in _live)
        return self._fork(name)

    def sweep(
        self,
        prompt: str,
        *,
        efforts: Sequence[str] = (),
        modes: Sequence[str] = (),
        models: Sequence[str] = (),
        approve: bool = False,
        timeout: float | None = None,
    ) -> Sweep:
        """Send the same prompt at several settings, each in a fresh fork, and wait for what comes of it.

        Several kinds of settings are combined. The runs are made one after another, and this session stays
        as it is. Requests for approval are answered as in any session; `approve` lets every gated call run.
        Raises `ConfigError`, before anything runs, for a setting that is not offered. An effort that only
        some of the models offer, and a run that fails, are rows that say so. `timeout` in seconds; an
        interrupt cancels the sweep.
        """
        return self.start_sweep(prompt, efforts=efforts, modes=modes, models=models, approve=approve).wait(
            timeout
        )

    def start_sweep(
        self,
        prompt: str,
        *,
        efforts: Sequence[str] = (),
        modes: Sequence[str] = (),
        models: Sequence[str] = (),
        approve: bool = False,
    ) -> Sweep:
        """The same, without waiting: the sweep is returned at once."""
        varied = {"model": models, "mode": modes, "effort": efforts}

        def start() -> Sweep:
            sweep = Sweep(self, prompt, varied, partial(self._fork, listed=False), approve=approve)
            sweep.start()
            return sweep

        return self._command(start)

    def _fork(self, name: str, *, listed: bool = True) -> Session:
        def fork() -> Session:
            session = Session.__new__(Session)  # without an agent of its own to begin with
            host = self.host.share()
            try:
                client.Session.__init__(session, self._agent.fork, host, name=name, parent=self)
            except AcpError:
                host.close()
                raise
            session._begin(listed=listed)
            return session

        return self._command(fork)

    # -- views ---------------------------------------------------------------------------------------

    def view(self) -> View:
        """The session's panel, a widget. One per session, shown as often as you like."""
        from .views.widget import session_view

        if self._view is None:
            self._view = _with_still_form(session_view(self))
        return self._view

    def plan_view(self, plan_id: str | None = None) -> PlanView:
        """A plan alone, a widget whose `plan`, `progress` and `fraction` can be observed and linked.

        One for each plan, shown as often as you like; None follows the current plan. It stays when the
        session closes, until another session has its name.
        """
        from .views.plan_view import plan_view

        if plan_id not in self._plan_views:
            self._plan_views[plan_id] = view = plan_view(self, plan_id)
            _with_still_form(view)
            if self.state.closed:
                _remaining.setdefault(self.name, set()).add(view)
        return self._plan_views[plan_id]

    def show_turn(self, turn: Turn) -> None:
        """Show a turn in the running cell: live while it runs, then in its final form, as plain HTML.

        Once in a cell, and only where there are cells. The live widget is closed at the turn's end, so that
        the number of widgets does not grow with the turns, and a saved notebook holds what can be read.
        """
        here = cell()
        if here is None or self._shown_in.get(turn.number) == here:
            return
        self._shown_in[turn.number] = here
        from .views.bundle import static_bundle

        if not turn.running:
            Output(static_bundle(self.state, "turn", turn.number))
            return
        view = output = None
        if in_notebook():
            from .views.widget import turn_view

            view = turn_view(self, turn.number)
            output = Output(view.bundle())

        def settle() -> None:
            final = static_bundle(self.state, "turn", turn.number)
            if output is None or view is None:
                Output(final)
            else:
                output.replace(final)
                self._leave(view)
                if turn.number in self.state.left.values():
                    self._renew(turn.number, output)

        turn.at_end(settle)

    def _renew(self, number: int, output: Output) -> None:
        """Show a turn's final form once more when the functions that it left running have ended."""

        def look(state: SessionState, event: Event) -> None:
            if number not in state.left.values():
                unsubscribe()
                output.replace(static_bundle(state, "turn", number))

        from .views.bundle import static_bundle

        unsubscribe = self.subscribe(look)

    def _leave(self, view: View) -> None:
        """Close the view of a turn that has ended.

        A page that was reloaded meanwhile no longer knows which output to replace: it keeps the view, until
        the next turn's is left.
        """
        if self._left is not None:
            self._left.close()
        self._left = view if view.hellos > 1 else None
        if self._left is None:
            view.close()

    def _ipython_display_(self) -> None:
        from .views.bundle import static_bundle

        Output(self.view().live() if in_notebook() else static_bundle(self.state, "session"))

    # -- end -----------------------------------------------------------------------------------------

    def close(self) -> None:
        global _current
        super().close()
        if self._view is not None:
            self._view.close()
        self._view = None
        _remaining.setdefault(self.name, set()).update(self._plan_views.values())
        if _live.get(self.name) is self:
            del _live[self.name]
        if _current is self:
            _current = next(reversed(_live.values()), None)


def _with_still_form(view: View) -> View:
    """Have `view` displayed below its static form, which is kept in step for the saved notebook."""
    still: Output | None = None

    def show_still() -> None:
        nonlocal still
        if still is None:
            still = Output(view.still())
            view.at_rest(still.replace)
        else:
            still.show(view.still())

    view.before_display = show_still
    return view


def current() -> Session | None:
    """The session that `%acp` talks to, or None. In a tool of a running turn, the session of this turn."""
    mine = client.in_turn()
    return mine if isinstance(mine, Session) else _current


def use(session: Session) -> None:
    """Make `%acp` talk to `session`."""
    global _current
    _current = session


def sessions() -> tuple[Session, ...]:
    """The live sessions, oldest first."""
    return tuple(_live.values())


def close_all() -> None:
    """Close every live session: what unloading the extension does."""
    for session in sessions():
        session.close()
    for name in list(_remaining):
        _close_remaining(name)


def _close_remaining(name: str) -> None:
    for view in _remaining.pop(name, ()):
        view.close()
