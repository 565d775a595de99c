"""Values as bytes: JSON where it says exactly the same, else a pickle; what is large in pieces.

A value in which there is a secret is not kept, nor is one that cannot be pickled, such as a connection.
"""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Protocol, cast

from pydantic import SecretBytes, SecretStr
from pydantic_core import PydanticSerializationError, to_json

from ..describe import explain
from ..masking import Secret, masked, says_secret
from .preview import Preview

#: Bytes up to which a value is one piece, and those of a piece of a larger one.
WHOLE, PIECE = 100_000, 500_000
#: Bytes of a value that is kept.
LARGEST = 1_000_000_000
#: Bytes of a value that shares a row with others, and bits of a number that Python writes.
_SMALL, _BITS = 2_000, 10_000
#: Bytes of what is shown of a value that is not kept.
_SHOWN = 2_000
_written = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class Store(Protocol):
    """Where the pieces of one value go. A value has a stream of its own, 0, and one for each large buffer."""

    def add(self, stream: int, data: bytes) -> None: ...

    def clear(self) -> None:
        """Forget what was added: the value is written in another way."""
        ...


@dataclass(frozen=True, slots=True)
class NotKept:
    """Stands for a value that is not there any more; `shown` is what was seen of it."""

    reason: str
    shown: Any = None

    def __repr__(self) -> str:
        return f"<not kept: {self.reason}>"


@dataclass(frozen=True, slots=True)
class Kept:
    """A value as it is written. `form` is json, pickle, or lost; `data` is None when it is in pieces."""

    form: str
    data: bytes | None = None
    reason: str | None = None


class _Unfit(Exception):
    """A value that is not kept; the message says why."""


class _NotJson(Exception):
    """A value that JSON would give back as another one."""


def keep(value: Any, secrets: Sequence[str], store: Store) -> Kept:
    """Write a value; what is larger than `WHOLE` goes to `store` in pieces. `secrets` must not be in it."""
    try:
        try:
            weight = _weight(value)
            if weight <= WHOLE:
                data = _written(value).encode()
                if secrets:
                    _refuse(data, secrets)
                return Kept("json", data)
            pieces = _Pieces(store, secrets)
            _write_json(value, lambda text: pieces.write(text.encode()))
            return Kept("json", pieces.end())
        except (_NotJson, ValueError, RecursionError):  # also what is no Unicode, and numbers JSON has not
            store.clear()
            return Kept("pickle", _pickled(value, store, secrets))
    except _Unfit as error:
        reason = str(error)
    except Exception as error:
        reason = f"{type(value).__name__} cannot be kept ({explain(error)})"
    store.clear()
    shown = Preview(value, _SHOWN, secrets=secrets).value
    return Kept("lost", json.dumps(shown).encode(), reason)


def loaded(kept: Kept, read: Callable[[int], bytearray]) -> Any:
    """The value; `NotKept` where it was not kept, or cannot be read any more. `read` gives a stream whole."""
    if kept.form == "lost":
        return NotKept(kept.reason or "", json.loads(kept.data or b"null"))
    data = kept.data if kept.data is not None else read(0)
    try:
        if kept.form == "json":
            return json.loads(data)
        return pickle.loads(data, buffers=_streams(read))
    except Exception as error:
        return NotKept(f"it cannot be read any more ({explain(error)})")


def _streams(read: Callable[[int], bytearray]) -> Iterable[bytearray]:
    number = 1
    while buffer := read(number):
        yield buffer
        number += 1


def _weight(value: Any) -> int:
    """About how many bytes a value has as JSON. Raises `_NotJson`; `_Unfit` when there is a secret in it."""
    kind = cast(Any, type(value))
    if kind is str:
        return len(value) + 2
    if kind is int:
        if value.bit_length() > _BITS:
            raise _NotJson
        return 8
    if kind is dict:
        weight = 2
        for key, item in value.items():
            if type(key) is not str:
                raise _NotJson
            if says_secret(key):
                _refuse_secret(key, item)
            weight += len(key) + _weight(item)
        return weight
    if kind is list:
        return 2 + sum(map(_weight, value))
    if kind is bool or value is None:
        return 8
    if kind is float and math.isfinite(value):
        return 16
    raise _NotJson


def plain_json(value: Any) -> str:
    """JSON of a value that has nothing but what JSON has, several times as quick as `json.dumps`."""
    try:
        return to_json(value).decode()
    except PydanticSerializationError:  # half of a surrogate pair, or deeper than it goes
        return json.dumps(value)


def is_small_json(value: Any) -> bool:
    """Whether JSON says exactly the same in a few bytes."""
    try:
        return _weight(value) < _SMALL
    except (_NotJson, _Unfit, RecursionError):
        return False


