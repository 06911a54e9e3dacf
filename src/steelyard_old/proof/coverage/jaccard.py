"""Claims about intervals of F1: coverage added up over every (TP, FP + FN, TN), through the Jaccard index or by drawing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from steelyard_old.estimate.table_rows import default_method, table_row
from steelyard_old.infer.planning.coverage import multinomial_coverage, tables_of
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import Band, BandText, Claim, Point, Setting, declared, words
from steelyard_old.proof.simulation import DRAWS
from steelyard_old.results.base import Warnings
from steelyard_old.tally.counts import Counts, TableTally

F1 = parse("f1")
PREVALENCES = (0.5, 0.1, 0.02)
QUALITIES = ((0.8, 0.8), (0.95, 0.95), (0.6, 0.9), (0.99, 0.99))  # precision and recall
QUICK: tuple[Setting, ...] = ({"n": 20},)
FULL: tuple[Setting, ...] = tuple({"n": n} for n in (5, 10, 20, 30, 40, 50))

TWO_SIDED: dict[str, BandText] = {
    "wilson": ("covers 0.955 on average, 0.9 at worst", Band(low=0.9, mean_low=0.95, mean_high=0.96)),
    "agresti-coull": ("covers 0.97 on average, 0.91 at worst", Band(low=0.905, mean_low=0.965, mean_high=0.975)),
    "jeffreys": ("covers 0.965 on average, 0.91 at worst", Band(low=0.905, mean_low=0.96, mean_high=0.97)),
    "clopper-pearson": ("never covers less than it says", Band(low=0.95)),
    "mid-p": ("covers 0.98 on average, 0.945 at worst", Band(low=0.945, mean_low=0.975, mean_high=0.985)),
    "bayes": (
        "covers 0.95 on average, 0.85 next to a perfect score, which equal tails leave out",
        Band(low=0.84, fails=0.9, mean_low=0.94),
    ),
    "hdi": ("covers as little as 0.67 with few items that count", Band(low=0.67, fails=0.75, mean_low=0.92)),
    "bca": (f"covers 0.91 at worst, thanks to Wilson where all draws agree; {DRAWS} draws", Band(low=0.905, mean_low=0.965)),
    "percentile": (f"covers 0.91 at worst, thanks to Wilson where all draws agree; {DRAWS} draws", Band(low=0.905, mean_low=0.96)),
    "delta": ("covers 0.89 at worst, thanks to Wilson where there is no spread", Band(low=0.89, fails=0.9, mean_low=0.96)),
}
LOWER: dict[str, BandText] = {
    "clopper-pearson": ("never covers less than it says", Band(low=0.95)),
    "wilson": ("covers 0.94 at worst", Band(low=0.94, mean_low=0.98)),
    "agresti-coull": ("covers 0.945 at worst", Band(low=0.945, mean_low=0.98)),
    "jeffreys": ("covers 0.91 at worst", Band(low=0.91, mean_low=0.98)),
    "mid-p": ("covers 0.945 at worst", Band(low=0.945, mean_low=0.98)),
    "bayes": ("covers 0.955 at worst", Band(low=0.955, mean_low=0.985)),
    "bca": (f"covers 0.94 at worst; {DRAWS} draws", Band(low=0.94, mean_low=0.985)),
    "percentile": (f"covers 0.91 at worst; {DRAWS} draws", Band(low=0.91, mean_low=0.975)),
    "delta": ("covers as little as 0.875", Band(low=0.875, fails=0.92, mean_low=0.97)),
}
UPPER: dict[str, BandText] = {
    "clopper-pearson": ("never covers less than it says", Band(low=0.95)),
    "wilson": ("covers as little as 0.87", Band(low=0.87, fails=0.88, mean_low=0.935)),
    "agresti-coull": ("covers as little as 0.885", Band(low=0.885, fails=0.9, mean_low=0.94)),
    "jeffreys": ("covers as little as 0.885", Band(low=0.885, fails=0.9, mean_low=0.94)),
    "mid-p": ("covers 0.91 at worst", Band(low=0.905, mean_low=0.96)),
    "bayes": ("covers nothing next to a perfect score, which it always excludes", Band(fails=0.4, mean_low=0.75)),
    "bca": (f"covers 0.91 at worst; {DRAWS} draws", Band(low=0.905, mean_low=0.96)),
    "percentile": (f"covers 0.91 at worst; {DRAWS} draws", Band(low=0.905, mean_low=0.96)),
    "delta": ("covers 0.91 at worst", Band(low=0.905, mean_low=0.965)),
}


def claims() -> Iterator[Claim]:
    proportion = F1.proportion(table(1, 1, 2), 1)
    for family, side, said in (
        ("F1 of one class", "two", TWO_SIDED),
        ("a lower bound of F1", "lower", LOWER),
        ("an upper bound of F1", "upper", UPPER),
    ):
        yield from declared("coverage", family, said, default_method(proportion, side), partial(coverage, side), quick=QUICK, full=FULL)


def coverage(side: str, method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Every table of n items, at twelve laws of truth and prediction; given that F1 has a value."""
    tables = tables_of(int(setting["n"]), 3)
    low, high = np.array([ends(method, side, *map(int, row)) for row in tables]).T
    laws = [(p, precision, recall) for p in PREVALENCES for precision, recall in QUALITIES]
    hits = np.array([p * recall for p, _, recall in laws])
    others = np.array([p * (1 - recall) + p * recall * (1 / precision - 1) for p, precision, recall in laws])
    truths = np.stack([hits, others, 1 - hits - others], axis=1)
    covered, width = multinomial_coverage(low, high, tables, truths, 2 * hits / (2 * hits + others))
    for (prevalence, precision, recall), found, wide in zip(laws, covered, width, strict=True):
        where = words({**setting, "prevalence": prevalence, "precision": precision, "recall": recall})
        yield Point(where, float(found), 0.0, float(wide))


def ends(method: str, side: str, tp: int, wrong: int, tn: int) -> tuple[float, float]:
    """The interval of F1 as it is given to the user; NaN where F1 has no value."""
    row = table_row(
        F1, 1, TableTally(table(tp, wrong, tn), items=tp + wrong + tn), MeasureOptions(interval=method, side=side, draws=DRAWS), Warnings()
    )
    if row.interval is None:
        return np.nan, np.nan
    low, high = row.interval.low, row.interval.high
    return (0.0 if low is None else low), (1.0 if high is None else high)


def table(tp: int, wrong: int, tn: int) -> Counts:
    """Which of the wrong ones are false alarms does not matter to F1."""
    return Counts.binary(tp=tp, fp=wrong // 2, fn=wrong - wrong // 2, tn=tn)
