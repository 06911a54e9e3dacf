"""What any pairing of two published scores could give: every pairing of small tables, listed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import DataError
from steelyard.infer.paired.any_pairing import any_pairing
from steelyard.infer.paired.mcnemar import mcnemar_midp


def listed(first: tuple[int, int], second: tuple[int, int], n: int, alpha: float) -> tuple[int, int, float, float, int | None]:
    """Every number of right items in the ranges, and every number of items that both have right."""
    found = [
        (mcnemar_midp(b - both, a - both), a + b - 2 * both)
        for a in range(first[0], first[1] + 1)
        for b in range(second[0], second[1] + 1)
        for both in range(max(0, a + b - n), min(a, b) + 1)
    ]
    small = [differing for p, differing in found if p <= alpha]
    differing = [each for _, each in found]
    return min(differing), max(differing), min(p for p, _ in found), max(p for p, _ in found), max(small, default=None)


@given(st.data(), st.integers(1, 30), st.sampled_from([0.01, 0.05, 0.2]))
def test_every_pairing_listed(data: st.DataObject, n: int, alpha: float) -> None:
    first, second = (tuple(sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n))))) for _ in range(2))
    found = any_pairing(first, second, n, alpha)
    least, most, smallest, largest, limit = listed(first, second, n, alpha)
    assert (found.fewest, found.most, found.limit) == (least, most, limit)
    assert (found.p_smallest, found.p_largest) == pytest.approx((smallest, largest), rel=1e-12)


def test_a_million_items_cost_no_more_than_a_thousand() -> None:
    calls = 0

    def counted(gained: int, lost: int) -> float:
        nonlocal calls
        calls += 1
        return mcnemar_midp(gained, lost)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("steelyard.infer.paired.any_pairing.mcnemar_midp", counted)
        any_pairing((874_000, 874_999), (861_000, 861_999), 10**6)
    assert calls < 60


def test_counts_that_cannot_be() -> None:
    with pytest.raises(DataError):
        any_pairing((0, 11), (3, 4), 10)
    with pytest.raises(DataError):
        any_pairing((5, 4), (3, 4), 10)
