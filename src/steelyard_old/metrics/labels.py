"""Metrics of labels, or of right and wrong: functions of a table of counts. Each is one object, listed in LABELS."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Self

from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics import table
from steelyard_old.metrics.base import Family, Law, Metric, positive_number
from steelyard_old.metrics.inner import InnerQuantity
from steelyard_old.metrics.proportions import RIGHT, WRONG, Proportion, f1_of_jaccard, jaccard_of_f1, width_of_f1
from steelyard_old.metrics.table import Ratio, TableStatistic
from steelyard_old.tally.counts import Counts

NEITHER = "the class occurs neither in the truth nor in the predictions (TP + FP + FN = 0)"


def _counts_negatives(ratio: Ratio) -> bool:
    """Whether true negatives are among the items that a ratio counts: they are what is left of all items."""
    return bool(ratio.numerator[3] or ratio.denominator[3])


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelMetric(Metric):
    """A number of a table truth x prediction.

    ratio: of one class, numerator over denominator. whole: a number of the whole table.
    share: the whole table's k of n. function_of: the proportion that the ratio is a function of, where it is none itself.
    posterior: the law of the ratio of one class, where it has one of its own. relevant: the items that it is about, in words and
    short; told_by: the rates that a plan can be told about it; made_of: those of them that give its value.
    """

    ratio: Ratio | None = None
    whole: TableStatistic | None = None
    share: Ratio | None = None
    function_of: InnerQuantity[Ratio] | None = None
    posterior: Law | None = None
    relevant: tuple[str, str] | None = None
    told_by: tuple[str, ...] = ()
    made_of: tuple[str, ...] = ()

    family: ClassVar[Family] = "table"
    own: ClassVar[tuple[str, ...]] = ("share", "ratio")

    def law(self, label: int | None) -> Law | None:
        """Of one class that of its ratio; of a simple mean over the classes that of their shares, where these rest on different items."""
        if label is not None:
            return self.posterior
        return Law.MEAN_OF_SHARES if self.joined == "macro" and self.ratio is not None and self.ratio.share_of_truths else None

    def needs_every_class(self, absent: str | None) -> bool:
        return self.joined == "macro" and absent is None and self.ratio is not None and not self.ratio.denominator[3]

    @property
    def needs_negatives(self) -> bool:
        return self.joined is not None or self.ratio is None or _counts_negatives(self.ratio)

    @property
    def pools_to_accuracy(self) -> bool:
        return self.ratio is not None and self.ratio.pools_to_accuracy

    @property
    def kinds_of_mistakes(self) -> int:
        """How many kinds of mistakes an item can be that it is about: false alarms and misses for F1, one for what is a share."""
        return 1 if self.share is not None or self.ratio is None else self.read_through.inner.kinds_of_mistakes

    def of_rates(self, rates: Mapping[str, float]) -> float:
        """Its value, from the rates that it is made of.

        >>> round(F1.of_rates({"precision": 0.9, "recall": 0.6}), 6), RECALL.of_rates({"recall": 0.6, "prevalence": 0.1})
        (0.72, 0.6)
        """
        if self.base in self.made_of or self.ratio is None:
            return rates[self.base]
        return self.ratio.of_rates(**{name: rates[name] for name in self.made_of})

    def proportion(self, counts: Counts, label: int | None) -> Proportion | None:
        """How it is k of n of this table, or None if it is not.

        >>> F1.proportion(Counts.binary(tp=31, fp=5, fn=2), 1).of(Counts.binary(tp=31, fp=5, fn=2))
        (31, 38)
        """
        if self.share is not None:
            return Proportion(self.share, None)
        if self.ratio is None:
            return None
        of_hits = not _counts_negatives(self.ratio)  # the others have nothing below the line when there is one class
        if counts.classes == 1 and of_hits and self.averages_classes:
            label = 0  # an average over one class is that class
        elif self.joined == "weighted" and self.ratio == table.RECALL:
            return Proportion(RIGHT, None)
        if label is not None and self.function_of is not None:
            return Proportion(self.function_of.inner, label, self.function_of.outwards, self.function_of.name, self.ratio)
        if label is not None and self.ratio.binomial:
            return Proportion(self.ratio, label)
        if self.joined == "micro" and counts.classes == len(counts.labels) and (counts.classes > 1 or of_hits):
            ratio, classes = self.ratio, counts.classes

            def pooled(accuracy: float) -> float:
                # Over all classes of single-label items the truths and the predictions both sum to n.
                top, bottom = ratio.parts(accuracy, 1, 1, classes)
                return float(top / bottom)

            return Proportion(RIGHT, None, pooled, "accuracy")
        return None

    def of_table(self, label: int | None = None, absent: str | None = None) -> TableStatistic:
        """The number of a table with its gradient: of one class, of an average, or of the whole table."""
        if self.whole is not None:
            return self.whole
        assert self.ratio is not None
        if self.joined is not None:
            return table.of_average(self.ratio, self.joined, absent)
        if label is None:
            raise ValueError(f"{self.base} needs a class or an average")
        return table.of_one_class(self.ratio, label)

    def why_undefined(self, value: float = math.nan) -> str:
        if self.average in ("macro", "weighted"):
            return f"{self.base} is undefined for at least one class; choose absent='skip' or absent='zero'"
        return self.undefined


@dataclass(frozen=True, slots=True, kw_only=True)
class FBeta(LabelMetric):
    """F-beta, by its number."""

    number_pattern: ClassVar[str | None] = r":([0-9.eE+-]+)"

    def with_number(self, digits: str, text: str) -> Self:
        beta = positive_number(digits, text)
        short = f"{beta:g}" if float(f"{beta:g}") == beta else repr(beta)
        return replace(self, parameter=beta, digits=f":{short}", ratio=table.f_beta_ratio(beta))

    def without_number(self, text: str) -> UsageError | None:
        hint = "fbeta:2 weighs recall twice as much as precision"
        return UsageError("The metric 'fbeta' needs its beta, as in fbeta:BETA.", got="no beta", need="fbeta:BETA", hint=hint)


ACCURACY = LabelMetric(
    base="accuracy",
    aliases=("acc",),
    says="share of items that are right",
    share=RIGHT,
    right_or_wrong=True,
    mean_of_items=True,
    whole=table.SHARE_RIGHT,
    direction_of_scores=True,
    relevant=("all items", ""),
)
ERROR = LabelMetric(
    base="error",
    aliases=("error_rate",),
    says="share of items that are wrong",
    higher_is_better=False,
    share=WRONG,
    right_or_wrong=True,
    mean_of_items=True,
    whole=table.SHARE_WRONG,
    relevant=("all items", ""),
)
PRECISION = LabelMetric(
    base="precision",
    aliases=("ppv",),
    says="right among those predicted as the class",
    of_class=True,
    ratio=table.PRECISION,
    undefined="the class was never predicted (TP + FP = 0)",
    relevant=("items predicted positive", "predicted positive"),
    told_by=("precision", "recall", "prevalence"),
    made_of=("precision",),
)
RECALL = LabelMetric(
    base="recall",
    aliases=("sensitivity",),
    says="found among those of the class",
    of_class=True,
    ratio=table.RECALL,
    undefined="no item has the class as its truth (TP + FN = 0)",
    relevant=("items that are positive", "positive"),
    told_by=("recall", "prevalence"),
    made_of=("recall",),
)
SPECIFICITY = LabelMetric(
    base="specificity",
    says="rejected among those not of the class",
    of_class=True,
    ratio=table.SPECIFICITY,
    undefined="every item has the class as its truth (TN + FP = 0)",
    relevant=("items that are negative", "negative"),
    told_by=("specificity", "prevalence"),
    made_of=("specificity",),
)
NPV = LabelMetric(
    base="npv",
    says="right among those predicted as not the class",
    of_class=True,
    ratio=table.NPV,
    undefined="every item was predicted as the class (TN + FN = 0)",
)
F1 = LabelMetric(
    base="f1",
    says="harmonic mean of precision and recall",
    of_class=True,
    ratio=table.F1,
    function_of=InnerQuantity("jaccard", table.JACCARD, f1_of_jaccard, jaccard_of_f1, width_of_f1),
    posterior=Law.F_BETA,
    undefined=NEITHER,
    relevant=("items that are positive or predicted so (TP + FP + FN)", "positive or predicted so"),
    told_by=("precision", "recall", "prevalence"),
    made_of=("precision", "recall"),
)
FBETA = FBeta(
    base="fbeta",
    example="fbeta:2",
    says="F-measure that weighs recall beta times, as in fbeta:2",
    of_class=True,
    ratio=table.F1,
    posterior=Law.F_BETA,
    undefined=NEITHER,
)
JACCARD = LabelMetric(
    base="jaccard",
    says="hits among items that are or were called the class",
    of_class=True,
    ratio=table.JACCARD,
    posterior=Law.JACCARD,
    undefined=NEITHER,
)
BALANCED_ACCURACY = LabelMetric(
    base="balanced_accuracy",
    says="mean recall over the classes",
    ratio=table.RECALL,
    always="macro",
    undefined="a class has no items",
)
MCC = LabelMetric(
    base="mcc",
    aliases=("matthews",),
    says="Matthews correlation, any number of classes",
    low=-1.0,
    over_classes=True,
    whole=TableStatistic(table.mcc, table.mcc_gradient),
    undefined="all truths or all predictions are of one class",
)
KAPPA = LabelMetric(
    base="kappa",
    aliases=("cohen_kappa",),
    says="Cohen's kappa: agreement beyond chance",
    low=-1.0,
    over_classes=True,
    whole=TableStatistic(table.kappa, table.kappa_gradient),
    undefined="all truths and all predictions are of one class",
)
LABELS = (ACCURACY, ERROR, PRECISION, RECALL, SPECIFICITY, NPV, F1, FBETA, JACCARD, BALANCED_ACCURACY, MCC, KAPPA)
