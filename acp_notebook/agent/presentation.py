"""What a permission request shows of a call. The names are those of pydantic-acp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic_ai.messages import ToolCallPart

from ..protocol.content import Content
from ..protocol.messages import ToolCallUpdate
from .adapter import AcpSessionContext
from .projection import ProjectionMap


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRequestContext:
    """What a builder is given: the session, the call, its arguments (a copy), and the session's folder.

    `kind` is the ACP kind of the tool, and `projection_maps` are those of the session's `AdapterConfig`.
    """

    session: AcpSessionContext
    tool_call: ToolCallPart
    raw_input: dict[str, Any]
    cwd: Path
    kind: str = "other"
    projection_maps: Sequence[ProjectionMap] = field(default=())


class PermissionToolCallBuilder(Protocol):
    """Says what a call will do before anybody is asked to approve it."""

    def build_tool_call_update(self, context: PermissionRequestContext) -> ToolCallUpdate:
        """An update of the call with a `title`, `content` or both. Called on the session's loop.

        What it raises is said on the request, which then shows the raw arguments alone. These are shown in
        any case, and what runs is never what a builder returns.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultPermissionToolCallBuilder:
    """Shows what the first projection map that knows the tool makes of the call."""

    def build_tool_call_update(self, context: PermissionRequestContext) -> ToolCallUpdate:
        name = context.tool_call.tool_name
        title, content = name, tuple[Content, ...]()
        for projections in context.projection_maps:
            found = projections.project_start(name, cwd=context.cwd, raw_input=context.raw_input)
            if found is not None:
                title, content = found.title or name, found.content
                break
        return ToolCallUpdate(
            context.tool_call.tool_call_id,
            title=title,
            kind=context.kind,
            raw_input=context.raw_input,
            content=content,
        )
