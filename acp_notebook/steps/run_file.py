"""The runs of plans in the user's file: its tables, who holds a run, and how many are kept."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from ..errors import DatabaseError

#: Runs that are kept, and bytes of the file from which on there may be fewer.
RUNS, BYTES = 200, 2_000_000_000
#: Seconds that a run waits for another kernel that is writing; after that it goes on without its journal.
WAIT = 3

MIGRATIONS = (
    """
    CREATE TABLE step_runs (
        number INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL UNIQUE,
        name TEXT, agent TEXT, folder TEXT NOT NULL, pid INTEGER NOT NULL,
        plan TEXT NOT NULL, is_whole INTEGER NOT NULL,  -- JSON; without its secrets it is not whole
        settings TEXT NOT NULL, tools TEXT NOT NULL,
        began REAL NOT NULL, ended REAL, status TEXT
    ) STRICT;
    CREATE TABLE step_events (
        run INTEGER NOT NULL REFERENCES step_runs ON DELETE CASCADE,
        number INTEGER NOT NULL,
        at REAL NOT NULL,
        kind TEXT NOT NULL,   -- began, item, ended, many (that ended well), resumed, settled, lost (rows)
        step INTEGER,         -- its place in the plan
        item INTEGER,         -- the element of its for_each
        ahead INTEGER,        -- so many more steps may have begun before the next row was written
        started REAL, status TEXT, detail TEXT,
        form TEXT, value BLOB,  -- NULL for one in step_parts
        PRIMARY KEY (run, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE step_parts (
        run INTEGER NOT NULL REFERENCES step_runs ON DELETE CASCADE,
        event INTEGER NOT NULL, stream INTEGER NOT NULL, part INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (run, event, stream, part)
    ) STRICT
    """,
)
#: A statement of SQL, with the rows that it is executed for.
Statement = tuple[str, Sequence[tuple[Any, ...]]]
_OLD = "SELECT number FROM step_runs ORDER BY number DESC LIMIT -1 OFFSET ?"  # all but so many
_USED = (
    "SELECT (page_count - freelist_count) * page_size "
    "FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What is written of a run when it begins: `plan` is JSON without `secrets`.

    `settings` and `tools`, where the tools are to be found, by name, are JSON-like.
    """

    run_id: str
    plan: str
    is_whole: bool
    settings: Mapping[str, Any]
    tools: Mapping[str, Any]
    secrets: Sequence[str] = ()
    name: str | None = None
    agent: str | None = None


class RunFile:
    """The user's file with the tables of runs, and the runs in it that this object holds.

    Raises:
        DatabaseError: it cannot be used.
    """

    def __init__(self) -> None:
        try:
            from .. import database
        except ImportError as error:  # JupyterLite
            raise DatabaseError(f"runs are not kept here: {error}") from error
        self._database = database
        self.path = database.database_path()
        self._locks = self.path.with_name("steps.lock")
        self._releases: list[Callable[[], None]] = []
        self._tables = database.Tables("steps", MIGRATIONS)
        self.connection = database.open_database(self._tables, self.path)
        self.connection.execute(f"PRAGMA busy_timeout = {round(1000 * WAIT)}")
        self._inode = self._seen()

    def explained(self) -> AbstractContextManager[None]:
        return self._database.explained(self.path)

    def hold(self, run: int) -> bool:
        """Hold a run; False when it is held: by whoever runs it, here or in another process."""
        with self.explained():
            release = self._database.hold(self._locks, run)
        if release is not None:
            self._releases.append(release)
        return release is not None

    def is_held(self, run: int) -> bool:
        """Whether anybody holds a run."""
        with self.explained():
            release = self._database.hold(self._locks, run)
        if release is not None:
            release()
        return release is None

    def add(self, beginning: Beginning) -> int:
        """Write down that a run begins; returns its number."""
        values = (
            beginning.run_id,
            beginning.name,
            beginning.agent,
            os.getcwd(),
            os.getpid(),
            beginning.plan,
            beginning.is_whole,
            json.dumps(beginning.settings),
            json.dumps(beginning.tools),
            time.time(),
        )
        columns = "run_id, name, agent, folder, pid, plan, is_whole, settings, tools, began"
        insert = f"INSERT INTO step_runs ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        found = self.connection.execute(insert, values)
        assert found.lastrowid is not None
        return found.lastrowid

    def prune(self, newest: int) -> None:
        """Let the oldest runs go, except those that are running."""
        connection = self.connection
        old = [number for (number,) in connection.execute(_OLD, (RUNS,))]
        if not old and connection.execute(_USED).fetchone()[0] > BYTES:
            (count,) = connection.execute("SELECT count(*) FROM step_runs").fetchone()
            old = [number for (number,) in connection.execute(_OLD, (count - max(1, count // 10),))]
        for number in reversed(old):
            if number != newest and not self.is_held(number):
                connection.execute("DELETE FROM step_runs WHERE number = ?", (number,))

    def execute(self, *statements: Statement) -> None:
        """Execute statements in one transaction, each for all its rows. Raises `DatabaseError`."""
        executed = [(statement, row) for statement, rows in statements for row in rows]
        if not executed:
            return
        with self.explained():
            if len(executed) == 1:
                self.connection.execute(*executed[0])
                return
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                for statement, row in executed:
                    self.connection.execute(statement, row)
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.rollback()
                raise

    @property
    def is_there(self) -> bool:
        """Whether the file that is open is still the user's."""
        return self._seen() == self._inode

    def _seen(self) -> int | None:
        try:
            return os.stat(self.path).st_ino
        except OSError:
            return None

    def close(self) -> None:
        try:
            self._database.give_back(self.connection, self._tables, self.path)
        finally:
            while self._releases:
                self._releases.pop()()
