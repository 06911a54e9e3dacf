"""Scores that do not vary: what float64 leaves of their mean is no spread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy


def scores(values: Any, first: int = 0) -> list[dict[str, Any]]:
    return [{"id": first + i, "score": float(value)} for i, value in enumerate(values)]


@pytest.mark.parametrize(("a", "b", "n"), [(0.95, 0.5, 10), (0.1, 0.3, 3), (0.95, 0.95, 10), (0.7, 0.7, 3), (0.3, 0.2, 6)])
def test_constant_scores_on_different_items_have_no_interval_without_width(a: float, b: float, n: int) -> None:
    found = sy.compare(scores([a] * n), scores([b] * n, 1000), design="unpaired")
    interval = found.difference.interval
    assert interval is None or interval.high - interval.low > 1e-6
    assert found.p_value is None or found.p_value > 2.0 ** (1 - 2 * n)  # no test of 2n items knows more
    assert found.mde is None or found.mde > 1e-6


def repeated(sizes: list[int], score: float) -> list[dict[str, Any]]:
    return [{"id": i, "repeat": k, "score": score} for i, size in enumerate(sizes) for k in range(size)]


@pytest.mark.parametrize("target", ["items", "runs"])
@pytest.mark.parametrize("margin", [None, 0.05])
def test_constant_runs_do_not_differ_from_each_other(target: str, margin: float | None, tmp_path: Path) -> None:
    sy.record(repeated([2, 3, 4, 1, 2, 3], 0.3), task="t", model="m", directory=tmp_path)
    found = sy.check(repeated([3, 1, 2, 3, 3, 1], 0.2), task="t", model="m", directory=tmp_path, target=target, margin=margin)
    difference = found.to_dict()["difference"]
    assert not any("runs differ by more" in words for words in found.warnings)
    assert found.mde is None or found.mde > 1e-6
    assert difference["lower"] is None or difference["upper"] - difference["lower"] > 1e-6


def test_the_spread_of_float64_is_no_spread() -> None:
    base = np.linspace(1, 7, 7) * 1e6
    found = sy.compare(scores(base), scores(base + 0.1), margin=0.2)
    interval = found.difference.interval
    assert interval is None or interval.high - interval.low > 1e-6


def test_small_numbers_are_scaled_or_refused() -> None:
    tiny = 1e-200
    plain = sy.measure([0.1, 0.2, 0.3], range=(0, 1)).interval
    try:
        scaled = sy.measure([0.1 * tiny, 0.2 * tiny, 0.3 * tiny], range=(0, tiny)).interval
    except sy.SteelyardError:
        return
    assert plain is not None
    assert scaled is not None
    assert (scaled.low / tiny, scaled.high / tiny) == pytest.approx((plain.low, plain.high))
