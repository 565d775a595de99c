"""The built-in demo: a scripted model with real tools on a small survey table. Also an example of scripts.

No language model is involved, and the agent says so. The scripts look at what the tools return and at what
the plan says, so they go on sensibly when a call is denied, a person edits the plan meanwhile, or the mode
offers fewer tools.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterator
from typing import Any, NamedTuple

from pydantic_ai import Agent, Tool

from .scripted import Call, Output, Result, Say, ScriptedModel, Step, Think, Turn
from .survey import Survey

#: The columns that tell the rows of the survey apart.
KEY = ["respondent", "wave"]

#: What the demo plans to do, and how much it matters.
PLAN = (
    ("Load survey.csv and look at its columns", "high"),
    ("Count the missing values in every column", "medium"),
    ("Drop the duplicate rows", "high"),
    ("Fill missing ages with the median of the region", "medium"),
    ("Fill missing incomes with the median of the region", "medium"),
    ("Summarise age and income by region", "low"),
)

WRITTEN = "The plan is written. To have it done, press *Start working* beside it, or run `%acp work`."

HELP = """\
I am a **scripted demo**, not a language model: I know a few prompts, and work on a small made-up survey \
with real tools. Try one of these:

- `Clean the survey data`
- `How many values are missing?`
- `Summarise the survey by wave`

