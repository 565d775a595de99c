"""Which of a call's arguments are secrets, by what its tool declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from ..masking import Secret, declares_secrets, marked, marked_where, mentions_secret, secrets_in
from ..steps.tools import STEP_PARAMETERS

#: Under this name pydantic-ai has arguments that are no JSON, as the model wrote them.
INVALID_JSON = "INVALID_JSON"


class Secrets:
    """Marks the secrets in calls of the function tools `tools`, by name."""

    def __init__(self, tools: Mapping[str, ToolDefinition]) -> None:
        self._tools = tools
        self._declared: dict[str, bool] = {}

    def marked(self, call: ToolCallPart, arguments: Any) -> Any:
        """`arguments`, those of `call`, with its secrets marked.

        Arguments that are no JSON are one secret where they could hold any: nobody can tell where it stands.
        """
        tool = self._tools.get(call.tool_name)
        declared = tool is not None and self._declares(tool)
        text = arguments if isinstance(arguments, str) else arguments.get(INVALID_JSON)
        if isinstance(text, str) and (declared or mentions_secret(text)):
            return {INVALID_JSON: Secret(text)}
        return marked_arguments(arguments, tool)

    def _declares(self, tool: ToolDefinition) -> bool:
        if tool.name not in self._declared:
            self._declared[tool.name] = declares_secrets([tool.parameters_json_schema, _of_steps(tool)])
        return self._declared[tool.name]


def marked_arguments(arguments: Any, tool: ToolDefinition | None) -> Any:
    """Arguments of a tool with the secrets marked, of a tool that takes a plan those of each of its steps."""
    if tool is None:
        return marked(arguments, None)
    found: Any = marked(arguments, tool.parameters_json_schema)
    of_steps = _of_steps(tool)
    if not of_steps or not isinstance(found, dict):
        return found
    given = cast("dict[str, Any]", found)
    steps: Any = given.get("steps")
    if isinstance(steps, str):  # which is read all the same
        return {**given, "steps": Secret(steps)} if _may_hold_secrets(steps, of_steps) else given
    if not isinstance(steps, list):
        return given
    new = [_marked_step(step, of_steps) for step in cast("list[Any]", steps)]
    return {**given, "steps": marked_where(new, list(secrets_in(new)))}


def _of_steps(tool: ToolDefinition) -> Mapping[str, Any]:
    """The schemas of the tools that the steps of a plan can call, where this tool takes one."""
    return (tool.metadata or {}).get(STEP_PARAMETERS, {})


def _may_hold_secrets(text: str, of_steps: Mapping[str, Any]) -> bool:
    return mentions_secret(text) or any(map(declares_secrets, of_steps.values()))


def _marked_step(step: Any, of_steps: Mapping[str, Any]) -> Any:
    if not isinstance(step, dict):
        return step
    given = cast("dict[str, Any]", step)
    args: Any = given.get("args")
    if isinstance(args, str):
        return {**given, "args": Secret(args)} if _may_hold_secrets(args, of_steps) else given
    return {**given, "args": marked(args, of_steps.get(str(given.get("tool"))))}
