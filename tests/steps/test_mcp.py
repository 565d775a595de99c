"""The app as an MCP server: a real child process, and the official client on its stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from acp_notebook import AcpError, StepApp
from harness import served
from harness.steps import reference, step

pytest.importorskip("mcp_types")  # of the second SDK

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult

pytestmark = pytest.mark.once

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
SEED = [
    step("backup", "create_backup", database="prod"),
    step("validate", "validate_backup", backup_id=reference("backup", "backup_id")),
]
GATED = [SEED[0], step("d", "drop", backup_id=reference("backup", "backup_id"), token="hunter2")]


@asynccontextmanager
async def client(mode: str, log: Path | None = None, **callbacks: Any) -> AsyncGenerator[Client]:
    file = Path(served.__file__)
    server = StdioServerParameters(
        command=sys.executable, args=[str(file)], env={"PYTHONPATH": os.pathsep.join(sys.path)}
    )
    with (log or Path("/dev/null")).open("w") as errors:
        async with Client(stdio_client(server, errlog=errors), mode=mode, **callbacks) as client:
            yield client


async def test_the_seeds_example_and_more_of_a_result(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with client("auto", log) as served:
        tools = {tool.name: tool for tool in (await served.list_tools()).tools}
        assert set(tools) == {"execute_plan", "read_step"}
        assert "validate_backup(backup_id*: str)" in (tools["execute_plan"].description or "")
        assert tools["read_step"].annotations and tools["read_step"].annotations.read_only_hint
        told: list[Any] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            told.append((done, total, message))

        made = await served.call_tool("execute_plan", {"steps": SEED}, progress_callback=progress)
        results = {"backup": {"backup_id": "bk-42"}, "validate": {"valid": True, "backup_id": "bk-42"}}
        assert not made.is_error and made.structured_content["results"] == results
        assert json.loads(made.content[0].text) == made.structured_content
        assert told == [(1, 2, "backup: ok"), (2, 2, "validate: ok")]
        read = await served.call_tool("read_step", {"id": "validate", "path": ["valid"]})
        assert read.structured_content["value"] is True
        refused = await served.call_tool("execute_plan", {"steps": [step("a", "creat_backup")]})
        assert refused.is_error and "create_backup" in refused.content[0].text
        misread = await served.call_tool("read_step", {"id": ["a"]})
        assert misread.is_error and "id" in misread.content[0].text
    assert log.read_text().splitlines() == ["a line that is not for the client", "left"]


@ERAS
async def test_the_clients_person_is_asked(mode: str) -> None:
    asked: list[str] = []
    answers = [
        ElicitResult(action="accept", content={"approve": True}),
        ElicitResult(action="accept", content={"approve": False}),
        ElicitResult(action="decline"),
    ]

    async def elicit(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return answers[len(asked) - 1]

    async with client(mode, elicitation_callback=elicit) as served:
        made = [
            (await served.call_tool("execute_plan", {"steps": GATED})).structured_content for _ in answers
        ]
    assert asked == ['Run drop with {"backup_id": "bk-42", "token": "••••••"}?'] * 3
    assert made[0]["results"]["d"] == "dropped bk-42"
    denied = {"status": "denied", "error": "the person at the client said no"}
    assert [answer["steps"]["d"] for answer in made[1:]] == [denied, denied]


def appeared(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)


async def test_a_client_that_cannot_ask_and_one_that_cancels(tmp_path: Path) -> None:
    folder = str(tmp_path)
    steps = [step("h", "hold", folder=folder), step("l", "leave", folder=folder)]
    async with client("legacy") as served:
        made = await served.call_tool("execute_plan", {"steps": GATED})
        assert made.structured_content["steps"]["d"] == {
            "status": "denied",
            "error": "drop asks for approval, and this client cannot ask its person",
        }
        call = asyncio.ensure_future(served.call_tool("execute_plan", {"steps": steps}))
        await asyncio.wait_for(asyncio.to_thread(appeared, tmp_path / "begun"), 20)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        read = await served.call_tool("read_step", {"id": "h"})
        assert read.structured_content["status"] == "cancelled"
        (tmp_path / "release").touch()
    assert not (tmp_path / "left").exists()


async def test_in_a_notebook_it_says_what_to_do_instead() -> None:
    with pytest.raises(AcpError, match=r"put the app into a file .* Agent\(…, toolsets=\[app\]\)$"):
        StepApp("here").run()
