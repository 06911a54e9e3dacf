"""How many items to notice a drop: any number from the others, under every design; what is refused; what is said."""

from __future__ import annotations

import inspect
import json
import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import steelyard_old as sy
from cases import every
from steelyard_old.errors import UsageError
from steelyard_old.infer.planning.mcnemar_power import mcnemar_power
from steelyard_old.infer.planning.rule_out import rule_out_power
from steelyard_old.questions.plan.detect import plan_detect
from steelyard_old.questions.plan.variance import WHAT_IF
from steelyard_old.render.formats import FORMATS
from steelyard_old.results import signature
from steelyard_old.results.plan import Plan

DESIGNS: dict[str, dict[str, Any]] = {
    "sigma": {"sigma": 50, "theta": 3},
    "sigma, greater": {"sigma": 50, "theta": 3, "alternative": "greater"},
    "sigma, two-sided": {"sigma": 50, "theta": 3, "alternative": "two-sided"},
    "sigma, rule-out": {"sigma": 50, "theta": 3, "goal": "rule-out"},
    "sigma, settled reference": {"sigma": 50, "theta": 3, "n_reference": 14042},
    "sigma, ratio": {"sigma": 50, "theta": 3, "ratio": 2.5},
    "sigma, groups": {"sigma": 50, "theta": 3, "icc": 0.1, "group_size": 11},
    "expected": {"expected": 0.8, "theta": 0.02},
    "sd": {"sd": 1 / 3, "theta": 0.03},
    "sd, two-sided": {"sd": 1 / 3, "theta": 0.03, "alternative": "two-sided"},
    "sd, groups": {"sd": 1 / 3, "theta": 0.03, "design_effect": 1.8},
    "sd, answers": {"sd": 1 / 3, "theta": 0.03, "within": [0.3, 0.4], "repeats": [2, 5]},
    "sd, rule-out": {"sd": 1 / 3, "theta": 0.03, "goal": "rule-out"},
    "discordance": {"discordance": 0.12, "theta": 0.05},
    "discordance, greater": {"discordance": 0.12, "theta": 0.05, "alternative": "greater"},
    "discordance, two-sided": {"discordance": 0.12, "theta": 0.05, "alternative": "two-sided"},
    "discordance, groups": {"discordance": 0.12, "theta": 0.05, "design_effect": 1.5},
    "discordance, rule-out": {"discordance": 0.12, "theta": 0.05, "goal": "rule-out"},
    "discordance, rule-out, groups": {"discordance": 0.12, "theta": 0.05, "goal": "rule-out", "design_effect": 1.5},
}
NUMBERS = ("n", "theta", "alpha", "beta", "power", "threshold_offset", "n_first", "n_stable")


KEPT: dict[str, Plan] = {}


def plan(**given: Any) -> Plan:
    """The plan, asked once: exact searches are the time of this file."""
    key = repr(sorted(given.items()))
    if key not in KEPT:
        KEPT[key] = sy.plan_detect(**given)
    return KEPT[key]


def without(given: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in names}


# ---- round trips -----------------------------------------------------------------------------------------------------------


@every("name", DESIGNS)
def test_n_is_the_smallest(name: str) -> None:
    given = DESIGNS[name]
    found = plan(**given)
    assert found.n is not None
    first = found.n if found.n_first is None else found.n_first
    assert plan(**given, n=found.n).power >= 0.8 - 1e-9  # type: ignore[operator]
    assert plan(**given, n=first).power >= 0.8 - 1e-9  # type: ignore[operator]
    assert plan(**given, n=first - 1).power < 0.8  # type: ignore[operator]
    if found.n_stable is not None:
        assert found.n == found.n_stable >= first
        if found.n_stable > first:
            assert plan(**given, n=found.n_stable - 1).power < 0.8  # type: ignore[operator]


@every("name", DESIGNS)
def test_theta_at_n_is_what_was_asked_for(name: str) -> None:
    """theta at the n found is at most the theta asked for, and at n - 1 (first n) it is more."""
    given = DESIGNS[name]
    found, rest = plan(**given), without(given, "theta")
    first = found.n if found.n_first is None else found.n_first
    assert found.n is not None
    assert first is not None
    assert plan(**rest, n=found.n).theta <= given["theta"] * (1 + 1e-9)
    assert plan(**rest, n=first - 1).theta > given["theta"]


