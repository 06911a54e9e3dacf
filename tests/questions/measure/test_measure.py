"""`sy.measure`: scikit-learn agrees with every number, every door gives the same answer, every design its due."""

from __future__ import annotations

import gzip
import io
import json
import math
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

import steelyard as sy
from cases import every
from steelyard.infer.intervals.mean import bounded_mean

# ---- helpers ---------------------------------------------------------------------------------------------------------


def same(one: sy.Measurement, other: sy.Measurement) -> None:
    """Every number, every warning, the signature."""
    assert [str(row) for row in other] == [str(row) for row in one]
    assert [row.to_dict() for row in other] == [row.to_dict() for row in one]
    assert other.signature == one.signature
    assert other.warnings == one.warnings
    assert other.n == one.n


def sound(m: sy.Measurement, contains: bool = True) -> None:
    """Finite, ordered, never of zero width, around the estimate, inside the JSON without NaN."""
    json.dumps(m.to_dict(), allow_nan=False)
    for row in m:
        if row.interval is None:
            assert m.warnings, f"{row.name} has no interval and nobody says why"
            continue
        low, high = row.interval.low, row.interval.high
        low, high = -math.inf if low is None else low, math.inf if high is None else high
        assert low < high, str(row)
        assert math.isfinite(low) or row.interval.side == "upper", str(row)
        assert math.isfinite(high) or row.interval.side == "lower", str(row)
        if contains:
            assert row.estimate is not None
            assert low - 1e-12 <= row.estimate <= high + 1e-12, str(row)


def said(m: sy.Measurement, *parts: str) -> bool:
    return any(all(part in sentence for part in parts) for sentence in m.warnings)


@cache
def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truths, predictions and P(digit is 8) of a real classifier for half of the digits."""
    x, y = load_digits(return_X_y=True)
    model = GaussianNB(var_smoothing=1e-3).fit(x[::2], y[::2])
    chance = np.clip(model.predict_proba(x[1::2])[:, 8], 1e-6, 1 - 1e-6)
    return y[1::2], model.predict(x[1::2]), chance


# ---- scikit-learn agrees ---------------------------------------------------------------------------------------------


def test_digits_every_number_is_that_of_scikit_learn() -> None:
    y, p, _ = digits()
    m = sy.measure(y, p)
    assert m["accuracy"].estimate == sk.accuracy_score(y, p)
    assert m["macro_f1"].estimate == pytest.approx(sk.f1_score(y, p, average="macro"), rel=1e-14)
    for name, of in (("precision", sk.precision_score), ("recall", sk.recall_score), ("f1", sk.f1_score)):
        for label, expected in enumerate(of(y, p, average=None)):
            row = m[f"{name}[{label}]"]
            assert row.estimate == pytest.approx(expected, rel=1e-14)
            assert row.support == np.count_nonzero(y == label)
    assert len(m) == 2 + 30
    sound(m)
    for row in m:
        assert row.interval is not None
        assert row.interval.low is not None
        assert row.interval.high is not None
        assert row.interval.high - row.interval.low < 0.25
    assert m.n == len(y)


AVERAGED = {
    "macro_precision": lambda y, p: sk.precision_score(y, p, average="macro"),
    "macro_recall": lambda y, p: sk.recall_score(y, p, average="macro"),
    "macro_f1": lambda y, p: sk.f1_score(y, p, average="macro"),
    "macro_jaccard": lambda y, p: sk.jaccard_score(y, p, average="macro"),
    "macro_fbeta:2": lambda y, p: sk.fbeta_score(y, p, beta=2, average="macro"),
    "micro_precision": lambda y, p: sk.precision_score(y, p, average="micro"),
    "micro_f1": lambda y, p: sk.f1_score(y, p, average="micro"),
    "micro_jaccard": lambda y, p: sk.jaccard_score(y, p, average="micro"),
    "weighted_f1": lambda y, p: sk.f1_score(y, p, average="weighted"),
    "weighted_precision": lambda y, p: sk.precision_score(y, p, average="weighted"),
    "weighted_recall": lambda y, p: sk.recall_score(y, p, average="weighted"),
    "weighted_fbeta:0.5": lambda y, p: sk.fbeta_score(y, p, beta=0.5, average="weighted"),
    "balanced_accuracy": sk.balanced_accuracy_score,
    "mcc": sk.matthews_corrcoef,
    "kappa": sk.cohen_kappa_score,
    "error": sk.zero_one_loss,
}


@pytest.mark.parametrize("name", AVERAGED)
def test_digits_averages_are_those_of_scikit_learn(name: str) -> None:
    y, p, _ = digits()
    m = sy.measure(y, p, metric=name)
    assert m.row.metric == name
    assert m.estimate == pytest.approx(AVERAGED[name](y, p), rel=1e-12)
    sound(m)


def test_digits_one_class_is_that_of_scikit_learn() -> None:
    y, p, _ = digits()
    t, q = y == 8, p == 8
    m = sy.measure(y, p, metric=["precision", "recall", "f1", "fbeta:2", "jaccard", "specificity", "npv"], positive=8)
    expected = [
        sk.precision_score(t, q), sk.recall_score(t, q), sk.f1_score(t, q), sk.fbeta_score(t, q, beta=2), sk.jaccard_score(t, q),
        sk.recall_score(~t, ~q), sk.precision_score(~t, ~q),
    ]  # fmt: skip
    assert [row.estimate for row in m] == pytest.approx(expected, rel=1e-13)
    assert {row.label for row in m} == {"8"}
    sound(m)


def test_digits_probabilities_are_those_of_scikit_learn() -> None:
    y, _, chance = digits()
    t = (y == 8).astype(int)
    m = sy.measure(t, probability=chance, metric=["auc", "average_precision", "brier", "log_loss", "ece"])
    expected = [sk.roc_auc_score(t, chance), sk.average_precision_score(t, chance), sk.brier_score_loss(t, chance), sk.log_loss(t, chance)]
    assert [row.estimate for row in m][:4] == pytest.approx(expected, rel=1e-12)
    bins = np.minimum((chance * 10).astype(int), 9)
    ece = sum(abs(t[bins == k].mean() - chance[bins == k].mean()) * np.mean(bins == k) for k in range(10) if (bins == k).any())
    assert m["ece"].estimate == pytest.approx(ece, rel=1e-12)
    named = sy.measure(y, probability=chance, metric=["auc", "average_precision", "brier", "log_loss", "ece"], positive="8")
    assert [row.estimate for row in named] == [row.estimate for row in m]


def test_numbers_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=80) * 10
    p = y + rng.normal(size=80)
    m = sy.measure(y, p, metric=["mae", "rmse", "r2", "spearman"])
    ranks = [np.argsort(np.argsort(v)) for v in (y, p)]
    expected = [sk.mean_absolute_error(y, p), sk.root_mean_squared_error(y, p), sk.r2_score(y, p), np.corrcoef(*ranks)[0, 1]]
    assert [row.estimate for row in m] == pytest.approx(expected, rel=1e-10)
    sound(m)
    assert [row.higher_is_better for row in m] == [False, False, True, True]


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), min_size=2, max_size=40))
def test_random_tables_agree_with_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    y, p = [t for t, _ in pairs], [q for _, q in pairs]
    names = ["accuracy", "macro_f1", "micro_f1", "weighted_f1", "weighted_recall"]
    m = sy.measure(y, p, metric=names, absent="zero", draws=100)
    expected = [sk.accuracy_score(y, p)] + [sk.f1_score(y, p, average=a, zero_division=0) for a in ("macro", "micro", "weighted")]
    assert [row.estimate for row in m][:4] == pytest.approx(expected, abs=1e-12)
    assert m["weighted_recall"].estimate == pytest.approx(expected[0], abs=1e-12)
    sound(m, contains=False)


# ---- the same answer through every door ------------------------------------------------------------------------------


def _feather(frame: pd.DataFrame, path: Path) -> None:
    feather.write_feather(pa.Table.from_pandas(frame), str(path))


def _zst(frame: pd.DataFrame, path: Path) -> None:
    path.write_bytes(pa.Codec("zstd").compress(frame.to_csv(index=False).encode(), asbytes=True))


WRITERS: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    "a.csv": lambda f, p: f.to_csv(p, index=False),
    "a.tsv": lambda f, p: f.to_csv(p, index=False, sep="\t"),
    "a.jsonl": lambda f, p: f.to_json(p, orient="records", lines=True),
    "a.json": lambda f, p: f.to_json(p, orient="records"),
    "columns.json": lambda f, p: p.write_text(json.dumps(f.to_dict(orient="list"))),
    "a.parquet": lambda f, p: f.to_parquet(p),
    "a.feather": _feather,
    "a.csv.gz": lambda f, p: p.write_bytes(gzip.compress(f.to_csv(index=False).encode())),
    "a.csv.zst": _zst,
    "a.jsonl.gz": lambda f, p: p.write_bytes(gzip.compress(f.to_json(orient="records", lines=True).encode())),
    "semicolon.csv": lambda f, p: f.to_csv(p, index=False, sep=";"),
}
FRAMES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda f: f,
    "polars": pl.from_pandas,
    "polars lazy": lambda f: pl.from_pandas(f).lazy(),
    "pyarrow": pa.Table.from_pandas,
    "dict": lambda f: f.to_dict(orient="list"),
    "rows": lambda f: f.to_dict(orient="records"),
    "duckdb": lambda f: __import__("duckdb").from_df(f),
}


def digits_frame() -> pd.DataFrame:
    y, p, _ = digits()
    return pd.DataFrame({"truth": y, "prediction": p})


@pytest.mark.parametrize("name", WRITERS)
def test_every_file_gives_the_same(tmp_path: Path, name: str) -> None:
    y, p, _ = digits()
    WRITERS[name](digits_frame(), tmp_path / name)
    same(sy.measure(y, p), sy.measure(tmp_path / name))


@every("name", FRAMES)
def test_every_frame_gives_the_same(name: str) -> None:
    y, p, _ = digits()
    same(sy.measure(y, p), sy.measure(FRAMES[name](digits_frame())))


ARRAYS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": np.ndarray.tolist,
    "tuple": lambda a: tuple(a.tolist()),
    "int8": lambda a: a.astype(np.int8),
    "uint64": lambda a: a.astype(np.uint64),
    "texts": lambda a: a.astype(str),
    "objects": lambda a: a.astype(object),
    "pandas": pd.Series,
    "pandas Int64": lambda a: pd.Series(a, dtype="Int64"),
    "pandas category": lambda a: pd.Series(a).astype("category"),
    "pandas string": lambda a: pd.Series(a).astype("string"),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow chunked": lambda a: pa.chunked_array([pa.array(a)]),
}


@every("name", ARRAYS)
def test_every_array_gives_the_same(name: str) -> None:
    y, p, _ = digits()
    same(sy.measure(y, p), sy.measure(ARRAYS[name](y), ARRAYS[name](p)))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet", "a.feather", "a.csv.gz", "a.csv.zst"])
def test_standard_input_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    y, p, _ = digits()
    WRITERS[name](digits_frame(), tmp_path / name)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / name).read_bytes())))
    same(sy.measure(y, p), sy.measure("-"))


def test_several_files_are_one_source(tmp_path: Path) -> None:
    frame = digits_frame()
    frame[:400].to_csv(tmp_path / "part-1.csv", index=False)
    frame[400:].to_csv(tmp_path / "part-2.csv", index=False)
    whole = sy.measure(frame)
    same(whole, sy.measure(tmp_path))
    same(whole, sy.measure(str(tmp_path / "part-*.csv")))
    same(whole, sy.measure(f"mine={tmp_path}"))


def many_columns(n: int = 120) -> pd.DataFrame:
    """All roles at once: labels, scores, probabilities, ids, groups, repeats, weights, slices."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, n)
    prediction = np.where(rng.random(n) < 0.8, truth, 1 - truth)
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "truth": truth,
            "prediction": prediction,
            "score": (truth == prediction).astype(float),
            "probability": np.round(np.clip(truth * 0.3 + rng.random(n) * 0.7, 0.01, 0.99), 3),
            "cluster": np.arange(n) % 24,
            "w": 1 + np.arange(n) % 3,
            "f": 0.5 + np.arange(n) % 3,
            "errors": rng.integers(0, 4, n),
            "words": rng.integers(5, 15, n),
            "subject": np.array(["law", "math", "art"])[np.arange(n) % 3],
        }
    )


