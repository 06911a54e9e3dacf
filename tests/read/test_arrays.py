"""Arrays side by side: encoding, missing values, spellings, shapes."""

from __future__ import annotations

import datetime
import decimal
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cases import every
from steelyard.errors import DataError, SourceError, UsageError
from steelyard.read.open_source import open_source


def labels(values: object) -> list[str | None]:
    items = open_source(values, values, columns={}).items()
    return [None if code < 0 else items.truth.names[code] for code in items.truth.codes]


@every(
    ("values", "texts"),
    [
        ([1, 2, 1], ["1", "2", "1"]),
        ((1.0, 2.5), ["1.0", "2.5"]),
        ([True, False], ["True", "False"]),
        (["a ", "", None], ["a ", "", None]),
        ([1.5, None, float("nan")], ["1.5", None, None]),
        (["a", float("nan"), None, np.nan], ["a", None, None, None]),
        ([0.0, -0.0], ["0.0", "0.0"]),
        ([2**70, -1], ["1180591620717411303424", "-1"]),
        ([decimal.Decimal("1.50"), decimal.Decimal("2")], ["1.50", "2"]),
        ([datetime.date(2026, 1, 2)], ["2026-01-02"]),
        ([uuid.UUID(int=7)], ["00000000-0000-0000-0000-000000000007"]),
        ([np.int64(3), np.int64(4)], ["3", "4"]),
        ([np.str_("a"), "b"], ["a", "b"]),
        ([1, 2.5], ["1", "2.5"]),
        (range(3), ["0", "1", "2"]),
        (np.array([7, 9, 7]), ["7", "9", "7"]),
        (np.array([0, 10**9]), ["0", "1000000000"]),
        (np.array([-128, 127], np.int8), ["-128", "127"]),
        (np.array([0, 255], np.uint8), ["0", "255"]),
        (np.array([2**63, 2**64 - 1], np.uint64), ["9223372036854775808", "18446744073709551615"]),
        (np.array([1.5, np.nan, 1.5, -0.0]), ["1.5", None, "1.5", "0.0"]),
        (np.array([0.5], np.float32), ["0.5"]),
        (np.array([True, False]), ["True", "False"]),
        (np.array(["x", "yy"]), ["x", "yy"]),
        (np.array(["x", None], object), ["x", None]),
        (np.ma.MaskedArray([5, 6, 5], [False, True, False]), ["5", None, "5"]),
        (np.ma.MaskedArray([True, False], [False, True]), ["True", None]),
        (np.ma.MaskedArray(["a", "b"], [False, True]), ["a", None]),
        (np.array(["2026-01-02", "NaT"], "datetime64[D]"), ["2026-01-02", None]),
        (np.array([3, 4], ">i4"), ["3", "4"]),
        (pd.Series([1, 2, 1]), ["1", "2", "1"]),
        (pd.Series([1, None], dtype="Int64"), ["1", None]),
        (pd.Series([True, None], dtype="boolean"), ["True", None]),
        (pd.Series(["a", None, "b"]), ["a", None, "b"]),
        (pd.Series(["a", pd.NA], dtype="string"), ["a", None]),
        (pd.Series(["a", None, "a"], dtype="category"), ["a", None, "a"]),
        (pd.Series([3, 1, 3], dtype="category"), ["3", "1", "3"]),
        (pd.Series([pd.Timestamp("2026-01-02"), pd.NaT], dtype="datetime64[us]"), ["2026-01-02T00:00:00.000000", None]),
        (pd.Series([1, None], dtype="int64[pyarrow]"), ["1", None]),
        (pd.Series(["a", None], dtype="string[pyarrow]"), ["a", None]),
        (pd.Series([1.5, None], dtype="double[pyarrow]"), ["1.5", None]),
        (pd.Index(["a", "b"]), ["a", "b"]),
        (pl.Series([1, None, 2]), ["1", None, "2"]),
        (pl.Series(["a", None]), ["a", None]),
        (pl.Series([True, False]), ["True", "False"]),
        (pl.Series(["a", "b"], dtype=pl.Categorical), ["a", "b"]),
        (pa.array([1, None]), ["1", None]),
        (pa.chunked_array([["a"], ["b", None]]), ["a", "b", None]),
    ],
)
def test_canonical_texts(values: object, texts: list[str | None]) -> None:
    assert labels(values) == texts
    table = open_source(values, values, columns={}).tabulate(["truth", "prediction"])
    assert sum(row[-1] for row in table) == len(texts)
    assert {row[0] for row in table} == set(texts)
    assert all(row[0] == row[1] for row in table)


