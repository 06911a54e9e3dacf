"""How sure a learning curve is: weights for its points, curves and points redrawn, and the size that reaches an error.

Errors are turned so that down is good and 0 is the floor: 1 - accuracy, or a loss as it is. The curve is a power law,
error = a + b n^-c. For a given c it is linear in a and b, so the fit is a search over c alone, with a and b in closed form, of
one curve or of thousands of redrawn ones at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.normal import tail
from steelyard_old.late_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
STEEPEST, FLATTEST = 5.0, 0.02  # beyond them a curve is a step, or cannot be told from a constant
_GRID = np.geomspace(FLATTEST, STEEPEST, 60)
_GOLDEN = (math.sqrt(5) - 1) / 2
_HALVINGS = 45
_NEAR = 1e-3  # of the bracket: where the root of the slope is looked for, around what golden section has found

# ---- weights ---------------------------------------------------------------------------------------------------------


def smooth_spread(sizes: npt.ArrayLike, errors: npt.ArrayLike) -> FloatArray | None:
    """The variance between seeds at every size, as a power of the size; None if fewer than 3 seeds or no spread at all.

    Formula: exp of the straight line through log s_j^2 against log n_j. Why: the spread of five seeds is itself off by a
    third, and weights that are off by as much waste half of the points. errors: one row per seed, NaN where there is none.
    Reference: CarrollRuppert1988, chapter 3.

    >>> smooth_spread([10, 100], [[0.5, 0.2], [0.3, 0.1], [0.4, 0.15]]).round(6)
    array([0.01  , 0.0025])
    """
    e = np.asarray(errors, float)
    seen = np.sum(~np.isnan(e), axis=0)
    if len(e) < 3 or seen.min() < 3:
        return None
    spread = np.nanvar(e, axis=0, ddof=1)
    if not spread.max() > 1e-20:
        return None
    spread = np.maximum(spread, spread[spread > 1e-20].min() / 4)  # a size where all seeds happen to agree is no certainty
    x = np.log(np.asarray(sizes, float))
    slope, level = np.polyfit(x - x.mean(), np.log(spread), 1)
    return np.asarray(np.exp(level + slope * (x - x.mean())))


def share_variance(errors: npt.ArrayLike, n_test: npt.ArrayLike) -> FloatArray:
    """The variance of a share of wrong answers among n_test items: p(1-p)/n, with one right and one wrong item added to p.

    The two added items keep a share of 0 or 1 from being certain. Reference: AgrestiCoull1998.

    >>> share_variance([0.0, 0.5], [98, 98]).round(6)
    array([0.000101, 0.002551])
    """
    e, n = np.asarray(errors, float), np.asarray(n_test, float)
    p = (e * n + 1) / (n + 2)
    return np.asarray(p * (1 - p) / n)


# ---- how sure --------------------------------------------------------------------------------------------------------


def redraw_curves(errors: npt.ArrayLike, draws: int, rng: np.random.Generator) -> FloatArray:
    """Mean curves as other seeds might have given them: whole curves reweighted at random, never points apart.

    Formula: mean + sum_s g_s (e_s - mean) / sqrt(S (S - 1)), g standard normal, all divided by sqrt(chi^2_{S-1} / (S - 1)).
    Why not S curves drawn with replacement: with 5 seeds their mean varies (S-1)/S too little and has normal tails. These
    draws have the covariance of the mean curve and Student's tails, so for anything linear in the curve the percentiles
    are the t interval. errors: one row per seed, NaN where there is none; then each size counts its own seeds.
    Assumes: seeds alike and independent; sizes of one seed may depend on one another in any way (nested, one test set).
    Undefined: a size with fewer than 2 seeds.
    Reference: DavisonHinkley1997, section 2.3 for the plain draws; Mammen1993 for random weights.

    >>> draws = redraw_curves([[0.2, 0.2], [0.6, 0.4], [0.4, 0.3]], 20000, np.random.default_rng(0))
    >>> [round(float(x), 1) for x in np.quantile(draws[:, 0], [0.025, 0.975])]  # 0.4 -+ 4.303 x 0.2 / sqrt(3)
    [-0.1, 0.9]
    """
    e = np.asarray(errors, float)
    seen = ~np.isnan(e)
    many = seen.sum(0)
    mean = np.nansum(e, axis=0) / many
    gap = np.where(seen, e - mean, 0.0) / np.sqrt(many * (many - 1.0))
    return np.asarray(mean + rng.standard_normal((draws, len(e))) @ gap / _student_scale(int(many.min()) - 1, draws, rng)[:, None])


def redraw_points(
    fitted: npt.ArrayLike, variances: npt.ArrayLike, misfit: float, df: int, draws: int, rng: np.random.Generator, *, noise: str
) -> FloatArray:
    """Points as another run might have given them: the fitted curve and fresh noise.

    Formula: fitted_j + sqrt(v_j) s z_j, s^2 = misfit / df / (chi^2_df / df), misfit the sum of residual^2 / v.
    noise "residuals": as it stands, v up to a factor. "known": v are standard errors, so s is at least 1; residuals may
    be small by luck, noise is not. "shared": v is the noise of a test set that all sizes share; it moves them together, no
    residual shows it, so sqrt(v_j) z with one z for the whole curve is added.
    Assumes: otherwise independent noise. With "residuals", sizes that share a test set make the interval too short.
    Undefined: df below 1 (three numbers are fitted).
    Reference: DavisonHinkley1997, section 7.3.

    >>> redraw_points([0.2, 0.1], [0.01, 0.01], 2.0, 2, 5000, np.random.default_rng(0), noise="known").mean(0).round(2)
    array([0.2, 0.1])
    """
    centre, sd = np.asarray(fitted, float), np.sqrt(np.asarray(variances, float))
    s = math.sqrt(misfit / df) / _student_scale(df, draws, rng)
    apart = sd * rng.standard_normal((draws, len(centre))) * (np.maximum(s, 1.0) if noise == "known" else s)[:, None]
    return np.asarray(centre + apart + (sd * rng.standard_normal((draws, 1)) if noise == "shared" else 0.0))


def _student_scale(df: int, draws: int, rng: np.random.Generator) -> FloatArray:
    return np.sqrt(rng.chisquare(df, draws) / df)


def ends(values: npt.ArrayLike, confidence_level: float = 0.95, side: str = "two") -> tuple[float, float]:
    """The percentiles of redrawn values, some of which may be infinite: order statistics, never a mean of two.

    Formula: the k-th smallest and k-th largest of R, k = floor((R + 1) tail). Assumes: enough draws that k is 1 or more.
    Reference: DavisonHinkley1997, section 5.3.1.

    >>> ends([1.0, 2.0, 3.0, 4.0, math.inf], 0.8)
    (1.0, inf)
    """
    v = np.sort(np.asarray(values, float))
    k = max(1, math.floor((len(v) + 1) * tail(confidence_level, side) + 1e-9))
    return float(v[k - 1]), float(v[-k])


# ---- a fit and its redrawn ones --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class CurveFit:
    """A learning curve and what other data might have given; `redrawn` is None where there is no noise to judge by."""

    law: PowerLaws
    redrawn: PowerLaws | None

    @property
    def falls(self) -> bool:
        """Whether more data make the error smaller at all."""
        return bool(self.law.b[0] > 0)

    @property
    def flat(self) -> float:
        """The share of the redrawn curves on which more data help nothing; 0 without noise to judge by."""
        return 0.0 if self.redrawn is None else float((self.redrawn.b <= 0).mean())

    def error(self, n: float, confidence_level: float = 0.95) -> tuple[float, float | None, float | None]:
        """(estimate, low, high) of the error at a size."""
        return float(self.law.error(n)[0]), *self._ends(None if self.redrawn is None else self.redrawn.error(n), confidence_level)

    def asymptote(self, confidence_level: float = 0.95) -> tuple[float, float | None, float | None]:
        """(estimate, low, high) of the error that no amount of data goes below."""
        return float(self.law.a[0]), *self._ends(None if self.redrawn is None else self.redrawn.a, confidence_level)

    def size(self, error: float, confidence_level: float = 0.95) -> tuple[float, float | None, float | None]:
        """(estimate, low, high) of the size that reaches an error; infinite where it is never reached.

        A falling curve is below the error at n exactly if it reaches it before n, so this interval holds the sizes at
        which the interval of `error` contains it.
        """
        return float(self.law.size(error)[0]), *self._ends(None if self.redrawn is None else self.redrawn.size(error), confidence_level)

    def out_of_reach(self, error: float, confidence_level: float = 0.95) -> bool:
        """Whether the one-sided lower bound of the asymptote lies above the error; never without noise to judge by."""
        return self.redrawn is not None and ends(self.redrawn.a, confidence_level, "lower")[0] > error

    @staticmethod
    def _ends(values: FloatArray | None, confidence_level: float) -> tuple[float | None, float | None]:
        return (None, None) if values is None else ends(values, confidence_level)


def fit_curves(
    sizes: npt.ArrayLike, errors: npt.ArrayLike, variances: npt.ArrayLike | None, *, draws: int, rng: np.random.Generator
) -> CurveFit:
    """Several curves, one row per seed: the fit of their mean, and of `draws` mean curves that other seeds might have given.

    variances: of one seed's error at each size; None takes the smoothed spread of the seeds, or equal ones. Coverage of the
    95% interval of the size, seeds with a test set each, target at twice the largest size: .94 with 5 seeds, .95 with 10; .92
    where the true asymptote is the floor; 5 curves drawn with replacement: .84 (tests/infer/learning/test_learning_curve.py).
    Reference: Figueroa2012; DavisonHinkley1997.

    >>> rng = np.random.default_rng(0)
    >>> e = 0.1 + 2 / np.array([20, 40, 80, 160, 320]) + rng.normal(0, 0.004, (5, 5))
    >>> [round(x) for x in fit_curves([20, 40, 80, 160, 320], e, None, draws=2000, rng=rng).size(0.11)]
    [186, 147, 293]
    """
    e = np.asarray(errors, float)
    many = np.sum(~np.isnan(e), axis=0)
    mean = np.nansum(e, axis=0) / many
    v = smooth_spread(sizes, e) if variances is None else np.asarray(variances, float)
    weights = many if v is None else many / v
    law = fit_power_law(sizes, mean, weights)
    if not np.nanmax(np.abs(e - mean)) > 1e-12 * np.nanmax(np.abs(e)):
        return CurveFit(law, None)
    return CurveFit(law, fit_power_law(sizes, redraw_curves(e, draws, rng), weights))


def fit_points(
    sizes: npt.ArrayLike,
    errors: npt.ArrayLike,
    variances: npt.ArrayLike | None,
    *,
    noise: str = "residuals",
    draws: int,
    rng: np.random.Generator,
) -> CurveFit:
    """One curve, or points without curves: the fit, and those of `draws` sets of points with fresh noise.

    variances: of each point; None: all alike. noise: see `redraw_points`; residuals have points - 3 degrees of freedom. The
    95% interval of the size covers .98 when points are independent, and .76 when they share a test set twice as noisy as
    the rest; told so ("shared", with its variance) .97 (tests/infer/learning/test_learning_curve.py).
    Reference: Figueroa2012; DavisonHinkley1997.

    >>> rng = np.random.default_rng(0)
    >>> e = 0.1 + 2 / np.array([20, 40, 80, 160, 320]) + rng.normal(0, 0.002, 5)
    >>> low, high = fit_points([20, 40, 80, 160, 320], e, None, draws=2000, rng=rng).size(0.11)[1:]
    >>> low < 200 < high
    True
    """
    e = np.asarray(errors, float)
    v = np.ones(len(e)) if variances is None else np.asarray(variances, float)
    law = fit_power_law(sizes, e, 1 / v)
    fitted = np.array([float(law.error(n)[0]) for n in np.asarray(sizes, float).tolist()])
    misfit = float(np.sum((e - fitted) ** 2 / v))
    if noise == "residuals" and not np.abs(e - fitted).max() > 1e-9 * np.abs(e).max():
        return CurveFit(law, None)
    redrawn = redraw_points(fitted, v, misfit, len(e) - 3, draws, rng, noise=noise)
    return CurveFit(law, fit_power_law(sizes, redrawn, 1 / v))


# ---- the power law ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PowerLaws:
    """Curves error = a + b (n / unit)^-c, one per entry. `a` is the asymptote, `misfit` the weighted sum of squares left over."""

    a: FloatArray
    b: FloatArray
    c: FloatArray
    unit: float
    misfit: FloatArray

    def error(self, n: float) -> FloatArray:
        """The error at a training size.

        >>> fit_power_law([1, 2, 4, 8, 16], [1.1, 0.6, 0.35, 0.225, 0.1625]).error(32).round(5)
        array([0.13125])
        """
        return np.asarray(self.a + self.b * (n / self.unit) ** -self.c)

    def size(self, error: float) -> FloatArray:
        """The training size at which the error is reached; infinite where it never is.

        >>> fit_power_law([1, 2, 4, 8, 16], [1.1, 0.6, 0.35, 0.225, 0.1625]).size(0.15).round(6)
        array([20.])
        """
        room = error - self.a
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            ratio = np.where(room > 0, self.b / room, np.inf)
            return np.asarray(self.unit * ratio ** (1 / self.c))

    @property
    def scale(self) -> FloatArray:
        """b for n counted in items, as in a + b n^-c."""
        return np.asarray(self.b * self.unit**self.c)


def fit_power_law(sizes: npt.ArrayLike, errors: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> PowerLaws:
    """The learning curve through points, by weighted least squares: one curve, or one per row of errors.

    Formula: minimise sum_j w_j (e_j - a - b n_j^-c)^2 over a >= 0, b >= 0 and c from .02 to 5. For each c the best a, b are
    those of a straight line, or of its edges a = 0 and b = 0 (variable projection); c by 60 values, then golden
    section to five digits, then bisection of the slope, whose root keeps the digits that a flat minimum loses.
    Assumes: an error that falls towards a limit as a power of the size; no phase change, no double descent.
    Undefined: fewer than 3 sizes. A curve that does not fall has b = 0, and then c means nothing.
    Reference: GolubPereyra1973; Figueroa2012 for the curve and its weights; VieringLoog2023 for where it holds.

    >>> law = fit_power_law([100, 400, 900, 1600, 2500], [0.15, 0.1, 0.05 + 1 / 30, 0.075, 0.07])
    >>> [round(float(x), 3) for x in (law.a[0], law.scale[0], law.c[0])]
    [0.05, 1.0, 0.5]
    """
    n, e = np.asarray(sizes, float), np.atleast_2d(np.asarray(errors, float))
    w = np.ones(len(n)) if weights is None else np.asarray(weights, float) / np.mean(np.asarray(weights, float))
    unit = float(np.exp(np.mean(np.log(n))))  # counted from the middle of the sizes, n^-c keeps near 1
    log_n = np.log(n / unit)
    best = np.argmin(_grid_misfits(np.exp(-np.multiply.outer(_GRID, log_n)), e, w), axis=1)
    low, high = _GRID[np.maximum(best - 1, 0)], _GRID[np.minimum(best + 1, len(_GRID) - 1)]
    c = _golden(low, high, lambda trial: _line(np.exp(-np.multiply.outer(trial, log_n)), e, w)[2])
    near = _NEAR * (high - low)
    c = _rooted(c, np.maximum(c - near, FLATTEST), np.minimum(c + near, STEEPEST), lambda trial: _slope(trial, log_n, e, w))
    a, b, misfit = _line(np.exp(-np.multiply.outer(c, log_n)), e, w)
    return PowerLaws(a, b, c, unit, misfit)


def _grid_misfits(x: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
    """The misfit of every row of y with every row of x, from sums alone: good enough to find the neighbourhood."""
    xw, total = x * w, w.sum()
    sx, sxx, sy, sxy = xw.sum(1), (xw * x).sum(1), (y @ w)[:, None], y @ xw.T
    a, b = _settle(sx, sxx, sy, sxy, total)
    return np.asarray((y**2 @ w)[:, None] - 2 * (a * sy + b * sxy) + a * a * total + 2 * a * b * sx + b * b * sxx)


def _line(x: FloatArray, y: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(a, b, misfit) row by row. The misfit is of the residuals: a difference of sums would lose the digits of a close fit."""
    xw = x * w
    a, b = _settle(xw.sum(1), (xw * x).sum(1), y @ w, (xw * y).sum(1), float(w.sum()))
    return a, b, np.asarray((y - a[:, None] - b[:, None] * x) ** 2 @ w)


