"""Paired bootstrap and delta method on the joint table: all resamples of small samples, loops over items, invariants."""

from __future__ import annotations

import functools
import itertools
import math
import tracemalloc
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from by_name import statistic
from cases import every
from oracles import central_differences, naive_bca
from steelyard.infer.intervals.table import delta_error
from steelyard.infer.paired.mcnemar import wald_paired
from steelyard.infer.paired.randomization import Swaps
from steelyard.infer.paired.table import (
    JointCells,
    _resampled_tail,
    first_order,
    joint_bootstrap,
    paired_bootstrap_accuracy,
    paired_bootstrap_test,
)
from steelyard.infer.resampling.bootstrap import Degenerate
from steelyard.metrics.table import TableStatistic
from steelyard.tally.joint import JointCounts, joint_table

ALTERNATIVES = ("two-sided", "less", "greater")
OTHER = {"two-sided": "two-sided", "less": "greater", "greater": "less"}
ACCURACY, MACRO = statistic("accuracy"), statistic("f1", average_of="macro", absent="zero")
Array = npt.NDArray[np.int64]


def joint_of(items: Sequence[tuple[int, int, int]], classes: int = 3) -> JointCounts:
    return joint_table(Counter(items), tuple(map(str, range(classes))))


def sample(n: int, classes: int, seed: int, gap: float = 0.08) -> Array:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    a, b = (np.where(rng.random(n) < p, truth, rng.integers(0, classes, n)) for p in (0.6, 0.6 + 2 * gap))
    return np.stack([truth, a, np.where(rng.random(n) < 0.4, a, b)], axis=1)


def as_joint(rows: Array, classes: int) -> JointCounts:
    return joint_of([tuple(row) for row in rows.tolist()], classes)


def difference(metric: TableStatistic, rows: Array, classes: int) -> float:
    swaps = Swaps(as_joint(rows, classes))
    return float(metric.value(swaps.observed("candidate")) - metric.value(swaps.observed("baseline")))


# ---- the test --------------------------------------------------------------------------------------------------------


def test_course_example() -> None:
    """golden paired_boot_course_exact: differences [1, 1, 0, -1, 1], all 3125 resamples: 0.20736."""
    assert paired_bootstrap_accuracy(3, 1, 5) == pytest.approx(0.20736, abs=1e-12)
    joint = JointCounts.flips(both=1, baseline_only=1, candidate_only=3, neither=0)
    found = paired_bootstrap_test(joint, ACCURACY, draws=40_000)
    assert abs(found.share - 0.20736) < 4 * math.sqrt(0.20736 * 0.79264 / 40_000)
    assert found.share == found.count / found.draws
    assert found.p_value == (found.count + 1) / (found.draws + 1)


@every("alternative", ALTERNATIVES)
@every(("gained", "lost", "n"), [(3, 1, 5), (1, 3, 6), (2, 2, 6), (0, 2, 5), (4, 0, 4), (1, 0, 6), (3, 2, 5)])
def test_accuracy_equals_all_resamples(gained: int, lost: int, n: int, alternative: str) -> None:
    """All n^n resamples in whole numbers."""
    d = [1] * gained + [-1] * lost + [0] * (n - gained - lost)
    observed = sum(d)
    keep = {
        "greater": lambda s: s >= 2 * observed,
        "less": lambda s: s <= 2 * observed,
        "two-sided": lambda s: abs(s - observed) >= abs(observed),
    }[alternative]
    sums = [sum(resample) for resample in itertools.product(d, repeat=n)]
    assert paired_bootstrap_accuracy(gained, lost, n, alternative) == pytest.approx(np.mean([keep(s) for s in sums]), abs=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_drawn_equals_exact_for_accuracy(alternative: str) -> None:
    for gained, lost, n in ((76, 58, 1000), (12, 20, 50), (9, 9, 40)):
        joint = JointCounts.flips(both=n - gained - lost - 3, baseline_only=lost, candidate_only=gained, neither=3)
        exact = paired_bootstrap_accuracy(gained, lost, n, alternative)
        share = paired_bootstrap_test(joint, ACCURACY, alternative=alternative, draws=20_000).share
        assert abs(share - exact) <= 4 * math.sqrt(exact * (1 - exact) / 20_000)


def test_a_large_sample_is_exact_too() -> None:
    """performance.md: by transform .30145 on its data; here against the normal law, and the mirror image."""
    share = paired_bootstrap_accuracy(76_000, 76_500, 10**6, "less")
    z = -500 / math.sqrt(152_500 - 500**2 / 10**6)
    assert share == pytest.approx(0.5 * math.erfc(-z / math.sqrt(2)), abs=1e-3)
    assert paired_bootstrap_accuracy(76_500, 76_000, 10**6, "greater") == pytest.approx(share, rel=1e-11)


def test_drawn_f1_equals_a_loop_over_items() -> None:
    rows = sample(150, 3, 2, gap=0.03)
    found = paired_bootstrap_test(as_joint(rows, 3), MACRO, draws=4000)
    rng = np.random.default_rng(0)
    delta = difference(MACRO, rows, 3)
    sums = np.array([difference(MACRO, rows[rng.integers(0, 150, 150)], 3) for _ in range(600)])
    share = float(np.mean(sums >= 2 * delta - 1e-12))
    assert abs(found.share - share) < 4 * math.sqrt(share * (1 - share) * (1 / 600 + 1 / 4000)) + 1e-3


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.sampled_from(ALTERNATIVES))
def test_swapping_the_systems(gained: int, lost: int, same: int, alternative: str) -> None:
    n = max(1, gained + lost + same)
    one, other = (
        paired_bootstrap_accuracy(gained, lost, n, alternative),
        paired_bootstrap_accuracy(lost, gained, n, OTHER[alternative]),
    )
    assert one == pytest.approx(other, abs=1e-12)
    assert 0 <= one <= 1


