"""Few items changed, all one way: what nobody has seen yet counts in full on that side, and less on the other. By the verdicts."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import steelyard as sy

N = 60
BEFORE = [1.0, 0.5] * (N // 2)
FELL = [0.5 if i in (0, 2, 4, 6) else score for i, score in enumerate(BEFORE)]
ROSE = [1.0 if i in (1, 3, 5, 7) else score for i, score in enumerate(BEFORE)]
T = 1.6710930321  # Student's 95% point with 59 degrees of freedom, from tables


def rows(scores: list[float]) -> list[dict[str, object]]:
    return [{"id": f"q{i:02}", "score": score} for i, score in enumerate(scores)]


def reach_beyond(unseen: float) -> float:
    """From the estimate to an end, by hand: four changes of 0.5 among 60, and so many changes from 0 to 1 that nobody has seen."""
    mean = 4 * 0.5 / N
    variance = (4 * 0.25 - N * mean**2) / (N - 1) / N
    return T * math.sqrt(variance + unseen / (N * (N - 1)))


# Beyond the end that items moved towards, 2 x 5/3. Beyond the other a tenth less: four changes by half are worth one by 1, and ten of
# those would leave nothing to count in.
THIS_WAY, OTHER_WAY = 10 / 3, 10 / 3 * 0.9


@pytest.fixture(autouse=True)
def on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for task, up in (("score", True), ("loss", False)):
        sy.record(rows(BEFORE), task=task, model="m", higher_is_better=up)


@pytest.mark.parametrize(("task", "worse", "better"), [("score", FELL, ROSE), ("loss", ROSE, FELL)])
def test_the_bound_of_a_loss_counts_in_all_that_is_unseen_if_items_were_lost_and_less_if_they_were_gained(
    task: str, worse: list[float], better: list[float]
) -> None:
    lost, gained = (sy.check(rows(scores), task=task, model="m").difference for scores in (worse, better))
    assert lost.interval.low == pytest.approx(-4 * 0.5 / N - reach_beyond(THIS_WAY), abs=1e-7)
    assert gained.interval.low == pytest.approx(4 * 0.5 / N - reach_beyond(OTHER_WAY), abs=1e-7)
    assert gained.interval.high == pytest.approx(4 * 0.5 / N + reach_beyond(THIS_WAY), abs=1e-7)


@pytest.mark.parametrize(("task", "worse", "better"), [("score", FELL, ROSE), ("loss", ROSE, FELL)])
def test_so_a_theta_between_the_two_is_not_ruled_out_after_losses_and_is_after_gains(
    task: str, worse: list[float], better: list[float]
) -> None:
    """With the two sides taken for each other, the first would pass and the second would not."""
    ends = sorted(4 * 0.5 / N + reach_beyond(unseen) for unseen in (THIS_WAY, OTHER_WAY))
    assert sy.check(rows(worse), task=task, model="m", theta=sum(ends) / 2).verdict == "inconclusive"
    ends = sorted(reach_beyond(unseen) - 4 * 0.5 / N for unseen in (THIS_WAY, OTHER_WAY))
    assert sy.check(rows(better), task=task, model="m", theta=sum(ends) / 2).verdict == "pass"


def test_compare_has_the_same_two_sides() -> None:
    down, up = (sy.compare(rows(BEFORE), rows(scores), confidence_level=0.9).difference.interval for scores in (FELL, ROSE))
    assert down.low == pytest.approx(-4 * 0.5 / N - reach_beyond(THIS_WAY), abs=1e-7)
    assert (up.low, up.high) == pytest.approx((-down.high, -down.low))
