"""What a plan may call: a tool as the checks and the run see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast, get_args, get_type_hints
from weakref import WeakKeyDictionary

from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import SchemaValidator

OPTIONS = "steps"  # the key of a `StepOptions` in a tool's metadata
#: The key, in the metadata of what takes a plan, of the JSON Schemas of its tools' parameters by name.
STEP_PARAMETERS = "step_parameters"
#: The key, in the metadata of what is for plans of steps alone, of True: `execute_plan`, `read_step`, and a
#: tool that steps call as the mode of a session is asked about it.
OF_STEPS = "of_steps"


#: The parameters of functions that take references. To evaluate annotations takes longer than most plans.
_known: WeakKeyDictionary[Callable[..., Any], frozenset[str]] = WeakKeyDictionary()


class Sharable:
    """Marks a tool's parameter as one that takes what an earlier step returned.

    `Annotated[T, Sharable()]`, also inside `Optional[…]`; the bare class does as well.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOptions:
    """How steps that call a tool are run.

    - `side_effects`: it changes something, so it is never moved past another step, nor run beside one
    - `idempotent`: doing it twice is as doing it once; only then is it tried again, `retries` times, first
      after `backoff` seconds, then twice as long each time
    - `timeout`: seconds that one try may take; what runs on a thread cannot be stopped, and the step says so
    - `fail_when`: whether a result says that the call has failed, for a tool that does not raise
    - `sharable`: parameters that take references, for tools without annotations (MCP)
    - `here`: it is called in this process, whatever the executor: it uses what is only to be found here
    """

    side_effects: bool = False
    idempotent: bool = False
    retries: int = 0
    backoff: float = 0.5
    timeout: float | None = None
    fail_when: Callable[[Any], bool] | None = None
    sharable: tuple[str, ...] = ()
    here: bool = False

    def __post_init__(self) -> None:
        if self.retries and not self.idempotent:
            raise ValueError("retries are for tools declared idempotent: add idempotent=True, or retries=0")


@dataclass(frozen=True, slots=True)
class StepTool:
    """One tool. `parameters` and `returns` are JSON Schemas; `properties` and `required` are of the former.

    `function` is there when nothing else takes part in a call. `sent`: its calls go to the executor.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    returns: Mapping[str, Any]
    properties: Mapping[str, Any]
    required: frozenset[str]
    sharable: frozenset[str]
    validator: SchemaValidator
    options: StepOptions = StepOptions()
    gated: bool = False
    function: Callable[..., Any] | None = None
    is_async: bool = True
    sent: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether a call is one of a function that is not async, here, without a clock or another try."""
        options = self.options
        return (
            self.function is not None
            and not (self.is_async or self.sent)
            and options.timeout is None
            and not options.retries
        )

    @property
    def takes_more(self) -> bool:
        """Whether it takes arguments under any name (`**kwargs`)."""
        return self.parameters.get("additionalProperties", False) is not False


def step_tool(
    tool: ToolsetTool[Any],
    options: StepOptions | None = None,
    *,
    direct: bool = False,
    leaves: Callable[[Callable[..., Any]], bool] | None = None,
) -> StepTool:
    """A pydantic-ai tool as a step's tool.

    `direct`: no hook, wrapper or context needs to see its calls. `leaves`: whether those of a function that
    needs no context go to an executor.
    """
    definition = tool.tool_def
    options = options or _declared(definition)
    schema = function_schema(tool)
    function: Any = getattr(schema, "function", None)
    alone = function is not None and not (
        schema.takes_ctx or schema.positional_fields or schema.var_positional_field
    )
    plain = (
        direct
        and alone
        and definition.kind == "function"
        and not (definition.defer_loading or definition.capability_id or definition.timeout)
        and tool.args_validator_func is None
    )
    may_leave = alone and not schema.is_async and not options.here
    sent = leaves is not None and function is not None and may_leave and leaves(function)
    return StepTool(
        definition.name,
        definition.description or "",
        definition.parameters_json_schema,
        definition.return_schema or {},
        definition.parameters_json_schema.get("properties", {}),
        frozenset(definition.parameters_json_schema.get("required", ())),
        _sharable(schema) | set(options.sharable),
        cast(SchemaValidator, tool.args_validator),
        options,
        definition.kind == "unapproved",
        function if plain else None,
        getattr(schema, "is_async", True),
        sent,
    )


def function_schema(tool: ToolsetTool[Any]) -> Any:
    """What a function tool keeps of its function, also from within a combined toolset; else None."""
    while (inner := getattr(tool, "source_tool", None)) is not None:
        tool = inner
    return getattr(getattr(tool, "call_func", None), "__self__", None)


def _declared(definition: ToolDefinition) -> StepOptions:
    """The options in a tool's metadata, where MCP servers give their hints."""
    metadata = definition.metadata or {}
    options = metadata.get(OPTIONS)
    if not isinstance(options, StepOptions):
        given = metadata.get("annotations")
        hints: Mapping[str, Any] = cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}
        options = StepOptions(
            side_effects=hints.get("readOnlyHint") is False, idempotent=hints.get("idempotentHint") is True
        )
    return replace(options, side_effects=True) if definition.sequential else options


def _sharable(schema: Any) -> frozenset[str]:
    function = getattr(schema, "function", None)
    if function is None:
        return frozenset()
    function = getattr(function, "func", function)
    with suppress(KeyError, TypeError):  # TypeError: there are no weak references to it
        return _known[function]
    hints = get_type_hints(function, include_extras=True)
    found = frozenset(name for name, hint in hints.items() if name != "return" and _is_sharable(hint))
    with suppress(TypeError):
        _known[function] = found
    return found


def _is_sharable(annotation: Any) -> bool:
    marks = getattr(annotation, "__metadata__", ())
    if any(mark is Sharable or isinstance(mark, Sharable) for mark in marks):
        return True
    return any(map(_is_sharable, get_args(annotation)[:1] if marks else get_args(annotation)))
