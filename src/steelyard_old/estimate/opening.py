"""Opening a source for a question, and what a log says of its own metric, positive class and end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard_old.errors import DataError, SteelyardError, UsageError
from steelyard_old.items import Items
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import parse, usual
from steelyard_old.options.compare import CompareOptions
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.options.option import ratio_columns
from steelyard_old.read.logs.log import Log
from steelyard_old.read.open_source import open_source
from steelyard_old.read.source import Source
from steelyard_old.results.base import Warnings
from steelyard_old.tally.design import same_label, settle_missing, take
from steelyard_old.tally.pairs import PairingReport, Pairs, agree_on_units, aligned, match, number_rows, settle_pairing
from steelyard_old.tally.spelling import look_alike_warnings


def own_metric(logs: Sequence[Log | None]) -> Metric | None:
    """The metric that all of these logs are about; None where the columns tell by themselves, which is a mean of items."""
    known = [log for log in logs if log is not None]
    for log in known:
        refuse_other_than_mean(log)
    named = {log.metric for log in known}
    if len(named) > 1:
        raise DataError(
            f"The logs are of different metrics: {' and '.join(sorted(name or 'a mean of items' for name in named))}.",
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
        f"The items do not give {log.tool}'s own number: {log.not_a_mean}.",
        got=log.not_a_mean,
        need="a metric that the items give",
        hint=hint,
    )


def refuse_unfinished(logs: Sequence[Log | None], missing: str) -> None:
    """A run that ended early is measured only if somebody says what its missing answers are worth."""
    for log in logs:
        if log is not None and log.unfinished and missing == "error":
            raise DataError(
                f"The run of {log.tool} did not finish: {log.unfinished}.",
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


def warn_unused_positive(positive: Any, warnings: Warnings, *, labelled: bool) -> None:
    """A class is named where no labels are read: said, not passed over."""
    if positive is not None and not labelled:
        warnings.add("positive was not used: no labels were read, and scores have no classes")


def check_used(own: MeasureOptions, metrics: Sequence[Metric], warnings: Warnings, *, labelled: bool, scored: bool) -> None:
    """What was said of labels or of scores where there are none: a class and a range are warned of, another direction is refused."""
    warn_unused_positive(own.positive, warnings, labelled=labelled)
    if own.range is not None and not scored and all(metric.range_of_scores(own.range) is None for metric in metrics):
        which = f"{metrics[0].name} is not" if len(metrics) == 1 else "none of the metrics is"
        warnings.add(f"range was not used: {which} a mean of scores")
    if own.higher_is_better is not None:
        refuse_direction(own.higher_is_better, metrics)


def own_direction(logs: Sequence[Log | None], metric: Metric) -> bool | None:
    """Whether up is good, where the logs say that of a mean of scores; None: as the metric says."""
    told = {log.higher_is_better for log in logs if log is not None}
    known = told.pop() if len(told) == 1 and all(log is not None for log in logs) else None
    return known if metric.direction_of_scores else None


def refuse_direction(asked: bool, metrics: Sequence[Metric]) -> None:
    """Which way is better is for scores and ratios to say; of other metrics it is known."""
    other = [metric for metric in metrics if metric.higher_is_better != asked]
    if other and not any(metric.direction_of_scores for metric in metrics):
        way = "higher" if other[0].higher_is_better else "lower"
        raise UsageError(
            f"higher_is_better={asked} is about scores; of {other[0].name} {way} is always better.",
            got=f"higher_is_better={asked} and the metric {other[0].name}",
            need="a mean of scores or a ratio, whose direction nobody else knows",
            hint="leave it out",
        )


def refuse_each_class(metric: Metric, asker: str, *, one_class: bool) -> None:
    """One number for every class is refused where one number is wanted. asker: what wants it; one_class: it can be told which class."""
    if metric.each_class:
        raise UsageError(
            f"{metric.name} is one number per class; {asker} needs a single number.",
            got="every class at once",
            need="one quantity",
            hint=f"{metric.macro_name}, or positive=LABEL" if one_class else metric.macro_name,
        )


def check_log_metric(logs: Sequence[Log | None], name: str | None, *, on_record: bool = False) -> None:
    """A log about one metric is not judged by a reference about another, unless somebody asks for that metric by name.

    on_record: the reference names its metric, so that somebody chose it for a log whose own number the items cannot give.
    """
    if name is None:
        return
    own = own_metric([log for log in logs if log is not None and not (on_record and log.not_a_mean)])
    if own is not None and own.name != _plain(name):
        raise DataError(
            f"The log's own number is {own.name}, but the reference is of {name}.",
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
    fraction = min((x for x in numbers if not x.is_integer()), default=None)  # the same one, whoever read the file
    if fraction is not None:
        raise DataError(
            f"The truth looks like numbers, not classes ({len(numbers)} distinct numbers, such as {fraction:g}); name the metric.",
            got=f"{len(numbers)} distinct numbers, such as {fraction:g}",
            need="a named metric",
            hint="metric='mae', rmse, r2 or spearman for numbers; name a label metric if they are classes",
        )


def _is_fraction(name: str) -> bool:
    try:
        return not float(name).is_integer()
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, eq=False)
class SystemItems:
    """One system's items and its name."""

    name: str
    items: Items
    log: Log | None = None
    source: Source | None = None  # where the texts of a few items can be looked up


