"""The verdict of a guard: its one sentence, its numbers, and its signature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.estimate.guard.number import GuardOutcome
from steelyard.estimate.guard.rule import GuardRule
from steelyard.reference.entry import Entry
from steelyard.results import signature
from steelyard.results.base import Warnings
from steelyard.results.comparison import Difference, Test
from steelyard.results.details import VerdictDetails
from steelyard.results.verdict import WORSE, WORSENING, JudgedSystem, Verdict, one_sided_bounds

NAMED = 3  # slices in a sentence


def written(
    found: GuardOutcome, rule: GuardRule, warnings: Warnings, *, task: str, model: str, spec: Mapping[str, Any], entry: Entry, scale: str
) -> Verdict:
    """The verdict with its one sentence."""
    method = found.details.get("interval_method") or found.test or ""
    return Verdict(
        verdict=found.verdict,
        task=task,
        model=model,
        spec=spec,
        metric=rule.metric,
        higher_is_better=rule.higher_is_better,
        scale=scale,
        design=found.design,
        target=rule.target,
        n=found.n,
        alpha=rule.alpha,
        beta=rule.beta,
        sigma=found.sigma,
        margin=rule.margin,
        theta=rule.theta,
        margin_relative=rule.margin_relative,
        theta_relative=rule.theta_relative,
        mde=found.mde,
        reference=JudgedSystem(
            estimate=found.reference,
            n=found.details.get("n_reference", entry.num_samples),
            line=entry.line,
            **{name: getattr(entry, name) for name in ("recorded", "runs", "sigma_run", "by", "commit")},
        ),
        candidate=JudgedSystem(estimate=found.value, n=found.n),
        threshold=found.threshold,
        difference=Difference(
            estimate=found.difference,
            interval=one_sided_bounds(found.lower, found.upper, rule.alpha, method),
            standard_error=found.details.get("standard_error"),
        ),
        ratio=None if "ratio" not in found.details else as_difference(found.details["ratio"], rule),
        test=None if found.test is None else Test(name=found.test, alternative=WORSE, statistic=None, p_value=found.p_value),
        flips=found.flips,
        needed=found.needed,
        conclusion=conclude(found, rule),
        claim=found.claim,
        changed_items=found.changed_items,
        slicing=found.slicing,
        slices=found.slices,
        details=VerdictDetails.of({key: value for key, value in found.details.items() if key != "ratio"}),
        warnings=tuple(warnings),
        signature=_sign(found, rule, task, model, spec, scale),
    )


def as_difference(said: Mapping[str, Any], rule: GuardRule) -> Difference:
    """run / reference and its bounds, as a verdict says them."""
    method = said.get("method", "fieller")
    return Difference(estimate=said["estimate"], interval=one_sided_bounds(said["lower"], said["upper"], rule.alpha, method))


def conclude(found: GuardOutcome, rule: GuardRule) -> str:
    """One sentence: what was decided, on which numbers, and what it does not say; of slices that were tested, one more."""
    said, family = _conclude(found, rule), found.slicing
    if family is None or found.verdict != "pass" or not family.tested:
        return said
    by = " or ".join(family.by)
    if family.tested == 1:
        return f"{said} The slice by {by} is not shown to be worse either."
    return f"{said} None of {family.tested} slices by {by} is shown to be worse."


def _conclude(found: GuardOutcome, rule: GuardRule) -> str:
    if "stopping" in found.details:
        from steelyard.estimate.guard.sequential import conclude_stopped

        return conclude_stopped(found, rule)
    if found.p_value is None:
        side = "below" if rule.higher_is_better else "above"
        word = f"is {side}" if found.verdict == "regression" else f"is not {side}"
        return f"{found.value:.6g} {word} the explicit threshold {found.threshold:.6g}."
    if "ratio" in found.details:
        return _conclude_relative(found, rule, p_words(found.p_value, rule.alpha))
    assert found.difference is not None
    way = "below" if (found.difference < 0) == rule.higher_is_better else "above"
    gap = f"{found.value:.6g} is {abs(found.difference):.4g} {way} the reference {found.reference:.6g}"
    gap = gap if found.difference else f"no difference from the reference {found.reference:.6g}"
    p, worse = p_words(found.p_value, rule.alpha), WORSENING[rule.higher_is_better]
    if found.slicing is not None and (said := _conclude_slices(found, rule, f"{gap} ({p})")):
        return said
    if found.verdict == "regression":
        small = rule.theta is not None and found.difference > -rule.theta
        return f"{gap} ({p}): worse" + (f"; real, but smaller than theta {rule.theta:g}." if small else ".")
    if found.verdict == "inconclusive":
        if "not_judged" in found.details:
            return f"{gap}: not judged, though {p}, because {found.details['not_judged']}."
        if rule.theta is None or _nothing_to_find(found):
            return f"{gap} ({p}): too few items to find anything."
        lower = "an unknown amount" if found.lower is None else f"{-found.lower:.4g}"
        return f"{gap} ({p}): not shown to be worse, but a {worse} of {rule.theta:g} is not ruled out (up to {lower} is possible)."
    if rule.theta is not None:
        return f"{gap} ({p}): a {worse} of {rule.theta:g} is ruled out."
    missed = f" A {worse} below {found.mde:.4g} could have been missed." if found.mde else ""
    return f"{gap} ({p}): not shown to be worse.{missed}"


def _nothing_to_find(found: GuardOutcome) -> bool:
    """Whether no outcome on these items could have been a regression."""
    return found.needed is not None and (found.needed.why or "").startswith("no outcome")


def _conclude_slices(found: GuardOutcome, rule: GuardRule, gap: str) -> str:
    """The same where slices decide; nothing where they change nothing."""
    assert found.slicing is not None
    worse = [f"{row.by} = {row.value} ({p_words(row.p_adjusted or 0.0, rule.alpha)} adjusted)" for row in found.slices if row.worse]
    named = ", ".join(worse[:NAMED]) + (f" and {len(worse) - NAMED} more" if len(worse) > NAMED else "")
    if found.verdict == "regression":
        if found.slicing.p_overall > rule.alpha:
            return f"Overall, {gap}: not shown to be worse. Worse for {named}."
        return f"{gap}: worse" + (f"; worse for {named}." if worse else "; no single slice is shown to be worse.")
    drop = None if rule.theta is None else -rule.theta
    if found.verdict == "inconclusive" and drop is not None and found.lower is not None and found.lower > drop:
        open_ = [
            f"{row.by} = {row.value}"
            for row in found.slices
            if row.critical and (row.difference.lower is None or row.difference.lower <= drop)
        ]
        way = WORSENING[rule.higher_is_better]
        return f"{gap}: a {way} of {rule.theta:g} is ruled out overall, but not for {', '.join(open_[:NAMED])}." if open_ else ""
    return ""


def _conclude_relative(found: GuardOutcome, rule: GuardRule, p: str) -> str:
    """One sentence on the run as a share of its reference."""
    said, higher = found.details["ratio"], rule.higher_is_better
    beyond, holds = ("below", "at least") if higher else ("above", "at most")
    worse = found.verdict == "regression"
    end, side = ("upper", "at most") if worse == higher else ("lower", "at least")
    bound = f"{side} {_percent(said[end])} by its bound"
    gap = f"{found.value:.6g} is {_percent(said['estimate'])} of the reference {found.reference:.6g} ({p}; {bound})"
    tolerated = _percent(rule.edge(rule.margin_relative or 0.0))
    if worse:
        return f"{gap}: {beyond} {tolerated} of it." if rule.margin_relative else f"{gap}: worse."
    if "not_judged" in found.details:
        return f"{gap}: not judged, because {found.details['not_judged']}."
    if _nothing_to_find(found):  # what the bound shows does not count then: a guard that cannot fail does not pass
        return (
            f"{gap}: no outcome on these items could have been a regression; even the worst run would not be shown to be "
            f"{beyond} {tolerated} of it."
        )
    if rule.theta_relative is None:
        return f"{gap}: not shown to be {beyond} {tolerated} of it."
    wanted = f"{holds} {_percent(rule.edge(rule.theta_relative))}"
    return f"{gap}: {wanted} of it is shown." if found.verdict == "pass" else f"{gap}: {wanted} of it is not shown."


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


def _sign(found: GuardOutcome, rule: GuardRule, task: str, model: str, spec: Mapping[str, Any], scale: str) -> str:
    return signature.write(
        {
            **_stopping_keys(found),
            "task": task,
            "model": model,
            "spec": [f"{key}={value}" for key, value in sorted(spec.items())] or None,
            "metric": rule.metric,
            "scale": scale,
            "by": None if found.slicing is None else list(found.slicing.by),
            "critical_slices": None if found.slicing is None else list(found.slicing.critical_slices) or None,
            "n": found.n,
            "design": found.design,
            "test": found.test,
            "alternative": "less" if rule.higher_is_better else "greater",
            "alpha": rule.alpha,
            "beta": rule.beta,
            "theta": rule.theta if rule.theta_relative is None else None,
            "theta_relative": rule.theta_relative,
            "margin_relative": rule.margin_relative,
            "sigma": rule.sigma if found.design == "unpaired" else None,
            "margin": (rule.margin or None) if rule.margin_relative is None else None,
        }
    )


def _stopping_keys(found: GuardOutcome) -> dict[str, Any]:
    """How a run stopped, where its plan names the rule. Runs of 0.1.0 have the name of their test alone."""
    facts = found.details.get("stopping")
    if facts is None or facts["plan"].get("stopping") is None:
        return {}
    settled, ends = facts["rule"], facts["rule"].get("range")
    keys = {"stopping": settled["rule"], "step": facts["plan"]["every"], "range": None if ends is None else [f"{end:g}" for end in ends]}
    answers, strata = facts["plan"].get("answers", 1), facts["plan"].get("strata")
    keys |= {"answers": answers if answers > 1 else None, "strata": None if strata is None else f"{strata['factor']:g}"}
    return {**keys, "spending": settled.get("spending"), "kappa": settled.get("kappa")}