QUESTIONS: dict[str, dict[str, Any]] = {
    "plain": {"group": "none"},
    "labels": {"metric": ["macro_f1", "mcc"], "group": "none"},
    "groups": {"metric": ["accuracy", "macro_f1"]},
    "probabilities": {"metric": ["auc", "ap", "brier", "log_loss", "ece"], "group": "none"},
    "whole weights": {"weight": "w", "metric": ["accuracy", "macro_f1"], "group": "none"},
    "fractional weights": {"weight": "f", "metric": ["accuracy", "macro_f1"], "group": "none"},
    "slices": {"by": ["subject"], "metric": ["accuracy", "kappa"], "group": "none"},
    "two slices": {"by": ["subject", "truth"], "metric": ["accuracy"], "group": "none"},
    "ratio": {"ratio": "errors/words", "group": "none"},
    "grouped ratio": {"ratio": "errors/words"},
    "numbers": {"metric": ["mae", "rmse", "r2"], "group": "none"},
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("door", ["a.csv", "a.jsonl", "a.parquet", "polars", "dict"])
def test_every_question_has_the_same_answer_through_every_door(tmp_path: Path, door: str, question: str) -> None:
    frame, options = many_columns(), {"draws": 500, **QUESTIONS[question]}
    expected = sy.measure(frame, **options)
    if door in WRITERS:
        WRITERS[door](frame, tmp_path / door)
        found = sy.measure(tmp_path / door, **options)
    else:
        found = sy.measure(FRAMES[door](frame), **options)
    same(expected, found)
    assert found.roles == expected.roles
    assert [(s.by, s.value, s.measurement.to_dict()) for s in found.slices] == [
        (s.by, s.value, s.measurement.to_dict()) for s in expected.slices
    ]
    sound(found, contains=False)


@pytest.mark.parametrize("door", ["a.csv", "a.jsonl", "a.parquet", "pandas", "polars", "dict"])
def test_a_hole_in_a_column_nobody_asked_about_is_no_hole(tmp_path: Path, door: str) -> None:
    """What the metric does not read cannot be missing: the same answer from every door."""
    frame = pd.DataFrame({"truth": ["a", "b"] * 10, "prediction": ["a", "a"] * 10, "probability": [0.5, None] * 10})
    if door in WRITERS:
        WRITERS[door](frame, tmp_path / door)
    m = sy.measure(tmp_path / door if door in WRITERS else FRAMES[door](frame), metric="accuracy")
    assert m.estimate == 0.5


@pytest.mark.parametrize("door", ["a.csv", "a.jsonl", "a.parquet", "pandas", "polars"])
def test_disagreement_of_score_and_labels_is_counted_through_every_door(tmp_path: Path, door: str) -> None:
    frame = pd.DataFrame({"truth": ["a", "b"] * 10, "prediction": ["a", "a"] * 10, "score": [1, 1] * 10})
    if door in WRITERS:
        WRITERS[door](frame, tmp_path / door)
    data = tmp_path / door if door in WRITERS else FRAMES[door](frame)
    for metric in (None, "accuracy", "macro_recall"):
        m = sy.measure(data, metric=metric)
        assert said(m, "score and labels disagree", "10 of 20 items"), metric
    assert sy.measure(data)["accuracy"].estimate == 1.0
    assert sy.measure(data, metric="each_recall")["recall[b]"].estimate == 0.0


# ---- labels ----------------------------------------------------------------------------------------------------------


@every(
    ("y", "p", "labels"),
    [
        ([1, 2, 5, 5], [1, 5, 5, 2], ("1", "2", "5")),
        (["cat", "dog", "cat"], ["cat", "cat", "cat"], ("cat", "dog")),
        ([True, False, True], [True, True, True], ("False", "True")),
        ([10, 9, 1], [10, 1, 9], ("1", "9", "10")),
        ([-1, 1, 0], [-1, 0, 0], ("-1", "0", "1")),
        ([0.0, 1.0, 1.0], [0.0, 1.0, 0.0], ("0.0", "1.0")),
        (["", "a", "a"], ["a", "a", ""], ("", "a")),
        (["é", "e", "E"], ["é", "e", "E"], ("E", "e", "é")),
    ],
)
def test_labels_of_every_kind(y: list[Any], p: list[Any], labels: tuple[str, ...]) -> None:
    m = sy.measure(y, p)
    assert m.table is not None
    assert m.table.class_labels == labels
    assert m["accuracy"].estimate == sk.accuracy_score(y, p)
    sound(m, contains=False)


def test_a_label_only_in_the_predictions() -> None:
    m = sy.measure(["a", "b"] * 10, ["a", "z"] * 10)
    assert said(m, "only in the predictions", "'z' (10)")
    assert m["recall[z]"].estimate is None
    assert said(m, "recall[z] is undefined")
    assert m["macro_f1"].estimate == pytest.approx((1 + 0 + 0) / 3)  # F1 of a class that is only predicted is 0/x = 0


def test_declared_labels_and_strays() -> None:
    y, p = ["a", "b", "b"] * 10, ["a", "z", "b"] * 10
    m = sy.measure(y, p, labels=["b", "a"])
    assert said(m, "10 prediction", "outside the declared labels", "'z' (10)")
    assert not said(m, "only in the predictions")
    assert m.table is not None
    assert m.table.class_labels == ("b", "a")
    assert m["accuracy"].estimate == pytest.approx(2 / 3)
    expected = sk.f1_score(y, p, average="macro", labels=["a", "b"])
    assert m["macro_f1"].estimate == pytest.approx(expected)
    micro = sy.measure(y, p, labels=["b", "a"], metric="micro_precision")
    assert micro.estimate == pytest.approx(sk.precision_score(y, p, average="micro", labels=["a", "b"]))
    with pytest.raises(sy.DataError, match=r"1 label of the truth is not among the declared labels, such as 'b'\."):
        sy.measure(y, p, labels=["a", "z"])


def test_labels_declare_what_averages_run_over_for_counts_too() -> None:
    """An option that is printed in the signature was used; or else it is refused."""
    counts = sy.Counts.table({("a", "a"): 20, ("b", "z"): 5, ("b", "b"): 9, ("a", "b"): 3})
    pairs = [(t, q) for (t, q), c in {("a", "a"): 20, ("b", "z"): 5, ("b", "b"): 9, ("a", "b"): 3}.items() for _ in range(c)]
    items = sy.measure([t for t, _ in pairs], [q for _, q in pairs], labels=["b", "a"], metric="macro_f1")
    try:
        m = sy.measure(counts, labels=["b", "a"], metric="macro_f1")
    except sy.UsageError:
        return
    assert m.estimate == items.estimate


def test_one_class_only() -> None:
    m = sy.measure(["a"] * 12, ["a"] * 12)
    assert [row.estimate for row in m] == [1.0] * 5
    sound(m, contains=False)
    undefined = sy.measure(["a"] * 12, ["a"] * 12, metric=["mcc", "kappa"])
    assert [(row.estimate, row.interval) for row in undefined] == [(None, None)] * 2
    assert said(undefined, "mcc is undefined", "one class")
    assert said(undefined, "kappa is undefined", "one class")


def test_one_item() -> None:
    m = sy.measure(["a"], ["b"])
    assert (m.n, m["accuracy"].estimate) == (1, 0.0)
    sound(m, contains=False)


def test_no_items() -> None:
    for data in (([], []), ([],), ({"truth": [], "prediction": []},), (pd.DataFrame({"truth": [], "prediction": []}),)):
        with pytest.raises(sy.SteelyardError, match="no items"):
            sy.measure(*data)


@pytest.mark.parametrize("hole", [None, math.nan, pd.NA, np.nan])
def test_missing_labels_are_refused_or_counted(hole: Any) -> None:
    y, p = ["a", "b"] * 10, [*["a", "b"] * 9, "a", hole]
    with pytest.raises(sy.DataError, match=r"1 of 20 items have no prediction, the first in row 20\."):
        sy.measure(y, p)
    wrong = sy.measure(y, p, missing="wrong", metric=["accuracy", "macro_recall"])
    assert [row.estimate for row in wrong] == [19 / 20, (1 + 9 / 10) / 2]
    drop = sy.measure(y, p, missing="drop", metric=["accuracy", "macro_recall"])
    assert [row.estimate for row in drop] == [1.0, 1.0]
    assert drop.n == 19
    for policy in ("error", "wrong"):
        with pytest.raises(sy.DataError, match=r"1 of 20 items have no truth, the first in row 20\."):
            sy.measure(p, y, missing=policy)
    assert sy.measure(p, y, missing="drop", metric="accuracy").n == 19


def test_missing_counts_as_the_worst_score() -> None:
    m = sy.measure([1.0, 3.0, math.nan, 5.0] * 10, missing="wrong", range=(1, 5))
    assert m.estimate == (1 + 3 + 1 + 5) / 4
    assert said(m, "10 of 40 items without a score count as wrong")


def test_missing_score_without_a_range_is_never_a_number_nobody_could_get() -> None:
    """Scores of 1 to 5, undeclared: 0 is not their worst value. The range must be asked for, or the choice said."""
    try:
        m = sy.measure([1.0, 3.0, math.nan, 5.0] * 10, missing="wrong")
    except sy.SteelyardError:
        return
    assert said(m, "range") or said(m, "score of 0")


def test_everything_missing_is_no_items() -> None:
    with pytest.raises(sy.DataError, match=r"No items are left after the missing ones were dropped\."):
        sy.measure(["a", "b"], [None, None], missing="drop")


def test_absent_classes() -> None:
    y, p = ["a", "a", "b", "b"] * 5, ["a", "b", "b", "b"] * 5
    names = ["macro_f1", "macro_precision", "balanced_accuracy"]
    null = sy.measure(y, p, labels=["a", "b", "c"], metric=names)
    assert [row.estimate for row in null] == [None, None, None]
    assert said(null, "absent='skip' or absent='zero'")
    skip = sy.measure(y, p, labels=["a", "b", "c"], metric=names[:2], absent="skip")
    assert [row.estimate for row in skip] == pytest.approx([(2 / 3 + 4 / 5) / 2, (1 + 2 / 3) / 2])
    zero = sy.measure(y, p, labels=["a", "b", "c"], metric=names[:2], absent="zero")
    assert [row.estimate for row in zero] == pytest.approx([(2 / 3 + 4 / 5) / 3, (1 + 2 / 3) / 3])
    sound(skip)
    sound(zero)


def test_small_classes_are_warned_about_where_averages_are_asked() -> None:
    y, p = ["a"] * 30 + ["b"] * 5, ["a"] * 30 + ["b"] * 4 + ["a"]
    assert said(sy.measure(y, p, metric="macro_f1"), "'b' (5)", "fewer than 10")
    assert not sy.measure(y, p, metric="accuracy").warnings


ORDERED: dict[str, dict[str, Any]] = {
    "labels": {"metric": ["macro_f1", "mcc"], "group": "none"},
    "ratio": {"ratio": "errors/words", "group": "none"},
    "ece": {"metric": "ece", "group": "none"},
    "brier": {"metric": "brier", "interval": "bca", "group": "none"},
    "average precision": {"metric": "average_precision", "group": "none"},
    "rmse": {"metric": "rmse", "group": "none"},
    "r2": {"metric": "r2", "group": "none"},
    "grouped labels": {"metric": "macro_f1", "interval": "percentile"},
    "grouped mean": {"metric": "mean", "score": "probability", "interval": "percentile"},
    "weighted": {"metric": "accuracy", "weight": "f", "interval": "percentile", "group": "none"},
    "betting": {"metric": "mean", "score": "probability", "interval": "betting", "group": "none"},
}


@every("question", ORDERED)
def test_the_order_of_the_file_changes_nothing(question: str) -> None:
    """Random draws run over cells in label order, so file order changes nothing."""
    frame = many_columns()
    one = sy.measure(frame, **ORDERED[question], draws=500)
    two = sy.measure(frame[::-1].reset_index(drop=True), **ORDERED[question], draws=500)
    for row, other in zip(one, two, strict=True):
        assert row.interval is not None
        assert other.interval is not None
        assert (other.estimate, other.interval.low, other.interval.high) == pytest.approx(
            (row.estimate, row.interval.low, row.interval.high), rel=1e-9
        )


def test_positive_must_be_a_class() -> None:
    y, p = ["a", "b"] * 10, ["a", "b"] * 10
    with pytest.raises(sy.UsageError, match=r"No class 'B'; the labels are 'a', 'b'\."):
        sy.measure(y, p, metric="f1", positive="B")


@pytest.mark.parametrize("metric", ["auc", "average_precision", "brier", "log_loss", "ece"])
def test_positive_must_be_a_class_for_probabilities_too(metric: str) -> None:
    """A typing mistake in `positive` made every item negative, and a Brier score of nothing in particular."""
    with pytest.raises(sy.SteelyardError, match="'B'"):
        sy.measure(["a", "b"] * 10, probability=[0.2, 0.7, 0.6, 0.4] * 5, metric=metric, positive="B")


@pytest.mark.parametrize(("zero", "one"), [(0, 1), (False, True), ("0", "1"), ("False", "True"), (0.0, 1.0)])
def test_positive_is_inferred_for_zero_and_one_only(zero: Any, one: Any) -> None:
    chance = [0.2, 0.9, 0.6, 0.3, 0.8, 0.5] * 5
    m = sy.measure([zero, one, zero, one, one, zero] * 5, probability=chance, metric="auc")
    assert m.estimate == pytest.approx(7 / 9)
    with pytest.raises(sy.UsageError, match="positive"):
        sy.measure(["no", "yes"] * 15, probability=chance, metric="auc")
    with pytest.raises(sy.UsageError, match="positive"):
        sy.measure([1, 2] * 15, probability=chance, metric="auc")


def test_each() -> None:
    m = sy.measure([1, 2, 5] * 10, [1, 2, 2] * 10, metric="each_recall")
    assert [row.name for row in m] == ["recall[1]", "recall[2]", "recall[5]"]
    assert [row.estimate for row in m] == [1, 1, 0]


def test_without_true_negatives_the_negative_class_is_not_known() -> None:
    """No tn, and metrics that need it are errors. F1 of the *negative* class needs it: 0 would be made up."""
    counts = sy.Counts.binary(tp=31, fp=5, fn=2)
    for options in ({"metric": "f1", "positive": "negative"}, {"metric": "recall", "positive": "negative"}):
        with pytest.raises(sy.SteelyardError, match="tn"):
            sy.measure(counts, **options)
    try:
        m = sy.measure(counts, metric="each_f1")
    except sy.SteelyardError:
        return
    assert [row.label for row in m] == ["positive"]


def test_truths_that_are_numbers_need_a_named_metric() -> None:
    with pytest.raises(sy.DataError, match="metric='mae', rmse, r2 or spearman"):
        sy.measure([1.5, 2.5, 3.0], [1.5, 2.0, 3.0])


# ---- the Measurement -------------------------------------------------------------------------------------------------


def test_one_row_answers_directly_and_several_are_listed() -> None:
    one = sy.measure(sy.Counts.of(12, 40))
    assert one.estimate == 0.3
    assert one.interval is not None
    assert (round(one.interval.low or 0, 6), round(one.interval.high or 0, 6)) == (0.180748, 0.4543)
    m = sy.measure(["a", "b"] * 10, ["a", "a"] * 10)
    for name in ("estimate", "interval", "row"):
        with pytest.raises(sy.UsageError, match=r"8 rows: accuracy, macro_f1, precision\[a\]"):
            getattr(m, name)


def test_rows_by_name() -> None:
    m = sy.measure(["a", "b"] * 10, ["a", "a"] * 10)
    assert m["accuracy"].estimate == 0.5
    assert m["recall[a]"].estimate == 1.0
    with pytest.raises(sy.UsageError, match=r"recall\[a\], recall\[b\]"):
        m["recall"]
    with pytest.raises(sy.UsageError, match=r"accuracy, macro_f1"):
        m["nothing"]
    assert len(m) == 8
    assert next(iter(m)).name == "accuracy"
    assert "accuracy" in str(m)
    assert str(m).rstrip().endswith(m.signature)


EVERYTHING = [
    {"group": "none"},
    {},
    {"by": ["subject"], "group": "none"},
    {"metric": ["auc", "brier"], "group": "none"},
    {"metric": ["accuracy", "mcc"], "interval": "bayes", "group": "none"},
    {"weight": "f", "metric": "accuracy"},
    {"ratio": "errors/words"},
]


@every("options", EVERYTHING, ids=str)
def test_a_measurement_survives_json(options: dict[str, Any]) -> None:
    m = sy.measure(many_columns(), **options)
    back = sy.Measurement.from_dict(json.loads(json.dumps(m.to_dict(), allow_nan=False)))
    assert back == m
    assert str(back) == str(m)


def test_a_strange_result_is_not_read() -> None:
    with pytest.raises(sy.UsageError, match="schema 1"):
        sy.Measurement.from_dict({"kind": "measurement", "schema": 2})
    with pytest.raises(sy.UsageError, match="'comparison'"):
        sy.Measurement.from_dict({"kind": "comparison", "schema": 1})


def test_a_measurement_is_measured_again_from_its_table() -> None:
    y, p, _ = digits()
    m = sy.measure(y, p)
    wide = sy.measure(m, confidence_level=0.99)
    direct = sy.measure(y, p, confidence_level=0.99)
    same(direct, wide)
    same(sy.measure(y, p, metric="kappa"), sy.measure(m, metric="kappa"))
    back = sy.Measurement.from_dict(json.loads(json.dumps(m.to_dict())))
    same(direct, sy.measure(back, confidence_level=0.99))


def test_measured_again_the_estimate_stays() -> None:
    """The score decided accuracy; asked again at another level, it must still be the score that decides."""
    data = {"truth": [1, 0, 1, 1] * 5, "prediction": [1, 0, 0, 1] * 5, "score": [1, 1, 1, 1] * 5}
    m = sy.measure(data)
    assert m["accuracy"].estimate == 1.0
    try:
        again = sy.measure(m, confidence_level=0.99)
    except sy.UsageError:
        return
    assert again["accuracy"].estimate == m["accuracy"].estimate


def test_measured_again_with_the_metric_named() -> None:
    """The metric must be named again: without it, the defaults of the table are answered, not the metrics of m."""
    m = sy.measure(["a", "b"] * 10, ["a", "a"] * 10, metric="f1", positive="a")
    again = sy.measure(m, metric="f1", positive="a", confidence_level=0.99)
    assert again.estimate == m.estimate


def test_a_grouped_measurement_cannot_be_measured_again() -> None:
    m = sy.measure(many_columns(), metric="accuracy")
    assert m.table is None
    with pytest.raises(sy.UsageError, match="measure the data"):
        sy.measure(m, confidence_level=0.99)


def test_columns_beside_counts_are_refused() -> None:
    for options in ({"by": "x"}, {"group": "x"}, {"ratio": "a/b"}):
        with pytest.raises(sy.UsageError, match=r"Counts have no columns to read\."):
            sy.measure(sy.Counts.of(1, 2), **options)


SHAPELESS: list[dict[str, Any]] = [
    {"confidence_level": "high"},
    {"confidence_level": None},
    {"range": (0,)},
    {"range": (0, 1, 2)},
    {"range": ("a", "b")},
    {"range": 5},
    {"side": None},
]


@every("options", SHAPELESS, ids=str)
def test_an_option_of_the_wrong_shape_is_a_usage_error(options: dict[str, Any]) -> None:
    with pytest.raises(sy.UsageError):
        sy.measure([0.5, 0.7, 0.9], **options)


def test_numpy_integers_are_whole_numbers() -> None:
    m = sy.measure([0.5, 0.7, 0.9] * 10, interval="percentile", draws=np.int64(500), seed=np.int64(3))
    assert "draws:500|seed:3" in m.signature


# ---- groups ----------------------------------------------------------------------------------------------------------


def grouped(groups: int, size: int = 6) -> dict[str, list[Any]]:
    rng = np.random.default_rng(5)
    rate = rng.beta(1.5, 0.6, groups)
    right = [bool(rng.random() < rate[g]) for g in range(groups) for _ in range(size)]
    truth = [i % 2 for i in range(len(right))]
    prediction = [t if ok else 1 - t for t, ok in zip(truth, right, strict=True)]
    return {"truth": truth, "prediction": prediction, "group": [f"g{g}" for g in range(groups) for _ in range(size)]}


def test_few_groups() -> None:
    four = sy.measure(grouped(4), metric="accuracy")
    assert four.interval is None
    assert four.estimate is not None
    assert said(four, "only 4 groups", "at least 5")
    assert said(sy.measure(grouped(12), metric="accuracy"), "only 12 groups", "20 or more")
    assert not sy.measure(grouped(25), metric="accuracy").warnings


def test_groups_widen_the_interval_and_say_by_how_much() -> None:
    data = grouped(30)
    m, flat = sy.measure(data, metric="accuracy"), sy.measure(data, metric="accuracy", group="none")
    assert m.estimate == flat.estimate
    assert said(flat, "groups ignored")
    assert m.row.details["groups"] == 30
    assert m.row.details["design_effect"] > 1
    assert m.row.details["n_effective"] == pytest.approx(180 / m.row.details["design_effect"])
    assert m.interval is not None
    assert flat.interval is not None
    assert m.interval.high - m.interval.low > flat.interval.high - flat.interval.low
    assert "design:groups|units:30" in m.signature


def test_groups_of_one_item_are_nearly_items() -> None:
    y, p, _ = digits()
    m = sy.measure({"truth": y, "prediction": p, "group": np.arange(len(y))}, metric="accuracy")
    flat = sy.measure(y, p, metric="accuracy")
    assert m.interval is not None
    assert flat.interval is not None
    assert m.interval.low == pytest.approx(flat.interval.low, abs=2e-4)


@every("metric", ["accuracy", "error", "macro_f1", "mcc", "kappa", "balanced_accuracy"])
@every("method", [None, "delta", "percentile", "bca", "studentized"])
def test_grouped_intervals(metric: str, method: str | None) -> None:
    for side in ("two", "lower", "upper"):
        m = sy.measure(many_columns(), metric=metric, interval=method, side=side, draws=400)
        sound(m, contains=method not in ("percentile", "bca"))
    assert m.interval is not None


def test_a_grouped_mean_is_the_cluster_robust_one() -> None:
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(40), 5)
    score = rng.normal(size=40)[group] + rng.normal(size=200)
    m = sy.measure(score, group=group, metric="mean")
    residual = np.bincount(group, weights=score - score.mean())
    error = math.sqrt(40 / 39 * (residual @ residual)) / 200
    assert m.interval is not None
    assert m.interval.high - m.interval.low == pytest.approx(2 * 2.0226909 * error, rel=1e-6)  # t(39)


