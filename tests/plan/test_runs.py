"""Plans of runs: what their entries say of steps, in every form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.plan.runs import DENIED, FAILED, RUN, SKIPPED, STEP, StepFacts, run_of, step_meta, step_of

RAN = Plan(
    (
        PlanEntry("b: create_backup()", status="completed", id="b", meta=step_meta(StepFacts(result='"bk"'))),
        PlanEntry(
            "v: validate(x=← b)",
            status=FAILED,
            id="v",
            meta=step_meta(StepFacts(uses=("b",), error="ValueError: no")),
        ),
        PlanEntry(
            "r: restore(x=← b, y=← v)", status=SKIPPED, id="r", meta=step_meta(StepFacts(uses=("b", "v")))
        ),
        PlanEntry("d: drop()", status=DENIED, id="d", meta=step_meta(StepFacts(error="keep it"))),
    ),
    title="Run",
    meta={RUN: {"id": "1a2b"}},
)


def test_what_is_known_of_a_step_is_read_back() -> None:
    facts = StepFacts({"x": "← b.id"}, ("b",), 1.5, 2.0, '"yes"', None, "allowed by you")
    assert step_of(PlanEntry("x", meta=step_meta(facts))) == facts
    assert step_of(PlanEntry("x")) is None and run_of(Plan()) is None and run_of(RAN) == "1a2b"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["arguments", "uses", "started", "result", "error", "id"]), inner
            )
        ),
    )
)
def test_anything_may_stand_there(value: object) -> None:
    facts = step_of(PlanEntry("x", meta={STEP: value}))
    assert facts is None or isinstance(facts.uses, tuple)
    assert run_of(Plan(meta={RUN: value})) is None or isinstance(value, dict)


@pytest.mark.parametrize("form", ["text", "html", "page"])
def test_every_form_says_how_steps_ended(form: str) -> None:
    shown = {"text": str(RAN), "html": RAN._repr_mimebundle_()["text/html"], "page": RAN.to("html")}[form]
    for said in (
        "1 of 4 done · 1 failed · 1 denied · 1 skipped",
        "failed",
        "denied",
        "ValueError: no",
        "keep it",
    ):
        assert said in shown
    assert "_failed" not in shown


def test_the_diagram_has_an_arrow_for_each_reference() -> None:
    lines = [line.strip() for line in RAN.to("mermaid").splitlines()]
    assert [line for line in lines if "-->" in line] == ["s1 --> s2", "s1 --> s3", "s2 --> s3"]
    assert "(failed)" in lines[5] and lines[5].endswith(":::failed")
    assert "classDef failed stroke-width:3px,stroke-dasharray:2 3" in lines
