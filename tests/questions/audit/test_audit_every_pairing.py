"""What `audit` says of two scores, against a list of every pairing of their items."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction
from math import comb

import pytest

import steelyard as sy


def mid_p(gained: int, lost: int) -> Fraction:
    """The two-sided mid-p of McNemar's test, exactly: twice the tail, with half of what was seen; 1 where both are equal."""
    n, least = gained + lost, min(gained, lost)
    if gained == lost:
        return Fraction(1)
    return Fraction(2 * sum(comb(n, k) for k in range(least)) + comb(n, least), 2**n)


def counts(text: str, n: int, scale: int) -> list[int]:
    """The numbers of right items that round to a score."""
    digits = len(text.partition(".")[2])
    return [k for k in range(n + 1) if abs(Fraction(k * scale, n) - Fraction(Decimal(text))) <= Fraction(1, 2 * 10**digits)]


@pytest.mark.parametrize("seed", range(60))
def test_the_answer_is_that_of_all_pairings_together(seed: int) -> None:
    drawn = random.Random(seed)
    n, digits = drawn.randint(2, 50), drawn.choice([0, 1, 2])
    scale = drawn.choice([1, 100])
    rights = [drawn.randint(n // 4, n), drawn.randint(0, n)]
    texts = [f"{scale * k / n:.{digits if scale == 100 else digits + 1}f}" for k in rights]
    level = drawn.choice([0.5, 0.9, 0.95, 0.99])
    found = sy.audit({"a": texts[0], "b": texts[1]}, n=n, confidence_level=level)
    possible = [counts(text, n, scale) for text in texts]
    assert [(score.fewest_right, score.most_right) for score in found.scores] == [(each[0], each[-1]) for each in possible]
    seen = [
        (mid_p(a - both, b - both), a + b - 2 * both)
        for a in possible[0]
        for b in possible[1]
        for both in range(max(0, a + b - n), min(a, b) + 1)
    ]
    alpha = Fraction(str(round(1 - level, 6)))
    significant = [differing for p, differing in seen if p <= alpha]
    pair = found.pairs[0]
    assert pair.answer == ("never" if not significant else "always" if len(significant) == len(seen) else "depends")
    assert pair.significant_up_to == max(significant, default=None)
    assert (pair.fewest_differing, pair.most_differing) == (min(d for _, d in seen), max(d for _, d in seen))
    assert pair.p_smallest == pytest.approx(float(min(seen)[0]), rel=1e-9)
    assert pair.p_largest == pytest.approx(float(max(p for p, _ in seen)), rel=1e-9)
