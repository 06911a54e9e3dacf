"""The evidence of two AUCs, on the same items or on different ones: difference, interval, test, margin, what could be found."""

from __future__ import annotations

from dataclasses import replace

from steelyard_old.estimate.evidence import Evidence, interval_of
from steelyard_old.estimate.fallback import attempt, given_instead, or_none
from steelyard_old.estimate.paired_right_or_wrong import equivalence_words
from steelyard_old.infer.normal import z_value
from steelyard_old.infer.paired import auc_difference as infer
from steelyard_old.infer.paired.delong import AucPair
from steelyard_old.infer.paired.mcnemar import from_tails
from steelyard_old.infer.paired.unseen import UnseenChanges
from steelyard_old.infer.resampling.bootstrap import Degenerate
from steelyard_old.metrics.base import Metric
from steelyard_old.options.compare import CompareOptions
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import Test
from steelyard_old.results.measurement import Interval

RULE, PLAIN = "delong-wilson", "delong"
WIDER = 1.05  # times as wide, from which an interval says what it allows for


class AucDifferenceTest:
    """The test of two AUCs from the bounds of each."""

    name = RULE

    def __init__(self, pair: AucPair, alternative: str) -> None:
        self.pair, self.alternative = pair, alternative

    def p_value(self, edge: float) -> float:
        return from_tails(*infer.difference_p(self.pair, edge), self.alternative)

    def smallest(self, edge: float) -> float:
        """Every pair of a positive and a negative ranked wrongly by the candidate, or every one rightly."""
        ends = {"less": (0.0,), "greater": (1.0,)}.get(self.alternative, (0.0, 1.0))
        return min(from_tails(*infer.difference_p(self._at(end), edge), self.alternative) for end in ends)

    def _at(self, end: float) -> AucPair:
        """The pair, had the candidate this AUC."""
        assert self.pair.areas is not None
        first, second = self.pair.areas
        perfect = replace(second, value=end, variance=0.0)
        return replace(
            self.pair, candidate=end, variance_candidate=0.0, covariance=0.0, variance=first.variance, df=first.df, areas=(first, perfect)
        )

    def interval(self, level: float, side: str) -> tuple[float, float]:
        return infer.difference_interval(self.pair, level, side)


def auc_evidence(
    pair: AucPair,
    fewer: int,
    n: int,
    metric: Metric,
    asked: CompareOptions,
    warnings: Warnings,
    design: str,
    *,
    enough: bool = True,
    rare: UnseenChanges | None = None,
) -> Evidence:
    """The evidence of a pair of AUCs whose smallest class has `fewer` items.

    enough: whether there are groups to judge by. rare: what the interval counts in where few items changed their places.
    """
    known = (PLAIN,) if pair.areas is None else (RULE, PLAIN)
    by_interval = _named(asked.choose("interval", asked.interval, known, metric.name), asked.interval, pair)
    by_test = _named(asked.choose("test", asked.test, known, metric.name), asked.test, pair)
    interval = _interval(pair, fewer, metric, by_interval, asked, warnings, rare) if enough else None
    tested = attempt(lambda: infer.difference_test(_for(by_test, pair), asked.alternative))
    if isinstance(tested, Degenerate):
        warnings.add(f"{metric.name}: no p-value can be given ({tested})")
    statistic, p = (None, None) if isinstance(tested, Degenerate) else tested
    found = Evidence(
        design=design,
        n=n,
        baseline=pair.baseline,
        candidate=pair.candidate,
        difference=pair.difference,
        interval=interval,
        test=Test(name=by_test, alternative=asked.alternative, statistic=statistic, p_value=p),
        error=pair.error if pair.areas is None else _wide_error(pair, by_interval, asked),
        noise=None if pair.areas is None else pair.error or None,
        df=pair.df if pair.areas is None else None,
        judge=None if pair.areas is None or by_test == PLAIN else AucDifferenceTest(pair, asked.alternative),
        standard_error=pair.error or None,
        too_few=not enough,
    )
    if asked.margin is not None and enough and not infer.same_order(pair):
        at_test = _for(by_test, pair)
        edge = asked.margin
        beyond = attempt(lambda: (infer.difference_p(at_test, -edge)[1], infer.difference_p(at_test, edge)[0]))
        if isinstance(beyond, Degenerate):
            warnings.add(f"equivalence within the margin cannot be tested ({beyond})")
        else:
            found.equivalence = equivalence_words(*beyond, edge, asked, higher_is_better=metric.higher_is_better)
    return found


def _named(method: str, asked: str | None, pair: AucPair) -> str:
    """What the method comes to: the rule is DeLong's where misses are many, and called so unless it was asked for by name."""
    return PLAIN if method == RULE and asked is None and not infer.scarcity(pair) else method


def _for(method: str, pair: AucPair) -> AucPair:
    """The pair as a method sees it: plain DeLong knows only the variance of the difference."""
    return replace(pair, areas=None) if method == PLAIN else pair


def _interval(
    pair: AucPair, fewer: int, metric: Metric, method: str, asked: CompareOptions, warnings: Warnings, rare: UnseenChanges | None
) -> Interval | None:
    from steelyard_old.infer.intervals.mean import wilson_mean

    ends = attempt(lambda: infer.difference_interval(_for(method, pair), asked.level, asked.side))
    if rare is not None:
        known = (pair.difference, pair.difference) if isinstance(ends, Degenerate) else ends
        low, high = rare.wider(pair.difference, known, z_value(asked.level, asked.side), asked.alternative)
        if isinstance(ends, Degenerate) or high - low > WIDER * (ends[1] - ends[0]):
            warnings.add("few items changed rank, so the interval allows for one item moving from top to bottom")
        return interval_of(asked, low, high, method)
    if isinstance(ends, Degenerate):
        warnings.add(given_instead(method, ends, "Wilson with the smaller class as n", name=metric.name, difference=True, wide=True))
        return interval_of(asked, *wilson_mean(pair.difference, fewer, -1.0, 1.0, asked.level, asked.side), "wilson-mean")
    return interval_of(asked, *ends, method)


def _wide_error(pair: AucPair, method: str, asked: CompareOptions) -> float | None:
    """Half of the interval over z: with few items of a class more than the standard error."""
    ends = or_none(lambda: infer.difference_interval(_for(method, pair), asked.level))
    return None if ends is None else (ends[1] - ends[0]) / 2 / z_value(asked.level)
