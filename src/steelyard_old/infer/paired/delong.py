"""Two AUCs: on the same items (DeLong), on the same items in groups (Obuchowski), on different items.

Everything starts from placements: of a positive, the share of negatives that score below it (ties half); of a negative,
the share of positives above it. An AUC is their mean, and its error is theirs. The difference of two curves on the same
items is the mean of the differences of placements, so its variance is taken from those, not from var + var - 2 cov:
equal rankings then give exactly 0. With few items of a class see `auc_difference`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError
from steelyard_old.infer.intervals.area import Area
from steelyard_old.infer.intervals.clusters import Groups
from steelyard_old.infer.intervals.ranking import auc_area, auc_variances, grouped_trials, placed_spread
from steelyard_old.infer.normal import STANDARD, clip, lower_tail, tail
from steelyard_old.infer.paired.decision import satterthwaite
from steelyard_old.infer.paired.mcnemar import from_tails
from steelyard_old.infer.resampling.bootstrap import Degenerate
from steelyard_old.late_dataclass import dataclass
from steelyard_old.tally.scores import ScoreTable

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class AucPair:
    """Two AUCs, their variances and covariance, the variance of candidate minus baseline, and df of t (None: normal).

    areas: each AUC with what its own ends need; None where plain DeLong was asked for.
    """

    baseline: float
    candidate: float
    variance_baseline: float
    variance_candidate: float
    covariance: float
    variance: float
    df: float | None = None
    areas: tuple[Area, Area] | None = None

    @property
    def difference(self) -> float:
        """Candidate minus baseline."""
        return self.candidate - self.baseline

    @property
    def error(self) -> float:
        """The standard error of the difference."""
        return math.sqrt(self.variance)

    @property
    def correlation(self) -> float:
        """Of the two estimates; 0 where one of them shows no spread."""
        scale = math.sqrt(self.variance_baseline * self.variance_candidate)
        return min(1.0, max(-1.0, self.covariance / scale)) if scale > 1e-30 else 0.0


def item_placements(score: FloatArray, positive: BoolArray) -> FloatArray:
    """Of each positive the share of negatives below it, of each negative the share of positives above it; ties half.

    Two sorts and a binary search per item, O(n log n). Reference: DeLong1988, V10 and V01; SunXu2014 for the ranks.

    >>> item_placements(np.array([1.0, 2, 2, 3]), np.array([False, True, False, True])).tolist()
    [1.0, 0.75, 0.75, 1.0]
    """
    above, below = np.sort(score[positive]), np.sort(score[~positive])
    out = np.empty(len(score))
    for mask, others, sign in ((positive, below, 1), (~positive, -above[::-1], -1)):
        own = sign * score[mask]
        out[mask] = (np.searchsorted(others, own, "left") + np.searchsorted(others, own, "right")) / (2 * len(others))
    return out


def delong_pair(
    baseline: npt.ArrayLike, candidate: npt.ArrayLike, positive: npt.ArrayLike, group: npt.NDArray[np.integer] | None = None
) -> AucPair:
    """DeLong's variances and covariance of two AUCs on the same items; with `group` (0, 1, ...), those of clustered items.

    Formula: S10 / P + S01 / N, S the covariances of the placements (of P positives, of N negatives) of the two systems; the
    two parts have P - 1 and N - 1 degrees of freedom, their sum Satterthwaite's.
    Groups: u_g = sum over its positives (V10 - A)/P + sum over its negatives (V01 - A)/N, of each system and of the
    difference, through `cluster_spread`; t with its degrees. Assumes: independent items, or independent groups.
    Undefined: fewer than two items of a class (one, and two groups, with `group`).
    Reference: DeLong1988; Satterthwaite1946; Obuchowski1997 for groups; SunXu2014.

    >>> y = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    >>> a = [0.1, 0.4, 0.35, 0.8, 0.2, 0.5, 0.9, 0.35, 0.7, 0.6]
    >>> b = [0.2, 0.3, 0.5, 0.6, 0.1, 0.4, 0.8, 0.55, 0.2, 0.45]
    >>> pair = delong_pair(b, a, y == 1)
    >>> round(pair.difference, 6), round(pair.covariance, 6), [round(x, 6) for x in delong_test(pair)]
    (0.12, 0.0196, [0.733017, 0.486278])
    """
    scores, mask = [np.asarray(baseline, float), np.asarray(candidate, float)], np.asarray(positive, bool)
    if not len(mask) == len(scores[0]) == len(scores[1]):
        got = f"{len(scores[0])} and {len(scores[1])} scores of {len(mask)} items"
        raise DataError(
            f"Comparing two AUCs needs one score of each system for every item; there are {got}.",
            got=got,
            need="one score of each system for every item",
        )
    if any(np.isnan(score).any() for score in scores):
        raise DataError("Some scores are not numbers (NaN).", got="scores that are not numbers (NaN)", need="a score for every item")
    enough, classes = 1 if group is not None else 2, np.array([mask.sum(), (~mask).sum()])
    if classes.min() < enough:
        raise Degenerate("too few items of a class")
    place = np.stack([item_placements(score, mask) for score in scores])
    place = np.vstack([place, place[1] - place[0]])  # the third row is the difference
    area = place[:, mask].mean(1)
    centred = place - area[:, None]
    df: float | None
    smaller = int(classes.min())
    parts = [x @ x.T / (x.shape[1] * max(1, x.shape[1] - 1)) for x in (centred[:, side] for side in (mask, ~mask))]
    if group is None:
        spread: FloatArray = parts[0] + parts[1]
        degrees = [satterthwaite([(float(part[i, i]), n - 1) for part, n in zip(parts, classes.tolist(), strict=True)]) for i in range(3)]
        df = degrees[2]
        trials = [2.0 * smaller] * 2
    else:
        spread, degrees = _by_group(centred / np.where(mask, classes[0], classes[1]), mask, group)
        df = degrees[2]
        worth = min(Groups.of(np.bincount(group[side])).effective for side in (mask, ~mask))
        alone = parts[0] + parts[1] if smaller > 1 else np.zeros((2, 2))
        trials = [grouped_trials(float(spread[i, i]), float(alone[i, i]), smaller, worth) for i in range(2)]
    first, second = (Area(value=float(area[i]), variance=float(spread[i, i]), df=degrees[i], trials=trials[i]) for i in range(2))
    return AucPair(
        baseline=float(area[0]),
        candidate=float(area[1]),
        variance_baseline=float(spread[0, 0]),
        variance_candidate=float(spread[1, 1]),
        covariance=float(spread[0, 1]),
        variance=float(spread[2, 2]),
        df=df,
        areas=(first, second),
    )


def _by_group(u: FloatArray, mask: BoolArray, group: npt.NDArray[np.integer]) -> tuple[FloatArray, list[float]]:
    """Variances of both AUCs and of their difference, from which the covariance follows, and their degrees of freedom."""
    groups = len(np.unique(group))
    if groups < 2:
        raise Degenerate("fewer than two groups")
    found = [placed_spread(row, mask, group, int(group.max()) + 1) for row in u]
    first, second, gap = (each.variance for each in found)
    both = (first + second - gap) / 2
    return np.array([[first, both, 0.0], [both, second, 0.0], [0.0, 0.0, gap]]), [each.df for each in found]


def delong_unpaired(baseline: ScoreTable, candidate: ScoreTable) -> AucPair:
    """Two AUCs on different items: the variances add, the covariance is 0, and four parts make Satterthwaite's degrees.

    Assumes: two independent samples. Undefined: fewer than two items of a class.
    Reference: DeLong1988; HanleyMcNeil1982; Satterthwaite1946.

    >>> from steelyard_old.tally.scores import tally_scores
    >>> one = tally_scores(np.array([1.0, 2, 3, 4]), np.array([False, True, False, True]))
    >>> round(delong_unpaired(one, one).error, 6)
    0.5
    """
    first, second = auc_area(baseline), auc_area(candidate)
    parts = [(v, n - 1.0) for table in (baseline, candidate) for v, n in auc_variances(table)]
    return AucPair(
        baseline=first.value,
        candidate=second.value,
        variance_baseline=first.variance,
        variance_candidate=second.variance,
        covariance=0.0,
        variance=first.variance + second.variance,
        df=satterthwaite(parts),
        areas=(first, second),
    )


def delong_test(pair: AucPair, alternative: str = "two-sided") -> tuple[float, float]:
    """(t, p) of equal AUCs, t = difference / error, with the degrees of the pair (none: normal). "greater": the candidate is better.

    Two systems that rank alike: z = 0, p = 1 on every side. Undefined: different AUCs without any spread (say 1 and 1/2 with
    all scores equal): that is not certainty, and a permutation test can answer. Reference: DeLong1988.

    >>> same = delong_pair([1, 2, 3, 4], [10, 20, 30, 40], np.array([False, True, False, True]))
    >>> delong_test(same)
    (0.0, 1.0)
    """
    if _no_spread(pair):
        if abs(pair.difference) > 1e-14:
            raise Degenerate("the AUCs differ, but the placements have no spread")
        return 0.0, from_tails(1.0, 1.0, alternative)
    z = pair.difference / pair.error
    return z, from_tails(cdf(z, pair.df), cdf(-z, pair.df), alternative)


def delong_interval(pair: AucPair, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """difference +- t x error, with the degrees of the pair (none: normal), inside [-1, 1].

    Assumes: many items of both classes, and AUCs away from 1, where the placements lose their spread.
    Undefined: no spread, as for two systems that rank alike: an interval of no width would claim certainty.
    Reference: DeLong1988.

    >>> pair = delong_pair([1, 3, 2, 4, 6, 5], [1, 2, 3, 4, 5, 6], np.array([False, False, True, False, True, True]))
    >>> [round(x, 4) for x in delong_interval(pair)]
    [-0.3252, 0.5474]
    """
    if _no_spread(pair):
        raise Degenerate("the two systems rank alike, or have no spread")
    reach = -quantile(tail(confidence_level, side), pair.df) * pair.error
    return clip(pair.difference - reach, pair.difference + reach, side, -1.0, 1.0)


def _no_spread(pair: AucPair) -> bool:
    return not pair.variance > 1e-30


def cdf(z: float, df: float | None) -> float:
    """P(T <= z) of Student's t with df degrees; of the normal law without. Reference: Student1908."""
    if df is None:
        return lower_tail(z)
    from scipy.special import stdtr

    return float(stdtr(df, z))


def quantile(q: float, df: float | None) -> float:
    """The q quantile of Student's t with df degrees; of the normal law without. Reference: Student1908."""
    if df is None:
        return STANDARD.inv_cdf(q)
    from scipy.special import stdtrit

    return float(stdtrit(df, q))
