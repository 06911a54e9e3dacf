"""From items to tallies: counting, weights as repeated rows, repeats as one item, units, and what is missing."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy
from cases import every
from oracles import cells_of
from steelyard.items import Items, Labels
from steelyard.tally import design as missing_module
from steelyard.tally import design as module
from steelyard.tally.counts import MISSING
from steelyard.tally.design import count_labels, design_of, row_sums, settle_missing, table_sums, take
from steelyard.tally.scores import tally_scores
from steelyard.tally.sums import tally_groups, tally_items

TYPES = (np.int8, np.int16, np.int32, np.int64, np.uint8)
codes = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=60)


def labels_of(values: list[Any], kind: Any = np.int64, base: int = 0, names: tuple[str, ...] | None = None) -> Labels:
    names = tuple(f"n{i}" for i in range(8)) if names is None else names
    return Labels(np.array(values, kind) + kind(base), names, base)


def texts(labels: Labels) -> list[str]:
    return [labels.names[i] for i in labels.codes]


def named(counts: sy.Counts) -> Counter[tuple[str, str]]:
    return Counter({(counts.labels[t], counts.labels[p]): c for t, p, c in counts.cells()})


# ---- counting ------------------------------------------------------------------------------------------------------------


@every("width", [9, 10, 600])
def test_few_rows_that_meet_many_cells_are_sorted_and_say_the_same(width: int) -> None:
    """Rows enough for a table of all cells, and too few: 10 x 10 cells are counted for any number of rows."""
    rng = np.random.default_rng(width)
    names = tuple(f"n{i}" for i in range(width))
    for n in (1, 7, 300):
        cells = rng.integers(0, width, (2, n)).tolist()
        count = rng.integers(1, 4, n)
        truth, prediction = (labels_of(each, np.int16, base=5, names=names) for each in cells)
        pairs = list(zip(texts(truth), texts(prediction), strict=True))
        assert named(count_labels(truth, prediction)) == Counter(pairs)
        assert named(count_labels(truth, prediction, count=count)) == Counter(
            [pair for pair, k in zip(pairs, count, strict=True) for _ in range(k)]
        )


@given(rows=codes, kind=st.sampled_from(TYPES), base=st.integers(0, 100), other=st.integers(0, 9), chunk=st.sampled_from([1, 7, 65_536]))
def test_count_labels_is_a_counter(rows: list[tuple[int, int]], kind: Any, base: int, other: int, chunk: int) -> None:
    truth, prediction = labels_of([t for t, _ in rows], kind, base), labels_of([p for _, p in rows], kind, other)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        found = count_labels(truth, prediction)
    assert named(found) == cells_of(texts(truth), texts(prediction))
    assert set(found.labels) == {*texts(truth), *texts(prediction)}


@given(rows=codes.filter(bool), count=st.lists(st.integers(1, 9), min_size=60, max_size=60))
def test_counts_repeat_rows(rows: list[tuple[int, int]], count: list[int]) -> None:
    many = np.array(count[: len(rows)])
    truth, prediction = labels_of([t for t, _ in rows]), labels_of([p for _, p in rows])
    repeated = [row for row, c in zip(rows, many, strict=True) for _ in range(c)]
    wanted = count_labels(labels_of([t for t, _ in repeated]), labels_of([p for _, p in repeated]))
    assert count_labels(truth, prediction, count=many) == wanted


def drawn_labels(rng: np.random.Generator, n: int, kind: Any, names: int, where: float) -> Labels:
    """Labels whose base lies anywhere (0 to 1) in what the type holds; every other element of an array, not adjacent memory."""
    low, high = max(int(np.iinfo(kind).min), -(2**60)), min(int(np.iinfo(kind).max), 2**60) - names + 1
    base, raw = low + round(where * (high - low)), np.zeros(2 * n, kind)
    raw[::2] = (rng.integers(0, names, n) + base).astype(kind)
    return Labels(raw[::2], tuple(f"n{i}" for i in range(names)), base)


@given(
    seed=st.integers(0, 2**32),
    n=st.integers(0, 41),
    sizes=st.sampled_from([(1, 1), (1, 256), (256, 1), (16, 16), (15, 17), (3, 85), (10, 10), (2, 128)]),
    kinds=st.tuples(*2 * [st.sampled_from([*TYPES, np.uint16, np.uint32, np.uint64, np.dtype(">i4")])]),
    wheres=st.tuples(*2 * [st.floats(0, 1)]),
    chunk=st.sampled_from([1, 2, 7, 8]),
)
def test_two_rows_as_one_number_is_the_plain_kernel(
    seed: int, n: int, sizes: tuple[int, int], kinds: tuple[Any, Any], wheres: tuple[float, float], chunk: int
) -> None:
    """Any types, any bases that fit into them, odd and even lengths, chunks that end inside a pair."""
    rng = np.random.default_rng(seed)
    truth, prediction = (drawn_labels(rng, n, k, s, w) for k, s, w in zip(kinds, sizes, wheres, strict=True))
    plain_table = module._joint_table(truth, prediction, sizes[1], None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PAIRED", chunk)
        assert module._paired_table(truth, prediction, sizes[1])[: len(plain_table)].tolist() == plain_table.tolist()
        assert module._joint_table(truth, prediction, sizes[1], None).tolist() == plain_table.tolist()


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("more", [0, 1, 12_345])
def test_many_rows_are_counted_in_pairs(kind: Any, more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(more)
    truth, prediction = (drawn_labels(rng, module.PAIRED + more, kind, 16, where) for where in (0.3, 0.9))
    found = count_labels(truth, prediction)
    monkeypatch.setattr(module, "_paired_table", None)  # whoever calls it now fails
    ones = np.ones(len(truth), np.int64)
    assert count_labels(truth, prediction, count=ones) == found  # weights take the plain kernel
    assert count_labels(truth, prediction, count=3 * ones).n == 3 * len(truth)
    monkeypatch.setattr(module, "PAIRED", 1 << 30)
    assert count_labels(truth, prediction) == found


def test_more_than_256_cells_or_fewer_rows_take_the_plain_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_paired_table", None)
    rng = np.random.default_rng(0)
    wide = [drawn_labels(rng, module.PAIRED, np.int16, names, 0) for names in (1, 257)]
    assert count_labels(*wide).n == module.PAIRED
    few = [drawn_labels(rng, module.PAIRED - 1, np.int16, 4, 0) for _ in range(2)]
    assert count_labels(*few).n == module.PAIRED - 1


def test_many_labels_take_the_sparse_path() -> None:
    """More than 4 million possible cells: the same table by sorting the joint codes."""
    names = tuple(f"w{i}" for i in range(2500))
    rng = np.random.default_rng(0)
    truth, prediction = (Labels(rng.integers(0, 2500, 5000), names) for _ in range(2))
    assert named(count_labels(truth, prediction)) == cells_of(texts(truth), texts(prediction))
    count = rng.integers(1, 5, 5000)
    assert count_labels(truth, prediction, count=count).n == count.sum()


def test_declared_labels() -> None:
    truth, prediction = labels_of([0, 1, 1]), labels_of([0, 1, 2])
    found = count_labels(truth, prediction, labels=["n1", "n0"])
    assert found.class_labels == ("n1", "n0")
    assert found.strays == {"n2": 1}
    with pytest.raises(sy.DataError, match=r"1 label of the truth is not among the declared labels, such as 'n1'\."):
        count_labels(truth, prediction, labels=["n0"])


@given(rows=codes.filter(bool), seed=st.integers(0, 99))
def test_item_order_and_names_order_change_nothing(rows: list[tuple[int, int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    order, shuffle = rng.permutation(len(rows)), rng.permutation(8)
    names = tuple(f"n{i}" for i in range(8))
    place = np.argsort(shuffle)
    t, p = (np.array(column) for column in zip(*rows, strict=True))
    renamed = tuple(names[i] for i in shuffle)
    assert count_labels(Labels(place[t[order]], renamed), Labels(place[p[order]], renamed)) == count_labels(
        Labels(t, names), Labels(p, names)
    )


# ---- through the public door ---------------------------------------------------------------------------------------------


def arrays(seed: int = 0, n: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    return truth, np.where(rng.random(n) < 0.7, truth, rng.integers(0, 3, n)), rng.integers(1, 4, n)


METRICS = ["accuracy", "macro_f1", "mcc", "each_f1", "each_precision"]


def plain(m: sy.Measurement) -> list[Any]:
    return [(row.name, row.estimate, row.n, row.support, row.interval) for row in m]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999))
def test_whole_number_weights_are_repeated_rows(seed: int) -> None:
    truth, prediction, weight = arrays(seed)
    weighted = sy.measure(truth, prediction, weight=weight.astype(float), metric=METRICS, absent="zero", draws=200)
    repeated = sy.measure(np.repeat(truth, weight), np.repeat(prediction, weight), metric=METRICS, absent="zero", draws=200)
    assert plain(weighted) == plain(repeated)
    assert weighted.n == repeated.n == weight.sum()


def test_weight_one_is_unweighted_and_weight_zero_is_absent() -> None:
    truth, prediction, weight = arrays()
    none = sy.measure(truth, prediction, metric=METRICS, draws=200)
    assert plain(sy.measure(truth, prediction, weight=np.ones(30), metric=METRICS, draws=200)) == plain(none)
    kept = weight > 1
    dropped = sy.measure(truth, prediction, weight=kept.astype(float), metric=METRICS, draws=200)
    assert plain(dropped) == plain(sy.measure(truth[kept], prediction[kept], metric=METRICS, draws=200))


def test_scores_with_whole_number_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(1)
    score, weight = np.round(rng.random(40), 1), rng.integers(1, 5, 40)
    for interval in ("t", "wilson-mean", "bca"):
        weighted = sy.measure(score, weight=weight.astype(float), metric="mean", interval=interval, draws=300).row
        repeated = sy.measure(np.repeat(score, weight), metric="mean", interval=interval, draws=300).row
        assert weighted.estimate == pytest.approx(repeated.estimate)
        assert weighted.n == repeated.n
        assert weighted.interval is not None
        assert repeated.interval is not None
        assert (weighted.interval.low, weighted.interval.high) == pytest.approx((repeated.interval.low, repeated.interval.high))


def test_fractional_weights_do_not_pass_for_items() -> None:
    """A common factor of the weights changes nothing; the estimate is the weighted share."""
    truth, prediction, weight = arrays()
    fraction = weight / 2 + 0.25
    m = sy.measure(truth, prediction, weight=fraction, metric="accuracy")
    assert m.estimate == pytest.approx(fraction[truth == prediction].sum() / fraction.sum())
    scaled = sy.measure(truth, prediction, weight=fraction * 0.1, metric="accuracy")
    assert scaled.interval is not None
    assert m.interval is not None
    assert (scaled.interval.low, scaled.interval.high) == pytest.approx((m.interval.low, m.interval.high), abs=1e-9)
    assert m.n == 30


def test_copying_every_item_narrows_but_does_not_move() -> None:
    truth, prediction, _ = arrays()
    once, four = (sy.measure(np.tile(truth, k), np.tile(prediction, k), metric="accuracy").row for k in (1, 4))
    assert once.estimate == four.estimate
    assert once.interval is not None
    assert four.interval is not None
    assert once.interval.low < four.interval.low < four.interval.high < once.interval.high  # type: ignore[operator]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999), times=st.integers(2, 4))
def test_identical_repeats_are_one_item(seed: int, times: int) -> None:
    """Asking a deterministic model again adds rows, not items: same estimate, same n; and the interval does not shrink."""
    truth, prediction, _ = arrays(seed)
    ids = np.arange(30)
    once = sy.measure(truth, prediction, metric="accuracy").row
    again = sy.measure(
        np.tile(truth, times), np.tile(prediction, times), id=np.tile(ids, times), repeat=np.repeat(np.arange(times), 30), metric="accuracy"
    ).row
    assert again.estimate == pytest.approx(once.estimate)
    assert again.n == once.n == 30
    assert once.interval is not None
    assert again.interval is not None
    assert again.interval.high - again.interval.low >= once.interval.high - once.interval.low  # type: ignore[operator]


def test_item_order_changes_nothing() -> None:
    truth, prediction, weight = arrays()
    group = np.arange(30) % 7
    order = np.random.default_rng(5).permutation(30)
    for extra in ({}, {"weight": weight.astype(float)}, {"group": group}, {"weight": weight + 0.5, "group": group}):
        here = sy.measure(truth, prediction, **extra, metric=["accuracy", "macro_f1"], draws=200)
        there = sy.measure(
            truth[order], prediction[order], **{k: v[order] for k, v in extra.items()}, metric=["accuracy", "macro_f1"], draws=200
        )
        for a, b in zip(here, there, strict=True):
            assert a.estimate == pytest.approx(b.estimate, abs=1e-12)
            assert a.interval is not None
            assert b.interval is not None
            assert (a.interval.low, a.interval.high) == pytest.approx((b.interval.low, b.interval.high), abs=1e-9)


# ---- units ---------------------------------------------------------------------------------------------------------------


def items(**columns: Any) -> Items:
    return Items(n=len(next(iter(columns.values()))), **columns)


def test_designs() -> None:
    ident, group = labels_of([0, 0, 1, 1]), labels_of([3, 5, 5, 3])
    assert design_of(items(truth=ident)).kind == "items"
    repeats = design_of(items(id=ident, repeat=labels_of([0, 1, 0, 1])))
    assert (repeats.kind, repeats.units, repeats.items) == ("repeats", 2, 2)
    assert repeats.weight is not None
    assert repeats.weight.tolist() == [0.5] * 4
    grouped = design_of(items(id=ident, repeat=labels_of([0, 1, 0, 1]), group=group))
    assert (grouped.kind, grouped.units, grouped.items) == ("groups", 2, 2)
    weighted = design_of(items(truth=ident, weight=np.array([0.5, 1.5, 1, 2])))
    assert (weighted.kind, weighted.units) == ("weights", 4)
    with pytest.raises(sy.DataError, match=r"Repeats need an id column that says which rows are the same item\."):
        design_of(items(repeat=labels_of([0, 1])))


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=50))
def test_group_margins_add_up_to_the_table(rows: list[tuple[int, int, int]]) -> None:
    t, p, g = (list(column) for column in zip(*rows, strict=True))
    truth, prediction = labels_of(t), labels_of(p)
    names = [f"n{i}" for i in range(4)]
    counts = count_labels(truth, prediction, names)
    design = design_of(items(truth=truth, prediction=prediction, group=labels_of(g)))
    sums = table_sums(truth, prediction, design, counts)
    assert sums.n == len(set(g))
    totals = sums.totals()
    for k in range(4):
        hit, truths, predictions, n = counts.class_margins(k)
        assert [totals[k], totals[4 + k], totals[8 + k], totals[12]] == [hit, truths, predictions, n]
    one = sorted(set(g))[0]
    inside = [(a, b) for a, b, c in rows if c == one]
    assert sums.rows[0, -1] == len(inside)
    assert sums.rows[0, :4].tolist() == [sum(a == b == k for a, b in inside) for k in range(4)]


@given(values=st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9)), min_size=1, max_size=40))
def test_sums_of_groups(values: list[tuple[int, int]]) -> None:
    unit, x = (np.array(column) for column in zip(*values, strict=True))
    sums = tally_groups(np.stack([np.ones(len(x)), x.astype(float)], 1), unit, 4)
    assert sums.rows[:, 1].tolist() == [sum(v for u, v in values if u == k) for k in range(4)]
    assert sums.answers == len(values)
    both = sums + sums
    assert both.totals() == pytest.approx(2 * sums.totals())
    assert both.n == 8


def test_rows_of_plain_items_are_merged() -> None:
    rows = np.array([[1.0, 0.5], [1, 0], [1, 0.5], [1, 1]])
    merged = tally_items(rows, np.array([1, 2, 3, 4]))
    assert merged.rows[:, 1].tolist() == [0, 0.5, 1]
    assert merged.count.tolist() == [2, 4, 4]
    assert row_sums(rows, design_of(items(score=rows[:, 1]))).n == 4


@given(rows=st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(1, 4)), min_size=1, max_size=40), cut=st.integers(0, 40))
def test_score_tables(rows: list[tuple[int, bool, int]], cut: int) -> None:
    score, positive, count = (np.array(column) for column in zip(*rows, strict=True))
    table = tally_scores(score.astype(float), positive, count)
    for s, p, q in zip(table.score, table.positives, table.negatives, strict=True):
        assert p == count[(score == s) & positive].sum()
        assert q == count[(score == s) & ~positive].sum()
    a, b = slice(None, cut), slice(cut, None)
    both = tally_scores(score[a].astype(float), positive[a], count[a]) + tally_scores(score[b].astype(float), positive[b], count[b])
    assert both.score.tolist() == table.score.tolist()
    assert both.positives.tolist() == table.positives.tolist()
    assert (both.n, both.n_positive, both.n_negative) == (table.n, table.n_positive, table.n_negative)


def test_take_cuts_every_column_alike() -> None:
    whole = items(
        id=labels_of([0, 1, 2]),
        truth=labels_of([0, 1, 1], base=4),
        prediction=labels_of([1, 1, 0]),
        score=np.array([0.1, 0.2, 0.3]),
        probability=np.array([0.4, 0.5, 0.6]),
        group=labels_of([0, 0, 1]),
        repeat=labels_of([0, 0, 0]),
        weight=np.array([1.0, 2, 3]),
        count=np.array([3, 2, 1]),
        truth_value=np.array([1.0, 2, 3]),
        prediction_value=np.array([4.0, 5, 6]),
        ratio=(np.array([1.0, 2, 3]), np.array([4.0, 5, 6])),
    )
    whole = Items(**{name: getattr(whole, name) for name in Items.__slots__ if name != "slices"}, slices={"topic": labels_of([0, 1, 0])})
    part = take(whole, np.array([True, False, True]))
    assert part.n == 2
    assert part.total == 4
    for name in Items.__slots__:
        column = getattr(part, name)
        if isinstance(column, Labels):
            assert column.codes.tolist() == getattr(whole, name).codes[[0, 2]].tolist()
        elif isinstance(column, np.ndarray):
            assert column.tolist() == getattr(whole, name)[[0, 2]].tolist()
    assert part.ratio is not None
    assert part.ratio[1].tolist() == [4, 6]
    assert part.slices["topic"].codes.tolist() == [0, 0]


# ---- missing -------------------------------------------------------------------------------------------------------------


def test_missing_predictions() -> None:
    got = items(truth=labels_of([0, 1, 1, 0]), prediction=labels_of([0, -1, 1, -1]))
    with pytest.raises(sy.DataError, match=r"2 of 4 items have no prediction, the first in row 2\."):
        settle_missing(got, "error")
    dropped, said = settle_missing(got, "drop")
    assert dropped.n == 2
    assert said == ["2 of 4 items without a prediction were left out (missing='drop')"]
    wrong, said = settle_missing(got, "wrong")
    assert said == ["2 of 4 items without a prediction count as wrong (missing='wrong')"]
    assert wrong.truth is not None
    assert wrong.prediction is not None
    counts = count_labels(wrong.truth, wrong.prediction)
    assert (counts.n, counts.right) == (4, 2)
    assert MISSING not in counts.class_labels
    assert counts.strays == {MISSING: 2}


def test_labels_known_to_be_complete_are_not_looked_at() -> None:
    """The flag is the reader's word; where it is not given, holes are found as ever."""
    names = ("a", "b")
    holes = items(truth=labels_of([0, 1]), prediction=Labels(np.array([0, -1]), names))
    assert "prediction" in missing_module._missing(holes)
    assert missing_module._missing(items(truth=Labels(np.array([0, 1]), names, complete=True))) == {}
    assert not take(items(truth=Labels(np.array([0, 1]), names)), np.array([True, False])).truth.complete  # type: ignore[union-attr]


