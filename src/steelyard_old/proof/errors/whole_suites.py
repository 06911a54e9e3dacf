"""Claims about suites judged as a whole: false alarms, a little lost everywhere, one task that lost much, and names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from steelyard_old.infer.multiplicity import adjust
from steelyard_old.infer.paired.mcnemar import mcnemar_midp
from steelyard_old.infer.suite.closed_testing import SuiteJudgement, TaskEvidence, judge_tasks
from steelyard_old.infer.suite.pooled import flips_z
from steelyard_old.proof.claims import ALPHA, Band, Claim, Setting
from steelyard_old.proof.trials import Trial

PAGE = "docs/guard.md"
CHURN = 0.05  # items that flip between healthy runs
Flipped = Sequence[tuple[int, int]]


def claims() -> Iterator[Claim]:
    yield from _everywhere().claims()
    yield from _one_task().claims()
    yield from _names().claims()


def _draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
    """(lost, gained) of every task; `drop` points are lost by the first `broken` tasks, or by all."""
    m, n = int(setting["tasks"]), int(setting["items"])
    drop = float(setting.get("drop", 0.0)) / 100 * (np.arange(m) < int(setting.get("broken", m)))
    churn = float(setting.get("churn", CHURN))
    lost, gained = rng.binomial(n, churn / 2 + drop), rng.binomial(n, churn / 2, m)
    return (list(zip(lost.tolist(), gained.tolist(), strict=True)),)


def _judged(flipped: Flipped) -> SuiteJudgement:
    return judge_tasks(
        [
            TaskEvidence(p_value=mcnemar_midp(gained, lost, "less"), z=flips_z(lost, gained), informative=lost + gained > 0)
            for lost, gained in flipped
        ],
        alpha=ALPHA,
    )


def _pooled(flipped: Flipped) -> bool:
    return _judged(flipped).p_value <= ALPHA


def _holm(flipped: Flipped) -> bool:
    return min(adjust([mcnemar_midp(gained, lost, "less") for lost, gained in flipped])) <= ALPHA


def _everywhere() -> Trial:
    return Trial(
        family="a suite as a whole, a point lost in every task",
        draw=_draw,
        methods={"pooled": _pooled, "holm": _holm},
        said={
            ("pooled", "size"): ("healthy suites alarm in about 5% at most, if tasks vary independently", Band(high=0.052)),
            ("holm", "size"): ("healthy suites alarm in about 5% at most", Band(high=0.052)),
            ("pooled", "power"): ("finds a point lost in each of twenty tasks", Band(low=0.9)),
            ("holm", "power"): ("misses a point lost in each of twenty tasks more often than not", Band(fails=0.5)),
        },
        settings=({"tasks": 20, "items": 500}, {"tasks": 20, "items": 500, "drop": 1.0}),
        more=(
            {"tasks": 5, "items": 500},
            {"tasks": 50, "items": 500},
            {"tasks": 50, "items": 40, "churn": 0.02},
            {"tasks": 50, "items": 500, "drop": 1.0},
        ),
        default="pooled",
        page=PAGE,
        runs=(300, 1200),
    )


def _one_task() -> Trial:
    return Trial(
        family="a suite as a whole, one task lost five points",
        draw=_draw,
        methods={"pooled": _pooled, "holm": _holm},
        said={
            ("pooled", "power"): ("finds five points lost in one of twenty tasks", Band(low=0.7)),
            ("holm", "power"): ("finds five points lost in one of twenty tasks", Band(low=0.7)),
        },
        settings=({"tasks": 20, "items": 500, "broken": 1, "drop": 5.0},),
        default="pooled",
        page=PAGE,
        runs=(300, 1200),
    )


def _names() -> Trial:
    """A healthy task is named beside broken ones: the first quarter lost two points."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        return (*_draw(rng, {**setting, "drop": 2.0}), int(setting["broken"]))

    def falsely(flipped: Flipped, broken: int) -> bool:
        return any(i >= broken for i in _judged(flipped).named)

    return Trial(
        family="a suite as a whole, a healthy task named beside broken ones",
        draw=draw,
        methods={"pooled": falsely},
        said={("pooled", "size"): ("names a healthy task in at most 5% of suites", Band(high=0.05))},
        settings=({"tasks": 20, "items": 500, "broken": 5},),
        more=({"tasks": 5, "items": 500, "broken": 1}, {"tasks": 50, "items": 500, "broken": 12}),
        default="pooled",
        page=PAGE,
        runs=(300, 1200),
    )
