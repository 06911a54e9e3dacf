"""What of a spread is only rounding: numbers that differ by a few last bits of what they were computed from are one number. And the counts
behind a share that was rounded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]

LAST_BIT = 2.0**-52
FEW = 8  # last bits that a short computation loses
SUMS = 450  # those of totals, and of what is computed from them


def rounding(size: float, terms: float = 1) -> float:
    """How far float64 may part two numbers that are one: a few last bits of `size`, and one more for every term added up.

    `size` is how large the numbers were that the computation began with: 1,000,000.1 - 1,000,000 is known to 1e-10, not to 1e-17.
    Reference: Higham2002, section 4.2, for sums.

    >>> 0.1 + 0.2 - 0.3 <= rounding(0.3), rounding(1.0, 1000) < 1e-12
    (True, True)
    """
    return (FEW + terms) * LAST_BIT * size


def one_number(values: FloatArray, size: FloatArray | None = None, terms: float = 1) -> bool:
    """Whether all values are the same but for rounding: then they have no spread. size: how large each was before a subtraction.

    Reference: Higham2002, section 1.7 for what a subtraction leaves.

    >>> import numpy as np
    >>> one_number(np.array([0.3, 0.1 + 0.2])), one_number(np.array([0.3, 0.3 + 1e-13])), one_number(np.array([1e-100, 2e-100]))
    (True, False, False)
    """
    import numpy as np

    if len(values) < 2:
        return True
    sizes = np.abs(values) if size is None else size
    if float(np.ptp(values)) > 2 * rounding(float(np.max(sizes)), terms):  # nearly always: no median is needed
        return False
    return not without_rounding(values - np.median(values), np.maximum(sizes, np.abs(values)), terms).any()


def without_rounding(away: FloatArray, size: FloatArray | float, terms: float = 1) -> FloatArray:
    """Distances between numbers of this size, 0 where only rounding parts them. Reference: Higham2002, section 1.7.

    >>> import numpy as np
    >>> without_rounding(np.array([0.1 + 0.2 - 0.3, 0.5]), 0.3).tolist()
    [0.0, 0.5]
    """
    import numpy as np

    return np.where(np.abs(away) <= rounding(1.0, terms) * size, 0.0, away)


def variance_of(values: FloatArray) -> float:
    """The variance with n - 1 of single numbers, 0 where only rounding parts them. Reference: Higham2002, section 1.9.

    >>> import numpy as np
    >>> variance_of(np.full(10, 0.95)), variance_of(np.array([1.0, 2.0, 3.0]))
    (0.0, 1.0)
    """
    return 0.0 if one_number(values) else float(values.var(ddof=1))


def deviation_of(values: FloatArray) -> float:
    """The standard deviation with n - 1 of single numbers, 0 where only rounding parts them. Reference: Higham2002, section 1.9.

    >>> import numpy as np
    >>> deviation_of(np.full(10, 0.95)), deviation_of(np.array([1.0, 2.0, 3.0]))
    (0.0, 1.0)
    """
    return math.sqrt(variance_of(values))


def counts_between(n: int, low: Fraction, high: Fraction) -> tuple[int, int]:
    """The fewest and the most of n items whose share lies between two; the fewest are more than the most if there are none.

    >>> from fractions import Fraction
    >>> counts_between(40, Fraction(29, 100), Fraction(31, 100)), counts_between(3, Fraction(4, 10), Fraction(6, 10))
    ((12, 12), (2, 1))
    """
    return max(0, math.ceil(n * low)), min(n, math.floor(n * high))


def count_cut_off(n: int, value: Fraction, last: Fraction) -> int | None:
    """The fewest of n items whose share is this value when its further digits are cut off; None if no number of them has it.

    last: one unit of the last digit that is left.

    >>> from fractions import Fraction
    >>> count_cut_off(3, Fraction(66, 100), Fraction(1, 100)), count_cut_off(3, Fraction(67, 100), Fraction(1, 100))
    (2, None)
    """
    count = math.ceil(n * value)
    return count if count < n * (value + last) else None
