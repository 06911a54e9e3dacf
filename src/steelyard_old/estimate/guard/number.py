"""A guard against a single number: the one-tailed test of two separate samples, or an explicit floor. Loads no NumPy."""

from __future__ import annotations

import math
from dataclasses import replace

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.guard.rule import GuardRule, refuse_impossible, span_of
from steelyard_old.estimate.guard.verdict import Guarded, verdict_of
from steelyard_old.infer.paired.decision import (
    agreeing_bounds,
    agreeing_threshold,
    decide,
    separate_ratio,
    student_p,
    student_reach,
    two_sample_p,
)
from steelyard_old.infer.planning import power
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.catalogue import is_share
from steelyard_old.reference.entry import Entry
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import Difference
from steelyard_old.results.details import VerdictDetails
from steelyard_old.results.verdict import Needed, Verdict, one_sided_bounds

ASSUMED_DISCORDANCE = 0.05  # of two healthy runs on the same items: ordinary churn; published figures run from 1 to 13%


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateScore:
    """The candidate's score, in the scale of the reference, and what is known of its items."""

    value: float
    n: int | None = None
    sd: float | None = None
    right_or_wrong: bool = False
    design_effect: float = 1.0
    same_items: bool = False
    runs: int = 1


def guard_floor(new: CandidateScore, guarded: Guarded, rule: GuardRule, warnings: Warnings) -> Verdict:
    """An explicit floor: the score is above it or not. No statistics, and no claim to any."""
    assert rule.threshold is not None
    entry = guarded.entry
    refuse_impossible(new.value, rule, entry.value)
    worse = rule.sign * (new.value - rule.threshold) < 0
    if rule.theta is not None:
        warnings.add("the entry has an explicit threshold, so theta was not used")
    gap = None if entry.value is None else rule.sign * (new.value - entry.value)
    number = entry.value if entry.value is not None else rule.threshold
    idle = span_of(rule, number).unfailing(rule.threshold, rule.sign)
    return verdict_of(
        guarded,
        rule,
        verdict="regression" if worse else "inconclusive" if idle else "pass",
        design="threshold",
        n=new.n,
        value=new.value,
        reference=entry.value,
        difference=gap,
        threshold=rule.threshold,
        needed=_unfailing(rule.threshold, rule, warnings) if idle and not worse else None,
        claim="an explicit threshold, set by hand: no p-value, no bound on what could have been missed",
        details=VerdictDetails(),
    )


def guard_number(new: CandidateScore, guarded: Guarded, rule: GuardRule, warnings: Warnings) -> Verdict:
    """Two separate samples of scores: gamma = reference + z_alpha sqrt(sigma^2/n_new + sigma^2/n_ref), equality passes."""
    entry = guarded.entry
    if entry.value is None:
        raise DataError(
            f"The entry has no value under {rule.metric!r}.", got="an entry without a value", need=f"a number under {rule.metric!r}"
        )
    refuse_impossible(new.value, rule, entry.value)
    if new.same_items and entry.sigma_run and (entry.runs or 1) > 1:  # runs without any spread say nothing of their noise
        return _same_items(new, guarded, rule, warnings)
    n_ref = entry.num_samples or rule.num_samples
    n_new = new.n or rule.num_samples
    if n_ref is None or n_new is None:
        raise UsageError(
            "The number of samples is not known, so there is no threshold.",
            got="no number of samples",
            need="num_samples in the entry, in [tasks.NAME] of steelyard.toml, or num_samples=",
            hint="num_samples in the entry, in [tasks.NAME] of steelyard.toml, or num_samples=",
        )
    if entry.num_samples is None:
        warnings.add(f"reference has no num_samples; using the task's {n_ref:,}")
    if new.n is not None and new.n != n_ref:
        warnings.add(f"the run has {new.n:,} items, the reference {n_ref:,}: the variance of each is used")
    sigma = _sigma(new, entry.value, n_new, n_ref, rule, warnings)
    return _separate_samples(new, guarded, entry.value, sigma, n_new, n_ref, rule, warnings)


