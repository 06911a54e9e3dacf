"""Coverage for means of bounded scores, grouped items and AUC: seeded simulation against the documented values, 4 errors wide.

Documented: sections 1.3 and 1.4 of the validity study, itself a simulation, whose stated error of .005 is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from by_name import item_rows
from steelyard.infer.intervals.grouped import grouped_proportion
from steelyard.infer.intervals.mean import betting, wilson_mean
from steelyard.infer.intervals.ranking import delong
from steelyard.infer.intervals.sums import linearised, resampled
from steelyard.infer.normal import wilson
from steelyard.infer.resampling.bootstrap import Degenerate
from steelyard.metrics.sums import QUOTIENT
from steelyard.tally.scores import tally_scores
from steelyard.tally.sums import Sums, tally_items

pytestmark = pytest.mark.long  # `steelyard certify` repeats them

Draw = Callable[[np.random.Generator, int], np.ndarray]
SHORT = pytest.param(1500, id="short")
LONG = pytest.param(20_000, id="long", marks=pytest.mark.long)


def mostly(share: float, value: float) -> Draw:
    """This share of items at one end of the range, the rest uniform."""
    return lambda rng, n: np.where(rng.random(n) < share, value, rng.random(n))


LAWS: dict[str, tuple[Draw, float]] = {
    "95% ones": (mostly(0.95, 1.0), 0.975),
    "99% ones": (mostly(0.99, 1.0), 0.995),
    "Beta(2,6)": (lambda rng, n: rng.beta(2, 6, n), 0.25),
}
DOCUMENTED = {  # (law, n): t, Wilson on the mean
    ("Beta(2,6)", 20): (0.943, 1.00),
    ("95% ones", 20): (0.570, 0.975),
    ("95% ones", 100): (0.881, 0.983),
    ("99% ones", 100): (0.565, 0.973),
}


def near(share: float, runs: int, documented: float, theirs: float = 0.005) -> bool:
    return abs(share - documented) <= 4 * math.sqrt(max(documented * (1 - documented), 0.002) / runs) + 2 * theirs


@pytest.mark.parametrize("runs", [SHORT, LONG])
@pytest.mark.parametrize(("law", "n"), DOCUMENTED)
def test_t_and_wilson_on_the_mean(law: str, n: int, runs: int) -> None:
    """t covers .57 where 95% of 20 items are perfect; Wilson on the mean covers .975 there."""
    draw, mean = LAWS[law]
    rng = np.random.default_rng(n)
    by_t = by_wilson = 0
    for _ in range(runs):
        x = draw(rng, n)
        low, high = wilson_mean(float(x.mean()), n, 0, 1)
        by_wilson += low <= mean <= high
        try:
            low, high = linearised(tally_items(item_rows("mean", x)), QUOTIENT)
        except Degenerate:
            continue
        by_t += low <= mean <= high
    t, wilson_s = DOCUMENTED[law, n]
    assert near(by_t / runs, runs, t)
    assert near(by_wilson / runs, runs, wilson_s)


@pytest.mark.parametrize("runs", [pytest.param(300, id="short"), pytest.param(5000, id="long", marks=pytest.mark.long)])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [20, 100])
def test_betting_covers_everywhere(law: str, n: int, runs: int) -> None:
    """Documented 1.00 in every row: no more misses than 4 errors around .995 allow; and narrower than Hoeffding at n = 100."""
    draw, mean = LAWS[law]
    rng = np.random.default_rng(n + 1)
    missed, width = 0, 0.0
    for seed in range(runs):
        low, high = betting(draw(rng, n), 0, 1, seed=seed)
        missed += not low <= mean <= high
        width += (high - low) / runs
    assert missed / runs <= 0.005 + 4 * math.sqrt(0.005 * 0.995 / runs)
    if n == 100:
        assert width < 2 * math.sqrt(math.log(40) / (2 * n)) * 0.75


@pytest.mark.long
@pytest.mark.parametrize(("law", "n", "documented"), [("95% ones", 20, 0.574), ("95% ones", 100, 0.919), ("Beta(2,6)", 20, 0.930)])
def test_bca_of_a_mean(law: str, n: int, documented: float) -> None:
    draw, mean = LAWS[law]
    rng, runs, covered = np.random.default_rng(n), 3000, 0
    for seed in range(runs):
        try:
            low, high, _ = resampled(tally_items(item_rows("mean", draw(rng, n))), QUOTIENT, "bca", 0.95, "two", draws=999, seed=seed)
        except Degenerate:
            continue
        covered += low <= mean <= high
    assert near(covered / runs, runs, documented, theirs=0.007)


# ---- groups --------------------------------------------------------------------------------------------------------------

GROUPS = {  # (groups, intraclass correlation): naive Wilson, CR1 with t, Wilson at the effective n; mean over p = .5 and .9
    (5, 0.3): (0.687, 0.819, 0.954),
    (10, 0.3): (0.685, 0.876, 0.940),
    (20, 0.1): (0.814, 0.924, 0.948),
    (50, 0.3): (0.677, 0.927, 0.942),
    (200, 0.6): (0.566, 0.943, 0.950),
}


@pytest.mark.parametrize("runs", [pytest.param(600, id="short"), pytest.param(6000, id="long", marks=pytest.mark.long)])
@pytest.mark.parametrize(("groups", "correlation"), GROUPS)
def test_groups(groups: int, correlation: float, runs: int) -> None:
    """Beta-binomial groups of 2 to 18 items. The study's sizes are not recorded, so the naive figure is met within .06 only."""
    rng = np.random.default_rng(groups)
    naive = robust = ours = 0
    for p in (0.5, 0.9):
        a, b = p * (1 - correlation) / correlation, (1 - p) * (1 - correlation) / correlation
        for _ in range(runs):
            n = rng.integers(2, 19, groups)
            y = rng.binomial(n, rng.beta(a, b, groups)).astype(float)
            low, high = wilson(float(y.sum()), float(n.sum()))
            naive += low <= p <= high
            low, high = grouped_proportion(y, n.astype(float), int(n.sum())).wilson()
            ours += low <= p <= high
            try:
                low, high = linearised(
                    Sums(rows=np.stack([n.astype(float), y], 1), count=np.ones(groups, np.int64), answers=int(n.sum())), QUOTIENT
                )
                robust += low <= p <= high
            except Degenerate:
                pass
    of_naive, of_robust, of_ours = GROUPS[groups, correlation]
    assert near(ours / (2 * runs), 2 * runs, of_ours)
    assert abs(naive / (2 * runs) - of_naive) < 0.06
    assert abs(robust / (2 * runs) - of_robust) < 0.06
    assert ours >= robust


@pytest.mark.parametrize("runs", [pytest.param(1000, id="short"), LONG])
@pytest.mark.parametrize(("n_positive", "n_negative", "shift"), [(30, 30, 1.2), (50, 200, 1.8)])
def test_delong_on_the_logit_scale(n_positive: int, n_negative: int, shift: float, runs: int) -> None:
    """Binormal scores: nominal within 4 errors and 1.5 points."""
    rng = np.random.default_rng(n_positive)
    positive = np.arange(n_positive + n_negative) < n_positive
    area = 0.5 * (1 + math.erf(shift / 2))
    covered = 0
    for _ in range(runs):
        low, high = delong(tally_scores(rng.normal(positive * shift, 1), positive))
        covered += low <= area <= high
    assert abs(covered / runs - 0.95) < 4 * math.sqrt(0.95 * 0.05 / runs) + 0.015
