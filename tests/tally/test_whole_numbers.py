"""Ids that are whole numbers are sorted, looked up and paired as numbers, exactly as their texts would be."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from steelyard.items import DIGITS, Items, Labels, WholeNumbers
from steelyard.tally.pairs import match
from steelyard.tally.spelling import look_alike_warnings
from steelyard.tally.whole_numbers import in_text_order, picked, places_of, text_order

MOST = 10**DIGITS - 1
NUMBER = st.integers(-MOST, MOST) | st.integers(-20, 120) | st.sampled_from([0, MOST, -MOST, 10**17, 10**17 - 1])
NUMBERS = st.lists(NUMBER, min_size=1, max_size=30, unique=True)


def names_of(numbers: list[int]) -> WholeNumbers:
    return WholeNumbers(np.array(numbers, np.int64))


@given(NUMBERS)
def test_numbers_are_ordered_as_their_texts(numbers: list[int]) -> None:
    names = names_of(numbers)
    order = text_order(names.numbers)
    assert [str(numbers[i]) for i in order] == sorted(map(str, numbers))
    every = np.arange(len(numbers))
    assert list(picked(names, in_text_order(names, every))) == list(picked(tuple(names), in_text_order(tuple(names), every)))


@given(NUMBERS, NUMBERS)
def test_numbers_are_looked_up_as_their_texts(some: list[int], others: list[int]) -> None:
    names, keys = names_of(some), names_of(others)
    wanted = [list(map(str, others)).index(str(each)) if each in others else -1 for each in some]
    for one in (names, tuple(names)):
        for other in (keys, tuple(keys)):
            assert places_of(one, other).tolist() == wanted
    assert places_of(names, names_of([])).tolist() == [-1] * len(some)


def test_they_are_a_sequence_of_texts() -> None:
    names = names_of([7, -3, 12])
    assert (len(names), names[0], names[-1], list(names), list(names[1:])) == (3, "7", "12", ["7", "-3", "12"], ["-3", "12"])
    assert names == ("7", "-3", "12") == names
    assert names == names_of([7, -3, 12])
    assert hash(names) == hash(("7", "-3", "12"))
    assert names != ("7", "-3")
    assert names != names_of([7, -3, 13])
    assert names != ["7", "-3", "12"]
    assert "12" in names
    assert look_alike_warnings(names) == []


def test_numbers_of_too_many_digits_stay_texts() -> None:
    assert WholeNumbers.of(np.array([MOST, -MOST])) == (str(MOST), str(-MOST))
    for beyond in (np.array([MOST + 1]), np.array([-MOST - 1]), np.array([2**63], np.uint64), np.array([-(2**63)])):
        assert WholeNumbers.of(beyond) is None
    assert WholeNumbers.of(np.array([], np.int64)) == ()


@given(NUMBERS, NUMBERS, st.randoms(use_true_random=False))
def test_runs_with_such_ids_meet_as_runs_with_texts(some: list[int], others: list[int], random: object) -> None:
    """Ids in any order, with and without a partner, as numbers on both sides, on one, or on none."""
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    others = [*others, *some[: len(some) // 2]]
    others = list(dict.fromkeys(others))
    runs = []
    for numbers in (some, others):
        truth = Labels(np.array([each % 3 for each in numbers]), ("a", "b", "c"))
        runs.append((numbers, Items(n=len(numbers), score=rng.random(len(numbers)), truth=truth)))
    found = []
    for forms in ((True, True), (True, False), (False, True), (False, False)):
        sides = []
        for (numbers, items), whole in zip(runs, forms, strict=True):
            names = names_of(sorted(numbers)) if whole else tuple(map(str, sorted(numbers)))
            codes = np.array([sorted(numbers).index(each) for each in numbers])
            sides.append(Items(n=items.n, id=Labels(codes, names), score=items.score, truth=items.truth))
        pairs, report = match(sides[0], sides[1])
        scores = [None if side.score is None else side.score.tolist() for side in (pairs.baseline, pairs.candidate)]
        found.append((list(pairs.names), scores, pairs.baseline_item.tolist(), pairs.candidate_item.tolist(), report))
    assert found[0] == found[1] == found[2] == found[3]
