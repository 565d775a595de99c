"""The views of a session: `session`, `turn` and `plan`, each a pure function from the state to parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from ..plan import Plan, PlanHistory
from ..plan.runs import run_of
from ..session.state import SessionState, TurnState
from .history import left_in_progress, removed_plans
from .html import Html, tag
from .parts import ROOT, Memo, Part, Run
from .plan import Shown, plan_parts
from .settings import settings
from .turn import item_parts, turn_parts
from .work import NONE, Question, Questions

#: What a person looks at by plan id: the number of a revision, 0 where the history is open at the latest.
Looking = Mapping[str, int]
NOW: Looking = {}
#: What a session shows that has none.
_NO_PLAN = Plan()


class Render(Protocol):
    """A view: the state as parts, given what was made before, whether they are for a page, where buttons work
    while the session lives, what the person at the page looks at, and what they are asked there."""

    def __call__(
        self,
        state: SessionState,
        memo: Memo,
        live: bool = True,
        looking: Looking = NOW,
        questions: Questions = NONE,
    ) -> list[Part | Run]: ...


#: The slots of everything inside a view, and of the settings in its header.
VIEW, SETTINGS = "view", "settings"


def render_session(
    state: SessionState,
    memo: Memo,
    live: bool = True,
    looking: Looking = NOW,
    questions: Questions = NONE,
) -> list[Part | Run]:
    """The session: who works, settings, plans, the latest turn."""
    return list(_view(state, memo, live, looking, questions, "session", state.turn))


def render_turn(number: int | None = None) -> Render:
    """The view of one turn: state, plans, the turn itself. `number` is 1-based; None follows the latest."""

    def render(
        state: SessionState,
        memo: Memo,
        live: bool = True,
        looking: Looking = NOW,
        questions: Questions = NONE,
    ) -> list[Part | Run]:
        return list(_view(state, memo, live, looking, questions, "turn", turn_of(state, number)))

    return render


def turn_of(state: SessionState, number: int | None) -> TurnState | None:
    """The turn with this 1-based number, the latest when None; None where there is none."""
    if number is None:
        return state.turn
    return state.turns[number - 1] if 1 <= number <= len(state.turns) else None


def render_plan(plan_id: str | None = None) -> Render:
    """The view of one plan alone; None follows the current one."""

    def render(
        state: SessionState,
        memo: Memo,
        live: bool = True,
        looking: Looking = NOW,
        questions: Questions = NONE,
    ) -> list[Part | Run]:
        return list(_view(state, memo, live, looking, questions, "plan", None, [plan_of(state, plan_id)]))

    return render


def plan_of(state: SessionState, plan_id: str | None) -> Plan:
    """The plan with this id, the current one when None; an empty one where there is none."""
    if plan_id is None:
        return state.plan
    return state.plans.get(plan_id) or Plan(plan_id=plan_id)


def _view(
    state: SessionState,
    memo: Memo,
    live: bool,
    looking: Looking,
    questions: Questions,
    kind: str,
    turn: TurnState | None,
    plans: list[Plan] | None = None,
) -> Iterator[Part | Run]:
    controls = live and not state.closed
    root = tag(
        "div",
        class_="acp-view" if state.status == "idle" else "acp-view acp-running",
        data_view=kind,
        role="region",
        aria_label=f"{'Plan' if kind == 'plan' else 'Agent session'} {state.name}",
        data_slot=VIEW,
    )
    yield Part(VIEW, ROOT, root)
    if kind != "plan" or (controls and state.status != "idle"):  # a plan alone has one while a turn runs
        yield Part("head", VIEW, _head(state, kind, turn, controls))
    if kind == "session":
        yield from memo.parts(SETTINGS, settings, state.config, SETTINGS, controls)
    if plans is None:
        plans = plans_beside(state, turn) or ([_NO_PLAN] if kind == "session" else [])
    for plan in plans:
        history = state.history.get(plan.plan_id) or memo(f"no history {plan.plan_id}", PlanHistory, plan)
        look = looking.get(plan.plan_id) if controls else None
        shown = Shown(
            plan=memo(f"past {plan.plan_id}", history.plan_at, look) if look else plan,
            history=history,
            file=state.files.get(plan.plan_id),
            looking=look,
            note=_left(state, memo, kind, turn, history),
            question=_question(state, history, questions) if controls else None,
            idle=state.status == "idle",
            alone=len(plans) == 1,
            live=live,
            controls=controls,
            editable=controls and state.plans_editable and run_of(plan) is None,
        )
        yield from plan_parts(shown, memo, VIEW)
    if kind == "session" and controls and state.plans_editable and (removed := removed_plans(state)):
        yield Part("removed", VIEW, removed)
    if kind == "plan" and controls:  # work can be started here, so what stands in its way is answered here
        for request in state.pending:
            yield from item_parts(request, f"pending {request.request_id}", VIEW, memo, controls)
    if turn:
        yield from turn_parts(turn, memo.inner("turn", turn.number), slot=VIEW, controls=controls)
    if kind == "session":
        for position, item in enumerate(state.outside):
            yield from item_parts(item, f"outside{position}", VIEW, memo, controls)


def plans_beside(state: SessionState, turn: TurnState | None) -> list[Plan]:
    """The plans shown with a turn: those of the session, and of the runs that began or went on in it."""

    def belongs(history: PlanHistory) -> bool:
        return turn is not None and turn.number in (history[0].turn, history[-1].turn)

    return [
        plan
        for plan_id, plan in state.plans.items()
        if run_of(plan) is None or belongs(state.history[plan_id])
    ]


def _question(state: SessionState, history: PlanHistory, questions: Questions) -> Question | None:
    """What a person is asked of a plan, as long as it is the plan that they were asked of."""
    question = questions.get(history.plan.plan_id)
    current = question is not None and question.revision == len(history) and state.status == "idle"
    return question if current else None


def _left(
    state: SessionState, memo: Memo, kind: str, turn: TurnState | None, history: PlanHistory
) -> str | None:
    """That a turn ended with steps in progress: beside that turn, and beside the plan until they move on."""
    if state.status != "idle" or not state.turns:
        return None
    ended = memo(f"left {history.plan.plan_id}", left_in_progress, history)
    if ended is None or (kind == "turn" and turn is not None and turn.number != ended):
        return None
    which = "The turn" if kind == "turn" or ended == len(state.turns) else f"Turn {ended}"
    return f"{which} ended with steps still in progress."


# -- header ----------------------------------------------------------------------------------------------


def _head(state: SessionState, kind: str, turn: TurnState | None, controls: bool) -> Html:
    light, words = _status(state, kind, turn)
    cancel = tag("button", "Cancel turn", type="button", class_="acp-btn", data_action="cancel")
    cancellable = controls and state.status != "idle"
    show = tag("button", "Answer", type="button", class_="acp-btn acp-primary", data_action="show-request")
    asking = controls and bool(state.pending)
    role = "status" if controls else None  # a live region: what changes in it is read aloud
    return tag(
        "div",
        tag("span", state.name, class_="acp-agent", dir="auto"),
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
