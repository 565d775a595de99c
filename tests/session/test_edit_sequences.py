"""Any order of edits, by the model and by people, ends in one agreed plan whose past can be walked back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.agent.model_plan import ModelPlan
from acp_notebook.errors import PlanError
from acp_notebook.kernel.host import ThreadHost
from acp_notebook.plan import (
    AddEntry,
    ClearEntries,
    MoveEntry,
    Plan,
    PlanEdit,
    PlanEntry,
    RemoveEntry,
    SetPlan,
    UpdateEntry,
)
from acp_notebook.protocol.messages import PlanRemoved, PlanUpdate
from acp_notebook.session.state import Event, SessionState
from harness.puppet import PuppetSession

Step = Callable[["Both"], Any]


@dataclass
class Both:
    """A session, the model's view of its plans, and every state that each plan has had."""

    session: PuppetSession
    model: ModelPlan
    seen: dict[str, list[tuple[bool, Plan]]]

    def see(self, state: SessionState, event: Event) -> None:
        if isinstance(event, PlanUpdate):
            now = (False, event.plan)
        elif isinstance(event, PlanRemoved):
            now = (True, self.seen[event.plan_id][-1][1])
        else:
            return
        seen = self.seen.setdefault(now[1].plan_id, [])
        if not seen or seen[-1] != now:
            seen.append(now)


texts = st.sampled_from(["load", "clean", "plot", "plot", "report"])
numbers = st.integers(1, 5)
statuses = st.sampled_from(["pending", "in_progress", "completed", "_blocked"])
plan_ids = st.sampled_from(["p1", "p1", "p2"])
entries = st.lists(st.builds(PlanEntry, texts, status=statuses), max_size=5).map(tuple)
edits: st.SearchStrategy[PlanEdit] = st.one_of(
    st.builds(AddEntry, texts, at=st.none() | numbers),
    st.builds(UpdateEntry, numbers, content=texts),
    st.builds(UpdateEntry, numbers, status=statuses),
    st.builds(MoveEntry, numbers, numbers),
    st.builds(RemoveEntry, numbers),
    st.builds(SetPlan, st.builds(Plan, entries, title=st.none() | texts)),
    st.just(ClearEntries()),
)


def person(changes: list[PlanEdit], plan_id: str, late: int) -> Step:
    """A person's edits, of the plan as it was `late` revisions ago."""

    def edit(both: Both) -> None:
        known = len(both.session.state.history.get(plan_id, ()))
        since = max(1, known - late) if known and late else None
        both.session.edit_plan(changes, plan_id, since=since)

    return edit


def undo(plan_id: str) -> Step:
    return lambda both: both.session.undo_plan(plan_id)


def restore(plan_id: str, number: int) -> Step:
    return lambda both: both.session.restore_plan(number, plan_id)


def remove(plan_id: str) -> Step:
    return lambda both: both.session.remove_plan(plan_id)


def model_sets(entries: tuple[PlanEntry, ...]) -> Step:
    return lambda both: both.session.do(both.model.set, entries, None)


def model_updates(edit: UpdateEntry) -> Step:
    return lambda both: both.session.do(both.model.update, edit)


def model_asks(both: Both) -> None:
    """The model's next request, with which it hears what others have changed."""
    both.session.do(both.model.note, True)


def turn(both: Both) -> None:
    """The turn ends, and another begins with a request."""
    both.session.do(both.model.end_turn)
    both.session.do(both.model.begin_turn)
    model_asks(both)


steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(person, st.lists(edits, min_size=1, max_size=3), plan_ids, st.integers(0, 3)),
    st.builds(undo, plan_ids),
    st.builds(restore, plan_ids, st.integers(1, 6)),
    st.builds(remove, plan_ids),
    st.builds(model_sets, entries),
    st.builds(model_updates, st.builds(UpdateEntry, numbers, st.none() | texts, statuses)),
    st.just(model_asks),
    st.just(turn),
)


@pytest.fixture(scope="module")
def host() -> Iterator[ThreadHost]:
    host = ThreadHost()
    yield host
    host.close()


@given(st.lists(steps, max_size=20))
@settings(deadline=None, database=None)
def test_any_order_of_edits_ends_in_one_agreed_plan(host: ThreadHost, sequence: list[Step]) -> None:
    session = PuppetSession(host)
    both = Both(session, ModelPlan(session.puppet.plans, lambda news: None), {})
    session.subscribe(both.see)
    turn(both)
    for step in sequence:
        before = session.state
        try:
            step(both)
        except PlanError:
            assert session.state is before  # all or nothing
        agree(both)
    for plan_id, seen in both.seen.items():
        history = session.plan_history(plan_id)
        numbers = range(1, len(history) + 1)
        walked = [(revision.removed, history.plan_at(revision.number)) for revision in history]
        assert walked == seen and [revision.number for revision in history] == [*numbers]
        assert all(history.diff(n).apply(history.plan_at(n)) == history.plan for n in numbers)


def agree(both: Both) -> None:
    """Agent, session and history have the same plans."""
    session, plans = both.session, both.session.puppet.plans
    assert {plan_id: plans.find(plan_id) for plan_id in session.plans} == session.plans
    for plan_id, history in session.state.history.items():
        assert history.removed == (plans.find(plan_id) is None) == (plan_id not in session.plans)
        assert history.removed or history.plan == session.plans[plan_id]
    if session.state.plan_id is not None:
        assert session.plan == plans.get(plans.current)


@given(st.lists(st.tuples(st.booleans(), edits), max_size=12))
@settings(deadline=None, database=None)
def test_what_people_undo_is_undone_in_turn(host: ThreadHost, changes: list[tuple[bool, PlanEdit]]) -> None:
    """Without anybody else's changes, undo goes back to the beginning."""
    session = PuppetSession(host)
    session.edit_plan([SetPlan(Plan((PlanEntry("load"), PlanEntry("plot"))))], "p", author="model")
    first = session.plan
    before: list[Plan] = []
    for undo, edit in changes:
        try:
            if undo:
                assert session.undo_plan() == before.pop()
            else:
                old = session.plan
                if session.edit_plan([edit]) != old:
                    before.append(old)
        except (PlanError, IndexError):
            pass
    while before:
        assert session.undo_plan() == before.pop()
    assert session.plan == first
    with pytest.raises(PlanError, match="nothing to undo"):
        session.undo_plan()
