"""Judging: each bound of a band, both sides of it, with and without Monte Carlo error; the defaults against their alternatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from steelyard.proof import preferences as prefer
from steelyard.proof.catalogue import every_claim
from steelyard.proof.claims import Band, Claim, Point, counted, words
from steelyard.proof.counting import CHANCE
from steelyard.proof.judging import KnownShare, held
from steelyard.proof.running import summary
from steelyard.results.certificate import CertifiedSetting

QUICK = ({"n": 5}, {"n": 10})


def claim(kind: str = "coverage", method: str = "m", default: bool = False, family: str = "things", **band: float) -> Claim:
    nominal = {"coverage": 0.95, "size": 0.05, "power": 0.8}[kind]
    return Claim(
        family=family,
        method=method,
        kind=kind,
        nominal=nominal,
        says="",
        documented="",
        band=Band(**band),
        quick=QUICK,
        full=QUICK,
        work=lambda setting, rng: [],
        default=default,
    )


def tried(least: float, most: float, mean: float | None = None, error: float = 0.0, n: int = 5, **more: float) -> CertifiedSetting:
    middle = (least + most) / 2 if mean is None else mean
    return CertifiedSetting(
        setting=words({"n": n}),
        points=10,
        least=least,
        least_at=f"n={n} p=low",
        least_error=error,
        most=most,
        most_at=f"n={n} p=high",
        most_error=error,
        mean=middle,
        mean_error=error / 3,
        off=more.get("off", 0.0),
        width=more.get("width"),
    )


@pytest.mark.parametrize(
    ("band", "kind", "found", "fails"),
    [
        ({"low": 0.9}, "coverage", tried(0.9 - 1e-10, 1.0), False),
        ({"low": 0.9}, "coverage", tried(0.9 - 1e-8, 1.0), True),
        ({"low": 0.9}, "coverage", tried(0.9 - 0.0399, 1.0, error=0.01), False),
        ({"low": 0.9}, "coverage", tried(0.9 - 0.0401, 1.0, error=0.01), True),
        ({"high": 0.05}, "size", tried(0.0, 0.05 + 1e-10), False),
        ({"high": 0.05}, "size", tried(0.0, 0.0501), True),
        ({"high": 0.05}, "size", tried(0.0, 0.06, error=0.003), False),
        ({"mean_low": 0.94}, "coverage", tried(0.1, 1.0, mean=0.9399), True),
        ({"mean_low": 0.94}, "coverage", tried(0.1, 1.0, mean=0.94), False),
        ({"mean_high": 0.96}, "coverage", tried(0.1, 1.0, mean=0.9601), True),
        ({"mean_high": 0.96}, "coverage", tried(0.1, 1.0, mean=0.9601, error=0.001), False),
        ({"fails": 0.5}, "coverage", tried(0.51, 1.0), True),
        ({"fails": 0.5}, "coverage", tried(0.49, 1.0), False),
        ({"fails": 0.5}, "coverage", tried(0.51, 1.0, error=0.01), False),
        ({"fails": 0.1}, "size", tried(0.0, 0.09), True),
        ({"fails": 0.1}, "size", tried(0.0, 0.11), False),
    ],
)
def test_bands(band: dict[str, float], kind: str, found: CertifiedSetting, fails: bool) -> None:
    made = held(claim(kind, **band), [found])
    assert made.holds is not fails
    if fails:
        assert made.faults[0].startswith(f"things: {kind} of m at ")
        assert "n=5" in made.faults[0]


def test_every_setting_is_judged_and_the_mean_over_all_points() -> None:
    good, bad = tried(0.95, 1.0, mean=0.97), replace(tried(0.8, 1.0, mean=0.85, n=10), points=30)
    made = held(claim(low=0.9, mean_low=0.95), [good, bad])
    assert made.mean == pytest.approx((0.97 * 10 + 0.85 * 30) / 40)
    assert (made.worst, made.worst_at) == (0.8, "n=10 p=low")
    assert len(made.faults) == 2
    assert made.faults[0] == "things: coverage of m at n=10 p=low: found 0.8, claimed at least 0.9 (off by 0.1)"
    assert "least at n=10" in made.faults[1]


def test_a_broken_setting_is_the_only_fault() -> None:
    made = held(claim(low=0.9), [tried(0.95, 1.0), replace(tried(0.0, 0.0, n=10), broken="ZeroDivisionError: x")])
    assert made.faults == ("things: coverage of m at n=10: could not be computed: ZeroDivisionError: x",)


# ---- shares that are counts -------------------------------------------------------------------------------------------


def binomial(runs: int, chance: float) -> list[float]:
    """The chance of each count, by sums of logarithms: no function that the judge uses."""
    whole = math.lgamma(runs + 1)
    return [
        math.exp(whole - math.lgamma(k + 1) - math.lgamma(runs - k + 1) + k * math.log(chance) + (runs - k) * math.log1p(-chance))
        for k in range(runs + 1)
    ]


def outside(runs: int, bound: float, side: str) -> list[int]:
    """The counts that are judged to lie outside."""
    asks: Callable[[KnownShare], bool] = (lambda known: known.above(bound)) if side == "above" else (lambda known: known.below(bound))
    return [k for k in range(runs + 1) if asks(KnownShare(k / runs, 0.0, runs))]


@pytest.mark.parametrize("runs", [40, 120, 200, 400, 1000])
@pytest.mark.parametrize("bound", [0.01, 0.05, 0.07, 0.3, 0.8, 0.93, 0.99])
@pytest.mark.parametrize("side", ["above", "below"])
def test_a_truth_on_its_bound_is_hardly_ever_outside_and_one_count_less_would_be(runs: int, bound: float, side: str) -> None:
    """False faults have the chance that is said, and no room is left: the next count would go beyond it."""
    chances, called = binomial(runs, bound), outside(runs, bound, side)
    within = [k for k in range(runs + 1) if k not in called and (k > bound * runs) == (side == "above")]
    assert sum(chances[k] for k in called) <= CHANCE * (1 + 1e-9)
    if called:
        next_one = max(within) if side == "above" else min(within)
        assert sum(chances[k] for k in [*called, next_one]) > CHANCE


@pytest.mark.parametrize(
    ("runs", "bound", "truth", "found"),
    [
        (200, 0.07, 0.20, 0.97),
        (400, 0.07, 0.15, 0.90),
        (400, 0.06, 0.125, 0.83),
        (800, 0.06, 0.10, 0.69),
        (200, 0.93, 0.80, 0.95),
        (400, 0.93, 0.85, 0.90),
        (200, 0.75, 0.55, 0.95),
    ],
)
def test_a_truth_this_far_outside_is_found_this_often(runs: int, bound: float, truth: float, found: float) -> None:
    """And always more often than by four standard errors at the share that was found, which was the rule before."""
    side = "above" if truth > bound else "below"
    chances = binomial(runs, truth)
    power = sum(chances[k] for k in outside(runs, bound, side))
    before = [
        k for k in range(runs + 1) if abs(k / runs - bound) > 4 * counted("", k, runs).error and (k / runs > bound) == (truth > bound)
    ]
    assert power >= found
    assert power > sum(chances[k] for k in before)


def test_nothing_is_beyond_zero_and_one_but_what_is() -> None:
    assert not KnownShare(1.0, 0.1, 10).above(1.0)
    assert not KnownShare(0.0, 0.1, 10).below(0.0)
    assert KnownShare(0.1, 0.1, 10).above(0.0)
    assert KnownShare(0.9, 0.1, 10).below(1.0)


def count(hits: int, runs: int, n: int = 5) -> CertifiedSetting:
    return summary(claim("size"), {"n": n}, [counted(f"n={n}", hits, runs)])


def test_a_count_says_how_seldom_it_would_come() -> None:
    assert held(claim("size", high=0.05), [count(38, 400)]).holds
    (fault,) = held(claim("size", high=0.05), [count(39, 400)]).faults
    assert fault == (
        "things: size of m at n=5: found 0.0975 +- 0.015, claimed at most 0.05 "
        "(off by 0.0475; were it 0.05, 39 of 400 runs or more would have a chance of 7e-05)"
    )
    (fault,) = held(claim("power", low=0.8), [count(60, 100)]).faults
    assert "60 of 100 runs or fewer would have a chance of 4e-06" in fault


def test_all_runs_together_are_held_against_the_bound_of_each() -> None:
    """Three settings, none of which is far enough outside alone."""
    far = [count(37, 400, n=5), count(37, 400, n=10), count(34, 400, n=20)]
    assert all(held(claim("size", high=0.05), [one]).holds for one in far)
    (fault,) = held(claim("size", high=0.05), far).faults
    assert fault.startswith("things: size of m at all settings together: found 0.09 ")
    assert "108 of 1200 runs or more" in fault
    assert held(claim("size", high=0.05), [*far[:2], count(18, 200, n=20)]).holds  # the number of runs may depend on what they showed


def test_points_on_the_same_runs_are_not_counted_twice() -> None:
    """Both ends of an interval come from the same runs: together they tell no more than one of them."""
    both = [summary(claim("size"), {"n": n}, [counted(f"n={n} {end}", 36, 400) for end in ("lower", "upper")]) for n in (5, 10)]
    assert [one.runs for one in both] == [400, 400]
    assert held(claim("size", high=0.05), both).holds


def test_a_mean_of_equal_runs_is_a_count_and_of_others_has_its_error() -> None:
    band = claim("size", mean_high=0.05)
    (fault,) = held(band, [count(36, 400, n=5), count(36, 400, n=10)]).faults
    assert "on average, most at n=5: found 0.09 " in fault
    assert "72 of 800 runs or more" in fault
    one, other = count(36, 400, n=5), replace(count(36, 400, n=10), runs=0)
    assert held(band, [one, other]).holds  # 4 Monte Carlo errors of 0.010 each
    (fault,) = held(band, [one, replace(other, most=0.5, mean=0.5)]).faults
    assert "Monte Carlo errors" in fault


def test_shares_of_different_runs_or_of_none_are_no_count() -> None:
    mixed = summary(claim("size"), {"n": 5}, [counted("a", 3, 10), counted("b", 4, 20)])
    assert mixed.runs == 0
    assert summary(claim("size"), {"n": 5}, [Point("a", 0.3, 0.01)]).runs == 0


def test_a_weakness_that_is_gone_is_judged_by_its_count() -> None:
    weak = claim("coverage", fails=0.8)
    chances = binomial(200, 0.8)
    first = next(k for k in range(160, 201) if sum(chances[k:]) < CHANCE)
    assert held(weak, [count(first - 1, 200)]).holds
    (fault,) = held(weak, [count(first, 200)]).faults
    assert "a documented weakness of at most 0.8, which is gone" in fault


def test_how_many_wrong_alarms_the_quick_grid_can_have() -> None:
    """Were every truth exactly on its bound, one grid in eleven would have a wrong alarm; so many comparisons there are."""
    compared = 0
    for each in every_claim():
        drawn = sum("runs" in setting for setting in each.quick)
        if drawn:  # all others are exact
            band = each.band
            compared += sum(bound is not None for bound in (band.low, band.high)) * (drawn + (drawn > 1))
            compared += sum(bound is not None for bound in (band.mean_low, band.mean_high, band.fails))
    assert 600 < compared < 1 / (11 * CHANCE)


def test_the_numbers_of_a_run_are_those_of_a_count() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        runs = int(rng.integers(1, 500))
        point = counted("here", hits := int(rng.integers(0, runs + 1)), runs)
        assert round(point.found * point.runs) == hits
        assert point.error > 0


def pair(kind: str, ours: CertifiedSetting, theirs: CertifiedSetting) -> list[str]:
    default = held(claim(kind, "old", default=True), [ours])
    return [said for each in prefer.preferences([default, held(claim(kind, "new"), [theirs])]) for said in each.advantages]


@pytest.mark.parametrize(
    ("kind", "ours", "theirs", "said"),
    [
        ("coverage", tried(0.90, 1.0), tried(0.91, 1.0), ["covers 0.910 at worst, not 0.900"]),
        ("coverage", tried(0.90, 1.0), tried(0.904, 1.0), []),
        ("coverage", tried(0.90, 1.0, error=0.01), tried(0.94, 1.0, error=0.01), []),
        ("coverage", tried(0.9, 1.0, off=0.02), tried(0.9, 1.0, off=0.01), ["falls short by 0.010 on average, not 0.020"]),
        ("coverage", tried(0.9, 1.0, width=1.0), tried(0.9, 1.0, width=0.97), ["is 3.0% narrower"]),
        ("coverage", tried(0.9, 1.0, width=1.0), tried(0.9, 1.0, width=0.985), []),
        ("size", tried(0.0, 0.08), tried(0.0, 0.05), ["rejects 0.050 at most when nothing is there, not 0.080"]),
        ("size", tried(0.0, 0.05), tried(0.0, 0.01), []),
        ("power", tried(0.5, 0.9, mean=0.7), tried(0.4, 0.9, mean=0.72), ["has power 0.720, not 0.700"]),
        ("power", tried(0.5, 0.9, mean=0.7), tried(0.6, 0.9, mean=0.705), []),
    ],
)
def test_advantages(kind: str, ours: CertifiedSetting, theirs: CertifiedSetting, said: list[str]) -> None:
    assert pair(kind, ours, theirs) == said


def test_only_common_settings_and_one_family_are_compared() -> None:
    default = held(claim(method="old", default=True), [tried(0.5, 1.0)])
    elsewhere = held(claim(method="new"), [tried(0.9, 1.0, n=10)])
    other_family = held(claim(method="new", family="others"), [tried(0.9, 1.0)])
    assert prefer.preferences([default, elsewhere, other_family]) == []


def test_an_advantage_needs_a_reason_and_a_reason_an_advantage(monkeypatch: pytest.MonkeyPatch) -> None:
    default, other = held(claim(method="old", default=True), [tried(0.5, 1.0)]), held(claim(method="new"), [tried(0.9, 1.0)])
    monkeypatch.setattr(prefer, "REASONS", {})
    (fault,) = prefer.preference_faults(prefer.preferences([default, other]), complete=False)
    assert fault == "things: new covers 0.900 at worst, not 0.500; no reason is given why old is the default"
    monkeypatch.setattr(prefer, "REASONS", {("things", "new"): "it is slow", ("things", "gone"): "nobody knows"})
    found = prefer.preferences([default, other])
    assert found[0].reason == "it is slow"
    assert prefer.preference_faults(found, complete=False) == []
    assert prefer.preference_faults(found, complete=True) == ["things: the reason against gone is no longer needed"]


def test_reasons_name_claims_that_exist() -> None:
    known = {(each.family, each.method) for each in every_claim() if not each.default}
    assert set(prefer.REASONS) - known == set()
