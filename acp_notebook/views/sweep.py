"""A sweep as a table and a picture, in HTML, Markdown and text: it is read without a kernel, too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..protocol.messages import Usage
from ..session.sweep import Sweep, SweepRow
from ..text import plain
from .bundle import escaped, harmless, static_stylesheet
from .html import Html, tag
from .parts import Memo, assemble
from .plan import progress
from .session import render_turn
from .values import dollars, seconds

#: What stands for a number that is not known.
UNKNOWN = "–"
#: Longest answer in the table, in characters; the whole of it is below.
ANSWER = 120
#: Status → how a row without an answer says it.
WORDS = {"waiting": "waits", "running": "runs …", "refused": "not run"}


class Piece(NamedTuple):
    """A part of what is shown, in each of the three forms."""

    html: Html
    markdown: str
    text: str


def sweep_bundle(sweep: Sweep) -> dict[str, str]:
    """A sweep as it is now: the table, each turn that has ended, and the picture.

    The bundles have `text/html`, `text/markdown` and `text/plain`.
    """
    turns = [turn_piece(row) for row in sweep.rows if row.seconds is not None]
    return bundle(table_piece(sweep), *turns, *filter(None, [picture_piece(sweep)]))


def bundle(*pieces: Piece, styled: bool = True) -> dict[str, str]:
    """Pieces as one output; not `styled` where it stands below one that is, whose styles hold for both."""
    view = tag(
        "div",
        *(piece.html for piece in pieces),
        class_="acp-view acp-sweep",
        data_view="sweep",
        role="region",
        aria_label="Sweep",
    )
    style = Html(f"<style>{static_stylesheet()}</style>") if styled else None
    return {
        "text/html": tag("div", style, view, class_="acp-static"),
        "text/markdown": "\n\n".join(piece.markdown for piece in pieces),
        "text/plain": "\n\n".join(piece.text for piece in pieces),
    }


def table_piece(sweep: Sweep) -> Piece:
    """A row for each run, also for those that wait."""
    title = f"{sweep.session.name}: {' '.join(sweep.prompt.split())}"
    heading, rows = _heading(sweep), [_cells(sweep, row) for row in sweep.rows]
    html = tag("div", tag("p", tag("b", title, dir="auto")), _table(heading, rows))
    markdown = f"**{escaped(plain(title))}**\n\n{_markdown(heading, rows)}"
    return Piece(html, markdown, f"{plain(title)}\n\n{_aligned([heading, *rows])}")


def turn_piece(row: SweepRow) -> Piece:
    """A turn that has ended, whole; on a page folded."""
    assert row.turn is not None
    view = assemble(render_turn(row.turn.number)(row.session.state, Memo(), False))
    html = tag("details", tag("summary", row.label), view)
    label, answer = plain(row.label), plain("\n\n".join(filter(None, [row.error, row.answer])))
    markdown, text = [f"**{escaped(label)}:**"], [f"{label}:"]
    if row.plan.entries:
        markdown.append(row.plan.to("md"))
        text.append(str(row.plan))
    if answer:
        markdown.append(harmless(answer))
        text.append(answer)
    return Piece(html, "\n\n".join(markdown), "\n".join(text))


def picture_piece(sweep: Sweep) -> Piece | None:
    """Bars for time and tokens; None where nothing has been measured."""
    if not (measures := _measures(sweep)):
        return None
    bars = "\n".join(_bars(measures))
    return Piece(_picture(sweep, measures), f"```\n{bars}\n```", bars)


# -- what is said ----------------------------------------------------------------------------------------


def _heading(sweep: Sweep) -> list[str]:
    return [
        *(name.capitalize() for name in sweep.varied),
        *("Plan", "Time", "Requests", "Tokens", "Cost", "Answer"),
    ]


def _cells(sweep: Sweep, row: SweepRow) -> list[str]:
    return [
        *(row.settings[name] for name in sweep.varied),
        str(progress(row.plan)) if row.plan.entries else UNKNOWN,
        *_numbers(row),
        _answer(row),
    ]


def _numbers(row: SweepRow) -> list[str]:
    time, usage = row.seconds, row.usage
    if usage is None:
        return [UNKNOWN if time is None else seconds(time), UNKNOWN, UNKNOWN, UNKNOWN]
    return [
        UNKNOWN if time is None else seconds(time),
        f"{usage.requests:,}",
        f"{usage.total_tokens:,}" if usage.total_tokens else UNKNOWN,
        _cost(usage),
    ]


def _cost(usage: Usage) -> str:
    if usage.cost is None:
        return UNKNOWN
    return f"at least {dollars(usage.cost)}" if usage.unpriced else dollars(usage.cost)


def _answer(row: SweepRow) -> str:
    """The answer in a line, shortened; before it what went wrong."""
    line = " ".join(re.sub(r"(?m)^\s*#+\s", "", row.answer).split())
    line = line if len(line) <= ANSWER else line[: ANSWER - 1] + "…"
    error = f"✗ {row.error}" if row.error else None
    said = " · ".join(filter(None, [error, line])) or WORDS.get(row.status, UNKNOWN)
    return "the plan" if said == UNKNOWN and row.plan.entries else said


# -- table -----------------------------------------------------------------------------------------------


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> Html:
    head = tag("tr", *(tag("th", name, scope="col") for name in heading))
    body = (tag("tr", *(tag("td", tag("bdi", cell)) for cell in row)) for row in rows)
    return tag("table", tag("thead", head), tag("tbody", *body))


def _markdown(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *([escaped(plain(cell)) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    rows = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


# -- picture ---------------------------------------------------------------------------------------------

#: Sizes in the picture's own units: a row, the place for labels, the longest bar, the place for a number.
ROW, LABEL, BAR, NUMBER, TOP = 22, 150, 150, 90, 24


class Bar(NamedTuple):
    """One bar: the 0-based place of its row, the row's label, how long it is, and the number beside it."""

    place: int
    label: str
    length: float
    said: str


