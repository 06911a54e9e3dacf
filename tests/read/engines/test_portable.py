"""The one SQL text on four engines: the same cells as Python counts, for awkward names, NULLs, duplicates, NaN and unmatched ids."""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.errors import DataError, SourceError
from steelyard.infer.intervals.sums import resampled
from steelyard.metrics.sums import QUOTIENT
from steelyard.read.engines.join import meet
from steelyard.read.engines.moments import bucket_sums, group_sums, moments, paired_bucket_sums
from steelyard.read.open_source import open_source
from steelyard.tally.pairs import settle_pairing

ID, TRUTH, PREDICTION = "item id", 'Truth-ü "x"', "pre`d.ict %s?"
NAMED = {"id": ID, "truth": TRUTH, "prediction": PREDICTION}
LABELS = ["cat", "Cat", "dog's", "ü", "", " cat"]


def runs(n: int, seed: int = 0) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Two systems on the same items, as (id, truth, prediction), in different orders."""
    draw = random.Random(seed)
    truths = {i: draw.choice(LABELS) for i in range(n)}
    sides = []
    for right in (0.6, 0.7):
        rows = [(f"item-{i}", truth, truth if draw.random() < right else draw.choice(LABELS)) for i, truth in truths.items()]
        draw.shuffle(rows)
        sides.append(rows)
    return sides[0], sides[1]


def joint(a: list[tuple[Any, ...]], b: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    """The cells, counted by hand."""
    there = {row[0]: row for row in b}
    return dict(Counter((row[1], row[2], there[row[0]][2]) for row in a if row[0] in there))


TEXTS = {ID: "text", TRUTH: "text", PREDICTION: "text"}


def test_counts_of_one_run(engine: Any) -> None:
    a, _ = runs(2000)
    source = engine.open(engine.put('Runs "of" 2026', TEXTS, a), **NAMED)
    counted = Counter(row[1:] for row in a)
    assert {cell[:-1]: cell[-1] for cell in source.tabulate(["truth", "prediction"])} == counted
    assert source.n == 2000
    assert source.name == 'Runs "of" 2026'


def test_joint_cells_equal_those_of_files(any_engine: Any, tmp_path: Path) -> None:
    import duckdb

    a, b = runs(2000)
    found = meet(*any_engine.pair(TEXTS, a, b, **NAMED))
    assert found is not None
    assert found.cells == joint(a, b)
    files = []
    with duckdb.connect() as con:
        for name, rows in (("a", a), ("b", b)):
            columns = [list(column) for column in zip(*rows, strict=True)]
            con.execute(f"CREATE TABLE {name} AS SELECT unnest($1) AS i, unnest($2) AS t, unnest($3) AS p", columns)
            files.append(str(tmp_path / f"{name}.parquet"))
            con.execute(f"COPY {name} TO '{files[-1]}' (FORMAT parquet)")
    local = meet(*(open_source(file, columns={"id": "i", "truth": "t", "prediction": "p"}) for file in files))
    assert local is not None
    assert found.report == local.report
    assert found.joint() == local.joint()


def test_right_or_wrong_scores_and_whole_ids(engine: Any) -> None:
    """Ids as numbers on one side and as text on the other meet by their text, as everywhere; scores may be 0/1 or true/false."""
    draw = random.Random(1)
    a = [(i, float(draw.random() < 0.5)) for i in range(300)]
    b = [(str(i), draw.random() < 0.6) for i in range(300)]
    draw.shuffle(b)
    engine.put("a", {"id": "int", "score": "float"}, a)
    engine.put("b", {"id": "text", "score": "bool"}, b)
    left, right = engine.open("a"), engine.open("b")
    found = meet(left, right, outcomes=True)
    there = dict(b)
    word = {True: "right", False: "wrong"}
    assert found is not None
    assert found.outcomes
    assert found.cells == Counter(("right", word[score == 1], word[bool(there[str(i)])]) for i, score in a)
    assert found.joint().n == 300


# ---- the traps -----------------------------------------------------------------------------------------------------------


def test_missing_ids_are_refused_though_they_look_matched(engine: Any) -> None:
    """A GROUP BY of ids puts the NULLs of both sides into one group: it looks like an id in common."""
    a, b = runs(20)
    a[3], b[4] = (None, *a[3][1:]), (None, *b[4][1:])
    left, right = engine.pair(TEXTS, a, b, **NAMED)
    with pytest.raises(DataError, match=r"1 of 20 rows of the table .* have no 'item id'\."):
        meet(left, right)
    with pytest.raises(DataError, match=r"1 of 20 rows of the table .* have no 'item id'\."):
        left.tabulate(["truth"])


def test_duplicates_are_refused_before_they_multiply(engine: Any) -> None:
    a, b = runs(20)
    b += [b[0], b[0], b[1]]
    left, right = engine.pair(TEXTS, a, b, **NAMED)
    with pytest.raises(DataError) as caught:
        meet(left, right)
    first = sorted([b[0][0], b[1][0]])
    assert f"{first[0]!r}, {first[1]!r}" in str(caught.value)
    assert "2 ids" in str(caught.value)


def test_nan_is_missing_everywhere(engine: Any) -> None:
    """SQLite keeps NaN as NULL: SUM skips it and COUNT(*) counts it, which would be a mean that is too small."""
    rows = [("a", 0.5), ("b", math.nan), ("c", None), ("d", 0.25)]
    source = engine.open(engine.put("scores", {"id": "text", "score": "float"}, rows))
    for reduce in (moments, bucket_sums):
        with pytest.raises(DataError, match=r"The score of .* has 2 values that are NULL, NaN or infinite, of 4 rows"):
            reduce(source)
    assert source.tabulate(["score"]) == [(None, 2), (0.25, 1), (0.5, 1)]


def test_infinite_scores_are_refused(database: Any) -> None:
    source = database.open(database.put("scores", {"id": "text", "score": "float"}, [("a", 0.5), ("b", math.inf)]))
    with pytest.raises(DataError, match=r"The score of .* has 1 values that are NULL, NaN or infinite"):
        moments(source)
    with pytest.raises(DataError, match="inf is in 1 row"):
        source.tabulate(["score"])


def test_buckets_are_those_of_md5(engine: Any) -> None:
    """hash() differs by engine; md5 does not. Whole numbers, and texts beyond ASCII."""
    draw = random.Random(2)
    rows = [(f"item ü {i}", draw.random()) for i in range(500)]
    sums = bucket_sums(engine.open(engine.put("scores", {"id": "text", "score": "float"}, rows)))
    expected: dict[str, list[float]] = {}
    for name, score in rows:
        expected.setdefault(hashlib.md5(name.encode()).hexdigest()[:3], []).append(score)
    by_hand = [[float(len(held)), math.fsum(held)] for _, held in sorted(expected.items())]
    assert np.allclose(sums.rows, by_hand, rtol=1e-14, atol=0)
    assert sums.answers == 500


def test_unmatched_ids_are_reported_with_examples(engine: Any) -> None:
    a, b = runs(30)
    gone = {row[0] for row in a[:4]}
    found = meet(*engine.pair(TEXTS, a[:28], [row for row in b if row[0] not in gone], **NAMED))
    assert found is not None
    assert (found.report.matched, found.report.baseline_only, found.report.candidate_only) == (24, 4, 2)
    assert found.report.example_baseline_only == tuple(sorted(row[0] for row in a[:4])[:3])
    assert found.cells == joint(a[4:28], b)
    with pytest.raises(DataError, match="24 ids in both, 4 only in the baseline"):
        settle_pairing(found.report, "error")


def test_conflicting_truths_are_counted(engine: Any) -> None:
    a, b = runs(30)
    b = [(name, "another" if name in ("item-7", "item-3") else truth, prediction) for name, truth, prediction in b]
    found = meet(*engine.pair(TEXTS, a, b, **NAMED))
    assert found is not None
    assert found.report.conflicting_truths == 2
    assert found.report.example_conflicts == ("item-3", "item-7")


def test_missing_labels_are_left_to_the_items(engine: Any) -> None:
    a, b = runs(30)
    b[5] = (*b[5][:2], None)
    left, right = engine.pair(TEXTS, a, b, **NAMED)
    assert meet(left, right) is None
    items = right.items()
    assert items.prediction is not None
    assert items.prediction.codes.tolist().count(-1) == 1
    assert sorted(items.id.names[code] for code in items.id.codes) == sorted(row[0] for row in b)
    assert (None in [cell[1] for cell in right.tabulate(["truth", "prediction"])]) is True


def test_rows_come_whole(database: Any) -> None:
    """Columns of one row stay together, though they are asked for one by one."""
    draw = random.Random(3)
    rows = [(i, draw.choice("ab"), draw.choice("ab"), draw.random(), f"g{i % 7}") for i in range(200)]
    types = {"id": "int", "truth": "text", "prediction": "text", "score": "float", "group": "text"}
    items = database.open(database.put("rows", types, rows)).items()
    columns = [[labels.names[code] for code in labels.codes] for labels in (items.id, items.truth, items.prediction, items.group)]
    got = sorted((int(i), t, p, float(s), g) for i, t, p, g, s in zip(*columns, items.score, strict=True))
    assert got == rows


# ---- numbers -------------------------------------------------------------------------------------------------------------


def scored(n: int, offset: float = 0.0) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    draw = random.Random(4)
    a = [(i, offset + draw.random()) for i in range(n)]
    b = [(i, score + draw.gauss(0.1, 0.2)) for i, score in a]
    draw.shuffle(b)
    return a, b


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_moments_by_two_passes(engine: Any, offset: float) -> None:
    """At an offset of 1e8 the one-pass formula has no digit left of a variance of 0.08."""
    a, b = scored(1000, offset)
    left, _ = engine.pair({"id": "int", "score": "float"}, a, b)
    found = moments(left)
    x = np.array([score for _, score in a])
    assert found.n == 1000
    assert found.means[0] == pytest.approx(math.fsum(x) / 1000, rel=1e-15)
    assert found.products[0] == pytest.approx(math.fsum((x - x.mean()) ** 2), rel=1e-9 if offset else 1e-12)


# The interval that every engine must give: computed from the md5 buckets in Python, below, and the same for all four.
def test_bootstrap_has_one_answer_for_one_seed(engine: Any) -> None:
    a, b = scored(3000)
    types = {"id": "int", "score": "float"}
    left, right = engine.pair(types, a, b)
    found = paired_bucket_sums(left, right)
    assert found is not None
    there = dict(b)
    buckets: dict[str, list[tuple[float, float]]] = {}
    for i, score in a:
        buckets.setdefault(hashlib.md5(str(i).encode()).hexdigest()[:3], []).append((score, there[i]))
    by_hand = [[len(held), math.fsum(x for x, _ in held), len(held), math.fsum(y for _, y in held)] for _, held in sorted(buckets.items())]
    assert np.allclose(found[0].rows, by_hand, rtol=1e-14, atol=0)
    one = bucket_sums(left)
    ends = resampled(one, QUOTIENT, "percentile", 0.95, "two", draws=500, seed=7)[:2]
    expected = type(one)(rows=np.array(by_hand)[:, :2], count=one.count, answers=3000)
    assert ends == pytest.approx(resampled(expected, QUOTIENT, "percentile", 0.95, "two", draws=500, seed=7)[:2], rel=1e-12)


def test_sums_by_group(database: Any) -> None:
    draw = random.Random(5)
    rows = [(i, draw.random(), f"g{draw.randrange(9)}") for i in range(400)]
    source = database.open(database.put("rows", {"id": "int", "score": "float", "group": "text"}, rows))
    sums = group_sums(source)
    assert sums.units == "groups"
    with pytest.raises(DataError, match=r"Cannot split the rows of .*a bucket would tear groups apart"):
        bucket_sums(source)
    assert paired_bucket_sums(source, source) is None
    held = {name: [score for _, score, group in rows if group == name] for name in sorted({row[2] for row in rows})}
    assert np.allclose(sums.rows, [[len(each), math.fsum(each)] for each in held.values()], rtol=1e-14, atol=0)
    cells = source.tabulate(["group"])
    assert cells == [(name, len(each)) for name, each in held.items()]


def test_text_is_no_number(database: Any) -> None:
    """The value goes into the question how often it occurs: bound, whatever it looks like."""
    values = ("high", "o'clock", "1' OR '1' = '1", '"; DROP TABLE rows; --', "$1 ? %s")
    named = [database.put(f"rows {i}", {"id": "int", "score": "text"}, [(1, "0.5"), (2, value)]) for i, value in enumerate(values)]
    for name, value in zip(named, values, strict=True):
        source = database.open(name)
        with pytest.raises(DataError, match=r"The column 'score' of .* has texts"):
            moments(source)
        with pytest.raises(DataError) as caught:
            source.tabulate(["score"])
        assert f"{value!r} is in 1 row" in str(caught.value)
        assert source.n == 2


def test_no_ids_no_pairs(engine: Any) -> None:
    """Rows of an engine have no order, so two tables without ids cannot be laid side by side."""
    types = {"truth": "text", "prediction": "text"}
    left, right = engine.pair(types, [("a", "b"), ("b", "b")], [("a", "b"), ("b", "b")])
    with pytest.raises(DataError, match=r"Cannot pair the rows: .* has no id column, and its rows have no order"):
        meet(left, right)
    assert left.tabulate(["truth", "prediction"]) == [("a", "b", 1), ("b", "b", 1)]


def test_ids_of_floats_are_left_to_the_items(database: Any) -> None:
    rows = [(1.5, "a", "a"), (2.5, "b", "a")]
    types = {"id": "float", "truth": "text", "prediction": "text"}
    assert meet(*database.pair(types, rows, rows)) is None


def test_groups_are_left_to_the_items(database: Any) -> None:
    rows = [(1, "a", "a", "g"), (2, "b", "a", "h")]
    left, right = database.pair({"id": "int", "truth": "text", "prediction": "text", "group": "text"}, rows, rows)
    assert meet(left, right) is None
    assert sorted(left.items().id.names) == ["1", "2"]


def test_whole_weights_are_summed(database: Any) -> None:
    rows = [(1, "a", "a", 3), (2, "a", "b", 2), (3, "a", "a", 4)]
    types = {"id": "int", "truth": "text", "prediction": "text", "w": "int"}
    source = database.open(database.put("weighted", types, rows), weight="w")
    assert source.tabulate(["truth", "prediction"]) == [("a", "a", 7), ("a", "b", 2)]


def test_an_empty_table_is_refused(engine: Any) -> None:
    source = engine.open(engine.put("nothing", {"id": "int", "score": "float"}, []))
    for ask in (lambda: source.n, lambda: source.tabulate(["score"]), source.items, lambda: moments(source), lambda: bucket_sums(source)):
        with pytest.raises(SourceError, match="No items in the table"):
            ask()
