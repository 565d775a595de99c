"""`import acp_notebook` is small and quick: what it offers, and what it must not bring along."""

import subprocess
import sys

import pytest

import acp_notebook

HEAVY = (
    "pydantic_ai",
    "anywidget",
    "ipywidgets",
    "ipykernel",
    "jupyter_client",
    "markdown_it",
    "nest_asyncio2",
)
NAMES = {
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
}


def test_these_names_are_public_and_all_of_them_are_there() -> None:
    assert set(acp_notebook.__all__) == NAMES
    assert [name for name in NAMES if not hasattr(acp_notebook, name)] == []
    assert set(dir(acp_notebook)) >= NAMES


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        acp_notebook.no_such_name  # noqa: B018


@pytest.mark.parametrize("module", ["acp_notebook", "acp_notebook.extension", "acp_notebook.cli"])
def test_importing_brings_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
