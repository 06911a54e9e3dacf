"""Stopping rules against the prototypes of the study that found them (tests/golden/calls.json)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.infer.normal import STANDARD
from steelyard.infer.sequential.empirical_likelihood import evidence_against, log_ratio, lower_end
from steelyard.infer.sequential.profile_mcnemar import ProfileBoundsPath, ProfileMcNemar, overshoot, pass_bound, profile
from steelyard.infer.sequential.sequential_cost import expected_items, profiles

ENTRIES = json.loads((Path(__file__).parent / "calls.json").read_text(encoding="utf-8"))["entries"]


def those(*names: str) -> Any:
    return pytest.mark.parametrize("entry", [e for e in ENTRIES if e["name"].startswith(names)], ids=lambda e: e["id"])


@those("profile", "pass_bound")
def test_closed_forms(entry: dict[str, Any]) -> None:
    found = profile(**entry["inputs"]) if entry["name"] == "profile" else pass_bound(**entry["inputs"])
    assert found == pytest.approx(entry["value"], abs=entry["tolerance"])


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["name"] == "lower"], ids=lambda e: e["id"])
def test_the_most_losses_that_pass(entry: dict[str, Any]) -> None:
    given = dict(entry["inputs"])
    n, disagreements = given.pop("n"), given.pop("disagreements")
    course = ProfileBoundsPath(given["theta"], given["alpha"], given["beta"], given["step"], True)
    course.look(n, disagreements, last=False)
    assert course.lower == entry["value"]


@those("ProfileMcNemar course")
def test_a_course_of_looks(entry: dict[str, Any]) -> None:
    given = entry["inputs"]
    rule = ProfileMcNemar(theta=given["theta"], step=given["step"])
    for n, lost, gained in given["course"]:
        rule.look([-1] * lost + [1] * gained + [0] * (n - lost - gained))
    last = rule.looks[-1]
    found = [last[key] for key in ("time", "lower", "upper", "alpha_spent", "decision")]
    assert found[4] == entry["value"][4]
    assert found[:4] == pytest.approx(entry["value"][:4], abs=entry["tolerance"])


@those("evidence_against", "log_ratio", "lower_end")
def test_the_empirical_likelihood(entry: dict[str, Any]) -> None:
    given = dict(entry["inputs"])
    order = np.argsort(given["x"])
    values, counts = (np.array(given[key], float)[order] for key in ("x", "count"))
    ends = {"low": given["lo"], "high": given["hi"]}
    if entry["name"] == "lower_end":
        found = lower_end(values, counts, given["alpha"], **ends)
    else:
        kind = evidence_against if entry["name"] == "evidence_against" else log_ratio
        found = kind(values, counts, given["theta"], **ends)  # type: ignore[operator]
    assert found == pytest.approx(entry["value"], abs=entry["tolerance"])


@those("ProfileMcNemar: [alpha")
def test_what_a_rule_costs_and_decides(entry: dict[str, Any]) -> None:
    theta, churn, every = (entry["inputs"][key] for key in ("theta", "churn", "every"))
    healthy, dropped = (expected_items(theta, churn, drop, batch=every, paths=800) for drop in (0.0, theta))
    found = [healthy.regression, dropped.passed, healthy.items, dropped.items]
    errors = [healthy.regression_error, dropped.regression_error, healthy.items_error, dropped.items_error]
    for value, error, stated, tolerance in zip(found, errors, entry["value"], entry["tolerance"], strict=True):
        assert abs(value - stated) < tolerance + 3 * error


# ---- every outcome of a test with two fixed bounds ---------------------------------------------------------------------


def recursion(theta: float, churn: float, every: int, drop: float) -> tuple[float, float, float]:
    """Lambda between -A and B after every batch, by adding up all ways to get there: share of alarms, mean items, 90th percentile."""
    lost, gained = churn / 2 + drop, churn / 2
    information = 4 * ((STANDARD.inv_cdf(0.95) + STANDARD.inv_cdf(0.8)) / theta) ** 2
    batch = batch_law(every, lost, gained)
    size, mass, n = 1, np.ones((1, 1)), 0
    alarm = items = ended = 0.0
    ninety = math.nan
    while mass.sum() > 1e-9:
        n += every
        mass, size = spread(mass, batch), size + every
        losses, gains = np.indices(mass.shape)
        there = mass > 1e-16
        ratio = np.zeros_like(mass)
        ratio[there] = profiles(n, losses[there], gains[there], theta)
        disagreed = losses + gains
        cut = np.array([overshoot(theta, every, d, n) for d in range(int(disagreed[there].max()) + 1)])
        cut = cut[np.minimum(disagreed, len(cut) - 1)]
        up, down = math.log(20), math.log(4.75) + 0.03 + 0.6 / (disagreed + 1)
        up_bound, down_bound = up - np.minimum(cut, 0.2 * up), down - np.minimum(cut, 0.2 * down)
        full = n * (n + 20) / (disagreed + 2) / information >= 1
        passed = there & ((ratio >= down_bound) | (full & (ratio > (math.log(4.75) + 0.03 - up) / 2)))
        alarmed = there & ~passed & ((ratio <= -up_bound) | full)
        alarm += float(mass[alarmed].sum())
        share = float(mass[alarmed | passed].sum())
        items, ended = items + n * share, ended + share
        if math.isnan(ninety) and ended >= 0.9:
            ninety = n
        mass = np.where(there & ~passed & ~alarmed, mass, 0.0)
        used = [int(np.flatnonzero(mass.any(axis=axis))[-1]) + 1 if mass.any() else 1 for axis in (1, 0)]
        mass = mass[: used[0], : used[1]]
    return alarm, items, ninety


def batch_law(every: int, lost: float, gained: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    from scipy.stats import multinomial

    losses, gains = np.indices((every + 1, every + 1))
    counts = np.stack([losses, gains, every - losses - gains], axis=-1)
    law = np.where(counts[..., 2] >= 0, multinomial.pmf(np.maximum(counts, 0), every, [lost, gained, 1 - lost - gained]), 0.0)
    most = int(np.flatnonzero((law > 1e-13).any(axis=1) | (law > 1e-13).any(axis=0))[-1]) + 1
    return np.asarray(law[:most, :most])


def spread(
    mass: np.ndarray[Any, np.dtype[np.float64]], batch: np.ndarray[Any, np.dtype[np.float64]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    from scipy.signal import convolve2d

    return np.asarray(convolve2d(mass, batch))


SMALL = ("g32", "g34", "g35")  # the others take minutes here


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["id"] in SMALL], ids=lambda e: e["id"])
def test_the_recursion_over_all_outcomes(entry: dict[str, Any]) -> None:
    """Holds `profiles` and `overshoot` to figures of six digits: any slip in either moves them."""
    given = entry["inputs"]
    alarm, items, ninety = recursion(given["theta"], given["churn"], given["every"], given["drop"])
    share = 1 - alarm if given["drop"] else alarm
    for found, stated, tolerance in zip((share, items, ninety), entry["value"], entry["tolerance"], strict=True):
        assert found == pytest.approx(stated, abs=max(tolerance, 1e-6))
