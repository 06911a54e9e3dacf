"""A night that is killed while it is written: the history is as it was, and the same command decides the night once."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import steelyard_old as sy
from questions.suite.test_budget import URL, Nights
from steelyard_old.estimate.past.nights import nights_of, replay
from steelyard_old.history.nights import events_of
from steelyard_old.history.store import open_history

# A process of its own, which ends itself by SIGKILL at the second of two statements of the night's transaction.
KILLED = """
import os, signal, sys
import steelyard_old as sy
from steelyard_old.history.connections import SqliteHistory
run = SqliteHistory.run
seen = False
def killed(self, sql, values=()):
    global seen
    if seen and sql.startswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    seen = seen or sql.startswith(sys.argv[1])
    return run(self, sql, values)
SqliteHistory.run = killed
sy.check_suite("suite.toml", history="sqlite:///runs.db", night="killed")
"""
POINTS = {
    "between the runs": ("INSERT INTO steelyard_runs", "INSERT INTO steelyard_runs"),
    "after all writes, before they count": ("INSERT INTO steelyard_watches", "COMMIT"),
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written() -> tuple[int, int, int]:
    """Events, runs and lists of values that anybody can see."""
    with sqlite3.connect("runs.db") as con:
        tables = ("steelyard_nights", "steelyard_runs", "steelyard_night_values")
        counts = [con.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in tables]
    return counts[0], counts[1], counts[2]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_night_is_not_half_there_and_is_decided_once() -> None:
    nights = Nights(tasks=2, items=40)
    nights.several(2)
    nights.write()
    before = written()
    for first, second in POINTS.values():
        made = subprocess.run(
            [sys.executable, "-c", KILLED, first, second],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == -signal.SIGKILL, made.stderr[-500:]
        assert written() == before
    found = sy.check_suite("suite.toml", history=URL, night="killed")
    again = sy.check_suite("suite.toml", history=URL, night="killed")
    assert found.nights is not None
    assert again.nights is not None
    assert (found.nights.retry, again.nights.retry) == (False, True)
    assert found.nights.nights == again.nights.nights == 3
    assert found.nights.evidence == again.nights.evidence
    after = written()
    assert (after[0], after[1]) == (before[0] + 1, before[1] + 2)
    with open_history(URL) as store:
        assert [event.night for event in events_of(store, "main") if event.kind == "night"] == ["n1", "n2", "killed"]
        assert replay(nights_of(store, "main")).decisions[-1].evidence == pytest.approx(found.nights.evidence, rel=1e-9)
