"""Scripts: the words they are written with, and how one is played against a message history.

A script is run again from its start for every model request. Steps whose results the history holds are
replayed, what was said around them is dropped, and what follows the last of them is the next response.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypeAlias, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ThinkingLevel
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from ..errors import ScriptError


@dataclass(frozen=True, slots=True)
class Think:
    """Think aloud. Left out when the thinking effort is off, as a real model would."""

    text: str


@dataclass(frozen=True, slots=True)
class Say:
    """Say something to the user, in Markdown. What is said after the last call is the answer."""

    text: str


@dataclass(slots=True, init=False)
class Call:
    """Call a tool: `result = yield Call("name", argument=value)`. A list of calls runs in parallel.

    The call is sent as written even when `tool` is not in `turn.tools`, because real models do that too; its
    result has then failed.
    """

    tool: str
    arguments: dict[str, Any]

    def __init__(self, tool: str, /, **arguments: Any) -> None:
        self.tool = tool
        self.arguments = arguments


@dataclass(slots=True, init=False)
class Output:
    """Answer with structured output: `yield Output(field=value, …)`.

    Goes through the run's output tool, the one named `tool` where there are several, or as JSON text where
    the run wants native or prompted output. When a tool's output is rejected, the `yield` gives the failed
    `Result`, so the script can yield a better one.
    """

    tool: str | None
    arguments: dict[str, Any]

    def __init__(self, tool: str | None = None, /, **arguments: Any) -> None:
        self.tool = tool
        self.arguments = arguments


@dataclass(frozen=True)
class Result:
    """How a call ended. `outcome`: `success`, `failed`, `retried`, `denied` or `interrupted`."""

    tool: str
    outcome: str
    returned: Any = field(repr=False)
    """What the history holds: in a live run an object may stand where a restored one has its JSON."""

    @cached_property
    def content(self) -> Any:
        """What the tool returned, in JSON terms (dicts, lists, strings, …): the same live and restored."""
        return to_jsonable_python(self.returned, fallback=str, bytes_mode="base64")

    @property
    def text(self) -> str:
        """The content as text: a string as it is, else JSON. Where the call did not succeed: why."""
        return self.content if isinstance(self.content, str) else to_json(self.content).decode()

    @property
    def ok(self) -> bool:
        """The tool ran and returned."""
        return self.outcome == "success"

    @property
    def denied(self) -> bool:
        """A person or a policy did not allow the call."""
        return self.outcome == "denied"

    @property
    def interrupted(self) -> bool:
        """The call has no result: the run was stopped, or the result was trimmed from the history."""
        return self.outcome == "interrupted"

    @property
    def failed(self) -> bool:
        """The tool raised, refused its arguments, asked for a retry, or does not exist."""
        return self.outcome in ("failed", "retried")


@dataclass(slots=True)
class Turn:
    """What a script knows of the turn it plays.

    `tools`, `outputs` and `thinking` are those in effect where the script stands: they follow a mode or
    effort that is changed while the turn runs, and replayed steps see again what they saw at first.
    """

    prompt: str
    """The last user prompt; its text parts are joined by line breaks."""
    number: int
    """1 for the first prompt of the history, and so on."""
    tools: frozenset[str]
    """Names of the function tools on offer."""
    thinking: ThinkingLevel | None
    """The thinking effort: None (the model's default), False (off), True or a level."""
    outputs: frozenset[str] = frozenset()
    """Names of the output tools on offer, which `Output` goes through."""
    match: re.Match[str] | None = None
    """The match of the script's pattern in the prompt; None in a fallback script."""


Step: TypeAlias = Think | Say | Call | Output | list[Call]
Script: TypeAlias = Callable[[Turn], Generator[Step, Any, Any]]


@dataclass(frozen=True)
class Past:
    """What a message history says of its last turn."""

    prompt: str
    number: int
    key: str
    """Stands for this turn in the ids of its tool calls: differs between turns, sessions and branches."""
    results: Mapping[tuple[int, int], Result]
    """By the number of the step, and of the call within it."""
    offers: Mapping[int, Mapping[str, Any]]
    """By step: the `offer` that its calls were made on."""

    @classmethod
    def read(cls, messages: Sequence[ModelMessage]) -> Past:
        """The last turn of `messages`. Results are looked for in it alone; earlier turns may be trimmed."""
        prompt, number, sent = "", 0, 0.0
        results: dict[tuple[int, int], Result] = {}
        offers: dict[int, Mapping[str, Any]] = {}
        answered_in: str | None = None
        for message in messages:
            if isinstance(message, ModelResponse):
                answered_in = message.run_id
                for call in message.tool_calls:
                    if position := _position(call.tool_call_id):
                        offers[position[0]] = message.provider_details or {}
                continue
            prompts = [part for part in message.parts if isinstance(part, UserPromptPart)]
            # User content in the run that made the response before it was not typed by a user: it comes with
            # a tool's result or asks for a retry. (A request merged from two runs has no run id.)
            if prompts and (message.run_id is None or message.run_id != answered_in):
                prompt, number = "\n".join(map(prompt_text, prompts)), number + 1
                sent = prompts[0].timestamp.timestamp()
                results, offers = {}, {}
            else:
                results.update(_results(message))
        key = blake2b(f"{number}|{sent:.6f}|{prompt}".encode(errors="replace"), digest_size=6).hexdigest()
        return cls(prompt, number, key, results, offers)

    def took(self, step: int) -> bool:
        """Whether this step was taken. A later one says so too: a trimmed history must not start anew."""
        return any(taken >= step for taken, _ in self.results)

    def result(self, step: int, index: int, tool: str) -> Result:
        """The result of one call of a step that was taken."""
        result = self.results.get((step, index))
        if result is None:
            return Result(tool, "interrupted", "The result of this call is no longer in the history.")
        if result.tool != tool:
            raise ScriptError(
                f"calls {tool!r} where the history has a call of {result.tool!r}: "
                "let it decide by its turn and by results alone"
            )
        return result


def offer(parameters: ModelRequestParameters) -> dict[str, Any]:
    """What a request offers, in JSON terms. Kept with the response, so a replay can show it to the script."""
    return {
        "tools": [tool.name for tool in parameters.declared_function_tools],
        "outputs": [tool.name for tool in parameters.output_tools],
        "thinking": parameters.thinking,
    }


def play(
    script: Script, turn: Turn, past: Past, parameters: ModelRequestParameters
) -> list[ModelResponsePart]:
    """The parts of the response that `script` gives next.

    Raises `ScriptError` when the script raises, yields something that is no step, wants an output that the
    run does not take, or does not take the steps that the history says it took.
    """
    name = getattr(script, "__name__", repr(script))
    now = offer(parameters)
    generator = script(turn)
    said: list[ModelResponsePart] = []
    step, answer, rejected = 0, None, ""
    try:
        while True:
            seen = past.offers.get(step, now) if past.took(step) else now
            turn.tools = frozenset(seen.get("tools", now["tools"]))
            turn.outputs = frozenset(seen.get("outputs", now["outputs"]))
            turn.thinking = seen.get("thinking", now["thinking"])
            item = generator.send(answer)
            answer = None
            if isinstance(item, Say):
                _append(said, TextPart(item.text))
            elif isinstance(item, Think):
                if turn.thinking is not False:
                    _append(said, ThinkingPart(item.text))
            elif isinstance(item, Output) and not parameters.output_tools and parameters.output_object:
                thoughts = [part for part in said if isinstance(part, ThinkingPart)]
                return [*thoughts, TextPart(_json(item.arguments))]  # all text would count as the output
            elif item == []:
                answer = []
            else:
                calls = [
                    ToolCallPart(
                        _tool(call, parameters), _json(call.arguments), f"call-{past.key}-{step}-{n}"
                    )
                    for n, call in enumerate(_calls(item))
                ]
                if not past.took(step):
                    return [*said, *calls]
                results = [past.result(step, n, call.tool_name) for n, call in enumerate(calls)]
                answer = results if isinstance(item, list) else results[0]
                rejected = results[0].text if isinstance(item, Output) and not results[0].ok else ""
                said, step = [], step + 1
    except StopIteration:
        pass
    except ScriptError as error:
        raise ScriptError(f"script {name!r} {error}") from error.__cause__
    except Exception as error:
        raise ScriptError(f"script {name!r} raised {type(error).__name__}: {short(str(error))}") from error
    finally:
        generator.close()
    if rejected and not said:
        raise ScriptError(f"script {name!r} ended although its Output was rejected: {short(rejected)}")
    return said or [TextPart("Done.")]


def prompt_text(part: UserPromptPart) -> str:
    """The text of a user prompt; images and other attachments are left out."""
    if isinstance(part.content, str):
        return part.content
    texts = (item.content if isinstance(item, TextContent) else item for item in part.content)
    return "\n".join(text for text in texts if isinstance(text, str))


def short(text: str, limit: int = 200) -> str:
    """`text` on one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _append(said: list[ModelResponsePart], part: TextPart | ThinkingPart) -> None:
    """Add to what was said; neighbours of one kind become one part, as models send them."""
    last = said[-1] if said else None
    if isinstance(last, TextPart | ThinkingPart) and type(last) is type(part):
        last.content += part.content
    elif part.content:
        said.append(part)


def _calls(item: object) -> list[Call] | list[Output]:
    """The calls that a yielded item stands for."""
    if isinstance(item, Call):
        return [item]
    if isinstance(item, Output):
        return [item]
    if isinstance(item, list):
        items = cast(list[object], item)
        calls = [call for call in items if isinstance(call, Call)]
        if len(calls) == len(items):
            return calls
        item = items
    raise ScriptError(f"yielded {short(repr(item), 80)}: yield Think, Say, Call, Output or a list of Calls")


def _tool(call: Call | Output, parameters: ModelRequestParameters) -> str:
    """The name of the tool to call."""
    if isinstance(call, Call):
        return call.tool
    names = [tool.name for tool in parameters.output_tools]
    if not names:
        raise ScriptError("yielded Output, but this run wants plain text: yield Say, or give an output_type")
    if call.tool is not None and call.tool not in names:
        raise ScriptError(
            f"yielded Output for {call.tool!r}; this run has the output tools {', '.join(names)}"
        )
    return call.tool or names[0]


def _json(arguments: dict[str, Any]) -> str:
    try:
        return to_json(arguments).decode()
    except PydanticSerializationError as error:
        raise ScriptError(f"yielded arguments that are not JSON: {short(str(error))}") from error


_CALL_ID = re.compile(r"call-[0-9a-f]{12}-(\d+)-(\d+)")


def _position(tool_call_id: str) -> tuple[int, int] | None:
    """The step, and the call within it, that a tool call id of ours stands for."""
    match = _CALL_ID.fullmatch(tool_call_id)
    return (int(match[1]), int(match[2])) if match else None


def _results(request: ModelRequest) -> Iterator[tuple[tuple[int, int], Result]]:
    for part in request.parts:
        if isinstance(part, ToolReturnPart):
            if position := _position(part.tool_call_id):
                yield position, Result(part.tool_name, part.outcome, part.content)
        # Before 2.6x a retry was a part of its own; the class is deprecated, so it is told by its kind.
        elif part.part_kind == "retry-prompt" and (position := _position(part.tool_call_id)):
            yield position, Result(part.tool_name or "", "retried", part.content)
