"""The check before a run: every problem at once, each with its step, its argument and what to do."""

from __future__ import annotations

from typing import Annotated, Any, Optional

import pytest
from pydantic import BaseModel

from acp_notebook import Sharable, StepToolset
from harness.steps import execute, reference, step


class Part(BaseModel):
    name: str
    sizes: tuple[int, int]


class Backup(BaseModel):
    backup_id: str
    parts: list[Part]
    first: Part | None = None
    labels: dict[str, int] = {}


class Job(BaseModel):
    name: str
    token: str = ""


RAN: list[str] = []


def create(database: str) -> Backup:
    RAN.append("create")
    part = Part(name="a", sizes=(1, 2))
    return Backup(backup_id="bk-1", parts=[part, part], first=part, labels={"any": 1})


def show(
    value: Annotated[Any, Sharable()] = None,
    ids: Annotated[list[int], Sharable()] = [],  # noqa: B006, as users write it
    either: Annotated[list[int] | dict[str, int], Sharable()] = [],  # noqa: B006
    maybe: Optional[Annotated[int, Sharable()]] = None,  # noqa: UP045, the form that the check must see through
    bare: Annotated[str, Sharable] = "",
    secret_token: str = "",
) -> Any:
    RAN.append("show")
    return [value, ids, either, maybe, bare]


def start(job: Annotated[Job, Sharable()]) -> str:
    RAN.append("start")
    return job.name


def submit(job: Job, times: int = 1) -> str:
    RAN.append("submit")
    return job.name


def anything(**options: Any) -> dict[str, Any]:
    RAN.append("anything")
    return options


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    RAN.clear()


async def run(*steps: dict[str, Any], **settings: Any) -> Any:
    return await execute(StepToolset([create, show, start, submit, anything], **settings), list(steps))


async def refused(*steps: dict[str, Any], **settings: Any) -> str:
    refusal = await run(*steps, **settings)
    assert isinstance(refusal, str) and RAN == [], refusal
    return refusal


MADE = step("b", "create", database="prod")


async def test_every_problem_is_told_at_once() -> None:
    refusal = await refused(
        MADE,
        step("c", "create", database=reference("b", "backup_id"), colour="red"),
        step("d", "shwo", value=reference("z")),
        step("e", "show", value=reference("b", "nope"), ids=["x", 2]),
        {**step("f", "show"), "when": 3},
    )
    assert refusal.splitlines() == [
        "the plan has 7 problems, and nothing has run: mend all and send it again",
        "- step 'c', argument 'database': this parameter of create takes no references (none of its do): "
        'give the value itself, or {"literally": …} to pass this object as data',
        "- step 'c', argument 'colour': create has no such parameter: it takes 'database'",
        "- step 'd': there is no tool 'shwo': did you mean 'show'? "
        "the tools are 'create', 'show', 'start', 'submit', 'anything'",
        "- step 'd', argument 'value': the reference to 'z' is to a step that there is not: "
        "the steps before it are 'b', 'c'",
        "- step 'e', argument 'value': the reference to 'b' cannot be followed to ['nope']: "
        "there is no 'nope' in it: it has 'backup_id', 'parts', 'first', 'labels'",
        "- step 'e', argument 'ids': at 0, Input should be a valid integer, unable to parse string as an "
        "integer, and not 'x'",
        "- step 'f', argument 'when': is not a condition: write a reference, or "
        '{"value": {"output_by_reference": …}, "equals": …} (or not_equals, greater_than, less_than, one_of)',
    ]


@pytest.mark.parametrize(
    "path",
    [
        ("parts", 0, "name"),
        ("parts", "1", "sizes", -1),
        ("first", "sizes", 1),
        ("labels", "any"),
        ("backup_id",),
        (),
    ],
)
async def test_paths_that_the_declared_type_has(path: tuple[str | int, ...]) -> None:
    answer = await run(MADE, step("s", "show", value=reference("b", *path)))
    assert answer["status"] == "ok", answer


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (("parts", "name"), "it is a list, so give an index"),
        (("parts", 0, "nme"), "it has 'name', 'sizes'"),
        (("parts", 0, "sizes", 2), "it is a list of at most 2"),
        (("first", "nme"), "it has 'name', 'sizes'"),
        (("backup_id", 0), "it is of type string, which has nothing inside"),
        (("labels", "any", "x"), "it is of type integer, which has nothing inside"),
    ],
)
async def test_paths_that_it_cannot_have(path: tuple[str | int, ...], says: str) -> None:
    assert says in await refused(MADE, step("s", "show", value=reference("b", *path)))


async def test_references_go_where_sharable_stands_in_an_optional_or_as_the_class() -> None:
    args = {"maybe": reference("n", 0), "bare": reference("b", "backup_id")}
    answer = await run(MADE, step("n", "show", value="x"), step("s", "show", **args))
    assert "maybe: Input should be a valid integer" in answer["steps"]["s"]["error"]
    answer = await run(MADE, step("n", "show", value=5), step("s", "show", **args))
    assert answer["results"]["s"][3:] == [5, "bk-1"]


async def test_what_stands_beside_a_reference_is_checked() -> None:
    number = reference("n", 0)
    first = step("n", "show", value=1)
    assert (await run(first, step("s", "show", ids=[number, 2])))["results"]["s"][1] == [1, 2]
    RAN.clear()
    assert "argument 'ids': at 1, Input should be a valid integer" in await refused(
        first, step("s", "show", ids=[number, "two"])
    )


