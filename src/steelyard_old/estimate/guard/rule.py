"""The rule of a guard: every number with where it came from. Precedence: option, entry, task, default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from steelyard_old.error_rates import ALPHA, BETA
from steelyard_old.errors import DataError, SourceError, SteelyardError, UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.catalogue import LOSSES_ELSEWHERE, find, is_share, parse
from steelyard_old.options.measure import settle
from steelyard_old.options.option import (
    LIMITS,
    checked,
    checked_if_given,
    coin_flips,
    number,
    ratio_columns,
    share_of_reference,
    unknown_word,
    whole,
)
from steelyard_old.reference.entry import PLAIN_KEY, Entry, TaskDefaults
from steelyard_old.reference.lookup import ReferenceLocation
from steelyard_old.results.base import Warnings
from steelyard_old.results.verdict import Verdict

TOPS = {"fraction": 1.0, "percent": 100.0}
MIXED_UP = "percent and fraction may have been mixed up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The lowest and the highest score there can be, None where there is no end. `declared`: somebody said the scale."""

    low: float | None = None
    high: float | None = None
    width: float | None = None  # of the scale: no drop and no spread is wider
    scale: str | None = None
    declared: bool = True

    def room(self, reference: float, sign: int) -> float | None:
        """How much worse than the reference a score can become."""
        end = self.low if sign > 0 else self.high
        return None if end is None else sign * (reference - end)

    def unfailing(self, threshold: float, sign: int) -> bool:
        """Whether no score lies beyond the threshold."""
        end = self.low if sign > 0 else self.high
        return end is not None and sign * (threshold - end) <= 0

    def words(self) -> str:
        """between 0 and 1"""
        if self.low is None or self.high is None:
            return f"of at most {self.high:g}" if self.high is not None else f"of at least {self.low:g}"
        return f"between {self.low:g} and {self.high:g}"


def span_of(rule: GuardRule, number: float | None) -> Span:
    """The range of the metric in the scale of the reference; where nobody declares it, the number on record shows it.

    `number` is the value on record, or its threshold. A share above 1 is a percentage. Nothing is known of raw scores, of
    names that only a suite knows where nobody declares their scale, and of 0, which is the same in every scale.
    """
    metric = find(rule.metric)
    scale = rule.scale
    if scale is None and metric is not None and metric.high == 1.0 and number:
        scale = "fraction" if abs(number) <= 1 else "percent" if abs(number) <= TOPS["percent"] else None
    top = TOPS.get(scale or "")
    if top is None:
        return Span(scale=scale, declared=rule.scale is not None)
    declared = rule.scale is not None
    if metric is None or metric.high is None:
        # A mean of scores, a loss, or a name of another suite. Percentages of losses such as WER have no upper end, and means
        # of percentages may be negative.
        endless = not rule.higher_is_better and scale == "percent"
        low = None if scale == "percent" and metric is not None and metric.mean_of_items and metric.low is None else 0.0
        return Span(low=low, high=None if endless else top, width=None if endless else top, scale=scale, declared=declared)
    high = metric.high * top
    low = None if metric.low is None else metric.low * top
    return Span(low=low, high=high, width=None if low is None else high - low, scale=scale, declared=declared)


# ---- the numbers of the rule -----------------------------------------------------------------------------------------------


def refuse_impossible_rule(rule: GuardRule, reference: float | None, warnings: Warnings) -> None:
    """theta, margin, sigma, an explicit threshold and the value on record, checked against what the scale makes possible."""
    number = reference if reference is not None else rule.threshold
    span = span_of(rule, number)
    if reference is not None:
        refuse_outside(reference, span, rule.metric)
    if rule.threshold is not None:
        refuse_outside(rule.threshold, span, f"{rule.metric} (an explicit threshold)")
        if reference is not None and span.scale == "percent" and looks_like_fraction(rule.threshold, reference):
            raise _two_scales(f"a threshold of {rule.threshold:g} and a reference of {reference:g}", rule.threshold, "threshold")
    if span.width is not None:
        for name, drop in (("theta", rule.theta), ("margin", rule.margin)):
            if drop is not None and drop >= span.width:
                raise _too_wide(name, drop, span, reference, f"below {span.width:g}, the range of the scores")
    _refuse_sigma(rule, span, reference, warnings)


