"""What can be measured can be recorded and checked, or is refused with the true reason: every metric on every kind of source."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steelyard as sy
from answers import Command
from cases import seldom
from steelyard.errors import SteelyardError
from steelyard.metrics.catalogue import AVERAGES, CATALOGUE, parse
from steelyard.questions.suite.check_suite import check_suite

Rows = list[dict[str, Any]]
N = 60


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def metrics() -> list[str]:
    """Every name of the catalogue, with its averages and a parameter where it needs one."""
    out: list[str] = []
    for base, metric in CATALOGUE.items():
        plain = [f"{base}{k}" for k in (1, 3, 5)] if base.startswith("pass") else ["fbeta:2"] if base == "fbeta" else [base]
        out += plain
        if metric.of_class:
            out += [f"{average}_{plain[0]}" for average in AVERAGES]
    return out


def labels(rng: np.random.Generator, i: int) -> dict[str, Any]:
    truth = i % 3 == 0
    p = float(np.clip(0.5 + (0.3 if truth else -0.3) + rng.normal(0, 0.3), 0.02, 0.98))
    return {"truth": "ya" if truth else "no", "prediction": "ya" if p > 0.5 else "no", "probability": round(p, 3)}


def numbers(rng: np.random.Generator, i: int) -> dict[str, Any]:
    return {"truth": round(10 + 0.37 * i, 3), "prediction": round(10 + 0.37 * i + float(rng.normal(0, 1)), 2)}


def bits(rng: np.random.Generator, i: int) -> dict[str, Any]:
    return {"score": int(rng.random() < 0.7)}


def scores(rng: np.random.Generator, i: int) -> dict[str, Any]:
    return {"score": round(float(rng.random()), 2)}


def sums(rng: np.random.Generator, i: int) -> dict[str, Any]:
    return {"errors": int(rng.integers(0, 5)), "words": 5 + 7 * i % 15}  # the words of a text are the same in every run


MAKERS: dict[str, Callable[[np.random.Generator, int], dict[str, Any]]] = {
    "labels": labels,
    "numbers": numbers,
    "bits": bits,
    "scores": scores,
    "sums": sums,
}
DESIGNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "five repeats": {"repeats": 5},
    "groups": {"groups": 14},  # every third item is positive: each group has some
    "repeats in groups": {"repeats": 3, "groups": 14},
    "weights": {"weights": True},
    "no ids": {"ids": False},
}
KINDS = [(maker, design) for maker in MAKERS for design in DESIGNS]
# Every kind of outcome and every design, by those that are quick.
OFTEN = [
    *[(maker, "plain") for maker in MAKERS if maker != "numbers"],
    *[("numbers", "no ids"), ("bits", "five repeats"), ("sums", "five repeats"), ("scores", "groups"), ("bits", "groups")],
    *[("sums", "repeats in groups"), ("labels", "weights"), ("scores", "weights"), ("scores", "repeats in groups")],
]


def source(maker: str, design: str) -> Rows:
    rng = np.random.default_rng(0)
    wanted = DESIGNS[design]
    out = []
    for repeat in range(wanted.get("repeats", 1)):
        for i in range(N):
            row = {"id": f"q{i}"} if wanted.get("ids", True) else {}
            row |= {"repeat": repeat} if "repeats" in wanted else {}
            row |= {"group": f"g{i % wanted['groups']}"} if "groups" in wanted else {}
            row |= {"weight": round(0.2 + float(rng.random()), 2)} if "weights" in wanted else {}
            out.append(row | MAKERS[maker](rng, i))
    return out


def options(maker: str, design: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What says how to read the source, and what says what to measure."""
    read: dict[str, Any] = {"ratio": "errors/words"} if maker == "sums" else {}
    read |= {"weight": "weight"} if design == "weights" else {}
    return read, {"positive": "ya"} if maker == "labels" else {}


def measured(rows: Rows, metric: str, maker: str, design: str) -> float | None:
    """The one value that `measure` gives; None where it refuses or the value is undefined."""
    read, about = options(maker, design)
    try:
        return sy.measure(rows, metric=metric, draws=50, **read, **about).estimate
    except SteelyardError:
        return None


