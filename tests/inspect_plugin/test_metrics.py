"""The numbers of our metrics inside Inspect, on scores of Inspect's shape; the package itself is not needed."""

from __future__ import annotations

import logging
import math
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import every
from steelyard.errors import DataError, UsageError
from steelyard.inspect_plugin import _given, by_group, with_interval


def scored(values: list[Any], ids: list[Any] | None = None, **facts: list[Any]) -> list[Any]:
    """What Inspect passes to a metric: SampleScore with a score, an id and the sample's metadata."""
    names = range(1, len(values) + 1) if ids is None else ids
    return [
        SimpleNamespace(score=SimpleNamespace(value=value), sample_id=name, sample_metadata={key: facts[key][i] for key in facts} or None)
        for i, (value, name) in enumerate(zip(values, names, strict=True))
    ]


def accuracy_of(scores: list[Any], **options: Any) -> dict[str, float]:
    return with_interval("accuracy", scores, to_float=float, **options)


def test_right_or_wrong_has_the_interval_of_measure() -> None:
    values = [1.0] * 12 + [0.0] * 28
    row = sy.measure(np.array(values)).rows[0]
    assert row.interval is not None
    assert accuracy_of(scored(values)) == {
        "accuracy": row.estimate,
        "accuracy_low": row.interval.low,
        "accuracy_high": row.interval.high,
        "accuracy_stderr": row.standard_error,
    }
    assert row.interval.method == "wilson"


def test_a_perfect_run_has_an_interval_all_the_same() -> None:
    found = accuracy_of(scored([1.0] * 20))
    assert found["accuracy"] == found["accuracy_high"] == 1
    assert 0.8 < found["accuracy_low"] < 0.9  # Wilson: 20 / (20 + 1.96^2) = 0.839


def test_epochs_of_a_sample_are_not_more_samples() -> None:
    once = [float(i % 7 > 2) for i in range(30)]
    thrice = accuracy_of(scored(once * 3, ids=[*range(30)] * 3))
    single = accuracy_of(scored(once))
    assert thrice["accuracy"] == pytest.approx(single["accuracy"])
    width = {name: found["accuracy_high"] - found["accuracy_low"] for name, found in (("thrice", thrice), ("single", single))}
    assert width["thrice"] > 0.9 * width["single"]  # three equal epochs tell nothing that one did not
    assert thrice["accuracy_stderr"] == pytest.approx(single["accuracy_stderr"])


def test_epochs_reduced_to_a_mean_are_one_score_per_sample() -> None:
    values = [i % 4 / 3 for i in range(40)]
    found = accuracy_of(scored(values))
    assert found["accuracy"] == pytest.approx(np.mean(values))
    assert found["accuracy_stderr"] == pytest.approx(np.std(values, ddof=1) / math.sqrt(40))


def test_a_cluster_is_a_group() -> None:
    values, passages = [float(i % 20 < 8) for i in range(40)], [f"p{i // 4}" for i in range(40)]
    found = accuracy_of(scored(values, passage=passages), cluster="passage")
    row = sy.measure(np.array(values), group=passages).rows[0]
    assert row.interval is not None
    assert (found["accuracy_low"], found["accuracy_high"]) == (row.interval.low, row.interval.high)
    alone = accuracy_of(scored(values))
    assert found["accuracy_high"] - found["accuracy_low"] > alone["accuracy_high"] - alone["accuracy_low"]


def test_the_confidence_level_counts() -> None:
    narrow, wide = (accuracy_of(scored([1.0, 0.0] * 20), confidence_level=level) for level in (0.8, 0.99))
    assert wide["accuracy_low"] < narrow["accuracy_low"]


def test_what_cannot_be_known_is_left_out_and_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = with_interval("mean", scored([3.5]), to_float=float)
    assert found == {"mean": 3.5}
    assert caplog.messages
    assert not any(math.isnan(value) for value in found.values())


def test_no_scored_sample_is_what_inspect_shows_for_it() -> None:
    found = accuracy_of([])
    assert list(found) == ["accuracy"]
    assert math.isnan(found["accuracy"])


def test_a_group_has_its_own_numbers_and_so_has_the_whole() -> None:
    values, topics = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0] * 5, ["algebra", "logic"] * 15
    found = by_group(accuracy_of, scored(values, topic=topics), "topic", "all")
    assert list(found) == [f"{name}{end}" for name in ("algebra", "logic", "all") for end in ("", "_low", "_high", "_stderr")]
    assert (found["algebra"], found["logic"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert found["all"] == accuracy_of(scored(values))["accuracy"]


@every(
    ("topics", "called"),
    [
        (["a", "a_low"], ["a", "a_low (group)", "all"]),
        (["a_low", "a"], ["a_low (group)", "a", "all"]),
        (["all", "b"], ["all", "b", "all (all samples)"]),
        (["b", "all_high"], ["b", "all_high (group)", "all"]),
        (["a", "a_low", "a_low (group)"], ["a", "a_low (group)", "a_low (group) (group)", "all"]),
    ],
)
def test_groups_whose_numbers_would_have_one_name_get_longer_ones_whatever_their_order(
    topics: list[str], called: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    values = [float(i % 7 > 2) for i in range(30 * len(topics))]
    found = by_group(accuracy_of, scored(values, topic=topics * 30), "topic", "all")
    assert list(found) == [f"{name}{end}" for name in called for end in ("", "_low", "_high", "_stderr")]
    for place, name in enumerate(called[:-1]):
        assert found[name] == accuracy_of(scored(values[place :: len(topics)]))["accuracy"]
    assert found[called[-1]] == accuracy_of(scored(values))["accuracy"]
    assert "two numbers would have one name" in caplog.text


def test_a_sample_without_the_key_is_named() -> None:
    with pytest.raises(DataError, match="sample '2' has none"):
        by_group(accuracy_of, scored([1.0, 0.0], topic=["a", None]), "topic", None)


def test_a_level_that_is_none_is_refused_before_the_run() -> None:
    with pytest.raises(UsageError, match=r"write 0\.95"):
        _given(95, None, None)


def test_naming_the_module_loads_nothing_of_inspect() -> None:
    code = "import sys, steelyard.inspect_plugin; print(sorted({'inspect_ai', 'numpy', 'scipy', 'duckdb', 'click'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
