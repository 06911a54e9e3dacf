"""Databases as sources: addresses, names, queries that only read, passwords that are never shown."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import duckdb
import pytest

from steelyard.errors import SourceError, UsageError
from steelyard.read.engines.database import is_database, name_parts, open_database, options, single_select
from steelyard.read.engines.join import meet


@pytest.fixture(params=["sqlite", "duckdb"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a file with a table t, without ?table=."""
    path = tmp_path / f"my runs.{request.param}"
    con: Any = (sqlite3 if request.param == "sqlite" else duckdb).connect(str(path))
    con.execute("CREATE TABLE t (id INTEGER, label VARCHAR, pred VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'a', 'a'), (2, 'a', 'b'), (3, 'b', 'b'), (4, 'A', 'b')")
    con.commit()
    con.close()
    return f"{request.param}:///{quote(str(path))}"


def test_table_and_query(stored: str) -> None:
    whole = open_database(f"{stored}?table=t", {})
    assert whole.tabulate(["truth", "prediction"]) == [("A", "b", 1), ("a", "a", 1), ("a", "b", 1), ("b", "b", 1)]
    part = open_database(f"new={stored}?query=SELECT id, label, pred FROM t WHERE id+0 < 3 -- a comment", {})
    assert part.tabulate(["truth", "prediction"]) == [("a", "a", 1), ("a", "b", 1)]
    assert (whole.name, part.name) == ("t", "new")


def test_a_query_meets_a_table(stored: str) -> None:
    whole = open_database(f"{stored}?table=t", {})
    part = open_database(f"{stored}?query=WITH x AS (SELECT * FROM t) SELECT id, label, 'a' AS pred FROM x WHERE id < 4", {})
    found = meet(whole, part)
    assert found is not None
    assert found.cells == {("a", "a", "a"): 1, ("a", "b", "a"): 1, ("b", "b", "a"): 1}
    assert found.report.example_baseline_only == ("4",)


def test_two_files_are_two_places(stored: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(Path(next(tmp_path.glob("my runs.*"))).read_bytes())
    there = f"{stored.partition(':')[0]}:///{quote(str(copy))}"
    a, b = (open_database(f"{url}?table=t", {}) for url in (stored, there))
    assert meet(a, b) is None  # so the items are read, and met here
    assert a.items().n == b.items().n == 4


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM t",
        "DROP TABLE t",
        "SELECT 1; DROP TABLE t",
        "INSERT INTO t VALUES (9, 'x', 'y')",
        "",
        " -- nothing",
        "PRAGMA user_version = 3",
    ],
)
def test_what_is_no_single_select_is_refused(stored: str, query: str) -> None:
    with pytest.raises(UsageError):
        open_database(f"{stored}?query={query}", {})


@pytest.mark.parametrize(
    "query", ["SELECT * FROM t) AS r; DROP TABLE t; SELECT (1", "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x"]
)
def test_what_gets_past_the_first_look_changes_nothing(stored: str, query: str) -> None:
    with pytest.raises((SourceError, UsageError)):
        open_database(f"{stored}?query={query}", {})
    assert open_database(f"{stored}?table=t", {}).n == 4


def test_a_name_is_never_sql(stored: str) -> None:
    for table in ('t"; DROP TABLE t; --', "t; DROP TABLE t", 't" JOIN t AS "u'):
        with pytest.raises((SourceError, UsageError)):
            open_database(f"{stored}?table={quote(table)}", {})
    assert open_database(f"{stored}?table=t", {}).n == 4


def test_unknown_table_and_column(stored: str) -> None:
    with pytest.raises(SourceError, match=r"the table 'runs' of the (sqlite|duckdb) database"):
        open_database(f"{stored}?table=runs", {})
    with pytest.raises(UsageError, match=r"No column 'gold' for truth=; the columns are 'id', 'label', 'pred'\."):
        open_database(f"{stored}?table=t", {"truth": "gold"})


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_what_is_no_database_is_refused_and_not_made(kind: str, tmp_path: Path) -> None:
    missing = tmp_path / "none.db"
    with pytest.raises(SourceError, match="No such file"):
        open_database(f"{kind}:///{missing}?table=t", {})
    assert not missing.exists()
    (tmp_path / "a.csv").write_text("id,label,pred\n1,a,a\n")
    with pytest.raises(SourceError, match="it is not a"):
        open_database(f"{kind}:///{tmp_path / 'a.csv'}?table=t", {})


