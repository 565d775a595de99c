"""What a call would change, shown as a diff: changed lines marked and counted, what is left out counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .html import Html, join, tag, text
from .values import WHOLE, count, shortened

#: Previews up to this many lines are shown as they are.
SHORT_PREVIEW = 40
#: Lines around a change that are shown with it, and the longest line shown whole.
CONTEXT = 3
LONG_LINE = 2_000


def preview(source: str) -> Html:
    """A preview as it came, or of a long one what changes; what is left out is counted, changes exactly."""
    lines = source.split("\n")
    body = tag("pre", join(_lines(lines), "\n"), class_="acp-diff", dir="auto", aria_label="Preview")
    if len(lines) <= SHORT_PREVIEW:
        return body
    summary = f"Preview, {count(len(lines), 'line')} ({changes(lines)})"
    return tag("details", tag("summary", summary), body, class_="acp-fold", open=True)


def changes(lines: Sequence[str]) -> str:
    """`+2 −1`: how many lines are added and removed. Headers of a diff (`+++`, `---`) do not count."""
    added, removed = (
        sum(line.startswith(sign) and not line.startswith(3 * sign) for line in lines) for sign in "+-"
    )
    return f"+{added:,} −{removed:,}"


def _lines(lines: Sequence[str]) -> Iterator[Html]:
    shown = _kept(lines)
    room = WHOLE
    position = 0
    while position < len(lines):
        if not shown[position]:
            end = next((at for at in range(position, len(lines)) if shown[at]), len(lines))
            yield _cut(f"{count(end - position, 'line')} without changes")
            position = end
        elif room <= 0:
            left = lines[position:]
            yield _cut(f"{count(len(left), 'line')} not shown, {changes(left)}")
            return
        else:
            yield _line(lines[position])
            room -= min(len(lines[position]), LONG_LINE)
            position += 1


def _kept(lines: Sequence[str]) -> list[bool]:
    """Which lines are shown: all of a short preview, else changes and headers with their surroundings."""
    changed = [at for at, line in enumerate(lines) if line[:1] in ("+", "-", "@")]
    if len(lines) <= SHORT_PREVIEW or not changed:
        return [True] * len(lines)
    kept = [False] * len(lines)
    for at in changed:
        for near in range(max(0, at - CONTEXT), min(len(lines), at + CONTEXT + 1)):
            kept[near] = True
    return kept


def _line(line: str) -> Html:
    look = {"+": "add", "-": "del", "@": "at", " ": "at"}.get(line[:1])
    content = shortened(line, LONG_LINE)
    return tag("span", content, class_=look) if look else content


def _cut(words: str) -> Html:
    return tag("span", text(f"… {words} …"), class_="acp-cut")
