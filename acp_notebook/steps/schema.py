"""What the model is told of `execute_plan`: its parameters as JSON Schema, the rules, and the tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .conditions import COMPARISONS
from .plan import ITEM
from .references import LITERALLY, REFERENCE
from .signature import signatures
from .tools import StepTool

_RULES = f"""\
Run a plan of tool calls: steps that run in order, where later steps take what earlier ones returned.
All of it is checked first; when anything is wrong nothing runs, and you are told everything to mend.

A parameter marked * takes a reference in place of a value, at any depth:
{{"{REFERENCE}": {{"<id of an earlier step>": ["<key>", <index>, …]}}}}; [] is all that the step returned.
To pass an object that looks like a reference as data, wrap it: {{"{LITERALLY}": …}}.
"for_each": <reference to a list> calls the tool for each element, in its args
{{"{REFERENCE}": {{"{ITEM}": […]}}}}; the step returns the list of results.
"when": <reference>, or {{"value": <reference>, "equals": …}} ({", ".join(list(COMPARISONS)[1:])}):
else the step is skipped.
You get each step's status, and previews of large results: read_step has more. References pass whole values.

Tools:
"""


def description(tools: Iterable[StepTool]) -> str:
    """The description of `execute_plan`, with the tools that its steps may call."""
    return _RULES + signatures(tools)


def steps_schema(names: Sequence[str], max_steps: int) -> dict[str, Any]:
    """The JSON Schema of its arguments."""
    reference = {"type": "object", "properties": {REFERENCE: {"type": "object"}}, "required": [REFERENCE]}
    condition = {"value": reference, **{name: {} for name in COMPARISONS}}
    step = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "minLength": 1, "description": "A short name of its own."},
            "tool": {"type": "string", "enum": list(names)},
            "args": {"type": "object", "description": "The tool's arguments by name."},
            "for_each": reference,
            "when": {
                "anyOf": [reference, {"type": "object", "properties": condition, "required": ["value"]}]
            },
        },
        "required": ["id", "tool", "args"],
        "additionalProperties": False,
    }
    steps = {"type": "array", "items": step, "minItems": 1, "maxItems": max_steps}
    return {
        "type": "object",
        "properties": {"steps": steps},
        "required": ["steps"],
        "additionalProperties": False,
    }
