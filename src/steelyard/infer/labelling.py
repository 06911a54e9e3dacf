"""Labelling in batches, stopping as soon as the interval is narrow enough: how many labels that takes on average."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.errors import UsageError
from steelyard.infer.anticipated import Anticipated
from steelyard.infer.assurance import items_for_assurance
from steelyard.infer.enough import Array, Rule
from steelyard.infer.lengths import worst_outcome
from steelyard.infer.search import binomial_weights

LOOKS = 2_000  # more looks than this change the mean by less than a batch and cost seconds
LOOKS_UNDER_LAW = 500
NEGLIGIBLE = 1e-18
SURE = 1 - 1e-12  # beyond the size that is enough with this probability one look is left, at the worst outcome
NODES = 24  # of the Gauss rule over a Beta law of the success rate


@dataclass(frozen=True, slots=True)
class Labelling:
    """`expected` items (more than there are), in batches of `batch`, never more than `most`."""

    expected: float
    batch: int
    most: int


def stop_when_narrow(rule: Rule, anticipated: Anticipated, batch: int = 10, have: tuple[int, int] = (0, 0)) -> Labelling:
    """Labels until the interval is at most as wide as the rule says, looked at after every batch.

    Formula: with S_j the probability of not having stopped by look j, E = sum of (n_{j+1} - n_j) S_j. The outcomes that
    have not stopped are carried from look to look by a convolution with Binomial(batch, share); the last look is at the
    worst outcome, where every interval is narrow enough. Under a Beta law of the share: a Gauss-Jacobi mean. Looks of
    which less than 1e-12 is left are not computed one by one.
    Assumes: the rule is about width. A credible interval means the same whenever one stops, and looking at a width hardly
    moves coverage, as the width says little about where the centre lies. Stopping because a threshold is cleared is another
    matter: it picks the lucky moments, and its claim would need a sequential test.
    The batch is enlarged where there would be more than 2,000 looks (500 under a law); `batch` in the answer says so.
    Reference: JosephWolfsonDuBerger1995 for the criterion; Wald1947 for stopping; GolubWelsch1969 for the mean.

    >>> round(stop_when_narrow(Rule(width=0.1), Anticipated(0.9)).expected, 1)
    132.5
    """
    if rule.width is None:
        raise UsageError(
            "cannot stop on a threshold", got="a threshold", need="a width", hint="stopping when it is cleared picks lucky moments"
        )
    most = worst_outcome(rule, have)
    if most == 0:
        return Labelling(0.0, batch, 0)
    top = min(most, items_for_assurance(rule, anticipated, SURE, have)[1])
    batch = max(batch, math.ceil(top / (LOOKS if anticipated.law is None else LOOKS_UNDER_LAW)))
    sizes = np.append(np.arange(batch, min(most, top + batch), batch), most)
    keep = _going_on(rule, sizes, have)
    if anticipated.law is None:
        return Labelling(_expected(float(anticipated.share or 0.0), sizes, keep), batch, most)
    share, weight = _gauss(*anticipated.law)
    return Labelling(float(weight @ np.array([_expected(float(q), sizes, keep) for q in share])), batch, most)


def _going_on(rule: Rule, sizes: Array, have: tuple[int, int]) -> list[tuple[int, int, bool, bool]]:
    """For every look the new successes x for which one goes on: low..high, and whether x below and above them do (Wald's ends)."""
    k, n = have
    found = rule.regions(n + sizes.astype(np.int64))
    none = np.ones(len(sizes), bool) if found.none is None else found.none
    every = np.ones(len(sizes), bool) if found.every is None else found.every
    low, high = found.low + 1 - k, found.high - 1 - k
    return [(int(a), int(b), not bool(c), not bool(d)) for a, b, c, d in zip(low, high, none, every, strict=True)]


def _expected(share: float, sizes: Array, keep: list[tuple[int, int, bool, bool]]) -> float:
    """The mean number of items at the stop, for one success rate."""
    empty = [low <= 0 and high >= size for (low, high, _, _), size in zip(keep, sizes.tolist(), strict=True)]
    quiet = empty.index(False)  # before this look nobody can stop: start there
    before = int(sizes[quiet - 1]) if quiet else 0
    start, alive = binomial_weights(before, share)
    expected, at = float(before), before
    steps: dict[int, tuple[int, Array]] = {}
    for (low, high, none, every), size in zip(keep[quiet:], sizes[quiet:].tolist(), strict=True):
        more = int(size) - at
        expected += more * float(alive.sum())
        if more not in steps:
            steps[more] = binomial_weights(more, share)
        alive = np.convolve(alive, steps[more][1])
        start, at = start + steps[more][0], int(size)
        x = np.arange(start, start + len(alive))
        going = (x >= low) & (x <= high) if low <= high else np.zeros(len(x), bool)
        going |= (none & (x == 0)) | (every & (x == at))
        left = np.flatnonzero(going & (alive > NEGLIGIBLE))
        if not len(left):
            break
        alive = np.where(going, alive, 0.0)[left[0] : left[-1] + 1]
        start += int(left[0])
    return expected


def _gauss(a: float, b: float) -> tuple[Array, Array]:
    """Nodes and weights (sum 1) of the Gauss rule for Beta(a, b): eigenvalues of the Jacobi matrix.

    Reference: GolubWelsch1969. Unlike a rule by gamma functions it does not overflow for a sharp law.
    """
    k = np.arange(1, NODES, dtype=float)
    up, down, total = a - 1, b - 1, a + b - 2
    centre = np.append((a - b) / (a + b), (up**2 - down**2) / ((2 * k + total) * (2 * k + total + 2)))
    # The first step has a factor k + total over 2k + total - 1 that is 1 by itself and 0/0 for a + b = 1.
    ratio = np.append(1.0, (k + total)[1:] / (2 * k + total - 1)[1:])
    step = 4 * k * (k + up) * (k + down) * ratio / ((2 * k + total) ** 2 * (2 * k + total + 1))
    value, vector = np.linalg.eigh(np.diag(centre) + np.diag(np.sqrt(step), 1) + np.diag(np.sqrt(step), -1))
    weight = vector[0] ** 2
    return np.clip((value + 1) / 2, 0.0, 1.0), weight / weight.sum()
