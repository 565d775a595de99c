"""Session modes: which tools a model may use, and which of the plan tools it sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..protocol.messages import ConfigOption, ConfigValue
from .config import choice

#: ACP tool kinds that change nothing.
READ_ONLY_KINDS = frozenset({"read", "search", "think", "fetch"})

PLAN_TOOLS = frozenset({"acp_get_plan", "acp_set_plan", "acp_update_plan_entry", "acp_mark_plan_done"})


@dataclass(frozen=True, slots=True)
class Mode:
    """A mode: `plan_tools` are offered; of the agent's own tools all of them, or only those that read."""

    id: str
    name: str
    description: str
    plan_tools: frozenset[str] = frozenset()
    read_only: bool = False

    def offers(self, tool: str, metadata: Mapping[str, Any] | None) -> bool:
        """Whether a tool may be used in this mode; `metadata` is the tool definition's."""
        if tool in PLAN_TOOLS:
            return tool in self.plan_tools
        return not self.read_only or tool_kind(metadata) in READ_ONLY_KINDS


MODES = (
    Mode("ask", "Ask", "Answers and looks, with the tools that only read.", read_only=True),
    Mode(
        "plan",
        "Plan",
        "Writes the plan, with the tools that only read.",
        plan_tools=frozenset({"acp_get_plan", "acp_set_plan"}),
        read_only=True,
    ),
    Mode("agent", "Agent", "Plans and works, with all tools.", plan_tools=PLAN_TOOLS),
)

DEFAULT_MODE = "agent"


class ModeSetting:
    """The modes of a session, and the one in effect."""

    id = "mode"

    def __init__(self, modes: Sequence[Mode] = MODES, default: str = DEFAULT_MODE) -> None:
        self._modes = {mode.id: mode for mode in modes}
        self.mode = self._modes[default]

    def option(self) -> ConfigOption:
        values = tuple(ConfigValue(mode.id, mode.name, mode.description) for mode in self._modes.values())
        return ConfigOption(self.id, "Mode", "mode", self.mode.id, values)

    def set(self, value: str | bool) -> None:
        self.mode = self._modes[choice(self.option(), value)]


def tool_kind(metadata: Mapping[str, Any] | None) -> str:
    """The ACP kind that a tool's metadata states: `kind`, or MCP's `annotations.readOnlyHint`; else `other`.

    A tool that states nothing is not taken for one that only reads.
    """
    if not metadata:
        return "other"
    if isinstance(kind := metadata.get("kind"), str):
        return kind
    annotations: Any = metadata.get("annotations")
    reads = isinstance(annotations, dict) and annotations.get("readOnlyHint") is True  # pyright: ignore
    return "read" if reads else "other"
