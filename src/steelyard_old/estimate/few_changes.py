"""A difference of which few units are the cause: its ends by t, with what nobody has seen yet, and the sentence that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard_old.infer.intervals.sums import linearised, spread
from steelyard_old.metrics.sums import SumStatistic
from steelyard_old.options.compare import CompareOptions
from steelyard_old.results.base import Warnings
from steelyard_old.tally.sums import Sums

if TYPE_CHECKING:
    from steelyard_old.infer.paired.unseen import UnseenChanges


def careful_ends(sums: Sums, statistic: SumStatistic, rare: UnseenChanges | None, asked: CompareOptions) -> tuple[float, float]:
    """The linearised interval of a difference, with what is unseen where few units differ."""
    if rare is None:
        return linearised(sums, statistic, asked.level, asked.side)
    found = spread(sums, statistic)
    estimate = float(statistic.value(sums.totals()))
    return rare.ends(estimate, found.variance, found.df, asked.level, asked.side, asked.alternative)


def warn_of_few_changes(
    sums: Sums, statistic: SumStatistic, rare: UnseenChanges | None, changed: int, warnings: Warnings, *, groups: bool, by: str
) -> None:
    """Say what an interval counts in, where that makes it wider. by: how much a new unit may differ by, in words."""
    if rare is None or not rare.matters(spread(sums, statistic).variance):
        return
    unit = "group" if groups else "item"
    said = f"no {unit} differs" if not changed else f"only {changed:,} of {sums.n:,} {unit}s differ{'s' if changed == 1 else ''}"
    warnings.add(f"{said}: the interval allows a new {unit} to differ by {by}")
