"""One result of every kind, made once by asking real questions on small data: for the tests of pages and of pictures."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import steelyard as sy
from render.verdict_samples import FLOOR, LEGACY, LOWER_IS_BETTER, NIGHTLY, PAIRED, UNSURE
from steelyard.results.bisection import Bisect, BisectedCommit, BisectedItem
from steelyard.results.certificate import Certificate, CertifiedClaim, CertifiedPrecision, CertifiedPreference, CertifiedSetting
from steelyard.results.comment import PostedComment
from steelyard.results.evaluation import Answered, Evaluation
from steelyard.results.history import Acknowledged, Drift, DriftRun, PastRun, RunList
from steelyard.results.installation import Installation, InstalledExtra, InstalledPackage, InstalledProgram
from steelyard.results.nights import BudgetOutcome, NightAcknowledgement, NightAlarm, NightSimulation
from steelyard.results.references import Finding, Lint, Listing, ProjectInit, ReferenceChange, ReferenceDetail, ReferenceHistory
from steelyard.results.session import ITSELF, CheckedSession, SessionCheck
from steelyard.results.stopping import EarlyStopping
from steelyard.results.verdict import Recorded

DIGITS = [str(files("steelyard") / "data" / name) for name in ("digits_naive_bayes.csv", "digits_logistic.csv")]
LOOKS = [
    {"n": 64, "statistic": 2, "upper": 3, "lower": -1, "alpha_spent": 0.0, "decision": "continue"},
    {"n": 160, "statistic": 3, "upper": 4, "lower": 1, "alpha_spent": 0.002, "decision": "continue"},
    {"n": 288, "statistic": 10, "upper": 9, "lower": None, "alpha_spent": 0.0107, "decision": "regression"},
]
STOPPING = {
    "design": "exact group-sequential McNemar",
    "looks": LOOKS,
    "looks_made": 3,
    "alpha_spent": 0.0107,
    "n_used": 288,
    "n_available": 1797,
    "n_saved": 1509,
    "why": "right or wrong, one answer each",
}
ROW = {
    "task": "gsm8k",
    "file": "references/gsm8k.yaml",
    "model": "llama",
    "spec": {"quant_algo": "FP8"},
    "value": 0.7657,
    "n": 1319,
    "runs": 5,
    "items": True,
    "threshold": 0.7566,
    "mde": 0.0136,
    "recorded": "2026-10-30T09:12:00Z",
    "by": "ann",
}
REMOVED = {key: ROW[key] for key in ("task", "model", "spec", "value", "file")}
CHANGE = {"time": "2026-10-30T09:12:00Z", "action": "record", "old": None, "new": 26.48, "n": 100, "by": "ann", "reason": "first"}
SERIES = {
    "model": "m",
    "spec": {},
    "values": [26.48, 26.0],
    "first": 26.48,
    "last": 26.0,
    "change": -0.48,
    "on_file": 26.0,
    "changes": [CHANGE, {**CHANGE, "old": 26.48, "new": 26.0}],
}

TRIED = CertifiedSetting(
    setting="n=5",
    points=1000,
    least=0.8347,
    least_at="n=5 p=0.0355",
    least_error=0.0,
    most=1.0,
    most_at="n=5 p=0.5",
    most_error=0.0,
    mean=0.955,
    mean_error=0.0,
    off=0.004,
    width=0.558,
)
CLAIM = CertifiedClaim(
    name="a proportion: coverage of wilson",
    family="a proportion",
    method="wilson",
    kind="coverage",
    nominal=0.95,
    says="covers 0.95 on average",
    documented="docs/methods.md",
    default=True,
    band={"low": 0.83, "mean_low": 0.949},
    worst=0.8347,
    worst_at="n=5 p=0.0355",
    worst_error=0.0,
    mean=0.955,
    mean_error=0.0,
    width=0.558,
    points=1000,
    settings=(TRIED,),
)


BISECTED = Bisect(
    good="a" * 40,
    bad="d" * 40,
    n_commits=3,
    named=("b" * 40, "c" * 40),
    probability=0.97,
    suspects=("c" * 40, "b" * 40),
    commits=(
        BisectedCommit(commit="a" * 40, subject="The start", place=0, probability=None, right=19, asked=20),
        BisectedCommit(commit="b" * 40, subject="Half | of <b>it</b>", place=1, probability=0.4, skipped="exit code 1"),
        BisectedCommit(commit="c" * 40, subject="Another half", place=2, probability=0.57, right=3, asked=16),
        BisectedCommit(commit="d" * 40, subject="The end", place=3, probability=0.03, right=2, asked=20),
    ),
    method="telling items",
    why="named",
    n_items=300,
    n_changed=20,
    changed_items=(BisectedItem(id="<q>1", right_before=2, asked_before=2, right_after=0, asked_after=3),),
    noise=None,
    delta=0.05,
    calls=56,
    reused=10,
    whole_calls=600,
    conclusion="The first bad commit is one of 2.",
    signature="goal:bisect|n:300|steelyard:0.1.0",
)


def long_table() -> dict[str, list[str]]:
    """Items with a slice column and names that two systems share."""
    truths = ["cat", "dog", "bird"] * 20
    return {
        "id": [f"item-{i:03d}" for i in range(60)],
        "truth": truths,
        "prediction": [truth if i % 5 else "dog" for i, truth in enumerate(truths)],
        "area": ["north", "south"] * 30,
    }


NIGHTS = NightSimulation(
    place="sqlite:///runs.db",
    series="main",
    runs_per_year=365.0,
    nights=("n1", "n2", "n3", "n4"),
    times=tuple(f"2026-11-0{i}T02:00:00" for i in (1, 2, 3, 4)),
    earlier=3,
    budgets=(
        BudgetOutcome(
            false_alarms_per_year=1.0,
            line=365.0,
            as_judged=True,
            red_nights=1,
            evidence=(0.0, 4000.0, None, 2.5),
            alarms=(
                NightAlarm(
                    night="n2", time="2026-11-02T02:00:00", verdict="regression", evidence=4000.0, since="n2", named=("t",), fell=("t: q1",)
                ),
            ),
        ),
        BudgetOutcome(false_alarms_per_year=0.01, line=36500.0, alarms=(), evidence=(0.0, 4000.0, 9.0, 2.5)),
    ),
    acknowledgements=(NightAcknowledgement(time="2026-11-03T09:00:00", how="fixed", by="ada", reason="reverted"),),
    claim="About one false alarm a year.",
    conclusion="4 nights of main.",
)


INSTALLED = Installation(
    steelyard="0.2",
    python="3.12",
    system="Linux x86_64",
    core={"numpy": InstalledPackage(version="1.25", lowest="1.26", ok=False)},
    extras={
        "json-schema": InstalledExtra(
            adds="the scorer",
            install="pip install 'steelyard[json-schema]'",
            packages={"jsonschema": InstalledPackage(version=None, lowest="4", ok=False)},
        )
    },
    programs={"git": InstalledProgram(found="/usr/bin/git", serves="who changed a reference")},
)


@cache
def samples() -> dict[str, Any]:
    """By name. Asking takes a second or two, once."""
    table = long_table()
    other = {**table, "prediction": [truth if i % 7 else "cat" for i, truth in enumerate(table["truth"])]}
    third = {**table, "prediction": ["cat"] * 60}
    answered = Answered(name="m", output="out.jsonl", counts={"errors": 1}, usage={"p50": 0.01, "p90": 0.02}, measurement=sy.measure(table))
    session = CheckedSession(
        counts={"pass": 1, "regression": 1, "new": 1, "error": 1},
        checks=(
            SessionCheck(
                test="t.py::test_a", outcome="pass", verdict=sy_replace(PAIRED, verdict="pass"), task="t", model="m", spec={"a": 1}
            ),
            SessionCheck(
                test="t.py::test_b",
                outcome="regression",
                verdict=PAIRED,
                history={"place": "sqlite:///h.db", "id": "1"},
                task="t",
                model="m",
            ),
            SessionCheck(test="t.py::test_c", outcome="new", verdict=sy_replace(PAIRED, warnings=(ITSELF,)), task="t", model="n"),
            SessionCheck(
                test="t.py::test_d", outcome="error", message="No reference for '<x>'.\nNothing was checked.", task="t", model="<x>"
            ),
        ),
        unused=tuple(f"t: never {i} (line {i})" for i in range(7)),
        notes=("single tests are uncorrected",),
        warnings=("noise is not known",),
        errors=("'n' on 't' was not recorded",),
    )
    stopped = sy_replace(PAIRED, details={**PAIRED.details, "stopping": STOPPING})
    return {
        "measurement": sy.measure(table, metric=["accuracy", "each_recall", "macro_f1"], by="area"),
        "counts": sy.measure(sy.Counts.of(38, 40), side="lower"),
        "beliefs": sy.measure(sy.Counts.binary(tp=31, fp=5, fn=2), interval="bayes"),
        "comparison": sy.compare(table, other, by="area", margin=0.05),
        "beliefs of two": sy.compare(table, other, interval="bayes"),
        "leaderboard": sy.rank(table, other, third, by="area"),
        "split": sy.split({"id": list(range(50)), "topic": ["a", "b"] * 25}, train=0.8, test=0.2, stratify="topic"),
        "split_check": sy.check_split({"id": [1], "q": ["What is <b>this</b>?"]}, {"id": [2], "q": ["what is <b>THIS</b>"]}),
        "audit": sy.audit({"new": 87.4, "old": 86.1, "odd": 45.55}, n=198),
        "bisect": BISECTED,
        "bisect by whole runs": sy_replace(
            BISECTED,
            named=(),
            probability=None,
            suspects=("b" * 40, "c" * 40),
            method="whole runs",
            changed_items=(),
            noise=0.01,
            commits=tuple(sy_replace(each, right=None, asked=0, runs=2, mean=0.8) for each in BISECTED.commits),
            conclusion="Not found.",
        ),
        "comment": PostedComment(
            done="edited", dry_run=True, pull_request=7, key="k", characters=9, body="## PASS\n", conclusion="Edited."
        ),
        "session": session,
        "doctor": INSTALLED,
        "plan": sy.plan_detect(discordance=0.04, theta=0.01),
        "designs": sy.plan_designs(theta=0.02, discordance=0.04),
        "regression": PAIRED,
        "inconclusive": UNSURE,
        "legacy": LEGACY,
        "floor": FLOOR,
        "lower is better": LOWER_IS_BETTER,
        "stopped": stopped,
        "suite": NIGHTLY,
        "recorded": Recorded(task="t", model="m", spec={}, metric="accuracy", scale="fraction", value=0.9, n=100, runs=1, file="t.yaml"),
        "run": Evaluation(
            task="t", n=288, available=1797, repeats=1, models=(answered,), stopping=EarlyStopping.of(STOPPING), verdict=stopped
        ),
        "run of two": Evaluation(
            task="t",
            n=60,
            available=60,
            repeats=1,
            models=(answered, answered),
            comparison=sy.compare(table, other),
            conclusion="asked all",
        ),
        "run alone": Evaluation(task="t", n=60, available=60, repeats=1, models=(answered,)),
        "references": Listing(directory="references", rows=(ROW,), conclusion="1 reference in 1 task."),
        "reference": ReferenceDetail(
            task="t",
            model="m",
            file="t.yaml",
            line=2,
            entry={"accuracy": 0.9, "spec": {"a": 1}},
            rule=({"name": "alpha", "value": 0.05, "source": "default"},),
            gate={"design": "paired", "threshold": 0.88},
            held=({"line": 2, "value": 0.9, "differ": {"dtype": {"recorded": "fp8", "asked": None}}},),
            conclusion="this one",
        ),
        "lint": Lint(
            directory="references",
            findings=(Finding(level="error", code="E1", file="t.yaml", line=3, model="m", sentence="a value above 1"),),
            conclusion="1 error.",
        ),
        "story": ReferenceHistory(task="t", file="t.history.jsonl", series=(SERIES,), conclusion="2 changes."),
        "changed": ReferenceChange(action="remove", directory="references", rows=(REMOVED,), reason="gone", conclusion="1 removed."),
        "started": ProjectInit(written=("steelyard.toml",), kept=("references",), next=("steelyard record RUN --task t --model m",)),
        "history": RunList(
            place="sqlite:///runs.db", runs=(PastRun(id="0f7d63ca", time="2026-11-01T10:00:00Z", command="check", task="t", model="m"),)
        ),
        "nights": NIGHTS,
        "acknowledged": Acknowledged(
            place="sqlite:///runs.db",
            series="main",
            how="fixed",
            reason="reverted",
            since={"night": "n2", "date": "2026-11-02"},
            nights=2,
            named=("t",),
            by="ada",
            conclusion="The regression of main since n2 is acknowledged as fixed.",
        ),
        "drift": Drift(
            task="t",
            model="m",
            spec={},
            metric="accuracy",
            scale="fraction",
            higher_is_better=True,
            alpha=0.05,
            drifting=True,
            reference={"value": 0.9, "runs": 1},
            runs=tuple(
                DriftRun(
                    id=f"r{i}",
                    time="2026-11-01T10:00:00Z",
                    command="check",
                    verdict="pass",
                    n=100,
                    estimate=0.9 - i / 100,
                    score=None,
                    cusum=1.0,
                    first=2.0,
                    pooled=None,
                )
                for i in range(5)
            ),
            conclusion="it drifts.",
        ),
        "certificate": Certificate(
            grid="quick",
            seed=0,
            claims=(CLAIM, sy_replace(CLAIM, name="a proportion: coverage of wald", method="wald", default=False, faults=("too low.",))),
            preferences=(
                CertifiedPreference(family="a proportion", default="wilson", alternative="wald", advantages=("is narrower",), reason=None),
            ),
            accuracy=(CertifiedPrecision(name="accuracy: wilson", worst=5e-15, worst_at="1/1319", limit=1e-12, cases=420),),
            coverage={"claim": CLAIM.name, "worst": 0.8347, "at": "n=5 p=0.0355", "error": 0.0, "claimed": 0.83},
            faults=("too low.",),
            conclusion="1 fault: too low.",
        ),
    }


def sy_replace(result: Any, **changes: Any) -> Any:
    """A frozen result with something else in it."""
    from dataclasses import replace

    return replace(result, **changes)
