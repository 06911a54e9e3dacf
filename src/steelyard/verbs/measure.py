"""measure: how good is it, and how sure are we?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Unpack

import numpy as np

from steelyard.base.problem import SteelyardError
from steelyard.data.counts import Counts
from steelyard.declared import known
from steelyard.engines.one import Answer, How, probability_at_least
from steelyard.engines.one import measure as answers_of
from steelyard.metrics.catalogue import find
from steelyard.options import Column, Level, Metrics, Missing, Names, Number, Range, Rare, Seed, Source
from steelyard.read.old import answered_there, read_by_old
from steelyard.read.open import Opened, usual
from steelyard.results import Interval, Result, result
from steelyard.show.blocks import Block, Facts, Head, Notes, Table, span
from steelyard.show.digits import interval as between
from steelyard.show.digits import number, places
from steelyard.verbs.asking import check_level, choice, how_of, interval_of, names_of, opened, shown, signature

METHODS = {"wilson": "Wilson", "bca": "BCa", "clopper-pearson": "Clopper-Pearson", "jeffreys": "Jeffreys", "delong": "DeLong"}


@result
class Row(Result):
    """One number with its interval."""

    metric: str
    average: str | None = None
    label: str | None = None
    task: str | None = None
    filter: str | None = None
    scorer: str | None = None
    score: str | None = None
    model: str | None = None
    estimate: float | None = None
    n: int = 0
    support: int | None = None
    interval: Interval | None = None
    higher_is_better: bool = True
    probability_at_least: float | None = None

    def __repr__(self) -> str:
        value = "undefined" if self.estimate is None else f"{self.estimate:.6g}"
        return f"{self.metric}{f'[{self.label}]' if self.label else ''} {value} {self.interval!r}".replace(" None", "")


@result
class Slice(Result):
    """The rows of one value of a column."""

    by: str
    value: str
    metrics: tuple[Row, ...]


@result
class Measurement(Result):
    """How good one system is, in one number or several."""

    kind: ClassVar[str] = "measurement"
    n: int
    metrics: tuple[Row, ...]
    slices: tuple[Slice, ...] = ()
    name: str = ""
    columns: tuple[str, ...] = ()
    files: int = 1
    design: str = "items"
    seed: int | None = 0
    warnings: tuple[str, ...] = ()
    signature: str = ""

    @property
    def row(self) -> Row:
        """The headline: the first row."""
        return self.metrics[0]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows."""
        return self.metrics

    @property
    def estimate(self) -> float | None:
        """The headline's number."""
        return self.row.estimate

    @property
    def interval(self) -> Interval | None:
        """The headline's interval."""
        return self.row.interval

    def __getitem__(self, name: str) -> Row:
        for row in self.metrics:
            if name in (row.metric, row.label, row.model):
                return row
        raise KeyError(f"no {name!r}; there are {', '.join(dict.fromkeys(row.metric for row in self.metrics))}")

    def table(self) -> list[dict[str, Any]]:
        """All rows, plain, for CSV."""
        sliced = [(each.by, each.value, row) for each in self.slices for row in each.metrics]
        out = []
        for by, value, row in [(None, None, row) for row in self.metrics] + sliced:
            i = row.interval
            ends = {"low": i and i.low, "high": i and i.high, "confidence_level": i and i.confidence_level, "method": i and i.method}
            out.append(
                {
                    "by": by,
                    "value": value,
                    "model": row.model,
                    "score": row.score,
                    "metric": row.metric,
                    "label": row.label,
                    "estimate": row.estimate,
                    **ends,
                    "n": row.n,
                }
            )
        return out


