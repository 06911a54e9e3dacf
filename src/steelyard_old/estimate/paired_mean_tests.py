"""Two tests of a mean difference whose margins and bounds are their own: over items of a known range, and over the runs of these items."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.evidence import DECLARE
from steelyard_old.infer.paired.bounded_t import BoundedT, bounded_t, bounded_t_of_weights
from steelyard_old.infer.paired.decision import smallest_within_p
from steelyard_old.infer.paired.within_items import WithinItems, WithinSpread, within_items, within_items_scores, within_spread
from steelyard_old.options.compare import CompareOptions
from steelyard_old.results.comparison import Test
from steelyard_old.results.details import TestDetails
from steelyard_old.tally.pairs import Pairs

FloatArray = npt.NDArray[np.float64]


class RangeMeanTest:
    """t over the items and one more at either end of the range: about new items of this kind."""

    name = "bounded-t"
    remedy = DECLARE

    def __init__(
        self, d: FloatArray, baseline: FloatArray, bounds: tuple[float, float], alternative: str, weight: FloatArray | None = None
    ) -> None:
        far = f"by the full range of the scores ({bounds[0]:.4g} to {bounds[1]:.4g})"
        self.falls, self.differs = f"if a few unseen items fell {far}", f"if a few unseen items differed the other way {far}"
        self.reach = bounds[1] - bounds[0]
        self.baseline, self.bounds, self.alternative, self.weight = baseline, bounds, alternative, weight
        self.t: BoundedT = self._of(d)

    def _of(self, d: FloatArray) -> BoundedT:
        return bounded_t(d, self.reach) if self.weight is None else bounded_t_of_weights(d, self.weight, self.reach)

    def p_value(self, edge: float) -> float:
        return self.t.p_value(self.alternative, edge)

    def smallest(self, edge: float) -> float:
        """Every item of the candidate's at the end of the range that was asked about."""
        ends = {"less": self.bounds[:1], "greater": self.bounds[1:]}.get(self.alternative, self.bounds)
        worst = (self._of(np.clip(end - self.baseline, -self.reach, self.reach)) for end in ends)
        return min(t.p_value(self.alternative, edge) for t in worst)

    def interval(self, level: float, side: str) -> tuple[float, float]:
        return self.t.interval(level, side)


class RareGroupsTest:
    """t over the groups and one more at either end of the range: what a rare group that falls altogether could undo."""

    name = "bounded-t"
    falls = "if a few unseen groups fell by the full range"
    differs = None
    remedy = "only more groups can tell"

    def __init__(self, t: BoundedT, alternative: str) -> None:
        self.t, self.alternative = t, alternative

    def p_value(self, edge: float) -> float:
        return self.t.p_value(self.alternative, edge)

    def smallest(self, edge: float) -> float:
        return 0.0

    def interval(self, level: float, side: str) -> tuple[float, float]:
        return self.t.interval(level, side)


class WithinItemTest:
    """Which of an item's runs are the candidate's is shuffled within the item: about these very items. Exact for right or wrong."""

    name = "within-item"

    def __init__(self, pairs: Pairs, rows: tuple[FloatArray, FloatArray], asked: CompareOptions) -> None:
        self.items = pairs.items
        self.sides = ((rows[0], pairs.baseline_item), (rows[1], pairs.candidate_item))
        self.asked = asked

    @cached_property
    def _listed(self) -> tuple[npt.NDArray[np.int64], FloatArray, npt.NDArray[np.bool_]]:
        """Item, score, is it the candidate's: one entry per run."""
        (a, item_a), (b, item_b) = self.sides
        return np.concatenate([item_a, item_b]), np.concatenate([a, b]), np.repeat([False, True], [len(a), len(b)])

    @cached_property
    def spread(self) -> WithinSpread:
        return within_spread(*self._listed)

    def _permuted(self, edge: float) -> WithinItems:
        options: dict[str, Any] = {"alternative": self.asked.alternative, "draws": self.asked.own.draws, "seed": self.asked.own.seed}
        if edge == 0 and all(np.isin(values, (0.0, 1.0)).all() for values, _ in self.sides):
            right = [np.bincount(item, weights=values, minlength=self.items).astype(np.int64) for values, item in self.sides]
            runs = self._runs
            return within_items(right[0], runs[0], right[1], runs[1], **options)
        item, score, candidate = self._listed
        return within_items_scores(item, score - edge * candidate, candidate, **options)

    @property
    def _runs(self) -> list[npt.NDArray[np.int64]]:
        return [np.bincount(item, minlength=self.items) for _, item in self.sides]

    def test(self) -> Test:
        found = self._permuted(0.0)
        details = TestDetails(exact=found.exact, draws=None if found.exact else self.asked.own.draws)
        return Test(name=self.name, alternative=self.asked.alternative, statistic=found.difference, p_value=found.p_value, details=details)

    def p_value(self, edge: float) -> float:
        """`edge` is taken off the candidate's runs, which are then dealt anew with the others."""
        return self._permuted(edge).p_value

    def smallest(self, edge: float) -> float:
        """One in so many ways to deal an item's runs to the two sides; the observed way counts half."""
        a, b = (runs.tolist() for runs in self._runs)
        return smallest_within_p(a, b)

    def interval(self, level: float, side: str) -> tuple[float, float]:
        return self.spread.interval(level, side)
