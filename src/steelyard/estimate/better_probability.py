"""P(candidate better) and what it rests on: the default prior, which expects large differences, or a scale that was stated."""

from __future__ import annotations

from steelyard.errors import UsageError
from steelyard.estimate.compare_options import CompareOptions
from steelyard.estimate.evidence import Evidence


def believe(found: Evidence, asked: CompareOptions, *, higher_is_better: bool) -> None:
    """Writes the probabilities under the stated scale of true differences into the evidence; without one, what the prior expects."""
    scale = asked.own.prior_scale
    if scale is None:
        if found.probability is not None:
            found.details["prior_sd"] = found.prior_sd  # None: differences of any size
        return
    if found.interval is not None and found.interval.method == "bayes":
        raise UsageError(
            "cannot use prior_scale= with the interval 'bayes'",
            got="two priors for one difference",
            need="one of them",
            hint="prior_scale= belongs to P(candidate better); the interval bayes to prior=",
        )
    found.probability = _above(found, asked, scale, 0.0)
    if found.probability is None:
        asked.warn("no P(candidate better) under --prior-scale: the difference has no standard error here")
        return
    found.details["prior_scale"] = scale
    found.drawn = False  # nothing of this needs draws
    if found.equivalence is not None and "rope" in found.equivalence:
        margin = found.equivalence["margin"]
        better, worse = _above(found, asked, scale, margin) or 0.0, 1 - (_above(found, asked, scale, -margin) or 0.0)
        if not higher_is_better:
            better, worse = worse, better
        found.equivalence["rope"] = {"worse": worse, "equivalent": max(0.0, 1 - better - worse), "better": better}
    if not higher_is_better:
        found.probability = 1 - found.probability


def _above(found: Evidence, asked: CompareOptions, scale: float, at: float) -> float | None:
    """P(candidate's number minus the baseline's > at)."""
    from steelyard.infer.posterior.prior_scale import estimate_above, flips_above

    if found.disagreed is not None:
        gained, lost = found.disagreed
        return flips_above(gained, lost, found.n, scale, at, prior=asked.own.prior)
    error = found.standard_error or found.error
    if found.difference is None or not error:
        return None
    units = found.details.get("units") or found.n
    return estimate_above(found.difference, error, scale, at, df=max(1, units - 1))
