"""A plan that others change while the model works on it: the model is told, and writes nothing back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, SystemPromptPart

from acp_notebook import Call, Plan, PlanEntry, Say, ScriptedModel, Session, current
from acp_notebook.agent.model_plan import ModelPlan
from acp_notebook.agent.plans import Plans
from acp_notebook.errors import PlanError
from acp_notebook.plan import (
    AddEntry,
    Change,
    ClearEntries,
    MoveEntry,
    PlanEdit,
    RemoveEntry,
    SetPlan,
    UpdateEntry,
)
from acp_notebook.protocol.messages import AgentMessageChunk, Notice, PlanRemoved, PlanUpdate, Update
from acp_notebook.session.reduce import fold
from acp_notebook.session.state import SessionState

Hosted = Callable[..., Session]
Deed = Callable[[Session], object]


class Listening(ScriptedModel):
    """A scripted model that keeps the messages of each request."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[list[ModelMessage]] = []

    @asynccontextmanager
    async def request_stream(self, messages: list[ModelMessage], *rest: Any) -> Any:
        self.requests.append(list(messages))
        async with super().request_stream(messages, *rest) as stream:
            yield stream

    def notes(self, request: int = -1) -> list[str]:
        """What the application, and not the person, has said in a request."""
        return [
            part.content
            for message in self.requests[request]
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, SystemPromptPart)
        ]


class Play:
    """A session whose model follows `script`; its tool `meanwhile` does the next of the person's `deeds`."""

    def __init__(self, hosted: Hosted, script: Callable[[Any], Any], *deeds: Deed, **options: Any) -> None:
        self.model = Listening()
        self.model.script()(script)
        self.deeds = list(deeds)
        agent = Agent(self.model)

        @agent.tool_plain(metadata={"kind": "read"})
        def meanwhile() -> str:
            Context().run(self.deeds.pop(0), self.session)  # none of the tool's own
            return "done"

        self.session = hosted(agent, **options)

    @property
    def told(self) -> list[str]:
        """What the person has read of what the model was told in the latest turn."""
        turn = self.session.turns[-1].state
        return [item.text for item in turn.items if isinstance(item, Notice)]

    @property
    def plan(self) -> list[str]:
        return [f"{entry.content} {entry.status}" for entry in self.session.plan]


def plan_of(*contents: str) -> Call:
    return Call("acp_set_plan", entries=[{"content": content} for content in contents])


def answers(session: Session) -> list[str]:
    return [str(call.raw_output) for call in session.turns[-1].tool_calls if call.name != "meanwhile"]


