"""Step tools as an MCP server: other agents get `execute_plan` and `read_step`, too.

A call is a turn of an agent whose model makes just this call, so that schemas, checks, approvals and answers
are those that an agent here gets. Source of the rules: https://modelcontextprotocol.io/specification, both
of the protocol with a handshake and of 2026-07-28, where a server asks by an answer.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, redirect_stdout
from secrets import token_urlsafe
from typing import Any, cast
from uuid import uuid4

from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import (
    DeferredToolApprovalResult,
    DeferredToolRequests,
    DeferredToolResults,
    ToolApproved,
    ToolDefinition,
    ToolDenied,
)
from pydantic_ai.toolsets import AbstractToolset

from .events import RunStarted, StepEnded, StepEvent, watcher
from .preview import Preview
from .toolset import READ_STEP

Context = ServerRequestContext[Any, Any]
#: Bytes of the arguments that a person is shown, and seconds that a question waits for its answer.
_SHOWN, _PATIENCE = 2_000, 600
_YES = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Approve this call"}},
    "required": ["approve"],
}
_HINTS = {
    True: ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
    False: ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False),
}


async def serve(toolset: AbstractToolset[Any], name: str, deps: Any = None) -> None:
    """Serve on this process's stdin and stdout until the client leaves. What tools print goes to stderr."""
    async with toolset, _Served(toolset, deps).running(name) as server, stdio_server() as streams:
        with redirect_stdout(sys.stderr):  # the SDK sees to the descriptor, not to what Python buffers
            await server.run(*streams, server.create_initialization_options())


