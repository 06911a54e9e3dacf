"""Tests of a difference by name. Each is one object: what it says, what it applies to, and how it is made there."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from steelyard_old.infer.paired import mcnemar as infer
from steelyard_old.late_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from steelyard_old.metrics.table import TableStatistic
    from steelyard_old.options.compare import CompareOptions
    from steelyard_old.results.base import Warnings
    from steelyard_old.results.comparison import Test
    from steelyard_old.tally.joint import JointCounts
    from steelyard_old.tally.sums import Sums

    FloatArray = npt.NDArray[np.float64]

Made = TypeVar("Made")
# Families whose tests come with an interval, a margin and bounds of their own: they are made where those are.
BOUNDED, RUNS, UNITS, DELTA, MEANS, AREAS = "bounded", "runs", "units", "delta", "means", "areas"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTest:
    """A test of a difference, by what it can be asked about.

    says: one sentence, without its full stop. flips: right or wrong on the same items, from (gained, lost, n, asked). scores: one
    difference per item or group, from (differences, their sums, asked). table: a metric of labels on the same items, from (joint
    counts, statistic, asked). proportions: k of n on different items, from (k and n of the candidate, of the baseline, asked).
    families: those that make it themselves. shifts: it can test a difference other than 0, which is taken off every item. weighs: items
    may count unequally. of_range: it counts in the ends of the range of the scores, where that is known.
    """

    says: str
    flips: Callable[[int, int, int, CompareOptions], Test] | None = None
    scores: Callable[[FloatArray, Sums, CompareOptions, Warnings], Test] | None = None
    table: Callable[[JointCounts, TableStatistic, CompareOptions], Test] | None = None
    proportions: Callable[[int, int, int, int, CompareOptions], Test] | None = None
    families: tuple[str, ...] = ()
    shifts: bool = False
    weighs: bool = False
    of_range: bool = False

    @property
    def of_runs(self) -> bool:
        """Whether it is about the runs of these very items, not about new items."""
        return RUNS in self.families

    def applies(self, family: str) -> bool:
        return family in self.families or getattr(self, family, None) is not None


def offered(*families: str) -> tuple[str, ...]:
    """The names of the tests of some families, family by family; the first is the usual one."""
    return tuple(dict.fromkeys(name for family in families for name, test in TESTS.items() if test.applies(family)))


def made(by: Made | None) -> Made:
    """How a test that was offered is made: it is there."""
    assert by is not None
    return by


def side_words(alternative: str) -> str:
    """The side that a bootstrap is asked about, in words: it must be named before the data are seen."""
    return {"greater": "candidate above baseline", "less": "candidate below baseline", "two-sided": "either side"}[alternative]


# ---- right or wrong on the same items ----------------------------------------------------------------------------------


def _midp(gained: int, lost: int, n: int, asked: CompareOptions) -> Test:
    p = infer.mcnemar_midp(gained, lost, asked.alternative)
    return _answer("mcnemar-midp", gained, p, asked)


def _exact(gained: int, lost: int, n: int, asked: CompareOptions) -> Test:
    return _answer("mcnemar-exact", gained, infer.mcnemar_exact(gained, lost, asked.alternative), asked)


def _same_as_exact(name: str, gained: int, lost: int, n: int, asked: CompareOptions) -> Test:
    """For right or wrong, randomization and sign-flip are McNemar's exact test, and are said to be."""
    return _answer(name, gained, infer.mcnemar_exact(gained, lost, asked.alternative), asked, exact=True, equals="mcnemar-exact")


def _chi_squared(gained: int, lost: int, n: int, asked: CompareOptions) -> Test:
    statistic, p = infer.mcnemar(gained, lost, asked.alternative)
    return _answer("mcnemar", statistic, p, asked)


def _redrawn_flips(gained: int, lost: int, n: int, asked: CompareOptions) -> Test:
    from steelyard_old.infer.paired.table import paired_bootstrap_accuracy

    p = paired_bootstrap_accuracy(gained, lost, n, asked.alternative)
    return _answer("bootstrap", (gained - lost) / n, p, asked, share=p, exact=True, side=side_words(asked.alternative))


def _answer(name: str, statistic: float | None, p: float | None, asked: CompareOptions, **details: Any) -> Test:
    from steelyard_old.results.comparison import Test  # help names the tests, and needs no result for that
    from steelyard_old.results.details import TestDetails

    statistic = None if statistic is None else float(statistic)
    return Test(name=name, alternative=asked.alternative, statistic=statistic, p_value=p, details=TestDetails(**details))


# ---- one difference per item or group ----------------------------------------------------------------------------------


def _signs(d: FloatArray, sums: Sums, asked: CompareOptions, warnings: Warnings) -> Test:
    return _flipped("sign-flip", d, asked)


def _drawn_signs(d: FloatArray, sums: Sums, asked: CompareOptions, warnings: Warnings) -> Test:
    return _flipped("sign-flip-draws", d, asked, drawn=True)


def _ranks(d: FloatArray, sums: Sums, asked: CompareOptions, warnings: Warnings) -> Test:
    import numpy as np

    from steelyard_old.metrics.ranking import midranks

    warnings.add("Wilcoxon tests whether the differences are symmetric around 0, not whether their mean is 0")
    d = d[d != 0]
    return _flipped("wilcoxon", np.sign(d) * midranks(np.abs(d)) if len(d) else d, asked)


