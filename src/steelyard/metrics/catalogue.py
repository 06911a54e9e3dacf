"""All metrics by name: macro_f1, fbeta:2, pass@5, ratio:errors/words, p95, pkg.mod:NAME. Each is an object of its file."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from steelyard.base.problem import SteelyardError
from steelyard.base.words import did_you_mean
from steelyard.metrics import labels, numbers, whole
from steelyard.metrics.metric import Metric

WHOLE_TABLE = (labels.ACCURACY, labels.ERROR, labels.MCC, labels.KAPPA)
METRICS: dict[str, Metric] = {metric.name: metric for metric in (*WHOLE_TABLE, *numbers.NUMBERS, *whole.ORDERS)}
ALIASES = {  # scikit-learn's names, and others that people type
    "roc_auc": "auc",
    "ap": "average_precision",
    "logloss": "log_loss",
    "neg_log_loss": "log_loss",
    "brier_score": "brier",
    "matthews": "mcc",
    "matthews_corrcoef": "mcc",
    "cohen_kappa": "kappa",
    "f1_macro": "macro_f1",
    "f1_micro": "micro_f1",
    "f1_weighted": "weighted_f1",
    "precision_macro": "macro_precision",
    "recall_macro": "macro_recall",
    "mean_absolute_error": "mae",
    "root_mean_squared_error": "rmse",
    "r2_score": "r2",
}


def names() -> list[str]:
    """Every name that can be asked for, those with a number by an example."""
    return [*METRICS, *labels.RATIOS, "balanced_accuracy", "fbeta:2", "pass@5", "pass^5", "median", "p95"]


def find(name: str | Callable[[Any, Any], float] | Metric, absent: str | None = None) -> Metric:
    """The metric of a name, a function, or itself. absent: skip or zero, for a class without cases in an average over classes.

    >>> find("macro_f1").margins, find("fbeta:2").name, find("p95").law
    (True, 'fbeta:2', 'whole')
    """
    if isinstance(name, Metric):
        return name
    if not isinstance(name, str):
        return whole.function_metric(name)
    text = ALIASES.get(name.strip(), name.strip())
    found = METRICS.get(text) or _with_number(text) or _of_classes(text, absent)
    if found is not None:
        return found
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", text):
        return _from_module(text, absent)
    raise SteelyardError(f"There is no metric {name!r}.", hint=did_you_mean(text, names()))


def _of_classes(text: str, absent: str | None) -> Metric | None:
    average, _, rest = text.partition("_")
    if average not in labels.AVERAGES:
        average, rest = "", text
    if text == "balanced_accuracy":
        return labels.averaged(labels.RECALL, "balanced", absent)
    ratio = labels.RATIOS.get(rest)
    if found := re.fullmatch(r"fbeta:(\d+(?:\.\d+)?)", rest):
        if not float(found[1]) > 0:
            raise SteelyardError(f"beta must be above 0 in {text!r}.")
        ratio = labels.f_beta(float(found[1]))
    if ratio is None:
        return None
    if average in ("", "each"):
        return replace(labels.of_class(ratio), each=bool(average))
    return labels.averaged(ratio, average, absent)


def _with_number(text: str) -> Metric | None:
    if found := re.fullmatch(r"pass([@^])(\d+)", text):
        if int(found[2]) < 1:
            raise SteelyardError(f"{text!r} needs a number of tries of 1 or more, as in pass@5.")
        return numbers.pass_at(int(found[2]), found[1] == "^")
    if text == "median":
        return whole.quantile_metric("median", 0.5)
    if found := re.fullmatch(r"p(\d{1,2}(?:\.\d+)?)", text):
        if not 0 < float(found[1]) < 100:
            raise SteelyardError(f"{text!r} must be between p0 and p100.")
        return whole.quantile_metric(text, float(found[1]) / 100)
    if found := re.fullmatch(r"(ratio|perplexity):(.+)/(.+)", text):
        return replace(METRICS[found[1]], name=text)
    return None


def ratio_columns(name: str) -> tuple[str, str] | None:
    """The columns above and below the line that a name gives: ratio:errors/words."""
    found = re.fullmatch(r"(?:ratio|perplexity):(.+)/(.+)", name)
    return (found[1], found[2]) if found else None


def _from_module(text: str, absent: str | None) -> Metric:
    module, _, attribute = text.partition(":")
    try:
        thing = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as fault:
        raise SteelyardError(f"Cannot load the metric {text!r}: {fault}.") from None
    found = find(thing, absent)
    return replace(found, name=text) if callable(thing) and not isinstance(thing, Metric) else found
