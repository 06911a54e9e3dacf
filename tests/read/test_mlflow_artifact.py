"""Tables that MLflow runs have logged, read where they are: evaluation tables, tables of `log_table`, and what is no table."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from mlflow_server import client, mlflow_server, mlflow_url, silent  # noqa: F401 - fixtures
from steelyard.errors import SourceError, SteelyardError, UsageError

N = 60
# In a process of its own: `mlflow.models.evaluate` loads half of the world, and is not to be loaded here.
LOGGING = """
import sys
import mlflow
from mlflow.metrics import MetricValue, make_metric
import pandas as pd

def exact(predictions, targets):
    scores = [float(one == other) for one, other in zip(predictions, targets)]
    return MetricValue(scores=scores, aggregate_results={"mean": sum(scores) / len(scores)})

mlflow.set_tracking_uri(sys.argv[1])
mlflow.set_experiment("tables")
for every in (4, 3):
    with mlflow.start_run(run_name=f"every {every}") as run:
        asked = [f"what is {i}?" for i in range(60)]
        data = pd.DataFrame({"inputs": asked, "truth": ["a"] * 60, "outputs": ["a" if i % every else "b" for i in range(60)]})
        metric = make_metric(eval_fn=exact, greater_is_better=True, name="exact")
        mlflow.models.evaluate(data=data, targets="truth", predictions="outputs", extra_metrics=[metric])
        print("run", run.info.run_id, file=sys.stderr)
