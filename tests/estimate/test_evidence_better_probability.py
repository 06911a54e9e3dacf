"""`--prior-scale`: the same everywhere that P(candidate better) is printed, and only there."""

from __future__ import annotations

import json

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import main
from steelyard.infer.posterior.prior_scale import estimate_above, flips_above

FLIPS = sy.JointCounts.flips(both=790, baseline_only=58, candidate_only=76, neither=76)


def test_right_or_wrong_on_the_same_items() -> None:
    c = sy.compare(FLIPS, prior_scale=0.005, margin=0.01)
    assert c.probability_candidate_better == flips_above(76, 58, 1000, 0.005)
    assert c.details["prior_scale"] == 0.005
    assert "prior_scale:0.005" in c.signature
    assert "prior scale: differences of SD 0.005" in " ".join(str(c).split())
    assert c.equivalence is not None
    assert sum(c.equivalence["rope"].values()) == pytest.approx(1)
    assert c.equivalence["rope"]["better"] == flips_above(76, 58, 1000, 0.005, 0.01)
    error = sy.compare(FLIPS, metric="error", prior_scale=0.005, margin=0.01)
    assert error.probability_candidate_better == pytest.approx(c.probability_candidate_better)
    assert error.equivalence is not None
    assert error.equivalence["rope"] == pytest.approx(c.equivalence["rope"])


def test_what_the_default_prior_expects_is_said() -> None:
    c = sy.compare(FLIPS)
    assert c.details["prior_sd"] == pytest.approx((0.5 / 3) ** 0.5)  # Dirichlet(1/2) on four cells
    assert "prior scale: differences of SD 0.41" in " ".join(str(c).split())
    apart = sy.compare(sy.Counts.of(56, 70), sy.Counts.of(48, 80))
    assert apart.details["prior_sd"] == pytest.approx(0.5)


def test_scores_and_other_metrics_have_a_probability_under_a_scale() -> None:
    rng = np.random.default_rng(0)
    a = rng.beta(4, 4, 60)
    b = (a + rng.normal(0.02, 0.05, 60)).clip(0, 1)
    ids = [f"i{k}" for k in range(60)]
    c = sy.compare({"id": ids, "score": a}, {"id": ids, "score": b}, prior_scale=0.02)
    error = c.difference.standard_error
    assert error is not None
    assert c.difference.estimate is not None
    assert c.probability_candidate_better == pytest.approx(estimate_above(c.difference.estimate, error, 0.02, df=59))
    assert sy.compare({"id": ids, "score": a}, {"id": ids, "score": b}).probability_candidate_better is None
    apart = sy.compare(sy.Counts.of(56, 70), sy.Counts.of(48, 80), prior_scale=0.02)
    assert apart.probability_candidate_better is not None
    assert 0.2 < apart.probability_candidate_better < 0.5  # 20 points down, but differences of 2 are expected


def test_preferences_leaderboards_and_learners_take_it() -> None:
    from steelyard.questions.compare.compare import compare_preferences

    assert compare_preferences(40, 12, 28, prior_scale=0.05).probability_candidate_better == flips_above(40, 28, 80, 0.05)
    ids = list(range(50))
    rng = np.random.default_rng(1)
    runs = [{"id": ids, "score": (rng.random(50) < p).astype(int)} for p in (0.5, 0.6, 0.7)]
    board = sy.rank(*runs, prior_scale=0.01)
    assert all(pair.details["prior_scale"] == 0.01 for pair in board.pairs)  # type: ignore[union-attr]

    class Always:
        def __init__(self, label: str) -> None:
            self.label = label

        def fit(self, x: object, y: object) -> Always:
            return self

        def predict(self, x: list[object]) -> list[str]:
            return [self.label] * len(x)

    y = ["a", "b"] * 30 + ["a"] * 4
    found = [
        sy.compare_learners(Always("a"), Always("b"), [[0.0]] * 64, y, folds=3, repeats=2, stratify=False, prior_scale=scale)
        for scale in (None, 0.001)
    ]
    assert found[0].probability_candidate_better is not None
    assert found[1].probability_candidate_better is not None
    assert abs(found[1].probability_candidate_better - 0.5) < abs(found[0].probability_candidate_better - 0.5)
    assert found[1].details["prior_scale"] == 0.001


def test_the_command_takes_it_and_refuses_what_makes_no_sense(capsys: pytest.CaptureFixture[str]) -> None:
    flips = ["compare", "--flips", "790,58,76,76", "--prior-scale"]
    with pytest.raises(SystemExit) as done:
        main([*flips, ".005", "--format", "json"])
    assert not done.value.code
    assert json.loads(capsys.readouterr().out)["probability_candidate_better"] == pytest.approx(0.731, abs=1e-3)
    for words, why in ((["0"], "a number above 0"), (["1e-12"], "at least"), ([".1", "--interval", "bayes"], "two priors")):
        with pytest.raises(SystemExit) as refused:
            main([*flips, *words])
        assert refused.value.code == 3
        assert why in capsys.readouterr().err


def test_a_run_of_one_model_has_no_use_for_it() -> None:
    with pytest.raises(sy.UsageError, match="prior_scale"):
        sy.run("python:nowhere:Task", lambda case: "x", prior_scale=0.01)
