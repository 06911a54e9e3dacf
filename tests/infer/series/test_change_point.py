"""E-processes and the change point: against integrals, other programs and plain loops; the size of the change point simulated."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every, seldom
from steelyard.errors import DataError, UsageError
from steelyard.infer.series.change_point import change_point, e_process_first, e_process_pooled, t_e_value
from steelyard.infer.series.drift import Start


def start_of(values: np.ndarray) -> Start:
    return Start(runs=len(values), mean=float(values.mean()), deviation=float(values.std(ddof=1)) if len(values) > 1 else 0.0)


# ---- the e-value -------------------------------------------------------------------------------------------------------------


@every(("before", "after", "t"), [(5, 10, -2.5), (5, 10, 1.0), (3, 2, -4.0), (20, 40, -0.3), (1, 6, -2.0)])
@every("tau", [0.5, 1.0, 2.0])
def test_e_value_is_the_integral_of_noncentral_t_densities(before: int, after: int, t: float, tau: float) -> None:
    """2 x integral over falls d of the half-normal prior x (noncentral t density / central t density), by scipy.stats and quad."""
    from scipy import integrate, stats

    n, freedom = before * after / (before + after), before + after - 2
    central = stats.t.pdf(t, freedom)

    def inside(d: float) -> float:
        return 2 * stats.norm.pdf(d, 0, tau) * stats.nct.pdf(t, freedom, d * math.sqrt(n)) / central

    exact = integrate.quad(inside, -12 * tau, 0, points=[-2 * tau, -0.5 * tau], limit=400)[0]
    # t back to a gap and the whole squares: within = 1 each degree of freedom.
    within, gap = float(freedom), t / math.sqrt(n)
    assert t_e_value(gap, within + n * gap**2, before, after, tau) == pytest.approx(exact, rel=1e-5)


def test_two_sided_form_is_that_of_a_known_closed_form() -> None:
    """Up and down together give the two-sided Bayes factor, (1+g)^(-1/2) ((1+t^2/v)/(1+t^2/(v(1+g))))^((v+1)/2), of Gronau et al. 2020."""
    for before, after, t, tau in itertools.product((2, 9), (3, 12), (-3.0, 0.4, 2.0), (0.5, 1.0)):
        n, v = before * after / (before + after), before + after - 2
        g = n * tau**2
        known = (1 + g) ** -0.5 * ((1 + t * t / v) / (1 + t * t / (v * (1 + g)))) ** ((v + 1) / 2)
        gap = t / math.sqrt(n)
        whole = v + n * gap**2
        both = (t_e_value(gap, whole, before, after, tau) + t_e_value(-gap, whole, before, after, tau)) / 2
        assert both == pytest.approx(known, rel=1e-10)


def test_extremes_stay_finite() -> None:
    assert t_e_value(-1.0, 250.0, 500, 500) == pytest.approx(math.exp(700), rel=1e-9)  # every run before higher than every run after
    assert t_e_value(1.0, 250.1, 500, 500) == 0.0
    assert t_e_value(-1.0, 1.0, 0, 5) == t_e_value(-1.0, 1.0, 5, 0) == 1.0
    with pytest.raises(DataError, match="all equal"):
        t_e_value(0.0, 0.0, 3, 3)


# ---- the processes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("runs", [2, *seldom(1, 5)])
def test_the_mean_of_an_e_process_is_at_most_one_at_every_run(runs: int) -> None:
    """Healthy series; e-values have heavy tails, so the error is taken from the sample."""
    rng = np.random.default_rng(runs)
    many = 600
    first, pooled = np.empty((many, 6)), np.empty((many, 6))
    for i in range(many):
        start, values = start_of(rng.normal(3, 2, size=runs)), list(rng.normal(3, 2, size=6))
        first[i], pooled[i] = e_process_first(values, start), e_process_pooled(values, start)
    for found in (first, pooled):
        error = found.std(axis=0) / math.sqrt(many)
        assert (np.abs(found.mean(axis=0) - 1) < 4 * error + 1e-12).all()


def test_an_improvement_is_no_drift() -> None:
    """Path by path: candidates that are moved up have less evidence against them, so alpha holds for every improvement too."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        start, values = start_of(rng.normal(size=3)), rng.normal(size=10)
        for low, high in zip(e_process_first(list(values + 0.7), start), e_process_first(list(values), start), strict=True):
            assert low <= high * (1 + 1e-9)


def test_a_drift_is_found() -> None:
    rng = np.random.default_rng(6)
    found = {"first": 0, "pooled": 0}
    for _ in range(100):
        start = start_of(rng.normal(size=5))
        values = list(np.concatenate([rng.normal(size=15), rng.normal(-2, 1, size=20)]))
        found["pooled"] += max(e_process_pooled(values, start)) >= 20
        found["first"] += max(e_process_first([x - 2 for x in rng.normal(size=40)], start)) >= 20
    assert found["pooled"] > 90
    assert found["first"] > 80


