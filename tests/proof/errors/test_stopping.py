"""Claims about stopping rules: every rule has its claims, the runs are followed as a run is, and a broken rule is noticed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from steelyard.infer.sequential import exact_mcnemar as rules
from steelyard.infer.sequential.stopping import RULES, rule_for
from steelyard.infer.series.drift import cusum, self_starting
from steelyard.proof.claims import Claim, Point, Setting
from steelyard.proof.errors import drifts, stopping, stopping_ends

RNG = np.random.default_rng(0)  # claims draw their own streams; what they are handed plays no part
QUICK: Setting = {"items": 640, "discordance": 0.1, "drop": 0.05, "runs": 40}


@cache
def claims() -> tuple[Claim, ...]:
    return (*stopping.claims(), *stopping_ends.claims(), *drifts.claims())


def claim_of(family: str, method: str, kind: str) -> Claim:
    return next(c for c in claims() if c.family.startswith(family) and (c.method, c.kind) == (method, kind))


def only(claim: Claim, setting: Setting) -> Point:
    (point,) = claim.work(setting, RNG)
    return point


def test_every_rule_has_claims_of_size_power_and_ends() -> None:
    for kind in RULES:
        for about in ("size", "power"):
            assert claim_of("stopping early, right or wrong", kind, about).band.low is not None or about == "size"
        assert claim_of("each end", kind, "coverage").nominal == 0.95
    assert claim_of("stopping early, right or wrong", rule_for(right_or_wrong=True, theta=0.05).plan()["rule"], "size").default
    assert claim_of("stopping early, scores", "empirical-likelihood", "size").default


@pytest.mark.parametrize("kind", RULES)
def test_runs_are_followed_batch_by_batch(kind: str) -> None:
    """By hand: looks at 32, 64, ... items and at the last one, never after the end."""
    values = stopping.differences(np.random.default_rng(5), {"items": 500, "discordance": 0.2, "drop": 0.02})
    rule, n = stopping.planned(kind, 0.2), 0
    while rule.decision == "continue":
        n = min(n + 32, 500)
        rule.look(values[:n], last=n == 500)
    found = stopping.followed(stopping.planned(kind, 0.2), values)
    assert (found.decision, found.looks[-1]["n"]) == (rule.decision, rule.looks[-1]["n"])


def test_the_drop_is_in_the_data() -> None:
    setting: Setting = {"items": 200_000, "discordance": 0.1, "drop": 0.05}
    values = stopping.differences(np.random.default_rng(6), setting)
    lost, gained = float(np.mean(values == -1)), float(np.mean(values == 1))
    assert abs(lost - 0.1) < 4 * (0.1 * 0.9 / 200_000) ** 0.5
    assert abs(gained - 0.05) < 4 * (0.05 * 0.95 / 200_000) ** 0.5


def test_the_exact_test_holds_along_its_courses() -> None:
    """docs/methods.md: .028 false alarms and .80 power at a discordance of 2%, theta of 2 points."""
    size, power = (
        only(claim_of("the exact", "mcnemar", kind), {"discordance": 0.02, "drop": drop, "courses": 60})
        for kind, drop in (("size", 0.0), ("power", 0.02))
    )
    assert size.found <= 0.05
    assert abs(size.found - 0.028) <= 4 * size.error + 0.002
    assert abs(power.found - 0.80) <= 4 * power.error + 0.005


def test_a_rule_that_spends_too_much_leaves_its_band(monkeypatch: pytest.MonkeyPatch) -> None:
    claim, healthy = claim_of("stopping early, right or wrong", "mcnemar", "size"), {**QUICK, "drop": 0.0, "runs": 150}
    sound = only(claim, healthy)
    assert sound.found - 4 * sound.error <= (claim.band.high or 0.0)
    whole = rules.ExactMcNemar

    def greedy(*, alpha: float, beta: float, **rest: object) -> object:
        return whole(alpha=6 * alpha, beta=beta, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(rules, "ExactMcNemar", greedy)
    broken = only(claim, healthy)
    assert broken.found - 4 * broken.error > (claim.band.high or 0.0)


def test_ends_are_held_on_both_sides() -> None:
    lower, upper = claim_of("each end", "mcnemar", "coverage").work(QUICK, RNG)
    assert lower.where.endswith("lower")
    assert upper.where.endswith("upper")
    assert lower.where[:-5] == upper.where[:-5]
    for point in (lower, upper):
        assert 0.95 - 4 * point.error <= point.found <= 1
        assert point.width is not None
        assert 0 < point.width < 1


def test_an_end_that_forgets_the_looks_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound at the estimate itself holds in half of the runs."""
    from dataclasses import replace

    whole = rules.ExactMcNemar.estimate
    monkeypatch.setattr(rules.ExactMcNemar, "estimate", lambda rule: replace(found := whole(rule), low=found.estimate, high=found.estimate))
    points = list(claim_of("each end", "mcnemar", "coverage").work(QUICK, RNG))
    assert max(point.found + 4 * point.error for point in points) < 0.95


def test_the_sequence_holds() -> None:
    point = only(claim_of("the mean of bounded", "betting sequence", "coverage"), {"law": "skewed", "items": 60, "runs": 20})
    assert point.found + 4 * point.error >= 0.95


def test_the_chart_alarms_as_often_as_its_run_length_says() -> None:
    """By hand, from normal scores: the self-starting scores are exactly such."""
    claim = claim_of("a drift chart", "self-starting cusum", "size")
    r = np.random.default_rng(7)
    by_hand = float(np.mean([max(cusum(r.normal(size=98).tolist(), 0.5)) >= 5 for _ in range(1500)]))
    point = only(claim, {"runs before": 50, "runs": 400})
    assert abs(by_hand - claim.nominal) < 0.03
    assert abs(point.found - by_hand) < 4 * point.error + 0.02
    assert self_starting([1.0, 2.0, 1.5])[2] == pytest.approx(0.0)
