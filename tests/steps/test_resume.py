"""Going on with a run: what is finished stays so, what may have run is asked about, one at a time."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import SecretStr
from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import HandleDeferredToolCalls

from acp_notebook import Call, PrepareToolsMode, Say, ScriptedModel, Sharable, StepOptions, StepToolset
from acp_notebook.errors import TurnFailed
from acp_notebook.steps.events import RunStarted, StepEnded
from acp_notebook.steps.resume import Resume, resuming
from acp_notebook.steps.run_file import RunFile
from harness.journal import go_on, kill, rows, run, watched
from harness.sessions import pending, until
from harness.steps import execute, reference, step

Any_ = Annotated[Any, Sharable()]


class Tools:
    """Tools that tell how often they were called, and fail while they are told to."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.fails = True
        self.connection = threading.Lock()

    def toolset(self, **settings: Any) -> StepToolset:
        tools = [self.number, self.fragile, self.connect, self.use, Tool(self.drop, requires_approval=True)]
        return StepToolset(tools, **settings)

    def number(self, value: Any_) -> Any:
        self.ran.append("number")
        return value

    def fragile(self, value: Any_) -> Any:
        self.ran.append("fragile")
        if self.fails:
            raise RuntimeError("broken")
        return value

    def connect(self) -> Any:
        self.ran.append("connect")
        return self.connection

    def use(self, handle: Any_) -> str:
        self.ran.append("use")
        if self.fails:
            raise RuntimeError("broken")
        return "used" if handle is self.connection else "something else"

    def drop(self, table: Any_) -> str:
        self.ran.append("drop")
        return f"dropped {table}"


STEPS = [
    step("a", "number", value=1),
    step("b", "fragile", value=reference("a")),
    step("c", "number", value=reference("b")),
]


async def test_after_a_failure_only_what_did_not_end_well_runs() -> None:
    tools = Tools()
    run_id, answer = await run(tools.toolset(), *STEPS)
    assert answer["status"] == "error"
    tools.fails = False
    answer, events = await watched(tools.toolset(), None, Resume(run_id[:8]))
    assert answer["results"] == {"a": 1, "b": 1, "c": 1}
    assert tools.ran == ["number", "fragile", "fragile", "number"]
    assert isinstance(events[0], RunStarted) and events[0].resumed and events[0].run_id == run_id
    assert isinstance(events[1], StepEnded) and events[1].step_id == "a"


async def test_after_a_denial_the_step_asks_again() -> None:
    tools = Tools()
    steps = [step("a", "number", value="t"), step("d", "drop", table=reference("a"))]
    run_id, answer = await run(tools.toolset(), *steps)
    assert answer["steps"]["d"]["status"] == "denied"
    handle = HandleDeferredToolCalls(lambda ctx, requests: requests.build_results(approve_all=True))
    answer = await go_on(tools.toolset(), run_id, capabilities=[handle])
    assert answer["results"]["d"] == "dropped t" and tools.ran == ["number", "drop"]


async def test_a_run_that_ended_well_says_so() -> None:
    run_id, _ = await run(Tools().toolset(), STEPS[0])
    assert f"run {run_id[:8]!r} has ended well: nothing is left to do" in await go_on(
        Tools().toolset(), run_id
    )


async def test_there_is_no_such_run() -> None:
    run_id, _ = await run(Tools().toolset(), STEPS[0])
    said = await go_on(Tools().toolset(), "no such run")
    assert "there is no run 'no such run'" in said and repr(run_id[:8]) in said


