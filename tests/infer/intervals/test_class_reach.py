"""What one item can do to a metric of classes: by hand, item by item, and in runs that once were judged by luck."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import steelyard as sy
from steelyard.infer.intervals.class_reach import class_reach
from steelyard.infer.intervals.sums import groups_of, spread
from steelyard.infer.paired.sums import difference_statistic, side_by_side
from steelyard.metrics.catalogue import parse
from steelyard.metrics.sums import SumStatistic, of_margins
from steelyard.tally.sums import SparseRows, Sums

METRICS = ["recall", "f1", "macro_f1", "balanced_accuracy", "mcc", "kappa"]


def margins(truth: np.ndarray, said: np.ndarray, group: np.ndarray, classes: int, groups: int) -> np.ndarray:
    """hits, truths, predictions of each class and all items, group by group."""
    rows = np.zeros((groups, 3 * classes + 1))
    for t, p, g in zip(truth, said, group, strict=True):
        rows[g, t] += t == p
        rows[g, classes + t] += 1
        rows[g, 2 * classes + p] += 1
        rows[g, -1] += 1
    return rows


def statistic_of(name: str, classes: int) -> SumStatistic:
    metric = parse(name)
    return of_margins(metric.of_table(1 if metric.of_class and metric.average is None else None, "zero"), classes)


def pair(seed: int, classes: int, groups: int = 7) -> tuple[np.ndarray, list[np.ndarray]]:
    """The truths of 70 items by group and class, and the margins of two systems."""
    rng = np.random.default_rng(seed)
    truth, group = rng.integers(0, classes, 70), rng.permutation(np.arange(70) % groups)
    truth[:classes] = np.arange(classes)
    sides = [margins(truth, np.where(rng.random(70) < 0.7, truth, rng.integers(0, classes, 70)), group, classes, groups) for _ in range(2)]
    found = np.zeros((groups, classes))
    np.add.at(found, (group, truth), 1)
    return found, sides


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("classes", [2, 4])
def test_it_is_what_trying_every_answer_to_an_item_gives(metric: str, classes: int) -> None:
    for seed in range(5):
        truths, (a, b) = pair(seed, classes)
        both, difference = side_by_side(a, b), difference_statistic(statistic_of(metric, classes), a.shape[1])
        gradient = difference.gradient(both.totals())
        found = class_reach(both, gradient, classes)
        ranges = []
        for t in range(classes):
            every = [
                gradient @ np.concatenate([margins(np.array([t]), np.array([said]), np.array([0]), classes, 1)[0] for said in answers])
                for answers in product(range(classes), repeat=2)
            ]
            ranges.append(max(every) - min(every))
        assert found is not None
        assert found.reach == pytest.approx(max(ranges))
        variances, worth = np.array(ranges) ** 2 * (truths**2).sum(0), truths.sum(0) ** 2 / (truths**2).sum(0)
        assert found.worth == pytest.approx(variances.sum() ** 2 / (variances**2 / worth).sum())


def test_sparse_rows_give_the_same() -> None:
    _, (a, b) = pair(0, 4)
    difference = difference_statistic(statistic_of("macro_f1", 4), a.shape[1])

    def sparse(rows: np.ndarray) -> SparseRows:
        column, unit = np.nonzero(rows.T)
        return SparseRows(rows.shape, unit, column, rows[unit, column])

    dense, thin = side_by_side(a, b), side_by_side(sparse(a), sparse(b))
    gradient = difference.gradient(dense.totals())
    one, other = class_reach(dense, gradient, 4), class_reach(thin, gradient, 4)
    assert one is not None
    assert other is not None
    assert (other.worth, other.reach) == pytest.approx((one.worth, one.reach))
    assert other.sizes == pytest.approx(one.sizes)


def test_a_class_alone_is_that_class_of_the_table() -> None:
    """A single class of many thousands is counted without the others."""
    _, (a, _) = pair(1, 2)
    alone = a[:, [1, 3, 5, 6]]
    whole, part = (Sums(rows=rows, count=np.ones(len(a), np.int64), answers=70) for rows in (a, alone))
    f1 = statistic_of("f1", 2)
    one = of_margins(parse("f1").of_table(0, "zero"), 1)
    first, second = class_reach(whole, f1.gradient(whole.totals()), 2), class_reach(part, one.gradient(part.totals()), 1)
    assert first is not None
    assert second is not None
    assert second.reach == pytest.approx(first.reach, rel=0.5)  # a wrong answer is of no class here, and not of the other one


def test_what_is_unseen_is_an_item_in_ten_groups_and_nothing_in_twenty() -> None:
    _, (a, b) = pair(2, 2)
    sizes = a[:, -1]
    both, difference = side_by_side(a, b), difference_statistic(statistic_of("macro_f1", 2), 7)
    grouped = Sums(rows=both.rows, count=both.count, answers=70, units="groups", sizes=sizes)
    reach = class_reach(both, difference.gradient(both.totals()), 2)
    assert reach is not None
    many = Sums(rows=np.tile(both.dense, (3, 1)), count=np.ones(21, np.int64), answers=210, units="groups", sizes=np.tile(sizes, 3))
    assert spread(grouped, difference).variance > reach.reach**2
    three = class_reach(many, difference.gradient(many.totals()), 2)
    assert three is not None
    assert three.reach == pytest.approx(reach.reach / 3)
    assert three.unseen(groups_of(many, difference).effective) < 0.3 * three.reach**2
    assert three.unseen(20.0) == 0


def lost(items: int, metric: str) -> str:
    """Six groups of 10 with 13 positives between them, all found by the baseline; so many of them are lost."""
    truth = np.array(([1, 1] + [0] * 8) * 5 + [1, 1, 1] + [0] * 7)
    before = truth.copy()
    before[9] = 1  # one false positive
    after = before.copy()
    after[np.flatnonzero(truth)[:items]] = 0
    common = {"id": np.arange(60), "group": np.repeat(np.arange(6), 10), "truth": truth}
    found = sy.compare(
        {**common, "prediction": before}, {**common, "prediction": after}, metric=metric, positive=1 if metric == "f1" else None
    )
    return "answer" if found.difference.interval is not None else "none"


@pytest.mark.parametrize("metric", ["macro_f1", "f1", "balanced_accuracy"])
def test_more_items_lost_never_turn_an_answer_into_none(metric: str) -> None:
    """Of 13 items 11 and 13 lost were a regression once, and 12 were too few groups."""
    assert {lost(items, metric) for items in range(1, 14)} == {"answer"}


def test_a_loss_of_everything_has_an_end_that_allows_for_one_item() -> None:
    """Every group loses its only positive: the groups agree, and say nothing of the next."""
    truth = np.array(([1] + [0] * 9) * 6)
    common = {"id": np.arange(60), "group": np.repeat(np.arange(6), 10), "truth": truth}
    found = sy.compare({**common, "prediction": truth}, {**common, "prediction": 0 * truth}, metric="balanced_accuracy")
    interval = found.difference.interval
    assert found.difference.estimate == -0.5
    assert interval is not None
    assert interval.high > -0.5 + 1 / 12
