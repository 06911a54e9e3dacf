"""The threshold of a verdict is the last score that is no regression: this run's score is beyond it if and only if it is one."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import seldom
from steelyard.estimate.guard.paired import guard_items, judge_items
from steelyard.estimate.guard.rule import settle_rule
from steelyard.estimate.guard.verdict import Guarded
from steelyard.estimate.opening import SystemItems
from steelyard.items import Items, Labels
from steelyard.metrics.catalogue import parse
from steelyard.reference.entry import Entry, TaskDefaults
from steelyard.results.base import Warnings

MOST = 26
UNITS = {"fraction": 1.0, "percent": 100.0}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows(scores: Any, **columns: Any) -> list[dict[str, Any]]:
    return [{"id": f"q{i}", "score": s, **{name: column[i] for name, column in columns.items()}} for i, s in enumerate(scores)]


def run_of(scores: Any) -> SystemItems:
    values = np.asarray(scores, float)
    names = tuple(f"q{i}" for i in range(len(values)))
    return SystemItems("run", Items(n=len(values), id=Labels(np.arange(len(values)), names), score=values))


def judged(reference: Any, candidate: Any, *, metric: str = "accuracy", scale: str = "fraction", **options: Any) -> tuple[sy.Verdict, bool]:
    """What the guard found, and whether up is good."""
    entry = Entry(model="m", value=None, value_key=metric, scale=scale)
    rule = settle_rule(options, entry, TaskDefaults(), Warnings())
    settings: dict[str, Any] = {"unmatched": "error", "missing": "error", "draws": 100, "seed": 0, "deterministic": True}
    sides = run_of(reference), run_of(candidate)
    found = judge_items(*sides, parse(metric), rule, Warnings(), unit=UNITS[scale], **settings)
    return guard_items(found, Guarded(entry=entry)), rule.higher_is_better


def agrees(found: Any, higher_is_better: bool) -> bool:
    """Regression if and only if the score is beyond the threshold, in floats; no threshold, no regression."""
    value = found.candidate["value"]
    worse = found.verdict == "regression"
    if found.threshold is None:
        return not worse
    return bool(worse == (value < found.threshold if higher_is_better else value > found.threshold))


def flipped(right: int, wrong: int, lost: int, gained: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    before = np.repeat([1.0, 0.0], [right, wrong])
    after = before.copy()
    after[:lost] = 0.0
    after[right : right + gained] = 1.0
    return before, after


GRIDS: list[dict[str, Any]] = [
    {},
    {"scale": "percent"},
    {"metric": "error"},
    {"metric": "error", "scale": "percent", "margin": 7.0, "alpha": 0.01},
    {"metric": "accuracy", "higher_is_better": False},
    {"metric": "mean"},
    {"alpha": 0.002},
    {"alpha": 0.5},
    {"margin": 0.03},
    {"margin": 0.1, "theta": 0.1},
    {"margin": 2.5, "scale": "percent", "alpha": 0.2},
    {"theta": 0.05},
]


SOME = (0, 4, MOST)


@pytest.mark.parametrize("gains", [SOME, pytest.param(sorted({*range(MOST)} - {*SOME}), marks=pytest.mark.long)], ids=["some", "the rest"])
@pytest.mark.parametrize("options", GRIDS, ids=lambda options: " ".join(f"{k}={v}" for k, v in options.items()) or "default")
def test_every_table_of_losses_and_gains_lies_on_the_side_of_the_threshold_that_its_verdict_says(
    options: dict[str, Any], gains: list[int]
) -> None:
    """All (lost, gained) up to 26. The threshold is the last score that passes at these gains, so it does not depend on the losses."""
    for gained in gains:
        seen = set()
        verdicts = []
        for lost in range(MOST + 1):
            before, after = flipped(MOST + 3, MOST + 4, lost, gained)
            if options.get("higher_is_better") is False:  # then a score of 1 is what is bad
                before, after = 1 - before, 1 - after
            found, up = judged(before, after, **options)
            assert agrees(found, up), (lost, gained, found.candidate.estimate, found.threshold)
            seen.add(found.threshold)
            verdicts.append((found.verdict == "regression", found.candidate.estimate))
        assert len(seen) == 1, (gained, seen)
        passing = [value for worse, value in verdicts if not worse]
        if passing and len(passing) <= MOST:  # the last that passes is among those tried
            assert seen == {passing[-1]}, gained


def test_three_of_nine_hundred_items_lost_are_a_pass_at_a_threshold_that_is_not_above_them() -> None:
    before, after = flipped(866, 34, 3, 0)
    sy.record(rows(before), task="t", model="m", deterministic=True)
    verdict = sy.check(rows(after), task="t", model="m")
    assert verdict.verdict == "pass"
    assert verdict.threshold == verdict.candidate["value"] == 863 / 900
    assert "Threshold" in str(verdict)


def test_without_flips_the_threshold_is_four_losses_away() -> None:
    before, _ = flipped(150, 50, 0, 0)
    sy.record(rows(before), task="t", model="m", deterministic=True)
    assert sy.check(rows(before), task="t", model="m").threshold == 147 / 200  # three losses pass, four do not


def test_no_threshold_where_no_score_could_be_a_regression_and_a_sentence_says_so() -> None:
    before, after = flipped(4, 96, 0, 30)
    sy.record(rows(before), task="t", model="m", deterministic=True)
    verdict = sy.check(rows(after), task="t", model="m")
    assert verdict.verdict == "pass"
    assert verdict.threshold is None
    assert json.loads(json.dumps(verdict.to_dict()))["threshold"] is None
    assert any("no score could be a regression" in said for said in verdict.warnings)


OPTIONS: list[dict[str, Any]] = [{}, {"margin": 0.01}, {"theta": 0.05}, {"alpha": 0.2}, {"higher_is_better": False}]


@pytest.mark.parametrize(
    ("seed", "options"),
    [(2, {}), *((place % 3, options) for place, options in enumerate(OPTIONS)), *seldom(*itertools.product(range(3, 8), OPTIONS))],
    ids=str,
)
def test_scores_groups_and_repeats_never_contradict_their_threshold(seed: int, options: dict[str, Any]) -> None:
    """Drops of about the size of the threshold, so that both verdicts occur and the formula and the test part now and then."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 60))
    before = rng.random(n).round(2)
    drop = rng.normal(0.06 * (1 if options.get("higher_is_better", True) else -1), 0.15, n).round(2)
    after = np.clip(before - drop, 0, 1)
    group = [f"g{i % max(3, n // 4)}" for i in range(n)]
    repeated = [{"id": f"q{i}", "repeat": r, "score": float(rng.random() < before[i])} for i in range(n) for r in range(3)]
    once = [{"id": f"q{i}", "repeat": 0, "score": float(rng.random() < after[i])} for i in range(n)]
    tasks = {
        "scores": (rows(before), rows(after)),
        "groups": (rows(before, group=group), rows(after, group=group)),
        "repeats": (repeated, once),
    }
    for name, (reference, run) in tasks.items():
        sy.record(reference, task=name, model="m", metric="mean", deterministic=True)
        verdict = sy.check(run, task=name, model="m", draws=500, **options)
        assert agrees(verdict, verdict.higher_is_better), (name, verdict.threshold, verdict.candidate["value"], verdict.p_value)
        if verdict.threshold is None:
            assert any("threshold" in said or "no outcome" in said for said in verdict.warnings), verdict.warnings


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", ["macro_f1", "f1", "mcc", "auc", "brier", "log_loss"])
def test_label_and_probability_metrics_never_contradict_their_threshold(seed: int, metric: str) -> None:
    rng = np.random.default_rng(seed)
    n = 60
    truth = rng.random(n) < 0.5

    def run(noise: float) -> list[dict[str, Any]]:
        p = np.clip(0.5 + 0.35 * np.where(truth, 1, -1) + rng.normal(0, noise, n), 0.02, 0.98).round(3)
        return [
            {"id": f"q{i}", "truth": "ya" if truth[i] else "no", "prediction": "ya" if p[i] > 0.5 else "no", "probability": float(p[i])}
            for i in range(n)
        ]

    sy.record(run(0.2), task="t", model="m", metric=metric, positive="ya", deterministic=True)
    verdict = sy.check(run(0.35), task="t", model="m", draws=500)
    assert agrees(verdict, verdict.higher_is_better), (verdict.threshold, verdict.candidate["value"], verdict.p_value)


def test_a_margin_is_refused_for_a_table_metric_instead_of_testing_right_and_wrong() -> None:
    labels = ["a", "b"] * 20
    run = [{"id": f"q{i}", "truth": t, "prediction": t if i % 5 else "a"} for i, t in enumerate(labels)]
    sy.record(run, task="t", model="m", metric="macro_f1", deterministic=True)
    with pytest.raises(sy.SteelyardError, match=r"A margin \(here 0\.01\) needs right or wrong, a mean of scores, or a ratio of sums"):
        sy.check(run, task="t", model="m", margin=0.01)
