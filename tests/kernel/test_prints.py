"""Captured prints: by context, in threads, nested, next to people who redirect streams themselves."""

from __future__ import annotations

import asyncio
import contextlib
import io
import sys
import threading
from collections.abc import Callable

import anyio.to_thread
import pytest

from acp_notebook.kernel.prints import capture, capturing


def new_cell(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What would be the cell's output. Not a fixture: pytest sets its own streams after those."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_all_ways_to_write_go_to_the_sink_and_the_streams_are_put_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cell = new_cell(monkeypatch)
    got: list[str] = []
    with capture(got.append):
        assert capturing()
        print("a", 1, sep="-")
        print("b", file=sys.stderr, end="")
        print("c", file=sys.stdout, flush=True)
        assert sys.stdout.write("four") == 4
        sys.stdout.writelines(["x", "y"])
    assert "".join(got) == "a-1\nbc\nfourxy" and cell.getvalue() == ""
    assert sys.stdout is cell and sys.stderr is cell and not capturing()


def test_the_stand_in_is_a_stream_like_the_real_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/null", "w", encoding="latin-1") as real:
        monkeypatch.setattr(sys, "stdout", real)
        with capture(lambda text: None):
            assert sys.stdout is not real
            assert (sys.stdout.encoding, sys.stdout.fileno(), sys.stdout.isatty()) == (
                "latin-1",
                real.fileno(),
                False,
            )
            sys.stdout.flush()


async def test_only_the_capturing_task_is_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = new_cell(monkeypatch)
    got: list[str] = []
    inside = asyncio.Event()

    async def tool() -> None:
        with capture(got.append):
            print("tool")
            inside.set()
            await asyncio.sleep(0)
            print("still the tool")

    task = asyncio.create_task(tool())
    await inside.wait()
    print("cell")
    await task
    assert "".join(got) == "tool\nstill the tool\n"
    assert cell.getvalue() == "cell\n" and sys.stdout is cell


@pytest.mark.parametrize("in_thread", [asyncio.to_thread, anyio.to_thread.run_sync])
async def test_worker_threads_are_captured_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch, in_thread: Callable[..., object]
) -> None:
    cell = new_cell(monkeypatch)
    got: list[str] = []

    def work() -> None:
        print("worker")
        other = threading.Thread(target=print, args=("not the tool's",))
        other.start()
        other.join()

    with capture(got.append):
        await in_thread(work)  # type: ignore[misc]
    assert "".join(got) == "worker\n"
    assert cell.getvalue() == "not the tool's\n"


def test_nested_captures_and_a_sink_that_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = new_cell(monkeypatch)
    outer: list[str] = []

    def sink(text: str) -> None:
        print(f"[{text.strip()}]" if text.strip() else "", end="")

    with capture(outer.append):
        print("before")
        with capture(sink):
            print("inner")
        print("after")
    assert "".join(outer) == "before\nafter\n"
    assert cell.getvalue() == "[inner]"


def test_streams_that_others_replace_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = new_cell(monkeypatch)
    got: list[str] = []
    mine = io.StringIO()
    with capture(got.append):
        with contextlib.redirect_stdout(mine):
            print("redirected by the tool itself")
        print("tool")
    assert mine.getvalue() == "redirected by the tool itself\n" and "".join(got) == "tool\n"
    assert sys.stdout is cell

    # one that outlives the capture puts the stand-in back: harmless, and gone after the next capture
    redirect = contextlib.redirect_stdout(mine)
    with capture(got.append):
        redirect.__enter__()
    redirect.__exit__(None, None, None)
    print("cell")
    assert cell.getvalue() == "cell\n"
    with capture(got.append):
        print("tool again")
    assert "".join(got) == "tool\ntool again\n" and sys.stdout is cell


def test_a_stream_kept_by_the_tool_works_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = new_cell(monkeypatch)
    got: list[str] = []
    with capture(got.append):
        kept = sys.stdout
    print("late", file=kept)
    assert got == [] and cell.getvalue() == "late\n"


def test_the_streams_come_back_after_an_error_and_without_streams_nothing_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cell = new_cell(monkeypatch)
    with pytest.raises(ZeroDivisionError), capture(lambda text: None):
        raise ZeroDivisionError
    assert sys.stdout is cell
    monkeypatch.setattr(sys, "stdout", None)  # pythonw
    with capture(lambda text: None):
        print("nowhere")
    assert sys.stdout is None