def test_missing_truths_cannot_be_wrong() -> None:
    got = items(truth=labels_of([0, -1]), prediction=labels_of([0, 1]))
    for policy in ("error", "wrong"):
        with pytest.raises(sy.DataError, match=r"1 of 2 items have no truth, the first in row 2\."):
            settle_missing(got, policy)
    assert settle_missing(got, "drop")[0].n == 1


def test_missing_scores() -> None:
    got = items(score=np.array([1.0, np.nan, 0.5]))
    assert settle_missing(got, "wrong")[0].score.tolist() == [1, 0, 0.5]  # type: ignore[union-attr]
    assert settle_missing(got, "wrong", ends=(-1, 1))[0].score.tolist() == [1, -1, 0.5]  # type: ignore[union-attr]
    assert settle_missing(got, "drop")[0].score.tolist() == [1, 0.5]  # type: ignore[union-attr]
    with pytest.raises(sy.DataError, match=r"1 of 3 items have no score, the first in row 2\."):
        settle_missing(got, "error")


def test_nothing_missing_changes_nothing() -> None:
    got = items(truth=labels_of([0, 1]), prediction=labels_of([0, 1]))
    for policy in ("error", "wrong", "drop"):
        assert settle_missing(got, policy) == (got, [])


def test_everything_missing() -> None:
    with pytest.raises(sy.DataError, match=r"No items are left after the missing ones were dropped\."):
        settle_missing(items(truth=labels_of([0, 1]), prediction=labels_of([-1, -1])), "drop")


def test_missing_under_counts_says_items_not_rows() -> None:
    got = items(truth=labels_of([0, 1]), prediction=labels_of([0, -1]), count=np.array([5, 7]))
    with pytest.raises(sy.DataError, match="7 of 12 items"):
        settle_missing(got, "error")


def test_several_holes_are_dropped_together() -> None:
    got = items(truth=labels_of([0, -1, 1, 1]), prediction=labels_of([0, 1, -1, 1]))
    kept, said = settle_missing(got, "drop")
    assert kept.n == 2
    assert len(said) == 2


def test_the_public_door() -> None:
    truth, prediction = ["a", "b", "a", "b"], ["a", None, "a", "a"]
    with pytest.raises(sy.DataError, match="missing='wrong'"):
        sy.measure(truth, prediction, metric="accuracy")
    assert sy.measure(truth, prediction, metric="accuracy", missing="wrong").estimate == 0.5
    assert sy.measure(truth, prediction, metric="accuracy", missing="drop").estimate == pytest.approx(2 / 3)
