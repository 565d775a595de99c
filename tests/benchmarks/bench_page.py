"""What a plan costs the page: `python tests/benchmarks/bench_page.py`.

In Chromium, for plans of 1,000 and 10,000 entries: the first painting; then one entry is changed at a time,
and the message is measured, what Python needs from the changed state to the message, and what the page needs
for it: the time to the end of the frame with style, layout and paint, and the CPU time of its main thread,
which other processes do not lengthen. A frame at 60 Hz is 16.7 ms. Of many rounds, the best.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import CDPSession, Page, sync_playwright

from acp_notebook.kernel.host import ThreadHost
from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.views.bundle import static_bundle
from acp_notebook.views.widget import View, session_view
from harness.jupyter import launch
from harness.puppet import PuppetSession, pages
from harness.stage import Stage

ROUNDS = 15

# Delivers a message and resolves to the milliseconds to the end of the frame: a task that is posted from an
# animation frame runs after that frame has been painted.
_ANEW = """() => {
  window.fromKernel = async () => [];  // messages are delivered by hand from here on
  window.leave();
  document.getElementById("one").replaceChildren();
  window.model.deliver({method: "update", state: {state: null}});
  window.leave = show("one");
}"""
_TIMED = """
(message) => new Promise((resolve) => requestAnimationFrame(() => {
  const start = performance.now();
  window.model.deliver({method: "custom", content: message});
  const channel = new MessageChannel();
  channel.port1.onmessage = () => resolve(performance.now() - start);
  channel.port2.postMessage(null);
}))
"""


def plan(length: int) -> Plan:
    return Plan(
        tuple(PlanEntry(f"Step number {n}: look at what it has left") for n in range(length)), title="Long"
    )


def measure(tab: Page, length: int) -> None:
    session = PuppetSession(ThreadHost(), on_unattended="wait")
    session.do(session.puppet.set_plan, plan(length))
    started = time.perf_counter()
    view = session_view(session)
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    static_bundle(session.state, "session")
    print(f"{length} entries: first render {seconds:.2f} s, static {time.perf_counter() - started:.2f} s")
    stage = Stage(tab, view)
    tab.get_by_label("Add a step").wait_for()
    tab.evaluate(_ANEW)
    everything = {"t": "snapshot", **view._everything()}
    cdp = tab.context.new_cdp_session(tab)
    cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
    frame, busy = timed(tab, cdp, everything)
    size = len(json.dumps(everything)) / 1e6
    print(f"  everything: {size:.2f} MB, a frame of {frame:.0f} ms, CPU {busy:.0f} ms")
    middle = length // 2
    edits: dict[str, Callable[[int], object]] = {
        "status": lambda n: session.update_entry(
            middle, status=("in_progress", "completed", "pending")[n % 3]
        ),
        "text": lambda n: session.update_entry(middle, content=f"Another text, {n}"),
        "add in the middle": lambda n: session.add_entry(f"new {n}", at=middle),
        "move to the end": lambda n: session.move_entry(middle, length),
        "remove": lambda n: session.remove_entry(middle),
    }
    for name, edit in edits.items():
        one_by_one(tab, cdp, stage, name, edit)
    view.close()
    session.close()


def timed(tab: Page, cdp: CDPSession, message: dict[str, Any]) -> tuple[float, float]:
    """Milliseconds to the end of the frame that shows a message, and of the main thread's CPU."""

    def busy() -> float:
        found = cdp.send("Performance.getMetrics")["metrics"]
        return 1_000 * next(one["value"] for one in found if one["name"] == "TaskDuration")

    before = busy()
    return tab.evaluate(_TIMED, message), busy() - before


def one_by_one(tab: Page, cdp: CDPSession, stage: Stage, name: str, edit: Callable[[int], object]) -> None:
    rounds: list[tuple[float, ...]] = []
    for number in range(ROUNDS):
        message, python = changed(stage, lambda number=number: edit(number))
        rounds.append((len(json.dumps(message)), python, *timed(tab, cdp, message)))
    sizes, pythons, frames, busy = zip(*rounds, strict=True)
    print(
        f"  {name}: {max(sizes)} bytes, Python {min(pythons):.1f} ms, "
        f"a frame of {min(frames):.1f} ms, CPU {min(busy):.1f} ms"
    )


def changed(stage: Stage, edit: Callable[[], object]) -> tuple[dict[str, Any], float]:
    """The patch that an edit makes, and the milliseconds in which Python made it."""
    comm, before = stage.comm, len(stage.comm.custom("patch"))
    PAINTED.clear()
    edit()
    comm.wait_for(lambda: len(comm.custom("patch")) > before and PAINTED)
    return comm.custom("patch")[before], max(PAINTED)


#: Milliseconds of each painting by Python.
PAINTED: list[float] = []


def painting(paint: Callable[[View], None]) -> Callable[[View], None]:
    def painted(view: View) -> None:
        started = time.perf_counter()
        paint(view)
        PAINTED.append(1_000 * (time.perf_counter() - started))

    return painted


def main() -> None:
    View._paint = painting(View._paint)
    with pages(), sync_playwright() as playwright:
        browser = launch(playwright)
        for length in (1_000, 10_000):
            tab = browser.new_page(viewport={"width": 900, "height": 820})
            measure(tab, length)
            tab.close()
        browser.close()


if __name__ == "__main__":
    main()
