"""The entry of a new record: what was asked, what an update keeps of the old entry, and in which scale its numbers are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard_old.errors import DataError, SteelyardError, UsageError
from steelyard_old.estimate.guard.rule import is_better_higher, settle_rule, unit_of
from steelyard_old.estimate.guard.source import ratio_has_percent, within_unit
from steelyard_old.items import Items
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import find, parse
from steelyard_old.options.option import share_of_reference
from steelyard_old.reference.changes import commit_of, now, who
from steelyard_old.reference.entry import PLAIN_KEY, Entry
from steelyard_old.reference.lookup import ReferenceLocation
from steelyard_old.reference.names import check_spec
from steelyard_old.reference.outcomes import Outcomes
from steelyard_old.results.base import Warnings
from steelyard_old.tally.rounding import deviation_of
from steelyard_old.version import __version__

LIMITS = ("theta", "margin", "alpha", "beta", "sigma", "higher_is_better")
IN_SCALE = ("theta", "margin", "sigma", "threshold", "first_value")  # numbers in the scale of the value
HIGHEST = {"fraction": 1.0, "percent": 100.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRequest:
    """What the entry is to be about: as asked, else as it was, else as the task says. `before` is what it replaces."""

    model: str
    spec: Mapping[str, Any]
    metric: str | None
    positive: str | None
    scale: str | None
    deterministic: bool
    reason: str | None
    protocol: Mapping[str, str]
    limits: Mapping[str, Any]
    before: Entry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The runs reduced: the pooled value, that of each run, and the items with what is kept of them."""

    metric: Metric
    value: float  # in the metric's own numbers
    by_run: tuple[float, ...]
    n: int
    items: Items
    kept: Outcomes | None


def request_of(asked: Mapping[str, Any], before: Entry | None, place: ReferenceLocation) -> EntryRequest:
    """An update keeps what the entry was about."""
    was = before or Entry(model=asked["model"], value=None)
    own = None if before is None else before.metric or before.value_key
    metric, positive = asked["metric"] or own or place.defaults.metric, asked["positive"]
    positive = was.positive if positive is None and _same(metric, own) else positive
    protocol = asked["protocol"] if asked["protocol"] is not None else was.protocol or place.defaults.protocol
    return EntryRequest(
        model=asked["model"],
        spec=dict(before.spec) if before else {key: value for key, value in check_spec(asked["spec"] or {}).items() if value is not None},
        metric=metric,
        positive=None if positive is None else str(positive),
        scale=asked["scale"] or was.scale or place.defaults.scale,
        deterministic=bool(asked["deterministic"] or was.deterministic),
        reason=asked["reason"],
        protocol={key: str(value) for key, value in protocol.items()},
        limits={name: asked[name] for name in LIMITS if asked[name] is not None},
        before=before,
    )


def with_direction(request: EntryRequest, said: bool | None, metric: Metric) -> EntryRequest:
    """The request with the direction that a log or the task of a run says: in the entry it counts for runs without them, too.

    It is written where nobody asked for one and the entry does not have one; that up is good goes without saying.
    """
    known = request.before is not None and request.before.higher_is_better is not None
    if said is None or known or (said and is_better_higher(name_of(request, metric))):
        return request
    return replace(request, limits={"higher_is_better": said, **request.limits})


def refuse_other_metric(noted: str | None, before: Entry) -> None:
    """Refuse a run that its task measured by another metric than the entry that it would replace: a reference is about one metric.

    A name that only the suite knows says nothing against a mean.
    """
    own = before.metric or before.value_key
    if noted is None or own is None or find(noted) is None or find(own) is None or _same(noted, own):
        return
    raise UsageError(
        f"The run was measured by {noted!r}, but the entry that it would replace is of {own!r}.",
        got=f"a run of {noted!r}",
        need=f"a run of {own!r}, or metric=",
        hint=f"metric={noted!r} makes the entry one of {noted!r}; metric={own!r} measures this run by {own!r}",
    )


def _same(one: str | None, other: str | None) -> bool:
    """Whether two names are of one metric: acc is accuracy."""
    return one is None or other is None or _plain(one) == _plain(other)


def _plain(name: str) -> str:
    try:
        return parse(name).name
    except SteelyardError:
        return name.strip()


def name_of(request: EntryRequest, metric: Metric) -> str:
    """What the value is called: a name that only the suite knows (wer, rouge1) stays, though it is measured as a mean."""
    return metric.name if request.metric is None else _plain(request.metric)


def scale_of(request: EntryRequest, found: Measured) -> tuple[str, float]:
    """The scale of the value, and what turns the metric's own number into it."""
    within = within_unit(found.metric, [found.items])
    if request.scale is None:
        number = _number(request.before)
        if within and number is not None and abs(number) > 1:
            raise DataError(
                f"The reference on record is {number:g}, but the scores lie within 0 and 1; the scale is not declared.",
                got=f"{number:g} on record and scores within 0 and 1",
                need="a declared scale",
                hint='scale="percent", or scale = "percent" in [tasks.NAME] of steelyard.toml',
            )
        return ("fraction" if within else "raw"), 1.0
    unit = unit_of(request.scale, within or ratio_has_percent(found.metric))
    _refuse_above(request.scale, unit, found)
    return request.scale, unit


def scale_of_range(metric: Metric, ends: tuple[float, float] | None) -> str | None:
    """The scale that a declared range says: where scores can lie beyond 0 and 1, those of this run may lie between them by chance."""
    beyond = ends is not None and metric.high is None and (ends[0] < 0 or ends[1] > 1)
    return "raw" if beyond else None


