"""Metrics that are a function of sums over items: each says which numbers one item adds, and what the totals mean.

mean, brier, log_loss, mae   (1, x)               total / total
ratio                        (below, above)       total / total, never a mean of ratios
perplexity                   (below, above)       exp(total / total)
rmse                         (1, e^2)             sqrt(total / total)
r2                           (1, y, y^2, e^2)     1 - sum e^2 / sum (y - mean)^2
ece                          (1, p - y by bin)    sum over bins |total| / n
a metric of a table          its margins          for items in groups, with weights or repeats

Each metric is one object, listed in SUMS. NumPy is loaded by the arithmetic, not by the objects.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.base import Family, Metric
from steelyard_old.metrics.inner import InnerQuantity
from steelyard_old.metrics.table import Margins, TableStatistic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]

BINS = 10
HEAVY = 4.5  # of n sum(e^4) / sum(e^2)^2: 3 for normal errors, above this in 3% of samples of 15 of them
FEW = 1000  # items up to which RMSE is studentized; beyond, BCa is the same but for 1% of its width, and cheaper


@dataclass(frozen=True, slots=True)
class SumStatistic:
    """value maps column totals, shape (..., k), to numbers, shape (...); gradient maps totals (k,) to derivatives (k,).

    classes: of how many classes the columns are the margins; 0 where they are none.
    """

    value: Callable[[FloatArray], FloatArray]
    gradient: Callable[[FloatArray], FloatArray]
    classes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SumsMetric(Metric):
    """A number of sums over items.

    adds: what each item adds, shape (items, k), from the columns it reads: score; above and below; truth and prediction as
    numbers; or the probability of the positive class and 1 if the item is positive.
    interval: the default one; in_groups, for items in groups; few_items, for so few items that stand alone. steadier: a metric that
    depends less on single items, where a few of them can make up this one. size_below: the number below the line is the size of the
    item, in a unit that two systems must share, as tokens of one tokenizer. impossible: what is probably wrong where a value lies
    below the least that there is.
    """

    adds: Callable[..., FloatArray]
    statistic: SumStatistic
    interval: str = "bca"
    in_groups: str = "delta"
    few_items: tuple[int, str] | None = None
    function_of: InnerQuantity[SumStatistic] | None = None
    steadier: str | None = None
    size_below: bool = False
    impossible: str = "are these the columns that were meant?"

    family: ClassVar[Family] = "sums"
    own: ClassVar[tuple[str, ...]] = ("statistic",)

    @property
    def linear(self) -> str:
        """What the linearised interval is called."""
        return "t" if self.mean_of_items else "delta"

    def default_interval(self, kind: str, n: int) -> str:
        """The interval for units of this kind, where nothing is known of the range of their numbers."""
        if kind == "groups":
            return self.in_groups
        return self.few_items[1] if kind == "items" and self.few_items is not None and n <= self.few_items[0] else self.interval

    @property
    def proportional(self) -> bool:
        return self.statistic is QUOTIENT

    def unlike(self, one: FloatArray, other: FloatArray) -> BoolArray:
        """Which items two systems cannot be compared by: those that add another size below the line, where that is the item's own."""
        import numpy as np

        return one[:, 0] != other[:, 0] if self.size_below else np.zeros(len(one), bool)

    def rests_on_few(self, rows: FloatArray, count: npt.NDArray[np.integer]) -> str | None:
        """What to say where a few items make up half of it, so that nobody knows how large others can become; None where none do.

        rows: what distinct items add; count: how many items add the same.
        """
        if self.steadier is None:
            return None
        import numpy as np

        squares = np.repeat(rows[:, 1], count)
        total = float(squares.sum())
        if not total > 0 or len(squares) * float(((squares / total) ** 2).sum()) <= HEAVY:
            return None
        half = int(np.searchsorted(np.cumsum(np.sort(squares)[::-1]), total / 2)) + 1
        few = "the largest error makes" if half == 1 else f"the {half} largest errors make"
        return (
            f"{self.name}: {few} up half of the sum of squares of {len(squares)} items: with such tails the interval covers less than "
            f"it says, nearly always because it ends too low; {self.steadier} depends less on single items"
        )

    def of_columns(self, *columns: FloatArray) -> float:
        """Its value, from columns of numbers."""
        return float(self.statistic.value(self.adds(*columns).sum(0)))


