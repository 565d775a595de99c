"""The demo agent: its tools against an independent reading of the file, and its scripts to the end."""

from __future__ import annotations

import asyncio
import csv
import re
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic_ai import Agent, DeferredToolRequests, FunctionToolset, RunContext, ToolDenied
from pydantic_ai.capabilities import HandleDeferredToolCalls, PrepareTools
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ModelMessage, ThinkingPart, ToolReturnPart

import acp_notebook
from acp_notebook.agent.demo import PLAN, WRITTEN, call_for, demo_agent
from acp_notebook.agent.survey import Survey

FILE = Path(acp_notebook.__file__).parent / "data" / "survey.csv"
KEY = ["respondent", "wave"]
#: Stands for the run context of a call that a person has allowed.
APPROVED = cast("RunContext[Any]", SimpleNamespace(tool_call_approved=True))
ALL_PLAN_TOOLS = {"acp_get_plan", "acp_set_plan", "acp_update_plan_entry", "acp_mark_plan_done"}


def file_rows() -> list[dict[str, str]]:
    with FILE.open(newline="") as file:
        return list(csv.DictReader(file))


def unique(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return list({(row["respondent"], row["wave"]): row for row in reversed(rows)}.values())


def known(rows: list[dict[str, str]], column: str, **where: str) -> list[int]:
    return [int(r[column]) for r in rows if r[column] and all(r[k] == v for k, v in where.items())]


# ---- the file and the tools


def test_the_file_is_small_and_has_what_there_is_to_clean():
    assert FILE.stat().st_size < 40_000
    rows = file_rows()
    assert len(rows) == 500
    assert len(unique(rows)) == len({tuple(row.values()) for row in rows}) == 486
    assert sum(not row["age"] for row in rows) == 12


def test_describe_table():
    rows = file_rows()
    told = Survey().describe_table()
    ages = known(rows, "age")
    assert told["rows"] == 500
    assert told["columns"]["age"] == {
        "missing": 12,
        "distinct": len(set(ages)),
        "min": min(ages),
        "max": max(ages),
    }
    assert told["columns"]["region"] == {"missing": 0, "distinct": 4}


def test_count_missing():
    rows = file_rows()
    assert Survey().count_missing() == {name: sum(not row[name] for row in rows) for name in rows[0]}


def test_duplicates_are_counted_and_dropped(capsys: pytest.CaptureFixture[str]):
    survey = Survey()
    assert survey.count_duplicates(KEY) == {"duplicates": 14, "rows": 500}
    assert survey.drop_duplicates(APPROVED, "survey", KEY) == {"dropped": 14, "rows": 486}
    assert capsys.readouterr().out == "dropped 14 rows, 486 left\n"
    kept = [(str(row["respondent"]), str(row["wave"])) for row in survey.rows]
    assert sorted(kept) == sorted((row["respondent"], row["wave"]) for row in unique(file_rows()))
    assert survey.count_duplicates(["region"])["duplicates"] == 486 - 4


def test_fill_missing():
    rows = file_rows()
    survey = Survey()
    medians = {
        region: median(known(rows, "age", region=region)) for region in {row["region"] for row in rows}
    }
    assert survey.fill_missing("age", "region") == {
        "column": "age",
        "by": "region",
        "filled": 12,
        "medians": medians,
    }
    for before, after in zip(rows, survey.rows, strict=True):
        assert after["age"] == (int(before["age"]) if before["age"] else medians[before["region"]])
        assert after["age_filled"] == ("no" if before["age"] else "yes")
    assert survey.fill_missing("age", "region")["filled"] == 0
    assert sum(row["age_filled"] == "yes" for row in survey.rows) == 12


def test_summarise():
    rows = file_rows()
    told = Survey().summarise("wave")
    assert told["by"] == "wave"
    assert told["groups"] == [
        {
            "wave": int(wave),
            "rows": sum(row["wave"] == wave for row in rows),
            **{
                column: round(fmean(known(rows, column, wave=wave)), 1)
                for column in ("age", "income", "satisfaction")
            },
        }
        for wave in ("1", "2")
    ]


def test_load_table_undoes_changes_and_never_changes_the_file():
    before = FILE.read_bytes()
    survey = Survey()
    survey.drop_duplicates(APPROVED, "survey", KEY)
    survey.fill_missing("income", "region")
    assert survey.load_table()["rows"] == 500
    assert survey.columns == list(file_rows()[0])
    assert FILE.read_bytes() == before


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda survey: survey.summarise("planet"),
            "there is no column 'planet': the columns are respondent, ",
        ),
        (lambda survey: survey.fill_missing("region", "wave"), "column 'region' is not numeric"),
        (lambda survey: survey.drop_duplicates(APPROVED, "users", KEY), "there is no table 'users'"),
        (lambda survey: survey.count_duplicates(["id"]), "there is no column 'id'"),
    ],
)
def test_wrong_arguments_are_answered_with_the_valid_ones(call: Callable[[Survey], Any], message: str):
    with pytest.raises(ModelRetry, match=message):
        call(Survey())


