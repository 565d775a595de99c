"""Plans as parts. A new type's look is one function and one row in `PLAN_TYPES`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..plan import Plan, PlanEntry
from .html import Html, join, tag
from .markdown import inline_code, markdown
from .parts import Memo, Part, slot_name
from .values import block, shown, size

#: Status → the mark in front of an entry, and what is said and, unless the look says it, shown.
MARKS = {"pending": "○", "in_progress": "▸", "completed": "✓", "cancelled": "–"}
UNKNOWN_MARK = "◇"
#: Longest entry text shown unfolded, in characters.
LONG_ENTRY = 1_000


def plan_parts(plan: Plan, memo: Memo, *, slot: str, controls: bool, stale: bool, alone: bool) -> list[Part]:
    """The parts of one plan.

    `stale`: no turn runs any more, so entries in progress are not worked on; `alone`: no other plan is shown,
    so this one needs no id for a name.
    """
    return memo.parts(slot_name("plan", plan.plan_id), _plan_parts, plan, memo, slot, controls, stale, alone)


def _plan_parts(
    plan: Plan, memo: Memo, slot: str, controls: bool, stale: bool, alone: bool
) -> Iterator[Part]:
    key = slot_name("plan", plan.plan_id)
    title = plan.title or ("Plan" if alone else f"Plan {plan.plan_id}")
    label = f"Plan: {plan.title}" if plan.title else title
    section = tag("section", class_="acp-plan", data_plan_id=plan.plan_id, aria_label=label, data_slot=key)
    yield Part(key, slot, section)
    yield Part(f"{key}.head", key, _head(plan, title, controls))
    yield from PLAN_TYPES.get(plan.type, _unknown)(plan, key, memo, controls)
    if stale and any(entry.status == "in_progress" for entry in plan.entries):
        note = "The turn ended with steps still in progress."
        yield Part(f"{key}.note", key, tag("p", note, class_="acp-plan-note acp-quiet"))


def progress(plan: Plan) -> str:
    """`2 of 6 done · 1 cancelled`."""
    done, total = plan.progress
    cancelled = sum(entry.status == "cancelled" for entry in plan.entries)
    return f"{done} of {total} done" + (f" · {cancelled} cancelled" if cancelled else "")


def _head(plan: Plan, title: str, controls: bool) -> Html:
    counts = progress(plan) if plan.entries else ""
    exports = [
        tag(
            "button",
            f"Export .{format}",
            type="button",
            class_="acp-btn acp-bare",
            data_action="export",
            data_format=format,
            data_plan=plan.plan_id,
            aria_label=f"Export the plan as {name}",
        )
        for format, name in (("md", "Markdown"), ("json", "JSON"))
    ]
    return tag(
        "div",
        tag("span", title, class_="acp-plan-title", dir="auto"),
        " ",  # readers without a stylesheet: GitHub, notebooks that are not trusted
        tag("span", counts, class_="acp-quiet acp-num"),
        tag("span", *exports, class_="acp-tools") if controls and plan else None,
        class_="acp-plan-head",
    )


# -- items -----------------------------------------------------------------------------------------------


def _items(plan: Plan, key: str, memo: Memo, controls: bool) -> Iterator[Part]:
    done, total = plan.progress
    if total:
        bar = Html(f'<i style="width:{100 * done // total}%"></i>')
        attributes = {
            "aria_valuemin": 0,
            "aria_valuemax": total,
            "aria_valuenow": done,
            "aria_label": progress(plan),
        }
        yield Part(
            f"{key}.bar", key, tag("div", bar, class_="acp-progress", role="progressbar", **attributes)
        )
        entries = f"{key}.entries"
        # Without list-style some screen readers need the role to see a list.
        # Where no stylesheet is applied, numbers of the list's own would double the entries' numbers.
        yield Part(
            entries,
            key,
            tag("ol" if controls else "ul", class_="acp-entries", role="list", data_slot=entries),
        )
        current = plan.current
        for index, entry in enumerate(plan.entries, 1):
            name = f"{entries}.{index}"
            stop = controls and index == (current or 1)
            html = memo(name, _entry, index, entry, controls, index == current, stop)
            yield Part(name, entries, html)
    else:
        yield Part(f"{key}.empty", key, tag("p", "No steps yet.", class_="acp-quiet acp-empty"))
    if controls:
        if total:
            yield Part(f"{key}.tools", key, _row_tools(plan.plan_id))
        yield Part(f"{key}.add", key, _add(plan.plan_id))


def _entry(index: int, entry: PlanEntry, controls: bool, current: bool, stop: bool) -> Html:
    status, priority = entry.status, entry.priority
    said = status.replace("_", " ").strip() if status in MARKS else status
    # Words for what else only mark, colour or weight would say. Pending and medium go without saying.
    words = [priority] if priority != "medium" else []
    if status == "cancelled" or status not in MARKS:
        words.append(status)
    content = inline_code(entry.content)
    if len(entry.content) > LONG_ENTRY:
        summary = tag(
            "summary",
            inline_code(entry.content[:200] + "…"),
            " ",
            tag("span", size(entry.content), class_="acp-quiet"),
        )
        content = tag(
            "details", summary, tag("div", content, class_="acp-pre", dir="auto"), class_="acp-fold"
        )
    return tag(
        "li",
        tag("span", MARKS.get(status, UNKNOWN_MARK), class_="acp-mark", aria_hidden="true"),
        " ",
        tag("span", str(index), class_="acp-index acp-num"),
        " ",
        tag("span", content, tag("span", f", {said}", class_="acp-sr"), class_="acp-text", dir="auto"),
        " ",
        tag("span", " · ".join(words), class_="acp-priority", dir="auto"),
        class_="acp-entry",
        data_index=index,
        data_status=status,
        data_priority=priority,
        aria_current="step" if current else None,
        tabindex=(0 if stop else -1) if controls else None,
    )


#: Operation → sign, what it does, and where it can be taken back: in which status, and what it does then.
ROW_TOOLS: dict[str, tuple[str, str, str | None, str | None]] = {
    "done": ("✓", "Mark as done", "completed", "Mark as not done"),
    "start": ("▸", "Mark as in progress", "in_progress", "Mark as not in progress"),
    "up": ("↑", "Move up", None, None),
    "down": ("↓", "Move down", None, None),
    "remove": ("✕", "Remove", None, None),
}


def _row_tools(plan_id: str) -> Html:
    """The buttons of a row, once for all rows: the page puts them where the pointer or the focus is."""
    buttons = [
        tag(
            "button",
            sign,
            type="button",
            class_="acp-btn acp-bare",
            data_action="plan",
            data_op=op,
            data_plan=plan_id,
            data_status=status,
            data_undo=undo,
            title=label,
        )
        for op, (sign, label, status, undo) in ROW_TOOLS.items()
    ]
    return tag("span", *buttons, class_="acp-row-tools", data_row_tools=True, hidden=True)


def _add(plan_id: str) -> Html:
    field = tag(
        "input",
        name="content",
        aria_label="Add a step",
        placeholder="Add a step",
        autocomplete="off",
        dir="auto",
    )
    return tag("form", field, class_="acp-add", data_action="plan", data_op="add", data_plan=plan_id)


# -- other types -----------------------------------------------------------------------------------------


def _markdown(plan: Plan, key: str, memo: Memo, controls: bool) -> Iterator[Part]:
    yield Part(f"{key}.text", key, tag("div", markdown(plan.content or ""), class_="acp-message", dir="auto"))


def _file(plan: Plan, key: str, memo: Memo, controls: bool) -> Iterator[Part]:
    where = tag(
        "p",
        "The plan is kept in ",
        tag("bdi", tag("code", plan.uri or "an unnamed file")),
        class_="acp-plan-file",
    )
    yield Part(f"{key}.file", key, where)


def _unknown(plan: Plan, key: str, memo: Memo, controls: bool) -> Iterator[Part]:
    label = tag(
        "p", "A plan of type ", tag("bdi", tag("code", plan.type)), ", shown as it came:", class_="acp-quiet"
    )
    body = [
        block(plan.content, "content") if plan.content else None,
        shown(plan.raw, "plan") if plan.raw else None,
    ]
    if plan.entries:
        yield from _items(plan, key, memo, controls=False)
    yield Part(f"{key}.raw", key, tag("div", label, join(body)))


#: Plan type → what makes its parts, given the plan, its section's key, the memo, and whether it has controls.
PLAN_TYPES: dict[str, Callable[[Plan, str, Memo, bool], Iterator[Part]]] = {
    "items": _items,
    "markdown": _markdown,
    "file": _file,
}
