"""A SQLite history is more than one file while it is open."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from answers import Command


def test_the_write_ahead_log_of_a_history_is_not_overwritten(runs: Path, steelyard: Command) -> None:
    assert steelyard("check", "b.jsonl", "--task", "t", "--model", "m", "--history", "sqlite:///h.db").code == 0
    with closing(sqlite3.connect("h.db")) as other:
        other.execute("PRAGMA journal_mode = wal")
        other.execute("CREATE TABLE notes (text)")
        other.commit()
        before = Path("h.db-wal").read_bytes()
        done = steelyard("history", "--history", "sqlite:///h.db", "-o", "h.db-wal")
        assert Path("h.db-wal").read_bytes() == before
    assert done.code == 3
