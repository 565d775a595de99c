"""Exports as people see them: the diagram in a notebook, and the page for those who have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, expect

from acp_notebook.plan import Plan, PlanEntry
from harness.jupyter import App, NotebookPage
from harness.puppet import PLAN

Use = Callable[..., NotebookPage]

MARKUP = PlanEntry('- [x] <b>"quoted"</b> `code` #35; *a*\n1. two', status="_;end")

SET = f"""
%load_ext acp_notebook
from acp_notebook import Plan, PlanEntry
p = Plan((PlanEntry("Load", "high", "completed"), PlanEntry({MARKUP.content!r}, status={MARKUP.status!r})))
%acp plan set p
"""


def test_a_diagram_is_drawn_in_the_notebook(use_notebook: Use, app: App) -> None:
    page = use_notebook([SET, "%acp plan export --format mermaid"], app)
    page.run_all()
    drawing = page.output(1).locator(".jp-RenderedMermaid img")
    expect(drawing).to_be_visible()
    svg = unquote(drawing.get_attribute("src") or "")
    for text in ("1 · Load", "(completed, high priority)", "- [x] &lt;b&gt;", "`code` #35; *a*", "(_;end)"):
        assert text in svg, svg
    assert "Unsupported markdown" not in svg
    assert page.outside == []


LUMINANCE = """(() => {
  const channels = (css) => css.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255)
    .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const light = (css) => { const [r, g, b] = channels(css); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const back = (node) => {
    for (; node; node = node.parentElement) {
      const css = getComputedStyle(node).backgroundColor;
      if (!css.endsWith(", 0)")) return css;
    }
  };
  return [...document.querySelectorAll("h1, .progress, .text, .words span, .number")].map((node) => {
    const [a, b] = [light(getComputedStyle(node).color), light(back(node))].sort((x, y) => y - x);
    return [node.textContent, (a + 0.05) / (b + 0.05)];
  });
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_reads_well_in_light_and_dark(chromium: Browser, scheme: Literal["light", "dark"]) -> None:
    plan = Plan((*PLAN.entries, MARKUP, PlanEntry("טען את הנתונים"), PlanEntry("x" * 500)), title=PLAN.title)
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 800, "height": 600})
    asked: list[str] = []
    tab = context.new_page()
    tab.on("request", lambda request: asked.append(request.url))
    tab.set_content(plan.to("html"))
    expect(tab.get_by_role("heading", name=PLAN.title)).to_be_visible()
    expect(tab.get_by_role("progressbar")).to_be_visible()
    expect(tab.get_by_role("listitem")).to_have_count(len(plan))
    expect(tab.get_by_role("listitem").nth(2)).to_contain_text("in progress · high priority")
    contrasts = tab.evaluate(LUMINANCE)
    assert len(contrasts) > 30 and all(contrast >= 4.5 for _, contrast in contrasts), contrasts
    for width in (800, 320):
        tab.set_viewport_size({"width": width, "height": 600})
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert asked == []
    context.close()