@pytest.mark.parametrize("allowed", [True, False, None])
async def test_what_was_running_at_a_kill_is_asked_about(allowed: bool | None) -> None:
    tools = Tools()
    tools.fails = False
    run_id, _ = await run(tools.toolset(), *STEPS)
    kill(run_id, 3)  # a began, a ended, b began
    tools.ran.clear()
    asked: list[Any] = []

    def handle(ctx: Any, requests: Any) -> Any:
        asked.extend((call.tool_name, requests.metadata[call.tool_call_id]) for call in requests.approvals)
        answers = {call.tool_call_id: bool(allowed) for call in requests.approvals}
        return requests.build_results(approvals=answers)

    handlers = [] if allowed is None else [HandleDeferredToolCalls(handle)]
    answer = await go_on(tools.toolset(), run_id, capabilities=handlers)
    if allowed:
        assert answer["status"] == "ok" and tools.ran == ["fragile", "number"]
    else:
        assert answer["steps"]["b"]["status"] == "denied" and tools.ran == []
        # and it is still not known whether it has run
        again = await go_on(tools.toolset(), run_id)
        assert again["steps"]["b"]["status"] == "denied"
    if allowed is not None:
        said = "Step 'b' was running when the run ended, and may have run already."
        assert asked == [("fragile", {"description": said, "may_have_run": True})]


@pytest.mark.parametrize(
    ("options", "wish"),
    [({"fragile": StepOptions(idempotent=True)}, {}), ({}, {"again": frozenset({"b"})})],
)
async def test_what_may_run_again_is_not_asked_about(options: Any, wish: Any) -> None:
    tools = Tools()
    tools.fails = False
    run_id, _ = await run(tools.toolset(), *STEPS)
    kill(run_id, 3)
    answer = await go_on(tools.toolset(options=options), run_id, wish=wish)
    assert answer["results"]["c"] == 1


async def test_a_result_that_a_person_knows_is_taken() -> None:
    tools = Tools()
    run_id, _ = await run(tools.toolset(), *STEPS)
    answer = await go_on(tools.toolset(), run_id, wish={"done": {"b": 7}})
    assert answer["results"] == {"a": 1, "b": 7, "c": 7} and tools.ran == ["number", "fragile", "number"]
    said = await go_on(tools.toolset(), run_id, wish={"done": {"x": 7}})
    assert "nothing is left to do" in said


class Resuming(StepToolset):
    """Goes on with a run whatever its agent asks for."""

    run_id = ""

    async def call_tool(self, name: str, tool_args: Any, ctx: Any, tool: Any) -> Any:
        token = resuming.set(Resume(self.run_id))
        try:
            return await super().call_tool(name, tool_args, ctx, tool)
        finally:
            resuming.reset(token)


@pytest.mark.parametrize("gated", [False, True])
def test_in_a_session_a_card_says_so_and_no_rule_answers_it(hosted: Any, gated: bool) -> None:
    tools = Tools()
    made = [tools.number, Tool(tools.fragile, requires_approval=gated)]
    tools.fails = False
    run_id, _ = asyncio.run(run(StepToolset([tools.number, tools.fragile]), *STEPS))
    kill(run_id, 3)
    toolset = Resuming(made)
    toolset.run_id = run_id
    model = ScriptedModel()

    @model.script("go")
    def go(turn: Any) -> Any:
        yield Call("execute_plan", steps=[])
        yield Say("done")

    session = hosted(Agent(model, toolsets=[toolset]))
    session.rules.add("allow", "fragile")
    turn = session.prompt("go")
    until(session, pending(1))
    (request,) = session.permissions
    assert request.tool_call.name == "fragile"
    assert "may have run already" in (request.request.description or "")
    request.allow()
    turn.wait(20)
    assert tools.ran == ["number", "fragile", "number", "fragile", "number"]