@every("name", DESIGNS)
@every("n", [150, 500])
def test_power_at_theta_is_what_was_asked_for(name: str, n: int) -> None:
    rest = without(DESIGNS[name], "theta")
    theta = plan(**rest, n=n, beta=0.1).theta
    assert theta is not None
    reached = plan(**rest, n=n, theta=theta).power
    if name != "discordance, rule-out":
        assert reached == pytest.approx(0.9, abs=1e-6)
        return
    assert reached is not None  # a step function of theta: just enough, and a hair less is too little
    assert reached >= 0.9 - 1e-9
    assert plan(**rest, n=n, theta=theta * (1 - 1e-6)).power < 0.9  # type: ignore[operator]


@every("name", DESIGNS)
def test_alpha_at_n_is_what_was_asked_for(name: str) -> None:
    found = plan(**DESIGNS[name])
    assert found.n is not None
    alpha = plan(**DESIGNS[name], n=found.n, beta=0.2).alpha
    assert alpha is not None
    assert alpha <= 0.05 + 1e-9
    assert plan(**DESIGNS[name], n=found.n, alpha=alpha * (1 + 1e-9)).power >= 0.8 - 1e-9  # type: ignore[operator]


@settings(max_examples=15)
@given(psi=st.floats(0.04, 0.5), part=st.floats(0.2, 0.95), alpha=st.floats(0.01, 0.2), beta=st.floats(0.05, 0.4), two=st.booleans())
def test_exact_paired_plans_on_random_problems(psi: float, part: float, alpha: float, beta: float, two: bool) -> None:
    theta, side = part * psi, "two-sided" if two else "less"
    found = plan(discordance=psi, theta=theta, alpha=alpha, beta=beta, alternative=side)
    assert found.n is not None
    assert found.n_first is not None
    for n in (found.n_first, found.n, found.n + 1, found.n + 7):
        assert mcnemar_power(n, psi, theta, alpha, alternative=side) >= 1 - beta - 1e-9
    if found.n_first > 1:
        assert mcnemar_power(found.n_first - 1, psi, theta, alpha, alternative=side) < 1 - beta
    assert abs(found.n - found.details["n_formula"]) <= 0.15 * found.details["n_formula"] + 15


@settings(max_examples=8)
@given(psi=st.floats(0.06, 0.4), part=st.floats(0.3, 0.9), alpha=st.floats(0.02, 0.2), beta=st.floats(0.1, 0.4))
def test_rule_out_plans_on_random_problems(psi: float, part: float, alpha: float, beta: float) -> None:
    theta = part * psi
    found = plan(discordance=psi, theta=theta, alpha=alpha, beta=beta, goal="rule-out")
    assert found.n is not None
    assert found.n_first is not None
    assert rule_out_power(found.n, psi, theta, alpha) >= 1 - beta - 1e-9
    assert rule_out_power(found.n_first, psi, theta, alpha) >= 1 - beta - 1e-9
    if found.n_first > 1:
        assert rule_out_power(found.n_first - 1, psi, theta, alpha) < 1 - beta


@pytest.mark.parametrize("n", [300, pytest.param(2000, marks=pytest.mark.long)])
def test_what_is_ruled_out_with_n_items_is_exact_or_said_to_be_a_formula(n: int) -> None:
    """n and power of a pass are settled exactly; theta is not, and must say so."""
    found = plan(discordance=0.04, n=n, goal="rule-out")
    assert found.theta is not None
    settled = rule_out_power(n, 0.04, found.theta, 0.05) >= 0.8 - 1e-9
    assert settled or "formula" in f"{found.conclusion} {found.assumed} {' '.join(found.warnings)}"


def test_exact_answers_have_the_formula_beside_them() -> None:
    found = plan(discordance=0.04, theta=0.01)
    assert (found.n, found.details["n_formula"]) == (2459, 2471)
    assert "2,471 by the normal formula" in found.conclusion
    assert found.details["test"] == "mcnemar-midp"


