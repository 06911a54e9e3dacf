"""Spark: frames and files counted by a real cluster, through a classic master and through Spark Connect, and with a worker killed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from steelyard.cli.main import main
from steelyard.errors import SourceError, UsageError
from steelyard.read.engines.join import meet
from steelyard.read.engines.spark import is_spark_frame, open_on_spark, spark_files, spark_session, spark_source
from steelyard.read.open_source import open_source

ROWS = 4_000


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
    found = meet(*(spark_source(frame, {}) for frame in frames))
    local = meet(*(open_source(f"{files}/{run}/*.parquet", columns={}) for run in "ab"))
    assert found is not None
    assert local is not None
    assert found.cells == local.cells
    assert found.report == local.report
    assert sum(found.cells.values()) == ROWS


@pytest.mark.needs_system
def test_a_path_on_the_cluster(spark: Any, files: Path) -> None:
    master = spark.sparkContext.master  # which the call below finds running
    named, plain = (open_on_spark(f"{name}file://{files}/b.csv", {}, master=master) for name in ("new=", ""))
    assert (named.name, plain.name) == ("new", "b")
    assert named.tabulate(["truth", "prediction"]) == open_source(f"{files}/b.csv", columns={}).tabulate(["truth", "prediction"])


@pytest.mark.needs_system
def test_faults_of_the_cluster_are_told_in_a_line(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "no.parquet").write_text("id,truth,prediction\n1,a,a\n")
    with pytest.raises(SourceError) as caught:
        spark_source(spark_files(spark, [f"file://{tmp_path}/no.parquet"]), {})
    assert "\n" not in str(caught.value)
    with pytest.raises(SourceError, match="PATH_NOT_FOUND"):
        spark_files(spark, [f"file://{tmp_path}/none.parquet"])
    with pytest.raises(SourceError) as caught:
        spark_files(spark, ["nowhere://key:verysecret@bucket/run.parquet"])
    assert "verysecret" not in str(caught.value)
    broken = spark.range(5).selectExpr("id", "CAST(raise_error('row ' || id) AS DOUBLE) AS score")
    with pytest.raises(SourceError, match=r"row \d"):
        spark_source(broken, {}).tabulate(["score"])


@pytest.mark.needs_system
def test_views_are_dropped_with_their_source(spark: Any) -> None:
    source = spark_source(spark.range(3).selectExpr("id", "1.0 AS score"), {})
    view = source.table.relation.strip("`")
    assert spark.catalog.tableExists(view)
    del source
    assert not spark.catalog.tableExists(view)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """What the command answers, without the names of files."""
    with pytest.raises(SystemExit) as stop:
        main([*words, "--format", "json"])
    out, err = capsys.readouterr()
    assert stop.value.code == 0, err
    found: dict[str, Any] = json.loads(out)
    return {key: value for key, value in found.items() if key not in ("name", "telling_items")}  # ids stay on the cluster


@pytest.mark.needs_system
def test_the_command_on_a_classic_master(spark: Any, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    master = spark.sparkContext.master
    asked = ["--engine", "spark", "--master", master]
    there = said(capsys, "measure", f"file://{files}/a/*.parquet", "--metric", "macro_f1", *asked)
    assert there == said(capsys, "measure", f"{files}/a/*.parquet", "--metric", "macro_f1")
    both = said(capsys, "compare", f"a=file://{files}/a.csv", f"b=file://{files}/b/*.parquet", *asked)
    assert both == said(capsys, "compare", f"a={files}/a.csv", f"b={files}/b/*.parquet")
    said_so = f"This process already has a Spark session on {master}; it can use only one cluster at a time"
    with pytest.raises(UsageError, match=re.escape(said_so)):
        spark_session(master="spark://elsewhere:7077")


@pytest.mark.needs_system
def test_spark_connect_gives_the_same_answers(connect_url: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the command, and in Python; in a process of its own: a classic session and Spark Connect do not live in one."""
    script = """
import contextlib, io, json, sys
import steelyard as sy
from steelyard.cli.main import main
from steelyard.read.engines.join import meet
from steelyard.read.engines.spark import spark_files, spark_session, spark_source
remote, home = sys.argv[1:]
runs = [f"file://{home}/{run}/*.parquet" for run in "ab"]
screen = io.StringIO()
with contextlib.redirect_stdout(screen), contextlib.suppress(SystemExit):
    main(["compare", "a=" + runs[0], "b=" + runs[1], "--engine", "spark", "--remote", remote, "--format", "json"])
session = spark_session(remote=remote)
met = meet(*(spark_source(spark_files(session, [run]), {}) for run in runs))
one = sy.measure(runs[0], engine="spark", remote=remote, metric="macro_f1")
print(json.dumps([json.loads(screen.getvalue()), sorted([*key, count] for key, count in met.cells.items()), one.to_dict()]))
session.stop()
"""
    done = subprocess.run([sys.executable, "-c", script, connect_url, str(files)], capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Warning" not in done.stderr
    both, cells, one = json.loads(done.stdout.splitlines()[-1])
    here = said(capsys, "compare", f"a={files}/a/*.parquet", f"b={files}/b/*.parquet")
    assert {key: both[key] for key in here} == here
    local = meet(*(open_source(f"{files}/{run}/*.parquet", columns={}) for run in "ab"))
    assert local is not None
    assert cells == sorted([*key, count] for key, count in local.cells.items())
    alone = said(capsys, "measure", f"{files}/a/*.parquet", "--metric", "macro_f1")
    assert {key: one[key] for key in alone} == alone


def test_what_cannot_be_asked_of_spark() -> None:
    with pytest.raises(UsageError, match="master="):
        spark_session()
    with pytest.raises(UsageError, match="master="):
        spark_session(master="local", remote="sc://host")
    with pytest.raises(UsageError, match="must be a pyspark DataFrame"):
        spark_source([1, 2], {})
    with pytest.raises(SourceError, match=r"not \.csv, \.parquet"):
        spark_files(None, ["a.csv", "b.parquet"])
    with pytest.raises(SourceError, match=r"not \.xlsx"):
        spark_files(None, ["a.xlsx"])


@pytest.mark.needs_system
@pytest.mark.long
def test_a_worker_killed_in_the_middle_of_a_job(spark: Any, cluster: Any) -> None:
    """Spark runs the lost tasks again elsewhere: every row is counted, and counted once. One worker is left then."""
    slowly = "concat('label ', id % 3, substr(reflect('java.lang.Thread', 'sleep', 100L), 1, 0))"
    source = spark_source(spark.range(0, 30, 1, 30).selectExpr(f"{slowly} AS truth", "concat('label ', id % 3) AS prediction"), {})
    killed = threading.Event()

    def kill() -> None:
        tracker = spark.sparkContext.statusTracker()
        for _ in range(3000):
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
    assert killed.is_set()
    assert cells == [(f"label {i}", f"label {i}", 10) for i in range(3)]
