"""A suite judged as a whole: one alpha, shared by a pooled test and the tests of the tasks; names by closed testing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.suite.pooled import CLIP, check_evidence, common_excess, pooled_p

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
SHARE = 0.3  # of alpha for the pooled test; the rest is for the tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvidence:
    """One task: its one-sided p-value, its z (worse is positive), and what it counts for.

    informative: some item differed; without, its direction was not observed. advisory: outside the family. waived: inside, and
    never named. change, standard_error: the difference (up is good) for the mean change; None where they are not known.
    """

    p_value: float
    z: float
    informative: bool = True
    advisory: bool = False
    waived: bool = False
    change: float | None = None
    standard_error: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteJudgement:
    """What a suite shows. `adjusted`, in the order of the tasks, is None for tasks outside the family by their tier."""

    p_value: float
    p_tasks: float  # what the tasks show without the pooled test
    pooled_z: float | None
    pooled_p: float | None
    share: float
    phi: float
    phi_known: bool
    phi_runs: int  # earlier runs that phi was learned from
    m: int
    waived: int  # of the m
    alpha: float
    adjusted: tuple[float | None, ...]
    named: tuple[int, ...]
    suspicious: int | None  # the task with the smallest adjusted p of those not waived
    at_least: int
    mean_change: float | None

    @property
    def verdict(self) -> str:
        """regression, pass, or unconfirmed: only the pooled test rejects, and noise that a whole run shares could explain that."""
        if self.p_value > self.alpha:
            return "pass"
        return "regression" if self.phi_known or self.named or self.p_tasks <= self.alpha else "unconfirmed"


def judge_tasks(
    tasks: Sequence[TaskEvidence], *, alpha: float = 0.05, share: float = SHARE, earlier: Sequence[float] | None = None
) -> SuiteJudgement:
    """The suite's p-value, the tasks that may be named, and how many are worse at least.

    Formula: a set S of tasks is tested by p(S) = min(1, pooled p(S) / share, |S| min p / (1 - share)), one task by its own p.
    z is clipped to +-3. A task's adjusted p is the largest p(S) of all sets that contain it, so names are wrong with
    probability alpha at most; of sets of k, the one with the mildest z and the one with the mildest p bound p(S), which is exact
    where both orders agree and never too small. The p-value of the suite is that of all tasks that are not waived together.
    At least m - k tasks are worse, k the largest number of mildest tasks that is not rejected. `earlier`: pooled z of earlier
    healthy runs, from which phi is learned; without any, phi = 1 and is not known.
    Assumes for "at least": tasks vary independently, or are equally correlated. p-values may be mid-p, so alpha is approximate.
    Undefined: no task with information (p-value 1, nothing named).
    Reference: MarcusPeritzGabriel1976; GoemanSolari2011; Stouffer1949; Tarone1990 for leaving out tasks without information.

    >>> flips = [(16, 9), (18, 11), (15, 10), (19, 12), (14, 9), (17, 11), (20, 13), (13, 8)]
    >>> from steelyard_old.infer.paired.mcnemar import mcnemar_midp
    >>> from steelyard_old.infer.suite.pooled import flips_z
    >>> found = judge_tasks([TaskEvidence(p_value=mcnemar_midp(g, l, "less"), z=flips_z(l, g)) for l, g in flips])
    >>> round(found.p_value, 6), found.at_least, found.named, found.verdict
    (0.001403, 4, (), 'unconfirmed')
    """
    if not 0 < share < 1:
        raise UsageError(f"share must lie between 0 and 1, not at {share!r}.", got=f"share {share!r}", need="a number between 0 and 1")
    check_evidence([task.p_value for task in tasks], [task.z for task in tasks])
    family = [i for i, task in enumerate(tasks) if task.informative and not task.advisory]
    phi, df = common_excess(earlier) if earlier else (1.0, None)
    p = np.array([tasks[i].p_value for i in family])
    z = np.clip([tasks[i].z for i in family], -CLIP, CLIP)
    test = _ClosedTest(p, z, share, phi, df)
    own = {i: test.closed_p(np.arange(len(family)) == place) for place, i in enumerate(family)}
    counted = np.array([not tasks[i].waived for i in family], bool)
    worse = [i for i in family if own[i] <= alpha]
    return SuiteJudgement(
        p_value=test.closed_p(counted),
        p_tasks=_ClosedTest(p, z, share, math.inf, None).closed_p(counted),
        pooled_z=float(z.sum() / math.sqrt(len(z))) if family else None,
        pooled_p=pooled_p(float(z.sum()), len(z), phi, df) if family else None,
        share=share,
        phi=phi,
        phi_known=df is not None,
        phi_runs=len(earlier or ()),
        m=len(family),
        waived=int((~counted).sum()),
        alpha=alpha,
        adjusted=tuple(None if task.advisory else own.get(i, 1.0) for i, task in enumerate(tasks)),
        named=tuple(i for i in worse if not tasks[i].waived),
        suspicious=min((i for i in family if not tasks[i].waived), key=lambda i: (own[i], tasks[i].p_value, -tasks[i].z), default=None),
        at_least=max(len(worse), test.at_least(alpha)),  # with orders that part, the names may show more than the bound
        mean_change=_mean_change([tasks[i] for i in family]),
    )


class _ClosedTest:
    """The test of every set of tasks, by the mildest set of each size. An infinite phi leaves the pooled test out."""

    def __init__(self, p: FloatArray, z: FloatArray, share: float, phi: float, df: float | None) -> None:
        self.p, self.z, self.share, self.phi, self.df = p, z, share, phi, df

    def closed_p(self, inside: BoolArray) -> float:
        """The largest p of all sets that contain these tasks: of no task worse among them. No tasks: 1."""
        if not inside.any():
            return 1.0
        mildest_z = np.sort(self.z[~inside])
        largest_p = np.sort(self.p[~inside])[::-1]
        total = float(self.z[inside].sum()) + np.concatenate([[0.0], np.cumsum(mildest_z)])
        least = np.minimum(float(self.p[inside].min()), np.concatenate([[1.0], largest_p]))
        size = int(inside.sum()) + np.arange(len(total))
        return float(self._local(total, least, size).max())

    def at_least(self, alpha: float) -> int:
        """How many tasks are worse: all but the largest number of mildest ones that is not rejected."""
        m = len(self.p)
        local = self._local(np.cumsum(np.sort(self.z)), np.sort(self.p)[::-1], np.arange(1, m + 1))
        return m - int(max(np.flatnonzero(local > alpha) + 1, default=0))

    def _local(self, total: FloatArray, least: FloatArray, size: npt.NDArray[np.int64]) -> FloatArray:
        from scipy.special import ndtr, stdtr

        together = size * least / (1 - self.share)
        if math.isfinite(self.phi):
            away = -total / np.sqrt(size * self.phi)
            together = np.minimum(together, (ndtr(away) if self.df is None else stdtr(self.df, away)) / self.share)
        return np.where(size == 1, least, np.minimum(1.0, together))


def _mean_change(tasks: Sequence[TaskEvidence]) -> float | None:
    """sum(d / SE) / sum(1 / SE): the mean whose sign the pooled z has. None where no task has both."""
    known = [(task.change, 1 / task.standard_error) for task in tasks if task.change is not None and task.standard_error]
    weight = math.fsum(weight for _, weight in known)
    return math.fsum(change * weight for change, weight in known) / weight if known else None