def _refuse_sigma(rule: GuardRule, span: Span, reference: float | None, warnings: Warnings) -> None:
    """Scores of a range cannot vary by more than half of it; more than all of it is a sigma in another scale."""
    if not rule.sigma or span.width is None:
        return
    half = span.width / 2
    if rule.sigma > span.width:
        raise _too_wide("sigma", rule.sigma, span, reference, f"at most {half:g}, the largest standard deviation of scores {span.words()}")
    if rule.sigma > half:
        warnings.add(f"sigma {rule.sigma:g} is more than scores {span.words()} can vary by, which is {half:g}")
    share = is_share(rule.metric) and reference is not None and 1 < abs(reference) < TOPS["percent"] - 1
    if share and span.scale == "percent" and rule.sigma <= 0.5:
        raise _two_scales(f"sigma {rule.sigma:g} and a reference of {reference:g}", rule.sigma, "sigma")


def _too_wide(name: str, number: float, span: Span, reference: float | None, need: str) -> UsageError:
    """A number wider than the scale; the hint is what was meant."""
    small = span.scale == "fraction" and number <= TOPS["percent"]
    meant = f"write {number / 100:g} for {number:g} points" if small else MIXED_UP
    if span.declared or reference is None:
        return UsageError(f"cannot use {name}", got=f"{number:g}", need=need, hint=meant)
    return UsageError(
        f"The scale is not declared, and {name} {number:g} does not fit a reference of {reference:g}.",
        got=f"{name} {number:g} and a reference of {reference:g}",
        need="both in one scale",
        hint=f'{meant}; scale = "percent" in [tasks.NAME] of steelyard.toml if the reference is {reference:g}%',
    )


def warn_of_theta(verdict: Verdict, rule: GuardRule, warnings: Warnings) -> None:
    """A drop that cannot be is ruled out by every run: true, and worth nothing."""
    theta, reference = verdict.theta, verdict.reference.estimate
    if theta is None or reference is None or rule.threshold is not None:
        return
    room = span_of(rule, reference).room(reference, rule.sign)
    if room is not None and theta > room:
        way = "lose" if rule.higher_is_better else "rise by"
        warnings.add(f"theta {theta:g} is more than the reference {reference:.6g} can {way}: every run rules it out, so it says nothing")


# ---- a score ---------------------------------------------------------------------------------------------------------------


def refuse_impossible(value: float, rule: GuardRule, reference: float | None) -> None:
    """A score outside the range of its scale is a score in another scale."""
    refuse_outside(value, span_of(rule, reference if reference is not None else rule.threshold), rule.metric)


def refuse_outside(value: float, span: Span, metric: str) -> None:
    if (span.low is None or value >= span.low) and (span.high is None or value <= span.high):
        return
    if not span.declared:
        raise DataError(
            f"The value {value:g} and the reference, which looks like a "
            f"{'percentage' if span.scale == 'percent' else 'fraction'}, seem to be in different scales.",
            got=f"{value:g} where the reference looks like a {'percentage' if span.scale == 'percent' else 'fraction'}",
            need="both in one scale",
            hint='declare it: scale = "percent" or "fraction" in [tasks.NAME] of steelyard.toml',
        )
    raise DataError(
        f"{value:g} is not a value of {metric} in scale {span.scale}: it must be {span.words()}.",
        got=f"{value:g}",
        need=f"a value {span.words()}",
        hint=f"write {value / 100:g} for {value:g}%" if span.scale == "fraction" and 1 < value <= TOPS["percent"] else MIXED_UP,
    )


def refuse_fraction(value: float, rule: GuardRule, reference: float | None) -> None:
    """A bare score that is far from a percentage on record, but near it if it is a fraction, says nothing until that is settled."""
    if reference is not None and rule.scale == "percent" and looks_like_fraction(value, reference):
        raise _two_scales(f"a value of {value:g} and a reference of {reference:g} in percent", value, "value")