def measure(
    source: Source,
    prediction: Column = None,
    *,
    metric: Metrics = None,
    positive: str | None = None,
    by: Names = None,
    group: Column = None,
    confidence_level: Level = 0.95,
    range: Range = None,
    missing: Missing = "error",
    score: Names = None,
    at_least: Number = None,
    seed: Seed = 0,
    **rare: Unpack[Rare],
) -> Measurement:
    """How good is it, and how sure are we?

    Every number has an interval: over items, or over groups and repeats where the source has them.

    Args:
        source: File, directory, glob, -, name=path, or counts such as 85/100 or tp=31,fp=5,fn=2; in Python also a frame or truths.
        prediction: Column with the model's answer; in Python also the answers.
        metric: What to measure, such as accuracy, macro_f1, fbeta:2, pass@5 or p95; several joined by commas.
        positive: Class that f1, precision, recall and auc are about.
        by: Also report each value of this column separately.
        group: Column of items that belong together; `none` ignores it.
        confidence_level: Confidence level of the interval.
        range: Smallest and largest possible score, such as 0,5.
        missing: What to do with items without an answer or a score (default error).
        score: Column with a number per item; `a,b` measures each, `scores.Factuality` follows a path.
        at_least: Also give the posterior probability that the number is at least this.
        seed: Random seed; `none` picks one and prints it.
        rare: id, truth, probability, repeat, weight, model_column, labels, interval, side, prior, draws, absent,
            lower_is_better: described in Rare.

    Examples:
        $ steelyard measure preds.csv
        $ steelyard measure preds.csv --metric f1 --positive cat
        $ steelyard measure 85/100 --at-least .8

        >>> import steelyard as sy
        >>> sy.measure(["a", "b"] * 9, ["a", "a"] * 9)["accuracy"]
        accuracy 0.5 [0.29031, 0.70969]
        >>> sy.measure(sy.Counts.of(85, 100)).interval
        [0.767164, 0.90694]
    """
    if read_by_old(source):
        asked_there = {"metric": metric, "positive": positive, "by": by, "group": group, "range": range, "missing": missing, "score": score}
        more = {"prediction": prediction, "at_least": at_least, "confidence_level": confidence_level, "seed": seed, **rare}
        return answered_there("measure", (source,), {**asked_there, **more})  # type: ignore[no-any-return]
    known(Rare, rare, measure)
    said = {
        "positive": positive,
        "group": group,
        "range": range,
        "missing": choice(missing, ("error", "wrong", "drop"), "missing"),
        "seed": seed,
    }
    check_level(confidence_level)
    how, side = how_of(said, rare), choice(rare.get("side") or "two", ("two", "lower", "upper"), "side")
    wanted, metrics, scores = [str(name) for name in names_of(by)], names_of(metric), names_of(score)
    rows: list[Row] = []
    slices: list[Slice] = []
    notes: list[str] = []
    found = None
    for column in scores or [None]:
        found = opened(source, prediction, {**said, "score": column}, rare, metrics, wanted)
        refuse_bare_probabilities(found, metrics)
        asked = metrics or usual(found)
        ask = Ask(asked, how, confidence_level, side, at_least, bool(rare.get("lower_is_better")), column if len(scores) > 1 else None)
        notes += [note for note in found.notes if note not in notes]
        rows += ask.rows(found, notes)
        for name in wanted:
            own: list[str] = []
            slices += [Slice(by=name, value=value, metrics=tuple(ask.rows(part, own, whole=False))) for value, part in found.parts(name)]
    assert found is not None
    methods = ",".join(dict.fromkeys(row.interval.method for row in rows if row.interval))
    return Measurement(
        n=found.items.total,
        metrics=tuple(rows),
        slices=tuple(slices),
        name=found.name,
        columns=tuple(found.columns.values()),
        files=found.files,
        design=ask.design,
        seed=how.seed,
        warnings=tuple(dict.fromkeys(notes)),
        signature=signature(
            metric=",".join(dict.fromkeys(row.metric for row in rows)),
            n=found.items.total,
            design=ask.design,
            interval=methods,
            level=f"{confidence_level:g}",
            seed=how.seed,
        ),
    )


