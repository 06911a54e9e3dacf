"""A guard over slices: the values of a column judged beside the whole, so that a loss in one of them is found where gains hide it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from steelyard_old.did_you_mean import did_you_mean
from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.evidence import Evidence, too_few_groups
from steelyard_old.estimate.guard.paired import PairedJudgement
from steelyard_old.estimate.guard.rule import at_reference
from steelyard_old.estimate.guard.slice_request import OF_RUN, SliceRequest
from steelyard_old.estimate.opening import subset
from steelyard_old.estimate.pair_evidence import pair_evidence
from steelyard_old.infer.paired.decision import agreeing_bounds, decide
from steelyard_old.infer.slices import FEWEST_ITEMS, MOST_SLICES, SHARE, adjust_slices, large_enough, losses_needed
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import ChangedItem, Difference
from steelyard_old.results.verdict import JudgedSlice, Needed, SliceFamily, Verdict, one_sided_bounds
from steelyard_old.tally.pairs import Pairs
from steelyard_old.tally.spelling import label_order, slice_look_alike_warnings

NO_VALUE = "(none)"  # the slice of items without a value
SHOWN = 8  # slices that an error names


@dataclass(slots=True, kw_only=True)
class _SliceItems:
    """One slice: which items it has, what was found of them, and whether it is tested."""

    by: str
    value: str
    items: npt.NDArray[np.int64]
    critical: bool = False
    judged: PairedJudgement | None = None
    p: float | None = None
    lower: float | None = None
    upper: float | None = None
    note: str = ""

    @property
    def name(self) -> str:
        return f"{self.by} = {self.value}"

    @property
    def rules_theta_out(self) -> bool:
        if self.judged is None:
            return False
        theta, lower = self.judged.theta_and_bound(self.lower)
        return lower is not None and lower > -(theta or 0.0)

    @property
    def enough(self) -> bool:
        """Whether its groups, if it has any, are enough to judge by."""
        return self.judged is None or not self.judged.found.too_few


def with_slices(found: Verdict, judged: PairedJudgement, request: SliceRequest) -> Verdict:
    """The verdict with its slices: worse if the whole or a slice is, after correction for all of them. `judged`: what it rests on."""
    rule, p_whole, smallest = judged.rule, found.p_value, found.details.smallest_p
    assert p_whole is not None
    assert smallest is not None
    parts = _parts(judged.pairs, request, judged.warnings)
    for part in parts:
        _judge(part, judged)
    counted = [part for part in parts if part.enough and (part.critical or not request.critical)]
    large = large_enough([len(part.items) for part in counted], rule.alpha)
    enough = found.details.not_judged is None
    tested = [part for part, is_large in zip(counted, large, strict=True) if is_large and enough]
    level = (1 - SHARE) * rule.alpha / max(1, len(tested))
    whole, adjusted = adjust_slices(p_whole, [1.0 if part.p is None else part.p for part in tested])
    own = dict(zip(map(id, tested), adjusted, strict=True))
    p = min(whole, *adjusted) if adjusted else whole
    theta = [part for part in parts if part.critical] if rule.theta is not None else []
    doubtful = [part for part in theta if not part.rules_theta_out]
    limit, beyond = judged.theta_and_bound(found.difference.lower)
    verdict = decide(p, rule.alpha, theta=limit, lower=beyond, attainable=min(p, smallest), enough=enough)
    rows = tuple(_row(part, own.get(id(part)), level, judged, request) for part in parts)
    if verdict == "pass" and doubtful:
        verdict = "inconclusive"
    needed = _needed(doubtful[0]) if verdict == "inconclusive" and found.needed is None and doubtful else found.needed
    if tested:
        found = _with_share(found, judged, p_whole, smallest)
        if p_whole <= rule.alpha < whole:
            judged.warnings.add(
                f"all items together: significant on its own (p = {p_whole:.2g}), not after correction for the slices ({whole:.2g})"
            )
    for part in parts:
        if part.critical and id(part) not in own:
            judged.warnings.add(
                f"the critical slice {part.name} is not tested ({part.note or f'{len(part.items):,} items are too few'}): a loss there "
                "can only show in all items together"
            )
    if parts and not tested and not request.critical:
        judged.warnings.add(
            f"no slice of {' and '.join(request.by)} was tested: "
            + ("their groups are too few" if not counted else f"each has fewer than {FEWEST_ITEMS} items")
        )
    family = SliceFamily(
        by=request.by,
        tested=len(tested),
        shown=len(parts),
        share=SHARE if tested else 1.0,
        losses_needed=losses_needed(len(tested), rule.alpha),
        p_overall=whole,
        p_value=p,
        critical_slices=request.critical,
    )
    changed = _with_slice(found.changed_items, rows, judged.pairs, parts)
    return replace(found, verdict=verdict, needed=needed, slicing=family, slices=rows, changed_items=changed)


def _parts(pairs: Pairs, request: SliceRequest, warnings: Warnings) -> list[_SliceItems]:
    """The slices of every column, in the order of their names; those without a value last."""
    parts: list[_SliceItems] = []
    for column in request.by:
        names, codes = _of_items(pairs, column)
        _warn_of_relabelled(pairs, column, names, codes, warnings)
        there = {names[i]: np.flatnonzero(codes == i) for i in np.unique(codes).tolist() if i >= 0}
        if (codes < 0).any():  # a value that is called so is one with them
            there[NO_VALUE] = np.flatnonzero((codes < 0) | (codes == (names.index(NO_VALUE) if NO_VALUE in names else -1)))
        order = [value for value in label_order(there) if value != NO_VALUE]
        warnings.extend(slice_look_alike_warnings(column, order))
        parts += [_SliceItems(by=column, value=value, items=there[value]) for value in (*order, *({NO_VALUE} & there.keys()))]
    _name_critical(parts, request)
    if len(parts) > MOST_SLICES:
        if not request.critical:
            raise UsageError(
                f"{len(parts):,} slices by {' and '.join(request.by)} are too many to judge ({MOST_SLICES} at most).",
                got=f"{len(parts):,} slices, such as {', '.join(part.value for part in parts[:3])}",
                need=f"at most {MOST_SLICES}, or the ones that count",
                hint=f"name those that count: critical_slices={[part.value for part in parts[:2]]!r}",
            )
        warnings.add(f"{len(parts):,} slices: only those named in critical_slices are shown")
        parts = [part for part in parts if part.critical]
    return parts


def _of_items(pairs: Pairs, column: str) -> tuple[Sequence[str], npt.NDArray[np.int64]]:
    """The slice of every item, by the names of the reference if it holds them, else by those of the run."""
    recorded = column in pairs.baseline.slices
    side, item = (pairs.baseline, pairs.baseline_item) if recorded else (pairs.candidate, pairs.candidate_item)
    labels = side.slices[column]
    codes = np.full(pairs.items, -1, np.int64)
    codes[item[::-1]] = labels.codes[::-1]
    if (differ := codes[item] != labels.codes).any():
        i = int(item[int(np.argmax(differ))])
        shown = pairs.names[i] if pairs.names else f"row {i + 1}"
        raise DataError(
            f"An item has several values of {column!r}, such as {shown!r}; it can only be in one slice.",
            got=f"several values of {column!r} for one item, such as {shown!r}",
            need="one value for each item",
        )
    return labels.names, codes


def _warn_of_relabelled(pairs: Pairs, column: str, names: Sequence[str], codes: npt.NDArray[np.int64], warnings: Warnings) -> None:
    """Items that the run puts into another slice than the reference does, which decides."""
    labels = pairs.candidate.slices.get(OF_RUN.format(column))
    if labels is None:
        return
    place = {name: code for code, name in enumerate(names)}
    known = np.array([*(place.get(name, -2) for name in labels.names), -1], np.int64)  # the last one for items without a value
    differ = np.flatnonzero(known[labels.codes] != codes[pairs.candidate_item])
    if not len(differ):
        return
    first = int(differ[0])
    item, now, was = int(pairs.candidate_item[first]), int(labels.codes[first]), int(codes[pairs.candidate_item[first]])
    shown = repr(pairs.names[item]) if pairs.names else f"row {item + 1}"
    said = [NO_VALUE if code < 0 else each[code] for code, each in ((was, names), (now, labels.names))]
    many = len(np.unique(pairs.candidate_item[differ]))
    warnings.add(
        f"{column} of {many:,} item{'s' if many > 1 else ''} is not what was recorded, such as {shown} ({said[0]} on record, {said[1]} in "
        "the run): the slices on record count"
    )


def _name_critical(parts: Sequence[_SliceItems], request: SliceRequest) -> None:
    """Mark the slices that are named, by value or as COLUMN=VALUE; a name that is none of them is an error."""
    for name in request.critical:
        fits = [part for part in parts if name in (part.value, f"{part.by}={part.value}")]
        if not fits:
            there = [part.value for part in parts]
            shown = ", ".join(map(repr, there[:SHOWN])) + (f" and {len(there) - SHOWN:,} more" if len(there) > SHOWN else "")
            raise UsageError(
                f"No slice {name!r} by {' and '.join(request.by)}; there are {shown}.",
                got=f"critical_slices with {name!r}",
                need=f"one of {shown}",
                hint=did_you_mean(name, there),
            )
        for part in fits:
            part.critical = True


def _judge(part: _SliceItems, whole: PairedJudgement) -> None:
    """What the items of a slice say by themselves."""
    assert whole.asked is not None
    pairs = subset(whole.pairs, part.items)
    try:
        found = pair_evidence(pairs, whole.metric, whole.asked, Warnings())
        if found.difference is None:
            part.note = f"{whole.metric.name} is undefined"
            return
        if whole.rule.relative and not found.baseline:
            part.note = "the reference is 0, which has no shares"
            return
        part.judged = judged = judgement_of_slice(whole, found, pairs)
        part.p, _ = judged.p_value()
    except DataError as reason:
        part.note = reason.sentence.rstrip(".")
        return
    rule = judged.rule
    below, above = judged.bounds()
    part.lower, part.upper = agreeing_bounds(below, above, part.p, rule.alpha, rule.margin)
    if found.too_few:
        part.note = too_few_groups(found.details)


def judgement_of_slice(whole: PairedJudgement, found: Evidence, pairs: Pairs) -> PairedJudgement:
    """The judgement of a part of the items by the rule of the whole; what it warns of is not said again for each part.

    A margin that is a share of the reference is one of the slice's own reference.
    """
    rule = at_reference(whole.rule, (found.baseline or 0.0) * whole.unit) if whole.rule.relative else whole.rule
    return replace(whole, found=found, pairs=pairs, rule=rule, warnings=Warnings())


def _row(part: _SliceItems, adjusted: float | None, level: float, whole: PairedJudgement, request: SliceRequest) -> JudgedSlice:
    rule, judged = whole.rule, part.judged
    about = JudgedSlice(by=part.by, value=part.value, n=len(part.items), critical=part.critical, note=part.note)
    if judged is not None:
        found = judged.found
        about = replace(
            about,
            reference=None if found.baseline is None else found.baseline * whole.unit,
            candidate=None if found.candidate is None else found.candidate * whole.unit,
            difference=Difference(
                estimate=judged.change,
                interval=one_sided_bounds(part.lower, part.upper, rule.alpha, "" if found.interval is None else found.interval.method),
            ),
            flips=found.flips,
            p_value=part.p,
            ratio=None if part.p is None else judged.ratio_found(part.p),
        )
        if adjusted is not None:
            judged.rule = replace(judged.rule, alpha=level)
            about = replace(about, mde=judged.mde())
    if adjusted is not None:
        return replace(about, p_adjusted=adjusted, worse=adjusted <= rule.alpha)
    if about.note:
        return about
    advisory = bool(request.critical) and not part.critical
    return replace(
        about, note="advisory" if advisory else f"fewer than {FEWEST_ITEMS} items" if len(part.items) < FEWEST_ITEMS else "too few items"
    )


def _with_share(found: Verdict, judged: PairedJudgement, p: float, smallest: float) -> Verdict:
    """The whole has a share of alpha beside its slices: its threshold and the drop it finds are those of that share."""
    alone = replace(judged, rule=replace(judged.rule, alpha=SHARE * judged.rule.alpha), warnings=Warnings())
    threshold, note = alone.threshold(p, None, smallest)
    said = found.details.threshold_note if threshold is None else "; ".join(part for part in (note, "slices are judged beside it") if part)
    return replace(found, mde=alone.mde(), threshold=threshold, details=replace(found.details, threshold_note=said))


def _needed(part: _SliceItems) -> Needed:
    """Why a critical slice holds the verdict up, and what would decide it."""
    why = f"{part.name} does not rule theta out"
    found = None if part.judged is None else part.judged.needed(0.0)
    return Needed(n_items=None, more=None, why=why) if found is None else replace(found, why=f"for {part.name}: {found.why}")


def _with_slice(
    items: tuple[ChangedItem, ...], rows: Sequence[JudgedSlice], pairs: Pairs, parts: Sequence[_SliceItems]
) -> tuple[ChangedItem, ...]:
    """The changed items, each with its slice; those of slices that are worse come first."""
    told = {item.id for item in items}
    if not told or not pairs.names:
        return items
    place = {name: i for i, name in enumerate(pairs.names) if name in told}
    of_item: dict[int, list[_SliceItems]] = {}
    for part in parts:
        for i in np.intersect1d(part.items, list(place.values())).tolist():
            of_item.setdefault(i, []).append(part)
    worse = {(row.by, row.value) for row in rows if row.worse}
    named = []
    for item in items:
        own = of_item.get(place.get(item.id, -1), [])
        first = not any((part.by, part.value) in worse for part in own)
        named.append((first, replace(item, slice=", ".join(part.value for part in own)) if own else item))
    return tuple(item for _, item in sorted(named, key=lambda each: each[0]))
