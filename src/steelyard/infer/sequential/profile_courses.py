"""Many courses of the profile-likelihood McNemar test at once: disagreements are drawn, the law of the losses along each is exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.infer.sequential.profile_mcnemar import (
    EXTRA,
    FEW,
    MOST_OVERSHOOT,
    OVERSHOOT,
    SPENDING,
    information_needed,
    level_needed,
)
from steelyard.infer.sequential.sequential_mcnemar import PRIOR_DISAGREEMENTS, PRIOR_ITEMS

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
NOTHING_LEFT = 1e-7  # of the runs still going: a course ends
ROOM = 32  # columns by which the table of losses grows, and by which it is moved on


@dataclass(frozen=True, slots=True)
class Courses:
    """For each course the mean items at the stop and the shares of regression, pass and exhausted; by look the share that stops."""

    items: FloatArray
    regression: FloatArray
    passed: FloatArray
    exhausted: FloatArray
    stopped: FloatArray  # mean over the courses


def profiles(n: int, lost: IntArray, gained: IntArray, theta: float) -> FloatArray:
    """`profile` of many counts at once."""
    disagreed = lost + gained
    agreed = n - disagreed
    q = disagreed * (1 - theta) - 2 * gained * theta - 2 * agreed * theta
    root = np.sqrt(q * q + 8 * n * gained * theta * (1 - theta))
    c = np.where(q >= 0, (q + root) / (4 * n), 2 * gained * theta * (1 - theta) / np.maximum(root - q, 1e-300))
    c = np.minimum(c, (1 - theta) / 2)
    same = disagreed * np.log(np.maximum(disagreed, 1) / (2 * n)) + agreed * np.log1p(-np.minimum(disagreed, n - 1) / n)
    drop = lost * np.log(c + theta) + gained * np.log(np.where(gained > 0, c, 1.0))
    found: FloatArray = same - drop - agreed * np.log1p(np.where(agreed > 0, -theta - 2 * c, 0.0))
    return found


def along_courses(
    theta: float,
    alpha: float,
    beta: float,
    *,
    rate: float,
    share: float,
    step: int,
    courses: int,
    rng: np.random.Generator,
    available: int | None = None,
    binding: bool = True,
) -> Courses:
    """Draw courses on which a share `rate` of the items disagrees, each disagreement a loss with probability `share`.

    The bounds are those of `ProfileCourse`, worked out for all courses together; a test holds the two against each other.
    Reference: McNemar1947.
    """
    state = _State(courses, share)
    information = information_needed(theta, alpha, beta)
    found = np.zeros((courses, 4))
    stopped: list[float] = []
    n = 0
    while len(state.row):
        size = step if available is None else min(step, available - n)
        n += size
        last = n == available
        state.toss(rng.binomial(size, rate, len(state.row)))
        time = n * (n + PRIOR_ITEMS) / (state.disagreements + PRIOR_DISAGREEMENTS) / information
        complete = time >= 1
        full = complete | last
        granted = np.where(full, alpha, alpha * spent_by(np.minimum(time, 1.0)))
        upper = state.alarm_at(np.maximum(granted - state.spent, 0.0))
        state.few(n, theta, _needed(n, state.disagreements, theta, step, alpha, beta))
        lower = np.where(complete, upper - 1, np.minimum(state.lower, upper - 1))
        up, down, rest = state.keep(lower, upper, binding)
        over = complete | (rest < NOTHING_LEFT) | last
        row = state.row
        found[row, 1] += up
        found[row, 2] += down
        left = np.where(over, rest, 0.0)
        found[row, 0] += n * (up + down + left)
        found[row, 3] += left if last else 0.0
        stopped.append(float((up + down + left).sum()) / courses)
        state.go_on(~over)
    return Courses(found[:, 0], found[:, 1], found[:, 2], found[:, 3], np.array(stopped))


def spent_by(time: FloatArray) -> FloatArray:
    """The share of alpha that the spending function of the rule has granted by these times."""
    shape = float(SPENDING.removeprefix("hsd:"))
    shares: FloatArray = np.expm1(-shape * time) / np.expm1(-shape)
    return shares


def _needed(n: int, disagreements: IntArray, theta: float, step: int, alpha: float, beta: float) -> FloatArray:
    """`pass_bound` of many courses."""
    bound = level_needed(alpha, beta) + EXTRA + FEW / (disagreements + 1)
    rates = np.maximum((disagreements + PRIOR_DISAGREEMENTS) / (n + PRIOR_ITEMS), theta)
    return bound - np.minimum(OVERSHOOT * theta * np.sqrt((step - 1) / rates), MOST_OVERSHOOT * bound)


class _State:
    """The courses that go on: row i has column j for base[i] + j losses, under fair coins and under the true share."""

    __slots__ = ("base", "disagreements", "fair", "lower", "row", "share", "spent", "true")

    def __init__(self, courses: int, share: float) -> None:
        self.share = share
        self.row = np.arange(courses)
        self.base, self.disagreements = np.zeros(courses, np.int64), np.zeros(courses, np.int64)
        self.lower, self.spent = np.full(courses, -1, np.int64), np.zeros(courses)
        self.fair, self.true = np.zeros((courses, ROOM)), np.zeros((courses, ROOM))
        self.fair[:, 0] = self.true[:, 0] = 1.0

    def toss(self, coins: IntArray) -> None:
        """So many more disagreements in each course."""
        self.disagreements = self.disagreements + coins
        most = int(coins.max(initial=0))
        used = np.flatnonzero(self.fair.any(axis=0))
        lacking = (int(used[-1]) + 1 if len(used) else 0) + most - self.fair.shape[1]
        if lacking > 0:
            self.fair, self.true = (np.pad(law, ((0, 0), (0, lacking + ROOM))) for law in (self.fair, self.true))
        for k in range(most):
            who = np.flatnonzero(coins > k)
            for law, share in ((self.fair, 0.5), (self.true, self.share)):
                some = law[who]
                some[:, 1:] = (1 - share) * some[:, 1:] + share * some[:, :-1]
                some[:, 0] *= 1 - share
                law[who] = some

    def alarm_at(self, budget: FloatArray) -> IntArray:
        """The smallest numbers of losses whose probability, or more losses, is within the budget; it is spent."""
        tails = np.cumsum(self.fair[:, ::-1], axis=1)[:, ::-1]
        place = np.count_nonzero(tails > budget[:, None], axis=1)
        inside = place < tails.shape[1]
        self.spent = self.spent + np.where(inside, tails[np.arange(len(place)), np.minimum(place, tails.shape[1] - 1)], 0.0)
        upper: IntArray = self.base + place
        return upper

    def few(self, n: int, theta: float, needed: FloatArray) -> None:
        """Move `lower` to the most losses with which Lambda reaches what is needed."""
        for way in (1, -1):
            who = np.arange(len(self.lower))
            while len(who):
                lost = self.lower[who] + max(way, 0)
                there = (lost <= self.disagreements[who]) if way > 0 else (lost >= 0)
                lost, who = lost[there], who[there]
                reached = profiles(n, lost, self.disagreements[who] - lost, theta) >= needed[who]
                who = who[reached] if way > 0 else who[~reached]
                self.lower[who] += way

    def keep(self, lower: IntArray, upper: IntArray, binding: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Stop at the bounds: the shares that alarm, that pass, and that go on."""
        losses = self.base[:, None] + np.arange(self.fair.shape[1])
        above, below = losses >= upper[:, None], losses <= lower[:, None]
        up, down = np.where(above, self.true, 0.0).sum(axis=1), np.where(below, self.true, 0.0).sum(axis=1)
        self.true[above | below] = 0.0
        self.fair[above | below if binding else above] = 0.0
        behind = lower + 1 - self.base
        if binding and int(behind.max(initial=0)) >= ROOM:
            self._move_on(np.maximum(behind, 0))
        return up, down, self.true.sum(axis=1)

    def _move_on(self, by: IntArray) -> None:
        """Columns below the lower bound are empty: the table begins behind them."""
        width = self.fair.shape[1]
        place = np.arange(width) + by[:, None]
        gone = place >= width
        place[gone] = 0
        for name in ("fair", "true"):
            moved = np.take_along_axis(getattr(self, name), place, axis=1)
            moved[gone] = 0.0
            setattr(self, name, moved)
        self.base = self.base + by

    def go_on(self, which: npt.NDArray[np.bool_]) -> None:
        if which.all():
            return
        for name in ("row", "base", "disagreements", "lower", "spent", "fair", "true"):
            setattr(self, name, getattr(self, name)[which])
        used = np.flatnonzero(self.fair.any(axis=0))
        width = (int(used[-1]) + 1 if len(used) else 0) + ROOM
        if width < self.fair.shape[1]:
            self.fair, self.true = self.fair[:, :width].copy(), self.true[:, :width].copy()