class _Served:
    """What one server offers. Its clients' calls are one conversation: `read_step` finds earlier results."""

    def __init__(self, toolset: AbstractToolset[Any], deps: Any) -> None:
        self._toolset = toolset
        self._deps = deps
        self._conversation = uuid4().hex
        self._calls: set[_Call] = set()
        self._asking: dict[str, _Call] = {}

    @asynccontextmanager
    async def running(self, name: str) -> AsyncGenerator[Server[Any]]:
        """The server; at the end no call of it is left."""
        try:
            yield Server[Any](name, on_list_tools=self._list, on_call_tool=self._call)
        finally:
            tasks = [call.task for call in self._calls]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _list(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        found: list[ToolDefinition] = []

        def look(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            found.extend(info.function_tools)
            return ModelResponse([TextPart("seen")])

        await Agent(FunctionModel(look), toolsets=[self._toolset]).run("Look.", deps=self._deps)
        return ListToolsResult(tools=list(map(_tool, found)))

    async def _call(
        self, ctx: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        if params.request_state is None:
            call = _Call(ctx, params)
            call.task = asyncio.ensure_future(self._made(call))
            self._calls.add(call)
            call.task.add_done_callback(lambda _: self._calls.discard(call))
        elif (call := self._asking.pop(params.request_state, None)) is None or not call.is_of(params):
            return _failed("nobody waits for this answer any more: call the tool again")
        else:
            call.answered(ctx, params)
        if not await call.asks():
            return call.task.result()
        state = token_urlsafe()
        self._asking[state] = call
        asyncio.get_running_loop().call_later(_PATIENCE, self._given_up, state)
        return InputRequiredResult(input_requests={**call.questions}, request_state=state)

    def _given_up(self, state: str) -> None:
        if (call := self._asking.pop(state, None)) is not None:
            call.task.cancel()

    async def _made(self, call: _Call) -> CallToolResult:
        """Make a call as an agent's turn."""
        name, args = call.params.name, call.params.arguments or {}

        def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            if any(isinstance(message, ModelResponse) for message in messages):
                return ModelResponse([TextPart("made")])
            return ModelResponse([ToolCallPart(name, args)])

        agent = Agent(
            FunctionModel(respond),
            toolsets=[self._toolset],
            capabilities=[HandleDeferredToolCalls(call.approvals)],
        )
        watcher.set(call.saw)  # in the context of this task alone
        telling = asyncio.ensure_future(call.tell())
        try:
            result = await agent.run("Go.", deps=self._deps, conversation_id=self._conversation)
        finally:
            call.progress.put_nowait(None)
            await telling
        return _result([part for message in result.all_messages() for part in message.parts])


class _Call:
    """One call of a tool, from its request to its result, through the requests that bring answers."""

    task: asyncio.Task[CallToolResult]

    def __init__(self, ctx: Context, params: CallToolRequestParams) -> None:
        self.params = params
        self.questions: dict[str, ElicitRequest] = {}
        self.progress: asyncio.Queue[tuple[int, int, str] | None] = asyncio.Queue()
        self._ctx = ctx
        self._answers: dict[str, asyncio.Future[Any]] = {}
        self._asked = asyncio.Event()
        self._steps = self._ended = 0

    def is_of(self, params: CallToolRequestParams) -> bool:
        return (params.name, params.arguments) == (self.params.name, self.params.arguments)

    async def asks(self) -> bool:
        """Wait for what comes first: a question to the person (True), or the end of the call."""
        asked = asyncio.ensure_future(self._asked.wait())
        try:
            await asyncio.wait({self.task, asked}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.task.cancel()
            raise
        finally:
            asked.cancel()
        return not self.task.done()

    def answered(self, ctx: Context, params: CallToolRequestParams) -> None:
        """The client has come back; a question that it brings no answer to is a no."""
        self._ctx = ctx
        self._asked.clear()
        for key, answer in self._answers.items():
            if not answer.done():
                answer.set_result((params.input_responses or {}).get(key))
        self._answers, self.questions = {}, {}

    async def approvals(
        self, ctx: RunContext[Any], requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Ask the client's person for each call that needs it."""
        approvals: dict[str, bool | DeferredToolApprovalResult] = {}
        for asked in requests.approvals:
            approvals[asked.tool_call_id] = await self._approval(asked)
        return requests.build_results(approvals=approvals)

    async def _approval(self, asked: ToolCallPart) -> DeferredToolApprovalResult:
        able = self._ctx.session.client_capabilities
        if able is None or able.elicitation is None:
            return ToolDenied(f"{asked.tool_name} asks for approval, and this client cannot ask its person")
        shown = json.dumps(Preview(asked.args_as_dict(), _SHOWN).value, ensure_ascii=False)
        form = ElicitRequestFormParams(
            message=f"Run {asked.tool_name} with {shown}?", requested_schema=cast(Any, _YES)
        )
        answer = await self._answer(asked.tool_call_id, form)
        accepted = isinstance(answer, ElicitResult) and answer.action == "accept" and answer.content
        if accepted and accepted.get("approve") is True:
            return ToolApproved()
        return ToolDenied("the person at the client said no")

    async def _answer(self, key: str, form: ElicitRequestFormParams) -> Any:
        session = self._ctx.session
        if session.can_send_request:
            return await session.elicit_form(form.message, form.requested_schema, self._ctx.request_id)
        answer = self._answers[key] = asyncio.get_running_loop().create_future()
        self.questions[key] = ElicitRequest(params=form)
        self._asked.set()
        return await answer

    def saw(self, event: StepEvent) -> None:
        """Turn events into progress; notifications are sent in order, and not from here."""
        match event:
            case RunStarted():
                self._steps = len(event.steps)
            case StepEnded():
                self._ended += 1
                said = f"{event.step_id}: {event.outcome.status}"
                self.progress.put_nowait((self._ended, self._steps, said))
            case _:
                pass

    async def tell(self) -> None:
        """Report progress, to a client that has asked for it."""
        while (progress := await self.progress.get()) is not None:
            await self._ctx.session.report_progress(*progress)


def _tool(tool: ToolDefinition) -> Tool:
    return Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.parameters_json_schema,
        annotations=_HINTS[tool.name == READ_STEP],
    )


def _result(parts: list[Any]) -> CallToolResult:
    """What the agent was answered: a refusal, and a call that does not fit, are errors."""
    for part in parts:
        if part.part_kind == "retry-prompt":  # pydantic-ai before 2.60; then it is a return like others
            return _failed(part.model_response())
        if isinstance(part, ToolReturnPart):
            text = part.model_response_str()
            if part.outcome != "success":
                return _failed(text)
            return CallToolResult(
                content=[TextContent(text=text)], structured_content=cast(Any, part.content)
            )
    raise AssertionError("a turn without an answer")


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
