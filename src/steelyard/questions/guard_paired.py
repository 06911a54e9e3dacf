"""A guard against recorded outcomes: the same items, one by one, by the tests of `compare`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.errors import DataError, UsageError
from steelyard.infer import power
from steelyard.infer.decision import agreeing_bounds, decide, mcnemar_threshold, run_excess, satterthwaite, smallest_p
from steelyard.infer.flips import tango_z
from steelyard.infer.normal import lower_tail
from steelyard.metrics.catalogue import Metric
from steelyard.questions.asked import Asked, settle_comparison
from steelyard.questions.compare_items import Run, paired
from steelyard.questions.evidence import Evidence
from steelyard.questions.guard_number import Found
from steelyard.questions.guard_rule import Rule
from steelyard.questions.pair_evidence import pair_evidence
from steelyard.questions.settings import settle
from steelyard.questions.telling import item_values, telling_items
from steelyard.tally.pairs import Pairs

WHOLE = 1e-9  # of a level 1 - 2 alpha that would be 0 at alpha = .5
MOST_TELLING = 10


def guard_items(
    reference: Run, candidate: Run, metric: Metric, rule: Rule, *, unit: float, unmatched: str, missing: str, draws: int, seed: int
) -> Found:
    """The verdict on matched items. `unit` turns the metric's own number into the scale of the reference."""
    level = max(1 - 2 * rule.alpha, WHOLE)
    asked = settle_comparison(
        settle(confidence_level=level, draws=draws, seed=seed, missing=missing, positive=rule.positive),
        interval=None,
        test="within-item" if rule.target == "runs" else None,
        alternative="less" if rule.higher_is_better else "greater",
        margin=rule.margin / unit or None,
        design=None,
        unmatched=unmatched,
        correction="holm",
    )
    pairs, _ = paired(reference, candidate, asked)
    if rule.target == "runs" and pairs.plain:
        raise DataError(
            "cannot ask about runs",
            got="one answer per item on both sides",
            need="repeats: several recorded runs, or a repeat column",
            hint="--target items asks about new items of this kind",
        )
    found = pair_evidence(pairs, metric, asked)
    rule.warnings.extend(_fitting(asked.own.warnings))
    return _judged(found, pairs, metric, asked, rule, unit)


def _fitting(warnings: list[str]) -> list[str]:
    """The warnings of a comparison, in the words of a guard."""
    said = [w.replace("the baseline", "the reference").replace("the candidate", "the run") for w in warnings]
    return [("no item changed: zero flips" if "identical answers" in w else w) for w in said]


def _judged(found: Evidence, pairs: Pairs, metric: Metric, asked: Asked, rule: Rule, unit: float) -> Found:
    if found.difference is None or found.baseline is None or found.candidate is None:
        raise DataError("cannot judge the difference", got=f"an undefined {metric.name}", need="a value in both runs")
    p, test, error = _p_value(found, metric, rule, unit)
    p, error = _with_run_noise(p, error, found, pairs, metric, rule, unit)
    d = rule.sign * found.difference * unit + 0.0  # never -0.0
    lower, upper = _bounds(found, error, d, rule, unit)
    lower, upper = agreeing_bounds(lower, upper, p, rule.alpha, rule.margin)
    smallest = _smallest(found, pairs, metric, test, asked)
    verdict = decide(p, rule.alpha, theta=rule.theta, lower=lower, attainable=smallest)
    n, mde = found.n, _mde(found, error, rule, unit)
    details: dict[str, Any] = {**found.details, "smallest_p": smallest, "standard_error": None if not error else error * unit}
    if found.interval is not None:
        details["interval_method"] = found.interval.method
    _warn(found, rule, smallest, verdict, p)
    return Found(
        verdict=verdict,
        design=found.design,
        test=test,
        p_value=p,
        n=n,
        value=found.candidate * unit,
        reference=found.baseline * unit,
        difference=d,
        lower=lower,
        upper=upper,
        sigma=None if not error else error * math.sqrt(n) * unit,
        mde=mde,
        threshold=_threshold(found, metric, error, rule, unit),
        flips=None if found.flips is None else dict(found.flips),
        needed=_needed(found, error, rule, unit, smallest) if verdict == "inconclusive" else None,
        telling=tuple(telling_items(pairs, metric)[:MOST_TELLING]),
        claim=_claim(found, rule),
        details=details,
    )


