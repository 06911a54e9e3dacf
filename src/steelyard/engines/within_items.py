"""Repeated runs of the same cases: under H0 any of a case's runs could be the candidate's. So these cases are judged, no others.

Given how many of a case's runs are right, the candidate's share of them is hypergeometric, and over cases the total is a convolution. With
one run a side this is McNemar's test. Swapping whole cases is not exact: a mean of one run and a mean of r runs have different laws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import FloatArray, IntArray
from steelyard.base.problem import SteelyardError
from steelyard.engines.certainty import Certainty, Ends, NoAnswer
from steelyard.engines.lattice import Kinds, lattice_tails

TIE = 1e-12  # two sums closer than this, relative to their terms, are one
SUBSETS = 252  # ways to choose a case's candidate runs that are listed: 5 of 10
BLOCK = 500_000  # numbers drawn at once: 4 MB


class Runs(NamedTuple):
    """All runs, by case and then by system: the case, the score, whether it is the candidate's; and how many each case has of both."""

    case: IntArray
    score: FloatArray
    ours: npt.NDArray[np.bool_]
    many_a: IntArray
    many_b: IntArray


def runs_of(case_a: npt.ArrayLike, score_a: npt.ArrayLike, case_b: npt.ArrayLike, score_b: npt.ArrayLike) -> Runs:
    """The runs of two systems in one; every case must have a run of both."""
    score = np.concatenate([np.asarray(score_a, float), np.asarray(score_b, float)])
    ours = np.arange(len(score)) >= len(np.asarray(score_a))
    case = np.unique(np.concatenate([np.asarray(case_a), np.asarray(case_b)]), return_inverse=True)[1].astype(np.int64)
    order = np.lexsort((ours, case))
    many_b = np.bincount(case, weights=ours).astype(np.int64)
    many_a = np.bincount(case) - many_b
    if missing := int(np.count_nonzero((many_a == 0) | (many_b == 0))):
        raise SteelyardError(f"No run of one of the systems: {missing} of the cases.", hint="every case needs a run of both")
    return Runs(case[order], score[order], ours[order], many_a, many_b)


@dataclass(frozen=True, kw_only=True)
class WithinItem(Certainty):
    """The test that the runs of each case are exchangeable. It knows of no margin and of no interval."""

    test: str = "within-item"
    less: float
    greater: float
    exact: bool

    def tails(self, margin: float, sided: int = 1) -> Ends:
        if margin:
            raise NoAnswer("exchanging the runs of a case asks only whether there is a difference")
        return (1.0, 1.0) if sided == 2 and not self.estimate else (self.less, self.greater)

    def bounds(self, q: float, sided: int = 1) -> Ends:
        raise NoAnswer("exchanging the runs of a case gives no interval")


def within_item(runs: Runs, *, draws: int = 10_000, seed: int = 0) -> WithinItem:
    """The mean over cases of candidate minus baseline, and its p: exact mid-p where there are two outcomes, else by relabelled runs.

    Where the lattice of unequal designs is too fine the exact law is drawn from too, and p = (k + 1) / (draws + 1).
    Reference: EdgingtonOnghena2007; MantelHaenszel1959 for the strata; Lancaster1961 for mid-p; PhipsonSmyth2010 for draws.

    >>> within_item(runs_of([0, 0, 1, 1, 1], [0, 0, 1, 0, 0], [0, 0, 1], [1, 1, 1])).p()
    0.08333333333333333
    """
    case, score, ours, many_a, many_b = runs
    near = score - np.minimum.reduceat(score, np.unique(case, return_index=True)[1])[case]  # large scores lose no digits
    away = near - (np.bincount(case, weights=near) / (many_a + many_b))[case]
    part = np.where(ours, away / many_b[case], -away / many_a[case])
    total, slack = float(part.sum()), TIE * float(np.abs(part).sum())
    if total < -slack:  # asked for the system ahead, so that exchanging the two changes nothing
        turned = within_item(runs_of(case[ours], score[ours], case[~ours], score[~ours]), draws=draws, seed=seed)
        return replace(turned, estimate=-turned.estimate, less=turned.greater, greater=turned.less)
    whole = len(np.unique(score)) <= 2
    found = _of_counts(runs, draws, seed) if whole else (*_counted(_of_scores(runs, draws, seed), total, slack), False)
    mean_a, mean_b = (np.bincount(case, weights=np.where(mine, near, 0.0)) / many for mine, many in ((~ours, many_a), (ours, many_b)))
    return WithinItem(estimate=0.0 if total <= slack else float((mean_b - mean_a).mean()), less=found[0], greater=found[1], exact=found[2])


