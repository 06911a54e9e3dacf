"""Counts: its doors, its errors, and addition as counting both samples together."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from cases import every
from oracles import cells_of, one_against_rest
from steelyard.tally.counts import Counts, whole

LABEL = st.sampled_from(["a", "b", "c", "10", "9", "x y"])
pairs = st.lists(st.tuples(LABEL, LABEL), max_size=40)


def named(counts: Counts) -> Counter[tuple[str, str]]:
    """The occupied cells by name."""
    return Counter({(counts.labels[t], counts.labels[p]): c for t, p, c in counts.cells()})


def of(rows: list[tuple[str, str]], labels: list[str] | None = None) -> Counts:
    return Counts.table(Counter(rows), labels=labels)


# ---- doors ---------------------------------------------------------------------------------------------------------------


def test_k_of_n() -> None:
    counts = Counts.of(85, 100)
    assert (counts.right, counts.n, counts.kind) == (85, 100, "outcomes")
    assert Counts.of(0, 3).right == 0
    assert Counts.of(3, 3).right == 3
    assert Counts.of(np.int64(2), np.uint8(5)).n == 5  # type: ignore[arg-type]
    assert Counts.of(10**12, 10**13).n == 10**13


def test_binary() -> None:
    counts = Counts.binary(tp=31, fp=5, fn=2, tn=62)
    assert counts.class_margins(1) == (31, 33, 36, 100)
    assert counts.class_margins(0) == (62, 67, 64, 100)
    assert counts.right == 93
    assert not Counts.binary(tp=1, fp=0, fn=0).negatives_known


def test_rows_and_cells_are_one_table() -> None:
    rows = Counts.table([[8, 2], [0, 9]], labels=["cat", "dog"])
    assert rows == Counts.table({("cat", "cat"): 8, ("cat", "dog"): 2, ("dog", "dog"): 9})
    assert list(rows.cells()) == [(0, 0, 8), (0, 1, 2), (1, 1, 9)]
    assert Counts.table([[1, 0], [0, 1]]).labels == ("0", "1")
    assert Counts.table(np.array([[1, 2], [3, 4]]).tolist()).n == 10


def test_declared_labels_put_strays_last() -> None:
    counts = Counts.table({("b", "b"): 3, ("a", "z"): 2, ("a", "y"): 1}, labels=["b", "a", "q"])
    assert counts.labels == ("b", "a", "q", "y", "z")
    assert counts.class_labels == ("b", "a", "q")
    assert counts.strays == {"y": 1, "z": 2}


@every(
    ("make", "message"),
    [
        (lambda: Counts.of(6, 5), r"Cannot have 6 right of 5\."),
        (lambda: Counts.of(-1, 5), "must be 0 or more"),
        (lambda: Counts.of(1, -5), "must be 0 or more"),
        (lambda: Counts.of(True, 5), "whole number"),
        (lambda: Counts.of(2.0, 5), "whole number"),  # type: ignore[arg-type]
        (lambda: Counts.of("2", 5), "whole number"),  # type: ignore[arg-type]
        (lambda: Counts.of(None, 5), "whole number"),  # type: ignore[arg-type]
        (lambda: Counts.binary(tp=1, fp=-2, fn=0), "must be 0 or more"),
        (lambda: Counts.binary(tp=1, fp=0, fn=0.5), "whole number"),  # type: ignore[arg-type]
        (lambda: Counts.binary(tp=1, fp=0, fn=0, tn=False), "whole number"),
        (lambda: Counts.table([[1, 2], [3]]), "as many rows and columns"),
        (lambda: Counts.table([[1, 2], [3, 4]], labels=["a"]), "as many rows and columns"),
        (lambda: Counts.table([[1, -2], [3, 4]]), "must be 0 or more"),
        (lambda: Counts.table([[1, 1.5], [3, 4]]), "whole number"),  # type: ignore[list-item]
        (lambda: Counts.table({("a", "a"): 1}, labels=["a", "a"]), r"The declared labels repeat one: 'a', 'a'\."),
        (
            lambda: Counts.table({("a", "a"): 1, ("b", "a"): 2}, labels=["a"]),
            r"1 label of the truth is not among the declared labels, such as 'b'\.",
        ),
    ],
)
def test_refuses(make: Any, message: str) -> None:
    with pytest.raises(sy.SteelyardError, match=message):
        make()


def test_swapped_numbers_get_a_hint() -> None:
    with pytest.raises(sy.UsageError, match="Did you mean 12/40"):
        Counts.of(40, 12)


def test_whole_is_a_python_int() -> None:
    assert type(whole(np.int32(7), "x")) is int
    with pytest.raises(sy.UsageError):
        whole(np.float64(7), "x")


def test_no_items_cannot_be_measured() -> None:
    with pytest.raises(sy.UsageError, match=r"No items to measure\."):
        sy.measure(Counts.of(0, 0))


# ---- what it knows -------------------------------------------------------------------------------------------------------


@given(rows=pairs)
def test_cells_and_margins(rows: list[tuple[str, str]]) -> None:
    counts = of(rows)
    assert named(counts) == cells_of([t for t, _ in rows], [p for _, p in rows])
    assert counts.n == len(rows)
    assert counts.right == sum(t == p for t, p in rows)
    for k, label in enumerate(counts.labels):
        tp, fp, fn, tn = one_against_rest([t for t, _ in rows], [p for _, p in rows], label)
        assert counts.class_margins(k) == (tp, tp + fn, tp + fp, tp + fp + fn + tn)
        assert counts.code(label) == k
    truth, prediction, count = counts.arrays()
    assert list(zip(truth.tolist(), prediction.tolist(), count.tolist(), strict=True)) == list(counts.cells()) == sorted(counts.cells())


@given(rows=pairs)
def test_plain_values_and_back(rows: list[tuple[str, str]]) -> None:
    counts = of(rows)
    assert Counts.from_dict(counts.to_dict()) == counts
    binary = Counts.binary(tp=1, fp=2, fn=3)
    assert Counts.from_dict(binary.to_dict()) == binary


def test_an_unknown_class_lists_the_known_ones() -> None:
    with pytest.raises(sy.UsageError, match="'cat', 'dog'"):
        Counts.table([[1, 0], [0, 1]], labels=["cat", "dog"]).code("Cat")


# ---- addition ------------------------------------------------------------------------------------------------------------


@given(a=pairs, b=pairs, c=pairs)
def test_addition_is_counting_both_samples(a: list[tuple[str, str]], b: list[tuple[str, str]], c: list[tuple[str, str]]) -> None:
    x, y, z = of(a), of(b), of(c)
    assert x + y == of(a + b)
    assert x + y == y + x
    assert (x + y) + z == x + (y + z)
    assert (x + of([])) == x


@given(a=pairs, b=pairs)
def test_addition_under_declared_labels(a: list[tuple[str, str]], b: list[tuple[str, str]]) -> None:
    """The declared order stays, strays gather behind it."""
    names = ["c", "a", "b"]
    a, b = ([(t, p) for t, p in rows if t in names] for rows in (a, b))
    both = of(a, names) + of(b, names)
    assert both == of(a + b, names)
    assert both.class_labels == tuple(names)


def test_addition_of_counts_of_one_kind() -> None:
    assert Counts.of(3, 5) + Counts.of(4, 4) == Counts.of(7, 9)
    assert Counts.binary(tp=1, fp=2, fn=3, tn=4) + Counts.binary(tp=10, fp=20, fn=30, tn=40) == Counts.binary(tp=11, fp=22, fn=33, tn=44)
    for other in (Counts.table([[1]]), Counts.binary(tp=1, fp=0, fn=0), Counts.binary(tp=1, fp=0, fn=0, tn=0)):
        with pytest.raises(sy.DataError, match="different kinds"):
            Counts.of(1, 2) + other
    with pytest.raises(sy.DataError, match="different kinds"):
        Counts.binary(tp=1, fp=0, fn=0) + Counts.binary(tp=1, fp=0, fn=0, tn=3)
    with pytest.raises(TypeError):
        Counts.of(1, 2) + 3  # type: ignore[operator]


def test_big_numbers_stay_exact() -> None:
    big = Counts.of(2**62, 2**63)
    assert (big + big).n == 2**64
    assert sy.measure(Counts.of(10**15 - 1, 10**15)).estimate == (10**15 - 1) / 10**15