def test_strictly_more_as_printed_rejects_most_equal_systems() -> None:
    """delta_i > 2 delta as Berg-Kirkpatrick et al. (2012) print it: two systems that never disagree have share 0. Exact, 20 items."""
    n, size = 20, 0.0
    for m in range(int(stats.binom.isf(1e-7, n, 0.02)) + 1):
        called = [g for g in range(m + 1) if m == 0 or _resampled_tail(g, m - g, n, 2 * (2 * g - m) + 1) <= 0.05]
        size += stats.binom.pmf(m, n, 0.02) * stats.binom.pmf(called, m, 0.5).sum()
    assert size == pytest.approx(0.682, abs=1e-3)


def test_identical_systems() -> None:
    rows = sample(60, 3, 0)
    rows[:, 2] = rows[:, 1]
    joint = as_joint(rows, 3)
    for alternative in ALTERNATIVES:
        assert paired_bootstrap_accuracy(0, 0, 60, alternative) == 1.0
        assert paired_bootstrap_test(joint, MACRO, alternative=alternative, draws=99)[:2] == (1.0, 1.0)
    assert paired_bootstrap_accuracy(7, 7, 60, "two-sided") == 1.0
    for method in ("bca", "percentile"):
        with pytest.raises(Degenerate):
            joint_bootstrap(joint, MACRO, method, draws=999)
    with pytest.raises(Degenerate):
        first_order(joint, MACRO).interval()


# ---- the interval ------------------------------------------------------------------------------------------------------


def test_percentile_equals_all_resamples() -> None:
    """golden paired_boot_percentile_exact: [-0.4, 1.0] for differences [1, 1, 0, -1, 1], inverted cdf."""
    joint = JointCounts.flips(both=1, baseline_only=1, candidate_only=3, neither=0)
    low, high, undefined = joint_bootstrap(joint, ACCURACY, "percentile", draws=20_000)
    assert (low, high, undefined) == (pytest.approx(-0.4), pytest.approx(1.0), 0)


@functools.cache
def one_by_one() -> tuple[np.ndarray, np.ndarray]:
    """Items, and the difference in 2,000 samples of them drawn in a loop."""
    rows, rng = sample(120, 3, 5), np.random.default_rng(1)
    return rows, np.array([difference(MACRO, rows[rng.integers(0, 120, 120)], 3) for _ in range(2000)])


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_interval_equals_a_loop_over_items(method: str) -> None:
    rows, redrawn = one_by_one()
    low, high, _ = joint_bootstrap(as_joint(rows, 3), MACRO, method, draws=20_000)
    if method == "bca":
        theirs = naive_bca(rows, lambda r: difference(MACRO, r, 3), redrawn, 0.95)
    else:
        theirs = tuple(np.quantile(redrawn, [0.025, 0.975]))
    error = redrawn.std() * 2.7 / math.sqrt(2000)  # of a 2.5% quantile of 2,000 normal draws, in standard deviations
    assert abs(low - theirs[0]) < 4 * error
    assert abs(high - theirs[1]) < 4 * error


