"""What groups are worth for a metric of classes: by hand, and as they were where every item counts alike."""

from __future__ import annotations

import numpy as np
import pytest

import steelyard as sy
from cases import every
from steelyard.infer.intervals.clusters import bell_mccaffrey, bell_mccaffrey_of
from steelyard.infer.intervals.sums import class_groups, groups_of
from steelyard.metrics.catalogue import parse
from steelyard.metrics.sums import of_margins
from steelyard.tally.sums import SparseRows, Sums


def margins(positives: list[int], negatives: list[int], found: list[int], kept: list[int]) -> Sums:
    """Groups by their positives and negatives, and how many of either are right: margins of the classes (negative, positive)."""
    p, n, tp, tn = (np.array(each, float) for each in (positives, negatives, found, kept))
    hits, truths, predicted = np.stack([tn, tp], 1), np.stack([n, p], 1), np.stack([tn + p - tp, tp + n - tn], 1)
    rows = np.concatenate([hits, truths, predicted, (p + n)[:, None]], axis=1)
    return Sums(rows=rows, count=np.ones(len(p), np.int64), answers=int((p + n).sum()), units="groups", sizes=p + n)


LUMPED = margins([40, *[1] * 29], [10] * 30, [28, *[1, 1, 0] * 9, 1, 1], [9] * 30)


def test_recall_is_worth_the_groups_of_its_positives() -> None:
    recall = of_margins(parse("recall").of_table(1), 2)
    found = class_groups(LUMPED, recall.gradient(LUMPED.totals()), 2)
    assert found is not None
    share = LUMPED.dense[:, 3]
    assert found.worth == pytest.approx(share.sum() ** 2 / (share @ share))
    assert found.df == pytest.approx(bell_mccaffrey(share))
    assert found.leverage == pytest.approx(share / share.sum())
    assert groups_of(LUMPED, recall).too_few
    assert not groups_of(LUMPED, of_margins(parse("specificity").of_table(1), 2)).too_few


def test_balanced_accuracy_is_worth_what_its_worse_class_is() -> None:
    balanced = of_margins(parse("balanced_accuracy").of_table(None), 2)
    groups = groups_of(LUMPED, balanced)
    assert groups.number == 30
    assert groups.effective < 5
    even = margins([3] * 30, [7] * 30, [2] * 30, [7] * 29 + [6])
    assert groups_of(even, balanced).effective == pytest.approx(30, rel=0.05)


def test_two_systems_side_by_side_and_sparse_rows_give_the_same() -> None:
    from steelyard.infer.paired.sums import difference_statistic, side_by_side

    balanced = of_margins(parse("balanced_accuracy").of_table(None), 2)
    other = margins([40, *[1] * 29], [10] * 30, [30, *[1, 0, 1] * 9, 1, 1], [10, *[9] * 29])
    both, difference = side_by_side(LUMPED.dense, other.dense), difference_statistic(balanced, 7)
    dense = class_groups(both, difference.gradient(both.totals()), 2)
    assert dense is not None

    def sparse(sums: Sums) -> SparseRows:
        column, unit = np.nonzero(sums.dense.T)
        return SparseRows(sums.dense.shape, unit, column, sums.dense[unit, column])

    thin = side_by_side(sparse(LUMPED), sparse(other))
    found = class_groups(thin, difference.gradient(thin.totals()), 2)
    assert found is not None
    assert found.worth == pytest.approx(dense.worth)
    assert found.sizes == pytest.approx(dense.sizes)
    assert dense.worth < 6


def test_several_sets_of_groups_at_once() -> None:
    sizes = [np.array([5.0, 3, 2]), np.array([1.0, 1, 1, 1, 4])]
    shares = np.concatenate([each / each.sum() for each in sizes])
    assert bell_mccaffrey_of(shares, np.repeat([0, 1], [3, 5])) == pytest.approx([bell_mccaffrey(each) for each in sizes])


@pytest.mark.parametrize("metric", ["balanced_accuracy", "macro_recall", "recall"])
def test_positives_in_one_group_give_no_interval(metric: str) -> None:
    rng = np.random.default_rng(3)
    truth = np.concatenate([np.ones(40), np.zeros(10), *[np.r_[1, np.zeros(9)] for _ in range(29)]]).astype(int)
    group = np.repeat(np.arange(30), [50, *[10] * 29])
    right = np.where(truth == 1, rng.random(len(truth)) < 0.7, rng.random(len(truth)) < 0.95)
    right[:50] = np.where(truth[:50] == 1, np.arange(50) < 12, True)
    rows = {"truth": truth, "prediction": np.where(right, truth, 1 - truth), "group": group}
    m = sy.measure(rows, metric=metric, positive="1")
    assert m.row.interval is None
    assert any("no interval" in said for said in m.warnings)
    other = {**rows, "prediction": np.where(rng.random(len(truth)) < 0.8, truth, 1 - truth), "id": np.arange(len(truth))}
    c = sy.compare({**rows, "id": np.arange(len(truth))}, other, metric=metric, positive="1")
    assert c.difference.interval is None


def test_groups_without_a_single_hit_are_counted_as_they_are() -> None:
    """Nothing is counted among truths and predictions then: once this was the mean of no classes."""
    truth, said, group = ["a", "b"] * 30, ["c"] * 60, [str(i // 5) for i in range(60)]
    found = sy.measure({"id": list(range(60)), "truth": truth, "prediction": said, "group": group}, metric="macro_f1")
    assert found.rows[0].estimate == 0
    assert any("12 groups" in warning for warning in found.warnings)


@every("metric", ["mcc", "kappa", "weighted_specificity"])
def test_groups_where_no_prediction_is_the_truth_of_any_item(metric: str) -> None:
    """No class is counted among anything, so the groups are worth what they are by their items."""
    one = [{"id": i, "truth": f"t{i}", "prediction": f"p{i}", "group": i % 8} for i in range(40)]
    other = [row | {"prediction": f"q{row['id']}"} for row in one]
    measured = sy.measure(one, metric=metric, group="group")
    assert measured.rows[0].details.groups_effective == 8
    assert measured.rows[0].estimate == (1 if metric == "weighted_specificity" else 0)
    compared = sy.compare(one, other, metric=metric, group="group")
    assert compared.difference.estimate == 0
    assert compared.test.p_value == 1
