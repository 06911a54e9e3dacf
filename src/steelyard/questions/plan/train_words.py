"""What is said about a learning curve: where it gets, how far that is from what was seen, and what to bear in mind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.estimate.measure_options import MeasureOptions

FAR = 4  # times the largest size
FEW_SEEDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveReading:
    """What a curve answers. Scores as they came; `exact`: no noise to judge by; `without`: the largest size, foretold by the others."""

    target: float
    up: bool
    metric: str
    level: float
    n: int | None
    low: int | None
    high: int | None
    exact: bool
    out_of_reach: bool
    asymptote: dict[str, Any]
    at_largest: dict[str, Any]
    smallest: int
    largest: int
    seen: float
    without: dict[str, Any] | None
    exponent: float
    flat: float
    seeds: int | None
    scores_per_size: int
    ragged: bool
    design: str
    weights: str

    @property
    def reached(self) -> bool:
        """Whether the curve gets there within the sizes that were seen."""
        return self.n is not None and self.n <= self.largest

    @property
    def interval(self) -> str:
        if self.design != "points":
            return "student-curves"
        return "student-residuals-and-test-set" if self.weights == "test sizes" else "student-residuals"

    @property
    def percent(self) -> str:
        return f"{100 * self.level:g}%"


def conclusion(f: CurveReading) -> str:
    goal = f"{f.metric} {f.target:g}"
    limit = f"{f.asymptote['estimate']:.3g}"
    if f.out_of_reach:
        bound = f.asymptote["high" if f.up else "low"]
        return (
            f"{goal} is out of reach for this learner by more data alone: the curve levels off at {limit} "
            f"(at {bound:.3g} at best, {f.percent} two-sided)."
        )
    if f.n is None:
        least = "" if f.low is None else f"; it takes at least {f.low:,} ({f.percent})"
        return f"How many training items reach {goal} is not known: the curve levels off at {limit}, but not surely{least}."
    return f"About {f.n:,} training items reach {goal}{_interval(f)}{_distance(f)}."


def _interval(f: CurveReading) -> str:
    if f.exact:
        return " (no interval: the points have no noise to judge by)"
    if f.low is None:  # then high is None too: the estimate is finite, but redrawn curves hardly get there
        return f" ({f.percent} interval: not bounded)"
    high = "no upper end" if f.high is None else f"{f.high:,}"
    return f" ({f.percent} interval {f.low:,} to {high})"


def _distance(f: CurveReading) -> str:
    assert f.n is not None
    if f.n < f.smallest:
        return f", fewer than the smallest size that was tried ({f.smallest:,})"
    if f.reached:
        return f", which is inside the sizes that were tried (up to {f.largest:,})"
    return f", {f.n / f.largest:.3g} times the largest size that was tried ({f.largest:,})"


def assumed(f: CurveReading) -> str:
    noise = {
        "standard errors": "points weighted by their standard errors",
        "seeds": "sizes weighted by the spread of their seeds, smoothed",
        "test sizes": "points weighted by p(1-p)/n_test",
        "equal": "all points weighted alike",
    }[f.weights]
    how = {
        "curves": "whole curves reweighted at random with Student's tails, since the sizes of a seed are nested and share a test set",
        "replicates": "the scores of every size reweighted at random with Student's tails, as if all were independent",
        "points": "fresh noise of the size of the residuals"
        + (", and a shift of the test set that all sizes share" if f.weights == "test sizes" else ", as if points were independent"),
    }[f.design]
    return (
        f"{'1 - ' if f.up else ''}{f.metric} = a + b n^-c with a >= 0, {noise}; new items like the old ones, the same learner and "
        f"settings. Interval: {how}.{'' if f.design == 'points' else ' Seeds that share one test set speak about that test set.'}"
    )


def warn(f: CurveReading, settings: MeasureOptions) -> None:
    """What a statistician would say before anybody orders data."""
    for sentence in (*_about_points(f), *_about_target(f), *_about_fit(f)):
        settings.warn(sentence)


def _about_points(f: CurveReading) -> list[str]:
    said = []
    if f.exact:
        said.append("the points lie exactly on a curve, or all seeds agree: how sure the answer is cannot be known, so it has no interval")
    elif f.design == "points" and f.weights == "test sizes":
        said.append(
            "one score at some size: the interval rests on how far points lie from the fit and on the noise of a test set that "
            "all sizes share; what another training set would change is not in it; repeat the curve with 5 or more seeds"
        )
    elif f.design == "points":
        said.append(
            "one score at some size: the interval rests on how far points lie from the fit; sizes that share a test set move "
            "together, which it cannot see, so it is too short; give the number of test items, or repeat the curve with 5 or more seeds"
        )
    elif f.design == "replicates":
        said.append(
            "nothing says which scores belong to one run: sizes that are nested and share a test set move together, which the "
            "interval cannot see, so it may be too short; a seed column tells"
        )
    if not f.exact and 1 < f.scores_per_size < FEW_SEEDS:
        said.append(f"{f.scores_per_size} scores at a size: the interval is wide because their spread is hardly known; 5 or more seeds pay")
    if f.ragged:
        said.append("some seeds lack some sizes: each size counts the seeds it has")
    return said


def _about_target(f: CurveReading) -> list[str]:
    said = []
    low, high = f.at_largest["low"], f.at_largest["high"]
    if low is not None and low <= f.target <= high:
        said.append(
            f"the target {f.target:g} lies within the noise of what {f.largest:,} items reach already "
            f"({low:.4g} to {high:.4g}): these points cannot tell whether more data are needed"
        )
    if f.n is None:
        if not f.out_of_reach:
            said.append("n is not known: the fitted curve does not reach the target within 1000 times the largest size")
    elif f.n < f.smallest:
        said.append(f"every size that was tried reaches the target: {f.n:,} is the curve drawn back below {f.smallest:,}")
    elif f.n > FAR * f.largest:
        said.append(
            f"{f.n:,} is {f.n / f.largest:.3g} times the largest size: beyond {FAR} times, a curve fitted to small sizes "
            "is a guess; measure one more size first"
        )
    if f.n is not None and not f.exact and f.high is None:
        said.append("the interval of n has no upper end: the points do not rule out that the curve levels off before the target")
    return said


def _about_fit(f: CurveReading) -> list[str]:
    said = []
    if f.flat > 0.05:
        said.append(f"the scores hardly improve with the size: {100 * f.flat:.0f}% of the redrawn curves are flat")
    if f.exponent >= 4.99 or f.exponent <= 0.0201:
        said.append(f"the exponent lies at the edge of what is searched ({f.exponent:.2g}): the points do not have the shape of the curve")
    if f.without is not None and f.without["low"] is not None and not f.without["low"] <= f.seen <= f.without["high"]:
        said.append(
            f"fitted without its largest size, the curve foretells {f.without['estimate']:.4g} there "
            f"({f.without['low']:.4g} to {f.without['high']:.4g}), and {f.seen:.4g} was seen: it does not follow a + b n^-c"
        )
    return said
