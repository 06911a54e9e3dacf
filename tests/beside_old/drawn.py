"""Questions at random: metrics by designs, paired or not, ties and extremes.

`python tests/beside_old/drawn.py 0 100` asks those of a hundred worlds, prints a table, and fails where an answer is not explained.
"""

from __future__ import annotations

import collections
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from both import OF_CLASS, Case, explained, same

NAMES = np.array(list("abcdefgh"))
LABELS = ("accuracy", "error", "macro_f1", "weighted_f1", "mcc", "kappa", "balanced_accuracy", "macro_precision", "micro_f1")
NUMBERS = ("mae", "rmse", "r2")
PROBABILITIES = ("brier", "log_loss", "auc", "ece", "average_precision")


def cases(seed: int) -> Iterator[Case]:
    """The questions of one world."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 4, 12, 40, 120, 400], p=[0.04, 0.06, 0.2, 0.3, 0.2, 0.2]))
    k, right = int(rng.choice([2, 3, 5])), float(rng.choice([0.0, 0.6, 0.85, 0.95, 1.0], p=[0.08, 0.23, 0.23, 0.23, 0.23]))
    truth = rng.choice(k, n, p=rng.dirichlet(np.full(k, 3.0)))
    guess = np.where(rng.random(n) < right, truth, rng.integers(0, k, n))
    other = np.where(rng.random(n) < 0.15, rng.integers(0, k, n), guess)
    note = f"n={n} k={k} right={right} seed={seed}"
    ids = [f"i{i:05d}" for i in range(n)]
    groups = max(6, n // int(rng.choice([2, 4, 8])))
    share = rng.dirichlet(np.full(groups, float(rng.choice([0.3, 3.0]))))  # now and then one giant group
    group = [f"g{g:03d}" for g in rng.choice(groups, n, p=share)]
    weight = (rng.random(n) + 0.2).tolist()
    designs: dict[str, dict[str, Any]] = {
        "items": {"id": ids},
        "groups": {"id": ids, "group": group},
        "weights": {"id": ids, "weight": weight},
    }
    runs = int(rng.choice([2, 3]))
    few = min(n, max(6, n // runs))
    item = np.repeat(np.arange(few), runs)
    repeated = {"id": [f"i{i:05d}" for i in item], "repeat": np.tile(np.arange(runs), few).tolist()}
    rt = np.repeat(truth[:few], runs)
    ra, rb = (np.where(rng.random(len(item)) < share, rt, rng.integers(0, k, len(item))) for share in (right, right - 0.05))
    common = NAMES[int(np.bincount(truth).argmax())]
    for metric in (*LABELS, *OF_CLASS):
        said = {"positive": str(common)} if metric in OF_CLASS else {}
        for design, columns in designs.items():
            a, b = ({**columns, "truth": NAMES[truth].tolist(), "prediction": NAMES[said_].tolist()} for said_ in (guess, other))
            yield Case(metric, a, None, design, said, note)
            yield Case(metric, a, b, design, said, note)
        a, b = ({**repeated, "truth": NAMES[rt].tolist(), "prediction": NAMES[said_].tolist()} for said_ in (ra, rb))
        yield Case(metric, a, None, "repeats", said, note)
        yield Case(metric, a, b, "repeats", said, note)
        u = rng.choice(k, n + 17)
        v = np.where(rng.random(n + 17) < right - 0.03, u, rng.integers(0, k, n + 17))
        a, b = ({"truth": NAMES[t].tolist(), "prediction": NAMES[p].tolist()} for t, p in ((truth, guess), (u, v)))
        yield Case(metric, a, b, "unpaired", said, note)
    score = np.clip(rng.normal(0.7, 0.2, n), 0, 1) if seed % 2 else np.where(rng.random(n) < 0.1, rng.random(n), 1.0)
    moved = np.clip(score + rng.normal(0.01, 0.1, n) * (rng.random(n) < 0.5), 0, 1)
    rs = np.clip(rng.normal(0.6, 0.2, len(item)), 0, 1)
    rm = np.clip(rs + rng.normal(0, 0.1, len(item)), 0, 1)
    for said in ({}, {"range": (0.0, 1.0)}):
        for design, columns in designs.items():
            yield Case("mean", {**columns, "score": (score if said else 3 * score - 1).tolist()}, None, design, said, note)
            yield Case("mean", {**columns, "score": score.tolist()}, {**columns, "score": moved.tolist()}, design, said, note)
        yield Case("mean", {**repeated, "score": (rs if said else 3 * rs - 1).tolist()}, None, "repeats", said, note)
        yield Case("mean", {**repeated, "score": rs.tolist()}, {**repeated, "score": rm.tolist()}, "repeats", said, note)
        yield Case(
            "mean", {"score": score.tolist()}, {"score": np.clip(rng.normal(0.7, 0.2, n + 9), 0, 1).tolist()}, "unpaired", said, note
        )
    below = rng.integers(1, 30, n).astype(float)
    wrong = rng.random(n)
    above, more = (np.round(below * np.clip(share, 0, 1), 2) for share in (wrong, wrong + rng.normal(0, 0.1, n)))
    y = rng.normal(5, 2, n)
    guess_, other_ = y + rng.normal(0, 1, n), y + rng.normal(0, 1.1, n)
    outcome = (rng.random(n) < float(rng.choice([0.5, 0.2]))).astype(int)
    outcome[: n // 4 + 1], outcome[n // 4 + 1 : n // 2 + 1] = 1, 0
    p, q = (np.round(1 / (1 + np.exp(-(outcome * sep + rng.normal(0, 1, n) - sep / 2))), 3) for sep in (1.5, 1.3))
    for design in ("items", "groups"):
        columns = designs[design]
        a, b = ({**columns, "above": x.tolist(), "below": below.tolist()} for x in (above, more))
        yield Case("ratio", a, None, design, {"ratio": "above/below"}, note)
        yield Case("ratio", a, b, design, {"ratio": "above/below"}, note)
        a, b = ({**columns, "above": (2 * x).tolist(), "below": below.tolist()} for x in (above, more))
        yield Case("perplexity", a, None, design, {"ratio": "above/below"}, note)
        yield Case("perplexity", a, b, design, {"ratio": "above/below"}, note)
        for metric in NUMBERS:
            a, b = ({**columns, "truth": y.tolist(), "prediction": x.tolist()} for x in (guess_, other_))
            yield Case(metric, a, None, design, {}, note)
            yield Case(metric, a, b, design, {}, note)
        for metric in PROBABILITIES:
            a, b = ({**columns, "truth": outcome.tolist(), "probability": x.tolist()} for x in (p, q))
            yield Case(metric, a, None, design, {"positive": "1"}, note)
            if metric != "average_precision":
                yield Case(metric, a, b, design, {"positive": "1"}, note)
    yield Case("spearman", {"truth": y.tolist(), "prediction": guess_.tolist()}, None, "items", {}, note)
    tries = {**repeated, "score": (ra == rt).astype(int).tolist()}
    yield Case("pass@2", tries, None, "repeats", {}, note)
    yield Case("pass^2", tries, {**repeated, "score": (rb == rt).astype(int).tolist()}, "repeats", {}, note)


def main() -> None:
    table: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    shown: collections.Counter[str] = collections.Counter()
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        for case in cases(seed):
            word, ours, theirs = same(case)
            if word in ("differs", "error", "renamed"):
                word = explained(case, ours, theirs) or word
            key = " ".join(case.name.split(" n=")[0].split()) + (" ranged" if "range" in case.said else "")
            table[key][word] += 1
            if word in ("differs", "error") and shown[key] < 1:
                shown[key] += 1
                print(f"{case.name}\n    ours   {ours}\n    theirs {theirs}")
    for key, row in sorted(table.items()):
        print(f"{key:44} {dict(row)}")
    total = sum(table.values(), collections.Counter())
    print(sum(total.values()), "questions:", dict(total))
    sys.exit(bool(total["differs"] or total["error"]))


if __name__ == "__main__":
    main()
