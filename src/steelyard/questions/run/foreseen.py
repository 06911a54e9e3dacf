"""What a run that stops when it is decided will probably take, by the record it is held against. For a dry run: nothing is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.errors import UsageError
from steelyard.estimate.guard.sequential import StoppingPlan
from steelyard.infer.planning.run_designs import RunDesign, answers_on_record, one_answer
from steelyard.infer.planning.stored_answers import recorded_answers
from steelyard.infer.sequential.sequential_cost import Operating
from steelyard.questions.run.baseline import Baseline
from steelyard.questions.run.options import RunOptions
from steelyard.questions.run.task import Prepared

CHURN = 0.05  # two healthy runs differ on so many items, where the record has one answer and cannot say
RUNS, PATHS = 500, 200  # tried for each answer: enough for two digits


def foreseen(plan: StoppingPlan, bench: Baseline, prepared: Prepared, wish: RunOptions) -> dict[str, Any] | None:
    """The design, and the calls of runs in which nothing changed and in which theta was lost; None where that cannot be foreseen.

    Foreseen are runs of right or wrong without groups and margin, asked once, by the rules that are taken if none is named.
    """
    if plan.groups is not None or plan.margin or not plan.right_or_wrong or wish.repeats > 1 or bench.live:
        return None
    try:
        found = _design(plan, bench, prepared)
    except UsageError:  # a theta that cannot be lost from this record
        return None
    if found is None:
        return None
    churn = None if plan.answers > 1 else CHURN
    return {
        "rule": plan.taken,
        "answers": plan.answers,
        "factor": None if plan.strata is None else plan.strata.factor,
        "churn_assumed": churn,
        "theta": plan.theta * bench.unit,
        "healthy": _told(found.healthy),
        "dropped": _told(found.dearest),
    }


def _design(plan: StoppingPlan, bench: Baseline, prepared: Prepared) -> RunDesign | None:
    if plan.taken == "profile-mcnemar":
        return one_answer(plan.theta, CHURN, plan.alpha, plan.beta, step=plan.every, pool=plan.n_max, binding=plan.binding, paths=PATHS)
    if plan.taken != "empirical-likelihood" or plan.answers < 2 or bench.answers is None or bench.past is None:
        return None
    keys = [bench.key(case.id) for case in prepared.cases]
    many = [bench.answers.many[key] for key in keys]
    better = [bench.past[key] if bench.rule.sign > 0 else 1 - bench.past[key] for key in keys]
    items = recorded_answers([round(mean * n) for mean, n in zip(better, many, strict=True)], many)
    return answers_on_record(
        items, plan.theta, plan.alpha, plan.beta, strata=plan.strata, step=plan.every, pool=plan.n_max, reach=plan.limit, runs=RUNS
    )


def _told(ends: Operating) -> Mapping[str, Any]:
    return {
        "calls": round(ends.items),
        "calls_90": ends.items_90,
        "regression": ends.regression,
        "pass": ends.passed,
        "exhausted": ends.exhausted,
    }
