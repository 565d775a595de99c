"""`%acp log`, `debug` and `doctor`."""

from __future__ import annotations

import logging
import re

from acp_notebook import current
from acp_notebook.protocol import v2
from acp_notebook.protocol.messages import UnknownUpdate
from harness.cells import Cells
from harness.updates import Json


def test_the_log_by_number_and_level(cells: Cells) -> None:
    log = logging.getLogger("acp_notebook.test")
    for n in range(3):
        log.info("note %d", n)
    log.warning("careful")
    assert cells.run("%acp log 2").text.splitlines()[0].endswith("INFO note 2")
    assert cells.run("%acp log --level warning 1").text.endswith("WARNING careful\n")
    assert cells.fails("%acp log --level loud") == "'loud' is not a level: use debug, info, warning, error"
    assert cells.fails("%acp log many") == "'many' is not a number"


def test_status_sums_what_the_turns_took(echo: Cells) -> None:
    assert "request" not in echo.run("%acp status").text
    for _ in range(2):
        echo.run("%acp ask hello")
    assert re.search(r" · turn 2 end_turn · 2 model requests, \d+ tokens\n$", echo.run("%acp status").text)


def test_faults_in_updates_are_counted_and_to_be_read(echo: Cells) -> None:
    session = current()
    assert session and "updates" not in echo.run("%acp status").text

    def send(*updates: Json) -> None:
        for update in updates:
            session.host.call(lambda update=update: session.update(*v2.read({"update": update})))

    entries = [{"content": "load", "api_key": "sk-123"}, {"api_key": "sk-123"}, 5]
    plan = {"type": "items", "planId": "p", "entries": entries}
    send({"sessionUpdate": "plan_update", "plan": plan}, {"sessionUpdate": "plan"})
    send(*({"sessionUpdate": "terminal_\u202eupdate"} for _ in range(3)))
    assert echo.run("%acp status").text.endswith(" · 4 faults in the agent's updates (%acp log)\n")
    assert [entry.content for entry in session.plan] == ["load"]
    shown = echo.run("%acp log 4").text
    for line in (
        "WARNING echo: entry skipped: plan_update 'p': the 'content' of entry 2 is null, not a text; entry",
        "INFO echo: entry mended: plan_update 'p': entry 1: its priority is null, its status is null",
        "WARNING echo: update refused: plan: 'entries' is null, not a list, so the plan stays as it is",
        "INFO echo: updates of the kind 'terminal_\\u202eupdate' are not known: kept, not shown",
        "echo: faults in updates: entry skipped 2, entry mended 1, update refused 1\n",
        "echo: updates not known: terminal_[U+202E]update 3\n",
    ):
        assert line in shown
    assert "sk-123" not in shown


def test_an_agent_that_does_everything_wrong_leaves_room_in_the_log(echo: Cells) -> None:
    session = current()
    assert session
    wrong = v2.read({"update": {"sessionUpdate": "plan"}})
    unknown = [UnknownUpdate(f"kind {n}") for n in range(300)]
    session.host.call(lambda: session.update(*wrong * 300, *unknown))
    shown = echo.run("%acp log 400")
    assert "update refused: more of this kind are only counted" in shown.text
    assert 100 <= sum("update refused: plan: 'entries'" in line for line in shown.lines) < 110
    assert sum("updates of the kind 'kind " in line for line in shown.lines) < 100
    assert shown.lines[-2].endswith("faults in updates: update refused 300")
    assert shown.lines[-1].startswith("echo: updates not known: … 200, kind 0 1, ")
    assert shown.lines[-1].endswith(", and 91 more kinds")


def test_debug_shows_the_latest_error_in_full(cells: Cells) -> None:
    assert cells.run("%acp debug").text == "Nothing has gone wrong so far.\n"
    cells.fails("%acp plan done x")
    assert "whole_number" in cells.run("%acp debug").text


def test_doctor_reports_on_environment_and_kernel(cells: Cells) -> None:
    text = cells.run("%acp doctor").text
    assert "pydantic-ai-slim" in text
    assert "no session yet" in text
