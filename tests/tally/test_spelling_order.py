"""The one order of labels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steelyard.tally.spelling import label_order, same_number


@given(numbers=st.lists(st.integers(-500, 500)))
def test_whole_numbers_are_in_their_order(numbers: list[int]) -> None:
    assert label_order(map(str, numbers)) == tuple(map(str, sorted(set(numbers))))


@given(texts=st.lists(st.text(max_size=4)))
def test_is_an_order_of_the_distinct_labels(texts: list[str]) -> None:
    found = label_order(texts)
    assert sorted(found) == sorted(set(texts))
    assert label_order(reversed(texts)) == found
    assert label_order(found) == found


def test_one_text_among_numbers_makes_all_texts() -> None:
    assert label_order(["9", "10", "x"]) == ("10", "9", "x")
    assert label_order(["9", "10", "-1.5", "1e3"]) == ("-1.5", "9", "10", "1e3")


def test_what_is_not_a_number_to_a_reader() -> None:
    """float() would take these."""
    for odd in ("nan", "inf", "1_000", " 7", "٣", "0x10", "1e999"):
        assert label_order([odd, "9", "10"]) == tuple(sorted([odd, "9", "10"]))


def test_equal_numbers_are_ordered_by_their_text() -> None:
    assert label_order(["1.0", "1", "0"]) == ("0", "1", "1.0")
    assert same_number(["1", "1.0", "01", "2", "b"]) == [("01", "1", "1.0")]


def test_nothing() -> None:
    assert label_order([]) == ()
    assert same_number([]) == []