def test_integer_arrays_are_not_copied() -> None:
    for kind in (np.int64, np.int32, np.uint8):
        values = np.array([5, 3, 4, 5], kind)
        truth = open_source(values, values, columns={}).items().truth
        assert truth.raw is values
        assert (truth.base, truth.names) == (3, ("3", "4", "5"))
    sparse = open_source(np.array([0, 65536]), np.array([0, 65535]), columns={}).items()
    assert sparse.truth.names == ("0", "65536")
    assert len(sparse.prediction.names) == 65536


def test_codes_do_not_wrap_around() -> None:
    values = np.array([-128, 127, 0], np.int8)
    assert open_source(values, values, columns={}).items().truth.codes.tolist() == [0, 255, 128]


@every(
    ("truth", "prediction", "message"),
    [
        ([1, "1"], [1, 1], r"Labels are spelled in several ways in truth: 1 and '1'\."),
        ([1, 1.0], [1, 1], r"Labels are spelled in several ways in truth and prediction: '1' and '1\.0'\."),
        ([1, True], [1, 1], r"Labels are spelled in several ways in truth: True and 1\."),
        ([True, "True"], ["True", "True"], r"Labels are spelled in several ways in truth: True and 'True'\."),
        ([1, 2], [1.0, 2.0], "Labels are spelled in several ways in truth and prediction: '1' and"),
        (np.array([1, 2]), np.array([1.0, np.nan]), r"'1' and '1.0'.* \(use dtype 'Int64'\)"),
        ([True, False], [1, 0], r"Labels are spelled in several ways in truth and prediction: True and 1\."),
        (["01", "1"], ["1", "1"], "Labels are spelled in several ways in truth and prediction: '01' and"),
        (["a", "\ud800"], ["a", "a"], r"The truth '\\ud800' is not valid Unicode \(a lone surrogate\)\."),
    ],
)
def test_spellings(truth: object, prediction: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        open_source(truth, prediction, columns={}).items()
    with pytest.raises(DataError, match=message):
        open_source(truth, prediction, columns={}).tabulate(["truth", "prediction"])


def test_equal_texts_of_two_columns_match() -> None:
    assert open_source([1, 2], ["1", "2"], columns={}).tabulate(["truth", "prediction"]) == [("1", "1", 1), ("2", "2", 1)]
    sparse_integers = open_source(np.array([0, 5]), np.array(["0", "b"]), columns={})  # 1..4 do not occur
    assert sparse_integers.tabulate(["truth", "prediction"]) == [("0", "0", 1), ("5", "b", 1)]
    assert open_source(np.array([0, 5], np.uint8), ["1.0", "b"], columns={}).items().n == 2


def test_shapes() -> None:
    with pytest.raises(DataError, match=r"The arrays have different lengths: 3 in truth, 2 in prediction\."):
        open_source([1, 2, 3], [1, 2], columns={})
    with pytest.raises(DataError, match=r"The prediction array has 2 dimensions \(shape \(2, 2\)\); it must have one value per item\."):
        open_source([1, 2], np.zeros((2, 2)), columns={})
    with pytest.raises(DataError, match=r"A truth must be a text, a number or.*not a list.* in row 1"):
        open_source([[1, 2], [3, 4]], [1, 2], columns={})
    with pytest.raises(SourceError, match=r"The source has no items\."):
        open_source([], [], columns={})
    with pytest.raises(SourceError, match="no items"):
        open_source(np.array([]), columns={})
    with pytest.raises(DataError, match=r"A truth must be a text, a number or.*not a dict.* in row 2"):
        open_source(["a", {}], ["a", "b"], columns={}).items()
    with pytest.raises(DataError, match=r"A truth must be .*not a complex: 1j in row 2"):
        open_source(["a", 1j], ["a", "b"], columns={}).items()
    with pytest.raises(DataError, match=r"truth must be text, numbers or booleans, not an array of type \|S1.*Hint: decode bytes"):
        open_source(np.array([b"a"]), ["a"], columns={})
    with pytest.raises(UsageError, match=r"truth must be a list, an array or a Series, not a set: \{1,"):
        open_source({1, 2}, [1, 2], columns={})


def test_a_single_array_of_numbers_is_a_score() -> None:
    for values in ([1, 0, 1], [True, False, True], np.array([1.0, 0.0, 1.0]), pd.Series([True, False, True]), (1, 0, 1)):
        source = open_source(values, columns={})
        assert source.roles == {"score": "(array)"}
        assert source.tabulate(["score"]) == [(0.0, 1), (1.0, 2)]
        assert source.items().score.tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(DataError, match=r"Cannot measure labels without a truth: got 2 texts such as 'a' and no second array\."):
        open_source(["a", "b"], columns={})


def test_a_single_array_beside_a_probability_is_truth() -> None:
    source = open_source(["y", "n"], columns={"probability": [0.9, 0.2], "by": ()})
    assert source.roles == {"truth": "(array)", "probability": "(array)"}
    assert source.tabulate(["truth", "probability"]) == [("n", 0.2, 1), ("y", 0.9, 1)]
    assert open_source([1, 0], columns={"score": [0.9, 0.2]}).roles == {"truth": "(array)", "score": "(array)"}
    assert open_source([1, 0], columns={"group": ["p", "q"]}).roles == {"score": "(array)", "group": "(array)"}
    with pytest.raises(UsageError, match=r"The truth was given twice: as an array and as truth=\."):
        open_source([1, 0], [1, 0], columns={"truth": [1, 0]})


def test_all_roles_as_arrays() -> None:
    columns = {
        "id": ["a", "b"],
        "group": [1, 1],
        "repeat": [0, 0],
        "weight": [1, 2],
        "by": {"lang": ["de", "en"]},
        "ratio": ([1, 2], [3, 4]),
    }
    source = open_source(["x", "y"], ["x", "x"], columns=columns)
    items = source.items()
    assert items.group.names == ("1",)
    assert items.weight.tolist() == [1.0, 2.0]
    assert [part.tolist() for part in items.ratio] == [[1.0, 2.0], [3.0, 4.0]]
    assert items.slices["lang"].names == ("de", "en")
    assert source.by == ("lang",)
    assert source.tabulate(["truth", "prediction"], by="lang") == [("de", "x", "x", 1), ("en", "y", "x", 2)]
    with pytest.raises(DataError, match=r"Duplicate ids: 1 id occurs in 2 rows, such as 'a'\."):
        open_source([1, 0], columns={"id": ["a", "a"]}).items()
    with pytest.raises(UsageError, match="Unknown argument 'colour'"):
        open_source([1, 0], columns={"colour": [1, 2]})
    with pytest.raises(UsageError, match=r"group must be a list, an array or a Series, not a str: 'passage'\."):
        open_source([1, 0], columns={"group": "passage"})


@pytest.mark.parametrize("values", [[1.0, np.inf], np.array([1.0, -np.inf]), pd.Series([0.5, np.inf]), [1, 10**400]])
def test_infinite_scores(values: object) -> None:
    for ask in (lambda source: source.items(), lambda source: source.tabulate(["score"])):
        with pytest.raises(DataError, match=r"in row 2"):
            ask(open_source(values, columns={}))


def test_missing_scores_are_nan() -> None:
    for values in ([1, None, 0.5], np.array([1, np.nan, 0.5]), pd.Series([1, None, 0.5], dtype="Float64"), pl.Series([1.0, None, 0.5])):
        source = open_source(values, columns={})
        assert str(source.items().score.tolist()) == "[1.0, nan, 0.5]"
        assert source.tabulate(["score"]) == [(None, 1), (0.5, 1), (1.0, 1)]


def test_many_distinct_values_are_counted_by_sorting() -> None:
    rng = np.random.default_rng(0)
    truth, prediction = rng.integers(0, 2**60, 3000), rng.integers(0, 2**60, 3000)
    table = open_source(truth, prediction, columns={"id": np.arange(3000)}).tabulate(["truth", "prediction"])
    assert sorted((int(t), int(p)) for t, p, _ in table) == sorted(zip(truth.tolist(), prediction.tolist(), strict=True))