def test_all_right_in_groups_has_width() -> None:
    m = sy.measure({"truth": [1] * 60, "prediction": [1] * 60, "group": list(range(20)) * 3}, metric=["accuracy", "f1"], positive=1)
    for row in m:
        assert row.interval is not None
        assert (row.interval.low or 0) < 1


# ---- repeats ---------------------------------------------------------------------------------------------------------


def repeated(runs: int = 4, items: int = 30) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(8)
    item = np.repeat(np.arange(items), runs)
    return {
        "id": item,
        "run": np.tile(np.arange(runs), items),
        "score": (rng.random(items * runs) < rng.beta(2, 1, items)[item]).astype(int),
    }


def test_repeats_are_averaged_and_are_not_items() -> None:
    data = repeated()
    m = sy.measure(data)
    assert m.n == 30
    assert m.estimate == pytest.approx(data["score"].mean())
    assert m.row.details["repeats"] == 4
    assert "design:repeats|units:30" in m.signature
    mean = data["score"].reshape(30, 4).mean(axis=1)
    within = data["score"].reshape(30, 4).var(axis=1, ddof=1).mean()
    assert m.row.details["variance_within"] == pytest.approx(within)
    assert m.row.details["variance_between"] == pytest.approx(mean.var(ddof=1) - within / 4)
    flat = sy.measure(data["score"])
    assert m.interval is not None
    assert flat.interval is not None
    assert m.interval.high - m.interval.low > flat.interval.high - flat.interval.low


