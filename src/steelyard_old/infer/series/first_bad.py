"""Which commit was the first bad one? The posterior over a line of commits from what was asked at some of them, and whom to ask next.

Commits are numbered from 0, the good end, to the bad end; the first bad commit is one of 1, 2, ... up to the bad end. All that is
assumed is that one change happened: commits before it share a rate (or a mean), and commits from it on share another one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Numbers = Sequence[float] | FloatArray
HALF = 0.5  # Jeffreys' prior of a rate
OUTLIER = 2 * 1.4826  # median absolute deviations: scores that moved by less may well be noise
SPLITS_AT_LEAST = 0.01  # of the posterior, on either side: what parts less is not worth its calls


def first_bad_posterior(right: Numbers, asked: Numbers, prior: Numbers | None = None) -> FloatArray:
    """P(first bad commit = 1, 2, ...) from right answers of those asked at each commit.

    Formula: P(B) is proportional to prior(B) Be(1/2 + r, 1/2 + s - r) Be(1/2 + r', 1/2 + s' - r'), with r of s right at the commits
    before B and r' of s' from B on: both rates are unknown and integrated out.
    Assumes: one change; answers are independent given the rate of their side. Stored answers by which items were chosen do not count.
    Reference: Smith1975 for one change in a series of right or wrong.

    >>> first_bad_posterior([22, 14, 0, 2], [24, 16, 0, 24]).round(3).tolist()
    [0.0, 0.5, 0.5]
    """
    from scipy.special import betaln

    r, s = np.cumsum(np.asarray(right, float)), np.cumsum(np.asarray(asked, float))
    before_right, before = r[:-1], s[:-1]
    after_right, after = r[-1] - before_right, s[-1] - before
    logs = betaln(HALF + before_right, HALF + before - before_right) + betaln(HALF + after_right, HALF + after - after_right)
    return _normalized(logs, prior)


def first_bad_posterior_of_means(runs: Numbers, means: Numbers, noise: float, prior: Numbers | None = None) -> FloatArray:
    """P(first bad commit = 1, 2, ...) from the mean score of whole runs at each commit, `noise` being the deviation of one run.

    Formula: P(B) is proportional to prior(B) (n n')^(-1/2) exp(-(Q + Q') / (2 noise^2)), with n runs before B and n' from B on, and Q,
    Q' the sums of squares of the commits' means about the mean of their side, each times its runs: both means are unknown, with a
    flat prior, and integrated out. Both ends must have runs. What the runs of one commit differ by is the same for every B.
    Assumes: one change; normal runs of known noise. Reference: Smith1975.

    >>> first_bad_posterior_of_means([2, 0, 1, 2], [0.80, 0, 0.75, 0.752], noise=0.01).round(3).tolist()
    [0.5, 0.5, 0.0]
    """
    n, m = np.asarray(runs, float), np.asarray(means, float)
    level = float(np.average(m, weights=n))
    m = np.where(n > 0, m - level, 0.0)  # about their mean: the squares below lose no digits
    count, total = np.cumsum(n), np.cumsum(n * m)
    count_after, total_after = count[-1] - count[:-1], total[-1] - total[:-1]
    explained = total[:-1] ** 2 / count[:-1] + total_after**2 / count_after
    return _normalized(explained / (2 * noise * noise) - 0.5 * np.log(count[:-1] * count_after), prior)


def _normalized(logs: FloatArray, prior: Numbers | None) -> FloatArray:
    if prior is not None:
        with np.errstate(divide="ignore"):
            logs = logs + np.log(np.asarray(prior, float))
    weights: FloatArray = np.exp(logs - logs.max())
    out: FloatArray = weights / weights.sum()
    return out


def next_commit(posterior: Numbers, can_be_asked: Sequence[bool] | npt.NDArray[np.bool_]) -> int | None:
    """The commit between the ends whose answer splits the posterior best: P(first bad <= commit) is nearest to one half.

    can_be_asked: of commits 1, 2, ... without the bad end. None: no such commit parts the posterior.
    Reference: Horstein1963, who halves a posterior by answers that may be wrong.

    >>> next_commit([0.0, 0.0, 0.5, 0.5, 0.0], [True] * 4), next_commit([0.0, 1.0], [True])
    (3, None)
    """
    up_to = np.cumsum(np.asarray(posterior, float))[:-1]
    smaller = np.where(np.asarray(can_be_asked, bool), np.minimum(up_to, 1 - up_to), -1.0)
    if not len(smaller) or smaller.max() < SPLITS_AT_LEAST:
        return None
    return int(np.argmax(smaller)) + 1


def halvings(places: int) -> int:
    """How often a line of so many places is halved until one is left: what a search without doubts asks. No reference: a definition.

    >>> halvings(1), halvings(2), halvings(100)
    (0, 1, 7)
    """
    return math.ceil(math.log2(places))


def as_at_good_end(scores: Sequence[float], good: float, bad: float) -> int:
    """How many scores of an item are nearer to that of the good end than to that of the bad end. No reference: a convention.

    >>> as_at_good_end([1.0, 0.0, 0.5], 1.0, 0.0)
    1
    """
    return sum(abs(score - good) < abs(score - bad) for score in scores)


def ranges(can_be_judged: Sequence[bool] | npt.NDArray[np.bool_]) -> list[range]:
    """The commits after the good end in groups that can be told apart: each ends at a commit that can be judged.

    can_be_judged: of commits 1, 2, ..., the bad end last. A commit that cannot be judged joins the next one that can.

    >>> ranges([True, False, False, True])
    [range(1, 2), range(2, 5)]
    """
    out, start = [], 1
    for commit, judged in enumerate(can_be_judged, 1):
        if judged:
            out.append(range(start, commit + 1))
            start = commit + 1
    return out


def credible_set(masses: Numbers, level: float) -> list[int]:
    """The smallest set of indices that holds so much of the posterior, the most probable first; of equal ones the earlier.

    Reference: Hyndman1996.

    >>> credible_set([0.02, 0.6, 0.3, 0.08], 0.95)
    [1, 2, 3]
    """
    p = np.asarray(masses, float)
    order = np.argsort(-p, kind="stable")
    many = int(np.searchsorted(np.cumsum(p[order]), level - 1e-12)) + 1
    return [int(i) for i in order[:many]]


def run_noise(runs: Sequence[npt.NDArray[np.float64]], floor: float) -> float:
    """The deviation of the mean score of one run, from commits that were run more than once; each as runs x items.

    The variance within items, pooled over commits and added up over items, or that of whole runs about the mean of their commit if it
    is larger: then something moves all items of a run together. At least `floor`: runs that were equal so far may differ tomorrow.
    Reference: Miller2024, for the variance within items.

    >>> round(run_noise([np.array([[1.0, 0, 1, 1], [1, 1, 1, 1]])], floor=0.01), 4)
    0.1768
    """
    many = sum(len(each) - 1 for each in runs)
    if not many:
        return floor
    of_items = sum(float(((each - each.mean(axis=0)) ** 2).sum()) for each in runs) / many / runs[0].shape[1] ** 2
    of_runs = sum(float(((each.mean(axis=1) - each.mean()) ** 2).sum()) for each in runs) / many
    return max(floor, float(of_items**0.5), float(of_runs**0.5))


def means_of_runs(runs: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Of each commit, the mean score of its runs (0 without any) and how many there are; each as runs x items. No reference: a mean.

    >>> [x.tolist() for x in means_of_runs([np.array([[1.0, 0.0], [1.0, 1.0]]), np.zeros((0, 2))])]
    [[0.75, 0.0], [2.0, 0.0]]
    """
    return np.array([float(each.mean()) if len(each) else 0.0 for each in runs]), np.array([float(len(each)) for each in runs])


def fell_most(fall: FloatArray) -> list[int]:
    """The items whose score fell by more than most scores moved: by two deviations, as the median absolute deviation says them.

    Of right or wrong, where most items did not move, those are all that fell. Reference: Hampel1974.

    >>> fell_most(np.array([1.0, 0.0, 0.0, -1.0, 0.0])), fell_most(np.array([0.1, -0.1, 0.9, 0.0, -0.2]))
    ([0], [2])
    """
    moved = OUTLIER * float(np.median(np.abs(fall - np.median(fall))))
    return [int(i) for i in np.flatnonzero((fall > 0) & (fall >= moved))]


def fall_in_errors(good: FloatArray, bad: FloatArray, noise: float) -> float:
    """How far the mean score of the runs of one end lies above that of the other, in standard errors of that difference; each as
    runs x items, each run with this noise. Reference: Student1908.

    >>> round(fall_in_errors(np.array([[1.0, 1], [1, 0]]), np.array([[0.0, 1], [0, 0]]), noise=0.25), 6)
    2.0
    """
    return (float(good.mean()) - float(bad.mean())) / (noise * float((1 / len(good) + 1 / len(bad)) ** 0.5))
