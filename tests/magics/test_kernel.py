"""Where the kernel matters: Run All, cells run again, two sessions, Tab in the page."""

from __future__ import annotations

import pytest

from harness.wire import Frontend

pytestmark = pytest.mark.once

AGENTS = """
%load_ext acp_notebook
from pydantic_ai import Agent, Tool
from acp_notebook import Call, Say, ScriptedModel

def agent_named(name, gated):
    model = ScriptedModel(name=name)

    @model.script("fail")
    def fail(turn):
        raise ValueError("out of luck")
        yield

    @model.script()
    def script(turn):
        yield Call("acp_set_plan", entries=[{"content": f"{name}: {turn.prompt}"}])
        result = yield Call("work")
        yield Say(f"{name} says {result.text}")

    return Agent(model, name=name, tools=[Tool(lambda: "worked", name="work", requires_approval=gated)])

asks, works = agent_named("asks", True), agent_named("works", False)
"""


@pytest.fixture
def page(notebook_kernel: Frontend) -> Frontend:
    notebook_kernel.run(AGENTS)
    return notebook_kernel


def test_nb_02_run_all_overtakes(page: Frontend) -> None:
    """Nobody is there, so the request is denied by policy; the cell after finds a finished turn."""
    cells = [
        page.begin(code, allow_stdin=False)
        for code in (
            "%acp start asks",
            "%acp ask --out turn make a plan and ask first",
            "print(turn.stop_reason, '|', turn.text)",
            "%acp ask --approve --out turn once more",
            "print(turn.stop_reason, '|', turn.text)",
        )
    ]
    for cell in cells:
        page.finish(cell)
    assert [cell.status for cell in cells] == ["ok"] * 5
    assert cells[2].stdout.startswith("end_turn | asks says Denied: nobody is there")
    assert cells[4].stdout == "end_turn | asks says worked\n"
    assert "on_unattended" in str(cells[1].outputs)


def test_a_mistake_fails_its_cell_so_run_all_stops_there(page: Frontend) -> None:
    page.run("%acp start works")
    for code, line in (
        ("%acp plan done 3", "UsageError: there is no entry 3 in this plan: the plan is empty\n"),
        ("%acp ask --mode nope hello", "UsageError: mode 'nope' is not offered: use ask, plan, agent\n"),
        ("%%acp nothing\nhello", "UsageError: there is no %acp nothing: %acp help lists what there is\n"),
    ):
        cell = page.execute(code)
        assert (cell.status, cell.stderr) == ("error", line)
        assert cell.reply and cell.reply["ename"] == "UsageError"
    cell = page.execute("%acp ask please fail")
    assert cell.status == "error"
    assert cell.reply and cell.reply["ename"] == "TurnFailed"
    (error,) = [output for output in cell.outputs if output["output_type"] == "error"]
    assert len(error["traceback"]) == 1
    assert "out of luck" in error["traceback"][0]
    assert "out of luck" in page.run("%acp debug").stdout
    page.run("%acp ask go on")


def test_a_prompt_while_one_runs_is_one_line(page: Frontend) -> None:
    page.run('%config AcpMagics.on_unattended = "wait"\n%acp start asks')
    page.run("%acp ask --bg --out first begin")
    cell = page.execute("%acp ask another")
    assert cell.status == "error"
    assert cell.stderr.startswith("UsageError: a turn is running: wait for it")
    assert (
        "1. work"
        in page.run(
            "import asyncio\nwhile not first.session.permissions: await asyncio.sleep(0.01)\n%acp approvals"
        ).stdout
    )
    page.run("%acp approve")
    assert page.run("await first\nprint(first.text)").stdout == "asks says worked\n"