def test_relative_paths(stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, name = stored.partition(":")[0], next(tmp_path.glob("my runs.*")).name
    monkeypatch.chdir(tmp_path)
    assert open_database(f"{kind}:///{quote(name)}?table=t", {}).n == 4


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///a.db",
        "sqlite:///a.db?table=t&query=SELECT 1",
        "sqlite:///?table=t",
        "sqlite://host/a.db?table=t",
        "duckdb:///a.db?mode=rw&table=t",
        "postgresql://h:port/db?table=t",
        "mysql://h/db?table=t",
    ],
)
def test_addresses_that_cannot_be(url: str) -> None:
    with pytest.raises(UsageError):
        open_database(url, {})


def test_labels_that_differ_by_case_stay_apart(tmp_path: Path) -> None:
    """A column may be declared to find A equal to a. Labels are not."""
    for kind in ("sqlite", "duckdb"):
        path = tmp_path / f"case.{kind}"
        con: Any = (sqlite3 if kind == "sqlite" else duckdb).connect(str(path))
        con.execute("CREATE TABLE t (id VARCHAR COLLATE NOCASE, label VARCHAR COLLATE NOCASE, pred VARCHAR COLLATE NOCASE)")
        con.execute("INSERT INTO t VALUES ('x', 'a', 'A'), ('X', 'A', 'A')")
        con.commit()
        con.close()
        source, again = (open_database(f"{kind}:///{path}?table=t", {}) for _ in range(2))
        assert source.tabulate(["truth", "prediction"]) == [("A", "A", 1), ("a", "A", 1)]
        found = meet(source, again)
        assert found is not None
        assert found.cells == {("A", "A", "A"): 1, ("a", "A", "A"): 1}


def test_sqlite_columns_of_several_types(tmp_path: Path) -> None:
    path = tmp_path / "loose.db"
    con = sqlite3.connect(path)
    con.execute("CREATE TABLE t (id, label, pred, score)")
    con.execute("INSERT INTO t VALUES (1, 'a', 'a', 1), (2, 1, 'a', 0.5), (3, '1', 'b', 0)")
    con.commit()
    con.close()
    source = open_database(f"sqlite:///{path}?table=t", {})
    assert source.tabulate(["score"]) == [(0.0, 1), (0.5, 1), (1.0, 1)]
    with pytest.raises(ValueError, match="spelled in several ways"):
        source.tabulate(["truth", "prediction"])


def test_one_state_of_the_data(tmp_path: Path) -> None:
    """What is written after opening is not seen: all queries of a source see one state."""
    path = tmp_path / "wal.db"
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("PRAGMA journal_mode = WAL")
    con.execute("CREATE TABLE t (id, score)")
    con.execute("INSERT INTO t VALUES (1, 1), (2, 0)")
    source = open_database(f"sqlite:///{path}?table=t", {})
    con.execute("INSERT INTO t VALUES (3, 1)")
    con.close()
    assert source.tabulate(["score"]) == [(0.0, 1), (1.0, 1)]


def test_pieces_of_addresses() -> None:
    assert is_database("old=postgresql://h/db?table=t")
    assert not is_database("runs/sqlite/a.csv")
    assert options("table=a%20b&sslmode=require") == {"table": "a b", "sslmode": "require"}
    assert name_parts('s."t.u ""v"""') == ["s", 't.u "v"']
    for wrong in ("", "a.", ".a", 'a"b', '"a"b', '"'):
        with pytest.raises(UsageError, match="name of a table"):
            name_parts(wrong)
    assert single_select("/* ; */ SELECT ';', \";\", $q$;$q$ ;; ") == "/* ; */ SELECT ';', \";\", $q$;$q$"


# ---- PostgreSQL ----------------------------------------------------------------------------------------------------------


