"""Two files met inside the engine, beside the same two files met as items: equal in every number and every refusal."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

import steelyard as sy
from steelyard.errors import DataError, SteelyardError
from steelyard.estimate import compare_sources as compare_engine
from steelyard.estimate.changed_items import changed_items
from steelyard.metrics.catalogue import parse
from steelyard.read.engines import join as joining
from steelyard.read.engines.duckdb_table import literal, quoted
from steelyard.read.engines.join import joint, meet
from steelyard.read.files import delimited
from steelyard.read.open_source import Source, open_source
from steelyard.tally.joint import JointCounts
from steelyard.tally.pairs import count_joint, match

Rows = Sequence[tuple[Any, ...]]
pytestmark = pytest.mark.usefixtures("shared_engine")


@pytest.fixture(autouse=True)
def no_file_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small CSV files are read without an engine, and here the engine is asked."""
    monkeypatch.setattr(delimited, "SMALL", 0)


def save(path: Path, names: Sequence[str], rows: Rows, types: Sequence[str] = ()) -> Path:
    """Rows as Parquet (columns of the given types) or CSV."""
    kinds = types or ["VARCHAR"] * len(names)
    form = "PARQUET, ROW_GROUP_SIZE 2048" if path.suffix == ".parquet" else "CSV, HEADER"
    with duckdb.connect(":memory:") as con:
        con.execute(f"CREATE TEMP TABLE t ({', '.join(f'{quoted(n)} {k}' for n, k in zip(names, kinds, strict=True))})")
        columns = [list(column) for column in zip(*rows, strict=True)]  # whole columns: one INSERT per row would take seconds
        con.execute(f"INSERT INTO t SELECT {', '.join(['UNNEST(?)'] * len(names))}", columns)
        con.execute(f"COPY t TO {literal(str(path))} (FORMAT {form})")
    return path


def opened(path: Path, **columns: Any) -> Source:
    return open_source(path, columns=columns)


def by_items(a: Source, b: Source, labels: Sequence[str] | None = None) -> tuple[JointCounts, Any]:
    pairs, report = match(a.items(), b.items())
    return count_joint(pairs, labels), report


def both_agree(a: Path, b: Path, labels: Sequence[str] | None = None, **columns: Any) -> tuple[JointCounts, Any]:
    """What the engine found, after the items of the same sources gave the same."""
    sources = opened(a, **columns), opened(b, **columns)
    expected = by_items(*sources, labels)
    for source in sources:
        source.ids_checked = False  # the engine looks for itself
    found = joint(*sources, labels)
    same(found, expected)
    assert found is not None
    return found


def answers(n: int, classes: Sequence[Any], seed: int) -> tuple[list[Any], list[Any], list[Any]]:
    draw = random.Random(seed)
    truth = [draw.choice(classes) for _ in range(n)]
    return truth, *([t if draw.random() < 0.7 else draw.choice(classes) for t in truth] for _ in range(2))


NAMES = ("id", "truth", "prediction")


def two_files(
    folder: Path, ids: Sequence[Any], *, form: tuple[str, str], order: str, classes: Sequence[Any], kinds: tuple[str, str], seed: int
):
    truth, p, q = answers(len(ids), classes, seed)
    first = list(zip(ids, truth, p, strict=True))
    second = list(zip(ids, truth, q, strict=True))
    if order == "shuffled":
        random.Random(seed).shuffle(second)
    types = kinds[0], kinds[1], kinds[1]
    return save(folder / f"a.{form[0]}", NAMES, first, types), save(folder / f"b.{form[1]}", NAMES, second, types)


def same(found: tuple[JointCounts, Any] | None, expected: tuple[JointCounts, Any]) -> None:
    assert found is not None
    assert found[0] == expected[0]
    bare = dict.fromkeys(("example_baseline_only", "example_candidate_only", "example_conflicts"), ())
    assert replace(found[1], **bare) == replace(expected[1], **bare)


