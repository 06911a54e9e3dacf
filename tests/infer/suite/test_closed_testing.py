"""A suite as a whole: against closed testing by its definition, and what must not change the verdict."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.errors import UsageError
from steelyard.infer.paired.mcnemar import mcnemar_midp
from steelyard.infer.suite.closed_testing import SHARE, TaskEvidence, judge_tasks
from steelyard.infer.suite.pooled import CLIP, common_excess, flips_z, pooled_p, scores_z, z_of_p

SLACK = 1e-12
flips = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=8)
p_and_z = st.lists(st.tuples(st.floats(0, 1), st.floats(-6, 6)), min_size=1, max_size=7)
z_lists = st.lists(st.floats(-6, 6), min_size=1, max_size=7)


def of_flips(pairs: list[tuple[int, int]]) -> list[TaskEvidence]:
    return [
        TaskEvidence(p_value=mcnemar_midp(gained, lost, "less"), z=flips_z(lost, gained), informative=lost + gained > 0)
        for lost, gained in pairs
    ]


def of_z(values: list[float]) -> list[TaskEvidence]:
    """z and p in the same order, as tests of one kind have them."""
    return [TaskEvidence(p_value=float(stats.norm.sf(min(CLIP, max(-CLIP, z)))), z=z) for z in values]


def local_p(tasks: list[TaskEvidence], chosen: tuple[int, ...], earlier: list[float] | None) -> float:
    """The test of one set, from its definition."""
    if len(chosen) == 1:
        return tasks[chosen[0]].p_value
    total = sum(min(3.0, max(-3.0, tasks[i].z)) for i in chosen) / math.sqrt(len(chosen))
    if earlier:
        df = 5 + len(earlier)
        phi = max(1.0, (5 + sum(min(16.0, z * z) for z in earlier)) / df)
        pooled = float(stats.t.sf(total / math.sqrt(phi), df))
    else:
        pooled = float(stats.norm.sf(total))
    return min(1.0, pooled / SHARE, len(chosen) * min(tasks[i].p_value for i in chosen) / (1 - SHARE))


def by_definition(tasks: list[TaskEvidence], earlier: list[float] | None) -> tuple[list[float], int]:
    """Every set of tasks: the adjusted p of each, and the number that is worse at least."""
    family = [i for i, task in enumerate(tasks) if task.informative]
    sets = [s for k in range(1, len(family) + 1) for s in itertools.combinations(family, k)]
    p = {s: local_p(tasks, s, earlier) for s in sets}
    adjusted = [max((p[s] for s in sets if i in s), default=1.0) for i in range(len(tasks))]
    # H_S is rejected by closed testing if every set around it is; the largest set that is not gives the number of healthy tasks.
    kept = max((len(s) for s in sets if p[s] > 0.05), default=0)
    return adjusted, len(family) - kept


@given(values=z_lists, earlier=st.none() | st.lists(st.floats(-5, 5), min_size=1, max_size=4))
def test_the_shortcut_is_closed_testing_over_all_sets(values: list[float], earlier: list[float] | None) -> None:
    tasks = of_z(values)
    adjusted, worse = by_definition(tasks, earlier)
    found = judge_tasks(tasks, earlier=earlier)
    assert found.adjusted == pytest.approx(adjusted, abs=SLACK)
    assert found.named == tuple(i for i, p in enumerate(adjusted) if p <= 0.05)
    assert found.at_least == worse


@given(pairs=p_and_z)
def test_where_p_and_z_disagree_the_shortcut_is_never_too_bold(pairs: list[tuple[float, float]]) -> None:
    tasks = [TaskEvidence(p_value=p, z=z) for p, z in pairs]
    adjusted, worse = by_definition(tasks, None)
    found = judge_tasks(tasks)
    assert all(ours is not None and ours >= p - SLACK for ours, p in zip(found.adjusted, adjusted, strict=True))
    assert found.at_least <= worse
    assert found.at_least >= len(found.named)


@given(pairs=flips, order=st.randoms(use_true_random=False))
def test_the_order_of_tasks_changes_nothing(pairs: list[tuple[int, int]], order: object) -> None:
    tasks = of_flips(pairs)
    places = list(range(len(tasks)))
    order.shuffle(places)  # type: ignore[attr-defined]
    one, other = judge_tasks(tasks), judge_tasks([tasks[i] for i in places])
    assert other.p_value == pytest.approx(one.p_value, abs=SLACK)
    assert other.adjusted == pytest.approx([one.adjusted[i] for i in places], abs=SLACK)
    assert other.at_least == one.at_least
    assert sorted(places[i] for i in other.named) == list(one.named)


@given(values=z_lists, which=st.integers(0, 6), more=st.floats(0, 4))
def test_a_task_that_gets_worse_makes_no_p_larger(values: list[float], which: int, more: float) -> None:
    before = judge_tasks(of_z(values))
    worse = [z + more * (i == which % len(values)) for i, z in enumerate(values)]
    after = judge_tasks(of_z(worse))
    assert after.p_value <= before.p_value + SLACK
    assert all(b <= a + SLACK for a, b in zip(before.adjusted, after.adjusted, strict=True) if a is not None and b is not None)
    assert after.at_least >= before.at_least


@given(pairs=flips)
def test_no_name_without_a_suite_that_rejects(pairs: list[tuple[int, int]]) -> None:
    found = judge_tasks(of_flips(pairs))
    if found.named:
        assert found.verdict == "regression"
        assert found.at_least >= len(found.named)
    assert all(
        p is not None and p >= task.p_value - SLACK for p, task in zip(found.adjusted, of_flips(pairs), strict=True) if task.informative
    )


def test_one_task_is_judged_by_its_own_test() -> None:
    found = judge_tasks(of_flips([(7, 1)]))
    assert found.p_value == found.adjusted[0] == mcnemar_midp(1, 7, "less")
    assert (found.m, found.named, found.at_least, found.verdict) == (1, (0,), 1, "regression")


def test_a_suite_without_a_flip_passes_and_knows_nothing() -> None:
    found = judge_tasks(of_flips([(0, 0), (0, 0)]))
    assert (found.m, found.p_value, found.pooled_p, found.adjusted, found.named, found.at_least) == (0, 1.0, None, (1.0, 1.0), (), 0)
    assert (found.verdict, found.suspicious, found.mean_change) == ("pass", None, None)
    assert judge_tasks([]).verdict == "pass"


def test_tasks_without_a_flip_change_nothing_for_the_others() -> None:
    some = [(9, 2), (4, 4)]
    one, other = judge_tasks(of_flips(some)), judge_tasks(of_flips([*some, (0, 0), (0, 0)]))
    assert other.p_value == one.p_value
    assert other.adjusted[:2] == one.adjusted


def test_a_little_everywhere_is_found_by_the_pool_alone_and_confirmed_once_common_noise_is_known() -> None:
    tasks = of_flips([(16, 9)] * 8)
    alone, known = judge_tasks(tasks), judge_tasks(tasks, earlier=[0.3, -0.4, 1.0, -0.9, 0.1])
    assert (alone.verdict, alone.named, alone.phi_known) == ("unconfirmed", (), False)
    assert (known.verdict, known.named, known.phi_known, known.phi) == ("regression", (), True, 1.0)
    assert known.p_value > alone.p_value  # Student's tail is longer


def test_noise_that_runs_share_takes_the_pool_its_power() -> None:
    tasks = of_flips([(16, 9)] * 8)
    assert judge_tasks(tasks, earlier=[4.0, -3.5, 5.0, -4.0]).verdict == "pass"


def test_one_huge_task_is_named_and_does_not_drag_others_along() -> None:
    found = judge_tasks(of_flips([(4000, 1000), (3, 3), (5, 4), (2, 4)]))
    assert (found.named, found.at_least, found.verdict) == ((0,), 1, "regression")
    gained = judge_tasks(of_flips([(1000, 4000), *[(16, 7)] * 19]))
    assert gained.pooled_p is not None
    assert gained.pooled_p < 1e-6  # a large gain in one task hides nothing


def test_p_of_0_and_1_and_infinite_z_are_clipped() -> None:
    found = judge_tasks([TaskEvidence(p_value=0.0, z=math.inf), TaskEvidence(p_value=1.0, z=-math.inf)])
    assert (found.p_value, found.adjusted[0], found.pooled_z) == (0.0, 0.0, 0.0)
    assert found.adjusted[1] == 1.0
    assert found.named == (0,)


def test_tasks_alike_are_treated_alike() -> None:
    found = judge_tasks(of_flips([(10, 3)] * 5))
    assert len(set(found.adjusted)) == 1


def test_a_waived_task_is_inside_and_never_named_and_does_not_fail_the_suite_alone() -> None:
    broken, fine = TaskEvidence(p_value=1e-9, z=6.0), TaskEvidence(p_value=0.4, z=0.25)
    found = judge_tasks([replace(broken, waived=True), fine, fine])
    assert found.m == 3
    assert found.named == ()
    assert found.verdict == "pass"
    assert judge_tasks([replace(broken, waived=True), broken, fine]).named == (1,)
    assert judge_tasks([replace(broken, waived=True)] * 3).verdict == "pass"


def test_an_advisory_task_is_outside_the_family() -> None:
    broken, fine = TaskEvidence(p_value=1e-9, z=6.0), TaskEvidence(p_value=0.04, z=1.75)
    found = judge_tasks([replace(broken, advisory=True), fine])
    assert found.adjusted == (None, 0.04)
    assert (found.m, found.named) == (1, (1,))


def test_the_mean_change_weighs_by_precision_as_the_pool_does() -> None:
    tasks = [
        TaskEvidence(p_value=0.2, z=1.0, change=-0.02, standard_error=0.01),
        TaskEvidence(p_value=0.3, z=0.5, change=0.01, standard_error=0.04),
    ]
    assert judge_tasks(tasks).mean_change == pytest.approx((-2 + 0.25) / (100 + 25))
    assert judge_tasks([replace(tasks[0], standard_error=0.0)]).mean_change is None


def test_scores_of_unequal_runs_are_held_back_by_what_nobody_has_seen() -> None:
    d = [-1.0, *[0.05] * 19]
    assert scores_z(d) == pytest.approx(-sum(d) / math.sqrt(sum(x * x for x in d)))
    assert scores_z(d, reach=1.0, fewest_runs=1) == pytest.approx(-sum(d) / math.sqrt(sum(x * x for x in d) + 2))
    assert scores_z(d, reach=1.0, fewest_runs=4) == pytest.approx(-sum(d) / math.sqrt(sum(x * x for x in d) + 0.5))
    assert scores_z([0.0, 0.0], reach=1.0, fewest_runs=1) == 0
    assert scores_z([-1e-200] * 4) == pytest.approx(2.0)


def test_a_right_and_wrong_of_scores_is_the_z_of_flips() -> None:
    assert scores_z([-1] * 7 + [1] * 2 + [0] * 30) == pytest.approx(flips_z(7, 2))


def test_the_z_of_a_p_is_its_quantile() -> None:
    assert z_of_p(0.2) == pytest.approx(float(stats.norm.isf(0.2)))
    assert (z_of_p(1e-300), z_of_p(1 - 1e-16)) == (CLIP, -CLIP)


def test_the_excess_is_never_below_one_and_one_bad_run_counts_16_at_most() -> None:
    assert common_excess([]) == (1.0, 5.0)
    assert common_excess([0.0] * 50)[0] == 1.0
    assert common_excess([40.0]) == (pytest.approx(21 / 6), 6.0)
    assert pooled_p(3.0, 9) == pytest.approx(float(stats.norm.sf(1)))


@pytest.mark.parametrize(
    "bad", [TaskEvidence(p_value=math.nan, z=0.0), TaskEvidence(p_value=1.1, z=0.0), TaskEvidence(p_value=0.5, z=math.nan)]
)
def test_what_is_no_evidence_is_refused(bad: TaskEvidence) -> None:
    with pytest.raises(UsageError, match="must be numbers"):
        judge_tasks([bad])


def test_a_share_of_all_or_nothing_is_refused() -> None:
    for share in (0.0, 1.0, math.nan):
        with pytest.raises(UsageError, match="share"):
            judge_tasks(of_flips([(1, 1)]), share=share)
