"""Messages between the client side (the notebook) and the agent side, in the vocabulary of ACP v2.

In one process these objects are passed as they are. Patch semantics follow the specification: a field that
is `OMIT` is unchanged, None clears it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, NamedTuple

from ..plan import Author, Plan
from .content import Content, as_text
from .rules import EXACT, Covers, Decision, Rule, RuleScope


class Omit(Enum):
    """The type of `OMIT`, which stands for a field that a message leaves out."""

    OMIT = "omit"

    def __repr__(self) -> str:
        return "OMIT"


OMIT: Final = Omit.OMIT

#: Why a turn ended (ACP v2 stop reasons).
STOP_REASONS = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error")

#: Who sets an option.
Setter = Literal["person", "agent"]

#: Tool call states of a call that has ended.
FINAL_STATUSES = frozenset({"completed", "failed", "cancelled"})

#: What is said of a function on a thread whose call has ended before it.
RUNNING_ON: Final = "its function could not be stopped and is still running"


# -- configuration ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """One value that a select option offers. `group` is the label of the group that it stands in, if any."""

    value: str
    name: str
    description: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class ConfigOption:
    """A session setting (ACP session config option).

    `category` is `mode`, `model`, `model_config`, `thought_level`, anything else, or empty where there is
    none. `current` is the value in effect: a string for the type `select`, a bool for `boolean`, any JSON
    value for other types, which can only be shown.
    """

    id: str
    name: str
    category: str
    current: Any
    values: tuple[ConfigValue, ...] = ()
    type: str = "select"
    description: str | None = None

    @property
    def current_name(self) -> str:
        """The value in effect as people call it."""
        if isinstance(self.current, bool):
            return "on" if self.current else "off"
        return next((value.name for value in self.values if value.value == self.current), str(self.current))


@dataclass(frozen=True, slots=True)
class AvailableCommand:
    """A slash command: the prompt `/name`, with what `hint` says behind it where there is one."""

    name: str
    description: str
    hint: str | None = None


# -- updates, agent to client ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UserMessage:
    """The prompt of a turn, echoed by the agent when the turn starts."""

    text: str
    message_id: str


@dataclass(frozen=True, slots=True)
class AgentMessageChunk:
    """A piece of the answer, in order."""

    text: str


@dataclass(frozen=True, slots=True)
class AgentThoughtChunk:
    """A piece of the model's thoughts, in order."""

    text: str


# A named tuple, as session.state.ToolCallState is: of these two a turn makes several for each tool call, and
# a frozen dataclass of this size takes three times as long.
class ToolCallUpdate(NamedTuple):
    """Creates a tool call on first sight of its id, changes it afterwards.

    `status`: pending, in_progress, paused (waiting for approval), completed, failed, cancelled. `raw_input`
    and `raw_output` are JSON-like. `reason` says in one line why a call ended otherwise than completed, or
    what was changed about it, or who let it run. `started` and `ended`, seconds since the epoch, say when it
    ran; over a wire they travel in `_meta`, and without them a client takes the time of arrival. `content` is
    what it changes or runs. `left` is about a function that goes on after its call has ended: `RUNNING_ON`,
    and when it has ended how. That can come late, and then belongs to the turn in which the call was left.
    """

    tool_call_id: str
    name: str | Omit | None = OMIT
    title: str | Omit | None = OMIT
    kind: str | Omit | None = OMIT
    status: str | Omit = OMIT
    raw_input: Any = OMIT
    raw_output: Any = OMIT
    reason: str | Omit | None = OMIT
    started: float | Omit = OMIT
    ended: float | Omit = OMIT
    content: tuple[Content, ...] | Omit = OMIT
    left: str | Omit | None = OMIT


@dataclass(frozen=True, slots=True)
class ToolCallContentChunk:
    """Text that a running tool call printed, appended to what it printed before."""

    tool_call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class PlanUpdate:
    """The complete plan with this `plan_id`, replacing what was there. An empty one is sent too.

    `author` is who changed it, and `undoes` the number of the revision that this takes back; over a wire both
    travel in `_meta`. `raw` holds what else the update came with, for those it is passed on to.
    """

    plan: Plan
    author: Author = "model"
    undoes: int | None = None
    raw: Mapping[str, Any] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class PlanRemoved:
    """The plan with this id is gone. An unknown id changes nothing."""

    plan_id: str
    author: Author = "model"
    raw: Mapping[str, Any] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class ConfigOptionUpdate:
    """The complete list of options with the values in effect, in the agent's order.

    `author` is who has set what is new in it.
    """

    options: tuple[ConfigOption, ...]
    author: Setter = "person"


@dataclass(frozen=True, slots=True)
class CurrentModeUpdate:
    """The agent has changed its mode by itself (v1; in v2 a mode is a config option)."""

    mode_id: str


@dataclass(frozen=True, slots=True)
class AvailableCommandsUpdate:
    """The complete list of slash commands."""

    commands: tuple[AvailableCommand, ...]