FORMS = [("parquet", "parquet"), ("csv", "csv"), ("csv", "parquet"), ("parquet", "csv")]
CLASSES = [(("cat", "dog", 'é,"x'), "VARCHAR"), ((1, 2, 10), "INTEGER"), ((-1, 7), "UTINYINT"), ((True, False), "BOOLEAN")]
# Every form with every kind of class, each of them in both orders and with both kinds of ids.
AGREE = [
    (form, classes, kind, ("same", "shuffled")[(i + j) % 2], ("text", "int")[(i // 2 + j) % 2])
    for i, form in enumerate(FORMS)
    for j, (classes, kind) in enumerate(CLASSES)
    if kind != "BOOLEAN" or len(set(form)) == 1  # true in a CSV and True in Parquet are two spellings, by design
]


@pytest.mark.parametrize(("form", "classes", "kind", "order", "ids"), AGREE)
def test_the_engine_and_the_items_agree(tmp_path: Path, order: str, form: tuple[str, str], classes: Any, kind: str, ids: str) -> None:
    names = [f"item-{i * 7919 % 100_003}" if ids == "text" else i * 7919 % 100_003 for i in range(2100)]  # more than a row group
    classes = tuple(abs(c) for c in classes) if kind == "UTINYINT" else classes
    kinds = ("VARCHAR" if ids == "text" else "BIGINT", kind)
    a, b = two_files(tmp_path, names, form=form, order=order, classes=classes, kinds=kinds, seed=len(kind))
    both_agree(a, b)


@pytest.mark.parametrize("seed", range(2))
def test_unmatched_ids_and_conflicting_truths_are_counted_with_examples(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    ids = [f"i{draw.randrange(10**6)}-{i}" for i in range(2500)]
    truth, p, q = answers(len(ids), "abc", seed)
    rows = list(zip(ids, truth, p, q, strict=True))
    wrong = {draw.choice(ids) for _ in range(4)} if seed % 2 else set()
    first = [(i, t, x) for i, t, x, _ in rows if draw.random() < 0.95]
    second = [(i, "z" if i in wrong else t, y) for i, t, _, y in rows if draw.random() < 0.9]
    draw.shuffle(second)
    a, b = save(tmp_path / "a.parquet", NAMES, first), save(tmp_path / "b.csv", NAMES, second)
    found = both_agree(a, b)
    ours = {i for i, *_ in first}, {i for i, *_ in second}
    assert len(found[1].example_baseline_only) == len(found[1].example_candidate_only) == 3
    assert set(found[1].example_baseline_only) <= ours[0] - ours[1]
    assert set(found[1].example_candidate_only) <= ours[1] - ours[0]
    assert set(found[1].example_conflicts) <= wrong


def test_a_longer_file_and_a_shorter_one(tmp_path: Path) -> None:
    rows = [(f"i{i}", "ab"[i % 2], "ab"[i % 3 == 0]) for i in range(3000)]
    a, b = save(tmp_path / "a.parquet", NAMES, rows), save(tmp_path / "b.parquet", NAMES, rows[:2990])
    both_agree(a, b)


def test_nothing_in_common(tmp_path: Path) -> None:
    a, b = (save(tmp_path / f"{x}.parquet", NAMES, [(f"{x}{i}", "u", "v") for i in range(9)]) for x in "ab")
    found = joint(opened(a), opened(b))
    assert found is not None
    assert (found[0].n, found[1].matched, found[1].baseline_only) == (0, 0, 9)


@pytest.mark.parametrize(
    ("kinds", "ids"),
    [
        (("BIGINT", "VARCHAR"), [1, 2, 30, 4, 10**12]),
        (("INTEGER", "UBIGINT"), [5, 4, 3, 2, 1]),
        (("BOOLEAN", "VARCHAR"), [True, False]),
        (("DATE", "VARCHAR"), ["2026-01-01", "2025-12-31"]),
        (("DECIMAL(18,0)", "BIGINT"), [3, 1, 2]),
    ],
)
def test_ids_match_by_their_text(tmp_path: Path, kinds: tuple[str, str], ids: list[Any]) -> None:
    a = save(tmp_path / "a.parquet", NAMES, [(i, "u", "v") for i in ids], (kinds[0], "VARCHAR", "VARCHAR"))
    b = save(
        tmp_path / "b.parquet",
        NAMES,
        [(str(i), "u", "u") for i in [*ids, *(["007"] if kinds[1] == "VARCHAR" else [])]],
        (kinds[1], "VARCHAR", "VARCHAR"),
    )
    found = both_agree(a, b)
    assert found[1].matched == len(ids)


@pytest.mark.usefixtures("own_engines")
def test_awkward_names(tmp_path: Path) -> None:
    names = ('item "id"', "Truth-ü 'x'", "pred; DROP")
    rows = [(f"o'{i}\"", "a'b", 'a"b') for i in range(40)]
    folder = tmp_path / "it's [a] *folder*"
    folder.mkdir()
    given = dict(zip(NAMES, names, strict=True))
    a, b = save(folder / "a'.parquet", names, rows), save(folder / "b.csv", names, rows[::-1])
    both_agree(a, b, **given)


def test_declared_labels(tmp_path: Path) -> None:
    a, b = two_files(tmp_path, range(50), form=("csv", "csv"), order="shuffled", classes="abc", kinds=("INTEGER", "VARCHAR"), seed=3)
    sources = opened(a), opened(b)
    met = meet(*sources)
    assert met is not None
    same((met.joint(["c", "b", "a", "x"]), met.report), by_items(*sources, ["c", "b", "a", "x"]))
    with pytest.raises(DataError, match="not among the declared labels"):
        joint(*sources, ["a", "b"])


# ---- ids that are not right ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "aligned", "turned"),
    [
        *[(["x", "y", "y", "w"], True, False), (["x", "y", "y", "w"], False, True), (["1", "1", "1", "1"], True, True)],
        *[(["a", "b", "c", None], True, True), (["a", "b", "c", None], False, False), ([None, "b", "c", "d"], False, True)],
    ],
)
def test_duplicate_and_missing_ids_are_refused_as_ever(tmp_path: Path, ids: list[Any], aligned: bool, turned: bool) -> None:
    good = ids if aligned else ["b", "x", "y", "1"]
    a, b = (save(tmp_path / f"{x}.parquet", NAMES, [(i, "u", "v") for i in own]) for x, own in (("a", ids), ("b", good)))
    if turned:
        a, b = b, a
    with pytest.raises(DataError) as ours:
        joint(opened(a), opened(b))
    with pytest.raises(DataError) as items:
        by_items(opened(a), opened(b))
    assert str(ours.value) == str(items.value)


def test_duplicates_among_ids_without_a_partner(tmp_path: Path) -> None:
    a = save(tmp_path / "a.parquet", NAMES, [(i, "u", "v") for i in ("1", "2", "only", "only")])
    b = save(tmp_path / "b.parquet", NAMES, [(i, "u", "v") for i in ("2", "1")])
    with pytest.raises(DataError, match=r"Duplicate ids: 1 id occurs in 2 rows, such as 'only'\."):
        joint(opened(a), opened(b))


def test_a_crowd_of_equal_ids_is_refused_before_the_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("same" if i % 2 else str(i), "u", "v") for i in range(4000)]
    a, b = save(tmp_path / "a.parquet", NAMES, rows), save(tmp_path / "b.parquet", NAMES, rows[::-1])
    monkeypatch.setattr(joining.FileJoin, "_grouped", None)  # it would be 4,000,000 rows, and for a million 250,000,000,000
    with pytest.raises(DataError, match=r"Duplicate ids: 1 id occurs in 2000 rows, such as 'same'\."):
        joint(opened(a), opened(b))


def test_the_ids_are_checked_once(tmp_path: Path) -> None:
    a, b = two_files(tmp_path, range(9), form=("csv", "csv"), order="shuffled", classes="ab", kinds=("INTEGER", "VARCHAR"), seed=0)
    sources = opened(a), opened(b)
    joint(*sources)
    assert all(source.ids_checked for source in sources)


# ---- where it does not apply ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", ["group", "repeat"])
def test_groups_and_repeats_are_for_the_items(tmp_path: Path, extra: str) -> None:
    a = save(tmp_path / "a.parquet", (*NAMES, extra), [("1", "u", "v", "g"), ("2", "u", "v", "g")])
    assert joint(opened(a), opened(a)) is None


@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize("alone", [True, False])
def test_missing_labels_are_for_the_items(tmp_path: Path, place: int, alone: bool) -> None:
    rows = [["1", "u", "v"], ["2", "u", "v"], ["3", "u", "v"]]
    b = save(tmp_path / "b.parquet", NAMES, rows[:2] if alone else rows)
    rows[2][place] = None
    a = save(tmp_path / "a.parquet", NAMES, rows)
    first, second = opened(a), opened(b)
    assert joint(first, second) is None
    assert joint(second, first) is None


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf")])
def test_a_hole_in_a_column_beside_is_for_the_items(tmp_path: Path, bad: float | None) -> None:
    names, types = (*NAMES, "probability"), ("INTEGER", "VARCHAR", "VARCHAR", "DOUBLE")
    rows = [(i, "u", "v", 0.5) for i in range(5)]
    a, b = save(tmp_path / "a.parquet", names, rows, types), save(tmp_path / "b.parquet", names, [*rows[:4], (4, "u", "v", bad)], types)
    first = opened(a)
    assert joint(first, first) is not None
    assert joint(first, opened(b)) is None


def test_texts_beside_that_are_no_numbers_are_for_the_items(tmp_path: Path) -> None:
    names, types = (*NAMES, "probability"), ("INTEGER", "VARCHAR", "VARCHAR", "DOUBLE")
    rows = [(i, "u", "v", 0.5) for i in range(5)]
    a = save(tmp_path / "a.parquet", names, rows, types)
    csv = save(tmp_path / "c.csv", names, rows, types)
    first = opened(a)
    assert joint(first, opened(csv)) == joint(first, first)  # texts that are plainly numbers
    whole = csv.read_text()
    for text in ("", "half", "1_000", " 0.5", "inf", "1e999", "NaN", "50%"):
        csv.write_text(whole.replace("0.5", text, 1))
        assert joint(first, opened(csv)) is None, text


def test_other_sources_are_for_the_items(tmp_path: Path) -> None:
    a = save(tmp_path / "a.parquet", NAMES, [("1", "u", "v")])
    rows = open_source([{"id": "1", "truth": "u", "prediction": "v"}], columns={})
    bare = opened(save(tmp_path / "b.parquet", NAMES[1:], [("u", "v")]))
    floats = opened(save(tmp_path / "c.parquet", NAMES, [(1.5, "u", "v")], ("DOUBLE", "VARCHAR", "VARCHAR")))
    first = opened(a)
    assert [joint(first, other) for other in (rows, bare, floats)] == [None, None, None]


def test_more_cells_than_classes_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = save(tmp_path / "a.parquet", NAMES, [(str(i), f"free text {i}", "v") for i in range(9)])
    monkeypatch.setattr(joining, "MAX_CELLS", 5)
    other = opened(a)
    assert joint(opened(a), other) is None
    assert not other.ids_checked  # cut off, the groups prove nothing


def test_a_file_that_changes_meanwhile_is_noticed(tmp_path: Path) -> None:
    a, b = (save(tmp_path / f"{x}.csv", NAMES, [(str(i), "u", "v") for i in range(9)]) for x in "ab")
    sources = opened(a), opened(b)
    b.write_text(b.read_text().replace("v", "w"))
    with pytest.raises(SteelyardError, match="changed"):
        joint(*sources)


@pytest.mark.parametrize("alone", [True, False])
def test_one_number_in_two_spellings_is_refused_even_in_a_row_without_partner(tmp_path: Path, alone: bool) -> None:
    rows = [("1", "1", "1"), ("2", "2", "1"), ("3", "1", "1.0")]
    a, b = save(tmp_path / "a.csv", NAMES, rows), save(tmp_path / "b.csv", NAMES, rows[: 2 if alone else 3])
    with pytest.raises(DataError, match="several ways"):
        joint(opened(a), opened(b))


# ---- right and wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "values"), [("DOUBLE", (0.0, 1.0)), ("BOOLEAN", (False, True)), ("VARCHAR", ("false", "true")), ("INTEGER", (0, 1))]
)
@pytest.mark.parametrize("labelled", [False, True])
def test_scores_of_zero_and_one(tmp_path: Path, kind: str, values: tuple[Any, Any], labelled: bool) -> None:
    draw = random.Random(1)
    names, types = ("id", "score", *(NAMES[1:] if labelled else ())), ("INTEGER", kind, *(("VARCHAR", "VARCHAR") if labelled else ()))
    tail = ("u", "v") if labelled else ()
    sides = [[(i, values[draw.random() < share], *tail) for i in range(500)] for share in (0.7, 0.8)]
    draw.shuffle(sides[1])
    a, b = (save(tmp_path / f"{x}.parquet", names, rows, types) for x, rows in zip("ab", sides, strict=True))
    found = joint(opened(a), opened(b), outcomes=True)
    assert found is not None
    assert found[0].kind == "outcomes"
    score = [{row[0]: row[1] == values[1] for row in rows} for rows in sides]
    lost = sum(score[0][i] and not score[1][i] for i in range(500))
    assert (found[0].n, found[0].outcomes().baseline_only) == (500, lost)


def test_scores_that_are_not_all_zero_or_one(tmp_path: Path) -> None:
    a, b = (save(tmp_path / f"{x}.csv", ("id", "score"), [(1, 1), (2, s)]) for x, s in (("a", 0), ("b", 0.5)))
    first = opened(a)
    assert joint(first, first, outcomes=True) is not None
    assert joint(first, opened(b), outcomes=True) is None


def test_conflicting_truths_beside_scores(tmp_path: Path) -> None:
    names = ("id", "score", "truth")
    a = save(tmp_path / "a.csv", names, [(i, 1, "u") for i in range(9)])
    b = save(tmp_path / "b.csv", names, [(i, i % 2, "w" if i == 4 else "u") for i in range(9)])
    found = joint(opened(a), opened(b), outcomes=True)
    assert found is not None
    assert (found[1].conflicting_truths, found[1].example_conflicts) == (1, ("4",))


# ---- the question --------------------------------------------------------------------------------------------------


def large(folder: Path, *, scored: bool, order: str, n: int = 3000) -> tuple[Path, Path]:
    draw = random.Random(7)
    truth, *given = answers(n, "abc", 5)
    names = ("id", "truth", "prediction", *(("score",) if scored else ()))
    types = ("BIGINT", "VARCHAR", "VARCHAR", *(("INTEGER",) if scored else ()))
    sides = [[(i, t, p, *((int(t == p),) if scored else ())) for i, (t, p) in enumerate(zip(truth, side, strict=True))] for side in given]
    if order == "shuffled":
        draw.shuffle(sides[1])
    return save(folder / "a.parquet", names, sides[0], types), save(folder / "b.parquet", names, sides[1], types)


@pytest.mark.parametrize(
    ("metric", "scored", "order"),
    [
        (metric, scored, ("same", "shuffled")[(i + scored) % 2])
        for i, metric in enumerate((None, "accuracy", "error", "macro_f1", "mcc"))
        for scored in (False, True)
        if metric in (None, "macro_f1") or scored == i % 2
    ],
)
def test_a_comparison_is_the_same_either_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metric: str | None, scored: bool, order: str
) -> None:
    a, b = large(tmp_path, scored=scored, order=order)
    small = sy.compare(a, b, metric=metric, draws=200)
    monkeypatch.setattr(compare_engine, "LARGE", 1000)
    monkeypatch.setattr(Source, "items", None)  # not to be asked
    engine = sy.compare(a, b, metric=metric, draws=200)
    assert engine.to_dict() == small.to_dict()
    assert len(engine.to_dict()["telling_items"]) == 10


