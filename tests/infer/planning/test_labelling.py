"""Labelling in batches until the interval is narrow: the windowed programme against a plain one, and against simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from cases import every
from steelyard.errors import UsageError
from steelyard.infer.planning.anticipated import Anticipated
from steelyard.infer.planning.assurance import items_for_assurance
from steelyard.infer.planning.labelling import LOOKS, _gauss, stop_when_narrow
from steelyard.infer.planning.lengths import worst_outcome
from steelyard.infer.planning.precision_goal import PrecisionGoal
from steelyard.metrics.labels import F1


def plain(rule: PrecisionGoal, law: Anticipated, batch: int, have: tuple[int, int]) -> float:
    """The same mean by a dictionary of outcomes, without windows, the last batch cut at the worst outcome.

    A Beta law is carried from look to look by its predictive law.
    """
    alive, expected, at, cap = {0: 1.0}, 0.0, 0, worst_outcome(rule, have)
    while alive:
        size = min(batch, cap - at)
        at += size
        expected += size * sum(alive.values())
        ahead: dict[int, float] = {}
        for x, p in alive.items():
            j = np.arange(size + 1)
            if law.law is None:
                step = stats.binom.pmf(j, size, law.share)
            else:
                step = stats.betabinom.pmf(j, size, law.law[0] + x, law.law[1] + at - size - x)
            for more, q in enumerate(step.tolist()):
                ahead[x + more] = ahead.get(x + more, 0.0) + p * q
        alive = {x: p for x, p in ahead.items() if not rule.meets(have[0] + x, have[1] + at)}
    return expected


@every(
    ("rule", "law", "batch", "have"),
    [
        (PrecisionGoal(width=0.3), Anticipated(0.9), 5, (0, 0)),
        (PrecisionGoal(width=0.3), Anticipated(0.5), 4, (0, 0)),
        (PrecisionGoal(width=0.25, method="wald"), Anticipated(0.97), 5, (0, 0)),
        (PrecisionGoal(width=0.3, through=F1.read_through, prior=(0.5, 1.0)), Anticipated(0.6), 4, (0, 0)),
        (PrecisionGoal(width=0.25), Anticipated(0.8), 5, (9, 10)),
        (PrecisionGoal(width=0.3), Anticipated(law=(9.0, 2.0)), 5, (0, 0)),
        (PrecisionGoal(width=0.25), Anticipated(law=(9.5, 1.5)), 5, (9, 10)),
    ],
)
def test_equal_to_a_plain_programme(rule: PrecisionGoal, law: Anticipated, batch: int, have: tuple[int, int]) -> None:
    found = stop_when_narrow(rule, law, batch, have)
    assert found.expected == pytest.approx(plain(rule, law, batch, have), abs=1e-9)
    assert found.most == worst_outcome(rule, have)


def test_simulated_labelling() -> None:
    rng, rule, draws = np.random.default_rng(4), PrecisionGoal(width=0.1), 4000
    k, n = np.zeros(draws, int), 0
    stopped = np.zeros(draws)
    going = np.ones(draws, bool)
    while going.any():
        n += 10
        k += rng.binomial(10, 0.9, draws)
        low, high = stats.beta.ppf([[0.025], [0.975]], k + 0.5, n - k + 0.5)
        now = going & (high - low <= 0.1)
        stopped[now], going = n, going & ~now
    error = 4 * stopped.std() / math.sqrt(draws)
    assert stop_when_narrow(rule, Anticipated(0.9)).expected == pytest.approx(stopped.mean(), abs=error)


def test_stopping_costs_less_than_a_fixed_number_with_high_assurance() -> None:
    for share in (0.7, 0.9, 0.97):
        rule, law = PrecisionGoal(width=0.1), Anticipated(share)
        expected = stop_when_narrow(rule, law, 1).expected
        assert expected < items_for_assurance(rule, law, 0.95)[1]
        assert expected <= stop_when_narrow(rule, law, 10).expected <= expected + 11


def test_the_batch_grows_where_looks_would_be_thousands() -> None:
    found = stop_when_narrow(PrecisionGoal(width=0.01), Anticipated(0.9), 1)
    assert 1 < found.batch < found.most / LOOKS
    assert found.expected == pytest.approx(stop_when_narrow(PrecisionGoal(width=0.01), Anticipated(0.9), found.batch).expected)
    assert stop_when_narrow(PrecisionGoal(width=0.05), Anticipated(0.9), 10).batch == 10


@pytest.mark.parametrize("law", [(0.5, 0.5), (0.3, 0.7), (45.0, 5.0), (1e5, 1e4)])
def test_the_gauss_rule_has_the_moments_of_the_law(law: tuple[float, float]) -> None:
    share, weight = _gauss(*law)
    for power in (1, 2, 7, 30):
        assert weight @ share**power == pytest.approx(math.prod((law[0] + i) / (law[0] + law[1] + i) for i in range(power)), rel=1e-11)


def test_nothing_to_label_and_nothing_to_stop() -> None:
    assert stop_when_narrow(PrecisionGoal(width=0.3), Anticipated(0.9), 10, (45, 50)).expected == 0
    with pytest.raises(UsageError, match="lucky"):
        stop_when_narrow(PrecisionGoal(threshold=0.9), Anticipated(0.95))
