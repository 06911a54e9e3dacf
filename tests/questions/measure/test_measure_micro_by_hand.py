"""Micro averages and the table they come from, counted item by item."""

from __future__ import annotations

import random

import pytest

import steelyard as sy

METRICS = ("micro_f1", "micro_precision", "micro_recall", "micro_specificity")


@pytest.mark.parametrize("missing", [None, "wrong", "drop"])
@pytest.mark.parametrize("seed", range(8))
def test_every_class_against_the_rest_added_up(missing: str | None, seed: int) -> None:
    drawn = random.Random(seed)
    labels = drawn.sample("abcdefg", drawn.randint(2, 5))
    n = drawn.randint(10, 60)
    truth = [drawn.choice(labels) for _ in range(n)]
    said = [drawn.choice([*labels, *(["other"] if seed % 2 else []), *([None] if missing else [])]) for _ in range(n)]
    given = {} if missing is None else {"missing": missing}
    found = sy.measure({"truth": truth, "prediction": said}, metric=list(METRICS), **given)
    pairs = [(t, p) for t, p in zip(truth, said, strict=True) if p is not None or missing == "wrong"]
    classes = {t for t, _ in pairs} | {p for _, p in pairs if p is not None}
    cells = {"tp": 0, "fp": 0, "fn": 0, "tn": 0}
    for one in classes:
        for t, p in pairs:
            cells[("t" if (t == one) == (p == one) else "f") + ("p" if p == one else "n")] += 1
    tp, fp, fn, tn = cells.values()
    by_hand = {
        "micro_f1": 2 * tp / (2 * tp + fp + fn),
        "micro_precision": tp / (tp + fp),
        "micro_recall": tp / (tp + fn),
        "micro_specificity": tn / (tn + fp),
    }
    for row in found.rows:
        assert row.estimate == pytest.approx(by_hand[row.metric], abs=1e-12), row.metric
        pooled = row.to_dict()["details"]["pooled"]
        assert sorted(value for value in pooled.values() if type(value) is int) == sorted(cells.values()), (row.metric, pooled, cells)
