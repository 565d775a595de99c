"""A sweep as table and picture, for people who have no kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic_ai import Agent

from acp_notebook import Call, Say, ScriptedModel, Session
from acp_notebook.sweeps import Sweep
from acp_notebook.views.sweep import picture_piece, sweep_bundle


@pytest.fixture(scope="module")
def sweep() -> Iterator[Sweep]:
    model = ScriptedModel(name="demo")

    @model.script()
    def script(turn: Any) -> Any:
        if turn.thinking == "medium":
            raise RuntimeError("no | such <thing>")
        yield Call("acp_set_plan", entries=[{"content": "One"}])
        yield Say(f"# {turn.thinking}\n\n" + "word " * 100)

    session = Session(Agent(model, name="<b>bold</b>"), host="thread")
    yield session.sweep("Compare | <this>", efforts=["low", "medium", "high"])
    session.close()


def test_the_table_has_a_row_for_each_setting(sweep: Sweep) -> None:
    lines = sweep_bundle(sweep)["text/plain"].splitlines()
    assert lines[0] == "<b>bold</b>: Compare | <this>"
    assert lines[2].split() == ["Effort", "Plan", "Time", "Requests", "Tokens", "Cost", "Answer"]
    low, medium, high = (re.split(r"  +", line) for line in lines[3:6])
    assert low[:2] == ["low", "0 of 1 done"] and low[3] == "2" and low[5] == "–"
    assert low[6].startswith("low word word") and low[6].endswith("…")
    assert medium[1] == "–" and "no | such <thing>" in medium[-1] and medium[-1].startswith("✗")
    assert high[0] == "high"


def test_markdown_and_html_escape_what_they_show(sweep: Sweep) -> None:
    bundle = sweep_bundle(sweep)
    assert r"Compare \| &lt;this>" in bundle["text/markdown"]
    assert r"no \| such &lt;thing>" in bundle["text/markdown"]
    html = bundle["text/html"]
    assert "<this>" not in html and "<thing>" not in html and "<b>bold" not in html
    assert "<button" not in html and "<script" not in html
    assert html.count("<details><summary>") >= 3  # each turn, whole


def test_the_picture_says_what_it_shows(sweep: Sweep) -> None:
    piece = picture_piece(sweep)
    assert piece is not None
    html, text = piece.html, piece.text
    (label,) = re.findall(r'<svg [^>]*aria-label="([^"]*)"', html)
    assert re.fullmatch(r"Time: low .*, medium .*, high .*\. Tokens: low [\d,]+, .*high [\d,]+\.", label)
    assert 'role="img"' in html and html.count('class="acp-bar-time"') == 3
    assert text.startswith("Time\n  low     █") and "Tokens\n" in text


def test_one_that_runs_has_no_picture_yet() -> None:
    session = Session("demo", host="thread")
    sweep = session.start_sweep("Clean the survey data", efforts=["low", "high"])
    running = sweep_bundle(sweep)
    assert "<svg" not in running["text/html"]
    assert "runs …" in running["text/plain"] and "waits" in running["text/plain"]
    session.close()
    sweep.finished.result(20)


def test_it_shows_itself(sweep: Sweep) -> None:
    assert set(sweep._repr_mimebundle_()) == {"text/html", "text/markdown", "text/plain"}
    assert repr(sweep).startswith("<Sweep of <b>bold</b>: low end_turn, medium error, high")
