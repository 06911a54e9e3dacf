"""Rows of two runs meet by id: each with its own partner, in whatever order, and what does not meet is counted."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import DataError
from steelyard.items import Items, Labels
from steelyard.tally.pairs import PairingReport, conflicting_truths, count_joint, match, settle_pairing


def labels(values: list[str]) -> Labels:
    names = tuple(dict.fromkeys(values))
    return Labels(np.array([names.index(v) for v in values], np.int64), names)


def run(ids: list[str] | None, score: list[float], truth: list[str] | None = None, prediction: list[str] | None = None) -> Items:
    return Items(
        n=len(score),
        id=None if ids is None else labels(ids),
        score=np.array(score, float),
        truth=None if truth is None else labels(truth),
        prediction=None if prediction is None else labels(prediction),
    )


@given(st.permutations(list(range(8))), st.permutations(list(range(8))), st.integers(0, 8), st.integers(0, 8))
def test_every_row_meets_its_own_partner(p: list[int], q: list[int], a: int, b: int) -> None:
    first, second = p[: 8 - a // 2], q[: 8 - b // 2]
    one, other = (run([f"i{k}" for k in keys], [float(k) for k in keys]) for keys in (first, second))
    pairs, report = match(one, other)
    assert pairs.baseline.score.tolist() == pairs.candidate.score.tolist()
    both = set(first) & set(second)
    assert (report.matched, report.baseline_only, report.candidate_only) == (len(both), len(first) - len(both), len(second) - len(both))
    assert pairs.plain
    assert [f"i{int(s)}" for s in pairs.baseline.score] == list(pairs.names)


def test_repeats_share_the_code_of_their_item() -> None:
    pairs, _ = match(run(["b", "a", "b"], [1, 2, 3]), run(["a", "b"], [4, 5]))
    assert not pairs.plain
    assert pairs.baseline_item.tolist() == [0, 1, 1]
    assert pairs.baseline.score.tolist() == [2, 1, 3]
    assert pairs.candidate_item.tolist() == [0, 1]


def test_truths_that_disagree_are_found_on_either_side() -> None:
    one = run(["a", "b", "c"], [0, 0, 0], ["x", "y", "x"])
    pairs, report = match(one, run(["c", "b", "a"], [0, 0, 0], ["x", "x", "x"]))
    assert conflicting_truths(pairs) == ["b"]
    assert report.conflicting_truths == 1
    pairs, _ = match(run(["a", "a"], [0, 0], ["x", "y"]), run(["a"], [0], ["x"]))
    assert conflicting_truths(pairs) == ["a"]


def test_labels_meet_by_name_not_by_code() -> None:
    one = run(["a", "b"], [0, 0], ["x", "y"], ["x", "x"])
    pairs, report = match(one, run(["b", "a"], [0, 0], ["y", "x"], ["y", "z"]))
    assert report.conflicting_truths == 0
    joint = count_joint(pairs)
    named = [(joint.labels[t], joint.labels[a], joint.labels[b], c) for t, a, b, c in joint.cells()]
    assert named == [("x", "x", "z", 1), ("y", "x", "y", 1)]


def test_without_ids_only_equal_lengths_meet() -> None:
    with pytest.raises(DataError, match=r"Cannot pair 2 with 1 rows without ids\."):
        match(run(None, [1, 2]), run(None, [1]))
    pairs, report = match(run(None, [1, 2]), run(None, [1, 2]))
    assert (pairs.items, report.matched) == (2, 2)


def test_the_report_decides() -> None:
    assert settle_pairing(PairingReport(matched=5), "error") == []
    missing = PairingReport(matched=9, baseline_only=1, example_baseline_only=("x",))
    with pytest.raises(DataError, match="9 ids in both, 1 only in the baseline, such as 'x'"):
        settle_pairing(missing, "error")
    assert len(settle_pairing(missing, "drop")) == 2
    with pytest.raises(DataError, match="no id in common"):
        settle_pairing(PairingReport(matched=0, baseline_only=1, candidate_only=1), "drop")
    with pytest.raises(DataError, match="different truths"):
        settle_pairing(PairingReport(matched=3, conflicting_truths=1, example_conflicts=("x",)), "drop")


def test_one_item_without_a_partner_is_not_called_items() -> None:
    (said, *_) = settle_pairing(PairingReport(matched=99, baseline_only=1, example_baseline_only=("x",)), "drop")
    assert said.startswith("1 item without")


@given(st.lists(st.integers(0, 12), min_size=1, max_size=15), st.lists(st.integers(0, 12), min_size=1, max_size=15), st.randoms())
def test_one_list_of_ids_and_two_lists_of_them_meet_alike(first: list[int], second: list[int], chance: Random) -> None:
    """Labels that nobody uses, in any order, change nothing: the road without looking up texts is the other one, only shorter."""
    names = tuple(f"q{i}" for i in range(13))
    shuffled = list(names)
    chance.shuffle(shuffled)
    code = {name: i for i, name in enumerate(shuffled)}
    runs = [Items(n=len(ids), id=Labels(np.array(ids), names), score=np.array(ids, float)) for ids in (first, second)]
    moved = Items(n=len(second), id=Labels(np.array([code[names[i]] for i in second]), tuple(shuffled)), score=np.array(second, float))
    (short, short_report), (long, long_report) = match(runs[0], runs[1]), match(runs[0], moved)
    assert short_report.matched == long_report.matched
    assert (short_report.baseline_only, short_report.candidate_only) == (long_report.baseline_only, long_report.candidate_only)
    assert short.names == long.names == tuple(sorted({names[i] for i in first} & {names[i] for i in second}))
    for side in ("baseline", "candidate"):
        assert getattr(short, side).score.tolist() == getattr(long, side).score.tolist()
        assert getattr(short, f"{side}_item").tolist() == getattr(long, f"{side}_item").tolist()
