"""Two AUCs with few positives, asked as users ask: a comparison with a margin, and a guard that cannot find or rule out anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy


def run(positives: int, negatives: int, shift: float, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    truth = np.arange(positives + negatives) < positives
    chance = 1 / (1 + np.exp(-rng.normal(truth * shift, 1)))
    return [{"id": str(i), "truth": int(t), "probability": float(c)} for i, (t, c) in enumerate(zip(truth, chance, strict=True))]


def checked(folder: Path, reference: list[dict[str, Any]], now: list[dict[str, Any]], **options: Any) -> sy.Verdict:
    place = {"directory": str(folder), "task": "t", "model": "m"}
    sy.record(reference, metric="auc", deterministic=True, **place)
    return sy.check(now, **place, **options)


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_of_a_guard_agrees_with_its_p_value(tmp_path: Path, seed: int) -> None:
    verdict = checked(tmp_path, run(8, 60, 3.0, seed), run(8, 60, 0.5, seed + 10))
    assert verdict.test == "delong-wilson"
    assert verdict.p_value is not None
    assert (verdict.p_value <= verdict.alpha) == (verdict.difference["upper"] < 0)


def test_two_positives_cannot_show_a_regression(tmp_path: Path) -> None:
    """Even a run that ranks both below every negative could be bad luck."""
    verdict = checked(tmp_path, run(2, 60, 1.0, 3), run(2, 60, 0.0, 4))
    assert verdict.verdict == "inconclusive"
    assert verdict.details["smallest_p"] > verdict.alpha


def test_a_small_drop_is_not_ruled_out_by_ten_positives(tmp_path: Path) -> None:
    """DeLong's own lower bound would rule out a drop of 0.05: in one case of three where there is one."""
    verdict = checked(tmp_path, run(10, 190, 6.0, 1), run(10, 190, 6.0, 2), theta=0.05)
    assert verdict.verdict == "inconclusive"
    assert verdict.difference["lower"] < -0.05


def test_a_margin_is_tested_for_auc_too() -> None:
    c = sy.compare(run(300, 900, 1.5, 5), run(300, 900, 1.5, 6), metric="auc", margin=0.2)
    assert c.equivalence is not None
    assert c.equivalence["equivalent"]
    few = sy.compare(run(5, 90, 1.5, 5), run(5, 90, 1.5, 6), metric="auc", margin=0.2)
    assert few.equivalence is not None
    assert not few.equivalence["equivalent"]
