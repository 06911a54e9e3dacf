"""Groups, repeats and real-valued scores on an engine: the answers of the items, though the rows stay where they are.

The limit on what may travel is lowered, so that tables of some hundred rows are too large; `_here`, which moves rows, is barred.
"""

from __future__ import annotations

import hashlib
import math
import random
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.errors import DataError
from steelyard.estimate import compare_sources as compare_engine
from steelyard.estimate import from_source as measure_engine
from steelyard.infer.intervals.sums import linearised, resampled, student_mean
from steelyard.infer.resampling.bootstrap import Degenerate
from steelyard.metrics.sums import QUOTIENT
from steelyard.read.engines import dialects, join, moments, tables, units
from steelyard.tally.sums import Sums, tally_items

Rows = list[tuple[Any, ...]]
LABELLED = {"id": "int", "truth": "text", "prediction": "text", "group": "text"}
SCORED = {"id": "int", "score": "float", "group": "text"}
REPEATED = {"id": "int", "score": "float", "repeat": "int"}


@pytest.fixture
def stay(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lower the limit, and bar the rows from moving."""

    def lower(limit: int) -> None:
        for module in (compare_engine, measure_engine, join, moments, tables, units):
            if hasattr(module, "TRAVELLERS"):
                monkeypatch.setattr(module, "TRAVELLERS", limit)

    def moved(self: Any) -> Any:
        raise AssertionError("rows left the engine")

    monkeypatch.setattr(tables.SqlTable, "_here", moved)
    return lower


def named(types: dict[str, str], rows: Rows) -> list[dict[str, Any]]:
    return [dict(zip(types, row, strict=True)) for row in rows]


def same(found: Any, expected: Any, *, but: tuple[str, ...] = ()) -> None:
    """Two measurements with the same numbers to 1e-12, and the same words."""
    assert (found.n, found.signature) == (expected.n, expected.signature)
    assert found.warnings == expected.warnings
    assert len(found.rows) == len(expected.rows)
    for one, other in zip(found.rows, expected.rows, strict=True):
        assert (one.metric, one.n, one.interval.method) == (other.metric, other.n, other.interval.method)
        numbers = ((one.estimate, other.estimate), (one.interval.low, other.interval.low), (one.interval.high, other.interval.high))
        for x, y in numbers:
            assert x == pytest.approx(y, rel=1e-12)
        assert set(other.details) - set(one.details) <= set(but)
        for key, value in one.details.items():
            told = other.details[key]
            assert value == (pytest.approx(told, rel=1e-9) if isinstance(value, (int, float)) else told), key


def labelled(n: int, groups: int) -> Rows:
    draw = random.Random(n)
    out = []
    for i in range(n):
        truth, group = draw.choice("abc"), draw.randrange(groups)
        right = draw.random() < 0.5 + 0.4 * math.sin(group) ** 2
        out.append((i, truth, truth if right else draw.choice("abc"), f"g{group}"))
    return out


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "mcc"])
def test_labels_in_groups_are_counted_there(database: Any, stay: Any, metric: str) -> None:
    rows = labelled(400, 30)
    local = sy.measure(named(LABELLED, rows), metric=metric)
    assert local.rows[0].details["groups"] == 30
    stay(300)  # 30 groups of 9 cells may travel; 400 rows may not
    same(measured(database, LABELLED, rows, metric=metric), local)


def test_groups_too_many_to_travel_are_dealt_whole(database: Any, stay: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the groups had been called by the first digits of their md5 (one of them here, so that the buckets may travel)."""
    rows = labelled(600, 400)
    dealt = [(*row[:3], hashlib.md5(row[3].encode()).hexdigest()[:1]) for row in rows]
    monkeypatch.setattr(dialects, "BUCKET_DIGITS", 1)
    local = sy.measure(named(LABELLED, dealt), metric="accuracy")
    stay(300)
    found = measured(database, LABELLED, rows, metric="accuracy")
    assert "too many groups to transfer: they were hashed into 16 buckets (md5 of their names)" in found.warnings[0]
    assert (found.estimate, found.interval) == (local.estimate, local.interval)


def measured(engine: Any, types: dict[str, str], rows: Rows, **asked: Any) -> Any:
    name = engine.put("t", types, rows)
    source = engine._frames[name] if engine.name == "spark" else engine.url(name)
    return sy.measure(source, **asked)


def scores(n: int, groups: int = 40) -> Rows:
    draw = random.Random(7)
    return [(i, draw.betavariate(2, 1 + i % groups / groups), f"g{i % groups}") for i in range(n)]


@pytest.mark.parametrize("interval", [None, "percentile"])
def test_means_by_group(engine: Any, stay: Any, interval: str | None) -> None:
    rows = scores(500)
    local = sy.measure(named(SCORED, rows), metric="mean", interval=interval, seed=3)
    stay(100)
    same(measured(engine, SCORED, rows, metric="mean", interval=interval, seed=3), local)


def test_a_mean_of_many_scores_has_the_t_of_its_items(database: Any, stay: Any) -> None:
    types = {"id": "int", "score": "float"}
    rows = [row[:2] for row in scores(500)]
    local = sy.measure(named(types, rows))
    stay(100)
    same(measured(database, types, rows), local)


def test_a_bootstrap_of_many_scores_has_one_answer_for_one_seed(engine: Any, stay: Any) -> None:
    """By md5 buckets in Python: what every engine must give."""
    types = {"id": "text", "score": "float"}
    rows = [(f"item ü {i}", score) for i, score, _ in scores(900)]
    held: dict[str, list[float]] = {}
    for name, score in rows:
        held.setdefault(hashlib.md5(name.encode()).hexdigest()[:3], []).append(score)
    by_hand = np.array([[len(part), math.fsum(part)] for _, part in sorted(held.items())])
    sums = Sums(rows=by_hand, count=np.ones(len(by_hand), np.int64), answers=900)
    expected = resampled(sums, QUOTIENT, "bca", 0.95, "two", draws=500, seed=11)[:2]
    stay(100)
    found = measured(engine, types, rows, interval="bca", draws=500, seed=11)
    assert (found.interval.low, found.interval.high) == pytest.approx(expected, rel=1e-12)
    assert "900 lie in" in found.warnings[0]


def repeated(n: int, runs: int, *, binary: bool) -> Rows:
    draw = random.Random(runs)
    out = []
    for i in range(n):
        hard = draw.random()
        out += [(i, float(draw.random() < hard) if binary else hard + draw.gauss(0, 0.1), r) for r in range(runs - i % 2)]
    draw.shuffle(out)
    return out


VARIANCE = ("variance_within", "variance_between")  # told from rows alone


@pytest.mark.parametrize("binary", [True, False])
def test_repeats_are_items_counted_once(database: Any, stay: Any, binary: bool) -> None:
    rows = repeated(150, 3, binary=binary)
    local = sy.measure(named(REPEATED, rows))
    assert local.rows[0].details["repeats"] == 3
    stay(200)
    same(measured(database, REPEATED, rows), local, but=VARIANCE)


def test_repeats_in_groups(engine: Any, stay: Any) -> None:
    types = {**REPEATED, "group": "text"}
    rows = [(*row, f"g{row[0] % 25}") for row in repeated(150, 3, binary=False)]
    local = sy.measure(named(types, rows), metric="mean")
    stay(100)
    same(measured(engine, types, rows, metric="mean"), local, but=VARIANCE)
    torn = [(*row[:3], f"g{row[2]}") for row in rows]
    engine.put("torn", types, torn)
    source = engine.open("torn")
    with pytest.raises(DataError, match=r"150 items of the table .* have repeats in two groups"):
        units.by_item(source)


def test_what_is_missing_or_outside_is_refused_there(database: Any, stay: Any) -> None:
    rows = scores(300)
    stay(100)
    with pytest.raises(DataError, match=r"A score of .* lies outside the declared range, 0 to 0\.5\."):
        measured(database, SCORED, rows, metric="mean", range=(0, 0.5))
    rows[5] = (5, None, "g0")
    database.put("holes", SCORED, rows)
    with pytest.raises(DataError, match=r"The score of .* has 1 values that are NULL, NaN or infinite"):
        units.unit_sums(database.open("holes"))


def test_two_systems_by_group(engine: Any, stay: Any) -> None:
    """The difference is that of the items; its error is that of the groups' sums."""
    draw = random.Random(9)
    a = scores(500)
    b = [(i, score + draw.gauss(0.05, 0.1), group) for i, score, group in a]
    draw.shuffle(b)
    local = sy.compare(named(SCORED, a), named(SCORED, b), metric="mean")
    stay(100)
    engine.put("a", SCORED, a)
    engine.put("b", SCORED, b)
    sources = [engine._frames[run] if engine.name == "spark" else engine.url(run) for run in "ab"]
    found = sy.compare(*sources, metric="mean", seed=5)
    assert found.difference.estimate == pytest.approx(local.difference.estimate, rel=1e-12)
    assert (found.n, found.details["groups"], found.design) == (500, 40, "clustered")
    # a difference of means over groups of nearly one size: the two ways to its error agree
    assert found.difference.interval.low == pytest.approx(local.difference.interval.low, rel=1e-6)
    moved = [(i, score, f"h{i % 7}") for i, score, _ in b]
    engine.put("c", SCORED, moved)
    with pytest.raises(DataError, match=r"500 items are in another group in the other run\."):
        units.paired_unit_sums(engine.open("a"), engine.open("c"))


def test_student_from_moments_is_student_from_items() -> None:
    """The oracle is the interval of the items themselves, one row each; and no spread is no interval."""
    draw = np.random.default_rng(2)
    for n in (2, 3, 10, 1000):
        x = draw.exponential(size=n) + draw.normal(0, 100)
        squares = float(((x - x.mean()) ** 2).sum())
        for side in ("two", "lower", "upper"):
            expected = linearised(tally_items(np.stack([np.ones(n), x], axis=1)), QUOTIENT, 0.9, side)
            assert student_mean(n, float(x.mean()), squares, 0.9, side) == pytest.approx(expected, rel=1e-9)
    for n, squares in ((1, 0.0), (5, 0.0)):
        with pytest.raises(Degenerate):
            student_mean(n, 1.0, squares)


def test_student_from_moments_covers() -> None:
    """10,000 normal samples of 5: exactly .95, within 4 binomial standard errors."""
    draw = np.random.default_rng(3).normal(size=(10_000, 5))
    mean, squares = draw.mean(1), ((draw - draw.mean(1, keepdims=True)) ** 2).sum(1)
    ends = [student_mean(5, float(m), float(s)) for m, s in zip(mean, squares, strict=True)]
    covered = float(np.mean([low <= 0 <= high for low, high in ends]))
    assert abs(covered - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 10_000)
