"""Intervals by name. Each is one object: what it says, what it applies to, how it is made there, and what must be known of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from steelyard_old.estimate.difference_tests import AREAS, BOUNDED, DELTA, MEANS, RUNS, UNITS
from steelyard_old.infer.intervals.proportion import METHODS
from steelyard_old.infer.paired import mcnemar
from steelyard_old.late_dataclass import dataclass

if TYPE_CHECKING:
    from steelyard_old.infer.posterior.beta import Posterior
    from steelyard_old.metrics.sums import SumStatistic
    from steelyard_old.metrics.table import TableStatistic
    from steelyard_old.options.compare import CompareOptions
    from steelyard_old.options.measure import MeasureOptions
    from steelyard_old.tally.counts import Counts
    from steelyard_old.tally.sums import Sums

# Families whose intervals are made where their rows are: of one system, and of a difference beside those that have tests of their own.
TABLE, ORDER, JOINT, SCORES = "table", "order", "joint", "scores"
OF_ONE = ("counted", TABLE, "sums", "ranged", ORDER)
PAIRED = ("flips", JOINT, UNITS, BOUNDED, RUNS, SCORES, AREAS)
UNPAIRED = ("proportions", DELTA, MEANS, AREAS)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedInterval:
    """An interval, by what it can be asked about.

    says: one sentence, without its full stop. Each of these gives two ends, the first two also how many draws had no value.
    counted: a metric of one table, from (counts, statistic, settings). sums: a metric of sums over items or groups, from (sums, statistic,
    settings). ranged: a mean of numbers in a known range, from (sums, statistic, range, settings), of units of these `kinds`. flips: right
    or wrong on the same items, from (both, gained, lost, neither, asked); many_flips: of many pairs of systems at once. proportions: k of
    n on different items, from (k and n of the candidate, of the baseline, asked). families: those that make it themselves.

    redraws: from items drawn anew. seeded: random in another way. believed: which part of a posterior it is. linear: of first order.
    of_mean: of means alone. of_numbers: it takes right and wrong for the numbers 1 and 0. flat: it has no width where all answers are
    alike. of_range: it counts in the ends of the range of the scores.
    """

    says: str
    counted: Callable[[Counts, TableStatistic, MeasureOptions], tuple[float, float, int]] | None = None
    sums: Callable[[Sums, SumStatistic, MeasureOptions], tuple[float, float, int]] | None = None
    ranged: Callable[[Sums, SumStatistic, tuple[float, float], MeasureOptions], tuple[float, float]] | None = None
    kinds: tuple[str, ...] = ()
    flips: Callable[[int, int, int, int, CompareOptions], tuple[float, float]] | None = None
    many_flips: Callable[[Sequence[int], Sequence[int], int, float, str], list[tuple[float, float]]] | None = None
    proportions: Callable[[int, int, int, int, CompareOptions], tuple[float, float]] | None = None
    families: tuple[str, ...] = ()
    redraws: bool = False
    believed: str = ""
    linear: bool = False
    of_numbers: bool = False
    of_mean: bool = False
    flat: bool = False
    of_range: bool = False
    seeded: bool = False

    @property
    def of_runs(self) -> bool:
        """Whether it is about the runs of these very items, not about new items."""
        return RUNS in self.families

    def applies(self, family: str) -> bool:
        return family in self.families or getattr(self, family, None) is not None


def offered_intervals(*families: str) -> tuple[str, ...]:
    """The names of the intervals of some families, in the order of the catalogue."""
    return tuple(name for name, interval in INTERVALS.items() if any(interval.applies(family) for family in families))


def intervals() -> tuple[str, ...]:
    """The names of all intervals of one system: those of a proportion, from their catalogue, and those of the other families."""
    return tuple(dict.fromkeys((*METHODS, *offered_intervals(*OF_ONE))))


def intervals_of_differences() -> dict[str, tuple[str, ...]]:
    """The names of the intervals of a difference, by design."""
    return {"Paired": offered_intervals(*PAIRED), "unpaired": offered_intervals(*UNPAIRED)}


# ---- one system: a metric of a table, of sums, a mean in a known range -------------------------------------------------


def _linear(sums: Sums, statistic: SumStatistic, settings: MeasureOptions) -> tuple[float, float, int]:
    from steelyard_old.infer.intervals.sums import linearised

    return (*linearised(sums, statistic, settings.confidence_level, settings.side), 0)


def _redrawn(method: str, sums: Sums, statistic: SumStatistic, settings: MeasureOptions) -> tuple[float, float, int]:
    from steelyard_old.infer.intervals.sums import resampled

    level, side = settings.confidence_level, settings.side
    return resampled(sums, statistic, method, level, side, draws=settings.draws, seed=settings.seed)


def _betting(sums: Sums, statistic: SumStatistic, ends: tuple[float, float], settings: MeasureOptions) -> tuple[float, float]:
    import numpy as np

    from steelyard_old.infer.intervals.mean import betting

    every = np.repeat(sums.dense[:, 1] / sums.dense[:, 0], sums.count)
    return betting(every, *ends, settings.confidence_level, settings.side, seed=settings.seed)


def _bounded_mean(sums: Sums, statistic: SumStatistic, ends: tuple[float, float], settings: MeasureOptions) -> tuple[float, float]:
    from steelyard_old.infer.intervals.mean import bounded_mean
    from steelyard_old.infer.intervals.sums import standard_error

    effective, centre = _effective_and_mean(sums)
    squares = standard_error(sums, statistic) ** 2 * effective * (effective - 1) if sums.n > 1 else 0.0
    return bounded_mean(effective, centre, squares, *ends, settings.confidence_level, settings.side)


def _wilson_mean(sums: Sums, statistic: SumStatistic, ends: tuple[float, float], settings: MeasureOptions) -> tuple[float, float]:
    from steelyard_old.infer.intervals.mean import wilson_mean

    effective, centre = _effective_and_mean(sums)
    return wilson_mean(centre, effective, *ends, settings.confidence_level, settings.side)


def _effective_and_mean(sums: Sums) -> tuple[float, float]:
    """n, or Kish's n under weights, and the mean."""
    values = sums.dense[:, 1] / sums.dense[:, 0]
    weight = sums.count * sums.dense[:, 0]
    effective = float(weight.sum()) ** 2 / float((sums.count * sums.dense[:, 0] ** 2).sum())
    return effective, float(weight @ values / weight.sum())


