"""Copies that share only what cannot change; and handles, which are passed on as themselves."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel

from acp_notebook.steps.isolate import isolated


class Model(BaseModel):
    values: list[int]


@dataclass
class Data:
    values: list[int] = field(default_factory=list)


class Connection:
    pass


class Array:
    """Says how it is copied, as arrays and data frames do."""

    def __init__(self, values: list[int]) -> None:
        self.values = values

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        return Array(list(self.values))


@pytest.mark.parametrize(
    "value",
    [
        [1, [2]],
        {"k": [1]},
        ([1],),
        OrderedDict(k=[1]),
        deque([1]),
        {1, 2},
        bytearray(b"a"),
        Model(values=[1]),
        Data([1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_containers_are_copied(value: Any) -> None:
    copied = isolated(value)
    assert copied == value and copied is not value and type(copied) is type(value)


def test_what_is_inside_is_copied_too() -> None:
    inner: list[int] = []
    for value in ([inner], {"k": inner}, (inner,), Model(values=inner), Data(inner)):
        copied = isolated(value)
        inner.append(1)
        assert "[]" in repr(copied) or "values=[]" in repr(copied)
        inner.clear()
    array = Array([1])
    assert isolated([array])[0] is not array


def test_long_texts_are_shared() -> None:
    text = "x" * 1000
    assert isolated({"k": [text]})["k"][0] is text


def test_handles_are_passed_on() -> None:
    connection = Connection()
    assert isolated(connection) is connection
    assert isolated({"c": [connection]})["c"][0] is connection


def test_a_value_that_holds_itself_is_copied() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    copied = isolated(loop)
    assert copied is not loop and copied[1] is copied