def _of_counts(runs: Runs, draws: int, seed: int) -> tuple[float, float, bool]:
    """Right or wrong: a sum of hypergeometric numbers, each times what one right run more of the candidate's adds to the difference."""
    right = runs.score == runs.score.max()
    design = np.stack([runs.many_a, runs.many_b, np.bincount(runs.case, weights=right)], 1).astype(np.int64)
    kind, place, many = np.unique(design, axis=0, return_inverse=True, return_counts=True)
    own = np.bincount(place.ravel()[runs.case], weights=right & runs.ours).astype(np.int64)
    weights = [Fraction(a + b, a * b) for a, b, _ in kind.tolist()]
    common = math.lcm(*(w.denominator for w in weights))
    unit = math.gcd(*(int(w * common) for w in weights))
    rows, observed = [], 0
    for (a, b, s), number, total, weight in zip(kind.tolist(), many.tolist(), own.tolist(), weights, strict=True):
        least, most, step = max(0, s - a), min(s, b), int(weight * common) // unit
        if least < most:
            shares = [math.comb(s, x) * math.comb(a + b - s, b - x) / math.comb(a + b, b) for x in range(least, most + 1)]
            rows.append((step, shares, number))
            observed += step * (total - least * number)
    if not rows:
        return 1.0, 1.0, True
    width = max(len(shares) for _, shares, _ in rows)
    share = np.array([shares + [0.0] * (width - len(shares)) for _, shares, _ in rows])
    value = np.where(share > 0, np.array([[float(step)] for step, *_ in rows]) * np.arange(width), 0.0)
    number = np.array([m for *_, m in rows], np.int64)
    if value.max() < 2**31 and (tails := lattice_tails(Kinds(value.astype(np.int64), share, number), observed)):
        return tails.below + tails.at / 2, tails.above + tails.at / 2, True
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn = np.sum([rng.multinomial(m, q, size=draws) @ v for v, q, m in zip(value, share, number, strict=True)], 0)
    return *_counted(drawn, observed, TIE * float(number @ value.max(1))), False


def _counted(drawn: FloatArray, observed: float, slack: float) -> Ends:
    """The shares of draws not above and not below what was seen, which is one of them; ties count."""
    not_above, not_below = np.count_nonzero(drawn <= observed + slack), np.count_nonzero(drawn >= observed - slack)
    return (int(not_above) + 1) / (len(drawn) + 1), (int(not_below) + 1) / (len(drawn) + 1)


def _of_scores(runs: Runs, draws: int, seed: int) -> FloatArray:
    """Scores: the total difference with the candidate's runs of each case drawn anew. The order of the entries changes no draw."""
    source, drawn, starts = np.random.PCG64(seed), np.zeros(draws), np.unique(runs.case, return_index=True)[1]
    for a, b in np.unique(np.stack([runs.many_a, runs.many_b], 1), axis=0).tolist():
        own = starts[(runs.many_a == a) & (runs.many_b == b)]
        table, source = np.sort(runs.score[own[:, None] + np.arange(a + b)], axis=1), source.jumped()
        table = table[np.lexsort(table.T[::-1])]
        table = table - table[:, :1]
        away = (table - table.mean(1, keepdims=True)) * (1 / a + 1 / b)  # the candidate's add up to the difference
        drawn += _relabelled(away, b, draws, np.random.Generator(source))
    return drawn


def _relabelled(table: FloatArray, chosen: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """The sum over cases of `chosen` runs drawn without replacement from each row, for every draw."""
    cases, runs = table.shape
    subsets = np.array(list(combinations(range(runs), chosen))) if math.comb(runs, chosen) <= SUBSETS else None
    rows, out = max(1, BLOCK // (cases * runs)), np.empty(draws)
    sums = table if subsets is None else table[:, subsets].sum(-1)
    for start in range(0, draws, rows):
        shape = (min(rows, draws - start), cases)
        if subsets is None:
            picks = np.argpartition(rng.random((*shape, runs)), chosen - 1, axis=2)[..., :chosen]
            out[start : start + rows] = table[np.arange(cases)[:, None], picks].sum((1, 2))
        else:
            out[start : start + rows] = sums[np.arange(cases), (rng.random(shape) * len(subsets)).astype(np.int64)].sum(1)
    return out
