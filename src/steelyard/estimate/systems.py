"""The items of two or more systems: what they have in common, what is missing, and which items belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.errors import DataError, UsageError
from steelyard.estimate.compare_options import CompareOptions
from steelyard.estimate.opening import own_metric, refuse_numeric_truth
from steelyard.items import Items
from steelyard.metrics.base import Metric
from steelyard.metrics.catalogue import parse
from steelyard.read.logs.log import Log
from steelyard.read.source import Source
from steelyard.tally.design import settle_missing, take
from steelyard.tally.pairs import Pairs, agree_on_units, match, number_rows, settle_pairing
from steelyard.tally.spelling import told_of_look_alikes


@dataclass(frozen=True, slots=True, eq=False)
class SystemItems:
    """One system's items and its name."""

    name: str
    items: Items
    log: Log | None = None
    source: Source | None = None  # where the texts of a few items can be looked up


def default_metric(runs: Sequence[SystemItems], *, right_or_wrong: bool = True) -> Metric:
    """Right or wrong: accuracy. Scores that are not all 0 and 1, in any run, or of another range: mean. Only probabilities: auc."""
    if (own := own_metric([run.log for run in runs])) is not None:
        return own
    items = [run.items for run in runs]
    if all(one.truth is not None and one.prediction is not None for one in items):
        for one in items:
            refuse_numeric_truth(one)
        return parse("accuracy")
    if all(one.score is not None for one in items):
        known = [one.score[~np.isnan(one.score)] for one in items if one.score is not None]
        return parse("accuracy" if right_or_wrong and all(np.isin(score, (0.0, 1.0)).all() for score in known) else "mean")
    if all(one.probability is not None and one.truth is not None for one in items):
        return parse("auc")
    if all(one.ratio is not None for one in items):
        return parse("ratio")
    raise DataError(
        "cannot tell what to compare",
        got="runs that do not share truth and prediction, score, or truth and probability",
        need="one of these in every run",
        hint="name the columns with truth=, prediction=, score=, probability=",
    )


def paired(baseline: SystemItems, candidate: SystemItems, asked: CompareOptions) -> tuple[Pairs, dict[str, int]]:
    """The matched pairs, with what was missing settled alike on both sides."""
    sides = [baseline, candidate]
    if asked.own.missing == "drop" and baseline.items.id is None and candidate.items.id is None:
        sides = [SystemItems(run.name, number_rows(run.items)) for run in sides]  # so that a row dropped on one side goes on both
    runs = [settled(run, asked) for run in sides]
    if asked.own.missing == "drop":
        gone = [ids_of(run.items) - ids_of(kept) for run, kept in zip(sides, runs, strict=True)]
        runs = [without(runs[0], gone[1]), without(runs[1], gone[0])]
    names = [() if run.id is None else run.id.names for run in runs]
    for sentence in dict.fromkeys(said for each in (names[:1] if names[0] == names[1] else names) for said in told_of_look_alikes(each)):
        asked.warn(sentence)
    pairs, report = match(runs[0], runs[1], asked.sides)
    for sentence in settle_pairing(report, asked.unmatched, asked.sides):
        asked.warn(sentence)
    if baseline.items.id is None:
        vouched = " (their truths agree)" if runs[0].truth is not None else "; check the order"
        asked.warn(f"no ids: rows are paired by position{vouched}")
    return agree_on_units(pairs), report.to_dict()


def settled(run: SystemItems, asked: CompareOptions) -> Items:
    items, said = settle_missing(run.items, asked.own.missing)
    for sentence in said:
        asked.warn(f"{run.name}: {sentence}")
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


def check_names(names: Sequence[str] | None, systems: int) -> None:
    """One name per system, each once; one long source may hold any number of systems from two on."""
    if names is None:
        return
    wrong = len(names) != systems if systems > 1 else len(names) < 2
    if wrong or len(set(names)) != len(names):
        need = "one name per system, each once"
        raise UsageError(
            "cannot name the systems", got=f"{', '.join(map(repr, names))} for {systems} source(s)", need=need, hint="names=['a', 'b']"
        )
