"""acp-notebook: an Agent Client Protocol session inside a Jupyter kernel, its plan live on the page.

    %load_ext acp_notebook
    %acp ask Clean the survey data

or, in Python, `Session(agent).ask("…")`. Names are loaded on first use, so that importing the package and
loading the extension take milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import log as log  # keeps the package's log records, and keeps them out of cells

if TYPE_CHECKING:
    from .agent.adapter import (
        AcpSessionContext,
        AdapterConfig,
        ConfigOptionsProvider,
        NativePlanPersistenceProvider,
        PlanProvider,
        SlashCommandProvider,
        SlashCommandRequest,
        SlashCommandResult,
    )
    from .agent.approval_store import ApprovalPolicyStore, SessionMetadataApprovalPolicyStore
    from .agent.approvals import NativeApprovalBridge, PermissionOptionSet
    from .agent.models import AdapterModel
    from .agent.modes import PrepareToolsBridge, PrepareToolsMode, steps_only
    from .agent.presentation import PermissionRequestContext, PermissionToolCallBuilder
    from .agent.projection import FileSystemProjectionMap, ProjectionMap, ToolProjection
    from .agent.scripted import Call, Output, Say, ScriptedModel, Think
    from .agent.task_plan import TaskPlan
    from .agent.thinking import ThinkingBridge
    from .errors import AcpError
    from .extension import load_ipython_extension, unload_ipython_extension
    from .notebook import Session, current
    from .plan import Plan, PlanEntry
    from .protocol.content import Code, Diff, Table, Text
    from .protocol.messages import AvailableCommand, ConfigOption, ConfigValue, ToolCallUpdate
    from .protocol.rules import Covers, Rule
    from .session.permissions import PermissionRequest
    from .session.turn import Turn
    from .steps.app import StepApp
    from .steps.events import StepEvent
    from .steps.tools import Sharable, StepOptions
    from .steps.toolset import StepToolset
    from .sweeps import Sweep

__version__ = "0.1.0"

__all__ = [
    "AcpError",
    "AcpSessionContext",
    "AdapterConfig",
    "AdapterModel",
    "ApprovalPolicyStore",
    "AvailableCommand",
    "Call",
    "Code",
    "ConfigOption",
    "ConfigOptionsProvider",
    "ConfigValue",
    "Covers",
    "Diff",
    "FileSystemProjectionMap",
    "NativeApprovalBridge",
    "NativePlanPersistenceProvider",
    "Output",
    "PermissionOptionSet",
    "PermissionRequest",
    "PermissionRequestContext",
    "PermissionToolCallBuilder",
    "Plan",
    "PlanEntry",
    "PlanProvider",
    "PrepareToolsBridge",
    "PrepareToolsMode",
    "ProjectionMap",
    "Rule",
    "Say",
    "ScriptedModel",
    "Session",
    "SessionMetadataApprovalPolicyStore",
    "Sharable",
    "SlashCommandProvider",
    "SlashCommandRequest",
    "SlashCommandResult",
    "StepApp",
    "StepEvent",
    "StepOptions",
    "StepToolset",
    "Sweep",
    "Table",
    "TaskPlan",
    "Text",
    "Think",
    "ThinkingBridge",
    "ToolCallUpdate",
    "ToolProjection",
    "Turn",
    "current",
    "load_ipython_extension",
    "steps_only",
    "unload_ipython_extension",
]

_HOMES = {
    "AcpError": ".errors",
    "AcpSessionContext": ".agent.adapter",
    "AdapterConfig": ".agent.adapter",
    "AdapterModel": ".agent.models",
    "ApprovalPolicyStore": ".agent.approval_store",
    "AvailableCommand": ".protocol.messages",
    "Call": ".agent.scripted",
    "Code": ".protocol.content",
    "ConfigOption": ".protocol.messages",
    "ConfigOptionsProvider": ".agent.adapter",
    "ConfigValue": ".protocol.messages",
    "Covers": ".protocol.rules",
    "Diff": ".protocol.content",
    "FileSystemProjectionMap": ".agent.projection",
    "NativeApprovalBridge": ".agent.approvals",
    "NativePlanPersistenceProvider": ".agent.adapter",
    "Output": ".agent.scripted",
    "PermissionOptionSet": ".agent.approvals",
    "PermissionRequest": ".session.permissions",
    "PermissionRequestContext": ".agent.presentation",
    "PermissionToolCallBuilder": ".agent.presentation",
    "Plan": ".plan",
    "PlanEntry": ".plan",
    "PlanProvider": ".agent.adapter",
    "PrepareToolsBridge": ".agent.modes",
    "PrepareToolsMode": ".agent.modes",
    "ProjectionMap": ".agent.projection",
    "Rule": ".protocol.rules",
    "Say": ".agent.scripted",
    "ScriptedModel": ".agent.scripted",
    "Session": ".notebook",
    "SessionMetadataApprovalPolicyStore": ".agent.approval_store",
    "Sharable": ".steps.tools",
    "SlashCommandProvider": ".agent.adapter",
    "SlashCommandRequest": ".agent.adapter",
    "SlashCommandResult": ".agent.adapter",
    "StepApp": ".steps.app",
    "StepEvent": ".steps.events",
    "StepOptions": ".steps.tools",
    "StepToolset": ".steps.toolset",
    "Table": ".protocol.content",
    "Sweep": ".sweeps",
    "TaskPlan": ".agent.task_plan",
    "Text": ".protocol.content",
    "Think": ".agent.scripted",
    "ThinkingBridge": ".agent.thinking",
    "ToolCallUpdate": ".protocol.messages",
    "ToolProjection": ".agent.projection",
    "Turn": ".session.turn",
    "current": ".notebook",
    "load_ipython_extension": ".extension",
    "steps_only": ".agent.modes",
    "unload_ipython_extension": ".extension",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = globals()[name] = getattr(import_module(_HOMES[name], __name__), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
