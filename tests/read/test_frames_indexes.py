"""Series and frames of pandas are paired by the labels of their index where it names the items, and never by position against it."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from steelyard.errors import DataError
from steelyard.questions.compare.compare import compare
from steelyard.questions.measure.measure import measure
from steelyard.read.open_source import open_source

TRUTH = pd.Series(["a", "b", "a", "b", "a"], index=["v", "w", "x", "y", "z"])
RIGHT = TRUTH.iloc[[4, 2, 0, 3, 1]]


def test_series_with_the_same_labels_in_another_order_are_paired_by_label() -> None:
    found = measure(TRUTH, RIGHT)
    assert found.rows[0].estimate == 1
    assert "prediction has the index labels of truth in another order: paired by label" in found.warnings


@pytest.mark.parametrize("make", [lambda a, b: {"truth": a, "prediction": b}, lambda a, b: pd.DataFrame({"truth": a, "prediction": b})])
def test_columns_given_as_series_are_paired_by_label(make: Any) -> None:
    assert measure(make(TRUTH, RIGHT)).rows[0].estimate == 1


def test_every_series_beside_the_first_is_paired_by_label() -> None:
    score = pd.Series([1.0, 0, 0, 1], index=list("abcd"))
    group, weight = pd.Series(["p", "q", "p", "q"], index=list("abcd")), pd.Series([1.0, 2, 3, 4], index=list("abcd"))
    items = open_source(
        score, columns={"group": group.iloc[::-1], "weight": weight.iloc[[2, 0, 3, 1]], "by": {"k": group.iloc[[1, 0, 2, 3]]}}
    ).items()
    assert [items.group.names[i] for i in items.group.codes] == ["p", "q", "p", "q"]
    assert items.weight.tolist() == [1, 2, 3, 4]
    assert [items.slices["k"].names[i] for i in items.slices["k"].codes] == ["p", "q", "p", "q"]
    assert [items.id.names[i] for i in items.id.codes] == list("abcd")


def test_the_default_index_and_arrays_are_paired_by_position() -> None:
    plain = pd.Series(["a", "b", "a", "a"])
    assert measure(plain, pd.Series(["a", "b", "b", "a"])).rows[0].estimate == 0.75
    assert measure(TRUTH, TRUTH.to_numpy()).rows[0].estimate == 1
    assert "id" not in open_source(plain, plain, columns={}).roles


def test_equal_indexes_that_name_nothing_are_paired_by_position() -> None:
    twice = TRUTH.set_axis(["v", "v", "w", "w", "w"])
    assert measure(twice, twice).rows[0].estimate == 1


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (RIGHT.rename({"z": "Z"}), r"differ: 4 index labels in both, 1 only in truth, such as 'z' and 1 only in prediction, such as 'Z'"),
        (RIGHT.iloc[:4], r"differ: 4 index labels in both, 1 only in truth, such as 'w'"),
        (RIGHT.set_axis(["v", "v", "x", "y", "z"]), r"by index: the labels differ, and prediction has 1 repeated label, such as 'v'"),
        (
            RIGHT.reset_index(drop=True),
            r"differ: 0 index labels in both, 5 only in truth, such as 'v', 'w', 'x' and 5 only in prediction, such as 0, 1, 2",
        ),
    ],
)
def test_labels_that_do_not_pair_are_refused_with_counts_and_examples(other: Any, said: str) -> None:
    with pytest.raises(DataError, match=rf"truth and prediction {said}\. Hint: to pair by position, give both the same index: reset_index"):
        measure(TRUTH, other)


def test_a_default_index_beside_its_own_numbers_in_another_order_is_refused() -> None:
    """Either a shuffled truth with predictions in its order, or predictions in the first order: nobody can tell."""
    truth = pd.Series(["a", "b", "a", "b"])
    with pytest.raises(DataError, match="prediction has the default index"):
        measure(truth.sample(frac=1, random_state=3), truth)


def test_frames_without_ids_are_compared_by_their_index() -> None:
    a = pd.DataFrame({"score": [1, 1, 0, 0, 1]}, index=list("vwxyz"))
    found = compare(a, a.iloc[[3, 1, 4, 0, 2]])
    assert (found.difference.estimate, found.n) == (0, 5)
    assert (found.flips["baseline_only"], found.flips["candidate_only"]) == (0, 0)
    assert not any("paired by position" in said for said in found.warnings)
    with pytest.raises(DataError, match="4 ids in both, 1 only in the baseline, such as 'z'"):
        compare(a, a.iloc[[3, 1, 0, 2]])
    with pytest.raises(DataError, match="Only one of the runs has ids"):
        compare(a, a.reset_index(drop=True))


def test_series_of_scores_are_compared_by_their_index() -> None:
    a = pd.Series([1, 1, 0, 0, 1], index=list("vwxyz"))
    found = compare(a, a.iloc[[3, 1, 4, 0, 2]])
    assert (found.difference.estimate, found.flips["baseline_only"]) == (0, 0)
    truth = pd.Series(["p", "q", "p"], index=list("xyz"))
    found = compare(truth.iloc[::-1], truth.iloc[[1, 0, 2]], truth=truth)
    assert (found.baseline.estimate, found.candidate.estimate) == (1, 1)


def test_an_id_column_repeats_and_models_come_before_the_index() -> None:
    frame = pd.DataFrame({"id": [1, 1, 2, 2], "repeat": [1, 2, 1, 2], "score": [1, 0, 1, 1]}, index=list("wxyz"))
    assert open_source(frame, columns={}).roles["id"] == "id"
    long = pd.DataFrame({"model": ["a", "a", "b", "b"], "score": [1, 0, 1, 1]}, index=list("wxyz"))
    assert compare(long, names=["a", "b"]).n == 2