# ---- right or wrong on the same items, and on different ones -----------------------------------------------------------

Ends = tuple[float, float]


def _believed_flips(both: int, gained: int, lost: int, neither: int, asked: CompareOptions) -> Ends:
    from steelyard_old.infer.posterior.difference import difference_posterior

    return difference_posterior(both, lost, gained, neither, prior=asked.own.prior).interval(asked.level, TAILS[asked.side])


def _of_proportions(name: str, k1: int, n1: int, k2: int, n2: int, asked: CompareOptions) -> Ends:
    from steelyard_old.infer import unpaired

    ends: Ends = getattr(unpaired, name)(k1, n1, k2, n2, asked.level, asked.side)
    return ends


def _believed_proportions(k1: int, n1: int, k2: int, n2: int, asked: CompareOptions) -> Ends:
    return posterior_of_proportions(k1, n1, k2, n2, asked).interval(asked.level, TAILS[asked.side])


def posterior_of_proportions(k1: int, n1: int, k2: int, n2: int, asked: CompareOptions) -> Posterior:
    """What is believed of the difference of two shares of different items."""
    from steelyard_old.infer.posterior.difference import unpaired_difference
    from steelyard_old.infer.posterior.metrics import proportion_posterior

    prior = asked.own.prior
    return unpaired_difference(proportion_posterior(k1, n1, prior=prior), proportion_posterior(k2, n2, prior=prior))


TAILS = {"two": "equal-tailed", "lower": "lower", "upper": "upper"}  # of a posterior, by the side that is asked for
OF_A_PROPORTION = NamedInterval(says="an interval of a proportion")  # of which its function says all