def test_what_a_tool_changes_is_the_agents_and_told_as_such(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        yield plan_of("load", "plot")
        yield Call("insert")
        yield Call("acp_mark_plan_done", index=2)
        yield Say("")

    model = Listening()
    model.script()(script)
    agent = Agent(model)

    @agent.tool_plain(metadata={"kind": "read"})
    def insert() -> str:
        mine = current()
        assert mine is not None
        mine.add_entry("check", at=1)
        mine.set_plan(["by the tool"], plan_id="other")
        mine.remove_plan("other")
        return "done"

    session = hosted(agent)
    turn = session.ask("go")
    assert [revision.author for revision in session.plan_history("plan-1")] == ["model", "tool", "model"]
    assert [revision.author for revision in session.plan_history("other")] == ["tool", "tool"]
    assert [entry.status for entry in session.plan] == ["pending", "completed", "pending"]
    assert "changed by one of your tools since you last saw it" in model.notes()[0]
    assert not any(isinstance(item, Notice) for item in turn.state.items)
    assert session.plan_history().undoable is None
    with pytest.raises(PlanError, match="nothing to undo in plan 'plan-1'"):
        session.undo_plan()


def test_a_subscriber_is_a_person_also_while_a_tool_runs(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        yield plan_of("load")
        yield Say("")

    model = Listening()
    model.script()(script)
    session = hosted(Agent(model))

    def check(state: SessionState, event: object) -> None:
        if len(state.plan) == 1:
            session.add_entry("check")

    session.subscribe(check)
    session.ask("go")
    assert [revision.author for revision in session.plan_history()] == ["model", "person"]


# -- told before the next step ---------------------------------------------------------------------------


def test_an_edit_reaches_the_model_before_its_next_step_and_stays_in_the_history(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        if turn.number == 1:
            yield plan_of("load", "plot")
            yield Call("meanwhile")
            yield Call("acp_mark_plan_done", index=1)
        yield Say(turn.prompt)

    play = Play(hosted, script, lambda session: session.update_entry(2, status="cancelled"))
    play.session.ask("go")
    note = (
        "The plan was changed by the person since you last saw it:\n"
        '- 2. "plot": pending → cancelled\n'
        "Work on the plan as it is now."
    )
    requests = play.model.requests
    assert [play.model.notes(n) for n in range(4)] == [[], [], [note], [note]]
    assert [part.part_kind for part in requests[2][-1].parts] == ["tool-return", "system-prompt"]
    assert play.told == ['Told the agent: 2. "plot": pending → cancelled']
    assert play.plan == ["load completed", "plot cancelled"]

    assert play.session.ask("again").text == "again"
    assert play.model.notes() == [note]
    assert ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(requests[-1])) == list(
        requests[-1]
    )


def test_edits_that_take_each_other_back_are_not_told(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        yield plan_of("load", "plot")
        yield [Call("meanwhile"), plan_of("load", "plot", "report")]
        yield Say("ready")

    def there_and_back(session: Session) -> None:
        session.remove_entry(1)
        session.undo_plan()

    play = Play(hosted, script, there_and_back)
    play.session.ask("go")
    assert (play.model.notes(), play.told) == ([], [])
    assert play.plan == ["load pending", "plot pending", "report pending"]


def test_an_edit_in_the_last_step_is_told_at_the_next_prompt(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        if turn.number == 1:
            yield plan_of("load")
        yield Say(turn.prompt)

    play = Play(hosted, script)
    session = play.session
    edited: list[Plan] = []

    def edit(state: SessionState, event: object) -> None:
        if isinstance(event, AgentMessageChunk) and not edited:
            edited.append(session.add_entry("plot", at=1))

    session.subscribe(edit)
    session.ask("go")
    assert (play.model.notes(), play.told) == ([], [])
    assert session.ask("on").text == "on"
    assert len(play.model.notes()) == 1
    assert [part.part_kind for part in play.model.requests[-1][-1].parts] == ["system-prompt", "user-prompt"]
    assert play.told == ['Told the agent: 1. "plot" added, pending, medium priority']


@pytest.mark.parametrize(("mode", "more"), [("ask", ""), ("agent", ": read them with acp_get_plan")])
def test_a_note_is_short_in_every_mode_and_names_only_what_can_be_used(
    hosted: Hosted, mode: str, more: str
) -> None:
    play = Play(hosted, _say_yes, mode=mode)
    play.session.set_plan([f"step {n}" for n in range(1, 13)], title="Survey")
    play.session.ask("go")
    lines = play.model.notes()[-1].splitlines()
    assert lines[1] == '- 1. "step 1" added, pending, medium priority'
    assert lines[11] == f"- and 3 more{more}"
    assert len(lines) == 13
    assert play.told == ['Told the agent: 12 added, titled "Survey"']


def _say_yes(turn: Any) -> Any:
    yield Say("yes")


def test_a_note_says_who_changed_the_plan(hosted: Hosted) -> None:
    play = Play(hosted, _say_yes)
    play.session.set_plan(["load"])
    play.session.edit_plan([AddEntry("plot")], author="file")
    play.session.ask("go")
    assert play.model.notes()[0].startswith("The plan was changed by the person and a file since")


def test_an_agent_that_edits_its_history_is_told_once(hosted: Hosted) -> None:
    def copied(messages: list[ModelMessage]) -> list[ModelMessage]:
        return [replace(message) for message in messages]

    model = Listening()
    model.script()(_say_yes)
    session = hosted(Agent(model, capabilities=[ProcessHistory(copied)]))
    session.set_plan(["load"])
    session.ask("go")
    assert len(model.notes()) == 1
    session.ask("on")
    assert len(model.notes()) == 1


def test_a_cancelled_turn_keeps_the_note_it_was_told(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        if turn.number == 1:
            yield Call("meanwhile")
            yield Call("meanwhile")
        yield Say("on")

    play = Play(hosted, script, lambda session: session.set_plan(["load"]), lambda session: session.cancel())
    turn = play.session.prompt("go")
    assert turn.wait(20).stop_reason == "cancelled"
    assert play.session.ask("on").text == "on"
    assert len(play.model.notes()) == 1


def test_prompts_of_turns_cancelled_one_after_another_stay_in_the_history(hosted: Hosted) -> None:
    model = Listening()
    model.script()(_say_yes)
    begun: list[str] = []

    async def instruct() -> str:  # the run has begun, and its request is in the history
        begun.append("")
        if len(begun) < 4:
            session.cancel()
        return "be brief"

    session = hosted(Agent(model, instructions=instruct))
    for n in range(3):
        assert session.prompt(f"prompt {n}").wait(20).stop_reason == "cancelled"
    session.ask("prompt 3")
    said = repr(model.requests[-1])
    assert [f"prompt {n}" in said for n in range(4)] == [True] * 4


# -- nothing stale is written ----------------------------------------------------------------------------


def test_a_plan_written_over_a_persons_edit_is_refused_once_with_what_changed(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        yield plan_of("load", "plot")
        yield [Call("meanwhile"), plan_of("load", "plot", "report")]
        yield plan_of("load", "report")
        yield Say("ready")

    play = Play(hosted, script, lambda session: session.update_entry(2, content="plot by region"))
    play.session.ask("go")
    refused, written = answers(play.session)[1:]
    assert refused == (
        "the plan was changed by the person since you last saw it; "
        '2. "plot by region": was "plot". Nothing was done; the plan is now:\n'
        "1. [pending] (medium) load\n2. [pending] (medium) plot by region"
    )
    assert written.startswith("The plan has 2 entries.")
    assert play.plan == ["load pending", "report pending"]
    assert play.told == ['Told the agent: 2. "plot by region": was "plot"']
    assert play.model.notes() == []  # the answer said it all


def test_what_belongs_to_a_refused_plan_is_refused_with_it(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        yield plan_of("load", "plot")
        yield [
            Call("meanwhile"),
            plan_of("think", "write"),
            Call("acp_mark_plan_done", index=1),
            plan_of("think", "write"),
        ]
        yield Call("acp_mark_plan_done", index=2)
        yield Say("ready")

    play = Play(hosted, script, lambda session: session.add_entry("fetch", at=1))
    play.session.ask("go")
    assert [text.splitlines()[0] for text in answers(play.session)[2:4]] == [
        "this belongs to a plan of yours that was not taken: see the answer to acp_set_plan. "
        "Nothing was done; the plan is now:"
    ] * 2
    assert play.plan == ["fetch pending", "load completed", "plot pending"]
    assert len(play.told) == 1


def test_an_edit_after_the_refusal_is_told_by_a_note(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        yield plan_of("load")
        yield [Call("meanwhile"), plan_of("x"), Call("meanwhile")]
        yield Say("ready")

    play = Play(
        hosted,
        script,
        lambda session: session.add_entry("plot"),
        lambda session: session.add_entry("report"),
    )
    play.session.ask("go")
    [note] = play.model.notes()
    assert note.splitlines()[1] == '- 3. "report" added, pending, medium priority'


def test_entry_numbers_are_followed_to_where_the_entries_are(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        yield plan_of("load", "plot", "report")
        yield [
            Call("meanwhile"),
            Call("acp_mark_plan_done", index=1),
            Call("acp_update_plan_entry", index=3, status="in_progress", content="report briefly"),
            Call("acp_update_plan_entry", index=3, content="report"),
            Call("acp_update_plan_entry", index=4, status="completed"),
        ]
        yield Say("ready")

    def rearrange(session: Session) -> None:
        session.add_entry("fetch", at=1)
        session.move_entry(4, 2)

    play = Play(hosted, script, rearrange)
    play.session.ask("go")
    assert play.plan == ["fetch pending", "report in_progress", "load completed", "plot pending"]
    done, first, second, wrong = answers(play.session)[1:]
    assert done == "Entry 3 is done: 1 of 4 entries are.\nIt was entry 1 before others changed the plan."
    assert first.startswith("Entry 2 is now: [in_progress] report briefly\nIt was entry 3")
    assert second.startswith("Entry 2 is now: [in_progress] report\nIt was entry 3")
    assert wrong.startswith("there is no entry 4 in this plan: use 1 to 3. Nothing was done")


def test_an_entry_that_is_gone_is_named_and_one_that_was_reworded_is_not_written_over(
    hosted: Hosted,
) -> None:
    def script(turn: Any) -> Any:
        yield plan_of("load", "plot")
        yield [
            Call("meanwhile"),
            Call("acp_mark_plan_done", index=1),
            Call("acp_update_plan_entry", index=2, content="plot all"),
            Call("acp_mark_plan_done", index=2),
        ]
        yield Say("ready")

    def change(session: Session) -> None:
        session.remove_entry(1)
        session.update_entry(1, content="plot by region")

    play = Play(hosted, script, change)
    play.session.ask("go")
    gone, reworded, done = answers(play.session)[1:]
    now = "Nothing was done; the plan is now:\n1. [pending] (medium) plot by region"
    assert gone == f"entry 1, 'load', is no longer in the plan, which the person changed. {now}"
    assert reworded == f"entry 1 was reworded by the person: it is now 'plot by region'. {now}"
    assert done.startswith("Entry 1 is done: 1 of 1 entries are.")
    assert play.plan == ["plot by region completed"]


def test_an_entry_of_another_plan_put_in_its_place_is_another_entry(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        yield plan_of("load", "plot")
        yield [
            Call("meanwhile"),
            Call("acp_mark_plan_done", index=1),
            Call("acp_mark_plan_done", index=2),
        ]
        yield Say("ready")

    play = Play(hosted, script, lambda session: session.set_plan(["bake", "plot"]))
    play.session.ask("go")
    assert play.plan == ["bake pending", "plot completed"]


def test_calls_of_one_response_build_on_each_other(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        yield [
            plan_of("load", "plot"),
            Call("acp_mark_plan_done", index=1),
            plan_of("load", "plot", "report"),
            Call("acp_update_plan_entry", index=3, content="report briefly"),
            Call("acp_update_plan_entry", index=3, status="in_progress"),
        ]
        yield Say("ready")

    play = Play(hosted, script)
    play.session.ask("go")
    assert play.plan == ["load pending", "plot pending", "report briefly in_progress"]
    assert (play.model.notes(), play.told) == ([], [])


def test_a_plan_that_the_model_replaces_keeps_nothing_stale(hosted: Hosted) -> None:
    play = Play(hosted, _replace)
    session = play.session
    entry = PlanEntry("load", id="a", meta={"x": 1})
    session.set_plan(Plan((entry,), title="Survey", content="# Why", meta={"x": 1}, raw={"x": 1}))
    session.ask("go")
    assert session.plan == Plan((PlanEntry("load"),), title="Survey", content="# Why")
    session.set_plan(Plan(type="markdown", content="1. load"))
    session.ask("go")
    assert session.plan == Plan((PlanEntry("load"),))


def _replace(turn: Any) -> Any:
    yield plan_of("load")


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (Plan(type="markdown", content="1. load"), "1. load"),
        (Plan(type="file", uri="file:///plan.md"), "The plan is of type 'file', kept in file:///plan.md."),
        (Plan(type="_map", raw={"x": 1}), "The plan is of type '_map'."),
    ],
)
def test_a_plan_without_entries_is_read_as_what_it_is(hosted: Hosted, plan: Plan, text: str) -> None:
    def script(turn: Any) -> Any:
        read = yield Call("acp_get_plan")
        wrong = yield Call("acp_mark_plan_done", index=1)
        yield Say(f"{read.text.split(chr(10) * 2)[0]}|{wrong.text}")

    play = Play(hosted, script)
    play.session.set_plan(plan)
    read, wrong = play.session.ask("go").text.split("|")
    assert read == text
    assert wrong == (
        f"a plan of type {plan.type!r} has no entries to edit: set a new plan instead. "
        f"Nothing was done; the plan is now:\n{text}"
    )


# -- several plans ---------------------------------------------------------------------------------------


def test_the_models_plan_is_the_same_throughout_a_turn(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        if turn.number == 1:
            yield plan_of("load", "plot")
            yield Call("meanwhile")
            yield Call("acp_mark_plan_done", index=1)
        read = yield Call("acp_get_plan")
        yield Say(read.text.splitlines()[0])

    play = Play(hosted, script, lambda session: session.set_plan(["bake", "eat"], plan_id="cake"))
    session = play.session
    assert session.ask("go").text == "1. [completed] (medium) load"
    assert (play.model.notes(), play.told) == ([], [])
    assert [entry.content for entry in session.plans["cake"]] == ["bake", "eat"]

    session.add_entry("wash", plan_id="cake")
    assert session.ask("go").text == "1. [pending] (medium) bake"
    assert play.model.notes()[0].splitlines()[:3] == [
        "Your plan is now another one, 'cake'.",
        "The plan was changed by the person since you last saw it:",
        '- 1. "bake" added, pending, medium priority',
    ]
    session.update_entry(2, status="completed", plan_id="plan-1")
    assert session.ask("go").text == "1. [completed] (medium) load"
    assert play.model.notes()[-1].splitlines() == [
        "Your plan is now another one, 'plan-1'.",
        "The plan was changed by the person since you last saw it:",
        '- 2. "plot": pending → completed',
        "Work on the plan as it is now.",
    ]


def test_a_plan_removed_during_a_turn_is_told_and_the_next_write_begins_it_anew(hosted: Hosted) -> None:
    def script(turn: Any) -> Any:
        yield plan_of("load")
        yield [Call("meanwhile"), Call("acp_mark_plan_done", index=1)]
        yield Call("acp_mark_plan_done", index=1)
        yield plan_of("plot")
        yield Say("ready")

    play = Play(hosted, script, lambda session: session.remove_plan("plan-1"))
    play.session.ask("go")
    gone, empty = answers(play.session)[1:3]
    assert gone.startswith("entry 1, 'load', is no longer in the plan, which the person changed.")
    assert empty.startswith("there is no entry 1 in this plan: the plan is empty.")
    assert play.model.notes() == [
        "The plan was removed by the person since you last saw it.\nWork on the plan as it is now."
    ]
    assert play.told == ["Told the agent: the plan was removed"]
    assert play.plan == ["plot pending"]


# -- any order of edits ----------------------------------------------------------------------------------

_numbers = st.integers(1, 4)
_texts = st.sampled_from(["a", "b", "c", "d"])
_statuses = st.sampled_from(["pending", "in_progress", "completed"])
_plans = st.lists(_texts, max_size=4).map(lambda texts: Plan(tuple(map(PlanEntry, texts))))
_persons: st.SearchStrategy[PlanEdit] = st.one_of(
    st.builds(AddEntry, _texts, at=st.none() | _numbers),
    st.builds(UpdateEntry, _numbers, st.none() | _texts, st.none() | _statuses),
    st.builds(MoveEntry, _numbers, _numbers),
    st.builds(RemoveEntry, _numbers),
    st.builds(SetPlan, _plans),
    st.just(ClearEntries()),
)
_deeds = st.one_of(
    st.tuples(st.just("person"), _persons),
    st.tuples(st.just("removed"), st.none()),
    st.tuples(st.just("model"), st.builds(UpdateEntry, _numbers, st.none() | _texts, _statuses)),
    st.tuples(st.just("set"), _plans),
    st.tuples(st.just("request"), st.none()),
)


def test_what_the_model_writes_before_it_has_the_news_is_about_the_plan_that_it_knew() -> None:
    plans = Plans(lambda update: None)
    model = ModelPlan(plans, lambda text: None)
    model.begin_turn()
    model.set((PlanEntry("load"), PlanEntry("plot"), PlanEntry("report")), None)
    model.end_turn()
    plans.edit("plan-1", [RemoveEntry(1), RemoveEntry(1)], "person")
    model.begin_turn()  # and no request: whoever writes goes by what the model was told last
    with pytest.raises(
        PlanError, match="entry 2, 'plot', is no longer in the plan, which the person changed"
    ):
        model.update(UpdateEntry(2, status="completed"))
    index, plan = model.update(UpdateEntry(3, status="completed"))
    assert (index, plan.entries) == (1, (PlanEntry("report", status="completed"),))


@settings(max_examples=150, deadline=None)
@given(st.lists(_deeds, max_size=25))
def test_any_order_of_edits_ends_in_one_agreed_plan(deeds: Sequence[tuple[str, Any]]) -> None:
    """What the model is told and writes adds up to the plan that the client has."""
    updates: list[Update] = []
    plans = Plans(updates.append)
    model = ModelPlan(plans, lambda text: None)
    model.begin_turn()
    known, refused = Plan(), False
    for kind, deed in deeds:
        try:
            match kind:
                case "person":
                    plans.edit("plan-1", [deed], "person")
                case "removed":
                    plans.remove("plan-1", "person")
                case "request":
                    changed = bool(Change.between(known, model.plan))
                    assert bool(model.note(True)) == changed
                    known, refused = model.plan, False
                case "set":
                    stale = refused or bool(Change.between(known, model.plan))
                    try:
                        known = model.set(deed.entries, None)
                        assert not stale
                    except PlanError:
                        assert stale
                        known, refused = known if refused else model.plan, True
                case _:
                    before = model.plan
                    index, after = model.update(deed)
                    assert not refused
                    assert before[index - 1].content in (
                        known[deed.index - 1].content,
                        after[index - 1].content,
                    )
                    known = deed.apply(known)
                    assert Change.between(before, after).follow(index) == index
        except PlanError:
            pass
    state = fold(SessionState("s", "a", "m"), updates)
    assert state.plans.get("plan-1", Plan()) == model.plan
    assert all(isinstance(update, PlanUpdate | PlanRemoved) for update in updates)
