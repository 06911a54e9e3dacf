"""Judging: each bound of a band, both sides of it, with and without Monte Carlo error; the defaults against their alternatives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from steelyard.proof import preferences as prefer
from steelyard.proof.catalogue import every_claim
from steelyard.proof.claims import Band, Claim, words
from steelyard.proof.judging import held
from steelyard.results.certificate import Tried

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


def tried(least: float, most: float, mean: float | None = None, error: float = 0.0, n: int = 5, **more: float) -> Tried:
    middle = (least + most) / 2 if mean is None else mean
    return Tried(
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
def test_bands(band: dict[str, float], kind: str, found: Tried, fails: bool) -> None:
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


def pair(kind: str, ours: Tried, theirs: Tried) -> list[str]:
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
def test_advantages(kind: str, ours: Tried, theirs: Tried, said: list[str]) -> None:
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
