"""What must hold of any data: swapped systems mirror the answer, order and names say nothing, other units change nothing but units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import every

Rows = list[dict[str, Any]]
SHAPES = ["plain", "repeats", "one item a hundred times", "groups", "groups of unequal size"]


def made(rng: np.random.Generator, shape: str, *, binary: bool) -> tuple[Rows, Rows]:
    """Two systems on the same few items, in one of the shapes."""
    n = int(rng.choice([2, 3, 5, 8, 14]))
    group = [i // 2 for i in range(n)] if shape == "groups" else [0 if i < n // 4 else i for i in range(n)]

    def system() -> Rows:
        rows: Rows = []
        for i in range(n):
            times = {"repeats": int(rng.integers(1, 5)), SHAPES[2]: 100 if i == 0 else 1}.get(shape, 1)
            for k in range(times):
                score = float(rng.random() < 0.8) if binary else float(rng.integers(0, 9)) / 8
                row = {"id": f"i{i}", "score": score}
                rows.append(row | ({"repeat": k} if times > 1 or "item" in shape or shape == "repeats" else {}))
                if "groups" in shape:
                    rows[-1]["group"] = f"g{group[i]}"
        return rows

    return system(), system()


def numbers(found: Any) -> tuple[Any, ...]:
    interval, margin = found.difference.interval, found.equivalence
    ends = (None, None) if interval is None else (interval.low, interval.high)
    return (found.difference.estimate, *ends, found.p_value, *((margin["p_lower"], margin["p_upper"]) if margin else (None, None)))


def same(found: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return all(a == b if a is None or b is None else a == pytest.approx(b, rel=1e-7, abs=1e-9) for a, b in zip(found, other, strict=True))


def renamed(rows: Rows) -> Rows:
    return [row | {"id": "x" + row["id"]} | ({"group": row["group"][::-1]} if "group" in row else {}) for row in rows]


@every("shape", SHAPES)
@every("binary", [True, False], ids=["right or wrong", "scores"])
def test_swapped_systems_shuffled_rows_and_other_names(shape: str, binary: bool) -> None:
    rng = np.random.default_rng([len(shape), binary])
    for _ in range(2):
        a, b = made(rng, shape, binary=binary)
        options: dict[str, Any] = {"margin": 0.2} if binary else {"margin": 0.2, "range": (0, 1)}
        found = numbers(sy.compare(a, b, **options))
        estimate, low, high, p, below, above = numbers(sy.compare(b, a, **options))
        mirrored = (-estimate, None if high is None else -high, None if low is None else -low, p, above, below)
        assert same(found, mirrored)
        shuffled = [[rows[i] for i in rng.permutation(len(rows))] for rows in (a, b)]
        assert same(found, numbers(sy.compare(*shuffled, **options)))
        assert same(found, numbers(sy.compare(renamed(a), renamed(b), **options)))


@pytest.mark.parametrize("shape", SHAPES)
def test_p_and_interval_say_the_same_where_they_are_of_one_method(shape: str) -> None:
    rng, judged = np.random.default_rng(len(shape)), 0
    for _ in range(12):
        a, b = made(rng, shape, binary=False)
        found = sy.compare(a, b, range=(0, 1), margin=0.3)
        interval = found.difference.interval
        if interval is None or found.test is None or found.test.name != interval.method:
            continue
        judged += 1
        assert (found.test.p_value <= 0.05) == (interval.low > 0 or interval.high < 0)
        narrower = sy.compare(a, b, range=(0, 1), confidence_level=0.9).difference.interval
        assert found.equivalence is not None
        assert narrower is not None
        assert (found.equivalence["p_lower"] <= 0.05) == (narrower.low >= -0.3)
    assert judged or "groups" in shape


@pytest.mark.parametrize(("factor", "shift"), [(-3.0, 7.0), (1e-3, 0.0), (1e6, -2.0)])
def test_other_units(factor: float, shift: float) -> None:
    rng = np.random.default_rng(5)
    for n in (2, 3, 9, 30):
        scores, others = rng.beta(2, 1, n).round(2), rng.beta(2, 1, n).round(2)
        bounds = sorted((shift, factor + shift))
        plain = sy.measure(scores, range=(0, 1)).interval
        turned = sy.measure(factor * scores + shift, range=bounds).interval
        assert plain is not None
        assert turned is not None
        ends = sorted(factor * end + shift for end in (plain.low, plain.high))
        assert [turned.low, turned.high] == pytest.approx(ends, rel=1e-7, abs=1e-9 * abs(factor))
        p = sy.compare(scores, others, range=(0, 1)).p_value
        assert sy.compare(factor * scores + shift, factor * others + shift, range=bounds).p_value == pytest.approx(p, rel=1e-6)


@every("kind", ["spread", "ties", "perfect"])
@every("positives", [2, 5, 12])
def test_an_area_knows_ranks_only(kind: str, positives: int) -> None:
    rng = np.random.default_rng(positives)
    truth = np.arange(40) < positives
    drawn = rng.normal(size=40) + truth
    score = {"spread": drawn, "ties": np.round(drawn), "perfect": truth + rng.random(40) / 2}[kind]
    chance = 1 / (1 + np.exp(-score))

    def ends(truth: Any, chance: Any) -> tuple[float, float]:
        rows = [{"id": i, "truth": int(t), "probability": float(c)} for i, (t, c) in enumerate(zip(truth, chance, strict=True))]
        interval = sy.measure(rows, metric="auc", positive=1).interval
        assert interval is not None
        return interval.low, interval.high

    low, high = ends(truth, chance)
    assert 0 <= low < high <= 1
    assert ends(truth, chance**3) == pytest.approx((low, high))
    assert ends(~truth, 1 - chance) == pytest.approx((low, high))
    assert ends(truth, 1 - chance) == pytest.approx((1 - high, 1 - low))