def _same_items(new: CandidateScore, guarded: Guarded, rule: GuardRule, warnings: Warnings) -> Verdict:
    """The same items, a number alone, several runs on record: only run-to-run noise counts, and t knows how little is known of it."""
    entry = guarded.entry
    assert entry.value is not None
    assert entry.sigma_run is not None
    df = (entry.runs or 2) - 1
    error = entry.sigma_run * math.sqrt(1 / new.runs + 1 / (df + 1))
    at_edge = entry.sigma_run * math.sqrt(1 / new.runs + rule.edge(rule.margin_relative) ** 2 / (df + 1))
    d = rule.sign * (new.value - entry.value)
    p = student_p(d, at_edge, df, rule.margin)
    far = student_reach(df, rule.alpha)
    reach = far * error
    ratio = _ratio(new.value, entry.value, entry.sigma_run**2 / new.runs, entry.sigma_run**2 / (df + 1), far, rule)
    lower, upper = agreeing_bounds(d - reach, d + reach, p, rule.alpha, rule.margin)
    threshold = agreeing_threshold(
        rule.sign * entry.value - rule.margin - far * at_edge,
        rule.sign * new.value,
        rule.sign * entry.value - rule.margin,
        worse=p <= rule.alpha,
    )
    idle = span_of(rule, entry.value).unfailing(rule.sign * threshold, rule.sign)
    theta, beyond = _theta_and_bound(lower, ratio, rule)
    verdict = decide(p, rule.alpha, theta=theta, lower=beyond, attainable=1.0 if idle else 0.0)
    warn_of_gain(lower, warnings)
    return verdict_of(
        guarded,
        rule,
        verdict=verdict,
        design="unpaired",
        test="t",
        p_value=p,
        n=new.n,
        value=new.value,
        reference=entry.value,
        difference=d,
        interval=one_sided_bounds(lower, upper, rule.alpha, "t"),
        sigma=entry.sigma_run,
        mde=rule.margin + power.minimum_detectable(error, rule.alpha, rule.beta),
        threshold=rule.sign * threshold,
        needed=_unfailing(rule.sign * threshold, rule, warnings) if idle else None,
        claim=f"the same items: only the noise from run to run counts, known from {df + 1} runs",
        ratio=ratio,
        details=VerdictDetails(n_reference=entry.num_samples, standard_error=error, degrees_of_freedom=df),
    )


def _ratio(value: float, reference: float, of_value: float, of_reference: float, reach: float, rule: GuardRule) -> Difference | None:
    """run / reference and its bounds, where a share of the reference was asked for."""
    if not rule.relative:
        return None
    ends = separate_ratio(value, reference, of_value, of_reference, reach)
    if ends is None:
        raise DataError(
            f"A share of the reference cannot be judged: the reference {reference:g} is not significantly different from 0.",
            got=f"a reference of {reference:g} with a standard error of {math.sqrt(of_reference):.3g}",
            need="a reference clear of 0",
            hint="more items, or margin and theta in the scale of the scores",
        )
    return Difference(estimate=value / reference, interval=one_sided_bounds(*ends, rule.alpha, "fieller"))


def _theta_and_bound(lower: float | None, ratio: Difference | None, rule: GuardRule) -> tuple[float | None, float | None]:
    """Theta, and the bound it is compared with: of the difference, or of the ratio."""
    if rule.theta_relative is None or ratio is None:
        return rule.theta, lower
    end = ratio.lower if rule.sign > 0 else ratio.upper
    assert end is not None
    return rule.theta_relative, rule.sign * (end - 1)


def warn_of_gain(lower: float | None, warnings: Warnings) -> None:
    """An improvement beyond the same bound is worth a look too."""
    if lower is not None and lower > 0:
        warnings.add("significantly better than the reference: this may be a real gain or a broken answer extractor")


