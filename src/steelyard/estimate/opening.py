"""Opening a source for a question, and what a log says of its own metric, positive class and end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.errors import DataError, SteelyardError, UsageError
from steelyard.items import Items
from steelyard.metrics.base import Metric
from steelyard.metrics.catalogue import parse
from steelyard.read.logs.log import Log
from steelyard.read.open_source import open_source
from steelyard.read.source import Source


def own_metric(logs: Sequence[Log | None]) -> Metric | None:
    """The metric that all of these logs are about; None where the columns tell by themselves, which is a mean of items."""
    known = [log for log in logs if log is not None]
    for log in known:
        refuse_other_than_mean(log)
    named = {log.metric for log in known}
    if len(named) > 1:
        raise DataError(
            "cannot tell what to measure",
            got=f"logs of {' and of '.join(sorted(name or 'a mean of items' for name in named))}",
            need="one metric",
            hint="name it with metric=",
        )
    name = named.pop() if len(known) == len(logs) and named else None
    return None if name is None else parse(name)


def refuse_other_than_mean(log: Log) -> None:
    """A number that the items cannot give is not replaced by one that they can."""
    if not log.not_a_mean:
        return
    labelled = "truth" in log.columns
    hint = "metric='accuracy', macro_f1 or mcc measures that" if labelled else "metric='mean' measures the mean of the logged scores"
    raise DataError(
        f"cannot measure {log.chosen.get('score', 'the score')!r} as {log.tool} does",
        got=log.not_a_mean,
        need="a metric that the items give",
        hint=hint,
    )


def refuse_unfinished(logs: Sequence[Log | None], missing: str) -> None:
    """A run that ended early is measured only if somebody says what its missing answers are worth."""
    for log in logs:
        if log is not None and log.unfinished and missing == "error":
            raise DataError(
                f"cannot use a run of {log.tool} that did not finish",
                got=log.unfinished,
                need="a score for every item",
                hint="missing='wrong' counts what is missing as wrong, missing='drop' leaves it out",
            )


def own_positive(logs: Sequence[Log | None], metrics: Sequence[Metric], positive: Any) -> Any:
    """The class that a metric of one class is about: as asked, else as the logs say."""
    told = {log.positive for log in logs if log is not None}
    if positive is not None or len(told) != 1 or not any(metric.of_class and metric.average is None for metric in metrics):
        return positive
    return told.pop()


def own_direction(logs: Sequence[Log | None], metric: Metric) -> bool | None:
    """Whether up is good, where the logs say that of a mean of scores; None: as the metric says."""
    told = {log.higher_is_better for log in logs if log is not None}
    known = told.pop() if len(told) == 1 and all(log is not None for log in logs) else None
    return known if metric.direction_of_scores else None


def hold_to_own(logs: Sequence[Log | None], name: str | None, *, on_record: bool = False) -> None:
    """A log about one metric is not judged by a reference about another, unless somebody asks for that metric by name.

    on_record: the reference names its metric, so that somebody chose it for a log whose own number the items cannot give.
    """
    if name is None:
        return
    own = own_metric([log for log in logs if log is not None and not (on_record and log.not_a_mean)])
    if own is not None and own.name != _plain(name):
        raise DataError(
            f"cannot take the log's {own.name} for {name}",
            got=f"a log whose own number is {own.name}, and a reference of {name}",
            need="one metric",
            hint=f"metric={name!r} if {name} of its items is meant, else a reference of its own for {own.name}",
        )


def _plain(name: str) -> str:
    try:
        return parse(name).name
    except SteelyardError:
        return name


def opened(
    data: Any, prediction: Any, by: tuple[str, ...] | Mapping[str, Any], ratio: str | Sequence[str] | None, columns: Mapping[str, Any]
) -> Source:
    """The source of what `measure` was given."""
    given = {role: value for role, value in columns.items() if value is not None}
    if by:
        given["by"] = by
    if ratio is not None:
        given["ratio"] = ratio_columns(ratio)
    return open_source(data, prediction, columns=given)


def ratio_columns(ratio: str | Sequence[str]) -> tuple[str, str]:
    parts = tuple(ratio.split("/")) if isinstance(ratio, str) else tuple(ratio)
    if len(parts) != 2 or not all(parts):
        raise UsageError(
            "cannot read the ratio", got=repr(ratio), need="two column names, above and below the line", hint="ratio='errors/words'"
        )
    return parts[0].strip(), parts[1].strip()


def refuse_numeric_truth(items: Items) -> None:
    """Truths such as 3.7 are numbers to be predicted, not classes: say so instead of counting a class per value."""
    if items.truth is None or items.prediction is None or not any(map(_is_fraction, items.truth.names)):
        return  # most labels are texts or whole numbers: their names say so, without a look at the rows
    refuse_fractions([items.truth.names[i] for i in np.unique(items.truth.codes) if i >= 0])


def refuse_fractions(truths: Iterable[str]) -> None:
    """The same of the truths that there are, by their names."""
    try:
        numbers = [float(name) for name in truths]
    except ValueError:
        return
    fraction = next((x for x in numbers if not x.is_integer()), None)
    if fraction is not None:
        raise DataError(
            "cannot treat the truth as classes",
            got=f"{len(numbers)} distinct numbers, such as {fraction:g}",
            need="a named metric",
            hint="metric='mae', rmse, r2 or spearman for numbers; name a label metric if they are classes",
        )


def _is_fraction(name: str) -> bool:
    try:
        return not float(name).is_integer()
    except ValueError:
        return False
