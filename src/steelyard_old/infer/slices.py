"""A whole and its slices tested together: a graph of tests that finds a loss in one slice, even where gains elsewhere hide it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard_old.errors import UsageError
from steelyard_old.infer.multiplicity import adjust

SHARE = 0.8  # of alpha, for the test of all items; the slices have the rest
FEWEST_ITEMS = 20  # a smaller slice is shown, not tested
MOST_SLICES = 50  # more of them would leave each next to nothing of alpha


def adjust_slices(overall: float, slices: Sequence[float], share: float = SHARE) -> tuple[float, list[float]]:
    """Adjusted p-values of a whole and of its K slices, in the order given: each is worse if its own is at most alpha.

    The whole is tested at share x alpha, the slices by Holm at (1 - share) x alpha. A whole that is worse hands its share to
    the slices; slices that are all worse hand theirs to the whole. Formula, with h the slices' p-values after Holm and w the share:
    whole min(1, p / w, max(p, max h / (1 - w))); slice min(1, h / (1 - w), max(h, p / w)). Some healthy one is called worse
    with a chance of at most alpha, whatever their dependence; slices may overlap. The smallest of them is the p-value of "nothing is
    worse anywhere". Without slices the whole keeps all of alpha.
    Reference: Bretz2009; Holm1979.

    >>> whole, parts = adjust_slices(0.6, [0.001, 0.4, 0.9])
    >>> round(whole, 4), [round(p, 4) for p in parts]
    (0.75, [0.015, 0.8, 0.9])
    """
    if not 0 < share < 1:
        raise UsageError(
            f"The share of the whole must be a number between 0 and 1, not {share!r}.", got=f"{share!r}", need="a number between 0 and 1"
        )
    if not 0 <= overall <= 1:  # also catches NaN
        raise UsageError(
            f"The p-value of the whole must be a number from 0 to 1, not {overall!r}.", got=f"{overall!r}", need="a number from 0 to 1"
        )
    held = adjust(slices)
    if not held:
        return overall, []
    own = overall / share
    whole = min(1.0, own, max(overall, max(held) / (1 - share)))
    return whole, [min(1.0, h / (1 - share), max(h, own)) for h in held]


def losses_needed(slices: int, alpha: float, share: float = SHARE) -> int:
    """The fewest losses, nothing gained, that make a slice worse by itself: 2^-(b+1) <= (1 - share) alpha / K.

    Reference: Fagerland2013 for the mid-p of b losses.

    >>> [losses_needed(slices, 0.05) for slices in (3, 6, 12)]
    [8, 9, 10]
    """
    level = (1 - share) * alpha / max(1, slices)
    b = max(1, math.ceil(-math.log2(level)) - 1)
    return b if math.ldexp(1.0, -b - 1) <= level else b + 1  # the logarithm of a power of two may be off by its last bit


def large_enough(sizes: Sequence[int], alpha: float, share: float = SHARE) -> list[bool]:
    """Which slices are tested: those of at least 20 items, and of as many as they have to lose. Size decides, never what was answered.

    Reference: Fagerland2013 for the smallest p of so many items.

    >>> large_enough([300, 19, 20], 0.05), large_enough([300, 24, 20], 1e-6)
    ([True, False, True], [True, True, False])
    """
    large = sum(n >= FEWEST_ITEMS for n in sizes)
    least = max(FEWEST_ITEMS, losses_needed(large, alpha, share))
    return [n >= least for n in sizes]
