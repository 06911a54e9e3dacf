"""The series of a history, against counting them by hand; by pages, on SQLite and on PostgreSQL."""

from __future__ import annotations

import random
import sqlite3
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from steelyard.errors import UsageError
from steelyard.history.overview import before, names_in, series_page
from steelyard.history.schema import VERSION
from steelyard.history.store import open_history
from steelyard.results.history import PastRun
from steelyard.results.verdict import Verdict

START = datetime(2026, 1, 1, tzinfo=UTC)


def filled(url: str, many: int = 60) -> dict[tuple[str, str, str, str], list[PastRun]]:
    """Runs of random series at random times, and the same kept in a dictionary."""
    rng = random.Random(3)
    kept: dict[tuple[str, str, str, str], list[PastRun]] = defaultdict(list)
    with open_history(url) as history:
        for _ in range(many):
            task, model = rng.choice(["a", "b", "it's"]), rng.choice(["m", "ü"])
            spec = rng.choice([{}, {"tp": "2"}])
            facts = {"candidate": {"value": rng.random()}, "metric": rng.choice(["accuracy", "f1"]), "n": 10}
            found = Verdict(verdict=rng.choice(["pass", "regression"]), task=task, model=model, spec=spec, signature="x", **facts)  # type: ignore[arg-type]
            run = history.append(found, time=START + timedelta(hours=rng.randrange(20)))
            kept[(run.task, run.model, str(dict(run.spec)), run.metric)].append(run)
    return {key: sorted(runs, key=lambda run: (run.time, run.id)) for key, runs in kept.items()}


def test_every_series_once_the_newest_first_with_its_newest_runs(url: str) -> None:
    kept = filled(url)
    with open_history(url) as history:
        found = []
        for skip in range(0, 40, 5):
            lines, total = series_page(history, limit=5, skip=skip, drawn=3)
            assert total == len(kept)
            found += lines
        assert len(found) == len(kept)
        for line in found:
            own = kept.pop((line.task, line.model, str(dict(line.spec)), line.metric))
            assert line.runs == len(own)
            assert [run.id for run in line.newest] == [run.id for run in own[-3:]]
            assert line.last.id == own[-1].id
            assert line.judged == line.last
        newest = [(line.last.time, line.last.id) for line in found]
        assert newest == sorted(newest, reverse=True)
        assert names_in(history, "task") == ["a", "b", "it's"]
        assert set(names_in(history, "model")) == {"m", "ü"}
        for run in (run for runs in filled(url).values() for run in runs[:1]):
            older = before(history, run)
            assert older is None or (older.time, older.id) < (run.time, run.id)


def test_series_by_the_verdict_of_their_last_judged_run(url: str) -> None:
    kept = filled(url)
    with open_history(url) as history:
        for verdict in ("pass", "regression", "inconclusive"):
            for asked in ({}, {"task": "a"}, {"task": "it's", "model": "ü"}):
                lines, total = series_page(history, verdict=verdict, limit=200, **asked)  # type: ignore[arg-type]
                expected = {
                    key
                    for key, runs in kept.items()
                    if runs[-1].verdict == verdict and all(value == key[0 if name == "task" else 1] for name, value in asked.items())
                }
                assert {(line.task, line.model, str(dict(line.spec)), line.metric) for line in lines} == expected
                assert total == len(expected)


def test_the_run_before_is_of_the_same_series(sqlite_url: str) -> None:
    kept = filled(sqlite_url)
    with open_history(sqlite_url) as history:
        for runs in kept.values():
            for older, run in zip([None, *runs], runs, strict=False):
                found = before(history, run)
                assert (None if found is None else found.id) == (None if older is None else older.id)


def test_filters_and_what_cannot_be_asked(sqlite_url: str) -> None:
    kept = filled(sqlite_url)
    with open_history(sqlite_url) as history:
        lines, total = series_page(history, task="a", model="m", metric="f1")
        assert total == len(lines) == len([key for key in kept if key[0] == "a" and key[1] == "m" and key[3] == "f1"])
        assert series_page(history, task="nothing") == ([], 0)
        for bad in ({"limit": 0}, {"limit": 201}, {"skip": -1}):
            with pytest.raises(UsageError, match="A page lists 1 to"):
                series_page(history, **bad)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="The names of tasks and of models"):
            names_in(history, 'task" --')


def test_a_series_of_records_has_no_verdict(sqlite_url: str) -> None:
    from steelyard.results.verdict import Recorded

    done = Recorded(
        task="t", model="m", spec={}, metric="accuracy", scale="fraction", value=0.5, n=10, runs=1, file="t.yaml", signature="x"
    )
    with open_history(sqlite_url) as history:
        history.append(done)
        (line,), _ = series_page(history)
    assert line.judged is None


def test_an_overview_in_sqlite_reads_one_index_and_no_run(sqlite_url: str) -> None:
    """The runs hold whole answers: a hundred thousand of them are not read to show twenty-five lines."""
    filled(sqlite_url)
    with open_history(sqlite_url) as history:
        asked: list[str] = []
        ask = history._place.run
        history._place.run = lambda sql, values=(): asked.append(sql) or ask(sql, values)  # type: ignore[func-returns-value,method-assign]
        assert series_page(history)[0]
        assert series_page(history, verdict="pass", task="a")[0]
        history._place.run = ask  # type: ignore[method-assign]
        queries = [sql for sql in asked if sql.startswith("SELECT")]
        assert len(queries) > 4
        for sql in queries:
            plan = [str(row[-1]) for row in ask(f"EXPLAIN QUERY PLAN {sql}", ["x"] * sql.count("?"))]
            reads = [step for step in plan if "steelyard_runs" in step or " r " in step]
            assert reads
            assert all("COVERING INDEX steelyard_runs_by_series" in step for step in reads), plan


def test_a_history_of_before_is_not_changed_by_reading_and_gets_its_index_with_the_next_run(tmp_path: Path) -> None:
    """An index is kept by the database, whoever writes: it needs no version, and an older steelyard goes on with the file."""
    path, url = tmp_path / "runs.db", f"sqlite:///{tmp_path / 'runs.db'}"
    kept = filled(url)
    with sqlite3.connect(path) as con:
        con.execute("DROP INDEX steelyard_runs_by_series")
    con.close()
    with open_history(url) as history:
        before_it = series_page(history, limit=200)
        assert history._place.run("SELECT 1 FROM sqlite_master WHERE name = 'steelyard_runs_by_series'") == []
        assert len(before_it[0]) == len(kept)
        history.append(
            Verdict(verdict="pass", task="new", model="m", spec={}, signature="x", candidate={"value": 1.0}, metric="f1", n=1), time=START
        )
        assert history._place.run("SELECT 1 FROM sqlite_master WHERE name = 'steelyard_runs_by_series'") == [(1,)]
        assert [line for line in series_page(history, limit=200)[0] if line.task != "new"] == before_it[0]
        assert history.version == VERSION
