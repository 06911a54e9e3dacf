"""Labelling in batches, stopping as soon as the interval is narrow enough: how many labels that takes, and what its interval covers."""

from __future__ import annotations

import math

import numpy as np

from steelyard_old.errors import UsageError
from steelyard_old.infer.planning.anticipated import Anticipated
from steelyard_old.infer.planning.assurance import items_for_assurance
from steelyard_old.infer.planning.lengths import worst_outcome
from steelyard_old.infer.planning.precision_goal import Array, PrecisionGoal
from steelyard_old.infer.planning.search import binomial_weights
from steelyard_old.late_dataclass import dataclass

LOOKS = 2_000  # more looks than this change the mean by less than a batch and cost seconds
LOOKS_UNDER_LAW = 500
NEGLIGIBLE = 1e-18
SURE = 1 - 1e-12  # beyond the size that is enough with this probability one look is left, at the worst outcome
NODES = 24  # of the Gauss rule over a Beta law of the success rate


@dataclass(frozen=True, slots=True)
class Labelling:
    """`expected` items (more than there are), in batches of `batch`, never more than `most`.

    coverage: how often the interval at the stop contains the share; bias: of the share found there. None where nothing is labelled.
    """

    expected: float
    batch: int
    most: int
    coverage: float | None = None
    bias: float | None = None


@dataclass(slots=True)
class _Stop:
    """What the stops so far add up to, for one share."""

    items: float
    covered: float = 0.0
    share: float = 0.0
    mass: float = 0.0


def stop_when_narrow(rule: PrecisionGoal, anticipated: Anticipated, batch: int = 10, have: tuple[int, int] = (0, 0)) -> Labelling:
    """Labels until the interval is at most as wide as the rule says, looked at after every batch.

    Formula: with S_j the probability of not having stopped by look j, E = sum of (n_{j+1} - n_j) S_j. The outcomes that
    have not stopped are carried from look to look by a convolution with Binomial(batch, share); the last look is at the
    worst outcome, where every interval is narrow enough. Under a Beta law of the share: a Gauss-Jacobi mean. Looks of
    which less than 1e-12 is left are not computed one by one.
    Assumes: the rule is about width. A credible interval means the same whenever one stops. Coverage suffers: the width of a
    proportion depends on the proportion, so a run of luck near an end stops early. `coverage` and `bias` of the answer say by
    how much, added up over the same outcomes. Stopping because a threshold is cleared picks the lucky moments altogether: its
    claim would need a sequential test.
    The batch is enlarged where there would be more than 2,000 looks (500 under a law); `batch` in the answer says so.
    Reference: JosephWolfsonDuBerger1995 for the criterion; Wald1947 for stopping; GolubWelsch1969 for the mean.

    >>> found = stop_when_narrow(PrecisionGoal(width=0.1), Anticipated(0.9))
    >>> round(found.expected, 1), round(found.coverage, 3), round(found.bias, 4)
    (132.5, 0.92, 0.01)
    """
    if rule.width is None:
        raise UsageError(
            "Labelling can stop at a width, not at a threshold: stopping when it is cleared picks lucky moments.",
            got="a threshold",
            need="a width",
        )
    most = worst_outcome(rule, have)
    if most == 0:
        return Labelling(0.0, batch, 0)
    top = min(most, items_for_assurance(rule, anticipated, SURE, have)[1])
    batch = max(batch, math.ceil(top / (LOOKS if anticipated.law is None else LOOKS_UNDER_LAW)))
    sizes = np.append(np.arange(batch, min(most, top + batch), batch), most)
    keep = _going_on(rule, sizes, have)
    nodes, weight = (np.array([anticipated.share or 0.0]), np.ones(1)) if anticipated.law is None else _gauss(*anticipated.law)
    stops = [_stopped(float(q), sizes, keep, rule, have) for q in nodes]
    expected, coverage, bias = weight @ np.array(
        [(stop.items, stop.covered / stop.mass, stop.share / stop.mass - q) for q, stop in zip(nodes, stops, strict=True)]
    )
    return Labelling(float(expected), batch, most, float(coverage), float(bias))


def _going_on(rule: PrecisionGoal, sizes: Array, have: tuple[int, int]) -> list[tuple[int, int, bool, bool]]:
    """For every look the new successes x for which one goes on: low..high, and whether x below and above them do (Wald's ends)."""
    k, n = have
    found = rule.regions(n + sizes.astype(np.int64))
    none = np.ones(len(sizes), bool) if found.none is None else found.none
    every = np.ones(len(sizes), bool) if found.every is None else found.every
    low, high = found.low + 1 - k, found.high - 1 - k
    return [(int(a), int(b), not bool(c), not bool(d)) for a, b, c, d in zip(low, high, none, every, strict=True)]


def _stopped(share: float, sizes: Array, keep: list[tuple[int, int, bool, bool]], rule: PrecisionGoal, have: tuple[int, int]) -> _Stop:
    """The mean number of items at the stop, and what its interval covers, for one success rate."""
    empty = [low <= 0 and high >= size for (low, high, _, _), size in zip(keep, sizes.tolist(), strict=True)]
    quiet = empty.index(False)  # before this look nobody can stop: start there
    before = int(sizes[quiet - 1]) if quiet else 0
    start, alive = binomial_weights(before, share)
    out, at = _Stop(float(before)), before
    steps: dict[int, tuple[int, Array]] = {}
    for (low, high, none, every), size in zip(keep[quiet:], sizes[quiet:].tolist(), strict=True):
        more = int(size) - at
        out.items += more * float(alive.sum())
        if more not in steps:
            steps[more] = binomial_weights(more, share)
        alive = np.convolve(alive, steps[more][1])
        start, at = start + steps[more][0], int(size)
        x = np.arange(start, start + len(alive))
        going = (x >= low) & (x <= high) if low <= high else np.zeros(len(x), bool)
        going |= (none & (x == 0)) | (every & (x == at))
        _add_stops(out, x[~going], at, alive[~going], share, rule, have)
        left = np.flatnonzero(going & (alive > NEGLIGIBLE))
        if not len(left):
            break
        alive = np.where(going, alive, 0.0)[left[0] : left[-1] + 1]
        start += int(left[0])
    return out


def _add_stops(out: _Stop, x: Array, at: int, mass: Array, share: float, rule: PrecisionGoal, have: tuple[int, int]) -> None:
    """The outcomes x of `at` new items at which labelling stops."""
    k, n = have[0] + x, have[1] + at
    low, high = rule.ends(k, n)
    out.covered += float(mass @ ((low <= share) & (share <= high)))
    out.share += float(mass @ (k / n))
    out.mass += float(mass.sum())


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