# ---- the scripts


class Session:
    """The demo agent as a session runs it: plan tools of its own, a mode, answers to approvals."""

    def __init__(self, *, mode: str = "agent", allow: bool = True, plan: list[str] | None = None) -> None:
        self.agent: Agent[None, str] = demo_agent(delay=0)
        self.mode = mode
        self.allow = allow
        self.plan = [{"content": text, "status": "pending", "priority": "medium"} for text in plan or []]
        self.history: list[ModelMessage] = []
        self.asked: list[dict[str, Any]] = []
        self.changes: list[tuple[str, str]] = []

    def plan_tools(self) -> FunctionToolset[None]:
        tools = FunctionToolset[None]()

        def acp_get_plan() -> str:
            lines = [
                f"{n}. [{entry['status']}] ({entry['priority']}) {entry['content']}"
                for n, entry in enumerate(self.plan, 1)
            ]
            return "\n".join([*lines, "", "Entry numbers are 1-based."])

        def acp_set_plan(entries: list[dict[str, str]], plan_md: str | None = None) -> str:
            self.plan = [{"status": "pending", "priority": "medium", **entry} for entry in entries]
            return "set"

        def acp_update_plan_entry(index: int, status: str) -> str:
            self.plan[index - 1]["status"] = status
            self.changes.append((self.plan[index - 1]["content"], status))
            return "updated"

        def acp_mark_plan_done(index: int) -> str:
            return acp_update_plan_entry(index, "completed")

        for tool in (acp_get_plan, acp_set_plan, acp_update_plan_entry, acp_mark_plan_done):
            tools.tool_plain(tool)
        return tools

    def offers(self, name: str, metadata: dict[str, Any] | None) -> bool:
        if name in ALL_PLAN_TOOLS:
            allowed = {"ask": set[str](), "plan": {"acp_get_plan", "acp_set_plan"}, "agent": ALL_PLAN_TOOLS}
            return name in allowed[self.mode]
        return self.mode == "agent" or (metadata or {}).get("kind") == "read"

    def ask(self, prompt: str, **settings: Any) -> str:
        async def decide(ctx: RunContext[None], requests: DeferredToolRequests):
            self.asked += [call.args_as_dict() for call in requests.approvals]
            self.while_waiting()
            answer = True if self.allow else ToolDenied("Keep every row.")
            return requests.build_results(approvals={c.tool_call_id: answer for c in requests.approvals})

        async def offer(ctx: RunContext[None], tools: list[Any]) -> list[Any]:
            return [tool for tool in tools if self.offers(tool.name, tool.metadata)]

        result = asyncio.run(
            self.agent.run(
                prompt,
                message_history=self.history,
                model_settings=settings or None,
                toolsets=[self.plan_tools()],
                capabilities=[HandleDeferredToolCalls(decide), PrepareTools(offer)],
            )
        )
        self.history = result.all_messages()
        return result.output

    def while_waiting(self) -> None:
        """What a person does before answering."""

    @property
    def statuses(self) -> list[str]:
        return [entry["status"] for entry in self.plan]

    def calls(self) -> list[str]:
        return [p.tool_name for m in self.history for p in m.parts if isinstance(p, ToolReturnPart)]


