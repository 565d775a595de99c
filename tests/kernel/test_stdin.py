"""Approvals typed at a prompt: what is asked, of whom, when, and what an answer means."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acp_notebook.kernel.stdin import question, understood
from acp_notebook.protocol.messages import RequestPermission, ToolCall
from acp_notebook.session.state import PermissionState
from harness.wire import Cell, Frontend, Prompt

TESTS = {"PYTHONPATH": str(Path(__file__).parents[1])}


def asked(name: str, /, **arguments: Any) -> str:
    return question(PermissionState("p1", RequestPermission(ToolCall("t1", name, arguments), (), "title")))


@pytest.mark.parametrize(
    ("typed", "means"),
    [
        ("y", ("allow", None)),
        (" YES ", ("allow", None)),
        ("n", ("deny", None)),
        ("No", ("deny", None)),
        ("not on the live data", ("deny", "not on the live data")),
        ("yes, but later", ("deny", "yes, but later")),
        ("", None),
        ("  ", None),
        ("x", None),
    ],
)
def test_only_a_plain_yes_allows(typed: str, means: tuple[str, str | None] | None) -> None:
    assert understood(typed) == means


def test_the_question_names_the_call_with_its_arguments() -> None:
    assert asked("drop", table="survey", force=True) == (
        'Allow drop(table="survey", force=true)? [y]es / [n]o / reason: '
    )
    assert asked("now") == "Allow now()? [y]es / [n]o / reason: "


def test_secrets_are_masked_at_any_depth() -> None:
    text = asked(
        "f",
        password="hunter2",
        apiKey="k",
        headers={"X-Token": "abc", "Accept": "x"},
        more=[{"api_key": "z"}],
    )
    assert all(
        name in text for name in ("password=", "apiKey=", '"X-Token": ', '"Accept": "x"', '"api_key": ')
    )
    assert not any(secret in text for secret in ("hunter2", '"k"', "abc", '"z"'))


def test_nothing_invisible_and_nothing_endless_in_the_question() -> None:
    text = asked("f", path="a\u202egpj.exe", zero="x\u200by", line="a\nb\x1b[2J", umlaut="größer")
    assert "[U+202E]" in text and "[U+200B]" in text and "größer" in text
    assert text.isprintable()
    long = asked("f", body="x" * 5000)
    assert len(long) < 350 and "… (+4802 characters)" in long
    assert len(asked("f", **{f"a{i}": "x" * 150 for i in range(50)})) < 1200
    assert asked("f", value=object()).startswith('Allow f(value="<object object')


# -- in a kernel -------------------------------------------------------------------------------------------

SETUP = """
import asyncio
from acp_notebook.kernel.host import LoopHost, ThreadHost
from acp_notebook.protocol.messages import RequestPermission, ToolCall
from acp_notebook.session.state import PermissionState
from harness.pending import Pending
def new(kind, grace=0.05):
    global turn, got, withdraw
    host = LoopHost(asyncio.get_running_loop(), grace=grace) if kind == "kernel" else ThreadHost(grace=grace)
    turn, got, withdraw = Pending(host), [], {}
def ask(name="drop"):
    request = RequestPermission(ToolCall("t1", name, {"table": "survey"}), (), "title")
    def answer(decision, reason):
        got.append((name, decision, reason))
        if len(got) == len(withdraw):
            turn.end()
    def on_loop():
        withdraw[name] = turn.host.ask(PermissionState(name, request), answer)
    turn.host.loop.call_soon_threadsafe(on_loop)
def on_loop(function):
    turn.host.loop.call_soon_threadsafe(function)
