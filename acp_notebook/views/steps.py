"""The row of a step in the plan of a run: its call, what came of it, and folded all that is known of it."""

from __future__ import annotations

from ..plan.runs import DENIED, FAILED, StepFacts
from .html import Html, tag
from .values import block, seconds


def step_html(call: str, status: str, facts: StepFacts, *, alone: bool = False) -> Html:
    """What stands in the row: the call in a line, below it what came of it; arguments and results fold.

    `alone`: for a page without a script, where each fold has to be reached by Tab; else by its row.
    """
    came = _came(status, facts)
    said = [tag("bdi", tag("code", call)), *([" ", came] if came is not None else [])]
    more = [*_arguments(facts), *_outcome(facts)]
    if not more:
        return tag("span", *said, class_="acp-step")
    return tag("details", tag("summary", *said, tabindex=None if alone else -1), *more, class_="acp-step")


def _came(status: str, facts: StepFacts) -> Html | None:
    """The beginning of the result, or what went wrong, with how long it took."""
    took = None
    # A denied call has only waited for its answer.
    if facts.started is not None and facts.ended is not None and status != DENIED:
        took = seconds(max(0.0, facts.ended - facts.started))
    parts = [
        tag("span", facts.error, class_="acp-bad" if status in (FAILED, DENIED) else None)
        if facts.error
        else None,
        tag("bdi", f"→ {_short(facts.result)}") if facts.result is not None and not facts.error else None,
        tag("span", facts.note) if facts.note else None,
        tag("span", took, class_="acp-num") if took else None,
    ]
    shown = [part for part in parts if part is not None]
    if not shown:
        return None
    between = [child for part in shown for child in (" · ", part)][1:]
    return tag("span", *between, class_="acp-came")


def _short(text: str, longest: int = 100) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _arguments(facts: StepFacts) -> list[Html]:
    rows = [
        one
        for name, value in facts.arguments.items()
        for one in (tag("dt", tag("bdi", name)), tag("dd", tag("bdi", value)))
    ]
    return [tag("dl", *rows, class_="acp-args")] if rows else []


def _outcome(facts: StepFacts) -> list[Html]:
    """The result in full where the line above has only its beginning."""
    if facts.result is None or (len(facts.result) <= 100 and not facts.error):
        return []
    return [tag("span", "result", class_="acp-label acp-quiet"), block(facts.result, "result")]
