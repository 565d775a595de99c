"""A plan as a widget of its own, to stand next to others and to be linked with them."""

# ipywidgets and traitlets have hardly any types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import traitlets

from ..plan import Plan
from ..session.session import Session, as_plan
from ..session.state import Event, SessionState
from .session import plan_of, render_plan
from .widget import View


class AnyPlan(traitlets.Any):
    """Takes whatever can be a plan; a None, too, has to get as far as where it is refused."""

    allow_none = False


class PlanView(View):
    """One plan of a session, live: for dashboards, beside other widgets, linked with them.

    `plan_id` is the plan's; None follows the current one. It stays when the session closes, with the plan as
    it was then and without controls; `close()` ends it.
    """

    plan = AnyPlan()
    """The plan, a `Plan`. Setting it, also to Markdown text or a list of steps, replaces the session's plan
    as a person's edit, and raises `PlanError` or `SessionClosed` when that cannot be."""

    progress = traitlets.Tuple(traitlets.Int(), traitlets.Int(), read_only=True)
    """`(done, total)`: how many steps are completed, of how many."""

    fraction = traitlets.Float(read_only=True).tag(sync=True)
    """`done / total`, from 0.0 to 1.0, and 0.0 for a plan without steps. The page knows it too: `jslink` and
    `jsdlink` it to the `value` of a `FloatProgress(max=1.0)`."""

    def __init__(self, session: Session, plan_id: str | None = None) -> None:
        #: What the session has said last.
        self._said: Plan | None = None
        super().__init__(session, render_plan(plan_id), "plan", plan_id=plan_id)
        self._follow(session.state)

    def _changed(self, state: SessionState, event: Event) -> None:
        super()._changed(state, event)
        self._follow(state)

    def _follow(self, state: SessionState) -> None:
        plan = plan_of(state, self._plan_id)
        if plan != self._said:
            self._said = plan
            self.plan = plan
            self.set_trait("progress", plan.progress)
            self.set_trait("fraction", _fraction(plan))

    @traitlets.validate("plan")
    def _edit(self, proposal: Any) -> Plan:
        value = proposal["value"]
        if value is not self._said:
            target = self._session.plan.plan_id if self._plan_id is None else self._plan_id
            self._session.set_plan(as_plan(value), target)
        return plan_of(self._session.state, self._plan_id)

    @traitlets.validate("fraction")
    def _as_it_is(self, proposal: Any) -> float:
        """A link from the page cannot change it."""
        return _fraction(self.plan)

    def _end(self) -> None:
        self.send_state("state")  # pages that show it later have nobody to say hello to


def _fraction(plan: Plan) -> float:
    done, total = plan.progress
    return done / total if total else 0.0


def plan_view(session: Session, plan_id: str | None = None) -> PlanView:
    """A view of one plan alone; None follows the current one."""
    if not session.host.alive:
        return PlanView(session, plan_id)
    return session.host.call(lambda: PlanView(session, plan_id))
