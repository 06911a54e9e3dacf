"""A whole and its slices: the closed formula against the graph walked step by step, the numbers of the study, sizes that decide."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard.errors import UsageError
from steelyard.infer.paired.mcnemar import mcnemar_midp
from steelyard.infer.slices import FEWEST_ITEMS, adjust_slices, large_enough, losses_needed

p_value = st.floats(1e-6, 1, exclude_max=False)
TINY = 1e-9  # what a slice hands to the whole at once; in the limit only what is left when all slices are worse


def by_graph(overall: float, slices: list[float], share: float) -> list[float]:
    """Adjusted p-values by walking the graph: reject the smallest p / weight, hand its weight along its edges, draw the edges anew."""
    k = len(slices)
    p = [overall, *slices]
    weight = {0: share, **dict.fromkeys(range(1, k + 1), (1 - share) / k)}
    edge = {(0, j): 1 / k for j in range(1, k + 1)}
    for i in range(1, k + 1):
        others = [j for j in range(1, k + 1) if j != i]
        edge |= {(i, j): (1 - TINY) / len(others) for j in others}
        edge[i, 0] = TINY if others else 1.0
    left, so_far, out = set(range(k + 1)), 0.0, [1.0] * (k + 1)
    while left:
        first = min(left, key=lambda j: p[j] / weight[j] if weight[j] > 0 else float("inf"))
        so_far = max(so_far, p[first] / weight[first])
        out[first] = min(1.0, so_far)
        left.remove(first)
        for j in left:
            weight[j] += weight[first] * edge.get((first, j), 0.0)
        new = {}
        for i in left:
            for j in left - {i}:
                back = edge.get((i, first), 0.0) * edge.get((first, i), 0.0)
                above = edge.get((i, j), 0.0) + edge.get((i, first), 0.0) * edge.get((first, j), 0.0)
                new[i, j] = above / (1 - back) if back < 1 else 0.0
        edge = new
    return out


@given(overall=p_value, slices=st.lists(p_value, min_size=1, max_size=6), share=st.sampled_from([0.5, 0.8, 0.95]))
def test_the_formula_is_the_graph_walked_step_by_step(overall: float, slices: list[float], share: float) -> None:
    whole, parts = adjust_slices(overall, slices, share)
    assert [whole, *parts] == pytest.approx(by_graph(overall, slices, share), rel=1e-6)


def test_numbers_of_the_study() -> None:
    counts = [(9, 1), (4, 5), (3, 2)]  # lost and gained in each slice
    lost, gained = (sum(side) for side in zip(*counts, strict=True))
    whole, parts = adjust_slices(mcnemar_midp(gained, lost, "less"), [mcnemar_midp(g, b, "less") for b, g in counts])
    expected = [0.0673450902104377, 0.0673450902104377, 0.6875, 0.6875]
    assert [whole, *parts] == pytest.approx(expected, abs=1e-10)
    assert [losses_needed(k, 0.05) for k in (3, 6, 12)] == [8, 9, 10]


@given(overall=p_value, slices=st.lists(p_value, max_size=8))
def test_the_smallest_is_a_weighted_bonferroni_and_none_is_below_its_own_p(overall: float, slices: list[float]) -> None:
    whole, parts = adjust_slices(overall, slices)
    assert whole >= overall
    assert all(a >= p for a, p in zip(parts, slices, strict=True))
    if slices:
        assert min(whole, *parts) == pytest.approx(min(1.0, overall / 0.8, len(slices) * min(slices) / 0.2), rel=1e-12)
    else:
        assert whole == overall


@given(overall=p_value, slices=st.lists(p_value, min_size=2, max_size=6), which=st.integers(0, 5), factor=st.floats(0.1, 1))
def test_a_smaller_p_never_raises_any_adjusted_one(overall: float, slices: list[float], which: int, factor: float) -> None:
    at = which % len(slices)
    lower = [p * factor if i == at else p for i, p in enumerate(slices)]
    before, after = adjust_slices(overall, slices), adjust_slices(overall, lower)
    assert all(b >= a - 1e-15 for b, a in zip([before[0], *before[1]], [after[0], *after[1]], strict=True))


def test_a_whole_that_is_worse_hands_its_share_to_the_slices_and_all_slices_theirs_to_the_whole() -> None:
    assert adjust_slices(0.001, [0.04, 0.5])[1][0] == pytest.approx(0.08)  # Holm over two, at all of alpha
    assert adjust_slices(0.001, [0.02, 0.5])[1][0] == pytest.approx(0.04)
    assert adjust_slices(0.045, [0.001, 0.002])[0] == pytest.approx(0.045)


@every("slices, alpha", [(slices, alpha) for slices in (1, 2, 3, 7, 25, 50) for alpha in (0.2, 0.05, 0.01, 1e-4)])
def test_so_many_losses_are_the_fewest_that_are_enough(slices: int, alpha: float) -> None:
    b = losses_needed(slices, alpha)
    assert [mcnemar_midp(0, lost, "less") * slices / 0.2 <= alpha for lost in (b - 1, b)] == [False, True]


def test_size_decides_which_slices_are_tested() -> None:
    assert large_enough([], 0.05) == []
    assert large_enough([FEWEST_ITEMS, FEWEST_ITEMS - 1, 1], 0.05) == [True, False, False]
    least = losses_needed(2, 1e-7)
    assert large_enough([least, least - 1], 1e-7) == [True, False]
    assert least > FEWEST_ITEMS


@every("overall, slices, share", [(1.2, [0.1], 0.8), (float("nan"), [0.1], 0.8), (0.1, [-0.1], 0.8), (0.1, [0.1], 1.0)])
def test_what_is_no_p_value_or_no_share_is_refused(overall: float, slices: list[float], share: float) -> None:
    with pytest.raises(UsageError):
        adjust_slices(overall, slices, share)
