"""What is anticipated of a metric: the success rate of the relevant items, how many labels are relevant, what is known already."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from steelyard_old.did_you_mean import either
from steelyard_old.errors import DataError, UsageError, in_short
from steelyard_old.infer.planning.anticipated import Anticipated
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.catalogue import CATALOGUE
from steelyard_old.metrics.labels import LabelMetric
from steelyard_old.metrics.table import Ratio, hits_and_false_alarms
from steelyard_old.options.measure import settle
from steelyard_old.options.option import MOST, is_truth_value
from steelyard_old.results.signature import values_of


def plannable() -> tuple[LabelMetric, ...]:
    """The metrics that labels can be planned for: each is a proportion of items that it names."""
    return tuple(metric for metric in CATALOGUE.values() if isinstance(metric, LabelMetric) and metric.relevant is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One metric before its test set exists. `value` is on the scale of the metric, None if nobody dares say.

    `have` = (k, n) of the relevant items, as the metric counts them (k errors for error, TP of TP + FP + FN for f1);
    `law` a Beta design prior of the success rate; `told` the precision, recall and prevalence that were given.
    """

    metric: LabelMetric
    value: float | None = None
    told: Mapping[str, float] = field(default_factory=dict)
    law: tuple[float, float] | None = None
    have: tuple[int, int] = (0, 0)
    seen_share: float | None = None  # of relevant items among those labelled so far, from a pilot

    @property
    def success(self) -> float | None:
        """The success rate of a relevant item: 1 - error, J = F1 / (2 - F1), else the metric itself."""
        if self.value is None:
            return None
        return self.scaled(self.value)

    def scaled(self, value: float) -> float:
        """A value of the metric as a success rate."""
        return float(self.metric.of_right(self.metric.read_through.inwards(value)))

    @property
    def items(self) -> str:
        """The items that the metric is about, in words."""
        return "" if self.metric.relevant is None else self.metric.relevant[0]

    @property
    def by_parts(self) -> bool:
        """Whether it was told by several rates that it is made of, as F1 by precision and recall."""
        return len(self.metric.made_of) > 1 and set(self.metric.made_of) <= set(self.told)

    @property
    def rates(self) -> dict[str, float | None]:
        """The rates that are known of it: those that were told, and else each that it is made of is taken to be its value."""
        return {**dict.fromkeys(self.metric.made_of, self.value), **self.told}

    @property
    def share(self) -> Ratio:
        """The successes among the relevant items, as a ratio of counts."""
        ratio = self.metric.read_through.inner
        assert isinstance(ratio, Ratio)
        return ratio

    @property
    def of_predictions(self) -> bool:
        """Whether predictions decide which items are relevant."""
        return self.share.of_predictions

    @property
    def counted(self) -> tuple[int, int]:
        """(successes, relevant items) there are."""
        k, n = self.have
        return self.metric.of_right(k, n), n

    @property
    def relevant(self) -> float | None:
        """The share of labels that fall on a relevant item; None if it cannot be known from what was given."""
        if self.metric.right_or_wrong:
            return 1.0
        if self.seen_share is not None:
            return self.seen_share
        prevalence = self.told.get("prevalence")
        if prevalence is None:
            return None
        if not self.of_predictions:
            return self.share.share_below(prevalence)
        precision, recall = (self.rates.get(name) for name in ("precision", "recall"))
        if precision is None or recall is None:
            return None
        hits, false_alarms = hits_and_false_alarms(prevalence, precision, recall)
        if false_alarms > 1 - prevalence:
            raise UsageError(
                f"precision {precision:g}, recall {recall:g} and prevalence {prevalence:g} are impossible together: "
                f"{false_alarms:.3g} of the items would be false positives, and only {1 - prevalence:.3g} are negative.",
                got=f"precision {precision:g}, recall {recall:g}, prevalence {prevalence:g}: "
                f"{false_alarms:.3g} of the items would be false positives, and only {1 - prevalence:.3g} are negative",
                need="a higher precision, or a lower recall or prevalence",
            )
        return self.share.share_below(prevalence, hits, false_alarms)

    def anticipated(self, prior: tuple[float, float]) -> Anticipated | None:
        """The law of the items to come: the value that was given, else what is believed after what there is, else unknown."""
        if self.success is not None:
            return Anticipated(self.success)
        if self.law is None and not self.have[1]:
            return None
        return Anticipated.after(self.law or prior, *self.counted)

    def shifted(self, by: float) -> Expectation | None:
        """The same with the value a little off (the rates that it was told by, all of them); None outside (0, 1)."""
        told = [name for name in self.metric.made_of if name in self.told]
        if told:
            moved = {name: round(self.told[name] + by, 12) for name in told}
            if not all(0 < x < 1 for x in moved.values()):
                return None
            return replace(self, value=self.metric.of_rates(moved), told={**self.told, **moved})
        moved_value = round((self.value or 0.0) + by, 12)
        return replace(self, value=moved_value) if self.value is not None and 0 < moved_value < 1 else None


