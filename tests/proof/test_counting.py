"""Counting runs: when a setting is left, what that costs in power, and that it never makes a false alarm of the certificate."""

from __future__ import annotations

import math

import numpy as np
import pytest

from steelyard.proof.claims import Band
from steelyard.proof.counting import CHANCE, FOUND, LEAST, MISSED, Count, at_most, count_of, noticed, share_of, tail, without_runs
from steelyard.proof.judging import KnownShare

GRID = [(runs, bound) for runs in (100, 400) for bound in (0.02, 0.05, 0.07, 0.2, 0.5)]


def left(runs: int, bound: float, truth: float) -> tuple[float, np.ndarray]:
    """(expected runs, the law of the hits of those that are never left), by adding up all ways."""
    law, made = np.zeros(runs + 1), 0.0
    law[0] = 1.0
    for done in range(1, runs + 1):
        made += law.sum()
        law[1:] = law[1:] * (1 - truth) + law[:-1] * truth
        law[0] *= 1 - truth
        for hits in np.flatnonzero(law):
            if Count(of=runs, least=LEAST, highs=(bound,), hits=int(hits), runs=done).enough:
                law[hits] = 0.0
    return made, law


@pytest.mark.parametrize(("runs", "bound"), [(100, 0.05), (200, 0.07), (400, 0.06), (200, 0.3)])
def test_what_all_runs_find_is_still_found(runs: int, bound: float) -> None:
    """At the error that all runs find in nine cases of ten, and further out, one case of fifty is lost at most."""
    for truth in (noticed(runs, bound), (1 + noticed(runs, bound)) / 2):
        _, law = left(runs, bound, truth)
        outside = [hits for hits in range(runs + 1) if KnownShare(hits / runs, 0.0, runs).above(bound)]
        whole = sum(math.comb(runs, k) * truth**k * (1 - truth) ** (runs - k) for k in outside)
        assert whole >= FOUND - 1e-9
        assert whole - MISSED <= law[outside].sum() <= whole


@pytest.mark.parametrize(("runs", "bound", "truth", "most"), [(200, 0.07, 0.05, 0.6), (400, 0.07, 0.05, 0.5), (400, 0.05, 0.0, 0.12)])
def test_a_healthy_method_needs_a_part_of_them(runs: int, bound: float, truth: float, most: float) -> None:
    made, _ = left(runs, bound, truth)
    assert made < most * runs


@pytest.mark.parametrize(("runs", "bound"), GRID)
def test_what_is_left_is_never_outside(runs: int, bound: float) -> None:
    """So that no more false alarms come than by all runs at once."""
    for done in range(LEAST, runs, 7):
        enough = [hits for hits in range(done + 1) if Count(of=runs, least=LEAST, highs=(bound,), hits=hits, runs=done).enough]
        assert not any(KnownShare(hits / done, 0.0, done).above(bound) for hits in enough)


@pytest.mark.parametrize(("runs", "bound"), GRID)
def test_noticed_is_found_nine_times_in_ten(runs: int, bound: float) -> None:
    edge = next((k for k in range(runs + 1) if tail(k, runs, bound, above=True) < CHANCE), None)
    assert edge is not None
    assert tail(edge, runs, noticed(runs, bound), above=True) == pytest.approx(FOUND)


def test_a_lower_bound_is_an_upper_bound_of_the_misses() -> None:
    for hits in range(61):
        high = Count(of=400, least=LEAST, highs=(0.07,), hits=hits, runs=60)
        low = Count(of=400, least=LEAST, lows=(0.93,), hits=60 - hits, runs=60)
        assert high.enough == low.enough == (hits <= 2)  # 58 * 0.123 - 2 * 1.435 > log(50)


def test_every_bound_must_be_clear() -> None:
    """A weakness that is documented is one of them: a coverage that has to lie below it, a size above."""
    band, setting = Band(low=0.8, fails=0.9), at_most({"n": 5}, 400)
    weak = count_of(band, "coverage", setting)
    assert (weak.lows, weak.highs, weak.least, weak.of) == ((0.8,), (0.9,), LEAST, 400)
    assert count_of(Band(high=0.2, fails=0.1), "size", setting).lows == (0.1,)
    assert count_of(Band(high=1.0, low=0.0), "size", setting).highs == count_of(Band(low=0.0), "size", setting).lows == ()
    for hits, enough in ((100, False), (115, False), (130, True), (145, False)):
        weak.hits, weak.runs = hits, 150
        assert weak.enough is enough


def test_a_setting_without_a_least_number_has_all_its_runs() -> None:
    point = share_of("here", count_of(Band(high=0.5), "size", {"runs": 300}), (False for _ in range(300)))
    assert (point.runs, point.found) == (300, 0.0)
    point = share_of("here", count_of(Band(high=0.5), "size", at_most({}, 300)), (False for _ in range(300)))
    assert point.runs == LEAST


def test_a_method_that_is_off_has_all_its_runs() -> None:
    rng = np.random.default_rng(3)
    point = share_of("here", count_of(Band(high=0.05), "size", at_most({}, 300)), (bool(rng.random() < 0.2) for _ in range(300)))
    assert point.runs == 300
    assert KnownShare(point.found, point.error, point.runs).above(0.05)


def test_slow_methods_have_their_part_of_the_runs_but_not_of_the_least() -> None:
    count = count_of(Band(low=0.9), "coverage", at_most({}, 240), every=5)
    assert (count.of, count.least) == (48, LEAST)


def test_the_law_of_a_setting_has_no_runs() -> None:
    assert without_runs(at_most({"n": 20, "p": 0.5}, 100)) == {"n": 20, "p": 0.5}
