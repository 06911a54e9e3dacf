"""Spark: frames and files counted by a real cluster, through a classic master and through Spark Connect, and with a worker killed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from steelyard.errors import SourceError, UsageError
from steelyard.read.doors import open_source
from steelyard.read.joining import meet
from steelyard.read.sql.spark import is_spark_frame, open_on_spark, spark_compare, spark_files, spark_session, spark_source

ROWS = 40_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on the same items as Parquet (two files each), CSV and JSON Lines."""
    home = tmp_path_factory.mktemp("files")
    with duckdb.connect() as con:
        for run, shift in (("a", 3), ("b", 5)):
            truth = "hash(i) % 4"
            con.execute(
                f"CREATE TABLE {run} AS SELECT 'item ' || i AS id, 'c' || {truth} AS truth, "
                f"'c' || CASE WHEN hash(i, {shift}) % 10 < {shift} THEN hash(i, {shift}) % 4 ELSE {truth} END AS prediction "
                f"FROM range({ROWS}) AS t(i) ORDER BY hash(i, {shift})"
            )
            (home / run).mkdir()
            for part in (0, 1):
                target = home / run / f"{part}.parquet"
                con.execute(f"COPY (SELECT * FROM {run} WHERE hash(id) % 2 = {part}) TO '{target}' (FORMAT parquet)")
            con.execute(f"COPY {run} TO '{home / run}.csv' (HEADER)")
            con.execute(f"COPY {run} TO '{home / run}.jsonl' (FORMAT json)")
    return home


@pytest.mark.needs_system
@pytest.mark.parametrize("ending", ["/*.parquet", ".csv", ".jsonl"])
def test_files_on_the_cluster_equal_the_local_answer(spark: Any, files: Path, ending: str) -> None:
    frames = [spark_files(spark, [f"file://{files}/{run}{ending}"]) for run in "ab"]
    assert all(map(is_spark_frame, frames))
    found = spark_compare(frames[0], frames[1], {})
    local = meet(*(open_source(f"{files}/{run}/*.parquet", columns={}) for run in "ab"))
    assert found is not None
    assert local is not None
    assert found.cells == local.cells
    assert found.report == local.report
    assert sum(found.cells.values()) == ROWS


@pytest.mark.needs_system
def test_a_path_on_the_cluster(spark: Any, cluster: Any, files: Path) -> None:
    assert spark.sparkContext.master == cluster.url  # which the call below finds running
    named, plain = (open_on_spark(f"{name}file://{files}/b.csv", {}, master=cluster.url) for name in ("new=", ""))
    assert (named.name, plain.name) == ("new", "b")
    assert named.tabulate(["truth", "prediction"]) == open_source(f"{files}/b.csv", columns={}).tabulate(["truth", "prediction"])


@pytest.mark.needs_system
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_a_worker_killed_in_the_middle_of_a_job(spark: Any, cluster: Any) -> None:
    """Spark runs the lost tasks again elsewhere: every row is counted, and counted once."""
    from pyspark.sql.functions import udf

    def slowly(x: int) -> str:
        time.sleep(0.1)
        return f"label {x % 3}"

    frame = spark.range(0, 30, 1, 30).select(
        udf(slowly, useArrow=False)("id").alias("truth"), udf(slowly, useArrow=False)("id").alias("prediction")
    )
    source = spark_source(frame, {})
    killed = threading.Event()

    def kill() -> None:
        tracker = spark.sparkContext.statusTracker()
        for _ in range(600):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            if any(stage is not None and stage.numCompletedTasks >= 4 for stage in stages):
                cluster.kill_worker()
                killed.set()
                return
            time.sleep(0.02)

    watch = threading.Thread(target=kill)
    watch.start()
    try:
        cells = source.tabulate(["truth", "prediction"])
    finally:
        watch.join()
        cluster.replace_worker()
    assert killed.is_set()
    assert cells == [(f"label {i}", f"label {i}", 10) for i in range(3)]


@pytest.mark.needs_system
def test_faults_of_the_cluster_are_told_in_a_line(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "no.parquet").write_text("id,truth,prediction\n1,a,a\n")
    with pytest.raises(SourceError) as caught:
        spark_source(spark_files(spark, [f"file://{tmp_path}/no.parquet"]), {})
    assert "\n" not in str(caught.value)
    with pytest.raises(SourceError, match="PATH_NOT_FOUND"):
        spark_files(spark, [f"file://{tmp_path}/none.parquet"])
    broken = spark.range(5).selectExpr("id", "CAST(raise_error('row ' || id) AS DOUBLE) AS score")
    with pytest.raises(SourceError, match=r"row \d"):
        spark_source(broken, {}).tabulate(["score"])


@pytest.mark.needs_system
def test_views_are_dropped_with_their_source(spark: Any) -> None:
    source = spark_source(spark.range(3).selectExpr("id", "1.0 AS score"), {})
    named = [table.name for table in spark.catalog.listTables() if table.name.startswith("steelyard_")]
    assert source.table.relation.strip("`") in named
    gone = source.table.relation.strip("`")
    del source
    assert gone not in [table.name for table in spark.catalog.listTables()]


@pytest.mark.needs_system
def test_spark_connect_gives_the_same_cells(connect_url: str, files: Path) -> None:
    """In a process of its own: a classic session and Spark Connect do not live in one."""
    script = """
import json, sys
from steelyard.read.sql.spark import spark_compare, spark_files, spark_session, spark_source
session = spark_session(remote=sys.argv[1])
frames = [spark_files(session, [f"file://{sys.argv[2]}/{run}/*.parquet"]) for run in "ab"]
found = spark_compare(frames[0], frames[1], {})
one = spark_source(frames[0], {}).tabulate(["truth", "prediction"])
print(json.dumps([sorted([*key, count] for key, count in found.cells.items()), found.report.matched, one]))
session.stop()
"""
    done = subprocess.run([sys.executable, "-c", script, connect_url, str(files)], capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    cells, matched, one = json.loads(done.stdout.splitlines()[-1])
    local = meet(*(open_source(f"{files}/{run}/*.parquet", columns={}) for run in "ab"))
    assert local is not None
    assert cells == sorted([*key, count] for key, count in local.cells.items())
    assert matched == ROWS
    assert [tuple(cell) for cell in one] == open_source(f"{files}/a/*.parquet", columns={}).tabulate(["truth", "prediction"])


def test_what_cannot_be_asked_of_spark() -> None:
    with pytest.raises(UsageError, match="--master"):
        spark_session()
    with pytest.raises(UsageError, match="--master"):
        spark_session(master="local", remote="sc://host")
    with pytest.raises(UsageError, match="need a pyspark DataFrame"):
        spark_source([1, 2], {})
    with pytest.raises(SourceError, match=r"endings \.csv, \.parquet"):
        spark_files(None, ["a.csv", "b.parquet"])
    with pytest.raises(SourceError, match=r"endings \.xlsx"):
        spark_files(None, ["a.xlsx"])
