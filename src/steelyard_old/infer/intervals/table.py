"""Intervals for any metric of a table of independent items: bootstrap over cells, and the delta method."""

from __future__ import annotations

import math

import numpy as np

from steelyard_old.infer.normal import z_value
from steelyard_old.infer.resampling import bootstrap
from steelyard_old.infer.resampling.bootstrap import Cells
from steelyard_old.metrics.table import TableStatistic
from steelyard_old.tally.counts import Counts


def table_bootstrap(
    counts: Counts,
    statistic: TableStatistic,
    method: str,
    confidence_level: float = 0.95,
    side: str = "two",
    *,
    draws: int = 10_000,
    seed: int = 0,
) -> tuple[float, float, int]:
    """BCa or percentile bootstrap of a table metric; the third number is how many draws left the metric undefined.

    Formula: tables ~ Multinomial(n, counts/n), which is resampling items with replacement; the jackknife of BCa has
    one term per cell. Assumes: independent items. Undefined: when all draws agree, or hardly any has all
    classes (Degenerate: the caller falls back).
    No method covers when a class has fewer than about 10 items. Reference: Efron1987; DavisonHinkley1997.

    >>> from steelyard_old.metrics.catalogue import parse
    >>> low, high, _ = table_bootstrap(Counts.table([[40, 5], [7, 48]]), parse("macro_f1").of_table(), "bca")
    >>> 0.78 < low < 0.81 and 0.92 < high < 0.95
    True
    """
    draws = bootstrap.check_draws(draws, confidence_level, side)
    cells = Cells(counts)
    if cells.n < 2:
        raise bootstrap.Degenerate("fewer than two items")
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn, undefined = bootstrap.defined_values((statistic.value(m) for m in cells.redrawn(draws, rng)), confidence_level, side)
    if method == "percentile":
        ends = bootstrap.percentile(drawn, confidence_level, side)
    else:
        left_out = cells.jackknife(statistic)
        usable = np.isfinite(left_out)
        estimate = float(statistic.value(cells.observed()))
        ends = bootstrap.bca(drawn, estimate, left_out[usable], cells.count[usable], confidence_level, side)
    return (*ends, undefined)


def share_with_every_class(counts: Counts) -> float:
    """At most this share of redrawn tables has an item of every class, as truth or as prediction.

    Formula: classes of which no item is an item of two have counts that are negatively associated, so the chance that all of them occur is
    at most the product of 1 - (1 - m/n)^n, m the items of a class. Such classes are picked in the order of their size, smallest first.
    Assumes: independent items. Reference: JoagDevProschan1983.

    >>> share_with_every_class(Counts.table([[1, 0], [0, 1]])), share_with_every_class(Counts.table([[50, 0], [0, 50]])) > 1 - 1e-14
    (0.5625, True)
    """
    truth, prediction, count = counts.arrays()
    known, other = prediction < counts.classes, truth != prediction
    items = np.bincount(truth, count, counts.classes) + np.bincount(prediction[known & other], count[known & other], counts.classes)
    mixed: dict[int, set[int]] = {}  # the classes that a class has an item in common with
    for one, two in zip(truth[known & other].tolist(), prediction[known & other].tolist(), strict=True):
        mixed.setdefault(one, set()).add(two)
        mixed.setdefault(two, set()).add(one)
    picked: set[int] = set()
    for label in np.argsort(items, kind="stable").tolist():
        if picked.isdisjoint(mixed.get(label, ())):
            picked.add(label)
    n = float(count.sum())
    return float(np.prod(1 - (1 - items[sorted(picked)] / n) ** n))


def delta_error(counts: Counts, statistic: TableStatistic) -> float:
    """The delta-method standard error of a table metric: sqrt(sum_c (count_c / n) IF_c^2 / n).

    Assumes: independent items (multinomial counts) and a smooth metric. For F1 it is
    sqrt(F (1-F) (2-F) / (2 TP + FP + FN)), for macro-F1 Takahashi's closed form.
    Reference: Takahashi2022; Efron1982, chapter 6.

    >>> from steelyard_old.metrics.catalogue import parse
    >>> round(delta_error(Counts.binary(tp=31, fp=5, fn=2, tn=62), parse("f1").of_table(1)), 6)
    0.038146
    """
    cells = Cells(counts)
    u = cells.influence(statistic)
    return math.sqrt(float(cells.count @ u**2)) / cells.n


def delta(counts: Counts, statistic: TableStatistic, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """estimate +- z x delta-method standard error. Undefined: no spread. Reference: Takahashi2022.

    >>> from steelyard_old.metrics.catalogue import parse
    >>> [round(x, 4) for x in delta(Counts.binary(tp=31, fp=5, fn=2, tn=62), parse("f1").of_table(1))]
    [0.8238, 0.9733]
    """
    error = delta_error(counts, statistic)
    if not error > 0:
        raise bootstrap.Degenerate("the delta method finds no spread")
    estimate = float(statistic.value(Cells(counts).observed()))
    reach = z_value(confidence_level, side) * error
    return estimate - reach, estimate + reach