class Measure(NamedTuple):
    """One column of bars."""

    name: str
    bars: list[Bar]

    @property
    def longest(self) -> float:
        return max(bar.length for bar in self.bars) or 1.0


def _measures(sweep: Sweep) -> list[Measure]:
    """Time and tokens, where they are known."""
    times: list[Bar] = []
    tokens: list[Bar] = []
    for place, row in enumerate(sweep.rows):
        label = plain(row.label)
        if (time := row.seconds) is not None:
            times.append(Bar(place, label, time, seconds(time)))
        if row.usage is not None and (total := row.usage.total_tokens):
            tokens.append(Bar(place, label, total, f"{total:,}"))
    return [measure for measure in (Measure("Time", times), Measure("Tokens", tokens)) if measure.bars]


def _picture(sweep: Sweep, measures: Sequence[Measure]) -> Html:
    """Columns of bars, a row each; what they say is also the picture's text alternative."""
    drawn = [
        tag("text", _short(row.label), x=LABEL - 8, y=TOP + place * ROW + 15, text_anchor="end")
        for place, row in enumerate(sweep.rows)
    ]
    for column, measure in enumerate(measures):
        left = LABEL + column * (BAR + NUMBER)
        drawn.append(tag("text", measure.name, x=left, y=15, font_weight="bold"))
        for bar in measure.bars:
            top, width = TOP + bar.place * ROW, max(1, round(BAR * bar.length / measure.longest))
            kind = f"acp-bar-{measure.name.lower()}"
            drawn.append(tag("rect", x=left, y=top + 4, width=width, height=ROW - 8, rx=2, class_=kind))
            drawn.append(tag("text", bar.said, x=left + width + 6, y=top + 15))
    width, height = LABEL + len(measures) * (BAR + NUMBER), TOP + len(sweep.rows) * ROW
    said = (f"{m.name}: {', '.join(f'{bar.label} {bar.said}' for bar in m.bars)}." for m in measures)
    return tag(
        "svg",
        *drawn,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=" ".join(said),
        fill="currentColor",
        class_="acp-bars",
    )


def _bars(measures: Sequence[Measure]) -> Iterator[str]:
    """The same bars as text."""
    for measure in measures:
        width = max(len(bar.label) for bar in measure.bars)
        yield measure.name
        for bar in measure.bars:
            drawn = "█" * max(1, round(24 * bar.length / measure.longest))
            yield f"  {bar.label:{width}}  {drawn} {bar.said}"


def _short(label: str) -> str:
    return label if len(label) <= 22 else label[:21] + "…"
