"""Metrics of several tries of a problem: one unbiased number per problem, then a mean over problems. Objects are listed in REPEATS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Self

from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.base import Family
from steelyard_old.metrics.sums import QUOTIENT, SumsMetric, one_number

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]
    IntArray = npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatsMetric(SumsMetric):
    """A mean over problems of a chance that k tries would have. of_tries: that chance, from how many of how many were right."""

    of_tries: Callable[[IntArray, IntArray, int], FloatArray]

    family: ClassVar[Family] = "repeats"
    number_pattern: ClassVar[str | None] = r"(\d+)"

    @property
    def k(self) -> int:
        """How many tries it speaks of."""
        return int(self.parameter or 1)

    def with_number(self, digits: str, text: str) -> Self:
        if int(digits) < 1:
            raise _misnamed(text)
        return replace(self, parameter=float(digits), digits=str(int(digits)))

    def averaged(self, average: str, text: str) -> Self:
        raise _misnamed(text)


def _misnamed(text: str) -> UsageError:
    return UsageError(f"The metric {text!r} needs a k of 1 or more, as in pass@k or pass^k.", need="pass@k or pass^k with k of 1 or more")


def pass_at_k(right: IntArray, tries: IntArray, k: int) -> FloatArray:
    """Unbiased chance that at least one of k tries is right: 1 - C(tries - right, k) / C(tries, k), per problem.

    Undefined: fewer than k tries. Reference: Chen2021, equation 1.

    >>> import numpy as np
    >>> pass_at_k(np.array([1]), np.array([2]), 1)
    array([0.5])
    """
    return 1 - _none_of(tries - right, tries, k)


def pass_hat_k(right: IntArray, tries: IntArray, k: int) -> FloatArray:
    """Unbiased chance that all k tries are right: C(right, k) / C(tries, k), per problem. Reference: Yao2024.

    >>> import numpy as np
    >>> pass_hat_k(np.array([2]), np.array([4]), 2).round(6)
    array([0.166667])
    """
    return _none_of(right, tries, k)


def _none_of(some: IntArray, all_: IntArray, k: int) -> FloatArray:
    """C(some, k) / C(all, k) as a product of k quotients: no factorial overflows."""
    import numpy as np

    out = np.ones(len(some))
    for i in range(k):
        out *= np.maximum(some - i, 0) / (all_ - i)
    return out


PASS_AT = RepeatsMetric(
    base="pass@",
    example="pass@5",
    says="chance that one of k tries is right, as in pass@5",
    needs=("score", "id"),
    adds=one_number,
    statistic=QUOTIENT,
    mean_of_items=True,
    interval="t",
    in_groups="t",
    of_tries=pass_at_k,
)
PASS_HAT = replace(PASS_AT, base="pass^", example="pass^5", says="chance that all of k tries are right, as in pass^5", of_tries=pass_hat_k)
REPEATS = (PASS_AT, PASS_HAT)
