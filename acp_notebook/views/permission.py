"""Permission requests as cards: what would be done, in full, and the answers that the agent offers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from ..masking import masked
from ..protocol.messages import PermissionOption, RequestPermission, ToolCall
from ..session.state import PermissionState
from ..text import misleads
from .html import Html, join, tag
from .preview import preview
from .values import WHOLE, arguments_list, editable_json, signature

#: Option kind → the key that chooses it while the card has the focus, and the look of its button.
KINDS = {
    "allow_once": ("a", "acp-primary"),
    "allow_always": ("A", None),
    "reject_once": ("r", "acp-danger"),
    "reject_always": ("R", "acp-danger"),
}
EDIT_KEY = "e"
#: What each answer looks like once it is given: mark and word.
ANSWERED = {"allowed": ("✓", "Allowed"), "denied": ("✗", "Denied"), "cancelled": ("–", "Withdrawn")}


def permission(state: PermissionState, controls: bool) -> Html:
    """A request: a card while it is pending, a line once it is answered."""
    return _card(state, controls) if state.status == "pending" else _line(state)


def _line(state: PermissionState) -> Html:
    mark, word = ANSWERED.get(state.status, ("◇", state.status))
    said = state.explanation[:1].upper() + state.explanation[1:] or word
    call = state.request.tool_call
    if state.edited is not None:
        said += f", in place of {_call(call)}"
        call = replace(call, arguments=state.edited)
    if state.status == "cancelled":
        said = f"{word}: {state.explanation}" if state.explanation else word
    return tag(
        "div",
        tag("span", mark, class_="acp-mark", aria_hidden="true"),
        " ",
        tag("bdi", tag("code", _call(call))),
        " ",
        tag("span", said, dir="auto"),
        tag("span", f" · {clock(state.answered)}", class_="acp-quiet acp-num") if state.answered else None,
        class_="acp-permission acp-answered",
        data_request=state.request_id,
        data_status=state.status,
    )


def _card(state: PermissionState, controls: bool) -> Html:
    request, call = state.request, state.request.tool_call
    written = "".join(
        [request.title, request.description or "", call.name, request.preview or "", *_texts(call.arguments)]
    )
    warning = "Some characters here are invisible or change the direction of text. They are shown as U+…"
    heading = request.title if request.title not in ("", call.name, f"Approve {call.name}?") else None
    return tag(
        "div",
        tag("h4", "Approve ", tag("bdi", tag("code", call.name)), "?"),
        tag("p", heading, dir="auto") if heading else None,
        tag("p", request.description, class_="acp-quiet", dir="auto") if request.description else None,
        tag("p", "⚠ ", warning, class_="acp-warning", role="note") if misleads(written) else None,
        arguments_list(call.arguments),
        preview(request.preview) if request.preview else None,
        join(_answers(state)) if controls else tag("p", "Waiting for an answer.", class_="acp-quiet"),
        class_="acp-permission",
        data_request=state.request_id,
        data_status="pending",
        role="group",
        aria_label=f"Approval needed: {call.name}",
        tabindex=0 if controls else None,
    )


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON-like value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in cast("Mapping[Any, Any]", value).items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in cast("list[Any]", value):
            yield from _texts(item)


def _call(call: ToolCall) -> str:
    return signature(call.name, call.arguments, 80)


def clock(at: float | None) -> str:
    """Local time of day, `14:03`."""
    return time.strftime("%H:%M", time.localtime(at)) if at else ""


def _answers(state: PermissionState) -> Iterator[Html]:
    call, options = state.request.tool_call, state.request.options
    buttons = list(_options(options))
    editable = any(option.kind.startswith("allow") for option in options) and bool(call.arguments)
    if editable:
        edit = _button("Edit arguments", EDIT_KEY, data_action="edit-arguments", aria_expanded="false")
        after_yes = (at for at, option in enumerate(options) if not option.kind.startswith("allow"))
        buttons.insert(next(after_yes, len(buttons)), edit)
    reason = _button(
        "Deny with a reason…", look="acp-bare", data_action="deny-with-reason", aria_expanded="false"
    )
    yield tag("div", *buttons, reason, _scope(state.request), class_="acp-answers")
    label = "Reason, which the model reads"
    field = tag("input", name="reason", aria_label=label, autocomplete="off", dir="auto")
    yield _form("deny-with-reason", label, field, "Deny", "acp-danger")
    if editable:
        yield _edit_form(call)


def _edit_form(call: ToolCall) -> Html:
    written = editable_json(masked(call.arguments))
    if len(written) > WHOLE:
        note = tag("p", "Too long to edit here: use %acp approve --var NAME.", class_="acp-quiet")
        return tag("form", note, _back(), class_="acp-form", data_action="edit-arguments", hidden=True)
    rows = min(14, written.count("\n") + 2)
    label = "Arguments of this one call, as JSON"
    field = tag("textarea", written, name="arguments", aria_label=label, spellcheck="false", rows=rows)
    return _form("edit-arguments", label, field, "Allow with these arguments", "acp-primary")


def _form(action: str, label: str, field: Html, submit: str, look: str) -> Html:
    """A form that the button with the same action opens."""
    button = tag("button", submit, class_=f"acp-btn {look}")
    return tag(
        "form",
        tag("label", label, field),
        button,
        _back(),
        class_="acp-form",
        data_action=action,
        hidden=True,
    )


def _back() -> Html:
    return tag("button", "Back", type="button", class_="acp-btn acp-bare", data_action="close-form")


def _options(options: tuple[PermissionOption, ...]) -> Iterator[Html]:
    """A button for each option. One id for two options is ambiguous: such an answer cannot be given."""
    times = Counter(option.option_id for option in options)
    keys = set[str]()
    for option in options:
        key, look = KINDS.get(option.kind, (None, None))
        twice = times[option.option_id] > 1
        if twice or key in keys:
            key = None
        if key:
            keys.add(key)
        unknown = None if option.kind in KINDS else tag("span", f" ({option.kind})", class_="acp-quiet")
        label = join([option.label, tag("span", " (ambiguous)", class_="acp-quiet") if twice else unknown])
        yield _button(label, key, look, data_option=option.option_id, data_kind=option.kind, disabled=twice)


def _button(
    label: str, key: str | None = None, look: str | None = None, **attributes: str | bool | None
) -> Html:
    return tag(
        "button",
        tag("bdi", label),
        tag("kbd", key, aria_hidden="true") if key else None,
        type="button",
        class_=f"acp-btn {look}" if look else "acp-btn",
        data_key=key,
        aria_keyshortcuts=key if key is None or key.islower() else f"Shift+{key}",
        **attributes,
    )


def _scope(request: RequestPermission) -> Html | None:
    """What the answers cover, and why some cannot be given."""
    ids = [option.option_id for option in request.options]
    lines: list[Html] = []
    if any(option.kind.endswith("_always") for option in request.options):
        name = tag("bdi", request.tool_call.name)
        words = " with these arguments, in this session. Revoke with %acp rules."
        lines.append(tag("span", "“Always” covers ", name, words))
    if len(set(ids)) < len(ids):
        lines.append(tag("span", "Ambiguous: several answers have one id, so none can be given."))
    return tag("span", join(lines, " "), class_="acp-scope") if lines else None
