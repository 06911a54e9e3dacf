"""Claims about plans: the power and the assurance that a plan promises are there at the number of items it names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from steelyard_old.infer.paired.equivalence import equivalence_of_flips
from steelyard_old.infer.planning.coverage import rejected_flips, rejected_pairs
from steelyard_old.infer.posterior.metrics import proportion_posterior
from steelyard_old.proof.claims import ALPHA, LEVEL, POWER, Band, BandText, Claim, Point, Setting, declared, words
from steelyard_old.proof.errors.guards import below
from steelyard_old.proof.errors.tests import flips_region
from steelyard_old.questions.plan.detect import plan_detect
from steelyard_old.questions.plan.estimate import plan_estimate
from steelyard_old.results.plan import Plan

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PAGE = "docs/plan.md"
DROPS = tuple({"discordance": psi, "theta": theta} for psi, theta in ((0.06, 0.03), (0.2, 0.08)))
MORE_DROPS = tuple({"discordance": psi, "theta": theta} for psi, theta in ((0.04, 0.02), (0.06, 0.02), (0.1, 0.04), (0.3, 0.05)))
APART = tuple({"expected": p, "theta": theta} for p, theta in ((0.8, 0.2), (0.5, 0.2)))
MORE_APART = tuple({"expected": p, "theta": theta} for p, theta in ((0.9, 0.1), (0.8, 0.1)))
WIDTHS = tuple({"expected": p, "width": w} for p, w in ((0.9, 0.1), (0.8, 0.2)))
MORE_WIDTHS = ({"expected": 0.95, "width": 0.05},)
BARS = tuple({"expected": p, "threshold": t} for p, t in ((0.95, 0.9), (0.8, 0.7)))
MORE_BARS = tuple({"expected": p, "threshold": t} for p, t in ((0.99, 0.97), (0.9, 0.85), (0.6, 0.5)))


def claims() -> Iterator[Claim]:
    at_least = Band(low=POWER, high=POWER + 0.03)
    found = ("the drop is found with the power that was planned for", at_least)
    yield from _of("a plan to find a drop, the same items", "mcnemar", found, DROPS, MORE_DROPS, found_by_mcnemar)
    ruled = ("the drop is ruled out with the power that was planned for, if nothing changed", at_least)
    yield from _of("a plan to rule a drop out, the same items", "tango", ruled, DROPS, MORE_DROPS, ruled_out)
    near = ("near the power planned for", Band(low=0.77))
    yield from _of("a plan to find a drop, different items", "normal formula", near, APART, MORE_APART, found_apart)
    enough = "so many labels are enough with the assurance that was asked for"
    yield from _of("a plan for a width", "bayes", (enough, Band(low=POWER)), WIDTHS, MORE_WIDTHS, narrow_enough)
    yield from _of("a plan for a threshold", "bayes", (enough, Band(low=POWER, high=0.9)), BARS, MORE_BARS, clears)


def _of(
    family: str,
    method: str,
    said: BandText,
    quick: tuple[Setting, ...],
    more: tuple[Setting, ...],
    work: Callable[[str, Setting, np.random.Generator], Iterator[Point]],
) -> Iterator[Claim]:
    yield from declared("power", family, {method: said}, method, work, quick=quick, full=(*quick, *more), page=PAGE)


def _n(plan: Plan) -> int:
    assert plan.n is not None  # a plan without a number is an error, never None
    return plan.n


# ---- to detect -----------------------------------------------------------------------------------------------------------------


def found_by_mcnemar(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Every outcome at the planned n, judged by the test that a guard takes."""
    psi, theta = float(setting["discordance"]), float(setting["theta"])
    n = _n(plan_detect(discordance=psi, theta=theta))
    yield Point(f"{words(setting)} n={n}", rejected_flips(flips_region(None, "less", n), n, (psi + theta) / 2, (psi - theta) / 2))


def ruled_out(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    import numpy as np

    psi, theta = float(setting["discordance"]), float(setting["theta"])
    n = _n(plan_detect(discordance=psi, theta=theta, goal="rule-out"))

    @cache
    def region(d: int) -> npt.NDArray[np.bool_]:
        return np.array([equivalence_of_flips(d - lost, lost, n, theta).p_lower <= ALPHA for lost in range(d + 1)])

    yield Point(f"{words(setting)} n={n}", rejected_flips(region, n, psi / 2, psi / 2))


def found_apart(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Two binomial counts at the planned n, judged by the guard on a bare number without a declared sigma."""
    expected, theta = float(setting["expected"]), float(setting["theta"])
    n = _n(plan_detect(expected=expected, theta=theta))
    yield Point(f"{words(setting)} n={n}", rejected_pairs(below(n, None), expected, expected - theta))


# ---- to estimate -----------------------------------------------------------------------------------------------------------------


def narrow_enough(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """P(the interval is at most so wide), over every number of right answers."""
    expected, width = float(setting["expected"]), float(setting["width"])
    n = _n(plan_estimate(expected=expected, width=width, assurance=POWER))
    yield _enough(f"{words(setting)} n={n}", n, expected, lambda low, high: high - low <= width, "equal-tailed")


def clears(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """P(the lower bound is not below the threshold), over every number of right answers."""
    expected, threshold = float(setting["expected"]), float(setting["threshold"])
    n = _n(plan_estimate(expected=expected, threshold=threshold, assurance=POWER))
    yield _enough(f"{words(setting)} n={n}", n, expected, lambda low, high: low >= threshold, "lower")


def _enough(where: str, n: int, expected: float, good: Callable[[float, float], bool], kind: str) -> Point:
    import numpy as np

    ends = (proportion_posterior(k, n).interval(LEVEL, kind) for k in range(n + 1))
    return Point(where, rejected_pairs(np.array([[good(low, high)] for low, high in ends]), expected, 0.0))  # beside one item-less sample
