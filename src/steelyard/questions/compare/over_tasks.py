"""Many tasks, one question: is the candidate better over all of them? One pooled sign-flip, and Fisher's combination."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.errors import DataError
from steelyard.estimate.changed_items import item_values
from steelyard.estimate.compare_options import CompareOptions
from steelyard.estimate.pair_evidence import pair_evidence
from steelyard.infer.multiplicity import fisher_combined
from steelyard.infer.paired.signflip import sign_flip
from steelyard.metrics.base import Metric
from steelyard.tally.pairs import Pairs


def over_tasks(tasks: list[Pairs], metric: Metric, asked: CompareOptions, by: str) -> dict[str, Any]:
    """Both answers for the values of one column as tasks, every task weighing the same.

    The pooled test flips the signs of items whose difference is divided by the size of their task, so that it tests the
    mean over tasks. Fisher combines the one-sided p-values of "the candidate is better", which must be independent.
    """
    better = "greater" if metric.higher_is_better else "less"
    out: dict[str, Any] = {"by": by, "tasks": len(tasks), "alternative": better}
    p_values = [_one_sided(task, metric, asked, better) for task in tasks]
    known = [p for p in p_values if p is not None]
    if len(known) == len(tasks):
        statistic, p = fisher_combined(known)
        out["fisher"] = {"statistic": statistic, "p_value": p}
    pooled = _pooled(tasks, metric)
    if pooled is not None:
        found = sign_flip(pooled, alternative=asked.alternative, draws=asked.own.draws, seed=asked.own.seed)
        out["pooled_sign_flip"] = {
            "mean_difference": float(pooled.sum() / len(tasks)),
            "alternative": asked.alternative,
            "p_value": found.p_value,
            "exact": found.exact,
        }
    return out


def _pooled(tasks: list[Pairs], metric: Metric) -> Any:
    """Every item's difference over the size of its task; None where items have no number of their own."""
    if any(not task.plain or task.baseline.group is not None for task in tasks):
        return None
    sides = [(item_values(task.baseline, metric), item_values(task.candidate, metric)) for task in tasks]
    if any(a is None or b is None for a, b in sides) or not metric.mean_of_items:
        return None
    of = metric.of_right
    return np.concatenate([(of(b) - of(a)) / task.items for (a, b), task in zip(sides, tasks, strict=True)])


def _one_sided(task: Pairs, metric: Metric, asked: CompareOptions, alternative: str) -> float | None:
    quiet = asked.own.quietly()
    try:
        return pair_evidence(task, metric, replace(asked, own=quiet, alternative=alternative, margin=None)).test.p_value
    except DataError:
        return None
