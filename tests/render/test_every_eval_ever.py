"""What we write for Every Eval Ever: files that its own validator accepted, numbers that come back, nothing left out in silence.

The files in tests/render/every_eval_ever were written by this code and checked by the validator of every-eval-ever 0.3.0
(tests/fixtures/make/every_eval_ever.py). `STEELYARD_WRITE=1 python -m pytest tests/render/test_every_eval_ever.py` writes them anew.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from stand_ins import as_printed
from steelyard.errors import DataError, UsageError
from steelyard.items import Items
from steelyard.read.logs.every_eval_ever import looks_like, read
from steelyard.read.logs.log import Choices
from steelyard.read.open_source import open_source
from steelyard.render.every_eval_ever import RecordDetails, every_eval_ever
from steelyard.results.measurement import Interval, Measurement, Row

GOLDEN = Path(__file__).parent / "every_eval_ever"
ABOUT = RecordDetails(
    model="steel/model-a", evaluation="animals", organization="steel", retrieved="1700000000", relationship="first_party",
    dataset="zoo", deployment="self_deployed", availability="open_weights", library=("a library", "1.2"),
)  # fmt: skip


def labels(n: int = 60) -> dict[str, list[Any]]:
    draw = random.Random(7)
    truth = [draw.choice(["cat", "dog", "eel"]) for _ in range(n)]
    said = [each if draw.random() < 0.7 else draw.choice(["cat", "dog", "eel"]) for each in truth]
    return {"id": [f"a{i}\u2028" for i in range(n)], "truth": truth, "prediction": said, "place": [draw.choice("ns") for _ in range(n)]}


def scores() -> dict[str, list[Any]]:
    draw = random.Random(8)
    runs = [(f"q{i}", run, draw.choice([0.0, 0.25, 0.5, 1.0])) for i in range(20) for run in (1, 2)]
    return {"id": [r[0] for r in runs], "repeat": [r[1] for r in runs], "score": [None if r[:2] == ("q3", 2) else r[2] for r in runs]}


def measured(data: dict[str, list[Any]], **options: Any) -> tuple[Measurement, Items]:
    """Signed without our version, so that the files stay as they are from one release to the next."""
    found = sy.measure(data, **options)
    sign = re.compile(r"steelyard:[\d.a-z]+")

    def unsigned(part: Measurement) -> Measurement:
        return dataclasses.replace(part, signature=sign.sub("steelyard:0", part.signature))

    slices = tuple(dataclasses.replace(each, measurement=unsigned(each.measurement)) for each in found.slices)
    items = open_source(data, columns={"by": options["by"]} if "by" in options else {}).items()
    return dataclasses.replace(unsigned(found), slices=slices), items


def cases() -> dict[str, dict[str, str]]:
    table, table_items = measured(labels(), by="place")
    mean, mean_items = measured(scores(), missing="drop")
    return {
        "labels": every_eval_ever(table, ABOUT, table_items),
        "scores": every_eval_ever(mean, dataclasses.replace(ABOUT, evaluation="tone/calm", model="steel/big/model:2"), mean_items),
        "counts": every_eval_ever(measured_counts(), ABOUT),
    }


def measured_counts() -> Measurement:
    found = sy.measure(sy.Counts.of(85, 100))
    return dataclasses.replace(found, signature=found.signature.rpartition("|")[0] + "|steelyard:0")


def parts(record: dict[str, str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    aggregate = next(text for path, text in record.items() if path.endswith(".json"))
    samples = next((text for path, text in record.items() if path.endswith(".jsonl")), "")
    return json.loads(aggregate), [json.loads(line) for line in samples.splitlines()]


@as_printed
@pytest.mark.parametrize("name", ["labels", "scores", "counts"])
def test_the_files_are_those_that_the_validator_accepted(name: str) -> None:
    made = {str(GOLDEN / name / path): text for path, text in cases()[name].items()}
    if os.environ.get("STEELYARD_WRITE"):
        shutil.rmtree(GOLDEN / name, ignore_errors=True)
        for path, text in made.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text)
    assert made == {str(path): path.read_text() for path in (GOLDEN / name).glob("**/*") if path.is_file()}


def test_every_number_of_the_measurement_is_in_the_record() -> None:
    table, items = measured(labels(), by="place")
    aggregate, _ = parts(every_eval_ever(table, ABOUT, items))
    written = {each["evaluation_result_id"]: each for each in aggregate["evaluation_results"]}
    named = {row.name: row for row in table.rows} | {
        f"{row.name}@place={part.value}": row for part in table.slices for row in part.measurement.rows
    }
    assert set(written) == set(named)
    assert len(named) > 20
    for name, row in named.items():
        details, config = written[name]["score_details"], written[name]["metric_config"]
        assert row.interval is not None
        assert details["score"] == row.estimate
        assert details["uncertainty"]["num_samples"] == row.n
        assert details["uncertainty"]["confidence_interval"] == {
            "lower": row.interval.low, "upper": row.interval.high, "confidence_level": 0.95, "method": row.interval.method,
        }  # fmt: skip
        assert (config["min_score"], config["max_score"], config["lower_is_better"]) == (0.0, 1.0, False)
        assert config["metric_parameters"] == {k: v for k, v in (("average", row.average), ("label", row.label)) if v is not None}
        redrawn = row.interval.method in ("bca", "percentile")
        assert details["uncertainty"].get("num_bootstrap_samples") == (10000 if redrawn else None)


@pytest.mark.parametrize("name", ["labels", "scores"])
def test_items_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    record = cases()[name]
    for path, text in record.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        assert looks_like(str(tmp_path / path), text.encode()[: 1 << 16])
    data = labels() if name == "labels" else scores()
    for path in record:
        columns = read(str(tmp_path / path), Choices()).columns
        assert columns["id"] == data["id"]
        if name == "labels":
            assert columns["score"] == [float(t == p) for t, p in zip(data["truth"], data["prediction"], strict=True)]
            assert columns["metadata.place"] == data["place"]
        else:
            assert columns["score"] == data["score"]
            assert columns["repeat"] == [str(run) for run in data["repeat"]]
    again = sy.measure(str(tmp_path / next(iter(record))), missing="drop")
    before = measured(data, missing="drop")[0] if name == "scores" else measured(data)[0]
    assert again.rows[0].estimate == before.rows[0].estimate


def test_the_two_files_point_at_each_other() -> None:
    record = cases()["scores"]
    (first, second), (aggregate, samples) = record, parts(record)
    assert first.removesuffix(".json") + "_samples.jsonl" == second
    assert second.startswith("data/tone_calm/steel/big_model_2/")
    details = aggregate["detailed_evaluation_results"]
    assert details["file_path"] == second
    assert details["total_rows"] == len(samples) == 40
    assert details["checksum"] == hashlib.sha256(record[second].encode()).hexdigest()
    assert {row["evaluation_id"] for row in samples} == {aggregate["evaluation_id"]}
    assert {row["model_id"] for row in samples} == {aggregate["model_info"]["id"]}
    assert {row["evaluation_result_id"] for row in samples} <= {each["evaluation_result_id"] for each in aggregate["evaluation_results"]}
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", first.rpartition("/")[2][:-5])


def test_the_name_follows_the_content() -> None:
    measurement = measured_counts()
    assert every_eval_ever(measurement, ABOUT) == every_eval_ever(measurement, ABOUT)
    assert set(every_eval_ever(measurement, ABOUT)) != set(every_eval_ever(measurement, dataclasses.replace(ABOUT, retrieved="1700000001")))


def test_a_missing_answer_is_an_error_and_not_a_zero() -> None:
    _, samples = parts(cases()["scores"])
    (gone,) = (row for row in samples if row["error"] is not None)
    assert (gone["sample_id"], gone["metadata"]["epoch"], gone["error"]) == ("q3", "2", "no answer")


def row(**more: Any) -> Row:
    given: dict[str, Any] = {"metric": "mean", "estimate": 0.5, "n": 9, "interval": None}
    return Row(**(given | more))


def test_what_is_undefined_is_named_and_what_is_unbounded_is_told() -> None:
    one_sided = Interval(low=0.25, high=None, confidence_level=0.9, side="lower", method="t")
    rows = (row(interval=one_sided), row(metric="f1", label="cat", estimate=None), row(metric="rmse", higher_is_better=False))
    aggregate, _ = parts(every_eval_ever(Measurement(n=9, rows=rows, warnings=("few items",)), ABOUT))
    assert aggregate["source_metadata"]["additional_details"] == {"undefined": "f1[cat]", "warnings": "few items"}
    mean, rmse = aggregate["evaluation_results"]
    assert "confidence_interval" not in mean["score_details"]["uncertainty"]
    assert mean["score_details"]["details"]["interval"] == "[0.25, inf] (0.9 lower, t)"
    assert "score_type" not in mean["metric_config"]  # nobody said what the scores range over
    assert (rmse["metric_config"]["min_score"], rmse["metric_config"]["max_score"]) == (0.0, "Infinity")
    assert rmse["metric_config"]["lower_is_better"] is True


def test_a_bounded_one_sided_interval_says_so() -> None:
    interval = Interval(low=0.25, high=1.0, confidence_level=0.9, side="lower", method="wilson")
    aggregate, _ = parts(every_eval_ever(Measurement(n=9, rows=(row(metric="accuracy", interval=interval),)), ABOUT))
    written = aggregate["evaluation_results"][0]["score_details"]["uncertainty"]["confidence_interval"]
    assert written == {"lower": 0.25, "upper": 1.0, "confidence_level": 0.9, "method": "wilson, one-sided (lower)"}


def test_what_cannot_be_written_is_refused() -> None:
    table, items = measured(labels(), metric="macro_f1")
    with pytest.raises(DataError, match="accuracy or mean"):
        every_eval_ever(table, ABOUT, items)
    with pytest.raises(DataError, match=r"No metric has a value, so there is nothing to record\."):
        every_eval_ever(Measurement(n=0, rows=(row(estimate=None),)), ABOUT)
    nameless = open_source({"score": [1, 0]}, columns={}).items()
    with pytest.raises(DataError, match="items without ids"):
        every_eval_ever(measured_counts(), ABOUT, nameless)
    with pytest.raises(UsageError, match="developer/name"):
        every_eval_ever(measured_counts(), dataclasses.replace(ABOUT, model="flat"))
    with pytest.raises(UsageError, match="directory"):
        every_eval_ever(measured_counts(), dataclasses.replace(ABOUT, collection="a|b"))
    with pytest.raises(UsageError, match="relationship"):
        dataclasses.replace(ABOUT, relationship="friend")
    with pytest.raises(UsageError, match="Unix time"):
        dataclasses.replace(ABOUT, retrieved="yesterday")


def test_no_line_holds_anything_that_ends_a_line_elsewhere() -> None:
    for text in cases()["labels"].values():
        assert text.isascii()
        assert len(text.splitlines()) == text.count("\n")
