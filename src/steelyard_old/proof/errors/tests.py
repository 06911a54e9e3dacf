"""Claims about tests of right or wrong on the same items: false alarms and power, added up over every outcome."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING

from steelyard_old.estimate import paired_right_or_wrong as paired_flips
from steelyard_old.infer.paired.equivalence import equivalence_of_flips
from steelyard_old.infer.planning.coverage import rejected_flips
from steelyard_old.options.compare import CompareOptions, settle_comparison
from steelyard_old.options.measure import settle
from steelyard_old.proof.claims import ALPHA, TWO_PAGE, Band, BandText, Claim, Point, Setting, declared, words
from steelyard_old.proof.trials import significant
from steelyard_old.results.base import Warnings
from steelyard_old.tally.joint import Flips

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PAGE = TWO_PAGE
DRAWS = 10_000  # as many as a comparison draws by itself: with fewer, and one seed, tests find less
SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3)  # of the items on which two systems disagree
MOST_SHARES = (0.5, 0.75, 1.0)
ALL_UP_TO = 50  # items up to which every share of disagreement is tried
REACH = 2.8  # standard errors that are found four times in five, two-sided

Region = Callable[[int], "npt.NDArray[np.bool_]"]
NEVER = "equals mcnemar-exact: the level is never exceeded"
MOST = "at most 5%, or a little more where half of the items or more disagree"
SAID: dict[tuple[str, str], dict[str, BandText]] = {
    ("two-sided", "size"): {
        "mcnemar-midp": (MOST, Band(high=0.065)),
        "mcnemar-exact": ("the level is never exceeded", Band(high=0.05)),
        "mcnemar": (MOST, Band(high=0.065)),
        "bootstrap": ("too often with 10 items of which most disagree, else about as often as mcnemar", Band(high=0.11, fails=0.1)),
        "randomization": (NEVER, Band(high=0.05)),
        "sign-flip": (NEVER, Band(high=0.05)),
    },
    ("less", "size"): {
        "mcnemar-midp": (MOST, Band(high=0.06)),
        "mcnemar-exact": ("the level is never exceeded", Band(high=0.05)),
        "mcnemar": (MOST, Band(high=0.06)),
        "bootstrap": ("at most 7%, with 10 items of which most disagree", Band(high=0.068)),
        "randomization": (NEVER, Band(high=0.05)),
        "sign-flip": (NEVER, Band(high=0.05)),
    },
    ("two-sided", "power"): {
        "mcnemar-midp": ("finds a drop of 2.8 standard errors four times in five", Band(low=0.8)),
        "mcnemar-exact": ("finds less than mcnemar-midp", Band(low=0.76, mean_high=0.82)),
        "mcnemar": ("finds as much as mcnemar-midp, or a little more", Band(low=0.8)),
        "bootstrap": ("finds about as much as mcnemar-midp", Band(low=0.77)),
        "randomization": ("equals mcnemar-exact", Band(low=0.76, mean_high=0.82)),
        "sign-flip": ("equals mcnemar-exact", Band(low=0.76, mean_high=0.82)),
    },
    ("less", "power"): {
        "mcnemar-midp": ("finds a drop of 2.8 standard errors in seven of eight cases", Band(low=0.87)),
        "mcnemar-exact": ("finds less than mcnemar-midp", Band(low=0.84, mean_high=0.89)),
        "mcnemar": ("finds as much as mcnemar-midp, or a little more", Band(low=0.87)),
        "bootstrap": ("finds about as much as mcnemar-midp", Band(low=0.85)),
        "randomization": ("equals mcnemar-exact", Band(low=0.84, mean_high=0.89)),
        "sign-flip": ("equals mcnemar-exact", Band(low=0.84, mean_high=0.89)),
    },
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
) -> CompareOptions:
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
    default = paired_flips.compare_flips(Flips(8, 1, 1, 0), plainly(), Warnings()).test.name
    family = "right or wrong on the same items" + ("" if alternative == "two-sided" else ", one side")
    for kind in ("size", "power"):
        said = SAID[alternative, kind]
        quick, full = (_sizes(kind, sizes) for sizes in ((10, 20, 50), (10, 20, 30, 50, 100, 200, 500, 1000)))
        yield from declared(kind, family, said, default, partial(flips_found, alternative, kind), quick=quick, full=full, page=PAGE)


def _sizes(kind: str, sizes: tuple[int, ...]) -> tuple[Setting, ...]:
    """So many items of which few disagree and, with few items, of which most do; without those that leave no room for the drop."""
    few: list[Setting] = [{"n": n} for n in sizes]
    most: list[Setting] = [{"n": n, "disagree": "half or more"} for n in sizes if n <= ALL_UP_TO]
    return tuple(setting for setting in (*few, *most) if any(laws_of(kind, setting)))


def laws_of(kind: str, setting: Setting) -> Iterator[tuple[float, float]]:
    """(share of items that disagree, drop) of a setting."""
    n = int(setting["n"])
    for share in MOST_SHARES if "disagree" in setting else SHARES:
        drop = 0.0 if kind == "size" else REACH * (share / n) ** 0.5
        if drop <= 0.9 * share:  # else not even if nearly all that disagree are lost
            yield share, drop


def flips_found(alternative: str, kind: str, test: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """The share of outcomes, weighted by their chances, on which the comparison has p <= .05."""
    n = int(setting["n"])
    region = flips_region(test, alternative, n)
    for share, drop in laws_of(kind, setting):
        found = rejected_flips(region, n, (share + drop) / 2, (share - drop) / 2)
        yield Point(f"n={n} disagree={share:g}" + (f" drop={drop:.3f}" if drop else ""), found)


@cache
def flips_region(test: str | None, alternative: str, n: int) -> Region:
    """For so many disagreements, which numbers of losses the comparison calls a difference."""
    import numpy as np

    asked = plainly(test, alternative, interval="bonett-price")  # a closed form, since no interval is wanted here

    def calls(d: int, lost: int) -> bool:
        return significant(paired_flips.compare_flips(Flips(n - d, lost, d - lost, 0), asked, Warnings()).test.p_value)

    @cache
    def region(d: int) -> npt.NDArray[np.bool_]:
        """Every test here calls more losses if it calls fewer: the first call of the upper half is searched, the lower one mirrors it."""
        first = bisect_left(range(d + 1), True, lo=(d + 1) // 2, key=lambda lost: calls(d, lost))
        losses = np.arange(d + 1)
        return (losses >= first) | ((alternative == "two-sided") & (losses <= d - first))

    return region


# ---- a margin ----------------------------------------------------------------------------------------------------------------


def _margin() -> Iterator[Claim]:
    """The candidate is called not inferior, where it is worse by the margin exactly."""
    yield from declared(
        "size",
        "not inferior by a margin, right or wrong on the same items",
        {"tango-score": ("a candidate that is worse by the margin is called not inferior in about 5% of cases", Band(high=0.072))},
        "tango-score",
        not_inferior,
        quick=tuple({"n": n, "margin": 0.1} for n in (20, 50)),
        full=tuple({"n": n, "margin": margin} for n in (20, 30, 50, 100, 200) for margin in (0.02, 0.05, 0.1)),
        page=PAGE,
    )


def not_inferior(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    import numpy as np

    n, margin = int(setting["n"]), float(setting["margin"])

    @cache
    def region(d: int) -> npt.NDArray[np.bool_]:
        return np.array([equivalence_of_flips(d - lost, lost, n, margin).p_lower <= ALPHA for lost in range(d + 1)])

    for share in SHARES if n > ALL_UP_TO else (*SHARES, *MOST_SHARES):
        if share >= margin:
            yield Point(f"{words(setting)} disagree={share:g}", rejected_flips(region, n, (share + margin) / 2, (share - margin) / 2))
