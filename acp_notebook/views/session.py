"""The views of a session: `session`, `turn` and `plan`, each a pure function from the state to parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..session.state import SessionState, TurnState
from .html import Html, tag
from .parts import ROOT, Memo, Part
from .plan import plan_parts
from .settings import settings
from .turn import item_parts, turn_parts

#: A view: given the state, what was made before, and whether it has controls.
Render = Callable[[SessionState, Memo, bool], list[Part]]

#: The slots of everything inside a view, and of the settings in its header.
VIEW, SETTINGS = "view", "settings"


def render_session(state: SessionState, memo: Memo, controls: bool = True) -> list[Part]:
    """The session: who works, settings, plans, the latest turn."""
    return list(_view(state, memo, controls, "session", state.turn))


def render_turn(number: int | None = None) -> Render:
    """The view of one turn: state, plans, the turn itself. `number` is 1-based; None follows the latest."""

    def render(state: SessionState, memo: Memo, controls: bool = True) -> list[Part]:
        return list(_view(state, memo, controls, "turn", turn_of(state, number)))

    return render


def turn_of(state: SessionState, number: int | None) -> TurnState | None:
    """The turn with this 1-based number, the latest when None; None where there is none."""
    if number is None:
        return state.turn
    return state.turns[number - 1] if 1 <= number <= len(state.turns) else None


def render_plan(plan_id: str | None = None) -> Render:
    """The view of one plan alone; None follows the current one."""

    def render(state: SessionState, memo: Memo, controls: bool = True) -> list[Part]:
        return list(_view(state, memo, controls, "plan", None, plan_id))

    return render


def _view(
    state: SessionState,
    memo: Memo,
    controls: bool,
    kind: str,
    turn: TurnState | None,
    plan_id: str | None = None,
) -> Iterator[Part]:
    memo.scope(turn.number if turn else 0)
    controls = controls and not state.closed
    root = tag(
        "div",
        class_="acp-view" if state.status == "idle" else "acp-view acp-running",
        data_view=kind,
        role="region",
        aria_label=f"{'Plan' if kind == 'plan' else 'Agent session'} {state.name}",
        data_slot=VIEW,
    )
    yield Part(VIEW, ROOT, root)
    if kind != "plan":
        yield Part("head", VIEW, _head(state, kind, turn, controls))
    if kind == "session":
        yield from memo.parts(SETTINGS, settings, state.config, SETTINGS, controls)
    yield from _plans(state, memo, controls, kind, plan_id)
    if turn:
        yield from turn_parts(turn, memo, slot=VIEW, controls=controls)
    if kind == "session":
        for position, item in enumerate(state.outside):
            yield from item_parts(item, f"outside{position}", VIEW, memo, controls)


def _plans(state: SessionState, memo: Memo, controls: bool, kind: str, plan_id: str | None) -> Iterator[Part]:
    stale = state.status == "idle" and bool(state.turns)
    plans = list(state.plans.values())
    if kind == "plan":
        plans = [state.plan if plan_id is None else state.plans.get(plan_id, state.plan)]
    elif kind == "session" and not plans:
        plans = [state.plan]
    for plan in plans:
        alone = len(plans) == 1
        yield from plan_parts(plan, memo, slot=VIEW, controls=controls, stale=stale, alone=alone)


# -- header ----------------------------------------------------------------------------------------------


def _head(state: SessionState, kind: str, turn: TurnState | None, controls: bool) -> Html:
    light, words = _status(state, kind, turn)
    cancel = tag("button", "Cancel turn", type="button", class_="acp-btn", data_action="cancel")
    cancellable = controls and state.status != "idle"
    show = tag("button", "Answer", type="button", class_="acp-btn acp-primary", data_action="show-request")
    asking = controls and bool(state.pending) and kind != "plan"
    role = "status" if controls else None  # a live region: what changes in it is read aloud
    return tag(
        "div",
        tag("span", state.agent, class_="acp-agent", dir="auto"),
        " ",
        tag("span", _model(state), class_="acp-model acp-quiet", dir="auto") if state.model else None,
        " ",
        tag("span", words, class_="acp-state", data_state=light, role=role),
        " ",
        tag(
            "span",
            tag("span", class_="acp-settings", data_slot=SETTINGS) if kind == "session" else None,
            " ",
            show if asking else None,
            " ",
            cancel if cancellable else None,
            class_="acp-controls",
        ),
        class_="acp-head",
    )


def _model(state: SessionState) -> str:
    if not state.scripted:
        return state.model
    name = state.model if "script" in state.model else f"{state.model}, a script"
    return f"{name}, no language model"


def _status(state: SessionState, kind: str, turn: TurnState | None) -> tuple[str, str]:
    """What the light says (for the stylesheet), and the words."""
    if state.closed:
        return "closed", "closed"
    if state.status == "idle":
        ended = ENDED.get(turn.stop_reason or "", turn.stop_reason or "") if turn else ""
        if kind == "turn":
            return "idle", ended
        return "idle", f"ready · last turn {ended}" if ended not in ("", "finished") else "ready"
    current, total = state.plan.current, len(state.plan)
    step = f" · step {current} of {total}" if current else ""
    return (
        ("waiting", f"waiting for you{step}")
        if state.status == "requires_action"
        else ("running", f"working{step}")
    )


#: Stop reason → word, where the reason's own name is not the word.
ENDED = {"end_turn": "finished", "error": "failed", "max_tokens": "out of tokens", "refusal": "refused"}