def test_beta_and_power_are_one() -> None:
    assert plan(sigma=50, theta=3, power=0.9).n == plan(sigma=50, theta=3, beta=0.1).n


def test_a_ratio_tells_both_sizes() -> None:
    found = plan(sigma=50, theta=3, ratio=2.5)
    assert found.details["n_reference"] == math.ceil(2.5 * found.n)  # type: ignore[operator]


def test_a_ratio_below_one_is_a_smaller_reference() -> None:
    found = plan(sigma=50, theta=3, ratio=0.5)
    settled = plan(sigma=50, theta=3, n_reference=found.details["n_reference"]).n
    assert found.n is not None
    assert settled is not None
    assert found.n - 4 <= settled <= found.n  # half an item more on the other side weighs four times as much


def test_groups_by_icc_or_by_their_effect() -> None:
    assert plan(sigma=50, theta=3, icc=0.1, group_size=11).n == plan(sigma=50, theta=3, design_effect=2).n
    assert abs(plan(sigma=50, theta=3, design_effect=2).n - 2 * 3435) <= 2  # type: ignore[operator]


def test_a_rise_has_its_threshold_above() -> None:
    drop, rise = plan(sigma=50, theta=3), plan(sigma=50, theta=3, alternative="greater")
    assert rise.n == drop.n
    assert rise.threshold_offset == -drop.threshold_offset  # type: ignore[operator]
    assert "rise" in rise.conclusion
    assert "above the reference" in rise.conclusion


# ---- the answer ------------------------------------------------------------------------------------------------------------


