"""The anytime McNemar test: integrals by SciPy, fair coins by enumeration, intervals that agree with decisions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from cases import every
from steelyard.errors import DataError, UsageError
from steelyard.infer.sequential.e_mcnemar import EMcNemar, log_e_mcnemar


@every(("lost", "gained"), [(0, 0), (3, 1), (12, 2), (5, 20)])
@every(("prior", "share"), [(0.5, 0.5), (2.0, 0.5), (2.0, 0.7)])
def test_the_average_likelihood_ratio(lost: int, gained: int, prior: float, share: float) -> None:
    """SciPy's quadrature of the definition: the prior cut off at the share, times the likelihood ratio."""

    def ratio(s: float) -> float:
        return float(stats.beta.pdf(s, prior, prior)) * (s / share) ** lost * ((1 - s) / (1 - share)) ** gained

    above, _ = integrate.quad(ratio, share, 1, epsabs=1e-12)
    found = float(np.exp(log_e_mcnemar(lost, gained, prior, share)))
    assert found == pytest.approx(above / stats.beta.sf(share, prior, prior), rel=1e-7)


def test_fair_coins_win_nothing() -> None:
    total = sum(float(np.exp(log_e_mcnemar(sum(signs), 9 - sum(signs)))) for signs in itertools.product((0, 1), repeat=9)) / 2**9
    assert total == pytest.approx(1)
    loaded = sum(float(np.exp(log_e_mcnemar(k, 9 - k))) * math.comb(9, k) * 0.4**k * 0.6 ** (9 - k) for k in range(10))
    assert loaded < 1  # an improvement is no evidence for a regression


def test_looks_at_every_item_or_at_batches_decide_alike() -> None:
    x = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], p=[0.09, 0.88, 0.03], size=900)
    once, often = EMcNemar(), EMcNemar()
    once.look(x, last=True)
    for n in range(1, 901):
        if often.look(x[:n]) != "continue":
            break
    assert once.decision == often.decision == "regression"
    assert often.estimate().p_value <= 0.05
    assert once.estimate().p_value <= often.estimate().p_value


def test_decision_and_interval_agree() -> None:
    rng, missed, runs = np.random.default_rng(2), 0, 60
    for _ in range(runs):
        rule, x = EMcNemar(), rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.84, 0.06], size=600)
        for n in range(50, 601, 50):
            if rule.look(x[:n], last=n == 600) != "continue":
                break
        found = rule.estimate()
        assert found.low is not None
        assert found.high is not None
        assert found.low < found.estimate < found.high
        assert (found.high <= 0) == (found.p_value <= 0.05) == (rule.decision == "regression")
        missed += not found.low <= -0.04 <= found.high
    assert missed / runs < 0.1


def test_no_disagreement() -> None:
    rule = EMcNemar()
    assert rule.look(np.zeros(50), last=True) == "exhausted"
    found = rule.estimate()
    assert found.p_value == 1
    assert found.low == -found.high < 0  # type: ignore[operator]


def test_what_cannot_be() -> None:
    with pytest.raises(UsageError, match="prior"):
        EMcNemar(prior=0)
    with pytest.raises(DataError, match="right or wrong"):
        EMcNemar().look([0.5])
    rule = EMcNemar()
    rule.look([0.0, 1.0])
    with pytest.raises(UsageError, match="all differences so far"):
        rule.look([0.0])
    with pytest.raises(UsageError, match="has not ended"):
        rule.estimate()
    rule.look([0.0, 1.0, -1.0], last=True)
    with pytest.raises(UsageError, match="ended with 'exhausted'"):
        rule.look([0.0] * 9)