"""
WAITS = [
    ("kernel", "await turn"),
    ("kernel", "turn.wait()"),
    ("thread", "await turn"),
    ("thread", "turn.wait()"),
]
everywhere = pytest.mark.parametrize(("host", "wait"), WAITS)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Frontend]:
    with Frontend.start(folder=tmp_path_factory.mktemp("stdin"), env=TESTS) as page:
        page.run(SETUP)
        yield page


def prompt(page: Frontend, cell: Cell, *, but: tuple[Prompt, ...] = ()) -> Prompt:
    """The next question, which comes while the cell runs."""
    found = page.wait(
        lambda: next((p for p in page.prompts if p not in but), None) or cell.done, 10, "a prompt"
    )
    assert isinstance(found, Prompt), f"no prompt: {cell.outputs}"
    return found


@everywhere
@pytest.mark.once
def test_a_typed_answer_settles_the_request(page: Frontend, host: str, wait: str) -> None:
    for typed, means in (("y", ("drop", "allow", None)), ("too risky", ("drop", "deny", "too risky"))):
        cell = page.begin(f"new({host!r}); ask(); {wait}; print(got)")
        question = prompt(page, cell)
        assert (
            question.text == 'Allow drop(table="survey")? [y]es / [n]o / reason: ' and not question.password
        )
        question.reply(typed)
        assert page.finish(cell).stdout == f"{[means]}\n"


@everywhere
@pytest.mark.once
def test_an_empty_line_asks_again_and_requests_are_asked_in_turn(
    page: Frontend, host: str, wait: str
) -> None:
    cell = page.begin(f"new({host!r}); ask('one'); ask('two'); {wait}; print(got)")
    for name, typed in (("one", ""), ("one", "y"), ("two", "n")):
        question = prompt(page, cell)
        assert question.text.startswith(f"Allow {name}(") and len(page.prompts) == 1
        question.reply(typed)
    assert page.finish(cell).stdout == "[('one', 'allow', None), ('two', 'deny', None)]\n"


@everywhere
@pytest.mark.once
def test_a_hello_during_the_wait_makes_the_prompt_needless(page: Frontend, host: str, wait: str) -> None:
    cell = page.begin(
        f"new({host!r}, grace=0.2); ask(); on_loop(turn.host.hello_received)\n"
        f"on_loop(lambda: turn.host.loop.call_later(0.6, turn.end)); {wait}; print(got)"
    )
    assert page.finish(cell).stdout == "[]\n" and page.prompts == []


@everywhere
def test_a_request_answered_elsewhere_withdraws_its_prompt(page: Frontend, host: str, wait: str) -> None:
    cell = page.begin(
        f"new({host!r}); ask('old')\n"
        "on_loop(lambda: turn.host.loop.call_later(0.4, lambda: (withdraw.pop('old')(), ask('new'))))\n"
        f"{wait}; print(got)"
    )
    old = prompt(page, cell)
    new = prompt(page, cell, but=(old,))
    old.reply("y")  # the box of the withdrawn question is still there, and says nothing about the new one
    page.quiet(0.3)
    assert not cell.done
    new.reply("n")
    assert page.finish(cell).stdout == (
        "(The question above needs no answer any more. If its box is still there, press Enter in it.)\n"
        "[('new', 'deny', None)]\n"
    )


@everywhere
def test_end_of_input_and_an_interrupt_cancel_the_turn(page: Frontend, host: str, wait: str) -> None:
    cell = page.begin(f"new({host!r}); ask(); {wait}; print(got)")
    prompt(page, cell).reply("\x04")
    assert page.finish(cell).stdout == "[]\n" and page.value("turn.outcome") == "cancelled"
    cell = page.begin(f"new({host!r}); ask(); {wait}; print(got)")
    prompt(page, cell)
    page.interrupt()
    assert page.finish(cell, 5).error == "KeyboardInterrupt: the turn was cancelled"
    page.prompts.clear()
    page.run("on_loop(lambda: withdraw['drop']())")  # as the session does when a turn ends


def test_nobody_is_asked_before_somebody_waits(page: Frontend) -> None:
    cell = page.begin("new('kernel', grace=0); ask(); await asyncio.sleep(0.3)")
    assert not page.finish(cell).error and page.prompts == []
    cell = page.begin("await turn; print(got)")
    prompt(page, cell).reply("y")
    assert page.finish(cell).stdout == "[('drop', 'allow', None)]\n"


def test_a_page_known_from_before_gets_more_time_to_say_hello(page: Frontend) -> None:
    cell = page.begin(
        "new('kernel', grace=0.2); turn.host.hello_received(); ask()\n"
        "on_loop(lambda: turn.host.loop.call_later(0.6, turn.host.hello_received))\n"
        "on_loop(lambda: turn.host.loop.call_later(1.2, turn.end)); await turn; print(got)"
    )
    assert page.finish(cell).stdout == "[]\n" and page.prompts == []


def test_whether_anybody_is_there(page: Frontend) -> None:
    code = "new('kernel'); print(turn.host.attended())"
    assert page.finish(page.begin(code, allow_stdin=True)).stdout == "True\n"
    assert page.finish(page.begin(code, allow_stdin=False)).stdout == "False\n"
    headless = page.execute(
        "new('thread'); on_loop(lambda: turn.end(turn.host.attended())); print(turn.wait())"
    )
    assert headless.stdout == "False\n"
    greeted = page.execute("turn.host.call(turn.host.hello_received); print(turn.host.attended())")
    assert greeted.stdout == "True\n"


# -- in a terminal -----------------------------------------------------------------------------------------

SCRIPT = (
    SETUP
    + """
async def program():
    new("kernel"); ask(); ask("again")
    await turn
    print(got)
def script():
    new("thread"); ask(); ask("again")
    turn.wait()
    print(got)
def ipython():
    from IPython.terminal.interactiveshell import TerminalInteractiveShell as Shell
    shell = Shell.instance(user_ns=globals())
    shell.run_cell("new('thread'); ask(); ask('again'); await turn; print(got)")
import sys
{"program": lambda: asyncio.run(program()), "script": script, "ipython": ipython}[sys.argv[1]]()
"""
)


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, kind: str) -> None:
        self._master, slave = pty.openpty()
        env = os.environ | TESTS
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, kind],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=env,
            close_fds=True,
        )
        os.close(slave)
        self.text = ""

    def expect(self, text: str) -> None:
        while text not in self.text:
            try:
                piece = os.read(self._master, 4096)
            except OSError:  # the other end is closed
                piece = b""
            assert piece, f"no {text!r} in {self.text!r}"
            self.text += piece.decode()
        self.text = self.text.partition(text)[2]

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self) -> None:
        self.process.kill()
        self.process.wait(10)
        os.close(self._master)


@pytest.fixture(params=["program", "script", "ipython"])
def terminal(request: pytest.FixtureRequest) -> Iterator[Terminal]:
    terminal = Terminal(request.param)
    yield terminal
    terminal.end()


def test_a_terminal_is_asked_line_by_line(terminal: Terminal) -> None:
    terminal.expect('Allow drop(table="survey")? [y]es / [n]o / reason: ')
    terminal.type("\n")
    terminal.expect("Allow drop(")
    terminal.type("y\n")
    terminal.expect("Allow again(")
    terminal.type("no, not twice\n")
    terminal.expect("[('drop', 'allow', None), ('again', 'deny', 'no, not twice')]")


def test_ctrl_c_and_ctrl_d_cancel_the_turn(terminal: Terminal) -> None:
    terminal.expect("Allow drop(")
    terminal.process.send_signal(signal.SIGINT)
    terminal.expect("KeyboardInterrupt")
    terminal.process.wait(10)


def test_end_of_file_cancels_the_turn(terminal: Terminal) -> None:
    terminal.expect("Allow drop(")
    terminal.type("\x04")
    terminal.expect("[]")
    terminal.process.wait(10)