def _separate_samples(
    new: CandidateScore, guarded: Guarded, reference: float, sigma: float, n_new: int, n_ref: int, rule: GuardRule, warnings: Warnings
) -> Verdict:
    error = math.sqrt(sigma * sigma / n_new + sigma * sigma / n_ref)
    d = rule.sign * (new.value - reference)
    # A margin that is a share of the reference is less uncertain than the reference, or more: by that share.
    at_edge = (
        error if rule.margin_relative is None else math.hypot(sigma / n_new**0.5, rule.edge(rule.margin_relative) * sigma / n_ref**0.5)
    )
    offset = power.threshold_offset(at_edge, rule.alpha) - rule.margin
    threshold = reference + offset if rule.higher_is_better else reference - offset
    worse = new.value < threshold if rule.higher_is_better else new.value > threshold
    p = two_sample_p(d, at_edge, rule.margin)
    # Equality passes, as in the original; the last bit of p follows the comparison of the two scores, never the reverse.
    p = min(p, rule.alpha) if worse else max(p, math.nextafter(rule.alpha, 1.0))
    z = power.z_pair(rule.alpha, 0.5)[0]
    lower, upper = agreeing_bounds(d - z * error, d + z * error, p, rule.alpha, rule.margin)
    mde = rule.margin + power.minimum_detectable(error, rule.alpha, rule.beta)
    span = span_of(rule, reference)
    idle = span.unfailing(threshold, rule.sign)
    ratio = _ratio(new.value, reference, sigma * sigma / n_new, sigma * sigma / n_ref, z, rule)
    theta, beyond = _theta_and_bound(lower, ratio, rule)
    verdict = decide(p, rule.alpha, theta=theta, lower=beyond, attainable=1.0 if idle else 0.0)
    warn_of_gain(lower, warnings)
    if error == 0:
        warnings.add("sigma is 0, so no noise is allowed for: the bounds have zero width and any lower score is a regression")
    if rule.higher_is_better and threshold < 0 <= reference and span.low is None:
        warnings.add(f"the threshold {threshold:.4g} lies below 0: if scores cannot be negative, this guard cannot fail")
    return verdict_of(
        guarded,
        rule,
        verdict=verdict,
        design="unpaired",
        test="z",
        p_value=p,
        n=n_new,
        value=new.value,
        reference=reference,
        difference=d,
        interval=one_sided_bounds(lower, upper, rule.alpha, "z"),
        sigma=sigma,
        mde=mde,
        threshold=threshold,
        needed=_unfailing(threshold, rule, warnings, span.room(reference, rule.sign), sigma, n_new, n_ref)
        if idle
        else _needed(sigma, n_new, n_ref, rule)
        if verdict == "inconclusive"
        else None,
        claim="p and bounds are for new items of this kind; run and reference are treated as independent samples",
        ratio=ratio,
        details=VerdictDetails(
            n_reference=n_ref,
            standard_error=error,
            paired_would_find=_paired_mde(n_new, rule),
            items_on_record=True if guarded.entry.items is not None else None,
        ),
    )


def _sigma(new: CandidateScore, reference: float, n_new: int, n_ref: int, rule: GuardRule, warnings: Warnings) -> float:
    """The declared sigma, else the one that the scores show: pooled p (1 - p) for right or wrong."""
    if rule.sigma is not None:
        if new.same_items:
            warnings.add(
                f"sigma {rule.sigma:g} is declared and the items are the same: real false alarms are far fewer than alpha, and small drops "
                "are missed; a reference with item outcomes (steelyard record) pairs them"
            )
        return rule.sigma
    unit = 100.0 if rule.scale == "percent" else 1.0
    effect = math.sqrt(new.design_effect)
    if new.right_or_wrong or (new.sd is None and rule.scale in ("percent", "fraction") and is_share(rule.metric)):
        pooled = (new.value * n_new + reference * n_ref) / (n_new + n_ref) / unit
        if not 0 <= pooled <= 1:
            raise DataError(
                f"Cannot estimate sigma: {new.value:g} and {reference:g} are not shares of right answers in scale "
                f"{rule.scale or 'undeclared'}.",
                got=f"scores of {new.value:g} and {reference:g} in scale {rule.scale or 'undeclared'}",
                need="shares of right answers",
                hint='scale = "percent" in the task, or sigma=',
            )
        if 0 < pooled < 1:
            return unit * math.sqrt(pooled * (1 - pooled)) * effect
    elif new.sd is not None and new.sd > 0:
        return new.sd * effect
    raise UsageError(
        "No sigma is declared, and the scores do not show how much they vary.",
        got="no sigma, and scores that do not show one",
        need="sigma in the entry or the task, or sigma=",
        hint="declare sigma in the entry or the task, or give sigma=; 50 is the worst case for right or wrong in percent",
    )


