"""pydantic-ai's MCP client: its tools called by plan, and `execute_plan` itself through it."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from pydantic_ai import Agent

from acp_notebook import StepOptions, StepToolset
from harness import mcp_tools, served
from harness.steps import calling, execute, reference, returned, step

pytest.importorskip("fastmcp")

from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset

pytestmark = pytest.mark.once


def toolset(program: Any) -> MCPToolset[Any]:
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return MCPToolset(StdioTransport(sys.executable, [program.__file__], environment, keep_alive=False))


async def test_tools_of_an_mcp_server_are_called_by_plan() -> None:
    options = {"total": StepOptions(side_effects=True, sharable=("values",))}
    answer = await execute(
        StepToolset(toolset(mcp_tools), options=options),
        [
            step("n", "numbers", count=5),
            step("t", "total", values=reference("n", "values")),
            step("l", "leave"),
        ],
    )
    assert answer["results"]["n"] == {"values": [0, 1, 2, 3, 4]}
    assert "10" in str(answer["results"]["t"])
    lost = {"status": "error", "error": "Connection closed", "may_have_run": True}  # by a server that is gone
    assert answer["steps"]["l"] == lost


async def test_an_agent_elsewhere_plans_with_what_is_served() -> None:
    steps = [
        step("backup", "create_backup", database="prod"),
        step("validate", "validate_backup", backup_id=reference("backup", "backup_id")),
    ]
    agent = Agent(calling(("execute_plan", {"steps": steps})), toolsets=[toolset(served)])
    (answer,) = returned((await agent.run("go")).all_messages())
    assert answer["results"]["validate"] == {"valid": True, "backup_id": "bk-42"}
