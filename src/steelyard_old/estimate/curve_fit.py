"""A learning curve fitted to points, and what the training scores beside it say: would more data help, or a stronger model?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError
from steelyard_old.estimate.curve_points import Points
from steelyard_old.infer.intervals.sums import student
from steelyard_old.infer.learning.learning_curve import CurveFit, ends, fit_curves, fit_points, share_variance
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.results.learning_curve import CurveGap, CurveSize

FloatArray = npt.NDArray[np.float64]
MET = 0.02  # training and test scores that are certainly nearer than this have met; of losses, so much of the test loss
SMALL = 0.01  # what doubling the data certainly buys less than hardly helps
RISING = 0.001  # what doubling the data certainly buys more than is a curve that still rises


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CurveFitting:
    """The points of a learning curve, and how a curve is fitted to them."""

    points: Points
    up: bool
    settings: MeasureOptions

    def turn(self, value: Any) -> Any:
        """A score as an error, and back."""
        return 1 - value if self.up else value

    # ---- the fit -----------------------------------------------------------------------------------------------------

    def matrix(self, points: Points) -> tuple[FloatArray, FloatArray] | None:
        """(sizes, errors by seed and size) if every size has at least two scores; without seeds each score is its own."""
        seeds = np.arange(len(points.sizes)) if points.seeds is None else points.seeds
        sizes, place = np.unique(points.sizes, return_inverse=True)
        if np.bincount(place).min() < 2:
            return None
        errors = np.full((int(seeds.max()) + 1, len(sizes)), np.nan)
        errors[seeds, place] = self.turn(points.scores)
        return sizes, errors

    @property
    def design(self) -> str:
        """curves: seeds that were seen at several sizes; replicates: scores that have nothing in common; points: one per size."""
        curves = self.matrix(self.points)
        if curves is None:
            return "points"
        return "curves" if (~np.isnan(curves[1])).sum(1).max() > 1 else "replicates"

    def fit(self, points: Points) -> CurveFit:
        """The same noise for every question, so that answers differ only where the points do."""
        rng = np.random.Generator(np.random.PCG64(self.settings.seed))
        curves = self.matrix(points)
        variances = self.variances(points, curves)
        if curves is not None:
            return fit_curves(*curves, variances, draws=self.settings.draws, rng=rng)
        noise = {"standard errors": "known", "test sizes": "shared"}.get(self.weights_from(), "residuals")
        return fit_points(points.sizes, self.turn(points.scores), variances, noise=noise, draws=self.settings.draws, rng=rng)

    def variances(self, points: Points, curves: tuple[FloatArray, FloatArray] | None) -> FloatArray | None:
        """Of one score: its own standard error; else for many seeds their spread (None leaves it to the fit); else its test size."""
        single = None
        if points.se is not None:
            single = points.se**2
        elif self.shares(points) and points.n_test is not None and (curves is None or self.least_seeds(curves) < 3):
            single = share_variance(self.turn(points.scores), points.n_test)
        if single is None or curves is None:
            return single
        return np.array([single[points.sizes == n].mean() for n in curves[0]])

    @staticmethod
    def least_seeds(curves: tuple[FloatArray, FloatArray]) -> int:
        return int((~np.isnan(curves[1])).sum(0).min())

    def shares(self, points: Points) -> bool:
        """Whether a score can be a share of right answers, so that its test size says how noisy it is."""
        return bool(((points.scores >= 0) & (points.scores <= 1)).all())

    def weights_from(self) -> str:
        curves = self.matrix(self.points)
        if self.points.se is not None:
            return "standard errors"
        if curves is not None and self.least_seeds(curves) >= 3:
            return "seeds"
        return "test sizes" if self.points.n_test is not None and self.shares(self.points) else "equal"

    def level_of(self, three: tuple[float, float | None, float | None]) -> dict[str, float | None]:
        """An error with its interval as a score with its interval."""
        estimate, low, high = (None if x is None else float(self.turn(x)) for x in three)
        return {"estimate": estimate, "low": high if self.up else low, "high": low if self.up else high}

    def means(self) -> tuple[FloatArray, FloatArray]:
        sizes = np.unique(self.points.sizes)
        return sizes, np.array([self.points.scores[self.points.sizes == n].mean() for n in sizes])

    def refuse_flat(self, fit: CurveFit, target: float | None = None) -> None:
        """A curve that does not rise says nothing about more data. target: that may be reached already."""
        sizes, mean = self.means()
        if fit.falls and float((fit.law.error(sizes[0]) - fit.law.error(sizes[-1]))[0]) > 1e-9:  # less is rounding
            return
        hint = "higher_is_better=False for errors and losses" if self.up else "leave out higher_is_better=False if higher is better"
        if target is not None and bool(((mean >= target) if self.up else (mean <= target)).all()):
            hint = f"the target of {target:g} is reached at every size of the curve, from {sizes[0]:g} items on"
        raise DataError(
            f"The scores do not improve with the training size: {mean[0]:.4g} at {sizes[0]:g} items, {mean[-1]:.4g} at {sizes[-1]:g}.",
            got=f"a mean score of {mean[0]:.4g} at {sizes[0]:g} items and {mean[-1]:.4g} at {sizes[-1]:g}, no better with more data",
            need="scores that improve with the training size",
            hint=hint,
        )


def read_gap(curve: CurveFitting, fit: CurveFit) -> CurveGap | None:
    """The gap between training and test score at the largest size, and what it means; None without training scores.

    The gap has the t interval of the seeds' own gaps, since a seed's two scores come from one fit. Whether the test score still rises is
    asked of the fitted curve and its redrawn ones: what they gain from the largest size to twice of it.
    """
    points = curve.points
    if points.train is None or not fit.falls:
        return None
    gaps = (points.train - points.scores) if curve.up else (points.scores - points.train)
    largest = points.sizes == points.sizes.max()
    here, seeds = float(gaps[largest].mean()), int(largest.sum())
    low = high = None
    level = curve.settings.confidence_level
    spread = float(gaps[largest].std(ddof=1)) if seeds > 1 else 0.0
    if spread > 1e-12:  # seeds that all agree show no noise, which is not the same as certainty
        reach = student(0.5 + level / 2, seeds - 1) * spread / math.sqrt(seeds)
        low, high = here - reach, here + reach
    n = float(points.sizes.max())
    bought = float((fit.law.error(n) - fit.law.error(2 * n))[0])
    buys = (None, None) if fit.redrawn is None else ends(fit.redrawn.error(n) - fit.redrawn.error(2 * n), level)
    test, train = float(points.scores[largest].mean()), float(points.train[largest].mean())
    verdict, reading = _verdict((here, low, high), (bought, *buys), train, test, curve.up)
    by_size = []
    for size in np.unique(points.sizes).tolist():
        at = points.sizes == size
        by_size.append(
            CurveSize(
                n=int(size),
                training=float(points.train[at].mean()),
                test=float(points.scores[at].mean()),
                gap=float(gaps[at].mean()),
            )
        )
    return CurveGap(
        verdict=verdict,
        reading=reading,
        train=train,
        test=test,
        gap=here,
        gap_low=low,
        gap_high=high,
        doubling=bought,
        doubling_low=buys[0],
        doubling_high=buys[1],
        by_size=tuple(by_size),
    )


Three = tuple[float, float | None, float | None]


def _verdict(gap: Three, doubling: Three, train: float, test: float, up: bool) -> tuple[str, str]:
    """(verdict, sentence). A scale of losses has no unit, so there the limits are shares of the test loss."""
    unit = 1.0 if up else abs(test) or 1.0
    (here, low, high), (bought, least, most) = gap, doubling
    apart = f"the training score is still {abs(here):.2g} {'above' if up else 'below'} the test score"
    rising = "rising" if up else "falling"
    if low is None or high is None or least is None or most is None:
        why = "with one seed, or seeds that all agree, there is no noise to judge by"
        return "unknown", f"Cannot tell whether more data or a stronger model would help: {why}."
    if low > 0 and least > RISING * unit:
        return "more data", f"More data would help: {apart} and the test score is {rising} (doubling the data buys about {bought:.2g})."
    if high <= MET * unit and most <= SMALL * unit:
        met = f"training and test score have met at {(train + test) / 2:.2f}"
        return "stronger model", f"A stronger model would help: {met}, and doubling the data buys at most {most:.1g}."
    if low > 0 and most <= SMALL * unit:
        return "neither", (
            f"More data of this kind would hardly help: doubling it buys at most {most:.1g}, although {apart}; the model overfits."
        )
    return "unknown", (
        f"Cannot tell whether more data or a stronger model would help: the gap is {here:.2g} ({low:.2g} to {high:.2g}), and doubling "
        f"the data buys {bought:.2g} ({least:.2g} to {most:.2g})."
    )