def _unfailing(
    threshold: float,
    rule: GuardRule,
    warnings: Warnings,
    room: float | None = None,
    sigma: float | None = None,
    n_new: int | None = None,
    n_ref: int | None = None,
) -> Needed:
    """No score could fail: why, and how many items would do, where that depends on their number."""
    side = "at or below the lowest" if rule.higher_is_better else "at or above the highest"
    why = f"no outcome could be a regression: the threshold {threshold:.4g} lies {side} possible score"
    warnings.add(f"the threshold {threshold:.4g} lies {side} possible score: this guard cannot fail")
    out = Needed(n_items=None, more=None, why=why)
    if not sigma or room is None or n_new is None or n_ref is None or room <= rule.margin:
        return out
    variance = ((room - rule.margin) / power.threshold_offset(1.0, rule.alpha)) ** 2 / sigma**2 if rule.alpha < 0.5 else math.inf
    if variance < 1e-15:  # a reference at the very end of its scale: it would take more items than anybody has
        return out
    if variance <= 1 / n_ref:
        return replace(out, items_each=math.floor(2 / variance) + 1)
    items = math.floor(1 / (variance - 1 / n_ref)) + 1
    return replace(out, n_items=items, more=max(0, items - n_new))


def _needed(sigma: float, n_new: int, n_ref: int, rule: GuardRule) -> Needed:
    """Items that would rule theta out, if nothing has changed."""
    assert rule.theta is not None
    try:
        items = power.items(power.two_sample(sigma, n_reference=n_ref), rule.theta, rule.alpha, rule.beta)
    except UsageError:
        both = power.items(power.two_sample(sigma), rule.theta, rule.alpha, rule.beta)
        return Needed(n_items=None, items_each=both, why=f"with only {n_ref:,} items, the reference alone is too uncertain for theta")
    return Needed(n_items=items, more=max(0, items - n_new))


def _paired_mde(n: int, rule: GuardRule) -> float | None:
    """What a reference with item outcomes would find, at an assumed share of items that change between healthy runs."""
    if rule.scale not in ("percent", "fraction"):
        return None
    unit = 100.0 if rule.scale == "percent" else 1.0
    return rule.margin + unit * power.minimum_detectable(math.sqrt(ASSUMED_DISCORDANCE / n), rule.alpha, rule.beta)


def warn_of_drift(verdict: Verdict, entry: Entry, warnings: Warnings) -> None:
    """A reference that follows every small loss down: the run is checked against the first value on record too."""
    value = verdict.candidate.estimate
    if entry.first_value is None or verdict.sigma is None or not verdict.n or value is None:
        return
    gap = (1 if verdict.higher_is_better else -1) * (value - entry.first_value)
    if gap < power.threshold_offset(verdict.sigma / math.sqrt(verdict.n), verdict.alpha) - verdict.margin:
        warnings.add(
            f"slow drift: {-gap:.4g} below the value first on record ({entry.first_value:g}), though not below the present reference"
            if verdict.verdict != "regression"
            else f"{-gap:.4g} below the value first on record ({entry.first_value:g})"
        )
