"""Plans as parts. A new type's look is one function and one row in `PLAN_TYPES`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..plan import Plan, PlanHistory, Revision, display
from ..plan.changes import Entries
from ..plan.formats import FORMATS
from ..plan.runs import run_of
from ..session.state import PlanFile
from .history import changes_said, history_part, looking_part
from .html import Html, join, tag
from .markdown import markdown
from .parts import Memo, Part, Run, slot_name
from .row_tools import ADD, ROW_TOOLS
from .rows import Look, RowList, row_html
from .values import block
from .values import shown as value
from .work import Question, question_part, work_button


class Shown(NamedTuple):
    """A plan with what its view has to know about it.

    `looking` is the number of the revision that the person looks at, 0 where their history is open at the
    latest; `note` is a line below the plan; `question` is what they are asked; `idle`: no turn runs; `alone`:
    no other plan is shown, so that it needs no id for a name; `live`: for a page, which may lack `controls`
    where nothing can be changed.
    """

    plan: Plan
    history: PlanHistory
    file: PlanFile | None
    looking: int | None
    note: str | None
    question: Question | None
    idle: bool
    alone: bool
    live: bool
    controls: bool
    #: Whether its entries can be changed: one of the host's can only be looked at.
    editable: bool

    @property
    def past(self) -> bool:
        """Whether the plan is one that was."""
        return bool(self.looking)


def plan_parts(shown: Shown, memo: Memo, slot: str) -> list[Part | Run]:
    """The parts of one plan."""
    key = slot_name("plan", shown.plan.plan_id)
    return memo.parts(key, _plan_parts, shown, key, memo, slot)


def _plan_parts(shown: Shown, key: str, memo: Memo, slot: str) -> Iterator[Part | Run]:
    plan, history = shown.plan, shown.history
    title = plan.title or ("Plan" if shown.alone else f"Plan {plan.plan_id}")
    section = tag(
        "section",
        class_="acp-plan",
        data_plan_id=plan.plan_id,
        data_revision=(len(history) or None) if shown.live else None,
        data_looking=shown.looking or None,
        aria_label=f"Plan: {plan.title}" if plan.title else title,
        data_slot=key,
    )
    yield Part(key, slot, section)
    far = progress(plan)
    yield from _head(shown, title, key, far, memo)
    if shown.question is not None and not shown.past:
        yield question_part(shown.question, f"{key}.question", key)
    if shown.controls and shown.looking is not None:
        yield history_part(history, f"{key}.history", key, shown.looking or len(history))
    if shown.controls and shown.looking:
        yield looking_part(history, f"{key}.looking", key, shown.looking, shown.editable)
    yield from PLAN_TYPES.get(plan.type, _unknown)(shown, key, memo, far)
    if shown.note and not shown.past:
        yield Part(f"{key}.note", key, tag("p", shown.note, class_="acp-plan-note acp-quiet"))


class Progress(NamedTuple):
    """How far a plan is, also in words; `current` is the 1-based number of the first entry in progress."""

    done: int
    total: int
    words: str
    current: int | None

    def __str__(self) -> str:
        """`2 of 6 done · 1 cancelled`."""
        return self.words


def progress(plan: Plan) -> Progress:
    """How far the plan is. Only completed entries are done; cancelled and unknown ones stay in the total."""
    return Progress(*plan.progress, display.progress(plan), plan.current)


# -- head ------------------------------------------------------------------------------------------------


def _head(shown: Shown, title: str, key: str, far: Progress, memo: Memo) -> Iterator[Part]:
    """Title, progress and tools: parts of their own, since a change of an entry changes few of them."""
    plan, head = shown.plan, f"{key}.head"
    yield Part(head, key, tag("div", class_="acp-plan-head", data_slot=head))
    yield Part(f"{head}.title", head, tag("span", title, class_="acp-plan-title", dir="auto"))
    if plan.entries:
        # The blank is for readers without a stylesheet: GitHub, notebooks that are not trusted.
        yield Part(f"{head}.counts", head, tag("span", f" {far}", class_="acp-quiet acp-num"))
    if not shown.controls:
        return
    tools = f"{head}.tools"
    yield Part(tools, head, tag("span", class_="acp-tools", data_slot=tools))
    for name, html in _tools(shown, far, memo):
        yield Part(f"{tools}.{name}", tools, html)
    if plan and not shown.past:
        yield Part(f"{key}.exports", key, _exports())


def _tools(shown: Shown, far: Progress, memo: Memo) -> Iterator[tuple[str, Html]]:
    plan, history = shown.plan, shown.history
    if shown.idle and plan.upcoming is not None and not shown.past and run_of(plan) is None:
        yield "work", work_button()
    if far.current is not None:
        yield "current", _tool("current", f"▸ Step {far.current}", title="Go to the step in progress")
    if len(plan) > 1:
        yield "filter", _filter()
    if shown.editable and history.undoable is not None and not shown.past:
        yield "undo", memo(f"undo {plan.plan_id}", _undo, history[history.undoable - 1])
    if len(history) > 1:
        number = tag("span", f"r{len(history)}", class_="acp-num")
        pressed = str(shown.looking is not None).lower()
        yield "history", _tool("history", "History ", number, aria_pressed=pressed)
    if plan and not shown.past:
        yield "export", _tool("exports", "Export", aria_expanded="false")


def _undo(revision: Revision) -> Html:
    return _tool("undo", "Undo", title=f"Undo: {revision.summary}")


def _tool(action: str, *label: str, **attributes: str) -> Html:
    return tag("button", *label, type="button", class_="acp-btn acp-bare", data_action=action, **attributes)


#: What the rows shown can be, as the page's stylesheet knows it, and in words.
FILTERS = {
    "all": "All steps",
    "open": "Open",
    "in_progress": "In progress",
    "completed": "Done",
    "cancelled": "Cancelled",
    "other": "Other",
}


def _filter() -> Html:
    options = [tag("option", words, value=value) for value, words in FILTERS.items()]
    return tag("select", *options, class_="acp-filter", aria_label="Show steps")


def _exports() -> Html:
    buttons = [
        tag(
            "button",
            format.label,
            type="button",
            class_="acp-btn",
            data_action="export",
            data_format=name,
            aria_label=f"Export the plan as {format.label}",
        )
        for name, format in FORMATS.items()
    ]
    label = tag("span", "Export as", class_="acp-quiet")
    return tag("div", label, *buttons, class_="acp-exports", role="group", aria_label="Export", hidden=True)


# -- items -----------------------------------------------------------------------------------------------


def _items(shown: Shown, key: str, memo: Memo, far: Progress) -> Iterator[Part | Run]:
    plan, entries = shown.plan, f"{key}.entries"
    if plan.entries:
        yield Part(f"{key}.bar", key, _bar(far))
        # Without list-style some screen readers need the role to see a list.
        # Where no stylesheet is applied, numbers of the list's own would double the entries' numbers.
        kind, digits = "ol" if shown.live else "ul", f"--acp-digits:{len(str(len(plan)))}"
        yield Part(
            entries, key, tag(kind, class_="acp-entries", role="list", style=digits, data_slot=entries)
        )
        yield _rows(shown, entries, memo, far.current)
        if shown.controls:
            yield Part(f"{key}.none", key, _NONE)
    else:
        yield Part(f"{key}.empty", key, tag("p", "No steps yet.", class_="acp-quiet acp-empty"))
    if shown.editable and not shown.past and plan.type == "items":
        if plan.entries:
            yield Part(f"{key}.tools", key, ROW_TOOLS)
        yield Part(f"{key}.add", key, ADD)


def _bar(far: Progress) -> Html:
    bar = Html(f'<i style="width:{100 * far.done // far.total}%"></i>')
    return tag(
        "div",
        bar,
        class_="acp-progress",
        role="progressbar",
        aria_valuemin=0,
        aria_valuemax=far.total,
        aria_valuenow=far.done,
        aria_label=str(far),
    )


def _rows(shown: Shown, slot: str, memo: Memo, current: int | None) -> Run:
    plan = shown.plan
    looks = {current: Look(True)} if current else {}
    if not shown.live:
        return _numbered(plan.entries, looks, slot)
    if shown.looking:
        for number, said in changes_said(shown.history[shown.looking - 1].change, plan).items():
            looks[number] = Look(number == current, said)
    return memo(f"{slot}.rows", RowList, slot).show(plan.entries, looks)


def _numbered(entries: Entries, looks: dict[int, Look], slot: str) -> Run:
    return tuple(
        Part(f"{slot}.{number}", slot, row_html(entry, looks.get(number, Look()), number))
        for number, entry in enumerate(entries, 1)
    )


_NONE = tag("p", "No step has this status.", class_="acp-none acp-quiet")


# -- other types -----------------------------------------------------------------------------------------


def _markdown(shown: Shown, key: str, memo: Memo, far: Progress) -> Iterator[Part]:
    html = markdown(shown.plan.content or "")
    yield Part(f"{key}.text", key, tag("div", html, class_="acp-message", dir="auto"))


def _file(shown: Shown, key: str, memo: Memo, far: Progress) -> Iterator[Part]:
    uri, file = shown.plan.uri, shown.file
    where = tag("p", "The plan is kept in ", tag("bdi", tag("code", uri or "an unnamed file")))
    yield Part(f"{key}.file", key, where)
    if file is None or shown.past:  # nobody knows what the file held then
        return
    if file.text is not None:
        is_markdown = (uri or "").lower().endswith((".md", ".markdown"))
        text = markdown(file.text) if is_markdown else tag("pre", file.text, dir="auto")
        # What can be scrolled has to be reached by keyboard.
        box = tag(
            "div",
            text,
            class_="acp-message acp-file",
            dir="auto",
            role="group",
            aria_label="What the file holds",
            tabindex=0 if shown.live else None,
        )
        yield Part(f"{key}.text", key, box)
    if file.note:
        yield Part(f"{key}.about", key, tag("p", file.note, class_="acp-quiet"))


def _unknown(shown: Shown, key: str, memo: Memo, far: Progress) -> Iterator[Part | Run]:
    plan = shown.plan
    label = tag(
        "p", "A plan of type ", tag("bdi", tag("code", plan.type)), ", shown as it came:", class_="acp-quiet"
    )
    body = [
        block(plan.content, "content") if plan.content else None,
        value(plan.raw, "plan") if plan.raw else None,
    ]
    if plan.entries:
        yield from _items(shown, key, memo, far)
    yield Part(f"{key}.raw", key, tag("div", label, join(body)))


#: Plan type → what makes its parts, given the plan, its section's key, the memo, and how far the plan is.
PLAN_TYPES: dict[str, Callable[[Shown, str, Memo, Progress], Iterator[Part | Run]]] = {
    "items": _items,
    "markdown": _markdown,
    "file": _file,
}
