"""What the answers of a card do, sent as a page sends them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from acp_notebook.errors import PermissionError
from acp_notebook.masking import MASK
from acp_notebook.protocol.messages import PermissionOption, Selected
from acp_notebook.protocol.rules import EXACT, Covers
from acp_notebook.views.answers import answers
from harness.puppet import OPTIONS, PuppetSession, greeted

REACH = "f with exactly these arguments, this session"
LASTING = (*OPTIONS[:1], PermissionOption("forever", "Always allow", "allow_always", REACH), *OPTIONS[2:])
COVERS = (EXACT, Covers("under", "path", "notes/"), Covers("tool"))
SCHEMA = {
    "properties": {"path": {"type": "string"}, "count": {"type": "integer"}, "api_key": {"type": "string"}},
    "required": ["path"],
}


def test_a_note_goes_along_with_a_yes(session: PuppetSession) -> None:
    comm = greeted(session)
    session.prompt("Go")
    for written, note in [(" only once ", "only once"), ("", None)]:
        answer = session.request()
        command = {"request": session.permissions[0].id, "note": written}
        assert comm.command("allow-with-note", **command)["t"] == "ack"
        assert answer.result(5) == Selected("allow_once", note=note)


def test_a_wider_answer_covers_what_was_chosen(session: PuppetSession) -> None:
    comm = greeted(session)
    session.prompt("Go")
    for covers, scope, outcome in [
        ("0", "session", Selected("forever")),
        ("1", "folder", Selected("forever", covers=COVERS[1], scope="folder")),
        ("2", "user", Selected("forever", covers=COVERS[2], scope="user")),
    ]:
        answer = session.request(options=LASTING, covers=COVERS)
        command = {"request": session.permissions[0].id, "option": "forever"}
        for wrong in (("3", scope), ("-1", scope), (covers, "world")):
            refused = comm.command("option", **command, covers=wrong[0], scope=wrong[1])
            assert "was not offered" in refused["text"]
        assert comm.command("option", **command, covers=covers, scope=scope)["t"] == "ack"
        assert answer.result(5) == outcome


def test_fields_become_arguments_once_the_tool_takes_them(session: PuppetSession) -> None:
    def check(arguments: Mapping[str, Any]) -> None:
        if arguments.get("count", 0) > 9:
            raise PermissionError("count: Input should be less than 10: the call still waits")

    comm = greeted(session)
    session.prompt("Go")
    given = {"path": "a", "count": 3, "api_key": "sk-1"}
    answer = session.request(arguments=given, parameters=SCHEMA, check=check)
    request = session.permissions[0].id
    sent = {"v0": "b\r\nc", "v1": "many", "g1": "on", "v2": MASK, "g2": "on"}
    for written, said in [("many", "'many' is not a whole number"), ("10", "Input should be less than 10")]:
        refused = comm.command("edit-arguments", request=request, **{**sent, "v1": written})
        assert (refused["t"], refused["field"]) == ("error", 1) and said in refused["text"]
    assert not answer.done()
    assert comm.command("edit-arguments", request=request, **{**sent, "v1": "9"})["t"] == "ack"
    assert answer.result(5) == Selected("allow_once", {"path": "b\nc", "count": 9, "api_key": "sk-1"})
    late = comm.command("edit-arguments", request=request, **{**sent, "v1": "9"})
    assert "nothing was changed" in late["text"] and "field" not in late


def test_arguments_left_as_they_were_are_a_plain_yes(session: PuppetSession) -> None:
    comm = greeted(session)
    session.prompt("Go")
    for sent, outcome in [
        ({"v0": "a", "v1": "3", "g1": "on"}, Selected("allow_once")),
        ({"arguments": '{"count": 3, "path": "a"}'}, Selected("allow_once")),
        ({"arguments": '{"count": 3.0, "path": "a"}'}, Selected("allow_once", {"count": 3.0, "path": "a"})),
    ]:
        answer = session.request(arguments={"path": "a", "count": 3}, parameters=SCHEMA)
        assert comm.command("edit-arguments", request=session.permissions[0].id, **sent)["t"] == "ack"
        assert answer.result(5) == outcome


@pytest.mark.parametrize(
    ("result", "written", "read"),
    [
        ("a text\nof lines", "another", "another"),
        ("hidden \u202e", '"seen"', "seen"),
        ({"token": "t", "n": 1}, json.dumps({"token": MASK, "n": 2}), {"token": "t", "n": 2}),
        ([1], "null", None),
    ],
)
def test_a_result_is_edited_before_the_model_reads_it(
    session: PuppetSession, result: Any, written: str, read: Any
) -> None:
    comm = greeted(session)
    session.prompt("Go")
    answer = session.request(subject="result", result=result)
    command = {"request": session.permissions[0].id, "option": "allow_once"}
    if not isinstance(result, str):
        assert "the result is not JSON" in comm.command("edit-result", **command, result="{")["text"]
    assert comm.command("edit-result", **command, result=written)["t"] == "ack"
    assert answer.result(5) == Selected("allow_once", result=read)


def test_a_result_left_as_it_was_is_the_result(session: PuppetSession) -> None:
    comm = greeted(session)
    session.prompt("Go")
    answer = session.request(subject="result", result={"token": "t"})
    source = json.dumps({"token": MASK}, indent=2, ensure_ascii=False)
    made = "".join(answers(session.state.pending[0].request))
    assert "Edit the result" in made and "edit-arguments" not in made
    comm.command("edit-result", request=session.permissions[0].id, option="allow_once", result=source)
    assert answer.result(5) == Selected("allow_once")


@pytest.mark.parametrize(("answer", "option"), [("allow", "allow_once"), ("deny", "reject_once")])
def test_one_answer_for_those_that_were_seen(session: PuppetSession, answer: str, option: str) -> None:
    comm = greeted(session)
    session.prompt("Go")
    first, second = session.request("one"), session.request("one")
    seen = [request.id for request in session.permissions]
    third = session.request("one")
    session.permissions[0].deny("by hand")
    said = comm.command("answer-all", answer=answer, requests=seen)
    assert said["t"] == "error" and said["text"].startswith("1 of them waited no longer")
    assert first.result(5) == Selected("reject_once", reason="by hand")
    assert second.result(5) == Selected(option)
    assert not third.done() and len(session.permissions) == 1
