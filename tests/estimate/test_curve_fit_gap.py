"""Training scores beside test scores: would more data help, a stronger model, neither, or can nobody tell?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import every
from steelyard.render.formats import result_html, result_markdown, result_svg

SIZES = (50, 100, 200, 400, 800, 1600)


def rows(a: float, b: float, train: float, *, seeds: int = 6, noise: float = 0.002, c: float = 0.6) -> list[dict[str, Any]]:
    """A curve 1 - a - b n^-c of the test score, and a training score that falls from 1 to `train`."""
    rng = np.random.default_rng(3)
    return [
        {
            "size": n,
            "seed": s,
            "score": 1 - a - b * n**-c + rng.normal(0, noise),
            "train_score": min(1.0, train + (1 - train) * 0.2 * 50 / n + rng.normal(0, noise)),
        }
        for s in range(seeds)
        for n in SIZES
    ]


@every(
    "verdict, words, points",
    [
        ("more data", "More data would help: the training score is still 0.0", rows(0.02, 4.0, 0.999)),
        ("stronger model", "A stronger model would help: training and test score have met at 0.81", rows(0.19, 3.0, 0.81, c=1.0)),
        ("neither", "More data of this kind would hardly help", rows(0.19, 3.0, 0.95, c=1.0)),
        ("unknown", "Cannot tell", rows(0.1, 1.0, 0.9, noise=0.06)),
        ("unknown", "with one seed", rows(0.02, 4.0, 0.999, seeds=1)),
    ],
)
def test_the_gap_is_read_from_the_curve_and_its_uncertainty(verdict: str, words: str, points: list[dict[str, Any]]) -> None:
    gap = sy.plan_train(points, target=0.7).details["gap"]
    assert (gap["verdict"], words in gap["reading"]) == (verdict, True), gap["reading"]


def test_a_loss_is_read_the_other_way_round() -> None:
    turned = [{**row, "score": 1 - row["score"], "train_score": 1 - row["train_score"]} for row in rows(0.02, 4.0, 0.999)]
    gap = sy.plan_train(turned, target=0.1, higher_is_better=False).details["gap"]
    assert gap["verdict"] == "more data"
    assert "below the test score and the test score is falling" in gap["reading"]
    assert gap["gap"] > 0


def test_the_gap_has_the_t_interval_of_the_seeds() -> None:
    points = rows(0.02, 4.0, 0.97)
    found = sy.plan_train(points, target=0.7).details["gap"]
    gaps = [row["train_score"] - row["score"] for row in points if row["size"] == 1600]
    half = 2.570581836 * np.std(gaps, ddof=1) / np.sqrt(6)
    assert found["gap"] == pytest.approx(np.mean(gaps))
    assert (found["gap_low"], found["gap_high"]) == pytest.approx((np.mean(gaps) - half, np.mean(gaps) + half))


def test_text_markdown_html_and_picture_show_both_scores() -> None:
    plan = sy.plan_train(rows(0.02, 4.0, 0.97), target=0.9)
    for page in (str(plan), result_markdown(plan), result_html(plan)):
        assert "More data would help" in page
        assert "training and test score" in page.lower()
    assert "training score" in result_svg(plan)
    assert sy.Plan.from_dict(plan.to_dict()) == plan


def test_a_file_without_training_scores_answers_as_before(tmp_path: Path) -> None:
    bare = [{key: row[key] for key in ("size", "seed", "score")} for row in rows(0.02, 4.0, 0.97)]
    plan = sy.plan_train(bare, target=0.9)
    assert "gap" not in plan.details
    assert plan.rows == ()
    assert "beside" not in plan.to_dict()["curve"]


@every("score, train", [("accuracy", "train_accuracy"), ("test_score", "train_score"), ("f1", "training_f1"), ("score", "Training_Score")])
def test_training_scores_are_found_by_name(score: str, train: str) -> None:
    named = [{"size": r["size"], "seed": r["seed"], score: r["score"], train: r["train_score"]} for r in rows(0.02, 4.0, 0.97)]
    assert "gap" in sy.plan_train(named, target=0.9).details
    if score == "accuracy":
        assert "gap" not in sy.plan_train(named, target=0.9, train_score="none").details


def test_training_scores_are_named_or_missing_ones_are_refused() -> None:
    named = [{"size": r["size"], "seed": r["seed"], "score": r["score"], "fit": r["train_score"]} for r in rows(0.02, 4.0, 0.97)]
    assert "gap" not in sy.plan_train(named, target=0.9).details
    assert "gap" in sy.plan_train(named, target=0.9, train_score="fit").details
    holes = [{**row, "train_score": None if row["seed"] == 0 else row["train_score"]} for row in rows(0.02, 4.0, 0.97)]
    with pytest.raises(sy.DataError, match="train_score='none' ignores"):
        sy.plan_train(holes, target=0.9)
    with pytest.raises(sy.SteelyardError, match="nowhere"):
        sy.plan_train(named, target=0.9, train_score="nowhere")


class Nearest:
    """One neighbour: always right about what it has seen."""

    def fit(self, x: Any, y: Any) -> Nearest:
        self.x, self.y = np.asarray(x), np.asarray(y)
        return self

    def predict(self, x: Any) -> Any:
        return self.y[((np.asarray(x)[:, None] - self.x[None]) ** 2).sum(2).argmin(1)]


def test_a_measured_curve_scores_its_training_rows_too() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    y = (x[:, 0] + 0.7 * rng.normal(size=300) > 0).astype(int)
    curve = sy.learning_curve(Nearest(), x, y, repeats=3)
    assert {point.train_score for point in curve.points} == {1.0}
    assert curve.gap is not None
    assert "training 1.0000" in str(curve)
    assert curve.gap.reading in str(curve)
    assert sy.LearningCurve.from_dict(curve.to_dict()) == curve
    without = sy.learning_curve(Nearest(), x, y, repeats=3, train_scores=False)
    assert [point.score for point in without.points] == [point.score for point in curve.points]
    assert without.gap is None
    assert not {"train_score"} & {*without.to_dict()["points"][0]}
    assert "gap" in sy.plan_train(curve, target=0.9).details
    assert "gap" not in sy.plan_train(without, target=0.9).details
