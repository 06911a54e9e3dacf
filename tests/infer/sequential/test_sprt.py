"""The SPRT: Wald's bounds, the likelihood ratio item by item, its shares simulated, what it warns of."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cases import every
from steelyard.errors import DataError, UsageError
from steelyard.infer.sequential.sprt import Sprt


def test_bounds_of_wald() -> None:
    # Wald (1945): log((1 - beta) / alpha) and log(beta / (1 - alpha)).
    assert Sprt(theta=0.02, discordance=0.05).bounds == pytest.approx((2.772588722239781, -1.5581446180465497), abs=1e-12)


@every("seed", range(6))
def test_the_ratio_item_by_item(seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta, discordance = float(rng.choice([0.02, 0.05])), float(rng.uniform(0.02, 0.2))
    rule, x = Sprt(theta=theta, discordance=discordance), rng.choice([-1, 0, 1], p=[0.08, 0.87, 0.05], size=2000)
    chances = {-1: (discordance / 2 + theta) / (discordance / 2), 1: 1.0, 0: 1.0}
    # Given that an item disagrees: both hypotheses have their own share of losses.
    scale = discordance / (discordance + theta)
    total = 0.0
    for n, value in enumerate(x, start=1):
        total += math.log(chances[int(value)] * scale) if value else 0.0
        expected = "regression" if total >= math.log(16) else "pass" if total <= math.log(0.2 / 0.95) else "continue"
        assert rule.look(x[:n]) == expected
        if expected != "continue":
            return
    raise AssertionError("no run should take so long")


def test_shares_of_decisions() -> None:
    """At the two hypotheses it keeps its word; with the discordance taken at half its value the power is gone."""
    runs, rng = 700, np.random.default_rng(3)

    def regressions(discordance: float, drop: float) -> float:
        found = 0
        for _ in range(runs):
            rule, n, lost, gained, decision = Sprt(theta=0.05, discordance=discordance), 0, 0, 0, "continue"
            while decision == "continue":
                one, two, _ = rng.multinomial(25, [0.05 + drop, 0.05, 0.9 - drop])
                n, lost, gained = n + 25, lost + one, gained + two
                low, high = rule.counts(lost + gained)
                decision = "regression" if lost >= high else "pass" if lost <= low else "continue"
            found += decision == "regression"
        return found / runs

    error = 4 * math.sqrt(0.05 * 0.95 / runs)
    assert regressions(0.1, 0.0) < 0.05 + error
    assert regressions(0.1, 0.05) > 0.8 - 4 * math.sqrt(0.16 / runs)
    assert regressions(0.05, 0.0) < 0.05 + error
    assert regressions(0.05, 0.05) < 0.7


def test_estimates_after_the_end() -> None:
    rng, runs, missed = np.random.default_rng(5), 36, 0
    for _ in range(runs):
        rule, n = Sprt(theta=0.1, discordance=0.2), 0
        x = rng.choice([-1.0, 0.0, 1.0], p=[0.2, 0.7, 0.1], size=2000)
        while rule.decision == "continue":
            n += 25
            rule.look(x[:n], last=n == 2000)
        found = rule.estimate()
        missed += not found.low <= -0.1 <= found.high  # type: ignore[operator]
        assert found.p_value <= 0.05 or rule.decision != "regression" or found.warnings
    assert missed / runs < 0.1 + 4 * math.sqrt(0.09 / runs)


def test_what_cannot_be() -> None:
    for discordance in (0.0, 0.99, math.nan):
        with pytest.raises(UsageError, match="discordance"):
            Sprt(theta=0.02, discordance=discordance)
    with pytest.raises(UsageError, match=r"alpha 0\.5 and beta 0\.5 must be error rates that add up to less than 1\."):
        Sprt(theta=0.02, discordance=0.1, alpha=0.5, beta=0.5)
    rule = Sprt(theta=0.02, discordance=0.05)
    assert "twice" in rule.warnings[0]
    rule.look([0.0, 0.0])
    with pytest.raises(UsageError, match="all differences so far"):
        rule.look([0.0])
    with pytest.raises(DataError, match="right or wrong"):
        rule.look([0.0, 0.0, 0.3])
    with pytest.raises(UsageError, match="has not ended"):
        rule.estimate()
    assert rule.look([0.0] * 9, last=True) == "exhausted"
    with pytest.raises(UsageError, match="ended with 'exhausted'"):
        rule.look([0.0] * 10)
