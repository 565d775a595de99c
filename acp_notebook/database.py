"""The user's SQLite file: the one place that opens it. Who keeps something in it brings the tables along.

It is the user's alone (mode 0600), and several kernels may write to it at once. Nothing else is promised of
one on a network drive than what SQLite promises there.
"""

from __future__ import annotations

import atexit
import os
import sqlite3
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import DatabaseError
from .text_files import locked

try:
    import fcntl
except ImportError:  # Windows, JupyterLite
    fcntl = None

#: Seconds to wait for another kernel that is writing.
BUSY = 10.0
#: The version of what is here; tables have versions of their own.
_FORMAT = 1
_AWAY = "move it away, and a new one is made"
_OWN_TABLE = "CREATE TABLE IF NOT EXISTS versions (tables TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT"
#: Open lock files, by path. One that is closed would give back all locks of this process on it.
_lock_files: dict[Path, int] = {}
_held: set[tuple[Path, int]] = set()
#: The last connection that was given back, with what it is for. To close the only one syncs the disk.
_idle: dict[tuple[int, Path, str, int], sqlite3.Connection] = {}


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables that belong together. Migration n, a script of SQL, makes version n of them out of n - 1."""

    name: str
    migrations: tuple[str, ...]


def database_path() -> Path:
    """Where the file is: in Jupyter's data directory."""
    try:
        from jupyter_core.paths import jupyter_data_dir
    except ImportError:  # JupyterLite
        folder = os.environ.get("JUPYTER_DATA_DIR") or "~/.local/share/jupyter"
    else:
        folder = jupyter_data_dir()
    return Path(folder).expanduser() / "acp-notebook" / "acp-notebook.db"


@contextmanager
def explained(path: Path) -> Generator[None]:
    """What SQLite and the file system raise, as a `DatabaseError` that says what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        said = str(error)
        if isinstance(error, sqlite3.OperationalError) and "locked" in said:
            advice = "another kernel is writing to it: try again"
        elif "malformed" in said or "not a database" in said:
            advice = _AWAY
        elif "full" in said:
            advice = "make room on the disk"
        else:
            advice = "see to its rights and its disk, or move it away"
        raise DatabaseError(f"{str(path)!r} cannot be used ({said}): {advice}") from error
    except OSError as error:
        raise DatabaseError(f"{str(path)!r} cannot be used: {error.strerror or error}") from error


def open_database(tables: Tables, path: Path | None = None) -> sqlite3.Connection:
    """A connection to the file, with these tables in it. Each statement is a transaction unless one is begun.

    Raises:
        DatabaseError: it cannot be opened or made, is no database, belongs to somebody else, or has tables of
            a newer version of this package.
    """
    path = path or database_path()
    with explained(path), suppress(FileNotFoundError):
        if (connection := _idle.pop(_use(path, tables), None)) is not None:
            return connection
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(path.with_suffix(".lock")):  # the change to WAL does not wait for others
            _own(path)
            connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("PRAGMA foreign_keys = ON")
                _migrate(connection, tables, path)
            except BaseException:
                connection.close()
                raise
    return connection


def give_back(connection: sqlite3.Connection, tables: Tables, path: Path) -> None:
    """End the use of a connection to the file at `path`. It is kept open for the next one."""
    with explained(path):
        if connection.in_transaction:
            connection.rollback()
        _close_idle()
        try:
            _idle[_use(path, tables)] = connection
        except FileNotFoundError:
            connection.close()


def _use(path: Path, tables: Tables) -> tuple[int, Path, str, int]:
    """This process, and this very file: one that took its place, or a copy of the process, is another use."""
    return os.getpid(), path, tables.name, os.stat(path).st_ino


@atexit.register
def _close_idle() -> None:
    while _idle:
        (process, *_), connection = _idle.popitem()
        if process == os.getpid():
            connection.close()


def _own(path: Path) -> None:
    """Make the file, or take away others' rights to it. SQLite gives those beside it the same rights."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    for each in (path, *(path.with_name(f"{path.name}-{end}") for end in ("wal", "shm"))):
        try:
            found = os.stat(each)
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(found.st_mode):
            raise DatabaseError(f"{str(each)!r} is no file: {_AWAY}")
        if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
            raise DatabaseError(f"{str(each)!r} belongs to somebody else: {_AWAY}")
        if found.st_mode & 0o077:
            os.chmod(each, 0o600)


def _migrate(connection: sqlite3.Connection, tables: Tables, path: Path) -> None:
    ((version,),) = connection.execute("PRAGMA user_version")
    if version == 0:
        connection.execute(_OWN_TABLE)
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
    found = connection.execute("SELECT version FROM versions WHERE tables = ?", (tables.name,)).fetchone()
    current = found[0] if found else 0
    if version > _FORMAT or current > len(tables.migrations):
        raise DatabaseError(f"{str(path)!r} was written by a newer acp-notebook: update this one")
    for number, script in enumerate(tables.migrations[current:], current + 1):
        new = f"INSERT OR REPLACE INTO versions VALUES ('{tables.name}', {number})"
        connection.executescript(f"BEGIN; {script}; {new}; COMMIT")


def hold(path: Path, number: int) -> Callable[[], None] | None:
    """Hold a number, for which `path` is a file of locks. Returns how to let it go; None when it is held.

    A process that ends, however it does, holds nothing any more. Raises `OSError`.
    """
    if (path, number) in _held:
        return None
    file = None
    if fcntl is not None:
        file = _lock_file(path)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except (BlockingIOError, PermissionError):
            return None
    _held.add((path, number))

    def release() -> None:
        _held.discard((path, number))
        if fcntl is not None and file is not None:
            fcntl.lockf(file, fcntl.LOCK_UN, 1, number)

    return release


def _lock_file(path: Path) -> int:
    """The open file at `path`: a new one where the one before was deleted, which others do not see."""
    with suppress(KeyError, FileNotFoundError):
        if os.path.samestat(os.fstat(_lock_files[path]), os.stat(path)):
            return _lock_files[path]
    _lock_files[path] = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    return _lock_files[path]