# ---- the parts -----------------------------------------------------------------------------------------------------------


def _p_value(found: Evidence, metric: Metric, rule: Rule, unit: float) -> tuple[float, str, float | None]:
    """H0: d >= -margin. Margin 0: the test of the comparison; above it, the score or t test at that edge."""
    if rule.margin == 0:
        if found.test.p_value is None:
            raise DataError("cannot judge the difference", got=f"no p-value by {found.test.name}", need="items that differ somewhere")
        return found.test.p_value, found.test.name, found.error
    if found.equivalence is None:
        if found.details.get("identical"):
            return 1.0, found.test.name, found.error
        raise UsageError(
            f"cannot use a margin with {found.test.name}", got=f"margin {rule.margin:g}", need="right or wrong, or a mean of scores"
        )
    if found.flips is not None:
        lost, gained = _lost_and_gained(found.flips, metric, rule)
        return lower_tail(tango_z(gained, lost, found.n, -rule.margin / unit)), "tango-score", found.error
    from scipy.special import stdtr

    assert found.error
    t = (rule.sign * (found.difference or 0.0) + rule.margin / unit) / found.error
    return float(stdtr(int(found.details.get("units", found.n)) - 1, t)), "t", found.error


def _lost_and_gained(flips: Mapping[str, int], metric: Metric, rule: Rule) -> tuple[int, int]:
    """Items that became worse and better: right to wrong is worse, unless scores of 1 are what the user counts as bad."""
    right_is_good = rule.higher_is_better != (metric.base == "error")
    lost, gained = flips["baseline_only"], flips["candidate_only"]
    return (lost, gained) if right_is_good else (gained, lost)


def _with_run_noise(
    p: float, error: float | None, found: Evidence, pairs: Pairs, metric: Metric, rule: Rule, unit: float
) -> tuple[float, float | None]:
    """With several runs: what they share beyond the noise of their items does not average out over items."""
    if pairs.plain or rule.target == "runs" or error is None:
        return p, error
    parts = [_runs_of(pairs.baseline, metric), _runs_of(pairs.candidate, metric)]
    known = [part for part in parts if part is not None and len(part[0]) > 1]
    if not known:
        rule.warnings.append("one run on each side: noise that a whole run shares is not known, and not in the p-value")
        return p, error
    means, within = max(known, key=lambda part: len(part[0]))
    excess = run_excess(means, within, pairs.items)
    if excess == 0:
        return p, error
    runs = [1 if part is None else len(part[0]) for part in parts]
    shared = excess * sum(1 / r for r in runs)
    wider = math.sqrt(error * error + shared)
    df = satterthwaite([(error * error, pairs.items - 1), (shared, len(means) - 1)])
    from scipy.special import stdtr

    t = (rule.sign * (found.difference or 0.0) + rule.margin / unit) / wider
    rule.warnings.append(
        f"runs differ by more than the noise of their items (run-to-run standard deviation beyond it {math.sqrt(excess) * unit:.3g}): "
        f"counted in, t with {df:.1f} degrees of freedom"
    )
    return max(p, float(stdtr(df, t))), wider


def _runs_of(items: Any, metric: Metric) -> tuple[list[float], float] | None:
    """The mean of each run and the variance of one item's answers over runs; None where runs are not whole."""
    values = item_values(items, metric)
    if values is None or items.repeat is None or items.id is None:
        return None
    run, item = items.repeat.codes, np.unique(items.id.codes, return_inverse=True)[1]
    size = np.bincount(run)
    if len(size) < 2 or len(set(size.tolist())) != 1:
        return None
    means = np.bincount(run, weights=values) / size
    tries = np.bincount(item)
    own = np.bincount(item, weights=values) / tries
    within = float(((values - own[item]) ** 2).sum() / max(1, len(values) - len(tries)))
    return [float(m) for m in means], within


