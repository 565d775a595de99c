"""Live views in notebook pages: an agent to ask, and where on the page its view and its questions are."""

from __future__ import annotations

from playwright.sync_api import Locator

from .jupyter import NotebookPage

#: Seconds within which a page follows a click or an interrupt: under two at rest, more on a busy machine.
SOON = 6

#: A whole cell: `agent`, a scripted model with a tool that waits for approval, and one that only looks.
SURVEY = """
%load_ext acp_notebook
from pydantic_ai import Agent
from acp_notebook import Call, Say, ScriptedModel, Session, Think, current

model = ScriptedModel()
agent = Agent(model, name="survey")

@agent.tool_plain(requires_approval=True)
def drop(table: str) -> str:
    return f"dropped from {table}"

@agent.tool_plain
def look(table: str) -> str:
    print("looking at", table)
    return f"{table} has 500 rows"

@model.script("drop (.*)")
def drops(turn):
    yield Think("Looking first.")
    yield Call("look", table=turn.match[1])
    result = yield Call("drop", table=turn.match[1])
    yield Say(f"The answer is: {result.text}.")

@model.script("hello")
def greets(turn):
    yield Say("Hello to you.")

%acp start agent
"""


def view(page: NotebookPage, index: int) -> Locator:
    """The view in a cell's outputs, live or in its final form."""
    return page.output(index).locator(".acp-view:visible")


def setting(view: Locator, name: str) -> Locator:
    """A selector of a panel, by its label."""
    return view.get_by_role("combobox", name=name, exact=True)


def card(page: NotebookPage, index: int) -> Locator:
    """A request that waits for an answer, in a cell's outputs."""
    return view(page, index).locator(".acp-permission[data-status=pending]")
