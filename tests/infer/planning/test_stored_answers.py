"""Items by the answers on record: the Beta law, a record's own items, drops wherever they sit, and the law of differences."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.errors import UsageError
from steelyard.infer.planning.stored_answers import PLACES, beta_answers, binned, recorded_answers


@pytest.mark.parametrize(("accuracy", "churn", "answers"), [(0.75, 0.05, 4), (0.9, 0.1, 16), (0.3, 0.2, 1), (0.75, 0.0, 4)])
def test_two_answers_differ_as_often_as_was_said(accuracy: float, churn: float, answers: int) -> None:
    items = beta_answers(accuracy, churn, answers)
    share, chance, stored = np.array(items.share), np.array(items.chance), items.stored
    assert share.sum() == pytest.approx(1)
    assert share @ stored == pytest.approx(accuracy)
    assert items.accuracy == pytest.approx(accuracy)
    # One of the answers on record against the next one: both right, or both wrong, otherwise.
    assert share @ (stored * (1 - chance) + (1 - stored) * chance) == pytest.approx(churn)


def test_the_beta_law_item_by_item() -> None:
    """Oracle: chances drawn for each item, answers drawn from them."""
    rng = np.random.default_rng(1)
    mixed = 0.05 / (2 * 0.75 * 0.25)
    size = mixed / (1 - mixed)
    p = rng.beta(0.75 * size, 0.25 * size, 200_000)
    m, y = rng.binomial(4, p), rng.random(200_000) < p
    items = beta_answers(0.75, 0.05, 4)
    assert np.bincount(m, minlength=5) / len(m) == pytest.approx(items.share, abs=0.004)
    assert [y[m == k].mean() for k in range(5)] == pytest.approx(items.chance, abs=0.02)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_the_mean_difference_is_the_drop_wherever_it_sits_and_however_it_is_asked(place: str, factor: float) -> None:
    items = beta_answers(0.75, 0.05, 4)
    after = items.dropped(0.02, place)
    assert after is not None
    k = np.where(items.wavering, factor, 1.0)
    k = k / (np.array(items.share) @ k)
    for each, mean in ((items, 0.0), (after, -0.02)):
        law = each.law(k)
        assert sum(p for _, p in law) == pytest.approx(1)
        assert sum(x * p for x, p in law) == pytest.approx(mean, abs=1e-12)
    assert after.accuracy == pytest.approx(0.73)


def test_drops_that_do_not_fit() -> None:
    items = beta_answers(0.75, 0.02, 4)
    assert items.dropped(0.2, "wavering") is None
    assert items.dropped(0.8) is None
    assert beta_answers(0.75, 0.05, 1).dropped(0.02, "wavering") is None  # one answer shows nothing that wavers


def test_changed_but_no_worse() -> None:
    items = beta_answers(0.75, 0.05, 4)
    after = items.changed(0.015)
    assert after is not None
    assert after.accuracy == pytest.approx(items.accuracy)
    lost, gained = (sum(p for x, p in after.law() if x == end) - sum(p for x, p in items.law() if x == end) for end in (-1.0, 1.0))
    assert (lost, gained) == (pytest.approx(0.015), pytest.approx(0.015))
    assert items.changed(0.9) is None


def test_a_record_is_as_it_is() -> None:
    right = [4] * 70 + [0] * 20 + [3, 2, 1, 2, 3] * 2
    items = recorded_answers(right, [4] * 100)
    assert items.right == (0, 1, 2, 3, 4)
    assert items.share == pytest.approx((0.2, 0.02, 0.04, 0.04, 0.7))
    assert items.accuracy == pytest.approx(sum(right) / 400)
    assert all(0 < x < 1 for x in items.chance)
    assert sum(x * p for x, p in items.law()) == pytest.approx(0, abs=1e-12)


def test_a_record_of_the_beta_law_has_its_chances() -> None:
    rng = np.random.default_rng(2)
    law = beta_answers(0.75, 0.1, 8)
    counts = rng.multinomial(100_000, law.share)
    found = recorded_answers(np.repeat(law.right, counts).tolist(), [8] * 100_000)
    assert found.chance == pytest.approx(law.chance, abs=0.01)


def test_records_with_unequal_numbers_of_answers() -> None:
    items = recorded_answers([1, 0, 2, 1, 2, 0], [1, 1, 2, 2, 2, 2])
    assert items.answers == (1, 1, 2, 2, 2)
    assert sum(x * p for x, p in items.law()) == pytest.approx(0, abs=1e-12)


def test_answers_that_never_vary() -> None:
    items = recorded_answers([2, 2, 0], [2, 2, 2])
    assert items.chance == (0.0, 1.0)
    assert items.law() == ((0.0, 1.0),)
    assert recorded_answers([2, 2], [2, 2]).chance == (1.0,)


@pytest.mark.parametrize(
    ("right", "answers", "words"),
    [
        ([1, 0], [1, 1], "One answer to an item does not say"),
        ([3], [2], "answers of at least 1"),
        ([], [], "answers of at least 1"),
        ([1], [1, 2], "answers of at least 1"),
    ],
)
def test_records_that_say_too_little(right: list[int], answers: list[int], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        recorded_answers(right, answers)


def test_one_answer_with_the_churn_given() -> None:
    items = recorded_answers([1] * 75 + [0] * 25, [1] * 100, churn=0.05)
    assert items.chance == pytest.approx(beta_answers(0.75, 0.05, 1).chance)


def test_a_churn_beyond_chance() -> None:
    with pytest.raises(UsageError, match=r"cannot differ on 0\.4 of the items at an accuracy of 0\.75"):
        beta_answers(0.75, 0.4, 4)


def test_a_grid_keeps_mean_and_nearly_the_variance() -> None:
    x = np.random.default_rng(3).normal(0, 0.1, 500)
    values, shares = np.array(binned(x, 1.0)).T
    assert shares.sum() == pytest.approx(1)
    assert shares @ values == pytest.approx(x.mean(), abs=1e-12)
    assert shares @ values**2 == pytest.approx((x**2).mean(), rel=0.01)
    assert binned([0.0, 0.0], 1.0) == ((0.0, 1.0),)