def _flipped(name: str, d: FloatArray, asked: CompareOptions, *, drawn: bool = False) -> Test:
    from steelyard_old.infer.paired.signflip import sign_flip

    found = sign_flip(d, alternative=asked.alternative, draws=asked.own.draws, seed=asked.own.seed, drawn=drawn)
    draws = asked.own.draws if found.draws else None
    return _answer(name, float(d.sum()), found.p_value, asked, exact=found.exact, method=found.method, draws=draws)


def _student(d: FloatArray, sums: Sums, asked: CompareOptions, warnings: Warnings) -> Test:
    from scipy.special import stdtr

    from steelyard_old.estimate.fallback import or_none
    from steelyard_old.infer.intervals import sums as of_sums
    from steelyard_old.metrics.sums import QUOTIENT

    mean = float(QUOTIENT.value(sums.totals()))
    variance, df = or_none(lambda: of_sums.spread(sums, QUOTIENT)) or (0.0, sums.n - 1)
    t = mean / math.sqrt(variance) if variance else math.nan
    if math.isnan(t):
        if mean == 0:
            return _answer("paired-t", 0.0, 1.0, asked, df=df)
        warnings.add("all differences are equal and not 0: t is infinite, which says nothing about certainty; no p-value")
        return _answer("paired-t", None, None, asked, df=df)
    p = infer.from_tails(float(stdtr(df, t)), float(stdtr(df, -t)), asked.alternative)
    return _answer("paired-t", t, p, asked, df=df)


# ---- a metric of labels on the same items ------------------------------------------------------------------------------


def _draws(joint: JointCounts, asked: CompareOptions) -> int:
    from steelyard_old.infer.resampling.work import fewer_draws

    return asked.own.draws if asked.test is not None else fewer_draws(len(joint.count) + 2 * joint.classes, asked.own.draws)


def _redrawn_table(joint: JointCounts, statistic: TableStatistic, asked: CompareOptions) -> Test:
    from steelyard_old.infer.paired.table import paired_bootstrap_test

    drawn = paired_bootstrap_test(joint, statistic, alternative=asked.alternative, draws=_draws(joint, asked), seed=asked.own.seed)
    facts = {"share": drawn.share, "k": drawn.count, "draws": drawn.draws, "side": side_words(asked.alternative)}
    return _answer("bootstrap", None, drawn.p_value, asked, **facts)


def _swapped_table(joint: JointCounts, statistic: TableStatistic, asked: CompareOptions) -> Test:
    from steelyard_old.infer.paired.randomization import randomize

    found = randomize(joint, statistic, alternative=asked.alternative, draws=_draws(joint, asked), seed=asked.own.seed)
    draws = None if found.exact else found.draws
    return _answer("randomization", found.statistic, found.p_value, asked, exact=found.exact, draws=draws)


# ---- different items ---------------------------------------------------------------------------------------------------


def _z(k1: int, n1: int, k2: int, n2: int, asked: CompareOptions) -> Test:
    from steelyard_old.infer.unpaired import two_proportion_z

    z, p = two_proportion_z(k1, n1, k2, n2, asked.alternative)
    return _answer("z", z, p, asked)


TESTS: dict[str, NamedTest] = {
    "mcnemar-midp": NamedTest(says="McNemar's test by its mid-p value, close to the level that it is asked for", flips=_midp),
    "mcnemar-exact": NamedTest(says="McNemar's exact test, which never alarms more often than it says", flips=_exact),
    "mcnemar": NamedTest(says="McNemar's test by the normal approximation", flips=_chi_squared),
    "randomization": NamedTest(
        says="swaps the two systems' answers at random, item by item or unit by unit",
        flips=partial(_same_as_exact, "randomization"),
        table=_swapped_table,
        families=(UNITS,),
    ),
    "bootstrap": NamedTest(
        says="draws the items anew and counts how often the difference goes the other way", flips=_redrawn_flips, table=_redrawn_table
    ),
    "bounded-t": NamedTest(
        says="t over the items and one more at either end of the range of the scores", families=(BOUNDED,), of_range=True
    ),
    "within-item": NamedTest(says="shuffles the runs of each item: about these items, not about new ones", families=(RUNS,)),
    "paired-t": NamedTest(says="Student's t of the differences", scores=_student, weighs=True),
    "sign-flip": NamedTest(
        says="all ways to flip the signs of the differences, counted or worked out; drawn where neither is possible",
        flips=partial(_same_as_exact, "sign-flip"),
        scores=_signs,
        shifts=True,
        weighs=True,
    ),
    "sign-flip-draws": NamedTest(
        says="the same with signs drawn at random, where all ways cannot be listed", scores=_drawn_signs, shifts=True
    ),
    "wilcoxon": NamedTest(says="Wilcoxon's signed ranks: whether the differences are symmetric around 0", scores=_ranks),
    "z": NamedTest(says="the difference over its standard error, compared with the normal curve", proportions=_z, families=(DELTA,)),
    "bounded-welch": NamedTest(
        says="Welch's t with one more item in each run at either end of the range", families=(MEANS,), of_range=True
    ),
    "welch-t": NamedTest(says="Welch's t of two means", families=(MEANS,)),
    "delong-wilson": NamedTest(says="DeLong's variances, widened by Wilson's score where a class is small", families=(AREAS,)),
    "delong": NamedTest(says="DeLong's test of two areas under the curve", families=(AREAS,)),
}
