"""The points of a curve: which column is the score, and what can hold them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from cases import every
from steelyard.errors import AmbiguityError, UsageError
from steelyard.estimate.curve_points import points_of
from steelyard.metrics.catalogue import CATALOGUE

SIZES = (50, 100, 200, 400, 800)


def rows(*names: str) -> list[dict[str, Any]]:
    return [{"size": size, **dict.fromkeys(names, 0.5 + 10 / size)} for size in SIZES]


@every("name", [metric.shown for metric in CATALOGUE.values()])
def test_a_column_with_the_name_of_a_metric_is_the_score(name: str) -> None:
    up = CATALOGUE[name].higher_is_better if name in CATALOGUE else True
    assert points_of(rows(name), higher_is_better=up)[0].metric == name


@every(("name", "up"), [("macro_f1", True), ("Accuracy", True), ("loss", False), ("WER", False), ("mean", True), ("mean", False)])
def test_other_names_of_scores(name: str, up: bool) -> None:
    assert points_of(rows(name), higher_is_better=up)[0].metric == name


def test_only_metrics_of_the_direction_count() -> None:
    both = rows("accuracy", "brier")
    assert [points_of(both, higher_is_better=up)[0].metric for up in (True, False)] == ["accuracy", "brier"]
    with pytest.raises(UsageError, match=r"No column for the score of the curve's points; the columns are 'size', 'brier'\.") as refused:
        points_of(rows("brier"))
    assert "score, value, test_score or as a metric that is better when high, such as accuracy" in str(refused.value)
    with pytest.raises(AmbiguityError, match="Several columns could be the score: 'accuracy', 'mcc'"):
        points_of(rows("accuracy", "mcc"))


def test_a_stream_is_read_once() -> None:
    found, _ = points_of(pa.Table.from_pylist(rows("score")).to_reader())
    assert found.sizes.tolist() == list(SIZES)