def numbers_in(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [x for part in value.values() for x in numbers_in(part)]
    if isinstance(value, list | tuple):
        return [x for part in value for x in numbers_in(part)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


@every("name", DESIGNS)
@every("ask", [{}, {"n": 500}, {"n": 500, "theta": None}, {"n": 500, "beta": 0.2}])
def test_every_number_is_finite_and_every_format_writes_it(name: str, ask: dict[str, Any]) -> None:
    found = plan(**{**DESIGNS[name], **ask})
    told = json.loads(FORMATS["json"].write(found))
    assert told["kind"] == "plan"
    assert all(math.isfinite(x) for x in numbers_in(told))
    assert found.conclusion in " ".join(str(found).split())
    assert FORMATS["markdown"].write(found)
    assert all(row.keys() == found.sensitivity[0].keys() for row in found.sensitivity)
    assert all(row.keys() == found.steps[0].keys() for row in found.steps)


@every("name", DESIGNS)
def test_no_drop_beyond_what_can_be_is_shown(name: str) -> None:
    """A drop cannot exceed the share of items that change, nor the accuracy there is; None is right where n is too small."""
    most = DESIGNS[name].get("discordance" if DESIGNS[name].get("goal") != "rule-out" else "", DESIGNS[name].get("expected", math.inf))
    found = plan(**DESIGNS[name])
    assert all(row["theta"] is None or row["theta"] <= most for row in found.steps)
    assert found.curve is None or max(found.curve.y) <= most


@pytest.mark.parametrize("given", [{"discordance": 0.04, "design_effect": 1.5}, {"discordance": 0.04, "theta": 0.01, "available": 100}])
def test_a_drop_that_cannot_be_is_no_answer(given: dict[str, Any]) -> None:
    """Of 100 items 4% change: no drop above 0.04 can be, whatever the formula says."""
    try:
        found = plan(**given, **({} if "theta" in given else {"n": 100}))
    except UsageError:
        return
    answer = found.theta if "theta" not in given else found.details["theta_at_available"]
    assert answer is None or answer <= 0.04


def test_a_theta_that_is_null_says_why() -> None:
    """A number that cannot be known is null with a sentence in warnings."""
    try:
        found = plan(expected=0.5, n=3)
    except UsageError:
        return
    assert found.theta is None
    assert found.warnings


def test_too_few_items_fail_alike_with_and_without_groups() -> None:
    """n = 100 of which 4% change find nothing: one design must not answer what the other refuses."""

    def outcome(**more: Any) -> bool:
        try:
            return plan(discordance=0.04, n=100, **more).theta is not None
        except UsageError:
            return False

    assert outcome() == outcome(design_effect=1.0001)


@every("name", DESIGNS)
@every("ask", [{}, {"n": 900, "theta": None}, {"n": 900}, {"n": 900, "beta": 0.3}])
def test_the_signature_replays(name: str, ask: dict[str, Any]) -> None:
    found = plan(**{**DESIGNS[name], **ask})
    again = replayed(found.signature)
    assert again.signature == found.signature
    assert [getattr(again, key) for key in NUMBERS] == [getattr(found, key) for key in NUMBERS]


def replayed(line: str) -> Plan:
    """The plan of a signature, from nothing else: every key that is an option of the question, with its value."""
    facts = signature.parse(line)
    given: dict[str, Any] = {name: facts[name][0] for name in ("goal", "alternative") if name in facts}
    for name in inspect.signature(sy.plan_detect).parameters.keys() & facts.keys() - {"goal", "alternative", "pilot"}:
        values = [int(x) if name in ("n", "n_reference") else float(x) for x in facts[name]]
        given[name] = values if name == "within" else values[0]
    if "answers" in facts:
        given["repeats"] = [int(x) for x in facts["answers"]]
    return sy.plan_detect(**given)


def test_a_signature_of_full_digits_replays() -> None:
    found = plan(sd=0.1234567890123456, theta=0.0123456789012345, alpha=1 / 30, power=1 - 1 / 7)
    assert replayed(found.signature).n == found.n


@pytest.mark.parametrize("name", ["sigma, rule-out", "discordance, rule-out"])
def test_the_threshold_of_a_pass_is_one_that_decides(name: str) -> None:
    """Either the score below which a drop is significant, or the one above which theta is ruled out; no third line.

    For right or wrong the variance at the edge belongs to the second, the discordance itself to the first.
    """
    found = plan(**DESIGNS[name])
    assert found.n is not None
    assert found.threshold_offset is not None
    z, theta = 1.6448536269514722, DESIGNS[name]["theta"]
    psi = DESIGNS["discordance, rule-out"]["discordance"]
    variance = 5000.0 if "sigma" in DESIGNS[name] else psi
    significant = -z * math.sqrt(variance / found.n)
    half = psi / 2
    c = (half - theta + math.sqrt((theta - half) ** 2 + 2 * half * theta)) / 2
    edge = 5000.0 if "sigma" in DESIGNS[name] else 2 * c + theta - theta**2
    passes = -theta + z * math.sqrt(edge / found.n)
    assert any(math.isclose(found.threshold_offset, x, rel_tol=1e-6) for x in (significant, passes))


# ---- a data set has an end ---------------------------------------------------------------------------------------------------


def test_out_of_reach_says_what_would_help() -> None:
    found = plan(sigma=50, theta=3, available=1319)
    assert found.details["reachable"] is False
    assert found.n == 3435
    for word in ("1,319", "3,435", "Pairing", "larger set"):
        assert word in found.conclusion
    told = found.details["theta_at_available"]
    assert told == plan(sigma=50, n=1319).theta


def test_pairing_that_is_promised_does_reach() -> None:
    """The standard deviation of differences that it names, planned for, needs no more than are available."""
    found = plan(sigma=50, theta=3, available=1319)
    sd = float(found.conclusion.split("at most ")[1].split(" ")[0])
    assert plan(sd=sd * 0.9999, theta=3).n <= 1319  # type: ignore[operator]
    assert plan(sd=sd * 1.01, theta=3).n > 1319  # type: ignore[operator]


def test_pairing_that_is_promised_does_reach_with_groups() -> None:
    found = plan(sigma=50, theta=3, design_effect=2, available=1319)
    sd = float(found.conclusion.split("at most ")[1].split(" ")[0])
    assert plan(sd=sd * 0.9999, theta=3, design_effect=2).n <= 1319  # type: ignore[operator]


@pytest.mark.parametrize("available", [2459, 2465, 2471])
def test_what_all_items_find_agrees_with_whether_theta_is_in_reach(available: int) -> None:
    """The exact n is 2,459: then all 2,465 items find a drop of .01, not one of .010012 as the formula has it."""
    found = plan(discordance=0.04, theta=0.01, available=available)
    assert found.details["reachable"] is True
    assert found.details["theta_at_available"] <= 0.01


@pytest.mark.parametrize(("effect", "available"), [(1.0, 1000), (1.3, 1400)])
def test_repeats_that_are_promised_do_reach(effect: float, available: int) -> None:
    given: dict[str, Any] = {"sd": 0.3, "within": 0.5, "theta": 0.03, "design_effect": effect}
    found = plan(**given, repeats=4, available=available)
    k = int(found.conclusion.split("Repeats would: ")[1].split(" ")[0])
    assert plan(**given, repeats=k).n <= available  # type: ignore[operator]
    assert plan(**given, repeats=k - 1).n > available  # type: ignore[operator]


def test_repeats_that_cannot_help_say_so() -> None:
    assert "Repeats of the same items would not" in plan(sd=0.3, theta=0.03, available=100).conclusion
    assert "Repeats would not" in plan(sd=0.3, within=0.5, repeats=4, theta=0.03, available=100).conclusion


def test_within_reach_says_nothing_of_it() -> None:
    found = plan(sigma=50, theta=3, available=5000)
    assert found.details["reachable"] is True
    assert "larger set" not in found.conclusion


def test_more_items_than_there_are_is_answered_or_refused_not_broken() -> None:
    """n above available, theta to be found: an IndexError once."""
    try:
        found = plan(sigma=50, n=4096, available=1000)
    except UsageError:
        return
    assert found.details["reachable"] is False
    assert found.conclusion


@pytest.mark.parametrize(("more", "word"), [({"alternative": "greater"}, "a drop"), ({"goal": "rule-out"}, "finds a drop")])
def test_out_of_reach_speaks_of_what_was_asked(more: dict[str, Any], word: str) -> None:
    assert word not in plan(sigma=50, theta=3, available=1319, **more).conclusion


# ---- extremes --------------------------------------------------------------------------------------------------------------


@every(
    "given",
    [
        {"sigma": 50, "theta": 30, "n": 100_000},  # power 1 to the last bit
        {"sigma": 50, "theta": 30, "n": 1_000_000, "beta": 0.2},  # alpha below every float
        {"sd": 0.3, "theta": 0.3, "n": 100_000},
        {"discordance": 0.04, "theta": 0.03, "n": 100_000},
        {"discordance": 0.04, "theta": 0.5, "n": 1000, "goal": "rule-out"},
        {"discordance": 0.04, "theta": 0.03, "n": 20_000, "design_effect": 1.5},
        {"sigma": 1e200, "n": 5},
        {"sigma": 50, "n": 10**400},
        {"sigma": 50, "n": 10**15},
        {"sigma": 50, "theta": 1e300},
        {"sigma": 50, "theta": 3, "alpha": 1e-300},
        {"sigma": 50, "theta": 3, "alpha": 5e-324, "alternative": "two-sided"},
        {"sigma": 50, "theta": 3, "beta": 1e-12},
        {"sigma": 50, "theta": 1e-6, "n": 1},
    ],
    ids=lambda given: str(given)[:60],
)
def test_extremes_are_answered_or_refused_in_words(given: dict[str, Any]) -> None:
    try:
        found = plan(**given)
    except UsageError:
        return
    assert all(math.isfinite(x) for x in numbers_in(found.to_dict()))
    assert str(found)


@pytest.mark.parametrize("given", [{"sigma": 1e-200, "n": 5}])
def test_no_made_up_zero(given: dict[str, Any]) -> None:
    try:
        found = plan(**given)
    except UsageError:
        return
    assert found.theta is None or found.theta > 0


def test_whole_numbers_stay_whole() -> None:
    """2^53 + 1 is no float; the answer is about the n that was given."""
    assert plan(sigma=50, n=2**53 + 1).n == 2**53 + 1


# ---- what is refused, and how ------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "nothing": ({}, ("A plan needs n= or theta=.", "theta=")),
    "no spread": ({"theta": 3}, ("exactly one of sigma=, expected=, sd=, discordance=, churn=, pilot=",)),
    "no drop, no size": ({"sigma": 50}, ("A plan needs n= or theta=.",)),
    "two spreads": ({"sigma": 50, "sd": 3, "theta": 3}, ("sigma= and sd=", "exactly one")),
    "all four": (
        {"sigma": 50, "n": 10, "theta": 3, "alpha": 0.05, "beta": 0.2},
        ("Nothing to solve for: n=, theta=, alpha= and beta= are all given.",),
    ),
    "all four, power": (
        {"sigma": 50, "n": 10, "theta": 3, "alpha": 0.05, "power": 0.8},
        ("Nothing to solve for: n=, theta=, alpha= and beta= are all given.",),
    ),
    "beta and power": ({"sigma": 50, "theta": 3, "beta": 0.2, "power": 0.8}, ("beta is 1 - power",)),
    "sigma 0": ({"sigma": 0, "theta": 3}, ("sigma", "above 0")),
    "sigma negative": ({"sigma": -1, "theta": 3}, ("sigma", "-1")),
    "sigma nan": ({"sigma": math.nan, "theta": 3}, ("sigma", "nan")),
    "sigma inf": ({"sigma": math.inf, "theta": 3}, ("sigma", "inf")),
    "sd 0": ({"sd": 0, "theta": 3}, ("sd", "above 0")),
    "theta of a whole range": ({"expected": 0.9, "theta": 1}, ("theta", "below 1")),
    "theta in points": ({"discordance": 0.04, "theta": 3}, ("write 0.03 for 3 points",)),
    "theta above discordance": (
        {"discordance": 0.04, "theta": 0.05},
        ("0.05", "0.04", "A drop of 0.05 is impossible when only 0.04 of the items change."),
    ),
    "expected 1": ({"expected": 1, "theta": 0.01}, ("expected", "below 1")),
    "discordance 0": ({"discordance": 0, "theta": 0.01}, ("discordance", "above 0")),
    "n 0": ({"sigma": 50, "n": 0}, ("n must be",)),
    "n negative": ({"sigma": 50, "n": -4}, ("n must be", "-4")),
    "unknown goal": ({"sigma": 50, "theta": 3, "goal": "win"}, ("'win'", "detect or rule-out")),
    "unknown side": ({"sigma": 50, "theta": 3, "alternative": "lower"}, ("'lower'", "less, greater or two-sided")),
    "columns without pilot": ({"sigma": 50, "theta": 3, "score": "acc"}, ("score", "pilot")),
    "an option that is none": ({"sigma": 50, "theta": 3, "sgima": 3}, ("sgima",)),
    "icc alone": ({"sigma": 50, "theta": 3, "icc": 0.1}, ("both icc= and group_size=",)),
    "group size alone": ({"sigma": 50, "theta": 3, "group_size": 5}, ("both icc= and group_size=",)),
    "icc 2": ({"sigma": 50, "theta": 3, "icc": 2, "group_size": 5}, ("icc",)),
    "groups twice": (
        {"sigma": 50, "theta": 3, "icc": 0.1, "group_size": 5, "design_effect": 2},
        ("Give the design effect, or icc and group_size, not both.",),
    ),
    "design effect 0": ({"sigma": 50, "theta": 3, "design_effect": 0}, ("design_effect must be",)),
    "ratio and reference": ({"sigma": 50, "theta": 3, "ratio": 2, "n_reference": 100}, ("Give ratio= or n_reference=, not both.",)),
    "ratio 0": ({"sigma": 50, "theta": 3, "ratio": 0}, ("ratio",)),
    "ratio of pairs": ({"sd": 0.3, "theta": 0.03, "ratio": 2}, ("ratio= cannot be used with sd=",)),
    "reference of pairs": ({"discordance": 0.04, "theta": 0.03, "n_reference": 20}, ("n_reference= cannot be used with discordance=",)),
    "reference too small": ({"sigma": 50, "theta": 3, "n_reference": 100}, ("12.43", "larger reference")),
    "repeats without within": ({"sd": 0.3, "theta": 0.03, "repeats": 4}, ("within",)),
    "repeats 0": ({"sd": 0.3, "theta": 0.03, "repeats": 0, "within": 0.3}, ("repeats",)),
    "three repeats": ({"sd": 0.3, "theta": 0.03, "repeats": [1, 2, 3], "within": 0.3}, ("repeats", "[1, 2, 3]")),
    "within of labels": ({"discordance": 0.04, "theta": 0.03, "within": 0.3}, ("within= cannot be used with discordance=",)),
    "available 0": ({"sigma": 50, "theta": 3, "available": 0}, ("available",)),
}


@every("name", REFUSED)
def test_refused(name: str) -> None:
    given, says = REFUSED[name]
    with pytest.raises(UsageError) as told:
        plan(**given)
    for part in says:
        assert part in str(told.value)
    assert "\n" not in str(told.value)
    assert "1e-09" not in str(told.value)


@pytest.mark.parametrize(
    "given",
    [
        {"expected": 0.05, "theta": 0.2},
        {"expected": 0.95, "theta": 0.97},
        {"expected": 0.9, "theta": 0.2, "alternative": "greater"},
    ],
    ids=str,
)
def test_no_drop_below_nothing_and_no_rise_above_all(given: dict[str, Any]) -> None:
    """`plan designs` refuses a drop larger than the accuracy; so must this."""
    with pytest.raises(UsageError):
        plan(**given)


@every("name", ["alpha", "beta"])
@every("value", [95, 80, 60])
def test_what_the_hint_says_to_write_is_accepted(name: str, value: float) -> None:
    with pytest.raises(UsageError) as told:
        plan(sigma=50, theta=3, **{name: value})
    hint = str(told.value).split("write ")
    if len(hint) > 1:
        plan(sigma=50, theta=3, **{name: float(hint[1].split()[0].strip(".,;"))})


def test_a_low_power_is_refused_by_its_name() -> None:
    with pytest.raises(UsageError, match="power must be at least"):
        plan(sigma=50, theta=3, power=0.05)


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_one_half_is_a_warning(name: str) -> None:
    found = plan(sigma=50, theta=3, **{name: 0.5})
    assert [w for w in found.warnings if name in w and "0.5" in w]


def test_an_alpha_above_one_half_is_told() -> None:
    """n = 100 finds a drop of 3 with power .8 only if two of three healthy runs are called worse: nobody should miss that."""
    found = plan(sigma=50, theta=3, n=100, beta=0.2)
    assert found.alpha is not None
    assert found.alpha > 0.6
    assert found.warnings


def test_the_sentence_and_the_threshold_are_on_the_same_side() -> None:
    """With alpha above one half the threshold lies above the reference."""
    found = plan(sigma=50, theta=3, n=100, beta=0.2)
    assert found.threshold_offset is not None
    assert found.threshold_offset > 0
    assert "below the reference" not in found.conclusion


def test_a_group_of_one_is_no_group() -> None:
    assert plan(sigma=50, theta=3, icc=0.3, group_size=1).n == 3435
    with pytest.raises(UsageError) as told:
        plan(sigma=50, theta=3, icc=0.3, group_size=0.5)
    assert "above 1" not in str(told.value), "1 is accepted, so 'above 1' is wrong"


def test_expected_agrees_with_the_designs_side_by_side() -> None:
    """`plan designs` counts the variance after the drop, .85 x .15, as well as the one before it: one question, one number."""
    beside = sy.plan_designs(theta=0.05, expected=0.9)
    row = next(row for row in beside.rows if row["design"] == "unpaired, sigma known")
    assert plan(expected=0.9, theta=0.05).n == row["items"]


# One method for the headline, the table, the curve and the what-ifs


SPREADS_TRIED: dict[str, dict[str, Any]] = {
    "discordance": {"discordance": 0.04, "theta": 0.01},
    "discordance, two-sided": {"discordance": 0.1, "theta": 0.03, "alternative": "two-sided"},
    "discordance, a rise": {"discordance": 0.1, "theta": 0.03, "alternative": "greater", "alpha": 0.01, "beta": 0.1},
    "churn": {"churn": 0.02, "theta": 0.02},
    "rule out": {"discordance": 0.06, "theta": 0.05, "goal": "rule-out"},
    "rule out, healthy": {"churn": 0.06, "theta": 0.05, "goal": "rule-out"},
    "groups": {"discordance": 0.04, "theta": 0.02, "design_effect": 2.0},
    "sigma": {"sigma": 50, "theta": 3},
    "sigma, fixed reference": {"sigma": 50, "theta": 3, "n_reference": 5000},
    "expected": {"expected": 0.9, "theta": 0.05},
    "expected, near the end": {"expected": 0.05, "theta": 0.04},
    "sd": {"sd": 0.3, "theta": 0.03},
    "repeats": {"sd": 0.3, "theta": 0.03, "within": 0.4, "repeats": 3},
    "n given": {"discordance": 0.04, "n": 256},
    "power asked": {"discordance": 0.04, "n": 500, "theta": 0.03},
}


def alone(n: int, options: dict[str, Any]) -> tuple[float | None, float | None]:
    """theta and threshold that a plan of its own says for n items; none where it says there are none."""
    try:
        plan = plan_detect(**{**options, "n": n, "theta": None})
    except UsageError:
        return None, None
    return plan.theta, plan.threshold_offset


def as_summed(numbers: tuple[float | None, ...]) -> tuple[Any, ...]:
    """To the rounding of sums: all sizes of a table are worked out together, one alone in another order."""
    return tuple(None if x is None else pytest.approx(x, rel=1e-11) for x in numbers)


@every("name", SPREADS_TRIED)
def test_a_row_of_the_table_is_what_a_plan_with_that_n_says(name: str) -> None:
    options = SPREADS_TRIED[name]
    plan = plan_detect(**options)
    assert plan.steps
    for row in [*plan.steps[::3], *(row for row in plan.steps if row["n"] == plan.n)]:
        assert (row["theta"], row["threshold"]) == as_summed(alone(row["n"], options)), row["n"]
    assert plan.curve is not None
    for x, y in list(zip(plan.curve.x, plan.curve.y, strict=True))[::10]:
        assert x == int(x)
        assert (y,) == as_summed(alone(int(x), options)[:1])


@every("name", [name for name, options in SPREADS_TRIED.items() if "n" not in options])
def test_the_row_of_the_answer_does_not_ask_for_more_than_theta(name: str) -> None:
    plan = plan_detect(**SPREADS_TRIED[name])
    row = next(row for row in plan.steps if row["n"] == plan.n)
    assert plan.theta is not None
    assert row["theta"] <= plan.theta * (1 + 1e-9)


@pytest.mark.parametrize(("option", "value"), [("discordance", 0.04), ("sigma", 0.5), ("sd", 0.3)])
def test_a_what_if_is_what_a_plan_with_that_spread_says(option: str, value: float) -> None:
    plan = plan_detect(**{option: value}, theta=0.02)
    for by, row in zip(WHAT_IF[option], plan.sensitivity, strict=True):
        assert row["n"] == plan_detect(**{option: value * by}, theta=0.02).n


def test_a_rule_out_of_few_items_or_of_a_large_drop_is_no_traceback() -> None:
    assert plan_detect(discordance=0.9, theta=0.4, goal="rule-out").n == 30
    assert 0.5 < plan_detect(discordance=0.3, n=5, goal="rule-out").theta < 0.6


@pytest.mark.parametrize(("sd", "theta"), [(0.5, 0.5), (0.333, 0.3), (1.0, 0.5)])
def test_few_items_are_told_what_a_t_test_needs(sd: float, theta: float) -> None:
    found = sy.plan_detect(sd=sd, theta=theta)
    (said,) = [one for one in found.warnings if "t test" in one]
    needed = int(re.findall(r"about (\d+) of them", said)[0])

    def power(n: int) -> float:
        return float(1 - stats.nct.cdf(stats.t.ppf(0.95, n - 1), n - 1, theta / sd * math.sqrt(n)))

    assert found.n is not None
    assert power(found.n) < 0.8 <= power(needed)
    assert not any("t test" in one for one in sy.plan_detect(sd=sd, theta=theta / 4).warnings)
