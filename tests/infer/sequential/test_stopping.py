"""Which rule is taken, what is refused by name, and that all rules speak alike."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from cases import every
from steelyard.errors import UsageError
from steelyard.infer.sequential.exact_mcnemar import ExactMcNemar
from steelyard.infer.sequential.sequential_mcnemar import SequentialMcNemar
from steelyard.infer.sequential.stopping import RULES, StoppingRule, choice, earlier_choice, rule_for

PLAIN: dict[str, Any] = {"right_or_wrong": True, "one_answer": True, "margin": 0.0, "grouped": False, "theta": 0.02, "n_max": 1000}
NEEDS: dict[str, dict[str, Any]] = {"sprt": {"discordance": 0.05}}


@every(
    ("change", "kind", "words"),
    [
        ({}, "profile-mcnemar", "exact test on disagreements applies"),
        ({"right_or_wrong": False, "score_range": (0.0, 1.0)}, "empirical-likelihood", "scores are not right or wrong"),
        ({"right_or_wrong": False}, "lan-demets", "without a range of scores no rule can rule out rare total failures"),
        ({"one_answer": False}, "empirical-likelihood", "several answers"),
        ({"margin": 0.01}, "empirical-likelihood", "margin of 0.01"),
        ({"grouped": True}, "lan-demets", "in groups"),
        ({"theta": None}, "lan-demets", "no early pass"),
        ({"theta": None, "n_max": None}, "e-process", "no looks can be planned"),
    ],
)
def test_the_default_and_why(change: dict[str, Any], kind: str, words: str) -> None:
    found, why = choice(**(PLAIN | change))
    assert found == kind
    assert words in why
    assert rule_for(**(PLAIN | change)).plan()["rule"] == kind


@every("kind", RULES)
def test_rules_speak_alike(kind: str) -> None:
    rule: StoppingRule = rule_for(kind, **PLAIN, **NEEDS.get(kind, {}))
    assert json.loads(json.dumps(rule.plan()))["rule"] == kind
    rng, values, decision = np.random.default_rng(1), np.zeros(0), "continue"
    while decision == "continue":
        values = np.concatenate([values, rng.choice([-1.0, 0.0, 1.0], p=[0.12, 0.86, 0.02], size=50)])
        decision = rule.look(values)
    assert decision == rule.decision == "regression"
    assert rule.looks[-1]["n"] == len(values)
    assert rule.looks[-1]["decision"] == "regression"
    assert {"n", "statistic", "upper", "lower", "alpha_spent", "decision"} <= set(rule.looks[-1])
    assert 0 < rule.alpha_spent <= 0.05
    json.dumps(rule.looks)
    found = rule.estimate()
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.estimate < found.high <= 0
    assert found.p_value <= 0.05
    assert found.confidence_level == pytest.approx(0.9)
    assert (rule.pass_level is None) == (kind == "e-mcnemar")
    with pytest.raises(UsageError, match="This run has ended with 'regression'; start a new"):
        rule.look(values)


@every("kind", RULES)
def test_items_that_run_out_are_no_pass(kind: str) -> None:
    rule = rule_for(kind, **PLAIN, **NEEDS.get(kind, {}))
    assert rule.look([1.0, -1.0, 1.0, -1.0] + [0.0] * 30, last=True) == "exhausted"
    found = rule.estimate()
    assert found.low < 0 < found.high  # type: ignore[operator]
    assert found.p_value > 0.05


@every("kind", RULES)
def test_no_estimate_before_the_end(kind: str) -> None:
    rule = rule_for(kind, **PLAIN, **NEEDS.get(kind, {}))
    rule.look([0.0, 1.0, 0.0])
    with pytest.raises(UsageError, match="has not ended"):
        rule.estimate()


def test_the_exact_rule_is_the_exact_test() -> None:
    rng, values = np.random.default_rng(3), np.zeros(0)
    rule, test = ExactMcNemar(theta=0.05), SequentialMcNemar(0.05)
    while rule.decision == "continue":
        values = np.concatenate([values, rng.choice([-1.0, 0.0, 1.0], p=[0.05, 0.9, 0.05], size=32)])
        assert rule.look(values) == test.look(len(values), int(np.sum(values < 0)), int(np.sum(values > 0)))
    assert [look["upper"] for look in rule.looks] == [look.upper for look in test.history]
    assert rule.alpha_spent == test.alpha_spent


@every("kind", ["profile-mcnemar", "mcnemar", "e-mcnemar", "sprt"])
@every(
    ("change", "words"),
    [
        ({"right_or_wrong": False}, "not right or wrong"),
        ({"one_answer": False}, "several answers"),
        ({"margin": 0.01}, "margin"),
        ({"grouped": True}, "groups"),
    ],
)
def test_what_does_not_fit_is_refused(kind: str, change: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=f"Cannot stop by '{kind}'.*{words}"):
        rule_for(kind, **(PLAIN | change), **NEEDS.get(kind, {}))


@every(
    ("kind", "change", "words"),
    [
        ("triangular", {}, "No stopping rule 'triangular'; use profile-mcnemar, empirical-likelihood, mcnemar, lan-demets"),
        ("mcnemar", {"theta": None}, "without theta, the drop that matters"),
        ("profile-mcnemar", {"theta": None}, "without theta, the drop that matters"),
        ("empirical-likelihood", {"theta": None}, "without theta, the drop that matters"),
        ("empirical-likelihood", {"grouped": True}, "the items are in groups"),
        ("empirical-likelihood", {"right_or_wrong": False}, "the range of the scores is not known"),
        ("empirical-likelihood", {"score_range": (0.0, 0.01)}, r"theta 0\.02 and margin 0 do not fit scores 0\.01 wide\."),
        ("sprt", {}, "discordance"),
        ("e-process", {"right_or_wrong": False}, "the range of the scores is not known"),
        ("e-process", {"grouped": True}, "Cannot stop by 'e-process' with groups unless the size of the largest"),
        ("lan-demets", {"n_max": 12}, "at least 20"),
        ("lan-demets", {"n_max": 8, "grouped": True}, "8 groups"),
        ("lan-demets", {"spending": "haybittle"}, "spending function"),
    ],
)
def test_what_is_missing_is_named(kind: str, change: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        rule_for(kind, **(PLAIN | change))


@every("kind", ["profile-mcnemar", "empirical-likelihood", "e-process", "e-mcnemar", "sprt", None])
def test_looks_are_refused_by_rules_that_plan_none(kind: str | None) -> None:
    with pytest.raises(UsageError, match=r"looks after every batch of items, so it cannot plan 20 looks.*every=.*mcnemar or lan-demets"):
        rule_for(kind, **PLAIN, **NEEDS.get(kind or "", {}), looks=20)


def test_runs_of_the_first_version_are_replayed_by_its_own_choice() -> None:
    plain = {"right_or_wrong": True, "one_answer": True, "margin": 0.0, "grouped": False}
    assert earlier_choice(**plain) == "mcnemar"
    for change in ({"right_or_wrong": False}, {"one_answer": False}, {"margin": 0.01}, {"grouped": True}):
        assert earlier_choice(**(plain | change)) == "lan-demets"


def test_items_in_the_order_of_their_subjects_break_every_rule() -> None:
    """Half of the subjects lost 5 points and half gained them: sorted, false alarms nearly always; shuffled, as few as is said."""
    rng = np.random.default_rng(1)
    alarms = {"sorted": 0, "shuffled": 0}
    runs = 60

    def changed() -> Any:
        u = rng.random(1000)
        return (u > 0.975).astype(float) - (u < 0.075)

    for _ in range(runs):
        items = np.concatenate([changed(), -changed()])
        for order, values in (("sorted", items), ("shuffled", rng.permutation(items))):
            rule, n = rule_for(right_or_wrong=True, theta=0.02), 0
            while rule.decision == "continue" and n < len(values):
                n += 32
                rule.look(values[:n], last=n >= len(values))
            alarms[order] += rule.decision == "regression"
    assert alarms["sorted"] / runs > 0.95
    assert alarms["shuffled"] / runs <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs)