@dataclass(frozen=True, slots=True)
class RulesUpdate:
    """The complete list of the rules in force, by number. Over a wire it is an extension."""

    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class SessionInfoUpdate:
    """Another model is in use, which may be a script. Over a wire both travel in `_meta`."""

    model: str
    scripted: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """What model calls took: tokens, model requests, successful tool calls, and their cost in US dollars.

    `cost` is None when it is not known. It leaves out the requests counted in `unpriced`: those of a provider
    whose price is not known. A script costs nothing, and is not counted there.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    tool_calls: int = 0
    cost: Decimal | None = None
    unpriced: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.requests + other.requests,
            self.tool_calls + other.tool_calls,
            sum(costs, Decimal(0)) if costs else None,
            self.unpriced + other.unpriced,
        )


@dataclass(frozen=True, slots=True)
class StateUpdate:
    """The agent is `running`, needs a person (`requires_action`) or is `idle`; idle ends a turn.

    With `idle` come the stop reason, the usage of the turn, the output of the run (any Python object in one
    process) and, for stop reason `error`, a one-line `error`.
    """

    state: str
    stop_reason: str | None = None
    usage: Usage | None = None
    output: Any = None
    error: str | None = None
    cause: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """One line for the person. `level` is `info`, `warning` or `error`."""

    text: str
    level: str = "info"


@dataclass(frozen=True, slots=True)
class UnknownUpdate:
    """An update this version does not know: kept whole, counted, never dropped."""

    kind: str
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in an update from a wire was wrong: what happened to it, and a line that says what it was.

    `kind` is `update refused` (it changed nothing), `update mended` (read in spite of it), `entry skipped`,
    `entry mended` or `option skipped`; `count` is how many of that kind the line is about.
    """

    kind: str
    text: str
    count: int = 1


Update = (
    UserMessage
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallUpdate
    | ToolCallContentChunk
    | PlanUpdate
    | PlanRemoved
    | ConfigOptionUpdate
    | CurrentModeUpdate
    | AvailableCommandsUpdate
    | RulesUpdate
    | SessionInfoUpdate
    | StateUpdate
    | Notice
    | UnknownUpdate
    | Fault
)


# -- permission, agent to client and back ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PermissionOption:
    """An answer offered: ids go back verbatim, meaning comes from `kind` only.

    Kinds: `allow_once`, `allow_always`, `reject_once`, `reject_always`; others are shown, never chosen for
    the person. `reach` says how far an answer goes that is remembered; over a wire it is a part of the name.
    """

    option_id: str
    name: str
    kind: str
    reach: str | None = None

    @property
    def label(self) -> str:
        """The name, and how far it reaches."""
        return self.name if self.reach is None else f"{self.name}: {self.reach}"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a permission request is about: the tool's name, all its arguments, and the ACP tool kind."""

    tool_call_id: str
    name: str
    arguments: Mapping[str, Any]
    kind: str = "other"


#: What a person decides on: whether a call may run, or whether the model may read what it returned.
Subject = Literal["call", "result"]


@dataclass(frozen=True, slots=True)
class RequestPermission:
    """The agent may not go on with `tool_call` before it has an answer.

    `content` says what will change, in blocks; `preview_error` says in a line why there is none, and then the
    raw arguments are all there is to go by. `problem` says what was wrong with the answer before this one.
    For the subject `result`, `result` is what the tool returned, JSON-like; where it has `failed`, the text
    that says why.

    `parameters` is the JSON schema of the tool's arguments, for a form. `check` raises `PermissionError`, in
    a line, for edited arguments that the tool does not take; over a wire there is none, and the agent asks
    again. `covers` are what an answer that is remembered may be about, the first without being asked for, and
    `check_covers` raises `PermissionError` for something else that is not about the call, or cannot be kept.
    After `timeout` seconds without an answer the client denies; None waits.
    """

    tool_call: ToolCall
    options: tuple[PermissionOption, ...]
    title: str
    description: str | None = None
    content: tuple[Content, ...] = ()
    preview_error: str | None = None
    problem: str | None = None
    subject: Subject = "call"
    result: Any = None
    failed: bool = False
    parameters: Mapping[str, Any] | None = field(default=None, hash=False)
    check: Callable[[Mapping[str, Any]], None] | None = field(default=None, compare=False, repr=False)
    covers: tuple[Covers, ...] = ()
    check_covers: Callable[[Covers, Decision], None] | None = field(default=None, compare=False, repr=False)
    timeout: float | None = None

    @property
    def preview(self) -> str | None:
        """What will change, as plain text; None where the agent does not say."""
        return as_text(self.content) or None


@dataclass(frozen=True, slots=True)
class Selected:
    """The option that was chosen, with what the person added.

    `arguments` replaces the call's arguments, `reason` goes to the model as the tool's answer on a rejection,
    `note` goes to the model along with an approval. `result` is what the model reads in place of a result.
    An answer that is remembered is about `covers`, one of those offered or a narrower one, for `scope`. Over
    a wire these travel in `_meta`.
    """

    option_id: str
    arguments: Mapping[str, Any] | None = None
    reason: str | None = None
    note: str | None = None
    result: Any = OMIT
    covers: Covers = EXACT
    scope: RuleScope = "session"


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Nobody chose: the turn was cancelled, or no offered option means what was wanted. Never an approval."""

    reason: str | None = None


Outcome = Selected | Cancelled
