"""Exported scripts do what the run did, as programs of their own: each runs in a namespace of its own."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any

import pytest
from pydantic import BaseModel
from pydantic_ai import RunContext, Tool
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.tools import DeferredToolRequests, ToolApproved

from acp_notebook import Sharable, StepToolset
from acp_notebook.steps.source import with_secrets, without_secrets
from harness.journal import run, written
from harness.steps import reference, step

Any_ = Annotated[Any, Sharable()]


class Colour(Enum):
    RED = "red"


class Order(BaseModel):
    n: int = 1


@dataclass
class Box:
    n: float
    order: Order


def use(value: Any_ = None, b: Any_ = None) -> Any:
    return value


def push(to: Annotated[Any, Sharable()]) -> Any:
    to.append(len(to))
    return to


async def exported(*steps: dict[str, Any], tools: list[Any]) -> dict[str, Any]:
    """What the names of a script are when it has run, and under "" the script, beside the run's `results`."""
    allow = HandleDeferredToolCalls(lambda ctx, requests: requests.build_results(approve_all=True))
    run_id, answered = await run(StepToolset(tools), *steps, capabilities=[allow])
    assert answered["status"] == "ok", answered
    record = StepToolset.record(run_id)
    json.loads(record.to("json"), parse_constant=lambda name: pytest.fail(name))
    script = record.to("py")
    names: dict[str, Any] = {"__name__": "exported", "input": lambda text: "y"}  # pyright: ignore[reportUnknownLambdaType]
    await asyncio.to_thread(exec, compile(script, "exported", "exec"), names)
    return {**names, "": script, "results": answered["results"]}


async def test_arguments_are_made_what_the_tool_declares() -> None:
    def told(
        when: date,
        price: Decimal,
        colour: Colour,
        order: Order,
        box: Box,
        pair: tuple[int, str],
        wait: timedelta | None,
        ratio: float,
        count: int = 1,
    ) -> str:
        values = [when, price, colour, order, box, pair, wait, ratio, count]
        return " ".join(repr(value) for value in values)

    args: dict[str, Any] = {
        "when": "2024-01-02",
        "price": "1.50",
        "colour": "red",
        "order": {"n": "5"},
        "box": {"n": 1, "order": {}},
        "pair": [1, "x"],
        "wait": 60,
        "ratio": 2,
    }
    done = await exported(step("a", "told", **args, count="7"), tools=[told])
    assert done["a"] == done["results"]["a"]


async def test_a_value_passed_on_is_made_what_the_tool_declares_only_where_it_is_not() -> None:
    def half(n: Annotated[float, Sharable()]) -> float:
        return n / 2

    def on(day: Annotated[date, Sharable()]) -> int:
        return day.year

    steps = [
        step("n", "use", value="3"),
        step("h", "half", n=reference("n")),
        step("q", "half", n=reference("h")),
        step("d", "use", value="2024-01-02"),
        step("y", "on", day=reference("d")),
    ]
    done = await exported(*steps, tools=[use, half, on])
    assert (done["h"], done["q"], done["y"]) == (1.5, 0.75, 2024)
    assert done["Sharable"] is Sharable  # a notebook that runs the script goes on with its own
    done = await exported(step("h", "half", n=3.0), step("q", "half", n=reference("h")), tools=[half])
    assert "typed" not in done[""] and done["q"] == 0.75


async def test_async_tools_and_those_with_a_context_get_what_they_declare() -> None:
    async def on(ctx: RunContext[Any], day: date) -> int:
        return day.year

    run_id, _ = await run(StepToolset([on]), step("a", "on", day="2024-01-02"))
    record = StepToolset.record(run_id)
    names: dict[str, Any] = {}
    script = record.to("py").replace("async def main():", "async def main():\n    global a")
    await asyncio.to_thread(exec, script, names)
    assert names["a"] == 2024


async def test_what_a_tool_changes_is_a_copy_of_its_own() -> None:
    steps = [
        step("a", "use", value=[]),
        step("b", "push", to=reference("a")),
        step("c", "push", to=reference("a")),
        step("two", "use", value=reference("b"), b=reference("b")),
        {**step("d", "push", to=reference("a")), "for_each": reference("c")},
        {**step("e", "use", value=1), "when": {"value": reference("a"), "equals": []}},
        step("n", "use", value=reference("e")),
        step("m", "use", value=reference("e")),
    ]
    done = await exported(*steps, tools=[use, push])
    assert {name: done[name] for name in ("a", "b", "c", "d", "e")} == {
        name: done["results"][name] for name in ("a", "b", "c", "d", "e")
    }
    assert "m = use(value=e)" in done[""]


async def test_names_mean_in_the_script_what_they_mean_to_python() -> None:
    def secret(tool: Any_, item: str = "") -> str:
        return tool

    def make(n: int) -> Any:
        return Order(n=n)

    four = ("ﬁ", "fi", "𝐮𝐬𝐞", "𝐩𝐫𝐢𝐧𝐭")
    steps = [
        *(step(name, "use", value=at) for at, name in enumerate(four)),
        step("Order", "make", n=5),
        step("again", "make", n=6),
        step("list", "use", value=["p", "q"]),
        step("at", "secret", tool="x"),
        {**step("each", "secret", tool=reference("item")), "for_each": reference("list")},
        step("all", "use", value=[reference(name) for name in four]),
    ]
    done = await exported(*steps, tools=[use, make, Tool(secret, requires_approval=True)])
    assert done["all_2"] == [0, 1, 2, 3] and done["again"].n == 6 and done["each"] == ["p", "q"]


