"""The plan as a widget of its own: traits to observe and to link."""

from __future__ import annotations

from typing import Any

import ipywidgets
import pytest
import traitlets

from acp_notebook.errors import PlanError, SessionClosed
from acp_notebook.kernel.host import ThreadHost
from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.views.plan_view import plan_view
from harness.puppet import PLAN, PageComm, PuppetSession


def test_it_follows_the_plan(session: PuppetSession) -> None:
    view = plan_view(session)
    assert view.plan == Plan() and view.progress == (0, 0) and view.fraction == 0.0
    seen: list[tuple[str, Any]] = []
    view.observe(
        lambda change: seen.append((change["name"], change["new"])), ["plan", "progress", "fraction"]
    )
    session.set_plan(PLAN)
    assert seen == [("plan", session.plan), ("progress", (2, 6)), ("fraction", pytest.approx(1 / 3))]
    seen.clear()
    session.update_entry(4, content="other words")
    assert seen == [("plan", session.plan)]
    seen.clear()
    session.prompt("Go")
    assert seen == []


def test_setting_the_plan_is_an_edit_by_a_person(session: PuppetSession) -> None:
    view = plan_view(session)
    view.plan = Plan((PlanEntry("one"), PlanEntry("two", status="completed")))
    assert session.plan == view.plan and view.progress == (1, 2) and view.fraction == 0.5
    assert session.plan_history()[-1].author == "person"
    for same in ("- [ ] one\n- [x] two\n", ["one", {"content": "two", "status": "completed"}]):
        view.plan = same
        assert isinstance(view.plan, Plan) and view.progress == (1, 2)
    assert len(session.plan_history()) == 1
    for nothing in (5, None, [PlanEntry(3)]):  # type: ignore[arg-type]
        with pytest.raises(PlanError):
            view.plan = nothing
    assert view.plan is session.plan and len(view.plan) == 2


def test_one_of_several_plans(session: PuppetSession) -> None:
    session.set_plan(Plan((PlanEntry("a"),), plan_id="a"))
    view, current = plan_view(session, "a"), plan_view(session)
    session.set_plan(Plan((PlanEntry("b", status="completed"),), plan_id="b"))
    assert view.plan[0].content == "a" and current.plan[0].content == "b"
    assert "Plan: " not in view._static()["text/html"] and ">a<" in view._static()["text/html"]
    view.plan = ["A"]
    assert session.plans["a"][0].content == "A" and session.plans["b"][0].content == "b"
    session.remove_plan("a")
    assert view.plan == Plan(plan_id="a") and view.progress == (0, 0)


def test_links(session: PuppetSession) -> None:
    view = plan_view(session)
    bar, words = ipywidgets.FloatProgress(max=1.0), ipywidgets.Label()
    traitlets.dlink((view, "fraction"), (bar, "value"))
    traitlets.dlink((view, "progress"), (words, "value"), "{0[0]} of {0[1]}".format)
    session.set_plan(PLAN)
    session.mark_done(3)
    assert bar.value == 0.5 and words.value == "3 of 6"
    box = ipywidgets.VBox([view, bar])
    assert box.children[0] is view
    for widget in (box, bar, words):
        widget.close()


def test_plans_of_two_sessions_linked(session: PuppetSession) -> None:
    other = PuppetSession(ThreadHost())
    link = traitlets.link((plan_view(session), "plan"), (plan_view(other), "plan"))
    session.set_plan(PLAN)
    assert other.plan == PLAN
    other.mark_done(3)
    assert session.plan[2].status == "completed"
    link.unlink()
    other.close()


def test_what_is_read_only_stays_what_it_is(session: PuppetSession) -> None:
    view = plan_view(session)
    session.set_plan(PLAN)
    for name in ("progress", "fraction"):
        with pytest.raises(traitlets.TraitError):
            setattr(view, name, 1.0)
    view.set_state({"fraction": 0.9})  # a slider linked to it on the page
    assert view.fraction == pytest.approx(1 / 3)


def test_the_page_hears_of_the_fraction(session: PuppetSession) -> None:
    view = plan_view(session)
    assert view.get_state()["fraction"] == 0.0
    session.set_plan(PLAN)
    comm: PageComm = view.comm
    assert {"fraction": pytest.approx(1 / 3)} in [m.get("state") for m in comm.sent]


def test_after_the_session_closed(session: PuppetSession) -> None:
    view = plan_view(session)
    session.set_plan(PLAN)
    session.close()
    assert view.plan == PLAN and view.fraction == pytest.approx(1 / 3)
    state = view.comm.state()
    assert state["final"] and "Drop the 14" in str(state["parts"]) and "<button" not in str(state["parts"])
    assert not any(message["type"] == "comm_close" for message in view.comm.sent)
    assert "Drop the 14" in view.bundle()["text/html"]
    with pytest.raises(SessionClosed):
        view.plan = ["new"]
    late = plan_view(session)
    assert late.plan == PLAN and late.get_state()["state"]["final"]
    view.close()
    late.close()