def test_pooled_against_a_plain_loop() -> None:
    rng = np.random.default_rng(2)
    for runs in (0, 1, 4):
        reference = rng.normal(size=runs)
        values = rng.normal(100, 3, size=9)  # far from the reference: digits must not be lost
        start = start_of(reference) if runs else Start()
        plain = []
        for t in range(1, 10):
            total = 1 / (t + 1)
            for s in range(1, t + 1):
                before, after = np.concatenate([reference, values[: s - 1]]), values[s - 1 : t]
                both = np.concatenate([before, after])
                whole = float(((both - both.mean()) ** 2).sum())
                gap = float(after.mean() - before.mean()) if len(before) else 0.0
                e = t_e_value(gap, whole, len(before), len(after)) if len(before) and whole > 0 else 1.0
                total += e / (s * (s + 1))
            plain.append(total)
        assert e_process_pooled(list(values), start) == pytest.approx(plain, rel=1e-8)


def test_first_against_a_plain_loop() -> None:
    rng = np.random.default_rng(8)
    reference, values = rng.normal(50, 1, size=4), rng.normal(49, 1, size=9)
    plain = []
    for t in range(1, 10):
        both = np.concatenate([reference, values[:t]])
        gap = float(values[:t].mean() - reference.mean())
        plain.append(t_e_value(gap, float(((both - both.mean()) ** 2).sum()), 4, t))
    assert e_process_first(list(values), start_of(reference)) == pytest.approx(plain, rel=1e-8)


def test_what_does_not_vary_is_no_evidence() -> None:
    assert e_process_first([0.8, 0.8], Start(runs=3, mean=0.8)) == [1.0, 1.0]
    assert e_process_pooled([0.8, 0.8, 0.8]) == [1.0, 1.0, 1.0]
    assert e_process_pooled([]) == []
    with pytest.raises(DataError, match=r"There is no run of the first reference to compare with\."):
        e_process_first([0.8], Start())


# ---- the change point --------------------------------------------------------------------------------------------------------


def brute(values: list[float]) -> tuple[int, float]:
    """The split with the smallest sum of squares within, and what it explains."""
    x = np.array(values)
    whole = float(((x - x.mean()) ** 2).sum())
    within = {s: float(((x[:s] - x[:s].mean()) ** 2).sum() + ((x[s:] - x[s:].mean()) ** 2).sum()) for s in range(2, len(x) - 1)}
    best = min(within, key=lambda s: within[s])
    return best, 1 - within[best] / whole


def test_change_point_against_every_order() -> None:
    """p over all orders of six runs, counted by another definition of the statistic."""
    rng = np.random.default_rng(7)
    for _ in range(5):
        values = list(rng.normal(size=6))
        at, share = brute(values)
        found = change_point(values)
        assert (found.at, found.method, found.draws) == (at, "every order", 720)
        assert found.share == pytest.approx(share, rel=1e-9)
        reached = [brute(list(order))[1] >= share - 1e-9 for order in itertools.permutations(values)]
        assert found.p_value == pytest.approx(np.mean(reached), abs=1e-12)


@given(st.lists(st.integers(-50, 50), min_size=8, max_size=20), st.floats(-1000, 1000), st.floats(0.01, 100))
def test_change_point_against_brute_force_and_invariance(values: list[int], level: float, scale: float) -> None:
    if len(set(values)) < 2:
        return
    found = change_point([float(v) for v in values], draws=19)
    assert found.share == pytest.approx(brute([float(v) for v in values])[1], rel=1e-7, abs=1e-9)
    moved = change_point([level + scale * v for v in values], draws=19)
    assert moved.share == pytest.approx(found.share, rel=1e-6, abs=1e-9)
    assert found.before == pytest.approx(np.mean(values[: found.at]))
    assert found.after == pytest.approx(np.mean(values[found.at :]))


def test_size_of_the_change_point() -> None:
    """400 healthy series of 15 skewed runs: p <= .05 exactly 5% of the time, since (1 + reached) / (1 + 199) is exact."""
    rng = np.random.default_rng(11)
    many = 400
    found = sum(change_point(list(rng.exponential(size=15)), draws=199, seed=i).p_value <= 0.05 for i in range(many))
    assert abs(found / many - 0.05) < 4 * math.sqrt(0.05 * 0.95 / many)


def test_seeds_repeat_and_long_series_come_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    values = list(rng.normal(size=50))
    one = change_point(values, draws=500, seed=3)
    assert one == change_point(values, draws=500, seed=3)
    monkeypatch.setattr("steelyard.infer.series.change_point.BLOCK", 600)
    assert change_point(values, draws=500, seed=3).p_value == one.p_value


def test_undefined() -> None:
    with pytest.raises(DataError, match=r"A change point needs 4 or more runs, got 3\."):
        change_point([1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="all equal"):
        change_point([0.3, 0.1 + 0.2, 0.3, 0.3])
    with pytest.raises(UsageError, match="draws must be at least 1, not 0"):
        change_point([1.0, 2.0, 3.0, 4.0], draws=0)
