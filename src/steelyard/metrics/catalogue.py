"""The names of all metrics, and what each one needs. `--metric` always names the quantity: `parse` reads the name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.errors import UsageError
from steelyard.options import nearest

Family = Literal["table", "sums", "ranking", "repeats"]
AVERAGES = ("macro", "micro", "weighted")
EACH = "each"


def as_it_is(right: Any) -> Any:
    """Right is 1 and counts."""
    return right


def turned_round(right: Any) -> Any:
    """Wrong is 1 and counts."""
    return 1 - right


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a metric before any data: its family, its range and direction, the columns it reads, what its items are.

    of_class: a quantity of one class; it needs a positive label or an average. right_or_wrong: the share of items that are right,
    or wrong, so that its spread follows from its value. scored: one score per item is enough, without labels. numeric: truth and
    prediction are read as numbers. mean_of_items: the mean of one number per item. pairable: two systems can be compared by it on
    the same items. of_right: what right (1) and wrong (0) of an item count as. ranks: only the order of the probabilities matters.
    """

    family: Family
    low: float | None = 0.0
    high: float | None = 1.0
    higher_is_better: bool = True
    of_class: bool = False
    needs: tuple[str, ...] = ("truth", "prediction")
    right_or_wrong: bool = False
    scored: bool = False
    numeric: bool = False
    mean_of_items: bool = False
    pairable: bool = True
    ranks: bool = False
    of_right: Callable[[Any], Any] = as_it_is
    says: str = ""

    @property
    def of_probabilities(self) -> bool:
        """Whether it reads a probability per item."""
        return "probability" in self.needs


