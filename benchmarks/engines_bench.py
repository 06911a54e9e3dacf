"""One comparison on three engines: two tables met by id and counted on DuckDB, PostgreSQL and a Spark cluster of two workers.

    python -m benchmarks engines          # 10,000,000 rows, about a quarter of an hour; --quick: 1,000,000
    STEELYARD_BENCH_ENGINES=duckdb,postgresql STEELYARD_BENCH_ROWS=2500000 python -m benchmarks engines

For each engine, after a run to warm up: ours, from the sources to the joint table; the SQL that ours runs (the pairing check, then
the join), sent by hand; and the bare JOIN and GROUP BY. Seconds on the wall, because other processes do the work; the load of the
machine is printed with them; up to 2,000,000 rows the median of three rounds. All cells must be equal, cell by cell. The servers
are those of the tests, started here and stopped at the end.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.timing import Row, Unmeasured, Wrong, scratch, seconds

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from read.engines.servers import start_cluster, start_postgres, stop_cluster, stop_postgres
from steelyard.read.engines import portable
from steelyard.read.engines.database import open_database
from steelyard.read.engines.join import meet
from steelyard.read.engines.spark import spark_files, spark_session, spark_source
from steelyard.read.source import Source

CLASSES, LIMIT, FEW = 10, 1_000_000, 2_000_000
ENGINES = ("duckdb", "postgresql", "spark")
Cells = dict[tuple[str, str, str], int]
Run = Callable[[str], list[tuple[Any, ...]]]


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    n = int(os.environ.get("STEELYARD_BENCH_ROWS", 1_000_000 if quick else 10_000_000))
    engines = tuple(os.environ.get("STEELYARD_BENCH_ENGINES", ",".join(ENGINES)).split(","))
    for engine, package in (("postgresql", "psycopg"), ("spark", "pyspark")):
        if engine in engines and find_spec(package) is None:
            engines = tuple(each for each in engines if each != engine)
    if "spark" not in engines:
        yield Unmeasured(("engines.spark",), "Spark was left out, or pyspark is not installed (extra `spark`)")
    with scratch() as folder:
        home = Path(folder)
        home.chmod(0o755)  # the PostgreSQL server, which runs as another user, reads nothing here, but stat() must work
        write(home, n)
        expected: Cells | None = None
        for engine in engines:
            with PLACES[engine](home) as (run, relations, quoted, opened):
                for row, cells in timed(engine, n, run, relations, quoted, opened):
                    if expected is not None and cells != expected:
                        raise Wrong(f"{engine}: {row.what} gave other cells than {engines[0]}")
                    expected = cells
                    yield row


def write(home: Path, n: int) -> None:
    """Two runs on the same items in different orders: texts as ids, ten classes, four of five answers right."""
    with duckdb.connect() as con:
        for run, share in (("a", 80), ("b", 81)):
            truth = f"hash(i) % {CLASSES}"
            wrong = f"hash(i, {share}) % {CLASSES}"
            con.execute(
                f"COPY (SELECT 'item-' || i AS id, 'class ' || {truth} AS truth, "
                f"'class ' || CASE WHEN hash(i, 7, {share}) % 100 < {share} THEN {truth} ELSE {wrong} END AS prediction "
                f"FROM range({n}) AS t(i) ORDER BY hash(i, {share})) TO '{home / run}.parquet' (FORMAT parquet)"
            )


def timed(
    engine: str, n: int, run: Run, relations: list[str], quoted: Callable[[str], str], opened: Callable[[], list[Source]]
) -> Iterator[tuple[Row, Cells]]:
    key, truth, prediction = (f"r.{quoted(name)}" for name in ("id", "truth", "prediction"))
    a, b = relations
    check = portable.pairing(a, key, b, key)
    join = portable.cells(portable.joined(a, key, [truth, prediction], b, key, [prediction]), ["r.k0", "r.k1", "r.k2"], LIMIT)
    four = [f"r.k{place}" for place in range(4)]  # with the truth of both, which must agree
    whole = portable.cells(portable.joined(a, key, [truth, prediction], b, key, [truth, prediction]), four, LIMIT)
    counted: dict[str, Cells] = {}

    def bare() -> None:
        counted["bare"] = {(str(t), str(p), str(q)): int(count) for t, p, q, count in run(join)}

    def same() -> None:
        run(check)
        run(whole)

    def ours() -> None:
        met = meet(*opened())
        if met is None or met.report.matched != n:
            raise Wrong(f"{engine}: not all items met")
        counted["ours"] = dict(met.cells)

    same()  # not timed: executors started, code compiled, pages read
    if n <= FEW:
        ours()
    times: dict[str, list[float]] = {"ours": [], "same": [], "bare": []}
    for _ in range(3 if n <= FEW else 1):
        for name, call in (("ours", ours), ("same", same), ("bare", bare)):
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    taken = {name: statistics.median(each) for name, each in times.items()}
    if counted["bare"] != counted["ours"]:
        raise Wrong(f"{engine}: our cells are not those of the bare join")
    title = f"{engine}, {n:,} rows"
    goal = {"key": "engines.spark", "value": taken["ours"] - taken["same"]} if engine == "spark" else {}
    words = {"ours": seconds(taken["ours"])}
    yield (
        Row(what=f"{title}: beside bare join + GROUP BY", peer=seconds(taken["bare"]), times=(taken["ours"] / taken["bare"],), **words),
        counted["ours"],
    )
    yield (
        Row(
            what=f"{title}: beside the same SQL by hand",
            peer=seconds(taken["same"]),
            times=(taken["ours"] / taken["same"],),
            **words,
            **goal,
        ),
        counted["ours"],
    )


# ---- the engines -------------------------------------------------------------------------------------------------------


def double(name: str) -> str:
    return f'"{name}"'


@contextmanager
def on_duckdb(home: Path) -> Iterator[tuple[Run, list[str], Callable[[str], str], Callable[[], list[Source]]]]:
    path = home / "runs.duckdb"
    with duckdb.connect(str(path)) as con:
        for run in "ab":
            con.execute(f"CREATE TABLE {run} AS SELECT * FROM '{home / run}.parquet'")
    con = duckdb.connect(str(path), read_only=True)
    yield (
        lambda sql: con.execute(sql).fetchall(),
        ["a", "b"],
        double,
        lambda: [open_database(f"duckdb:///{path}?table={run}", {}) for run in "ab"],
    )
    con.close()


@contextmanager
def on_postgresql(home: Path) -> Iterator[tuple[Run, list[str], Callable[[str], str], Callable[[], list[Source]]]]:
    import psycopg

    held = start_postgres()
    try:
        with psycopg.connect(held["url"], autocommit=True) as con, duckdb.connect() as reader:
            for run in "ab":
                con.execute(f"CREATE UNLOGGED TABLE {run} (id text, truth text, prediction text)")  # type: ignore[arg-type]
                csv = home / f"{run}.csv"
                reader.execute(f"COPY (SELECT * FROM '{home / run}.parquet') TO '{csv}' (HEADER false)")
                with con.cursor().copy(f"COPY {run} FROM STDIN (FORMAT csv)") as copy, open(csv, "rb") as file:  # type: ignore[arg-type]
                    while part := file.read(1 << 20):
                        copy.write(part)
                csv.unlink()
            con.execute("VACUUM ANALYZE")
            yield (
                lambda sql: con.execute(sql).fetchall(),  # type: ignore[arg-type]
                ["a", "b"],
                double,
                lambda: [open_database(f"{held['url']}?table={run}", {}) for run in "ab"],
            )
    finally:
        stop_postgres(held)


@contextmanager
def on_spark(home: Path) -> Iterator[tuple[Run, list[str], Callable[[str], str], Callable[[], list[Source]]]]:
    held = start_cluster()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "2g",
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
    }
    try:
        session = spark_session(master=held["url"], settings=settings)
        session.sparkContext.setLogLevel("ERROR")
        for run in "ab":
            spark_files(session, [f"file://{home / run}.parquet"]).createOrReplaceTempView(run)

        def opened() -> list[Source]:
            return [spark_source(spark_files(session, [f"file://{home / run}.parquet"]), {}) for run in "ab"]

        yield lambda sql: [tuple(row) for row in session.sql(sql).collect()], ["a", "b"], lambda name: f"`{name}`", opened
        session.stop()
    finally:
        stop_cluster(held)


PLACES = {"duckdb": on_duckdb, "postgresql": on_postgresql, "spark": on_spark}