"""
TABLE = "eval_results_table.json"


@pytest.fixture(scope="module")
def runs(mlflow_server: dict[str, Any]) -> list[str]:  # noqa: F811
    """Two runs with tables, logged by its client; the first table of each as `mlflow.models.evaluate` logs it."""
    import pandas as pd

    there, found = client(mlflow_server["url"]), []
    with silent():
        experiment = there.create_experiment("tables")
        for every in (4, 3):
            run = there.create_run(experiment, run_name=f"every {every}").info.run_id
            outputs = ["a" if i % every else "b" for i in range(N)]
            evaluated = {"inputs": [f"what is {i}?" for i in range(N)], "truth": ["a"] * N, "outputs": outputs}
            there.log_table(run, pd.DataFrame({**evaluated, "exact/score": [float(each == "a") for each in outputs]}), TABLE)
            table = {"id": [f"q{i}" for i in range(N)], "truth": ["ab"[i % 2] for i in range(N)]}
            table["prediction"] = ["ab"[i % every % 2] for i in range(N)]
            there.log_table(run, table, "tables/plain.json")
            there.log_table(run, pd.DataFrame(table), "tables/plain.parquet")
            there.log_table(run, {"note": ["x", "y"]}, "notes.json")
            there.log_text(run, "no table at all", "text.json")
            there.set_terminated(run)
            found.append(run)
    return found


@pytest.mark.long
def test_a_table_is_as_mlflow_evaluates_it(runs: list[str], mlflow_server: dict[str, Any]) -> None:  # noqa: F811
    """The tables above are those of `mlflow.models.evaluate`, in every byte and in what the run says of them."""
    there = client(mlflow_server["url"])
    for logged, evaluated in zip(runs, evaluated_runs(mlflow_server), strict=True):
        with silent():
            texts = [Path(there.download_artifacts(run, TABLE)).read_bytes() for run in (logged, evaluated)]
            said = [json.loads(there.get_run(run).data.tags["mlflow.loggedArtifacts"]) for run in (logged, evaluated)]
        assert texts[0] == texts[1]
        assert [entry for entry in said[0] if entry["path"] == TABLE] == said[1]


def evaluated_runs(mlflow_server: dict[str, Any]) -> list[str]:  # noqa: F811
    env = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "PYTHONWARNINGS": "ignore"}
    made = subprocess.run(
        [sys.executable, "-c", LOGGING, mlflow_server["url"]], env=env, capture_output=True, text=True, check=False, timeout=300
    )
    found = re.findall(r"^run ([0-9a-f]{32})$", made.stderr, re.MULTILINE)
    assert len(found) == 2, made.stderr[-3000:]
    return found


@pytest.fixture(autouse=True)
def address(
    mlflow_url: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_url)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    own = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(own))  # of this test alone: others make theirs at the same time
    yield
    assert [path.name for path in own.glob("steelyard-mlflow-*")] == []  # the plugin of this test session has a folder of its own


def test_an_evaluation_table_is_measured_and_compared_where_it_is(runs: list[str]) -> None:
    sources = [f"mlflow:runs:/{run}/eval_results_table.json" for run in runs]
    assert sy.measure(sources[0]).row.estimate == pytest.approx(0.75)
    found = sy.compare(*sources)
    assert (found.n, found.design) == (N, "paired")
    assert (found.baseline.name, found.candidate.name) == ("every 4", "every 3"), "a run is called as MLflow calls it"
    assert sy.compare(f"old={sources[0]}", f"new={sources[1]}").baseline.name == "old"


@pytest.mark.parametrize("name", ["tables/plain.json", "tables/plain.parquet"])
def test_a_logged_table_is_read_as_any_table(runs: list[str], name: str) -> None:
    found = sy.measure(f"mlflow:runs:/{runs[1]}/{name}", metric="accuracy")
    assert (found.row.n, found.row.estimate) == (N, pytest.approx(0.5))


def test_a_reference_is_recorded_and_checked_from_mlflow(runs: list[str]) -> None:
    old, new = (f"mlflow:runs:/{run}/eval_results_table.json" for run in runs)
    sy.record(old, task="t", model="m", deterministic=True)
    verdict = sy.check(new, task="t", model="m")
    assert (verdict.design, verdict.n) == ("paired", N)
    assert verdict.difference.estimate == pytest.approx(0.75 * -1 + 40 / 60)


def test_a_table_without_the_needed_columns_is_told(runs: list[str]) -> None:
    with pytest.raises(SteelyardError, match="note"):
        sy.measure(f"mlflow:runs:/{runs[0]}/notes.json")
    with pytest.raises(SteelyardError, match=f"mlflow:runs:/{runs[0]}/text.json"):
        sy.measure(f"mlflow:runs:/{runs[0]}/text.json")
    with pytest.raises(SteelyardError, match="exact"):
        sy.measure(f"mlflow:runs:/{runs[0]}/eval_results_table.json", score="fluency")


def test_what_is_not_there_is_named(runs: list[str]) -> None:
    with pytest.raises(
        SourceError, match=r"The run has no artifact 'none.json'; there are 'eval_results_table.json', 'notes.json', 'text.json'"
    ):
        sy.measure(f"mlflow:runs:/{runs[0]}/none.json")
    with pytest.raises(SourceError, match="tables' is a folder"):
        sy.measure(f"mlflow:runs:/{runs[0]}/tables")
    with pytest.raises(SourceError, match=r"No run 'abc' in MLflow at http://127.0.0.1"):
        sy.measure("mlflow:runs:/abc/eval_results_table.json")


@pytest.mark.parametrize("path", ["", "../x.json", "a/../../x.json", "a//b.json", "a\\b.json", "x\x00.json", "./x.json"])
def test_a_path_does_not_leave_the_run(path: str) -> None:
    with pytest.raises(UsageError, match=r"does not name a run|not a path below"):
        sy.measure(f"mlflow:runs:/{'a' * 32}/{path}")


@pytest.mark.parametrize(
    "address", ["mlflow:", "mlflow:x.json", "mlflow:http://127.0.0.1:5000", "mlflow:runs:/../x/y.json", "mlflow:models:/m/1"]
)
def test_an_address_of_another_kind_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="does not name a run and the path of its artifact"):
        sy.measure(address)


def test_spark_cannot_read_it() -> None:
    with pytest.raises(UsageError, match="a table of MLflow"):
        sy.measure("mlflow:runs:/a/b.json", engine="spark", master="local")


def test_without_the_variable_nothing_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    with pytest.raises(UsageError, match="MLFLOW_TRACKING_URI is not set"):
        sy.measure("mlflow:runs:/abc/table.json")
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_names_and_rows_apart_is_read_from_a_file_too(tmp_path: Path) -> None:
    rows = [["q1", "a", "a"], ["q2", "b", "a"], ["q3", "b", "b"]]
    file = tmp_path / "table.json"
    file.write_text(json.dumps({"columns": ["id", "truth", "prediction"], "data": rows}))
    assert sy.measure(file, metric="accuracy").row.estimate == pytest.approx(2 / 3)
    for broken, said in (
        ({"columns": ["id", "truth"], "data": rows}, "3 values in row 1"),
        ({"columns": ["id", "id", "truth"], "data": rows}, "a column name more than once"),
        ({"columns": ["id", 3, "truth"], "data": rows}, "a column whose name is not a text"),
    ):
        file.write_text(json.dumps(broken))
        with pytest.raises(SourceError, match=said):
            sy.measure(file)
    file.write_text(json.dumps({"columns": ["a", "b"], "data": ["a", "a"]}))
    assert sy.measure(file, truth="columns", prediction="data", metric="accuracy").row.n == 2, "two columns of these names"
