"""How many labels to know a metric: from the question to the answer, with its sentences and its refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard_old as sy
from cases import every, seldom
from steelyard_old.errors import DataError, UsageError
from steelyard_old.infer.planning.precision_goal import METHODS
from steelyard_old.questions.plan.estimate import plan_estimate
from steelyard_old.questions.plan.expectations import plannable
from steelyard_old.results import signature
from steelyard_old.tally.counts import Counts


def test_threshold() -> None:
    plan = plan_estimate(metric="accuracy", expected=0.95, threshold=0.9)
    assert (plan.goal, plan.n, plan.n_first, plan.n_stable, plan.labels, plan.expected_n) == ("threshold", 185, 160, 185, 185, None)
    assert plan.conclusion == (
        "Label 185 items: if the accuracy is 0.95, the chance is 86.2% that the data put it above 0.9 with 95% probability."
    )
    assert plan.assumed == "independent items; an accuracy of 0.95; prior Beta(0.5, 0.5)."
    assert [row["if"] for row in plan.sensitivity] == ["accuracy is 0.93", "accuracy is 0.97", "the prior is 1"]


def test_width_and_half_width_are_one_goal() -> None:
    plan, half = plan_estimate(expected=0.9, width=0.1), plan_estimate(expected=0.9, half_width=0.05)
    assert (plan.n, round(plan.expected_n or 0, 1)) == (161, 132.5)
    assert half.to_dict() == plan.to_dict()
    assert plan.details["worst_outcome_n"] == 382
    assert plan.details["average_length_n"] == 136


def test_a_precision_is_told_in_two_ways_and_is_one_plan() -> None:
    """Also where it is taken to be another one: the labels follow from the precision that is supposed, not from the one that was told."""
    rates = {"recall": 0.8, "prevalence": 0.2}
    plan = plan_estimate(metric="precision", precision=0.8, width=0.1, **rates)
    assert plan.to_dict() == plan_estimate(metric="precision", expected=0.8, width=0.1, **rates).to_dict()
    moved = {row.condition: row.labels for row in plan.sensitivity}
    assert moved["precision is 0.75"] == plan_estimate(metric="precision", precision=0.75, width=0.1, **rates).labels


def test_f1_counts_labels() -> None:
    plan = plan_estimate(metric="f1", precision=0.8, recall=0.8, threshold=0.75, prevalence=0.2)
    assert (plan.n_first, plan.n_stable, plan.labels) == (322, 341, 1387)
    assert plan.details["relevant_share"] == pytest.approx(0.24)
    assert plan.details["success_rate"] == pytest.approx(2 / 3)
    rows = {row["if"]: (row["n"], row["labels"]) for row in plan.sensitivity}
    assert rows["the prior is 1"] == (350, 1440)
    assert rows["prevalence is 0.1"][0] == 341
    assert rows["prevalence is 0.1"][1] > 2 * 1387 - 10
    assert "precision is 0.75 and recall 0.75" not in rows, "not above the threshold"
    same = plan_estimate(metric="f1", expected=0.8, threshold=0.75, prevalence=0.2)
    assert same.labels == 1387
    assert "precision and recall both so" in same.assumed


def test_worst_outcome() -> None:
    plan = plan_estimate(width=0.05)
    assert (plan.n, plan.n_first, plan.labels, plan.assurance, plan.expected_n) == (1535, 1535, 1535, 1.0, None)
    assert "whatever the accuracy turns out to be" in plan.conclusion
    assert plan.curve is not None
    assert plan.curve.y_label == "widest interval"
    assert plan.conclusion.endswith("its 95% credible interval is at most 0.05 wide.")
    split = plan_estimate(metric="recall", width=0.1, prevalence=0.3)
    assert split.n == 382
    assert split.labels is not None
    assert split.labels > 382 / 0.3


def test_what_there_is_counts() -> None:
    plan = plan_estimate(have=(45, 50), width=0.1)
    assert plan.n == 129
    assert plan.conclusion.startswith("Label 129 more items: after 45 of 50")
    assert plan_estimate(metric="error", have=(5, 50), width=0.1).n == 129
    known = plan_estimate(have=(45, 50), expected=0.9, width=0.1)
    assert known.n_first == 161 - 50 or known.n != plan.n


def test_already_reached() -> None:
    plan = plan_estimate(have=(45, 50), width=0.3)
    assert (plan.n, plan.n_first, plan.n_stable, plan.labels) == (0, 0, 0, 0)
    assert plan.conclusion.startswith("Already reached: 0 more.")
    assert (plan.steps, plan.sensitivity, plan.curve) == ((), (), None)
    assert plan_estimate(have=(200, 201), threshold=0.9).n == 0


def test_pilot_gives_the_value_and_the_share(tmp_path: Path) -> None:
    counts = Counts.binary(tp=31, fp=5, fn=2, tn=62)
    plan = plan_estimate(metric="f1", pilot=counts, width=0.1)
    assert plan.details["have"] == [31, 38]
    assert plan.details["relevant_share"] == pytest.approx(0.38)
    assert plan.labels is not None
    rows = ["cat,cat"] * 31 + ["dog,cat"] * 5 + ["cat,dog"] * 2 + ["dog,dog"] * 62
    path = tmp_path / "pilot.csv"
    path.write_text("truth,prediction\n" + "\n".join(rows) + "\n", encoding="utf-8")
    read = plan_estimate(metric="f1", pilot=str(path), width=0.1, positive="cat")
    assert (read.n, read.labels) == (plan.n, plan.labels)
    right = plan_estimate(pilot=str(path), width=0.1)
    assert right.n == plan_estimate(have=(93, 100), width=0.1).n
    unsplit = plan_estimate(metric="f1", pilot=Counts.binary(tp=31, fp=5, fn=2), width=0.1)
    assert (unsplit.n, unsplit.labels) == (plan.n, None)
    assert plan_estimate(pilot=str(path), width=0.3).n == 0
    grouped = tmp_path / "grouped.csv"
    grouped.write_text("group,truth,prediction\n" + "\n".join(f"g{i % 9},{row}" for i, row in enumerate(rows)) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="belong together"):
        plan_estimate(pilot=str(grouped), width=0.1)


PLANNABLE = [metric.name for metric in plannable()]
PAIRS = [(metric, interval) for metric in PLANNABLE for interval in METHODS]
# Every metric with two intervals or more, every interval with two metrics or more; and the one that is refused.
OFTEN = [pair for place, pair in enumerate(PAIRS) if (place % 3 == 0 and pair != ("f1", "clopper-pearson")) or pair == ("f1", "wald")]


@pytest.mark.parametrize(("metric", "interval"), [*OFTEN, *seldom(*(pair for pair in PAIRS if pair not in OFTEN))])
def test_every_metric_with_every_interval(metric: str, interval: str) -> None:
    parts: dict[str, Any] = {} if metric in ("accuracy", "error") else {"prevalence": 0.3}
    if metric == "precision":
        parts["recall"] = 0.8
    value = 0.1 if metric == "error" else 0.9
    if (metric, interval) == ("f1", "wald"):
        with pytest.raises(UsageError, match="wald"):
            plan_estimate(metric=metric, interval=interval, expected=value, width=0.2, **parts)
        return
    turn = METHODS.index(interval) + [each.name for each in plannable()].index(metric)  # one goal each: every interval meets both
    goal = {"width": 0.3} if turn % 2 else {"threshold": 0.3 if metric == "error" else 0.7}
    plan = plan_estimate(metric=metric, interval=interval, expected=value, **goal, **parts)
    assert plan.n is not None
    assert plan.labels is not None
    assert plan.labels >= plan.n >= (plan.n_first or 0) > 0
    assert 0.8 <= plan.details["achieved_assurance"] <= 1
    json.dumps(plan.to_dict(), allow_nan=False)
    assert {"assurance" in row for row in plan.steps} == {True}
    assert plan.curve is not None
    assert plan.curve.mark == (plan.n, pytest.approx(next(row["assurance"] for row in plan.steps if row["n"] == plan.n)))


def test_without_a_prevalence_the_labels_are_not_known() -> None:
    plan = plan_estimate(metric="recall", expected=0.8, width=0.1)
    assert plan.labels is None
    assert plan.warnings == (
        "recall rests on items that are positive only, and how many labels hold that many depends on their share: "
        "give prevalence to get the number of labels",
    )
    other = plan_estimate(metric="precision", expected=0.8, width=0.1, prevalence=0.2)
    assert other.labels is None
    assert "give recall to get" in other.warnings[0]
    assert (plan.expected_n, round(plan.details["expected_items"])) == (None, 247)
    unknown = plan_estimate(metric="f1", have=(5, 5), width=0.2, prevalence=0.5)
    assert "give the expected value to get" in unknown.warnings[0]


def test_stopping_early_counts_labels() -> None:
    plan = plan_estimate(metric="recall", expected=0.9, width=0.1, prevalence=0.2)
    assert plan.expected_n == pytest.approx(5 * 132.5, abs=0.5)
    assert plan.details["expected_items"] == pytest.approx(132.5, abs=0.1)


def test_warnings() -> None:
    assert "more often than reached" in plan_estimate(expected=0.9, width=0.1, assurance=0.4).warnings[0]
    assert "instead of 1: smaller" in plan_estimate(expected=0.9, width=0.015, batch=1).warnings[0]


def test_signature_repeats_the_plan() -> None:
    plan = plan_estimate(metric="f1", precision=0.8, recall=0.7, width=0.1, prevalence=0.2, assurance=0.9, prior=1, interval="bayes")
    facts = {key: values[0] for key, values in signature.parse(plan.signature).items()}
    names = ("precision", "recall", "prevalence", "width", "assurance", "prior")
    numbers = {name: float(facts[name]) for name in names}
    again = plan_estimate(metric=facts["metric"], interval=facts["interval"], confidence_level=float(facts["level"]), **numbers)
    assert again == plan


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "one": ({"expected": 1.0, "width": 0.1}, "strictly between 0 and 1"),
    "prevalence": ({"metric": "recall", "expected": 0.9, "width": 0.1, "prevalence": -0.1}, "The prevalence must be"),
    "wide": ({"expected": 0.9, "width": 1.0}, "width must be"),
    "narrow": ({"expected": 0.9, "width": 0.0}, "width must be"),
    "half": ({"expected": 0.9, "half_width": 0.5}, "less than 0.5"),
    "below": ({"expected": 0.9, "threshold": 0.9}, "No amount of data can show that accuracy is above 0.9 when 0.9 is expected."),
    "error above": (
        {"metric": "error", "expected": 0.2, "threshold": 0.1},
        "No amount of data can show that error is below 0.1 when 0.2 is expected.",
    ),
    "unknown value": ({"threshold": 0.9}, "To show that accuracy is above 0.9, the plan needs an expected value."),
    "both goals": ({"expected": 0.9, "width": 0.1, "threshold": 0.8}, "got width= and threshold="),
    "no goal": ({"expected": 0.9}, "A plan needs exactly one of width=, half_width= and threshold=; got none."),
    "precision alone": (
        {"metric": "f1", "precision": 0.8, "width": 0.1},
        "precision alone does not give the f1; recall is needed as well.",
    ),
    "recall alone": ({"metric": "f1", "recall": 0.8, "width": 0.1}, "recall alone does not give the f1; precision is needed as well."),
    "two values": ({"metric": "recall", "recall": 0.8, "expected": 0.9, "width": 0.1}, "Two expected values of recall: 0.9 and 0.8."),
    "not for accuracy": ({"recall": 0.8, "width": 0.1}, "recall means nothing for accuracy, which takes only expected."),
    "impossible": (
        {"metric": "f1", "precision": 0.2, "recall": 0.9, "prevalence": 0.5, "width": 0.1},
        "precision 0.2, recall 0.9 and prevalence 0.5 are impossible together: 1.8 of",
    ),
    "impossible precision": ({"metric": "precision", "precision": 0.2, "recall": 0.9, "prevalence": 0.5, "width": 0.1}, "false positives"),
    "have": ({"have": (51, 50), "width": 0.1}, "0 <= k <= n"),
    "have nothing": ({"have": (0, 0), "width": 0.1}, "0 <= k <= n"),
    "have words": ({"have": "4", "width": 0.1}, "0 <= k <= n"),
    "design prior": ({"design_prior": (0, 5), "width": 0.1}, "two positive numbers"),
    "twice": (
        {"design_prior": (45, 5), "expected": 0.9, "width": 0.1},
        "accuracy 0.9 and a design prior are two expected values; give one of them.",
    ),
    "design too low": ({"design_prior": (45, 5), "threshold": 0.9}, "No number of items"),
    "batch": ({"expected": 0.9, "width": 0.1, "batch": 0}, "at least 1"),
    "prior": ({"expected": 0.9, "width": 0.1, "prior": 0}, "0.5 is Jeffreys"),
    "metric": ({"metric": "mcc", "width": 0.1}, "plan for accuracy, error, precision"),
    "interval": ({"expected": 0.9, "width": 0.1, "interval": "bca"}, "use bayes, wilson"),
    "columns": ({"expected": 0.9, "width": 0.1, "truth": "gold"}, "Columns ('truth') need a pilot to be read from."),
    "pilot and have": ({"pilot": Counts.of(45, 50), "have": (45, 50), "width": 0.1}, "one of them"),
}


@every("case", REFUSED)
def test_refusals_say_what_to_write(case: str) -> None:
    options, words = REFUSED[case]
    with pytest.raises(UsageError) as caught:
        plan_estimate(**options)
    assert words in str(caught.value)


@pytest.mark.parametrize(("metric", "value"), [("accuracy", 0.9), *seldom(("error", 0.1), ("f1", 0.85))])
def test_more_certainty_never_takes_fewer(metric: str, value: float) -> None:
    by_assurance = [plan_estimate(metric=metric, expected=value, width=0.15, assurance=g).n or 0 for g in (0.5, 0.8, 0.95)]
    by_width = [plan_estimate(metric=metric, expected=value, width=w).n or 0 for w in (0.3, 0.15, 0.08)]
    by_level = [plan_estimate(metric=metric, expected=value, width=0.15, confidence_level=c).n or 0 for c in (0.8, 0.95, 0.99)]
    for found in (by_assurance, by_width, by_level):
        assert found == sorted(found)
        assert found[0] < found[-1]


def test_an_error_is_an_accuracy_seen_from_below() -> None:
    error, accuracy = plan_estimate(metric="error", expected=0.05, threshold=0.1), plan_estimate(expected=0.95, threshold=0.9)
    assert (error.n_first, error.n_stable) == (accuracy.n_first, accuracy.n_stable)
    assert "below 0.1" in error.conclusion


def test_the_worst_case_of_a_class_is_certain_of_its_relevant_items() -> None:
    """Whatever the metric turns out to be, so many items that it counts are enough; of a share of all labels nobody can be certain."""
    assert sy.plan_estimate(metric="f1", width=0.05).assurance == 1.0
    assert sy.plan_estimate(metric="recall", width=0.1, prevalence=0.2).assurance == 0.8
