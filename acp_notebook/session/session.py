"""The client side: commands go to the agent, updates come back and are folded into the state."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, cast

from ..errors import AcpError, ConfigError, PlanError, SessionClosed, StepProblem, StepsRefused
from ..plan import (
    DEFAULT_PLAN_ID,
    AddEntry,
    Author,
    ClearEntries,
    MoveEntry,
    Plan,
    PlanEdit,
    PlanEntry,
    PlanHistory,
    RemoveEntry,
    SetPlan,
    UpdateEntry,
)
from ..plan.values import as_plan
from ..protocol.connection import NOT_OURS, Connect, StepsOutline
from ..protocol.messages import (
    AvailableCommand,
    ConfigOption,
    Outcome,
    RequestPermission,
    StateUpdate,
    ToolCallUpdate,
    Update,
    Usage,
)
from ..text_files import named
from .faults import FaultLog
from .file_plans import read_plan_files, working_folder
from .host import Host
from .permissions import PermissionRequest, Unattended, checked_unattended
from .plan_io import Done, ReadFile, chosen_plan, export_plan, read_plans
from .reduce import fold
from .rules import Rules
from .settings import CALLED, ConfigChange
from .state import Closed, Event, PermissionAnswered, PermissionAsked, SessionState
from .steps import StepsLook
from .turn import Turn
from .work import Entries, start_work

log = logging.getLogger(__name__)

#: Whose turn this code runs in: a tool, and what it calls, also on worker threads.
_turn_of: ContextVar[Session | None] = ContextVar("acp_turn_of", default=None)

LEFT_THERE = "its function was still running when the session was forked"

#: Called after every change with the new state and each event that led to it, on the session's loop.
Subscriber = Callable[[SessionState, Event], None]


class Session:
    """A session with an agent: prompts, plan, settings, permissions.

    Methods may be called from any thread, cell or function; the state changes on the session's own loop.
    One with a `parent`, a session between turns, begins in the state of that one.
    """

    def __init__(
        self,
        connect: Connect,
        host: Host,
        *,
        name: str,
        on_unattended: Unattended = "deny",
        parent: Session | None = None,
    ) -> None:
        self.host = host
        self.name = name
        self.on_unattended = checked_unattended(on_unattended)
        self.folder = working_folder()
        self.read_files: dict[str, ReadFile] = {}  # by their real paths
        self._subscribers: list[Subscriber] = []
        self._news: deque[tuple[SessionState, Event]] = deque()
        self._telling = False
        self._turns: list[Turn] = []
        self._requests: dict[str, PermissionRequest] = {}
        self._ids = count(1)
        self._approve_turn = False
        self._fault_log = FaultLog(name)
        self._state = SessionState(name=name, agent=name, model="")
        if parent is not None:
            self.on_unattended = parent.on_unattended
            self.folder, self.read_files = parent.folder, dict(parent.read_files)
            self._state = fold(  # which hears no more of what runs on there
                replace(parent.state, name=name),
                [ToolCallUpdate(call_id, left=LEFT_THERE) for call_id in parent.state.left],
            )
            self._turns = [turn.copy(self) for turn in parent.turns]
        self._agent = host.call(lambda: connect(self))
        info = self._agent.info
        self._state = replace(
            self._state,
            agent=info.name,
            model=info.model,
            scripted=info.scripted,
            plans_editable=info.plans_editable,
        )

    # -- state ---------------------------------------------------------------------------------------

    @property
    def state(self) -> SessionState:
        """A frozen snapshot of everything."""
        return self._state

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Call `callback(state, event)` after every change, on the session's loop. Returns the undo."""
        self._subscribers.append(callback)

        def unsubscribe() -> None:
            if callback in self._subscribers:
                self._subscribers.remove(callback)

        return unsubscribe

    def _fold(self, *events: Event) -> None:
        self._state = state = fold(self._state, events, time.time())
        while len(self._turns) < len(state.turns):
            self._turns.append(Turn(self, len(self._turns) + 1))
        self._news.extend((state, event) for event in events)
        if not self._telling:  # else a subscriber has caused this: all hear of it after what they hear now
            self._tell()

    def _tell(self) -> None:
        """Tell every subscriber the news, in order."""
        self._telling = True
        try:
            while self._news:
                state, event = self._news.popleft()
                for subscriber in tuple(self._subscribers):
                    if subscriber not in self._subscribers:  # another one has just taken it out
                        continue
                    try:
                        subscriber(state, event)
                    except (KeyboardInterrupt, asyncio.CancelledError):  # meant for the code that runs here
                        raise
                    except BaseException:
                        log.exception("%s: a subscriber failed on %s", self.name, type(event).__name__)
        finally:
            self._telling = False
        if self._state.closed:
            self._subscribers.clear()

    # -- the client side of the protocol -------------------------------------------------------------

    def update(self, *updates: Update) -> None:
        """Take updates from the agent (protocol.connection.ClientSide). A closed session takes none."""
        if self._state.closed:
            return
        ends = [
            n
            for n, update in enumerate(updates)
            if isinstance(update, StateUpdate) and update.state == "idle"
        ]
        start = 0
        for end in ends:
            self._take(updates[start:end])
            self._end_turn(cast(StateUpdate, updates[end]))
            start = end + 1
        self._take(updates[start:])

    def _take(self, updates: Sequence[Update]) -> None:
        if updates:
            self._fold(*updates, *read_plan_files(self._state, updates, self.folder))
            self._fault_log.take(updates)

    def _end_turn(self, update: StateUpdate) -> None:
        for request in self.permissions:
            request.cancel()
        self._approve_turn = False
        turns = self._turns[-1:]  # before the subscribers hear of it, who may send the next prompt
        self._fold(*read_plan_files(self._state, [update], self.folder), update)
        for turn in turns:
            if turn.running:
                turn.end(update.output, update.cause)

    def request_permission(self, request: RequestPermission) -> Awaitable[Outcome]:
        """Take a request from the agent (protocol.connection.ClientSide)."""
        request_id = f"p{next(self._ids)}"
        answer: asyncio.Future[Outcome] = self.host.loop.create_future()
        permission = PermissionRequest(self, request_id, request, answer)
        self._requests[request_id] = permission
        self._fold(PermissionAsked(request_id, request))
        if permission.pending:  # a subscriber may have answered
            self._route(permission)
        if permission.pending and request.timeout is not None:
            permission.expire_after(request.timeout)
        # shielded: an agent that stops waiting must not take the request's answer away from the client
        return asyncio.shield(answer)

    def _route(self, permission: PermissionRequest) -> None:
        """Who answers: this turn's `--approve`, a person, or the policy for when nobody can."""
        if self._approve_turn:
            permission.allow(by="--approve")
        elif self.host.attended():
            permission.withdraw = self.host.ask(
                self._permission_state(permission), self._answerer(permission)
            )
        elif callable(self.on_unattended):
            try:
                answer: Any = self.on_unattended(permission)
                if not isinstance(answer, bool):
                    log.warning("on_unattended answered %r, which is neither True nor False: denied", answer)
                allowed = answer is True
            except BaseException:  # in a task, some of them would end the whole loop
                log.exception("%s: on_unattended failed, so the request is denied", self.name)
                allowed = False
            if permission.pending:
                self._answer_by_policy(permission, allowed)
        elif self.on_unattended != "wait":
            self._answer_by_policy(permission, self.on_unattended == "allow")

    def _answer_by_policy(self, permission: PermissionRequest, allowed: bool) -> None:
        if allowed:
            permission.allow(by="on_unattended")
        elif callable(self.on_unattended):
            permission.deny("Denied: nobody is there to approve it.", by="on_unattended")
        else:
            permission.deny(
                "Denied: nobody is there to approve it.",
                by="on_unattended='deny', since nobody is there to ask; to allow, use %acp ask --approve "
                "or on_unattended='allow'",
            )

    def _permission_state(self, permission: PermissionRequest) -> Any:
        return next(p for p in self._state.pending if p.request_id == permission.id)

    def _answerer(self, permission: PermissionRequest) -> Callable[[str, str | None], None]:
        def answer(decision: str, reason: str | None = None) -> None:
            if permission.pending:
                permission.allow() if decision == "allow" else permission.deny(reason)

        return answer

    def answered(
        self, permission: PermissionRequest, outcome: Outcome, status: str, explanation: str
    ) -> None:
        """A request has its answer; called by the request itself on the session's loop."""
        del self._requests[permission.id]
        log.info("%s: %s %s", self.name, permission.tool_call.name, explanation)
        self._fold(PermissionAnswered(permission.id, outcome, status, explanation))

    # -- turns ---------------------------------------------------------------------------------------

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(self._turns)

    def prompt(self, text: str, *, approve: bool = False) -> Turn:
        """Send a prompt and return its turn at once. `approve` lets every gated call of this turn run.

        Raises `TurnRunning` while another turn runs.
        """
        if not text.strip():
            raise AcpError("the prompt is empty: say what you want done")
        return self._command(lambda: self._prompt(text, approve))

    def _prompt(self, text: str, approve: bool) -> Turn:
        return self._begun(lambda: self._agent.prompt(text), approve)

    def _begun(self, begin: Callable[[], None], approve: bool) -> Turn:
        token = _turn_of.set(self)  # which the turn's task, made now, takes along
        try:
            begin()
        finally:
            _turn_of.reset(token)
        self._approve_turn = approve
        return self._turns[-1]

    def ask(self, text: str, *, approve: bool = False, timeout: float | None = None) -> Turn:
        """Send a prompt, wait for the turn to end and return it. Safe in a cell, a function or a script.

        Raises as `Turn.wait` does.
        """
        return self._shown(lambda: self.prompt(text, approve=approve)).wait(timeout)

    def work(
        self,
        entry: Entries = None,
        *,
        plan_id: str | None = None,
        confirmed: bool = False,
        approve: bool = False,
        timeout: float | None = None,
    ) -> Turn:
        """Have the agent work on the plan, wait for the turn to end and return it.

        Without `entry` it takes the one in progress or the first pending one, and goes on until none is left;
        with a number (1-based), or several, it works on these alone. The session is put into the mode that
        works on plans. Raises `PlanChanged`, with the difference, for a plan that people have changed since
        the agent saw it, unless `confirmed`; `PlanError` when there is nothing to do; and as `Turn.wait`
        does.
        """
        return self._shown(
            lambda: self.start_work(entry, plan_id=plan_id, confirmed=confirmed, approve=approve)
        ).wait(timeout)

    def start_work(
        self,
        entry: Entries = None,
        *,
        plan_id: str | None = None,
        confirmed: bool = False,
        approve: bool = False,
    ) -> Turn:
        """The same, without waiting: the turn is returned at once."""
        return self._command(
            lambda: start_work(self, self._agent, entry, plan_id, confirmed=confirmed, approve=approve)
        )

    # -- steps by hand -------------------------------------------------------------------------------

    def look_at_steps(self, steps: Any) -> StepsLook:
        """Have the agent say what steps of `execute_plan` would do, also while a turn runs; none runs.

        `steps` are a list of mappings, or that as JSON text, as a model sends them. Returned at once; wait
        with `.wait()` or `await`.
        """
        return self._command(lambda: StepsLook(self.host, self._agent.outline_steps(steps)))

    def preview_steps(self, steps: Any) -> StepsOutline:
        """What steps would do: which run, in which order, what is asked before. In a cell it shows itself.

        Raises `StepsRefused` with everything that is wrong with them, and `AgentError` when the agent has no
        `execute_plan`.
        """
        return self.look_at_steps(steps).wait()

    def check_steps(self, steps: Any) -> tuple[StepProblem, ...]:
        """All that is wrong with steps, nothing when they could run."""
        try:
            self.preview_steps(steps)
        except StepsRefused as refused:
            return refused.problems
        return ()

    def run_steps(self, steps: Any, *, approve: bool = False, timeout: float | None = None) -> Turn:
        """Run steps as a turn, as if the model had sent them, wait for it to end and return it.

        What became of each step is in the run's plan. `approve` lets gated steps run unasked. Raises as
        `Turn.wait` does.
        """
        return self._shown(lambda: self.start_steps(steps, approve=approve)).wait(timeout)

    def start_steps(self, steps: Any, *, approve: bool = False) -> Turn:
        """The same, without waiting: the turn is returned at once."""
        return self._command(lambda: self._begun(lambda: self._agent.run_steps(steps), approve))

    def resume_steps(
        self,
        run_id: str,
        *,
        steps: Any = None,
        done: Mapping[str, Any] | None = None,
        again: Collection[str] = (),
        approve: bool = False,
        timeout: float | None = None,
    ) -> Turn:
        """Have a run go on that did not end well, wait for the turn and return it.

        Steps that ended well are not repeated. Of one that may have run when the process ended a person is
        asked, unless `done` gives its result or `again` names it. `steps` are needed once more where secrets
        among them were not written down. `run_id` may be the beginning of one. Raises as `Turn.wait` does.
        """
        return self._shown(
            lambda: self.start_resume(run_id, steps=steps, done=done, again=again, approve=approve)
        ).wait(timeout)

    def start_resume(
        self,
        run_id: str,
        *,
        steps: Any = None,
        done: Mapping[str, Any] | None = None,
        again: Collection[str] = (),
        approve: bool = False,
    ) -> Turn:
        """The same, without waiting: the turn is returned at once."""
        resume = partial(self._agent.resume_steps, run_id, steps, done or {}, again)
        return self._command(lambda: self._begun(resume, approve))

    def _shown(self, begin: Callable[[], Turn]) -> Turn:
        """The turn that `begin` starts, shown in one go: a tool may block a session's own loop at once."""

        def start() -> Turn:
            turn = begin()
            self.show_turn(turn)
            return turn

        return self._command(start)

    def cancel(self) -> None:
        """Cancel the running turn; it ends with stop reason `cancelled`. Without one, nothing happens."""
        self._command(self._cancel)

    def _cancel(self) -> None:
        self._agent.cancel()
        for request in self.permissions:
            request.cancel()

    # -- plan ----------------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """The current plan: the one that changed last, or an empty one."""
        return self._state.plan

    @property
    def plans(self) -> Mapping[str, Plan]:
        return self._state.plans

    def set_plan(
        self,
        plan: Plan | str | Iterable[PlanEntry | str | Mapping[str, Any]],
        plan_id: str | None = None,
        title: str | None = None,
    ) -> Plan:
        """Replace a plan with a `Plan`, a text, a data frame, or entries (entries, strings or mappings).

        Without `plan_id`, a `Plan` goes where its own id says and anything else to the current plan.
        """
        new = as_plan(plan)
        if plan_id is None and isinstance(plan, Plan):
            plan_id = plan.plan_id
        if title is not None:
            new = replace(new, title=title)
        return self.edit_plan([SetPlan(new)], plan_id)

    def add_entry(
        self,
        content: str,
        priority: str = "medium",
        status: str = "pending",
        at: int | None = None,
        *,
        plan_id: str | None = None,
    ) -> Plan:
        """Insert an entry, by default at the end; `at` is the 1-based number it will have."""
        return self.edit_plan([AddEntry(content, priority, status, at)], plan_id)

    def update_entry(
        self,
        index: int,
        *,
        content: str | None = None,
        status: str | None = None,
        priority: str | None = None,
        plan_id: str | None = None,
    ) -> Plan:
        """Change entry `index` (1-based); what is None stays."""
        return self.edit_plan([UpdateEntry(index, content, status, priority)], plan_id)

    def mark_done(self, *indexes: int, plan_id: str | None = None) -> Plan:
        """Set entries (1-based) to completed, as one update."""
        return self.edit_plan([UpdateEntry(index, status="completed") for index in indexes], plan_id)

    def move_entry(self, index: int, to: int, *, plan_id: str | None = None) -> Plan:
        """Move entry `index` so that its number is `to`."""
        return self.edit_plan([MoveEntry(index, to)], plan_id)

    def remove_entry(self, index: int, *, plan_id: str | None = None) -> Plan:
        """Take entry `index` (1-based) out."""
        return self.edit_plan([RemoveEntry(index)], plan_id)

    def clear_plan(self, *, plan_id: str | None = None) -> Plan:
        """Empty a plan; it keeps its id and title."""
        return self.edit_plan([ClearEntries()], plan_id)

    def remove_plan(self, plan_id: str) -> None:
        """Remove a plan. Raises `PlanError` when there is none with this id."""

        def remove() -> None:
            plan = chosen_plan(self, plan_id)
            self._must_own_plans()
            self._agent.remove_plan(plan.plan_id, self._author())

        self._command(remove)

    def edit_plan(
        self,
        edits: Iterable[PlanEdit],
        plan_id: str | None = None,
        *,
        author: Author | None = None,
        since: int | None = None,
    ) -> Plan:
        """Apply edits as one update, all or none, and return the plan as it is then.

        The plan is the current one when `plan_id` is None; a new id makes a new plan. With `since`, entry
        numbers are those of that revision: they are followed to where the entries are now. `author` is by
        default who calls: a person, or a tool of the agent in its turn. Raises `PlanError`, also for an entry
        that is gone since, and for a plan that belongs to the host application.
        """
        changes = tuple(edits)

        def edit() -> Plan:
            target = self._target(plan_id)
            self._must_own_plans()
            current = changes if since is None else self._history(target).carried(changes, since)
            self._agent.edit_plan(target, current, author or self._author())
            return self.plans[target]

        return self._command(edit)

    def plan_history(self, plan_id: str | None = None) -> PlanHistory:
        """The revisions of a plan, the current one when `plan_id` is None; also of one that was removed.

        Raises `PlanError` for an id that no plan of this session has had.
        """
        if plan_id is not None and plan_id not in self._state.history:
            known = ", ".join(map(repr, self._state.history)) or "none"
            raise PlanError(f"there is no plan {plan_id!r}: this session's plans are {known}")
        return self._history(self._target(plan_id))

    def _history(self, plan_id: str) -> PlanHistory:
        return self._state.history.get(plan_id) or PlanHistory(Plan(plan_id=plan_id))

    def _target(self, plan_id: str | None) -> str:
        """The id of the plan that is meant, by default the current one's."""
        if plan_id is None:
            return DEFAULT_PLAN_ID if self._state.plan_id is None else self._state.plan_id
        if not isinstance(cast(Any, plan_id), str):
            raise PlanError(f"the id of a plan cannot be {plan_id!r}: use a str")
        return plan_id

    def _author(self) -> Author:
        """Who calls. Subscribers hear of a turn in its context, and are none of the agent's."""
        return "tool" if in_turn() is self and not self._telling else "person"

    def _must_own_plans(self) -> None:
        if not self._state.plans_editable:
            raise PlanError(NOT_OURS)

    def restore_plan(self, revision: int, plan_id: str | None = None) -> Plan:
        """Make a plan what it was at a revision, as a new revision. Also brings back a removed plan."""
        history = self.plan_history(plan_id)
        return self.edit_plan([SetPlan(history.plan_at(revision))], history.plan.plan_id)

    def undo_plan(self, plan_id: str | None = None) -> Plan:
        """Take back the latest change that a person made; what the model changed since stays.

        Again takes back the one before. Raises `PlanError` when there is none, when the same entries have
        been changed since, and for a plan that belongs to the host application.
        """

        def undo() -> Plan:
            history = self.plan_history(plan_id)
            target = history.plan.plan_id
            self._must_own_plans()
            self._agent.edit_plan(target, [SetPlan(history.undone())], self._author(), history.undoable)
            return self.plans[target]

        return self._command(undo)

    def read_plan(
        self,
        path: str | Path,
        plan_id: str | None = None,
        format: str | None = None,
        title: str | None = None,
    ) -> Plan:
        """Replace a plan with the one in a file (`acp_notebook.plan.formats`), and return it as it is then.

        It goes to `plan_id`, by default to the current plan. Of several plans in the file, `plan_id` chooses
        one; by default each goes where its own id says, and the last is returned. The format is told by the
        suffix, or by the text. Raises `AcpError` when no plan can be read; then nothing has changed.
        """
        return read_plans(self, named(path), plan_id, format, title)[-1]

    def export_plan(
        self,
        path: str | Path,
        plan_id: str | None = None,
        format: str | None = None,
        force: bool = False,
    ) -> Done:
        """Write a plan to a file, and say whether that was `written`, `updated` or `unchanged`.

        A file that a plan was read from is changed in place: what is not the plan's stays as it is. Any other
        file that exists is overwritten only with `force`. Without `plan_id` the plan is the one read from
        this file, or the current one; the format is told by the suffix. Raises `AcpError` when the file
        cannot be written, or has changed since it was read; then it is as it was.
        """
        return export_plan(self, named(path), plan_id, format, force)

    # -- settings ------------------------------------------------------------------------------------

    @property
    def config_options(self) -> tuple[ConfigOption, ...]:
        """All settings with the values in effect, in the agent's order."""
        return self._state.config

    def set_config(self, option_id: str, value: str | bool) -> str | bool:
        """Set an option and return the value in effect. Raises `ConfigError` naming the valid ones."""
        change = self.request_config(option_id, value)
        self.host.wait(change)
        if change.refusal is not None:
            raise change.refusal
        return next((option.current for option in self.config_options if option.id == option_id), value)

    def request_config(self, option_id: str, value: str | bool) -> ConfigChange:
        """Ask for the value of an option and return at once, for code that must not wait.

        Raises `ConfigError` for what is refused at once.
        """
        return self._command(lambda: self._request_config(option_id, value))

    def _request_config(self, option_id: str, value: str | bool) -> ConfigChange:
        option = next((option for option in self.config_options if option.id == option_id), None)
        if option is None:
            known = ", ".join(option.id for option in self.config_options)
            raise ConfigError(f"there is no option {option_id!r}: this session has {known or 'none'}")
        change = ConfigChange(self.name, option, value, self.update)
        author = "agent" if self._author() == "tool" else "person"
        change.take(self._agent.set_config(option_id, value, author))
        return change

    def _current(self, category: str) -> str | None:
        option = self._state.option(category)
        return str(option.current) if option else None

    def _offered(self, category: str) -> tuple[str, ...]:
        option = self._state.option(category)
        return tuple(value.value for value in option.values) if option else ()

    def _choose(self, category: str, value: str) -> str | bool:
        option = self._state.option(category)
        if option is None:
            raise ConfigError(f"this session has no {CALLED[category]} to choose")
        return self.set_config(option.id, value)

    @property
    def mode(self) -> str | None:
        """The mode in effect, or None when the agent has none."""
        return self._current("mode")

    @property
    def modes(self) -> tuple[str, ...]:
        return self._offered("mode")

    def set_mode(self, mode: str) -> str | bool:
        """Switch mode; a running turn follows at its next step. Returns the mode in effect."""
        return self._choose("mode", mode)

    @property
    def effort(self) -> str | None:
        """The thinking effort in effect, or None when the agent has none."""
        return self._current("thought_level")

    @property
    def efforts(self) -> tuple[str, ...]:
        return self._offered("thought_level")

    def set_effort(self, effort: str) -> str | bool:
        """Set the thinking effort; a running turn follows at its next step. Returns the effort in effect."""
        return self._choose("thought_level", effort)

    @property
    def model(self) -> str | None:
        """The model chosen for the next turn, or None when there is nothing to choose."""
        return self._current("model")

    @property
    def models(self) -> tuple[str, ...]:
        """The models that can be chosen."""
        return self._offered("model")

    def set_model(self, model: str) -> str | bool:
        """Choose the model of the next turn; one that runs goes on with its own. Returns the one chosen."""
        return self._choose("model", model)

    @property
    def usage(self) -> Usage:
        """What all turns took that have ended, however they ended."""
        return self._state.usage

    @property
    def commands(self) -> tuple[AvailableCommand, ...]:
        """The slash commands: prompts such as `/plan` or `/effort high` that do not reach the model."""
        return self._state.commands

    # -- permissions ---------------------------------------------------------------------------------

    @property
    def permissions(self) -> tuple[PermissionRequest, ...]:
        """Requests that wait for an answer, oldest first."""
        return tuple(self._requests.values())

    @property
    def rules(self) -> Rules:
        """Remembered decisions: iterable, with `add`, `remove` and `clear`."""
        return Rules(lambda: self._state.rules, self._command, self._agent)

    # -- end -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """End the session: cancel its turn, withdraw its requests, free its loop. Safe to call twice."""
        if self._state.closed:
            return
        if self.host.alive:
            self.host.call(self._close)
        else:  # the loop has ended, and with it all that waited there
            self._requests.clear()
            self._end()
        self.host.close()

    def _close(self) -> None:
        self._cancel()
        self._agent.close()
        self._end()

    def _end(self) -> None:
        if self._turns and self._turns[-1].running:  # nobody will hear the agent say so
            self._end_turn(StateUpdate("idle", "cancelled"))
        self._fold(Closed())

    def _command(self, function: Callable[[], Any]) -> Any:
        if self._state.closed:
            raise SessionClosed(
                f"session {self.name!r} is closed: start another with %acp start or Session(agent); "
                "a new one of the same name closes it, so give name= to keep both"
            )
        return self.host.call(function)

    def show_turn(self, turn: Turn) -> None:
        """Display a turn where there is something to display it on: only the notebook's session knows."""

    def __repr__(self) -> str:
        return f"<Session {self.name}: {'closed' if self._state.closed else self._state.status}>"


def in_turn() -> Session | None:
    """The session in whose running turn the caller is: its agent's tools and all that they call."""
    session = _turn_of.get()
    turn = session.state.turn if session is not None else None
    return session if turn is not None and turn.stop_reason is None else None
