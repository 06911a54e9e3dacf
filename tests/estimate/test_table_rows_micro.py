"""Micro averages show the table that they are worked out from: every class against the rest, added up."""

from __future__ import annotations

import numpy as np
import pytest

import steelyard as sy


def test_the_pooled_table_by_hand() -> None:
    rng = np.random.default_rng(3)
    truth, prediction = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    found = sy.measure(truth, prediction, metric=["micro_f1", "micro_specificity", "macro_f1"])
    one, two, three = (row.details.pooled for row in found.rows)
    sides = [((truth == k), (prediction == k)) for k in range(4)]
    assert one == two
    assert three is None
    assert (one.tp, one.fp) == (sum(int((t & p).sum()) for t, p in sides), sum(int((~t & p).sum()) for t, p in sides))
    assert (one.fn, one.tn) == (sum(int((t & ~p).sum()) for t, p in sides), sum(int((~t & ~p).sum()) for t, p in sides))
    assert found.rows[0].estimate == pytest.approx(2 * one.tp / (2 * one.tp + one.fp + one.fn))
    assert found.rows[1].estimate == pytest.approx(one.tn / (one.tn + one.fp))


def test_every_output_shows_it_once() -> None:
    found = sy.measure(["a", "b", "c", "a"], ["a", "b", "a", "a"], metric=["micro_f1", "micro_recall"])
    assert str(found).count("added up") == 1
    assert type(found).from_dict(found.to_dict()) == found


def test_groups_show_it_too() -> None:
    rng = np.random.default_rng(3)
    truth, prediction = rng.integers(0, 3, 120), rng.integers(0, 3, 120)
    found = sy.measure(truth, prediction, metric="micro_f1", group=np.repeat(np.arange(30), 4))
    pooled = found.rows[0].details.pooled
    assert pooled.tp + pooled.fn == 120
    assert pooled.tp + pooled.fp + pooled.fn + pooled.tn == 360
