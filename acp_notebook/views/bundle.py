"""The static form of a view: what a saved notebook keeps, and what readers without a kernel see.

The HTML is made of the same parts as the live view, without anything that could be clicked.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from ..plan import Plan, PlanEntry, display
from ..session.state import Item, Message, PermissionState, SessionState, Thought, ToolCallState, TurnState
from ..text import plain
from .html import Html, tag
from .parts import Memo, assemble
from .plan import progress
from .rows import MARKS
from .session import Render, plan_of, plans_beside, render_plan, render_session, render_turn, turn_of
from .turn import ENDINGS, answers_below
from .values import signature


def stylesheet() -> str:
    """The stylesheet of every view, as it is written."""
    return files("acp_notebook").joinpath("static/acp.css").read_text(encoding="utf-8")


@cache
def module() -> str:
    """The ES module of every view: self-contained, since it is loaded from where relative imports fail.

    Every widget model carries it along, so without the comments, which stand on lines of their own.
    """
    names = ("rows.js", "plan.js", "card.js", "acp.js")
    source = "\n".join(
        files("acp_notebook").joinpath("static", name).read_text(encoding="utf-8") for name in names
    )
    lines = (line.strip() for line in source.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "/**")))


def _small(css: str) -> str:
    """A stylesheet without comments and layout: outputs and widgets carry it along."""
    css = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL))
    return re.sub(r"\s*([{};,])\s*", r"\1", css).strip()


@cache
def live_stylesheet() -> str:
    """The stylesheet of live views."""
    return _small(stylesheet())


@cache
def static_stylesheet() -> str:
    """The stylesheet of static forms."""
    return _small(re.sub(r"/\* live:.*?/\* end \*/", "", stylesheet(), flags=re.DOTALL))


def static_bundle(
    state: SessionState,
    view: str = "turn",
    turn_number: int | None = None,
    at: float | None = None,
    plan_id: str | None = None,
) -> dict[str, str]:
    """`text/html`, `text/markdown` and `text/plain` of a view as it is now, without controls.

    `view` is `turn`, `session` or `plan`; `turn_number` is 1-based, the latest when None; `plan_id` is the
    plan's, the current one's when None; `at` is the time on the label in seconds since the epoch, now when
    None.
    """
    renders: dict[str, Render] = {"session": render_session, "plan": render_plan(plan_id)}
    render = renders.get(view) or render_turn(turn_number)
    stamp = time.strftime("as of %Y-%m-%d %H:%M", time.localtime(at))
    turn = turn_of(state, turn_number) if view != "plan" else None
    plans = plans_beside(state, turn) if view != "plan" else [plan_of(state, plan_id)]
    label = tag("p", tag("small", f"{state.name}, {stamp}"), class_="acp-stamp acp-quiet")
    style = Html(f"<style>{static_stylesheet()}</style>")
    return {
        "text/html": tag("div", style, assemble(render(state, Memo(), False)), label, class_="acp-static"),
        "text/markdown": _markdown(state, plans, turn, stamp),
        "text/plain": _plain(state, plans, turn, stamp),
    }


# -- plain text ------------------------------------------------------------------------------------------


def _plain(state: SessionState, plans: list[Plan], turn: TurnState | None, stamp: str) -> str:
    lines: list[str] = []
    for plan in plans:
        lines += [*_plan_lines(plan), ""]
    if turn:
        lines.append(f"You: {turn.prompt}")
        lines += [line for _, line in _item_lines(turn)]
        lines += _ending(turn)
    lines.append(f"({state.name}, {stamp})")
    return plain("\n".join(lines))


def _plan_lines(plan: Plan) -> list[str]:
    lines = [plan.title or "Plan"]
    if plan.entries:
        lines[0] += f" ({progress(plan)})"
    for number, entry in enumerate(plan.entries, 1):
        said = display.STATUSES.get(entry.status, ("", "", entry.status))[2]
        status = f" [{said}]" if entry.status in display.UNDONE or entry.status not in MARKS else ""
        lines.append(f"{display.mark(entry)} {number}. {entry.content}{status}")
        lines += [f"   {came}"] if (came := display.outcome(entry)) else []
    return [*lines, *filter(None, [plan.content, plan.uri])]


def _item_lines(turn: TurnState) -> Iterator[tuple[Item, str]]:
    """The items with their lines, answers in those of the calls that they are about."""
    below = answers_below(turn)
    placed = {position for positions in below.values() for position in positions}
    for position, item in enumerate(turn.items):
        answers = (turn.items[answer] for answer in below.get(position, ()))
        said = [answer.explanation for answer in answers if isinstance(answer, PermissionState)]
        if position not in placed and (line := _item_line(item, said)):
            yield item, line


def _item_line(item: Item, answers: list[str]) -> str | None:
    match item:
        case Message(text):
            return text
        case ToolCallState():
            reason = None if any(answer.startswith(item.reason or "") for answer in answers) else item.reason
            said = "; ".join(filter(None, [*answers, reason, item.left]))
            why = f" ({said})" if said else ""
            return f"[{item.status}] {signature(item.name, item.raw_input)}{why}"
        case PermissionState():
            call = item.request.tool_call
            arguments = call.arguments if item.edited is None else item.edited
            return f"[{item.status}] {signature(call.name, arguments)}: {item.explanation or 'waiting'}"
        case Thought():
            return None
        case _:
            return getattr(item, "text", None)


def _ending(turn: TurnState) -> list[str]:
    if turn.stop_reason in (None, "end_turn"):
        return []
    return [ENDINGS.get(turn.stop_reason, turn.stop_reason), *([turn.error] if turn.error else [])]


# -- Markdown --------------------------------------------------------------------------------------------


def _markdown(state: SessionState, plans: list[Plan], turn: TurnState | None, stamp: str) -> str:
    blocks: list[str] = []
    for plan in plans:
        blocks += [f"**{escaped(_plan_lines(plan)[0])}**"]
        boxes = (
            f"- [{'x' if entry.status == 'completed' else ' '}] {_entry(entry)}" for entry in plan.entries
        )
        blocks += ["\n".join(boxes), harmless(plan.content or ""), escaped(plan.uri or "")]
    if turn:
        blocks.append(f"**You:** {escaped(turn.prompt)}")
        for item, line in _item_lines(turn):
            blocks.append(harmless(line) if isinstance(item, Message) else f"- {escaped(line)}")
        blocks += map(escaped, _ending(turn))
    blocks.append(f"*{escaped(state.name)}, {stamp}*")
    return plain("\n\n".join(filter(None, blocks)))


def _entry(entry: PlanEntry) -> str:
    plain_enough = entry.status in ("pending", "completed")
    said = "" if plain_enough else f" *({escaped(entry.status.replace('_', ' ').strip())})*"
    came = f"  \n  {escaped(line)}" if (line := display.outcome(entry)) else ""
    return escaped(" ".join(entry.content.split())) + said + came


def escaped(value: str) -> str:
    """Text that no Markdown renderer takes for markup; backticks stay, they can do no harm."""
    return re.sub(r"([\\*_\[\]#|~!])", r"\\\1", value).replace("<", "&lt;").replace("\n", "  \n")


_TARGET = re.compile(r"(\]\(|\]:)(?!\s*<?(?:https?://|mailto:))", re.IGNORECASE)


def harmless(source: str) -> str:
    """The agent's Markdown for renderers that we do not know: no raw HTML, no images, links to the web only.

    An image that is loaded tells its server who reads, and what the agent wrote into its address.
    """
    source = source.replace("<", "&lt;").replace("![", "\\![")
    return _TARGET.sub(lambda match: f"]\\{match[1][1:]}", source)
