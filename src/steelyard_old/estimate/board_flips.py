"""A board of right or wrong: how often one system is right and another is not, for all pairs from one product of matrices."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.evidence import finish, interval_of, sign, systems_of
from steelyard_old.estimate.named_intervals import INTERVALS, OF_A_PROPORTION
from steelyard_old.estimate.opening import AlignedRuns
from steelyard_old.estimate.pair_evidence import all_right
from steelyard_old.estimate.paired_right_or_wrong import USUAL, compare_flips, flips_tests
from steelyard_old.infer import multiplicity as many
from steelyard_old.metrics.base import Metric
from steelyard_old.options.compare import CompareOptions
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import Comparison, System
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.joint import Flips, JointCounts
from steelyard_old.tally.pairs import count_joint

Place = tuple[int, int]


def flips_board(
    aligned: AlignedRuns, names: Sequence[str], metric: Metric, asked: CompareOptions, warnings: Warnings
) -> tuple[dict[Place, Comparison], str] | None:
    """Every pair as `compare` gives it, with its corrected p-value, and the signature; None where a pair is more than its flips."""
    found = all_right(aligned.runs, metric, asked)
    if found is None:
        return None
    right, labelled = found
    counted = all_flips(right)
    n = right.shape[1]
    moved = [(gained, lost) for _, lost, gained, _ in (flips[:: metric.right_adds] for flips in counted.values())]
    distinct = list(dict.fromkeys(moved))  # many pairs share theirs
    tests = dict(zip(distinct, flips_tests(distinct, n, asked), strict=True))
    intervals: dict[Place, Interval] = {}
    by = asked.interval or USUAL
    if (many_flips := INTERVALS.get(by, OF_A_PROPORTION).many_flips) is not None:
        ends = many_flips([gained for gained, _ in distinct], [lost for _, lost in distinct], n, asked.level, asked.side)
        intervals = {each: interval_of(asked, *pair, by) for each, pair in zip(distinct, ends, strict=True)}
    p_values = [tests[each].p_value for each in moved]
    adjusted = many.adjust([1.0 if p is None else p for p in p_values], asked.correction)
    signed: dict[str | None, str] = {}
    unmatched = aligned.unmatched
    alone: dict[int, System] = {}
    pairs: dict[Place, Comparison] = {}
    for (place, flips), each, p in zip(counted.items(), moved, adjusted, strict=True):
        own = Warnings()
        own.extend(aligned.said(*place))
        evidence = compare_flips(flips, asked, own, metric=metric, test=tests[each], interval=intervals.get(each), p_adjusted=p)
        evidence.table = count_joint(aligned.pair(*place), asked.own.labels) if labelled else JointCounts.flips(**flips._asdict())
        method = None if evidence.interval is None else evidence.interval.method
        if method not in signed:  # all else that a signature tells is the same for all pairs
            signed[method] = sign(evidence, metric, asked)
        i, j = place
        called = names[i], names[j]
        if i not in alone or j not in alone:
            alone[i], alone[j] = systems_of(evidence, called)
        systems = alone[i], alone[j]
        pairs[place] = finish(evidence, metric, asked, own, called, signed[method], systems=systems, unmatched=unmatched)
        if place == (0, 1):
            used = sign(evidence, metric, asked, systems=len(names), correction=asked.correction)
        warnings.extend(own)
    return pairs, used


def all_flips(right: npt.NDArray[np.float64]) -> dict[Place, Flips]:
    """Who is right on how many items, of every two rows of right (1) and wrong (0).

    >>> all_flips(np.array([[1.0, 1, 0], [1, 0, 1], [0, 0, 0]]))[0, 1]
    Flips(both=1, baseline_only=1, candidate_only=1, neither=0)
    """
    systems, n = right.shape
    both = np.rint(right @ right.T).astype(np.int64)
    alone = np.diag(both)
    lost = (alone[:, None] - both).tolist()
    gained = (alone[None, :] - both).tolist()
    neither = (n - alone[:, None] - alone[None, :] + both).tolist()
    shared = both.tolist()
    return {(i, j): Flips(shared[i][j], lost[i][j], gained[i][j], neither[i][j]) for i, j in itertools.combinations(range(systems), 2)}