def test_left_out_tables_are_those_of_items() -> None:
    rows = sample(40, 3, 7)
    cells = JointCells(as_joint(rows, 3))
    pairs = list(cells.left_out())
    assert len(pairs) == 1
    for i, (t, a, b) in enumerate(zip(cells.truth, cells.baseline, cells.candidate, strict=True)):
        place = int(np.flatnonzero((rows == (t, a, b)).all(1))[0])
        expected = JointCells(as_joint(np.delete(rows, place, axis=0), 3)).observed()
        for ours, theirs in zip(pairs[0], expected, strict=True):
            assert all(np.array_equal(x[i], y) for x, y in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("name", ["accuracy", "mcc", "kappa", "f1", "recall"])
def test_influence_is_a_derivative(name: str) -> None:
    metric = statistic(name, average_of="macro") if name in ("f1", "recall") else statistic(name)
    cells = JointCells(as_joint(sample(90, 3, 3), 3))

    def f(weights: npt.NDArray[np.float64]) -> float:
        a, b = cells.margins(weights[None, :])
        return float(metric.value(b)[0] - metric.value(a)[0])

    slopes = central_differences(f, cells.count.astype(float))
    assert cells.influence(metric) == pytest.approx(cells.n * slopes, abs=1e-7)


def test_delta_of_accuracy_is_wald() -> None:
    joint = JointCounts.flips(both=100, baseline_only=16, candidate_only=6, neither=39)
    assert first_order(joint, ACCURACY).interval() == pytest.approx(wald_paired(6, 16, 161))


def test_delta_knows_the_correlation() -> None:
    """Independent systems: the variances add. One system twice as the other: pairing is worth something."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 40_000)
    a, b = (np.where(rng.random(40_000) < 0.7, truth, rng.integers(0, 3, 40_000)) for _ in range(2))
    joint = as_joint(np.stack([truth, a, b], 1), 3)
    errors = [delta_error(joint.side(side), MACRO) for side in ("baseline", "candidate")]
    assert first_order(joint, MACRO).error == pytest.approx(math.hypot(*errors), rel=0.02)
    paired = as_joint(np.stack([truth, a, np.where(rng.random(40_000) < 0.9, a, b)], 1), 3)
    assert first_order(paired, MACRO).error < 0.5 * math.hypot(*errors)


def test_delta_is_near_the_bootstrap() -> None:
    joint = as_joint(sample(2000, 3, 1), 3)
    low, high, _ = joint_bootstrap(joint, MACRO, "bca", draws=20_000)
    assert first_order(joint, MACRO).interval() == pytest.approx((low, high), abs=0.003)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_swapping_negates_the_interval(method: str) -> None:
    joint = as_joint(sample(300, 3, 4), 3)
    low, high, _ = joint_bootstrap(joint, MACRO, method, draws=20_000)
    other_low, other_high, _ = joint_bootstrap(joint.swapped(), MACRO, method, draws=20_000)
    assert (other_low, other_high) == pytest.approx((-high, -low), abs=0.004)
    assert first_order(joint.swapped(), MACRO).interval() == pytest.approx(tuple(-x for x in first_order(joint, MACRO).interval()[::-1]))


def test_table_equals_scikit_learn_and_order_does_not_matter() -> None:
    rows = sample(200, 3, 6)
    joint = as_joint(rows, 3)
    truth, a, b = rows.T
    expected = f1_score(truth, b, average="macro") - f1_score(truth, a, average="macro")
    low, high = first_order(joint, MACRO).interval()
    assert (low + high) / 2 == pytest.approx(expected)
    again = as_joint(np.random.default_rng(0).permutation(rows), 3)
    assert joint_bootstrap(again, MACRO, "bca", draws=999) == joint_bootstrap(joint, MACRO, "bca", draws=999)


def test_a_label_outside_the_declared_set() -> None:
    joint = joint_table({(0, 0, 2): 5, (0, 2, 0): 9, (0, 0, 0): 30, (1, 1, 1): 30, (1, 2, 1): 4}, ("a", "b", "other"), classes=2)
    low, high, undefined = joint_bootstrap(joint, statistic("recall", average_of="macro"), "percentile", draws=999)
    assert (low < 8 / 78 < high, undefined) == (True, 0)
    assert first_order(joint, ACCURACY).interval() == pytest.approx(wald_paired(13, 5, 78))


def test_memory_stays_below_64_mb() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 60, 50_000)
    a, b = (np.where(rng.random(50_000) < 0.6, truth, rng.integers(0, 60, 50_000)) for _ in range(2))
    joint = as_joint(np.stack([truth, a, b], 1), 60)
    tracemalloc.start()
    joint_bootstrap(joint, MACRO, "bca", draws=400, confidence_level=0.9)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64e6