def test_unequal_repeats_weigh_items_alike() -> None:
    m = sy.measure({"id": [1, 1, 1, 2, 3, 4, 5, 6], "run": [0, 1, 2, 0, 0, 0, 0, 0], "score": [1, 1, 1, 0, 1, 0, 1, 0]})
    assert m.estimate == pytest.approx(3 / 6)
    assert (m.n, m.row.details["fewest_repeats"]) == (6, 1)


def test_repeats_of_labels() -> None:
    data = repeated()
    labels = {"id": data["id"], "run": data["run"], "truth": np.ones(120, int), "prediction": data["score"]}
    m = sy.measure(labels, metric="accuracy")
    assert m.estimate == pytest.approx(data["score"].mean())
    assert str(m.interval) == str(sy.measure(data).interval)


def test_one_repeat_is_none() -> None:
    y = [1, 0, 1, 1] * 5
    m = sy.measure({"id": range(20), "run": [0] * 20, "score": y})
    assert str(m.row) == str(sy.measure(y).row)


def test_repeats_within_groups() -> None:
    data = {**repeated(4, 60), "group": np.repeat(np.arange(20), 12)}
    m = sy.measure(data)
    assert m.row.details["groups"] == 20
    assert m.row.details["repeats"] == 4
    assert m.n == 60
    assert m.estimate == pytest.approx(data["score"].mean())