You can also write a plan of your own and tell me to `continue`: I do the entries that I have a tool for.
"""


def demo_agent(delay: float = 0.03) -> Agent[None, str]:
    """A new demo agent with a survey table of its own.

    Args:
        delay: seconds between the words of its answers.
    """
    survey = Survey()
    read, edit, delete = {"kind": "read"}, {"kind": "edit"}, {"kind": "delete"}
    return Agent(
        demo_model(delay),
        name="demo",
        tools=[
            Tool(survey.describe_table, metadata=read),
            Tool(survey.count_missing, metadata=read),
            Tool(survey.count_duplicates, metadata=read),
            Tool(survey.summarise, metadata=read),
            Tool(survey.load_table, metadata=edit),
            Tool(survey.fill_missing, metadata=edit),
            Tool(survey.drop_duplicates, metadata=delete),
        ],
    )


def demo_model(delay: float = 0.03) -> ScriptedModel:
    """The model of the demo: the scripts below."""
    model = ScriptedModel(delay=delay, name="scripted demo")
    model.script(r"\b(continue|go on|carry on|proceed|work (on|through) (the plan|entry|these))\b")(go_on)
    model.script(r"\bclean|^\s*plan\b")(clean)
    model.script()(answer)
    return model


def clean(turn: Turn) -> Generator[Step, Any, None]:
    """Look at the data, write a plan, and work through it."""
    yield Think("Before I plan anything, I want to see what is in the table. ")
    looks = yield [Call("describe_table"), Call("count_missing"), Call("count_duplicates", subset=KEY)]
    findings = [tell(look) for look in looks]
    yield Think(" ".join(findings))
    if turn.thinking in ("high", "xhigh"):
        yield Think(
            " Duplicates come first: they would count twice in every median. "
            "Deleting rows cannot be taken back, so that needs a yes."
        )

    may_work = "fill_missing" in turn.tools
    entries = [{"content": text, "priority": rank} for text, rank in PLAN]
    if "acp_task_plan" in turn.outputs:  # in plan mode, where the plan is the answer
        yield Say(WRITTEN)
        yield Output("acp_task_plan", plan_md=report(findings, title="What I see"), plan_entries=entries)
    elif "acp_set_plan" in turn.tools:
        yield Call("acp_set_plan", entries=entries)
        if not may_work:
            yield Say(WRITTEN)
        elif turn.prompt.lstrip().lower().startswith("plan"):
            yield Say("The plan is written. Change it as you like, then tell me to `continue`.")
        else:
            yield Say(report((yield from work(turn))))
    elif may_work:
        results: list[Result] = []
        for call in filter(None, (call_for(text) for text, _ in PLAN)):
            results.append((yield call))
        yield Say(report([tell(result) for result in results]))
    else:
        yield Say(report(findings, title="What I see"))
        yield Say("\nThis mode only offers tools that read: switch to agent mode to have the survey cleaned.")


def go_on(turn: Turn) -> Generator[Step, Any, None]:
    """Work through what is open in the plan that is there, whoever wrote it, or on some entries alone."""
    alone = re.findall(r"^work on entry (\d+)|^(\d+)\. ", turn.prompt, re.IGNORECASE | re.MULTILINE)
    if "acp_mark_plan_done" not in turn.tools:
        yield Say("I can only look in this mode: switch to agent mode, then tell me to `continue`.")
    elif told := (yield from work(turn, {int(one or other) for one, other in alone})):
        yield Say(report(told))
    else:
        yield Say("Nothing is open in the plan. Add an entry, or ask me to `Clean the survey data`.")


def answer(turn: Turn) -> Generator[Step, Any, None]:
    """Do the one thing that was asked for, or say what can be asked for."""
    call = call_for(turn.prompt)
    if call is None:
        yield Say(HELP)
    elif call.tool not in turn.tools:
        yield Say(f"I would need the tool `{call.tool}`, which this mode does not offer.")
    else:
        yield Think(f"That is a case for {call.tool}.")
        yield Say(tell((yield call)))


def work(turn: Turn, alone: Collection[int] = ()) -> Generator[Step, Any, list[str]]:
    """Do the open entries of the plan, one after another, or those with the numbers `alone`.

    Returns what there is to tell of each.
    """
    told: list[str] = []
    plan = yield Call("acp_get_plan")
    texts = {entry.text for entry in open_entries(plan) if entry.number in alone}
    while entry := next((e for e in open_entries(plan) if not alone or e.text in texts), None):
        call = call_for(entry.text)
        if call is None or call.tool not in turn.tools:
            why = "I have no tool for it" if call is None else f"this mode does not offer `{call.tool}`"
            told.append(f"Left out “{entry.text}”: {why}.")
            yield Say(f"{told[-1]}\n\n")
            status = "cancelled"
        else:
            start = Call("acp_update_plan_entry", index=entry.number, status="in_progress")
            _, result = yield [start, call]
            told.append(tell(result))
            if result.denied:
                yield Say("That was not allowed, so I cancel this step and go on with the rest.\n\n")
            elif result.tool != "summarise":
                yield Think(told[-1])
            status = "completed" if result.ok else "cancelled"
        if not (yield from close(entry, status)):
            told.append(f"I cannot mark “{entry.text}” in the plan now, so I stop here.")
            break
        plan = yield Call("acp_get_plan")
    return told


def close(entry: Entry, status: str) -> Generator[Step, Any, bool]:
    """Set the status of an entry, wherever a person has moved it meanwhile. False when it cannot be set."""
    for now in open_entries((yield Call("acp_get_plan"))):
        if now.text == entry.text:
            if status == "completed":
                done = yield Call("acp_mark_plan_done", index=now.number)
            else:
                done = yield Call("acp_update_plan_entry", index=now.number, status=status)
            return done.ok
    return True


class Entry(NamedTuple):
    """An entry of the plan; numbers are 1-based."""

    number: int
    text: str


def open_entries(plan: Result) -> Iterator[Entry]:
    """The entries that are still to do, from the answer of `acp_get_plan`."""
    for number, status, text in re.findall(r"^(\d+)\. \[(\w+)\] \(\S*\) (.*)$", plan.text, re.MULTILINE):
        if status in ("pending", "in_progress"):
            yield Entry(int(number), text)


def call_for(text: str) -> Call | None:
    """The call that does what a sentence asks for, or None. The first words that fit decide."""
    words = text.lower()

    def mentions(pattern: str) -> bool:
        return re.search(rf"\b({pattern})", words) is not None

    by = next((group for group in ("wave", "education", "region") if mentions(group)), "region")
    column = next((name for name in ("age", "income", "satisfaction") if mentions(rf"{name}s?\b")), None)
    if mentions("duplicate|repeated"):
        if mentions("drop|remove|delete"):
            return Call("drop_duplicates", table="survey", subset=KEY)
        return Call("count_duplicates", subset=KEY)
    if mentions("fill|impute|guess|replace"):
        return Call("fill_missing", column=column, by=by) if column else None
    if mentions("missing|gaps|empty"):
        return Call("count_missing")
    if mentions("summar|average|mean|compare"):
        return Call("summarise", by=by)
    if mentions("load|read|reset"):
        return Call("load_table")
    if mentions("look|columns?|describe|inspect|how many rows"):
        return Call("describe_table")
    return None


def tell(result: Result) -> str:
    """What a result says, in a sentence; for a summary, a table."""
    if not result.ok:
        why = "it was not allowed" if result.denied else "it failed"
        return f"`{result.tool}` was not done, because {why}: {' '.join(result.text.split())}"
    got = result.content
    match result.tool:
        case "load_table":
            return f"Loaded {got['rows']} rows with the columns {', '.join(got['columns'])}."
        case "describe_table":
            return f"The table has {got['rows']} rows with the columns {', '.join(got['columns'])}."
        case "count_missing":
            gaps = ", ".join(f"{column} {count}" for column, count in got.items() if count)
            return f"Missing values: {gaps}." if gaps else "No value is missing."
        case "count_duplicates":
            return f"{got['duplicates']} of {got['rows']} rows repeat an earlier one."
        case "drop_duplicates":
            return f"Dropped {got['dropped']} duplicate rows; {got['rows']} rows are left."
        case "fill_missing":
            column = got["column"]
            return (
                f"Filled {got['filled']} missing values of {column} with the median of their {got['by']}; "
                f"the column {column}_filled says which."
            )
        case "summarise":
            return table(got["groups"])
        case _:
            return result.text


def table(rows: list[dict[str, Any]]) -> str:
    """Rows of equal keys as a Markdown table."""
    lines = [list(rows[0]), [":--"] + ["--:"] * (len(rows[0]) - 1)]
    lines += [[cell(value) for value in row.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(value: Any) -> str:
    """A value as a table shows it; means of large numbers without decimals."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}"
    return "–" if value is None else str(value)


def report(told: list[str], title: str = "What I did") -> str:
    """Sentences as a list, and below it the tables."""
    sentences = [f"- {text}" for text in told if not text.startswith("|")]
    tables = [f"\n{text}" for text in told if text.startswith("|")]
    return "\n".join([f"### {title}\n", *sentences, *tables, ""])
