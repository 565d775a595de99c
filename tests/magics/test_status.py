"""`%acp log`, `debug` and `doctor`."""

from __future__ import annotations

import logging

from harness.cells import Cells


def test_the_log_by_number_and_level(cells: Cells) -> None:
    log = logging.getLogger("acp_notebook.test")
    for n in range(3):
        log.info("note %d", n)
    log.warning("careful")
    assert cells.run("%acp log 2").text.splitlines()[0].endswith("INFO note 2")
    assert cells.run("%acp log --level warning 1").text.endswith("WARNING careful\n")
    assert cells.fails("%acp log --level loud") == "'loud' is not a level: use debug, info, warning, error"
    assert cells.fails("%acp log many") == "'many' is not a number"


def test_debug_shows_the_latest_error_in_full(cells: Cells) -> None:
    assert cells.run("%acp debug").text == "Nothing has gone wrong so far.\n"
    cells.fails("%acp plan done x")
    assert "whole_number" in cells.run("%acp debug").text


def test_doctor_reports_on_environment_and_kernel(cells: Cells) -> None:
    text = cells.run("%acp doctor").text
    assert "pydantic-ai-slim" in text
    assert "no session yet" in text
