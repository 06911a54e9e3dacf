"""What `learning_curve` answers with: what was scored at each training size. `plan_train` takes it as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.results.base import Result, ResultPart


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint(ResultPart):
    """One fit: how many training items, what it scored on how many test items, and which seed drew them."""

    size: int
    score: float
    seed: int
    n_test: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LearningCurve(Result):
    """What `learning_curve` measured: a point per size and seed. `plan_train` takes it as it is."""

    KIND = "learning-curve"

    metric: str
    higher_is_better: bool
    learner: str
    points: tuple[CurvePoint, ...]

    @property
    def headline(self) -> str:
        return f"{self.metric} of {self.learner}, {len(self.points):,} fits at {len(self.sizes):,} training sizes"

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(sorted({point.size for point in self.points}))

    def rows(self) -> list[dict[str, Any]]:
        """One dict per point: size, score, seed, n_test. `pandas.DataFrame(curve.rows())` is the table."""
        return [point.to_dict() for point in self.points]

    def __str__(self) -> str:
        lines = [f"{self.metric} of {self.learner} by training size", ""]
        for size in self.sizes:
            scores = [point.score for point in self.points if point.size == size]
            lines.append(f"{size:>9,}  {sum(scores) / len(scores):.4f}  ({min(scores):.4f} to {max(scores):.4f}, {len(scores)} seeds)")
        return "\n".join([*lines, "", *(f"warning: {sentence}" for sentence in self.warnings), self.signature])