def _refuse_above(scale: str, unit: float, found: Measured) -> None:
    """A fraction ends at 1, a percentage of scores or of right answers at 100."""
    highest = HIGHEST.get(scale)
    if highest is None or (scale == "percent" and not found.metric.scored):
        return
    score = found.items.score if "score" in found.metric.needs else None
    top = unit * float(abs(found.value) if score is None else np.abs(score).max())
    if top > highest:
        raise DataError(
            f"{'Scores up to' if score is not None else 'A value of'} {top:g} cannot be recorded in scale {scale!r}, which ends "
            f"at {highest:g}.",
            got=f"{'scores up to' if score is not None else 'a value of'} {top:g}",
            need=f"numbers of at most {highest:g}",
            hint="scale='percent' for 0 to 100, scale='raw' for anything else",
        )


def _number(entry: Entry | None) -> float | None:
    return None if entry is None else entry.value if entry.value is not None else entry.threshold


# ---- the entry -------------------------------------------------------------------------------------------------------------


def entry_of(request: EntryRequest, found: Measured, place: ReferenceLocation, warnings: Warnings) -> Entry:
    """The new entry. An update keeps what a person set by hand in the old one: alpha, theta, threshold, a note."""
    scale, unit = scale_of(request, found)
    name = name_of(request, found.metric)
    entry = Entry(
        model=request.model,
        value=unit * found.value,
        value_key=name,
        spec=request.spec,
        num_samples=found.n,
        scale=scale,
        metric=None if name == PLAIN_KEY else name,
        positive=request.positive if of_a_class(found.metric) else None,
        runs=max(1, len(found.by_run)),
        sigma_run=unit * deviation_of(np.array(found.by_run)) if len(found.by_run) > 1 else None,
        deterministic=True if request.deterministic else None,
        recorded=now(),
        by=who(),
        commit=commit_of(place.directory if place.directory.exists() else place.directory.parent, except_for=place.directory),
        tool=f"steelyard {__version__}",
        reason=request.reason,
        items_hash=None if found.kept is None else found.kept.items_hash,
        protocol=request.protocol,
    )
    entry = replace(entry, **_kept(request, found, place, name, unit, warnings))
    return with_limits(entry, request, place, warnings)


def of_a_class(metric: Metric) -> bool:
    """Whether a metric is about one class, so that the positive label is a part of its name."""
    return (metric.of_class and metric.average is None) or "probability" in metric.needs


def with_limits(entry: Entry, request: EntryRequest, place: ReferenceLocation, warnings: Warnings) -> Entry:
    """The entry with the numbers that were asked for, if the rule that they make with the others is possible."""
    rule = settle_rule(request.limits, entry, place.defaults, warnings)
    shares = {name for name in ("theta", "margin") if share_of_reference(name, request.limits.get(name)) is not None}
    return replace(entry, **{name: request.limits[name] if name in shares else getattr(rule, name) for name in request.limits})


def _kept(request: EntryRequest, found: Measured, place: ReferenceLocation, name: str, unit: float, warnings: Warnings) -> dict[str, Any]:
    """What is carried over, in the scale of the new value. Numbers of another metric mean nothing any more, which is said."""
    before = request.before
    if before is None:
        return {}
    in_scale = {key: value for key in IN_SCALE if isinstance(value := getattr(before, key), int | float)}
    if "first_value" not in in_scale and before.value is not None:
        in_scale["first_value"] = before.value
    rest = {key: getattr(before, key) for key in ("alpha", "beta", "reference_note")}
    rest |= {key: value for key in ("theta", "margin") if isinstance(value := getattr(before, key), str)}  # shares of any reference
    own = before.metric or before.value_key
    if not _same(own, name):
        lost = ", ".join(f"{key} {value:g}" for key, value in in_scale.items() if key != "first_value")
        warnings.add(f"the metric was {own} and is {name} now: the drift since the first value starts anew{lost and f'; not kept: {lost}'}")
        return rest
    within = within_unit(found.metric, [found.items]) or ratio_has_percent(found.metric)
    old = unit_of(_scale_before(before, place), within)
    if old != unit:
        numbers = ", ".join(f"{key} {value:g}" for key, value in in_scale.items())
        warnings.add(f"the scale was {before.scale or 'not said'}: {numbers} were multiplied by {unit / old:g}")
        in_scale = {key: value * unit / old for key, value in in_scale.items()}
    return {**rest, "higher_is_better": before.higher_is_better, **in_scale}


def _scale_before(before: Entry, place: ReferenceLocation) -> str | None:
    """The scale of the old numbers. Where nobody says it, a number above 1 can only be a percentage of scores in 0..1."""
    number = _number(before)
    return before.scale or place.defaults.scale or ("percent" if number is not None and abs(number) > 1 else None)


def refuse_unasked(before: Entry | None, update: bool, place: ReferenceLocation, model: str) -> None:
    """What is on record is replaced only on request."""
    if before is None or update:
        return
    what = f"a reference of {before.value:g}" if before.value is not None else "a threshold"
    raise UsageError(
        f"{model!r} on {place.task!r} has {what} on record already ({place.shown}, line {before.line}).",
        got=f"{what} already recorded ({place.shown}, line {before.line})",
        need="update=True to replace it",
        hint='to replace it: update=True, reason="why the new value is right"',
    )
