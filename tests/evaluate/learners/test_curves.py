"""Splits for a learning curve: held out first, nested, every class at every size, groups never on both sides."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from steelyard.evaluate.learners.curves import curve_splits, default_sizes, train_order

CLASSES = np.array([0] * 70 + [1] * 25 + [2] * 5)
SIZES = (5, 10, 20, 40, 75)


def test_test_rows_are_held_out_first_and_training_sets_grow() -> None:
    splits = curve_splits(100, SIZES, 4, 0.25, seed=3, classes=CLASSES)
    assert [(s.repeat, s.fold, len(s.train)) for s in splits] == [(r, f, SIZES[f - 1]) for r in range(1, 5) for f in range(1, 6)]
    for repeat in range(1, 5):
        mine = [split for split in splits if split.repeat == repeat]
        for smaller, larger in pairwise(mine):
            assert set(smaller.train) < set(larger.train)
            assert (smaller.test == larger.test).all()
        for split in mine:
            assert not set(split.train) & set(split.test)
            assert len(split.test) == 25


def test_every_class_is_there_at_every_size_with_its_share() -> None:
    for split in curve_splits(100, (3, 10, 20, 40, 75), 20, 0.25, seed=1, classes=CLASSES):
        counts = np.bincount(CLASSES[split.train], minlength=3)
        assert (counts >= 1).all()
        whole = np.bincount(CLASSES[np.setdiff1d(np.arange(100), split.test)], minlength=3)
        assert (np.abs(counts - len(split.train) * whole / 75) <= 3).all()  # one of each first, then the shares


def test_without_classes_every_row_is_as_likely_as_any_other() -> None:
    first = np.zeros(12)
    for seed in range(3000):
        first[train_order(np.arange(12), np.random.default_rng(seed))[:3]] += 1
    assert (np.abs(first - 750) < 4 * np.sqrt(3000 * 0.25 * 0.75)).all()


def test_groups_come_whole_and_stay_on_one_side() -> None:
    groups = np.repeat(np.arange(20), 5)
    for split in curve_splits(100, (10, 20, 30, 40, 60), 5, 0.25, seed=0, groups=groups):
        assert not set(groups[split.train]) & set(groups[split.test])
        sizes = np.bincount(groups[split.train])
        assert (sizes[sizes > 0] == 5).all()  # multiples of 5: no group is cut


def test_the_seed_decides_and_nothing_else_does() -> None:
    def drawn(seed: int) -> list[list[int]]:
        return [split.train.tolist() for split in curve_splits(100, SIZES, 2, 0.25, seed=seed, classes=CLASSES)]

    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    seeds = [split.seed for split in curve_splits(100, SIZES, 3, 0.25, seed=0)]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize(("largest", "classes"), [(1347, 10), (75, 2), (40, 3), (30, 0), (100_000, 1000)])
def test_default_sizes_grow_by_a_factor_up_to_all_rows(largest: int, classes: int) -> None:
    sizes = default_sizes(largest, classes)
    assert sizes[-1] == largest
    assert sizes[0] >= max(10, 2 * classes)
    assert len(sizes) == 8
    ratios = np.diff(np.log(sizes))
    assert ratios.min() > 0.4 * ratios.max()


def test_too_few_rows_give_no_sizes() -> None:
    assert default_sizes(10, 2) == []