def test_repeats_need_ids() -> None:
    with pytest.raises(sy.DataError, match="id="):
        sy.measure({"run": [0, 1], "score": [1, 0]})
    with pytest.raises(sy.DataError, match=r"Duplicate ids: 1 pair of id and repeat occurs in 2 rows, such as \('1',"):
        sy.measure({"id": [1, 1], "run": [0, 0], "score": [1, 0]})


@pytest.mark.parametrize("k", [1, 2, 4])
def test_pass_at_k_and_pass_hat_k(k: int) -> None:
    data = repeated()
    right = data["score"].reshape(30, 4).sum(axis=1)
    m = sy.measure(data, metric=[f"pass@{k}", f"pass^{k}"])
    at = np.mean([1 - math.comb(4 - c, k) / math.comb(4, k) for c in right])
    hat = np.mean([math.comb(c, k) / math.comb(4, k) for c in right])
    assert [row.estimate for row in m] == pytest.approx([at, hat])
    assert [row.n for row in m] == [30, 30]
    sound(m)


def test_pass_at_k_needs_k_tries_of_right_or_wrong() -> None:
    with pytest.raises(sy.DataError, match="pass@5 needs 5 tries of every problem; 30 of 30 problems have fewer,"):
        sy.measure(repeated(), metric="pass@5")
    with pytest.raises(sy.DataError, match=r"pass@1 needs right or wrong \(1 or 0\) for every try, but there are other"):
        sy.measure({"id": [1, 1], "run": [0, 1], "score": [0.5, 1]}, metric="pass@1")


