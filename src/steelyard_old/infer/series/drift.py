"""Slow drift over many runs: a self-starting CUSUM chart with its average run length, and the run-to-run deviation.

Values are turned so that up is good, and runs are taken as independent and equally noisy, which a series of nights on the same
items is as long as nothing but chance differs between them. A chart is never finished: it has no p-value, but a mean number
of healthy runs between two false alarms, its average run length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.normal import tail
from steelyard_old.late_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
NORMAL = 10_000  # variance of a number of right items from which its law is normal enough
SUMS = 600  # points of the grid on which a chart of shares is solved
LONGEST = 1e9  # runs: beyond it an average run length is told as "never", and the equations lose their digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What is known before the first run of a series: the runs of the reference, as their number, mean and deviation."""

    runs: int = 0
    mean: float = 0.0
    deviation: float = 0.0

    @property
    def squares(self) -> float:
        """The sum of squares about the mean."""
        return (self.runs - 1) * self.deviation**2 if self.runs > 1 else 0.0


def self_starting(values: Sequence[float], start: Start | None = None) -> list[float | None]:
    """Each run compared with all before it, as a standard normal number: no mean and no deviation needs to be known.

    Formula: u_t = Phi^-1(F_{m-1}(sqrt(m/(m+1)) (x_t - mean) / s)), with mean and deviation s of the m runs before (those of the
    reference included) and F the law of Student with m - 1 degrees of freedom. Assumes: independent normal runs of one
    deviation; then the u_t are independent and exactly standard normal while nothing changes.
    Undefined (None): fewer than two runs before, or runs before that are all equal. Reference: Hawkins1987.

    >>> [None if u is None else round(u, 3) for u in self_starting([0.80, 0.82, 0.81, 0.75])]
    [None, None, 0.0, -2.107]
    """
    from scipy.special import ndtri_exp, stdtr

    start = start or Start()
    m, mean, squares = start.runs, start.mean if start.runs else 0.0, start.squares
    out: list[float | None] = []
    for x in values:
        gap = x - mean
        # Differences in the last bits of numbers this large are rounding, not noise.
        noise = math.sqrt(squares / (m - 1)) if m > 1 else 0.0
        if noise > 1e-12 * max(1.0, abs(mean)):
            t = math.sqrt(m / (m + 1)) * gap / noise
            # The smaller tail, in logs: far out, the larger one is 1 to the last bit.
            u = float(ndtri_exp(math.log(max(float(stdtr(m - 1, -abs(t))), 1e-300))))
            out.append(math.copysign(-u, t) if t else 0.0)
        else:
            out.append(None)
        squares += gap * gap * m / (m + 1)
        mean += gap / (m + 1)
        m += 1
    return out


def cusum(scores: Sequence[float | None], k: float = 0.5) -> list[float]:
    """The lower CUSUM: what the scores have fallen short by, beyond an allowance of k each, since they last stood well.

    Formula: S_0 = 0, S_t = max(0, S_{t-1} - u_t - k); an alarm where S_t >= h. It is tuned to a fall of 2k deviations.
    A score that is not known moves nothing. Reference: Page1954.

    >>> cusum([0.5, -1.5, -2.0, None, 1.0])
    [0.0, 1.0, 2.5, 2.5, 1.0]
    """
    if not k >= 0 or not math.isfinite(k):
        raise UsageError(f"k must be a number of 0 or more, not {k!r}.", got=f"k = {k!r}", need="a number of 0 or more")
    out, sum_ = [], 0.0
    for u in scores:
        sum_ = sum_ if u is None else max(0.0, sum_ - u - k)
        out.append(sum_)
    return out


def cusum_run_length(k: float, h: float, shift: float = 0.0, nodes: int | None = None) -> float:
    """The average run length of the one-sided CUSUM: runs until the alarm, when the mean has moved `shift` the chart's way.

    Formula: L(u) = 1 + L(0) Phi(k' - u) + integral_0^h L(x) phi(x + k' - u) dx with k' = k - shift, solved at the nodes of a
    Gauss-Legendre rule; the answer is L(0). Assumes: independent normal scores of deviation 1.
    Undefined: h <= 0. Infinite beyond 1e9 runs. Reference: Vance1986 for the rule; BrookEvans1972 for the Markov chain that it replaces.

    >>> round(cusum_run_length(0.5, 5), 1), round(cusum_run_length(0.5, 5, shift=1), 2)
    (930.9, 10.38)
    """
    if not (math.isfinite(k) and math.isfinite(shift) and 0 < h < 1000):
        raise UsageError(
            f"The average run length needs numbers k and h, with 0 < h < 1000, not {k!r} and {h!r}.",
            got=f"k = {k!r}, h = {h!r}",
            need="numbers, with 0 < h < 1000",
        )
    from scipy.special import ndtr

    many = nodes or min(400, 40 + 8 * math.ceil(h))
    x, weights = np.polynomial.legendre.leggauss(many)
    x, weights = (x + 1) * h / 2, weights * h / 2
    allowance = k - shift
    at = np.concatenate([[0.0], x])  # the point 0 has a mass of its own
    kernel = np.exp(-0.5 * (x[None, :] + allowance - at[:, None]) ** 2) / math.sqrt(2 * math.pi) * weights
    matrix = np.eye(many + 1)
    matrix[:, 1:] -= kernel
    matrix[:, 0] -= ndtr(allowance - at)
    found = float(np.linalg.solve(matrix, np.ones(many + 1))[0])
    return found if 0 < found < LONGEST else math.inf


