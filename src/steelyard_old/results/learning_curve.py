"""What `learning_curve` answers with: what was scored at each training size. `plan_train` takes it as it is."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import OMIT_DEFAULT, Result, ResultPart


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint(ResultPart):
    """One fit: how many training items, what it scored on how many test items, and which seed drew them.

    `train_score` is what it scored on the items it was trained on; None where that was not asked.
    """

    size: int
    score: float
    seed: int
    n_test: int
    train_score: float | None = field(default=None, metadata=OMIT_DEFAULT)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveSize(ResultPart):
    """One training size: the mean scores on training and test items over seeds, and how far they lie apart."""

    n: int
    training: float
    test: float
    gap: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveGap(ResultPart):
    """How far the training score lies above the test score (below it, for a loss), and what doubling the data buys.

    `verdict` is "more data", "stronger model", "neither" or "unknown", and `reading` says it in a sentence. `train` and `test` are
    mean scores at the largest size, `gap` their distance with its ends over seeds, `doubling` what the fitted curve
    gains from the largest size to twice of it. `by_size` has both scores at every size.
    """

    verdict: str
    reading: str
    train: float
    test: float
    gap: float
    gap_low: float | None = None
    gap_high: float | None = None
    doubling: float
    doubling_low: float | None = None
    doubling_high: float | None = None
    by_size: tuple[CurveSize, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LearningCurve(Result):
    """What `learning_curve` measured: a point per size and seed. `plan_train` takes it as it is."""

    KIND = "learning-curve"

    metric: str
    higher_is_better: bool
    learner: str
    points: tuple[CurvePoint, ...]
    gap: CurveGap | None = field(default=None, metadata=OMIT_DEFAULT)

    @property
    def headline(self) -> str:
        return f"{self.metric} of {self.learner}, {len(self.points):,} fits at {len(self.sizes):,} training sizes"

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(sorted({point.size for point in self.points}))

    def rows(self) -> list[dict[str, Any]]:
        """One dict per point: size, score, seed, n_test, train_score if known. `pandas.DataFrame(curve.rows())` is the table."""
        return [point.to_dict() for point in self.points]

    def __str__(self) -> str:
        lines = [f"{self.metric} of {self.learner} by training size", ""]
        for size in self.sizes:
            scores = [point.score for point in self.points if point.size == size]
            seen = [point.train_score for point in self.points if point.size == size and point.train_score is not None]
            trained = f"  training {sum(seen) / len(seen):.4f}" if seen else ""
            lines.append(
                f"{size:>9,}  {sum(scores) / len(scores):.4f}  ({min(scores):.4f} to {max(scores):.4f}, {len(scores)} seeds){trained}"
            )
        if self.gap is not None:
            lines += ["", self.gap.reading]
        return "\n".join([*lines, "", *(f"warning: {sentence}" for sentence in self.warnings), self.signature])