def test_pass_at_k_does_not_ignore_weights() -> None:
    """A weight that is given is used or refused, never passed over in silence."""
    data = {**repeated(2, 6), "w": [3, 1] * 6}
    plain = sy.measure(repeated(2, 6), metric="pass@1")
    try:
        m = sy.measure(data, metric="pass@1", weight="w")
    except sy.SteelyardError:
        return
    assert m.estimate != plain.estimate


# ---- weights ---------------------------------------------------------------------------------------------------------


def expanded(frame: pd.DataFrame, weight: str) -> pd.DataFrame:
    return frame.loc[frame.index.repeat(frame[weight])].reset_index(drop=True)


@every(
    "options",
    [
        {},
        {"metric": ["accuracy", "macro_f1", "mcc"], "interval": "bca"},
        {"metric": ["auc", "brier", "log_loss", "ece", "average_precision"]},
        {"metric": "mean", "score": "probability"},
        {"metric": "mean", "score": "probability", "interval": "bca"},
        {"metric": ["accuracy"], "by": ["subject"]},
    ],
    ids=str,
)
def test_whole_weights_are_repeated_rows(options: dict[str, Any]) -> None:
    frame = many_columns().drop(columns=["id", "cluster"])
    frame["w"] = np.arange(len(frame)) % 4  # a weight of 0 leaves the row out
    one = sy.measure(frame, weight="w", **options)
    two = sy.measure(expanded(frame, "w"), **options)
    assert [row.to_dict() for row in one] == [row.to_dict() for row in two]
    assert one.n == two.n
    assert [s.measurement.n for s in one.slices] == [s.measurement.n for s in two.slices]


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "mean"])
def test_whole_weights_are_repeated_rows_in_groups_too(metric: str) -> None:
    frame = many_columns().drop(columns=["id"])
    frame["w"] = 1 + (np.arange(len(frame)) % 7 == 0) * 2
    options = {"metric": metric, **({"score": "probability"} if metric == "mean" else {})}
    one = sy.measure(frame, weight="w", **options)
    two = sy.measure(expanded(frame, "w"), **options)
    assert one.estimate == pytest.approx(two.estimate, rel=1e-13)
    assert one.interval is not None
    assert two.interval is not None
    assert (one.interval.low, one.interval.high) == pytest.approx((two.interval.low, two.interval.high), rel=1e-12)
    assert one.n == two.n


def test_fractional_weights_are_design_weights() -> None:
    frame = many_columns().drop(columns=["id", "cluster"])
    m = sy.measure(frame, weight="f", metric=["accuracy", "macro_f1"])
    right = (frame["truth"] == frame["prediction"]).to_numpy()
    assert m["accuracy"].estimate == pytest.approx(float(np.average(right, weights=frame["f"])))
    assert m["macro_f1"].estimate == pytest.approx(
        sk.f1_score(frame["truth"], frame["prediction"], average="macro", sample_weight=frame["f"])
    )
    assert "design:weights" in m.signature
    sound(m)
    twice = sy.measure(frame.assign(f=frame["f"] * 3), weight="f", metric=["accuracy", "macro_f1"])
    for one, other in zip(m, twice, strict=True):  # only proportions of fractional weights matter
        assert one.interval is not None
        assert other.interval is not None
        assert other.interval.low == pytest.approx(one.interval.low, rel=1e-9)
    mean = sy.measure(frame, weight="f", metric="mean", score="probability")
    assert mean.estimate == pytest.approx(float(np.average(frame["probability"], weights=frame["f"])))
    sound(mean)


def test_equal_fractional_weights_change_little() -> None:
    y, p, _ = digits()
    m = sy.measure({"truth": y, "prediction": p, "w": np.full(len(y), 0.5)}, weight="w", metric="accuracy")
    flat = sy.measure(y, p, metric="accuracy")
    assert m.estimate == pytest.approx(flat.estimate)
    assert m.interval is not None
    assert flat.interval is not None
    assert m.interval.low == pytest.approx(flat.interval.low, abs=2e-4)


def test_rankings_refuse_fractional_weights() -> None:
    with pytest.raises(sy.UsageError, match="whole-number weights"):
        sy.measure(many_columns().drop(columns=["cluster"]), weight="f", metric="auc")


# ---- slices ----------------------------------------------------------------------------------------------------------


def test_slices_sum_to_the_whole() -> None:
    m = sy.measure(many_columns(), by=["subject", "truth"], group="none")
    for column in ("subject", "truth"):
        parts = [s.measurement for s in m.slices if s.by == column]
        assert sum(part.n for part in parts) == m.n
        total = parts[0].table
        for part in parts[1:]:
            assert total is not None
            assert part.table is not None
            total = total + part.table
        assert total == m.table


def test_a_slice_is_what_measuring_it_alone_gives() -> None:
    frame = many_columns()
    m = sy.measure(frame, by="subject", metric=["accuracy", "kappa"], group="none")
    for part in m.slices:
        alone = sy.measure(frame[frame["subject"] == part.value], metric=["accuracy", "kappa"], group="none")
        assert [row.to_dict() for row in part.measurement] == [row.to_dict() for row in alone]


def test_slices_of_arrays_are_those_of_a_file(tmp_path: Path) -> None:
    frame = many_columns()
    frame.to_csv(tmp_path / "a.csv", index=False)
    file = sy.measure(tmp_path / "a.csv", by="subject", metric="accuracy", group="none", score="score")
    arrays = sy.measure(
        frame["truth"].to_numpy(), frame["prediction"].to_numpy(), by={"subject": frame["subject"].to_numpy()}, metric="accuracy"
    )
    assert [(s.by, s.value, [str(r) for r in s.measurement]) for s in arrays.slices] == [
        (s.by, s.value, [str(r) for r in s.measurement]) for s in file.slices
    ]


def test_one_array_to_slice_by() -> None:
    """The message of read/arrays offers by={name: array}; one bare array must be taken or refused in words."""
    try:
        m = sy.measure([1, 0, 1, 1], [1, 0, 0, 1], by=np.array(["x", "x", "y", "y"]), metric="accuracy")
    except sy.SteelyardError:
        return
    assert [s.value for s in m.slices] == ["x", "y"]


@pytest.mark.parametrize("door", ["pandas", "polars", "dict"])
def test_slices_by_a_name_in_another_case(door: str) -> None:
    m = sy.measure(FRAMES[door](many_columns()), by="SUBJECT", metric="accuracy", group="none")
    assert [s.value for s in m.slices] == ["art", "law", "math"]


def test_a_slice_without_a_value() -> None:
    m = sy.measure({"truth": [1, 1, 0], "prediction": [1, 0, 0], "subject": ["a", None, "a"]}, by="subject", metric="accuracy")
    assert sorted((s.value, s.measurement.n) for s in m.slices) == [("(missing)", 1), ("a", 2)]


