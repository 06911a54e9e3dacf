"""Exact coverage of the proportion methods: the tables of the validity study, to the digits it prints. Weak spots included.

Nothing is simulated: coverage is a sum of binomial probabilities over the outcomes whose interval holds the truth.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

from oracles import coverage
from steelyard.infer.intervals.proportion import METHODS, proportion_interval
from steelyard.infer.posterior.metrics import proportion_posterior

pytestmark = pytest.mark.long  # `steelyard certify` repeats them

COLUMNS = ("wald", "wilson", "agresti-coull", "jeffreys", "clopper-pearson", "mid-p", "uniform prior")
SELECTED = {  # (n, p): coverage of nominal 95% in the order of COLUMNS
    (10, 0.9): (0.650, 0.930, 0.930, 0.987, 0.987, 0.987, 0.930),
    (20, 0.95): (0.639, 0.925, 0.984, 0.984, 0.984, 0.984, 0.925),
    (50, 0.99): (0.395, 0.911, 0.986, 0.986, 0.986, 0.986, 0.911),
    (100, 0.9): (0.932, 0.936, 0.972, 0.956, 0.956, 0.956, 0.936),
    (100, 0.99): (0.633, 0.921, 0.982, 0.982, 0.982, 0.982, 0.921),
    (500, 0.99): (0.871, 0.962, 0.962, 0.929, 0.980, 0.929, 0.962),
    (1000, 0.999): (0.632, 0.920, 0.981, 0.981, 0.981, 0.981, 0.920),
    (4096, 0.999): (0.912, 0.959, 0.976, 0.959, 0.959, 0.959, 0.926),
    (4096, 0.9): (0.949, 0.952, 0.952, 0.949, 0.955, 0.949, 0.952),
}
OVER_THE_GRID = {  # (n, method): mean and minimum over p = 1/2000 ... 1999/2000
    (20, "wald"): (0.846, 0.010),
    (20, "wilson"): (0.953, 0.843),
    (20, "jeffreys"): (0.951, 0.894),
    (20, "mid-p"): (0.961, 0.929),
    (20, "agresti-coull"): (0.962, 0.929),
    (20, "clopper-pearson"): (0.977, 0.958),
    (100, "wald"): (0.923, 0.049),
    (100, "wilson"): (0.951, 0.861),
    (100, "agresti-coull"): (0.956, 0.939),
    (100, "mid-p"): (0.953, 0.921),
    (100, "clopper-pearson"): (0.965, 0.950),
    (1000, "wald"): (0.946, 0.393),
    (1000, "wilson"): (0.950, 0.910),
    (1000, "mid-p"): (0.950, 0.917),
    (1000, "clopper-pearson"): (0.955, 0.950),
}
ONE_SIDED = {  # (side, method): minimum over p >= 1/2 at n = 100
    ("lower", "wilson"): 0.932,
    ("lower", "jeffreys"): 0.853,
    ("lower", "mid-p"): 0.902,
    ("lower", "clopper-pearson"): 0.950,
    ("upper", "wilson"): 0.819,
    ("upper", "jeffreys"): 0.861,
    ("upper", "agresti-coull"): 0.923,
    ("upper", "clopper-pearson"): 0.950,
}
PRINTED = 0.00051  # half of the last digit
GRID = np.arange(1, 2000) / 2000


@cache
def ends(n: int, method: str, side: str = "two") -> np.ndarray:
    return np.array([proportion_interval(k, n, method, 0.95, side) for k in range(n + 1)]).T


def coverages(n: int, method: str, side: str, at: np.ndarray) -> np.ndarray:
    low, high = ends(n, method, side)[:, :, None]
    covered = (low <= at) & (at <= high)
    return (stats.binom.pmf(np.arange(n + 1)[:, None], n, at) * covered).sum(0)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(("n", "p"), SELECTED)
def test_selected(n: int, p: float, column: str) -> None:
    ask = (
        (lambda x: proportion_posterior(x, n, prior=1.0).interval(0.95))
        if column == "uniform prior"
        else (lambda x: proportion_interval(x, n, column))
    )
    assert coverage(n, p, ask) == pytest.approx(SELECTED[n, p][COLUMNS.index(column)], abs=PRINTED)


@pytest.mark.parametrize(("n", "method"), OVER_THE_GRID)
def test_mean_and_minimum_over_the_grid(n: int, method: str) -> None:
    found = coverages(n, method, "two", GRID)
    assert (found.mean(), found.min()) == pytest.approx(OVER_THE_GRID[n, method], abs=PRINTED)


@pytest.mark.parametrize(("side", "method"), ONE_SIDED)
def test_one_sided_minimum(side: str, method: str) -> None:
    """A good two-sided interval need not be good on one side: Wilson's upper bound covers .819 where it says .95."""
    assert coverages(100, method, side, GRID[GRID >= 0.5]).min() == pytest.approx(ONE_SIDED[side, method], abs=PRINTED)


@pytest.mark.parametrize("n", [1, 2, 5, 20, 50])
@pytest.mark.parametrize("side", ["two", "lower", "upper"])
def test_clopper_pearson_never_covers_less_than_it_says(n: int, side: str) -> None:
    """The one guarantee; checked at both edges of every interval too, where coverage jumps."""
    edges = np.unique(ends(n, "clopper-pearson", side))
    at = np.concatenate([GRID, edges[:-1] + 1e-9, edges[1:] - 1e-9])
    assert coverages(n, "clopper-pearson", side, at[(at > 0) & (at < 1)]).min() >= 0.95 - 1e-9


@pytest.mark.parametrize("n", [5, 20, 50, 100])
@pytest.mark.parametrize("method", sorted(set(METHODS) - {"wald", "percentile"}))
def test_average_coverage_is_near_the_level(n: int, method: str) -> None:
    """What can be promised of the approximate ones: .945 or more on average over p. Wald and the bootstrap cannot."""
    assert coverages(n, method, "two", GRID).mean() >= 0.945


@pytest.mark.parametrize("method", ["wald", "percentile"])
def test_weak_spots(method: str) -> None:
    """No width at k = n: at n = 10, p = .9 a third of the samples are perfect, and the truth is missed in all of them."""
    assert coverages(10, method, "two", np.array([0.9]))[0] == pytest.approx(0.650 if method == "wald" else 0.6497, abs=PRINTED)
    assert coverages(20, method, "two", GRID).mean() < 0.86


def test_widths_at_95_percent() -> None:
    """n = 100, p = .95: Wald's is narrow because it is wrong."""
    weight = stats.binom.pmf(np.arange(101), 100, 0.95)
    width = {method: float(weight @ np.ptp(ends(100, method), axis=0)) for method in ("wald", "wilson", "clopper-pearson", "jeffreys")}
    assert width == pytest.approx({"wald": 0.0815, "wilson": 0.0884, "clopper-pearson": 0.0942, "jeffreys": 0.0846}, abs=5.1e-5)
