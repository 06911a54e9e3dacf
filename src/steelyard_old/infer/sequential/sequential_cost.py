"""What a sequential McNemar test will cost and decide: mean items and the shares of runs that end in each way."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from steelyard_old.did_you_mean import either
from steelyard_old.errors import UsageError
from steelyard_old.infer.sequential.profile_mcnemar import (
    EXTRA,
    FEW,
    MOST_OVERSHOOT,
    OVERSHOOT,
    SPENDING,
    check_rates,
    information_needed,
    level_needed,
)
from steelyard_old.infer.sequential.sequential_binomial import LossDistribution
from steelyard_old.infer.sequential.sequential_mcnemar import (
    ALPHA_SPENDING,
    BETA_SPENDING,
    PRIOR_DISAGREEMENTS,
    PRIOR_ITEMS,
    BoundsPath,
    check_theta,
    information_for,
    items_at_most,
)
from steelyard_old.infer.sequential.spending import design
from steelyard_old.late_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
MANY_DISAGREEMENTS, MOST_DISAGREEMENTS = 4000, 3e6  # from here on fewer courses are drawn; from here on none
LOOKS = 1000  # looks of the longest run: more are taken together where only the cost is asked for
NOTHING_LEFT = 1e-12  # of the runs still going: a course ends
LITTLE_LEFT = 1e-7  # the same, where many courses are followed at once
ROOM = 32  # columns by which the table of losses grows, and by which it is moved on
ROUNDING = 1e-6  # of the runs: more have not been followed to their end
SHARES = (0.9, 0.999)  # of the runs that have ended by the numbers of items that are told


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatingCharacteristics:
    """What a sequential design costs and decides: mean items, and the shares of runs that end in each way.

    `items_error` and `regression_error` are Monte Carlo standard errors: the courses of n and D are drawn, what the
    losses do along each is exact. By `items_90` items nine runs of ten have ended, by `at_most` 999 of 1,000.
    """

    items: float
    items_error: float
    regression: float
    regression_error: float
    passed: float
    exhausted: float
    items_90: int
    at_most: int
    paths: int


@lru_cache(maxsize=256)
def expected_items(
    theta: float,
    discordance: float,
    drop: float,
    alpha: float = 0.05,
    beta: float = 0.2,
    *,
    rule: str = "profile-mcnemar",
    looks: int = 20,
    binding: bool = True,
    batch: int = 32,
    available: int | None = None,
    paths: int = 500,
    seed: int = 0,
    every_look: bool = False,
) -> OperatingCharacteristics:
    """Mean items and decisions of a sequential McNemar test when the candidate truly lost `drop`.

    rule: one of FOLLOWED; mcnemar has a number of `looks`. `discordance` is the share of items on which two healthy runs
    disagree; a drop adds losses to it, an improvement (a negative drop) gains. Formula: the mean over drawn courses of D of the
    exact law of the losses along each, which is binomial with share (discordance / 2 + drop) / (discordance + drop). Every
    `batch` items are looked at (or every thousandth part of the longest run, if that is more, unless `every_look`);
    `available` items are all there are. Undefined: discordance + |drop| outside 0..1. Reference: McNemar1947.

    >>> healthy, broken = (expected_items(0.02, 0.05, drop, paths=200) for drop in (0, 0.02))
    >>> round(healthy.items, -1), round(broken.items, -1), round(broken.regression, 1)
    (390.0, 720.0, 0.8)
    """
    check_theta(theta)
    rate = discordance + abs(drop)
    if not (discordance >= 0 and rate <= 1):
        raise UsageError(
            f"discordance and |drop| must be shares that add up to at most 1, not {discordance!r} and {drop!r}.",
            got=f"discordance {discordance!r} and drop {drop!r}",
            need="shares of the items, together at most 1",
        )
    if min(batch, paths, 1 if available is None else available) < 1 or paths < 2:
        raise UsageError(
            f"batch, available and paths must be whole numbers from 1, not {batch!r}, {available!r} and {paths!r}.",
            got=f"batch {batch!r}, available {available!r}, paths {paths!r}",
            need="whole numbers from 1",
        )
    share = (discordance / 2 + max(drop, 0.0)) / rate if rate else 0.5  # nothing ever disagrees: no coin is tossed
    if rule not in FOLLOWED:
        raise UsageError(f"rule must be {either(tuple(FOLLOWED))}, not {rule!r}.", got=f"the rule {rule!r}", need=either(tuple(FOLLOWED)))
    followed = FOLLOWED[rule](theta, alpha, beta, looks, binding, batch)
    longest = items_at_most(followed.information, rate, batch, 0.001)
    courses, step = _effort(longest, rate, batch, paths)
    step = batch if every_look else step
    rng = np.random.Generator(np.random.PCG64(seed))
    found = followed.along(rate, share, step, courses, rng, available)
    by = np.cumsum(found.stopped)
    items_90, at_most = (step * (1 + int(np.searchsorted(by, part - ROUNDING))) for part in SHARES)
    ends = np.column_stack([found.items, found.regression, found.passed, found.exhausted])
    mean, error = ends.mean(axis=0), ends.std(axis=0, ddof=1) / math.sqrt(courses)
    return OperatingCharacteristics(
        items=float(mean[0]),
        items_error=float(error[0]),
        regression=float(mean[1]),
        regression_error=float(error[1]),
        passed=float(mean[2]),
        exhausted=float(mean[3]),
        items_90=items_90 if available is None else min(items_90, available),
        at_most=at_most if available is None else min(at_most, available),
        paths=courses,
    )


@dataclass(frozen=True, slots=True)
class FollowedRule:
    """The information that a rule needs, and how its courses end, given (rate, share, step, courses, rng, available)."""

    information: float
    along: Callable[[float, float, int, int, np.random.Generator, int | None], PathEnds]


def _planned_looks(theta: float, alpha: float, beta: float, looks: int, binding: bool, batch: int) -> FollowedRule:
    boundaries = design(looks, alpha, beta, ALPHA_SPENDING, BETA_SPENDING, binding)
    information = information_for(theta, boundaries)

    def along(rate: float, share: float, step: int, courses: int, rng: np.random.Generator, available: int | None) -> PathEnds:
        return _one_by_one([BoundsPath(boundaries, information) for _ in range(courses)], rng, rate, share, step, available)

    return FollowedRule(information, along)


def _every_batch(theta: float, alpha: float, beta: float, looks: int, binding: bool, batch: int) -> FollowedRule:
    check_rates(alpha, beta, batch)

    def along(rate: float, share: float, step: int, courses: int, rng: np.random.Generator, available: int | None) -> PathEnds:
        return along_courses(
            theta, alpha, beta, rate=rate, share=share, step=step, courses=courses, rng=rng, available=available, binding=binding
        )

    return FollowedRule(information_needed(theta, alpha, beta), along)


# The stopping rules that see no more than counts, by name, from (theta, alpha, beta, looks, binding, batch).
FOLLOWED: dict[str, Callable[[float, float, float, int, bool, int], FollowedRule]] = {
    "profile-mcnemar": _every_batch,
    "mcnemar": _planned_looks,
}


def _one_by_one(
    courses: list[BoundsPath], rng: np.random.Generator, rate: float, share: float, step: int, available: int | None
) -> PathEnds:
    """Each course by itself."""
    drawn = [_along(course, rng, rate, share, step, available) for course in courses]
    stopped = np.zeros(max(len(one.stopped) for one in drawn))
    for one in drawn:
        stopped[: len(one.stopped)] += np.array(one.stopped) / len(drawn)
    ends = np.array([one.end for one in drawn])
    return PathEnds(ends[:, 0], ends[:, 1], ends[:, 2], ends[:, 3], stopped)


def _effort(longest: int, rate: float, batch: int, paths: int) -> tuple[int, int]:
    """How many courses to draw, and how many items to step by.

    The more disagreements, the less the courses differ and the more each costs; batches that are a thousandth of the
    longest run are as good as smaller ones.
    """
    disagreements = longest * rate
    if disagreements > MOST_DISAGREEMENTS:
        raise UsageError(
            f"Too many items to foresee: about {disagreements:.2g} disagreements among {longest:.2g} items, at most "
            f"{MOST_DISAGREEMENTS:.0e} are possible.",
            got=f"about {disagreements:.2g} disagreements among {longest:.2g} items",
            need=f"at most {MOST_DISAGREEMENTS:.0e}",
            hint="take a larger theta",
        )
    courses = min(paths, max(4, math.ceil(paths * MANY_DISAGREEMENTS / max(1.0, disagreements))))
    return courses, batch * max(1, longest // (LOOKS * batch))


@dataclass(frozen=True, slots=True)
class _PathEnd:
    """One course: mean items at the stop and the shares of regression, pass and exhausted; the share that stops at each look."""

    end: tuple[float, float, float, float]
    stopped: list[float]


def _along(course: BoundsPath, rng: np.random.Generator, rate: float, share: float, batch: int, available: int | None) -> _PathEnd:
    """One drawn course of disagreements, with the exact law of the losses along it."""
    law = LossDistribution()
    n = disagreements = tossed = 0
    items = up = down = 0.0
    stopped: list[float] = []
    while True:
        size = batch if available is None else min(batch, available - n)
        n += size
        disagreements += int(rng.binomial(size, rate))
        look = course.look(n, disagreements, last=n == available)
        if look is None:
            stopped.append(0.0)
            continue
        law.toss(disagreements - tossed, share)
        tossed = disagreements
        alarm, give_up = law.at_least(look.upper), law.at_most(look.lower)
        up, down, items = up + alarm, down + give_up, items + n * (alarm + give_up)
        law.keep(look.lower + 1, look.upper - 1)
        rest = law.total()
        ended = n == available or look.complete or rest < NOTHING_LEFT
        stopped.append(alarm + give_up + (rest if ended else 0.0))
        if ended:
            return _PathEnd((items + n * rest, up, down, rest if n == available else 0.0), stopped)


# ---- many courses of the profile-likelihood test at once -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PathEnds:
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
) -> PathEnds:
    """Draw courses on which a share `rate` of the items disagrees, each disagreement a loss with probability `share`.

    The bounds are those of `ProfileBoundsPath`, worked out for all courses together; a test holds the two against each other.
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
        over = complete | (rest < LITTLE_LEFT) | last
        row = state.row
        found[row, 1] += up
        found[row, 2] += down
        left = np.where(over, rest, 0.0)
        found[row, 0] += n * (up + down + left)
        found[row, 3] += left if last else 0.0
        stopped.append(float((up + down + left).sum()) / courses)
        state.go_on(~over)
    return PathEnds(found[:, 0], found[:, 1], found[:, 2], found[:, 3], np.array(stopped))


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