async def test_arguments_may_have_any_name_and_numbers_any_value() -> None:
    def take(**more: Any) -> Any:
        return more

    odd = {"ﬁ": 1, "class": 2, "tool": 3}
    numbers: dict[str, Any] = {"n": [math.inf, {"x": -math.inf}], "nan": math.nan}
    done = await exported(step("a", "take", **odd, **numbers), tools=[take])
    assert math.isnan(done["a"].pop("nan"))
    assert done["a"] == {**odd, "n": [math.inf, {"x": -math.inf}]}


async def test_what_ran_is_what_the_record_and_the_script_say() -> None:
    edits: dict[str, Any] = {
        "a": {"table": "edited", "password": "edited-secret-9", "rows": {"output_by_reference": {"x": []}}},
        "b[1]": {"table": "second", "password": "edited-secret-9", "rows": None},
    }

    def allow(ctx: Any, requests: DeferredToolRequests) -> Any:
        ids = [call.tool_call_id for call in requests.approvals]
        answers = {name: ToolApproved(override_args=edits.get(name.partition(":")[2])) for name in ids}
        return requests.build_results(approvals=answers)

    def drop(table: Any_, password: str, rows: Any = None) -> str:
        return f"dropped {table} {rows}"

    toolset = StepToolset([use, Tool(drop, requires_approval=True)])
    run_id, answer = await run(
        toolset,
        step("l", "use", value=["one", "two"]),
        step("a", "drop", table="sent", password="sent-secret-9"),
        {**step("b", "drop", table=reference("item"), password="sent-secret-9"), "for_each": reference("l")},
        capabilities=[HandleDeferredToolCalls(allow)],
    )
    assert answer["results"]["b"] == ["dropped one None", "dropped second None"]
    record = StepToolset.record(run_id)
    said = record.steps[1].arguments
    assert said.startswith('table="sent", password="••••••"; edited by you to table="edited", password="••')
    assert "edited by you for element 1 to" in record.steps[2].arguments
    (_, a, b) = json.loads(record.to("json"))["steps"]
    assert (a["args"]["table"], a["edited"]["table"]) == ("sent", "edited")
    assert b["edited"]["1"]["table"] == "second"
    for secret in ("edited-secret-9", "sent-secret-9"):
        assert secret not in record.to("json") + record.to("py") + str(record) + repr(answer)
        assert secret.encode() not in written()
    names: dict[str, Any] = {"input": lambda text: "y"}  # pyright: ignore[reportUnknownLambdaType]
    script = record.to("py").replace("getpass(f", "str(f")
    await asyncio.to_thread(exec, script, names)
    assert (names["a"], names["b"]) == (answer["results"]["a"], answer["results"]["b"])


async def test_secrets_in_the_source_of_tools_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"api_key": "key-4711-abc", "host": "h"}

    class Client:
        token: str = "tok-4711-abc"  # as in tok-4711-abc

    def call(n: int, password: str = "hunter2-default") -> Any:
        """Calls with hunter2-default."""
        header = {"authorization": f"Bearer {n} abc-4712"}
        got = [password, settings["api_key"], Client.token, header["authorization"]]
        return [n, *(text[::-1] for text in got)]

    run_id, _ = await run(StepToolset([call]), step("a", "call", n=1))
    for secret in (b"hunter2-default", b"4711-abc", b"abc-4712"):
        at = written().find(secret)
        assert at < 0, written()[at - 100 : at + 100]
    for name in ("PASSWORD", "API_KEY", "TOKEN", "AUTHORIZATION"):
        monkeypatch.setenv(name, f"of {name}")
    names: dict[str, Any] = {}
    await asyncio.to_thread(exec, StepToolset.record(run_id).to("py"), names)
    assert [text[::-1] for text in names["a"][1:]] == [
        "of PASSWORD",
        "of API_KEY",
        "of TOKEN",
        "of AUTHORIZATION",
    ]


@pytest.mark.parametrize(
    "code",
    [
        "password = 'hunter2'",
        "self.password: str = b'hunter2'",
        "a, token = 1, 'hunter2'",
        "connect(api_key='hunter2')",
        "os.environ.get('TOKEN', 'hunter2')",
        "x = {'é': 1, 'password': ['hunter2' 'hunter2']}",
        "password = os.environ.get('X') or SecretStr('hunter2')",
        "if password == 'hunter2': 'hunter2 was it'",
        "def f(*, password='hunter2'): pass  # hunter2",
        "config['token'] = 'x' + '''\nhunter2'''",
        "token = f'{x}:hunter2'",
    ],
)
def test_secrets_in_code_are_found(code: str) -> None:
    masked = without_secrets(code)
    assert "hunter2" not in masked and "secret" in with_secrets(masked, lambda name: f"secret({name!r})")
    compile(masked, "masked", "exec")
    assert without_secrets(masked) == masked


@pytest.mark.parametrize(
    "code",
    ["token = os.environ['TOKEN']", "secret = getpass('Password: ')", "max_tokens = 5", "x = 'é'  # y"],
)
def test_how_secrets_are_got_is_none(code: str) -> None:
    assert without_secrets(code) == code
