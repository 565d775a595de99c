"""The plan as the model knows it, and as it is: what others change reaches the model before it writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..errors import PlanError, PlanIndexError
from ..plan import (
    DEFAULT_PLAN_ID,
    Author,
    Change,
    ClearEntries,
    Plan,
    PlanEntry,
    SetPlan,
    UpdateEntry,
    apply_edits,
)
from .plans import PlanChange, Plans

#: So many changes are told one by one.
TOLD = 10

_WHO: dict[Author, str] = {
    "person": "the person",
    "file": "a file",
    "tool": "one of your tools",
    "host": "the host application",
    "replay": "a replay",
}


@dataclass(slots=True)
class _Known:
    """What the model knows of one plan.

    `plan` is the plan that it was last told, with its own changes since. `by` is who else has changed it
    since then, and `since` how, as far as entry numbers are still to be followed; `replaced` says that
    somebody has put another plan in its place, where an entry with another text is another entry.
    """

    plan: Plan
    by: dict[Author, None] = field(default_factory=dict[Author, None])
    since: list[Change] = field(default_factory=list[Change])
    replaced: bool = False

    def learn(self, plan: Plan) -> None:
        self.plan = plan
        self.by.clear()
        self.since.clear()
        self.replaced = False

    def follow(self, index: int) -> int | None:
        """The number now of entry `index` of the known plan (1-based); None when it is gone."""
        now: int | None = index
        for change in self.since:
            if now is None:
                return None
            now = change.follow(now)
        return now


class ModelPlan:
    """The plan that the model's tools read and write, one and the same throughout a turn.

    What the model writes in one response it writes about the plan that it knew at the request. Where others
    have changed the plan meanwhile, entry numbers are followed to where the entries are now, and a whole new
    plan, which would undo their changes, is refused with news of them. `tell` has a line for the person each
    time that the model gets such news.
    """

    def __init__(self, plans: Plans, tell: Callable[[str], None]) -> None:
        self._plans = plans
        self._tell = tell
        self._plan_id = DEFAULT_PLAN_ID
        self._works_on: str | None = None  # the plan that the model takes for its own
        self._plans_known: dict[str, _Known] = {}
        self._in_turn = False
        self._refused = False
        plans.watchers.append(self._watch)

    def copy(self, other: ModelPlan) -> None:
        """Begin with what the model of a session that is forked knows; between turns."""
        self._works_on = other._works_on
        for plan_id, known in other._plans_known.items():  # a host's plan may be another one by now
            by = {**known.by, **self._of(plan_id).by}
            self._plans_known[plan_id] = replace(known, by=by, since=[])

    def begin_turn(self) -> None:
        """From here on the tools work on the plan that is the current one now."""
        self._plan_id = self._plans.current
        self._in_turn = True
        known = self._known
        if known.by:  # the first request tells it; until then numbers are those of the plan that it knows
            known.since.append(Change.between(known.plan, self.plan))
            known.replaced = True

    def end_turn(self) -> None:
        self._in_turn = False
        self._known.since.clear()  # the next turn begins with news

    @property
    def plan(self) -> Plan:
        """The plan as it is now."""
        return self._plans.get(self._plan_id)

    @property
    def _known(self) -> _Known:
        return self._of(self._plan_id)

    def _of(self, plan_id: str) -> _Known:
        known = self._plans_known.get(plan_id)
        if known is None:
            known = self._plans_known[plan_id] = _Known(Plan(plan_id=plan_id))
        return known

    def _watch(self, change: PlanChange) -> None:
        if change.author == "model":
            return
        plan_id = change.after.plan_id
        known = self._of(plan_id)
        known.by[change.author] = None
        if self._in_turn and plan_id == self._plan_id:
            known.since.append(Change.between(change.before, change.after))
            known.replaced |= any(isinstance(edit, SetPlan | ClearEntries) for edit in change.edits)

    # -- what the model writes -----------------------------------------------------------------------

    def set(self, entries: tuple[PlanEntry, ...], content: str | None) -> Plan:
        """A whole new plan; `content` None leaves the Markdown text that there is. Raises `PlanError`."""
        known = self._known
        self._check()
        if known.by and (news := self._news()):
            self._refused = True
            raise PlanError("; ".join([news.what, *_few(news.lines)]))
        now = self.plan
        if content is None and now.type == "items":  # else its text is a plan itself, which this one replaces
            content = now.content
        new = Plan(entries, title=now.title, content=content or None)
        known.learn(new)  # first, for whoever hears of the change may make another one
        known.plan = self._plans.edit(self._plan_id, [SetPlan(new)], "model")
        self._works_on = self._plan_id
        return known.plan

    def update(self, edit: UpdateEntry) -> tuple[int, Plan]:
        """Change one entry of the plan that the model knows; returns its number now, and the plan.

        Raises `PlanError` when the entry is gone, or when others have given it another text, too.
        """
        known = self._known
        self._check()
        self._works_on = self._plan_id
        if not known.by:
            plan = known.plan = self._plans.edit(self._plan_id, [edit], "model")
            return edit.index, plan
        index = self._follow(edit, known)
        known.plan = apply_edits(known.plan, [edit])
        return index, self._plans.edit(self._plan_id, [replace(edit, index=index)], "model")

    def _check(self) -> None:
        if self._refused:
            raise PlanError(
                "this belongs to a plan of yours that was not taken: see the answer to acp_set_plan"
            )

    def _follow(self, edit: UpdateEntry, known: _Known) -> int:
        if not 1 <= edit.index <= len(known.plan):
            raise PlanIndexError(edit.index, len(known.plan))
        said = known.plan[edit.index - 1].content
        index = known.follow(edit.index)
        now = None if index is None else self.plan[index - 1].content
        who = _names(known)
        if index is None or (known.replaced and now != said):
            raise PlanError(f"entry {edit.index}, {said!r}, is no longer in the plan, which {who} changed")
        if edit.content is not None and now not in (said, edit.content):
            raise PlanError(f"entry {index} was reworded by {who}: it is now {now!r}")
        return index

    # -- what the model is told ----------------------------------------------------------------------

    def unseen(self, plan_id: str) -> Change:
        """What people have changed in a plan since the model saw it; nothing where it never did."""
        known = self._of(plan_id)
        if not known.plan or not known.by.keys() - {"host", "tool"}:
            return Change()
        return Change.between(known.plan, self._plans.get(plan_id))

    def note(self, can_read: bool) -> str | None:
        """What the next request has to tell the model of its plan; None when it knows it.

        `can_read` says whether it could call `acp_get_plan` for more.
        """
        self._refused = False
        elsewhere = self._works_on not in (None, self._plan_id)
        if not elsewhere and not self._known.by:
            return None
        said: list[str] = []
        if elsewhere:
            said.append(f"Your plan is now another one, {self.plan.title or self._plan_id!r}.")
        if news := self._news():
            said.append(f"{news.what[0].upper()}{news.what[1:]}{':' if news.lines else '.'}")
            said.extend(f"- {line}" for line in _few(news.lines, can_read))
            said.append("Work on the plan as it is now.")
        self._works_on = self._plan_id
        return "\n".join(said) or None

    def _news(self) -> _News | None:
        """What others have changed since the model last heard of the plan, which it hereby does."""
        known, now = self._known, self.plan
        change = Change.between(known.plan, now)
        removed = bool(change) and self._plans.find(self._plan_id) is None
        what = f"the plan was {'removed' if removed else 'changed'} by {_names(known)} since you last saw it"
        told = known.by.keys() != {"tool"}  # what the agent does itself is no news of a person's to it
        known.learn(now)
        if not change:
            return None
        if told:
            self._tell(f"Told the agent: {'the plan was removed' if removed else change.summary}")
        return _News(what, [] if removed else change.lines())


class _News(NamedTuple):
    what: str
    lines: list[str]


def _names(known: _Known) -> str:
    return " and ".join(_WHO.get(author, author) for author in known.by)


def _few(lines: list[str], can_read: bool = False) -> list[str]:
    """The first of the lines, and how many more there are."""
    if len(lines) <= TOLD:
        return lines
    more = f"and {len(lines) - TOLD} more"
    return [*lines[:TOLD], f"{more}: read them with acp_get_plan" if can_read else more]
