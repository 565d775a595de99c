"""The views of a session: `session`, `turn` and `plan`, each a pure function from the state to parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..protocol.messages import ConfigOption
from ..session.state import SessionState, TurnState
from .html import Html, tag
from .parts import ROOT, Memo, Part
from .plan import plan_parts
from .turn import item_parts, turn_parts
from .values import as_json

#: A view: given the state, what was made before, and whether it has controls.
Render = Callable[[SessionState, Memo, bool], list[Part]]

#: The slot of everything inside a view.
VIEW = "view"


def render_session(state: SessionState, memo: Memo, controls: bool = True) -> list[Part]:
    """The session: who works, settings, plans, the latest turn."""
    return list(_view(state, memo, controls, "session", state.turn))


def render_turn(number: int | None = None) -> Render:
    """The view of one turn: state, plans, the turn itself. `number` is 1-based; None follows the latest."""

    def render(state: SessionState, memo: Memo, controls: bool = True) -> list[Part]:
        turn = state.turn if number is None else state.turns[number - 1] if number <= len(state.turns) else None
        return list(_view(state, memo, controls, "turn", turn))

    return render


def render_plan(plan_id: str | None = None) -> Render:
    """The view of one plan alone; None follows the current one."""

    def render(state: SessionState, memo: Memo, controls: bool = True) -> list[Part]:
        return list(_view(state, memo, controls, "plan", None, plan_id))

    return render


def _view(
    state: SessionState, memo: Memo, controls: bool, kind: str, turn: TurnState | None, plan_id: str | None = None
) -> Iterator[Part]:
    memo.scope(turn.number if turn else 0)
    controls = controls and not state.closed
    running = state.status != "idle"
    root = tag(
        "div",
        class_="acp-view acp-running" if running else "acp-view",
        data_view=kind,
        role="region",
        aria_label=f"{'Plan' if kind == 'plan' else 'Agent session'} {state.name}",
        data_slot=VIEW,
    )
    yield Part(VIEW, ROOT, root)
    if kind != "plan":
        yield Part("head", VIEW, _head(state, controls, settings=kind == "session"))
    yield from _plans(state, memo, controls, kind, plan_id)
    if turn:
        yield from turn_parts(turn, memo, slot=VIEW, controls=controls)
    if kind == "session":
        for position, item in enumerate(state.outside):
            yield from item_parts(item, f"outside{position}", VIEW, memo, controls)


def _plans(state: SessionState, memo: Memo, controls: bool, kind: str, plan_id: str | None) -> Iterator[Part]:
    running = state.status != "idle"
    stale = not running and bool(state.turns)
    plans = list(state.plans.values())
    if kind == "plan":
        plans = [state.plans[plan_id]] if plan_id in state.plans else [state.plan]
    elif kind == "session" and not plans:
        plans = [state.plan]
    for plan in plans:
        alone = len(plans) == 1
        yield from plan_parts(plan, memo, slot=VIEW, controls=controls, running=running, stale=stale, alone=alone)


# -- header ----------------------------------------------------------------------------------------------


def _head(state: SessionState, controls: bool, settings: bool) -> Html:
    shown = "closed" if state.closed else {"idle": "idle", "requires_action": "waiting"}.get(state.status, "running")
    fields = [_setting(option, controls) for option in state.config] if settings else []
    cancel = tag("button", "Cancel turn", type="button", class_="acp-btn", data_action="cancel")
    return tag(
        "div",
        tag("span", state.agent, class_="acp-agent", dir="auto"),
        tag("span", _model(state), class_="acp-model acp-quiet", dir="auto") if state.model else None,
        tag("span", _status(state), class_="acp-state", data_state=shown, role="status"),
        tag("span", *fields, cancel if controls and state.status != "idle" else None, class_="acp-controls"),
        class_="acp-head",
    )


def _model(state: SessionState) -> str:
    return f"scripted {state.model}, no language model" if state.scripted else state.model


def _status(state: SessionState) -> str:
    if state.closed:
        return "closed"
    if state.status == "idle":
        return "ready" if state.turn is None or state.turn.stop_reason == "end_turn" else f"ready · last turn {state.turn.stop_reason}"
    words = "waiting for you" if state.status == "requires_action" else "working"
    current, total = state.plan.current, len(state.plan)
    return f"{words} · step {current} of {total}" if current else words


def _setting(option: ConfigOption, controls: bool) -> Html:
    """A select, a checkbox, or for types that this version does not know, the value alone."""
    name = tag("bdi", option.name)
    known = {value.value: value.name for value in option.values}
    if not controls or option.type not in ("select", "boolean"):
        value = option.current
        said = ("on" if value else "off") if isinstance(value, bool) else known.get(value, value if isinstance(value, str) else as_json(value))
        return tag("span", name, " ", tag("bdi", said, class_="acp-value"), class_="acp-setting", title=option.description)
    if option.type == "boolean":
        field = tag("input", type="checkbox", data_config=option.id, checked=option.current is True)
        return tag("label", field, " ", name, class_="acp-setting", title=option.description)
    values = list(known.items())
    if isinstance(option.current, str) and option.current not in known:
        values.insert(0, (option.current, option.current))
    choices = [tag("option", label, value=value, selected=value == option.current) for value, label in values]
    return tag("label", name, " ", tag("select", *choices, data_config=option.id), class_="acp-setting", title=option.description)
