"""Text files that people name: read strictly, written whole or not at all."""

from __future__ import annotations

import codecs
import os
import shutil
import stat
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from .errors import AcpError

if sys.platform == "win32":
    import msvcrt
elif sys.platform != "emscripten":  # JupyterLite, where nobody else is
    import fcntl

_OTHER_ENCODINGS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def named(path: str | os.PathLike[str]) -> Path:
    """The path that a person means; `~` is their home. Raises `AcpError` for what no file can be called."""
    name = os.path.expanduser(path)
    try:
        os.lstat(name)
    except ValueError as error:  # NUL, half a surrogate pair
        raise AcpError(f"{name!r} is no name for a file: {error}") from error
    except OSError:  # whoever opens it says why
        pass
    return Path(name)


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, whatever the platform's own encoding is; its byte order mark is left out.

    Raises `AcpError` naming the file, and the offset of the first byte that is not UTF-8.
    """
    return read_exactly(path).removeprefix("\ufeff")


def read_exactly(path: Path) -> str:
    """The same with the byte order mark, if there is one: every byte of the file is in the text."""
    name = str(path)
    _refuse_others(path, "read")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise AcpError(f"{name!r} cannot be read: {error.strerror or error}") from error
    for mark, encoding in _OTHER_ENCODINGS.items():
        if data.startswith(mark):
            raise AcpError(f"{name!r} is {encoding}: save it as UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = data[error.start]
        raise AcpError(f"{name!r} is not UTF-8 text: byte 0x{byte:02x} at offset {error.start}") from error
    if "\0" in text:
        raise AcpError(f"{name!r} is not text: NUL byte at offset {data.index(0)}")
    return text


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Write a UTF-8 file atomically: readers see the old file or the new one, never a part.

    Raises `AcpError` when the file exists and `force` is not set, or when it cannot be written; nothing has
    changed then. What is no file, such as a device, and a read-only file are never replaced.
    """
    name = str(path)
    target = Path(os.path.realpath(path))  # a symbolic link stays one
    found = _refuse_others(path, "written")
    if os.path.lexists(target):
        if not force:
            raise AcpError(f"{name!r} exists: name another file, or overwrite it with --force")
        if not found & 0o222:  # which taking its place would pass over
            raise AcpError(f"{name!r} is read-only: name another file, or allow writing to it")
    temporary = target.with_name(f".acp-{uuid4().hex}.tmp")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        if found:
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise AcpError(f"{name!r} cannot be written: {error.strerror or error}") from error


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Keep other threads and processes from what they, too, do with this lock. Raises `OSError`.

    A process that ends, however it does, gives its locks back.
    """
    with path.open("a") as file:
        _lock(file.fileno())  # closing the file gives it back
        yield


if sys.platform == "win32":

    def _lock(file: int) -> None:
        """Lock the first byte, which need not be there. Windows does not wait for it."""
        while True:
            try:
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            except PermissionError:
                time.sleep(0.01)
            else:
                return

elif sys.platform == "emscripten":

    def _lock(file: int) -> None:
        pass

else:

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)


def _refuse_others(path: Path, done: str) -> int:
    """The mode of a file, 0 where there is none. Raises `AcpError` for what is no file: it may never end."""
    name = str(path)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise AcpError(f"{name!r} cannot be {done}: {error.strerror or error}") from error
    if stat.S_ISDIR(mode):
        raise AcpError(f"{name!r} is a folder: name a file in it")
    if not stat.S_ISREG(mode):
        raise AcpError(f"{name!r} cannot be {done}: it is no file but a pipe or a device")
    return mode
