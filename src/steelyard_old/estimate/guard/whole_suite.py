"""Verdicts of several tasks judged as one suite: what each says as one number z, and what all of them say together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.changed_items import item_values
from steelyard_old.infer.nights.bag import DRAWS, bag_of_outcomes, bag_of_scores
from steelyard_old.infer.normal import lower_tail
from steelyard_old.infer.suite.closed_testing import SuiteJudgement, TaskEvidence, judge_tasks
from steelyard_old.infer.suite.pooled import scores_z, z_of_p
from steelyard_old.metrics.base import Metric
from steelyard_old.results.verdict import PooledSuite, Verdict
from steelyard_old.tally.pairs import Pairs

FloatArray = npt.NDArray[np.float64]
MOST_DRAWN = 20_000_000  # scores drawn for one reference run; beyond it the normal law answers
MOST_RUNS = 30  # reference runs that are checked against those before them


def pooled_facts(pairs: Pairs, metric: Metric, difference: float, sign: int, reach: float | None) -> dict[str, Any]:
    """z of the items' differences, worse is positive, and that of each reference run against the runs before it.

    `difference` is the metric's own, `sign` turns it so that up is good, `reach` is the width of the range. Nothing where the
    metric is no mean over items of these very numbers: then the p-value speaks for the task.
    """
    values = item_values(pairs.baseline, metric), item_values(pairs.candidate, metric)
    if any(each is None or not np.isfinite(each).all() for each in values) or not pairs.items:
        return {}
    counts = [np.bincount(item, minlength=pairs.items) for item in (pairs.baseline_item, pairs.candidate_item)]
    if min(int(count.min()) for count in counts) < 1:
        return {}
    means = [
        np.bincount(item, weights=each, minlength=pairs.items) / count
        for item, each, count in zip((pairs.baseline_item, pairs.candidate_item), values, counts, strict=True)
    ]
    d = means[1] - means[0]
    if not math.isclose(abs(float(d.mean())), abs(difference), rel_tol=1e-6, abs_tol=1e-9):
        return {}
    # right to wrong is a rise of an error rate: the items are turned as the difference is
    up = sign if float(d.mean()) * difference >= 0 else -sign
    unequal = bool((counts[0] != counts[1]).any())
    if unequal and reach is None:
        return {}
    fewest = min(int(count.min()) for count in counts) if unequal else None
    out: dict[str, Any] = {"z": scores_z(up * d, reach=reach or 0.0, fewest_runs=fewest)}
    if (earlier := _reference_z(pairs, up * np.asarray(values[0], float))) is not None:
        out["reference_z"] = earlier
    return out


def _reference_z(pairs: Pairs, values: FloatArray) -> tuple[float, ...] | None:
    """z of the second, third, ... recorded run against those before it, centred; None with one run."""
    if pairs.baseline.repeat is None:
        return None
    named, run = np.unique(pairs.baseline.repeat.codes, return_inverse=True)
    if len(named) < 2:
        return None
    table = np.full((pairs.items, min(len(named), MOST_RUNS)), np.nan)
    kept = run < table.shape[1]
    table[pairs.baseline_item[kept], run[kept]] = values[kept]
    low = float(np.nanmin(table))
    outcomes = bool(np.isin(table[~np.isnan(table)] - low, (0.0, 1.0)).all())
    out = []
    for at in range(1, table.shape[1]):
        asked = ~np.isnan(table[:, at]) & ~np.isnan(table[:, :at]).all(1)
        before, tonight = table[asked, :at], table[asked, at]
        if not len(tonight):
            continue
        if outcomes:
            known = ~np.isnan(before)
            found = bag_of_outcomes(np.where(known, before - low, 0.0).sum(1), known.sum(1), tonight - low)
            out.append(found.z - found.mean_z)
        elif len(tonight) * DRAWS <= MOST_DRAWN:
            drawn = bag_of_scores(before, tonight, seed=at)
            out.append(drawn.z - drawn.mean_z)
        else:
            both = np.column_stack([before, tonight])
            spread = float(np.nanvar(both, axis=1).sum())
            out.append(-float((tonight - np.nanmean(both, axis=1)).sum()) / math.sqrt(spread) if spread > 0 else 0.0)
    return tuple(out)


def stopped_early(verdict: Verdict) -> bool:
    """Whether a rule ended the run before all items were asked. When it does depends on what it saw, so its difference is not pooled."""
    stopping = verdict.details.stopping
    return stopping is not None and stopping.n_saved > 0


def judge_verdicts(
    verdicts: Sequence[Verdict], alpha: float, *, advisory: Sequence[bool], waived: Sequence[bool], history: Sequence[float] = ()
) -> SuiteJudgement:
    """All verdicts as one family. `advisory` ones, and those whose p-value is not judged, stay outside; `waived` ones are never named.

    history: pooled z of earlier healthy runs, beside those of the runs on record.
    """
    family = _family(verdicts, advisory)
    units = {(verdict.scale, verdict.higher_is_better) for verdict in verdicts}  # points, percent and seconds have no common mean
    alike = len(units) == 1 and (len(verdicts) == 1 or verdicts[0].scale != "raw")
    tasks = [
        _evidence(verdict, advisory=aside, waived=excused, change=alike)
        for verdict, aside, excused in zip(verdicts, advisory, waived, strict=True)
    ]
    return judge_tasks(tasks, alpha=alpha, earlier=[*_earlier(family), *history])


def pooled_suite(found: SuiteJudgement, verdicts: Sequence[Verdict], *, rest: float = 1.0, in_history: int = 0) -> PooledSuite:
    """What the suite shows together, with tasks by their names. rest: the part of alpha that it was judged by. in_history: runs there."""
    names = [f"{verdict.task} {verdict.model}" for verdict in verdicts]
    return PooledSuite(
        verdict=found.verdict,
        p_value=min(1.0, found.p_value / rest),
        p_pooled=found.pooled_p,
        z=found.pooled_z,
        m=found.m,
        waived=found.waived,
        share=found.share,
        phi=found.phi,
        phi_known=found.phi_known,
        phi_recorded=found.phi_runs - in_history,
        phi_history=in_history,
        at_least=found.at_least,
        named=tuple(names[i] for i in found.named),
        suspicious=None if found.suspicious is None else names[found.suspicious],
        mean_change=found.mean_change,
    )


def recorded_z(verdicts: Sequence[Verdict], advisory: Sequence[bool]) -> list[float]:
    """The pooled z of the runs on record, each against those before it; none with one run."""
    return _earlier(_family(verdicts, advisory))


def _family(verdicts: Sequence[Verdict], advisory: Sequence[bool]) -> list[Verdict]:
    found = [(one, _evidence(one, advisory=aside, waived=False, change=False)) for one, aside in zip(verdicts, advisory, strict=True)]
    return [verdict for verdict, task in found if task.informative and not task.advisory]


def _evidence(verdict: Verdict, *, advisory: bool, waived: bool, change: bool) -> TaskEvidence:
    p, details = verdict.p_decisive, verdict.details
    if p is None or details.not_judged is not None:
        return TaskEvidence(p_value=1.0, z=0.0, informative=False, advisory=True)
    z = z_of_p(p) if details.z is None else details.z
    if details.z is not None and details.repeats_baseline != details.repeats_candidate:
        p = max(p, lower_tail(-z))
    error = details.standard_error if isinstance(details.standard_error, float) else None
    return TaskEvidence(
        p_value=p,
        z=z,
        informative=not (details.z == 0 and not verdict.difference.estimate and not error),
        advisory=advisory,
        waived=waived,
        change=verdict.difference.estimate if change else None,
        standard_error=error,
    )


def _earlier(family: Sequence[Verdict]) -> list[float]:
    """The pooled z of the recorded runs, from the second on, as far as at least half of the tasks have them.

    A task of which nothing differed says nothing (z is 0 exactly), and does not make the others look quieter than they are.
    """
    known = [verdict.details.reference_z or () for verdict in family]
    out = []
    for at in range(max((len(each) for each in known), default=0)):
        there = [each[at] for each in known if at < len(each)]
        if 2 * len(there) >= len(family):
            telling = [z for z in there if z]
            out.append(math.fsum(telling) / math.sqrt(len(telling)) if telling else 0.0)
    return out
