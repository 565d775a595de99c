"""The plans of one session on the agent's side: where every change of a plan comes through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..errors import PlanError
from ..plan import DEFAULT_PLAN_ID, Author, Plan, PlanEdit, apply_edits
from ..protocol.messages import PlanRemoved, PlanUpdate, Update


class PlanChange(NamedTuple):
    """A plan was `before` and is `after`, empty once it is removed. `edits` are empty for a removal."""

    before: Plan
    after: Plan
    author: Author
    edits: Sequence[PlanEdit] = ()


class Plans:
    """All plans by id. `current` is the id of the one that changed last.

    `watchers` hear of a change before the client does, since a subscriber there may change the plan at once;
    what may do so itself has its turn in `afterwards`.
    """

    def __init__(self, send: Callable[[Update], None]) -> None:
        self.current = DEFAULT_PLAN_ID
        self.watchers: list[Callable[[PlanChange], None]] = []
        self.afterwards: list[Callable[[], None]] = []
        self._send = send
        self._plans: dict[str, Plan] = {}

    def find(self, plan_id: str) -> Plan | None:
        """The plan with this id, None when there is none."""
        return self._plans.get(plan_id)

    def get(self, plan_id: str) -> Plan:
        """The plan with this id, an empty one when there is none."""
        plan = self._plans.get(plan_id)
        return Plan(plan_id=plan_id) if plan is None else plan

    def edit(
        self, plan_id: str, edits: Sequence[PlanEdit], author: Author, undoes: int | None = None
    ) -> Plan:
        """Apply edits, all or none, and return what they made of the plan. Raises `PlanError`."""
        before = self.get(plan_id)
        plan = self._plans[plan_id] = apply_edits(before, edits)
        self.current = plan_id
        self._tell(PlanChange(before, plan, author, edits), PlanUpdate(plan, author, undoes))
        return plan

    def copy(self, other: Plans) -> None:
        """Begin with the plans of a session that is forked, whose client knows them already."""
        self.current, self._plans = other.current, dict(other._plans)

    def choose(self, plan_id: str) -> None:
        """Make a plan the current one, for the client too; nothing of it changes."""
        if plan_id != self.current and (plan := self._plans.get(plan_id)) is not None:
            self.current = plan_id
            self._send(PlanUpdate(plan))

    def remove(self, plan_id: str, author: Author) -> None:
        """Take a plan away. Raises `PlanError` when there is none with this id."""
        before = self._plans.pop(plan_id, None)
        if before is None:
            raise PlanError(
                f"there is no plan {plan_id!r}: the plans are {', '.join(map(repr, self._plans)) or 'none'}"
            )
        if self.current == plan_id:
            self.current = next(reversed(self._plans), DEFAULT_PLAN_ID)
        self._tell(PlanChange(before, Plan(plan_id=plan_id), author), PlanRemoved(plan_id, author))

    def _tell(self, change: PlanChange, update: Update) -> None:
        for watcher in self.watchers:
            watcher(change)
        self._send(update)
        for go_on in self.afterwards:
            go_on()