def test_rules_and_modes_made_since_hold(hosted: Any) -> None:
    tools = Tools()
    tools.fails = False
    run_id, _ = asyncio.run(run(StepToolset([tools.number, tools.fragile]), *STEPS))
    kill(run_id, 3)
    tools.ran.clear()
    modes = [
        PrepareToolsMode(id=name, name=name, prepare_func=partial(offered, names=names))
        for name, names in {"all": None, "few": {"execute_plan", "number"}}.items()
    ]
    session = hosted(Agent(ScriptedModel(), toolsets=[tools.toolset()]), modes=modes)
    session.rules.add("deny", "fragile")
    assert "denied all calls like this one" in session.resume_steps(run_id).text
    session.rules.remove(1)
    session.set_mode("few")
    turn = session.start_resume(run_id, again=["b"])
    with pytest.raises(TurnFailed, match="nothing has run"):
        turn.wait(20)
    assert "there is no tool 'fragile'" in turn.text and tools.ran == []
    session.set_mode("all")
    assert session.resume_steps(run_id, again=["b"]).stop_reason == "end_turn"
    assert tools.ran == ["fragile", "number"]


def offered(ctx: Any, tools: Any, *, names: set[str] | None) -> Any:
    return [tool for tool in tools if names is None or tool.name in names]


async def test_tools_that_take_something_else_since_are_refused_before_any_runs() -> None:
    tools = Tools()
    run_id, _ = await run(tools.toolset(), *STEPS)
    tools.ran.clear()

    def fragile(value: Any_, reason: str) -> Any:
        tools.ran.append("fragile")

    said = await go_on(StepToolset([tools.number, fragile]), run_id)
    assert "step 'b'" in said and "'reason'" in said and tools.ran == []


async def test_a_handle_is_not_kept_and_its_step_runs_again_when_it_is_needed() -> None:
    tools = Tools()
    steps = [step("h", "connect"), step("u", "use", handle=reference("h"))]
    run_id, _ = await run(tools.toolset(), *steps)
    said = await go_on(tools.toolset(), run_id)
    assert said["steps"]["h"]["status"] == "denied"  # nobody is there to ask whether it may run twice
    tools.fails = False
    answer = await go_on(tools.toolset(options={"connect": StepOptions(idempotent=True)}), run_id)
    assert answer["results"]["u"] == "used"
    assert tools.ran == ["connect", "use", "connect", "use"]


async def test_in_the_same_kernel_a_handle_is_still_there() -> None:
    tools = Tools()
    toolset = tools.toolset()
    run_id, _ = await run(toolset, step("h", "connect"), step("u", "use", handle=reference("h")))
    tools.fails = False
    answer = await go_on(toolset, run_id)
    assert answer["results"]["u"] == "used" and tools.ran == ["connect", "use", "use"]


async def test_elements_that_are_done_are_not_repeated() -> None:
    tools = Tools()
    seen: list[int] = []

    def charge(n: Any_) -> int:
        seen.append(n)
        if n == 2 and tools.fails:
            raise RuntimeError("declined")
        return 10 * n

    steps = [
        step("l", "number", value=[0, 1, 2, 3]),
        {**step("c", "charge", n=reference("item")), "for_each": reference("l")},
        step("p", "number", value=reference("c", -1)),
    ]
    made = [tools.number, charge]
    run_id, answer = await run(StepToolset(made), *steps)
    assert answer["status"] == "error"
    tools.fails = False
    answer = await go_on(StepToolset(made), run_id)
    assert answer["results"] == {"l": [0, 1, 2, 3], "c": [0, 10, 20, 30], "p": 30}
    assert seen == [0, 1, 2, 2, 3]
    for cut in range(3, rows(run_id)):
        kill(run_id, cut)
        answer = await go_on(StepToolset(made), run_id, wish={"again": frozenset({"l", "c", "p"})})
        assert answer["results"]["c"] == [0, 10, 20, 30]