def test_cleaning_to_the_end():
    session = Session()
    answer = session.ask("Clean the survey data")
    assert session.statuses == ["completed"] * 6
    assert session.changes == [(text, status) for text, _ in PLAN for status in ("in_progress", "completed")]
    assert session.asked == [{"table": "survey", "subset": KEY}]

    rows = unique(file_rows())
    assert "Missing values: age 12, income 41, satisfaction 9." in answer
    assert "Dropped 14 duplicate rows; 486 rows are left." in answer
    assert f"Filled {sum(not row['income'] for row in rows)} missing values of income" in answer
    table = {line.split(" | ")[0].strip("| "): line for line in answer.splitlines() if line.startswith("| ")}
    for region in {row["region"] for row in rows}:
        filled = [
            int(row["income"]) if row["income"] else median(known(rows, "income", region=region))
            for row in rows
            if row["region"] == region
        ]
        cells = [cell.strip() for cell in table[region].strip("| ").split("|")]
        assert cells[1] == str(len(filled))
        assert cells[3] == f"{fmean(filled):,.0f}"


def test_cleaning_again_gives_the_same_answer():
    session = Session()
    assert session.ask("Clean the survey data") == session.ask("Please CLEAN the survey again")
    assert session.statuses == ["completed"] * 6


def test_cleaning_when_deleting_is_denied():
    session = Session(allow=False)
    answer = session.ask("Clean the survey data")
    assert session.statuses == ["completed", "completed", "cancelled", "completed", "completed", "completed"]
    assert "`drop_duplicates` was not done, because it was not allowed: Keep every row." in answer
    assert "Filled 41 missing values of income" in answer
    assert len(session.asked) == 1


def test_entries_moved_while_an_approval_waits_are_still_the_ones_marked():
    session = Session()

    def add_first() -> None:
        entry = {"content": "Summarise the survey by wave", "status": "pending", "priority": "high"}
        session.plan.insert(0, entry)

    session.while_waiting = add_first
    answer = session.ask("Clean the survey data")
    assert session.statuses == ["completed"] * 7
    assert "| wave | rows |" in answer and "| region | rows |" in answer


def test_plan_mode_writes_the_plan_and_agent_mode_carries_it_out():
    session = Session(mode="plan")
    assert WRITTEN in session.ask("Clean the survey data")
    assert [entry["content"] for entry in session.plan] == [text for text, _ in PLAN]
    assert session.statuses == ["pending"] * 6
    assert "switch to agent mode" in session.ask("continue")
    session.mode = "agent"
    assert "Dropped 14 duplicate rows" in session.ask("continue")
    assert session.statuses == ["completed"] * 6


def test_a_prompt_that_asks_for_a_plan_only_writes_one():
    session = Session()
    assert "tell me to `continue`" in session.ask("Plan the analysis")
    assert session.statuses == ["pending"] * 6


def test_ask_mode_only_looks():
    session = Session(mode="ask")
    answer = session.ask("Clean the survey data")
    assert "14 of 500 rows repeat an earlier one." in answer
    assert "only offers tools that read" in answer
    assert session.plan == []
    assert set(session.calls()) == {"describe_table", "count_missing", "count_duplicates"}


def test_a_plan_that_a_person_wrote():
    session = Session(
        plan=[
            "Fill the missing satisfaction by wave",
            "Plot age by region",
            "Guess the incomes of each education",
            "Check for duplicates",
        ]
    )
    session.plan[3]["status"] = "completed"
    answer = session.ask("Work on the plan")
    assert session.statuses == ["completed", "cancelled", "completed", "completed"]
    assert "Filled 9 missing values of satisfaction with the median of their wave" in answer
    assert "Left out “Plot age by region”: I have no tool for it." in answer
    assert "Filled 41 missing values of income with the median of their education" in answer
    assert "Nothing is open in the plan" in session.ask("continue")


