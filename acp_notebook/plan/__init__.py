"""Plans as plain frozen values: what they hold, how they are edited, read and written."""

from .edits import AddEntry, ClearEntries, MoveEntry, PlanEdit, RemoveEntry, SetPlan, UpdateEntry, apply_edits
from .model import DEFAULT_PLAN_ID, PRIORITIES, STATUSES, Plan, PlanEntry

__all__ = [
    "DEFAULT_PLAN_ID",
    "PRIORITIES",
    "STATUSES",
    "AddEntry",
    "ClearEntries",
    "MoveEntry",
    "Plan",
    "PlanEdit",
    "PlanEntry",
    "RemoveEntry",
    "SetPlan",
    "UpdateEntry",
    "apply_edits",
]