# ---- what totals mean ----------------------------------------------------------------------------------------------------


def _quotient(s: FloatArray) -> FloatArray:
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(s[..., 0] != 0, s[..., 1] / s[..., 0], np.nan))


def _quotient_gradient(s: FloatArray) -> FloatArray:
    import numpy as np

    return np.array([-s[1] / s[0] ** 2, 1 / s[0]])


def _perplexity(s: FloatArray) -> FloatArray:
    """exp(sum of minus log likelihoods / sum of words): infinite beyond float64. Reference: Jelinek1977."""
    import numpy as np

    with np.errstate(over="ignore"):
        return np.asarray(np.exp(_quotient(s)))


def exponential(exponent: float) -> float:
    """exp, infinite where float64 ends. No reference: a limit of the machine.

    >>> exponential(0.0), exponential(1000.0)
    (1.0, inf)
    """
    try:
        return math.exp(exponent)
    except OverflowError:
        return math.inf


def _root(s: FloatArray) -> FloatArray:
    import numpy as np

    return np.asarray(np.sqrt(_quotient(s)))


def _root_gradient(s: FloatArray) -> FloatArray:
    import numpy as np

    return np.asarray(_quotient_gradient(s) / (2 * np.sqrt(s[1] / s[0])))


def _r2(s: FloatArray) -> FloatArray:
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        around_mean = s[..., 2] - s[..., 1] ** 2 / s[..., 0]
        # A resample of one distinct value has only rounding left around its mean.
        return np.asarray(np.where(around_mean > 1e-12 * np.abs(s[..., 2]), 1 - s[..., 3] / around_mean, np.nan))


def _r2_gradient(s: FloatArray) -> FloatArray:
    import numpy as np

    around_mean = s[2] - s[1] ** 2 / s[0]
    slope = s[3] / around_mean**2
    return np.array([slope * s[1] ** 2 / s[0] ** 2, slope * -2 * s[1] / s[0], slope, -1 / around_mean])


def _ece(s: FloatArray) -> FloatArray:
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.abs(s[..., 1:]).sum(-1) / s[..., 0])


def _ece_gradient(s: FloatArray) -> FloatArray:
    import numpy as np

    return np.concatenate([[-np.abs(s[1:]).sum() / s[0] ** 2], np.sign(s[1:]) / s[0]])


QUOTIENT = SumStatistic(_quotient, _quotient_gradient)


def of_margins(statistic: TableStatistic, classes: int) -> SumStatistic:
    """A metric of a table as a function of summed margins [hits, truths, predictions, n]. No reference: its own formula."""

    import numpy as np

    def margins(s: FloatArray) -> Margins:
        hit, truth, prediction = (s[..., i * classes : (i + 1) * classes] for i in range(3))
        return Margins(hit, truth, prediction, s[..., -1])

    def gradient(s: FloatArray) -> FloatArray:
        g = statistic.gradient(margins(s))
        return np.concatenate([g.hit, g.truth, g.prediction, [g.n]])

    return SumStatistic(lambda s: np.asarray(statistic.value(margins(s))), gradient, classes)


# ---- what items add ------------------------------------------------------------------------------------------------------


def one_number(x: FloatArray) -> FloatArray:
    """(1, x). No reference: the numbers themselves.

    >>> import numpy as np
    >>> one_number(np.array([0.5]))
    array([[1. , 0.5]])
    """
    import numpy as np

    return np.stack([np.ones(len(x)), x], axis=1)


def _above_below(above: FloatArray, below: FloatArray) -> FloatArray:
    import numpy as np

    return np.stack([below, above], axis=1)


def _squared_probability_error(p: FloatArray, y: FloatArray) -> FloatArray:
    """Reference: Brier1950."""
    return one_number((p - y) ** 2)


def _minus_log_likelihood(p: FloatArray, y: FloatArray) -> FloatArray:
    """Reference: Good1952."""
    import numpy as np

    with np.errstate(divide="ignore"):
        return one_number(-np.log(np.where(y > 0, p, 1 - p)))