def refuse_bare_probabilities(found: Opened, metrics: Sequence[Any]) -> None:
    """Probabilities beside 0 and 1, in the column of the answers, are a mistake that would measure an accuracy of 0."""
    items = found.items
    if metrics or "truth" not in items or "prediction" not in items or found.columns.get("prediction") is None:
        return
    said = items.labels("prediction").names
    truths = items.labels("truth").names
    if (
        set(truths) <= {"0", "1", "0.0", "1.0", "True", "False", "true", "false"}
        and len(said) > 2
        and all(name.replace(".", "", 1).isdigit() and 0 <= float(name) <= 1 for name in said)
    ):
        column = found.columns["prediction"]
        raise SteelyardError(f"The column {column!r} holds probabilities beside truths of 0 and 1.", hint=f"probability={column}")


class Ask:
    """One question, asked of a source and of its parts."""

    def __init__(
        self, metrics: Sequence[Any], how: How, level: float, side: str, at_least: float | None, lower: bool, score: str | None
    ) -> None:
        self.metrics, self.how, self.level, self.side, self.at_least, self.score = metrics, how, level, side, at_least, score
        self.lower, self.design = lower, "items"

    def rows(self, found: Opened, notes: list[str], whole: bool = True) -> list[Row]:
        """The rows of a source; of several models, one after the other."""
        column = found.columns.get("model", "")
        if whole and column in found.by and len(found.by[column].present()) > 1:
            return [replace(row, model=name) for name, part in found.parts(column) for row in self.rows(part, notes, whole=False)]
        data = Counts(found.items, found.negatives)
        out: list[Row] = []
        support = truths_of(found) if "truth" in found.items else {}
        for name in self.metrics:
            found_ = answers_of(name, data, self.how)
            out += [self.row(answer, data, name, notes, support.get(answer.label or "")) for answer in found_]
        return out

    def row(self, answer: Answer, data: Counts, asked: Any, notes: list[str], support: int | None) -> Row:
        """An answer as a row; why there is none is a note."""
        metric = answer.metric
        self.design = answer.design
        notes += [f"{shown(metric.name)}: {note}" for note in answer.notes if f"{shown(metric.name)}: {note}" not in notes]
        if answer.certainty is None:
            notes.append(f"{shown(metric.name)}{f' of {answer.label}' if answer.label else ''}: no interval: {answer.why}")
        average = metric.name.partition("_")[0] if metric.name.startswith(("macro_", "micro_", "weighted_")) else None
        chance = None if self.at_least is None else probability_at_least(asked, data, self.at_least, self.how)
        return Row(
            metric=metric.name,
            average=average,
            label=answer.label,
            score=self.score,
            estimate=answer.estimate,
            n=answer.n,
            support=support,
            interval=interval_of(answer, self.level, self.side),
            higher_is_better=metric.up and not (self.lower and metric.low is None),
            probability_at_least=chance,
        )


def truths_of(found: Opened) -> dict[str, int]:
    """How many items there are of every class."""
    labels, count = found.items.labels("truth"), found.items.count
    known = labels.codes >= 0
    often = np.bincount(labels.codes[known], None if count is None else count[known], len(labels.names))
    return dict(zip(labels.names, often.astype(int).tolist(), strict=True))


def posterior(data: Any, metric: str = "accuracy", *, prior: float = 0.5, positive: str | None = None) -> Any:
    """What is believed of a metric after the data: a law with cdf, ppf, interval and probability_above.

    Args:
        data: Counts, or any source.
        metric: The metric, such as accuracy, f1 or fbeta:2.
        prior: Weight of the prior on right answers.
        positive: Class that it is about.

    Examples:
        >>> import steelyard as sy
        >>> round(sy.posterior(sy.Counts.binary(tp=31, fp=5, fn=2), "f1").cdf(0.85), 4)
        0.1762
    """
    from steelyard.data.items import classes_of
    from steelyard.engines.one import posterior_of, prepare, readable

    found = opened(data, None, {}, {}, [metric])
    own, items = readable(find(metric), found.items)
    how = How(prior=prior, positive=positive)
    classes = classes_of([items], None, positive) if own.needs_classes and "score" not in own.reads else None
    return posterior_of(own, prepare(own, items, how, classes), how)