def true_reason(metric: str, design: str) -> str | None:
    """Why items cannot be recorded, where they cannot."""
    if design == "weights" and not (parse(metric).scored or parse(metric).mean_of_items):
        ranked = parse(metric).family == "ranking" and metric != "auc"
        return "without an item-by-item test" if ranked else r"Weights are for means over items \(accuracy, error, mean, "
    if design == "no ids":
        return r"The run has no ids, so its items cannot be paired with the next run's\."
    if metric == "auc" and "repeats" in DESIGNS[design]:
        return "several probabilities per item"
    return "without an item-by-item test" if parse(metric).family == "ranking" and metric != "auc" else None


@pytest.mark.parametrize(("maker", "design"), [*OFTEN, *seldom(*(kind for kind in KINDS if kind not in OFTEN))], ids=lambda x: x)
def test_what_can_be_measured_can_be_recorded_and_checked_or_is_refused_with_the_true_reason(maker: str, design: str) -> None:
    rows = source(maker, design)
    read, about = options(maker, design)
    tried = 0
    for metric in metrics():
        value = measured(rows, metric, maker, design)
        if value is None:
            continue
        tried += 1
        task = f"t{tried}"
        reason = true_reason(metric, design)
        if reason is not None:
            with pytest.raises(SteelyardError, match=reason):
                sy.record(rows, task=task, model="m", metric=metric, deterministic=True, **read, **about)
            continue
        recorded = sy.record(rows, task=task, model="m", metric=metric, deterministic=True, **read, **about)
        assert recorded.value == pytest.approx(value, abs=1e-12), metric
        verdict = sy.check(rows, task=task, model="m", draws=200, **read)
        if verdict.verdict == "inconclusive":  # numbers as labels: next to none is right, so none can be lost
            assert (maker, parse(metric).family) == ("numbers", "table")
            assert verdict.needed is not None
            assert verdict.needed["why"].startswith(("no outcome", "at least 5 groups")), metric  # or classes that lie in few groups
        else:
            assert verdict.verdict == "pass", (metric, verdict.conclusion)
        assert verdict.difference["estimate"] == 0, metric
        assert verdict.p_value == 1, metric
    assert tried, "nothing can be measured of this source"


def test_all_metrics_of_the_catalogue_are_tried_somewhere() -> None:
    kinds = {kind: source(*kind) for kind in KINDS}
    tried = {metric for metric in metrics() if any(measured(rows, metric, *kind) is not None for kind, rows in kinds.items())}
    assert tried == set(metrics())


@pytest.mark.parametrize("metric", ["pass@3", "pass^3", "pass@5"])
def test_the_value_alone_of_a_metric_of_tries_needs_a_sigma_and_says_so(metric: str) -> None:
    rows = source("bits", "five repeats")
    sy.record(rows, task="t", model="m", metric=metric, items=False)
    assert sy.check(rows, task="t", model="m", sigma=0.5).verdict == "pass"
    with pytest.raises(SteelyardError, match="sigma"):
        sy.check(rows, task="t", model="m")


@pytest.mark.parametrize(("metric", "maker"), [("spearman", "numbers"), ("average_precision", "labels")])
def test_a_metric_of_ranks_is_recorded_as_a_value_alone(metric: str, maker: str) -> None:
    rows = source(maker, "plain")
    _, about = options(maker, "plain")
    sy.record(rows, task="t", model="m", metric=metric, items=False, **about)
    assert sy.check(rows, task="t", model="m", sigma=0.5).verdict == "pass"


