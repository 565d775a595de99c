"""Cards: everything that would be done, and only answers that the agent offers."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from acp_notebook.masking import MASK, masked, unmasked
from acp_notebook.protocol.content import Text
from acp_notebook.protocol.messages import PermissionOption, RequestPermission, ToolCall
from acp_notebook.session.state import PermissionState
from acp_notebook.views.permission import permission
from acp_notebook.views.values import editable_json
from harness.puppet import OPTIONS


def card(
    arguments: dict[str, Any] | None = None,
    options: tuple[PermissionOption, ...] = OPTIONS,
    controls: bool = True,
    status: str = "pending",
    name: str = "run_command",
    **fields: Any,
) -> str:
    call = ToolCall("t1", name, arguments or {"command": "ls"})
    extra = {key: fields.pop(key) for key in ("explanation", "answered", "edited") if key in fields}
    title = fields.pop("title", name)
    return permission(
        PermissionState("p1", RequestPermission(call, options, title, **fields), status, **extra), controls
    )


def test_the_hooks() -> None:
    made = card()
    assert made.startswith('<div class="acp-permission" data-request="p1" data-status="pending" role="group"')
    for option in OPTIONS:
        assert f'data-option="{option.option_id}"' in made and option.name in made
    for action in ("deny-with-reason", "edit-arguments"):
        assert re.search(rf'<button [^>]*data-action="{action}"', made)
    assert re.findall(r'data-key="(.)"', made) == ["a", "A", "e", "r"]
    assert "Revoke with %acp rules." in made and "run_command" in made


def test_all_arguments_in_full() -> None:
    script = "\n".join(f"line {n}" for n in range(500))
    made = card({"script": script, "retries": 3, "deep": {"list": [1, {"x": "y"}]}})
    assert script in made
    assert f"{len(script):,} characters, 500 lines" in made
    assert "retries" in made and "list" in made


@pytest.mark.parametrize("lines", [60_000, 1])
def test_perm_11_huge_diff(lines: int) -> None:
    value = "\n".join("x" * (3_000_000 // lines) for _ in range(lines))
    made = card(
        {"text": value},
        content=(Text("+a\n-b\n+c\n-d\n" + " same\n" * 300_000 + "+e\n" + " same\n" * 300_000),),
    )
    assert len(made) < 300_000
    assert f"{len(value):,} characters" in made
    assert (
        "+3 −2" in made and "not shown" in made and "299,994 lines without changes" in made and "+e" in made
    )
    assert "<button" in made


def test_perm_12_spoofed_command_text() -> None:
    command = "rm \u200b-rf \u202eatad\u202c /w\r\x1b[2K ls" + " " * 400 + "; evil"
    made = card({"command": command}, title="cat \u202efdp.tset")
    assert not re.search("[\u200b\u202e\u202c\x1b\r]", made)
    for escape in ("U+200B", "U+202E", "U+202C"):
        assert escape in made
    assert "\\u001b" in made and "\\r" in made  # inside JSON
    assert "invisible or change the direction" in made
    assert "400 blanks" in made
    assert "invisible" not in card({"command": "ls"})


def test_perm_04_ids_verbatim_and_clashes() -> None:
    options = (
        PermissionOption("approve_for_session", "OK for session", "allow_always"),
        PermissionOption("allow_once", "Stop", "reject_once"),
        PermissionOption('odd "id" <\u202e', "Odd", "allow_once"),
        PermissionOption("dup", "Yes", "allow_once"),
        PermissionOption("dup", "No", "reject_once"),
        PermissionOption("x", "Ask my boss", "_escalate"),
    )
    made = card(options=options)
    buttons = {m[1]: m[0] for m in re.finditer(r'<button[^>]*data-option="([^"]*)"[^>]*>', made)}
    assert 'data-key="r"' in buttons["allow_once"]
    assert 'data-key="a"' in buttons["odd &quot;id&quot; &lt;&#x202e;"]
    assert "disabled" in buttons["dup"] and "data-key" not in buttons["dup"]
    assert "several answers have one id, so none can be given" in made
    assert made.count("(ambiguous)") == 2
    assert "Ask my boss" in made and "(_escalate)" in made


def test_options_without_a_yes_offer_no_edited_arguments() -> None:
    made = card(options=(PermissionOption("n", "No", "reject_once"),))
    assert "edit-arguments" not in made and "deny-with-reason" in made


def test_secrets_are_masked_and_come_back() -> None:
    arguments = {
        "url": "https://x.y",
        "api_key": "sk-1",
        "headers": {"Authorization": "Bearer z", "Accept": "json"},
        "db_password": ["one", "two"],
        "max_tokens": 100,
        "user": {"secretName": "s"},
    }
    made = card(arguments)
    assert (
        "sk-1" not in made and "Bearer" not in made and '"two"' not in made and "&quot;two&quot;" not in made
    )
    assert made.count(MASK) >= 5 and "100" in made
    edited = json.loads(editable_json(masked(arguments)))
    assert unmasked(edited, arguments) == arguments
    edited["api_key"] = "sk-2"
    edited["url"] = "https://other"
    assert unmasked(edited, arguments) == {**arguments, "api_key": "sk-2", "url": "https://other"}


def test_editing_shows_and_keeps_what_misleads() -> None:
    arguments = {"command": "a\u202eb\u200b\x1b é ü 漢字 😀 \U000e0041"}
    made = editable_json(arguments)
    assert "\\u202e" in made and "\\u200b" in made and "é ü 漢字" in made
    assert json.loads(made) == arguments


@pytest.mark.parametrize(
    ("status", "explanation", "said"),
    [
        ("allowed", "allowed by you", "Allowed by you"),
        ("denied", "denied by on_unattended='deny'", "Denied by on_unattended"),
        ("cancelled", "the turn was cancelled", "Withdrawn: the turn was cancelled"),
    ],
)
def test_an_answered_card_is_a_line(status: str, explanation: str, said: str) -> None:
    made = card(status=status, explanation=explanation, answered=1_796_047_000.0)
    assert said in made.replace("&#x27;", "'") and re.search(r" · \d\d:\d\d<", made)
    assert "<button" not in made and 'data-request="p1"' in made


def test_the_static_form_waits_without_buttons() -> None:
    made = card(controls=False)
    assert "Waiting for an answer." in made
    assert not any(name in made for name in ("<button", "<form", "<input", "<textarea", "tabindex"))


def test_an_answered_card_names_what_ran_and_what_was_asked_for() -> None:
    made = card(status="allowed", explanation="allowed by you", edited={"command": "ls -l"})
    assert 'run_command(command="ls -l")' in made.replace("&quot;", '"')
    assert "Allowed by you, in place of run_command(command=" in made
