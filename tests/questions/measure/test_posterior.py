"""`sy.posterior`: what is known of a metric after the counts, asked like a distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import trapezoid

import steelyard as sy
from cases import every

BINARY = sy.Counts.binary(tp=31, fp=5, fn=2, tn=62)
LABELS = sy.Counts.table([[30, 4, 1], [3, 20, 2], [0, 2, 18]], labels=["cat", "dog", "owl"])
ALL: list[tuple[sy.Counts, str, dict[str, Any]]] = [
    (sy.Counts.of(85, 100), "accuracy", {}),
    (sy.Counts.of(85, 100), "error", {}),
    (sy.Counts.of(85, 100), "mean", {}),
    (sy.Counts.of(0, 9), "accuracy", {}),
    (sy.Counts.of(9, 9), "accuracy", {"prior": 1}),
    (BINARY, "f1", {}),
    (BINARY, "f1", {"prior": 1}),
    (BINARY, "fbeta:2", {}),
    (BINARY, "jaccard", {}),
    (BINARY, "precision", {}),
    (BINARY, "recall", {}),
    (BINARY, "specificity", {}),
    (BINARY, "npv", {}),
    (BINARY, "balanced_accuracy", {}),
    (BINARY, "mcc", {}),
    (BINARY, "kappa", {}),
    (LABELS, "accuracy", {}),
    (LABELS, "f1", {"positive": "dog"}),
    (LABELS, "macro_f1", {}),
    (LABELS, "macro_recall", {}),
    (LABELS, "weighted_f1", {}),
    (LABELS, "micro_f1", {}),
    (LABELS, "balanced_accuracy", {}),
]  # fmt: skip
IDS = [f"{metric}-{i}" for i, (_, metric, _) in enumerate(ALL)]


@every(("counts", "metric", "options"), ALL, ids=IDS)
def test_it_answers_like_a_distribution(counts: sy.Counts, metric: str, options: dict[str, Any]) -> None:
    law = sy.posterior(counts, metric, **options)
    assert isinstance(law.cdf(0.5), float)
    grid = np.linspace(0, 1, 41)
    assert np.all(np.diff(law.cdf(grid)) >= -1e-12)
    assert law.cdf(grid).shape == (41,)
    assert law.cdf(1.0) == pytest.approx(1.0)
    assert np.all(law.pdf(grid) >= 0)
    assert law.bottom < law.mean < law.top
    assert law.sd > 0
    quantiles = law.ppf(np.array([0.025, 0.5, 0.975]))
    assert np.all(np.diff(quantiles) > 0)
    loose = 1e-9 if law.exact else 2e-3  # a law of draws has steps
    assert law.cdf(quantiles) == pytest.approx([0.025, 0.5, 0.975], abs=loose)
    assert law.ppf(0.5) == pytest.approx(law.median)
    assert law.interval() == law.interval(0.95, kind="equal-tailed")
    assert law.interval(0.95) == pytest.approx((quantiles[0], quantiles[2]), abs=1e-9 if law.exact else 1e-3)


@every(("counts", "metric", "options"), ALL, ids=IDS)
def test_the_kinds_of_intervals(counts: sy.Counts, metric: str, options: dict[str, Any]) -> None:
    law = sy.posterior(counts, metric, **options)
    for level in (0.5, 0.9, 0.99):
        low, high = law.interval(level, kind="equal-tailed")
        short_low, short_high = law.interval(level, kind="hdi")
        loose = 1e-7 if law.exact else 0.01
        assert law.cdf(high) - law.cdf(low) == pytest.approx(level, abs=loose)
        assert law.cdf(short_high) - law.cdf(short_low) == pytest.approx(level, abs=loose)
        assert short_high - short_low <= high - low + 1e-7
    low, high = law.interval(0.9, kind="hdi")
    if math.isfinite(law.mode):
        assert low - 1e-6 <= law.mode <= high + 1e-6
    lower, top = law.interval(0.95, kind="lower")
    assert top == law.top
    assert lower == pytest.approx(law.ppf(0.05), abs=1e-9)
    bottom, upper = law.interval(0.95, kind="upper")
    assert bottom == law.bottom
    assert upper == pytest.approx(law.ppf(0.95), abs=1e-9)


def test_accuracy_is_a_beta() -> None:
    law, beta = sy.posterior(sy.Counts.of(85, 100)), stats.beta(85.5, 15.5)
    for x in (0.7, 0.85, 0.9):
        assert law.cdf(x) == pytest.approx(beta.cdf(x), rel=1e-12)
        assert law.pdf(x) == pytest.approx(beta.pdf(x), rel=1e-10)
    assert law.ppf(0.3) == pytest.approx(beta.ppf(0.3), rel=1e-10)
    assert law.mean == pytest.approx(85.5 / 101)
    assert law.mode == pytest.approx(84.5 / 99)
    assert law.sd == pytest.approx(beta.std())


def test_f1_is_a_mapped_beta() -> None:
    law = sy.posterior(sy.Counts.binary(tp=31, fp=5, fn=2), "f1")
    assert law.interval() == pytest.approx((0.795717, 0.950553), abs=5e-7)
    assert law.cdf(0.85) == pytest.approx(stats.beta(31.5, 8).cdf(0.85 / 1.15), rel=1e-10)
    assert law.cdf(0.85) == pytest.approx(1 - 0.82382, abs=5e-6)
    draws = stats.beta(31.5, 8).rvs(200_000, random_state=0)
    assert law.mean == pytest.approx(float(np.mean(2 * draws / (1 + draws))), abs=4e-4)
    grid = np.linspace(0.6, 0.999, 4001)
    assert law.mode == pytest.approx(float(grid[np.argmax(law.pdf(grid))]), abs=2e-4)
    assert trapezoid(law.pdf(grid), grid) == pytest.approx(law.cdf(0.999) - law.cdf(0.6), abs=1e-6)


def test_it_is_the_interval_that_measure_prints() -> None:
    for counts, metric, options in ALL:
        law = sy.posterior(counts, metric, **options)
        m = sy.measure(counts, metric=metric, interval="bayes", **options)
        assert m.interval is not None
        assert (m.interval.low, m.interval.high) == pytest.approx(law.interval(), abs=1e-12)


def test_it_takes_a_measurement() -> None:
    m = sy.measure(["a", "b", "b"] * 9, ["a", "b", "a"] * 9)
    assert sy.posterior(m).interval() == sy.posterior(sy.Counts.of(18, 27)).interval()
    assert sy.posterior(m, "f1", positive="a").mean == sy.posterior(sy.Counts.binary(tp=9, fp=9, fn=0), "f1").mean


def test_draws_and_seed() -> None:
    one = sy.posterior(LABELS, "macro_f1", seed=1).interval()
    assert sy.posterior(LABELS, "macro_f1", seed=1).interval() == one
    assert sy.posterior(LABELS, "macro_f1", seed=2).interval() != one
    assert sy.posterior(LABELS, "macro_f1").error > 0
    assert sy.posterior(LABELS, "accuracy").error == 0


def test_error_is_the_mirror_of_accuracy() -> None:
    right, wrong = sy.posterior(sy.Counts.of(85, 100)), sy.posterior(sy.Counts.of(85, 100), "error")
    assert wrong.interval() == pytest.approx((1 - right.interval()[1], 1 - right.interval()[0]), abs=1e-12)


def test_mistakes() -> None:
    with pytest.raises(sy.UsageError, match=r"^No metric 'nonsense'\. There are accuracy, error"):
        sy.posterior(BINARY, "nonsense")
    with pytest.raises(sy.UsageError, match="a metric of a table"):
        sy.posterior(BINARY, "auc")
    with pytest.raises(sy.UsageError, match=r"each_f1 is one number per class; a posterior needs a single class\."):
        sy.posterior(LABELS, "each_f1")
    with pytest.raises(sy.UsageError, match=r"Which class is f1 about\? The labels are 'cat', 'dog', 'owl'\."):
        sy.posterior(LABELS, "f1")
    with pytest.raises(sy.DataError, match="true negatives"):
        sy.posterior(sy.Counts.binary(tp=31, fp=5, fn=2), "accuracy")
    with pytest.raises(sy.UsageError, match="prior"):
        sy.posterior(BINARY, "f1", prior=0)
    with pytest.raises(sy.UsageError, match="Counts"):
        sy.posterior("preds.csv")  # type: ignore[arg-type]
    with pytest.raises(sy.UsageError, match="hdi"):
        sy.posterior(BINARY, "f1").interval(0.95, kind="shortest")
    with pytest.raises(sy.SteelyardError, match="between 0 and 1"):
        sy.posterior(BINARY, "f1").ppf(1.5)


def test_without_true_negatives_the_negative_class_is_not_known() -> None:
    with pytest.raises(sy.SteelyardError, match="negative"):
        sy.posterior(sy.Counts.binary(tp=31, fp=5, fn=2), "f1", positive="negative")


def test_no_items_give_the_prior_or_a_refusal() -> None:
    try:
        law = sy.posterior(sy.Counts.of(0, 0))
    except sy.SteelyardError:
        return
    assert law.mean == 0.5
