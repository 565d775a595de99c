"""What happens on an executor's worker, which may be another machine: bytes in, bytes out.

Packed here and not by the executor, so that all of them take the same values, and an exception or a result
that cannot travel is the end of its step and not of a whole pool. Workers import this file: keep it light.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from ..describe import explain


@dataclass(frozen=True, slots=True)
class Raised:
    """What a call raised: in a line, its traceback, and itself where it can travel.

    `has_run`: the call itself went well, and what it returned cannot be read or cannot travel.
    """

    said: str
    traceback: str
    error: bytes | None = None
    has_run: bool = False


@dataclass(frozen=True, slots=True)
class Begun:
    """The call had begun before, on a worker that is gone; it was not made again."""


def dumps(value: Any) -> bytes:
    """As `pickle` does; with cloudpickle, where it is installed, also what a notebook defines."""
    try:
        import cloudpickle  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return pickle.dumps(value)
    return cloudpickle.dumps(value)  # pyright: ignore[reportUnknownMemberType]


def carry_out(function: bytes, args: bytes, claim: str | None = None) -> bytes:
    """Call a packed function. Gives a packed tuple of its one result, a `Raised`, or `Begun`.

    With `claim`, only if nobody has taken the one item of the Dask queue of that name.
    """
    has_run = False
    try:
        if claim is not None and not claimed(claim):
            return pickle.dumps(Begun())
        value = pickle.loads(function)(**pickle.loads(args))
        has_run = True
        return dumps((list(cast("Iterator[Any]", value)) if isinstance(value, Iterator) else value,))
    except BaseException as error:  # nothing else may end the worker
        return pickle.dumps(Raised(explain(error), traceback.format_exc(), _travelling(error), has_run))


def claimed(name: str) -> bool:
    """Take the one item of a Dask queue, which its scheduler gives away once; False when it is gone."""
    from distributed import Queue

    queue = cast(Any, Queue)(name)
    try:
        return bool(queue.get(batch=True))
    finally:
        queue.close()


def _travelling(error: BaseException) -> bytes | None:
    """An exception as bytes, if the same comes out of them."""
    if not isinstance(error, Exception):
        return None
    try:
        packed = dumps(error)
        return packed if str(pickle.loads(packed)) == str(error) else None
    except Exception:
        return None