def test_a_drop_in_pass_at_k_is_found_on_the_same_problems() -> None:
    """By hand: each problem is 1 - C(wrong, k)/C(tries, k) by its own tries; the difference is the mean over problems."""
    before = [{"id": f"q{i}", "repeat": r, "score": int(r < 4)} for i in range(20) for r in range(5)]
    after = [{"id": f"q{i}", "repeat": r, "score": int(r < 1)} for i in range(20) for r in range(5)]
    sy.record(before, task="t", model="m", metric="pass@2", deterministic=True)
    verdict = sy.check(after, task="t", model="m")
    assert verdict.candidate["value"] == pytest.approx(1 - math.comb(4, 2) / math.comb(5, 2))
    assert verdict.reference["value"] == pytest.approx(1.0)
    assert verdict.verdict == "regression"
    longer = [-0.6] * 20 + [-1, 1]  # a problem at either end of the range is added
    assert verdict.p_value == pytest.approx(stats.ttest_1samp(longer, 0, alternative="less").pvalue)
    few = [row for row in after if row["repeat"] == 0]
    with pytest.raises(SteelyardError, match="pass@2 needs 2 tries of every problem; 20 of 20 problems have fewer,"):
        sy.check(few, task="t", model="m")


def test_compare_takes_pass_at_k_too() -> None:
    a, b = source("bits", "five repeats"), source("bits", "five repeats")
    assert sy.compare(a, b, metric="pass@3").difference.estimate == 0


def test_a_class_metric_without_its_class_says_how_to_name_it() -> None:
    with pytest.raises(SteelyardError, match=r"positive=LABEL.*macro_f1"):
        sy.record(source("labels", "plain"), task="t", model="m", metric="f1")


def test_an_undefined_average_says_why() -> None:
    rows = [{"id": f"q{i}", "truth": "abc"[i % 3], "prediction": "ab"[i % 2]} for i in range(30)]
    with pytest.raises(SteelyardError, match="no value of macro_precision"):
        sy.record(rows, task="t", model="m", metric="macro_precision")


# --ratio, wherever a run is judged


def write(name: str, rows: Rows) -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return name


def test_the_commands_record_and_check_take_ratio(steelyard: Command) -> None:
    write("a.jsonl", source("sums", "plain"))
    worse = [{**row, "errors": row["errors"] + 2} for row in source("sums", "plain")]
    write("b.jsonl", worse)
    ask = ("--task", "t", "--model", "m", "--ratio", "errors/words")
    assert steelyard("record", "a.jsonl", *ask).code == 0
    assert steelyard("check", "a.jsonl", *ask).code == 0
    answer = steelyard("check", "b.jsonl", *ask, "--format", "json")
    assert (answer.code, answer.json["metric"], answer.json["higher_is_better"]) == (1, "ratio", False)
    assert steelyard("check", "a.jsonl", *ask[:4]).code == 0  # the entry says which columns
    entry = Path("references/t.yaml")
    entry.write_text(entry.read_text().replace("    sums: errors/words\n", ""))
    lacking = steelyard("check", "a.jsonl", *ask[:4])
    assert lacking.code == 3
    assert "--ratio ABOVE/BELOW" in lacking.err


def test_a_suite_file_takes_ratio() -> None:
    write("a.jsonl", source("sums", "plain"))
    sy.record("a.jsonl", task="t", model="m", ratio=("errors", "words"), deterministic=True)
    for line in ('ratio = "errors/words"', 'ratio = ["errors", "words"]', 'columns = {ratio = "errors/words"}'):
        Path("s.toml").write_text(f'[[checks]]\ntask = "t"\nmodel = "m"\nresult = "a.jsonl"\n{line}\n', encoding="utf-8")
        assert check_suite("s.toml").verdict == "pass"


def test_perplexity_is_recorded_and_checked() -> None:
    rows = [{"id": f"q{i}", "loss": 30.0 + i % 7, "words": 20} for i in range(50)]
    recorded = sy.record(rows, task="t", model="m", metric="perplexity", ratio="loss/words", deterministic=True)
    assert recorded.value == pytest.approx(math.exp(sum(row["loss"] for row in rows) / 1000))
    assert sy.check(rows, task="t", model="m", ratio="loss/words").verdict == "pass"
    worse = [{**row, "loss": row["loss"] + 3} for row in rows]
    assert sy.check(worse, task="t", model="m", ratio="loss/words").verdict == "regression"