def looks_like_fraction(number: float, reference: float) -> bool:
    """Whether a number of at most 1 is nearer to a percentage when it is read as a fraction.

    >>> looks_like_fraction(0.66, 66.2), looks_like_fraction(0.9, 1.5), looks_like_fraction(0.0, 66.2)
    (True, False, False)
    """
    return 0 < abs(number) <= 1 < abs(reference) and abs(100 * number - reference) < abs(number - reference)


def _two_scales(got: str, number: float, name: str) -> DataError:
    more = "; a score that is really so low is checked as a run, not as a bare number" if name == "value" else ""
    return DataError(
        f"Two scales seem to be mixed: {got}.", got=got, need="both in one scale", hint=f"write {100 * number:g} for {number:g}{more}"
    )


def unit_of(scale: str | None, within: bool) -> float:
    return 100.0 if scale == "percent" and within else 1.0


SCALES = ("percent", "fraction", "raw")
TARGETS = ("items", "runs")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRule:
    """What decides: metric and direction, error rates, the drop that matters and the one that is tolerated."""

    metric: str
    higher_is_better: bool
    scale: str | None
    alpha: float
    beta: float
    sigma: float | None
    theta: float | None
    margin: float
    num_samples: int | None
    threshold: float | None
    target: str
    positive: object = None
    range: tuple[float, float] | None = None  # of the scores, where somebody declared it
    margin_relative: float | None = None  # as shares of the reference, where they were given so; margin and theta are then what that is
    theta_relative: float | None = None
    sign: int = field(init=False)  # +1 where up is good, -1 where down is
    relative: bool = field(init=False)  # whether margin or theta is a share of the reference

    def __post_init__(self) -> None:
        object.__setattr__(self, "sign", 1 if self.higher_is_better else -1)
        object.__setattr__(self, "relative", self.margin_relative is not None or self.theta_relative is not None)

    def edge(self, share: float | None) -> float:
        """The ratio of run to reference that is worse by so large a share."""
        return 1 - self.sign * (share or 0.0)

    @property
    def worse_ratio(self) -> str:
        """The side on which a ratio of run to reference is worse."""
        return "less" if self.higher_is_better else "greater"


def settle_rule(
    options: Mapping[str, Any], entry: Entry, task: TaskDefaults, warnings: Warnings, otherwise: Mapping[str, Any] | None = None
) -> GuardRule:
    """The numbers of the rule, each from the first place that says it; `otherwise` are those of a task that ran, the last place."""
    if otherwise:
        task = replace(task, **{name: value for name, value in otherwise.items() if getattr(task, name, value) is None})

    def first(name: str, default: Any = None) -> Any:
        for place in (options.get(name), getattr(entry, name, None), getattr(task, name, None)):
            if place is not None:
                return place
        return default

    _refuse_other("metric", _plain(options.get("metric")), _plain(entry.metric or entry.value_key))
    _refuse_other("scale", options.get("scale"), entry.scale or task.scale)
    _refuse_other("positive", options.get("positive"), getattr(entry, "positive", None))
    metric = entry.metric or (task.metric if entry.value_key == PLAIN_KEY else None) or entry.value_key
    sigma, n, better = first("sigma"), first("num_samples"), first("higher_is_better")
    higher_is_better = is_better_higher(metric) if better is None else bool(better)
    scale, target = _one_of("scale", first("scale"), SCALES), _one_of("target", options.get("target") or "items", TARGETS)
    ends = settle(range=options.get("range")).range
    alpha, beta = checked("alpha", first("alpha", ALPHA)), checked("beta", first("beta", BETA))
    margin, theta = first("margin", 0.0), first("theta")
    shares = options.get("recovery") is not None or isinstance(margin, str) or isinstance(theta, str)
    if shares:
        drops = settle_drops(options, margin, theta)
    else:
        drops = {"margin": checked("margin", margin), "theta": checked_if_given("theta", theta)}
    num_samples = None if n is None else whole("num_samples", n)
    warnings.extend(coin_flips(alpha=alpha, beta=beta))
    rule = GuardRule(
        metric=metric,
        higher_is_better=higher_is_better,
        scale=scale,
        alpha=alpha,
        beta=beta,
        sigma=None if sigma is None else number("sigma", sigma, least=0, hint="a standard deviation of 0 or more"),
        **drops,
        num_samples=num_samples,
        threshold=entry.threshold,
        target=target or "items",
        positive=first("positive"),
        range=ends,
    )
    if rule.relative:
        rule = at_reference(rule, entry.value)
    if rule.theta is not None and rule.theta < rule.margin:
        raise UsageError(
            f"theta {rule.theta:g} is below the margin {rule.margin:g}.",
            got=f"theta {rule.theta:g} below the margin {rule.margin:g}",
            need="a theta of at least the margin",
            hint="a drop up to the margin is allowed, so the drop that matters is no smaller",
        )
    refuse_impossible_rule(rule, entry.value, warnings)
    return rule


