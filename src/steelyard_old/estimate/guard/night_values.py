"""A guard as one task of a night: what every item scored in each recorded run and tonight, turned so that up is good."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, SteelyardError
from steelyard_old.estimate.changed_items import item_values
from steelyard_old.estimate.guard.rule import settle_ratio
from steelyard_old.estimate.guard.source import like_reference, metric_of, read_run, with_hashed_ids
from steelyard_old.history.nights import JudgedValues
from steelyard_old.items import Items
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import parse, usual
from steelyard_old.metrics.repeats import RepeatsMetric
from steelyard_old.reference import outcomes
from steelyard_old.reference.entry import Entry
from steelyard_old.reference.lookup import ReferenceLocation, with_outcomes
from steelyard_old.results.base import Warnings
from steelyard_old.results.verdict import Verdict
from steelyard_old.tally.design import settle_missing

SCALES = (1.0, 100.0)  # a verdict is in the metric's own numbers or in percent
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class NightValues:
    """One task of a night: its recorded runs, tonight, the width of its range where it is declared, and what the reference says of it.

    named: the readable ids and groups where hashes are kept. They are for whoever looks at this run, and are never stored.
    """

    reference: tuple[JudgedValues, ...]
    tonight: JudgedValues
    width: float | None = None
    deterministic: bool = False
    named: tuple[str, ...] = ()

    def readable(self) -> dict[str, str]:
        """Tonight's own name for each hash."""
        return {outcomes.hash_id(name): name for name in self.named}


def night_values(
    source: Any,
    place: ReferenceLocation,
    entry: Entry,
    verdict: Verdict,
    columns: Mapping[str, Any],
    *,
    missing: str,
    ends: tuple[float, float] | None = None,
) -> NightValues:
    """What a guard that has been judged brings into its night. A metric that is no mean over items is refused."""
    entry, recorded = with_outcomes(place, entry)
    if recorded is None:
        raise cannot_watch(verdict, "its reference is a number without items", "record a run with its items")
    if recorded.weight is not None:
        raise cannot_watch(verdict, "its items have weights", 'leave it out of the budget: tier = "advisory"')
    if entry.sums is not None or place.defaults.ratio is not None:
        columns = {**columns, "ratio": settle_ratio(columns.get("ratio"), entry, place.defaults, Warnings())}
    run = read_run(source, columns, verdict.metric, Warnings())
    metric = metric_of(verdict.metric, run.items, ends)
    labelled = (run.items.id, run.items.group) if recorded.hashed else ()  # a group is a unit of the night as an item is
    named = tuple(name for column in labelled if column is not None for name in column.names)
    run = with_hashed_ids(run, recorded.hashed)
    if run.items.id is None:
        raise cannot_watch(verdict, "its run has no ids", "name the column with id")
    past = outcomes.to_items(recorded)
    alike = like_reference(run.items, past, metric)
    now = settle_missing(alike, missing, ends=ends, higher_is_better=metric.scores_up(verdict.higher_is_better), beside=[past])[0]
    contents = dict(zip(recorded.keys, recorded.content, strict=True))
    up = up_of(metric, verdict.higher_is_better)
    if isinstance(metric, RepeatsMetric):
        earlier = [made] if (made := _of_tries(past, metric, up, contents)) is not None else []
        tonight = _of_tries(now, metric, up, _contents_of(run.items))
    else:
        earlier = _by_run(past, metric, up, contents)
        tonight = _averaged(now, metric, up, _contents_of(run.items))
    if not metric.mean_of_items or tonight is None or not earlier or not _is_mean(tonight, earlier, verdict):
        raise cannot_watch(verdict, f"{verdict.metric} is not a mean over items", "check the accuracy or a mean of scores instead")
    width = None if ends is None else float(ends[1] - ends[0])
    if recorded.group is not None:
        groups = GroupUnits.of(dict(zip(recorded.keys, recorded.group, strict=True)))
        earlier, tonight = [groups.values(one) for one in earlier], groups.values(tonight)
        width = None if width is None else width * groups.largest
    if place.config.ids == "hashed" and not recorded.hashed:  # an older reference may have readable ids; what is stored now has not
        named = tuple({*tonight.ids, *(name for one in earlier for name in one.ids)})
        earlier, tonight = [_hashed(one) for one in earlier], _hashed(tonight)
    return NightValues(reference=tuple(earlier), tonight=tonight, width=width, deterministic=bool(entry.deterministic), named=named)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupUnits:
    """Items that belong together as the units of a night: one number per group, its mean times its size over the mean size.

    Whether a change holds for new items depends on how many groups show it, not on how many items. An item without a group is its own.
    """

    group: Mapping[str, str]
    size: Mapping[str, float]

    @classmethod
    def of(cls, group: Mapping[str, str | None]) -> GroupUnits:
        named = {item: item if name is None else name for item, name in group.items()}
        counted = Counter(named.values())
        mean = len(named) / len(counted)
        return cls(group=named, size={name: many / mean for name, many in counted.items()})

    @property
    def largest(self) -> float:
        return max(self.size.values())

    def values(self, run: JudgedValues) -> JudgedValues:
        """A run by group. A group with other items, or other contents of them, is another one: it begins anew."""
        held: dict[str, list[tuple[str, float, str | None]]] = {}
        for item, value, content in zip(run.ids, run.values, run.contents or [None] * len(run.ids), strict=True):
            held.setdefault(self.group.get(item, item), []).append((item, value, content))
        values = [self.size.get(name, 1.0) * math.fsum(value for _, value, _ in items) / len(items) for name, items in held.items()]
        seen = [json.dumps(sorted((item, content or "") for item, _, content in items)) for items in held.values()]
        contents = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in seen]
        return JudgedValues(ids=list(held), values=values, contents=contents)