def share_run_length(k: float, h: float, n: int, share: float, shift: float = 0.0) -> float:
    """The average run length where a run is the share of n items that are right: skewed, so that near 1 falls alarm more often.

    Formula: as `cusum_run_length` with the standardised Binomial(n, share) for the normal scores; the equation for the mean number
    of runs is solved on a grid of 600 sums, each step shared between the two nearest. Assumes: every item is right with the same
    chance in every run; items that differ make it less skewed. Beyond n share (1 - share) = 10,000 the normal law is taken.
    Undefined: a share of 0 or 1, where nothing varies. Reference: BrookEvans1972 for the chain.

    >>> round(share_run_length(0.5, 5, 250, 0.85), -1), round(share_run_length(0.5, 5, 50, 0.95), -1)
    (790.0, 480.0)
    """
    if not 0 < share < 1 or n < 1:
        raise UsageError(
            f"share must lie between 0 and 1, not at {share:g} (of {n} items).",
            got=f"{share:g} of {n} items",
            need="a share between 0 and 1",
        )
    if n * share * (1 - share) > NORMAL:
        return cusum_run_length(k, h, shift)
    cusum_run_length(k, h, shift)  # refuses a chart that cannot be
    from scipy.special import gammaln

    deviation_ = math.sqrt(n * share * (1 - share))
    right = np.arange(max(0, math.floor(n * share - 10 * deviation_)), min(n, math.ceil(n * share + 10 * deviation_)) + 1)
    logged = gammaln(n + 1) - gammaln(right + 1) - gammaln(n - right + 1) + right * math.log(share) + (n - right) * math.log1p(-share)
    mass = np.exp(logged)
    sums = np.arange(SUMS) * h / SUMS
    then = np.maximum(0.0, sums[:, None] - ((right - n * share) / deviation_ - shift) - k) * SUMS / h
    low = np.floor(then).astype(np.int64)
    part = then - low
    matrix = np.zeros((SUMS, SUMS + 2))  # the last two columns are alarms
    row = np.repeat(np.arange(SUMS), len(right))
    for column, weight in ((low, mass * (1 - part)), (low + 1, mass * part)):
        np.add.at(matrix, (row, np.minimum(column, SUMS + 1).ravel()), weight.ravel())
    found = float(np.linalg.solve(np.eye(SUMS) - matrix[:, :SUMS], np.ones(SUMS))[0])
    return found if 0 < found < LONGEST else math.inf


def deviation(values: Sequence[float], start: Start | None = None, confidence_level: float = 0.95) -> tuple[float, float, float, int]:
    """The run-to-run deviation, its interval and its degrees of freedom, the runs of the reference pooled with the series.

    Formula: s^2 = (SS + SS_ref) / df, df = (n - 1) + (r - 1), each about its own mean, so that a reference of another level adds
    nothing; low, high = s sqrt(df / chi2 quantile). Assumes: independent normal runs; a drift within the series makes s larger.
    Undefined: no degree of freedom. Reference: Montgomery2009, chapter 4.

    >>> [round(x, 4) for x in deviation([0.80, 0.82, 0.81, 0.83])]
    [0.0129, 0.0073, 0.0481, 3]
    """
    from scipy.special import chdtri

    start = start or Start()
    df = max(0, len(values) - 1) + max(0, start.runs - 1)
    if df < 1:
        raise DataError("The run-to-run deviation needs two runs or more.", got="one run", need="two runs or more")
    moved = np.asarray(values, float) - (values[0] if len(values) else 0.0)  # equal runs then have squares of exactly 0
    squares = start.squares + (float(np.sum((moved - moved.mean()) ** 2)) if len(values) else 0.0)
    s = math.sqrt(squares / df)
    out = tail(confidence_level, "two")
    return s, s * math.sqrt(df / float(chdtri(df, out))), s * math.sqrt(df / float(chdtri(df, 1 - out))), df


def successive_deviation(values: Sequence[float]) -> float:
    """The deviation from the steps between neighbours, which a slow drift hardly moves: far below `deviation`, the series drifts.

    Formula: sqrt(sum (x_{t+1} - x_t)^2 / (2 (n - 1))). Undefined: fewer than two runs. Reference: VonNeumann1941.

    >>> round(successive_deviation([1.0, 2.0, 3.0, 4.0]), 4)
    0.7071
    """
    if len(values) < 2:
        raise DataError(
            f"The deviation between neighbours needs two runs or more, got {len(values)}.",
            got=f"{len(values)} run(s)",
            need="two runs or more",
        )
    steps = np.diff(np.asarray(values, float))
    return float(math.sqrt(float(np.sum(steps**2)) / (2 * len(steps))))
