"""Claims about intervals of a difference in accuracy on the same items: every table of up to 50 items, larger ones simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.paired_right_or_wrong import flips_interval
from steelyard_old.estimate.paired_table import outcome_interval
from steelyard_old.infer.planning.coverage import multinomial_coverage, tables_of
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.compare import CompareOptions
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import TWO_PAGE, Band, BandText, Claim, Point, Setting, declared, words
from steelyard_old.proof.coverage import paired_scores, paired_tables
from steelyard_old.proof.simulation import DRAWS, Study, at_most_of, nothing_yet, runs_of, simulated
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.joint import JointCounts

ACCURACY = parse("accuracy")
DISAGREE = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)  # share of items on which the systems differ
TILTS = (-0.9, -0.5, 0.0, 0.5, 0.9)  # the difference, as a share of the disagreement
EASY = (0.5, 0.8, 0.98)  # of the items on which they agree, the share that both get right
QUICK: tuple[Setting, ...] = ({"n": 10}, {"n": 20})
FULL: tuple[Setting, ...] = tuple({"n": n} for n in (10, 20, 30, 40, 50))
MORE: tuple[Setting, ...] = tuple(
    {"n": n, "disagree": q, "tilt": tilt, "easy": 0.8} for n in (100, 500, 2000) for q in (0.02, 0.1, 0.3) for tilt in (0.0, 0.5)
)
SLOW = {"bayes": 10, "percentile": 4, "bca": 4}
DRAWN = ("percentile", "bca", "delta")

TWO_SIDED: dict[str, BandText] = {
    "tango": ("covers 0.965 or more on average, 0.93 at worst", Band(low=0.93, mean_low=0.965, mean_high=0.99)),
    "newcombe": ("covers 0.97 or more on average, 0.91 at worst", Band(low=0.91, mean_low=0.97, mean_high=0.985)),
    "bonett-price": ("covers 0.975 or more on average, 0.945 at worst", Band(low=0.945, mean_low=0.975, mean_high=0.99)),
    "bayes": ("covers 0.965 on average, 0.88 where nearly all changes go one way", Band(low=0.875, fails=0.89, mean_low=0.96)),
    "wald": ("covers 0.95 on average thanks to Tango where nothing disagrees, 0.885 at worst", Band(low=0.885, fails=0.9, mean_high=0.96)),
    "percentile": (f"covers 0.94 on average, 0.86 at worst; {DRAWS} draws", Band(low=0.86, fails=0.88, mean_low=0.935, mean_high=0.95)),
    "bca": (f"covers 0.94 on average, 0.86 at worst; {DRAWS} draws", Band(low=0.86, fails=0.88, mean_low=0.935, mean_high=0.95)),
    "delta": ("is Wald's interval", Band(low=0.885, fails=0.9, mean_high=0.96)),
}
LOWER: dict[str, BandText] = {
    "tango": ("covers 0.96 or more on average, 0.915 at worst", Band(low=0.915, mean_low=0.96)),
    "newcombe": ("covers 0.86 at worst, where losses are many and gains few", Band(low=0.86, fails=0.88, mean_low=0.97)),
    "bonett-price": ("covers 0.91 at worst", Band(low=0.91, mean_low=0.975)),
    "wald": ("covers 0.79 at worst", Band(low=0.79, fails=0.83)),
}
LARGER: dict[str, BandText] = {
    "tango": ("covers 0.955 on average, 0.945 at worst", Band(low=0.94, mean_low=0.945, mean_high=0.97)),
    "newcombe": ("covers 0.96 on average, 0.945 at worst", Band(low=0.94, mean_low=0.95)),
    "bonett-price": ("covers 0.96 on average, 0.945 at worst", Band(low=0.94, mean_low=0.95)),
    "bayes": ("covers 0.95 on average", Band(low=0.92, mean_low=0.94)),
    "wald": ("covers 0.9 where changes are few and go one way", Band(low=0.9, fails=0.94, mean_high=0.95)),
    "percentile": (f"covers 0.88 where changes are few and go one way; {DRAWS} draws", Band(low=0.865, mean_low=0.93)),
    "bca": (f"covers 0.8 where changes are few and go one way; {DRAWS} draws", Band(low=0.8, fails=0.94, mean_low=0.92)),
    "delta": ("is Wald's interval", Band(low=0.9, fails=0.94, mean_high=0.95)),
}


def claims() -> Iterator[Claim]:
    default = interval("", "two", 30, 12, 5, 3).method
    for family, side, said in (("a paired difference", "two", TWO_SIDED), ("a lower bound of a paired difference", "lower", LOWER)):
        yield from declared("coverage", family, said, default, partial(coverage, side), quick=QUICK, full=FULL, page=TWO_PAGE)
    study = Study(family="a paired difference of many items", draw=draw, truth=truth, interval=of_sample, slow=SLOW)
    yield from simulated(study, LARGER, default, quick=at_most_of(MORE[3:4], 250), full=runs_of(MORE, 4000), page=TWO_PAGE)
    yield from paired_scores.claims()
    yield from paired_tables.claims()


def coverage(side: str, method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Every table of n items, at ninety laws of who is right."""
    return covered(partial(ends, method, side), setting)


