"""Tools that run on other processes, as a module or a notebook defines them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic_ai import ModelRetry

from acp_notebook import Sharable


def where(value: Annotated[Any, Sharable()] = None) -> list[Any]:
    """The process that it runs in, and what it was given."""
    return [os.getpid(), value]


def boom(token: str = "nothing") -> str:
    raise ValueError(f"no such table, with {token}\nand more")


def again() -> str:
    raise ModelRetry("use another day")


def count(upto: int) -> Any:
    yield from range(upto)  # a generator, which can be read once


def lock() -> Any:
    return threading.Lock()


def leave() -> None:
    raise SystemExit(3)


class Odd(Exception):
    """One that pickle takes and cannot give back."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


def odd() -> None:
    raise Odd("one", "two")


def die(mark: str) -> None:
    """Leave a mark, and take the process along."""
    with Path(mark).open("a") as file:
        file.write("x")
    os._exit(1)


def hold(mark: str, until: str) -> str:
    """Leave a mark, then wait for another file to be there."""
    with Path(mark).open("a") as file:
        file.write("x")
    while not Path(until).exists():
        time.sleep(0.01)
    return "held"


def from_notebook(source: str) -> Callable[..., Any]:
    """The last function that a notebook's cell defines."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(source, names)
    return list(names.values())[-1]
