"""lighteval: its own means, documents by number and content, metrics refused or not of items, the task of a directory.

The details are of lighteval 0.13.0 (tests/fixtures/make/lighteval.py); `results_*.json` is what it computed itself.
"""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import duckdb
import pytest

import steelyard as sy
from steelyard.errors import AmbiguityError, SourceError, UsageError
from steelyard.read.logs.lighteval import looks_like, read
from steelyard.read.logs.log import Choices, Log

pytestmark = pytest.mark.usefixtures("shared_engine")
LOGS = Path(__file__).parent / "lighteval"
DATE = "2026-11-16T00-00-00.000000"
FILES = {model: LOGS / "details" / "steel" / model / DATE / f"details_sums_0_{DATE}.parquet" for model in ("model-a", "model-b")}
OWN = {model: json.loads((LOGS / "results" / "steel" / model / f"results_{DATE}.json").read_text())["results"]["sums|0"] for model in FILES}


def log(path: Path = FILES["model-a"], **choices: str) -> Log:
    return read(str(path), Choices(**choices))


def changed(tmp_path: Path, select: str) -> Path:
    """The details of model a after a SELECT over them, as a table called t."""
    target = tmp_path / "changed.parquet"
    duckdb.sql(f"COPY (WITH t AS (FROM read_parquet('{FILES['model-a']}')) {select}) TO '{target}' (FORMAT parquet)")
    return target


@pytest.mark.parametrize("model", FILES)
@pytest.mark.parametrize("metric", ["em", "f1"])
def test_means_are_those_of_lighteval(model: str, metric: str) -> None:
    found = log(FILES[model], score=metric)
    scores = found.columns["score"]
    assert math.isclose(sum(scores) / len(scores), OWN[model][metric])
    assert found.name == f"steel/{model}"
    assert found.checks == {"task": "sums|0"}


def test_the_interval_agrees_with_its_standard_error() -> None:
    """lighteval's own error of the mean of em is the sample standard deviation over the root of n."""
    found = sy.measure(str(FILES["model-b"]), score="em", interval="t", metric="mean")
    t_15 = 2.131449545559323  # R 4.3: qt(.975, 15)
    assert found.interval is not None
    assert found.interval.high is not None
    assert found.interval.low is not None
    assert math.isclose((found.interval.high - found.interval.low) / 2, t_15 * OWN["model-b"]["em_stderr"], rel_tol=1e-9)


def test_several_metrics_are_refused_and_listed() -> None:
    with pytest.raises(AmbiguityError, match=r"has 2 metrics: em, f1\..*score='em'"):
        log()
    with pytest.raises(UsageError, match="bleu"):
        log(score="bleu")


def test_columns_for_slices_and_for_the_content() -> None:
    columns = log(score="em").columns
    assert set(columns) == {"id", "score", "doc_hash", "specific.kind"}
    assert sorted(columns["id"], key=int) == [str(n) for n in range(16)]
    assert len(set(columns["doc_hash"])) == 16
    assert columns["doc_hash"] == log(FILES["model-b"], score="em").columns["doc_hash"]


def test_two_runs_pair_by_number_and_are_refused_if_the_documents_differ(tmp_path: Path) -> None:
    found = sy.compare(*map(str, FILES.values()), score="em")
    assert math.isclose(found.difference.estimate or 0, OWN["model-b"]["em"] - OWN["model-a"]["em"])
    other = changed(tmp_path, "SELECT struct_update(doc, query := 'other: ' || doc.query) AS doc, metric, model_response FROM t")
    with pytest.raises(ValueError, match=r"doc_hash|differ|content"):
        sy.compare(str(FILES["model-b"]), str(other), score="em")


def test_a_number_that_two_splits_share_is_told_apart_by_content(tmp_path: Path) -> None:
    select = "SELECT struct_update(doc, id := CAST(CAST(doc.id AS INTEGER) % 8 AS VARCHAR)) AS doc, metric, model_response FROM t"
    columns = log(changed(tmp_path, select), score="em").columns
    assert len(set(columns["id"])) == 16
    assert {item.split()[0] for item in columns["id"]} == {str(n) for n in range(8)}


def test_documents_without_numbers_are_known_by_their_place(tmp_path: Path) -> None:
    columns = log(changed(tmp_path, "SELECT struct_update(doc, id := '') AS doc, metric, model_response FROM t"), score="em").columns
    assert columns["id"] == [str(n) for n in range(16)]


