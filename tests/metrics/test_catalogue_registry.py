"""A metric is one object: registered here and nowhere else, it is measured, compared, guarded, learnt by, completed and documented."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import steelyard as sy
from stand_ins import needs_sphinx
from steelyard.cli.completion import NAMES
from steelyard.cli.main import steelyard
from steelyard.metrics.base import Metric
from steelyard.metrics.catalogue import CATALOGUE
from steelyard.metrics.labels import LABELS, LabelMetric
from steelyard.metrics.ranking import AUC
from steelyard.metrics.repeats import PASS_HAT, pass_hat_k
from steelyard.metrics.sums import QUOTIENT, SumsMetric, one_number
from steelyard.metrics.table import Ratio

ROOT = Path(__file__).parents[2]
MISSED = LabelMetric(
    base="miss_rate",
    aliases=("fnr",),
    says="missed among those of the class",
    higher_is_better=False,
    of_class=True,
    ratio=Ratio((-1, 1, 0, 0), (0, 1, 0, 0)),
    undefined="no item has the class as its truth",
)
CUBES = SumsMetric(
    base="cubed_error",
    says="mean cubed absolute error of numbers",
    high=None,
    higher_is_better=False,
    numeric=True,
    adds=lambda truth, prediction: one_number(abs(truth - prediction) ** 3),
    statistic=QUOTIENT,
    mean_of_items=True,
    interval="t",
    in_groups="t",
)
RNG = np.random.default_rng(5)
TRUTH = np.where(RNG.random(120) < 0.4, "yes", "no")
NUMBERS = RNG.normal(10, 3, 120)


def said(wrong: float) -> list[str]:
    luck = np.random.default_rng(11).random(120)
    return [("no" if t == "yes" else "yes") if u < wrong else str(t) for t, u in zip(TRUTH, luck, strict=True)]


def guessed(noise: float) -> list[float]:
    return list(NUMBERS + np.random.default_rng(11).normal(0, noise, 120))


@pytest.fixture(params=["labels", "sums"])
def case(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """The metric, two runs of it, what it is asked with, and its value by hand."""
    metric: Metric = MISSED if request.param == "labels" else CUBES
    monkeypatch.setitem(CATALOGUE, metric.base, metric)
    monkeypatch.chdir(tmp_path)
    truth: list[Any] = TRUTH.tolist() if metric is MISSED else NUMBERS.tolist()
    make: Callable[[float], list[Any]] = said if metric is MISSED else guessed
    runs = [{"id": [f"i{i}" for i in range(120)], "truth": truth, "prediction": make(size)} for size in (0.1, 0.4)]
    return {"metric": metric, "runs": runs, "more": {"positive": "yes"} if metric is MISSED else {}}


def by_hand(run: dict[str, list[Any]], metric: Metric) -> float:
    pairs = list(zip(run["truth"], run["prediction"], strict=True))
    if metric is MISSED:
        return sum(t == "yes" and p == "no" for t, p in pairs) / sum(t == "yes" for t, _ in pairs)
    return sum(abs(t - p) ** 3 for t, p in pairs) / len(pairs)


def test_it_is_measured(case: dict[str, Any]) -> None:
    row = sy.measure(case["runs"][0], metric=case["metric"].name, **case["more"]).row
    assert row.estimate == pytest.approx(by_hand(case["runs"][0], case["metric"]))
    assert row.interval is not None
    assert row.interval.low < row.estimate < row.interval.high
    assert row.interval.method == ("wilson" if case["metric"] is MISSED else "t")
    assert row.standard_error > 0
    assert not row.higher_is_better


def test_it_is_measured_in_groups(case: dict[str, Any]) -> None:
    run = {**case["runs"][0], "group": [f"g{i % 24}" for i in range(120)]}
    row = sy.measure(run, metric=case["metric"].name, **case["more"]).row
    assert row.estimate == pytest.approx(by_hand(run, case["metric"]))
    assert row.interval is not None


def test_it_is_compared(case: dict[str, Any]) -> None:
    a, b = case["runs"]
    found = sy.compare(a, b, metric=case["metric"].name, **case["more"])
    assert found.difference.estimate == pytest.approx(by_hand(b, case["metric"]) - by_hand(a, case["metric"]))
    assert "worse" in found.conclusion
    assert sy.compare(a, b, metric=case["metric"].name, design="unpaired", **case["more"]).difference.interval is not None


def test_it_is_recorded_and_guarded(case: dict[str, Any]) -> None:
    rows = [[dict(zip(run, values, strict=True)) for values in zip(*run.values(), strict=True)] for run in case["runs"]]
    sy.record(rows[0], task="t", model="m", metric=case["metric"].name, **case["more"])
    assert sy.check(rows[0], task="t", model="m").verdict == "pass"
    assert sy.check(rows[1], task="t", model="m").verdict == "regression"


def test_learners_are_compared_by_it(case: dict[str, Any]) -> None:
    class Always:
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def fit(self, x: Any, y: Any) -> Always:
            return self

        def predict(self, x: Any) -> Any:
            return np.full(len(x), self.answer)

    one, other = (Always("yes"), Always("no")) if case["metric"] is MISSED else (Always(10.0), Always(20.0))
    found = sy.compare_learners(
        one, other, np.zeros((120, 1)), np.array(case["runs"][0]["truth"]), metric=case["metric"].name, **case["more"]
    )
    assert (found.difference.estimate or 0) > 0
    assert found.baseline.estimate == (0.0 if case["metric"] is MISSED else pytest.approx(np.mean(abs(NUMBERS - 10) ** 3)))


def test_the_command_and_its_json_know_it(case: dict[str, Any]) -> None:
    run, metric = case["runs"][0], case["metric"]
    lines = [f"{i},{t},{p}" for i, t, p in zip(run["id"], run["truth"], run["prediction"], strict=True)]
    Path("a.csv").write_text("\n".join(["id,truth,prediction", *lines]) + "\n", encoding="utf-8")
    positive = ["--positive", "yes"] if case["more"] else []
    answer = CliRunner().invoke(steelyard, ["measure", "a.csv", "--metric", metric.name, *positive, "--format", "json"])
    assert answer.exit_code == 0, answer.output
    (row,) = json.loads(answer.stdout)["metrics"]
    assert (row["metric"], row["estimate"]) == (metric.name, pytest.approx(by_hand(run, metric)))
    wrong = CliRunner().invoke(steelyard, ["measure", "a.csv", "--metric", metric.name[:-1]])
    assert f"Did you mean {metric.name}?" in str(wrong.exception)


def test_the_shell_completes_it_and_the_page_of_names_has_it(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    metric = case["metric"]
    is_listed(metric, monkeypatch)
    assert (f"macro_{metric.name}" in dict(NAMES["--metric"]("measure"))) == (metric is MISSED)


def is_listed(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the shell, by the help of --metric and on the page of names."""
    assert dict(NAMES["--metric"]("measure"))[metric.shown] == metric.says
    assert f" {metric.shown}" in " ".join(CliRunner().invoke(steelyard, ["measure", "--help"]).stdout.split())
    needs_sphinx()
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    import textbook

    assert textbook.catalogues()["Metrics"][metric.shown] == f"{metric.says}."


