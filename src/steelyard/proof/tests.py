"""Claims about tests of right or wrong on the same items: false alarms and power, added up over every outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING

from steelyard.infer.coverage import rejected_flips
from steelyard.infer.equivalence import equivalence_of_flips
from steelyard.proof.claims import Band, Claim, Point, Setting, words
from steelyard.proof.trials import ALPHA, POWER, significant
from steelyard.questions import paired_flips
from steelyard.questions.asked import Asked, settle_comparison
from steelyard.questions.settings import settle
from steelyard.tally.joint import Flips

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PAGE = "docs/compare.md"
DRAWS = 10_000  # as many as a comparison draws by itself: with fewer, and one seed, tests find less
SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3)  # of the items on which two systems disagree
ALL_SHARES = (*SHARES, 0.5, 0.75, 1.0)
ALL_UP_TO = 50  # items up to which every share of disagreement is tried
REACH = 2.8  # standard errors that are found four times in five, two-sided

Region = Callable[[int], "npt.NDArray[np.bool_]"]
NEVER = "equals mcnemar-exact: the level is never exceeded"
SIZES: dict[str, tuple[str, Band, Band]] = {  # two-sided, one side
    "mcnemar-midp": ("at most 5%, or a little more where half of the items or more disagree", Band(high=0.065), Band(high=0.06)),
    "mcnemar-exact": ("the level is never exceeded", Band(high=0.05), Band(high=0.05)),
    "mcnemar": ("at most 5%, or a little more where half of the items or more disagree", Band(high=0.065), Band(high=0.06)),
    "bootstrap": (
        "too often with 10 items of which most disagree, else about as often as mcnemar",
        Band(high=0.11, fails=0.1),
        Band(high=0.068),
    ),
    "randomization": (NEVER, Band(high=0.05), Band(high=0.05)),
    "sign-flip": (NEVER, Band(high=0.05), Band(high=0.05)),
}
POWERS: dict[str, tuple[str, Band, Band]] = {
    "mcnemar-midp": ("finds a drop of 2.8 standard errors four times in five", Band(low=0.8), Band(low=0.87)),
    "mcnemar-exact": ("finds less than mcnemar-midp", Band(low=0.76, mean_high=0.8), Band(low=0.84, mean_high=0.88)),
    "mcnemar": ("finds as much as mcnemar-midp, or a little more", Band(low=0.8), Band(low=0.87)),
    "bootstrap": ("finds about as much as mcnemar-midp", Band(low=0.77), Band(low=0.85)),
    "randomization": ("equals mcnemar-exact", Band(low=0.76, mean_high=0.8), Band(low=0.84, mean_high=0.88)),
    "sign-flip": ("equals mcnemar-exact", Band(low=0.76, mean_high=0.8), Band(low=0.84, mean_high=0.88)),
}


def claims() -> Iterator[Claim]:
    yield from _flips("two-sided")
    yield from _flips("less")
    yield from _margin()


def plainly(
    test: str | None = None,
    alternative: str = "two-sided",
    *,
    interval: str | None = None,
    draws: int = DRAWS,
    positive: str | None = None,
    absent: str | None = None,
) -> Asked:
    """The options of a comparison that asks for nothing but its test."""
    return settle_comparison(
        settle(draws=draws, confidence_level=1 - ALPHA, positive=positive, absent=absent),
        interval=interval,
        test=test,
        alternative=alternative,
        margin=None,
        design=None,
        unmatched="error",
        correction="holm",
    )


# ---- the same items ----------------------------------------------------------------------------------------------------------


def _flips(alternative: str) -> Iterator[Claim]:
    default = paired_flips.compare_flips(Flips(8, 1, 1, 0), plainly()).test.name
    family = "right or wrong on the same items" + ("" if alternative == "two-sided" else ", one side")
    for kind, said in (("size", SIZES), ("power", POWERS)):
        for test in paired_flips.TESTS:
            sentence, two, one = said[test]
            dear = test == "bootstrap"
            yield Claim(
                family=family,
                method=test,
                kind=kind,
                nominal=ALPHA if kind == "size" else POWER,
                says=sentence,
                documented=PAGE,
                band=two if alternative == "two-sided" else one,
                quick=tuple({"n": n} for n in ((10, 20) if dear else (20, 50, 100))),
                full=tuple({"n": n} for n in ((10, 20, 30, 50) if dear else (10, 20, 30, 50, 100, 200, 500, 1000))),
                work=partial(flips_found, test, alternative, kind),
                default=test == default,
            )


def flips_found(test: str, alternative: str, kind: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """The share of outcomes, weighted by their chances, on which the comparison has p <= .05."""
    n = int(setting["n"])
    region = flips_region(test, alternative, n)
    for share in ALL_SHARES if n <= ALL_UP_TO else SHARES:
        drop = 0.0 if kind == "size" else REACH * (share / n) ** 0.5
        if drop > 0.9 * share:  # not even if nearly all that disagree are lost
            continue
        found = rejected_flips(region, n, (share + drop) / 2, (share - drop) / 2)
        yield Point(f"{words(setting)} disagree={share:g}" + (f" drop={drop:.3f}" if drop else ""), found)


@cache
def flips_region(test: str | None, alternative: str, n: int) -> Region:
    """For so many disagreements, which numbers of losses the comparison calls a difference."""
    import numpy as np

    asked = plainly(test, alternative, interval="bonett-price")  # a closed form, since no interval is wanted here

    @cache
    def region(d: int) -> npt.NDArray[np.bool_]:
        tables = (Flips(n - d, lost, d - lost, 0) for lost in range(d + 1))
        return np.array([significant(paired_flips.compare_flips(flips, asked).test.p_value) for flips in tables])

    return region


# ---- a margin ----------------------------------------------------------------------------------------------------------------


def _margin() -> Iterator[Claim]:
    """The candidate is called not inferior, where it is worse by the margin exactly."""
    yield Claim(
        family="not inferior by a margin, right or wrong on the same items",
        method="tango-score",
        kind="size",
        nominal=ALPHA,
        says="a candidate that is worse by the margin is called not inferior in about 5% of cases",
        documented=PAGE,
        band=Band(high=0.072),
        quick=tuple({"n": n, "margin": 0.1} for n in (20, 50)),
        full=tuple({"n": n, "margin": margin} for n in (20, 30, 50, 100, 200) for margin in (0.02, 0.05, 0.1)),
        work=not_inferior,
        default=True,
    )


def not_inferior(setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    import numpy as np

    n, margin = int(setting["n"]), float(setting["margin"])

    @cache
    def region(d: int) -> npt.NDArray[np.bool_]:
        return np.array([equivalence_of_flips(d - lost, lost, n, margin).p_lower <= ALPHA for lost in range(d + 1)])

    for share in SHARES if n > ALL_UP_TO else ALL_SHARES:
        if share >= margin:
            yield Point(f"{words(setting)} disagree={share:g}", rejected_flips(region, n, (share + margin) / 2, (share - margin) / 2))
