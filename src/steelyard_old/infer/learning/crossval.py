"""Two learning algorithms over the splits of a cross-validation: tests on the differences of their scores, split by split.

The difference of a split is the candidate's score minus the baseline's, both fitted on its training part and scored on
its test part. Training parts overlap, so the differences are correlated, and no unbiased estimate of their variance
exists (BengioGrandvalet2004): every test here but `disjoint_sets_t` is approximate. What each of them is worth was
measured on learners that are equal by construction (shares of p <= .05 that should be .05):

    corrected repeated k-fold   .021 to .114        5x2cv t            .040 to .117
    corrected resampled         .018 to .089        5x2cv F            .035 to .154
    naive 10-fold               .045 to .147        naive repeated     .273 to .654; naive resampled .345 to .673
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.intervals.sums import student
from steelyard_old.infer.normal import tail
from steelyard_old.infer.paired.mcnemar import check_alternative, from_tails
from steelyard_old.late_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
Differences = Sequence[float] | FloatArray
ROUNDING = 1e-12  # differences below this share of the scores are rounding, not a difference
CONSTANT = 1e-9  # a spread below this share of the differences is rounding, not a spread
SAME = "both learners scored the same in every split: p is 1, and without any spread there is no interval"
NO_SPREAD = "the differences between the learners have no spread to judge them by: no p-value and no interval can be given"


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitTest:
    """statistic and p_value are None where they cannot be known; `note` then says why. `interval` is for the mean difference.

    `probability_above` is P(mean difference > 0) under the matching flat-prior posterior, for the corrected t alone.
    """

    statistic: float | None
    p_value: float | None
    df: tuple[int, ...]
    interval: tuple[float, float] | None
    standard_error: float | None = None
    probability_above: float | None = None
    note: str = ""


def check_two_sided(alternative: str) -> None:
    """Refuse a direction for the F test, which has none. Reference: Alpaydin1999."""
    if check_alternative(alternative) != "two-sided":
        raise UsageError(
            "The 5x2cv F test is two-sided.",
            got=f"alternative {alternative!r}",
            need="two-sided",
            hint="use 5x2cv-t, which has a direction",
        )


def differences(baseline: Differences, candidate: Differences) -> FloatArray:
    """Candidate minus baseline per split; what is within rounding of the scores is exactly 0.

    Reference: Dietterich1998 (both learners on the same splits, so that their difference is paired).

    >>> differences([0.1, 0.5], [0.3 - 0.2, 0.75]).tolist()
    [0.0, 0.25]
    """
    a, b = np.asarray(baseline, float), np.asarray(candidate, float)
    scale = float(np.max(np.abs(np.concatenate([a, b])), initial=0.0))
    return np.where(np.abs(b - a) <= ROUNDING * scale, 0.0, b - a)


def corrected_repeated_kfold_t(
    differences: Differences, *, folds: int, alternative: str = "two-sided", confidence_level: float = 0.95, side: str = "two"
) -> SplitTest:
    """The corrected t over r repeats of k-fold cross-validation; `differences` holds the k r of them (fewer if some failed).

    Formula: t = mean / sqrt(s^2 (1/J + 1/(k-1))), J = k r differences with variance s^2, J - 1 degrees of freedom.
    1/(k-1) is n_test / n_train: it stands for the correlation that overlapping training parts bring in.
    Assumes: that correlation to be n_test / n. Stable learners: conservative; nearest neighbours: 11% at a nominal 5%.
    Undefined: no spread. Reference: NadeauBengio2003; BouckaertFrank2004 for 10 repeats of 10 folds, the most replicable.

    >>> found = corrected_repeated_kfold_t([0.03, -0.01, 0.02, 0.04, 0.0, 0.01, 0.05, -0.02, 0.03, 0.02], folds=10)
    >>> round(found.statistic, 6), round(found.p_value, 4), found.df
    (1.671457, 0.129, (9,))
    """
    if folds < 2:
        raise UsageError(f"folds must be at least 2, not {folds}.", got=f"{folds}", need="at least 2 folds")
    return _t(differences, 1 / (folds - 1), alternative, confidence_level, side, corrected=True)


def corrected_resampled_t(
    differences: Differences,
    *,
    n_test: float,
    n_train: float,
    alternative: str = "two-sided",
    confidence_level: float = 0.95,
    side: str = "two",
) -> SplitTest:
    """The corrected t over J random splits into n_train and n_test items.

    Formula: t = mean / sqrt(s^2 (1/J + n_test/n_train)), J - 1 degrees of freedom.
    Assumes: as corrected_repeated_kfold_t. Undefined: no spread. Reference: NadeauBengio2003.

    >>> round(corrected_resampled_t([0.02, 0.01, 0.03, -0.01, 0.0], n_test=20, n_train=80).statistic, 6)
    0.942809
    """
    if not (n_test > 0 and n_train > 0):
        raise UsageError(
            f"n_test and n_train must be at least 1, not {n_test} and {n_train}.",
            got=f"{n_test} test and {n_train} training items",
            need="at least one of each",
        )
    return _t(differences, n_test / n_train, alternative, confidence_level, side, corrected=True)


def kfold_t(differences: Differences, alternative: str = "two-sided", confidence_level: float = 0.95, side: str = "two") -> SplitTest:
    """The textbook's paired t over the k folds, as if they were independent: mean +- t(k-1) s / sqrt(k).

    Assumes: independent folds, which they are not: any two training parts share (k-2)/(k-1) of their items. One tenfold
    run sees a difference that is not there in 4.5 to 15% of cases at 5%; repeated or resampled runs in 27 to 67%.
    Undefined: no spread. Reference: Mitchell1997, section 5.6; Dietterich1998 on what it is worth.

    >>> found = kfold_t([0.02, 0.01, 0.03, -0.01, 0.0, 0.02, 0.04, 0.01, 0.01, 0.03])
    >>> round(found.statistic, 6), round(found.p_value, 6)
    (3.360672, 0.00838)
    """
    return _t(differences, 0.0, alternative, confidence_level, side)


def disjoint_sets_t(
    differences: Differences, alternative: str = "two-sided", confidence_level: float = 0.95, side: str = "two"
) -> SplitTest:
    """Two given models on k disjoint test sets: mean +- t_{N,k-1} sqrt(sum (d_i - mean)^2 / (k (k-1))).

    Assumes: models that were fitted elsewhere, once; sets of at least 30 items, so that each d_i is nearly normal. Then
    the differences are independent and the test holds its level: for these two models, not for the learners.
    Undefined: no spread. Reference: Mitchell1997, section 5.6.1.

    >>> found = disjoint_sets_t([0.02, 0.01, 0.03, -0.01, 0.0, 0.02, 0.04, 0.01, 0.01, 0.03])
    >>> [round(x, 6) for x in found.interval]
    [0.00523, 0.02677]
    """
    return _t(differences, 0.0, alternative, confidence_level, side)


def five_by_two_t(differences: Differences, alternative: str = "two-sided") -> SplitTest:
    """The 5x2cv t: five repeats of two folds; `differences` are (fold 1, fold 2) of each repeat, in order.

    Formula: t = p_1 / sqrt(sum s_i^2 / 5), p_1 the first difference of the first repeat, s_i^2 = (p_i1 - p_i2)^2 / 2;
    5 degrees of freedom. The numerator is one of ten, so another order of the same folds gives another answer.
    It tests; there is no interval of the mean difference. Undefined: no spread within the repeats.
    Reference: Dietterich1998, section 3.5.

    >>> found = five_by_two_t([0.02, 0.04, 0.01, 0.03, 0.05, -0.01, 0.03, 0.02, 0.0, 0.02])
    >>> round(found.statistic, 6), found.df
    (0.903508, (5,))
    """
    check_alternative(alternative)
    pairs, variances = _pairs(differences)
    if (degenerate := _without_spread(pairs.ravel(), _within(pairs), (5,), alternative)) is not None:
        return degenerate
    t = float(pairs[0, 0] / math.sqrt(variances.mean()))
    return SplitTest(statistic=t, p_value=_p(t, 5, alternative), df=(5,), interval=None)


def five_by_two_f(differences: Differences, alternative: str = "two-sided") -> SplitTest:
    """The combined 5x2cv F: all ten differences in the numerator, so their order does not matter.

    Formula: F = sum p_ij^2 / (2 sum s_i^2), s_i^2 = (p_i1 - p_i2)^2 / 2, with 10 and 5 degrees of freedom.
    It has no direction and no interval. Undefined: no spread within the repeats. Reference: Alpaydin1999.

    >>> found = five_by_two_f([0.02, 0.04, 0.01, 0.03, 0.05, -0.01, 0.03, 0.02, 0.0, 0.02])
    >>> round(found.statistic, 6), found.df
    (1.489796, (10, 5))
    """
    check_two_sided(alternative)
    from scipy.special import fdtrc

    pairs, variances = _pairs(differences)
    if (degenerate := _without_spread(pairs.ravel(), _within(pairs), (10, 5), alternative)) is not None:
        return degenerate
    f = float((pairs**2).sum() / (2 * variances.sum()))
    return SplitTest(statistic=f, p_value=float(fdtrc(10, 5, f)), df=(10, 5), interval=None)


# ---- what they share -------------------------------------------------------------------------------------------------


def _t(given: Differences, extra: float, alternative: str, confidence_level: float, side: str, *, corrected: bool = False) -> SplitTest:
    """Student's t of a mean whose variance is s^2 (1/J + extra)."""
    check_alternative(alternative)
    outside = tail(confidence_level, side)
    d = _checked(given)
    df = len(d) - 1
    if (degenerate := _without_spread(d, float(np.ptp(d)), (df,), alternative, 0.5 if corrected else None)) is not None:
        return degenerate
    mean = float(d.mean())
    error = math.sqrt(float(d.var(ddof=1)) * (1 / len(d) + extra))
    t = mean / error
    reach = student(1 - outside, df) * error
    low = -math.inf if side == "upper" else mean - reach
    high = math.inf if side == "lower" else mean + reach
    # Under a flat prior the posterior of the mean is this very t law (CoraniBenavoli2015), so that P(mean > 0) is its tail.
    above = _p(t, df, "less") if corrected else None
    return SplitTest(
        statistic=t, p_value=_p(t, df, alternative), df=(df,), interval=(low, high), standard_error=error, probability_above=above
    )