def test_a_turn_in_the_background_ends_as_static_html_in_its_own_output(page: Frontend) -> None:
    page.run("%acp start works")
    cell = page.run("%acp ask --bg --out turn begin")
    page.run("await turn")
    (shown,) = [output for output in cell.outputs if output["output_type"] == "display_data"]
    page.wait(lambda: "application/vnd.jupyter.widget-view+json" not in shown["data"], what="the final form")
    assert "works says worked" in shown["data"]["text/html"]
    assert page.widgets() == []


def test_two_sessions_have_plans_of_their_own(page: Frontend) -> None:
    page.run("%acp start works\n%acp ask first")
    page.run("%acp start asks\n%acp ask second")
    assert "asks: second" in page.run("%acp plan export\n").outputs[0]["data"]["text/plain"]
    page.run("%acp use works")
    assert "works: first" in page.run("%acp plan export\n").outputs[0]["data"]["text/plain"]


def test_a_cell_run_again_asks_again(page: Frontend) -> None:
    for _ in range(2):
        page.run("%acp start works\nfor n in range(2):\n    t = %acp ask again\nassert t.number == 2")


def test_the_plan_is_live_as_the_last_value_of_its_cell(page: Frontend) -> None:
    page.run("%acp start works\n%acp plan add Load")
    still, live = page.run("%acp plan").outputs
    assert "Load" in still["data"]["text/plain"]
    assert live["output_type"] == "execute_result"
    assert "application/vnd.jupyter.widget-view+json" in live["data"]
    (widget,) = page.widgets()
    page.run("%acp plan add Plot")
    page.wait(lambda: "Plot" in str(widget.state), what="the new entry in the view")
    assert len(page.widgets()) == 1
    (quiet,) = page.run("p = %acp plan\nlen(p)").outputs
    assert quiet["data"] == {"text/plain": "2"}


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("%acp st", ["start", "steps", "status"]),
        ("%acp plan e", ["export"]),
        ("plan = %acp plan m", ["move"]),
        ("if True:\n    %acp ca", ["cancel"]),
        ("%acp mode ", ["ask", "plan", "agent"]),
        ("%acp ask --mode p", ["plan"]),
        ("%acp ask --ef", ["--effort"]),
        ("%acp ask /pl", ["/plan", "/plan_generation_type"]),
        ("turn = %acp ask --bg /mode a", ["ask", "agent"]),
        ("%%acp --mo", ["--mode"]),
        ("%%acp ask --mode ", ["ask", "plan", "agent"]),
        ("%acp effort x", ["xhigh"]),
        ("%acp config thinking h", ["high"]),
        ("%acp plan done ", ["1", "2", "--plan"]),
        ("%acp plan --plan ", ["plan-1"]),
        ("%acp plan add --priority l", ["low"]),
        ("%acp plan update 1 --status c", ["completed", "cancelled"]),
        ("%acp plan export o", ["out.md"]),
        ("%acp plan set ou", ["out.md"]),
        ("%acp use w", ["works"]),
        ("%acp help plan mo", ["move"]),
        ("%acp start --model asks --name x wo", ["works"]),
    ],
)
def test_tab_in_the_page(tabs: Frontend, typed: str, expected: list[str]) -> None:
    assert tabs.complete(typed) == expected


def test_tab_offers_agents_first(tabs: Frontend) -> None:
    assert tabs.complete("%acp start ")[:2] == ["asks", "works"]
    assert "demo" in tabs.complete("%acp start ")


def test_tab_leaves_texts_and_other_magics_alone(tabs: Frontend) -> None:
    assert tabs.complete("%load_e") == ["%load_ext"]
    assert tabs.complete("asks.na") == ["name"]
    assert "--mode" not in tabs.complete("%acp ask Hello --mo")


@pytest.fixture(scope="module")
def tabs(tmp_path_factory: pytest.TempPathFactory) -> Frontend:  # type: ignore[misc]
    with Frontend.start(folder=tmp_path_factory.mktemp("tabs")) as page:
        page.run(AGENTS)
        page.run("%acp start works\n%acp plan add a\n%acp plan add b\n%acp plan export out.md")
        yield page  # type: ignore[misc]