def test_a_mode_changed_during_the_turn_stops_the_work_and_can_be_changed_back():
    session = Session()

    def to_plan_mode() -> None:
        session.mode = "plan"

    session.while_waiting = to_plan_mode
    answer = session.ask("Clean the survey data")
    assert "Dropped 14 duplicate rows" in answer
    assert "I cannot mark “Drop the duplicate rows” in the plan now, so I stop here." in answer
    assert session.statuses == ["completed"] * 2 + ["in_progress"] + ["pending"] * 3
    session.mode = "agent"
    session.while_waiting = lambda: None
    assert "Dropped 0 duplicate rows" in session.ask("continue")
    assert session.statuses == ["completed"] * 6


def test_without_plan_tools_the_work_is_done_all_the_same():
    async def allow(ctx: RunContext[None], requests: DeferredToolRequests):
        return requests.build_results(approve_all=True)

    async def main() -> str:
        agent = demo_agent(delay=0)
        return (await agent.run("Clean the data", capabilities=[HandleDeferredToolCalls(allow)])).output

    assert "Dropped 14 duplicate rows" in asyncio.run(main())


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("How many values are missing?", "Missing values: age 12, income 41, satisfaction 9."),
        ("What columns are there?", "500 rows with the columns respondent, wave, region, age"),
        ("How many duplicates?", "14 of 500 rows repeat an earlier one."),
        ("Average income by wave", "| wave | rows | age | income | satisfaction |"),
        ("Tell me a story", "scripted demo**, not a language model"),
    ],
)
def test_other_prompts(prompt: str, answer: str):
    assert answer in Session(mode="ask").ask(prompt)


def test_what_is_asked_for_but_not_offered():
    assert "`fill_missing`, which this mode does not offer" in Session(mode="ask").ask(
        "Fill the missing ages"
    )


def test_no_thoughts_with_thinking_off():
    def thoughts(session: Session) -> int:
        return sum(isinstance(part, ThinkingPart) for message in session.history for part in message.parts)

    quiet, usual = Session(), Session()
    quiet.ask("Clean the survey data", thinking=False)
    usual.ask("Clean the survey data", thinking="high")
    assert thoughts(quiet) == 0
    assert thoughts(usual) > 4


def test_every_entry_of_the_plan_has_a_call():
    calls = [call_for(text) for text, _ in PLAN]
    assert [call and call.tool for call in calls] == [
        "load_table",
        "count_missing",
        "drop_duplicates",
        "fill_missing",
        "fill_missing",
        "summarise",
    ]


def test_the_model_says_that_it_is_a_script():
    model = demo_agent().model
    assert getattr(model, "model_name", "") == "scripted demo"


def test_agents_do_not_share_their_table():
    first, second = Session(), Session()
    first.ask("Clean the survey data")
    assert re.search(r"has 500 rows", second.ask("Describe the columns"))


def test_in_a_session_the_plan_of_plan_mode_is_the_answer_and_agent_mode_carries_it_out(
    hosted: Callable[..., acp_notebook.Session],
) -> None:
    session = hosted(demo_agent(delay=0), mode="plan", on_unattended="allow")
    turn = session.ask("Clean the survey data")
    assert isinstance(turn.output, acp_notebook.TaskPlan)
    assert turn.text == WRITTEN
    assert [(entry.content, entry.priority) for entry in session.plan] == list(PLAN)
    assert session.plan.content is not None and session.plan.content.startswith("### What I see")
    assert "switch to agent mode" in session.ask("continue").text
    session.ask("/agent")
    assert "Dropped 14 duplicate rows" in session.ask("continue").text
    assert session.plan.progress == (6, 6)


@pytest.mark.once
def test_in_a_session_one_prompt_plans_and_works(hosted: Callable[..., acp_notebook.Session]) -> None:
    session = hosted(demo_agent(delay=0), on_unattended="allow")
    assert "Dropped 14 duplicate rows" in session.ask("Clean the survey data").text
    assert session.plan.progress == (6, 6)
