"""An MCP server of another making, whose tools are called by plan."""

from __future__ import annotations

import os
from typing import Any

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("numbers")


@server.tool(annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True))
def numbers(count: int) -> dict[str, Any]:
    return {"values": list(range(count))}


@server.tool(annotations=ToolAnnotations(read_only_hint=False))
def total(values: list[int]) -> int:
    return sum(values)


@server.tool()
def leave() -> None:
    os._exit(1)


if __name__ == "__main__":
    server.run()
