"""The live view, driven as a page would drive it, without one."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any

import ipywidgets
import pytest

from acp_notebook.plan import Plan, PlanEntry
from acp_notebook.plan.formats import FORMATS
from acp_notebook.protocol.messages import AgentMessageChunk, AgentThoughtChunk, Cancelled, Selected
from acp_notebook.views.bundle import module
from acp_notebook.views.markdown import markdown
from acp_notebook.views.plan_view import plan_view
from acp_notebook.views.widget import session_view, turn_view
from harness.puppet import PLAN, PageComm, PuppetSession, greeted, typical


class Page:
    """What the page shows: parts by key, from a snapshot and patches as static/acp.js applies them."""

    def __init__(self, comm: PageComm) -> None:
        self.comm = comm

    @property
    def parts(self) -> dict[str, str]:
        parts: dict[str, str] = {}
        n = None
        for message in self.comm.custom("snapshot", "patch"):
            if message["t"] == "snapshot":
                parts = {key: html for key, slot, html in message["parts"]}
            else:
                assert message["n"] == n + 1
                for key in message["drop"]:
                    parts.pop(key)
                parts.update({key: html for key, html, *_ in message["set"] if html is not None})
            n = message["n"]
        return parts

    @property
    def html(self) -> str:
        return "".join(self.parts.values())


def test_a_hello_is_answered_with_everything_and_reported(session: PuppetSession) -> None:
    typical(session)
    hellos = session.host.presence.hellos
    comm = greeted(session)
    (snapshot,) = comm.custom("snapshot")
    assert "Drop the 14 duplicate rows" in json.dumps(snapshot["parts"])
    assert session.host.presence.hellos == hellos + 1


def test_changes_arrive_as_patches_and_the_last_one_always(session: PuppetSession) -> None:
    comm = greeted(session)
    session.prompt("Go")
    for number in range(50):
        session.send(AgentMessageChunk(f"word{number} "))
    comm.wait_for(lambda: "word49" in json.dumps(comm.custom("patch")))
    assert "word0 " in Page(comm).html and "word49" in Page(comm).html
    assert len(comm.custom("patch")) < 10


def test_the_first_change_is_painted_at_once(session: PuppetSession) -> None:
    comm = greeted(session)
    session.prompt("Go")  # returns after the update has been folded, on the session's loop
    assert "You" in json.dumps(comm.custom("patch"))


def test_a_reloaded_page_gets_the_state_as_it_is(session: PuppetSession) -> None:
    view = session_view(session)
    view.comm.receive({"action": "hello"})
    typical(session)
    view.comm.wait_for(lambda: "drop_duplicates" in json.dumps(view.comm.custom("patch")))
    state = view.get_state()["state"]
    assert "drop_duplicates" in json.dumps(state["parts"])
    assert state["n"] == view.comm.custom("patch")[-1]["n"]


def test_a_page_that_cannot_say_hello_sees_the_state_now_and_then(session: PuppetSession) -> None:
    view = session_view(session)
    typical(session)
    view.comm.wait_for(lambda: "drop_duplicates" in json.dumps(view.comm.sent))
    assert not view.comm.custom()
    assert "drop_duplicates" in json.dumps(view.comm.state()["parts"])


@pytest.mark.parametrize("kind", ["paragraph", "fence", "document", "thought"])
@pytest.mark.once
def test_100_000_characters_arrive_complete_and_within_the_budget(session: PuppetSession, kind: str) -> None:
    paragraph = "Some *words* with `code`, **bold** and a plain rest of a line. " * 10
    text = {
        "paragraph": "word " * 20_000,
        "fence": "```python\n" + "x = 1  # comment\n" * 5_900 + "```\n",
        "document": (paragraph + "\n\n") * 160,
        "thought": "hm, " * 25_000,
    }[kind]
    assert len(text) >= 100_000
    comm = greeted(session)
    session.prompt("Write")
    chunk = AgentThoughtChunk if kind == "thought" else AgentMessageChunk
    before = len(comm.sent)
    started, cpu = time.monotonic(), time.process_time()
    for at in range(0, len(text), 500):
        session.send(chunk(text[at : at + 500]))
        time.sleep(0.01)  # as a fast model would: about 50,000 characters a second
    session.do(session.puppet.end)
    comm.wait_for(lambda: "acp-usage" in json.dumps(comm.custom("patch")[-3:]))
    seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    sent = comm.sent[before:]
    assert len(sent) / seconds <= 25
    assert sum(len(json.dumps(message)) for message in sent) / seconds < 1_000_000
    print(f"{kind}: {len(sent) / seconds:.0f} messages/s, {cpu:.2f} s CPU for {seconds:.1f} s")
    parts = Page(comm).parts
    shown = "".join(
        html for key, html in parts.items() if key.startswith("t1.i0.") and "data-slot" not in html
    )
    if kind == "thought":
        assert shown.replace("<span>", "").replace("</span>", "") == text
    else:
        assert shown == markdown(text)


# -- clicks ----------------------------------------------------------------------------------------------


def test_answers_to_a_request(session: PuppetSession) -> None:
    comm = greeted(session)
    session.prompt("Go")
    for command, outcome in [
        ({"action": "option", "option": "allow_once"}, Selected("allow_once")),
        ({"action": "option", "option": "allow_always"}, Selected("allow_always")),
        (
            {"action": "deny-with-reason", "reason": " keep tests "},
            Selected("reject_once", reason="keep tests"),
        ),
        ({"action": "deny-with-reason", "reason": ""}, Selected("reject_once")),
        (
            {"action": "edit-arguments", "arguments": '{"table": "other"}'},
            Selected("allow_once", arguments={"table": "other"}),
        ),
    ]:
        answer = session.request()
        (request,) = session.permissions
        assert comm.command(request=request.id, **command)["t"] == "ack"
        assert answer.result(5) == outcome
        assert not session.permissions


def test_arguments_that_cannot_be_taken_leave_the_request_waiting(session: PuppetSession) -> None:
    comm = greeted(session)
    session.prompt("Go")
    session.request()
    (request,) = session.permissions
    for written, said in [
        ("{", "not JSON"),
        ("[1]", "must be a JSON object"),
        ('{"a": }', "line 1, column 7"),
    ]:
        answer = comm.command("edit-arguments", request=request.id, arguments=written)
        assert answer["t"] == "error" and said in answer["text"]
    assert session.permissions == (request,)


def test_perm_06_a_late_click_does_nothing_and_says_so(session: PuppetSession) -> None:
    comm = greeted(session)
    session.prompt("Go")
    answer = session.request()
    (request,) = session.permissions
    assert comm.command("cancel")["t"] == "ack"
    late = comm.command("option", request=request.id, option="allow_once")
    assert late["t"] == "error" and "nothing was changed" in late["text"]
    assert answer.result(5) == Cancelled()
    assert "Withdrawn: the turn was cancelled" in Page(comm).html


def test_an_option_that_was_not_offered_is_refused(session: PuppetSession) -> None:
    comm = greeted(session)
    session.prompt("Go")
    session.request()
    (request,) = session.permissions
    answer = comm.command("option", request=request.id, option="allow_everything")
    assert answer["t"] == "error" and "was not offered" in answer["text"]
    assert session.permissions == (request,)


def test_nb_10_callback_error_swallowed(session: PuppetSession, caplog: pytest.LogCaptureFixture) -> None:
    comm = greeted(session)
    session.prompt("Go")
    answer = session.request()
    (request,) = session.permissions

    def broken(*arguments: object, **named: object) -> None:
        raise BrokenPipeError("the agent is gone")

    request.choose = broken
    with caplog.at_level(logging.ERROR):
        said = comm.command("option", request=request.id, option="allow_once")
    assert said["t"] == "error" and "BrokenPipeError: the agent is gone" in said["text"]
    assert not session.permissions and answer.result(5) == Cancelled()
    assert "BrokenPipeError" in caplog.text


def test_settings_show_the_value_in_effect(session: PuppetSession) -> None:
    comm = greeted(session)
    assert comm.command("config", option="mode", value="plan")["t"] == "ack"
    assert '<option value="plan" selected>' in Page(comm).html
    session.puppet.refuse.add("ask")
    refused = comm.command("config", option="mode", value="ask")
    assert refused["t"] == "error" and "'ask'" in refused["text"]
    assert '<option value="plan" selected>' in Page(comm).html
    unknown = comm.command("config", option="nope", value="x")
    assert unknown["t"] == "error" and "'nope'" in unknown["text"]


def test_edits_of_the_plan(session: PuppetSession) -> None:
    comm = greeted(session)
    session.set_plan(Plan(tuple(map(PlanEntry, "abc"))))

    def edit(**fields: object) -> str:
        assert comm.command("plan", plan="plan-1", **fields)["t"] == "ack"
        return " ".join(f"{e.content}:{e.status}" for e in session.plan)

    assert edit(op="add", content=" d ") == "a:pending b:pending c:pending d:pending"
    assert edit(op="update", index=2, status="in_progress") == "a:pending b:in_progress c:pending d:pending"
    assert edit(op="move", index=4, to=1) == "d:pending a:pending b:in_progress c:pending"
    assert edit(op="remove", index=1) == "a:pending b:in_progress c:pending"
    assert edit(op="update", index=3, content="C", priority="high") == "a:pending b:in_progress C:pending"
    assert session.plan[2].priority == "high"
    gone = comm.command("plan", plan="plan-1", op="remove", index=9)
    assert gone["t"] == "error" and "there is no entry 9" in gone["text"]
    empty = comm.command("plan", plan="plan-1", op="update", index=1)
    assert empty["t"] == "error" and "nothing was changed" in empty["text"]


def test_edits_are_of_what_the_person_saw(session: PuppetSession) -> None:
    comm = greeted(session)
    session.set_plan(Plan(tuple(map(PlanEntry, "abc"))))
    seen = len(session.plan_history())
    session.move_entry(3, 1)
    session.update_entry(2, content="A")

    def edit(**fields: object) -> dict[str, Any]:
        return comm.command("plan", plan="plan-1", revision=seen, **fields)

    assert edit(op="update", index=2, status="completed")["t"] == "ack"
    assert [(e.content, e.status) for e in session.plan] == [
        ("c", "pending"),
        ("A", "pending"),
        ("b", "completed"),
    ]
    refused = edit(op="update", index=1, content="mine")
    assert refused["t"] == "error" and "reworded meanwhile: it is now 'A'" in refused["text"]
    session.remove_entry(2)
    refused = edit(op="remove", index=1)
    assert refused["t"] == "error" and "no longer in the plan" in refused["text"]
    assert [e.content for e in session.plan] == ["c", "b"]


def test_undo_and_restore(session: PuppetSession) -> None:
    comm = greeted(session)
    session.do(session.puppet.set_plan, PLAN)
    assert comm.command("undo", plan="plan-1")["t"] == "error"
    session.mark_done(3)
    assert comm.command("undo", plan="plan-1")["t"] == "ack" and session.plan == PLAN
    session.remove_entry(1)
    assert comm.command("restore", plan="plan-1", revision=2)["t"] == "ack"
    assert session.plan[2].status == "completed" and len(session.plan) == 6
    session.remove_plan("plan-1")
    comm.wait_for(lambda: 'data-action="restore"' in Page(comm).html)
    assert comm.command("restore", plan="plan-1", revision=1)["t"] == "ack" and session.plan == PLAN
    refused = comm.command("restore", plan="plan-1", revision=99)
    assert refused["t"] == "error" and "no revision 99" in refused["text"]


def test_each_view_looks_at_its_own_revision(session: PuppetSession) -> None:
    comm, other = greeted(session), greeted(session)
    session.do(session.puppet.set_plan, PLAN)
    session.mark_done(4)
    assert comm.command("look", plan="plan-1", revision=1)["t"] == "ack"
    assert "Back to now" in Page(comm).html and "2 of 6 done" in Page(comm).html
    other.wait_for(lambda: "3 of 6 done" in Page(other).html)
    assert "Revision" not in Page(other).html
    session.mark_done(6)  # what is looked at stays
    comm.wait_for(lambda: "Revision 1 of 3" in Page(comm).html)
    assert "2 of 6 done" in Page(comm).html
    assert comm.command("look", plan="plan-1", revision=3)["t"] == "ack"  # the latest is now
    session.update_entry(1, content="new")
    comm.wait_for(lambda: "Revision 4 of 4" in Page(comm).html)
    assert "Back to now" not in Page(comm).html
    assert comm.command("look", plan="plan-1", revision=1)["t"] == "ack"
    assert comm.command("restore", plan="plan-1", revision=1)["t"] == "ack"
    assert session.plan == PLAN and "Back to now" not in Page(comm).html
    assert 'type="range"' not in Page(comm).html


@pytest.mark.parametrize("length", [1_000, 10_000])
def test_one_entry_changed_sends_at_most_2_kb(session: PuppetSession, length: int) -> None:
    session.set_plan(Plan(tuple(PlanEntry(f"Step number {n} of a long plan") for n in range(length))))
    view = plan_view(session)
    view.comm.receive({"action": "hello"})
    view.comm.wait_for(lambda: view.comm.custom("snapshot"))
    for change in (
        lambda: session.update_entry(length // 2, status="in_progress"),
        lambda: session.mark_done(length // 2),
        lambda: session.add_entry("One more", at=1),
        lambda: session.move_entry(2, length),
        lambda: session.remove_entry(length // 2),
    ):
        sent = len(view.comm.sent)
        n = view.comm.custom("snapshot", "patch")[-1]["n"]
        change()
        view.comm.wait_for(lambda n=n: view.comm.custom("patch") and view.comm.custom("patch")[-1]["n"] > n)
        assert sum(len(json.dumps(message)) for message in view.comm.sent[sent:]) <= 2_000


def test_exports(session: PuppetSession) -> None:
    comm = greeted(session)
    session.set_plan(PLAN)
    for format in FORMATS:
        assert comm.command("export", format=format, plan="plan-1")["t"] == "ack"
        file = comm.custom("file")[-1]
        assert file["name"] == f"Clean-the-survey-data{FORMATS[format].suffixes[0]}"
        assert file["text"] == FORMATS[format].mark + PLAN.to(format)
        assert file["mime"] == FORMATS[format].mime


@pytest.mark.parametrize("message", [{"action": "explode"}, {"action": "plan", "op": "explode"}])
def test_actions_of_another_version_are_named(session: PuppetSession, message: dict[str, str]) -> None:
    answer = greeted(session).command(**message)
    assert answer["t"] == "error" and "'explode'" in answer["text"]


@pytest.mark.parametrize(
    "message", [{"action": "option"}, {"action": "config"}, {"action": "plan", "op": "move"}, {}]
)
def test_malformed_messages_get_an_answer(
    session: PuppetSession, message: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    comm = greeted(session)
    assert comm.command(**{"action": "", **message})["t"] == "error"


def test_messages_may_come_on_any_thread(session: PuppetSession) -> None:
    comm = greeted(session)
    session.set_plan(Plan((PlanEntry("a"),)))
    answers: list[str] = []

    def click(number: int) -> None:
        answers.append(comm.command("plan", plan="plan-1", op="add", content=f"step {number}")["t"])

    threads = [threading.Thread(target=click, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert answers == ["ack"] * 8 and len(session.plan) == 9


# -- life ------------------------------------------------------------------------------------------------


def live_models() -> int:
    return len(ipywidgets.widgets.widget._instances)


def test_nb_12_widgets_pile_up(session: PuppetSession) -> None:
    before = live_models()
    view = session_view(session)
    one = live_models() - before
    for number in range(200):
        session.set_plan(Plan(tuple(PlanEntry(f"{number}.{n}") for n in range(10))))
    for _ in range(5):
        view._repr_mimebundle_()
    assert live_models() - before == one
    alone = plan_view(session)
    turn_view(session)
    session.close()
    alone.close()  # it stays when the session closes
    assert live_models() == before


def test_closing_says_so_and_stops_everything(session: PuppetSession) -> None:
    view = session_view(session)
    comm = view.comm
    comm.receive({"action": "hello"})
    comm.wait_for(lambda: comm.custom("snapshot"))
    session.close()
    assert ">closed</span>" in Page(comm).html and "<button" not in Page(comm).html
    assert comm.sent[-1]["type"] == "comm_close"
    comm.receive({"action": "cancel"})
    view.close()


def test_what_is_displayed(session: PuppetSession) -> None:
    typical(session)
    bundle = session_view(session).bundle()
    assert set(bundle) == {
        "application/vnd.jupyter.widget-view+json",
        "text/html",
        "text/markdown",
        "text/plain",
    }
    assert "<button" not in bundle["text/html"]


def test_the_still_form_is_kept_in_step(session: PuppetSession) -> None:
    view = session_view(session)
    assert set(view.live()) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    assert view.still()["text/html"].startswith('<div class="acp-still">')
    stills: list[str] = []
    arrived = threading.Event()

    def replace(bundle: dict[str, str]) -> None:
        stills.append(bundle["text/plain"])
        arrived.set()

    view.at_rest(replace)
    session.set_plan(PLAN)
    session.mark_done(3)
    assert arrived.wait(10) and len(stills) == 1 and "3 of 6 done" in stills[0]
    session.mark_done(4)
    session.close()
    assert len(stills) == 2 and "4 of 6 done" in stills[1]


def test_the_module_stands_alone() -> None:
    source = module()
    assert "import " not in source.replace("no imports", "") and "http" not in source