ANSWERS = ("truth", "prediction", "score", "probability", "ratio")  # the columns that a metric is made of


def default_metric(runs: Sequence[SystemItems], *, right_or_wrong: bool = True) -> Metric:
    """Right or wrong: accuracy. Scores that are not all 0 and 1, in any run, or of another range: mean. Only probabilities: auc."""
    if (own := own_metric([run.log for run in runs])) is not None:
        return own
    items = [run.items for run in runs]
    shared = {name for name in ANSWERS if all(getattr(one, name) is not None for one in items)}
    if shared >= {"truth", "prediction"}:
        for one in items:
            refuse_numeric_truth(one)
    elif "score" in shared:
        known = [one.score[~np.isnan(one.score)] for one in items if one.score is not None]
        right_or_wrong = right_or_wrong and all(np.isin(score, (0.0, 1.0)).all() for score in known)
    if found := usual(shared - {"ratio"}, right_or_wrong=right_or_wrong) or usual(shared):
        return found[0]
    raise DataError(
        "The runs have nothing in common to compare: truth and prediction, score, or truth and probability.",
        got="runs that do not share truth and prediction, score, or truth and probability",
        need="one of these in every run",
        hint="name the columns with truth=, prediction=, score=, probability=",
    )


def paired(baseline: SystemItems, candidate: SystemItems, asked: CompareOptions, warnings: Warnings) -> tuple[Pairs, dict[str, int]]:
    """The matched pairs, with what was missing settled alike on both sides."""
    sides = [baseline, candidate]
    if asked.own.missing == "drop" and baseline.items.id is None and candidate.items.id is None:
        sides = [SystemItems(run.name, number_rows(run.items)) for run in sides]  # so that a row dropped on one side goes on both
    runs = [settled(run, asked, warnings, sides) for run in sides]
    if asked.own.missing == "drop":
        gone = [ids_of(run.items) - ids_of(kept) for run, kept in zip(sides, runs, strict=True)]
        runs = [without(runs[0], gone[1]), without(runs[1], gone[0])]
    names = [() if run.id is None else run.id.names for run in runs]
    warnings.extend(said for each in (names[:1] if names[0] == names[1] else names) for said in look_alike_warnings(each))
    pairs, report = match(runs[0], runs[1], asked.sides)
    warnings.extend(settle_pairing(report, asked.unmatched, asked.sides))
    if baseline.items.id is None:
        warnings.add(by_position_only(runs[0]))
    return agree_on_units(pairs), report.to_dict()


@dataclass(frozen=True, slots=True, eq=False)
class AlignedRuns:
    """Systems that answered the same items, once each, in one order: any two of them are matched as they stand.

    settled: what was done about each run's missing answers. alike: what there is to say of its ids.
    """

    runs: tuple[Items, ...]
    names: tuple[str, ...]
    settled: tuple[tuple[str, ...], ...]
    alike: tuple[tuple[str, ...], ...]

    def pair(self, i: int, j: int) -> Pairs:
        """What `match` makes of these two."""
        rows = np.arange(self.runs[i].n)
        return Pairs(self.runs[i], self.runs[j], rows, rows, len(rows), self.names)

    def said(self, i: int, j: int) -> list[str]:
        """What `paired` says of these two."""
        by_position = [] if self.names else [by_position_only(self.runs[i])]
        return list(dict.fromkeys((*self.settled[i], *self.settled[j], *self.alike[i], *self.alike[j], *by_position)))

    @property
    def unmatched(self) -> dict[str, int]:
        return PairingReport(matched=self.runs[0].n).to_dict()