def test_the_telling_items_are_those_of_the_items(tmp_path: Path) -> None:
    a, b = large(tmp_path, scored=False, order="shuffled", n=60)
    sources = opened(a), opened(b)
    pairs, _ = match(*(source.items() for source in sources))
    found = meet(*sources)
    assert found is not None
    assert list(found.changed_items) == changed_items(pairs, parse("accuracy"), 10)


def test_refusals_are_the_same_either_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(i, "ab"[i % 2], "ab"[i % 3 == 0]) for i in range(100)]
    a, b = save(tmp_path / "a.parquet", NAMES, rows), save(tmp_path / "b.parquet", NAMES, rows[:90])
    numbers = save(tmp_path / "n.parquet", NAMES, [(i, str(i / 2), "1") for i in range(100)])
    said: list[list[str]] = []
    for limit in (10**9, 10):
        monkeypatch.setattr(compare_engine, "LARGE", limit)
        said.append([])
        for first, second in ((a, b), (b, a), (a, numbers), (numbers, numbers)):
            with pytest.raises(SteelyardError) as fault:
                sy.compare(first, second)
            said[-1].append(str(fault.value).partition(", such as")[0])
    assert said[0] == said[1]


def test_ids_without_a_partner_may_be_dropped_either_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(f"{i:03}", "ab"[i % 2], "ab"[i % 3 == 0]) for i in range(100)]
    a, b = save(tmp_path / "a.csv", NAMES, rows), save(tmp_path / "b.csv", NAMES, [(i, t, t) for i, t, _ in rows[10:]])
    small = sy.compare(a, b, unmatched="drop", metric="macro_f1", draws=200)
    monkeypatch.setattr(compare_engine, "LARGE", 10)
    assert sy.compare(a, b, unmatched="drop", metric="macro_f1", draws=200).to_dict() == small.to_dict()


@pytest.mark.parametrize("order", ["same", "shuffled"])
def test_ids_that_look_alike_are_told_either_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    first = [(f"q{i}" if i != 50 else "Q7", "ab"[i % 2], "ab"[i % 3 == 0]) for i in range(100)]
    second = [(i, t, t) for i, t, _ in (first if order == "same" else first[::-1])]
    a, b = save(tmp_path / "a.csv", NAMES, first), save(tmp_path / "b.parquet", NAMES, second)
    small = sy.compare(a, b)
    monkeypatch.setattr(compare_engine, "LARGE", 10)
    assert sy.compare(a, b).to_dict() == small.to_dict()
    assert "1 id differs from another only by case, blanks or Unicode form, such as 'q7' and 'Q7'" in small.warnings[0]
