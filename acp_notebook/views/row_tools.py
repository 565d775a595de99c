"""What a person does to an entry in its row, and the field for a new one."""

from __future__ import annotations

from ..plan import PRIORITIES, STATUSES
from .html import Html, tag

#: Operation → sign, what it does, and its key; for three of them the status that it sets, and what it is
#: called where it sets it back.
_BUTTONS: dict[str, tuple[str, str, str | None, str | None, str | None]] = {
    "done": ("✓", "Mark as done", None, "completed", "Mark as not done"),
    "start": ("▸", "Mark as in progress", None, "in_progress", "Mark as not in progress"),
    "work": ("⚙", "Work on this one", None, None, None),
    "skip": ("–", "Skip", None, "cancelled", "Do not skip"),
    "edit": ("✎", "Edit", "Enter", None, None),
    "up": ("↑", "Move up", "Alt+ArrowUp", None, None),
    "down": ("↓", "Move down", "Alt+ArrowDown", None, None),
    "remove": ("✕", "Remove", None, None, None),
}


def _row_tools() -> Html:
    """The tools of a row, once for all rows: the page puts them where the pointer or the focus is."""
    buttons = [
        tag(
            "button",
            sign,
            type="button",
            class_="acp-btn acp-bare",
            data_action="plan",
            data_op=op,
            data_status=status,
            data_undo=undo,
            title=label,
            aria_keyshortcuts=shortcut,
        )
        for op, (sign, label, shortcut, status, undo) in _BUTTONS.items()
    ]
    fields = [
        tag(
            "select",
            *(tag("option", value.replace("_", " "), value=value) for value in values),
            data_field=name,
            title=name.capitalize(),
        )
        for name, values in (("status", STATUSES), ("priority", PRIORITIES))
    ]
    grip = tag("span", "⠿", class_="acp-grip", title="Drag to move", aria_hidden="true")
    tools = [*buttons[:4], *fields, *buttons[4:], grip]
    return tag("span", *tools, class_="acp-row-tools", data_row_tools=True, hidden=True)


def _add() -> Html:
    field = tag(
        "textarea", name="content", rows=1, aria_label="Add a step", placeholder="Add a step", dir="auto"
    )
    return tag("form", field, class_="acp-add", data_action="plan", data_op="add")


ROW_TOOLS, ADD = _row_tools(), _add()