def _settle(sx: FloatArray, sxx: FloatArray, sy: FloatArray, sxy: FloatArray, total: float) -> tuple[FloatArray, FloatArray]:
    """The line y = a + b x with a, b >= 0 of weighted sums: the free one where it may be, else the better of the two edges."""
    b = (total * sxy - sx * sy) / (total * sxx - sx * sx)
    a = (sy - b * sx) / total
    through_floor, flat = np.maximum(sxy / sxx, 0.0), np.maximum(sy / total, 0.0)
    inside = (a >= 0) & (b >= 0)
    on_floor = through_floor**2 * sxx >= flat**2 * total  # what each edge explains
    return np.where(inside, a, np.where(on_floor, 0.0, flat)), np.where(inside, b, np.where(on_floor, through_floor, 0.0))


def _slope(c: FloatArray, log_n: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
    """Half the derivative of the misfit by c, row by row; a and b follow c, and add nothing to it where they are the best."""
    x = np.exp(-np.multiply.outer(c, log_n))
    a, b, _ = _line(x, y, w)
    return np.asarray(b * (((y - a[:, None] - b[:, None] * x) * x * log_n) @ w))


def _rooted(c: FloatArray, low: FloatArray, high: FloatArray, slope: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Where the slope turns from down to up between `low` and `high`, by bisection; c as it is where it does not turn there."""
    down, up = slope(low), slope(high)
    turns = ((down < 0) & (up > 0)) | ((low == FLATTEST) & (down > 0)) | ((high == STEEPEST) & (up < 0))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        falling = slope(middle) < 0
        low, high = np.where(falling, middle, low), np.where(falling, high, middle)
    return np.where(turns, (low + high) / 2, c)


def _golden(low: FloatArray, high: FloatArray, f: Callable[[FloatArray], FloatArray], steps: int = 20) -> FloatArray:
    """The minima of many functions of one variable at once, each between its own ends: 20 steps to five digits.

    More would not help: near its minimum a function is flat, and half of its digits say nothing about the place.
    """
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = f(left), f(right)
    for _ in range(steps):
        down = at_left <= at_right
        low, high = np.where(down, low, left), np.where(down, right, high)
        fresh = np.where(down, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_fresh = f(fresh)
        left, right = np.where(down, fresh, right), np.where(down, left, fresh)
        at_left, at_right = np.where(down, at_fresh, at_right), np.where(down, at_left, at_fresh)
    return (low + high) / 2
