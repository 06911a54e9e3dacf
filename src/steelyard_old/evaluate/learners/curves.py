"""Splits for a learning curve: per seed one test set, and training parts of growing size, each inside the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from steelyard_old.evaluate.learners.folds import Split, shuffle_splits

IntArray = npt.NDArray[np.int64]


def curve_splits(
    n: int,
    sizes: Sequence[int],
    repeats: int,
    test_size: float,
    seed: int,
    *,
    classes: IntArray | None = None,
    groups: IntArray | None = None,
) -> list[Split]:
    """For every seed and size a split: repeat is the seed and fold the size, both from 1.

    The test rows of a seed are held out first and serve all its sizes; the training rows of a size are the first of one
    random order. With classes the order keeps their shares, and begins with one row of each; with groups it takes group
    after group, since more data will come as more groups.

    >>> [split.train.tolist() for split in curve_splits(8, [2, 4, 6], 1, 0.25, seed=0, classes=np.array([0, 0, 0, 0, 1, 1, 1, 1]))]
    [[2, 4], [2, 3, 4, 5], [0, 2, 3, 4, 5, 6]]
    """
    found = []
    whole = shuffle_splits(n, repeats, test_size, seed, classes=classes, groups=groups)
    for split, child in zip(whole, np.random.SeedSequence(seed).spawn(repeats), strict=True):
        # Children of a child: the first made the seed of the whole split, the others order the rows and seed the sizes.
        ordering, *own = child.spawn(2 + len(sizes))[1:]
        order = train_order(split.train, np.random.Generator(np.random.PCG64(ordering)), classes=classes, groups=groups)
        for place, (size, source) in enumerate(zip(sizes, own, strict=True), 1):
            found.append(Split(split.repeat, place, np.sort(order[:size]), split.test, int(source.generate_state(1)[0])))
    return found


def train_order(rows: IntArray, rng: np.random.Generator, *, classes: IntArray | None = None, groups: IntArray | None = None) -> IntArray:
    """The rows in the order in which a growing training set takes them."""
    shuffled = rng.permutation(rows)
    if groups is not None:
        rank = rng.permutation(int(groups.max()) + 1)
        return shuffled[np.argsort(rank[groups[shuffled]], kind="stable")]
    if classes is None:
        return shuffled
    own = classes[shuffled]
    by_class = np.argsort(own, kind="stable")
    many = np.bincount(own)
    nth = np.empty(len(rows), np.int64)
    nth[by_class] = np.arange(len(rows)) - (np.cumsum(many) - many)[own[by_class]]
    # The i-th of m rows of a class stands at (i + u) / m of the way: every beginning has each class's share, to within one.
    place = (nth + rng.random(len(many))[own]) / many[own]
    return shuffled[np.lexsort((place, nth > 0))]


def default_sizes(largest: int, classes: int, many: int = 8) -> list[int]:
    """Sizes that grow by a constant factor, from a thirty-second of the training rows (at least 10, and 2 per class) to all.

    >>> default_sizes(1347, 10)
    [42, 69, 113, 186, 305, 500, 821, 1347]
    """
    smallest = max(10, 2 * classes, largest // 32)
    return [] if smallest >= largest else sorted({round(size) for size in np.geomspace(smallest, largest, many).tolist()})