def test_a_metric_that_is_no_number_per_document_is_refused(tmp_path: Path) -> None:
    path = changed(tmp_path, "SELECT doc, {'em': metric.em, 'rouge': ['gold', 'answer']} AS metric, model_response FROM t")
    assert log(path).chosen == {"score": "em"}
    with pytest.raises(UsageError, match=r"item by item.*'rouge'.*; em"):
        log(path, score="rouge")
    with pytest.raises(UsageError, match="item by item"):
        log(changed(tmp_path, "SELECT doc, {'rouge': ['gold']} AS metric, model_response FROM t"))


def test_missing_values_and_nan_are_missing_and_told(tmp_path: Path) -> None:
    value = "CASE doc.id WHEN '3' THEN NULL WHEN '4' THEN 'NaN'::DOUBLE ELSE metric.em::DOUBLE END"
    found = log(changed(tmp_path, f"SELECT doc, {{'em': {value}}} AS metric, model_response FROM t"))
    assert found.columns["score"].count(None) == 2
    assert found.warnings == ("2 of 16 documents have no value of 'em'",)


def test_several_tasks_in_one_file_or_directory_are_refused_and_listed(tmp_path: Path) -> None:
    task = "CASE WHEN CAST(doc.id AS INTEGER) < 5 THEN 'few|0' ELSE doc.task_name END"
    path = changed(tmp_path, f"SELECT struct_update(doc, task_name := {task}) AS doc, metric, model_response FROM t")
    with pytest.raises(AmbiguityError, match=r"log_task="):
        log(path, score="em")
    assert len(log(path, score="em", task="few|0").columns["id"]) == 5
    run = tmp_path / "details" / "model-c" / DATE
    run.mkdir(parents=True)
    for name in ("sums|0", "words|5"):
        shutil.copy(FILES["model-b"], run / f"details_{name}_{DATE}.parquet")
    assert looks_like(str(run), b"")
    assert looks_like(str(tmp_path), b"")
    with pytest.raises(AmbiguityError, match=r"has 2 tasks: sums\|0, words\|5\..*log_task="):
        log(run, score="em")
    found = log(run, score="em", task="words|5")
    assert found.name == "model-c"
    assert found.chosen == {"task": "words|5", "score": "em"}


def test_a_file_elsewhere_has_no_model(tmp_path: Path) -> None:
    (tmp_path / "details" / "mine").mkdir(parents=True)
    copied = shutil.copy(FILES["model-a"], tmp_path / "details" / "mine" / "a.parquet")
    assert log(copied, score="em").name is None


def test_rows_that_are_not_whole_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="row 1 has no 'metric'"):
        log(changed(tmp_path, "SELECT doc, NULL::STRUCT(em INTEGER) AS metric, model_response FROM t"))
    with pytest.raises(SourceError, match=r"No items in .*\."):
        log(changed(tmp_path, "SELECT doc, metric, model_response FROM t LIMIT 0"))


# ---- directories -----------------------------------------------------------------------------------------------------------


def test_an_output_directory_is_refused_and_lists_its_models(tmp_path: Path) -> None:
    top = Path(__file__).parent / "lighteval"
    for path in (top, top / "details", top / "details" / "steel"):
        with pytest.raises(AmbiguityError, match=r"has 2 models: steel/model-a, steel/model-b\. Hint: log_model='steel/model-a'"):
            sy.measure(str(path), score="em")
        found = sy.measure(str(path), score="em", model_name="steel/model-b")
        assert (found.name, found.n) == ("steel/model-b", 16)
        assert found.roles["model"] == "steel/model-b"
    single = sy.measure(str(top / "details" / "steel" / "model-b"), score="em")
    assert single.estimate == found.estimate
    with pytest.raises(UsageError, match=r"No model 'steel/c' in .*; it has steel/model-a, steel/model-b\."):
        sy.measure(str(top), score="em", model_name="steel/c")


def test_two_dates_of_one_model_are_refused_and_listed(tmp_path: Path) -> None:
    run = Path(__file__).parent / "lighteval/details/steel/model-a/2026-11-16T00-00-00.000000"
    for date in ("2026-11-16T00-00-00.000000", "2026-11-17T00-00-00.000000"):
        shutil.copytree(run, tmp_path / "details/steel/model-a" / date)
    with pytest.raises(
        AmbiguityError, match=r"has 2 runs of 'steel/model-a': 2026-11-16T00-00-00\.000000, 2026-11-17T00-00-00\.000000\..*latest=True"
    ):
        sy.measure(str(tmp_path), score="em")


def test_a_directory_called_details_without_runs_is_none(tmp_path: Path) -> None:
    (tmp_path / "details").mkdir()
    assert not looks_like(str(tmp_path), b"")
    assert not looks_like(str(tmp_path / "details"), b"")