def _hashed(run: JudgedValues) -> JudgedValues:
    return replace(run, ids=[outcomes.hash_id(name) for name in run.ids])


def cannot_watch(verdict: Verdict, why: str, hint: str) -> DataError:
    return DataError(
        f"{verdict.task} {verdict.model} cannot be part of a night: {why}.",
        got=why,
        need="outcomes of the items, on record and tonight",
        hint=hint,
    )


def recorded_values(
    place: ReferenceLocation, entry: Entry, name: str, *, higher_is_better: bool, hashed: bool = False
) -> tuple[float, tuple[JudgedValues, ...]] | None:
    """(what turns a score so that up is good, the recorded runs turned so), by the ids that the history keeps; hashed: as it hashes them.

    None where there are no items on record, or the metric is no mean over items of their scores.
    """
    entry, recorded = with_outcomes(place, entry)
    if recorded is None or recorded.weight is not None or entry.sums is not None:
        return None
    past = outcomes.to_items(recorded)
    metric = metric_of(name, past)
    if not metric.averages_items:
        return None
    up = up_of(metric, higher_is_better)
    runs = _by_run(past, metric, up, {})
    if hashed and not recorded.hashed:
        runs = [_hashed(run) for run in runs]
    return (up, tuple(runs)) if runs else None


def mean_metric(name: str) -> Metric | None:
    """The metric by its name, as the mean of what each item scored; None if it is no such mean. A name that nobody knows is a score's."""
    try:
        metric = parse(name)
    except SteelyardError:
        return usual({"score"})[0]
    return metric if metric.averages_items else None


def up_of(metric: Metric, higher_is_better: bool) -> float:
    """What turns an item's number so that up is good. Of labels it is right or wrong, whatever the metric counts."""
    good = metric.higher_is_better or metric.of_labels
    return 1.0 if good == (higher_is_better == metric.higher_is_better) else -1.0


def _by_run(items: Items, metric: Metric, up: float, contents: Mapping[str, str | None]) -> list[JudgedValues]:
    """The recorded runs one by one."""
    values = item_values(items, metric)
    if values is None or items.id is None:
        return []
    run = np.zeros(items.n, np.int64) if items.repeat is None else items.repeat.codes
    out = []
    for one in np.unique(run):
        rows = np.flatnonzero((run == one) & ~np.isnan(values))
        ids = [items.id.names[int(code)] for code in items.id.codes[rows]]
        out.append(JudgedValues(ids=ids, values=(up * values[rows] + 0.0).tolist(), contents=[contents.get(name) for name in ids]))
    return out


def _averaged(items: Items, metric: Metric, up: float, contents: Mapping[str, str | None]) -> JudgedValues | None:
    """Tonight, a number per item: the mean of its answers, if it was asked several times."""
    values: FloatArray | None = item_values(items, metric)
    if values is None or items.id is None:
        return None
    codes = items.id.codes
    times = np.bincount(codes, minlength=len(items.id.names))
    asked = np.flatnonzero(times)
    total = np.bincount(codes, weights=up * values, minlength=len(times))[asked]
    ids = [items.id.names[int(code)] for code in asked]
    return JudgedValues(ids=ids, values=(total / times[asked] + 0.0).tolist(), contents=[contents.get(name) for name in ids])


def _of_tries(items: Items, metric: RepeatsMetric, up: float, contents: Mapping[str, str | None]) -> JudgedValues | None:
    """The chance of each item, from all its tries: the tries of one item are one number."""
    if items.score is None or items.id is None:
        return None
    codes = items.id.codes
    tries = np.bincount(codes, minlength=len(items.id.names))
    asked = np.flatnonzero(tries)
    right = np.bincount(codes, weights=items.score, minlength=len(tries))[asked]
    chance = metric.of_tries(right.round().astype(np.int64), tries[asked], int(metric.parameter or 1))
    ids = [items.id.names[int(code)] for code in asked]
    return JudgedValues(ids=ids, values=(up * chance + 0.0).tolist(), contents=[contents.get(name) for name in ids])


def _contents_of(items: Items) -> dict[str, str | None]:
    alone = outcomes.items_alone(items)
    return dict(zip(alone.keys, alone.content, strict=True))


def _is_mean(tonight: JudgedValues, earlier: list[JudgedValues], verdict: Verdict) -> bool:
    """Whether the change of these numbers is the one that was judged, on the items that both have with the same content."""
    sums: dict[str, list[float]] = {}
    contents: dict[str, str | None] = {}
    for run in earlier:
        for name, value, content in zip(run.ids, run.values, run.contents or (), strict=True):
            sums.setdefault(name, []).append(value)
            contents[name] = content
    gaps = [
        value - math.fsum(sums[name]) / len(sums[name])
        for name, value, content in zip(tonight.ids, tonight.values, tonight.contents or (), strict=True)
        if name in sums and (None in (content, contents[name]) or content == contents[name])
    ]
    found = verdict.difference.estimate
    if not gaps or found is None:
        return False
    mean = math.fsum(gaps) / len(gaps)
    return any(math.isclose(mean * scale, found, rel_tol=1e-6, abs_tol=1e-9) for scale in SCALES)
