"""The notebook with a section for each entry."""

from __future__ import annotations

import json

import nbformat
from hypothesis import given
from markdown_it import MarkdownIt

from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.plan.formats import write, write_all
from harness.plans import plans


def test_an_entry_is_a_section_with_a_cell_for_its_code() -> None:
    plan = Plan((PlanEntry("Load\n- all\n<b>", "high", "_x"), PlanEntry("Plot")), title="Survey")
    cells = json.loads(write(plan, "ipynb"))["cells"]
    assert [(cell["cell_type"], cell["id"], "".join(cell["source"])) for cell in cells] == [
        ("markdown", "plan-1", "# Survey\n\n0 of 2 done"),
        ("markdown", "plan-1-step-1", "## 1. Load\n\nStatus: _x · Priority: high\n\n- all\n\\<b>"),
        ("code", "plan-1-code-1", ""),
        ("markdown", "plan-1-step-2", "## 2. Plot\n\nStatus: pending"),
        ("code", "plan-1-code-2", ""),
    ]


@given(plans)
def test_the_notebook_is_valid_and_outlines_every_entry(plan: Plan) -> None:
    notebook = nbformat.reads(write_all([plan, plan], "ipynb"), as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    assert len(sources) == 2 * (1 + len(plan))
    for source in sources:
        tokens = MarkdownIt("commonmark").parse(source)
        assert tokens[0].type == "heading_open"
        assert not any(token.type == "html_block" for token in tokens)
