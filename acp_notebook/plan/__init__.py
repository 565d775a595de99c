"""Plans as plain frozen values: what they hold, how they are edited, read and written."""

from .changes import Change
from .edits import AddEntry, ClearEntries, MoveEntry, PlanEdit, RemoveEntry, SetPlan, UpdateEntry, apply_edits
from .history import Author, PlanHistory, Revision
from .model import DEFAULT_PLAN_ID, PRIORITIES, STATUSES, Plan, PlanEntry

__all__ = [
    "DEFAULT_PLAN_ID",
    "PRIORITIES",
    "STATUSES",
    "AddEntry",
    "Author",
    "Change",
    "ClearEntries",
    "MoveEntry",
    "Plan",
    "PlanEdit",
    "PlanEntry",
    "PlanHistory",
    "RemoveEntry",
    "Revision",
    "SetPlan",
    "UpdateEntry",
    "apply_edits",
]
