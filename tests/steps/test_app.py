"""An application of step tools, declared one by one."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic_ai import RunContext

from acp_notebook import Sharable, StepApp, StepOptions
from harness.steps import execute, reference, step


async def test_tools_are_declared_with_or_without_a_call_and_stay_functions() -> None:
    app = StepApp("backups", keep_going=True)

    @app.tool
    def one() -> int:
        return 1

    @app.tool(name="plus", description="Add.", options=StepOptions(fail_when=lambda result: result > 3))
    async def add(ctx: RunContext[int], n: Annotated[int, Sharable()]) -> int:
        return n + ctx.deps

    @app.tool(requires_approval=True)
    def drop() -> None:
        raise AssertionError("it runs without approval")

    assert one() == 1
    assert app.id == "backups"
    steps: list[dict[str, Any]] = [
        step("a", "one"),
        step("b", "plus", n=reference("a")),
        step("c", "plus", n=reference("b")),
        step("d", "drop"),
    ]
    answer = await execute(app, steps, deps=2)
    assert answer["results"] == {"a": 1, "b": 3, "c": 5}
    assert [
        answer["steps"][name] if isinstance(answer["steps"][name], str) else answer["steps"][name]["status"]
        for name in "abcd"
    ] == [
        "ok",
        "ok",
        "error",
        "denied",
    ]
