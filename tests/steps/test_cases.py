"""The recorded plans: what came of them elsewhere is not what comes of them here. One test for each case."""

from __future__ import annotations

from typing import Any

import pytest

from harness.steps import BACKUP, CaseTools, execute, reference, step

BACKUP_STEP = step("b", "create_backup", database="prod")


@pytest.fixture
def tools() -> CaseTools:
    return CaseTools()


async def run(tools: CaseTools, *steps: dict[str, Any]) -> Any:
    return await execute(tools.toolset(), list(steps))


def result(answer: Any, step_id: str) -> Any:
    assert answer["status"] == "ok", answer
    return answer["results"][step_id]


async def test_empty_steps(tools: CaseTools) -> None:
    assert "has no steps" in await run(tools)


async def test_empty_id(tools: CaseTools) -> None:
    assert "step 1: has the id ''" in await run(tools, step("", "create_backup", database="p"))
    assert tools.ran == []


async def test_self_ref(tools: CaseTools) -> None:
    assert "is to the step itself" in await run(tools, step("a", "anything", x=reference("a")))
    assert tools.ran == []


async def test_empty_ref(tools: CaseTools) -> None:
    refusal = await run(tools, BACKUP_STEP, step("a", "anything", x={"output_by_reference": {}}))
    assert "step 'a', argument 'x': refers to {} and not to exactly one step" in refusal
    assert tools.ran == []


async def test_string_path(tools: CaseTools) -> None:
    args = {"x": {"output_by_reference": {"b": "backup_id"}}}
    refusal = await run(tools, BACKUP_STEP, step("a", "anything", **args))
    assert "has the path 'backup_id', which is not a list of keys and indexes" in refusal
    assert tools.ran == []


async def test_missing_key(tools: CaseTools) -> None:
    later = step("l", "raw_list")
    answer = await run(
        tools, BACKUP_STEP, step("v", "validate_backup", backup_id=reference("b", "nope")), later
    )
    assert answer["status"] == "error"
    assert answer["results"] == {"b": BACKUP}
    assert "has no ['nope']" in answer["steps"]["v"]["error"]
    assert "it has 'backup_id', 'size_mb', 'parts'" in answer["steps"]["v"]["error"]
    assert answer["steps"]["l"] == {"status": "skipped", "because": "v"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(("parts", "0", "n"), 1, id="index-str"),
        pytest.param(("parts", -1, "n"), 2, id="negative-index"),
        pytest.param((0,), "zero", id="dict-key-0"),
        pytest.param(("",), "emptykey", id="empty-key"),
    ],
)
async def test_paths(tools: CaseTools, path: tuple[str | int, ...], value: Any) -> None:
    answer = await run(tools, BACKUP_STEP, step("a", "anything", x=reference("b", *path)))
    assert result(answer, "a") == {"x": value, "y": "d"}


async def test_into_null(tools: CaseTools) -> None:
    answer = await run(tools, BACKUP_STEP, step("a", "anything", x=reference("b", "none", "k")))
    assert answer["steps"]["a"]["status"] == "error"
    assert "it is of type NoneType, which has nothing inside" in answer["steps"]["a"]["error"]


async def test_nested_ref_in_list(tools: CaseTools) -> None:
    answer = await run(tools, BACKUP_STEP, step("a", "anything", x=["a", reference("b", "backup_id")]))
    assert result(answer, "a")["x"] == ["a", "bk-42"]


async def test_nested_ghost_ref(tools: CaseTools) -> None:
    refusal = await run(tools, step("a", "anything", x={"k": reference("ghost", "zz")}))
    assert "argument 'x': at k, the reference to 'ghost' is to a step that there is not" in refusal
    assert tools.ran == []


async def test_unknown_arg(tools: CaseTools) -> None:
    refusal = await run(tools, step("a", "create_backup", database="p", colour="red"))
    assert "argument 'colour': create_backup has no such parameter: it takes 'database'" in refusal
    assert tools.ran == []


async def test_missing_arg_step2(tools: CaseTools) -> None:
    assert "step 'v', argument 'backup_id': validate_backup needs it" in await run(
        tools, BACKUP_STEP, step("v", "validate_backup")
    )
    assert tools.ran == []


async def test_bad_literal_step2(tools: CaseTools) -> None:
    refusal = await run(tools, BACKUP_STEP, step("n", "strict_int", n="x"))
    assert "step 'n', argument 'n': Input should be a valid integer" in refusal
    assert tools.ran == []


async def test_extra_step_key(tools: CaseTools) -> None:
    assert "has the unknown key 'depends_on'" in await run(tools, {**BACKUP_STEP, "depends_on": []})
    assert tools.ran == []


async def test_missing_args_key(tools: CaseTools) -> None:
    """Left out, they are none: then the tool says what it needs, and a tool without parameters runs."""
    refusal = await run(tools, {"id": "a", "tool": "create_backup"})
    assert "argument 'database': create_backup needs it" in refusal
    assert result(await run(tools, {"id": "a", "tool": "raw_list"}), "a") == [1, 2, 3]


async def test_list_result_documented_path(tools: CaseTools) -> None:
    """The model is told that the result is a list, and addresses it as one."""
    refusal = await run(tools, step("r", "raw_list"), step("a", "anything", x=reference("r", "result")))
    assert "there is no 'result' in it: it is a list, so give an index" in refusal
    assert tools.ran == []
    answer = await run(tools, step("r", "raw_list"), step("a", "anything", x=reference("r", 1)))
    assert result(answer, "a")["x"] == 2


async def test_raise_2_of_3(tools: CaseTools) -> None:
    last = step("v", "validate_backup", backup_id=reference("b", "backup_id"))
    answer = await run(tools, BACKUP_STEP, step("x", "boom", msg="kaput"), last)
    assert answer["status"] == "error"
    assert answer["results"] == {"b": BACKUP}
    assert answer["steps"] == {
        "b": "ok",
        "x": {"status": "error", "error": "RuntimeError: kaput"},
        "v": {"status": "skipped", "because": "x"},
    }
    assert tools.ran == ["create_backup", "boom"]


async def test_soft_error(tools: CaseTools) -> None:
    steps = step("e", "soft_error"), step("v", "validate_backup", backup_id=reference("e", "error"))
    answer = await run(tools, *steps)
    assert answer["steps"] == {"e": {"status": "ok", "looks_failed": True}, "v": "ok"}
