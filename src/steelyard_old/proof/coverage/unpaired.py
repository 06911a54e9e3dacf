"""Claims about intervals of a difference on different items: every pair of counts of up to 50 items, means and tables simulated."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.auc_evidence import auc_evidence
from steelyard_old.estimate.difference_tests import made
from steelyard_old.estimate.named_intervals import INTERVALS
from steelyard_old.estimate.unpaired import by_delta, compare_means, compare_proportions
from steelyard_old.infer.paired.delong import delong_unpaired
from steelyard_old.infer.planning.coverage import binomial_pair_coverage
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.compare import CompareOptions
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import TWO_PAGE, Band, BandText, Claim, Point, Setting, declared, words
from steelyard_old.proof.coverage import means, ranking, tables
from steelyard_old.proof.simulation import Study, at_most_of, runs_of, simulated
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.counts import Counts
from steelyard_old.tally.scores import ScoreTable

ACCURACY = parse("accuracy")
SHARES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
QUICK: tuple[Setting, ...] = ({"n1": 10, "n2": 10}, {"n1": 20, "n2": 20})
FULL: tuple[Setting, ...] = tuple({"n1": a, "n2": b} for a, b in ((10, 10), (20, 20), (30, 30), (50, 50), (10, 20), (10, 50), (20, 50)))

SAID: dict[str, BandText] = {
    "newcombe": (
        "covers 0.955 or more on average, 0.93 at worst for differences up to 0.4, 0.88 for shares near opposite ends",
        Band(low=0.88, mean_low=0.955, mean_high=0.965),
    ),
    "miettinen-nurminen": ("covers 0.955 or more on average, 0.92 at worst", Band(low=0.92, mean_low=0.955, mean_high=0.97)),
    "agresti-caffo": ("covers 0.96 or more on average, 0.915 at worst", Band(low=0.915, mean_low=0.96, mean_high=0.97)),
    "wald": ("covers 0.73 at worst", Band(low=0.73, fails=0.88, mean_high=0.945)),
    "bayes": ("covers 0.95 on average, 0.915 at worst", Band(low=0.915, mean_low=0.945)),
}
LOWER: dict[str, BandText] = {
    "newcombe": ("covers 0.955 on average, 0.865 for shares near opposite ends", Band(low=0.865, fails=0.88, mean_low=0.95)),
    "miettinen-nurminen": ("covers 0.955 on average, 0.88 for shares near opposite ends", Band(low=0.88, fails=0.89, mean_low=0.95)),
    "agresti-caffo": ("covers 0.96 on average, 0.855 for shares near opposite ends", Band(low=0.855, fails=0.88, mean_low=0.955)),
    "wald": ("covers 0.69 at worst", Band(low=0.69, fails=0.86, mean_high=0.955)),
}
OF_MEANS: dict[str, BandText] = {"t": ("covers 0.91 where nearly all scores lie on an end of their range", Band(low=0.905, mean_low=0.935))}
OF_RANGE: dict[str, BandText] = {
    "bounded-welch": ("covers 0.95 or more, with any two numbers of items", Band(low=0.94, mean_low=0.965)),
    "t": ("covers 0.22 with 5 items against 500 of which a few fail", Band(low=0.2, fails=0.5, mean_low=0.4)),
}
OF_TABLES: dict[str, BandText] = {"delta": ("covers 0.94 or more with 200 items on each side", Band(low=0.94, mean_low=0.94))}
OF_CURVES: dict[str, BandText] = {
    "delong-wilson": ("covers 0.945 or more", Band(low=0.94, mean_low=0.95)),
    "delong": ("covers 0.945 or more", Band(low=0.94, mean_low=0.945)),
}


def claims() -> Iterator[Claim]:
    found = compare_proportions((20, 50), (30, 50), ACCURACY, CompareOptions(own=MeasureOptions()), Warnings()).interval
    assert found is not None
    for family, side, said in (("an unpaired difference", "two", SAID), ("a lower bound of an unpaired difference", "lower", LOWER)):
        yield from declared("coverage", family, said, found.method, partial(coverage, side), quick=QUICK, full=FULL, page=TWO_PAGE)
    for study, said, default, laws in (
        (
            Study(family="an unpaired difference of means", draw=two_samples, truth=lambda s: gap(s, means_of), interval=of_means, slow={}),
            OF_MEANS,
            "t",
            MEANS,
        ),
        (
            Study(
                family="an unpaired difference of means of a known range",
                draw=two_samples,
                truth=lambda s: gap(s, means_of),
                interval=of_range,
                slow={},
            ),
            OF_RANGE,
            "bounded-welch",
            RANGES,
        ),
        (
            Study(family="an unpaired difference of macro F1", draw=two_tables, truth=lambda s: 0.0, interval=of_tables, slow={}),
            OF_TABLES,
            "delta",
            TABLES,
        ),
        (
            Study(family="an unpaired difference of AUCs", draw=two_curves, truth=lambda s: 0.0, interval=of_curves, slow={}),
            OF_CURVES,
            "delong-wilson",
            CURVES,
        ),
    ):
        yield from simulated(
            study, said, default, quick=at_most_of(laws[:1], 500), full=runs_of(laws, 1000 if laws is RANGES else 4000), page=TWO_PAGE
        )


def coverage(side: str, method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Every k1 of n1 and k2 of n2, at 49 pairs of true shares."""
    n1, n2 = int(setting["n1"]), int(setting["n2"])
    found = np.array([[ends(method, side, k1, n1, k2, n2) for k2 in range(n2 + 1)] for k1 in range(n1 + 1)])
    laws = np.array([(p1, p2) for p1 in SHARES for p2 in SHARES])
    covered, width = binomial_pair_coverage(found[:, :, 0], found[:, :, 1], laws)
    for (p1, p2), share, wide in zip(laws, covered, width, strict=True):
        yield Point(words({**setting, "p1": float(p1), "p2": float(p2)}), float(share), 0.0, float(wide))


