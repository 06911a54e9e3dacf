"""steelyard weighs models: how good, better or not, how much data, worse than before. `import steelyard as sy`.

The public names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.accuracy_task import AccuracyTask
    from steelyard.certificates import Certificate
    from steelyard.errors import AmbiguityError, DataError, SourceError, SteelyardError, UsageError
    from steelyard.evaluate.task import Task
    from steelyard.histories import Drift, PastRun, RunList
    from steelyard.history.store import History, open_history
    from steelyard.plans import Plan
    from steelyard.proof.certify import certify
    from steelyard.questions.card import model_card
    from steelyard.questions.compare import compare
    from steelyard.questions.curve_rows import LearningCurve
    from steelyard.questions.every_eval_ever import every_eval_ever
    from steelyard.questions.guard import check
    from steelyard.questions.guard_suite import check_suite
    from steelyard.questions.history import compare_runs, list_runs
    from steelyard.questions.history_drift import drift
    from steelyard.questions.learners import compare_learners
    from steelyard.questions.learning_curve import learning_curve
    from steelyard.questions.measure import measure
    from steelyard.questions.plan_designs import plan_designs
    from steelyard.questions.plan_detect import plan_detect
    from steelyard.questions.plan_estimate import plan_estimate
    from steelyard.questions.plan_train import plan_train
    from steelyard.questions.posteriors import posterior
    from steelyard.questions.record import record
    from steelyard.questions.report import report
    from steelyard.questions.run import run
    from steelyard.questions.run_suite import run_suite
    from steelyard.results import Comparison, Interval, Leaderboard, Measurement, Row
    from steelyard.runs import DryRun, Evaluation
    from steelyard.tally.counts import Counts
    from steelyard.tally.joint import JointCounts
    from steelyard.verdicts import Recorded, Suite, Verdict

_HOME = {
    "AccuracyTask": "accuracy_task",
    "Certificate": "certificates",
    "certify": "proof.certify",
    "check": "questions.guard",
    "check_suite": "questions.guard_suite",
    "record": "questions.record",
    "report": "questions.report",
    "run": "questions.run",
    "run_suite": "questions.run_suite",
    "DryRun": "runs",
    "Evaluation": "runs",
    "Drift": "histories",
    "History": "history.store",
    "PastRun": "histories",
    "RunList": "histories",
    "compare_runs": "questions.history",
    "drift": "questions.history_drift",
    "list_runs": "questions.history",
    "open_history": "history.store",
    "Task": "evaluate.task",
    "Recorded": "verdicts",
    "Suite": "verdicts",
    "Verdict": "verdicts",
    "compare": "questions.compare",
    "compare_learners": "questions.learners",
    "every_eval_ever": "questions.every_eval_ever",
    "measure": "questions.measure",
    "model_card": "questions.card",
    "learning_curve": "questions.learning_curve",
    "plan_designs": "questions.plan_designs",
    "plan_detect": "questions.plan_detect",
    "plan_estimate": "questions.plan_estimate",
    "plan_train": "questions.plan_train",
    "posterior": "questions.posteriors",
    "Comparison": "results",
    "Counts": "tally.counts",
    "JointCounts": "tally.joint",
    "Leaderboard": "results",
    "LearningCurve": "questions.curve_rows",
    "Interval": "results",
    "Measurement": "results",
    "Plan": "plans",
    "Row": "results",
    "SteelyardError": "errors",
    "UsageError": "errors",
    "SourceError": "errors",
    "DataError": "errors",
    "AmbiguityError": "errors",
}

__all__ = [
    "AccuracyTask",
    "AmbiguityError",
    "Certificate",
    "Comparison",
    "Counts",
    "DataError",
    "Drift",
    "DryRun",
    "Evaluation",
    "History",
    "Interval",
    "JointCounts",
    "Leaderboard",
    "LearningCurve",
    "Measurement",
    "PastRun",
    "Plan",
    "Recorded",
    "Row",
    "RunList",
    "SourceError",
    "SteelyardError",
    "Suite",
    "Task",
    "UsageError",
    "Verdict",
    "__version__",
    "certify",
    "check",
    "check_suite",
    "compare",
    "compare_learners",
    "compare_runs",
    "drift",
    "every_eval_ever",
    "learning_curve",
    "list_runs",
    "measure",
    "model_card",
    "open_history",
    "plan_designs",
    "plan_detect",
    "plan_estimate",
    "plan_train",
    "posterior",
    "record",
    "report",
    "run",
    "run_suite",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"steelyard.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