def rows_by_command(file: str, *words: str) -> list[dict[str, Any]]:
    answer = CliRunner().invoke(steelyard, ["measure", file, *words, "--format", "json"], catch_exceptions=False)
    found: list[dict[str, Any]] = json.loads(answer.stdout)["metrics"]
    return found


def test_a_metric_of_an_order_is_one_object(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no two scores are equal it is the AUC, and has its variance; where they are, it has lost."""

    def strictly(positives: Any, negatives: Any) -> Any:
        below = np.cumsum(negatives) - negatives
        return (positives * below).sum() / (positives.sum() * negatives.sum())

    strict = replace(AUC, base="strict_auc", aliases=(), says="chance that a positive scores higher", of_counts=strictly, comparable=False)
    monkeypatch.setitem(CATALOGUE, strict.base, strict)
    monkeypatch.chdir(tmp_path)
    truth, scores = [0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.2, 0.5, 0.4, 0.3, 0.5, 0.7, 0.8]
    lines = [f"{i},{t},{p}" for i, (t, p) in enumerate(zip(truth, scores, strict=True))]
    Path("a.csv").write_text("\n".join(["id,truth,probability", *lines]) + "\n", encoding="utf-8")
    (row,) = rows_by_command("a.csv", "--metric", "strict_auc", "--positive", "1")
    assert (row["metric"], row["estimate"], row["interval"]["method"]) == ("strict_auc", 13 / 16, "delong-wilson")
    assert sy.measure("a.csv", metric="auc", positive=1).row.estimate == 13.5 / 16
    for way in ({}, {"design": "unpaired"}):
        with pytest.raises(sy.UsageError, match="strict_auc"):  # it says that it cannot be compared
            sy.compare("a.csv", "a.csv", metric="strict_auc", positive=1, **way)
    is_listed(strict, monkeypatch)


def test_a_metric_of_repeats_is_one_object(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The chance that k tries all fail, which a lower number is better of; its number comes with its name."""
    failing = replace(
        PASS_HAT,
        base="fail@",
        example="fail@5",
        says="chance that all of k tries fail, as in fail@5",
        higher_is_better=False,
        of_tries=lambda right, tries, k: pass_hat_k(tries - right, tries, k),
    )
    monkeypatch.setitem(CATALOGUE, failing.base, failing)
    monkeypatch.chdir(tmp_path)
    for name, right in (("a", 3), ("b", 1)):
        lines = [f"{i},{k},{int(k < right + i % 2)}" for i in range(30) for k in range(4)]
        Path(f"{name}.csv").write_text("\n".join(["id,repeat,score", *lines]) + "\n", encoding="utf-8")
    (row,) = rows_by_command("b.csv", "--metric", "fail@2")  # 3 and 2 of 4 fail: 3 / 6 and 1 / 6 of the pairs
    assert (row["metric"], row["estimate"], row["higher_is_better"]) == ("fail@2", pytest.approx((3 / 6 + 1 / 6) / 2), False)
    found = sy.compare("a.csv", "b.csv", metric="fail@2")
    assert found.difference.estimate == pytest.approx(1 / 3)
    assert "worse" in found.conclusion
    sy.record("a.csv", task="t", model="m", metric="fail@2")
    assert [sy.check(run, task="t", model="m").verdict for run in ("a.csv", "b.csv")] == ["pass", "regression"]
    is_listed(failing, monkeypatch)


def test_averages_and_aliases_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CATALOGUE, MISSED.base, MISSED)
    run = {"truth": ["yes", "yes", "no", "no", "no"], "prediction": ["yes", "no", "no", "yes", "no"]}
    assert sy.measure(run, metric="macro_miss_rate").row.estimate == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert sy.measure(run, metric="fnr", positive="no").row.estimate == pytest.approx(1 / 3)


def test_what_a_metric_of_labels_declares_fits_its_arithmetic() -> None:
    for metric in LABELS:
        assert metric.of_class == (metric.ratio is not None and metric.always is None), metric.base
        assert metric.right_or_wrong == metric.mean_of_items == (metric.share is not None), metric.base
        assert metric.over_classes == (metric.always is not None or (metric.whole is not None and metric.share is None)), metric.base
