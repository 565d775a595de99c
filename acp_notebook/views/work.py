"""*Start working* as parts: the button, and the question that comes first where the plan has changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..plan import Change
from .history import change_lines
from .html import Html, tag
from .parts import Part


class Question(NamedTuple):
    """A person wants the agent to work on a plan that has changed since the agent saw it.

    `entry` is the 1-based number of the only one to be worked on, if any; `revision` says when it was asked:
    after another change it has to be asked anew.
    """

    entry: int | None
    revision: int
    change: Change


#: What a person is asked, by plan id.
Questions = Mapping[str, Question]
NONE: Questions = {}


def work_button() -> Html:
    return tag("button", "Start working", type="button", class_="acp-btn", data_action="work")


def question_part(question: Question, key: str, slot: str) -> Part:
    """What has changed, and the buttons to answer with."""
    number = question.entry
    what = "Work on it" if number is None else f"Work on step {number}"
    start = tag(
        "button",
        what,
        type="button",
        class_="acp-btn acp-primary",
        data_action="work",
        data_confirmed=question.revision,
        data_step=number,
    )
    leave = tag("button", "Not now", type="button", class_="acp-btn", data_action="not-now")
    said = tag("p", "The plan has changed since the agent saw it:")
    box = tag(
        "div",
        said,
        change_lines(question.change.lines()),
        start,
        " ",
        leave,
        class_="acp-question",
        role="group",
        aria_label="Start working",
    )
    return Part(key, slot, box)