def settle_drops(options: Mapping[str, Any], margin: Any, theta: Any) -> dict[str, Any]:
    """margin and theta, each as a drop in the scale of the scores or as a share of the reference; recovery stands for both."""
    if (recovery := options.get("recovery")) is not None:
        if said := [name for name in ("margin", "theta") if options.get(name) is not None]:
            raise UsageError(
                f"recovery= stands for a relative theta and margin, so it cannot be given with {said[0]}=.",
                got=f"recovery and {said[0]}",
                need="one of them",
                hint="recovery=0.99 is the same as margin='1%', theta='1%'",
            )
        reached = number("recovery", recovery, above=0, below=1, hint=LIMITS["recovery"].hint)
        share = round(1 - reached, 12)  # 0.05 where 0.95 was asked for
        return {"margin": 0.0, "theta": None, "margin_relative": share, "theta_relative": share}
    shares = {"margin": share_of_reference("margin", margin), "theta": share_of_reference("theta", theta)}
    given = {"margin": margin, "theta": theta}
    for one, other in (("margin", "theta"), ("theta", "margin")):
        if shares[one] is not None and shares[other] is None and given[other]:
            raise UsageError(
                f"{one} is a share of the reference ({given[one]}) and {other} is not ({given[other]}).",
                got=f"{one} {given[one]} and {other} {given[other]}",
                need="both as shares, or both in the scale of the scores",
                hint=f"write {other}='1%' for 1% of the reference",
            )
    if shares["theta"] == 0:
        raise UsageError("cannot use theta", got=repr(theta), need="a share above 0", hint="theta='1%' is 1% of the reference")
    return {
        "margin": 0.0 if shares["margin"] is not None else checked("margin", margin),
        "theta": None if shares["theta"] is not None else checked_if_given("theta", theta),
        "margin_relative": shares["margin"] or None,
        "theta_relative": shares["theta"],
    }


def at_reference(rule: GuardRule, reference: float | None) -> GuardRule:
    """The rule with margin and theta in the scale of the scores, where they are shares of the reference."""
    if reference is None:
        return rule
    if reference <= 0:
        raise UsageError(
            f"A share of the reference needs a reference above 0, and this one is {reference:g}.",
            got=f"a reference of {reference:g}",
            need="a reference above 0",
            hint="give margin and theta in the scale of the scores",
        )
    margin = rule.margin if rule.margin_relative is None else rule.margin_relative * reference
    return replace(rule, margin=margin, theta=rule.theta if rule.theta_relative is None else rule.theta_relative * reference)


def refuse_relative(rule: GuardRule, what: str) -> None:
    """A rule that stops early has no test of a ratio."""
    if rule.relative:
        share = rule.theta_relative if rule.theta_relative is not None else rule.margin_relative
        raise UsageError(
            f"{what} cannot be judged by a share of the reference: the rules that stop early know differences alone.",
            got=f"{100 * (share or 0.0):g}% of the reference",
            need="theta and margin in the scale of the scores",
            hint="theta=0.02",
        )


def _plain(metric: Any) -> Any:
    """The name of a metric without its aliases: acc is accuracy."""
    try:
        return None if metric is None else parse(str(metric)).name
    except SteelyardError:
        return metric


def _refuse_other(name: str, asked: Any, recorded: Any) -> None:
    """What a reference pins cannot be asked otherwise: the numbers would not be of one kind."""
    if asked is not None and recorded is not None and str(asked) != str(recorded):
        raise UsageError(
            f"The reference has {name} {recorded!r}, so it cannot be checked with {name} {asked!r}.",
            got=f"{name} {asked!r}, where the reference has {recorded!r}",
            need=f"the {name} on record",
            hint="record a separate reference for it",
        )


