"""Items that weigh unequally: sum(w d) / sum(w), its standard error, signs flipped on w d, and the two more items of a known range."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import every
from steelyard.errors import DataError, UsageError
from steelyard.infer.paired.bounded_t import bounded_t, bounded_t_of_weights

Rows = list[dict[str, Any]]
RNG = np.random.default_rng(3)
N = 12
WEIGHT = np.round(0.3 + RNG.gamma(2, 1, N), 3)
A, B = RNG.normal(5, 1, N), RNG.normal(4.6, 1, N)
RIGHT_A, RIGHT_B = (RNG.random(N) < 0.8).astype(int), (RNG.random(N) < 0.5).astype(int)


def rows(values: Any, weight: Any = WEIGHT, **more: Any) -> Rows:
    return [
        {"id": f"q{i}", "score": v, "weight": w} | {k: m[i] for k, m in more.items()}
        for i, (v, w) in enumerate(zip(values, weight, strict=True))
    ]


def test_the_difference_and_its_error_are_those_of_the_formula() -> None:
    """d = sum w d / sum w; se^2 = sum w^2 (d - mean)^2 n / (n - 1) / (sum w)^2."""
    found = sy.compare(rows(A), rows(B), weight="weight")
    d = B - A
    mean = WEIGHT @ d / WEIGHT.sum()
    error = math.sqrt(((WEIGHT * (d - mean)) ** 2).sum() * N / (N - 1)) / WEIGHT.sum()
    assert found.difference.estimate == pytest.approx(mean)
    assert found.difference.standard_error == pytest.approx(error)
    assert (found.baseline.estimate, found.candidate.estimate) == (
        pytest.approx(np.average(A, weights=WEIGHT)),
        pytest.approx(np.average(B, weights=WEIGHT)),
    )
    assert found.n == N
    assert found.details["n_effective"] == pytest.approx(WEIGHT.sum() ** 2 / (WEIGHT @ WEIGHT))


@every("sides", [(A, B), (RIGHT_A, RIGHT_B)])
def test_the_test_flips_the_sign_of_what_each_item_adds(sides: tuple[Any, Any]) -> None:
    found = sy.compare(rows(sides[0]), rows(sides[1]), weight="weight")
    adds = WEIGHT * (sides[1] - sides[0])
    flips = np.array(list(product((1, -1), repeat=N))) @ adds
    assert found.test.name == "sign-flip"
    far = np.abs(flips) - abs(adds.sum())
    exact, ties = np.mean(far > -1e-9), np.mean(np.abs(far) < 1e-9)
    assert exact - ties <= found.p_value <= exact + 1e-12


def test_equal_weights_change_no_estimate_and_no_bound() -> None:
    weighted = sy.compare(rows(A, [0.7] * N), rows(B, [0.7] * N), weight="weight", range=(0, 10))
    plain = sy.compare(rows(A), rows(B), range=(0, 10))
    assert weighted.difference.estimate == pytest.approx(plain.difference.estimate)
    assert weighted.difference.interval is not None
    assert plain.difference.interval is not None
    assert weighted.difference.interval.low == pytest.approx(plain.difference.interval.low)
    d = (B - A) / 10
    one, other = bounded_t(d, 1.0), bounded_t_of_weights(d, np.full(N, 3.0), 1.0)
    assert (one.centre, one.error, one.df, one.noise) == pytest.approx((other.centre, other.error, other.df, other.noise))


def test_a_whole_weight_makes_an_item_heavier_not_more_items() -> None:
    """`measure` reads whole weights as counts; an item that has an id is one item, however much it weighs."""
    heavy = [3] * N
    found = sy.compare(rows(A, heavy), rows(B, heavy), weight="weight")
    plain = sy.compare(rows(A), rows(B))
    assert found.n == N
    assert found.difference.standard_error == pytest.approx(plain.difference.standard_error)
    assert found.baseline.standard_error == pytest.approx(plain.baseline.standard_error)


def test_an_item_of_weight_zero_is_left_out() -> None:
    weight = [0, *WEIGHT[1:]]
    found = sy.compare(rows(A, weight), rows(B, weight), weight="weight")
    without = sy.compare(rows(A)[1:], rows(B)[1:], weight="weight")
    assert (found.n, found.difference.estimate, found.p_value) == (N - 1, without.difference.estimate, without.p_value)


def test_repeats_of_an_item_share_its_weight_and_groups_add_theirs_up() -> None:
    def again(values: Any) -> Rows:
        return [row | {"repeat": k, "score": row["score"] + step} for row in rows(values) for k, step in ((1, -0.1), (2, 0.1))]

    found = sy.compare(again(A), again(B), weight="weight")
    once = sy.compare(rows(A), rows(B), weight="weight")
    assert found.difference.estimate == pytest.approx(once.difference.estimate)
    assert found.difference.standard_error == pytest.approx(once.difference.standard_error)
    group = [f"g{i % 6}" for i in range(N)]
    grouped = sy.compare(rows(A, group=group), rows(B, group=group), weight="weight")
    assert (grouped.design, grouped.details["groups"]) == ("clustered", 6)
    assert grouped.difference.estimate == pytest.approx(once.difference.estimate)


def test_labels_weigh_too_and_an_error_rate_is_turned_round() -> None:
    def labelled(right: Any) -> Rows:
        return [
            {"id": i, "truth": "a", "prediction": "a" if r else "b", "weight": w}
            for i, (r, w) in enumerate(zip(right, WEIGHT, strict=True))
        ]

    found = sy.compare(labelled(RIGHT_A), labelled(RIGHT_B), weight="weight")
    scored = sy.compare(rows(RIGHT_A), rows(RIGHT_B), weight="weight")
    error = sy.compare(labelled(RIGHT_A), labelled(RIGHT_B), weight="weight", metric="error")
    assert (found.metric, found.difference.estimate, found.p_value) == ("accuracy", scored.difference.estimate, scored.p_value)
    assert error.difference.estimate == pytest.approx(-(found.difference.estimate or 0))
    assert "items, weighted (worth" in str(found)
    assert "|n_effective:" in found.signature


def test_weights_of_one_run_count_for_both_and_two_weights_are_refused() -> None:
    lacking = [{key: value for key, value in row.items() if key != "weight"} for row in rows(B)]
    with pytest.raises(DataError, match=r"12 items have two weights, such as 'q0' \("):
        sy.compare(rows(A), rows(B, WEIGHT + 1), weight="weight")
    with pytest.raises(sy.SteelyardError, match="weight"):
        sy.compare(rows(A), lacking, weight="weight")


@every("metric", ["macro_f1", "auc", "pass@1"])
def test_what_is_no_mean_over_items_does_not_take_weights(metric: str) -> None:
    made = [{**row, "truth": i % 2, "prediction": i % 2, "probability": 0.5 + i / 50, "score": 1} for i, row in enumerate(rows(A))]
    with pytest.raises(UsageError, match=r"Weights are for means over items .*does not support them"):
        sy.compare(made, made, weight="weight", metric=metric, **({"positive": "1"} if metric == "auc" else {}))


def test_a_ranking_of_weighted_systems_is_made_of_their_pairs() -> None:
    board = sy.rank(rows(A), rows(B), rows(A - 3), weight="weight", names=["a", "b", "c"])
    pair = sy.compare(rows(A), rows(A - 3), weight="weight")
    assert next(row for row in board.rows if row["name"] == "a")["estimate"] == pytest.approx(pair.baseline.estimate)


def test_measure_leaves_out_an_item_of_weight_zero_beside_fractions() -> None:
    found, without = (sy.measure(each, weight="weight") for each in (rows(A, [0, *WEIGHT[1:]]), rows(A)[1:]))
    assert (found.n, found.estimate, found.rows[0].interval) == (N - 1, without.estimate, without.rows[0].interval)