# ---- the page -----------------------------------------------------------------------------------------------------------------------


def title(row: Row) -> str:
    """What a row is called: its model, its score, its metric, its class."""
    return " ".join(filter(None, (row.model, row.score, shown(row.metric), row.label)))


def layout(m: Measurement) -> Iterator[Block]:
    whole = [r for r in m.metrics if r.label is None] or list(m.metrics[:12])
    classes = (
        sorted((r for r in m.metrics if r.label is not None), key=lambda r: (r.estimate is None, r.estimate))
        if len(whole) < len(m.metrics)
        else []
    )
    level = next((f"{r.interval.confidence_level:.0%}" for r in m.metrics if r.interval), "95%")
    read = ", ".join(filter(None, (f"{m.files} files" if m.files > 1 else "", f"{m.n:,} items"))) + (
        f" ({', '.join(m.columns)})" if m.columns else ""
    )
    answers = ", ".join(
        f"{title(r)} {number(r.estimate, places([r.interval]) or 3)} {between(r.interval, places([r.interval]))}".strip()
        for r in whole[:4]
        if r.estimate is not None
    )
    yield Head(m.name or read, read if m.name else "", line=f"{m.name or 'counts'}: {answers} ({m.n:,} items)")
    yield Table(
        ("metric", "estimate", f"{level} interval", ""),
        [(title(r), r.estimate, r.interval, span(r.estimate, r.interval)) for r in whole],
        more="--details",
    )
    said = [f"P({title(r)} at least that) = {r.probability_at_least:.3f}" for r in m.metrics if r.probability_at_least is not None]
    if said:
        yield Notes(said[:4])
    if classes:
        name = shown(classes[0].metric)
        few = classes[:3] if len(classes) > 3 else classes
        short = [(r.label, r.estimate, r.interval, f"{r.support or 0:,}" + " items" * (r is few[0])) for r in few]
        heading = f"weakest of {len(classes):,} classes ({name})" if len(classes) > 3 else f"classes ({name})"
        yield Table(("class", name, f"{level} interval", "items"), short, heading, level=-1)
        rows = [(r.label, r.estimate, r.interval, r.support, span(r.estimate, r.interval)) for r in classes]
        yield Table(("class", name, f"{level} interval", "items", ""), rows, f"{len(classes):,} classes ({name}), weakest first", level=1)
    for by in dict.fromkeys(each.by for each in m.slices):
        parts = [
            (
                each.value,
                each.metrics[0].estimate,
                each.metrics[0].interval,
                each.metrics[0].n,
                span(each.metrics[0].estimate, each.metrics[0].interval),
            )
            for each in m.slices
            if each.by == by
        ]
        yield Table(
            (by, shown(m.row.metric), f"{level} interval", "items", ""), parts, f"{shown(m.row.metric)} by {by}", short=8, more="--details"
        )
    yield Facts([("Design", m.design), ("Seed", m.seed), ("Signature", m.signature)], "How this was computed")
    methods: dict[str, list[str]] = {}
    for r in whole:
        if r.interval:
            methods.setdefault(METHODS.get(r.interval.method, r.interval.method), []).append(shown(r.metric))
    first, *rest = methods.items() or [("", [])]
    named = "; ".join([first[0], *(f"{method} for {', '.join(dict.fromkeys(names))}" for method, names in rest)])
    lines = (
        [
            f"{level} {'bounds' if m.row.interval and m.row.interval.side != 'two' else 'intervals'}: {named}."
            + (" All classes: --details" if len(classes) > 3 else "")
        ]
        if named
        else []
    )
    yield Notes(
        [
            *lines,
            *(f"Note: {warning}" for warning in m.warnings[:4]),
            *([f"...{len(m.warnings) - 4} more notes: --details"] if len(m.warnings) > 4 else []),
        ]
    )
    if len(m.warnings) > 4:
        yield Notes([f"Note: {warning}" for warning in m.warnings[4:]], level=1)
