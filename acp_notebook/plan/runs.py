"""Plans that show a run of `execute_plan`: an entry for each step, which the run alone changes.

What is known of run and steps beyond texts and statuses travels in `_meta` (ACP, "Extensibility"). It may
come from anywhere, so it is read with care.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from .model import Plan, PlanEntry

#: The names in the `_meta` of a plan and of an entry.
RUN, STEP = "acp-notebook/run", "acp-notebook/step"

#: How a step can end for which the protocol has no status. Names of one's own begin with `_` (ACP).
FAILED, SKIPPED, DENIED = "_failed", "_skipped", "_denied"
_SHOWN_AS = "shown as plan "


@dataclass(frozen=True, slots=True)
class StepFacts:
    """What is known of one step. All texts are fit to be shown: short, and without secrets.

    `arguments` are written values by name, references as `← backup.id`; `uses` the ids of the steps referred
    to; `started` and `ended` seconds since the epoch; `result` a preview; `error` why it failed, was denied
    or skipped; `note` what else there is to say of it now.
    """

    arguments: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    uses: tuple[str, ...] = ()
    started: float | None = None
    ended: float | None = None
    result: str | None = None
    error: str | None = None
    note: str | None = None


_TYPES: Mapping[str, tuple[type, ...]] = {
    "started": (int, float),
    "ended": (int, float),
    "result": (str,),
    "error": (str,),
    "note": (str,),
}


def shown_as(plan_id: str) -> str:
    """The title of a call whose steps are a plan."""
    return f"{_SHOWN_AS}{plan_id}"


def plan_shown(title: str | None) -> str | None:
    """The id of the plan that a call's title names; None for every other title."""
    return title.removeprefix(_SHOWN_AS) if title and title.startswith(_SHOWN_AS) else None


def step_meta(facts: StepFacts) -> dict[str, Any]:
    """The `_meta` of a step's entry."""
    known = {name: value for name, value in asdict(facts).items() if value not in (None, {}, ())}
    return {STEP: {**known, "uses": list(facts.uses)}}


def step_of(entry: PlanEntry) -> StepFacts | None:
    """What an entry says of its step; None for an entry that is no step."""
    found = (entry.meta or {}).get(STEP)
    if not isinstance(found, Mapping):
        return None
    facts = cast("Mapping[str, Any]", found)
    simple = {
        name: value
        for name, kinds in _TYPES.items()
        if isinstance(value := facts.get(name), kinds) and not isinstance(value, bool)
    }
    arguments, uses = facts.get("arguments"), facts.get("uses")
    return StepFacts(
        {str(name): str(value) for name, value in cast("Mapping[Any, Any]", arguments).items()}
        if isinstance(arguments, Mapping)
        else {},
        tuple(one for one in cast("list[Any]", uses) if isinstance(one, str))
        if isinstance(uses, list)
        else (),
        **simple,
    )


def run_of(plan: Plan) -> str | None:
    """The id of the run that a plan shows; None for every other plan."""
    found = (plan.meta or {}).get(RUN)
    run_id = cast("Mapping[str, Any]", found).get("id") if isinstance(found, Mapping) else None
    return run_id if isinstance(run_id, str) else None
