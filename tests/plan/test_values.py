"""Plans from what people have at hand, and as data frames."""

from __future__ import annotations

import sys
from typing import Any

import pandas
import pytest
from hypothesis import given, settings

from acp_notebook.errors import PlanError
from acp_notebook.plan import STATUSES, Plan, PlanEntry
from acp_notebook.plan.values import as_plan
from harness.plans import plans

PLAN = Plan((PlanEntry("Load", "high", "completed"), PlanEntry("Plot", id="p")), title="T")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (PLAN, PLAN),
        ("- [x] a", Plan((PlanEntry("a", status="completed"),))),
        ("task,status\na,done", Plan((PlanEntry("a", status="completed"),))),
        ({"title": "T", "todos": ["a"]}, Plan((PlanEntry("a"),), title="T")),
        (
            ["a", PlanEntry("b", "low"), {"content": "c"}],
            Plan((PlanEntry("a"), PlanEntry("b", "low"), PlanEntry("c"))),
        ),
        ((name for name in ("a",)), Plan((PlanEntry("a"),))),
        (pandas.Series(["a"]), Plan((PlanEntry("a"),))),
    ],
)
def test_whatever_can_be_a_plan(value: Any, expected: Plan) -> None:
    assert as_plan(value) == expected


def test_frames_of_odd_shapes() -> None:
    with pytest.raises(PlanError, match="no column of this table has the texts of entries"):
        as_plan(pandas.DataFrame())
    twice = pandas.DataFrame([["a", "b"]], columns=["content", "content"])
    assert as_plan(twice) == Plan((PlanEntry("a"),))
    assert as_plan(pandas.DataFrame({"content": []})) == Plan()


def test_what_is_no_plan_is_refused() -> None:
    with pytest.raises(PlanError, match="3 is not a plan: use a Plan, Markdown text or a list of entries"):
        as_plan(3)


def test_a_frame_is_what_a_user_of_pandas_expects() -> None:
    frame = PLAN.to_frame()
    assert list(frame.columns) == ["content", "status", "priority", "id"]
    assert list(frame.index) == [1, 2]
    assert frame.loc[1, "status"] == "completed"
    assert frame[frame.priority == "high"].content.tolist() == ["Load"]
    assert frame.attrs == {"title": "T"}
    assert list(Plan().to_frame().columns) == ["content", "status", "priority"]
    with pytest.raises(PlanError, match="a plan of type 'file' is no table"):
        Plan(type="file", uri="file:///p").to_frame()


@given(plans)
@settings(max_examples=30)
def test_a_frame_holds_every_text(plan: Plan) -> None:
    known = Plan(tuple(e for e in plan if e.status in STATUSES and e.priority == "high"), title=plan.title)
    frame = known.to_frame()
    assert [(row.content, row.status, row.priority) for row in frame.itertuples()] == [
        (entry.content, entry.status, entry.priority) for entry in known
    ]
    assert [entry.content for entry in as_plan(frame)] == [entry.content for entry in known]


def test_frames_as_people_have_them() -> None:
    frame = pandas.DataFrame(
        {
            "Nr": [1, 2, None, 4],
            "Task": ["Load", "Plot", "Report", None],
            "Done": [True, False, pandas.NA, None],
            "Prio": ["High", float("nan"), "low", None],
            "Due": pandas.to_datetime(["2026-01-01"] * 4),
        }
    )
    assert as_plan(frame) == Plan(
        (
            PlanEntry("Load", "high", "completed", "1"),
            PlanEntry("Plot", id="2"),
            PlanEntry("Report", "low"),
        )
    )
    assert [entry.content for entry in as_plan(pandas.DataFrame({0: ["a", "b"]}))] == ["a", "b"]
    assert as_plan(PLAN.to_frame()) == PLAN


def test_a_frame_without_texts_is_refused() -> None:
    with pytest.raises(PlanError, match="no column of this table has the texts of entries: name its columns"):
        as_plan(pandas.DataFrame({"a": [1], "b": [2]}))


def test_without_pandas_a_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(PlanError, match=r"^a data frame needs pandas: %pip install pandas$"):
        PLAN.to_frame()
