"""steelyard weighs models: how good, better or not, how much data, worse than before. `import steelyard_old as sy`.

The public names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard_old.results import display
from steelyard_old.version import __version__

if TYPE_CHECKING:
    from steelyard_old.accuracy_task import AccuracyTask
    from steelyard_old.errors import AmbiguityError, DataError, SourceError, SteelyardError, UsageError
    from steelyard_old.evaluate.asking.asks import Case, Scored
    from steelyard_old.evaluate.scorers.base import Scoring
    from steelyard_old.evaluate.task.cases import Prompting, Shots, Template
    from steelyard_old.evaluate.task.task import Task
    from steelyard_old.history.store import History, open_history
    from steelyard_old.infer.posterior.beta import Posterior
    from steelyard_old.proof.certify import certify
    from steelyard_old.questions.audit.audit import audit
    from steelyard_old.questions.bisect.first_bad_commit import bisect, bisect_step
    from steelyard_old.questions.comment.comment import comment
    from steelyard_old.questions.compare.compare import compare, compare_preferences, rank
    from steelyard_old.questions.guard.check import check
    from steelyard_old.questions.history.acknowledge import acknowledge
    from steelyard_old.questions.history.answers import drop_answers, with_reference_answers
    from steelyard_old.questions.history.drift import drift
    from steelyard_old.questions.history.export import export_runs
    from steelyard_old.questions.history.export_mlflow import export_to_mlflow
    from steelyard_old.questions.history.history import compare_runs, list_runs
    from steelyard_old.questions.history.importing import import_runs
    from steelyard_old.questions.history.keep import keep_run
    from steelyard_old.questions.history.simulate import simulate_nights
    from steelyard_old.questions.learners.learners import compare_learners
    from steelyard_old.questions.learners.learning_curve import learning_curve
    from steelyard_old.questions.measure.measure import measure
    from steelyard_old.questions.measure.posterior import posterior
    from steelyard_old.questions.plan.designs import plan_designs
    from steelyard_old.questions.plan.detect import plan_detect
    from steelyard_old.questions.plan.estimate import plan_estimate
    from steelyard_old.questions.plan.split import plan_split
    from steelyard_old.questions.plan.train import plan_train
    from steelyard_old.questions.record.record import record
    from steelyard_old.questions.references.changes import approve_reference, remove_reference, rename_reference
    from steelyard_old.questions.references.history import reference_history
    from steelyard_old.questions.references.importing import import_references
    from steelyard_old.questions.references.init import init
    from steelyard_old.questions.references.lint import lint_references
    from steelyard_old.questions.references.listing import list_references, show_reference
    from steelyard_old.questions.report.card import Written, eval_results, every_eval_ever_records, google_card, model_card
    from steelyard_old.questions.report.every_eval_ever import every_eval_ever
    from steelyard_old.questions.report.report import report
    from steelyard_old.questions.run.run import dry_run, run
    from steelyard_old.questions.run.run_suite import run_suite
    from steelyard_old.questions.run.task import read_task
    from steelyard_old.questions.split.check_split import check_split
    from steelyard_old.questions.split.split import split
    from steelyard_old.questions.suite.check_suite import check_suite
    from steelyard_old.results.audit import Audit, AuditedPair, AuditedScore
    from steelyard_old.results.bisection import Bisect, BisectedCommit, BisectedItem, JudgedCommit
    from steelyard_old.results.catalogue import Result
    from steelyard_old.results.certificate import Certificate, CertifiedClaim, CertifiedPrecision, CertifiedPreference, CertifiedSetting
    from steelyard_old.results.comment import PostedComment
    from steelyard_old.results.comparison import (
        BeliefInMargin,
        ChangedItem,
        CombinedTasks,
        ComparedSlice,
        Comparison,
        Difference,
        Leaderboard,
        MeanRanks,
        OmnibusTest,
        Ranked,
        System,
        Test,
        WithinMargin,
    )
    from steelyard_old.results.details import (
        AnswerRate,
        ComparisonDetails,
        CurveLimit,
        NearlyAsGood,
        PlanDetails,
        PlugInItems,
        PooledTable,
        RowDetails,
        ScoreEnds,
        SizeInterval,
        TestDetails,
        VerdictDetails,
        WithoutLargest,
    )
    from steelyard_old.results.evaluation import Answered, DryRun, Evaluation
    from steelyard_old.results.history import (
        Acknowledged,
        AlarmsSoFar,
        Drift,
        DriftChart,
        DriftEvidence,
        DriftRun,
        EvidenceSoFar,
        FlakyItem,
        FlakyItems,
        HeldAgainst,
        LikelyChange,
        PastRun,
        RunDeviation,
        RunList,
        RunPlace,
    )
    from steelyard_old.results.installation import Installation, InstalledExtra, InstalledPackage, InstalledProgram
    from steelyard_old.results.learning_curve import CurveGap, CurvePoint, CurveSize, LearningCurve
    from steelyard_old.results.measurement import Interval, MeasuredSlice, Measurement, Row, Slice
    from steelyard_old.results.nights import (
        BudgetOutcome,
        FallenItem,
        NightAcknowledgement,
        NightAlarm,
        NightPoint,
        NightSimulation,
        SinceNight,
    )
    from steelyard_old.results.plan import (
        Curve,
        DesignCourse,
        DesignRow,
        Plan,
        SizeStep,
        SplitRow,
        WhatIf,
    )
    from steelyard_old.results.references import (
        ChangedReference,
        Finding,
        HeldEntry,
        ImportedFile,
        ImportedSettings,
        KeptSetting,
        Lint,
        ListedReference,
        Listing,
        ProjectInit,
        RecordedChange,
        ReferenceChange,
        ReferenceDetail,
        ReferenceGate,
        ReferenceHistory,
        ReferenceSeries,
        RuleNumber,
    )
    from steelyard_old.results.session import CheckedSession, SessionCheck
    from steelyard_old.results.split import (
        CheckedPart,
        DataSplit,
        PartOverlap,
        SharedPair,
        SplitCheck,
        SplitPart,
        SplitStratum,
    )
    from steelyard_old.results.stopping import (
        EarlyStopping,
        PooledRatio,
        ReachedLimit,
        ScoreOutside,
        StoppedSuite,
        StoppedTask,
        SuiteLook,
        WidthStopping,
    )
    from steelyard_old.results.verdict import (
        JudgedSlice,
        JudgedSystem,
        Needed,
        PooledSuite,
        Recorded,
        SliceFamily,
        Suite,
        SuiteNightAcknowledged,
        SuiteNights,
        SuiteRow,
        Verdict,
        Waiver,
    )
    from steelyard_old.tally.counts import Counts
    from steelyard_old.tally.joint import Flips, JointCounts

_HOME = {
    "PlugInItems": "results.details",
    "NearlyAsGood": "results.details",
    "WithoutLargest": "results.details",
    "ScoreEnds": "results.details",
    "SizeInterval": "results.details",
    "CurveLimit": "results.details",
    "AnswerRate": "results.details",
    "EarlyStopping": "results.stopping",
    "PooledRatio": "results.stopping",
    "ReachedLimit": "results.stopping",
    "ScoreOutside": "results.stopping",
    "StoppedSuite": "results.stopping",
    "StoppedTask": "results.stopping",
    "SuiteLook": "results.stopping",
    "WidthStopping": "results.stopping",
    "ImportedSettings": "results.references",
    "KeptSetting": "results.references",
    "ImportedFile": "results.references",
    "ChangedReference": "results.references",
    "ReferenceSeries": "results.references",
    "RecordedChange": "results.references",
    "HeldEntry": "results.references",
    "ReferenceGate": "results.references",
    "RuleNumber": "results.references",
    "ListedReference": "results.references",
    "WhatIf": "results.plan",
    "SplitRow": "results.plan",
    "SizeStep": "results.plan",
    "DesignCourse": "results.plan",
    "DesignRow": "results.plan",
    "CurveSize": "results.learning_curve",
    "FlakyItems": "results.history",
    "FlakyItem": "results.history",
    "AlarmsSoFar": "results.history",
    "RunDeviation": "results.history",
    "LikelyChange": "results.history",
    "DriftEvidence": "results.history",
    "EvidenceSoFar": "results.history",
    "DriftChart": "results.history",
    "DriftRun": "results.history",
    "RunPlace": "results.history",
    "HeldAgainst": "results.history",
    "SuiteRow": "results.verdict",
    "SuiteNightAcknowledged": "results.verdict",
    "Waiver": "results.verdict",
    "Needed": "results.verdict",
    "FallenItem": "results.nights",
    "SinceNight": "results.nights",
    "MeanRanks": "results.comparison",
    "CombinedTasks": "results.comparison",
    "OmnibusTest": "results.comparison",
    "WithinMargin": "results.comparison",
    "BeliefInMargin": "results.comparison",
    "ChangedItem": "results.comparison",
    "SuiteNights": "results.verdict",
    "SliceFamily": "results.verdict",
    "PooledSuite": "results.verdict",
    "JudgedSystem": "results.verdict",
    "JudgedSlice": "results.verdict",
    "Finding": "results.references",
    "Curve": "results.plan",
    "NightPoint": "results.nights",
    "MeasuredSlice": "results.measurement",
    "CurvePoint": "results.learning_curve",
    "CurveGap": "results.learning_curve",
    "Answered": "results.evaluation",
    "VerdictDetails": "results.details",
    "TestDetails": "results.details",
    "RowDetails": "results.details",
    "PooledTable": "results.details",
    "PlanDetails": "results.details",
    "ComparisonDetails": "results.details",
    "Ranked": "results.comparison",
    "ComparedSlice": "results.comparison",
    "CertifiedSetting": "results.certificate",
    "CertifiedPreference": "results.certificate",
    "CertifiedPrecision": "results.certificate",
    "CertifiedClaim": "results.certificate",
    "Result": "results.catalogue",
    "dry_run": "questions.run.run",
    "every_eval_ever_records": "questions.report.card",
    "google_card": "questions.report.card",
    "eval_results": "questions.report.card",
    "export_runs": "questions.history.export",
    "audit": "questions.audit.audit",
    "bisect": "questions.bisect.first_bad_commit",
    "bisect_step": "questions.bisect.first_bad_commit",
    "Bisect": "results.bisection",
    "BisectedCommit": "results.bisection",
    "BisectedItem": "results.bisection",
    "JudgedCommit": "results.bisection",
    "split": "questions.split.split",
    "check_split": "questions.split.check_split",
    "CheckedPart": "results.split",
    "DataSplit": "results.split",
    "PartOverlap": "results.split",
    "SharedPair": "results.split",
    "SplitCheck": "results.split",
    "SplitPart": "results.split",
    "SplitStratum": "results.split",
    "Audit": "results.audit",
    "AuditedPair": "results.audit",
    "AuditedScore": "results.audit",
    "comment": "questions.comment.comment",
    "PostedComment": "results.comment",
    "rank": "questions.compare.compare",
    "ProjectInit": "results.references",
    "ReferenceChange": "results.references",
    "ReferenceHistory": "results.references",
    "Lint": "results.references",
    "ReferenceDetail": "results.references",
    "Listing": "results.references",
    "compare_preferences": "questions.compare.compare",
    "init": "questions.references.init",
    "reference_history": "questions.references.history",
    "rename_reference": "questions.references.changes",
    "remove_reference": "questions.references.changes",
    "approve_reference": "questions.references.changes",
    "import_references": "questions.references.importing",
    "lint_references": "questions.references.lint",
    "show_reference": "questions.references.listing",
    "list_references": "questions.references.listing",
    "AccuracyTask": "accuracy_task",
    "Certificate": "results.certificate",
    "CheckedSession": "results.session",
    "SessionCheck": "results.session",
    "Installation": "results.installation",
    "InstalledExtra": "results.installation",
    "InstalledPackage": "results.installation",
    "InstalledProgram": "results.installation",
    "certify": "proof.certify",
    "check": "questions.guard.check",
    "check_suite": "questions.suite.check_suite",
    "record": "questions.record.record",
    "report": "questions.report.report",
    "read_task": "questions.run.task",
    "run": "questions.run.run",
    "run_suite": "questions.run.run_suite",
    "DryRun": "results.evaluation",
    "Evaluation": "results.evaluation",
    "Acknowledged": "results.history",
    "acknowledge": "questions.history.acknowledge",
    "Drift": "results.history",
    "History": "history.store",
    "PastRun": "results.history",
    "RunList": "results.history",
    "compare_runs": "questions.history.history",
    "drift": "questions.history.drift",
    "list_runs": "questions.history.history",
    "drop_answers": "questions.history.answers",
    "with_reference_answers": "questions.history.answers",
    "export_to_mlflow": "questions.history.export_mlflow",
    "import_runs": "questions.history.importing",
    "simulate_nights": "questions.history.simulate",
    "BudgetOutcome": "results.nights",
    "NightAcknowledgement": "results.nights",
    "NightAlarm": "results.nights",
    "NightSimulation": "results.nights",
    "keep_run": "questions.history.keep",
    "open_history": "history.store",
    "Task": "evaluate.task.task",
    "Case": "evaluate.asking.asks",
    "Scored": "evaluate.asking.asks",
    "Scoring": "evaluate.scorers.base",
    "Prompting": "evaluate.task.cases",
    "Shots": "evaluate.task.cases",
    "Template": "evaluate.task.cases",
    "Flips": "tally.joint",
    "Recorded": "results.verdict",
    "Suite": "results.verdict",
    "Verdict": "results.verdict",
    "compare": "questions.compare.compare",
    "compare_learners": "questions.learners.learners",
    "every_eval_ever": "questions.report.every_eval_ever",
    "measure": "questions.measure.measure",
    "model_card": "questions.report.card",
    "learning_curve": "questions.learners.learning_curve",
    "plan_designs": "questions.plan.designs",
    "plan_detect": "questions.plan.detect",
    "plan_estimate": "questions.plan.estimate",
    "plan_split": "questions.plan.split",
    "plan_train": "questions.plan.train",
    "posterior": "questions.measure.posterior",
    "Comparison": "results.comparison",
    "Difference": "results.comparison",
    "Posterior": "infer.posterior.beta",
    "Slice": "results.measurement",
    "System": "results.comparison",
    "Written": "questions.report.card",
    "Test": "results.comparison",
    "Counts": "tally.counts",
    "JointCounts": "tally.joint",
    "Leaderboard": "results.comparison",
    "LearningCurve": "results.learning_curve",
    "Interval": "results.measurement",
    "Measurement": "results.measurement",
    "Plan": "results.plan",
    "Row": "results.measurement",
    "SteelyardError": "errors",
    "UsageError": "errors",
    "SourceError": "errors",
    "DataError": "errors",
    "AmbiguityError": "errors",
}

__all__ = [
    "AccuracyTask",
    "Acknowledged",
    "AlarmsSoFar",
    "AmbiguityError",
    "AnswerRate",
    "Answered",
    "Audit",
    "AuditedPair",
    "AuditedScore",
    "BeliefInMargin",
    "Bisect",
    "BisectedCommit",
    "BisectedItem",
    "BudgetOutcome",
    "Case",
    "Certificate",
    "CertifiedClaim",
    "CertifiedPrecision",
    "CertifiedPreference",
    "CertifiedSetting",
    "ChangedItem",
    "ChangedReference",
    "CheckedPart",
    "CheckedSession",
    "CombinedTasks",
    "ComparedSlice",
    "Comparison",
    "ComparisonDetails",
    "Counts",
    "Curve",
    "CurveGap",
    "CurveLimit",
    "CurvePoint",
    "CurveSize",
    "DataError",
    "DataSplit",
    "DesignCourse",
    "DesignRow",
    "Difference",
    "Drift",
    "DriftChart",
    "DriftEvidence",
    "DriftRun",
    "DryRun",
    "EarlyStopping",
    "Evaluation",
    "EvidenceSoFar",
    "FallenItem",
    "Finding",
    "FlakyItem",
    "FlakyItems",
    "Flips",
    "HeldAgainst",
    "HeldEntry",
    "History",
    "ImportedFile",
    "ImportedSettings",
    "Installation",
    "InstalledExtra",
    "InstalledPackage",
    "InstalledProgram",
    "Interval",
    "JointCounts",
    "JudgedCommit",
    "JudgedSlice",
    "JudgedSystem",
    "KeptSetting",
    "Leaderboard",
    "LearningCurve",
    "LikelyChange",
    "Lint",
    "ListedReference",
    "Listing",
    "MeanRanks",
    "MeasuredSlice",
    "Measurement",
    "NearlyAsGood",
    "Needed",
    "NightAcknowledgement",
    "NightAlarm",
    "NightPoint",
    "NightSimulation",
    "OmnibusTest",
    "PartOverlap",
    "PastRun",
    "Plan",
    "PlanDetails",
    "PlugInItems",
    "PooledRatio",
    "PooledSuite",
    "PooledTable",
    "PostedComment",
    "Posterior",
    "ProjectInit",
    "Prompting",
    "Ranked",
    "ReachedLimit",
    "Recorded",
    "RecordedChange",
    "ReferenceChange",
    "ReferenceDetail",
    "ReferenceGate",
    "ReferenceHistory",
    "ReferenceSeries",
    "Result",
    "Row",
    "RowDetails",
    "RuleNumber",
    "RunDeviation",
    "RunList",
    "RunPlace",
    "ScoreEnds",
    "ScoreOutside",
    "Scored",
    "Scoring",
    "SessionCheck",
    "SharedPair",
    "Shots",
    "SinceNight",
    "SizeInterval",
    "SizeStep",
    "Slice",
    "SliceFamily",
    "SourceError",
    "SplitCheck",
    "SplitPart",
    "SplitRow",
    "SplitStratum",
    "SteelyardError",
    "StoppedSuite",
    "StoppedTask",
    "Suite",
    "SuiteLook",
    "SuiteNightAcknowledged",
    "SuiteNights",
    "SuiteRow",
    "System",
    "Task",
    "Template",
    "Test",
    "TestDetails",
    "UsageError",
    "Verdict",
    "VerdictDetails",
    "Waiver",
    "WhatIf",
    "WidthStopping",
    "WithinMargin",
    "WithoutLargest",
    "Written",
    "__version__",
    "acknowledge",
    "approve_reference",
    "audit",
    "bisect",
    "bisect_step",
    "certify",
    "check",
    "check_split",
    "check_suite",
    "comment",
    "compare",
    "compare_learners",
    "compare_preferences",
    "compare_runs",
    "drift",
    "drop_answers",
    "dry_run",
    "eval_results",
    "every_eval_ever",
    "every_eval_ever_records",
    "export_runs",
    "export_to_mlflow",
    "google_card",
    "import_references",
    "import_runs",
    "init",
    "keep_run",
    "learning_curve",
    "lint_references",
    "list_references",
    "list_runs",
    "measure",
    "model_card",
    "open_history",
    "plan_designs",
    "plan_detect",
    "plan_estimate",
    "plan_split",
    "plan_train",
    "posterior",
    "rank",
    "read_task",
    "record",
    "reference_history",
    "remove_reference",
    "rename_reference",
    "report",
    "run",
    "run_suite",
    "show_reference",
    "simulate_nights",
    "split",
    "with_reference_answers",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "inspect":  # a module of this name would stand before Python's own for whoever works in its folder
        return import_module("steelyard_old.inspect_plugin")
    if name not in _HOME:
        raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
    from types import FunctionType

    value = getattr(import_module(f"steelyard_old.{_HOME[name]}"), name)
    if isinstance(value, FunctionType):
        from steelyard_old.options.option import complete_docstring

        complete_docstring(value)
    globals()[name] = value
    return value


def _renderer() -> Any:
    """What draws results. They lie below it and ask for it by `results.display` when the first of them is shown."""
    from steelyard_old.render import notebook

    return notebook


display.use(_renderer)


def __dir__() -> list[str]:
    return sorted(__all__)
