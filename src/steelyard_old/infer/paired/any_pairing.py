"""Two shares of the same items, and nothing known of which items: what McNemar's test could have given, over every way to pair them."""

from __future__ import annotations

from bisect import bisect_left

from steelyard_old.errors import DataError
from steelyard_old.infer.paired.mcnemar import mcnemar_midp
from steelyard_old.late_dataclass import dataclass

Counted = tuple[int, int]  # the fewest and the most items that may have been right


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRange:
    """What any pairing could give.

    fewest, most: items on which the two can disagree. p_smallest, p_largest: the mid-p of McNemar's test at the two ends. limit: the
    most disagreements with which it can still be significant; None if it cannot.
    """

    fewest: int
    most: int
    p_smallest: float
    p_largest: float
    limit: int | None


def any_pairing(first: Counted, second: Counted, n: int, alpha: float = 0.05) -> PairingRange:
    """The range of the two-sided mid-p of McNemar's test, where only the number of right items of each system is known.

    Formula: with k1 <= k2 right of n, the better system lost l <= min(k1, n - k2) items and gained l + k2 - k1. p
    rises with l and falls with k2 - k1, so the smallest p has the largest difference and l = 0, the largest p the smallest
    difference and the most lost. The limit is the largest 2 l + k2 - k1 with p <= alpha.
    Counts may be known to a range only, as a score that was rounded is. Assumes: both systems answered the same n items.
    Undefined: never. Reference: Fagerland2013 for the test.

    >>> found = any_pairing((1153, 1153), (1136, 1136), 1319)
    >>> found.fewest, found.most, round(found.p_smallest, 6), round(found.p_largest, 3), found.limit
    (17, 349, 8e-06, 0.364, 73)
    """
    for low, high in (first, second):
        if not 0 <= low <= high <= n:
            raise DataError(
                f"The number of right items must lie between 0 and {n}, not at {low} to {high}.",
                got=f"{low} to {high} right of {n}",
                need="counts between 0 and n",
            )
    apart = max(0, second[0] - first[1], first[0] - second[1])
    widest = max(second[1] - first[0], first[1] - second[0])
    most_lost = _most_lost(first, second, n, apart)
    return PairingRange(
        fewest=apart,
        most=_most(first, second, n, 0),
        p_smallest=mcnemar_midp(widest, 0),
        p_largest=mcnemar_midp(most_lost + apart, most_lost),
        limit=_limit(first, second, n, alpha, range(max(apart, 1), widest + 1)),
    )


def _most_lost(first: Counted, second: Counted, n: int, gap: int) -> int:
    """The most items that the better system can have wrong and the other right, where they lie `gap` apart."""
    found = []
    for lower, upper in ((first, second), (second, first)):
        least, most = max(lower[0], upper[0] - gap), min(lower[1], upper[1] - gap)
        if least <= most:
            right = min(max(least, (n - gap) // 2), most)  # of the worse system: half of what is left takes the most
            found += [min(each, n - gap - each) for each in (right, right + 1) if least <= each <= most]
    return max(found)


def _limit(first: Counted, second: Counted, n: int, alpha: float, gaps: range) -> int | None:
    """The most disagreements that are significant: from some gap on every pairing is, and below it the largest gap allows the most."""

    def always(gap: int) -> bool:
        room = _most_lost(first, second, n, gap)
        return mcnemar_midp(room + gap, room) <= alpha

    if not gaps or mcnemar_midp(gaps[-1], 0) > alpha:
        return None
    at = bisect_left(gaps, True, key=always)
    found = [] if at == len(gaps) else [_most(first, second, n, gaps[at])]
    if at and mcnemar_midp(gaps[at - 1], 0) <= alpha:
        found.append(_fine(gaps[at - 1], _most_lost(first, second, n, gaps[at - 1]), alpha))
    return max(found)


def _most(first: Counted, second: Counted, n: int, gap: int) -> int:
    """The most disagreements of systems that lie at least `gap` apart: the more, the nearer their right items add up to n."""
    found = []
    for lower, upper in ((first, second), (second, first)):
        if upper[1] - lower[0] >= gap:
            least, most = lower[0] + max(upper[0], lower[0] + gap), upper[1] + min(lower[1], upper[1] - gap)
            together = min(max(least, n), most)
            found.append(min(together, 2 * n - together))
    return max(found)


def _fine(gap: int, room: int, alpha: float) -> int:
    """The most disagreements with which one gap is significant: p rises with what is lost."""
    lost = bisect_left(range(room + 1), True, key=lambda lost: mcnemar_midp(lost + gap, lost) > alpha) - 1
    return 2 * lost + gap