def aligned_runs(systems: Sequence[SystemItems], asked: CompareOptions) -> AlignedRuns | None:
    """All systems matched at once; None where each pair has items of its own, or where matching it is an error of that pair."""
    runs, said = [], []
    for system in systems:
        own = Warnings()
        try:
            runs.append(settled(system, asked, own, systems))
        except DataError:
            return None
        said.append(tuple(own))
        if asked.own.missing == "drop" and (system.items.id is None or runs[-1].n < system.items.n):
            return None  # what one system lacks is left out of each pair that it is in
    ids = [() if run.id is None else run.id.names for run in runs]
    told = tuple(look_alike_warnings(ids[0]))
    alike = tuple(told if names == ids[0] else tuple(look_alike_warnings(names)) for names in ids)
    found = aligned(runs)
    return None if found is None else AlignedRuns(tuple(found[0]), found[1], tuple(said), alike)


def by_position_only(baseline: Items) -> str:
    vouched = " (their truths agree)" if baseline.truth is not None else "; check the order"
    return f"no ids: rows are paired by position{vouched}"


def settled(run: SystemItems, asked: CompareOptions, warnings: Warnings, systems: Sequence[SystemItems]) -> Items:
    """The run with nothing missing. systems: all that are compared, whose scores together say what the worst one is."""
    own = asked.own
    beside = [one.items for one in systems if one is not run]
    items, said = settle_missing(run.items, own.missing, ends=own.range, higher_is_better=own.higher_is_better, beside=beside)
    warnings.extend(f"{run.name}: {sentence}" for sentence in said)
    return items


def ids_of(items: Items) -> set[str]:
    return set() if items.id is None else {items.id.names[i] for i in np.unique(items.id.codes)}


def without(items: Items, ids: set[str]) -> Items:
    if not ids or items.id is None:
        return items
    gone = np.array([name in ids for name in items.id.names])[items.id.codes]
    return take(items, ~gone)


def subset(pairs: Pairs, items: Any) -> Pairs:
    """The pairs of some items, coded anew."""
    new = np.full(pairs.items, -1, np.int64)
    new[items] = np.arange(len(items))
    rows_a, rows_b = new[pairs.baseline_item] >= 0, new[pairs.candidate_item] >= 0
    names = tuple(pairs.names[i] for i in items) if pairs.names else ()
    return Pairs(
        take(pairs.baseline, rows_a),
        take(pairs.candidate, rows_b),
        new[pairs.baseline_item[rows_a]],
        new[pairs.candidate_item[rows_b]],
        len(items),
        names,
    )


def disagreements(items: Items) -> int:
    """On how many items scores of 0 and 1 and labels tell different stories of what is right; 0 where one of them is missing."""
    if items.truth is None or items.prediction is None or items.score is None or not np.isin(items.score, (0.0, 1.0)).all():
        return 0
    differ = same_label(items.truth, items.prediction) != (items.score == 1)
    return int(differ.sum() if items.count is None else items.count[differ].sum())


def warn_disagreement(items: Items, warnings: Warnings, name: str = "") -> None:
    """Said once of a run, for the whole."""
    if many := disagreements(items):
        warnings.add(
            f"{name}score and labels disagree on right or wrong for {many} of {items.total} items: "
            "the score decides accuracy, the labels decide label metrics"
        )


def check_names(names: Sequence[str], systems: int) -> None:
    """One name per system, each once; one long source may hold any number of systems from two on."""
    if not all(isinstance(name, str) for name in names):
        raise UsageError(
            f"Names of systems must be texts, not {repr(list(names))[:60]}.",
            got=repr(list(names))[:60],
            need="texts",
            hint="names=['a', 'b']",
        )
    wrong = len(names) != systems if systems > 1 else len(names) < 2
    if wrong or len(set(names)) != len(names):
        listed = ", ".join(map(repr, names))
        many = f"{systems} systems" if systems > 1 else "several systems in one source"
        counted = f"{len(names)} name{'' if len(names) == 1 else 's'} ({listed})"
        raise UsageError(
            f"There are {many} but {counted}." if wrong else f"Two systems have the same name: {listed}.",
            got=f"{listed} for {many}",
            need="one name per system, each once",
            hint="names=['a', 'b']",
        )
