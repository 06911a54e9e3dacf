"""How good is one system, and how sure are we: any metric under any design."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from steelyard.base.arrays import FloatArray
from steelyard.base.problem import SteelyardError
from steelyard.base.words import many
from steelyard.data.counts import Counts
from steelyard.data.design import Design, design_of, expanded, whole_weights, without_gaps
from steelyard.data.items import Classes, Items, View, cells, classes_of, view
from steelyard.engines import area, posterior, posterior_table, resample, score, student
from steelyard.engines.certainty import Certainty, Ends, Mapped, NoAnswer
from steelyard.engines.methods import ONE, check
from steelyard.engines.sums import Statistic, Sums, add_up, by_denominator, refuse_few, spread, statistic_of, worth_of
from steelyard.metrics.catalogue import find, ratio_columns
from steelyard.metrics.metric import Metric, itself, quotient

FEW_OF_A_CLASS = 10  # items of a class below which no interval of an average over classes covers
MANY_CLASSES = 50  # beyond which each class is counted from one table of all, and no average over small ones has an interval
MOST_CELLS = 10_000  # beyond which no table is redrawn


@dataclass(frozen=True, kw_only=True)
class How:
    """What a question says beyond its data; names that are empty are chosen by the data.

    range: what one score can be. labels: the classes. claim: new items like these, or these very items. scale: how many times the
    baseline is taken, for margins that are a share of it.
    """

    interval: str = ""
    test: str = ""
    range: Ends | None = None
    labels: Sequence[str] | None = None
    positive: str | None = None
    absent: str | None = None
    draws: int = resample.DRAWS
    seed: int = 0
    prior: float = 0.5
    claim: str = ""
    scale: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One number and how sure we are of it. certainty is None, and why says it, where it cannot be known; notes are warnings."""

    metric: Metric
    estimate: float | None
    n: int
    certainty: Certainty | None = None
    why: str = ""
    notes: list[str] = field(default_factory=list)
    label: str | None = None
    design: str = "items"

    def interval(self, level: float = 0.95, side: str = "two") -> Ends | None:
        """Its ends, or None."""
        return None if self.certainty is None else self.certainty.ends(level, side)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows ready for a metric: its view, how they belong together, and whether equal rows were counted."""

    view: View
    design: Design
    items: int
    counted: bool = False


def readable(metric: Metric, items: Items) -> tuple[Metric, Items]:
    """The metric and the items as they read each other: a score of 0 or 1 instead of labels, tries instead of repeats, named columns."""
    if columns := ratio_columns(metric.name):
        items = items.with_columns(above=items.columns.get(columns[0]), below=items.columns.get(columns[1]))
        for role, name in zip(("above", "below"), columns, strict=True):
            if items.columns[role] is None:
                raise SteelyardError(f"There is no column {name!r} for {metric.name}.")
    if metric.scored and "score" in items:
        metric = replace(metric, reads=("score",))
    if "tries" in metric.reads:
        items = tried(items)
    return metric, items


def tried(items: Items) -> Items:
    """One row for each item: how often it was tried, and how often it was right."""
    if "id" not in items or "score" not in items or items.count is not None or "weight" in items:
        raise SteelyardError("pass@k needs an id and a score of 0 or 1 for every try, and no weights.")
    if not items.right_or_wrong:
        raise SteelyardError("pass@k needs scores that are all 0 or 1.")
    _, first, code = np.unique(items.labels("id").codes, return_index=True, return_inverse=True)
    one = items.take(first)
    columns = {role: values for role, values in one.columns.items() if role not in ("repeat", "score")}
    right = np.bincount(code.ravel(), items.numbers("score")).round()
    return Items({**columns, "right": right, "tries": np.bincount(code.ravel()).astype(float)}, len(first))


def prepare(metric: Metric, items: Items, how: How, classes: Classes | None = None) -> Prepared:
    """The view of a metric on one run; of labels, equal rows are one row that is counted."""
    items = expanded(whole_weights(items))
    if classes is None and metric.needs_classes:
        classes = classes_of([items], how.labels, how.positive)
    seen, design = view(items, metric.reads, classes, how.absent), design_of(items)
    if design.kind != "items" or design.stratum is not None or not metric.of_labels:
        return Prepared(seen, design, items.total)
    if metric.one_class:
        (truth, prediction), often = cells([seen.truth == seen.positive, seen.prediction == seen.positive], 2, seen.count)
        return Prepared(View(len(truth), {"truth": truth, "prediction": prediction}, 2, 1, often, seen.absent), design, items.total, True)
    (truth, prediction), often = cells([seen.truth, seen.prediction], seen.classes + 1, seen.count)
    merged = View(len(truth), {"truth": truth, "prediction": prediction}, seen.classes, seen.positive, often, seen.absent)
    return Prepared(merged, design, items.total, True)


def four_cells(metric: Metric, items: Items, how: How, classes: Classes) -> list[Prepared] | None:
    """The table of every class against the rest, from one count of all; None where rows belong together."""
    ready = prepare(replace(metric, one_class=False), items, how, classes)
    if not ready.counted:
        return None
    v, k = ready.view, len(classes.names)
    count = v.count if v.count is not None else np.ones(v.n, np.int64)
    known = (v.truth, v.truth == v.prediction), (v.truth, v.truth < k), (v.prediction, v.prediction < k)
    hits, truths, said = (np.bincount(codes[kept], count[kept], k + 1)[:k].astype(np.int64) for codes, kept in known)
    truth, prediction = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    rest = int(count.sum()) - truths - said + hits
    out = []
    for often in np.stack([rest, said - hits, truths - hits, hits], 1):
        there = often > 0
        columns = {"truth": truth[there], "prediction": prediction[there]}
        out.append(replace(ready, view=View(int(there.sum()), columns, 2, 1, often[there], v.absent)))
    return out


def measure(metric: Any, data: Items | Counts, how: How | None = None) -> list[Answer]:
    """Every answer to one metric: one, or one for each class.

    >>> (found,) = measure("accuracy", Counts.of(85, 100))
    >>> [round(end, 4) for end in found.interval()]
    [0.7672, 0.9069]
    """
    how = how or How()
    negatives = data.negatives if isinstance(data, Counts) else True
    items = data.items if isinstance(data, Counts) else data
    asked = find(metric, how.absent)
    asked, items = readable(asked, items)
    if not negatives and asked.rest:
        raise SteelyardError(f"{asked.name} needs the items that are neither; tp, fp and fn do not say how many.", hint="give tn too")
    classes = classes_of([items], how.labels, how.positive) if asked.needs_classes else None
    if not asked.one_class:
        return [_measured(asked, items, how, classes)]
    assert classes is not None
    if asked.each:
        plain, names = replace(asked, each=False), [name for name in classes.names if negatives or name == "1"]
        tables = four_cells(asked, items, how, classes) if len(names) > MANY_CLASSES else None
        if tables is not None:
            blank = Answer(metric=plain, estimate=None, n=0)
            return [_answered(plain, ready, how, replace(blank, label=name)) for name, ready in zip(names, tables, strict=True)]
        return [_measured(plain, items, how, replace(classes, positive=name)) for name in names]
    return [_measured(asked, items, how, replace(classes, positive=positive_of(asked, classes)))]


def positive_of(metric: Metric, classes: Classes) -> str:
    """The class that a metric of one class is about."""
    if classes.positive is None:
        shown = ", ".join(map(repr, classes.names[:12]))
        hint = f"positive=LABEL, or macro_{metric.name}, or each_{metric.name} for every class"
        raise SteelyardError(f"Which class is {metric.name} about? The labels are {shown}.", hint=hint)
    return classes.positive


def _measured(metric: Metric, items: Items, how: How, classes: Classes | None) -> Answer:
    label = None if classes is None or not metric.one_class else classes.positive
    return _answered(metric, prepare(metric, items, how, classes), how, Answer(metric=metric, estimate=None, n=0, label=label))


def _answered(metric: Metric, ready: Prepared, how: How, blank: Answer) -> Answer:
    blank = replace(blank, n=ready.items, design=ready.design.kind, notes=(notes := list[str]()))
    if metric.law == "whole":
        return _of_whole(metric, ready, how, blank)
    if ready.design.kind == "groups" and metric.in_groups is not None and metric.law == "smooth":
        metric = metric.in_groups
    try:
        rows = metric.adds(ready.view)
    except SteelyardError as refusal:
        if refusal.code == "classes":
            return replace(blank, why=f"{refusal.sentence} {refusal.hint}")
        raise
    sums = by_denominator(add_up(rows, ready.design, ready.view.count, ready.counted), metric)
    with np.errstate(all="ignore"):
        value = float(metric.outwards(float(metric.value(sums.totals))))
    if not math.isfinite(value):
        return replace(blank, why=f"{metric.name} is undefined: {metric.undefined}")
    value = next((end for end in (metric.low, metric.high) if end is not None and abs(value - end) <= 1e-12), value)
    n = round(float(sums.totals[0])) if metric.one_class and ready.design.kind == "items" else ready.items
    try:
        found = certainty_of(metric, ready, rows, sums, how, notes)
        found.bounds(0.025, 2)
    except NoAnswer as why:
        return replace(blank, estimate=value, n=n, why=str(why))
    return replace(blank, estimate=value, n=n, certainty=found)


def certainty_of(metric: Metric, ready: Prepared, rows: Any, sums: Sums, how: How, notes: list[str]) -> Certainty:
    """The engine that answers for a metric of totals: its law and the facts of its rows decide, not its name."""
    law, ends = law_of(metric, rows, how, notes)
    check(ONE, "interval", how.interval, law_name(law, metric), kind_of(sums), metric.name, ends is not None)
    statistic = statistic_of(metric, classes_in(metric, ready.view))
    exact = law == "share" and score.exact_counts(sums)
    if law == "share" and (how.interval in ("", "wilson") or (how.interval in score.ONE_SHARE and exact)):
        refuse_few(sums, Statistic(quotient, statistic.gradient), notes)
        return outwards(metric, score.share(sums, how.interval or "wilson", not how.interval))
    if how.interval in ("bayes", "hdi"):
        return believed(metric, ready, sums, how)
    refuse_few(sums, statistic, notes)
    return outwards(metric, _of_totals(law, ends, metric, ready, sums, statistic, how, notes))


def classes_in(metric: Metric, v: View) -> int:
    """Of how many classes the columns of a metric are margins."""
    return 1 if metric.one_class else v.classes


def law_name(law: str, metric: Metric) -> str:
    """The law as the names of methods know it: functions of a table of labels are told apart, and orders that have effects."""
    if law == "smooth":
        return "labels" if metric.of_labels else "smooth"
    if law == "whole" and metric.of.effects:
        return "area" if metric.of.both else "curve"
    return law


def kind_of(sums: Sums) -> str:
    """The kind of units as the names of methods know it."""
    return sums.kind if sums.stratum is None else "strata"


def law_of(metric: Metric, rows: Any, how: How, notes: list[str]) -> tuple[str, Ends | None]:
    """The law of the items' rows, and the range of one item's number. Means of nothing but 0 and 1 are shares."""
    if metric.law != "mean":
        return metric.law, None
    values = rows[:, 1]
    ends, scores = how.range or metric.ends, metric.low is None  # scores have the range that somebody declares, losses their own
    if scores and how.range is not None and ((values < how.range[0]) | (values > how.range[1])).any():
        raise SteelyardError(f"Some scores lie outside of the range {how.range[0]:g} to {how.range[1]:g}.", hint="range=(LOW, HIGH)")
    if scores and ends in (None, (0.0, 1.0)) and how.interval in ("", *score.ONE_SHARE) and score.zero_or_one(values):
        return "share", (0.0, 1.0)
    if scores and ends is None and values.min() >= 0 and values.max() <= 1:
        notes.append("all scores lie within 0 and 1, which was taken as their range; range= declares another")
        ends = (0.0, 1.0)
    return "mean", ends


def _of_totals(
    law: str, ends: Ends | None, metric: Metric, ready: Prepared, sums: Sums, statistic: Statistic, how: How, notes: list[str]
) -> Certainty:
    kind, method = sums.kind, how.interval
    low, high = inner_range(metric)
    estimate = float(metric.value(sums.totals))
    if not method:
        if law == "mean":
            method = "bounded-mean" if ends is not None else "t"
        elif kind != "items" or sums.stratum is not None:
            method = "studentized" if metric.usual == "studentized" and kind != "weights" and sums.stratum is None else "delta"
        else:
            method = metric.few[1] if sums.n <= metric.few[0] else metric.usual
    if method == "betting":
        assert ends is not None
        return student.betting(np.repeat(np.asarray(sums.rows)[:, 1], sums.count), ends, how.seed)
    if method == "bounded-mean":
        assert ends is not None
        return _bounded_mean(estimate, sums, statistic, ends)
    if method in ("t", "delta"):
        variance, df = spread(sums, statistic)
        return student.student(estimate, variance, df, method, low=low, high=high)
    if how.interval:
        return clipped(resample.bootstrap(sums, statistic, method, draws=how.draws, seed=how.seed, notes=notes), low, high)
    return clipped(_redrawn(metric, ready, sums, statistic, method, how, notes), low, high)


def _bounded_mean(estimate: float, sums: Sums, statistic: Statistic, ends: Ends) -> Certainty:
    variance, df = spread(sums, statistic) if sums.n > 1 else (0.0, 0.0)
    n = float(sums.n)
    if sums.sizes is not None and sums.kind != "repeats":
        n = worth_of(sums.sizes)
        n = min(n, df + 1) if sums.kind == "groups" else n
    return student.bounded_mean(estimate, n, variance * n * (n - 1), ends, math.sqrt(variance) or None)


def _redrawn(metric: Metric, ready: Prepared, sums: Sums, statistic: Statistic, method: str, how: How, notes: list[str]) -> Certainty:
    """The bootstrap, and what stands in where it has nothing to say."""
    small = _small_classes(metric, sums, statistic)
    if small and statistic.classes > MANY_CLASSES:
        raise NoAnswer(small)
    if metric.of_labels and len(sums.count) > MOST_CELLS:
        variance, df = spread(sums, statistic)
        return student.student(float(metric.value(sums.totals)), variance, df, "delta", low=metric.low or 0.0, high=metric.high or 1.0)
    try:
        return resample.bootstrap(sums, statistic, method, draws=how.draws, seed=how.seed, notes=notes)
    except NoAnswer as why:
        if not metric.of_labels:
            raise
        if small and "equal" not in str(why):
            raise NoAnswer(small) from None
        quick = replace(how, draws=min(how.draws, max(1_000, 10_000_000 // max(1, ready.view.classes**2))))
        found = believed(metric, ready, sums, replace(quick, interval="bayes"))
        notes.append(f"{method} gives no interval here ({why}); that of the posterior is used instead")
        return found


def _small_classes(metric: Metric, sums: Sums, statistic: Statistic) -> str:
    """Why an average over classes has no interval, where most classes are small."""
    k = statistic.classes
    if not k or metric.low != 0.0:  # averages over classes; agreement is one number of the whole table
        return ""
    few = int((sums.totals[k : 2 * k] < FEW_OF_A_CLASS).sum())
    return f"{few:,} of {many(k, 'class')} have fewer than {FEW_OF_A_CLASS} items" if 2 * few > k else ""


def inner_range(metric: Metric) -> Ends:
    """What the quantity can be that an interval is found for."""
    if metric.outwards is not itself and metric.high is None:
        return 0.0, math.inf
    return -math.inf if metric.low is None else metric.low, math.inf if metric.high is None else metric.high


def clipped(found: Certainty, low: float, high: float) -> Certainty:
    """The same within what the number can be."""
    return replace(found, low=low, high=high)


def outwards(metric: Metric, found: Certainty) -> Certainty:
    """The certainty of the metric, where the one found is of what it is a function of."""
    if metric.outwards is itself:
        return found
    low, high = metric.low if metric.low is not None else -math.inf, metric.high if metric.high is not None else math.inf
    facts = {"method": found.method, "test": found.test, "low": low, "high": high}
    return Mapped(estimate=float(metric.outwards(found.estimate)), inner=found, outwards=metric.outwards, **facts)  # type: ignore[arg-type]


# ---- what is believed ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Believed(Certainty):
    """What is believed of a number after the data. densest: the shortest interval instead of equal tails."""

    law: posterior.Posterior
    densest: bool = False

    def bounds(self, q: float, sided: int = 1) -> Ends:
        if self.densest and sided == 2:
            return self.law.interval(1 - 2 * q, "hdi")
        low, high = float(self.law.ppf(q)), float(self.law.ppf(1 - q))
        return min(low, self.estimate), max(high, self.estimate)  # a perfect table lies on the end of its range

    def tails(self, margin: float, sided: int = 1) -> Ends:
        return float(self.law.sf(margin)), float(self.law.cdf(margin))


def posterior_of(metric: Metric, ready: Prepared, how: How) -> posterior.Posterior:
    """The posterior of a metric of labels or of right and wrong: in closed form where there is one, else drawn."""
    v = ready.view
    count = np.ones(v.n, np.int64) if v.count is None else v.count
    rows = metric.adds(v)
    totals = count.astype(float) @ rows
    t, p = v.columns.get("truth") == v.positive, v.columns.get("prediction") == v.positive
    if metric.belief in ("f_beta", "jaccard"):
        tp, fp, fn = (int(count[m].sum()) for m in (t & p, p & ~t, t & ~p))
        if metric.belief == "jaccard":
            return posterior.jaccard(tp, fp, fn, prior=how.prior)
        return posterior.f_beta(tp, fp, fn, beta=metric.parameter, prior=how.prior)
    if metric.law != "smooth":
        return posterior.proportion(round(float(totals[1])), round(float(totals[0])), prior=how.prior, metric=metric.name)
    k = v.classes
    if metric.belief == "shares":
        shares = [(int(h), int(t)) for h, t in zip(totals[:k], totals[k : 2 * k], strict=True)]
        return posterior.mean_of_shares(shares, prior=how.prior)
    facts = {"draws": how.draws, "seed": how.seed, "metric": metric.name, "prior": how.prior}
    bounds = {"low": metric.low or 0.0, "high": 1.0 if metric.high is None else metric.high}
    return posterior_table.drawn(v.truth, v.prediction, count, k, metric.value, **facts, **bounds)  # type: ignore[arg-type]


def probability_at_least(metric: Any, data: Items | Counts, least: float, how: How | None = None) -> float:
    """The posterior probability that a metric is at least so much.

    >>> round(probability_at_least("accuracy", Counts.of(85, 100), 0.8), 3)
    0.897
    """
    how, items = how or How(), data.items if isinstance(data, Counts) else data
    asked, items = readable(find(metric, how.absent), items)
    classes = classes_of([items], how.labels, how.positive) if asked.needs_classes and "score" not in asked.reads else None
    return float(posterior_of(asked, prepare(asked, items, how, classes), how).sf(least))


def believed(metric: Metric, ready: Prepared, sums: Sums, how: How) -> Certainty:
    """The posterior as an answer."""
    law = posterior_of(metric, ready, how)
    estimate = float(metric.outwards(float(metric.value(sums.totals))))
    facts = {"low": law.bottom, "high": law.top, "error": law.sd}
    return Believed(estimate=estimate, method=how.interval, test=how.interval, law=law, densest=how.interval == "hdi", **facts)


# ---- metrics of all items at once -----------------------------------------------------------------------------------------------------


def numbers_in(column: Any) -> Any:
    """A column as numbers that sort as its values do."""
    return column if column.dtype.kind in "iufb" else np.unique(column.astype(str), return_inverse=True)[1]


def value_order(v: View) -> Any:
    """The order of rows by what is in them, which no file decides."""
    return np.lexsort([numbers_in(column) for column in v.columns.values()])


def reordered(v: View, order: Any) -> View:
    """The same rows in another order."""
    count = None if v.count is None else v.count[order]
    return replace(v, columns={role: values[order] for role, values in v.columns.items()}, count=count)


def _of_whole(metric: Metric, ready: Prepared, how: How, blank: Answer) -> Answer:
    whole, v, design = metric.of, ready.view, ready.design
    if design.weight is not None or design.stratum is not None:
        raise SteelyardError(f"{metric.name} takes no weights.", hint="leave out the weights, or ask for another metric")
    if v.count is not None and (v.count > 1).any():
        v = repeated(v)
    if metric.reads == ("outcome", "probability") and v.outcome.min() == v.outcome.max():
        return replace(blank, why=f"{metric.name} is undefined: {metric.undefined}")
    law, group = law_name("whole", metric), None if design.unit is None else without_gaps(design.unit)
    if whole.effects and how.interval not in ("percentile", "bca"):  # the placements give the value as well: one sorting is enough
        check(ONE, "interval", how.interval, law, design.kind, metric.name)
        try:
            (found,), _ = area.areas([v], whole, group, how.interval)
            found.bounds(0.025, 2)
        except NoAnswer as why:
            return replace(blank, estimate=float(whole.number(v, None)[0]), why=str(why))
        return replace(blank, estimate=found.estimate, certainty=found)
    value = float(whole.number(v, None)[0])
    if not math.isfinite(value):
        return replace(blank, why=f"{metric.name} is undefined: {metric.undefined}")
    method = how.interval or ("fisher-z" if whole.fisher and design.kind == "items" else "percentile")
    check(ONE, "interval", how.interval, "whole", design.kind, metric.name)
    try:
        if method == "fisher-z":
            certainty: Certainty = area.fisher_z(value, v.n)
        else:
            draws = whole.draws if how.draws == resample.DRAWS else how.draws
            if group is not None and design.group is not None:
                sizes = np.bincount(group).astype(float)
                units = Sums(np.ones((1, 1)), np.ones(1, np.int64), "groups", sizes=sizes)
                refuse_few(units, Statistic(quotient, _flat), blank.notes)
            ordered = v if group is not None else reordered(v, value_order(v))
            values = partial(whole.number, ordered)
            drawn = resample.bootstrap_whole(values, group, v.n, method, draws=draws, seed=how.seed, notes=blank.notes)
            certainty = clipped(drawn, *inner_range(metric))
        certainty.bounds(0.025, 2)
    except NoAnswer as why:
        return replace(blank, estimate=value, why=str(why))
    return replace(blank, estimate=value, certainty=certainty)


def _flat(totals: FloatArray) -> FloatArray:
    return np.zeros(len(totals))


def repeated(v: View) -> View:
    """Every row as often as it counts."""
    assert v.count is not None
    rows = np.repeat(np.arange(v.n), v.count)
    return replace(v, n=len(rows), columns={role: values[rows] for role, values in v.columns.items()}, count=None)
