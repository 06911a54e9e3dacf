"""E-processes: a loop in plain Python, fair bets by enumeration, intervals that agree with decisions, products refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard.errors import DataError, UsageError
from steelyard.infer.sequential.e_process import EProcess


def by_hand(x: list[float], theta: float, margin: float) -> tuple[list[float], list[float]]:
    """The two capitals, item by item, as research/performance.md 7.3 writes them (with a margin)."""
    up, down, ups, downs, square = 1.0, 1.0, [], [], 2.0
    for i, value in enumerate(x):
        s = square / (i + 20)
        effect = theta - margin
        up *= 1 - min(effect / s, 0.5) * (value + margin)
        down *= 1 + min(effect / (s + effect**2), 0.5) * (value + theta)
        square += (value + margin) ** 2
        ups.append(up)
        downs.append(down)
    return ups, downs


def capital(rule: EProcess) -> float:
    """The capital now against "nothing changed": what may be multiplied with that of other, fresh items."""
    return math.exp(float(rule._capital[0]))


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=1, max_size=120), st.sampled_from([0.0, 0.05]))
def test_capitals_by_hand(x: list[float], margin: float) -> None:
    rule = EProcess(theta=0.2, margin=margin, score_range=(0, 1))
    ups, downs = by_hand(x, 0.2, margin)
    expected = "continue"
    for up, down in zip(ups, downs, strict=True):
        if up >= 20 * (1 - 1e-12) or down >= 5 * (1 - 1e-12):
            expected = "regression" if up >= 20 * (1 - 1e-12) else "pass"
            break
    assert rule.look(x) == expected
    assert capital(rule) == pytest.approx(ups[-1])
    if expected == "continue":
        assert rule.looks[-1]["against_theta"] == pytest.approx(math.log(downs[-1]))


def test_batches_change_nothing() -> None:
    x = np.random.default_rng(1).uniform(-0.4, 0.38, 600)
    once, often = EProcess(theta=0.1, score_range=(0, 1)), EProcess(theta=0.1, score_range=(0, 1))
    first = once.look(x)
    for n in range(7, 601, 7):
        if often.look(x[:n]) != "continue":
            break
    assert often.decision == first
    assert often.estimate().p_value == pytest.approx(once.estimate().p_value)


@pytest.mark.parametrize("theta", [0.3, None])
def test_bets_are_fair(theta: float | None) -> None:
    """Over all outcomes of five items with mean -margin, the capital is 1 on average: no more can be expected."""
    margin = 0.1
    outcomes, chances = (-1.0, 0.0, 0.8), (0.26, 0.54, 0.2)
    assert np.dot(outcomes, chances) == pytest.approx(-margin)
    total = 0.0
    for x in itertools.product(range(3), repeat=5):
        rule = EProcess(theta=theta, margin=margin, score_range=(0, 1), alpha=1e-6, beta=1e-6)
        rule.look([outcomes[i] for i in x])
        total += math.prod(chances[i] for i in x) * capital(rule)
    assert total == pytest.approx(1)


@every("shift", [0.0, -0.1, 0.1])
@every("theta", [0.1, None])
def test_decision_and_interval_agree(shift: float, theta: float | None) -> None:
    rng = np.random.default_rng(11)
    for _ in range(40):
        rule, x = EProcess(theta=theta, score_range=(0, 1)), np.clip(rng.normal(shift, 0.3, 600), -1, 1)
        for n in range(30, 601, 30):
            if rule.look(x[:n], last=n == 600) != "continue":
                break
        found = rule.estimate()
        assert found.low is not None
        assert found.high is not None
        assert found.low < found.estimate < found.high
        assert (found.high <= 1e-9) == (found.p_value <= 0.05) == (rule.decision == "regression")


def test_the_interval_holds_at_any_time() -> None:
    """Stopped where it looks worst: the share of runs whose interval ever excludes the truth is 2 alpha at most."""
    runs, rng, missed = 200, np.random.default_rng(13), 0
    for _ in range(runs):
        x = rng.choice([-1.0, 0.0, 1.0], p=[0.15, 0.75, 0.1], size=300)
        rule = EProcess(score_range=(0, 1), alpha=0.05)
        rule.look(x, last=True)  # the interval is the intersection over all items
        found = rule.estimate()
        missed += not found.low <= -0.05 <= found.high  # type: ignore[operator]
    assert missed / runs < 0.1


def test_groups_of_one_are_items() -> None:
    x = np.random.default_rng(3).uniform(-0.4, 0.3, 200)
    items, groups = EProcess(theta=0.1, score_range=(0, 1)), EProcess(theta=0.1, score_range=(0, 1), largest_group=1)
    assert items.look(x, last=True) == groups.look(np.stack([x, np.ones(200)], axis=1), last=True)
    assert items.estimate() == groups.estimate()


def test_a_wider_range_is_the_same_question_in_other_units() -> None:
    x = np.random.default_rng(4).uniform(-0.5, 0.4, 200)
    small, large = EProcess(theta=0.1, score_range=(0, 1)), EProcess(theta=10, score_range=(0, 100))
    assert small.look(x, last=True) == large.look(100 * x, last=True)
    assert large.estimate().low == pytest.approx(100 * small.estimate().low)  # type: ignore[operator]


def test_the_same_items_do_not_multiply() -> None:
    """Why it is refused: twenty nights on the same items against one reference run, multiplied, alarm falsely far too often."""
    rng, alarms, runs = np.random.default_rng(17), 0, 80
    for _ in range(runs):
        chance = np.where(rng.random(300) < 0.3, 0.5, 1.0)  # a third of the items is a toss-up for either
        reference = rng.random(300) < chance
        product = 1.0
        for _ in range(20):
            rule = EProcess(theta=0.02, score_range=(0, 1), alpha=1e-9, beta=1e-9)
            rule.look((rng.random(300) < chance).astype(float) - reference)
            product *= capital(rule)
        alarms += product >= 20
    assert alarms / runs > 0.1  # and .05 were allowed


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"score_range": (1, 1)}, "rising range"),
        ({"score_range": (0, 1), "theta": 2.0}, r"theta 2\.0 and margin 0\.0 do not fit scores 1 wide\."),
        ({"score_range": (0, 1), "theta": 0.1, "margin": 0.1}, r"theta 0\.1 and margin 0\.1 do not fit scores 1 wide\."),
    ],
)
def test_bets_that_cannot_be(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        EProcess(**options)  # type: ignore[arg-type]


def test_differences_that_cannot_be() -> None:
    rule = EProcess(theta=0.1, score_range=(0, 1))
    rule.look([0.0, 0.1])
    with pytest.raises(DataError, match=r"A difference is larger than the range of the scores, \[0, 1\], allows\."):
        rule.look([0.0, 0.1, 1.2])
    with pytest.raises(UsageError, match="all differences so far"):
        rule.look([0.0])
    with pytest.raises(UsageError, match="has not ended"):
        rule.estimate()
    with pytest.raises(DataError, match="at most 3"):
        EProcess(theta=0.1, score_range=(0, 1), largest_group=3).look([[0.0, 4.0]])
    rule.look([0.0] * 3, last=True)
    with pytest.raises(UsageError, match="ended with 'exhausted'"):
        rule.look([0.0] * 4)