def probability(name: str, value: Any) -> float:
    """A number strictly between 0 and 1, or an error that says what to write."""
    try:
        number = math.nan if is_truth_value(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 < number < 1:  # also catches NaN
        hint = f"write {number / 100:g}" if 2 <= number < 100 else "0.9 means 90%"
        need = "a number strictly between 0 and 1"
        raise UsageError(f"The {name} must be {need}, not {in_short(value)}.", got=in_short(value), need=need, hint=hint)
    return number


def expect(
    metric: str,
    expected: float | None,
    told: Mapping[str, float | None],
    design_prior: Any,
    have: Any,
    pilot: Any,
    columns: Mapping[str, Any],
) -> Expectation:
    """What was given about the metric, checked; a pilot is counted."""
    wanted = {each.name: each for each in plannable()}
    if metric not in wanted:
        raise UsageError(
            f"A plan for {metric!r} is not possible; plan for {either(tuple(wanted))}.",
            got=repr(metric),
            need=f"one of {', '.join(wanted)}",
            hint="other metrics are not proportions of items; take the closest of these",
        )
    given = {name: probability(name, value) for name, value in told.items() if value is not None}
    for name in given:
        if name not in wanted[metric].told_by:
            allowed = ", ".join(("expected", *wanted[metric].told_by))
            raise UsageError(
                f"{name} means nothing for {metric}, which takes only {allowed}.", got=f"{name} {given[name]:g}", need=f"only {allowed}"
            )
    value = _value(wanted[metric], expected, given)
    law = None if design_prior is None else _pair("design prior", design_prior)
    if law is not None and value is not None:
        raise UsageError(
            f"{metric} {value:g} and a design prior are two expected values; give one of them.",
            got=f"{metric} {value:g} and a design prior",
            need="one of them",
            hint="a design prior replaces the value",
        )
    found = Expectation(metric=wanted[metric], value=value, told=given, law=law)
    if pilot is None:
        if columns:
            raise UsageError(
                f"Columns ({', '.join(map(repr, columns))}) need a pilot to be read from.",
                got=", ".join(map(repr, columns)),
                need="a pilot that holds them",
            )
        return replace(found, have=(0, 0) if have is None else _have(have))
    if have is not None or given:
        names = ", ".join([*(["have"] if have is not None else []), *given])
        raise UsageError(f"The pilot already gives {names}; leave one of them out.", got=f"a pilot and {names}", need="one of them")
    return _from_pilot(found, pilot, columns)


def _value(metric: LabelMetric, expected: float | None, given: Mapping[str, float]) -> float | None:
    """The anticipated value, from the one way in which it was told."""
    value = None if expected is None else probability("expected value", expected)
    parts = [name for name in metric.made_of if name in given]
    others = [name for name in metric.made_of if name not in given]
    if parts and others:
        raise UsageError(
            f"{parts[0]} alone does not give the {metric.name}; {others[0]} is needed as well.",
            got=f"{parts[0]} alone",
            need=f"{others[0]} as well",
            hint=f"{others[0]}=0.8",
        )
    told = metric.of_rates(given) if parts else None
    if told is not None and value is not None and not math.isclose(told, value, abs_tol=1e-9):
        raise UsageError(
            f"Two expected values of {metric.name}: {value:g} and {told:g}.", got=f"{value:g} and {told:g}", need="one of them"
        )
    return value if told is None else told


def _have(have: Any) -> tuple[int, int]:
    try:
        k, n = (int(part) for part in have if not isinstance(part, bool) and int(part) == part)
    except (TypeError, ValueError, OverflowError):
        k, n = -1, -1
    if not 0 <= k <= n <= MOST or n == 0:
        raise UsageError("cannot use have", got=in_short(have), need="(k, n), k of n relevant items, 0 <= k <= n", hint="45/50")
    return k, n


def _pair(name: str, pair: Any) -> tuple[float, float]:
    try:
        a, b = (float(part) for part in pair)
    except (TypeError, ValueError, OverflowError):
        a = b = math.nan
    if not (0 < a < math.inf and 0 < b < math.inf):
        raise UsageError(
            f"The {name} must be two positive numbers, a and b of a Beta distribution, not {in_short(pair)}.",
            got=in_short(pair),
            need="two positive numbers, a and b of a Beta distribution",
            hint="45,5 is about 45 of 50",
        )
    return a, b


def _from_pilot(found: Expectation, pilot: Any, columns: Mapping[str, Any]) -> Expectation:
    """k of n relevant items of a pilot, and their share."""
    from steelyard_old.estimate.rows import class_of
    from steelyard_old.questions.measure.measure import measure

    measured = measure(pilot, metric=found.metric.name, **columns)
    table = measured.table
    design = values_of(measured.signature, "design")
    if table is None or design != ["items"]:
        raise DataError(
            f"The items of this pilot belong together ({', '.join(design) or 'no table'}); a plan needs independent items.",
            got=f"items that belong together ({', '.join(design) or 'no table'})",
            need="one independent answer per item",
            hint="give have=(K, N) with an effective number of items, or leave the groups out with group='none'",
        )
    metric = found.metric
    proportion = metric.proportion(table, class_of(metric, table, settle(positive=columns.get("positive"))))
    k, n = (0, 0) if proportion is None else proportion.of(table)
    if n == 0:
        raise DataError(f"The pilot has no relevant items: {found.items}.", got=f"no relevant items: {found.items}", need="at least one")
    whole = table.n if table.negatives_known or metric.right_or_wrong else None
    return replace(found, have=(int(k), int(n)), seen_share=None if whole is None else n / whole)
