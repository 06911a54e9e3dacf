"""Arrays and measurements given to `compare` without a word about what they are: the obvious question, or a refusal."""

from __future__ import annotations

import numpy as np
import pytest

import steelyard as sy
from steelyard.errors import UsageError

RNG = np.random.default_rng(3)
TRUTH = RNG.integers(0, 3, 120)
A = np.where(RNG.random(120) < 0.6, TRUTH, 0)
B = np.where(RNG.random(120) < 0.8, TRUTH, 0)


def words(codes: np.ndarray) -> list[str]:
    return [("cat", "dog", "eel")[i] for i in codes]


@pytest.mark.parametrize("of", [words, np.asarray, lambda codes: codes.astype(float), list])
def test_three_arrays_of_labels_are_truth_baseline_and_candidate(of: object) -> None:
    found = sy.compare(*(of(x) for x in (TRUTH, A, B)))  # type: ignore[operator]
    named = sy.compare(words(A), words(B), truth=words(TRUTH))
    assert isinstance(found, sy.Comparison)
    assert (found.baseline.estimate, found.candidate.estimate) == (named.baseline.estimate, named.candidate.estimate)
    assert found.baseline.estimate == float(np.mean(TRUTH == A))
    assert found.p_value == named.p_value


def test_arrays_of_scores_are_one_system_each() -> None:
    scores = RNG.random((3, 40))
    assert isinstance(sy.rank(*scores), sy.Leaderboard)


@pytest.mark.parametrize(
    "arrays",
    [(TRUTH == 1, A == 1, B == 1), (words(TRUTH), words(A), words(B), words(B)), (TRUTH, A, B, A)],
    ids=["only 0 and 1", "four lists of words", "four arrays of codes"],
)
def test_what_could_begin_with_the_truth_or_not_is_refused_with_the_clear_form(arrays: tuple[object, ...]) -> None:
    with pytest.raises(UsageError, match="Cannot tell truths from answers") as caught:
        sy.compare(*arrays)
    assert "truth=y_true" in str(caught.value)


def test_three_arrays_of_labels_have_one_length() -> None:
    with pytest.raises(UsageError, match=r"The arrays have different lengths: 120, 120, 7\."):
        sy.compare(words(TRUTH), words(A), words(B)[:7])


def test_two_measurements_are_compared_by_their_counts_and_the_sentence_says_that_pairs_are_unknown() -> None:
    one, other = sy.measure(words(TRUTH), words(A)), sy.measure(words(TRUTH), words(B))
    found = sy.compare(one, other)
    counts = sy.compare(one.table, other.table)
    assert (found.design, found.metric) == ("unpaired", "accuracy")
    assert (found.p_value, found.difference) == (counts.p_value, counts.difference)
    assert any("which answers belong together is unknown" in warning for warning in found.warnings)


def test_the_headline_of_two_measurements_is_what_is_compared() -> None:
    one, other = (sy.measure(words(TRUTH), words(x), metric="macro_f1") for x in (A, B))
    assert sy.compare(one, other).metric == "macro_f1"
    assert sy.compare(one, other, metric="accuracy").metric == "accuracy"


def test_a_measurement_without_counts_or_beside_something_else_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match=r"Cannot compare these measurements: they keep no table of counts \(they"):
        sy.compare(sy.measure([0.1, 0.5, 0.2]), sy.measure([0.2, 0.5, 0.3]))
    with pytest.raises(UsageError, match=r"Cannot compare a Measurement with a list\."):
        sy.compare(sy.measure(words(TRUTH), words(A)), words(B))
