"""Claims about intervals of one proportion: coverage added up over every outcome, nothing drawn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from steelyard_old.estimate.table_rows import default_method
from steelyard_old.infer.intervals.proportion import METHODS, proportion_interval
from steelyard_old.infer.planning.coverage import binomial_coverage
from steelyard_old.infer.posterior.metrics import proportion_posterior
from steelyard_old.metrics.catalogue import parse
from steelyard_old.proof.claims import LEVEL, Band, BandText, Claim, Point, Setting, declared, words
from steelyard_old.tally.counts import Counts

if TYPE_CHECKING:
    import numpy as np

TRIED = 2000  # true shares: the multiples of 1/2000 between 0 and 1
QUICK = tuple({"n": n} for n in (5, 10, 20, 50, 100))
FULL = tuple({"n": n} for n in (*range(2, 51), 60, 80, 100, 150, 200, 300, 500, 700, 1000, 2000))

TWO_SIDED: dict[str, BandText] = {
    "wilson": (
        "covers 0.95 on average; next to 0 and 1 as little as 0.82 with two items, 0.83 from five on",
        Band(low=0.81, mean_low=0.949, mean_high=0.96),
    ),
    "agresti-coull": (
        "covers 0.95 or more on average; 0.82 at worst with two items, 0.89 from five on",
        Band(low=0.81, mean_low=0.95, mean_high=0.97),
    ),
    "jeffreys": ("covers 0.95 on average, 0.86 at worst", Band(low=0.86, mean_low=0.949, mean_high=0.96)),
    "clopper-pearson": ("never covers less than it says", Band(low=0.95)),
    "mid-p": ("covers 0.95 or more on average, 0.91 at worst", Band(low=0.91, mean_low=0.95, mean_high=0.98)),
    "bayes": ("the equal tails of Jeffreys' prior, ends left open", Band(mean_low=0.85)),
    "hdi": ("the shortest interval of Jeffreys' prior", Band(mean_low=0.9)),
    "wald": ("covers nothing next to 0 and 1", Band(fails=0.05, mean_high=0.95)),
    "percentile": ("covers nothing next to 0 and 1, as Wald", Band(fails=0.05, mean_high=0.95)),
}
ONE_SIDED: dict[str, BandText] = {
    "clopper-pearson": ("never covers less than it says", Band(low=0.95)),
    "wilson": ("covers 0.95 on average, as little as 0.77", Band(low=0.77, fails=0.86, mean_low=0.949)),
    "agresti-coull": ("covers as little as 0.77 with two items, 0.85 from five on", Band(low=0.77, fails=0.93, mean_low=0.95)),
    "jeffreys": ("covers 0.95 on average, and nothing next to the end that it excludes", Band(fails=0.87, mean_low=0.949)),
    "mid-p": ("covers 0.95 or more on average, 0.9 at worst", Band(low=0.9, mean_low=0.949)),
    "wald": ("covers nothing next to one end", Band(fails=0.05, mean_high=0.95)),
    "percentile": ("covers nothing next to one end", Band(fails=0.05, mean_high=0.95)),
}


def claims() -> Iterator[Claim]:
    accuracy = parse("accuracy").proportion(Counts.of(1, 2), None)
    for family, side, said in (
        ("a proportion", "two", TWO_SIDED),
        ("a lower bound of a proportion", "lower", ONE_SIDED),
        ("an upper bound of a proportion", "upper", ONE_SIDED),
    ):
        default = default_method(accuracy, side)
        yield from declared("coverage", family, said, default, partial(coverage, side), quick=QUICK, full=FULL)


def coverage(side: str, method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Every outcome of n items, at two thousand true shares."""
    import numpy as np

    n, said, shares = int(setting["n"]), words(setting), np.arange(1, TRIED) / TRIED
    covered, width = binomial_coverage(lambda k: ends(method, side, k, n), n, shares)
    for share, found, wide in zip(shares, covered, width, strict=True):
        yield Point(f"{said} p={share:g}", float(found), 0.0, float(wide))


def ends(method: str, side: str, k: int, n: int) -> tuple[float, float]:
    if method in METHODS:
        return proportion_interval(k, n, method, LEVEL, side)
    return proportion_posterior(k, n).interval(LEVEL, "hdi" if method == "hdi" else "equal-tailed")
