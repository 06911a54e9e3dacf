"""The verdict of a guard: made in one place from what the guard found and its rule, then its one sentence and its signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from steelyard_old.estimate.guard.rule import GuardRule
from steelyard_old.late_dataclass import dataclass
from steelyard_old.reference.entry import Entry
from steelyard_old.results import signature
from steelyard_old.results.base import NOT_SET, Warnings
from steelyard_old.results.comparison import Difference, Test
from steelyard_old.results.details import VerdictDetails
from steelyard_old.results.measurement import Interval
from steelyard_old.results.stopping import EarlyStopping
from steelyard_old.results.verdict import WORSE, WORSENING, JudgedSystem, SliceFamily, Verdict

NAMED = 3  # slices in a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What a verdict is about: the entry on record, the task and the model that were asked for, and the scale of the numbers.

    `items`: how many the reference holds, where the run was checked against them one by one.
    """

    entry: Entry
    task: str = ""
    model: str = ""
    spec: Mapping[str, Any] = field(default_factory=dict)
    scale: str = "fraction"
    items: int | None = None


def verdict_of(
    guarded: Guarded,
    rule: GuardRule,
    *,
    n: int | None,
    value: float,
    reference: float | None,
    difference: float | None,
    details: VerdictDetails,
    interval: Interval | None = None,
    test: str | None = None,
    p_value: float | None = None,
    **found: Any,
) -> Verdict:
    """The verdict that a guard came to; `found` are further fields of it by their names. What it says in words is `concluded` last.

    Numbers are in the scale of the reference. The difference and its interval (`one_sided_bounds`) are turned so that up is good.
    """
    entry = guarded.entry
    if guarded.items is not None:
        details = replace(details, n_reference=guarded.items)
    return Verdict(
        task=guarded.task,
        model=guarded.model,
        spec=guarded.spec,
        metric=rule.metric,
        higher_is_better=rule.higher_is_better,
        scale=guarded.scale,
        target=rule.target,
        n=n,
        alpha=rule.alpha,
        beta=rule.beta,
        margin=rule.margin,
        theta=rule.theta,
        margin_relative=rule.margin_relative,
        theta_relative=rule.theta_relative,
        reference=JudgedSystem(
            estimate=reference,
            n=entry.num_samples if details.n_reference is NOT_SET else details.n_reference,
            line=entry.line,
            **{name: getattr(entry, name) for name in ("recorded", "runs", "sigma_run", "by", "commit")},
        ),
        candidate=JudgedSystem(estimate=value, n=n),
        difference=Difference(
            estimate=difference,
            interval=interval,
            standard_error=None if details.standard_error is NOT_SET else details.standard_error,
        ),
        test=None if test is None else Test(name=test, alternative=WORSE, statistic=None, p_value=p_value),
        details=details,
        **found,
    )


def concluded(verdict: Verdict, rule: GuardRule, warnings: Warnings) -> Verdict:
    """The verdict with its one sentence, its signature, and what was said beside it: the last step of every guard."""
    return replace(verdict, conclusion=conclude(verdict), signature=_sign(verdict, rule), warnings=tuple(warnings))


def conclude(v: Verdict) -> str:
    """One sentence: what was decided, on which numbers, and what it does not say; of slices that were tested, one more."""
    said, family = _conclude(v), v.slicing
    if family is None or v.verdict != "pass" or not family.tested:
        return said
    by = " or ".join(family.by)
    if family.tested == 1:
        return f"{said} The slice by {by} is not shown to be worse either."
    return f"{said} None of {family.tested} slices by {by} is shown to be worse."


