"""Sample sizes for knowing a metric against those of another program, which scanned every n. See plans_bayesian.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cases import every
from steelyard.infer.planning.anticipated import Anticipated
from steelyard.infer.planning.assurance import items_for_assurance, labels_for_assurance
from steelyard.infer.planning.labelling import stop_when_narrow
from steelyard.infer.planning.lengths import average_length
from steelyard.infer.planning.precision_goal import PrecisionGoal
from steelyard.metrics.labels import F1
from steelyard.questions.plan.estimate import plan_estimate

ENTRIES = {e["id"]: e for e in json.loads((Path(__file__).parent / "plans_bayesian.json").read_text(encoding="utf-8"))["entries"]}


def accuracy(i: dict[str, Any], **goal: Any) -> Any:
    return plan_estimate(metric="accuracy", prior=i["a"], **goal)


def answer(name: str, i: dict[str, Any]) -> Any:
    if name.startswith("plan_thr"):
        plan = accuracy(i, expected=i["p"], threshold=i["t"], confidence_level=i["gamma"], assurance=i["assurance"])
        return [plan.n_first, plan.n_stable]
    if name.startswith("plan_width_assur_0"):
        plan = accuracy(i, expected=i["p"], width=i["w"], assurance=i["assurance"])
        return [plan.n_first, plan.n_stable]
    if name.startswith("plan_plugin"):
        return list(accuracy(i, expected=i["p"], width=i["w"]).details["plug_in_n"].values())
    if name.startswith("plan_woc"):
        return accuracy(i, width=i["w"]).n
    if name == "plan_alc_0.9_0.1":
        return accuracy(i, expected=i["p"], width=i["w"]).details["average_length_n"]
    if name == "plan_alc_design":
        return accuracy(i, design_prior=i["design"], width=i["w"]).details["average_length_n"]
    if name == "plan_width_assur_design":
        return accuracy(i, design_prior=i["design"], width=i["w"], assurance=i["assurance"]).n
    if name == "plan_more_labels":
        return accuracy(i, have=(i["k"], i["n"]), width=i["w"], assurance=i["assurance"]).n
    if name.startswith("zuri_power_f1"):
        names = {"precision": i["precision"], "recall": i["recall"], "threshold": i["threshold"], "prevalence": i.get("prevalence")}
        plan = plan_estimate(metric="f1", confidence_level=i["gamma"], assurance=i["assurance"], prior=i["lam"], **names)
        return plan.labels if "prevalence" in i else [plan.n_first, plan.n_stable]
    if name == "plan_paired":
        rule = PrecisionGoal(threshold=0.5, level=i["gamma"], prior=(i["alpha"], i["alpha"]))
        disagree = i["p10"] + i["p01"]
        law = Anticipated(i["p10"] / disagree)
        found = items_for_assurance(rule, law, i["assurance"])
        return [*found, labels_for_assurance(rule, law, i["assurance"], disagree, found)[0]]
    assert name == "plan_f1_alc"
    rules = [
        (Anticipated(f1 / (2 - f1)), PrecisionGoal(width=w, through=F1.read_through, prior=(i["lam"], 2 * i["lam"])))
        for f1, w in ((0.8, 0.1), (0.9, 0.05))
    ]
    return [average_length(rule, law) for law, rule in rules]


@every("name", ENTRIES)
def test_the_numbers_of_another_program(name: str) -> None:
    assert answer(name, ENTRIES[name]["inputs"]) == ENTRIES[name]["value"]


def test_all_entries_were_copied() -> None:
    assert len(ENTRIES) == 23


# The same study gives these in its text (its table for accuracy .9, width .10, Jeffreys), without a file entry.
@pytest.mark.parametrize(("assurance", "first", "stable"), [(0.5, 135, 140), (0.8, 161, 161), (0.95, 182, 182)])
def test_assurances_of_the_table(assurance: float, first: int, stable: int) -> None:
    plan = plan_estimate(expected=0.9, width=0.1, assurance=assurance)
    assert (plan.n_first, plan.n_stable, plan.details["plug_in_n"]) == (first, stable, {"real": 139, "first": 135, "stable": 140})


def test_more_labels_with_high_assurance() -> None:
    plan = plan_estimate(have=(45, 50), width=0.1, assurance=0.95)
    assert (plan.n_first, plan.n_stable) == (169, 172)


@pytest.mark.parametrize(("expected", "threshold", "first", "stable"), [(0.9, 0.85, 255, 285)])
def test_where_bisection_went_astray(expected: float, threshold: float, first: int, stable: int) -> None:
    plan = plan_estimate(expected=expected, threshold=threshold)
    assert (plan.n_first, plan.n_stable) == (first, stable)


def test_stopping_when_narrow_takes_132_labels() -> None:
    stopped = stop_when_narrow(PrecisionGoal(width=0.1), Anticipated(0.9), 10)
    assert (round(stopped.expected, 1), stopped.most) == (132.5, 382)
