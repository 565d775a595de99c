"""Secrets of a run: whichever step repeats one, nothing that is told or written down has it in it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from pydantic import SecretStr
from pydantic_ai import RunContext, Tool
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.usage import RunUsage

from acp_notebook import Sharable, StepOptions, StepToolset
from acp_notebook.masking import MASK, marked
from acp_notebook.plan.runs import step_of
from acp_notebook.steps.outline import entries
from acp_notebook.steps.preview import Preview
from harness.journal import run, watched, written
from harness.steps import answers, reference, step

Any_ = Annotated[Any, Sharable()]
PASSWORD = "hunter2 & söhne\\'"


class Connection:
    """Keeps a password to itself."""

    def __init__(self, password: str) -> None:
        self.password = password


def login(password: str) -> Any:
    return Connection(password)


def token() -> str:
    return "tok-4711-abc"


def wrapped() -> Any:
    return {"in": [SecretStr("tok-4711-abc")]}


def many() -> Any:
    return [{"pw": "tok-4711-abc"}, {"pw": "tok-4712-abc"}]


def use(token: Any_ = None, conn: Any_ = None, note: str = "") -> Any:
    return {"used": True}


def tell(conn: Any_) -> Any:
    return {"dsn": f"db://ada:{conn.password}@host", conn.password: 1}


def fail(conn: Any_ = None, text: Any_ = "") -> Any:
    said = text.get_secret_value() if isinstance(text, SecretStr) else getattr(conn, "password", text)
    raise RuntimeError(f"auth failed with {said} {said!r} {json.dumps(said)}")


def forms(secret: str) -> list[str]:
    return [secret, json.dumps(secret)[1:-1], repr(secret)[1:-1]]


def nowhere(secret: str, *told: Any) -> None:
    text = json.dumps(told, default=repr, ensure_ascii=False)
    for form in forms(secret):
        assert form not in text and json.dumps(form)[1:-1] not in text
        assert form.encode() not in written()


async def test_what_one_step_got_no_other_step_tells() -> None:
    toolset = StepToolset(
        [login, tell, fail, use],
        keep_going=True,
        options={"fail": StepOptions(idempotent=True, retries=1, backoff=0)},
    )
    steps = [
        step("a", "login", password=PASSWORD),
        step("b", "tell", conn=reference("a")),
        step("c", "fail", conn=reference("a")),
        step("d", "use", note=f"it is {PASSWORD}!"),
        {**step("e", "fail", conn=reference("item")), "for_each": reference("b", "none")},
        {**step("f", "use"), "when": {"value": reference("b", "dsn"), "equals": PASSWORD}},
    ]
    answer, events = await watched(toolset, steps, None)
    record = StepToolset.record(events[0].run_id)
    plan = entries(events[0].steps, events[0].secrets)
    errors = [event for event in events if hasattr(event, "error") or hasattr(event, "outcome")]
    errors = [getattr(e, "error", None) or e.outcome.error for e in errors]
    nowhere(
        PASSWORD, answer, errors, record._repr_mimebundle_(), record.to("json"), record.to("py"), repr(plan)
    )
    assert answer["results"]["b"] == {"dsn": f"db://ada:{MASK}@host", MASK: 1}
    assert answer["steps"]["c"]["error"].startswith(f"RuntimeError: auth failed with {MASK} ")


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ([step("a", "token"), step("u", "use", token=reference("a"))], []),
        (
            [
                step("a", "many"),
                {**step("u", "use", token=reference("item", "pw")), "for_each": reference("a")},
            ],
            [0, "pw"],
        ),
        ([step("a", "wrapped")], ["in", 0]),
    ],
    ids=["passed on as a token", "elements of a list", "SecretStr"],
)
async def test_a_result_that_is_a_secret_is_one_from_then_on(
    steps: list[dict[str, Any]], path: list[Any]
) -> None:
    toolset = StepToolset([token, many, wrapped, use, fail], keep_going=True)
    run_id, answer = await run(toolset, *steps, step("f", "fail", text=reference("a", *path)))
    nowhere("tok-4711-abc", answer["results"], answer["steps"]["f"])
    assert StepToolset.record(run_id).steps[0].detail["lost"]


async def test_no_part_of_a_secret_is_read_either() -> None:
    steps = [step("a", "login", password="hunter2hunter2"), step("b", "tell", conn=reference("a"))]
    _, whole, part = await answers(
        StepToolset([login, tell]),
        ("execute_plan", {"steps": steps}),
        ("read_step", {"id": "b"}),
        ("read_step", {"id": "b", "path": ["dsn"], "start": 10, "count": 8}),
    )
    assert "unter" not in json.dumps([whole, part])
    for cut in range(8, 40):
        assert "unter" not in Preview("x" * 20 + "hunter2hunter2", cut, secrets=["hunter2hunter2"]).value


async def test_who_is_asked_about_a_step_sees_no_other_steps_secret() -> None:
    seen: list[DeferredToolRequests] = []

    def allow(ctx: Any, requests: DeferredToolRequests) -> Any:
        seen.append(requests)
        return requests.build_results(approve_all=True)

    got: list[Any] = []

    def note(text: str) -> str:
        got.append(text)
        return "ok"

    await run(
        StepToolset([login, Tool(note, requires_approval=True)]),
        step("a", "login", password="hunter2"),
        step("b", "note", text="it is hunter2"),
        capabilities=[HandleDeferredToolCalls(allow)],
    )
    assert "hunter2" not in repr(seen[0].approvals[0].args_as_dict())
    assert got == ["it is hunter2"] and type(got[0]) is str


def test_references_are_no_secrets_and_secrets_do_not_show_themselves() -> None:
    args = {"password": reference("login", "password"), "token": "abcd", "n": {"api_key": ["x"]}}
    shown = marked(args, {})
    assert shown == args
    assert repr(shown) == repr({**args, "token": MASK, "n": {"api_key": [MASK]}})


async def test_entries_show_references_to_secrets() -> None:
    _, events = await watched(
        StepToolset([token, use]), [step("a", "token"), step("u", "use", token=reference("a"))], None
    )
    facts = step_of(entries(events[0].steps, events[0].secrets)[1])
    assert facts and facts.arguments == {"token": "← a"}


async def test_the_default_of_a_password_is_a_secret_too() -> None:
    def open_it(name: str, password: str = "hunter2-default") -> str:
        raise ValueError(f"{name} is not opened by {password}")

    toolset = StepToolset([open_it])
    run_id, answer = await run(toolset, step("a", "open_it", name="ada"))
    nowhere("hunter2-default", answer, StepToolset.record(run_id).to("py"))
    tools = await toolset.get_tools(RunContext(deps=None, model=TestModel(), usage=RunUsage()))
    told = tools["execute_plan"].tool_def
    assert "hunter2-default" not in f"{told.description} {told.parameters_json_schema}"


def test_under_what_is_declared_a_secret_all_texts_are_marked() -> None:
    schema = {"properties": {"pin": {"type": "string", "format": "password"}}}
    given = {"pin": [{"deep": {"output_by_reference": {"s": ["hidden"]}}}]}
    assert "hidden" not in repr(marked(given, schema))
