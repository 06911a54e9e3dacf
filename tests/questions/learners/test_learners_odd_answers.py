"""Learners that give no numbers, no items, options of another method: each is an error that says what is wrong."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import steelyard as sy


class Says:
    """A learner that always says one thing."""

    def __init__(self, what: Any) -> None:
        self.what = what

    def fit(self, X: Any, y: Any) -> Says:
        return self

    def predict(self, X: Any) -> Any:
        return np.array([self.what] * len(X))


FEATURES, NUMBERS = np.zeros((40, 1)), np.arange(40.0)
FEW: dict[str, Any] = {"folds": 2, "repeats": 1}


@pytest.mark.parametrize("metric", ["accuracy", "mae"])
def test_no_items(metric: str) -> None:
    with pytest.raises(sy.DataError, match="No items to learn from"):
        sy.compare_learners(Says(0), Says(1), FEATURES[:0], NUMBERS[:0], metric=metric, **FEW)


@pytest.mark.parametrize("metric", ["mae", "rmse", "r2"])
def test_texts_where_numbers_are_wanted(metric: str) -> None:
    with pytest.raises(sy.DataError, match=f"{metric} needs predictions that are numbers, and got 'a'"):
        sy.compare_learners(Says(1.0), Says("a"), FEATURES, NUMBERS, metric=metric, **FEW)


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_predictions_that_are_no_numbers(odd: float) -> None:
    with pytest.raises(sy.DataError, match="20 of 20 predictions in a test set are NaN or infinite"):
        sy.compare_learners(Says(1.0), Says(odd), FEATURES, NUMBERS, metric="mae", **FEW)


def test_numbers_too_large_to_square_warn_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(sy.DataError, match="rmse is undefined"):
            sy.compare_learners(Says(1.0), Says(1e300), FEATURES, NUMBERS, metric="rmse", **FEW)


@pytest.mark.parametrize("method", ["kfold", "5x2cv-t", "5x2cv-f", "disjoint-sets"])
def test_a_prior_scale_needs_a_probability(method: str) -> None:
    with pytest.raises(sy.UsageError, match=f"prior_scale= is only used by .*not by {method}"):
        sy.compare_learners(Says(1.0), Says(2.0), FEATURES, NUMBERS, metric="mae", method=method, prior_scale=0.01)


def test_a_learner_whose_exception_cannot_be_printed() -> None:
    class UnspeakableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("str fails")

    class Failing(Says):
        def fit(self, X: Any, y: Any) -> Says:
            raise UnspeakableError

    with pytest.raises(sy.DataError, match=r"Too few splits worked.*UnspeakableError"):
        sy.compare_learners(Says(1.0), Failing(1.0), FEATURES, NUMBERS, metric="mae", **FEW)
