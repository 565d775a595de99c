"""Tables of records, as pages show them."""

from __future__ import annotations

from acp_notebook.steps.record_text import html_table


def test_a_table_reads_from_its_start_and_breaks_no_short_value() -> None:
    html = html_table(("took", "result"), [("0.002 s", "<b> " + "long " * 8)])
    assert '<td style="text-align:left;white-space:nowrap" dir="auto">0.002 s</td>' in html
    assert '<td style="text-align:left" dir="auto">&lt;b&gt; long' in html
