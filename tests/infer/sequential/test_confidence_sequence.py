"""The confidence sequence: confseq's capital, the capital of all items at once, coverage at every item, narrowing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cases import seldom
from steelyard.errors import DataError, UsageError
from steelyard.infer.intervals.mean import log_capital, predictable_bets
from steelyard.infer.sequential.confidence_sequence import STEPS, ConfidenceSequence

TOSSES = np.array([1, 0, 1, 1, 0, 1, 1, 1, 0, 1] * 3, float)


def test_the_capital_of_confseq() -> None:
    """confseq.betting.betting_mart (Waudby-Smith & Ramdas), m = .5, theta = 1/2, c = 1/2, after 10 and 30 items."""
    sequence = ConfidenceSequence((0, 1), 0.05)
    for n, expected in ((10, 1.06787109375), (30, 4.672185958223967)):
        sequence.look(TOSSES[:n])
        place = STEPS // 2 - 1
        assert max(math.exp(sequence._up[place]), math.exp(sequence._down[place])) / 2 == pytest.approx(expected, abs=1e-9)
    # The same at m = .9, which is no mean of the lattice: 2.381273122714894 and 21.284891632291835.
    for n, expected in ((10, 2.381273122714894), (30, 21.284891632291835)):
        up, down = log_capital(TOSSES[:n], predictable_bets(TOSSES[:n], 0.05), 0.9)
        assert max(math.exp(up), math.exp(down)) / 2 == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_by_all_items_at_once(seed: int) -> None:
    """The means ruled out by capitals that know every item so far, one after the other, rounded outwards to the lattice."""
    rng = np.random.default_rng(seed)
    x = rng.beta(3, 1, 150).round(2)
    low, high = ConfidenceSequence((0, 1), 0.1).look(x)
    bets, need = predictable_bets(x, 0.1), math.log(2 / 0.1)

    def ever(m: float, side: int) -> bool:
        return any(log_capital(x[:n], bets[:n], m)[side] >= need for n in range(1, len(x) + 1))

    for m, side, out in ((low, 0, True), (low + 1 / STEPS, 0, False), (high, 1, True), (high - 1 / STEPS, 1, False)):
        assert ever(m, side) == out


def test_looks_change_nothing_and_narrow() -> None:
    x = np.random.default_rng(2).random(700)
    often, before = ConfidenceSequence((0, 1)), (0.0, 1.0)
    for n in range(1, 701, 13):
        now = often.look(x[:n])
        assert before[0] <= now[0] < now[1] <= before[1]
        before = now
    assert often.look(x) == pytest.approx(ConfidenceSequence((0, 1)).look(x), abs=1e-15)


def test_other_units() -> None:
    x = np.random.default_rng(3).random(300)
    low, high = ConfidenceSequence((0, 1)).look(x)
    assert ConfidenceSequence((-50, 150)).look(200 * x - 50) == pytest.approx((200 * low - 50, 200 * high - 50))


@pytest.mark.parametrize("accuracy", [0.5, *seldom(0.9), 0.99])
def test_it_holds_at_every_item(accuracy: float) -> None:
    """The share of runs in which the interval ever lost the mean, over 300 items, is alpha at most."""
    runs, rng, lost = 60, np.random.default_rng(4), 0
    for _ in range(runs):
        low, high = ConfidenceSequence((0, 1), 0.1).look((rng.random(300) < accuracy).astype(float))
        lost += not low <= accuracy <= high
    assert lost / runs <= 0.1  # measured: .01 to .04


@pytest.mark.long
@pytest.mark.parametrize("accuracy", [0.6, 0.9])
def test_bets_that_aim_at_a_width_get_there(accuracy: float) -> None:
    """Within about 8 v log(2/alpha) / width^2 items, where bets for any time have not arrived; and it holds at every item."""
    rng, width, asked, missed, wider = np.random.default_rng(6), 0.05, [], 0, []
    foreseen = 8 * accuracy * (1 - accuracy) * math.log(2 / 0.1) / width**2
    for _ in range(20):
        x = (rng.random(5000) < accuracy).astype(float)
        aimed, n, low, high = ConfidenceSequence((0, 1), 0.1, width=width), 0, 0.0, 1.0
        while high - low > width:
            n += 32
            low, high = aimed.look(x[:n])
        asked.append(n)
        missed += not low <= accuracy <= high
        any_time = ConfidenceSequence((0, 1), 0.1).look(x[:n])
        wider.append(any_time[1] - any_time[0])
    assert 0.65 * foreseen < np.mean(asked) < 1.05 * foreseen
    assert np.mean(wider) > 1.1 * width
    assert missed <= 5


def test_a_fixed_interval_does_not() -> None:
    """Looked at after every item, a 90% interval for a fixed n loses the mean in most runs."""
    rng, n = np.random.default_rng(5), np.arange(30, 401)
    means = np.cumsum(rng.random((250, 400)) < 0.5, axis=1)[:, 29:] / n
    assert np.mean(np.any(np.abs(means - 0.5) > 1.645 * np.sqrt(means * (1 - means) / n), axis=1)) > 0.4


def test_what_cannot_be() -> None:
    for bounds in ((1, 0), (0, math.inf)):
        with pytest.raises(UsageError, match="range"):
            ConfidenceSequence(bounds)
    with pytest.raises(UsageError, match="width"):
        ConfidenceSequence((0, 1), width=0.0)
    sequence = ConfidenceSequence((0, 1))
    sequence.look([0.5, 1.0])
    with pytest.raises(UsageError, match="all scores so far"):
        sequence.look([0.5])
    for odd in (1.5, math.nan):
        with pytest.raises(DataError, match="outside the range"):
            sequence.look([0.5, 1.0, odd])
