"""Step plans: a real agent that sends given calls one after another, and the tools of the recorded cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from acp_notebook import Sharable, StepToolset

Call = tuple[str, Any]


def calling(*calls: Call) -> FunctionModel:
    """A model that makes these calls, a response each, and then says that it is done."""

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        made = sum(isinstance(message, ModelResponse) for message in messages)
        if made < len(calls):
            name, args = calls[made]
            return ModelResponse([ToolCallPart(name, args, tool_call_id=f"call-{made}")])
        return ModelResponse([TextPart("done")])

    return FunctionModel(respond)


def returned(messages: Sequence[ModelMessage]) -> list[Any]:
    """What the tools answered, in order."""
    return [part.content for m in messages for part in m.parts if isinstance(part, ToolReturnPart)]


async def answers(toolset: StepToolset, *calls: Call, **run: Any) -> list[Any]:
    """What an agent with this toolset is answered to its calls. `run` are arguments of `Agent.run`."""
    result = await Agent(calling(*calls), toolsets=[toolset]).run("go", **run)
    return returned(result.all_messages())


async def execute(toolset: StepToolset, steps: Any, **run: Any) -> Any:
    """What `execute_plan` answers: a mapping, or the text of a refusal."""
    return (await answers(toolset, ("execute_plan", {"steps": steps}), **run))[0]


def reference(step: str, *path: str | int) -> dict[str, Any]:
    """A reference as a model writes it."""
    return {"output_by_reference": {step: list(path)}}


def step(step_id: str, tool: str, /, **args: Any) -> dict[str, Any]:
    """A step as a model writes it."""
    return {"id": step_id, "tool": tool, "args": args}


BACKUP: dict[str, Any] = {
    "backup_id": "bk-42",
    "size_mb": 3,
    "parts": [{"n": 1}, {"n": 2}],
    "none": None,
    "": "emptykey",
    "0": "zero",
    "nested": {"a": {"b": [10, 20]}},
}


class CaseTools:
    """The tools that the recorded cases call; `ran` are the names of those that were called."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def toolset(self, **settings: Any) -> StepToolset:
        tools = (
            self.create_backup,
            self.validate_backup,
            self.strict_int,
            self.anything,
            self.raw_list,
            self.boom,
            self.soft_error,
            self.secret,
        )
        return StepToolset(tools, **settings)

    def create_backup(self, database: str) -> dict[str, Any]:
        self.ran.append("create_backup")
        return BACKUP

    def validate_backup(self, backup_id: Annotated[str, Sharable()]) -> dict[str, Any]:
        self.ran.append("validate_backup")
        return {"valid": True, "backup_id": backup_id}

    def strict_int(self, n: Annotated[int, Sharable()]) -> dict[str, Any]:
        self.ran.append("strict_int")
        return {"n": n}

    def anything(self, x: Annotated[Any, Sharable()] = None, y: str = "d") -> dict[str, Any]:
        self.ran.append("anything")
        return {"x": x, "y": y}

    def raw_list(self) -> list[int]:
        self.ran.append("raw_list")
        return [1, 2, 3]

    def boom(self, msg: str = "boom") -> dict[str, Any]:
        self.ran.append("boom")
        raise RuntimeError(msg)

    def soft_error(self) -> dict[str, Any]:
        self.ran.append("soft_error")
        return {"error": "soft", "status": "error"}

    def secret(self, token: str) -> dict[str, Any]:
        self.ran.append("secret")
        return {"ok": True}


class FieldTools:
    """The tools of the cases from the field; `ran` are the names of those that were called."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def toolset(self, **settings: Any) -> StepToolset:
        return StepToolset((self.search, self.weather, self.total), **settings)

    def search(self, city: str) -> dict[str, Any]:
        self.ran.append("search")
        return {"items": [{"lat": 1.5, "lon": 2.5}], "city": "X"}

    def weather(
        self, lat: Annotated[float, Sharable()], lon: Annotated[float, Sharable()], day: str | None = None
    ) -> dict[str, Any]:
        self.ran.append("weather")
        return {"t": 20}

    def total(self, values: Annotated[list[float], Sharable()]) -> float:
        self.ran.append("total")
        return sum(values)
