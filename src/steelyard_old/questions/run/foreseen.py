"""What a run that stops when it is decided will probably take, by the record it is checked against. For a dry run: nothing is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard_old.errors import UsageError
from steelyard_old.estimate.guard.sequential import StoppingPlan
from steelyard_old.infer.planning.run_designs import RunDesign, answers_on_record, candidates_beside, one_answer, scores_on_record
from steelyard_old.infer.planning.stored_answers import recorded_answers
from steelyard_old.infer.sequential.sequential_cost import OperatingCharacteristics
from steelyard_old.infer.sequential.stopping import RULES
from steelyard_old.options.run import RunOptions
from steelyard_old.questions.run.baseline import Baseline
from steelyard_old.questions.run.task import Prepared
from steelyard_old.tally.sums import mean_over

CHURN = 0.05  # two healthy runs differ on so many items, where the record has one answer and cannot say
RUNS, PATHS = 500, 200  # tried for each answer: enough for two digits
SIMULATED = 400  # candidates of all runs that are tried


class CannotForesee(Exception):
    """What is to come cannot be foreseen; the words say why."""


def foreseen(
    plan: StoppingPlan, baseline: Baseline, prepared: Prepared, options: RunOptions, models: int = 1
) -> tuple[dict[str, Any] | None, str | None]:
    """The design, and the calls of runs in which nothing changed and in which theta was lost; or None, and why they cannot be foreseen.

    Of several candidates it is one that lost theta. Calls are those of all models together.
    """
    try:
        found = _design(plan, baseline, prepared, options, models)
    except CannotForesee as why:
        return None, str(why)
    except UsageError as fault:
        return None, str(fault.args[0]).rstrip(".") if fault.args else "theta cannot be lost from this record"
    assumes = plan.right_or_wrong and plan.answers == 1
    each = 2 if models == 2 else 1  # items of the baseline are calls as well; of several candidates they are counted already
    return {
        "rule": plan.taken,
        "answers": None if baseline.live else plan.answers,
        "models": models,
        "factor": None if plan.strata is None else plan.strata.factor,
        "churn_assumed": CHURN if assumes else None,
        "theta": plan.theta * baseline.unit,
        "healthy": _told(found.healthy, each),
        "dropped": _told(found.dearest, each),
    }, None


def _design(plan: StoppingPlan, baseline: Baseline, prepared: Prepared, options: RunOptions, models: int) -> RunDesign:
    if plan.groups is not None:
        raise CannotForesee("items lie in groups, and how much groups vary from run to run is not known beforehand")
    if not RULES[plan.taken].foreseen:
        raise CannotForesee(f"runs that stop by {plan.taken!r} are not foreseen")
    if options.repeats > 1:
        raise CannotForesee(f"every item is asked {options.repeats} times, and runs are foreseen by single answers")
    rates = (plan.theta, plan.alpha, plan.beta)
    rest: dict[str, Any] = {"margin": plan.margin, "step": plan.every, "pool": plan.n_max}
    if plan.right_or_wrong and plan.answers == 1:
        if models > 2 and not plan.margin:
            return candidates_beside(
                plan.theta, CHURN, models - 1, *rates[1:], step=plan.every, pool=plan.n_max, candidates_in_all=SIMULATED
            )
        if models > 2:
            raise CannotForesee("with a margin, several candidates are not foreseen together")
        return one_answer(plan.theta, CHURN, *rates[1:], **rest, binding=plan.binding, paths=PATHS if not plan.margin else RUNS)
    if baseline.live:
        raise CannotForesee("nothing is on record that says how much the scores of one item vary from run to run")
    if plan.answers < 2 or baseline.answers is None or baseline.past is None:
        raise CannotForesee(
            "one answer to each item is on record, which does not say how much scores vary from run to run (record a second run)"
        )
    keys = [baseline.key(case.id) for case in prepared.cases]
    rest |= {"strata": plan.strata, "reach": plan.limit, "runs": RUNS}
    if plan.right_or_wrong:
        many = [baseline.answers.many[key] for key in keys]
        better = [baseline.past[key] if baseline.rule.sign > 0 else 1 - baseline.past[key] for key in keys]
        items = recorded_answers([round(mean * n) for mean, n in zip(better, many, strict=True)], many)
        return answers_on_record(items, *rates, **rest)
    if plan.score_range is None or baseline.apart is None:
        raise CannotForesee("the range of scores is not known")
    low, high = plan.score_range
    mean = mean_over(baseline.past, keys)
    x = baseline.rule.sign * np.concatenate([baseline.apart[key] for key in keys])
    wavering = np.concatenate([np.full(len(baseline.apart[key]), baseline.answers.variance[key] > 0) for key in keys])
    return scores_on_record(x, (low, high), mean if baseline.rule.sign > 0 else low + high - mean, *rates, wavering=wavering, **rest)


def _told(ends: OperatingCharacteristics, each: int) -> Mapping[str, Any]:
    return {
        "calls": round(each * ends.items),
        "calls_90": each * ends.items_90,
        "regression": ends.regression,
        "pass": ends.passed,
        "exhausted": ends.exhausted,
    }
