"""The tail of a sum with random signs: against the exact convolution, against drawn signs, where it must not answer, and its cost."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from cases import every
from steelyard.infer.paired import signed_sums
from steelyard.infer.paired.signed_sums import signed_sum_tail
from steelyard.infer.paired.signflip import sign_flip

rng = np.random.default_rng(5)
HEAVY = {
    "normal": rng.normal(0.1, 1, 1000),
    "skewed": rng.exponential(1, 1000) - 1,
    "two degrees of freedom": rng.standard_t(2, 1000),
    "one degree of freedom": rng.standard_t(1, 1000),
    "few": rng.normal(0.2, 1, 120),
    "some much larger": np.concatenate([rng.normal(0, 1, 3000), rng.normal(0, 30, 20)]),
}


def tail(d: np.ndarray) -> float | None:
    return signed_sum_tail(np.abs(d), np.ones(len(d)), float(d.sum()))


@every("n, shift", [(300, 0.0), (300, 0.5), (800, 0.05)])
def test_it_is_the_exact_convolution_on_a_fine_lattice(n: int, shift: float) -> None:
    """Whole numbers up to some thousands: steps far below the spread of the sum. Ties count half here, so both tails are met."""
    steps = np.rint(np.random.default_rng(n).normal(shift, 1, n) * 400)
    steps = steps[steps != 0]
    exact, found = sign_flip(steps), tail(steps)
    assert exact.method == "lattice"
    assert found == pytest.approx(exact.p_value, rel=2e-3)


def test_a_small_tail_keeps_its_digits() -> None:
    steps = np.rint(np.random.default_rng(1).normal(0.35, 1, 600) * 300)
    steps = steps[steps != 0]
    exact, found = sign_flip(steps), tail(steps)
    assert exact.method == "lattice"
    assert 1e-18 < exact.p_value < 1e-12
    assert found == pytest.approx(exact.p_value, rel=5e-3)


@every("name", list(HEAVY))
def test_drawn_signs_agree(name: str) -> None:
    d = HEAVY[name]
    found = sign_flip(d)
    assert found.method == "inversion"
    drawn = sign_flip(d, draws=250_000, drawn=True)
    assert drawn.method == "monte-carlo"
    error = math.sqrt(found.p_value * (1 - found.p_value) / drawn.draws)
    assert abs(found.p_value - drawn.p_value) < 4.5 * error


@every(
    "d",
    [
        np.random.default_rng(0).integers(-3, 4, 500) / 3 + np.random.default_rng(1).normal(0, 1e-7, 500),
        np.random.default_rng(0).choice([1.0, -1.0, 2**0.5, -(2**0.5)], 300),
        np.concatenate([[1000.0, -900.0, 700.0], np.random.default_rng(0).normal(0, 0.01, 300)]),
        np.random.default_rng(0).normal(0, 1, 40),
    ],
)
def test_sums_with_gaps_are_left_to_drawing(d: np.ndarray) -> None:
    """Almost on a lattice, two values without a common step, three that outweigh all others, too few."""
    assert tail(d) is None
    assert sign_flip(d).method == "monte-carlo"


def test_very_many_are_normal_but_for_their_fourth_powers() -> None:
    d = np.random.default_rng(2).uniform(0.5, 1.5, 200_000) * np.random.default_rng(3).choice([1, -1], 200_000)
    observed = 2.2 * math.sqrt(float((d * d).sum()))
    found = signed_sum_tail(np.abs(d), np.ones(len(d)), observed)
    assert found == pytest.approx(2 * stats.norm.sf(2.2), rel=1e-4)


def test_counts_are_repeated_numbers() -> None:
    size = np.abs(np.random.default_rng(4).normal(0, 1, 300))
    counts = np.random.default_rng(5).integers(1, 4, 300)
    once = signed_sum_tail(np.repeat(size, counts), np.ones(counts.sum()), 20.0)
    assert once is not None
    assert signed_sum_tail(size, counts, 20.0) == pytest.approx(once, rel=1e-9)


def test_neither_order_nor_unit_nor_side_matters() -> None:
    d = HEAVY["skewed"]
    found = sign_flip(d).p_value
    assert sign_flip(d[::-1]).p_value == found
    assert sign_flip(-d).p_value == found
    assert sign_flip(d * 1e-200).p_value == pytest.approx(found, rel=1e-9)
    assert sign_flip(d * 1e200).p_value == pytest.approx(found, rel=1e-9)
    sides = {side: sign_flip(d, alternative=side).p_value for side in ("less", "greater")}
    assert min(sides.values()) == pytest.approx(found / 2, rel=1e-9)
    assert sum(sides.values()) == pytest.approx(1, rel=1e-9)


def test_the_work_does_not_grow_with_the_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than 1 / r^2 numbers are larger than r, so few are multiplied one by one, however many there are."""
    factors: dict[int, int] = {}
    outer = np.outer
    for n in (10_000, 100_000, 1_000_000):
        seen: list[int] = []

        def counted(a: np.ndarray, b: np.ndarray, seen: list[int] = seen) -> np.ndarray:
            seen.append(len(a) * len(b))
            return outer(a, b)

        monkeypatch.setattr(signed_sums.np, "outer", counted)
        assert tail(np.random.default_rng(n).normal(0, 1, n)) is not None
        factors[n] = sum(seen)
    assert factors[1_000_000] < 2 * factors[10_000]


def test_a_million_items_take_little_memory() -> None:
    d = np.random.default_rng(6).normal(0, 1, 1_000_000)
    tracemalloc.start()
    assert tail(d) is not None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * d.nbytes