def covered(ends_of: Callable[[int, int, int, int], tuple[float, float]], setting: Setting) -> Iterator[Point]:
    tables = tables_of(int(setting["n"]), 4)
    low, high = np.array([ends_of(*map(int, row)) for row in tables]).T
    laws = [(q, tilt, easy) for q in DISAGREE for tilt in TILTS for easy in EASY]
    truths = np.array([cells(*law) for law in laws])
    shares, width = multinomial_coverage(low, high, tables, truths, truths[:, 2] - truths[:, 3])
    for (q, tilt, easy), found, wide in zip(laws, shares, width, strict=True):
        yield Point(words({**setting, "disagree": q, "tilt": tilt, "easy": easy}), float(found), 0.0, float(wide))


def cells(disagree: float, tilt: float, easy: float) -> tuple[float, float, float, float]:
    """The chances of: both right, both wrong, gained, lost."""
    agree = 1 - disagree
    return agree * easy, agree * (1 - easy), disagree * (1 + tilt) / 2, disagree * (1 - tilt) / 2


def ends(method: str, side: str, both: int, neither: int, gained: int, lost: int) -> tuple[float, float]:
    """The interval as it is given to the user. Only Newcombe's asks how many items both systems get right."""
    if method != "newcombe":
        both, neither = both + neither, 0
    if side == "two" and gained < lost:  # exchanging the systems turns the interval round: half of the work
        low, high = _ends(method, side, both, neither, lost, gained)
        return -high, -low
    return _ends(method, side, both, neither, gained, lost)


@cache
def _ends(method: str, side: str, both: int, neither: int, gained: int, lost: int) -> tuple[float, float]:
    found = interval(method, side, both, neither, gained, lost)
    return (-1.0 if found.low is None else found.low), (1.0 if found.high is None else found.high)


def interval(method: str, side: str, both: int, neither: int, gained: int, lost: int, seed: int = 0) -> Interval:
    asked = CompareOptions(own=MeasureOptions(side=side, draws=DRAWS, seed=seed), interval=method or None)
    if method not in DRAWN:
        return flips_interval(both, gained, lost, neither, asked, Warnings())
    joint = JointCounts.flips(both=both, baseline_only=lost, candidate_only=gained, neither=neither)
    return outcome_interval(joint, ACCURACY, nothing_yet(joint.n, 0.0), asked, Warnings())


def draw(setting: Setting, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    law = cells(float(setting["disagree"]), float(setting["tilt"]), float(setting["easy"]))
    return rng.multinomial(int(setting["n"]), law)


def truth(setting: Setting) -> float:
    return float(setting["disagree"]) * float(setting["tilt"])


def of_sample(method: str, table: npt.NDArray[np.int64], seed: int) -> Interval:
    both, neither, gained, lost = map(int, table)
    return interval(method, "two", both, neither, gained, lost, seed)
