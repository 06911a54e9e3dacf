"""How many training items to reach a target? A learning curve is fitted, and read off where it gets there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.curve_fit import CurveFitting, read_gap
from steelyard_old.estimate.curve_points import points_of
from steelyard_old.infer.learning.learning_curve import CurveFit
from steelyard_old.infer.resampling.bootstrap import check_draws
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.measure import settle
from steelyard_old.options.option import documented, number
from steelyard_old.options.plan_train import OPTIONS
from steelyard_old.results import signature
from steelyard_old.results.base import Warnings
from steelyard_old.results.details import PlanDetails
from steelyard_old.results.learning_curve import CurveGap
from steelyard_old.results.plan import Curve, Plan, SizeStep, WhatIf

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
            f"{goal} cannot be reached with more data alone: the curve levels off at {limit} "
            f"(at {bound:.3g} at best, {f.percent} two-sided)."
        )
    if f.n is None:
        least = "" if f.low is None else f"; at least {f.low:,} are needed ({f.percent})"
        return (
            f"The number of training items for {goal} is unknown: the curve seems to level off at {limit}, but that is not certain{least}."
        )
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
    shared = "" if f.design == "points" else " If all seeds share a test set, the result holds for that test set only."
    return (
        f"{'1 - ' if f.up else ''}{f.metric} = a + b n^-c with a >= 0, {noise}; new items like the old ones, the same learner and "
        f"settings. Interval: {how}.{shared}"
    )


def warn(f: CurveReading, warnings: Warnings) -> None:
    """What a statistician would say before anybody orders data."""
    warnings.extend((*_about_points(f), *_about_target(f), *_about_fit(f)))


def _about_points(f: CurveReading) -> list[str]:
    said = []
    if f.exact:
        said.append("the points lie exactly on a curve, or all seeds agree, so no interval can be computed")
    elif f.design == "points" and f.weights == "test sizes":
        said.append(
            "one score at some size: the interval rests on how far points lie from the fit and on the noise of a test set that "
            "all sizes share; it does not include variation between training sets; repeat the curve with 5 or more seeds"
        )
    elif f.design == "points":
        said.append(
            "one score at some size: the interval rests on how far points lie from the fit; sizes that share a test set move "
            "together, which it cannot see, so it is too short; give the number of test items, or repeat the curve with 5 or more seeds"
        )
    elif f.design == "replicates":
        said.append(
            "nothing says which scores belong to one run: sizes that are nested and share a test set move together, which the "
            "interval cannot see, so it may be too short; a seed column would tell"
        )
    if not f.exact and 1 < f.scores_per_size < FEW_SEEDS:
        said.append(
            f"{f.scores_per_size} scores at a size: the interval is wide because their variation is poorly known; use 5 or more seeds"
        )
    if f.ragged:
        said.append("some seeds lack some sizes: each size counts the seeds it has")
    return said


def _about_target(f: CurveReading) -> list[str]:
    said = []
    low, high = f.at_largest["low"], f.at_largest["high"]
    if low is not None and low <= f.target <= high:
        said.append(
            f"the target {f.target:g} lies within the noise of what {f.largest:,} items reach already "
            f"({low:.4g} to {high:.4g}): these points cannot show whether you need more data"
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


FloatArray = npt.NDArray[np.float64]
FARTHEST = 1000  # times the largest size: beyond it a number would be fiction
PLACES = 61


@documented(
    OPTIONS,
    "a Plan",
    curve="Points of (training size, score): a file, a frame, rows, columns, or a LearningCurve.",
)
def plan_train(
    curve: Any,
    *,
    target: float,
    size: str | None = None,
    score: str | None = None,
    train_score: str | None = None,
    seed_column: str | None = None,
    n_test: int | str | None = None,
    higher_is_better: bool | None = None,
    confidence_level: float = 0.95,
    draws: int = 2000,
    seed: int | None = 0,
) -> Plan:
    """How many training items reach the target, by the curve error = a + b n^-c through (training size, score) points.

    curve: a file, a frame, rows as dicts, columns as a dict, or a LearningCurve; at least 5 sizes, best with 5 seeds or
    more. Columns are found by name (size, score, seed; also se or n_test) or named. n_test: the items behind a score, a
    column or one number. Training scores (train_score) beside the test scores are read for the gap between them.
    higher_is_better=False for errors and losses (None: as a LearningCurve says, else True).
    `n` is None where the curve does not get there; `details` has the interval of n, the asymptote, the fit.

    >>> p = plan_train({"size": [100, 400, 900, 1600, 2500], "accuracy": [0.85, 0.901, 0.916, 0.9255, 0.93]}, target=0.935)
    >>> p.n, p.details.interval.low, p.details.interval.high, round(p.details.asymptote.estimate, 3)
    (4636, 3006, 15569, 0.948)
    """
    settings = settle(confidence_level=confidence_level, draws=draws, seed=seed)
    check_draws(settings.draws, settings.confidence_level, "two")
    points, up = points_of(
        curve, size=size, score=score, train_score=train_score, seed_column=seed_column, n_test=n_test, higher_is_better=higher_is_better
    )
    wanted = number("target", target, above=0, below=1 if up else math.inf, hint=_hint(target, up))
    return Question(points=points, target=wanted, up=up, settings=settings, warnings=Warnings()).answer()


def _hint(target: Any, higher_is_better: bool) -> str:
    percent = higher_is_better and isinstance(target, (int, float)) and 1 < target < 100
    return f"write {target / 100:g}" if percent else "the curve approaches a perfect score but never reaches it"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Question(CurveFitting):
    """The points and what was asked of them."""

    target: float
    warnings: Warnings

    # ---- the answer --------------------------------------------------------------------------------------------------

    def reach(self, fit: CurveFit, target: float) -> tuple[int | None, int | None, int | None]:
        """(n, low, high) for a target; None where there is none within a thousand times the largest size."""
        most = FARTHEST * self.points.sizes.max()
        n, low, high = (None if x is None or x > most else x for x in fit.size(self.turn(target), self.settings.confidence_level))
        return (
            None if n is None else max(1, math.ceil(n - 1e-9)),
            None if low is None else math.floor(low),  # outwards, so that rounding never leaves an interval without width
            None if high is None else max(1, math.ceil(high)),
        )

    def limit(self, fit: CurveFit) -> dict[str, float | None]:
        """The asymptote with its interval; without one where every redrawn curve heads for the best score there is."""
        found = self.level_of(fit.asymptote(self.settings.confidence_level))
        if found["low"] is not None and found["low"] == found["high"]:
            self.warnings.add("where the curve levels off is not known: no resampled curve levels off below the best possible score")
            found |= {"low": None, "high": None}
        return found

    def answer(self) -> Plan:
        fit, level = self.fit(self.points), self.settings.confidence_level
        self.refuse_flat(fit, self.target)
        sizes, mean = self.means()
        n, low, high = self.reach(fit, self.target)
        curves = self.matrix(self.points)
        rest = self.fit(self.points.without_largest())
        found = CurveReading(
            target=self.target,
            up=self.up,
            metric=self.points.metric,
            level=level,
            n=n,
            low=low,
            high=high,
            exact=fit.redrawn is None,
            out_of_reach=n is None and fit.out_of_reach(self.turn(self.target), level),
            asymptote=self.limit(fit),
            at_largest=self.level_of(fit.error(sizes[-1], level)),
            smallest=int(sizes[0]),
            largest=int(sizes[-1]),
            seen=float(mean[-1]),
            without=None if not rest.falls else self.level_of(rest.error(sizes[-1], level)),
            exponent=float(fit.law.c[0]),
            flat=fit.flat,
            seeds=None if self.points.seeds is None else int(self.points.seeds.max()) + 1,
            scores_per_size=1 if curves is None else self.least_seeds(curves),
            ragged=curves is not None and self.design == "curves" and bool(np.isnan(curves[1]).any()),
            design=self.design,
            weights=self.weights_from(),
        )
        warn(found, self.warnings)
        return self.plan(fit, rest, found, read_gap(self, fit))

    def plan(self, fit: CurveFit, rest: CurveFit, found: CurveReading, gap: CurveGap | None) -> Plan:
        return Plan(
            goal="train",
            design=found.design,
            n=found.n,
            conclusion=conclusion(found),
            assumed=assumed(found),
            steps=self.steps(fit),
            sensitivity=self.sensitivity(fit, rest),
            curve=self.drawn(fit, found, gap),
            details=PlanDetails.of(self.details(fit, found) | ({} if gap is None else {"gap": gap.to_dict()})),
            rows=() if gap is None else gap.by_size,
            warnings=tuple(self.warnings),
            signature=signature.write(
                {
                    "goal": "train",
                    "metric": found.metric,
                    "n": len(self.points.sizes),
                    "design": found.design,
                    "units": None if found.seeds is None else f"{found.seeds} seeds",
                    "method": "power-law" if self.up else "power-law-of-losses",
                    "interval": None if found.exact else found.interval,
                    "target": self.target,
                    "level": found.level,
                    "draws": self.settings.draws,
                    "seed": self.settings.seed,
                }
            ),
        )

    # ---- around the answer ---------------------------------------------------------------------------------------------

    def steps(self, fit: CurveFit) -> tuple[SizeStep, ...]:
        """The score at the largest size and at three doublings of it, and what each doubling buys."""
        rows = []
        for factor in (1, 2, 4, 8):
            n = int(factor * self.points.sizes.max())
            at = self.level_of(fit.error(n, self.settings.confidence_level))
            half = self.turn(float(fit.law.error(n / 2)[0]))
            rows.append(SizeStep(n=n, score=at["estimate"], low=at["low"], high=at["high"], doubling_buys=at["estimate"] - half))
        return tuple(rows)

    def sensitivity(self, fit: CurveFit, rest: CurveFit) -> tuple[WhatIf, ...]:
        """Other targets, and the same one asked of the curve without its largest size."""
        others = [self.target + d for d in (-0.02, -0.01, 0.01, 0.02)] if self.up else [self.target * f for f in (1.1, 1.05, 0.95, 0.9)]
        rows = []
        for other in others:
            if other > 0 and (other < 1 or not self.up):
                n, low, high = self.reach(fit, other)
                rows.append(WhatIf(condition=f"the target is {other:.4g}", n=n, low=low, high=high))
        n, low, high = self.reach(rest, self.target) if rest.falls else (None, None, None)
        rows.append(WhatIf(condition=f"the largest size ({self.points.sizes.max():,.0f}) is left out", n=n, low=low, high=high))
        return tuple(rows)

    def drawn(self, fit: CurveFit, found: CurveReading, gap: CurveGap | None) -> Curve:
        """From the smallest size to the answer and beyond, at most as far as a drawing stays readable."""
        end = min(max(4 * found.largest, 2 * (found.n or 0)), 64 * found.largest)
        x = np.geomspace(min(found.smallest, found.n or found.smallest), end, PLACES)
        levels = [self.level_of(fit.error(float(n), found.level)) for n in x]
        return Curve(
            x_label="training items",
            y_label=found.metric,
            x=tuple(float(n) for n in x),
            y=tuple(float(at["estimate"]) for at in levels),  # type: ignore[arg-type]
            low=None if found.exact else tuple(float(at["low"]) for at in levels),  # type: ignore[arg-type]
            high=None if found.exact else tuple(float(at["high"]) for at in levels),  # type: ignore[arg-type]
            points=tuple(sorted(zip(self.points.sizes.tolist(), self.points.scores.tolist(), strict=True))),
            beside=() if gap is None else tuple((float(row.n), row.training) for row in gap.by_size),
            beside_label="" if gap is None else "training score",
            goal=self.target,
            mark=None if found.n is None or found.n > end else (float(found.n), self.target),
        )

    def details(self, fit: CurveFit, found: CurveReading) -> dict[str, Any]:
        beyond = None if found.n is None else found.n / found.largest
        return {
            "target": self.target,
            "metric": found.metric,
            "higher_is_better": self.up,
            "interval": {
                "low": found.low,
                "high": found.high,
                "confidence_level": found.level,
                "method": found.interval,
            },
            "asymptote": found.asymptote,
            "fit": {"a": float(fit.law.a[0]), "b": float(fit.law.scale[0]), "c": found.exponent, "of": "1 - score" if self.up else "score"},
            "reached": found.reached,
            "out_of_reach": found.out_of_reach,
            "seeds": found.seeds,
            "sizes": [int(n) for n in np.unique(self.points.sizes)],
            "largest": found.largest,
            "beyond": beyond,
            "weights": found.weights,
            "measured": self.points.measured,
            "without_largest": None
            if found.without is None
            else {"predicted": found.without["estimate"], "low": found.without["low"], "high": found.without["high"], "seen": found.seen},
        }