async def test_a_reference_in_a_union_is_not_held_against_it() -> None:
    first = step("n", "show", value=1)
    for value in ([reference("n", 0)], {"k": reference("n", 0)}, reference("n", 1)):
        assert (await run(first, step("s", "show", either=value)))["status"] == "ok"


async def test_a_model_takes_references_in_its_fields() -> None:
    answer = await run(MADE, step("s", "start", job={"name": reference("b", "backup_id"), "token": "t"}))
    assert answer["results"]["s"] == "bk-1"
    RAN.clear()
    job = {"name": reference("b", "backup_id"), "token": 3}
    assert "argument 'job': at token, Input should be a valid string" in await refused(
        MADE, step("s", "start", job=job)
    )


async def test_a_tool_that_takes_any_argument_takes_any_literal() -> None:
    answer = await run(step("a", "anything", colour="red"))
    assert answer["results"]["a"] == {"colour": "red"}
    RAN.clear()
    assert "takes no references" in await refused(MADE, step("a", "anything", colour=reference("b")))


async def test_an_escaped_reference_is_data() -> None:
    data = reference("no such step")
    answer = await run(step("a", "show", value=[{"literally": data}, {"literally": {"literally": 1}}]))
    assert answer["results"]["a"][0] == [data, {"literally": 1}]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"output_by_reference": {"b": []}, "more": 1}, "is a reference with more beside it ('more')"),
        ({"k": {"output_by_reference": {"b": [], "c": []}}}, "at k, refers to"),
        ({"output_by_reference": "b"}, "refers to 'b' and not to exactly one step"),
        ({"output_by_reference": {"b": [1.5]}}, "has the path [1.5]"),
        ({"output_by_reference": {"b": [True]}}, "has the path [True]"),
    ],
)
async def test_what_looks_like_a_reference_and_is_none(value: Any, says: str) -> None:
    refusal = await refused(MADE, step("s", "show", value=value))
    assert f"step 's', argument 'value': {says}" in refusal


async def test_args_as_a_whole_are_no_reference() -> None:
    refusal = await refused(MADE, {"id": "s", "tool": "show", "args": reference("b")})
    assert "its args as a whole are a reference" in refusal


async def test_for_each_is_checked_with_its_elements() -> None:
    loop = {**step("s", "show", value=reference("item", "name")), "for_each": reference("b", "parts")}
    assert (await run(MADE, loop))["status"] == "ok"
    RAN.clear()
    wrong = {**step("s", "show", value=reference("item", "nme")), "for_each": reference("b", "parts")}
    assert "it has 'name', 'sizes'" in await refused(MADE, wrong)
    assert "it is of type string" in await refused(MADE, {**loop, "for_each": reference("b", "backup_id")})
    assert "is not a reference to a list" in await refused(MADE, {**loop, "for_each": [1, 2]})
    assert "the reference to 'item' is to a step that there is not" in await refused(
        step("s", "show", value=reference("item"))
    )
    named = step("item", "create", database="x")
    assert "is what for_each calls its element" in await refused(MADE, named, loop)


async def test_limits_of_size_and_depth() -> None:
    assert "pass large values by reference" in await refused(step("a", "show", value="x" * 1_000_001))
    deep: Any = 1
    for _ in range(80):
        deep = [deep]
    assert "is nested more than 64 deep" in await refused(step("a", "show", value=deep))


async def test_steps_of_one_shape_are_checked_each_by_its_own_references() -> None:
    def started(step_id: str, other: str, *path: str) -> dict[str, Any]:
        return step(step_id, "start", job=reference(other, *path))

    wrong = [
        (started("a", "b", "frist"), "there is no 'frist' in it"),
        (started("c", "s0", "first"), "of type string, which has nothing inside"),
        (started("d", "e", "first"), "the reference to 'e' is to a later step"),
        (started("e", "e", "first"), "is to the step itself"),
        (step("f", "submit", job=reference("b", "first")), "takes no references"),
        (step("g", "start", jobs=reference("b", "first")), "start needs it"),
        (started("s1", "b", "first"), "both have this id"),
    ]
    right = [step("b", "create", database="x"), *(started(f"s{n}", "b", "first") for n in range(3))]
    refusal = await refused(*right, *(one for one, _ in wrong))
    for one, message in wrong:
        assert any(one["id"] in line and message in line for line in refusal.splitlines()), (one, refusal)


async def test_a_refusal_does_not_tell_secrets() -> None:
    refusal = await refused(step("a", "show", secret_token=["hunter2"]))
    assert "argument 'secret_token': Input should be a valid string" in refusal
    assert "hunter2" not in refusal
    nested = await refused(step("a", "submit", job={"name": 1, "token": ["hunter2"]}))
    assert "at name, Input should be a valid string" in nested and "hunter2" not in nested


async def test_typed_mappings_have_their_keys() -> None:
    def odd() -> dict[str, int]:
        return {"k": 1}

    toolset = StepToolset([odd, show])
    answer = await execute(toolset, [step("o", "odd"), step("s", "show", value=reference("o", "missing"))])
    assert "there is no 'missing' in it: it has 'k'" in answer["steps"]["s"]["error"]
