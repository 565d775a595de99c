"""The answers of a permission card: a button for each option, and forms for answers that say more."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from glob import escape

from ..masking import masked
from ..protocol.messages import PermissionOption, RequestPermission
from ..protocol.rules import REACH, Covers
from ..text import misleads
from .fields import fields_html, fields_of
from .html import Html, join, tag, typed
from .values import WHOLE, editable_json

#: Option kind → the key that chooses it while the card has the focus, and the look of its button.
KINDS = {
    "allow_once": ("a", "acp-primary"),
    "allow_always": ("A", None),
    "reject_once": ("r", "acp-danger"),
    "reject_always": ("R", "acp-danger"),
}
EDIT_KEY, NOTE_KEY, REASON_KEY = "e", "n", "d"
_MOST_ROWS = 14


def answers(request: RequestPermission) -> Iterator[Html]:
    """All buttons of a card, then the forms that some of them open."""
    yes = choosable(request.options, "allow_once")
    no = "Withhold" if request.subject == "result" else "Deny"
    forms = [_reason_form(no)]
    edit = note = always = None
    if yes is not None and request.subject == "result":
        edit = _opener("Edit the result…", "edit-result", EDIT_KEY)
        forms.append(_result_form(request, yes))
    elif yes is not None:
        fields = bool(fields_of(request))
        if fields or request.tool_call.arguments:
            edit = _opener("Edit arguments", "edit-arguments", EDIT_KEY)
            forms.append(_edit_form(request))
        note = _opener("Allow with a note…", "allow-with-note", NOTE_KEY, "acp-bare")
        forms.append(_note_form())
    if request.covers and (lasting := _lasting(request.options)):
        always = _opener("Always…", "always", look="acp-bare")
        forms.append(_always_form(request, lasting))
    buttons = list(_options(request.options))
    if edit is not None:
        after_yes = (n for n, option in enumerate(request.options) if not option.kind.startswith("allow"))
        buttons.insert(next(after_yes, len(buttons)), edit)
    reason = _opener(f"{no} with a reason…", "deny-with-reason", REASON_KEY, "acp-bare")
    yield tag("div", *buttons, reason, note, always, _scope(request), class_="acp-answers")
    yield from forms


def choosable(options: Sequence[PermissionOption], kind: str) -> PermissionOption | None:
    """The first option of a kind whose id stands for no other option, too."""
    times = Counter(option.option_id for option in options)
    return next((one for one in options if one.kind == kind and times[one.option_id] == 1), None)


def _lasting(options: Sequence[PermissionOption]) -> list[PermissionOption]:
    found = [choosable(options, kind) for kind in ("allow_always", "reject_always")]
    return [option for option in found if option is not None]


# -- buttons ---------------------------------------------------------------------------------------------


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
        label = [option.name, tag("span", " (ambiguous)", class_="acp-quiet") if twice else unknown]
        yield _button(
            join(label),
            key,
            look,
            option.reach,
            data_option=option.option_id,
            data_kind=option.kind,
            disabled=twice,
        )


def _opener(label: str, action: str, key: str | None = None, look: str | None = None) -> Html:
    """A button that opens the form with the same action."""
    return _button(label, key, look, data_action=action, aria_expanded="false")


def _button(
    label: str,
    key: str | None = None,
    look: str | None = None,
    reach: str | None = None,
    **attributes: str | bool | None,
) -> Html:
    far = join([tag("span", ": ", class_="acp-sr"), tag("bdi", reach, class_="acp-reach")]) if reach else None
    return tag(
        "button",
        tag("bdi", label),
        tag("kbd", key, aria_hidden="true") if key else None,
        far,
        type="button",
        class_=f"acp-btn {look}" if look else "acp-btn",
        data_key=key,
        aria_keyshortcuts=key if key is None or key.islower() else f"Shift+{key}",
        **attributes,
    )


def _scope(request: RequestPermission) -> Html | None:
    """What the buttons do not say themselves: how far remembered answers go, why some cannot be given."""
    ids = [option.option_id for option in request.options]
    lasting = [option for option in request.options if option.kind.endswith("_always")]
    lines: list[str] = []
    if any(option.reach is None for option in lasting):
        lines.append("How far “always” reaches is for the agent to say.")
    elif lasting:
        lines.append("Remembered answers: %acp rules.")
    if len(set(ids)) < len(ids):
        lines.append("Ambiguous: several answers have one id, so none can be given.")
    return tag("span", " ".join(lines), class_="acp-scope") if lines else None


# -- forms -----------------------------------------------------------------------------------------------


def _form(action: str, *children: Html | None, submit: str | None, look: str) -> Html:
    """A form that the button with the same action opens; without `submit` it cannot be sent."""
    button = tag("button", submit, class_=f"acp-btn {look}") if submit else None
    return tag("form", *children, button, _back(), class_="acp-form", data_action=action, hidden=True)


def _back() -> Html:
    return tag("button", "Back", type="button", class_="acp-btn acp-bare", data_action="close-form")


def _reason_form(no: str) -> Html:
    field = tag("input", name="reason", autocomplete="off", dir="auto")
    label = tag("label", "Reason, which the model reads", field)
    return _form("deny-with-reason", label, submit=no, look="acp-danger")


def _note_form() -> Html:
    field = tag("input", name="note", autocomplete="off", dir="auto")
    label = tag("label", "Note, which the model reads", field)
    return _form("allow-with-note", label, submit="Allow once", look="acp-primary")


def _edit_form(request: RequestPermission) -> Html:
    """The arguments as fields where the tool says what it takes, else as JSON, which is there in any case."""
    fields = fields_of(request)
    source = editable_json(masked(request.tool_call.arguments))
    if len(source) > WHOLE and not fields:
        note = tag("p", "Too long to edit here: use %acp approve --var NAME.", class_="acp-quiet")
        return _form("edit-arguments", note, submit=None, look="")
    long = any(field.kind == "kept" for field in fields)
    rows = min(_MOST_ROWS, source.count("\n") + 2)
    area = tag("textarea", typed("" if fields else source), name="arguments", spellcheck="false", rows=rows)
    raw = tag("label", "Arguments of this one call, as JSON", area, class_="acp-raw", hidden=bool(fields))
    switch = tag(
        "button",
        "As JSON",
        type="button",
        class_="acp-btn acp-bare",
        data_action="as-json",
        aria_pressed="false",
    )
    return _form(
        "edit-arguments",
        fields_html(fields) if fields else None,
        raw,
        switch if fields and not long else None,
        submit="Allow with these arguments",
        look="acp-primary",
    )


def _result_form(request: RequestPermission, yes: PermissionOption) -> Html:
    source = result_source(request)
    if len(source) > WHOLE:
        note = tag("p", "Too long to edit here.", class_="acp-quiet")
        return _form("edit-result", note, submit=None, look="")
    what = "What the model reads instead" + ("" if is_text(request.result) else ", as JSON")
    rows = min(_MOST_ROWS, source.count("\n") + 2)
    area = tag("textarea", typed(source), name="result", spellcheck="false", rows=rows, dir="auto")
    option = tag("input", type="hidden", name="option", value=yes.option_id)
    return _form("edit-result", tag("label", what, area), option, submit=yes.name, look="acp-primary")


def is_text(result: object) -> bool:
    """Whether a result is edited as the text that it is, and not as JSON."""
    return isinstance(result, str) and "\r" not in result and not misleads(result)


def result_source(request: RequestPermission) -> str:
    """A result as it is edited."""
    return request.result if is_text(request.result) else editable_json(masked(request.result))


def _always_form(request: RequestPermission, lasting: list[PermissionOption]) -> Html:
    """Which calls a remembered answer is about, and for how long: exactly this one unless chosen so."""
    covers = [tag("option", one.said(), value=str(at)) for at, one in enumerate(request.covers)]
    narrower = (
        tag(
            "label",
            f"{made.said().removesuffix(made.value)}…",
            tag("input", name=f"narrow{at}", value=made.value, autocomplete="off", spellcheck="false"),
            data_covers=str(at),
            hidden=True,
        )
        for at, one in enumerate(request.covers)
        if (made := narrowable(one)) is not None
    )
    scopes = [tag("option", words, value=scope) for scope, words in REACH.items()]
    calls = tag("span", "Calls of ", tag("bdi", tag("code", request.tool_call.name)))
    buttons = (
        _button(
            option.name,
            look="acp-danger" if option.kind == "reject_always" else None,
            data_choice=option.option_id,
        )
        for option in lasting
    )
    return tag(
        "form",
        tag("label", calls, tag("select", *covers, name="covers")),
        *narrower,
        tag("label", "Where", tag("select", *scopes, name="scope")),
        *buttons,
        _back(),
        class_="acp-form",
        data_action="always",
        hidden=True,
    )


def narrowable(covers: Covers) -> Covers | None:
    """What a person may type something narrower in place of: a folder, or a text, which becomes a pattern."""
    text = covers.value
    if covers.kind == "equals":
        try:
            text = json.loads(text)
        except ValueError:  # an agent that is not ours
            return None
    if covers.kind not in ("equals", "under") or not isinstance(text, str) or misleads(text):
        return None
    return covers if covers.kind == "under" else Covers("matches", covers.argument, escape(text))


def narrowed(covers: Covers, typed: str | None) -> Covers:
    """What an answer covers with what was `typed` beside it, which counts where it is something else."""
    made = narrowable(covers)
    if made is None or typed is None or typed == made.value:
        return covers
    return Covers(made.kind, made.argument, typed)