def test_a_sliced_answer_does_not_speak_of_labels_that_nobody_declared() -> None:
    """Each slice lacks a class of the whole; nobody declared anything, and accuracy does not care."""
    m = sy.measure({"truth": [1, 1, 0, 0], "prediction": [1, 0, 0, 0], "subject": list("aabb")}, by="subject", metric="accuracy")
    for part in m.slices:
        assert not any("declared" in sentence for sentence in part.measurement.warnings)


# ---- means and ratios ------------------------------------------------------------------------------------------------


def test_mean_by_students_t() -> None:
    x = np.linspace(0.1, 0.9, 50)
    assert sy.measure(x).row.metric == "mean"
    m = sy.measure(x, interval="t")
    assert m.interval is not None
    assert m.interval.method == "t"
    reach = 2.0095752371 * x.std(ddof=1) / math.sqrt(50)  # t(49)
    assert (m.interval.low, m.interval.high) == pytest.approx((x.mean() - reach, x.mean() + reach), rel=1e-8)


def test_mean_with_few_items_off_the_boundary() -> None:
    x = [1.0] * 80 + [0.5] * 10
    m = sy.measure(x)
    assert m.interval is not None
    assert m.interval.method == "bounded-mean"
    sound(m)
    wide = sy.measure([v * 5 for v in x], range=(0, 5))
    assert wide.interval is not None
    assert wide.interval.method == "bounded-mean"
    assert wide.interval.low == pytest.approx(5 * (m.interval.low or 0))
    unknown = sy.measure([v * 5 for v in x])
    assert unknown.interval is not None
    assert unknown.interval.method == "t"
    assert said(unknown, "range=(LO, HI)")


def test_means_of_bounded_scores_stay_in_their_range() -> None:
    m = sy.measure([0.0] * 30 + [0.01] * 30, interval="t")
    assert m.interval is not None
    assert m.interval.low == pytest.approx(0.005 - 0.0013, abs=1e-4)
    one = sy.measure([0.99, 1.0] * 20, side="lower")
    assert one.interval is not None
    assert one.interval.high == 1.0
    free = sy.measure([3.0, 4.0, 9.0] * 20, side="lower")
    assert free.interval is not None
    assert free.interval.high is None


@every(("value", "bounds"), [(0.5, None), (0.0, None), (1.0, None), (7.0, (0, 10)), (0.0, (0, 10))])
@every("method", [None, "t", "bounded-mean", "percentile", "bca", "studentized", "wilson-mean", "betting"])
def test_equal_scores_have_an_interval_with_width(value: float, bounds: tuple[float, float] | None, method: str | None) -> None:
    m = sy.measure([value] * 30, metric="mean", range=bounds, interval=method)
    assert m.estimate == value
    assert m.interval is not None
    sound(m)


@pytest.mark.parametrize("method", [None, "t", "percentile", "bca", "studentized"])
def test_equal_scores_of_unknown_range_have_none_and_a_reason(method: str | None) -> None:
    m = sy.measure([7.0] * 30, interval=method)
    assert m.interval is None
    assert said(m, "no interval", "range=")


def test_the_advice_about_a_range_helps_when_followed() -> None:
    """mae and log_loss ask for range= where few items differ; given, it must change something. Else do not ask."""
    y = [1.0, 2.0, 3.0, 4.5]
    m = sy.measure(y, [1.0, 2.0, 3.0, 4.0], metric="mae")
    if said(m, "range="):
        assert not said(sy.measure(y, [1.0, 2.0, 3.0, 4.0], metric="mae", range=(0, 5)), "range=")


def test_ratio_of_sums() -> None:
    frame = many_columns()
    m = sy.measure(frame, ratio=("errors", "words"), group="none")
    assert m.row.metric == "ratio"
    assert m.estimate == pytest.approx(frame["errors"].sum() / frame["words"].sum())
    for method in ("percentile", "delta", "bca", "studentized"):
        sound(sy.measure(frame, ratio="errors/words", interval=method, group="none", draws=500))
    with pytest.raises(sy.DataError, match=r"The column below the line is 0 in all 2 items, so there is no ratio\."):
        sy.measure({"a": [1, 2], "b": [0, 0]}, ratio="a/b")
    with pytest.raises(sy.DataError, match=r"The column below the line is negative in 1 of 2 items, such as -3\."):
        sy.measure({"a": [1, 2], "b": [4, -3]}, ratio="a/b")


def test_log_loss_of_certainty_that_failed_is_not_a_number() -> None:
    m = sy.measure([0, 1, 1], probability=[0.2, 0.0, 0.9], metric="log_loss")
    assert (m.estimate, m.interval) == (None, None)
    assert said(m, "log_loss is infinite")


def test_an_auc_of_one_has_a_wide_interval() -> None:
    m = sy.measure([0] * 10 + [1] * 10, probability=[0.1] * 10 + [0.9] * 10, metric="auc")
    assert m.estimate == 1.0
    assert m.interval is not None
    assert (m.interval.low or 0) < 0.85
    assert said(sy.measure([0] * 10 + [1] * 10, probability=[0.1] * 10 + [0.9] * 10, metric="auc", interval="delong"), "auc", "instead")


@every("metric", ["auc", "average_precision"])
@every("interval", [None, "percentile", "bca"])
def test_one_positive_has_no_interval_and_says_why(metric: str, interval: str | None) -> None:
    m = sy.measure([1] + [0] * 30, probability=[0.7] + [k / 31 for k in range(30)], metric=metric, interval=interval)
    assert m.estimate is not None
    assert m.interval is None
    assert said(m, metric, "1 positive only", "at least 2")


def test_one_negative_has_no_auc_interval_and_two_have_a_wide_one() -> None:
    scores = [k / 31 for k in range(30)]
    one = sy.measure([0] + [1] * 30, probability=[0.3, *scores], metric="auc")
    assert one.interval is None
    assert said(one, "auc", "1 negative only")
    two = sy.measure([0, 0] + [1] * 30, probability=[0.3, 0.5, *scores], metric="auc")
    assert two.interval is not None
    assert (two.interval.method, (two.interval.high or 0) - (two.interval.low or 0) > 0.5) == ("delong-wilson", True)


def test_average_precision_without_negatives_has_no_interval() -> None:
    m = sy.measure([1] * 8, probability=[k / 9 for k in range(8)], metric="average_precision", positive="1")
    assert (m.estimate, m.interval) == (1.0, None)
    assert said(m, "average_precision", "no negatives")


# ---- every interval method by name -----------------------------------------------------------------------------------

BINOMIAL = ["wilson", "wald", "agresti-coull", "jeffreys", "clopper-pearson", "mid-p", "bayes", "hdi", "percentile", "bca", "delta"]
OF_TABLE = ["bca", "percentile", "delta", "bayes", "hdi"]
OF_MEAN = ["t", "percentile", "bca", "studentized"]
BOUNDED = [*OF_MEAN, "bounded-mean", "wilson-mean", "betting"]
NOT_WALD = [name for name in BINOMIAL if name != "wald"]
NOT_MEAN = ["delta", "percentile", "bca", "studentized"]
OFFERED: list[tuple[str, list[str]]] = [
    ("accuracy error precision recall specificity npv jaccard weighted_recall", BINOMIAL),
    ("f1 micro_f1 micro_precision micro_jaccard", NOT_WALD),
    ("fbeta:2 mcc kappa balanced_accuracy macro_f1 macro_precision macro_recall weighted_f1 weighted_precision", OF_TABLE),
    ("mean brier pass@2 pass^2", BOUNDED),
    ("log_loss mae", OF_MEAN),
    ("ece rmse r2 ratio", NOT_MEAN),
    ("auc", ["delong-wilson", "delong", "percentile", "bca"]),
    ("average_precision", ["delta-wilson", "delta", "percentile", "bca"]),
    ("spearman", ["fisher-z"]),
]
METHODS: dict[str, list[str]] = {metric: methods for metrics, methods in OFFERED for metric in metrics.split()}
ALL_METHODS = sorted({name for names in METHODS.values() for name in names})


