"""What the peers and ours are asked about: two systems on the same items, by scores and by right or wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import steelyard as sy

Floats = npt.NDArray[np.float64]
Case = tuple[str, Callable[[], Any], Callable[[], Any], dict[str, Any]]  # what, ours, theirs, and how: loops, scale, note, inner


def two_scores(n: int, gap: float) -> tuple[Floats, Floats]:
    """Two systems on the same items: what the items have in common is most of the spread."""
    rng = np.random.default_rng(5)
    item = rng.normal(size=n)
    return item + rng.normal(0.0, 0.5, n), item + rng.normal(gap, 0.5, n)


def two_outcomes(n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    rng = np.random.default_rng(6)
    a = rng.random(n) < 0.8
    return a.astype(int), np.where(rng.random(n) < 0.9, a, rng.random(n) < 0.85).astype(int)


def paired(a: Any, b: Any, **how: Any) -> Any:
    """The public call, from two arrays with their ids."""
    place = np.arange(len(a))
    return sy.compare({"id": place, "score": a}, {"id": place, "score": b}, **how)


def ends(found: Any) -> tuple[float, float]:
    return found.difference.interval.low, found.difference.interval.high
