"""Frames: types, twins, streams that run once, and two tables (engine, memory) that agree."""

from __future__ import annotations

import decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard.errors import AmbiguityError, DataError, SourceError
from steelyard.read.open_source import open_source

pytestmark = pytest.mark.usefixtures("shared_engine")


@every(
    ("column", "texts"),
    [
        (pa.array([1, 2], pa.int8()), ["1", "2"]),
        (pa.array([2**63, 1], pa.uint64()), ["9223372036854775808", "1"]),
        (pa.array([1.0, float("nan")]), ["1.0", None]),
        (pa.array([0.5, None], pa.float32()), ["0.5", None]),
        (pa.array([True, None]), ["True", None]),
        (pa.array([decimal.Decimal("1.50"), None]), ["1.50", None]),
        (pa.array(["a", None]).dictionary_encode(), ["a", None]),
        (pa.array(["a", ""], pa.large_string()), ["a", ""]),
        (pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
        (pa.array([19000, None], pa.date32()), ["2022-01-08", None]),
        (pa.nulls(2), [None, None]),
    ],
)
def test_arrow_types_as_labels(column: pa.Array, texts: list[str | None]) -> None:
    source = open_source(pa.table({"truth": column, "pred": column}), columns={})
    truth = source.items().truth
    assert [None if code < 0 else truth.names[code] for code in truth.codes] == texts
    assert {row[0] for row in source.tabulate(["truth", "prediction"])} == set(texts)


def test_numbers_of_every_type() -> None:
    for kind in (pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(10, 2), pa.bool_()):
        source = open_source(
            pa.table(
                {
                    "score": pa.array([1, 0, None]).cast(pa.int8()).cast(kind)
                    if kind != pa.decimal128(10, 2)
                    else pa.array([1, 0, None]).cast(pa.decimal128(21, 2))
                }
            ),
            columns={},
        )
        assert source.tabulate(["score"]) == [(None, 1), (0.0, 1), (1.0, 1)]
        assert str(source.items().score.tolist()) == "[1.0, 0.0, nan]"
    with pytest.raises(DataError, match=r"Infinite score in row 2: inf\."):
        open_source(pa.table({"score": [1.0, float("inf")]}), columns={}).tabulate(["score"])
    with pytest.raises(DataError, match=r"The score in row 2 must be a number.* not '85%'"):
        open_source(pl.DataFrame({"score": ["1", "85%"]}), columns={}).tabulate(["score"])


def test_columns_that_differ_by_case_only() -> None:
    for frame in (
        pa.table({"Truth": ["a"], "truth": ["b"], "pred": ["b"]}),
        pl.DataFrame({"Truth": ["a"], "truth": ["b"], "pred": ["b"]}),
        pd.DataFrame({"Truth": ["a"], "truth": ["b"], "pred": ["b"]}),
    ):
        with pytest.raises(AmbiguityError, match="'Truth', 'truth'"):
            open_source(frame, columns={})
        assert open_source(frame, columns={"truth": "truth"}).tabulate(["truth", "prediction"]) == [("b", "b", 1)]


def test_duplicate_columns() -> None:
    with pytest.raises(SourceError, match=r"The column name 'truth' occurs 2 times\."):
        open_source(pd.DataFrame([["a", "b", "c"]], columns=["truth", "truth", "pred"]), columns={})
    with pytest.raises(SourceError, match=r"The column name 'truth' occurs 2 times\."):
        open_source(pa.table([["a"], ["b"], ["c"]], names=["truth", "truth", "pred"]), columns={})


def test_empty_frames() -> None:
    for frame, said in (
        (pl.DataFrame({"score": []}, schema={"score": pl.Float64}), r"^No items in the polars frame\.$"),
        (pa.table({"score": pa.array([], pa.float64())}), r"^No items in the Arrow table\.$"),
        (pd.DataFrame({"score": []}), r"^The source has no items\.$"),
    ):
        with pytest.raises(SourceError, match=said):
            open_source(frame, columns={})


def test_a_stream_runs_once_and_is_enough() -> None:
    class Once:
        def __init__(self) -> None:
            self.runs = 0

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            self.runs += 1
            return pa.table({"id": ["a", "b"], "truth": ["x", "y"], "pred": ["x", "x"]}).__arrow_c_stream__(requested_schema)

    source = open_source(pa.table({"id": ["a", "b"], "truth": ["x", "y"], "pred": ["x", "x"]}).to_reader(), columns={})
    assert source.items().n == 2
    assert source.tabulate(["truth", "prediction"]) == source.tabulate(["truth", "prediction"])
    assert open_source(Once(), columns={}).n == 2


def test_a_relation_keeps_its_names_and_its_connection() -> None:
    con = duckdb.connect()
    relation = con.sql("SELECT 'a' AS \"the truth\", 'b' AS pred, 'long' AS prompt FROM range(3)")
    source = open_source(relation, columns={"truth": "the truth"})
    assert source.columns == ("the truth", "pred", "prompt")
    assert source.tabulate(["truth", "prediction"]) == [("a", "b", 3)]
    assert con.execute("SELECT 1").fetchall() == [(1,)]
    con.close()


def test_rows_may_lack_keys() -> None:
    source = open_source([{"truth": 1, "pred": 1}, {"truth": 2}], columns={})
    assert source.tabulate(["truth", "prediction"]) == [("1", "1", 1), ("2", None, 1)]


cells = st.one_of(st.none(), st.sampled_from(["a", "b", "", "ü", "1x", "A"]))


@given(st.lists(st.tuples(cells, cells, st.one_of(st.none(), st.floats(-2, 2, width=16))), min_size=1, max_size=30))
def test_engine_and_memory_agree(rows: list[tuple[object, object, object]]) -> None:
    truth, prediction, score = (list(column) for column in zip(*rows, strict=True))
    columns = {"truth": truth, "pred": prediction, "score": score}
    engine = open_source(
        pa.table(
            {"truth": pa.array(truth, pa.string()), "pred": pa.array(prediction, pa.string()), "score": pa.array(score, pa.float64())}
        ),
        columns={},
    )
    memory = open_source(columns, columns={})
    for roles in (["truth", "prediction"], ["score"], ["truth", "score"]):
        assert engine.tabulate(roles) == memory.tabulate(roles)
    left, right = engine.items(), memory.items()
    np.testing.assert_array_equal(left.score, right.score)
    for one, other in ((left.truth, right.truth), (left.prediction, right.prediction)):
        assert [one.names[c] if c >= 0 else None for c in one.codes] == [other.names[c] if c >= 0 else None for c in other.codes]
