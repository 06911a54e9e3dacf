"""The first bad commit: numbers of the study's simulation, brute force, and what must hold whatever was asked."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from steelyard.infer.series.first_bad import (
    SPLITS_AT_LEAST,
    credible_set,
    first_bad_posterior,
    first_bad_posterior_of_means,
    next_commit,
    ranges,
    run_noise,
)

# Numbers of the study's simulation, which were worked out by another program.
RIGHT, ASKED = [22, 0, 14, 0, 3, 2], [24, 0, 16, 0, 16, 24]
STUDY = [2.2825186853472512e-07, 2.2825186853472512e-07, 0.4999992628081536, 0.4999992628081536, 1.017879954276478e-06]
COUNTS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=3, max_size=9)


def test_the_numbers_of_the_study() -> None:
    assert first_bad_posterior(RIGHT, ASKED) == pytest.approx(STUDY, abs=1e-9)
    assert next_commit(first_bad_posterior(RIGHT, ASKED), [True] * 4) == 3


def test_the_posterior_is_what_integrating_over_both_rates_gives() -> None:
    right, asked = [5, 3, 0, 1, 0], [6, 4, 0, 5, 4]

    def likelihood(rate: float, rows: slice) -> float:
        out = (rate * (1 - rate)) ** -0.5
        for r, s in zip(right[rows], asked[rows], strict=True):
            out *= rate**r * (1 - rate) ** (s - r)
        return float(out)

    weights = [
        quad(likelihood, 0, 1, args=(slice(0, bad),))[0] * quad(likelihood, 0, 1, args=(slice(bad, None),))[0]
        for bad in range(1, len(right))
    ]
    assert first_bad_posterior(right, asked) == pytest.approx(np.array(weights) / sum(weights), rel=1e-6)
    prior = [1, 2, 3, 4]
    weighed = np.array(weights) * prior
    assert first_bad_posterior(right, asked, prior) == pytest.approx(weighed / weighed.sum(), rel=1e-6)


def test_the_posterior_of_means_is_what_integrating_over_both_means_gives() -> None:
    scores, noise = [[0.80, 0.79], [0.81], [], [0.76], [0.75, 0.77]], 0.02
    weights = []
    for bad in range(1, len(scores)):
        sides = [np.array([x for runs in side for x in runs]) for side in (scores[:bad], scores[bad:])]
        grid = np.linspace(0.5, 1.1, 200_001)
        weights.append(np.prod([np.exp(-((side[:, None] - grid) ** 2).sum(axis=0) / (2 * noise**2)).sum() for side in sides]))
    found = first_bad_posterior_of_means([len(runs) for runs in scores], [np.mean(runs) if runs else 0.0 for runs in scores], noise)
    assert found == pytest.approx(np.array(weights) / sum(weights), rel=1e-6)


@given(COUNTS)
def test_seen_from_the_other_end_it_is_the_same(counts: list[tuple[int, int]]) -> None:
    right, asked = np.array([min(pair) for pair in counts]), np.array([max(pair) for pair in counts])
    p = first_bad_posterior(right, asked)
    assert p.sum() == pytest.approx(1)
    assert first_bad_posterior(right[::-1], asked[::-1])[::-1] == pytest.approx(p)
    assert first_bad_posterior(asked - right, asked) == pytest.approx(p)


@given(COUNTS, st.integers(1, 8))
def test_a_commit_that_was_not_asked_is_as_probable_as_the_next(counts: list[tuple[int, int]], place: int) -> None:
    right, asked = [min(pair) for pair in counts], [max(pair) for pair in counts]
    place = min(place, len(right) - 1)
    p = first_bad_posterior([*right[:place], 0, *right[place:]], [*asked[:place], 0, *asked[place:]])
    assert p[place - 1] == pytest.approx(p[place])


@given(st.lists(st.floats(0.001, 1), min_size=2, max_size=8), st.data())
def test_the_next_commit_is_the_one_that_splits_best(weights: list[float], data: st.DataObject) -> None:
    p = np.array(weights) / sum(weights)
    free = data.draw(st.lists(st.booleans(), min_size=len(p) - 1, max_size=len(p) - 1))
    asked = next_commit(p, free)
    parts = {commit: min(p[:commit].sum(), p[commit:].sum()) for commit, may in enumerate(free, 1) if may}
    best = max(parts.values(), default=0.0)
    if asked is None:
        assert best < SPLITS_AT_LEAST + 1e-12
    else:
        assert parts[asked] == pytest.approx(best)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7).filter(lambda weights: sum(weights) > 0), st.sampled_from([0.5, 0.9, 0.95]))
def test_no_smaller_set_holds_as_much(weights: list[float], level: float) -> None:
    p = np.array(weights) / sum(weights)
    chosen = credible_set(p, level)
    assert p[chosen].sum() >= level - 1e-9
    assert all(p[list(fewer)].sum() < level for fewer in combinations(range(len(p)), len(chosen) - 1))


def test_a_commit_that_cannot_be_judged_joins_the_next() -> None:
    assert ranges([True] * 3) == [range(1, 2), range(2, 3), range(3, 4)]
    assert ranges([False, False, True]) == [range(1, 4)]


def test_the_noise_of_a_run() -> None:
    still = np.ones((3, 50))
    assert run_noise([still], 0.01) == 0.01
    assert run_noise([], 0.01) == 0.01
    rng = np.random.default_rng(1)
    runs = [(rng.random((2, 4000)) < 0.5).astype(float) for _ in range(4)]
    assert run_noise(runs, 0.0) >= 0.9 * (0.25 / 4000) ** 0.5
    together = [np.repeat([[0.2], [0.6]], 100, axis=1)]  # every item of a run moves alike
    assert run_noise(together, 0.0) == pytest.approx(0.08**0.5)