async def test_secrets_are_not_written_and_are_asked_for_again() -> None:
    tools = Tools()
    toolset = tools.toolset()

    def login(password: str, pin: SecretStr) -> str:
        if tools.fails:
            raise RuntimeError(f"wrong: {password}")
        return f"in with {password}"

    steps = [step("l", "login", password="hunter22", pin="4711-secret"), step("n", "number", value=1)]
    toolset = StepToolset([login, tools.number])
    run_id, _ = await run(toolset, *steps)
    await go_on(toolset, run_id)  # the plan is still in this kernel
    tools.fails = False
    fresh = StepToolset([login, tools.number])
    assert "give the same steps again" in await go_on(fresh, run_id)
    assert "these are not the steps of run" in await go_on(fresh, run_id, steps[:1])
    assert (await go_on(fresh, run_id, steps))["status"] == "ok"
    with closing(RunFile()) as file:
        dump = "\n".join(map(str, file.connection.iterdump()))
    assert (
        "hunter22" not in dump and b"hunter22".hex() not in dump.lower() and "4711-secret" not in dump
    )  # a time may have the digits


async def test_a_plan_whose_tools_have_changed_is_refused() -> None:
    tools = Tools()
    run_id, _ = await run(tools.toolset(), *STEPS)
    said = await go_on(StepToolset([tools.number]), run_id)
    assert "step 'b': there is no tool 'fragile'" in said
    tools.fails = False
    assert (await go_on(tools.toolset(), run_id))["status"] == "ok"


async def test_a_run_that_runs_is_not_resumed_and_not_twice() -> None:
    loop, begun, release = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def block() -> str:
        loop.call_soon_threadsafe(begun.set)
        release.wait(20)
        return "done"

    events: list[Any] = []
    toolset = StepToolset([block], on_event=events.append)
    task = asyncio.ensure_future(execute(toolset, [step("b", "block")]))
    await asyncio.wait_for(begun.wait(), 10)
    said = await go_on(StepToolset([block]), events[0].run_id)
    release.set()
    assert "is running, in process" in said
    assert (await task)["results"] == {"b": "done"}


async def test_without_a_journal_there_is_nothing_to_resume() -> None:
    run_id, _ = await run(Tools().toolset(journal=False), *STEPS)
    assert "there is no run" in await go_on(Tools().toolset(), run_id)


KILLED = """
    import asyncio, os, sys
    from acp_notebook import StepToolset
    from harness.steps import execute, reference, step

    def note(name: str) -> str:
        with open(sys.argv[1], "a") as file:
            print(name, file=file)
        if name == sys.argv[2]:
            os.kill(os.getpid(), 9)
        return name

    async def anote(name: str) -> str:
        return note(name)

    tools = ["note", "anote"]
    steps = [step(f"s{n}", tools[n % 3 == 2], name=f"n{n}") for n in range(6)]
    asyncio.run(execute(StepToolset([note, anote]), steps))
"""


@pytest.mark.parametrize("at", [0, 2, 3])
def test_a_process_that_is_killed_leaves_what_can_be_gone_on_with(at: int, tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = textwrap.dedent(KILLED)
    command = [sys.executable, "-c", code, str(log), f"n{at}"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], timeout=100)
    assert done.returncode == -9
    with closing(RunFile()) as file:
        newest = "SELECT run_id FROM step_runs ORDER BY number DESC LIMIT 1"
        (run_id,) = file.connection.execute(newest).fetchone()

    def note(name: str) -> str:
        with log.open("a") as file:
            print(name, file=file)
        return name

    async def anote(name: str) -> str:
        return note(name)

    asked: list[Any] = []

    def handle(ctx: Any, requests: Any) -> Any:
        asked.extend(call.args["name"] for call in requests.approvals)
        return requests.build_results(approve_all=True)

    toolset = StepToolset([note, anote])
    answer = asyncio.run(go_on(toolset, run_id, capabilities=[HandleDeferredToolCalls(handle)]))
    assert answer["results"] == {f"s{n}": f"n{n}" for n in range(6)}
    ran = log.read_text().split()
    assert ran[: at + 1] == [f"n{n}" for n in range(at + 1)]
    assert {name for name in ran if ran.count(name) == 2} <= set(asked)  # of quick ones there may be more
    assert f"n{at}" in asked and max(map(ran.count, ran)) == 2
