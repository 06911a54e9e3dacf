"""MLflow: its own means, the classic and the newer table, three formats of one frame, metrics refused, items by what was asked.

The tables are of MLflow 3.17.2 (tests/fixtures/make/mlflow_table.py); `means.json` is what it computed itself.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every
from steelyard.errors import AmbiguityError, SourceError, UsageError
from steelyard.read.logs.log import Choices, Log
from steelyard.read.logs.mlflow_table import looks_like, read

LOGS = Path(__file__).parent / "mlflow_table"
OWN = json.loads((LOGS / "means.json").read_text())
CLASSIC, GENAI = "eval_results_table.json", ("genai.json", "genai.jsonl", "genai.parquet")


def log(name: str | Path, score: str | None = None) -> Log:
    return read(str(LOGS / name), Choices(score=score))


def mean(found: Log) -> float:
    given = [value for value in found.columns["score"] if value is not None]
    return sum(given) / len(given)


def edited(tmp_path: Path, change: Any) -> Path:
    whole = json.loads((LOGS / CLASSIC).read_text())
    change(whole)
    (tmp_path / CLASSIC).write_text(json.dumps(whole))
    return tmp_path / CLASSIC


@pytest.mark.parametrize(("score", "own"), [("exact", "exact/v1/mean"), ("judged", "judged/mean")])
def test_means_of_the_classic_table(score: str, own: str) -> None:
    assert math.isclose(mean(log(CLASSIC, score)), OWN["classic"][own])


@every("name", GENAI)
@every("score", ["exact", "close", "polite"])
def test_means_of_the_newer_table_in_every_format(name: str, score: str) -> None:
    assert math.isclose(mean(log(name, score)), OWN["genai"][f"{score}/mean"])


def test_one_frame_in_three_formats_is_one_log() -> None:
    first, *others = (log(name, "close").columns for name in GENAI)
    assert all(other == first for other in others)


def test_several_metrics_are_refused_and_listed_and_expectations_are_none() -> None:
    with pytest.raises(AmbiguityError, match=r"has 2 metrics: exact, judged\..*score='exact'"):
        log(CLASSIC)
    with pytest.raises(AmbiguityError, match=r"has 3 metrics: close, polite, exact\."):
        log("genai.json")
    with pytest.raises(UsageError, match="expected_response"):
        log("genai.json", "expected_response")


def test_a_metric_may_be_called_by_its_column_or_with_its_version() -> None:
    columns = [log(CLASSIC, name).columns for name in ("exact", "exact/v1", "exact/v1/score")]
    assert columns[0] == columns[1] == columns[2]


def test_versions_of_one_metric_have_their_versions_in_the_name(tmp_path: Path) -> None:
    def newer(whole: Any) -> None:
        whole["columns"].append("exact/v2/score")
        for row in whole["data"]:
            row.append(0)

    path = edited(tmp_path, newer)
    with pytest.raises(AmbiguityError, match="exact/v1, judged, exact/v2"):
        log(path)
    assert set(log(path, "exact/v2").columns["score"]) == {0}


def test_missing_values_are_missing_and_told() -> None:
    found = log(CLASSIC, "judged")
    assert found.columns["score"].index(None) == 4
    assert found.warnings == ("1 of 14 rows have no value of 'judged'",)
    assert log("genai.parquet", "close").columns["score"].count(None) == 1


def test_an_item_is_what_was_asked(tmp_path: Path) -> None:
    def change(whole: Any) -> None:
        outputs, inputs = whole["columns"].index("outputs"), whole["columns"].index("inputs")
        whole["data"][0][outputs] = "another answer"
        whole["data"][1][inputs] = "another question"
        whole["data"].append(whole["data"][5])

    plain, other = log(CLASSIC, "exact").columns, log(edited(tmp_path, change), "exact").columns
    assert [a == b for a, b in zip(plain["id"], other["id"], strict=False)] == [True, False, *[True] * 12]
    assert other["repeat"][-1] == 2
    assert "repeat" not in plain


def test_a_column_of_ids_is_taken_if_there_is_one(tmp_path: Path) -> None:
    def ids(whole: Any) -> None:
        whole["columns"].append("question_id")
        for place, row in enumerate(whole["data"]):
            row.append(place)

    assert log(edited(tmp_path, ids), "exact").columns["id"] == [str(n) for n in range(14)]


def test_without_inputs_and_ids_it_is_refused(tmp_path: Path) -> None:
    def rename(whole: Any) -> None:
        whole["columns"][whole["columns"].index("inputs")] = "feature"

    with pytest.raises(
        SourceError,
        match=r"Cannot read the log .*: no column tells the items apart .*'feature'.*id column",
    ):
        log(edited(tmp_path, rename), "exact")


def test_further_columns_are_for_slices() -> None:
    assert set(log(CLASSIC, "exact").columns) == {"id", "score", "row.topic"}
    assert len(sy.measure(str(LOGS / CLASSIC), score="exact", by="row.topic").slices) == 2


def test_tables_of_another_shape_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="row 3 does not have"):
        log(edited(tmp_path, lambda whole: whole["data"][2].pop()), "exact")
    with pytest.raises(SourceError, match="more than once"):
        log(edited(tmp_path, lambda whole: whole["columns"].__setitem__(0, "topic")), "exact")
    with pytest.raises(SourceError, match=r"No items in .*\."):
        log(edited(tmp_path, lambda whole: whole["data"].clear()), "exact")


def test_traces_without_values_are_no_evaluation(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "traces.parquet"
    duckdb.sql(f"COPY (SELECT 'a' AS trace_id, 'b' AS request, 'OK' AS state) TO '{path}' (FORMAT parquet)")
    assert not looks_like(str(path), path.read_bytes()[:64])
    assert looks_like(str(LOGS / "genai.parquet"), (LOGS / "genai.parquet").read_bytes()[:64])