def _one_of(name: str, value: Any, words: tuple[str, ...]) -> str | None:
    if value is not None and value not in words:
        raise unknown_word(name, value, words)
    return None if value is None else str(value)


def direction(name: str) -> bool | None:
    """Whether up is good by the name of a metric, of the catalogue or of a loss elsewhere in any case; None where nobody knows it.

    >>> direction("f1"), direction("perplexity"), direction("WER"), direction("reward")
    (True, False, False, None)
    """
    if name.lower() in LOSSES_ELSEWHERE:
        return False
    metric = find(name) or find(name.lower())
    return None if metric is None else metric.higher_is_better


def is_better_higher(metric: str) -> bool:
    """Whether up is good: by the catalogue, else by the names of known losses."""
    return direction(metric) is not False


def settle_ratio(asked: Any, entry: Entry | None, task: TaskDefaults, warnings: Warnings) -> tuple[str, str] | None:
    """The two columns of a ratio: as asked or noted by the run, else as the entry was recorded, else as the task says."""
    try:
        on_record = None if entry is None or entry.sums is None else ratio_columns(entry.sums)
    except UsageError as fault:
        line = "" if entry is None else f" (line {entry.line})"
        raise SourceError(
            f"The sums of the reference{line} must be {fault.need}, not {fault.got}.",
            got=fault.got,
            need=fault.need,
            hint="write the two columns, as in sums: accepted/drafted",
        ) from None
    if asked is None:
        return on_record or (None if task.ratio is None else ratio_columns(task.ratio))
    columns = ratio_columns(asked)
    if on_record is not None and columns == on_record[::-1] != on_record:
        raise UsageError(
            f"The reference is {'/'.join(on_record)}, and you asked for {'/'.join(columns)}.",
            got="/".join(columns),
            need="/".join(on_record),
            hint="leave ratio out: the reference says which columns it is made of",
        )
    if on_record not in (None, columns):
        warnings.add(f"the ratio on record was made of {'/'.join(on_record or ())}, this one of {'/'.join(columns)}")
    return columns


def check_protocol(entry: Entry, place: ReferenceLocation, protocol: Mapping[str, str] | None, warnings: Warnings) -> None:
    """What was recorded about the protocol must be what is said about this run."""
    recorded = dict(entry.protocol)
    given = {**{key: str(v) for key, v in place.defaults.protocol.items()}, **{key: str(v) for key, v in (protocol or {}).items()}}
    _note_scorer_version(recorded, given, warnings)
    differ = {key: (recorded[key], given[key]) for key in recorded.keys() & given.keys() if recorded[key] != given[key]}
    extra = sorted(given.keys() - recorded.keys()) if recorded else []
    if differ or extra:
        parts = [f"{key} {was!r} on record, {now!r} now" for key, (was, now) in sorted(differ.items())]
        got = "; ".join([*parts, *(f"{key} not on record" for key in extra)])
        raise SourceError(
            f"The run and the reference have different protocols: {got}.",
            got=got,
            need="the same protocol",
            hint="record a reference for this one",
        )
    silent = sorted(recorded.keys() - given.keys() - {"items"})  # the hash of all items, which nobody can state: ids and contents are met
    if silent:
        warnings.add(
            f"the reference pins its protocol ({', '.join(silent)}); this run does not state its own (protocol={{'KEY': 'VALUE'}})"
        )


def _note_scorer_version(recorded: dict[str, str], given: dict[str, str], warnings: Warnings) -> None:
    """A scorer that reads answers better than it did is a warning, and no other protocol: an update would end every guard. Takes it out."""
    was, now = (facts.pop("scorer.version", "1") for facts in (recorded, given))
    if was != now and recorded.get("scorer") is not None and recorded.get("scorer") == given.get("scorer"):
        warnings.add(
            f"the scorer {given['scorer']} reads some answers differently than when the reference was recorded (version {was} then, {now} "
            "in this run), which can change scores by itself: record the reference again"
        )