def _conclude(v: Verdict) -> str:
    if v.details.stopping is not None:
        return _conclude_stopped(v, v.details.stopping)
    value, reference, d = v.candidate.estimate, v.reference.estimate, v.difference.estimate
    if v.p_value is None:
        side = "below" if v.higher_is_better else "above"
        word = f"is {side}" if v.verdict == "regression" else f"is not {side}"
        return f"{value:.6g} {word} the explicit threshold {v.threshold:.6g}."
    if v.ratio is not None:
        return _conclude_relative(v, v.ratio, p_words(v.p_value, v.alpha))
    assert d is not None
    way = "below" if (d < 0) == v.higher_is_better else "above"
    gap = f"{value:.6g} is {abs(d):.4g} {way} the reference {reference:.6g}" if d else f"no difference from the reference {reference:.6g}"
    p, worse = p_words(v.p_value, v.alpha), WORSENING[v.higher_is_better]
    if v.slicing is not None and (said := _conclude_slices(v, v.slicing, f"{gap} ({p})")):
        return said
    if v.verdict == "regression":
        return f"{gap} ({p}): worse{_real_but_small(v)}"
    if v.verdict == "inconclusive":
        if v.details.not_judged is not None:
            return f"{gap}: not judged, though {p}, because {v.details.not_judged}."
        if v.theta is None or _nothing_to_find(v):
            return f"{gap} ({p}): too few items to find anything."
        lower = "an unknown amount" if v.difference.lower is None else f"{-v.difference.lower:.4g}"
        return f"{gap} ({p}): not shown to be worse, but a {worse} of {v.theta:g} is not ruled out (up to {lower} is possible)."
    if v.theta is not None:
        return f"{gap} ({p}): a {worse} of {v.theta:g} is ruled out."
    better = v.difference.lower is not None and v.difference.lower > 0  # no drop could have been missed then
    missed = f" A {worse} below {v.mde:.4g} could have been missed." if v.mde and not better else ""
    return f"{gap} ({p}): not shown to be worse.{missed}"


def _real_but_small(v: Verdict) -> str:
    """The end of the sentence about a regression: with theta, whether it is as large as what matters."""
    d = v.difference.estimate
    return f"; real, but smaller than theta {v.theta:g}." if v.theta is not None and d is not None and d > -v.theta else "."


def _nothing_to_find(v: Verdict) -> bool:
    """Whether no outcome on these items could have been a regression."""
    return v.needed is not None and (v.needed.why or "").startswith("no outcome")


def _conclude_slices(v: Verdict, family: SliceFamily, gap: str) -> str:
    """The same where slices decide; nothing where they change nothing."""
    worse = [f"{row.by} = {row.value} ({p_words(row.p_adjusted or 0.0, v.alpha)} adjusted)" for row in v.slices if row.worse]
    named = ", ".join(worse[:NAMED]) + (f" and {len(worse) - NAMED} more" if len(worse) > NAMED else "")
    if v.verdict == "regression":
        if family.p_overall > v.alpha:
            return f"Overall, {gap}: not shown to be worse. Worse for {named}."
        return f"{gap}: worse" + (f"; worse for {named}." if worse else "; no single slice is shown to be worse.")
    drop, lower = None if v.theta is None else -v.theta, v.difference.lower
    if v.verdict == "inconclusive" and drop is not None and lower is not None and lower > drop:
        open_ = [
            f"{row.by} = {row.value}" for row in v.slices if row.critical and (row.difference.lower is None or row.difference.lower <= drop)
        ]
        way = WORSENING[v.higher_is_better]
        return f"{gap}: a {way} of {v.theta:g} is ruled out overall, but not for {', '.join(open_[:NAMED])}." if open_ else ""
    return ""


def _conclude_relative(v: Verdict, ratio: Difference, p: str) -> str:
    """One sentence on the run as a share of its reference."""
    higher, sign = v.higher_is_better, 1 if v.higher_is_better else -1
    beyond, holds = ("below", "at least") if higher else ("above", "at most")
    worse = v.verdict == "regression"
    end, side = (ratio.upper, "at most") if worse == higher else (ratio.lower, "at least")
    bound = f"{side} {_percent(end)} by its bound"
    gap = f"{v.candidate.estimate:.6g} is {_percent(ratio.estimate)} of the reference {v.reference.estimate:.6g} ({p}; {bound})"
    tolerated = _percent(1 - sign * (v.margin_relative or 0.0))
    if worse:
        return f"{gap}: {beyond} {tolerated} of it." if v.margin_relative else f"{gap}: worse."
    if v.details.not_judged is not None:
        return f"{gap}: not judged, because {v.details.not_judged}."
    if _nothing_to_find(v):  # what the bound shows does not count then: a guard that cannot fail does not pass
        return (
            f"{gap}: no outcome on these items could have been a regression; even the worst run would not be shown to be "
            f"{beyond} {tolerated} of it."
        )
    if v.theta_relative is None:
        return f"{gap}: not shown to be {beyond} {tolerated} of it."
    wanted = f"{holds} {_percent(1 - sign * v.theta_relative)}"
    return f"{gap}: {wanted} of it is shown." if v.verdict == "pass" else f"{gap}: {wanted} of it is not shown."


