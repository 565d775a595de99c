"""A model that plays scripts: for lessons, tests and demos that need no provider, no key and no network.

    model = ScriptedModel(delay=0.03)

    @model.script(r"weather in (\\w+)")
    def weather(turn):
        yield Think("I need today's numbers.")
        report = yield Call("look_up", city=turn.match[1])
        yield Say(f"{report.content['degrees']} degrees." if report.ok else f"No idea: {report.text}")

    agent = Agent(model, tools=[look_up])

The model keeps no state: a script is run again from its start for every request and fed the results that
the message history already holds. So approvals, cancelled turns and histories restored from JSON work as with
any model. The price is that of all replay: a script decides by its turn and by results alone, never by the
clock or by chance.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    FinishReason,
    ModelMessage,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from ..errors import ScriptError
from .script import (
    Call,
    Output,
    Past,
    Result,
    Say,
    Script,
    Step,
    Think,
    Turn,
    offer,
    play,
    prompt_text,
    short,
)

__all__ = ["Call", "Output", "Result", "Say", "Script", "ScriptedModel", "Step", "Think", "Turn"]


class ScriptedModel(Model[None]):
    """A pydantic-ai model whose behaviour is written as scripts.

    Args:
        delay: seconds between the deltas of a streamed answer. Answers that are not streamed come at once.
        name: the model's name, as histories and views show it.

    A request raises `ScriptError` when no script is for the prompt, or the one that is cannot be played.
    """

    def __init__(self, *, delay: float = 0.0, name: str = "demo") -> None:
        super().__init__(
            profile=ModelProfile(
                supports_thinking=True,
                supports_json_schema_output=True,
                supports_json_object_output=True,
                # Otherwise the framework's own notes to the model would arrive as user prompts.
                supports_inline_system_prompts=True,
            )
        )
        self.delay = delay
        self._name = name
        self._scripts: dict[str | None, Script] = {}

    def script(self, pattern: str | None = None) -> Callable[[Script], Script]:
        """Decorate a generator function taking a `Turn`; it plays the turns whose prompt has `pattern` in it.

        Args:
            pattern: a regular expression, searched in the prompt without regard to case. Scripts are tried in
                order of registration; the one without a pattern plays what no other does. Registering a
                pattern again replaces its script, so a notebook cell can be edited and run again.
        """
        if pattern is not None:
            re.compile(pattern)  # a mistake shows here, not at the first prompt

        def register(script: Script) -> Script:
            if not inspect.isgeneratorfunction(script):
                raise ScriptError(
                    f"{script!r} is not a script: write a generator function that yields its steps"
                )
            self._scripts[pattern] = script
            return script

        return register

    @property
    def model_name(self) -> str:
        """The name given at construction."""
        return self._name

    @property
    def system(self) -> str:
        """What OpenTelemetry calls the provider."""
        return "scripted"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The whole answer at once, the same as streamed."""
        _, parameters = self.prepare_request(model_settings, model_request_parameters)
        parts = self._play(messages, parameters)
        return ModelResponse(
            parts=parts,
            model_name=self._name,
            usage=RequestUsage(
                input_tokens=_input_tokens(messages), output_tokens=sum(map(_output_tokens, parts))
            ),
            finish_reason=_finish_reason(parts),
            provider_details=offer(parameters),
        )

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """The answer word by word, `delay` seconds apart."""
        _, parameters = self.prepare_request(model_settings, model_request_parameters)
        parts = self._play(messages, parameters)
        stream = _Stream(parameters, self._name, parts, self.delay)
        stream.provider_details = offer(parameters)
        stream.count(RequestUsage(input_tokens=_input_tokens(messages)))
        yield stream

    def _play(
        self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters
    ) -> list[ModelResponsePart]:
        past = Past.read(messages)
        turn = Turn(past.prompt, past.number, frozenset(), parameters.thinking)
        return play(self._choose(turn), turn, past, parameters)

    def _choose(self, turn: Turn) -> Script:
        for pattern, script in self._scripts.items():
            if pattern is not None and (match := re.search(pattern, turn.prompt, re.IGNORECASE)):
                turn.match = match
                return script
        if fallback := self._scripts.get(None):
            return fallback
        raise ScriptError(
            f"no script of model {self._name!r} matches the prompt {short(turn.prompt, 80)!r}: "
            "add one with @model.script(pattern), or without a pattern for all other prompts"
        )


