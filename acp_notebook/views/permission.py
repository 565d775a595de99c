"""Permission requests as cards: what would be done, in full, and the answers that the agent offers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

from ..masking import masked
from ..protocol.content import Code, Content, Text
from ..protocol.messages import RequestPermission
from ..session.state import PermissionState
from ..text import misleads
from .answers import answers, choosable
from .content import blocks, written
from .html import Html, join, tag
from .values import arguments_list, as_json, block, count, shortened, signature

#: What each answer looks like once it is given: mark, and words for a call and for a result.
ANSWERED = {
    "allowed": ("✓", "Allowed", "Shown to the model"),
    "denied": ("✗", "Denied", "Withheld from the model"),
    "cancelled": ("–", "Withdrawn", "Withdrawn"),
}
#: Longest title shown whole, in characters.
TITLE = 300


def permission(state: PermissionState, controls: bool, below: bool = False) -> Html:
    """A request: a card while it is pending, a line once it is answered.

    `below` its call, the line does not say again what was called.
    """
    return _card(state, controls) if state.status == "pending" else _line(state, below)


# -- answered --------------------------------------------------------------------------------------------


def _line(state: PermissionState, below: bool) -> Html:
    call = state.request.tool_call
    asked = tag("bdi", tag("code", signature(call.name, call.arguments, 80)))
    said = tag("span", _said(state), dir="auto")
    if state.edited is None:
        name = None if below else join([asked, " "])
        body = tag("span", name, said, _when(state), class_="acp-said")
    else:
        ran = tag("bdi", tag("code", signature(call.name, state.edited, 80)))
        name = None if below else join([ran, " "])
        body = tag(
            "details",
            tag("summary", name, said, ", in place of ", asked, _when(state)),
            tag("p", "The model asked for:", class_="acp-label"),
            arguments_list(call.arguments),
            tag("p", "What ran:", class_="acp-label"),
            arguments_list(state.edited),
        )
    mark, _, _ = ANSWERED.get(state.status, ("◇", "", ""))
    return tag(
        "div",
        tag("span", mark, class_="acp-mark", aria_hidden="true"),
        " ",
        body,
        class_=f"acp-permission acp-answered{' acp-below' * below}",
        data_request=state.request_id,
        data_status=state.status,
    )


def _said(state: PermissionState) -> str:
    """Who answered, and how: `Allowed by rule 3`, `Denied by you, always: not that`."""
    _, word, of_result = ANSWERED.get(state.status, ("", state.status, state.status))
    if state.request.subject == "result":
        word = of_result
    if state.status == "cancelled":
        return f"{word}: {state.explanation}" if state.explanation else word
    if state.explanation == f"{state.status} by you":
        always, told = ", always" if state.always else "", f": {state.said}" if state.said else ""
        return f"{word} by you{always}{told}"
    if state.explanation.startswith(state.status):
        return word + state.explanation.removeprefix(state.status)
    return state.explanation[:1].upper() + state.explanation[1:] or word


def _when(state: PermissionState) -> Html | None:
    return tag("span", f" · {clock(state.answered)}", class_="acp-quiet acp-num") if state.answered else None


def clock(at: float | None) -> str:
    """Local time of day, `14:03`."""
    return time.strftime("%H:%M", time.localtime(at)) if at else ""


# -- pending ---------------------------------------------------------------------------------------------


def _card(state: PermissionState, controls: bool) -> Html:
    request, call = state.request, state.request.tool_call
    shown = _result(request.result) if request.subject == "result" else request.content
    name = tag("bdi", tag("code", call.name))
    if request.subject == "result":
        heading = (
            tag("h4", "Let the model read why ", name, " failed?")
            if request.failed
            else tag("h4", "Let the model read what ", name, " returned?")
        )
    else:
        heading = tag("h4", "Approve ", name, "?")
    return tag(
        "div",
        heading,
        *_words(request),
        tag("p", "⚠ ", HIDDEN, class_="acp-warning", role="note") if _misleads(request, shown) else None,
        arguments_list(call.arguments),
        tag("p", "⚠ ", request.preview_error, class_="acp-warning") if request.preview_error else None,
        *blocks(shown),
        _deadline(state),
        join(answers(request)) if controls else tag("p", "Waiting for an answer.", class_="acp-quiet"),
        class_="acp-permission",
        data_request=state.request_id,
        data_status="pending",
        role="group",
        aria_label=f"Approval needed: {call.name}",
        tabindex=0 if controls else None,
    )


HIDDEN = "Some characters here are invisible or change the direction of text. They are shown as U+…"


def _words(request: RequestPermission) -> Iterator[Html]:
    """What was wrong before, and what the agent says itself, where that is more than the heading says."""
    name = request.tool_call.name
    if request.problem:
        said = f"✗ Your answer could not be used: {request.problem}"
        yield tag("p", said, class_="acp-problem", role="alert", dir="auto")
    if request.subject == "call" and request.title not in ("", name, f"Approve {name}?"):
        yield tag("p", shortened(request.title, TITLE), dir="auto")
    if request.description:
        yield (
            block(request.description, "description")
            if len(request.description) > TITLE
            else tag("p", request.description, class_="acp-quiet", dir="auto")
        )


def _result(result: Any) -> tuple[Content, ...]:
    """What a tool returned, with secrets masked."""
    found = masked(result)
    return (Text(found) if isinstance(found, str) else Code(as_json(found, 2), "json"),)


def _misleads(request: RequestPermission, shown: tuple[Content, ...]) -> bool:
    said = [
        request.title,
        request.description,
        request.problem,
        request.preview_error,
        request.tool_call.name,
    ]
    options = (text for option in request.options for text in (option.name, option.reach))
    covers = (text for one in request.covers for text in (one.argument, one.value))
    texts = [*filter(None, [*said, *options, *covers]), *_texts(request.tool_call.arguments), *written(shown)]
    return any(map(misleads, texts))


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


def _deadline(state: PermissionState) -> Html | None:
    if state.request.timeout is None:
        return None
    until = time.strftime("%H:%M:%S", time.localtime(state.asked + state.request.timeout))
    return tag("p", f"Without an answer by {until} it is denied.", class_="acp-quiet acp-num")


# -- several of one kind ---------------------------------------------------------------------------------


def together(pending: list[PermissionState]) -> Iterator[tuple[str, Html]]:
    """For each tool of which several calls wait: its name, and the buttons that answer them all."""
    calls = [state for state in pending if state.request.subject == "call"]
    for name, times in Counter(state.request.tool_call.name for state in calls).items():
        if times > 1:
            yield name, _together(name, [state for state in calls if state.request.tool_call.name == name])


def _together(name: str, states: list[PermissionState]) -> Html:
    ids = as_json([state.request_id for state in states])
    allowed = all(choosable(state.request.options, "allow_once") for state in states)
    what = f"all {count(len(states), 'call')} of {name}"

    def button(word: str, look: str) -> Html:
        return tag(
            "button",
            f"{word} all {len(states)}",
            type="button",
            class_=f"acp-btn {look}",
            data_action="answer-all",
            data_answer=word.lower(),
            data_requests=ids,
            aria_label=f"{word} {what}",
        )

    return tag(
        "div",
        tag("span", f"{count(len(states), 'call')} of "),
        tag("bdi", tag("code", name)),
        " wait, each with arguments of its own, as shown above.",
        button("Allow", "acp-primary") if allowed else None,
        button("Deny", "acp-danger"),
        class_="acp-together acp-answers",
        role="group",
        aria_label=f"Answer {what}",
    )
