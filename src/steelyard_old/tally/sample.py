"""A sample: the items of the whole or of one slice, settled, with the tallies that rows ask for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError
from steelyard_old.items import Items, Labels
from steelyard_old.tally.counts import OF_OUTCOMES, Counts, TableTally
from steelyard_old.tally.design import count_labels, design_of, row_sums, same_label, settle_missing, table_sums
from steelyard_old.tally.rounding import without_rounding
from steelyard_old.tally.scores import ScoreTable, tally_scores
from steelyard_old.tally.sums import Sums

FloatArray = npt.NDArray[np.float64]
OUTCOME = ("right", "wrong")


class SampleOptions(Protocol):
    """What of a question's options decides how its items are counted."""

    @property
    def missing(self) -> str: ...

    @property
    def range(self) -> tuple[float, float] | None: ...

    @property
    def higher_is_better(self) -> bool | None: ...

    @property
    def positive(self) -> str | None: ...


class CollectsWarnings(Protocol):
    """Where sentences about the counting go, which travel with the answer."""

    def extend(self, sentences: Iterable[str], /) -> None: ...


class Sample:
    """Items under a design. Tallies are made when first asked for, each once.

    beside: the run it is compared with. What scores mean is read off both: 0 beside 75 points is no wrong answer. counted: whole
    weights say how many equal items a row stands for; where every item has an id it is one item, whatever it weighs.
    """

    def __init__(
        self,
        items: Items,
        settings: SampleOptions,
        warnings: CollectsWarnings,
        labels: Sequence[str] | None = None,
        needed: Collection[str] | None = None,
        beside: Items | None = None,
        counted: bool = True,
    ) -> None:
        self.items, said = settle_missing(
            _settled_weights(items, counted),
            settings.missing,
            ends=settings.range,
            higher_is_better=settings.higher_is_better,
            beside=() if beside is None else (beside,),
            needed=needed,
        )
        if said:
            warnings.extend(said)
        _refuse_outside(self.items, settings)
        self.settings = settings
        self.labels = labels
        self.design = design_of(self.items)
        self._scores = [one.score for one in (self.items, beside) if one is not None]

    @property
    def n(self) -> int:
        """How many items: repeats of an item are one."""
        return self.items.total if self.design.plain or self.design.kind == "weights" else self.design.items

    @cached_property
    def binary_scores(self) -> bool:
        """Whether there are scores and all of them are 0 or 1, in no other range that was declared."""
        if self.settings.range not in OF_OUTCOMES:
            return False
        # a hole (of a score nobody needs) is neither
        return all(score is not None and bool(np.isin(score, (0.0, 1.0)).all()) for score in self._scores)

    @cached_property
    def shares(self) -> bool:
        """Whether there are scores and all of them lie within 0 and 1."""
        return all(score is not None and score.min() >= 0 and score.max() <= 1 for score in self._scores)

    @cached_property
    def table(self) -> TableTally:
        """truth x prediction."""
        truth, prediction = self.items.truth, self.items.prediction
        if truth is None or prediction is None:
            raise DataError(
                "A table needs truth and prediction columns.",
                got="no truth or no prediction column",
                need="both",
                hint="name them with truth= and prediction=",
            )
        return self._tally(truth, prediction, count_labels(truth, prediction, self.labels, self.items.count))

    @cached_property
    def outcomes(self) -> TableTally:
        """Right or wrong, from scores of 0 and 1."""
        score = self.items.score
        assert score is not None
        prediction = Labels((score == 0).astype(np.int64), OUTCOME)
        truth = Labels(np.zeros(len(score), np.int64), OUTCOME)
        counts = count_labels(truth, prediction, OUTCOME, self.items.count)
        return self._tally(truth, prediction, replace(counts, kind="outcomes"))

    def _tally(self, truth: Labels, prediction: Labels, counts: Counts) -> TableTally:
        if self.design.plain:
            return TableTally(counts, items=counts.n)
        sums = replace(table_sums(truth, prediction, self.design, counts), answers=self.items.total)  # a row may stand for several
        return TableTally(counts, sums, self.design.kind, self.n, self.details)

    @cached_property
    def details(self) -> dict[str, Any]:
        """What the design is, for the answer: groups, repeats, and how the variance of one answer splits between them."""
        design = self.design
        if design.plain or design.unit is None:
            return {}
        out: dict[str, Any] = {"design": design.kind, "answers": self.items.total, "items": self.n}
        if design.kind == "groups":
            out["groups"] = design.units
        if self.items.repeat is not None and self.items.id is not None:
            out |= _split_variance(self._answers(), np.unique(self.items.id.codes, return_inverse=True)[1])
        return out

    def _answers(self) -> FloatArray | None:
        """One number per row: its score, or whether its label is right."""
        items = self.items
        if items.score is not None:
            return items.score
        if items.truth is None or items.prediction is None:
            return None
        return same_label(items.truth, items.prediction).astype(float)

    def sums(self, rows: FloatArray) -> Sums:
        """Rows of numbers, one per row of the items, summed by unit."""
        return row_sums(rows, self.design, self.items.count)

    def score_table(self, positive: npt.NDArray[np.bool_]) -> ScoreTable:
        """Counts per distinct probability."""
        assert self.items.probability is not None
        return tally_scores(self.items.probability, positive, self.items.count)


def _split_variance(answers: FloatArray | None, item: npt.NDArray[np.integer[Any]]) -> dict[str, Any]:
    """Within items from run to run, and between items: what more repeats could save and what only more items can."""
    tries = np.bincount(item)
    out: dict[str, Any] = {"repeats": int(tries.max()), "fewest_repeats": int(tries.min())}
    if answers is not None and len(answers) > len(tries) > 1:
        mean = np.bincount(item, weights=answers) / tries
        away = without_rounding(answers - mean[item], float(np.abs(answers).max()), int(tries.max()))
        within = float((away**2).sum() / (len(item) - len(tries)))
        out["variance_within"] = within
        out["variance_between"] = max(0.0, float(np.var(mean, ddof=1) - within * np.mean(1 / tries)))
    return out


def _refuse_outside(items: Items, settings: SampleOptions) -> None:
    """Scores outside a declared range are a mistake of one of the two."""
    if items.score is None or settings.range is None or not items.n:
        return
    refuse_beyond(settings.range, float(np.nanmin(items.score)), float(np.nanmax(items.score)))


def refuse_beyond(ends: tuple[float, float], low: float, high: float) -> None:
    """The lowest and the highest score, checked against a declared range."""
    if low < ends[0] or high > ends[1]:
        raise DataError(
            f"A score of {repr(low if low < ends[0] else high).removesuffix('.0')} lies outside the declared range, {ends[0]:g} "
            f"to {ends[1]:g}.",
            got=f"a score of {repr(low if low < ends[0] else high).removesuffix('.0')}",
            need=f"scores within {ends[0]:g} and {ends[1]:g}",
            hint="correct range=, or look for percent mixed with fractions",
        )


def _settled_weights(items: Items, counted: bool) -> Items:
    """Whole-number weights are counts of equal items, where they may be; a weight of 0 leaves its row out."""
    if items.weight is None:
        return items
    from steelyard_old.tally.design import take

    there = items.weight > 0
    if counted and bool((items.weight == np.floor(items.weight)).all()):
        items = replace(items, weight=None, count=items.weight.astype(np.int64) * (1 if items.count is None else items.count))
    return items if bool(there.all()) else take(items, there)