def _p(t: float, df: int, alternative: str) -> float:
    from scipy.special import stdtr

    return from_tails(float(stdtr(df, t)), float(stdtr(df, -t)), alternative)


def _checked(given: Differences) -> FloatArray:
    d = np.asarray(given, float)
    if d.ndim != 1 or len(d) < 2 or not np.isfinite(d).all():
        shape = "numbers that are not finite" if d.ndim == 1 and len(d) > 1 else f"an array of shape {d.shape}"
        raise DataError(
            f"The test needs at least 2 finite differences, one per split, not {shape}.",
            got=shape,
            need="at least 2 finite differences, one per split",
        )
    return d


def _pairs(given: Differences) -> tuple[FloatArray, FloatArray]:
    """The ten differences as five pairs, and the variance of each pair."""
    d = _checked(np.asarray(given, float).ravel())
    if len(d) != 10:
        raise DataError(f"Five repeats of two folds give 10 differences, got {len(d)}.", got=f"{len(d)} differences", need="10")
    pairs = d.reshape(5, 2)
    return pairs, (pairs[:, 0] - pairs[:, 1]) ** 2 / 2


def _within(pairs: FloatArray) -> float:
    """The largest difference within a repeat: the only spread that the 5x2cv tests look at."""
    return float(np.abs(pairs[:, 0] - pairs[:, 1]).max())


def _without_spread(d: FloatArray, spread: float, df: tuple[int, ...], alternative: str, above: float | None = None) -> SplitTest | None:
    """The answer where the differences do not vary: equal learners give p = 1; a constant difference gives no p at all."""
    largest = float(np.abs(d).max())
    if largest == 0:
        return SplitTest(statistic=0.0, p_value=from_tails(1.0, 1.0, alternative), df=df, interval=None, probability_above=above, note=SAME)
    if spread <= CONSTANT * largest:
        return SplitTest(statistic=None, p_value=None, df=df, interval=None, note=NO_SPREAD)
    return None
