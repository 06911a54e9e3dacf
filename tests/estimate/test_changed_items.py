"""The items on which two systems part, in the order of how much they tell."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.estimate.changed_items import changed_items
from steelyard.items import Items, Labels
from steelyard.metrics.catalogue import parse
from steelyard.tally.pairs import Pairs

SCORES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)


def pairs_of(scores: list[tuple[int, int]]) -> Pairs:
    sides = [Items(n=len(scores), score=np.array([pair[side] / 4 for pair in scores])) for side in (0, 1)]
    each = np.arange(len(scores))
    return Pairs(baseline=sides[0], candidate=sides[1], baseline_item=each, candidate_item=each, items=len(scores), names=())


def by_hand(scores: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Losses and gains, each by the size of the gap and then by place, dealt out in turn."""
    gaps = sorted(((-abs(b - a), i) for i, (a, b) in enumerate(scores) if a != b))
    lost, gained = ([i for _, i in gaps if (scores[i][1] < scores[i][0]) == worse] for worse in (True, False))
    dealt = [i for both in zip_longest(lost, gained) for i in both if i is not None]
    return [
        {"id": f"row {i + 1}", "change": "lost" if i in lost else "gained", "truth": None, "baseline": a / 4, "candidate": b / 4}
        for i in dealt
        for a, b in [scores[i]]
    ]


@given(SCORES)
def test_losses_and_gains_in_turn(scores: list[tuple[int, int]]) -> None:
    assert changed_items(pairs_of(scores), parse("mean")) == by_hand(scores)


@pytest.mark.parametrize("most", [0, 1, 3, 100])
def test_only_so_many_are_made(most: int) -> None:
    scores = [(i % 5, (i * 3) % 5) for i in range(30)]
    assert changed_items(pairs_of(scores), parse("mean"), most) == by_hand(scores)[:most]


@pytest.mark.parametrize("most", [None, 1, 4, 100])
def test_labels_are_looked_at_piece_by_piece(most: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of the two columns are in another order, and the first piece has two rows."""
    monkeypatch.setattr("steelyard.estimate.changed_items.FIRST", 2)
    rng = np.random.default_rng(3)
    truth, a, b = (rng.integers(0, 3, 40) for _ in range(3))
    columns = [Labels(a, ("x", "y", "z"), complete=True), Labels(2 - b, ("z", "y", "x"), complete=True)]
    sides = [Items(n=40, truth=Labels(truth, ("x", "y", "z"), complete=True), prediction=column) for column in columns]
    found = changed_items(Pairs(*sides, np.arange(40), np.arange(40), 40, ()), parse("accuracy"), most)
    right = [(int(t == p), int(t == q)) for t, p, q in zip(truth, a, b, strict=True)]
    assert [(item["id"], item["change"]) for item in found] == [(item["id"], item["change"]) for item in by_hand(right)][:most]
    named = [("xyz"[truth[i]], "xyz"[a[i]], "xyz"[b[i]]) for i in (int(item["id"].split()[1]) - 1 for item in found)]
    assert [(item["truth"], item["baseline"], item["candidate"]) for item in found] == named


def test_a_file_of_flips_that_fails_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = ([{"id": i, "truth": "x", "prediction": "x" if i % step else "y"} for i in range(40)] for step in (5, 7))
    target = tmp_path / "flips.csv"
    sy.compare(a, b, flips_out=target)
    before = target.read_text(encoding="utf-8")
    assert before.startswith("id,change,")
    assert before.count("\n") > 2

    def fails(value: object) -> object:
        raise RuntimeError("in the middle")

    monkeypatch.setattr("steelyard.estimate.changed_items._harmless", fails)
    with pytest.raises(RuntimeError):
        sy.compare(a, b, flips_out=target)
    assert target.read_text(encoding="utf-8") == before
    assert [path.name for path in tmp_path.iterdir()] == ["flips.csv"]
