"""Plans as one HTML page that needs nothing besides itself, for people who have no notebook."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from ..text import plain
from .display import STATUSES, body, mark, outcome, progress, title
from .model import Plan, PlanEntry

_STYLE = """
:root { color-scheme: light dark; --fg: #1f2328; --fg-2: #59636e; --bg: #fff; --bg-2: #f6f8fa;
  --line: #d1d9e0; --accent: #0969da; --ok: #1a7f37; --bad: #d1242f; }
@media (prefers-color-scheme: dark) {
  :root { --fg: #e6edf3; --fg-2: #9198a1; --bg: #0d1117; --bg-2: #151b23; --line: #3d444d; --accent: #4493f8;
    --ok: #3fb950; --bad: #f85149; }
}
body { margin: 0 auto; padding: 2rem 1.25rem; max-width: 46rem; background: var(--bg); color: var(--fg);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
section + section { margin-top: 3rem; }
.progress { margin: .25rem 0 0; color: var(--fg-2); font-variant-numeric: tabular-nums; }
progress { width: 100%; height: .5rem; margin: .5rem 0 1rem; accent-color: var(--ok); }
ol { list-style: none; margin: 0; padding: 0; border-top: 1px solid var(--line); }
li { display: grid; grid-template-columns: 1.4rem 2.2rem minmax(0, 1fr) auto; gap: 0 .5rem; padding: .5rem 0;
  border-bottom: 1px solid var(--line); break-inside: avoid; }
.mark { font-weight: 600; text-align: center; color: var(--fg-2); }
.number { text-align: end; color: var(--fg-2); font-variant-numeric: tabular-nums; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.words { color: var(--fg-2); font-size: .875rem; line-height: 1.7; text-align: end; max-width: 12rem;
  overflow-wrap: anywhere; }
.high { color: var(--fg); font-weight: 600; }
.came { color: var(--fg-2); font-size: .875rem; }
[data-status=failed] .mark, [data-status=denied] .mark { color: var(--bad); }
[data-status=completed] .mark { color: var(--ok); }
[data-status=completed] .text, [data-status=cancelled] .text,
[data-status=skipped] .text { color: var(--fg-2); }
[data-status=cancelled] .text { text-decoration: line-through; }
[data-status=in_progress] { background: var(--bg-2); box-shadow: inset 3px 0 var(--accent); }
[data-status=in_progress] .mark { color: var(--accent); }
code, pre { font: .875em/1.5 ui-monospace, Menlo, Consolas, monospace; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--bg-2); padding: .75rem;
  border-radius: 6px; }
@media (max-width: 34rem) {
  li { grid-template-columns: 1.4rem 2.2rem minmax(0, 1fr); }
  .words { grid-column: 3; text-align: start; max-width: none; }
}
@media print {
  :root { color-scheme: light; --fg: #000; --fg-2: #444; --bg: #fff; --bg-2: #fff; --line: #bbb;
    --accent: #000; --ok: #000; --bad: #000; }
  body { padding: 0; max-width: none; font-size: 11pt; }
}
"""


def write(plans: Sequence[Plan]) -> str:
    """The page: each plan with its progress and its entries, status and priority in words.

    All text is escaped, and a policy keeps the page from loading or running anything.
    """
    names = " · ".join(title(plan) for plan in plans)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(plain(names))}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
{"".join(map(_section, plans))}</main>
</body>
</html>
"""


def _section(plan: Plan) -> str:
    head = f'<section>\n<h1 dir="auto">{_text(title(plan))}</h1>\n'
    if not plan.entries:
        return f'{head}<pre dir="auto">{escape(plain(body(plan)))}</pre>\n</section>\n'
    done, total = plan.progress
    bar = f'<progress value="{done}" max="{total}" aria-label="{progress(plan)}"></progress>'
    items = "".join(_item(number, entry) for number, entry in enumerate(plan, 1))
    return f'{head}<p class="progress">{progress(plan)}</p>\n{bar}\n<ol>\n{items}</ol>\n</section>\n'


def _item(number: int, entry: PlanEntry) -> str:
    status = STATUSES[entry.status][2] if entry.status in STATUSES else entry.status
    known = f' data-status="{entry.status.strip("_")}"' if entry.status in STATUSES else ""
    words = f"<span>{_text(status)}</span>"
    if entry.priority != "medium":
        strong = ' class="high"' if entry.priority == "high" else ""
        words += f" · <span{strong}>{_text(entry.priority)} priority</span>"
    return (
        f'<li{known}><span class="mark" aria-hidden="true">{mark(entry)}</span>'
        f'<span class="number">{number}</span>'
        f'<span class="text" dir="auto">{_code(entry.content)}{_came(entry)}</span>'
        f'<span class="words" dir="auto">{words}</span></li>\n'
    )


def _came(entry: PlanEntry) -> str:
    """What came of a step of a run."""
    return f'\n<span class="came">{_text(said)}</span>' if (said := outcome(entry)) else ""


def _text(text: str) -> str:
    return escape(plain(text))


def _code(text: str) -> str:
    """Escaped text, in which `code` between backticks is set as code."""
    pieces = re.split(r"`([^`\n]+)`", text)
    return "".join(f"<code>{_text(p)}</code>" if n % 2 else _text(p) for n, p in enumerate(pieces))