@dataclass
class _Stream(StreamedResponse):
    """A response as a provider would send it: words, pieces of arguments, one part after another."""

    _model_name: str
    _parts: Sequence[ModelResponsePart]
    _delay: float
    _timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        sent = 0
        for index, part in enumerate(self._parts):
            for event in self._deltas(index, part):
                yield event
                sent += 1
                if self._delay > 0:
                    await asyncio.sleep(self._delay)
                elif sent % 64 == 0:
                    await asyncio.sleep(0)  # a network would let others run now and then, too
            self.count(RequestUsage(output_tokens=_output_tokens(part)))
        self.finish_reason = _finish_reason(self._parts)

    def _deltas(self, index: int, part: ModelResponsePart) -> Iterator[ModelResponseStreamEvent]:
        manager = self._parts_manager
        match part:
            case TextPart():
                for word in _WORD.findall(part.content):
                    yield from manager.handle_text_delta(vendor_part_id=index, content=word)
            case ThinkingPart():
                for word in _WORD.findall(part.content):
                    yield from manager.handle_thinking_delta(vendor_part_id=index, content=word)
            case ToolCallPart():
                name, call_id = part.tool_name, part.tool_call_id
                for piece in _PIECE.findall(part.args_as_json_str()):
                    event = manager.handle_tool_call_delta(
                        vendor_part_id=index, tool_name=name, args=piece, tool_call_id=call_id
                    )
                    name = call_id = None
                    if event is not None:
                        yield event
            case _:
                raise AssertionError(f"scripts make no {part.part_kind!r} part")

    def count(self, usage: RequestUsage) -> None:
        """Add to the usage of this response."""
        self._usage += usage

    async def close_stream(self) -> None:
        """Nothing to close: there is no connection."""

    @property
    def model_name(self) -> str:
        return self._model_name

    @property
    def provider_name(self) -> None:
        return None

    @property
    def provider_url(self) -> None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self._timestamp


_WORD = re.compile(r"\S+\s*|\s+")
_PIECE = re.compile(r".{1,24}", re.DOTALL)


def _finish_reason(parts: Sequence[ModelResponsePart]) -> FinishReason:
    return "tool_call" if any(isinstance(part, ToolCallPart) for part in parts) else "stop"


def _tokens(text: str) -> int:
    return -(-len(text) // 4)  # the usual rule of thumb: four characters a token


def _output_tokens(part: ModelResponsePart) -> int:
    match part:
        case TextPart() | ThinkingPart():
            return _tokens(part.content)
        case ToolCallPart():
            return _tokens(part.tool_name) + _tokens(part.args_as_json_str())
        case _:
            return 0


def _input_tokens(messages: Sequence[ModelMessage]) -> int:
    """A plausible count: that of the last response and what came since, so a long history costs nothing."""
    tokens = 0
    for message in reversed(messages):
        if isinstance(message, ModelResponse):
            return tokens + message.usage.input_tokens + message.usage.output_tokens
        tokens += sum(map(_request_tokens, message.parts))
    return tokens + 50  # about what providers add to a conversation


def _request_tokens(part: ModelRequestPart) -> int:
    match part:
        case UserPromptPart():
            return _tokens(prompt_text(part))
        case SystemPromptPart():
            return _tokens(part.content)
        case ToolReturnPart():
            return _tokens(part.model_response_str())
        case _:
            return 0
