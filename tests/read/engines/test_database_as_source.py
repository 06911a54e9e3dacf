"""A database is a source like a file: the questions answer the same, and a URL is never shown."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

import steelyard as sy
from steelyard.errors import SteelyardError

Rows = list[tuple[str, str, str, int]]


def rows(seed: int) -> Rows:
    draw = random.Random(seed)
    out = []
    for i in range(500):
        truth = "abc"[i % 3]
        guess = truth if draw.random() < 0.8 else draw.choice("abc")
        out.append((f"q{i}", truth, guess, int(guess == truth)))
    return out


def to_csv(path: Path, data: Rows) -> str:
    path.write_text("id,truth,prediction,weighty\n" + "".join(",".join(map(str, row)) + "\n" for row in data))
    return str(path)


def to_sqlite(path: Path, tables: dict[str, Rows]) -> None:
    con = sqlite3.connect(path)
    for name, data in tables.items():
        con.execute(f"CREATE TABLE {name} (id TEXT, truth TEXT, prediction TEXT, weighty INTEGER)")
        con.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", data)
    con.commit()
    con.close()


def to_duckdb(path: Path, tables: dict[str, Rows]) -> None:
    con = duckdb.connect(str(path))
    for name, data in tables.items():
        con.execute(f"CREATE TABLE {name} (id TEXT, truth TEXT, prediction TEXT, weighty INTEGER)")
        columns = ", ".join(f"unnest(${place})" for place in (1, 2, 3, 4))
        con.execute(f"INSERT INTO {name} SELECT {columns}", [list(column) for column in zip(*data, strict=True)])
    con.close()


def plain(answer: Any) -> dict[str, Any]:
    """The answer without names, and without the items that changed, which an engine keeps to itself."""
    found = answer.to_dict()
    text = json.dumps({key: value for key, value in found.items() if key not in ("name", "telling_items", "conclusion", "roles")})
    return json.loads(text.replace('"new"', '"b"').replace('"old"', '"a"'))


@pytest.fixture(params=["sqlite", "duckdb"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / f"runs.{request.param}"
    {"sqlite": to_sqlite, "duckdb": to_duckdb}[request.param](path, {"a": rows(1), "b": rows(2)})
    return f"{request.param}:///{path}"


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "mcc"])
def test_measure_is_that_of_the_file(place: str, tmp_path: Path, metric: str) -> None:
    file = sy.measure(to_csv(tmp_path / "a.csv", rows(1)), metric=metric)
    assert plain(sy.measure(f"{place}?table=a", metric=metric)) == plain(file)
    assert sy.measure(f"{place}?query=SELECT * FROM a WHERE weighty = 1", metric="accuracy").estimate == 1.0


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1"])
def test_compare_is_that_of_the_files(place: str, tmp_path: Path, metric: str) -> None:
    a, b = to_csv(tmp_path / "a.csv", rows(1)), to_csv(tmp_path / "b.csv", rows(2))
    found, file = sy.compare(f"{place}?table=a", f"{place}?table=b", metric=metric), sy.compare(a, b, metric=metric)
    assert found.difference.estimate == file.difference.estimate
    assert found.p_value == file.p_value
    assert found.flips == file.flips


@pytest.mark.needs_system
def test_postgresql_too(postgres: str, tmp_path: Path) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as con:
        for name, data in (("a", rows(1)), ("b", rows(2))):
            con.execute(f"CREATE TABLE door_{name} (id TEXT, truth TEXT, prediction TEXT, weighty INTEGER)")
            con.cursor().executemany(f"INSERT INTO door_{name} VALUES (%s, %s, %s, %s)", data)
    a, b = to_csv(tmp_path / "a.csv", rows(1)), to_csv(tmp_path / "b.csv", rows(2))
    join = "&" if "?" in postgres else "?"
    found, file = sy.compare(f"{postgres}{join}table=door_a", f"{postgres}{join}table=door_b"), sy.compare(a, b)
    assert (found.difference.estimate, found.p_value, found.flips) == (file.difference.estimate, file.p_value, file.flips)


def test_rows_without_ids_are_not_paired_by_an_order_they_do_not_have(place: str) -> None:
    with pytest.raises(SteelyardError, match="id"):
        sy.compare(f"{place}?query=SELECT truth, prediction FROM a", f"{place}?query=SELECT truth, prediction FROM b")


def test_a_password_is_never_shown() -> None:
    url = "postgresql://somebody:verysecret@127.0.0.1:1/nowhere?table=t"
    ran = subprocess.run([sys.executable, "-m", "steelyard", "measure", url], capture_output=True, text=True, check=False)
    assert ran.returncode == 3
    assert ran.stderr.startswith("error: ")
    assert "verysecret" not in ran.stdout + ran.stderr


@pytest.mark.parametrize("query", ["DELETE FROM a", "SELECT 1; DROP TABLE a", "UPDATE a SET truth = 'x'", "SELECT nothing FROM a"])
def test_what_is_no_question_is_refused_and_changes_nothing(place: str, query: str) -> None:
    with pytest.raises(SteelyardError):
        sy.measure(f"{place}?query={query}")
    assert sy.measure(f"{place}?table=a", metric="accuracy").n == 500


def test_log_choices_mean_nothing_to_a_database(place: str) -> None:
    with pytest.raises(SteelyardError, match="filter"):
        sy.measure(f"{place}?table=a", filter="strict-match")