def ends(method: str, side: str, k1: int, n1: int, k2: int, n2: int) -> tuple[float, float]:
    """The interval as it is given to the user: Newcombe's where Wald's has no width."""
    if method == "wald" and k1 in (0, n1) and k2 in (0, n2):
        method = "newcombe"
    if side == "lower":
        return made(INTERVALS[method].proportions)(k1, n1, k2, n2, CompareOptions(own=MeasureOptions(side=side)))[0], 1.0
    # counting the wrong ones instead, or exchanging the systems, turns the interval round: a quarter of the work
    same = [(k1, n1, k2, n2, 1), (n1 - k1, n1, n2 - k2, n2, -1), (k2, n2, k1, n1, -1), (n2 - k2, n2, n1 - k1, n1, 1)]
    *first, sign = min(same)
    low, high = _two_sided(method, *first)
    return (low, high) if sign > 0 else (-high, -low)


@cache
def _two_sided(method: str, k1: int, n1: int, k2: int, n2: int) -> tuple[float, float]:
    return made(INTERVALS[method].proportions)(k1, n1, k2, n2, CompareOptions(own=MeasureOptions()))


# ---- means, tables, curves ------------------------------------------------------------------------------------------------

LAWS: dict[str, tuple[means.Draw, float]] = {
    **means.LAWS,
    "5% failures": (lambda rng, n: np.where(rng.random(n) < 0.05, 0.0, 0.95), 0.9025),
    "1% failures": (lambda rng, n: np.where(rng.random(n) < 0.01, 0.0, 0.95), 0.9405),
    "uniform": (lambda rng, n: rng.random(n), 0.5),
    "Beta(9,1)": (lambda rng, n: rng.beta(9, 1, n), 0.9),
}
SIZES = ((5, 5), (5, 500), (10, 200), (20, 500), (50, 50), (500, 500))
MEANS: tuple[Setting, ...] = tuple(
    {"scores": a, "others": b, "n1": n1, "n2": n2}
    for a, b, n1, n2 in (
        ("Beta(2,6)", "Beta(8,2)", 20, 50),
        ("95% ones", "95% ones", 100, 100),
        ("90% zeros", "Beta(2,6)", 50, 20),
        ("99% ones", "95% ones", 100, 100),
        ("95% ones", "99% ones", 500, 500),
    )
)
RANGES: tuple[Setting, ...] = tuple(
    {"scores": a, "others": b, "n1": n1, "n2": n2}
    for a, b, n1, n2 in (
        ("5% failures", "5% failures", 10, 200),
        ("1% failures", "Beta(9,1)", 20, 500),
        ("Beta(9,1)", "5% failures", 500, 20),
        *(
            (law, law, n1, n2)
            for law in ("5% failures", "1% failures", "uniform", "Beta(9,1)")
            for n1, n2 in SIZES
            if (law, n1) != ("5% failures", 10)
        ),
        *(("Beta(.5,.1)", "5% failures", n1, n2) for n1, n2 in SIZES),
    )
)
TABLES: tuple[Setting, ...] = tuple(
    {"table": law, "n": n} for law, n in (("three classes", 200), ("a rare class", 200), ("ten classes", 500))
)
CURVES: tuple[Setting, ...] = ranking.at((50, 100, 1.0), (30, 30, 1.8), (200, 200, 1.8))


def means_of(law: str) -> float:
    return LAWS[law][1]


def gap(setting: Setting, value: object) -> float:
    return means_of(str(setting["scores"])) - means_of(str(setting["others"]))


def two_samples(setting: Setting, rng: np.random.Generator) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    return LAWS[str(setting["scores"])][0](rng, int(setting["n1"])), LAWS[str(setting["others"])][0](rng, int(setting["n2"]))


def of_means(method: str, sample: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]], seed: int) -> Interval | None:
    """None where neither sample varies."""
    return compare_means(sample[1], sample[0], parse("mean"), CompareOptions(own=MeasureOptions(), interval="t"), Warnings()).interval


def of_range(method: str, sample: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]], seed: int) -> Interval | None:
    """The same where the range was declared."""
    asked = CompareOptions(own=MeasureOptions(), interval=method or None)
    if method == "t" and not max(map(np.ptp, sample)) > 0:
        return None  # t has nothing to say, and the other method is given by name only
    return compare_means(sample[1], sample[0], parse("mean"), asked, Warnings(), bounds=(0.0, 1.0)).interval


def two_tables(setting: Setting, rng: np.random.Generator) -> tuple[Counts, Counts]:
    return tables.draw(setting, rng), tables.draw(setting, rng)


def of_tables(method: str, sample: tuple[Counts, Counts], seed: int) -> Interval | None:
    own = MeasureOptions(interval="delta", absent="zero")
    return by_delta(sample[0], sample[1], parse("macro_f1"), [None, None], CompareOptions(own=own, interval="delta"), Warnings()).interval


def two_curves(setting: Setting, rng: np.random.Generator) -> tuple[ScoreTable, ScoreTable]:
    return ranking.draw(setting, rng), ranking.draw(setting, rng)


def of_curves(method: str, sample: tuple[ScoreTable, ScoreTable], seed: int) -> Interval | None:
    asked = CompareOptions(own=MeasureOptions(), interval=method or None, test="delong")
    fewer = min(min(table.n_positive, table.n_negative) for table in sample)
    return auc_evidence(delong_unpaired(*sample), fewer, sum(t.n for t in sample), parse("auc"), asked, Warnings(), "unpaired").interval