def _bounds(found: Evidence, error: float | None, d: float, rule: Rule, unit: float) -> tuple[float | None, float | None]:
    """One-sided bounds of level 1 - alpha: the ends of the two-sided interval of level 1 - 2 alpha, turned so that up is good."""
    if error is not None and found.error is not None and error > found.error:
        from scipy.special import ndtri

        reach = -float(ndtri(rule.alpha)) * error * unit
        return d - reach, d + reach
    if found.interval is None or found.interval.low is None or found.interval.high is None:
        return None, None
    ends = sorted(rule.sign * end * unit for end in (found.interval.low, found.interval.high))
    return ends[0], ends[1]


def _mde(found: Evidence, error: float | None, rule: Rule, unit: float) -> float | None:
    """margin + (z_alpha + z_beta) SE; for right or wrong never below the drop that n items find when nothing else changes."""
    z = power.minimum_detectable(1.0, rule.alpha, rule.beta)
    if found.flips is not None:
        return rule.margin + unit * max(z * (error or 0.0), z * z / found.n)
    return None if not error else rule.margin + z * error * unit


def _threshold(found: Evidence, metric: Metric, error: float | None, rule: Rule, unit: float) -> float | None:
    """The score below which the drop would be significant, at this many disagreements."""
    assert found.baseline is not None
    if found.flips is not None and rule.margin == 0 and found.test.name == "mcnemar-midp":
        lost, gained = _lost_and_gained(found.flips, metric, rule)
        fall = mcnemar_threshold(lost, gained, rule.alpha) / found.n
        return (found.baseline - rule.sign * fall) * unit
    if not error:
        return None
    return found.baseline * unit - rule.sign * (rule.margin - power.threshold_offset(error, rule.alpha) * unit)


def _smallest(found: Evidence, pairs: Pairs, metric: Metric, test: str, asked: Asked) -> float:
    """The smallest p that any outcome of the candidate could have given."""
    if found.flips is not None:
        right = found.flips["both"] + found.flips["baseline_only"]
        if metric.base == "error" or test == "tango-score":
            right = found.n
        return smallest_p(right, "mcnemar-midp")
    units = int(found.details.get("units", found.n))
    floor = 0.0 if found.test.details.get("exact") or "draws" not in found.test.details else 1 / (asked.own.draws + 1)
    return max(smallest_p(units, "sign-flip"), floor)


def _needed(found: Evidence, error: float | None, rule: Rule, unit: float, smallest: float) -> dict[str, Any] | None:
    """How many items would decide: rule theta out if nothing has changed."""
    if smallest > rule.alpha:
        units = math.ceil(-math.log2(rule.alpha))
        return {"items": units, "more": max(0, units - found.n), "why": "no outcome on so few items (or groups) could give p <= alpha"}
    if rule.theta is None:
        return None
    theta = rule.theta / unit
    if found.flips is not None:
        psi = max((found.flips["baseline_only"] + found.flips["candidate_only"]) / found.n, 1 / found.n)
        design = power.rule_out_outcomes(psi)
        assumed = f"{psi:.3g} of the items differ between healthy runs"
    elif error:
        design = power.paired_scores(error * math.sqrt(found.n))
        assumed = "the differences vary as they do here"
    else:
        return None
    items = power.items(design, theta, rule.alpha, rule.beta)
    return {"items": items, "more": max(0, items - found.n), "why": f"to rule out {rule.theta:g} with power {1 - rule.beta:g} if {assumed}"}


def _claim(found: Evidence, rule: Rule) -> str:
    if rule.target == "runs":
        return "the behaviour on these very items: run labels are permuted within items; says nothing about new items"
    what = "groups" if found.design == "clustered" else "items"
    return f"the difference is exact on these {what}; p and bounds are for new {what} of this kind"


def _warn(found: Evidence, rule: Rule, smallest: float, verdict: str, p: float) -> None:
    if smallest > rule.alpha:
        rule.warnings.append(f"no outcome on {found.n:,} items could give p <= {rule.alpha:g} (the smallest is {smallest:.3g})")
    if rule.margin == 0 and p >= 1 - rule.alpha and rule.sign * (found.difference or 0.0) > 0 and found.test.p_value is not None:
        rule.warnings.append("better than the reference beyond the same bound: a real gain, or a broken extractor looks like that")
