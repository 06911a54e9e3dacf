"""Input as people have it: arrays, frames, files, counts, nested columns, several models; and what is measured by default."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import f1_score

import steelyard as sy

RNG = np.random.default_rng(0)
Y = np.array([0, 1] * 40)
P = np.round(np.clip(Y * 0.3 + RNG.random(80) * 0.7, 0, 1), 3)
SAID = (P > 0.5).astype(int)
IDS = [f"item-{i:02d}" for i in range(80)]
ROWS = [
    {"id": i, "truth": str(y), "prediction": str(s), "language": "de" if k % 3 else "en"}
    for k, (i, y, s) in enumerate(zip(IDS, Y, SAID, strict=True))
]
ACCURACY = float((Y == SAID).mean())


def csv(rows: list[dict[str, Any]]) -> str:
    return "\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]) + "\n"


def written(path: Path) -> dict[str, Path]:
    """The same rows in every format."""
    table = pa.Table.from_pylist(ROWS)
    names = ("a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet", "a.csv.gz", "a.txt.csv")
    made = {name: path / name for name in names}
    made["a.csv"].write_text("\ufeff" + csv(ROWS), encoding="utf-8")
    made["a.tsv"].write_text(csv(ROWS).replace(",", "\t"))
    made["a.jsonl"].write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    made["a.json"].write_text(json.dumps(ROWS))
    pq.write_table(table, made["a.parquet"])
    made["a.csv.gz"].write_bytes(gzip.compress(csv(ROWS).encode()))
    made["a.txt.csv"].write_text(csv(ROWS).replace(",", ";"))
    return made


def test_the_same_rows_are_the_same_answer_from_every_format_and_frame(tmp_path: Path) -> None:
    frames: dict[str, Any] = {"rows": ROWS, "pandas": pd.DataFrame(ROWS), "polars": pl.DataFrame(ROWS), "arrow": pa.Table.from_pylist(ROWS)}
    frames["columns"] = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    want = sy.measure(ROWS)
    assert want["accuracy"].estimate == ACCURACY
    for name, source in {**frames, **written(tmp_path)}.items():
        found = sy.measure(source, by="language")
        assert found.metrics == want.metrics, name
        assert [each.value for each in found.slices] == ["de", "en"]


def test_the_order_of_the_file_changes_nothing(tmp_path: Path) -> None:
    one, two = ({"id": IDS, "truth": Y.tolist(), "prediction": said.tolist()} for said in (SAID, 1 - SAID))
    turned = {name: values[::-1] for name, values in two.items()}
    for metric in ("accuracy", "macro_f1", "mcc"):
        assert sy.compare(one, two, metric=metric).difference == sy.compare(one, turned, metric=metric).difference


ASKED: dict[str, tuple[Callable[[], sy.Measurement], list[str]]] = {
    "labels": (lambda: sy.measure(Y, SAID), ["accuracy", "macro_f1", "f1", "f1"]),
    "probabilities": (lambda: sy.measure(Y, P), ["auc", "brier"]),
    "predict_proba": (lambda: sy.measure(Y, np.c_[1 - P, P]), ["auc", "brier"]),
    "scores": (lambda: sy.measure([0.2, 0.7, 0.9]), ["mean"]),
    "right or wrong": (lambda: sy.measure({"correct": [True, False, True]}), ["accuracy"]),
    "a score beside labels": (lambda: sy.measure({"truth": ["a", "b"], "prediction": ["a", "a"], "score": [0.5, 0.7]}), ["mean"]),
    "numbers": (lambda: sy.measure(np.arange(60) * 1.5, np.arange(60) * 1.4), ["rmse", "mae", "r2"]),
    "answers": (lambda: sy.measure([f"answer {i}" for i in range(60)], [f"answer {i // 2}" for i in range(60)]), ["accuracy"]),
    "counts of a class": (lambda: sy.measure("tp=31,fp=5,fn=2"), ["precision", "recall", "f1"]),
    "k of n": (lambda: sy.measure("85/100"), ["accuracy"]),
}


@pytest.mark.parametrize("what", ASKED)
def test_what_is_measured_by_default(what: str) -> None:
    ask, names = ASKED[what]
    found = ask()
    assert [row.metric for row in found.metrics] == names
    assert all(row.interval is not None for row in found.metrics)


def test_names_functions_and_weights() -> None:
    assert sy.measure(Y, SAID, metric="f1").row.label == "1"
    assert sy.measure(Y, SAID, metric=f1_score).estimate == pytest.approx(f1_score(Y, SAID))
    assert sy.measure(Y, SAID, metric="sklearn.metrics:f1_score").estimate == pytest.approx(f1_score(Y, SAID))
    weight = RNG.random(80) + 0.5
    assert sy.measure(Y, SAID, sample_weight=weight).estimate == pytest.approx(np.average(Y == SAID, weights=weight))
    assert sy.measure({"score": P}, metric="median").estimate == pytest.approx(float(np.median(P)))
    rows = [{"id": i, "errors": i % 4, "words": 9 + i % 3} for i in range(40)]
    assert sy.measure(rows, metric="ratio:errors/words").estimate == pytest.approx(
        sum(i % 4 for i in range(40)) / sum(9 + i % 3 for i in range(40))
    )


def test_nested_scores_and_numbers_in_a_text(tmp_path: Path) -> None:
    path = tmp_path / "nested.jsonl"
    path.write_text("".join(json.dumps({"id": i, "scores": {"Factuality": i % 5 / 4, "Style": 1}}) + "\n" for i in range(20)))
    assert sy.measure(str(path), score="scores.Factuality").estimate == pytest.approx(0.5)
    both = sy.measure(str(path), score="scores.Factuality,scores.Style")
    assert [row.score for row in both.metrics] == ["scores.Factuality", "scores.Style"]
    (tmp_path / "numbers.txt").write_text("0.5\n0.7\n0.9\n")
    assert sy.measure(str(tmp_path / "numbers.txt")).estimate == pytest.approx(0.7)


def test_several_models_in_one_file() -> None:
    rows = [{"id": i, "model": m, "correct": int(i % 7 < k)} for m, k in (("a", 2), ("b", 5), ("c", 6)) for i in range(60)]
    assert [row.model for row in sy.measure(rows).metrics] == ["a", "b", "c"]
    two = [row for row in rows if row["model"] != "c"]
    assert (c := sy.compare(two)).baseline.name == "a"
    assert c.difference.estimate is not None
    assert c.difference.estimate > 0
    assert [row.name for row in sy.rank(rows).rows] == ["c", "b", "a"]
    assert [row.name for row in sy.rank({m: [row for row in rows if row["model"] == m] for m in "abc"}).rows] == ["c", "b", "a"]


def test_several_runs_of_each_item_give_two_claims() -> None:
    a, b = [0, 2, 0, 3, 1, 2, 0, 0], [3, 3, 0, 3, 1, 3, 3, 2]
    sides = [
        {"id": [i for i in range(8) for _ in range(3)], "repeat": [0, 1, 2] * 8, "score": [int(r < k) for k in right for r in range(3)]}
        for right in (a, b)
    ]
    c = sy.compare(*sides)
    assert c.claims is not None
    assert c.claims["these"].p_value == pytest.approx(0.0007, abs=5e-5)
    assert c.claims["new"].p_value == pytest.approx(0.084, abs=5e-4)
    assert c.difference.interval == c.claims["new"].interval
    assert sy.compare(*sides, claim="these").p_value == c.claims["these"].p_value
    assert "Next: 16 cases" in c.next_step


def test_missing_answers_are_counted_or_left_out() -> None:
    rows = {"truth": ["a", "b", "a", "b"] * 5, "prediction": ["a", None, "a", "b"] * 5}
    assert sy.measure(rows, missing="wrong").estimate == 0.75
    assert sy.measure(rows, missing="drop").n == 15
    assert "5 of 20 rows" in sy.measure(rows, missing="drop").warnings[0]


def test_unmatched_items_and_different_ones() -> None:
    one, two = ({"id": list(range(k, k + 50)), "score": [i % 3 / 2 for i in range(50)]} for k in (0, 5))
    assert sy.compare(one, two, unmatched="drop").n == 45
    assert sy.compare(one, two, design="unpaired").design == "unpaired"
    assert sy.compare("85/100", "70/100").difference.estimate == pytest.approx(-0.15)
    assert sy.compare("40-12-28").n == 80
