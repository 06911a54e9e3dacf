"""Random pairs of tables, with all that can be wrong with them: the engine says what the items say."""

from __future__ import annotations

import math
import random
import sqlite3
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import DataError
from steelyard.infer.intervals.sums import standard_error
from steelyard.metrics.sums import QUOTIENT
from steelyard.read.engines import join, tables
from steelyard.read.engines.database import open_database
from steelyard.read.engines.join import meet
from steelyard.read.engines.moments import bucket_sums, moments
from steelyard.read.open_source import open_source
from steelyard.read.source import Source
from steelyard.tally.pairs import match

COLUMNS = ("id", "truth", "prediction")
Rows = list[tuple[Any, ...]]


def stored(path: Path, name: str, rows: Rows) -> str:
    con = sqlite3.connect(path)
    con.execute(f"CREATE TABLE {name} (id, truth, prediction)")
    con.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
    con.commit()
    con.close()
    return f"sqlite:///{path}?table={name}"


def problem(draw: random.Random) -> tuple[Rows, Rows]:
    """Two runs of up to 12 items: now and then an id or a label is missing, an id repeated, without a partner, or of two truths."""
    whole = draw.random() < 0.5
    truths = {i if whole else f"q{i}": draw.choice("aAb") for i in range(draw.randint(1, 12))}
    wrong = draw.choice(["", "", "missing id", "repeated id", "missing label", "truth", "alone", "alone"])
    sides: list[Rows] = []
    for _ in range(2):
        rows: Rows = [(i, truth, draw.choice("aAb")) for i, truth in truths.items()]
        draw.shuffle(rows)
        chosen = draw.randrange(len(rows))
        i, truth, prediction = rows[chosen]
        if wrong == "alone" and len(rows) > 2:
            del rows[chosen]
        elif draw.random() < 0.5:
            rows[chosen] = {
                "missing id": (None, truth, prediction),
                "missing label": (i, truth, None),
                "truth": (i, "another", prediction),
            }.get(wrong, rows[chosen])
            rows += [rows[chosen]] if wrong == "repeated id" else []
        sides.append(rows)
    return sides[0], sides[1]


def from_items(a: Source, b: Source) -> tuple[Any, Any] | str:
    """Report and cells by the way of the items; a word if it is refused or left to `missing`."""
    try:
        sides = a.items(), b.items()
    except DataError:
        return "refused"
    if any((labels.codes < 0).any() for side in sides for labels in (side.truth, side.prediction) if labels is not None):
        return "missing"
    pairs, report = match(*sides)
    names = [
        [labels.names[code] for code in labels.codes]
        for labels in (pairs.baseline.truth, pairs.baseline.prediction, pairs.candidate.prediction)
        if labels is not None
    ]
    return report, dict(Counter(zip(*names, strict=True)))


@pytest.mark.parametrize("seed", range(60))
def test_the_engine_says_what_the_items_say(seed: int, tmp_path: Path) -> None:
    a, b = problem(random.Random(seed))
    urls = [stored(tmp_path / "runs.db", name, rows) for name, rows in (("a", a), ("b", b))]
    expected = from_items(*(open_source([dict(zip(COLUMNS, row, strict=True)) for row in rows], columns={}) for rows in (a, b)))
    sources = [open_database(url, {}) for url in urls]
    if expected == "refused":
        with pytest.raises(
            DataError,
            match=r"^Duplicate ids: \d+ ids? occurs? in \d+ rows, such as|^1 of \d+ rows of the table '[ab]' of .* have no 'id'\.",
        ):
            meet(sources[0], sources[1])
        return
    found = meet(sources[0], sources[1])
    assert (found is None) == (expected == "missing")
    if found is not None:
        assert (found.report, dict(found.cells)) == expected


def test_the_problems_are_of_all_kinds() -> None:
    """Each kind of trouble is among the problems above."""
    kinds: Counter[str] = Counter()
    for seed in range(60):
        a, b = problem(random.Random(seed))
        found = from_items(*(open_source([dict(zip(COLUMNS, row, strict=True)) for row in rows], columns={}) for rows in (a, b)))
        if isinstance(found, str):
            kinds[found] += 1
        else:
            kinds["alone" if found[0].unmatched else "truth" if found[0].conflicting_truths else "fine"] += 1
    assert all(kinds[kind] > 1 for kind in ("refused", "missing", "alone", "truth", "fine")), kinds


def test_rows_beyond_the_limit_do_not_travel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts are answered whatever the size; what would move the rows is refused, with the number."""
    rows = [(i, "ab"[i % 2], "ab"[i % 3 % 2]) for i in range(30)]
    for module in (tables, join):
        monkeypatch.setattr(module, "TRAVELLERS", 20)
    source = open_database(stored(tmp_path / "runs.db", "a", rows), {})
    assert sum(cell[-1] for cell in source.tabulate(["truth", "prediction"])) == 30
    found = meet(source, source)
    assert found is not None
    assert sum(found.cells.values()) == 30
    with pytest.raises(DataError, match="Cannot answer this inside the table 'a' of the sqlite database: 30 rows would have to be"):
        source.items()
    with pytest.raises(DataError, match="Cannot answer this inside the table 'a' of the sqlite database: more than 20 different values"):
        source.table.group([("id", False)])


def test_buckets_keep_the_standard_error(tmp_path: Path) -> None:
    """Dealt by md5, n independent items have the error of the items: s / sqrt(n), known from 4,096 buckets to 1 / sqrt(2 * 4,095).

    Four such deviations are allowed, for skewed scores and for ids that count upwards.
    """
    draw = random.Random(11)
    con = sqlite3.connect(tmp_path / "scores.db")
    con.execute("CREATE TABLE t (id, score)")
    scores = [draw.expovariate(1.0) for _ in range(40_000)]
    con.executemany("INSERT INTO t VALUES (?, ?)", enumerate(scores))
    con.commit()
    con.close()
    source = open_database(f"sqlite:///{tmp_path / 'scores.db'}?table=t", {})
    sums, found = bucket_sums(source), moments(source)
    assert sums.n == 4096
    assert found.means[0] == pytest.approx(statistics.fmean(scores), rel=1e-14)
    assert (found.products[0] / (found.n - 1)) == pytest.approx(statistics.variance(scores), rel=1e-12)
    by_items = statistics.stdev(scores) / math.sqrt(len(scores))
    assert standard_error(sums, QUOTIENT) == pytest.approx(by_items, rel=4 / math.sqrt(2 * 4095))