def _refuse_secret(name: str, value: Any) -> None:
    if masked(value, name) != value:
        raise _Unfit(f"it holds a secret ({name})")


def _refuse(data: bytes | bytearray | memoryview, secrets: Sequence[str]) -> None:
    if secrets and any(secret.encode("utf-8", "replace") in bytes(data) for secret in secrets):
        raise _Unfit("it repeats a secret of the plan")


def _write_json(value: Any, write: Callable[[str], object]) -> None:
    """As `json.dumps` writes it, and never more than a piece of a text at once."""
    if type(value) is str and len(value) > PIECE:
        write('"')
        for at in range(0, len(value), PIECE):
            write(_written(value[at : at + PIECE])[1:-1])
        write('"')
    elif type(cast(Any, value)) is dict and value:
        for at, (key, item) in enumerate(cast("dict[str, Any]", value).items()):
            write(f"{', ' if at else '{'}{_written(key)}: ")
            _write_json(item, write)
        write("}")
    elif type(value) is list and value:
        for at, item in enumerate(cast("list[Any]", value)):
            write(", " if at else "[")
            _write_json(item, write)
        write("]")
    else:
        write(_written(value))


class _Pieces:
    """A stream that is cut into pieces as it is written. A secret across two of them is found as well."""

    def __init__(self, store: Store, secrets: Sequence[str], stream: int = 0) -> None:
        self._store = store
        self._secrets = secrets
        self._stream = stream
        self._buffer = bytearray()
        self._size = 0
        self._last = b""

    def write(self, data: bytes | bytearray | memoryview) -> int:
        for at in range(0, len(data), PIECE):
            self._buffer += data[at : at + PIECE]
            if len(self._buffer) >= PIECE:
                self._flush()
        return len(data)

    def _flush(self) -> None:
        self._size += len(self._buffer)
        if self._size > LARGEST:
            raise _Unfit(f"it is larger than {LARGEST // 1_000_000:,} MB")
        piece = bytes(self._buffer)
        if self._secrets:
            _refuse(self._last + piece, self._secrets)
            self._last = piece[-max(map(len, self._secrets)) * 4 :]
        self._store.add(self._stream, piece)
        self._buffer.clear()

    def end(self) -> bytes | None:
        """What was written, when it is one small piece; else None: it is in the store."""
        if not self._size and len(self._buffer) <= WHOLE:
            _refuse(self._buffer, self._secrets)
            return bytes(self._buffer)
        if self._buffer:
            self._flush()
        return None


class _Pickler(pickle.Pickler):
    """Looks at everything that it pickles for secrets. Large buffers (arrays) are left out of the stream."""

    def __init__(self, file: Any) -> None:
        self.buffers: list[memoryview] = []
        super().__init__(file, 5, buffer_callback=self._buffer)

    def persistent_id(self, obj: Any) -> None:
        if isinstance(obj, Mapping):
            found = cast("Mapping[Any, Any]", obj)
            for key in found:
                if isinstance(key, str) and says_secret(key):
                    _refuse_secret(key, found[key])
        elif isinstance(obj, SecretStr | SecretBytes | Secret):
            raise _Unfit(f"it holds a secret ({type(obj).__name__})")
        elif is_dataclass(obj) and not isinstance(obj, type):
            for field in fields(obj):
                if says_secret(field.name):
                    _refuse_secret(field.name, getattr(obj, field.name, None))
        elif isinstance(obj, tuple):
            for name in cast("tuple[str, ...]", getattr(cast(Any, obj), "_fields", ())):  # a named one
                if says_secret(name):
                    _refuse_secret(name, getattr(cast(Any, obj), name))
        elif hasattr(cast(Any, type(obj)), "columns"):  # a data frame
            for name in map(str, cast(Any, obj).columns):
                if says_secret(name):
                    raise _Unfit(f"it holds a secret ({name})")

    def _buffer(self, buffer: pickle.PickleBuffer) -> bool:
        """Whether it stays in the stream."""
        try:
            raw = buffer.raw()
        except BufferError:
            return True
        if raw.nbytes <= WHOLE:
            return True
        self.buffers.append(raw)
        return False


def _pickled(value: Any, store: Store, secrets: Sequence[str]) -> bytes | None:
    pieces = _Pieces(store, secrets)
    pickler = _Pickler(pieces)
    pickler.dump(value)
    data = pieces.end()
    for number, buffer in enumerate(pickler.buffers, 1):
        stream = _Pieces(store, secrets, number)
        stream.write(buffer)
        stream.end()
    return data