def _conclude_stopped(v: Verdict, stopped: EarlyStopping) -> str:
    """One sentence on a run that stopped: where, what that decides, and at which level."""
    used, there = stopped.n_used, stopped.n_available
    where = f"after {used:,} of {there:,} items" if used < there else f"after all {there:,} items"
    d, low, high = v.difference.estimate, v.difference.lower, v.difference.upper
    size = "" if d is None else f"; the difference is estimated at {d:+.4g}"
    known = low is not None and high is not None
    between = f" ({100 * (1 - 2 * v.alpha):g}% interval {low:+.4g} to {high:+.4g}, adjusted for stopping)" if known else ""
    if v.verdict == "regression":
        return f"Worse, decided {where}{size}{between}{_real_but_small(v)}"
    if v.verdict == "pass":
        ruled_out = f"A {WORSENING[v.higher_is_better]} of {v.theta:g} is ruled out at level {stopped.level_of_pass:g}"
        return f"{ruled_out}{_shown(stopped)}, decided {where}{size}{between}."
    if (ended := stopped.outside or stopped.ended) is not None:  # a score beyond the range of its rule, or a limit
        return f"Not decided {where}: {ended.said}{size}."
    return f"Not decided {where} (counts as inconclusive, not as a pass){size}{between}."


def _shown(stopped: EarlyStopping) -> str:
    """The likelihood ratio of a pass, where the rule has one and it was reached."""
    last = stopped.looks[-1] if stopped.looks else {}
    if last.get("lambda") is None or last["lambda"] < last["needed"]:
        return ""
    return f" (log likelihood ratio {last['lambda']:.2f}; a pass needs {last['needed']:.2f})"


def _percent(share: float | None) -> str:
    """97.31%, with digits enough to tell a share near 1 from 1."""
    if share is None:
        return "any share"
    digits = 4 if abs(share - 1) >= 0.002 else 6
    return f"{100 * share:.{digits}g}%"


def p_words(p: float, alpha: float) -> str:
    """A p-value in three digits; more where they would print it as alpha, which it is not."""
    if p < 0.0001:
        return "p < 0.0001"
    digits = next((d for d in range(3, 10) if f"{p:.{d}g}" != f"{alpha:.{d}g}" or p == alpha), 17)
    return f"p = {p:.{digits}g}" if digits < 17 else f"p {'>' if p > alpha else '<='} {alpha:g}"


def _sign(v: Verdict, rule: GuardRule) -> str:
    return signature.write(
        {
            **_stopping_keys(v),
            "task": v.task,
            "model": v.model,
            "spec": [f"{key}={value}" for key, value in sorted(v.spec.items())] or None,
            "metric": v.metric,
            "scale": v.scale,
            "by": None if v.slicing is None else list(v.slicing.by),
            "critical_slices": None if v.slicing is None else list(v.slicing.critical_slices) or None,
            "n": v.n,
            "design": v.design,
            "test": None if v.test is None else v.test.name,
            "alternative": "less" if v.higher_is_better else "greater",
            "alpha": v.alpha,
            "beta": v.beta,
            "theta": v.theta if v.theta_relative is None else None,
            "theta_relative": v.theta_relative,
            "margin_relative": v.margin_relative,
            "sigma": rule.sigma if v.design == "unpaired" else None,  # as it was declared
            "margin": (v.margin or None) if v.margin_relative is None else None,
        }
    )


def _stopping_keys(v: Verdict) -> dict[str, Any]:
    """How a run stopped, where its plan names the rule. Runs of 0.1.0 have the name of their test alone."""
    stopped = v.details.stopping
    if stopped is None or stopped.plan.get("stopping") is None:
        return {}
    plan, settled, ends = stopped.plan, stopped.rule, stopped.rule.get("range")
    keys = {"stopping": settled["rule"], "step": plan["every"], "range": None if ends is None else [f"{end:g}" for end in ends]}
    answers, strata = plan.get("answers", 1), plan.get("strata")
    keys |= {"answers": answers if answers > 1 else None, "strata": None if strata is None else f"{strata['factor']:g}"}
    return {**keys, "spending": settled.get("spending"), "kappa": settled.get("kappa")}
