"""Session modes: which of the agent's tools a model may use, and what it may do with the plan.

The names are those of pydantic-acp.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, get_args

from pydantic_ai import RunContext
from pydantic_ai.tools import AgentDepsT, ToolDefinition

from ..errors import ConfigError
from ..protocol.messages import ConfigOption, ConfigValue
from ..steps.tools import OF_STEPS
from .config import choice

#: ACP tool kinds that change nothing.
READ_ONLY_KINDS = frozenset({"read", "search", "think", "fetch"})

#: Kinds of the tools that providers run themselves which change nothing.
READ_ONLY_NATIVE = frozenset({"web_search", "x_search", "web_fetch", "file_search", "tool_search", "advisor"})

#: How a mode that only plans writes the plan down.
PlanGenerationType = Literal["structured", "tools"]

#: Slash commands that are something else than a mode.
RESERVED = frozenset({"mode", "model", "effort", "thinking"})

#: Given a run's context and the agent's tools, those that a mode offers; None for all. May be asynchronous.
PrepareFunc: TypeAlias = Callable[
    [RunContext[AgentDepsT], list[ToolDefinition]],
    list[ToolDefinition] | Awaitable[list[ToolDefinition] | None] | None,
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareToolsMode(Generic[AgentDepsT]):
    """A mode of a session.

    Args:
        id: what commands call it, without spaces.
        name: what people read.
        prepare_func: called before each request to the model with the run's context and the definitions of
            the agent's own tools. It returns those that the mode offers, also changed ones, or None for all.
            When it raises, the mode offers none of them until it no longer does.
        description: one sentence; the model is told it, too, when the mode changes.
        plan_mode: the model writes the plan here: by a `TaskPlan`, or by `acp_set_plan`.
        plan_tools: the model works through the plan here, and marks what is done. Together with `plan_mode`
            it has all four plan tools.
        native_tools: kinds of the tools that a provider runs itself (`web_search`, `code_execution`, …) which
            the mode offers; None for all that the agent has.

    Raises `ConfigError` for an id that cannot be a command.
    """

    id: str
    name: str
    prepare_func: PrepareFunc[AgentDepsT]
    description: str | None = None
    plan_mode: bool = False
    plan_tools: bool = False
    native_tools: Collection[str] | None = None

    def __post_init__(self) -> None:
        if not self.id or self.id.split() != [self.id]:
            raise ConfigError(f"mode id {self.id!r} cannot be a command: use a word without spaces")
        if self.id in RESERVED:
            raise ConfigError(f"mode id {self.id!r} is a command of another kind: use another word")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareToolsBridge(Generic[AgentDepsT]):
    """The modes of a session, in the order in which they are shown.

    Args:
        default_mode_id: the mode that a session begins in: one of `modes`, or the id of a built-in mode
            (`ask`, `plan`, `agent`, `steps`), which then comes before them.
        modes: the modes; their ids differ.
        default_plan_generation_type: `structured` (the model returns a `TaskPlan`) or `tools` (it calls
            `acp_set_plan`).

    Raises `ConfigError` when these do not fit together.
    """

    default_mode_id: str
    modes: Sequence[PrepareToolsMode[AgentDepsT]]
    default_plan_generation_type: PlanGenerationType = "structured"

    def __post_init__(self) -> None:
        if wrong := [mode for mode in self.modes if not isinstance(mode, PrepareToolsMode)]:  # pyright: ignore
            raise ConfigError(f"{wrong[0]!r} is no mode: use PrepareToolsMode(…)")
        ids = [mode.id for mode in self.modes]
        if twice := next((id_ for n, id_ in enumerate(ids) if id_ in ids[:n]), None):
            raise ConfigError(f"two modes have the id {twice!r}: give each its own")
        if not ids:
            raise ConfigError("a session has at least one mode: give modes=[PrepareToolsMode(…)]")
        if self.default_mode_id not in (*ids, *_BUILT_IN):
            known = ", ".join(dict.fromkeys([*ids, *_BUILT_IN]))
            raise ConfigError(f"default_mode_id {self.default_mode_id!r} is none of the modes: use {known}")
        if self.default_plan_generation_type not in get_args(PlanGenerationType):
            raise ConfigError(
                f"default_plan_generation_type {self.default_plan_generation_type!r} is not known: "
                f"use {' or '.join(get_args(PlanGenerationType))}"
            )


class ModeSetting:
    """The modes of a session, and the one in effect."""

    id = "mode"

    def __init__(self, bridge: PrepareToolsBridge[Any]) -> None:
        modes = {mode.id: mode for mode in bridge.modes}
        if bridge.default_mode_id not in modes:
            modes = {bridge.default_mode_id: _BUILT_IN[bridge.default_mode_id], **modes}
        self.modes: Mapping[str, PrepareToolsMode[Any]] = modes
        self.mode = self._told = modes[bridge.default_mode_id]

    def option(self) -> ConfigOption:
        values = tuple(ConfigValue(mode.id, mode.name, mode.description) for mode in self.modes.values())
        return ConfigOption(self.id, "Mode", "mode", self.mode.id, values)

    def set(self, value: str | bool) -> None:
        self.mode = self.modes[choice(self.option(), value)]

    def copy(self, other: ModeSetting) -> None:
        self.mode, self._told = other.mode, other._told

    def working(self) -> PrepareToolsMode[Any]:
        """The mode to work on a plan in: the present one where it does that, else the first that does.

        Raises `ConfigError` when there is none.
        """
        for mode in (self.mode, *self.modes.values()):
            if mode.plan_tools:
                return mode
        raise ConfigError(
            f"none of the modes {', '.join(self.modes)} works on plans: give one of them plan_tools=True"
        )

    def news(self) -> str | None:
        """What the next request has to tell the model of the mode; None when nothing has changed.

        Said once, where the conversation stands: instructions that follow the mode would have a provider
        read the whole conversation anew.
        """
        if self.mode is self._told:
            return None
        self._told = self.mode
        about = f": {self.mode.description}" if self.mode.description else "."
        return f"The session is now in mode {self.mode.name!r}{about}"


def as_bridge(modes: Sequence[PrepareToolsMode[Any]]) -> PrepareToolsBridge[Any]:
    """These modes, of which the first is the default. Raises `ConfigError` when they are none."""
    return PrepareToolsBridge(default_mode_id=modes[0].id if modes else "", modes=modes)


def mode_bridge(bridges: Sequence[object]) -> PrepareToolsBridge[Any]:
    """The bridge that has the modes, the built-in one where there is none. Raises `ConfigError` for two."""
    found: list[Any] = [bridge for bridge in bridges if isinstance(bridge, PrepareToolsBridge)]
    if len(found) > 1:
        raise ConfigError("the modes are given twice: put all of them into one PrepareToolsBridge")
    return found[0] if found else BUILT_IN


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


# -- built-in modes --------------------------------------------------------------------------------------


def _that_read(ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
    return [tool_def for tool_def in tool_defs if tool_kind(tool_def.metadata) in READ_ONLY_KINDS]


def steps_only(ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
    """A `prepare_func` for a mode in which the model works by plans of steps alone.

    It has `execute_plan`, whose plans may call all their tools, and `read_step`.
    """
    return [tool_def for tool_def in tool_defs if (tool_def.metadata or {}).get(OF_STEPS)]


def _all(ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> None:
    return None


_MODES: tuple[PrepareToolsMode[Any], ...] = (
    PrepareToolsMode(
        id="ask",
        name="Ask",
        description="Answers and looks, with the tools that only read.",
        prepare_func=_that_read,
        native_tools=READ_ONLY_NATIVE,
    ),
    PrepareToolsMode(
        id="plan",
        name="Plan",
        description="Writes the plan, with the tools that only read.",
        prepare_func=_that_read,
        plan_mode=True,
        native_tools=READ_ONLY_NATIVE,
    ),
    PrepareToolsMode(
        id="agent",
        name="Agent",
        description="Plans and works, with all tools.",
        prepare_func=_all,
        plan_mode=True,
        plan_tools=True,
    ),
)
_STEPS: PrepareToolsMode[Any] = PrepareToolsMode(
    id="steps",
    name="Steps",
    description="Sends all steps of a task at once, as a plan of tool calls, which runs as it was written.",
    prepare_func=steps_only,
    native_tools=(),
)
_BUILT_IN = {mode.id: mode for mode in (*_MODES, _STEPS)}

#: What a session has that is given no modes.
BUILT_IN: PrepareToolsBridge[Any] = PrepareToolsBridge(default_mode_id="agent", modes=_MODES)
#: The same for an agent that has `execute_plan` beside other tools.
WITH_STEPS: PrepareToolsBridge[Any] = PrepareToolsBridge(default_mode_id="agent", modes=(*_MODES, _STEPS))
