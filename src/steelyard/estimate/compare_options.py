"""The options of a comparison, checked once: those of a measurement, and which test, which side, which margin."""

from __future__ import annotations

from steelyard.errors import UsageError
from steelyard.estimate.difference_tests import TESTS
from steelyard.estimate.measure_options import MeasureOptions, one_of
from steelyard.infer.multiplicity import CORRECTIONS
from steelyard.infer.paired.mcnemar import check_alternative
from steelyard.infer.planning.power import minimum_detectable
from steelyard.late_dataclass import dataclass
from steelyard.options import LIMITS, checked_if_given
from steelyard.results.measurement import Interval
from steelyard.tally.pairs import TWO_SYSTEMS, Sides

PAIRED_INTERVALS = (
    "tango",
    "newcombe",
    "bonett-price",
    "wald",
    "bayes",
    "bca",
    "percentile",
    "delta",
    "bounded-t",
    "within-item",
    "t",
    "delong-wilson",
    "delong",
)
UNPAIRED_INTERVALS = (
    "newcombe",
    "miettinen-nurminen",
    "agresti-caffo",
    "wald",
    "bayes",
    "delta",
    "bounded-welch",
    "t",
    "delong-wilson",
    "delong",
)
POWER = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """What was asked of a comparison. `own` holds what each system's own interval needs."""

    own: MeasureOptions
    interval: str | None = None
    test: str | None = None
    alternative: str = "two-sided"
    margin: float | None = None
    design: str | None = None
    unmatched: str = "error"
    correction: str = "holm"
    higher_is_better: bool | None = None  # what a log says of its scores; None: what the metric says
    about_runs: bool = False  # whether the question is about the runs of these very items
    sides: Sides = TWO_SYSTEMS  # how the two are spoken of
    per: str = ""  # of a ratio: the column below the line

    @property
    def level(self) -> float:
        return self.own.confidence_level

    @property
    def side(self) -> str:
        return self.own.side

    def choose(self, kind: str, asked: str | None, offered: tuple[str, ...], subject: str) -> str:
        """The method by name, or the first offered; another is an error that lists what there is."""
        if asked is None:
            return offered[0]
        if asked not in offered:
            raise UsageError(f"cannot use the {kind} {asked!r} for {subject}", need=f"one of {', '.join(offered)}")
        return asked

    def interval_of(self, low: float, high: float, method: str, bottom: float | None = -1.0, top: float | None = 1.0) -> Interval:
        """An interval of a difference, inside its range, open on the side that was not asked for."""
        ends: list[float | None] = [low, high]
        if self.side == "upper":
            ends[0] = bottom
        elif bottom is not None:
            ends[0] = max(bottom, low)
        if self.side == "lower":
            ends[1] = top
        elif top is not None:
            ends[1] = min(top, high)
        return Interval(low=ends[0], high=ends[1], confidence_level=self.level, side=self.side, method=method)  # type: ignore[arg-type]

    def minimum_detectable(self, error: float | None, noise: float | None = None, pull: float = 1.0, offset: float = 0.0) -> float | None:
        """The true difference that this many items find with power .8 at this level: z_alpha x standard error + z_beta x noise."""
        if error is None or not error > 0:
            return None
        plain = minimum_detectable(error, 1 - self.level, 1 - POWER, noise=noise, two_sided=self.alternative == "two-sided")
        return (plain + offset) / pull


def settle_comparison(
    own: MeasureOptions,
    *,
    interval: str | None,
    test: str | None,
    alternative: str,
    margin: float | None,
    design: str | None,
    unmatched: str,
    correction: str,
) -> CompareOptions:
    """The options of a comparison, or an error that says which cannot be what it is."""
    one_of("interval", interval, tuple(dict.fromkeys((*PAIRED_INTERVALS, *UNPAIRED_INTERVALS))))
    one_of("test", test, tuple(TESTS))
    one_of("design", design, ("paired", "unpaired"))
    one_of("unmatched", unmatched, ("error", "drop"), optional=False)
    one_of("correction", correction, CORRECTIONS, optional=False)
    check_alternative(alternative)
    if checked_if_given("margin", margin) == 0:
        raise UsageError("cannot use margin", got="0", need="a number above 0", hint=LIMITS["margin"].hint)
    return CompareOptions(
        own=own,
        interval=interval,
        test=test,
        alternative=alternative,
        margin=margin,
        design=design,
        unmatched=unmatched,
        correction=correction,
    )
