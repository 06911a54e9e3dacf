"""What a sequential McNemar test will cost and decide: mean items and the shares of runs that end in each way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from steelyard.errors import UsageError
from steelyard.infer.sequential.profile_courses import Courses, along_courses
from steelyard.infer.sequential.profile_mcnemar import check_rates, information_needed
from steelyard.infer.sequential.sequential_binomial import Law
from steelyard.infer.sequential.sequential_mcnemar import ALPHA_SPENDING, BETA_SPENDING, Course, check_theta, information_for, items_at_most
from steelyard.infer.sequential.spending import design

MANY_DISAGREEMENTS, MOST_DISAGREEMENTS = 4000, 3e6  # from here on fewer courses are drawn; from here on none
LOOKS = 1000  # looks of the longest run: more are taken together where only the cost is asked for
NOTHING_LEFT = 1e-12  # of the runs still going: a course ends
ROUNDING = 1e-6  # of the runs: more have not been followed to their end
SHARES = (0.9, 0.999)  # of the runs that have ended by the numbers of items that are told


@dataclass(frozen=True, slots=True, kw_only=True)
class Operating:
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
) -> Operating:
    """Mean items and decisions of a sequential McNemar test when the candidate truly lost `drop`.

    rule: profile-mcnemar, or mcnemar with its number of `looks`. `discordance` is the share of items on which two healthy runs
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
            "cannot foresee the items", got=f"discordance {discordance!r} and drop {drop!r}", need="shares of the items, together at most 1"
        )
    if min(batch, paths, 1 if available is None else available) < 1 or paths < 2:
        raise UsageError(
            "cannot foresee the items", got=f"batch {batch!r}, available {available!r}, paths {paths!r}", need="whole numbers from 1"
        )
    share = (discordance / 2 + max(drop, 0.0)) / rate if rate else 0.5  # nothing ever disagrees: no coin is tossed
    if rule == "mcnemar":
        boundaries = design(looks, alpha, beta, ALPHA_SPENDING, BETA_SPENDING, binding)
        information = information_for(theta, boundaries)
    elif rule == "profile-mcnemar":
        check_rates(alpha, beta, batch)
        information = information_needed(theta, alpha, beta)
    else:
        raise UsageError("cannot foresee the items", got=f"the rule {rule!r}", need="profile-mcnemar or mcnemar")
    longest = items_at_most(information, rate, batch, 0.001)
    courses, step = _effort(longest, rate, batch, paths)
    step = batch if every_look else step
    rng = np.random.Generator(np.random.PCG64(seed))
    if rule == "mcnemar":
        found = _one_by_one([Course(boundaries, information) for _ in range(courses)], rng, rate, share, step, available)
    else:
        found = along_courses(
            theta, alpha, beta, rate=rate, share=share, step=step, courses=courses, rng=rng, available=available, binding=binding
        )
    by = np.cumsum(found.stopped)
    items_90, at_most = (step * (1 + int(np.searchsorted(by, part - ROUNDING))) for part in SHARES)
    ends = np.column_stack([found.items, found.regression, found.passed, found.exhausted])
    mean, error = ends.mean(axis=0), ends.std(axis=0, ddof=1) / math.sqrt(courses)
    return Operating(
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


def _one_by_one(courses: list[Course], rng: np.random.Generator, rate: float, share: float, step: int, available: int | None) -> Courses:
    """Each course by itself."""
    drawn = [_along(course, rng, rate, share, step, available) for course in courses]
    stopped = np.zeros(max(len(one.stopped) for one in drawn))
    for one in drawn:
        stopped[: len(one.stopped)] += np.array(one.stopped) / len(drawn)
    ends = np.array([one.end for one in drawn])
    return Courses(ends[:, 0], ends[:, 1], ends[:, 2], ends[:, 3], stopped)


def _effort(longest: int, rate: float, batch: int, paths: int) -> tuple[int, int]:
    """How many courses to draw, and how many items to step by.

    The more disagreements, the less the courses differ and the more each costs; batches that are a thousandth of the
    longest run are as good as smaller ones.
    """
    disagreements = longest * rate
    if disagreements > MOST_DISAGREEMENTS:
        raise UsageError(
            "cannot foresee the items of a sequential test",
            got=f"about {disagreements:.2g} disagreements among {longest:.2g} items",
            need=f"at most {MOST_DISAGREEMENTS:.0e}",
            hint="a larger theta",
        )
    courses = min(paths, max(4, math.ceil(paths * MANY_DISAGREEMENTS / max(1.0, disagreements))))
    return courses, batch * max(1, longest // (LOOKS * batch))


@dataclass(frozen=True, slots=True)
class _Along:
    """One course: mean items at the stop and the shares of regression, pass and exhausted; the share that stops at each look."""

    end: tuple[float, float, float, float]
    stopped: list[float]


def _along(course: Course, rng: np.random.Generator, rate: float, share: float, batch: int, available: int | None) -> _Along:
    """One drawn course of disagreements, with the exact law of the losses along it."""
    law = Law()
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
            return _Along((items + n * rest, up, down, rest if n == available else 0.0), stopped)
