"""What a metric is: one object that knows its columns, its range and direction, and what may be asked of it.

A family (labels, sums, ranking, repeats) adds the tally that it is a function of and the arithmetic. A question asks the
object, never its name; a new metric is one object of a family, listed there.
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.inner import InnerQuantity

if TYPE_CHECKING:
    from steelyard_old.metrics.proportions import Proportion
    from steelyard_old.metrics.table import TableStatistic
    from steelyard_old.tally.counts import Counts

Family = Literal["table", "sums", "ranking", "repeats"]
Range = tuple[float, float]


class Law(Enum):
    """Closed forms of what is believed of a metric after a table; `estimate/table_rows` has the posterior of each."""

    F_BETA = auto()  # of one class, from its hits, false alarms and misses
    JACCARD = auto()
    MEAN_OF_SHARES = auto()  # over the classes, whose shares rest on different items


EACH = "each"
_follows = partial(field, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric as asked for: `base` is its entry in the catalogue, `average` how classes are joined, `parameter` its number.

    needs: the columns it reads. numeric: truth and prediction are read as numbers. comparable: two systems can be compared by it
    on the same items. direction_of_scores: whether up is good is for the scores to say. undefined: what is missing where it has
    no value. example: how a name that needs a number is shown; digits: that number, as the name has it. of_class: a quantity of one
    class, which needs a positive label or an average. always: the average that it always is. right_or_wrong: the share of items that
    are right, or wrong, so that its spread follows from its value. mean_of_items: the mean of one number per item. over_classes:
    every class has a say in it, however small. ranks: only the order of the probabilities matters. function_of: the
    quantity that its interval is found for, where that is not the metric itself.

    What follows from these is worked out once, when it is made, so that asking it is reading an attribute.
    """

    base: str
    says: str = ""
    aliases: tuple[str, ...] = ()
    average: str | None = None
    parameter: float | None = None
    digits: str = ""
    low: float | None = 0.0
    high: float | None = 1.0
    higher_is_better: bool = True
    needs: tuple[str, ...] = ("truth", "prediction")
    numeric: bool = False
    comparable: bool = True
    direction_of_scores: bool = False
    undefined: str = "there is nothing to divide by"
    example: str = ""
    of_class: bool = False
    always: str | None = None
    right_or_wrong: bool = False
    mean_of_items: bool = False
    over_classes: bool = False
    ranks: bool = False
    function_of: InnerQuantity[Any] | None = None

    name: str = _follows()  # the whole quantity: macro_f1, fbeta:2, pass@5
    row_name: str = _follows()  # what its rows are called: the same, but f1 for each_f1
    macro_name: str = _follows()  # its simple mean over the classes, where it has classes: macro_f1
    each_name: str = _follows()  # one number for every class, where it has classes: each_f1
    read_through: InnerQuantity[Any] = _follows()  # the quantity that its interval is found for: for most the metric itself
    joined: str | None = _follows()  # how classes are joined, asked for or always: macro, micro, weighted; None for one class or none
    averages_classes: bool = _follows()  # classes have a say in it by themselves, and not by their items alone
    pools: bool = _follows()  # the counts of all classes are one table
    each_class: bool = _follows()  # one number for every class
    of_labels: bool = _follows()  # a number of a table of truths and predictions
    of_order: bool = _follows()  # how well numbers order the items
    of_several_tries: bool = _follows()  # the tries of a problem make one number together
    scored: bool = _follows()  # one score per item is enough, without labels: it is known item by item, and a run may stop early by it
    averages_items: bool = _follows()  # the mean of one number per item, each by itself, so that items may have weights
    averages_scores: bool = _follows()  # the mean of the scores as they stand, whether they are right or wrong or any number
    right_adds: int = _follows()  # what an item does that turns right: 1, it adds to it; -1, it takes away from what is wrong
    of_probabilities: bool = _follows()  # it reads a probability per item
    of_ratio: bool = _follows()  # it divides the sum of one column by the sum of another
    error_of_numbers: bool = _follows()  # how far off numbers are: an item's part is the size of its error
    takes_margin: bool = _follows()  # a difference other than 0 can be tested, from what each item adds to it
    item_range: Range | None = _follows()  # the least and the greatest number of one item, where it says so itself
    range_of_data: bool = _follows()  # its range is that of the numbers it is made of, which it does not know
    width: float | None = _follows()  # how far apart two values can be; None where there is no end
    learnable: bool = _follows()  # one number of truths and predictions, by which learners can be scored

    family: ClassVar[Family]
    own: ClassVar[tuple[str, ...]] = ()  # the fields, one of which has its own arithmetic, if it is one quantity (of a class)
    number_pattern: ClassVar[str | None] = None  # of what follows the base, for a metric that needs a number

    def __post_init__(self) -> None:
        joined = self.always or (None if self.average == EACH else self.average)
        mean_of_scores = self.mean_of_items and self.needs == ("score",)
        ends = None if self.low is None or self.high is None else (self.low, self.high)
        of_probabilities = "probability" in self.needs
        own = next((found for each in self.own if (found := getattr(self, each)) is not None), None)
        one = f"{self.base}{self.digits}"
        name = f"{self.average}_{one}" if self.average else one
        follows = {
            "name": name,
            "row_name": one if self.average == EACH else name,
            "macro_name": f"macro_{one}",
            "each_name": f"{EACH}_{one}",
            "read_through": self.function_of or InnerQuantity(name, own),
            "joined": joined,
            "averages_classes": joined in ("macro", "weighted"),
            "over_classes": self.over_classes or joined in ("macro", "weighted"),
            "pools": joined == "micro",
            "each_class": self.average == EACH,
            "of_labels": self.family == "table",
            "of_order": self.family == "ranking",
            "of_several_tries": self.family == "repeats",
            "scored": self.right_or_wrong or mean_of_scores,
            "averages_items": self.mean_of_items and self.family != "repeats",
            "averages_scores": mean_of_scores or (self.right_or_wrong and self.higher_is_better),
            "right_adds": -1 if self.family == "table" and not self.higher_is_better else 1,
            "of_probabilities": of_probabilities,
            "of_ratio": "ratio" in self.needs,
            "error_of_numbers": self.numeric and not self.higher_is_better,
            "takes_margin": self.mean_of_items or "ratio" in self.needs,
            "item_range": ends if self.mean_of_items else None,
            "range_of_data": self.low is None and self.high is None,
            "width": None if ends is None else ends[1] - ends[0],
            "learnable": (self.family == "table" or self.numeric or of_probabilities) and self.average != EACH,
        }
        for fact, value in follows.items():
            object.__setattr__(self, fact, value)

    # ---- its name

    @property
    def shown(self) -> str:
        """The name in lists of metrics, with a number where it needs one."""
        return self.example or self.base

    @property
    def computed_from(self) -> str:
        """What a row must hold, in a word: the heading under which it is listed."""
        if self.family == "repeats":
            return "repeats"
        if self.numeric or self.of_ratio or self.of_probabilities:
            return "numbers" if self.numeric else "two columns" if self.of_ratio else "probabilities"
        return "scores" if self.needs == ("score",) else "labels"

    def averaged(self, average: str, text: str) -> Self:
        """The same with an average over classes; refused where there are none. text: as it was written."""
        if not self.of_class:
            raise UsageError(f"{self.base} has no classes to average.", got=repr(text), need=self.base, hint=f"write {self.base}")
        return replace(self, average=average)

    def with_number(self, digits: str, text: str) -> Self:
        """The same with the number that its name ends with."""
        raise NotImplementedError

    def without_number(self, text: str) -> UsageError | None:
        """The error of a name that lacks its number; None where it needs none."""
        return None

    # ---- what may be asked of it

    @property
    def needs_negatives(self) -> bool:
        """It cannot be known from TP, FP and FN of one class."""
        return True

    @property
    def pools_to_accuracy(self) -> bool:
        """Whether its micro average over all classes of single-label items is the accuracy."""
        return False

    def needs_every_class(self, absent: str | None) -> bool:
        """Whether it has no value without an item of each class, as truth or as prediction."""
        return False

    @property
    def proportional(self) -> bool:
        """It is one total over another, as it stands: with twice the numbers above the line it is twice as large."""
        return False

    def of_right(self, right: Any, n: Any = 1) -> Any:
        """What right (1) and wrong (0), or the scores, of items count as; so many right of n: how many it counts. And back.

        >>> from steelyard_old.metrics.catalogue import parse
        >>> parse("accuracy").of_right(30, 40), parse("error").of_right(30, 40), parse("error").of_right(0.25)
        (30, 10, 0.75)
        """
        return right if self.right_adds > 0 else n - right

    def range_of_scores(self, declared: Range | None) -> Range | None:
        """A range that was declared of the scores, if it is the range of this number too: of their mean. Others have their own."""
        return declared if self.scored and not self.right_or_wrong else None

    def gives(self, metric: Metric) -> bool:
        """Whether the numbers that it is made of make the other, too: itself, and what it is a function of."""
        return metric.name in (self.name, self.read_through.name)

    def better_high(self, said: bool | None) -> bool:
        """Whether up is good: as was said of the scores, where that is for them to say."""
        return self.higher_is_better if said is None or not self.direction_of_scores else said

    def scores_up(self, higher_is_better: bool) -> bool:
        """Whether a high score of an item is good where a high (or a low) number of this metric is: an error counts what is wrong."""
        return higher_is_better == (self.right_adds > 0)

    def why_undefined(self, value: float = math.nan) -> str:
        """What is missing where it has no value, in words; value: what came out, which can be too large."""
        if not math.isinf(value):
            return self.undefined
        advice = f"; ask for metric={self.read_through.name!r}, its logarithm" if self.read_through.logarithm else ""
        return f"it is beyond float64{advice}"

    def if_too_large(self) -> str:
        """What to ask for where it is too large to compare."""
        return f"metric={self.read_through.name!r} compares its logarithm" if self.read_through.logarithm else ""

    # ---- on a table

    def law(self, label: int | None) -> Law | None:
        """The closed form of what is believed of it after a table, where it has one of its own; label: of the class that it is about."""
        return None

    def proportion(self, counts: Counts, label: int | None) -> Proportion | None:
        """How it is k of n of this table, or None if it is not."""
        if not self.scored:
            return None
        from steelyard_old.metrics.proportions import RIGHT, Proportion

        return Proportion(RIGHT, None)

    def of_table(self, label: int | None = None, absent: str | None = None) -> TableStatistic:
        """The number of a table with its gradient; of one class, where it is of a class. A mean of 0 and 1 is the share of right."""
        if not self.scored:
            raise TypeError(f"{self.name} is no number of a table")
        from steelyard_old.metrics.table import SHARE_RIGHT

        return SHARE_RIGHT


def positive_number(text: str, name: str) -> float:
    """The beta of an F-measure."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not 0 < number < float("inf"):
        raise UsageError(
            f"The beta of {name!r} must be a positive number, not {text}.", got=f"beta {text}", need="a positive number", hint="fbeta:2"
        )
    return number
