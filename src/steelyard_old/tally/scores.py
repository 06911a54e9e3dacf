"""ScoreTable: for each distinct score, how many positives and how many negatives have it. Serves AUC and its kin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard_old.late_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]
    IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreTable:
    """Distinct scores in increasing order, with whole-number counts."""

    score: FloatArray
    positives: IntArray
    negatives: IntArray

    @property
    def n_positive(self) -> int:
        return int(self.positives.sum())

    @property
    def n_negative(self) -> int:
        return int(self.negatives.sum())

    @property
    def n(self) -> int:
        return self.n_positive + self.n_negative

    def __add__(self, other: ScoreTable) -> ScoreTable:
        """Both samples together."""
        import numpy as np

        score, place = np.unique(np.concatenate([self.score, other.score]), return_inverse=True)
        positives, negatives = np.zeros(len(score), np.int64), np.zeros(len(score), np.int64)
        np.add.at(positives, place, np.concatenate([self.positives, other.positives]))
        np.add.at(negatives, place, np.concatenate([self.negatives, other.negatives]))
        return ScoreTable(score=score, positives=positives, negatives=negatives)


def tally_scores(score: FloatArray, positive: npt.NDArray[np.bool_], count: IntArray | None = None) -> ScoreTable:
    """The table of scores and classes; `count` repeats a row."""
    import numpy as np

    distinct, place = np.unique(score, return_inverse=True)
    weight = np.ones(len(score), np.int64) if count is None else count
    both = np.bincount(place, weights=weight, minlength=len(distinct)).astype(np.int64)
    hits = np.bincount(place, weights=weight * positive, minlength=len(distinct)).astype(np.int64)
    return ScoreTable(score=distinct, positives=hits, negatives=both - hits)