@cache
def question_data() -> pd.DataFrame:
    return many_columns().drop(columns=["cluster", "id"])


@cache
def ask(metric: str, **options: Any) -> sy.Measurement:
    if metric.startswith("pass"):
        return sy.measure(repeated(), metric=metric, **options)
    if metric == "ratio":
        return sy.measure(question_data(), ratio="errors/words", **options)
    if metric in ("mae", "rmse", "r2", "spearman"):
        rng = np.random.default_rng(4)
        y = np.arange(60.0)
        return sy.measure(y, y + rng.normal(size=60) * 9, metric=metric, **options)
    if metric == "mean":
        return sy.measure(question_data()[["probability"]], score="probability", metric=metric, **options)
    frame = question_data().drop(columns=["score"])
    needs_class = metric in ("precision", "recall", "specificity", "npv", "jaccard", "f1", "fbeta:2")
    return sy.measure(frame, metric=metric, **({"positive": 1} if needs_class else {}), **options)


@every(  # two-sided and one of the others: every method has both, though not of every metric
    ("metric", "method", "side"),
    [
        (metric, method, ("lower", "upper")[(turn + place) % 2])
        for turn, (metric, methods) in enumerate(METHODS.items())
        for place, method in enumerate(methods)
    ],
)
def test_every_method_of_every_metric(metric: str, method: str, side: str) -> None:
    one, both = (ask(metric, interval=method, side=way, draws=150, confidence_level=level) for way, level in ((side, 0.9), ("two", 0.8)))
    for m, way, level in ((one, side, 0.9), (both, "two", 0.8)):
        assert m.interval is not None, m.warnings
        assert (m.interval.method, m.interval.side, m.interval.confidence_level) == (method, way, level)
        # the redrawn calibration error lies above the observed one (noise adds to it), so its quantiles may all do so
        sound(m, contains=method not in ("percentile", "bca") and not (metric == "ece" and method == "studentized"))
    if method != "hdi":  # the shortest interval has no fixed share in its tails
        ends = [m.row.interval.low if side == "lower" else m.row.interval.high for m in (one, both)]
        assert ends[0] == pytest.approx(ends[1], abs=1e-9)  # a one-sided bound at 90% is the end of the two-sided 80%


@every("metric", METHODS)
def test_a_wider_level_is_a_wider_interval(metric: str) -> None:
    widths = []
    for level in (0.5, 0.9, 0.99):
        interval = ask(metric, confidence_level=level, draws=1000).interval
        assert interval is not None
        assert interval.low is not None
        assert interval.high is not None
        widths.append(interval.high - interval.low)
    assert widths == sorted(widths)
    assert len(set(widths)) == 3


@every("metric", METHODS)
def test_a_method_that_a_metric_does_not_offer_lists_those_it_does(metric: str) -> None:
    others = [name for name in ALL_METHODS if name not in METHODS[metric]]
    for method in others:
        with pytest.raises(sy.UsageError, match=r"The interval .* does not work for .*; use ") as refusal:
            ask(metric, interval=method)
        for offered in METHODS[metric]:
            assert offered in str(refusal.value), (metric, method)
    with pytest.raises(sy.UsageError, match=r"No interval method 'wilsonn'. Did you mean wilson\?"):
        ask(metric, interval="wilsonn")


@every("method", BINOMIAL)
@every(("right", "n"), [(0, 20), (20, 20), (1, 1), (0, 1)])
def test_proportions_at_the_ends(method: str, right: int, n: int) -> None:
    for metric in ("accuracy", "error", "mean"):
        m = sy.measure(sy.Counts.of(right, n), interval=method, metric=metric)
        assert m.interval is not None
        sound(m, contains=method not in ("jeffreys", "bayes", "bca", "delta"))  # Jeffreys' quantiles never reach 0 or 1, and say so
        assert m.interval.low is not None
        assert m.interval.high is not None
        assert 0 <= m.interval.low < m.interval.high <= 1
    if method == "wald":
        assert said(m, "Wald", "is used")


@every("metric", ["accuracy", "error", "mean"])
@every("method", BINOMIAL)
def test_bare_counts_offer_what_items_offer(metric: str, method: str) -> None:
    """Counts.of serves accuracy, error and mean; 12 right of 40 are the same as the items they stand for."""
    right = [1] * 12 + [0] * 28
    items = sy.measure(right, metric=metric, interval=method)
    same(items, sy.measure(sy.Counts.of(12, 40), metric=metric, interval=method))


def test_wald_near_an_end_is_warned_about() -> None:
    assert said(sy.measure(sy.Counts.of(39, 40), interval="wald"), "covers far less")
    assert not sy.measure(sy.Counts.of(12, 40), interval="wald").warnings


def test_the_table_of_the_slides_falls_out() -> None:
    for level, z in ((0.5, 0.67), (0.68, 1.0), (0.8, 1.28), (0.9, 1.64), (0.95, 1.96), (0.98, 2.33), (0.99, 2.58)):
        interval = sy.measure(sy.Counts.of(500, 1000), interval="wald", confidence_level=level).interval
        assert interval is not None
        assert interval.high is not None
        assert (interval.high - 0.5) / math.sqrt(0.25 / 1000) == pytest.approx(z, abs=0.01)


@pytest.mark.parametrize("metric", ["mcc", "kappa", "macro_f1", "balanced_accuracy", "fbeta:2"])
def test_perfect_tables_fall_back_with_a_warning(metric: str) -> None:
    y = ["a", "b"] * 15
    m = sy.measure(y, y, metric=metric, positive="a")
    assert m.estimate == 1.0
    assert m.interval is not None
    assert m.interval.method == "bayes"
    assert said(m, "the posterior's is used")
    assert m.interval.low is not None
    assert m.interval.high is not None
    assert m.interval.low < m.interval.high


def test_bayes_says_its_prior_and_how_much_it_matters() -> None:
    m = sy.measure(sy.Counts.binary(tp=31, fp=5, fn=2), metric="f1", interval="bayes")
    assert "Beta(0.5, 1)" in m.row.details["prior"]
    assert m.row.details["prior_sensitivity"] == pytest.approx(0.081, abs=1e-3)
    few = sy.measure(sy.Counts.binary(tp=31, fp=5, fn=2), metric="f1", interval="bayes", prior=0.05)
    assert few.row.details["prior_sensitivity"] > 0.11
    assert said(few, "the prior matters")


def test_names_have_aliases() -> None:
    frame = question_data()
    for alias, name in (("acc", "accuracy"), ("roc_auc", "auc"), ("ap", "average_precision"), ("matthews", "mcc"), ("logloss", "log_loss")):
        assert sy.measure(frame, metric=alias).row.metric == name


def test_group_and_repeat_columns_are_printed_with_the_roles() -> None:
    m = sy.measure(many_columns(), metric="accuracy")
    assert m.roles["group"] == "cluster"
    assert "group = cluster" in str(m)


def test_means_of_weighted_scores_have_the_interval_of_as_many_items_as_they_are_worth() -> None:
    """t covers 0.87 with 20 of them: `steelyard certify --full --only "weighted items"`."""
    data = {"score": np.linspace(0.1, 0.9, 20), "w": np.tile([0.5, 1.5], 10)}
    found = sy.measure(data, metric="mean", weight="w")
    assert found.interval is not None
    worth, error = 20**2 / (10 * 0.5**2 + 10 * 1.5**2), found.row.standard_error or 0.0
    ends = bounded_mean(worth, found.estimate or 0.0, error**2 * worth * (worth - 1), 0, 1)
    assert (found.interval.method, found.interval.low, found.interval.high) == (
        "bounded-mean",
        pytest.approx(ends[0]),
        pytest.approx(ends[1]),
    )
    with pytest.raises(sy.UsageError, match="betting"):  # it knows no weights
        sy.measure(data, metric="mean", weight="w", interval="betting")
