"""The standard error beside every interval that has one: the numbers of lm-eval, Inspect, statsmodels and scipy."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import steelyard as sy
from cases import every
from steelyard.questions.compare.compare import compare_preferences

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


@pytest.mark.parametrize("metric", ["micro_f1", "f1"])  # the others: test_standard_errors.py
def test_label_metrics_have_the_spread_of_redrawn_items(metric: str) -> None:
    truth = RNG.choice(["a", "b", "c"], 400)
    said = np.where(RNG.random(400) < 0.8, truth, "a")
    found = sy.measure(truth.tolist(), said.tolist(), metric=metric, positive="a").row
    right, as_a = truth == said, (truth == "a").astype(int) + (said == "a")
    rows = RNG.integers(0, 400, (1500, 400))
    drawn = right[rows].mean(axis=1)  # pooled over classes, F1 is accuracy
    if metric == "f1":
        drawn = 2 * (as_a == 2)[rows].sum(axis=1) / as_a[rows].sum(axis=1)
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
        (["compare", "--flips", "70,5,12,13"], "standard error: baseline 0.0435; candidate 0.0386; difference 0.0408"),
    ):
        with pytest.raises(SystemExit):
            main([*words, "--details"])
        assert shown in capsys.readouterr().out
        with pytest.raises(SystemExit):
            main(words)
        assert "standard error" not in capsys.readouterr().out


SCORES = {"id": [str(i) for i in range(60)], "score": np.random.default_rng(3).random(60).round(3).tolist()}
MOVED = {**SCORES, "score": [round(1 - x * x, 3) for x in SCORES["score"]]}
RIGHT = {**SCORES, "score": [float(x > 0.4) for x in SCORES["score"]]}
WRONG = {**SCORES, "score": [float(x > 0.6) for x in SCORES["score"]]}
LABELS = {**SCORES, "truth": ["a", "b", "c"] * 20, "prediction": ["a", "b", "b", "a", "c", "c"] * 10}
OTHERS = {**LABELS, "prediction": ["a", "b", "c", "b"] * 15}
CHANCES = {
    "id": SCORES["id"],
    "truth": [0, 1] * 30,
    "probability": [(3 * x + y) / 4 for x, y in zip(SCORES["score"], [0, 1] * 30, strict=True)],
}
GUESSES = {**CHANCES, "probability": SCORES["score"]}
GROUPED = [{**side, "group": [str(i // 4) for i in range(60)]} for side in (SCORES, MOVED, LABELS, OTHERS)]
TRIES = [{"id": [str(i // 3) for i in range(60)], "repeat": [str(i % 3) for i in range(60)], "score": s["score"]} for s in (RIGHT, WRONG)]


ALONE = [
    ("mean", SCORES, MOVED),
    ("accuracy", RIGHT, WRONG),
    ("error", RIGHT, WRONG),
    *((metric, LABELS, OTHERS) for metric in ("recall", "precision", "f1", "macro_f1", "mcc", "micro_f1")),
    ("auc", CHANCES, GUESSES),
    ("brier", CHANCES, GUESSES),
]
TOGETHER = [("mean", *GROUPED[:2]), ("macro_f1", *GROUPED[2:]), ("recall", *GROUPED[2:]), ("pass@2", *TRIES)]


@every(
    ("design", "metric", "a", "b"),
    [*(("paired", *each) for each in (*ALONE, *TOGETHER)), *(("unpaired", *each) for each in ALONE)],
)
def test_both_systems_of_a_comparison_have_the_standard_error_that_measure_gives(design: str, metric: str, a: dict, b: dict) -> None:
    how = {"metric": metric} | ({"positive": "b"} if metric in ("recall", "precision", "f1") else {})
    found = sy.compare(a, b, design=design, **how)
    for system, items in ((found.baseline, a), (found.candidate, b)):
        alone = sy.measure(items, **how).row
        assert alone.standard_error is not None
        assert system.estimate == pytest.approx(alone.estimate, rel=1e-12)
        assert system.standard_error == pytest.approx(alone.standard_error, rel=1e-9)
        assert system.to_dict()["standard_error"] == system.standard_error
    if design == "unpaired":
        both = math.hypot(found.baseline.standard_error or 0, found.candidate.standard_error or 0)
        assert found.difference.standard_error == pytest.approx(both, rel=1e-9)


def test_a_system_without_spread_has_none() -> None:
    found = sy.compare(sy.Counts.of(70, 70), sy.Counts.of(48, 80))
    assert found.baseline.standard_error is None
    assert found.baseline.interval is not None
    assert found.candidate.standard_error is not None
    preferred = compare_preferences(40, 12, 28)
    assert preferred.candidate.standard_error == pytest.approx(stats.sem([1] * 40 + [0] * 40), rel=1e-12)


def test_the_systems_of_a_leaderboard_have_theirs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from steelyard.cli.main import main

    sides = {"a": SCORES, "b": MOVED, "c": {**SCORES, "score": MOVED["score"][::-1]}}
    board = sy.rank(*sides.values(), names=list(sides))
    for row in board.to_dict()["rows"]:
        assert row["standard_error"] == pytest.approx(stats.sem(sides[row["name"]]["score"]), rel=1e-12)
    for name, side in sides.items():
        rows = zip(side["id"], side["score"], strict=True)
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,score", *(f"{i},{x}" for i, x in rows)]))
    for more in (["--details"], []):
        with pytest.raises(SystemExit):
            main(["compare", *(str(tmp_path / f"{name}.csv") for name in sides), *more])
        shown = capsys.readouterr().out
        assert ("standard error: " in shown) == bool(more)
        assert not more or all(f"{name} {stats.sem(side['score']):.3g}" in shown for name, side in sides.items())


def test_an_answer_that_is_read_back_keeps_it_and_one_of_the_first_version_is_read_without() -> None:
    from steelyard.results.catalogue import result_of

    for result in (sy.compare(SCORES, MOVED), sy.rank(SCORES, MOVED, RIGHT)):
        plain = json.loads(json.dumps(result.to_dict()))
        again = result_of(plain)
        assert json.loads(json.dumps(again.to_dict())) == plain
        sides = plain["rows"] if "rows" in plain else [plain["baseline"], plain["candidate"]]
        for side in sides:
            del side["standard_error"]
        old = result_of(plain)
        assert str(old) == str(again)


def test_spearman_has_bonett_and_wrights_and_it_is_the_spread_of_redrawn_samples() -> None:
    """(1 - rho^2) sqrt((1 + rho^2 / 2) / (n - 3)); 2,000 normal samples of 200 with rho .6, within 10%: it is of first order."""
    draw = np.random.default_rng(5)
    x = draw.normal(size=(2000, 200))
    y = 0.6 * x + 0.8 * draw.normal(size=(2000, 200))
    found = sy.measure({"truth": x[0].tolist(), "prediction": y[0].tolist()}, metric="spearman").row
    rho = stats.spearmanr(x[0], y[0]).statistic
    assert found.standard_error == pytest.approx((1 - rho**2) * math.sqrt((1 + rho**2 / 2) / 197), rel=1e-12)
    ranks = [np.argsort(np.argsort(side, axis=1), axis=1) for side in (x, y)]
    rhos = 1 - 6 * ((ranks[0] - ranks[1]) ** 2).sum(axis=1) / (200 * (200**2 - 1))
    mean = float(rhos.mean())
    assert (1 - mean**2) * math.sqrt((1 + mean**2 / 2) / 197) == pytest.approx(rhos.std(), rel=0.1)
    perfect = sy.measure({"truth": [1.5, 2.5, 3, 4, 7], "prediction": [1, 2, 3, 4, 9.5]}, metric="spearman").row
    assert perfect.standard_error is None


def test_records_of_every_eval_ever_have_it() -> None:
    about = {"model": "lab/small", "evaluation": "sums", "organization": "lab", "retrieved": "1700000000"}

    def written(data: object, **how: object) -> object:
        record = json.loads(next(iter(sy.every_eval_ever(data, about=about, **how).values())))
        return [each["score_details"]["uncertainty"].get("standard_error") for each in record["evaluation_results"]]

    assert written(SCORES) == [{"value": pytest.approx(stats.sem(SCORES["score"]), rel=1e-12), "method": "analytic"}]
    measured = sy.measure(LABELS, metric=["accuracy", "macro_f1"])
    assert written(measured) == [{"value": pytest.approx(row.standard_error, rel=1e-9), "method": "analytic"} for row in measured.rows]
    assert written(sy.Counts.of(70, 70)) == [None]
