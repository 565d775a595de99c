"""Arguments that a person has put in place of the model's, held against the tool before it runs."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import to_jsonable_python

from ..errors import PermissionError
from .values import explain, foreign

log = logging.getLogger(__name__)

WAITS = "the call still waits"


class Arguments:
    """What a tool takes, for one call of it: pydantic-ai's own validators, which check the model's, too."""

    def __init__(self, ctx: RunContext[Any], call: ToolCallPart) -> None:
        tools = ctx.tool_manager.tools if ctx.tool_manager is not None else None
        self._tool: ToolsetTool[Any] | None = (tools or {}).get(call.tool_name)
        self._ctx: RunContext[Any] | None = ctx
        self._call = call

    def close(self) -> None:
        """Let go of the run: the request stays in the session's state, and with it what it can be asked."""
        self._tool, self._ctx = None, None

    def check(self, edited: Mapping[str, Any]) -> None:
        """Raises `PermissionError` for arguments that do not fit the tool's schema."""
        self._validated(edited)

    async def problem(self, edited: Mapping[str, Any]) -> str | None:
        """Why arguments cannot be used; also asks the tool's own validator, which may take its time."""
        try:
            arguments = self._validated(edited)
            await self._ask_tool(arguments)
        except PermissionError as error:
            return str(error)
        return None

    def _validated(self, edited: Mapping[str, Any]) -> dict[str, Any]:
        try:
            arguments = to_jsonable_python(dict(edited))
        except (TypeError, ValueError, RecursionError) as error:
            raise PermissionError(f"the arguments are not JSON ({explain(error)}): {WAITS}") from error
        if self._tool is None or self._ctx is None:
            return arguments
        try:
            return self._tool.args_validator.validate_python(arguments, context=self._ctx.validation_context)
        except ValidationError as error:
            raise PermissionError(f"{_in_words(error)}: {WAITS}") from error

    async def _ask_tool(self, arguments: dict[str, Any]) -> None:
        if self._tool is None or self._ctx is None or self._tool.args_validator_func is None:
            return
        ctx = replace(
            self._ctx,
            tool_name=self._call.tool_name,
            tool_call_id=self._call.tool_call_id,
            tool_call_approved=True,
        )
        try:
            with foreign():
                answer = self._tool.args_validator_func(ctx, **arguments)
                if inspect.isawaitable(answer):
                    await answer
        except ModelRetry as error:
            raise PermissionError(f"{error.message}: {WAITS}") from error
        except (ApprovalRequired, CallDeferred):
            pass  # no fault of theirs: pydantic-ai asks the validator again, and then the person
        except Exception as error:
            log.error("the validator of %s failed", self._call.tool_name, exc_info=error)
            raise PermissionError(f"the tool's own check failed ({explain(error)}): {WAITS}") from error


def validated(ctx: RunContext[Any], call: ToolCallPart) -> dict[str, Any]:
    """A call's arguments, which have been checked before, as its function takes them."""
    tools = ctx.tool_manager.tools if ctx.tool_manager is not None else None
    arguments = call.args_as_dict()
    if (tool := (tools or {}).get(call.tool_name)) is None:
        return arguments
    return tool.args_validator.validate_python(arguments, context=ctx.validation_context)


def _in_words(error: ValidationError) -> str:
    """What is wrong, argument by argument, without the values, which may be secrets."""
    lines = [
        f"{'.'.join(map(str, detail['loc'])) or 'the arguments'}: {detail['msg']}"
        for detail in error.errors(include_input=False, include_context=False, include_url=False)
    ]
    return "; ".join(lines)
