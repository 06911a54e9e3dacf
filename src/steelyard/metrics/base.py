"""What a metric is: one object that knows its columns, its range and direction, and what may be asked of it.

A family (labels, sums, ranking, repeats) adds the tally that it is a function of and the arithmetic. A question asks the
object, never its name; a new metric is one object of a family, listed there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from steelyard.errors import UsageError

if TYPE_CHECKING:
    from steelyard.metrics.proportions import Proportion
    from steelyard.metrics.table import TableStatistic
    from steelyard.tally.counts import Counts

Family = Literal["table", "sums", "ranking", "repeats"]
EACH = "each"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric as asked for: `base` is its entry in the catalogue, `average` how classes are joined, `parameter` its number.

    needs: the columns it reads. numeric: truth and prediction are read as numbers. comparable: two systems can be compared by it
    on the same items. direction_of_scores: whether up is good is for the scores to say. undefined: what is missing where it has
    no value. example: how a name that needs a number is shown.
    """

    base: str
    says: str = ""
    aliases: tuple[str, ...] = ()
    average: str | None = None
    parameter: float | None = None
    low: float | None = 0.0
    high: float | None = 1.0
    higher_is_better: bool = True
    needs: tuple[str, ...] = ("truth", "prediction")
    numeric: bool = False
    comparable: bool = True
    direction_of_scores: bool = False
    undefined: str = "there is nothing to divide by"
    example: str = ""

    family: ClassVar[Family]
    number_pattern: ClassVar[str | None] = None  # of what follows the base, for a metric that needs a number

    # ---- its name

    @property
    def name(self) -> str:
        """The whole quantity: macro_f1, fbeta:2, pass@5."""
        return f"{self.average}_{self._own_name()}" if self.average else self._own_name()

    def _own_name(self) -> str:
        return self.base

    @property
    def shown(self) -> str:
        """The name in lists of metrics, with a number where it needs one."""
        return self.example or self.base

    def averaged(self, average: str | None, text: str) -> Self:
        """The same with an average over classes; refused where there are none. text: as it was written."""
        if average is None:
            return self
        if not self.of_class:
            got = f"{self.base} has no classes to average"
            raise UsageError(f"cannot use the metric {text!r}", got=got, need=self.base, hint=f"write {self.base}")
        return replace(self, average=average)

    def with_number(self, digits: str, text: str) -> Self:
        """The same with the number that its name ends with."""
        raise NotImplementedError

    def without_number(self, text: str) -> UsageError | None:
        """The error of a name that lacks its number; None where it needs none."""
        return None

    # ---- what it is

    @property
    def of_class(self) -> bool:
        """A quantity of one class: it needs a positive label or an average."""
        return False

    @property
    def right_or_wrong(self) -> bool:
        """The share of items that are right, or wrong, so that its spread follows from its value."""
        return False

    @property
    def mean_of_items(self) -> bool:
        """The mean of one number per item."""
        return False

    @property
    def over_classes(self) -> bool:
        """Every class has a say in it, however small."""
        return False

    @property
    def needs_negatives(self) -> bool:
        """It cannot be known from TP, FP and FN of one class."""
        return True

    @property
    def mean_of_scores(self) -> bool:
        """The mean of whatever numbers the scores are: their range is its range."""
        return self.mean_of_items and self.needs == ("score",)

    @property
    def scored(self) -> bool:
        """One score per item is enough, without labels."""
        return self.right_or_wrong or self.mean_of_scores

    @property
    def averages_scores(self) -> bool:
        """The mean of the scores as they stand, whether they are right or wrong or any number."""
        return self.counts_right or self.mean_of_scores

    @property
    def counts_right(self) -> bool:
        """The share of items that are right."""
        return self.right_or_wrong and self.higher_is_better

    @property
    def counts_wrong(self) -> bool:
        """The share of items that are wrong."""
        return self.right_or_wrong and not self.higher_is_better

    def of_right(self, right: Any) -> Any:
        """What right (1) and wrong (0), or the scores, of items count as."""
        return 1 - right if self.counts_wrong else right

    @property
    def of_probabilities(self) -> bool:
        """It reads a probability per item."""
        return "probability" in self.needs

    @property
    def ranks(self) -> bool:
        """Only the order of the probabilities matters."""
        return False

    @property
    def of_ratio(self) -> bool:
        """It divides the sum of one column by the sum of another."""
        return "ratio" in self.needs

    @property
    def error_of_numbers(self) -> bool:
        """How far off numbers are: an item's part is the size of its error."""
        return self.numeric and not self.higher_is_better

    @property
    def item_range(self) -> tuple[float, float] | None:
        """The least and the greatest number of one item, where the metric itself says so."""
        return (self.low, self.high) if self.mean_of_items and self.low is not None and self.high is not None else None

    @property
    def range_of_data(self) -> bool:
        """Its range is that of the numbers it is made of, which it does not know."""
        return self.low is None and self.high is None

    @property
    def width(self) -> float | None:
        """How far apart two values can be; None where there is no end."""
        return None if self.low is None or self.high is None else self.high - self.low

    # ---- what may be asked of it

    @property
    def stoppable(self) -> bool:
        """A run may stop early by it: it is known item by item."""
        return self.scored

    @property
    def learnable(self) -> bool:
        """One number of truths and predictions, by which learners can be scored."""
        return (self.family == "table" or self.numeric or self.of_probabilities) and self.average != EACH

    def why_undefined(self) -> str:
        """What is missing where it has no value, in words."""
        return self.undefined

    # ---- on a table

    def proportion(self, counts: Counts, label: int | None) -> Proportion | None:
        """How it is k of n of this table, or None if it is not."""
        if not self.mean_of_scores:
            return None
        from steelyard.metrics.proportions import RIGHT, Proportion

        return Proportion(RIGHT, None)

    def of_table(self, label: int | None = None, absent: str | None = None) -> TableStatistic:
        """The number of a table with its gradient; of one class, where it is of a class. A mean of 0 and 1 is the share of right."""
        if not self.mean_of_scores:
            raise TypeError(f"{self.name} is no number of a table")
        from steelyard.metrics.table import SHARE_RIGHT

        return SHARE_RIGHT


def positive_number(text: str, name: str) -> float:
    """The beta of an F-measure."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not 0 < number < float("inf"):
        raise UsageError(f"cannot use the metric {name!r}", got=f"beta {text}", need="a positive number", hint="fbeta:2")
    return number