FACTS: dict[str, Facts] = {
    "accuracy": Facts(family="table", right_or_wrong=True, scored=True, mean_of_items=True, says="share of items that are right"),
    "error": Facts(
        family="table",
        higher_is_better=False,
        right_or_wrong=True,
        scored=True,
        mean_of_items=True,
        of_right=turned_round,
        says="share of items that are wrong",
    ),
    "precision": Facts(family="table", of_class=True, says="right among those predicted as the class"),
    "recall": Facts(family="table", of_class=True, says="found among those of the class"),
    "specificity": Facts(family="table", of_class=True, says="rejected among those not of the class"),
    "npv": Facts(family="table", of_class=True, says="right among those predicted as not the class"),
    "f1": Facts(family="table", of_class=True, says="harmonic mean of precision and recall"),
    "fbeta": Facts(family="table", of_class=True, says="F-measure that weighs recall beta times, as in fbeta:2"),
    "jaccard": Facts(family="table", of_class=True, says="hits among items that are or were called the class"),
    "balanced_accuracy": Facts(family="table", says="mean recall over the classes"),
    "mcc": Facts(family="table", low=-1.0, says="Matthews correlation, any number of classes"),
    "kappa": Facts(family="table", low=-1.0, says="Cohen's kappa: agreement beyond chance"),
    "mean": Facts(family="sums", low=None, high=None, needs=("score",), scored=True, mean_of_items=True, says="mean score"),
    "brier": Facts(
        family="sums",
        higher_is_better=False,
        needs=("truth", "probability"),
        mean_of_items=True,
        says="mean squared error of the probability",
    ),
    "log_loss": Facts(
        family="sums",
        high=None,
        higher_is_better=False,
        needs=("truth", "probability"),
        mean_of_items=True,
        says="mean negative log likelihood",
    ),
    "ece": Facts(family="sums", higher_is_better=False, needs=("truth", "probability"), says="expected calibration error, ten equal bins"),
    "mae": Facts(family="sums", high=None, higher_is_better=False, numeric=True, mean_of_items=True, says="mean absolute error of numbers"),
    "rmse": Facts(family="sums", high=None, higher_is_better=False, numeric=True, says="root mean squared error of numbers"),
    "r2": Facts(family="sums", low=None, numeric=True, says="share of the variance of numbers explained"),
    "ratio": Facts(
        family="sums", low=None, high=None, higher_is_better=False, needs=("ratio",), says="sum of one column over sum of another"
    ),
    "perplexity": Facts(
        family="sums", high=None, higher_is_better=False, needs=("ratio",), says="exp of one sum over another: minus log likelihood, words"
    ),
    "spearman": Facts(family="ranking", low=-1.0, numeric=True, pairable=False, says="rank correlation of numbers"),
    "auc": Facts(family="ranking", needs=("truth", "probability"), ranks=True, says="area under the ROC curve"),
    "average_precision": Facts(
        family="ranking", needs=("truth", "probability"), ranks=True, pairable=False, says="area under precision against recall"
    ),
    "pass@": Facts(family="repeats", needs=("score", "id"), mean_of_items=True, says="chance that one of k tries is right, as in pass@5"),
    "pass^": Facts(family="repeats", needs=("score", "id"), mean_of_items=True, says="chance that all of k tries are right, as in pass^5"),
}
ALIASES = {
    "acc": "accuracy",
    "error_rate": "error",
    "roc_auc": "auc",
    "ap": "average_precision",
    "sensitivity": "recall",
    "ppv": "precision",
    "matthews": "mcc",
    "cohen_kappa": "kappa",
    "logloss": "log_loss",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric as asked for: `name` is the whole quantity, `base` its formula, `average` how classes are joined."""

    name: str
    base: str
    average: str | None = None
    parameter: float | None = None

    @property
    def facts(self) -> Facts:
        return FACTS[self.base]

    @property
    def beta(self) -> float:
        return 1.0 if self.parameter is None else self.parameter


def known(name: str) -> Facts | None:
    """The facts of a metric by its name; None for a name that only somebody else's suite knows."""
    try:
        return parse(name).facts
    except UsageError:
        return None


def numeric_names() -> tuple[str, ...]:
    """The metrics that read truth and prediction as numbers."""
    return tuple(name for name, facts in FACTS.items() if facts.numeric)


def parse(name: str) -> Metric:
    """The metric of a name such as accuracy, macro_f1, fbeta:2, weighted_fbeta:0.5, pass@5; each_f1 is every class.

    >>> parse("macro_f1").average
    'macro'
    >>> parse("fbeta:2").parameter
    2.0
    """
    text = name.strip()
    average, rest = _split_average(text)
    rest = ALIASES.get(rest, rest)
    if found := re.fullmatch(r"(pass[@^])(\d+)", rest):
        if int(found[2]) < 1 or average:
            raise UsageError(f"cannot use the metric {text!r}", need="pass@k or pass^k with k of 1 or more")
        return Metric(name=rest, base=found[1], parameter=float(found[2]))
    if found := re.fullmatch(r"fbeta:([0-9.eE+-]+)", rest):
        return _with_average(text, "fbeta", average, _positive_number(found[1], text))
    if rest == "fbeta":
        raise UsageError(
            "cannot use the metric 'fbeta'", got="no beta", need="fbeta:BETA", hint="fbeta:2 weighs recall twice as much as precision"
        )
    if rest not in FACTS or rest.startswith("pass"):
        raise _unknown(text)
    return _with_average(text, rest, average, None)


def _split_average(text: str) -> tuple[str | None, str]:
    first, _, rest = text.partition("_")
    return (first, rest) if first in (*AVERAGES, EACH) and rest else (None, text)


def _with_average(text: str, base: str, average: str | None, parameter: float | None) -> Metric:
    if average and not FACTS[base].of_class:
        raise UsageError(f"cannot use the metric {text!r}", got=f"{base} has no classes to average", need=base, hint=f"write {base}")
    name = base
    if parameter is not None:
        name += f":{parameter:g}" if float(f"{parameter:g}") == parameter else f":{parameter!r}"
    return Metric(name=f"{average}_{name}" if average else name, base=base, average=average, parameter=parameter)


def _positive_number(text: str, name: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not 0 < number < float("inf"):
        raise UsageError(f"cannot use the metric {name!r}", got=f"beta {text}", need="a positive number", hint="fbeta:2")
    return number


def _unknown(text: str) -> UsageError:
    names = [n for n in FACTS if not n.startswith("pass") and n != "fbeta"] + ["fbeta:2", "pass@5", "pass^5"]
    _, rest = _split_average(text)
    if found := re.fullmatch(r"f_?(\d+(?:\.\d+)?)(?:_score)?", rest.lower()):
        near_name = "f1" if found[1] == "1" else f"fbeta:{found[1]}"
        return UsageError(f"cannot find the metric {text!r}", need=f"one of {', '.join(names)}", hint=f"did you mean {near_name}?")
    near = nearest(rest.lower(), [*names, *ALIASES])
    hint = f"did you mean {near}?" if near else "average over classes with macro_, micro_ or weighted_, as in macro_f1"
    return UsageError(f"cannot find the metric {text!r}", need=f"one of {', '.join(names)}", hint=hint)
