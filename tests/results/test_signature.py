"""The signature lets someone else repeat the number: rebuilt from the line alone, with the same data, bit by bit.

What belongs to the data (which column is the group, the weight, the slice) is handed over with the data.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from cases import every
from steelyard.results import signature
from steelyard.version import __version__


def options_of(line: str) -> tuple[list[str], list[str | None], dict[str, Any]]:
    """(metrics, the interval of each, all other options) that a signature tells."""
    facts = signature.parse(line)
    metrics = facts["metric"]
    intervals: list[str | None] = [None if name == "none" else name for name in facts["interval"]]
    if len(intervals) == 1:
        intervals *= len(metrics)
    options: dict[str, Any] = {"confidence_level": float(facts["level"][0])}
    for key, read in (("side", str), ("prior", float), ("draws", int), ("seed", int), ("absent", str), ("missing", str), ("positive", str)):
        if key in facts:
            options[key] = read(facts[key][0])
    if "labels" in facts:
        options["labels"] = facts["labels"]
    if "range" in facts:
        options["range"] = tuple(map(float, facts["range"]))
    return metrics, intervals, options


def replayed(m: sy.Measurement, *data: Any, **columns: Any) -> list[sy.Row]:
    metrics, intervals, options = options_of(m.signature)
    assert len(metrics) == len(intervals)
    rows: list[sy.Row] = []
    for metric, interval in zip(metrics, intervals, strict=True):
        rows += sy.measure(*data, metric=metric, interval=interval, **options, **columns).rows
    return rows


def repeats_itself(*data: Any, columns: dict[str, Any] | None = None, **options: Any) -> None:
    columns = columns or {}
    m = sy.measure(*data, **options, **columns)
    assert m.signature.endswith(f"|steelyard:{__version__}")
    again = replayed(m, *data, **columns)
    assert [row.name for row in again] == [row.name for row in m]
    for one, other in zip(m, again, strict=True):
        assert other.estimate == one.estimate, one.name
        assert other.interval == one.interval, one.name  # bit by bit, method and all


def labels() -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(0)
    truth = rng.choice(["cat", "dog", "owl"], 90, p=[0.5, 0.3, 0.2])
    prediction = np.where(rng.random(90) < 0.75, truth, rng.choice(["cat", "dog", "owl"], 90))
    return truth.tolist(), prediction.tolist()


def scores() -> list[float]:
    return (np.random.default_rng(1).beta(5, 2, 70)).round(3).tolist()


LABEL_OPTIONS: list[dict[str, Any]] = [
    {},
    {"seed": 7},
    {"confidence_level": 0.9},
    {"confidence_level": 0.999},
    {"confidence_level": 1 - 1e-3 / 3},
    {"side": "lower"},
    {"side": "upper", "confidence_level": 0.8},
    {"metric": "macro_f1", "interval": "percentile", "draws": 777, "seed": 3},
    {"metric": "macro_f1", "interval": "bayes"},
    {"metric": ["mcc", "kappa", "balanced_accuracy", "weighted_f1"], "interval": "bayes", "prior": 1},
    {"metric": ["mcc", "accuracy"], "interval": "delta"},
    {"metric": "f1", "positive": "cat", "interval": "bayes", "prior": 2.5},
    {"metric": "f1", "positive": "cat", "interval": "bayes", "prior": 1 / 3},
    {"metric": "f1", "positive": "cat", "interval": "hdi", "prior": 1},
    {"metric": ["precision", "recall", "f1", "fbeta:2", "fbeta:0.5"], "positive": "owl"},
    {"metric": "fbeta:1.23456789", "positive": "owl"},
    {"metric": "fbeta:0.3333333333333333", "positive": "owl", "interval": "delta"},
    {"metric": ["each_f1", "macro_f1", "accuracy"], "labels": ["owl", "cat", "dog"]},
    {"metric": "macro_f1", "labels": ["owl", "cat", "dog", "emu"], "absent": "skip"},
    {"metric": "macro_f1", "labels": ["owl", "cat", "dog", "emu"], "absent": "zero"},
    {"metric": "macro_f1", "labels": ["owl", "cat", "dog", "emu"]},
    {"metric": "accuracy", "interval": "clopper-pearson"},
    {"metric": "accuracy", "interval": "bca", "draws": 2000, "seed": 2**31},
    {"metric": ["micro_f1", "error", "macro_recall"], "draws": 4321},
]


@every("options", LABEL_OPTIONS, ids=str)
def test_labels(options: dict[str, Any]) -> None:
    repeats_itself(*labels(), **options)


SCORE_OPTIONS: list[dict[str, Any]] = [
    {},
    {"range": (0, 1)},
    {"range": (-1, 3), "interval": "wilson-mean"},
    {"range": (0, 1 + 1 / 3), "interval": "wilson-mean"},
    {"range": (-0.1, 1), "interval": "betting", "seed": 5},
    {"interval": "betting"},
    {"interval": "percentile", "draws": 500},
    {"interval": "bca", "seed": 11},
    {"interval": "studentized", "draws": 3000, "seed": 4, "side": "lower"},
    {"side": "upper"},
]


@every("options", SCORE_OPTIONS, ids=str)
def test_scores(options: dict[str, Any]) -> None:
    repeats_itself(scores(), **options)


@pytest.mark.parametrize("policy", ["wrong", "drop"])
def test_missing(policy: str) -> None:
    truth, prediction = labels()
    holes: list[Any] = [None if i % 13 == 0 else p for i, p in enumerate(prediction)]
    repeats_itself(truth, holes, missing=policy)
    repeats_itself([math.nan if i % 9 == 0 else x for i, x in enumerate(scores())], missing=policy, range=(0, 1))
    assert f"|missing:{policy}|" in sy.measure(truth, holes, missing=policy).signature


FALL_BACKS: list[tuple[Any, dict[str, Any]]] = [
    (sy.Counts.table([[18, 0], [0, 19]]), {"metric": "mcc"}),
    (sy.Counts.table([[18, 0], [0, 19]]), {"metric": "mcc", "prior": 1}),
    (sy.Counts.table([[18, 0], [0, 19]]), {"metric": ["mcc", "kappa"], "prior": 2, "seed": 9, "draws": 3000}),
    (sy.Counts.table([[18, 0], [0, 19]]), {"metric": "balanced_accuracy", "prior": 1, "interval": "percentile"}),
    (sy.Counts.of(40, 40), {"interval": "wald"}),
    (sy.Counts.of(0, 40), {"interval": "percentile"}),
    (sy.Counts.of(0, 40), {"interval": "bca"}),
    (sy.Counts.of(40, 40), {"side": "lower"}),
    (sy.Counts.binary(tp=31, fp=5, fn=2), {"metric": ["f1", "fbeta:2", "jaccard"]}),
    (sy.Counts.binary(tp=31, fp=5, fn=2, tn=9), {"metric": ["mcc", "npv"], "interval": "bayes", "prior": 1}),
    ([0.7] * 30, {"interval": "bca"}),
    ([0.7] * 30, {"interval": "t"}),
    ([7.0] * 30, {"interval": "bca"}),
    ([7.0] * 30, {"range": (0, 10)}),
]


@every(("data", "options"), FALL_BACKS, ids=[f"{type(d).__name__}-{o}" for d, o in FALL_BACKS])
def test_where_another_interval_was_given_instead(data: Any, options: dict[str, Any]) -> None:
    repeats_itself(data, **options)


def everything() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    n = 120
    truth = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "id": np.arange(n) // 3,
            "run": np.arange(n) % 3,
            "truth": truth,
            "prediction": np.where(rng.random(n) < 0.8, truth, 1 - truth),
            "score": (rng.random(n) < 0.6).astype(int),
            "probability": np.clip(truth * 0.3 + rng.random(n) * 0.7, 0.01, 0.99).round(3),
            "cluster": np.arange(n) // 5,
            "f": 0.5 + np.arange(n) % 3,
            "errors": rng.integers(0, 4, n),
            "words": rng.integers(5, 15, n),
        }
    )


DESIGNS: dict[str, tuple[list[str], dict[str, Any], dict[str, Any]]] = {
    "groups": (["truth", "prediction", "cluster"], {}, {}),
    "groups, redrawn": (["truth", "prediction", "cluster"], {}, {"interval": "percentile", "metric": ["macro_f1", "mcc"], "seed": 8}),
    "groups, one side": (["truth", "prediction", "cluster"], {}, {"side": "lower", "metric": "accuracy"}),
    "grouped mean": (["probability", "cluster"], {"score": "probability"}, {}),
    "repeats": (["id", "run", "score"], {}, {}),
    "pass": (["id", "run", "score"], {}, {"metric": ["pass@1", "pass@2", "pass^3"]}),
    "weights": (["truth", "prediction", "f"], {"weight": "f"}, {"metric": ["accuracy", "macro_f1"]}),
    "probabilities": (["truth", "probability"], {}, {}),
    "all of probabilities": (["truth", "probability"], {}, {"metric": ["auc", "ap", "brier", "log_loss", "ece"], "seed": 4}),
    "auc redrawn": (["truth", "probability"], {}, {"metric": "auc", "interval": "bca", "draws": 1000}),
    "ratio": (["errors", "words"], {"ratio": "errors/words"}, {}),
    "numbers": (["truth", "probability"], {"truth": "probability", "prediction": "truth"}, {"metric": ["mae", "rmse", "r2", "spearman"]}),
}


@every("name", DESIGNS)
def test_designs(name: str) -> None:
    kept, columns, options = DESIGNS[name]
    repeats_itself(everything()[kept], columns=columns, **options)


def test_the_ratio_is_named() -> None:
    assert "ratio:errors,words" in sy.measure(everything()[["errors", "words"]], ratio="errors/words").signature


def test_seed_none_draws_one_and_prints_it() -> None:
    truth, prediction = labels()
    drawn = sy.measure(truth, prediction, metric="macro_f1", seed=None)
    seed = int(signature.parse(drawn.signature)["seed"][0])
    assert sy.measure(truth, prediction, metric="macro_f1", seed=seed).to_dict() == drawn.to_dict()
    others = {signature.parse(sy.measure(truth, prediction, metric="macro_f1", seed=None).signature)["seed"][0] for _ in range(3)}
    assert len(others) > 1
    repeats_itself(scores(), interval="betting", seed=seed)


def test_a_closed_form_has_no_seed() -> None:
    facts = signature.parse(sy.measure(sy.Counts.of(12, 40), seed=None).signature)
    assert "seed" not in facts
    assert "draws" not in facts
    assert "prior" not in facts


def test_a_slice_has_its_own() -> None:
    truth, prediction = labels()
    data = {"truth": truth, "prediction": prediction, "subject": ["x", "y", "z"] * 30}
    m = sy.measure(data, by="subject", metric=["accuracy", "macro_f1"])
    for part in m.slices:
        here = [i for i, value in enumerate(data["subject"]) if value == part.value]
        again = replayed(part.measurement, [truth[i] for i in here], [prediction[i] for i in here])
        assert [(r.name, r.estimate, r.interval) for r in again] == [(r.name, r.estimate, r.interval) for r in part.measurement]


@every("name", ["a|b", "a,b", "a:b", "100%", "%7C", "tab\there", "line\nfeed", "ü", "", " ", "a\u2028b", "\x85"])
def test_labels_that_hold_the_separators(name: str) -> None:
    truth, prediction = [name, "other"] * 12, [name, name] * 12
    m = sy.measure(truth, prediction, metric="f1", positive=name, labels=[name, "other"])
    assert len(m.signature.splitlines()) == 1
    facts = signature.parse(m.signature)
    assert facts["positive"] == [name]
    assert facts["labels"] == [name, "other"]
    repeats_itself(truth, prediction, metric="f1", positive=name, labels=[name, "other"])


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4))
def test_any_texts_survive(texts: list[str]) -> None:
    line = signature.write({"labels": texts, "n": 3})
    assert signature.parse(line)["labels"] == texts
    assert len(line.splitlines()) == 1


@given(st.floats(min_value=1e-9, max_value=1 - 1e-9))
def test_any_level_survives(level: float) -> None:
    assert float(signature.parse(signature.write({"level": level}))["level"][0]) == level


def test_the_order_of_the_keys_is_fixed() -> None:
    line = sy.measure(*labels(), metric=["macro_f1", "f1"], positive="cat", labels=["cat", "dog", "owl"], absent="zero").signature
    keys = [part.split(":")[0] for part in line.split("|")]
    assert keys == ["metric", "positive", "labels", "n", "design", "interval", "level", "draws", "seed", "absent", "steelyard"]


def test_what_is_no_signature() -> None:
    with pytest.raises(sy.UsageError, match=r"key:value"):
        signature.parse("hello")