INTERVALS: dict[str, NamedInterval] = {
    "tango": NamedInterval(
        says="Tango's score interval of right or wrong on the same items",
        flips=lambda both, gained, lost, neither, asked: mcnemar.tango(
            gained, lost, both + gained + lost + neither, asked.level, asked.side
        ),
        many_flips=mcnemar.tango_each,
    ),
    "newcombe": NamedInterval(
        says="Newcombe's hybrid of two Wilson intervals, on the same items or on different ones",
        flips=lambda both, gained, lost, neither, asked: mcnemar.newcombe_paired(both, gained, lost, neither, asked.level, asked.side),
        proportions=partial(_of_proportions, "newcombe"),
    ),
    "bonett-price": NamedInterval(
        says="Wald's interval with an item added to each cell of the disagreements",
        flips=lambda both, gained, lost, neither, asked: mcnemar.bonett_price(
            gained, lost, both + gained + lost + neither, asked.level, asked.side
        ),
    ),
    "miettinen-nurminen": NamedInterval(
        says="the score interval of two shares of different items", proportions=partial(_of_proportions, "miettinen_nurminen")
    ),
    "agresti-caffo": NamedInterval(
        says="Wald's interval with one right and one wrong item added to each run", proportions=partial(_of_proportions, "agresti_caffo")
    ),
    "wald": NamedInterval(
        says="the normal approximation, for comparison with other programs: it covers less than it says",
        flips=lambda both, gained, lost, neither, asked: mcnemar.wald_paired(
            gained, lost, both + gained + lost + neither, asked.level, asked.side
        ),
        proportions=partial(_of_proportions, "wald_difference"),
        flat=True,
    ),
    "delta": NamedInterval(
        says="the first-order (delta) method, with t over items or groups",
        sums=_linear,
        families=(TABLE, JOINT, UNITS, DELTA),
        linear=True,
    ),
    "bca": NamedInterval(
        says="the bootstrap, corrected for bias and acceleration",
        sums=partial(_redrawn, "bca"),
        families=(TABLE, ORDER, JOINT, UNITS, SCORES),
        redraws=True,
    ),
    "percentile": NamedInterval(
        says="the bootstrap's percentiles as they are",
        sums=partial(_redrawn, "percentile"),
        families=(TABLE, ORDER, JOINT, UNITS, SCORES),
        redraws=True,
        flat=True,
    ),
    "studentized": NamedInterval(
        says="the bootstrap of the difference over its standard error",
        sums=partial(_redrawn, "studentized"),
        redraws=True,
        of_numbers=True,
    ),
    "bayes": NamedInterval(
        says="equal tails of the posterior",
        flips=_believed_flips,
        proportions=_believed_proportions,
        families=(TABLE, JOINT),
        believed="equal-tailed",
    ),
    "hdi": NamedInterval(says="where the posterior is densest", families=(TABLE,), believed="hdi"),
    "bounded-t": NamedInterval(
        says="t with one more item at either end of the range of the scores",
        families=(BOUNDED,),
        of_range=True,
    ),
    "bounded-welch": NamedInterval(
        says="Welch's t with one more item in each run at either end of the range", families=(MEANS,), of_range=True
    ),
    "within-item": NamedInterval(says="what the shuffled runs of each item do not rule out: about these items", families=(RUNS,)),
    "t": NamedInterval(says="Student's t of a mean", sums=_linear, families=(SCORES, MEANS), linear=True, of_mean=True, of_numbers=True),
    "bounded-mean": NamedInterval(
        says="t of a mean with the ends of its known range counted in",
        ranged=_bounded_mean,
        kinds=("items", "weights", "repeats"),
        of_numbers=True,
    ),
    "wilson-mean": NamedInterval(
        says="Wilson's interval of a mean in a known range", ranged=_wilson_mean, kinds=("items", "weights"), of_numbers=True
    ),
    "betting": NamedInterval(
        says="what bets against a mean in a known range have not ruled out", ranged=_betting, kinds=("items",), of_numbers=True, seeded=True
    ),
    "delong-wilson": NamedInterval(says="DeLong's variances, widened by Wilson's score where a class is small", families=(ORDER, AREAS)),
    "delong": NamedInterval(says="DeLong's variance of an area under the curve", families=(ORDER, AREAS)),
    "delta-wilson": NamedInterval(says="the delta method of average precision, widened where positives are few", families=(ORDER,)),
    "fisher-z": NamedInterval(says="Fisher's transformation of a correlation", families=(ORDER,)),
}