def _calibration_bins(p: FloatArray, y: FloatArray) -> FloatArray:
    """Reference: Naeini2015."""
    import numpy as np

    # The last bin includes 1; bin edges as k/10, so that 0.3 lies in the bin that starts there.
    bins = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    rows = np.zeros((len(p), 1 + BINS))
    rows[:, 0] = 1
    rows[np.arange(len(p)), 1 + bins] = p - y
    return rows


def _absolute_error(truth: FloatArray, prediction: FloatArray) -> FloatArray:
    return one_number(abs(prediction - truth))


def _squared_error(truth: FloatArray, prediction: FloatArray) -> FloatArray:
    return one_number((prediction - truth) ** 2)


def _variance_and_error(truth: FloatArray, prediction: FloatArray) -> FloatArray:
    import numpy as np

    centred = truth - truth.mean()  # R^2 does not depend on where y starts; its sums of squares lose digits if it starts far
    return np.stack([np.ones(len(truth)), centred, centred**2, (prediction - truth) ** 2], axis=1)


# ---- the metrics ---------------------------------------------------------------------------------------------------------

MEAN = SumsMetric(
    base="mean",
    says="mean score",
    low=None,
    high=None,
    needs=("score",),
    direction_of_scores=True,
    adds=one_number,
    statistic=QUOTIENT,
    mean_of_items=True,
    interval="t",
    in_groups="t",
)
BRIER = SumsMetric(
    base="brier",
    says="mean squared error of the probability",
    higher_is_better=False,
    needs=("truth", "probability"),
    adds=_squared_probability_error,
    statistic=QUOTIENT,
    mean_of_items=True,
    interval="t",
    in_groups="t",
)
LOG_LOSS = SumsMetric(
    base="log_loss",
    aliases=("logloss",),
    says="mean negative log likelihood",
    high=None,
    higher_is_better=False,
    needs=("truth", "probability"),
    adds=_minus_log_likelihood,
    statistic=QUOTIENT,
    mean_of_items=True,
    interval="t",
    in_groups="t",
)
ECE = SumsMetric(
    base="ece",
    says="expected calibration error, ten equal bins",
    higher_is_better=False,
    needs=("truth", "probability"),
    adds=_calibration_bins,
    statistic=SumStatistic(_ece, _ece_gradient),
    # a biased estimate with a spread that depends on it: the others cover next to nothing where it is small
    interval="studentized",
    in_groups="studentized",
)
MAE = SumsMetric(
    base="mae",
    says="mean absolute error of numbers",
    high=None,
    higher_is_better=False,
    numeric=True,
    adds=_absolute_error,
    statistic=QUOTIENT,
    mean_of_items=True,
    interval="t",
    in_groups="t",
)
RMSE = SumsMetric(
    base="rmse",
    says="root mean squared error of numbers",
    high=None,
    higher_is_better=False,
    numeric=True,
    adds=_squared_error,
    statistic=SumStatistic(_root, _root_gradient),
    few_items=(FEW, "studentized"),
    steadier="mae",
)
R2 = SumsMetric(
    base="r2",
    says="share of the variance of numbers explained",
    low=None,
    numeric=True,
    adds=_variance_and_error,
    statistic=SumStatistic(_r2, _r2_gradient),
    undefined="the truths do not vary",
)
RATIO = SumsMetric(
    base="ratio",
    says="sum of one column over sum of another",
    low=None,
    high=None,
    higher_is_better=False,
    needs=("ratio",),
    direction_of_scores=True,
    adds=_above_below,
    statistic=QUOTIENT,
    interval="percentile",
)
PERPLEXITY = SumsMetric(
    base="perplexity",
    says="exp of one sum over another: minus log likelihood, words",
    low=1.0,
    high=None,
    higher_is_better=False,
    needs=("ratio",),
    adds=_above_below,
    statistic=SumStatistic(_perplexity, lambda s: _quotient_gradient(s) * _perplexity(s)),
    interval="percentile",
    function_of=InnerQuantity("ratio", QUOTIENT, exponential, math.log, logarithm=True),
    size_below=True,
    impossible="above the line belongs minus the log likelihood; is its sign turned?",
)
SUMS = (MEAN, BRIER, LOG_LOSS, ECE, MAE, RMSE, R2, RATIO, PERPLEXITY)
