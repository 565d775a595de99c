"""Cards: everything that would be done, and only answers that the agent offers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from acp_notebook.agent.projection import diff
from acp_notebook.masking import MASK, masked, unmasked
from acp_notebook.protocol.content import Code, Diff, Table, Text
from acp_notebook.protocol.messages import PermissionOption, RequestPermission, Selected, ToolCall
from acp_notebook.protocol.rules import EXACT, Covers
from acp_notebook.session.reduce import reduce
from acp_notebook.session.state import PermissionAnswered, PermissionAsked, PermissionState, SessionState
from acp_notebook.views.answers import narrowed
from acp_notebook.views.permission import permission, together
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
    assert re.findall(r'data-key="(.)"', made) == ["a", "A", "e", "r", "d", "n"]
    assert "reaches is for the agent to say" in made and "run_command" in made


def test_all_arguments_in_full() -> None:
    script = "\n".join(f"line {n}" for n in range(500))
    made = card({"script": script, "retries": 3, "deep": {"list": [1, {"x": "y"}]}})
    assert script in made
    assert f"{len(script):,} characters, 500 lines" in made
    assert "retries" in made and "list" in made


@pytest.mark.parametrize("lines", [60_000, 1])
def test_perm_11_huge_diff(lines: int) -> None:
    old = [f"{n:{3_000_000 // lines - 1}}" for n in range(lines)]
    changed = {0, lines // 2, lines // 2 + 1}
    new = ["x" * len(line) if n in changed else line for n, line in enumerate(old)]
    change = diff("data.json", "\n".join(old), "\n".join(new))
    made = card({"text": change.new}, content=(change,))
    assert len(made) < 300_000
    assert f"{len(change.new or ''):,} characters" in made
    assert f"+{change.added} −{change.removed}" in made and change.added == (3 if lines > 1 else 1)
    if lines > 1:
        assert "29,993 lines without changes" in made and made.count("+xxx") == 3
    else:
        assert "characters of long lines" in made
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
    blanks = {"command": "ls" + " " * 400 + "; evil", "deep": [[[[[[[[[[[[[[[[[["x"]]]]]]]]]]]]]]]]]]}
    made = editable_json(blanks)
    assert json.loads(made) == blanks and "ls\\u0020\\u0020" in made


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


def test_an_answered_card_says_what_was_said_with_the_answer() -> None:
    never = PermissionOption("never", "Never", "reject_always")
    asked = PermissionAsked("p1", RequestPermission(ToolCall("c", "wipe", {}), (never,), "Approve wipe?"))
    state = reduce(SessionState("s", "agent", "demo"), asked)
    outcome = Selected("never", reason="not <b>that</b>")
    state = reduce(state, PermissionAnswered("p1", outcome, "denied", "denied by you"))
    (item,) = state.outside
    assert isinstance(item, PermissionState) and item.always
    assert "Denied by you, always: not &lt;b&gt;that&lt;/b&gt;" in permission(item, True)
    by_policy = replace(item, explanation="denied by on_unattended='deny'")
    assert "that" not in permission(by_policy, True)


def test_the_static_form_waits_without_buttons() -> None:
    made = card(controls=False)
    assert "Waiting for an answer." in made
    assert not any(name in made for name in ("<button", "<form", "<input", "<textarea", "tabindex"))


def test_an_answered_card_names_what_ran_and_what_was_asked_for() -> None:
    made = card(status="allowed", explanation="allowed by you", edited={"command": "ls -l"})
    assert 'run_command(command="ls -l")' in made.replace("&quot;", '"')
    said = words_of(made)
    assert "Allowed by you, in place of run_command(command=" in said
    assert "The model asked for:" in said and "What ran:" in said


def test_an_answered_card_shows_both_versions_whole() -> None:
    long = "x" * 100 + "; rm -rf /"
    made = card({"command": long}, status="allowed", explanation="allowed by you", edited={"command": "ls"})
    assert long in made and made.count("<dl") == 2


def test_a_rule_that_decided_is_named() -> None:
    assert "Allowed by rule 3" in card(status="allowed", explanation="allowed by rule 3")


# -- how far answers reach -------------------------------------------------------------------------------

REACH = "run_command with exactly these arguments, this session"
LASTING = (
    PermissionOption("allow_once", "Allow once", "allow_once"),
    PermissionOption("allow_always", "Always allow", "allow_always", REACH),
    PermissionOption("reject_once", "Deny", "reject_once"),
    PermissionOption("reject_always", "Always deny", "reject_always", REACH),
)
COVERS = (EXACT, Covers("command", "command", "ls"), Covers("tool"))


def test_each_button_says_how_far_it_reaches_and_nothing_says_it_again() -> None:
    made = card(options=LASTING)
    for button in re.findall(r"<button[^>]*data-kind=.*?</button>", made):
        said = re.sub(r"<kbd.*?</kbd>|<[^>]*>", "", button)
        assert said.endswith(f": {REACH}") is said.startswith("Always"), said
    assert "agent to say" not in made and made.count(REACH) == 2
    assert re.findall(r'data-key="(.)"', made) == ["a", "A", "e", "r", "R", "d", "n"]


def test_wider_answers_are_offered_apart_with_the_exact_one_first() -> None:
    made = card(options=LASTING, covers=COVERS)
    form = made[made.index('data-action="always" hidden') :]
    choices = re.findall(r'<option value="([^"]*)">(.*?)</option>', form)
    assert choices == [
        ("0", "with exactly these arguments"),
        ("1", "with command beginning with ls, one command alone"),
        ("2", "with any arguments"),
        ("session", "this session"),
        ("folder", "every session in this folder"),
        ("user", "all your sessions"),
    ]
    assert re.findall(r'data-choice="(\w+)"', form) == ["allow_always", "reject_always"]
    assert "data-choice" not in card(options=LASTING) + card(covers=COVERS, options=LASTING[:1])


# -- what the card shows ---------------------------------------------------------------------------------


def words_of(made: str) -> str:
    return re.sub(r"<[^>]*>", "", made)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (None, "a\nb\n", "+ Creates f.md · a new file · +2 −0 lines"),
        (None, "", "+ Creates f.md · a new file · +0 −0 lines"),
        ("a\nb\n", "a\nc\nd\n", "± Changes f.md · +2 −1 lines"),
        ("a\nb\n", None, "✗ Deletes f.md · the whole file · +0 −2 lines"),
        ("a\nb\n", "", "∅ Empties f.md · the file stays, with nothing in it · +0 −2 lines"),
    ],
)
def test_what_happens_to_a_file_is_said_in_words(old: str | None, new: str | None, words: str) -> None:
    assert words in words_of(card(content=(diff("f.md", old, new),)))
    static = card(content=(diff("f.md", old, new),), controls=False)
    assert words in words_of(static) and "<button" not in static


def test_stretches_without_changes_are_folded_and_long_ones_counted() -> None:
    old = [f"line {n}" for n in range(3_000)]
    new = list(old)
    new[10] = new[50] = new[2_950] = "changed"
    made = card(content=(diff("f.md", "\n".join(old), "\n".join(new)),))
    assert "… 33 lines without changes …</summary>" in made and "line 30\n" in made
    assert '<p class="acp-cut">… 2,893 lines without changes …</p>' in made and "line 1500" not in made
    assert "46 lines without changes" in made  # behind the last change


def test_what_an_agent_cuts_itself_is_said_and_what_is_too_long_is_counted() -> None:
    patch = "@@ -1,2 +1,9000 @@\n a\n-b\n" + "\n".join(f"+{'x' * 100}" for _ in range(5_000))
    change = Diff("f.md", "a\nb\n", None, "edit", patch, 9_000, 1, "Not shown: changed lines (+4,000 −0).")
    made = card(content=(change,))
    assert len(made) < 200_000 and "+9,000 −1" in made and "Not shown: changed lines (+4,000 −0)." in made
    left = 5_000 - made.count('class="add"')
    assert 0 < left < 5_000 and f"{left:,} lines not shown (+{left:,} −0)" in made


def test_tables_and_failed_previews() -> None:
    table = Table(("<b>", "n"), (("<i>", "1"), ("y", "2")), "Not shown: 5 rows.")
    made = card(content=(table,), preview_error="The preview failed: ValueError: <x>.", problem="n: <no>")
    assert (
        "table, 2 rows" in made and "<td><bdi>&lt;i&gt;</bdi></td>" in made and "Not shown: 5 rows." in made
    )
    assert "⚠ The preview failed: ValueError: &lt;x&gt;." in made and "command" in made
    assert re.search(r'role="alert"[^>]*>✗ Your answer could not be used: n: &lt;no&gt;', made)
    many = card(content=(Table(("a",), tuple(("x" * 1_000,) for _ in range(1_000))),))
    assert "table, 1,000 rows" in many and "940 rows not shown" in many


def test_texts_are_shown_as_they_are_and_diffs_among_them_marked() -> None:
    made = card(content=(Text("- one\n- two"), Text("@@ -1 +1 @@\n-a\n+b")))
    assert '<pre dir="auto">- one\n- two</pre>' in made
    assert '<span class="del">-a\n</span><span class="add">+b\n</span>' in made


BAD = "a\u202eb\u200bc\x1b[31m" + " " * 40
EVERYWHERE = dict[str, Any](
    arguments={BAD: BAD},
    name=BAD,
    title=BAD,
    description=BAD,
    problem=BAD,
    preview_error=BAD,
    content=(
        diff(BAD, "x\n", f"{BAD}\n"),
        Code(BAD, "python"),
        Table((BAD,), ((BAD,),), BAD),
        Text(BAD, BAD),
    ),
    options=(PermissionOption(BAD, BAD, "allow_always", BAD),),
    covers=(EXACT, Covers("equals", BAD, BAD)),
    parameters={"type": "object", "properties": {BAD: {"type": "string", "description": BAD}}},
)


@pytest.mark.parametrize("where", [*EVERYWHERE, "edited", "result"])
def test_what_misleads_is_visible_wherever_it_stands(where: str) -> None:
    more: dict[str, Any] = {
        "edited": {"edited": {"x": BAD}, "status": "allowed"},
        "result": {"result": {"x": BAD}, "subject": "result"},
    }
    made = card(**more.get(where, {where: EVERYWHERE.get(where)}))
    assert not re.search("[\u202e\u200b\x1b]", made)
    if where not in ("parameters", "edited"):
        assert "They are shown as U+…" in made
    if where == "content":
        assert made.count("U+202E") == 8 and made.count("40 blanks") == 8


def test_markup_is_text_wherever_it_stands() -> None:
    bad = "<script>boom()</script><img src=x onerror=boom()>\"'>"
    made = card(
        {bad: bad},
        name=bad,
        title=bad,
        description=bad,
        problem=bad,
        preview_error=bad,
        content=(
            diff(bad, bad, "x"),
            Code(bad, "python"),
            Table((bad,), ((bad,),), bad),
            Text(f"@{bad}", bad),
        ),
        options=(
            PermissionOption(bad, bad, "allow_once", bad),
            PermissionOption("x", bad, "allow_always", bad),
        ),
        covers=(EXACT, Covers("equals", bad, bad)),
        parameters={"properties": {bad: {"enum": [bad], "description": bad}, "s": {"default": bad}}},
    )
    assert "<script" not in made and "<img" not in made and made.count("&lt;script") > 15


def test_a_result_is_shown_edited_and_withheld() -> None:
    options = (
        PermissionOption("allow_once", "Give it to the model", "allow_once"),
        PermissionOption("reject_once", "Withhold it", "reject_once"),
    )
    made = card({"url": "x"}, options, subject="result", result={"token": "t0", "rows": [1]}, name="fetch")
    assert "t0" not in made and MASK in made and "&quot;rows&quot;" in made
    assert "Let the model read what" in made and "Withhold with a reason" in made
    assert 'data-action="edit-result"' in made and "edit-arguments" not in made
    said = card(options=options, subject="result", result="x", status="denied", explanation="denied by you")
    assert "Withheld from the model by you" in said


def test_a_deadline_is_said() -> None:
    assert re.search(r"Without an answer by \d\d:\d\d:\d\d it is denied", card(timeout=30.0))
    assert "Without an answer" not in card()


def test_several_calls_of_one_tool_are_answered_together() -> None:
    def waits(number: int, name: str, **fields: Any) -> PermissionState:
        call = ToolCall(f"t{number}", name, {})
        return PermissionState(f"p{number}", RequestPermission(call, OPTIONS, name, **fields))

    pending = [waits(1, "write"), waits(2, "read"), waits(3, "write"), waits(4, "read", subject="result")]
    ((name, html),) = together(pending)
    assert name == "write" and html.count('data-requests="[&quot;p1&quot;, &quot;p3&quot;]"') == 2
    assert re.findall(r'data-answer="(\w+)"', html) == ["allow", "deny"]
    no_yes = [replace(one, request=replace(one.request, options=OPTIONS[2:])) for one in pending]
    ((_, html),) = together(no_yes)
    assert re.findall(r'data-answer="(\w+)"', html) == ["deny"]


# -- typing something narrower ---------------------------------------------------------------------------


def test_something_narrower_can_be_typed_where_it_can_be_said() -> None:
    offers = (
        EXACT,
        Covers("under", "path", "notes/"),
        Covers("equals", "path", '"notes/a[1].md"'),
        Covers("equals", "count", "3"),
        Covers("equals", "path", "no JSON"),
        Covers("tool"),
    )
    made = card(options=LASTING, covers=offers)
    found = re.findall(r'<label data-covers="(\d)" hidden>(.*?)<input name="narrow\d" value="(.*?)"', made)
    assert found == [("1", "with path under …", "notes/"), ("2", "with path matching …", "notes/a[[]1].md")]
    assert narrowed(offers[1], "notes/old/") == Covers("under", "path", "notes/old/")
    assert narrowed(offers[1], "notes/") == narrowed(offers[1], None) == offers[1]
    assert narrowed(offers[2], "notes/a[[]1].md") == offers[2]
    assert narrowed(offers[2], "notes/*.md") == Covers("matches", "path", "notes/*.md")
    assert narrowed(offers[0], "x") == offers[0] and narrowed(offers[3], "4") == offers[3]
