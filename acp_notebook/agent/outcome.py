"""How a run ended, as a turn says it: what it took, its output as text, and why it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai.exceptions import ContentFilterError, IncompleteToolCall, UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.usage import RunUsage
from pydantic_core import to_json

from ..errors import AgentError, ScriptError
from ..protocol.messages import Usage
from .values import explain


def usage_of(usage: RunUsage, messages: Sequence[ModelMessage]) -> Usage:
    """What a run with these messages took. Only what came over a network has a price that may be unknown."""
    responses = (message for message in messages if isinstance(message, ModelResponse))
    unpriced = sum(1 for response in responses if response.provider_url and response.usage.cost is None)
    return Usage(
        usage.input_tokens, usage.output_tokens, usage.requests, usage.tool_calls, usage.cost, unpriced
    )


def shown(output: Any) -> str:
    """An output that is not the text which the model streamed, as the answer's text."""
    if isinstance(output, str):
        return output
    try:
        text = to_json(output, indent=2, serialize_unknown=True).decode()
    except ValueError:
        text = repr(output)
    return f"```json\n{text}\n```"


def stop_reason(error: BaseException) -> str:
    """ACP's stop reason for a run that raised; a failure of any other kind is an `error`."""
    match error:
        case ContentFilterError():
            return "refusal"
        case IncompleteToolCall():
            return "max_tokens"
        case UsageLimitExceeded():
            return "max_turn_requests"
        case _:
            return "error"


def one_line(error: BaseException) -> str:
    """What went wrong, and what to do where that is known."""
    if isinstance(error, RuntimeError) and "different event loop" in str(error):
        return (
            "this agent's model is in use on another event loop: with host='thread' give a model name, "
            "or an agent that is used nowhere else"
        )
    cause = error.__cause__ if isinstance(error, ScriptError) else error
    return str(cause) if isinstance(cause, AgentError) else explain(error)
