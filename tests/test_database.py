"""The user's SQLite file: its rights, what is wrong with it in a line, and several processes at once."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from acp_notebook.database import Tables, database_path, give_back, hold, open_database
from acp_notebook.errors import DatabaseError

NOTES = Tables("notes", ("CREATE TABLE notes (text TEXT) STRICT", "ALTER TABLE notes ADD COLUMN at REAL"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "file.db"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_database(NOTES, path)) as connection:
        yield connection


def modes(path: Path) -> set[int]:
    return {stat.S_IMODE(found.stat().st_mode) for found in path.parent.glob(f"{path.name}*")}


def test_it_is_the_users_alone_from_the_first_moment(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("INSERT INTO notes VALUES ('a', 1.0)")
    assert len(list(path.parent.glob(f"{path.name}*"))) == 3 and modes(path) == {0o600}


def test_rights_of_others_are_taken_away(path: Path) -> None:
    path.parent.mkdir()
    path.touch(mode=0o644)
    path.chmod(0o666)
    with closing(open_database(NOTES, path)) as connection:
        connection.execute("INSERT INTO notes VALUES ('a', 1.0)")
        assert modes(path) == {0o600}


def test_it_lies_in_jupyters_data_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    assert database_path() == tmp_path / "acp-notebook" / "acp-notebook.db"


def test_without_jupyter_core_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "jupyter_core.paths", None)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    assert database_path() == tmp_path / "acp-notebook" / "acp-notebook.db"


def test_tables_are_migrated_step_by_step_and_others_are_left_alone(path: Path) -> None:
    old = Tables("notes", NOTES.migrations[:1])
    with closing(open_database(old, path)) as connection:
        connection.execute("INSERT INTO notes VALUES ('kept')")
    with closing(open_database(Tables("other", ("CREATE TABLE other (n)",)), path)):
        pass
    with closing(open_database(NOTES, path)) as connection:
        assert connection.execute("SELECT * FROM notes").fetchall() == [("kept", None)]
    with pytest.raises(DatabaseError, match="was written by a newer acp-notebook: update this one"):
        open_database(old, path)


def test_a_migration_that_fails_changes_nothing(path: Path) -> None:
    with closing(open_database(Tables("notes", NOTES.migrations[:1]), path)):
        pass
    with pytest.raises(DatabaseError):
        open_database(Tables("notes", (*NOTES.migrations, "INSERT INTO nowhere VALUES (1)")), path)
    with closing(open_database(NOTES, path)) as connection:
        assert connection.execute("SELECT version FROM versions").fetchall() == [(2,)]


def test_what_is_no_database_is_said_in_a_line(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(DatabaseError, match=r"not a database.*move it away, and a new one") as found:
        open_database(NOTES, path)
    assert "\n" not in str(found.value)


def test_a_newer_format(path: Path) -> None:
    with closing(open_database(NOTES, path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(DatabaseError, match="newer acp-notebook"):
        open_database(NOTES, path)


def test_a_folder_in_its_place(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(DatabaseError, match="is no file"):
        open_database(NOTES, path)


def test_a_file_in_the_place_of_its_folder(path: Path) -> None:
    path.parent.touch()
    with pytest.raises(DatabaseError, match="cannot be used: Not a directory"):
        open_database(NOTES, path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_somebody_else(path: Path) -> None:
    with closing(open_database(NOTES, path)):
        pass
    os.chown(path, 12345, -1)
    with pytest.raises(DatabaseError, match="belongs to somebody else"):
        open_database(NOTES, path)


def test_a_connection_is_used_again_unless_the_file_has_gone(path: Path) -> None:
    first = open_database(NOTES, path)
    give_back(first, NOTES, path)
    again = open_database(NOTES, path)
    assert again is first
    give_back(again, NOTES, path)
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()
    with closing(open_database(NOTES, path)) as fresh:
        assert fresh is not first and path.exists()
    first.close()


def test_a_number_is_held_by_one(tmp_path: Path) -> None:
    locks = tmp_path / "locks"
    release = hold(locks, 7)
    assert release is not None and hold(locks, 7) is None
    code = "import sys; from pathlib import Path; from acp_notebook.database import hold"
    code += "; print([hold(Path(sys.argv[1]), n) is None for n in (7, 8)])"
    command = [sys.executable, "-c", code, str(locks)]
    assert subprocess.check_output(command, text=True).strip() == "[True, False]"
    release()
    assert subprocess.check_output(command, text=True).strip() == "[False, False]"


def test_two_processes_write_at_once_and_nothing_is_lost(path: Path) -> None:
    code = textwrap.dedent("""
        import sys
        from pathlib import Path
        from acp_notebook.database import Tables, open_database
        tables = Tables("notes", ("CREATE TABLE notes (text TEXT) STRICT",))
        connection = open_database(tables, Path(sys.argv[1]))
        print("ready", flush=True)
        for n in range(200):
            connection.execute("INSERT INTO notes VALUES (?)", (str(n),))
        connection.close()
    """)
    command = [sys.executable, "-c", code, str(path)]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for writer in writers:
        out, _ = writer.communicate(timeout=60)
        assert writer.returncode == 0 and out == "ready\n"
    with closing(open_database(NOTES, path)) as connection:
        assert connection.execute("SELECT count(*) FROM notes").fetchone() == (400,)
