"""The joint table: sides, flips, swaps, sums and plain values, whatever the cells."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard.errors import DataError, SteelyardError
from steelyard.tally.joint import JointCounts, joint_table
from steelyard.tally.pairs import joint_of_codes

CELLS = st.dictionaries(st.tuples(*[st.integers(0, 2)] * 3), st.integers(0, 9), max_size=12)


def of(cells: dict[tuple[int, int, int], int]) -> JointCounts:
    return joint_table(cells, ("a", "b", "c"))


@given(CELLS)
def test_the_table_is_its_items(cells: dict[tuple[int, int, int], int]) -> None:
    joint = of(cells)
    rows = np.array([key for key, count in cells.items() for _ in range(count)], np.int64).reshape(-1, 3)
    assert joint.n == len(rows)
    t, a, b = rows.T
    flips = joint.outcomes()
    assert flips == (((t == a) & (t == b)).sum(), ((t == a) & (t != b)).sum(), ((t != a) & (t == b)).sum(), ((t != a) & (t != b)).sum())
    assert joint.side("baseline").n == joint.side("candidate").n == joint.n
    if len(rows):
        assert joint_of_codes(t, a, b, 3, ("a", "b", "c"), 3) == joint


@given(CELLS)
def test_a_swap_twice_is_the_table(cells: dict[tuple[int, int, int], int]) -> None:
    joint = of(cells)
    assert joint.swapped().swapped() == joint
    assert joint.swapped().side("baseline") == joint.side("candidate")
    both, lost, gained, neither = joint.outcomes()
    assert joint.swapped().outcomes() == (both, gained, lost, neither)


@given(CELLS, CELLS)
def test_sums_and_plain_values(one: dict[tuple[int, int, int], int], other: dict[tuple[int, int, int], int]) -> None:
    total = of(one) + of(other)
    assert total == of(other) + of(one)
    assert total.n == of(one).n + of(other).n
    assert JointCounts.from_dict(json.loads(json.dumps(total.to_dict()))) == total


def test_cells_are_sorted_and_occupied() -> None:
    joint = of({(2, 1, 0): 3, (0, 0, 0): 2, (1, 1, 1): 0})
    assert list(joint.cells()) == [(0, 0, 0, 2), (2, 1, 0, 3)]


def test_tables_of_other_labels_do_not_add() -> None:
    with pytest.raises(DataError):
        of({}) + joint_table({}, ("a", "b"))


@every("bad", [-1, 1.5, "2", None, float("nan"), True])
def test_flips_are_whole_numbers(bad: object) -> None:
    with pytest.raises(SteelyardError):
        JointCounts.flips(both=bad, baseline_only=1, candidate_only=1, neither=1)  # type: ignore[arg-type]