@pytest.mark.needs_system
def test_postgres_refuses_to_write(postgres: str) -> None:
    import psycopg

    with psycopg.connect(postgres) as con:
        con.execute("CREATE SCHEMA w")
        con.execute("CREATE TABLE w.t AS SELECT 1 AS id, 'a' AS label, 'a' AS pred")
        con.execute("CREATE FUNCTION w.add() RETURNS int LANGUAGE sql AS 'INSERT INTO w.t VALUES (2) RETURNING 2'")
    with pytest.raises(SourceError, match="read-only transaction"):
        open_database(f"{postgres}?query=SELECT w.add() AS id, 'a' AS label, 'b' AS pred", {}).tabulate(["truth"])
    with pytest.raises(SourceError):
        open_database(f"{postgres}?query=WITH x AS (DELETE FROM w.t RETURNING *) SELECT * FROM x", {})
    with pytest.raises(SourceError, match="autocommit"):
        open_database(f"{postgres}?autocommit=true&table=w.t", {})
    assert open_database(f"{postgres}?table=w.t", {}).n == 1


@pytest.mark.needs_system
def test_postgres_never_shows_the_password(postgres: str, capsys: pytest.CaptureFixture[str]) -> None:
    import psycopg

    password = str(urlsplit(postgres).password)
    with psycopg.connect(postgres) as con:
        con.execute("CREATE TABLE shown AS SELECT 1 AS id, 1.0 AS score")
        con.execute(f'CREATE TABLE "{password}" (id int)')  # an error of the server that names the password
    source = open_database(f"{postgres}?table=shown", {})
    said = [repr(source), repr(source.table), str(source.name), repr(vars(source.table)), str(source.table.place.key)]
    for url in (
        postgres.replace(password, password + "x") + "?table=shown",
        f"{postgres}?table=nothing",
        f"{postgres}?query=SELECT id/0 FROM \"{password}\" WHERE 'x' = {password}",
        postgres.replace("127.0.0.1", "127.0.0.2").replace(":", ":", 1) + "?table=shown",
        f"{postgres}?table=shown&connect_timeout=x",
    ):
        with pytest.raises((SourceError, UsageError)) as caught:
            open_database(url, {})
        said += [str(caught.value), repr(caught.value), str(caught.value.__cause__)]
    said += list(capsys.readouterr())
    assert not [text for text in said if password in text]


@pytest.mark.needs_system
def test_postgres_types(postgres: str) -> None:
    import psycopg

    with psycopg.connect(postgres) as con:
        con.execute("CREATE TYPE mood AS ENUM ('happy', 'sad')")
        con.execute(
            "CREATE TABLE kinds AS SELECT i AS id, CAST(i % 2 AS numeric(4,2)) AS score, CAST(i / 3.0 AS real) AS probability, "
            "CAST(CASE WHEN i % 2 = 0 THEN 'happy' ELSE 'sad' END AS mood) AS label, CAST('sad' AS char(5)) AS pred, "
            "DATE '2026-01-01' + i AS day, ARRAY[i] AS tags FROM generate_series(1, 4) AS i"
        )
    source = open_database(f"{postgres}?table=kinds", {"by": ("day",)})
    assert source.tabulate(["truth", "prediction"]) == [("happy", "sad", 2), ("sad", "sad", 2)]
    assert source.tabulate(["score"]) == [(0.0, 2), (1.0, 2)]
    assert [cell[0] for cell in source.tabulate(["truth"], by="day")] == ["2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05"]
    import numpy as np

    assert source.tabulate(["probability"]) == [(float(np.float32(i / 3)), 1) for i in range(1, 5)]
    with pytest.raises(ValueError, match="The column 'tags' of the table 'kinds' of the postgresql database must be text,"):
        open_database(f"{postgres}?table=kinds", {"truth": "tags"}).tabulate(["truth"])


@pytest.mark.needs_system
def test_postgres_by_socket_and_with_escapes(postgres: str) -> None:
    """Percent signs in a password and a socket directory in host= are read as libpq reads them."""
    import psycopg

    with psycopg.connect(postgres) as con:
        con.execute("CREATE ROLE reader LOGIN PASSWORD 'p@ss/w%rd'")
        con.execute("CREATE TABLE small AS SELECT 1 AS id, 1.0 AS score")
        con.execute("GRANT SELECT ON small TO reader")
        directory = str(con.execute("SHOW unix_socket_directories").fetchone()[0])  # type: ignore[index]
    parts = urlsplit(postgres)
    url = (
        f"postgresql://reader:{quote('p@ss/w%rd', safe='')}@/{parts.path[1:]}?host={quote(directory)}&port={parts.port}&table=public.small"
    )
    if os.path.isdir(directory):
        assert open_database(url, {}).n == 1
