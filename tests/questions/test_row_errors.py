"""The standard error beside every interval that has one: the numbers of lm-eval, Inspect, statsmodels and scipy."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import steelyard as sy

LOGS = Path(__file__).parents[1] / "read" / "logs"
RNG = np.random.default_rng(11)


def test_accuracy_has_the_standard_error_of_lm_eval() -> None:
    """mean_stderr of lm_eval/api/metrics.py, on the scores of a samples file: the sample standard deviation over sqrt(n)."""
    log = LOGS / "lm_eval" / "dummy" / "first"
    samples = next(log.glob("samples_colour_mc_*.jsonl"))
    scores = [json.loads(line)["acc"] for line in samples.read_text().splitlines()]
    mean = sum(scores) / len(scores)
    stddev = math.sqrt(sum((x - mean) ** 2 for x in scores) / (len(scores) - 1))
    found = sy.measure(log, log_task="colour_mc", score="acc")
    assert found.estimate == pytest.approx(mean)
    assert found.standard_error == pytest.approx(stddev / math.sqrt(len(scores)), rel=1e-12)


@pytest.mark.parametrize("name", ["em", "f1"])
def test_means_have_the_standard_errors_that_lighteval_wrote(name: str) -> None:
    results = next((LOGS / "lighteval" / "results" / "steel" / "model-a").glob("*.json"))
    theirs = json.loads(results.read_text())["results"]["sums|0"][f"{name}_stderr"]
    found = sy.measure(LOGS / "lighteval" / "details" / "steel" / "model-a", score=name, metric="mean")
    assert found.standard_error == pytest.approx(theirs, rel=1e-9)


def test_means_have_inspects_standard_error_and_its_clustered_one() -> None:
    written = json.loads((LOGS / "inspect" / "own.json").read_text())["arith"]
    own = {(row["name"], row["metric"], *row["params"].items()): row["value"] for row in written}
    log = LOGS / "inspect" / "arith.eval"
    closeness = sy.measure(log, scorer="closeness", metric="mean")
    items = sy.measure(log, scorer="closeness", metric="mean", group="none") if "group" in closeness.roles else closeness
    assert items.row.standard_error == pytest.approx(own["closeness", "stderr"], rel=1e-9)


def test_groups_have_inspects_clustered_standard_error() -> None:
    """Inspect's stderr(cluster=...): sqrt(sum of squared cluster sums of deviations x C / (C - 1)) / n."""
    score, cluster = RNG.random(60), np.repeat(np.arange(12), 5)
    gap = np.array([(score - score.mean())[cluster == c].sum() for c in range(12)])
    theirs = math.sqrt(float(gap @ gap) * 12 / 11) / 60
    found = sy.measure(score.tolist(), group=[str(c) for c in cluster], metric="mean").row
    assert found.standard_error == pytest.approx(theirs, rel=1e-12)
    right = (score > 0.4).astype(float)
    gap = np.array([(right - right.mean())[cluster == c].sum() for c in range(12)])
    found = sy.measure(right.tolist(), group=[str(c) for c in cluster], metric="accuracy").row
    assert found.standard_error == pytest.approx(math.sqrt(float(gap @ gap) * 12 / 11) / 60, rel=1e-12)


def test_a_mean_has_scipys_standard_error() -> None:
    scores = RNG.normal(5, 2, 80)
    assert sy.measure(scores.tolist()).standard_error == pytest.approx(stats.sem(scores), rel=1e-12)
    found = sy.measure(sy.Counts.of(85, 100))
    assert found.standard_error == pytest.approx(stats.sem([1] * 85 + [0] * 15), rel=1e-12)


def test_a_class_has_the_error_of_its_own_denominator_and_f1_takahashis() -> None:
    table = sy.Counts.binary(tp=31, fp=5, fn=2, tn=62)
    found = sy.measure(table)
    f = 62 / 69
    assert found["precision"].standard_error == pytest.approx(math.sqrt(31 / 36 * 5 / 36 / 36), rel=1e-12)
    assert found["f1"].standard_error == pytest.approx(math.sqrt(f * (1 - f) * (2 - f) / 69), rel=1e-12)


@pytest.mark.parametrize("metric", ["macro_f1", "kappa", "mcc", "balanced_accuracy", "micro_f1", "f1", "accuracy"])
def test_label_metrics_have_the_spread_of_redrawn_items(metric: str) -> None:
    truth = RNG.choice(["a", "b", "c"], 400)
    said = np.where(RNG.random(400) < 0.8, truth, "a")
    found = sy.measure(truth.tolist(), said.tolist(), metric=metric, positive="a").row
    drawn = []
    for _ in range(1500):
        rows = RNG.integers(0, 400, 400)
        drawn.append(sy.measure(truth[rows].tolist(), said[rows].tolist(), metric=metric, positive="a", interval="delta").row.estimate)
    assert found.standard_error == pytest.approx(np.std(drawn), rel=4 / math.sqrt(3000) + 0.01)


def test_a_paired_difference_has_the_error_of_its_items() -> None:
    a, b = RNG.random(50), RNG.random(50)
    found = sy.compare(a.tolist(), b.tolist())
    assert found.difference.standard_error == pytest.approx(stats.sem(b - a), rel=1e-12)
    flips = sy.compare(sy.JointCounts.flips(both=70, baseline_only=5, candidate_only=12, neither=13))
    gaps = [0] * 83 + [-1] * 5 + [1] * 12
    assert flips.difference.standard_error == pytest.approx(stats.sem(gaps), rel=1e-12)


def test_different_items_have_the_error_of_both() -> None:
    found = sy.compare(sy.Counts.of(56, 70), sy.Counts.of(48, 80))
    ours = found.difference.standard_error
    assert ours == pytest.approx(math.hypot(stats.sem([1] * 56 + [0] * 14), stats.sem([1] * 48 + [0] * 32)), rel=1e-12)


def test_it_is_in_the_json_beside_the_interval_and_null_where_the_data_show_no_spread() -> None:
    plain = sy.measure(sy.Counts.of(85, 100)).to_dict()
    assert plain["metrics"][0]["standard_error"] == pytest.approx(0.0358870, rel=1e-5)
    assert sy.Measurement.from_dict(plain).standard_error == plain["metrics"][0]["standard_error"]
    assert sy.measure(sy.Counts.of(100, 100)).to_dict()["metrics"][0]["standard_error"] is None
    compared = sy.compare(sy.JointCounts.flips(both=9, baseline_only=0, candidate_only=0, neither=1)).to_dict()
    assert compared["difference"]["standard_error"] is None


def test_a_file_of_the_first_version_is_read_without_one() -> None:
    plain = sy.measure(sy.Counts.of(85, 100)).to_dict()
    del plain["metrics"][0]["standard_error"]
    assert sy.Measurement.from_dict(plain).row.standard_error is None


def test_auc_has_delongs() -> None:
    truth, p = [0, 1] * 30, RNG.random(60)
    found = sy.measure({"truth": truth, "probability": (p + np.array(truth) * 0.4).clip(0, 1).tolist()}, metric="auc").row
    assert found.standard_error is not None
    assert 0.02 < found.standard_error < 0.09


def test_the_text_shows_it_when_details_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    from steelyard.cli.main import main

    for words, shown in (
        (["measure", "--counts", "85/100"], "standard error: accuracy 0.0359"),
        (["compare", "--flips", "70,5,12,13"], "standard error: difference 0.0408"),
    ):
        with pytest.raises(SystemExit):
            main([*words, "--details"])
        assert shown in capsys.readouterr().out
        with pytest.raises(SystemExit):
            main(words)
        assert "standard error" not in capsys.readouterr().out
