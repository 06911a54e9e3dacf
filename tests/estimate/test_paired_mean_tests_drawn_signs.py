"""Signs drawn by name: the same question as sign-flip, answered as other programs do."""

from __future__ import annotations

import numpy as np
import pytest

import steelyard as sy


def rows(scores: np.ndarray) -> dict[str, object]:
    return {"id": list(range(len(scores))), "score": scores}


@pytest.fixture(scope="module")
def two() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    a = rng.normal(size=300)
    return a, a + rng.normal(0.1, 1, 300)


def test_the_draws_are_made_and_come_near_what_is_worked_out(two: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = map(rows, two)
    usual, drawn = (sy.compare(a, b, metric="mean", test=name, draws=20_000).test for name in ("sign-flip", "sign-flip-draws"))
    assert (usual.details.method, usual.details.draws) == ("inversion", None)
    assert (drawn.details.method, drawn.details.draws) == ("monte-carlo", 20_000)
    assert usual.p_value is not None
    assert drawn.p_value == pytest.approx(usual.p_value, abs=4.5 * (usual.p_value * (1 - usual.p_value) / 20_000) ** 0.5)


def test_few_items_are_counted_by_either_name(two: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = (rows(side[:12]) for side in two)
    usual, drawn = (sy.compare(a, b, metric="mean", test=name).test for name in ("sign-flip", "sign-flip-draws"))
    assert drawn.details.exact
    assert drawn.p_value == usual.p_value


def test_right_or_wrong_has_no_signs_to_draw() -> None:
    right = {"id": list(range(20)), "truth": [1] * 20, "prediction": [1] * 15 + [0] * 5}
    with pytest.raises(sy.SteelyardError, match="sign-flip-draws"):
        sy.compare(right, right, test="sign-flip-draws")
