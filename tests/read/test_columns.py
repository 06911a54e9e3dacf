"""Columns of texts in memory: encoded the same way, whatever they came as and however many there are."""

from __future__ import annotations

import numpy as np

from cases import every
from steelyard.read import columns
from steelyard.read.columns import as_column


def alike(texts: list[str]) -> None:
    array, plain = as_column("truth", np.array(texts)).encode(), as_column("truth", texts).encode()
    assert array[0].names == plain[0].names
    assert array[0].codes.tolist() == plain[0].codes.tolist()
    assert (list(array[1].values), array[1].names, array[1].kinds) == (list(plain[1].values), plain[1].names, plain[1].kinds)


@every("different", [1, 2, 300, 4000, 60_000])
def test_an_array_of_texts_is_encoded_as_a_list_is(different: int) -> None:
    """By one table, by the larger one, and by neither."""
    rng = np.random.default_rng(different)
    alike([f"label {i}" for i in rng.integers(0, different, 70_000)])


@every("texts", [[""] * 5000, ["", "a"] * 5000, ["é", "e\u0301", "日本", "🙂"] * 2000, ["7", "7.0", " 7"] * 2000, ["x" * 70, "y"] * 3000])
def test_odd_texts_stay_what_they_are(texts: list[str]) -> None:
    alike(texts)


def test_two_texts_of_one_slot_are_kept_apart() -> None:
    """With a table for 65,536 hashes a thousand labels collide for certain."""
    found = columns._encode_texts(np.array([f"{i % 1000:04d}" for i in range(20_000)]))
    assert found is not None
    assert found[0].names == tuple(f"{i:04d}" for i in range(1000))
    assert (found[0].codes == np.arange(20_000) % 1000).all()


def test_every_second_row_of_an_array_is_encoded() -> None:
    texts = np.array([f"{i % 7}" for i in range(20_000)])[::2]
    alike(texts.tolist())
    assert as_column("truth", texts).encode()[0].codes.tolist() == as_column("truth", texts.tolist()).encode()[0].codes.tolist()


def test_texts_that_are_numbers_are_read_as_numbers() -> None:
    column = as_column("score", np.array(["0.5", "1", "1e-3"]))
    assert not column.is_numeric
    assert column.numbers().tolist() == [0.5, 1.0, 0.001]


@every("place", [0, 1, 4_097, 19_999])
def test_a_rare_text_that_differs_where_all_others_agree_is_found(place: int) -> None:
    texts = [f"the same beginning {i % 3}" for i in range(20_000)]
    texts[place] = "the sane beginning 1"
    alike(texts)


def test_texts_of_odd_and_even_length_that_are_all_equal() -> None:
    alike(["abc"] * 5_000)
    alike(["abcd"] * 5_000)


def test_a_column_is_encoded_once() -> None:
    column = as_column("truth", np.array(["a", "b"] * 3_000))
    assert column.encode()[0] is as_column("truth", column).encode()[0]


@every(
    "values",
    [[], ["b"], [None], ["a", "b"], ["b", "a"], ["a", "a"], ["a", None, "b"], [3, 1, 2], [1, 1], ["10", "9"], ["e\u0301", "\u00e9"]],
)
def test_values_are_found_to_be_all_different(values: list[object]) -> None:
    assert columns.all_different(values) == (None not in values and len(set(values)) == len(values))


def test_equal_ids_far_apart_are_found() -> None:
    ids = [f"{i:06d}" for i in range(20_000)]
    ids[-1] = ids[5]
    assert not columns.all_different(ids)
    labels, _ = as_column("id", ids).encode()
    assert labels.codes[-1] == 5
    assert len(labels.names) == 19_999
